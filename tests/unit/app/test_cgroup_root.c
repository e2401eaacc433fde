/* The groups that weir makes for itself and its jobs, on a tree of plain files in place of the
 * kernel's. */
#include "app/cgroup_root.c"
#include "base/count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../edge/temp_dir.h"

static char found[PATH_BYTES];

static void put(const char *name, const char *text)
{
    FILE *file = fopen(temp_path(name), "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *name, const char *expected)
{
    char text[128] = "";
    int fd = open(temp_path(name), O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    close(fd);
    assert_string_equal(text, expected);
}

/* A file that keeps every write, as the kernel heeds every one. Open as long as its writers may be.
 */
static int put_pipe(const char *name)
{
    int fd;

    assert_int_equal(mkfifo(temp_path(name), 0600), 0);
    fd = open(temp_path(name), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void assert_piped(int fd, const char *expected)
{
    char text[128] = "";

    if (read(fd, text, sizeof(text) - 1) < 0)
        assert_int_equal(errno, EAGAIN);
    close(fd);
    assert_string_equal(text, expected);
}

/* A unified hierarchy that was handed to "app.slice/weir.service", where this process is. What the
 * kernel would put into a new group is there already. */
static int make_tree(void **state)
{
    if (temp_dir_make(state) != 0)
        return -1;
    put("self", "9:memory:/old\n0::/app.slice/weir.service\n");
    for (const char *const *dir =
             (const char *const[]){"fs", "fs/app.slice", "fs/app.slice/weir.service",
                                   "fs/app.slice/weir.service/weir",
                                   "fs/app.slice/weir.service/jobs", NULL};
         *dir != NULL; dir++)
        assert_int_equal(mkdir(temp_path(*dir), 0755), 0);
    put("fs/cgroup.controllers", "cpu memory pids\n");
    put("fs/app.slice/weir.service/cgroup.procs", "");
    put("fs/app.slice/weir.service/weir/cgroup.procs", "");
    return 0;
}

static const char *own_groups(void)
{
    make_own_groups(temp_path("fs"), temp_path("self"), found, sizeof(found));
    return found;
}

static void moves_into_a_leaf_and_hands_the_controllers_down(void **state)
{
    int base_fd = put_pipe("fs/app.slice/weir.service/cgroup.subtree_control");
    int jobs_fd = put_pipe("fs/app.slice/weir.service/jobs/cgroup.subtree_control");

    (void)state;
    assert_string_equal(own_groups(), temp_path("fs/app.slice/weir.service/jobs"));
    assert_holds("fs/app.slice/weir.service/weir/cgroup.procs", "0");
    assert_holds("fs/app.slice/weir.service/cgroup.procs", "");
    assert_piped(base_fd, "+memory+cpu+pids");
    assert_piped(jobs_fd, "+memory+cpu+pids");
}

static void does_without_controllers(void **state)
{
    int jobs_fd = put_pipe("fs/app.slice/weir.service/jobs/cgroup.subtree_control");

    (void)state;
    assert_string_equal(own_groups(), temp_path("fs/app.slice/weir.service/jobs"));
    assert_piped(jobs_fd, "");
}

static void makes_the_groups_that_are_missing(void **state)
{
    (void)state;
    assert_int_equal(rmdir(temp_path("fs/app.slice/weir.service/jobs")), 0);
    assert_string_equal(own_groups(), temp_path("fs/app.slice/weir.service/jobs"));
    assert_int_equal(access(found, F_OK), 0);
}

static void works_at_the_root_of_the_tree(void **state)
{
    (void)state;
    put("self", "0::/\n");
    put("fs/cgroup.procs", "");
    assert_int_equal(mkdir(temp_path("fs/weir"), 0755), 0);
    put("fs/weir/cgroup.procs", "");
    assert_string_equal(own_groups(), temp_path("fs/jobs"));
    assert_holds("fs/weir/cgroup.procs", "0");
}

/* And nothing is made or moved then. */
static void leaves_alone_what_was_not_handed_over(void **state)
{
    static const char *const selves[] = {"", "9:memory:/old\n1:name=systemd:/\n",
                                         "0::/elsewhere.slice\n"};
    char path[PATH_BYTES] = "0::/";

    (void)state;
    assert_int_equal(rmdir(temp_path("fs/app.slice/weir.service/jobs")), 0);
    for (size_t i = 0; i < WEIR_COUNT_OF(selves); i++) {
        put("self", selves[i]);
        assert_string_equal(own_groups(), "");
    }
    memset(path + 4, 'x', sizeof(path) - 6);
    path[sizeof(path) - 2] = '\n';
    put("self", path);
    assert_string_equal(own_groups(), "");
    assert_int_equal(unlink(temp_path("self")), 0);
    assert_string_equal(own_groups(), "");

    put("self", "0::/app.slice/weir.service\n");
    assert_int_equal(unlink(temp_path("fs/cgroup.controllers")), 0); /* v1, or hybrid */
    assert_string_equal(own_groups(), "");
    put("fs/cgroup.controllers", "");
    assert_int_equal(unlink(temp_path("fs/app.slice/weir.service/cgroup.procs")), 0);
    assert_string_equal(own_groups(), "");
    assert_int_equal(access(temp_path("fs/app.slice/weir.service/jobs"), F_OK), -1);
    assert_holds("fs/app.slice/weir.service/weir/cgroup.procs", "");
}

static void makes_no_group_for_jobs_where_it_cannot_move(void **state)
{
    (void)state;
    assert_int_equal(rmdir(temp_path("fs/app.slice/weir.service/jobs")), 0);
    assert_int_equal(unlink(temp_path("fs/app.slice/weir.service/weir/cgroup.procs")), 0);
    assert_string_equal(own_groups(), "");
    assert_int_equal(rmdir(temp_path("fs/app.slice/weir.service/weir")), 0);
    put("fs/app.slice/weir.service/weir", "a file");
    assert_string_equal(own_groups(), "");
    assert_int_equal(access(temp_path("fs/app.slice/weir.service/jobs"), F_OK), -1);
}

static void takes_only_a_named_group_that_is_one(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    const char *path = temp_path("fs/app.slice/weir.service");

    (void)state;
    assert_int_equal(weir_cgroup_root(NULL, found, sizeof(found), &err), 0);
    assert_string_equal(found, "");
    assert_int_equal(weir_cgroup_root("off", found, sizeof(found), &err), 0);
    assert_string_equal(found, "");
    assert_int_equal(weir_cgroup_root(path, found, sizeof(found), &err), 0);
    assert_string_equal(found, path);
    assert_int_equal(weir_cgroup_root(path, found, 10, &err), WEIR_E_INVALID);
    assert_string_equal(found, "");
    assert_int_equal(weir_cgroup_root("on", found, sizeof(found), &err), WEIR_E_INVALID);
    assert_int_equal(weir_cgroup_root(temp_path("fs"), found, sizeof(found), &err), WEIR_E_INVALID);
    assert_non_null(strstr(err.text, "is no cgroup v2 directory"));
    assert_non_null(strstr(err.hint, "auto or off"));
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, make_tree, temp_dir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(moves_into_a_leaf_and_hands_the_controllers_down),
        TREE_TEST(does_without_controllers),
        TREE_TEST(makes_the_groups_that_are_missing),
        TREE_TEST(works_at_the_root_of_the_tree),
        TREE_TEST(leaves_alone_what_was_not_handed_over),
        TREE_TEST(makes_no_group_for_jobs_where_it_cannot_move),
        TREE_TEST(takes_only_a_named_group_that_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
