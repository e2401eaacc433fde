#include "../support.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

enum { MANY = 3000000, ALARMS_MAX = 100 };

static const struct itimerval never = {{0, 0}, {0, 0}};

/* Where handling one takes as long as the next one needs to come, nothing else would ever be done.
 */
static void on_alarm(int number)
{
    static volatile sig_atomic_t n;

    (void)number;
    n = n + 1;
    if (n >= ALARMS_MAX)
        (void)setitimer(ITIMER_REAL, &never, NULL);
}

/* More than a pipe holds goes through it, with signals all the way. */
static void moves_all_through_a_pipe(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval often = {{0, 2000}, {0, 2000}};
    struct weir_buf text = WEIR_BUF_INIT(2 * MANY);
    int ends[2];
    pid_t child;
    int status;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    sigaction(SIGALRM, &action, NULL);
    child = fork();
    if (child == 0) {
        char *data = malloc(MANY);

        close(ends[0]);
        setitimer(ITIMER_REAL, &often, NULL);
        for (int i = 0; i < MANY; i++)
            data[i] = (char)(i % 251);
        _exit(weir_fd_write_all(ends[1], data, MANY) == 0 ? 0 : 1);
    }
    close(ends[1]);
    setitimer(ITIMER_REAL, &often, NULL);
    usleep(20000); /* the writer waits for room */
    assert_int_equal(weir_fd_read_all(ends[0], &text), 0);
    setitimer(ITIMER_REAL, &never, NULL); /* one may still be under way: its handler stays */
    assert_int_equal(text.len, MANY);
    for (int i = 0; i < MANY; i++)
        if (text.data[i] != (char)(i % 251))
            fail_msg("byte %d is %d", i, text.data[i]);
    close(ends[0]);
    weir_buf_finish(&text);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void fills_a_buffer_to_its_maximum(void **state)
{
    (void)state;
    for (size_t n = 9999; n <= 10001; n++) {
        struct weir_buf text = WEIR_BUF_INIT(10000);
        FILE *file = tmpfile();

        assert_non_null(file);
        for (size_t i = 0; i < n; i++)
            fputc('x', file);
        rewind(file);
        assert_int_equal(weir_fd_read_all(fileno(file), &text), 0);
        assert_int_equal(weir_buf_check(&text, "it", NULL), n > 10000 ? WEIR_E_TOO_LARGE : 0);
        assert_int_equal(text.len, n > 10000 ? 10000 : n);
        fclose(file);
        weir_buf_finish(&text);
    }
}

static void tells_what_fails(void **state)
{
    struct weir_buf small = WEIR_BUF_INIT(10000);
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(weir_fd_read_all(fd, &small), 0);
    assert_int_equal(weir_buf_check(&small, "it", NULL), WEIR_E_TOO_LARGE);
    close(fd);
    weir_buf_reset(&small);
    errno = 0;
    assert_int_equal(weir_fd_read_all(-1, &small), -1);
    assert_int_equal(errno, EBADF);
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(weir_fd_write_all(fd, "x", 1), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(weir_fd_write_all(fd, "", 0), 0);
    close(fd);
    weir_buf_finish(&small);
}

/* A pipe would wait for ever, and a device may never end. */
static void opens_files_only(void **state)
{
    static const struct {
        const char *name;
        const char *said;
    } others[] = {{"/tmp", "a folder"},
                  {"/dev/zero", "a device"},
                  {"pipe", "a pipe"},
                  {"link", "a pipe"},
                  {"socket", "a socket"}};
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    char folder[] = "/tmp/weir-test-fd-XXXXXX";
    struct weir_err err = WEIR_ERR_INIT;
    int dir_fd, fd, server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("pipe", "link"), 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(weir_fd_open_file(dir_fd, others[i].name, 0, &err), WEIR_E_INVALID);
        assert_non_null(strstr(err.text, others[i].said));
    }
    assert_int_equal(weir_fd_open_file(dir_fd, "none", 0, &err), WEIR_E_NOT_FOUND);
    assert_true(weir_fd_open_file(dir_fd, "link", O_NOFOLLOW, &err) < 0);
    fd = openat(dir_fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(fd);
    fd = weir_fd_open_file(dir_fd, "file", O_NOFOLLOW, &err);
    assert_true(fd >= 0);
    close(fd);
    close(dir_fd);
    close(server);
    unlink("file");
    unlink("link");
    unlink("pipe");
    unlink("socket");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_all_through_a_pipe),
        cmocka_unit_test(fills_a_buffer_to_its_maximum),
        cmocka_unit_test(tells_what_fails),
        cmocka_unit_test(opens_files_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
