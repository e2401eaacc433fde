/* app/up_impl.h — what the files of weir up share; for up*.c only. */
#ifndef WEIR_APP_UP_IMPL_H
#define WEIR_APP_UP_IMPL_H

#include "app/datadir.h"
#include "app/server.h"
#include "app/up.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

enum { WEIR_UP_PATH_BYTES = WEIR_DATADIR_PATH_MAX + 64 };

struct weir_up_state {
    const struct weir_up_options *options;
    char data_dir[WEIR_DATADIR_PATH_MAX];
    char address[WEIR_UP_PATH_BYTES]; /* for people: where to reach it */
    int lock_fd;
    int space_fd;
    struct weir_sqlite *sqlite;
    struct weir_local *local;
    struct weir_gpus *gpus;
    struct weir_mps_supervisor *mps; /* NULL: it could not be opened */
    char mps_exe[WEIR_UP_PATH_BYTES];
    struct weir_err no_mps; /* why the daemons cannot be watched over; code 0: they are */
    struct weir_gpu_tests *gpu_tests;
    struct weir_kernlog *kernlog; /* NULL: it may not be read */
    bool kernlog_is_broken;       /* and cannot be watched */
    struct weir_api *api;
    struct weir_server server;
    struct weir_service service;

    uv_loop_t loop;
    uv_check_t after_io;
    uv_poll_t notes;
    uv_poll_t gpu_notes;
    uv_poll_t kernlog_notes;
    uv_poll_t mps_notes;
    uv_poll_t test_notes;
    uv_poll_t *launcher;
    int launcher_fd;
    int launcher_events;
    bool is_launcher_failing; /* and that was said */
    uv_timer_t wake;
    uv_timer_t look;
    uv_timer_t samples;
    uv_signal_t on_term;
    uv_signal_t on_int;
    int64_t devices_mono_ms; /* when they were last read */
    int64_t prune_mono_ms;
};

/* ---- up_loop.c ---- */
struct weir_now weir_up_clock(void *ctx);
/* One, if the state is dirty; then the next wake is set. */
void weir_up_tick(struct weir_up_state *up);
/* For whoever is told of changes; arg: a struct weir_up_state. */
void weir_up_changed(void *arg);
/* Watches all that makes the state dirty. */
int weir_up_start(struct weir_up_state *up, struct weir_err *err);
/* Closes the loop and all that is in it. */
void weir_up_stop(struct weir_up_state *up);

#endif
