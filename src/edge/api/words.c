#include "edge/api/words.h"

#include "base/err.h"
#include "base/units.h"
#include "model/signals.h"

#include <string.h>
#include <time.h>

_Static_assert((int)WEIR_STATUS_TEXT_MAX <= (int)WEIR_WORDS_REASON_MAX, "WEIR_WORDS_REASON_MAX");

enum { TIME_TEXT_MAX = 64, SOON_S = 600 };

/* ---- ends ---- */

/* NULL: as the exit status says. */
static const char *const ends[WEIR_CAUSE_MAX] = {
    [WEIR_CAUSE_PREEMPTED] = "stopped for a higher priority",
    [WEIR_CAUSE_RECLAIMED] = "stopped for the guarantee of another queue",
    [WEIR_CAUSE_CANCELLED] = "cancelled",
    [WEIR_CAUSE_DRAINED] = "its node was drained",
    [WEIR_CAUSE_GANG_BROKEN] = "another member failed",
    [WEIR_CAUSE_RUN_LIMIT] = "run time limit of its queue",
    [WEIR_CAUSE_TIME_LIMIT] = "time limit",
    [WEIR_CAUSE_OUT_OF_MEMORY] = "out of memory",
    [WEIR_CAUSE_LOST] = "lost: it ended unseen",
    [WEIR_CAUSE_NOT_STARTED] = "it could not be started",
    [WEIR_CAUSE_DEVICE_FAULT] = "its GPU failed",
    [WEIR_CAUSE_OVER_BUDGET] = "over its GPU memory budget",
};

const char *weir_words_end(uint32_t state, uint32_t cause, int32_t exit_status,
                           char ret_text[WEIR_WORDS_REASON_MAX])
{
    if (state == WEIR_TASK_CANCELLED)
        return ends[WEIR_CAUSE_CANCELLED];
    if (state == WEIR_TASK_LOST)
        return ends[WEIR_CAUSE_LOST];
    if (state == WEIR_TASK_FAILED && cause < WEIR_CAUSE_MAX && ends[cause] != NULL)
        return ends[cause];
    return weir_status_text(exit_status, ret_text);
}

const char *weir_words_end_and_why(uint32_t state, uint32_t cause, int32_t exit_status,
                                   struct weir_str why, char ret_text[WEIR_WORDS_END_MAX])
{
    char room[WEIR_WORDS_REASON_MAX];
    const char *how = weir_words_end(state, cause, exit_status, room);

    if (how != room)
        return how;
    snprintf(ret_text, WEIR_WORDS_END_MAX, "%s%s%.*s", how, why.len > 0 ? ": " : "",
             WEIR_STR_ARG(weir_str_cut(why, WEIR_WORDS_END_MAX - WEIR_WORDS_REASON_MAX - 2)));
    return ret_text;
}

const char *weir_words_stopping(uint32_t cause)
{
    static const char *const why[WEIR_CAUSE_MAX] = {
        [WEIR_CAUSE_PREEMPTED] = "stopping for a higher priority",
        [WEIR_CAUSE_RECLAIMED] = "stopping for the guarantee of another queue",
        [WEIR_CAUSE_CANCELLED] = "stopping: cancelled",
        [WEIR_CAUSE_DRAINED] = "stopping: its node is being drained",
        [WEIR_CAUSE_GANG_BROKEN] = "stopping: another member failed",
        [WEIR_CAUSE_RUN_LIMIT] = "stopping: run time limit of its queue",
        [WEIR_CAUSE_TIME_LIMIT] = "stopping: time limit",
        [WEIR_CAUSE_DEVICE_FAULT] = "stopping: its GPU failed",
        [WEIR_CAUSE_OVER_BUDGET] = "stopping: over its GPU memory budget",
    };

    return cause < WEIR_CAUSE_MAX && why[cause] != NULL ? why[cause] : "stopping";
}

const char *weir_words_waiting(const struct weir_plan *plan, const struct weir_verdict *verdict)
{
    if (verdict->blocking >= plan->n_reasons)
        return NULL;
    return weir_reason_name((enum weir_reason_code)plan->reasons[verdict->blocking].code);
}

/* ---- amounts, times, names ---- */

static void put_count(int64_t milli, const char *one, const char *many, struct weir_buf *out)
{
    weir_units_format_mgpu(milli, out);
    weir_buf_printf(out, " %s", milli == WEIR_MGPU_PER_GPU ? one : many);
}

static struct weir_str after_slash(struct weir_str name)
{
    ptrdiff_t slash = weir_str_find_char(name, '/');

    return slash < 0 ? name : weir_str_sub(name, (size_t)slash + 1, name.len);
}

void weir_words_amount(const struct weir_world *world, uint32_t resource, int64_t amount,
                       struct weir_buf *out)
{
    const struct weir_resource *row = weir_world_resource(world, resource);
    struct weir_str name = weir_world_string(world, row->name);

    switch ((enum weir_resource_kind)row->kind) {
    case WEIR_RESOURCE_GPU:
        put_count(amount, "GPU", amount < WEIR_MGPU_PER_GPU && amount > 0 ? "of a GPU" : "GPUs",
                  out);
        break;
    case WEIR_RESOURCE_CPU:
        put_count(amount, "CPU", "CPUs", out);
        break;
    case WEIR_RESOURCE_MEMORY:
        weir_units_format_bytes(amount, out);
        weir_buf_puts(out, " of memory");
        break;
    case WEIR_RESOURCE_GPU_CLASS:
    case WEIR_RESOURCE_MIG:
        weir_units_format_mgpu(amount, out);
        weir_buf_printf(out, " %.*s", WEIR_STR_ARG(after_slash(name)));
        break;
    case WEIR_RESOURCE_OTHER:
    case WEIR_RESOURCE_KIND_MAX:
        weir_units_format_mgpu(amount, out);
        weir_buf_printf(out, " %.*s", WEIR_STR_ARG(name));
        break;
    }
}

void weir_words_resource(const struct weir_world *world, uint32_t resource, struct weir_buf *out)
{
    const struct weir_resource *row;
    struct weir_str name;

    if (resource == WEIR_NONE) {
        weir_buf_puts(out, "GPUs");
        return;
    }
    row = weir_world_resource(world, resource);
    name = weir_world_string(world, row->name);
    if (row->kind == WEIR_RESOURCE_GPU)
        weir_buf_puts(out, "GPUs");
    else if (row->kind == WEIR_RESOURCE_CPU)
        weir_buf_puts(out, "CPUs");
    else if (row->kind == WEIR_RESOURCE_GPU_CLASS)
        weir_buf_printf(out, "%.*s GPUs", WEIR_STR_ARG(after_slash(name)));
    else
        weir_buf_str(out, after_slash(name));
}

void weir_words_time(int64_t wall_ms, int64_t now_wall_ms, struct weir_buf *out)
{
    time_t then = (time_t)(wall_ms / 1000);
    time_t now = (time_t)(now_wall_ms / 1000);
    char text[TIME_TEXT_MAX];
    struct tm then_tm;
    struct tm now_tm;
    bool is_today;
    bool is_soon;

    if (localtime_r(&then, &then_tm) == NULL || localtime_r(&now, &now_tm) == NULL) {
        weir_buf_printf(out, "%lld ms", (long long)wall_ms);
        return;
    }
    is_today = then_tm.tm_year == now_tm.tm_year && then_tm.tm_yday == now_tm.tm_yday;
    is_soon = then - now < SOON_S && now - then < SOON_S;
    if (strftime(text, sizeof(text),
                 is_soon     ? "%H:%M:%S %Z"
                 : !is_today ? "%Y-%m-%d %H:%M %Z"
                             : "%H:%M %Z",
                 &then_tm) == 0)
        text[0] = '\0';
    weir_buf_puts(out, text);
}

void weir_words_subject(const struct weir_world *world, uint32_t kind, uint32_t subject,
                        struct weir_buf *out)
{
    if (subject == WEIR_NONE)
        return;
    switch ((enum weir_subject)kind) {
    case WEIR_SUBJECT_NODE:
        weir_buf_puts(out, "node/");
        weir_buf_str(out, weir_world_string(world, weir_world_node(world, subject)->name));
        break;
    case WEIR_SUBJECT_DEVICE:
        weir_buf_puts(out, "gpu/");
        weir_buf_str(out, weir_world_string(world, weir_world_device(world, subject)->uuid));
        break;
    case WEIR_SUBJECT_QUEUE:
        weir_buf_puts(out, "queue/");
        weir_buf_str(out, weir_world_string(world, weir_world_queue(world, subject)->name));
        break;
    case WEIR_SUBJECT_WORKLOAD:
        weir_buf_puts(out, "workload/");
        weir_buf_u64(out, weir_world_workload(world, subject)->number);
        break;
    case WEIR_SUBJECT_TASK:
        weir_buf_puts(out, "workload/");
        weir_buf_u64(out,
                     weir_world_workload(world, weir_world_task(world, subject)->workload)->number);
        weir_buf_printf(out, "/%u", weir_world_task(world, subject)->member);
        break;
    case WEIR_SUBJECT_POOL:
        weir_buf_puts(out, "pool/");
        weir_buf_str(out, weir_world_string(world, subject));
        break;
    case WEIR_SUBJECT_NONE:
    case WEIR_SUBJECT_MAX:
        break;
    }
}

void weir_words_shortfall(const struct weir_world *world, const struct weir_shortfall *shortfall,
                          struct weir_buf *out)
{
    uint32_t resource = shortfall->resource;

    if (resource == WEIR_NONE || resource >= weir_world_table(world, WEIR_TABLE_RESOURCES)->n_rows)
        return;
    weir_buf_puts(out, "its guarantee of ");
    weir_words_amount(world, resource, shortfall->guaranteed, out);
    weir_buf_puts(out, " cannot be met: there is a total of ");
    weir_words_amount(world, resource, shortfall->there, out);
    if (shortfall->others == 0)
        return;
    weir_buf_puts(out, ", and others are guaranteed ");
    weir_words_amount(world, resource, shortfall->others, out);
}
