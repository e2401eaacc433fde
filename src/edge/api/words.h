/* edge/api/words.h — the plan's codes and numbers in words, for people who know Slurm or Kueue. */
#ifndef WEIR_EDGE_API_WORDS_H
#define WEIR_EDGE_API_WORDS_H

#include "base/buf.h"
#include "model/guarantee.h"
#include "model/plan.h"

enum { WEIR_WORDS_REASON_MAX = 128, WEIR_WORDS_END_MAX = 448 };

/* How something ended: "exit 3", "killed by signal 9 (KILL)", "time limit", "cancelled"… Returns
 * ret_text or a constant. */
const char *weir_words_end(uint32_t state, uint32_t cause, int32_t exit_status,
                           char ret_text[WEIR_WORDS_REASON_MAX]);
/* The same, with why it could not be started where that is known (else empty): "exit 127: cannot
 * run 'x': No such file or directory". Returns ret_text or a constant. */
const char *weir_words_end_and_why(uint32_t state, uint32_t cause, int32_t exit_status,
                                   struct weir_str why, char ret_text[WEIR_WORDS_END_MAX]);
/* Why it is stopping: "stopping for a higher priority"… */
const char *weir_words_stopping(uint32_t cause);
/* Short, like Slurm's Reason column: "Resources", "QueueLimit". */
const char *weir_words_waiting(const struct weir_plan *plan, const struct weir_verdict *verdict);

/* "2 GPUs", "0.5 of a GPU", "1 h100-sxm", "32 GiB of memory", "4 CPUs". */
void weir_words_amount(const struct weir_world *world, uint32_t resource, int64_t amount,
                       struct weir_buf *out);
/* It alone: "GPUs", "h100-sxm GPUs", "memory"; of WEIR_NONE "GPUs". */
void weir_words_resource(const struct weir_world *world, uint32_t resource, struct weir_buf *out);
/* In the server's time zone: "14:20 UTC", with seconds if it is near, else with the date if
 * it is another day than now. */
void weir_words_time(int64_t wall_ms, int64_t now_wall_ms, struct weir_buf *out);
/* "queue/research", "node/a", "gpu/GPU-…", "workload/12"; empty for none. */
void weir_words_subject(const struct weir_world *world, uint32_t kind, uint32_t subject,
                        struct weir_buf *out);
/* "its guarantee of 20 GPUs cannot be met: there is a total of 8 GPUs, and others are guaranteed 4
 * GPUs"; nothing where it can. */
void weir_words_shortfall(const struct weir_world *world, const struct weir_shortfall *shortfall,
                          struct weir_buf *out);
/* "wait-for", "raise-limit"… */
const char *weir_words_unblock_name(uint32_t kind);

struct weir_words {
    const struct weir_world *world; /* that the plan was made on */
    const struct weir_plan *plan;
    uint32_t workload;     /* of the verdict */
    int64_t until_wall_ms; /* before which it cannot start; 0: as its rows say */
    int64_t now_wall_ms;
};

/* One sentence for a node of a tree of reasons, without its children. */
void weir_words_reason(const struct weir_words *words, const struct weir_reason *reason,
                       struct weir_buf *out);
/* What would let it start; nothing where nothing is known. */
void weir_words_unblock(const struct weir_words *words, const struct weir_verdict *verdict,
                        struct weir_buf *out);

#endif
