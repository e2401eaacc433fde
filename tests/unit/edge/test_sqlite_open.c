/* Opening a store: a new one, an old one, and files that are none. */
#include "base/mem.h"
#include "edge/sqlite/schema.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store_rig.h"

static void put_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static size_t get_file(const char *path, char *bytes, size_t max)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    assert_non_null(file);
    n = fread(bytes, 1, max, file);
    fclose(file);
    return n;
}

static int refused(const char *path, struct weir_err *ret_err)
{
    struct fixture f;

    *ret_err = (struct weir_err)WEIR_ERR_INIT;
    return weir_sqlite_open(path, &f.sqlite, &f.store, ret_err);
}

static void sql_at(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void what_is_not_ours_is_left_alone(void **state)
{
    static char before[65536];
    static char after[65536];
    struct weir_err err;
    const char *path = temp_path("other.db");
    size_t n;

    (void)state;
    put_file(path, "this is a letter, and no database at all; it goes on for a while ...", 68);
    assert_int_equal(refused(path, &err), WEIR_E_CORRUPT);
    assert_non_null(strstr(err.text, "other.db"));
    assert_true(err.hint[0] != '\0');
    assert_int_equal(get_file(path, after, sizeof(after)), 68);
    assert_int_equal(remove(path), 0);
    sql_at(path, "CREATE TABLE people(name TEXT); INSERT INTO people VALUES('x')");
    n = get_file(path, before, sizeof(before));
    assert_int_equal(refused(path, &err), WEIR_E_CORRUPT);
    assert_non_null(strstr(err.text, "not one of weir's"));
    assert_int_equal(get_file(path, after, sizeof(after)), n);
    assert_memory_equal(before, after, n);
}

static void a_newer_schema_is_left_alone(void **state)
{
    struct fixture f;
    struct weir_err err;
    char back[64];

    (void)state;
    open_store(&f);
    close_store(&f);
    sql_at(temp_path("weir.db"), "PRAGMA user_version = 4711");
    assert_int_equal(refused(temp_path("weir.db"), &err), WEIR_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "4711"));
    snprintf(back, sizeof(back), "PRAGMA user_version = %d", (int)WEIR_SQLITE_VERSION);
    sql_at(temp_path("weir.db"), back);
    open_store(&f);
    close_store(&f);
}

static void damage_is_found_at_the_start(void **state)
{
    struct fixture f;
    struct weir_err err;
    char junk[4096];
    int fd;

    (void)state;
    memset(junk, 0x5A, sizeof(junk));
    open_store(&f);
    begin(&f);
    for (int i = 0; i < 200; i++)
        add(&f, "w");
    commit(&f);
    close_store(&f);
    fd = open(temp_path("weir.db"), O_RDWR);
    assert_true(fd >= 0);
    for (int page = 3; page < 6; page++)
        assert_int_equal(pwrite(fd, junk, sizeof(junk), page * 4096), sizeof(junk));
    close(fd);
    assert_int_equal(refused(temp_path("weir.db"), &err), WEIR_E_CORRUPT);
    assert_true(err.hint[0] != '\0');
    assert_int_equal(truncate(temp_path("weir.db"), 4096), 0);
    assert_int_equal(refused(temp_path("weir.db"), &err), WEIR_E_CORRUPT);
}

static void an_empty_file_is_a_new_store(void **state)
{
    struct fixture f;
    uint64_t space;

    (void)state;
    put_file(temp_path("weir.db"), "", 0);
    open_store(&f);
    space = f.store.space;
    begin(&f);
    assert_int_equal(add(&f, "a"), 1);
    commit(&f);
    reopen(&f);
    assert_true(f.store.space == space);
    expect_all(&f, "1 ");
    close_store(&f);
    open_at(&f, temp_path("second.db"));
    assert_true(f.store.space != space);
    close_store(&f);
}

static int open_as_nobody(void)
{
    struct weir_err err;

    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 100;
    return -refused(temp_path("weir.db"), &err);
}

static void a_folder_that_cannot_be_written_is_said(void **state)
{
    struct fixture f;

    (void)state;
    assert_int_equal(chmod(temp_dir, 0555), 0);
    assert_int_equal(in_child(open_as_nobody), -WEIR_E_DENIED);
    assert_int_equal(chmod(temp_dir, 0755), 0);
    open_store(&f);
    close_store(&f);
    assert_int_equal(chmod(temp_path("weir.db"), 0444), 0);
    assert_int_equal(chmod(temp_dir, 0555), 0);
    assert_int_equal(in_child(open_as_nobody), -WEIR_E_DENIED);
    assert_int_equal(chmod(temp_dir, 0755), 0);
}

static int list_setup(void *arg, const struct weir_setup_record *setup)
{
    weir_buf_printf(arg, "%.*s=%.*s;", WEIR_STR_ARG(setup->name), WEIR_STR_ARG(setup->spec));
    return 0;
}

static void must_open(int version)
{
    static char bytes[1 << 20];
    struct fixture f;
    struct weir_buf seen = WEIR_BUF_INIT(4096);
    char path[PATH_MAX];
    const char *root = getenv("WEIR_SOURCE_ROOT");
    size_t n;

    assert_non_null(root);
    snprintf(path, sizeof(path), "%s/tests/data/store-v%d.db", root, version);
    n = get_file(path, bytes, sizeof(bytes));
    assert_true(n > 4096 && n < sizeof(bytes));
    put_file(temp_path("weir.db"), bytes, n);
    open_store(&f);
    expect_all(&f, "1 2 3 ");
    assert_int_equal(f.store.each_queue(f.store.ctx, list_queue, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen),
                        "default={}@1700000000000;research={\"weight\":2}@1700000000001;");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_task(f.store.ctx, 2, list_task, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), "2/0 2/1 ");
    expect_events(&f, 0, 9, "1workload.submitted 2workload.started ");
    weir_buf_reset(&seen);
    assert_int_equal(f.store.each_setup(f.store.ctx, list_setup, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), version >= 4 ? "cut={\"gpus\":[]};" : "");
    begin(&f);
    assert_int_equal(add(&f, "next"), 4);
    commit(&f);
    weir_buf_finish(&seen);
    close_store(&f);
    unlink(temp_path("weir.db"));
}

static void stores_of_earlier_versions_open(void **state)
{
    (void)state;
    for (int version = 1; version < WEIR_SQLITE_VERSION; version++)
        must_open(version);
}

/* A store whose making fails is none, and can be made later. */
static void opening_without_memory_leaves_no_half_store(void **state)
{
    struct fixture f;
    int r = -1;

    (void)state;
    for (uint64_t n = 0; r < 0; n++) {
        weir_mem_fail(n, 1);
        r = weir_sqlite_open(temp_path("weir.db"), &f.sqlite, &f.store, NULL);
        weir_mem_fail(0, 0);
        assert_true(r == 0 || r == WEIR_E_NO_MEMORY);
        assert_true(n < 100);
    }
    begin(&f);
    assert_int_equal(add(&f, "a"), 1);
    commit(&f);
    close_store(&f);
}

#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, temp_dir_make, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(what_is_not_ours_is_left_alone),
        IN_DIR(a_newer_schema_is_left_alone),
        IN_DIR(damage_is_found_at_the_start),
        IN_DIR(an_empty_file_is_a_new_store),
        IN_DIR(a_folder_that_cannot_be_written_is_said),
        IN_DIR(stores_of_earlier_versions_open),
        IN_DIR(opening_without_memory_leaves_no_half_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
