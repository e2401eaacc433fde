#include "app/decision_replay.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "core/decide.h"

#include <string.h>

static void count(struct weir_replay_summary *summary, const struct weir_replayed *tick)
{
    if (summary->n_ticks++ > 0 && !tick->recorded->follows)
        summary->n_gaps++;
    if (!tick->differs || summary->n_differing++ > 0)
        return;
    summary->differing_run = tick->recorded->run;
    summary->differing_seq = tick->recorded->seq;
    summary->differing_now = tick->recorded->now;
}

/* Fails only for want of memory: that another decision cannot be made at all is a difference. */
static int decide_again(const struct weir_decision *recorded, struct weir_arena *arena,
                        struct weir_plan *plan, struct weir_err *failure,
                        struct weir_replayed *ret_tick)
{
    uint8_t digest[16];
    int r = weir_decide(recorded->world, &recorded->policy, recorded->now, recorded->seed, NULL,
                        arena, plan, failure);

    *ret_tick = (struct weir_replayed){.recorded = recorded, .differs = true};
    if (r == WEIR_E_NO_MEMORY)
        return r;
    if (r < 0) {
        ret_tick->failure = failure;
        return 0;
    }
    weir_plan_digest(plan, digest);
    ret_tick->plan = plan;
    ret_tick->differs = memcmp(digest, recorded->digest, sizeof(digest)) != 0;
    return 0;
}

static int replay_all(struct weir_decision_reader *reader,
                      int (*on_tick)(void *arg, const struct weir_replayed *tick,
                                     struct weir_err *err),
                      void *arg, struct weir_replay_summary *summary, struct weir_err *err)
{
    weir_cleanup_arena struct weir_arena arena = WEIR_ARENA_INIT;
    struct weir_decision recorded;
    int r;

    while ((r = weir_decision_reader_next(reader, &recorded, err)) > 0) {
        struct weir_err failure = WEIR_ERR_INIT;
        struct weir_plan plan;
        struct weir_replayed tick;

        weir_arena_reset(&arena);
        r = decide_again(&recorded, &arena, &plan, &failure, &tick);
        if (r < 0)
            return weir_error_pass(err, &failure);
        count(summary, &tick);
        r = on_tick != NULL ? on_tick(arg, &tick, err) : 0;
        if (r < 0)
            return r;
    }
    return r;
}

int weir_decision_replay(const char *data_dir,
                         int (*on_tick)(void *arg, const struct weir_replayed *tick,
                                        struct weir_err *err),
                         void *arg, struct weir_replay_summary *ret_summary, struct weir_err *err)
{
    struct weir_decision_reader *reader;
    struct weir_replay_summary summary = {0};
    int r = weir_decision_reader_open(data_dir, &reader, err);

    if (r < 0)
        return r;
    r = replay_all(reader, on_tick, arg, &summary, err);
    summary.damage = *weir_decision_reader_damage(reader);
    weir_decision_reader_close(reader);
    if (r < 0)
        return r;
    *ret_summary = summary;
    return 0;
}
