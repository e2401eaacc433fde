/* A driver that does as it is told (rig_nvml.c), for tests of what weir does when it misbehaves.
 *
 * The test loads the same library and finds `nvml_rig` in it. Everything is under its lock. */
#ifndef WEIR_TESTS_RIG_NVML_H
#define WEIR_TESTS_RIG_NVML_H

#include "edge/nvml/nvml_abi.h"

#include <pthread.h>
#include <stdbool.h>

enum { RIG_DEVICES_MAX = 4, RIG_INSTANCES_MAX = 4, RIG_EVENTS_MAX = 8, RIG_PROCESSES_MAX = 4 };

struct rig_instance {
    bool is_there;
    uint32_t start;
    bool has_compute;
};

struct rig_device {
    int result;         /* of every question */
    int name_result;    /* of the question for its name, which no sample asks */
    bool hangs;         /* questions do not return while this is so … */
    unsigned n_hanging; /* … which so many wait for */
    bool mode_hangs;    /* changes of the mode do not return while this is so */
    unsigned n_asked;   /* for utilization: once in each sample */
    unsigned n_registered;
    bool has_gpm;
    uint32_t mig_mode;
    int mig_activation; /* what a change of mode says */
    int create_result;  /* of the next GPU instances */
    int compute_result; /* of the next compute instances */
    int destroy_result;
    int free_result; /* of destroying GPU instances that are empty */
    int list_result; /* of the list of GPU instances */
    struct rig_instance instances[RIG_INSTANCES_MAX];
};

struct nvml_rig {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned n_devices;
    int init_result;
    bool init_hangs;
    bool count_hangs;
    bool is_reloaded; /* everything answers UNINITIALIZED until the next init */
    unsigned n_inits;
    unsigned n_shutdowns;
    unsigned n_gpm_samples; /* that are not freed */
    unsigned n_event_sets;  /* likewise */
    int wait_result;        /* of the next waits for events; 0: they tell events */
    unsigned series;        /* in every uuid */
    struct rig_device devices[RIG_DEVICES_MAX];
    unsigned n_events;       /* so far: each set tells those since it was made */
    uint64_t xids_at_set[2]; /* of events just before and after the next set is made; 0: none */
    struct weir_nvml_event_data events[RIG_EVENTS_MAX]; /* `device` is not used … */
    unsigned event_devices[RIG_EVENTS_MAX];             /* … but this index */
};

#endif
