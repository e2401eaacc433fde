/* Writes to the disk fail, one after another: a transaction commits as a whole or not at all, and
 * nothing that was committed is lost. */
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/count.h"
#include "store_rig.h"

enum { FAULT_WRITE = 1, FAULT_SYNC = 2 };

static struct {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    int kinds;
    int64_t left; /* calls until one fails; < 0: none does */
    int64_t n;    /* calls so far */
    int result;
    bool stays; /* it goes on failing */
} shim;

/* SQLite has different methods for the database and for its log. */
static struct {
    sqlite3_io_methods methods; /* first: an open file points to it */
    const sqlite3_io_methods *real;
} shims[4];

static const sqlite3_io_methods *real_of(const sqlite3_file *file)
{
    for (size_t i = 0; i < WEIR_COUNT_OF(shims); i++)
        if (file->pMethods == &shims[i].methods)
            return shims[i].real;
    abort();
}

static bool fails(int kind)
{
    if ((shim.kinds & kind) == 0)
        return false;
    shim.n++;
    if (shim.left < 0)
        return false;
    if (shim.left == 0) {
        shim.left = shim.stays ? 0 : -1;
        return true;
    }
    shim.left--;
    return false;
}

static int shim_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    if (fails(FAULT_WRITE)) {
        if (n > 16)
            (void)real_of(file)->xWrite(file, bytes, n / 2, at); /* torn */
        return shim.result;
    }
    return real_of(file)->xWrite(file, bytes, n, at);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    return fails(FAULT_SYNC) ? SQLITE_IOERR_FSYNC : real_of(file)->xSync(file, flags);
}

static int shim_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    int r = shim.real->xOpen(shim.real, name, file, flags, ret_flags);
    size_t i = 0;

    (void)vfs;
    if (r != SQLITE_OK)
        return r;
    while (shims[i].real != NULL && shims[i].real != file->pMethods)
        i++;
    shims[i].real = file->pMethods;
    shims[i].methods = *file->pMethods;
    shims[i].methods.xWrite = shim_write;
    shims[i].methods.xSync = shim_sync;
    file->pMethods = &shims[i].methods;
    return r;
}

static void shim_use(bool on)
{
    if (shim.real == NULL) {
        shim.real = sqlite3_vfs_find(NULL);
        shim.vfs = *shim.real;
        shim.vfs.zName = "weir-test-shim";
        shim.vfs.pNext = NULL;
        shim.vfs.xOpen = shim_open;
    }
    shim.left = -1;
    if (on)
        assert_int_equal(sqlite3_vfs_register(&shim.vfs, 1), SQLITE_OK);
    else
        assert_int_equal(sqlite3_vfs_unregister(&shim.vfs), SQLITE_OK);
}

static void shim_fail_at(int64_t n, int kinds, int result, bool stays)
{
    shim.kinds = kinds;
    shim.left = n;
    shim.n = 0;
    shim.result = result;
    shim.stays = stays;
}

static int try_transaction(struct fixture *f, int i, bool *ret_unknown)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_workload_record w = some_workload(0, "w");
    int r = f->store.begin(f->store.ctx, &err);

    for (int k = 0; r == 0 && k < 2; k++) {
        r = f->store.next_number(f->store.ctx, &w.number, &err);
        if (r == 0)
            r = f->store.add_workload(f->store.ctx, &w, &err);
        if (r == 0)
            r = append_event(f, "e");
    }
    if (r < 0) {
        f->store.rollback(f->store.ctx);
        return r;
    }
    r = f->store.commit(f->store.ctx, i % 2 == 0, &err);
    *ret_unknown = r == WEIR_E_UNAVAILABLE;
    return r;
}

static uint32_t count(struct fixture *f)
{
    struct weir_workload_filter any = {.all = true, .state = -1};
    struct weir_buf seen = WEIR_BUF_INIT(65536);
    struct weir_buf want = WEIR_BUF_INIT(65536);
    uint32_t n = 0;

    assert_int_equal(f->store.each_workload(f->store.ctx, &any, false, list_workload, &seen, NULL),
                     0);
    for (size_t i = 0; i < seen.len; i++)
        n += weir_buf_cstr(&seen)[i] == ' ';
    for (uint32_t i = 1; i <= n; i++)
        weir_buf_printf(&want, "%u ", i);
    assert_string_equal(weir_buf_cstr(&seen),
                        weir_buf_cstr(&want)); /* each number once, none lost */
    weir_buf_finish(&seen);
    weir_buf_finish(&want);
    return n;
}

/* Returns whether a fault was met. */
static bool run_with_fault(int64_t n, int kinds, int result, bool stays, bool crash)
{
    struct fixture f;
    uint32_t done = 0;
    uint32_t unknown = 0;
    bool met;

    (void)remove(temp_path("weir.db"));
    (void)remove(temp_path("weir.db-wal"));
    (void)remove(temp_path("weir.db-shm"));
    open_store(&f);
    shim_fail_at(n, kinds, result, stays);
    for (int i = 0; i < 6; i++) {
        bool is_unknown = false;
        int r = try_transaction(&f, i, &is_unknown);

        done += r == 0 || is_unknown;
        unknown += is_unknown;
        assert_int_equal(count(&f), 2 * done);
        if (r < 0 && result == SQLITE_FULL && kinds == FAULT_WRITE)
            assert_int_equal(r, WEIR_E_NO_SPACE);
    }
    met = shim.n > n;
    assert_true(unknown == 0 || (kinds & FAULT_SYNC) != 0);
    if (!crash)
        shim_fail_at(-1, 0, 0, false);
    close_store(&f); /* with the disk still failing: as good as a crash */
    shim_fail_at(-1, 0, 0, false);
    open_store(&f);
    assert_int_equal(count(&f), 2 * done);
    assert_int_equal(try_transaction(&f, 0, &(bool){false}), 0);
    close_store(&f);
    return met;
}

static void every_write_may_fail(void **state)
{
    int64_t n = 0;

    (void)state;
    shim_use(true);
    while (run_with_fault(n, FAULT_WRITE, SQLITE_IOERR_WRITE, n % 2 == 0, n % 3 == 0))
        n++;
    assert_true(n > 10);
    shim_use(false);
}

static void every_write_may_find_the_disk_full(void **state)
{
    int64_t n = 0;

    (void)state;
    shim_use(true);
    while (run_with_fault(n, FAULT_WRITE, SQLITE_FULL, n % 2 == 1, n % 3 == 1))
        n++;
    assert_true(n > 10);
    shim_use(false);
}

static void every_sync_may_fail(void **state)
{
    int64_t n = 0;

    (void)state;
    shim_use(true);
    while (run_with_fault(n, FAULT_SYNC, 0, n % 2 == 0, true))
        n++;
    assert_true(n >= 3);
    shim_use(false);
}

/* A real limit of the file's size, as a quota or a full disk sets one. */
static int fill_up(void)
{
    struct fixture f;
    struct rlimit limit = {256 * 1024, RLIM_INFINITY};
    uint32_t done = 0;
    int r = 0;

    if (weir_sqlite_open(temp_path("weir.db"), &f.sqlite, &f.store, NULL) < 0)
        return 101;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return 102;
    while (r == 0 && done < 10000) {
        r = try_transaction(&f, 1, &(bool){false});
        done += r == 0;
    }
    if (r != WEIR_E_NO_SPACE)
        return 103;
    if (done < 5 || count(&f) != 2 * done)
        return 104;
    limit.rlim_cur = RLIM_INFINITY;
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || try_transaction(&f, 0, &(bool){false}) < 0)
        return 105;
    weir_sqlite_close(f.sqlite);
    if (weir_sqlite_open(temp_path("weir.db"), &f.sqlite, &f.store, NULL) < 0)
        return 106;
    if (count(&f) != 2 * done + 2)
        return 107;
    weir_sqlite_close(f.sqlite);
    return 0;
}

static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    assert_int_equal(in_child(fill_up), 0);
}

/* A statement that cannot be made tells why, not just that the store cannot be read. */
static void want_of_memory_is_told_as_such(void **state)
{
    struct fixture f;
    struct weir_err err = WEIR_ERR_INIT;
    int64_t seq;

    (void)state;
    open_store(&f);
    sqlite3_hard_heap_limit64(sqlite3_memory_used());
    assert_int_equal(f.store.last_event(f.store.ctx, &seq, &err), WEIR_E_NO_MEMORY);
    assert_int_equal(err.code, WEIR_E_NO_MEMORY);
    assert_int_equal(f.store.begin(f.store.ctx, &err), WEIR_E_NO_MEMORY);
    assert_int_equal(f.store.next_number(f.store.ctx, &(uint64_t){0}, NULL), WEIR_E_NO_MEMORY);
    sqlite3_hard_heap_limit64(0);
    assert_int_equal(f.store.last_event(f.store.ctx, &seq, &err), 0);
    assert_int_equal(try_transaction(&f, 0, &(bool){false}), 0);
    close_store(&f);
}

#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, temp_dir_make, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(every_write_may_fail),
        IN_DIR(every_write_may_find_the_disk_full),
        IN_DIR(every_sync_may_fail),
        IN_DIR(a_full_disk_loses_nothing),
        IN_DIR(want_of_memory_is_told_as_such),
    };

    /* In memory where that can be had: it is the shim that fails, not the disk. */
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
