/* What the test program does as a job. Each misbehaves in one way. */
#include "rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BOMB_SECONDS = 20, BOMB_PAUSE_US = 5000 };

/* Forks for ever: `limit` processes that each replace themselves again and again, from the moment
 * that "burning" was written. They pause between two forks and give up after a while, so that a
 * shim that does not get them cannot cost the machine its pids. */
static int fork_bomb(int limit, bool in_own_sessions)
{
    time_t end = time(NULL) + BOMB_SECONDS;
    int fuse[2];
    char byte;

    if (pipe(fuse) < 0)
        return 1;
    for (int i = 0; i < limit; i++) {
        if (fork() != 0)
            continue;
        close(fuse[1]);
        while (read(fuse[0], &byte, 1) > 0)
            continue;
        for (;;) {
            pid_t pid;

            usleep(BOMB_PAUSE_US);
            if (time(NULL) > end)
                _exit(0);
            pid = fork();
            if (pid > 0)
                _exit(0);
            if (pid == 0 && in_own_sessions)
                setsid();
        }
    }
    puts("burning");
    fflush(stdout);
    close(fuse[1]);
    for (;;)
        pause();
}

/* A daemon as of old: twice forked, its own session, output kept open, deaf to SIGTERM. */
static int detach(void)
{
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        return 1;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            puts("detached");
            fflush(stdout);
            close(ready[0]);
            close(ready[1]);
            for (;;)
                pause();
        }
        _exit(0);
    }
    close(ready[1]);
    while (read(ready[0], &byte, 1) > 0)
        continue;
    return 7;
}

static int write_bytes(size_t n)
{
    static char block[1 << 16];

    memset(block, 'x', sizeof(block));
    while (n > 0) {
        size_t n_block = n < sizeof(block) ? n : sizeof(block);
        ssize_t n_written = write(1, block, n_block);

        if (n_written < 0)
            return 1;
        n -= (size_t)n_written;
    }
    return 0;
}

/* Touches memory without end, or until the kernel ends it. */
static int eat_memory(void)
{
    for (;;) {
        size_t n = 1 << 20;
        char *block = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (block == MAP_FAILED)
            return 1;
        memset(block, 1, n);
    }
}

/* Leaves a child that becomes another user for good, which only a setuid program can. */
static int change_user(void)
{
    int ready[2];
    char byte;

    if (pipe(ready) < 0)
        return 1;
    if (fork() == 0) {
        if (setresuid(0, 0, 0) < 0)
            _exit(1);
        signal(SIGTERM, SIG_IGN);
        alarm(60);
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    while (read(ready[0], &byte, 1) > 0)
        continue;
    return 0;
}

int rig_job_main(int argc, char **argv)
{
    const char *name = argv[0];
    const char *arg = argc > 1 ? argv[1] : "0";

    if (strcmp(name, "bomb") == 0)
        return fork_bomb((int)strtol(arg, NULL, 10), false);
    if (strcmp(name, "session-bomb") == 0)
        return fork_bomb((int)strtol(arg, NULL, 10), true);
    if (strcmp(name, "detach") == 0)
        return detach();
    if (strcmp(name, "write") == 0)
        return write_bytes((size_t)strtoull(arg, NULL, 10));
    if (strcmp(name, "eat") == 0)
        return eat_memory();
    if (strcmp(name, "change-user") == 0)
        return change_user();
    return 64;
}
