/* A store in a folder of its own, and what is put into it. */
#ifndef WEIR_TEST_STORE_RIG_H
#define WEIR_TEST_STORE_RIG_H

#include "base/buf.h"
#include "base/err.h"
#include "edge/sqlite/store.h"
#include "temp_dir.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t boot[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

struct fixture {
    struct weir_sqlite *sqlite;
    struct weir_store store;
};

static inline void open_at(struct fixture *f, const char *path)
{
    struct weir_err err = WEIR_ERR_INIT;

    if (weir_sqlite_open(path, &f->sqlite, &f->store, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void open_store(struct fixture *f)
{
    open_at(f, temp_path("weir.db"));
}

static inline void close_store(struct fixture *f)
{
    f->sqlite = weir_sqlite_close(f->sqlite);
}

static inline void reopen(struct fixture *f)
{
    close_store(f);
    open_store(f);
}

static inline void begin(struct fixture *f)
{
    assert_int_equal(f->store.begin(f->store.ctx, NULL), 0);
}

static inline void commit(struct fixture *f)
{
    assert_int_equal(f->store.commit(f->store.ctx, true, NULL), 0);
}

/* ---- records ---- */

static inline struct weir_workload_record some_workload(uint64_t number, const char *name)
{
    return (struct weir_workload_record){
        .number = number,
        .name = weir_str(name),
        .queue = WEIR_STR("default"),
        .owner = WEIR_STR("ana"),
        .uid = 4294967294u,
        .gid = 1000,
        .spec = WEIR_STR("{\"command\":[\"a\"],\"env\":{\"Ü\":\"\\u0000\"}}"),
        .class = 1,
        .priority = -7,
        .n_tasks = 3,
        .independent = 1,
        .state = WEIR_TASK_QUEUED,
        .is_demo = 1,
        .gpus = WEIR_STR("GPU-1"),
        .node = WEIR_STR("alpha"),
        .submitted_wall_ms = 1700000000000,
        .not_before_wall_ms = 5,
    };
}

static inline uint64_t add(struct fixture *f, const char *name)
{
    struct weir_workload_record w = some_workload(0, name);

    assert_int_equal(f->store.next_number(f->store.ctx, &w.number, NULL), 0);
    assert_int_equal(f->store.add_workload(f->store.ctx, &w, NULL), 0);
    return w.number;
}

static inline int append_event(struct fixture *f, const char *kind)
{
    struct weir_event_record e = {.wall_ms = 11,
                                  .mono_ms = 12,
                                  .boot_id = boot,
                                  .actor = WEIR_STR("user:ana"),
                                  .kind = weir_str(kind),
                                  .cause = WEIR_STR("placed"),
                                  .subject = WEIR_STR("workload/1"),
                                  .before = WEIR_STR("queued"),
                                  .after = WEIR_STR("starting")};

    return f->store.append_event(f->store.ctx, &e, NULL);
}

/* The numbers, each followed by a space. */
static inline int list_workload(void *arg, const struct weir_workload_record *w)
{
    assert_int_equal(w->spec.len, 0);
    weir_buf_printf(arg, "%llu ", (unsigned long long)w->number);
    return 0;
}

static inline int list_queue(void *arg, const struct weir_queue_record *q)
{
    weir_buf_printf(arg, "%.*s=%.*s@%lld;", WEIR_STR_ARG(q->name), WEIR_STR_ARG(q->spec),
                    (long long)q->created_wall_ms);
    return 0;
}

static inline int list_event(void *arg, const struct weir_event_record *e)
{
    assert_memory_equal(e->boot_id, boot, 16);
    assert_int_equal(e->wall_ms, 11);
    assert_int_equal(e->mono_ms, 12);
    assert_true(weir_str_eq_c(e->actor, "user:ana") && weir_str_eq_c(e->cause, "placed"));
    assert_true(weir_str_eq_c(e->subject, "workload/1") && weir_str_eq_c(e->before, "queued"));
    assert_true(weir_str_eq_c(e->after, "starting"));
    weir_buf_printf(arg, "%lld%.*s ", (long long)e->seq, WEIR_STR_ARG(e->kind));
    return 0;
}

/* Those with a seq above `after`, each as its seq and kind. */
static inline void expect_events(struct fixture *f, int64_t after, uint32_t limit, const char *want)
{
    struct weir_event_filter filter = {.after = after, .until = INT64_MAX, .limit = limit};
    struct weir_buf seen = WEIR_BUF_INIT(4096);

    assert_int_equal(f->store.each_event(f->store.ctx, &filter, list_event, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
}

static inline void expect_list(struct fixture *f, const struct weir_workload_filter *filter,
                               const char *want)
{
    struct weir_buf seen = WEIR_BUF_INIT(4096);

    assert_int_equal(
        f->store.each_workload(f->store.ctx, filter, false, list_workload, &seen, NULL), 0);
    assert_string_equal(weir_buf_cstr(&seen), want);
    weir_buf_finish(&seen);
}

static inline void expect_all(struct fixture *f, const char *want)
{
    struct weir_workload_filter any = {.all = true, .state = -1};

    expect_list(f, &any, want);
}

static inline int list_task(void *arg, const struct weir_task_record *t)
{
    weir_buf_printf(arg, "%llu/%u ", (unsigned long long)t->number, t->member);
    return 0;
}

/* Runs in a process of its own; what it returns is its exit status. */
static inline int in_child(int (*run)(void))
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(run());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#endif
