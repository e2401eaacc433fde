/* The driver of rig_nvml.c under the hands of a test. */
#ifndef WEIR_TESTS_RIG_LOAD_H
#define WEIR_TESTS_RIG_LOAD_H

#include "../support.h"
#include "rig_nvml.h"

#include <dlfcn.h>
#include <limits.h>

static struct nvml_rig *rig;

/* It lies beside this program. */
static inline const char *rig_path(void)
{
    static char path[PATH_MAX + 32];
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(len > 0);
    self[len] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(path, sizeof(path), "%s/librig-nvml.so", self);
    return path;
}

/* As good as new, with n devices. Stays loaded. */
static inline void rig_reset(unsigned n)
{
    static void *library;

    if (library == NULL)
        library = dlopen(rig_path(), RTLD_NOW);
    if (library == NULL)
        fail_msg("%s", dlerror());
    rig = dlsym(library, "nvml_rig");
    assert_non_null(rig);
    pthread_mutex_lock(&rig->lock);
    rig->n_devices = n;
    rig->init_result = 0;
    rig->init_hangs = false;
    rig->count_hangs = false;
    rig->is_reloaded = false;
    rig->wait_result = 0;
    rig->n_events = 0;
    rig->series = 0;
    for (unsigned i = 0; i < RIG_DEVICES_MAX; i++)
        rig->devices[i] =
            (struct rig_device){.has_gpm = true, .n_hanging = rig->devices[i].n_hanging};
    pthread_cond_broadcast(&rig->changed);
    pthread_mutex_unlock(&rig->lock);
}

/* Changes the rig: rig_do(rig->devices[0].hangs = true); */
#define rig_do(change)                                                                             \
    do {                                                                                           \
        pthread_mutex_lock(&rig->lock);                                                            \
        change;                                                                                    \
        pthread_cond_broadcast(&rig->changed);                                                     \
        pthread_mutex_unlock(&rig->lock);                                                          \
    } while (0)

static inline unsigned rig_get(const unsigned *number)
{
    unsigned value;

    pthread_mutex_lock(&rig->lock);
    value = *number;
    pthread_mutex_unlock(&rig->lock);
    return value;
}

#endif
