/* MPS daemons as the world has them: begun and ended as a plan says, and what became of each.
 *
 * A begin that came to nothing keeps its GPU from changes for a while, which doubles; a daemon that
 * came on ends that. A daemon that died while jobs ran under it is theirs to know: their processes
 * have failed by then, or will. */
#include "app/server.h"
#include "base/log.h"

#include <string.h>

enum {
    SHARERS_MAX = 16,     /* they take turns: of more each would have too few */
    MPS_SHARERS_MAX = 48, /* clients of one server, from Volta on */
    VOLTA = 7,            /* the major compute capability that limits clients one by one */
    COMPUTE_MODE_SHARED = 0,
    COMPUTE_MODE_EXCLUSIVE_PROCESS = 3, /* the one process is the MPS server */
    BACKOFF_MIN_MS = 5 * 1000,
    BACKOFF_MAX_MS = 10 * 60 * 1000,
    BACKOFF_DOUBLINGS_MAX = 7,
    CAUSE_MAX = WEIR_MPS_WHY_MAX + 8,
};

/* Most GPUs never have a daemon, and no mark: a large fleet makes a short list. NULL: there is
 * none, or no memory for one. */
static struct weir_server_mps *mark_of(struct weir_server *server, struct weir_str uuid, bool makes)
{
    struct weir_server_mps fresh = {0};

    for (size_t i = 0; i < server->mps_marks.n; i++)
        if (weir_str_eq_c(uuid, server->mps_marks.items[i].uuid))
            return &server->mps_marks.items[i];
    if (!makes || uuid.len >= sizeof(fresh.uuid))
        return NULL;
    weir_str_format(fresh.uuid, sizeof(fresh.uuid), "%.*s", WEIR_STR_ARG(uuid));
    return weir_vec_push(&server->mps_marks, fresh) < 0 ? NULL : weir_vec_last(&server->mps_marks);
}

/* ---- what a device can ---- */

/* Below Volta no client can be held to its budget; in MIG mode there is no whole GPU to share. */
bool weir_server_can_mps(const struct weir_server *server, const struct weir_gpu_device *seen)
{
    bool fits_mode = (seen->valid & WEIR_GPU_HAS_COMPUTE_MODE) == 0 ||
                     seen->compute_mode == COMPUTE_MODE_SHARED ||
                     seen->compute_mode == COMPUTE_MODE_EXCLUSIVE_PROCESS;

    return server->mps.ctx != NULL && server->mps.can_begin && !seen->mig_mode && fits_mode &&
           (seen->valid & WEIR_GPU_HAS_COMPUTE_CAPABILITY) != 0 && seen->compute_major >= VOLTA;
}

/* A GPU that is cut into instances is given out by instance; one in an exclusive mode lets in one
 * process only, which is that of MPS where nobody shares it without. */
uint32_t weir_server_sharers_of(const struct weir_gpu_device *seen,
                                const struct weir_device *device)
{
    bool is_exclusive =
        (seen->valid & WEIR_GPU_HAS_COMPUTE_MODE) != 0 && seen->compute_mode != COMPUTE_MODE_SHARED;

    if (seen->mig_mode)
        return 1;
    if (device->can_mps != 0 && (device->sharing == WEIR_SHARING_MPS || device->mps == WEIR_MPS_ON))
        return MPS_SHARERS_MAX;
    return is_exclusive ? 1 : SHARERS_MAX;
}

/* ---- what became of a daemon ---- */

static int tell(struct weir_server *server, const struct weir_server_mps *mark, const char *kind,
                const char *why, struct weir_err *err)
{
    char subject[sizeof(mark->uuid) + 8];
    int r = weir_server_begin(server, err);

    weir_str_format(subject, sizeof(subject), "gpu/%s", mark->uuid);
    return r < 0 ? r
                 : weir_server_event(server, WEIR_STR("weir"), kind, weir_str(subject),
                                     weir_str(why), WEIR_STR(""), WEIR_STR(""), err);
}

static void mark_clients(struct weir_server *server, uint32_t device)
{
    const struct weir_world *state = weir_edit_view(server->edit);

    for (uint32_t at = weir_world_device(state, device)->first_hold; at != WEIR_NONE;
         at = weir_world_hold(state, at)->next_of_device) {
        struct weir_server_attempt *attempt =
            weir_server_attempt_of(server, weir_world_hold(state, at)->task);

        if (attempt != NULL)
            attempt->lost_mps = true;
    }
}

static int note_deaths(struct weir_server *server, struct weir_server_mps *mark, uint32_t device,
                       const struct weir_mps_facts *facts, struct weir_err *err)
{
    if (facts->n_deaths <= mark->n_deaths)
        return 0;
    mark->n_deaths = facts->n_deaths;
    mark_clients(server, device);
    weir_log_warn("mps.died", "the MPS daemon of %s died, and its clients with it: %s", mark->uuid,
                  facts->why);
    return tell(server, mark, "gpu.mps-died", facts->why, err);
}

static int note_failure(struct weir_server *server, struct weir_server_mps *mark, const char *why,
                        struct weir_err *err)
{
    int doublings = mark->n_in_a_row < BACKOFF_DOUBLINGS_MAX ? (int)mark->n_in_a_row
                                                             : (int)BACKOFF_DOUBLINGS_MAX;
    int64_t backoff_ms = (int64_t)BACKOFF_MIN_MS << doublings;

    backoff_ms = backoff_ms < BACKOFF_MAX_MS ? backoff_ms : BACKOFF_MAX_MS;
    mark->n_in_a_row++;
    mark->not_before_wall_ms = server->clock.now(server->clock.ctx).wall_ms + backoff_ms;
    weir_str_format(mark->cause, sizeof(mark->cause), "MPS: %s", why);
    weir_log_warn("mps.failed", "no MPS daemon on %s: %s; not tried again for %lld s", mark->uuid,
                  why, (long long)(backoff_ms / 1000));
    return tell(server, mark, "gpu.mps-failed", why, err);
}

static int note(struct weir_server *server, struct weir_server_mps *mark, uint32_t device,
                const struct weir_mps_facts *facts, struct weir_err *err)
{
    int r = note_deaths(server, mark, device, facts, err);

    if (r == 0 && facts->n_failures > mark->n_failures) {
        mark->n_failures = facts->n_failures;
        r = note_failure(server, mark, facts->why, err);
    }
    if (facts->state == WEIR_MPS_ON &&
        weir_world_device(weir_edit_view(server->edit), device)->mps != WEIR_MPS_ON)
        weir_log_info("mps", "the MPS daemon of %s is on", mark->uuid);
    if (facts->state == WEIR_MPS_ON)
        mark->n_in_a_row = 0;
    return r < 0 ? weir_server_fail(server, r, err) : 0;
}

/* A change of another kind may be barred for longer, by whoever made it. */
static int bar(struct weir_server *server, const struct weir_server_mps *mark,
               struct weir_device *to, struct weir_err *err)
{
    int r;

    if (mark->not_before_wall_ms <= to->change_not_before_wall_ms ||
        mark->not_before_wall_ms <= server->clock.now(server->clock.ctx).wall_ms)
        return 0;
    to->change_not_before_wall_ms = mark->not_before_wall_ms;
    r = weir_edit_string(server->edit, weir_str_cut(weir_str(mark->cause), 128), &to->change_cause);
    return r < 0 ? weir_error(err, r, "no room for why there is no MPS daemon") : 0;
}

static bool is_same(const struct weir_device *a, const struct weir_device *b)
{
    return a->can_mps == b->can_mps && a->mps == b->mps && a->isolation == b->isolation &&
           a->change_not_before_wall_ms == b->change_not_before_wall_ms;
}

/* Who has equal turns has no budget that could be enforced. */
static bool can_isolate(const struct weir_device *device)
{
    return (device->can_mps != 0 || device->mps != WEIR_MPS_OFF) &&
           device->sharing != WEIR_SHARING_REPLICAS && device->sharing != WEIR_SHARING_NEVER;
}

int weir_server_see_mps(struct weir_server *server, uint32_t device, uint32_t can_mps,
                        struct weir_err *err)
{
    const struct weir_device *known = weir_world_device(weir_edit_view(server->edit), device);
    struct weir_str uuid = weir_world_string(weir_edit_view(server->edit), known->uuid);
    struct weir_device now = *known;
    struct weir_mps_facts facts;
    struct weir_server_mps *mark;
    struct weir_device *row;
    bool has_one;
    int r = 0;

    if (server->mps.ctx == NULL || known->kind != WEIR_DEVICE_WHOLE)
        return 0;
    server->mps.look(server->mps.ctx, uuid, &facts);
    has_one = facts.state != WEIR_MPS_OFF || facts.n_failures > 0;
    mark = mark_of(server, uuid, has_one);
    if (mark == NULL && has_one)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an MPS daemon");
    now.can_mps = can_mps;
    now.mps = facts.state;
    now.isolation = can_isolate(&now) ? WEIR_ISOLATION_MEMORY : WEIR_ISOLATION_NONE;
    if (mark != NULL)
        r = note(server, mark, device, &facts, err);
    if (r == 0 && mark != NULL)
        r = bar(server, mark, &now, err);
    known = weir_world_device(weir_edit_view(server->edit), device);
    if (r < 0 || is_same(known, &now))
        return r;
    row = weir_edit_device(server->edit, device);
    if (row == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an MPS daemon");
    row->can_mps = now.can_mps;
    row->mps = now.mps;
    row->isolation = now.isolation;
    row->change_cause = now.change_cause;
    row->change_not_before_wall_ms = now.change_not_before_wall_ms;
    server->dirty = true;
    return 0;
}

/* ---- what is done ---- */

void weir_server_share(struct weir_server *server, const struct weir_action *action)
{
    const struct weir_device *row = weir_world_device(weir_edit_view(server->edit), action->device);
    struct weir_str uuid = weir_world_string(weir_edit_view(server->edit), row->uuid);
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_err cannot = WEIR_ERR_INIT;
    struct weir_server_mps *mark;
    int r = 0;

    if (server->mps.ctx == NULL)
        return; /* then nobody said that it could be */
    if (action->amount == 0) {
        server->mps.end(server->mps.ctx, uuid);
    } else if (server->mps.begin(server->mps.ctx, uuid, &cannot) < 0) {
        mark = mark_of(server, uuid, true);
        r = mark != NULL ? note_failure(server, mark, cannot.text, &err) : WEIR_E_NO_MEMORY;
    }
    if (r == 0)
        r = weir_server_see_mps(server, action->device, row->can_mps, &err);
    if (r < 0)
        weir_server_fail(server, r, &err);
}

void weir_server_look_at_mps(struct weir_server *server)
{
    if (!server->mps.service(server->mps.ctx) || server->edit == NULL)
        return;
    weir_server_look(server, true);
}
