/* A decision log over a world with a random past, and what it must read back as. */
#ifndef WEIR_TESTS_DECISION_RIG_H
#define WEIR_TESTS_DECISION_RIG_H

#include "app/decision_log.h"
#include "app/decision_reader.h"
#include "world_history.h"
#include "world_same.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RIG_TICKS_MAX = 4000 };

struct rig_tick {
    const struct weir_world *world;
    struct weir_policy policy;
    struct weir_now now;
    uint64_t seed;
    struct weir_action actions[3];
    struct weir_grant grants[2];
    struct weir_plan plan;
};

struct rig {
    char dir[64];
    struct history history;
    struct weir_decision_log *log;
    struct weir_policy policy;
    struct rig_tick *ticks; /* in order; seq of a run is index + 1 */
    uint32_t n;
};

/* False where there is no room for it. */
static inline bool rig_open_within(struct rig *rig, uint64_t seed,
                                   struct weir_decision_limits limits)
{
    *rig = (struct rig){.policy = weir_policy_default()};
    snprintf(rig->dir, sizeof(rig->dir), "%s", "/tmp/weir-decisions-XXXXXX");
    rig->ticks = calloc(RIG_TICKS_MAX, sizeof(*rig->ticks));
    return rig->ticks != NULL && mkdtemp(rig->dir) != NULL &&
           history_init(&rig->history, seed, 8, 40) == 0 &&
           weir_decision_log_open(rig->dir, limits, &rig->log, NULL) == 0;
}

static inline bool rig_open(struct rig *rig, uint64_t seed)
{
    return rig_open_within(rig, seed, weir_decision_limits_default());
}

/* path of the i-th segment, oldest first; false if there are not so many */
static inline bool rig_segment(const struct rig *rig, unsigned i, char *ret_path, size_t size)
{
    char folder[96];
    struct dirent **entries = NULL;
    int n;
    bool found = false;

    snprintf(folder, sizeof(folder), "%s/decisions", rig->dir);
    n = scandir(folder, &entries, NULL, alphasort);
    for (int k = 0; k < n; k++) {
        if (entries[k]->d_name[0] != '.' && i-- == 0) {
            found = (size_t)snprintf(ret_path, size, "%s/%s", folder, entries[k]->d_name) < size;
        }
        free(entries[k]);
    }
    free(entries);
    return found;
}

static inline int64_t rig_bytes(const struct rig *rig)
{
    char path[400];
    struct stat st;
    int64_t bytes = 0;

    for (unsigned i = 0; rig_segment(rig, i, path, sizeof(path)); i++)
        if (stat(path, &st) == 0)
            bytes += st.st_size;
    return bytes;
}

static inline void rig_close(struct rig *rig)
{
    char path[400];

    rig->log = weir_decision_log_close(rig->log);
    for (uint32_t i = 0; i < rig->n; i++)
        weir_world_unref(rig->ticks[i].world);
    free(rig->ticks);
    history_finish(&rig->history);
    while (rig_segment(rig, 0, path, sizeof(path)))
        if (unlink(path) < 0)
            break;
    snprintf(path, sizeof(path), "%s/decisions", rig->dir);
    rmdir(path);
    rmdir(rig->dir);
}

/* A plan that is only there to be written down. */
static inline void rig_fill_plan(struct rig *rig, struct rig_tick *tick)
{
    struct weir_rng *rng = &rig->history.rng;

    tick->plan = (struct weir_plan){.world_version = tick->world->version,
                                    .n_actions = (uint32_t)weir_rng_below(rng, 4),
                                    .n_grants = (uint32_t)weir_rng_below(rng, 3),
                                    .actions = tick->actions,
                                    .grants = tick->grants,
                                    .wake_wall_ms = INT64_MAX};
    for (uint32_t i = 0; i < tick->plan.n_actions; i++)
        tick->actions[i] = (struct weir_action){.kind = WEIR_ACTION_START,
                                                .order = i,
                                                .task = (uint32_t)weir_rng_below(rng, 100),
                                                .amount = (int64_t)weir_rng_below(rng, 100)};
    for (uint32_t i = 0; i < tick->plan.n_grants; i++)
        tick->grants[i] = (struct weir_grant){.device = i, .part_mgpu = 1000};
}

/* Takes down one decision, after some steps of the history (0: on the same world). False: no memory
 * for the world. */
static inline bool rig_tick(struct rig *rig, unsigned n_steps)
{
    struct rig_tick *tick = &rig->ticks[rig->n];

    if (n_steps > 0 || rig->n == 0) {
        if (history_run(&rig->history, n_steps) < 0)
            return false;
        tick->world = weir_edit_seal(rig->history.edit);
        if (tick->world == NULL)
            return false;
    } else {
        tick->world = rig->ticks[rig->n - 1].world;
        weir_world_ref(tick->world);
    }
    tick->policy = rig->policy;
    tick->now = (struct weir_now){rig->history.now_ms, 1000 * (int64_t)(rig->n + 1)};
    tick->seed = weir_rng_next(&rig->history.rng);
    rig_fill_plan(rig, tick);
    rig->n++;
    weir_decision_log_tick(rig->log, tick->world, &tick->policy, tick->now, tick->seed,
                           &tick->plan);
    return true;
}

/* Whether what was read is what was taken down under its number. */
static inline bool rig_same(const struct rig *rig, const struct weir_decision *read)
{
    const struct rig_tick *tick;
    uint8_t digest[16];

    if (read->seq == 0 || read->seq > rig->n)
        return false;
    tick = &rig->ticks[read->seq - 1];
    weir_plan_digest(&tick->plan, digest);
    return world_same(tick->world, read->world) &&
           memcmp(&tick->policy, &read->policy, sizeof(read->policy)) == 0 &&
           tick->now.wall_ms == read->now.wall_ms && tick->now.mono_ms == read->now.mono_ms &&
           tick->seed == read->seed && memcmp(digest, read->digest, sizeof(digest)) == 0 &&
           tick->plan.n_actions == read->n_actions && tick->plan.n_grants == read->n_grants &&
           memcmp(tick->actions, read->actions, read->n_actions * sizeof(*read->actions)) == 0 &&
           memcmp(tick->grants, read->grants, read->n_grants * sizeof(*read->grants)) == 0;
}

#endif
