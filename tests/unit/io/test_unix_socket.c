#include "io/unix_socket.h"

#include "base/count.h"
#include "base/err.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static char deep[600]; /* a folder whose path alone is longer than sockaddr_un */

static int start(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/weir-unix-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(deep, sizeof(deep), "%s", dir);
    for (int i = 0; i < 5; i++) {
        size_t n = strlen(deep);

        snprintf(deep + n, sizeof(deep) - n, "/%060d", i);
        if (mkdir(deep, 0700) < 0)
            return -1;
    }
    return 0;
}

static int stop(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        rmdir(deep);
        *strrchr(deep, '/') = '\0';
    }
    return rmdir(dir);
}

static void exchange(struct weir_unix_listener *listener, const char *path)
{
    struct weir_err err = WEIR_ERR_INIT;
    int fd = weir_unix_connect(path, 1000, &err);
    int peer;
    char byte = 0;

    if (fd < 0)
        fail_msg("%s", err.text);
    peer = accept(listener->fd, NULL, NULL);
    assert_true(peer >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(read(peer, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(peer);
    close(fd);
}

static void works_at_short_and_long_paths(void **state)
{
    (void)state;
    for (int is_long = 0; is_long <= 1; is_long++) {
        char path[700];
        struct weir_unix_listener listener;
        struct weir_err err = WEIR_ERR_INIT;
        struct stat st;

        snprintf(path, sizeof(path), "%s/weir.sock", is_long ? deep : dir);
        assert_true(!is_long || strlen(path) > 300);
        if (weir_unix_listen(path, 0660, &listener, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(stat(path, &st), 0);
        assert_true(S_ISSOCK(st.st_mode));
        assert_int_equal(st.st_mode & 07777, 0660);
        exchange(&listener, path);
        weir_unix_listener_finish(&listener);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(listener.fd, -1);
        weir_unix_listener_finish(&listener);
    }
}

static void works_at_relative_paths(void **state)
{
    struct weir_unix_listener listener;
    struct weir_err err = WEIR_ERR_INIT;
    int was = open(".", O_PATH | O_DIRECTORY);

    (void)state;
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(weir_unix_listen("s", 0600, &listener, &err), 0);
    exchange(&listener, "s");
    weir_unix_listener_finish(&listener);
    assert_int_equal(access("s", F_OK), -1);
    assert_int_equal(fchdir(was), 0);
    close(was);
}

static void sets_the_mode_whatever_the_umask(void **state)
{
    static const mode_t modes[] = {0600, 0666, 0770};
    mode_t was = umask(0777);
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/s", dir);
    for (int i = 0; i < 3; i++) {
        struct weir_unix_listener listener;
        struct stat st;

        assert_int_equal(weir_unix_listen(path, modes[i], &listener, NULL), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
        weir_unix_listener_finish(&listener);
    }
    umask(was);
}

/* What a server that was killed leaves behind. */
static void leave_stale(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    close(fd);
    assert_int_equal(access(path, F_OK), 0);
}

static void replaces_stale_sockets_only(void **state)
{
    struct weir_unix_listener listener;
    struct weir_unix_listener second;
    struct weir_err err = WEIR_ERR_INIT;
    char path[128];
    char link[128];
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "%s/s", dir);
    snprintf(link, sizeof(link), "%s/l", dir);
    leave_stale(path);
    assert_int_equal(weir_unix_connect(path, 100, &err), WEIR_E_UNAVAILABLE);
    assert_int_equal(weir_unix_listen(path, 0600, &listener, &err), 0);
    exchange(&listener, path);
    assert_int_equal(weir_unix_listen(path, 0600, &second, &err), WEIR_E_EXISTS);
    assert_non_null(strstr(err.text, "another process listens on"));
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(weir_unix_listen(link, 0600, &second, &err), WEIR_E_EXISTS);
    unlink(link);
    weir_unix_listener_finish(&listener);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(weir_unix_listen(path, 0600, &second, &err), WEIR_E_EXISTS);
    assert_non_null(strstr(err.text, "is not a socket"));
    assert_int_equal(unlink(path), 0);
}

static void leaves_alone_what_replaced_its_socket(void **state)
{
    struct weir_unix_listener listener;
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/s", dir);
    assert_int_equal(weir_unix_listen(path, 0600, &listener, NULL), 0);
    assert_int_equal(unlink(path), 0);
    leave_stale(path);
    weir_unix_listener_finish(&listener);
    assert_int_equal(unlink(path), 0);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *path;
        int listen_code;
        int connect_code;
    } cases[] = {
        {"", WEIR_E_INVALID, WEIR_E_INVALID},
        {"/tmp/", WEIR_E_INVALID, WEIR_E_INVALID},
        {"/nowhere/s", WEIR_E_NOT_FOUND, WEIR_E_NOT_FOUND},
        {"/dev/null/s", WEIR_E_IO, WEIR_E_IO},
    };
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_unix_listener listener;
    char path[800];
    size_t n;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        assert_int_equal(weir_unix_listen(cases[i].path, 0600, &listener, &err),
                         cases[i].listen_code);
        assert_int_equal(weir_unix_connect(cases[i].path, 100, &err), cases[i].connect_code);
    }
    n = (size_t)snprintf(path, sizeof(path), "%s/", deep);
    memset(path + n, 'n', 120);
    path[n + 120] = '\0';
    assert_int_equal(weir_unix_listen(path, 0600, &listener, &err), WEIR_E_TOO_LARGE);
    assert_int_equal(weir_unix_connect(path, 100, &err), WEIR_E_TOO_LARGE);
}

static void connecting_to_a_full_queue_times_out(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct weir_err err = WEIR_ERR_INIT;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    int first;

    (void)state;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 0), 0);
    first = weir_unix_connect(address.sun_path, 100, &err);
    assert_true(first >= 0);
    assert_int_equal(weir_unix_connect(address.sun_path, 100, &err), WEIR_E_TIMEOUT);
    close(first);
    close(listener);
    unlink(address.sun_path);
}

static void does_not_wait_for_ever_for_the_lock(void **state)
{
    struct weir_unix_listener listener;
    struct weir_err err = WEIR_ERR_INIT;
    char path[128];
    int lock = open(dir, O_RDONLY | O_DIRECTORY);

    (void)state;
    snprintf(path, sizeof(path), "%s/s", dir);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(weir_unix_listen(path, 0600, &listener, &err), WEIR_E_UNAVAILABLE);
    close(lock);
    assert_int_equal(weir_unix_listen(path, 0600, &listener, &err), 0);
    weir_unix_listener_finish(&listener);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(works_at_short_and_long_paths),         TEST(works_at_relative_paths),
        TEST(sets_the_mode_whatever_the_umask),      TEST(replaces_stale_sockets_only),
        TEST(leaves_alone_what_replaced_its_socket), TEST(says_what_is_wrong),
        TEST(connecting_to_a_full_queue_times_out),  TEST(does_not_wait_for_ever_for_the_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
