/* The HTTP API on a loop that is turned by hand, over a real store, a small world and a service
 * that does as it is told.
 *
 * The world: node "alpha" with GPU-0 and GPU-1, node "beta" with GPU-2 (80 GiB h100-sxm each);
 * queue "default", queue "research" (limit 2 GPUs, 1 guaranteed). */
#ifndef WEIR_TESTS_SUPPORT_API_FIXTURE_H
#define WEIR_TESTS_SUPPORT_API_FIXTURE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/tree.h"
#include "base/vec.h"
#include "edge/api/api.h"
#include "edge/sqlite/store.h"
#include "fmt/http1.h"
#include "model/world_edit.h"

#include <uv.h>

enum { API_OUTPUTS_MAX = 16, API_NODES = 2, API_GPUS = 3 };

struct api_output {
    uint64_t number;
    uint32_t member;
    uint32_t attempt;
    enum weir_stream stream;
    uint64_t first; /* offset of data */
    struct weir_buf data;
};

struct api_done {
    struct weir_done done;
    uint64_t outcome;
};

struct api_fixture {
    uv_loop_t loop;
    struct weir_api *api;
    bool is_closed;
    char dir[64];
    char socket[100];
    char tokens[128];
    uint16_t port;
    struct weir_sqlite *sqlite;
    struct weir_store store;
    struct weir_cluster cluster;
    struct weir_service service;
    struct weir_policy policy;
    struct weir_edit *edit;
    const struct weir_world *world;
    const struct weir_world *plan_world;
    struct weir_plan plan; /* what it points to is the test's */
    bool is_ready;
    bool in_transaction;
    uint32_t nodes[API_NODES];
    uint32_t gpus[API_GPUS];
    uint32_t default_queue;
    uint32_t research;
    uint32_t shape;
    struct api_dones weir_vec(struct api_done) dones;
    struct api_output outputs[API_OUTPUTS_MAX];
    uint32_t n_outputs;
    uint32_t n_reads; /* of outputs */
    int64_t eta_p50;  /* 0: not found */
    int64_t eta_p90;  /* 0: the simulation fails */
    uint32_t eta_takes_ms;
    /* The next write is refused at once, or fails when it is due. */
    int refuse;
    int fail;
    /* What the service was last asked for: "cancel 3", "signal 3 2", "phase gpu GPU-0 cordoned". */
    char asked[256];
    char asker[128];                     /* "ana 1000 submit" */
    const struct weir_gpu_device *gpu;   /* the only one that a driver tells of */
    const struct weir_mark_record *mark; /* a GPU that is out of service */
    uint32_t known_pid;                  /* on it; of the others nothing is known */
    struct weir_service_process known_process;
};

extern const char *const api_admin_token;
extern const char *const api_submit_token;
extern const char *const api_read_token;

/* host: a name that Host may have, or NULL. */
void api_fixture_init(struct api_fixture *f, const char *host);
void api_fixture_finish(struct api_fixture *f);

/* ---- what happens ---- */

/* Adds a workload to store and world; it shows after the next tick. */
uint64_t api_add(struct api_fixture *f, const char *name, const char *queue, uint32_t n_tasks,
                 bool is_array);
/* With a spec and another owner. */
uint64_t api_add_as(struct api_fixture *f, const char *name, const char *owner, uint32_t uid,
                    const char *spec);
/* Puts a member on GPU `gpu` of the world (-1: none). */
void api_start(struct api_fixture *f, uint64_t number, uint32_t member, int gpu);
void api_run(struct api_fixture *f, uint64_t number, uint32_t member);
/* The attempt is over: QUEUED (again) or a final state. */
void api_end(struct api_fixture *f, uint64_t number, uint32_t member, enum weir_task_state state,
             enum weir_cause cause, int exit_status);
/* A member of it that is stopping. */
void api_stop(struct api_fixture *f, uint64_t number, uint32_t member, enum weir_cause cause);
/* An ended workload leaves the world. */
void api_retire(struct api_fixture *f, uint64_t number);
uint32_t api_row(const struct api_fixture *f, uint64_t number);
void api_event(struct api_fixture *f, const char *kind, const char *subject);
void api_event_at(struct api_fixture *f, int64_t wall_ms, const char *kind, const char *subject);
/* Commits, seals, answers, tells the API. */
void api_tick(struct api_fixture *f);
void api_write(struct api_fixture *f, uint64_t number, uint32_t member, uint32_t attempt,
               enum weir_stream stream, const char *text);
/* Forgets what was written before `offset`. */
void api_rotate(struct api_fixture *f, uint64_t number, uint32_t member, uint32_t attempt,
                enum weir_stream stream, uint64_t offset);

/* ---- asking ---- */

struct api_answer {
    int status;
    struct weir_http1_head head;
    struct weir_buf body;
    struct weir_arena arena;
    struct weir_tree *json; /* NULL: it is not JSON */
};

void api_turn(struct api_fixture *f);
int api_dial(struct api_fixture *f);
int api_dial_tcp(struct api_fixture *f);
void api_say(struct api_fixture *f, int fd, const char *text, size_t n);
/* Appends what has come until the text holds `text`, or for a while (NULL: until it is closed).
 * Whether it came. */
bool api_hear(struct api_fixture *f, int fd, struct weir_buf *heard, const char *text);
/* Appends what comes within some milliseconds. */
void api_hear_for(struct api_fixture *f, int fd, struct weir_buf *heard, int ms);

/* One request on a connection of its own, over the unix socket. headers: whole lines with CR LF, or
 * NULL. body: NULL for none. A write needs a tick: one is made when the service has a done. */
void api_ask(struct api_fixture *f, const char *method, const char *target, const char *headers,
             const char *body, struct api_answer *ret_answer);
/* The same over TCP, with Host: 127.0.0.1 unless headers name one. */
void api_ask_tcp(struct api_fixture *f, const char *method, const char *target, const char *headers,
                 const char *body, struct api_answer *ret_answer);
void api_answer_finish(struct api_answer *answer);
/* The text at a path of the JSON, "" if there is none. Valid until the next call but seven. */
const char *api_text(const struct api_answer *answer, const char *path);
const char *api_header(const struct api_answer *answer, const char *name);

#endif
