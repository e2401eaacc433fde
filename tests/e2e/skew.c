/* Preloaded into a server by the tests: moves the wall clock by as many seconds as $SKEW_FILE says,
 * and no other clock. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset_s(void)
{
    const char *path = getenv("SKEW_FILE");
    char text[32] = "";
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strtol(text, NULL, 10);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
    static int (*real)(clockid_t, struct timespec *);
    int r;

    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    r = real(id, ts);
    if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        ts->tv_sec += offset_s();
    return r;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *restrict tv,
                                                        void *restrict zone)
{
    struct timespec ts;
    int r = clock_gettime(CLOCK_REALTIME, &ts);

    (void)zone;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return r;
}

__attribute__((visibility("default"))) time_t time(time_t *ret)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (ret != NULL)
        *ret = ts.tv_sec;
    return ts.tv_sec;
}
