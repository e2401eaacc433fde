#include "base/count.h"
#include "build_world.h"

#include "core/admit.h"

static int admit(struct bench *b, struct job_spec spec, struct weir_refusal *refusal,
                 struct weir_err *err)
{
    struct weir_arena scratch = WEIR_ARENA_INIT;
    struct weir_role roles[2];
    struct weir_shape shapes[2];
    uint32_t n_roles = roles_of(b, &spec, roles, shapes);
    struct weir_workload job = workload_of(b, &spec);
    struct weir_ask ask = {&job, roles, shapes, n_roles};
    int r;

    *err = (struct weir_err)WEIR_ERR_INIT;
    r = weir_admit(weir_edit_view(b->edit), &b->policy, &ask, &scratch, refusal, err);
    weir_arena_finish(&scratch);
    return r;
}

struct admit_case {
    struct job_spec spec;
    enum weir_reason_code code; /* NONE: admitted */
    int64_t nearest;
    const char *text;
    const char *hint;
};

static void fleet(struct bench *b)
{
    bench_init(b);
    add_node(b, (struct node_spec){.name = "n1", .gpus = 8, .rack = "r1"});
    add_node(b, (struct node_spec){.name = "n2", .gpus = 4, .rack = "r1", .sharers = 4});
    add_node(
        b, (struct node_spec){
               .name = "n3", .gpus = 2, .class = "l4", .gpu_gib = 24, .rack = "r2", .label = "x"});
    add_queue(b, (struct queue_spec){.name = "top", .limit_gpus = 12});
    add_queue(b, (struct queue_spec){.name = "q", .parent = "top"});
    add_queue(b, (struct queue_spec){.name = "small", .parent = "top", .limit_gpus = 2});
    add_queue(b, (struct queue_spec){.name = "prod", .isolation = WEIR_ISOLATION_HARDWARE});
    add_queue(b, (struct queue_spec){.name = "free"});
}

static const struct admit_case cases[] = {
    {{.queue = "q", .gpus = 8}, WEIR_REASON_NONE, 0, "", ""},
    {{.queue = "q", .gpus = 16},
     WEIR_REASON_RESOURCES,
     8000,
     "asks for 16 GPUs, no suitable node has more than 8 GPUs",
     "ask for at most 8 GPUs, or for 2 members of 8 GPUs"},
    {{.queue = "q", .gpus = 1, .class = "a100"},
     WEIR_REASON_GPU_CLASS,
     0,
     "asks for GPU model 'a100', there is none",
     "'h100' would do otherwise"},
    {{.queue = "q", .gpus = 1, .gpu_gib = 100},
     WEIR_REASON_GPU_MEMORY,
     80LL << 30,
     "asks for 100Gi of memory on each GPU, the largest has 80Gi",
     "ask for at most 80Gi"},
    {{.queue = "q", .gpus = 1, .gpu_gib = 40, .class = "l4"},
     WEIR_REASON_GPU_MEMORY,
     24LL << 30,
     "asks for 40Gi of memory on each GPU, the largest has 24Gi",
     "ask for at most 24Gi, or for 'h100'"},
    {{.queue = "q", .cpus = 65},
     WEIR_REASON_CPU,
     64000,
     "asks for 65 CPUs, no suitable node has more than 64 CPUs",
     "ask for at most 64 CPUs"},
    {{.queue = "q", .gib = 600},
     WEIR_REASON_MEMORY,
     512LL << 30,
     "asks for 600Gi of memory, no suitable node has more than 512Gi",
     "ask for at most 512Gi"},
    {{.queue = "q", .gpus = 1, .label = "y"},
     WEIR_REASON_LABELS,
     0,
     "no node has the labels it asks for",
     ""},
    {{.queue = "q", .gpus = 3, .label = "x"},
     WEIR_REASON_RESOURCES,
     2000,
     "asks for 3 GPUs, no suitable node has more than 2 GPUs",
     "ask for at most 2 GPUs"},
    {{.queue = "prod", .mgpu = 500},
     WEIR_REASON_ISOLATION,
     0,
     "asks for a part of a GPU, queue 'prod' demands isolation hardware, no GPU here can be shared "
     "with that",
     "ask for whole GPUs"},
    {{.queue = "q", .mgpu = 500, .isolation = WEIR_ISOLATION_HARDWARE},
     WEIR_REASON_ISOLATION,
     0,
     "asks for a part of a GPU, no GPU here can be shared with isolation hardware",
     "ask for whole GPUs"},
    {{.queue = "prod", .gpus = 1}, WEIR_REASON_NONE, 0, "", ""},
    {{.queue = "q", .mgpu = 500, .isolation = WEIR_ISOLATION_MEMORY}, WEIR_REASON_NONE, 0, "", ""},
    {{.queue = "small", .gpus = 3},
     WEIR_REASON_QUEUE_LIMIT,
     2000,
     "asks for 3 GPUs at once, queue 'small' is limited to 2 GPUs",
     "ask for at most 2 GPUs, or raise the limit of 'small'"},
    {{.queue = "q", .gpus = 2, .tasks = 7},
     WEIR_REASON_PARENT_LIMIT,
     1000,
     "asks for 14 GPUs at once, queue 'top' is limited to 12 GPUs",
     "ask for at most 1 GPU for each member, or raise the limit of 'top'"},
    {{.queue = "small", .gpus = 1, .tasks = 100, .array = true}, WEIR_REASON_NONE, 0, "", ""},
    {{.queue = "free", .gpus = 4, .tasks = 4},
     WEIR_REASON_GANG,
     3,
     "4 members ask for 4 GPUs each, all nodes together have 14 GPUs",
     "ask for at most 3 members, or let it start with fewer"},
    {{.queue = "free", .gpus = 4, .tasks = 4, .min = 3}, WEIR_REASON_NONE, 0, "", ""},
    {{.queue = "free", .gpus = 2, .tasks = 7, .same_rack = true},
     WEIR_REASON_TOPOLOGY,
     6,
     "asks for 7 members in one rack, none has room for more than 6",
     "ask for at most 6 members, or let it start with fewer"},
    {{.queue = "free", .gpus = 2, .tasks = 6, .same_rack = true}, WEIR_REASON_NONE, 0, "", ""},
    {{.queue = "top", .gpus = 3},
     WEIR_REASON_MISCONFIGURED,
     0,
     "queue 'top' has queues below it: name one of those",
     "'q' would do"},
};

/* The field of a Workload that asks for too much, in the cases above. */
static const char *field_of(const struct admit_case *c)
{
    static const char *const fields[WEIR_REASON_CODE_MAX] = {
        [WEIR_REASON_RESOURCES] = "spec.gpus",       [WEIR_REASON_GPU_CLASS] = "spec.gpuModel",
        [WEIR_REASON_GPU_MEMORY] = "spec.gpuMemory", [WEIR_REASON_QUEUE_LIMIT] = "spec.gpus",
        [WEIR_REASON_PARENT_LIMIT] = "spec.gpus",    [WEIR_REASON_GANG] = "spec.members",
        [WEIR_REASON_TOPOLOGY] = "spec.members",     [WEIR_REASON_MISCONFIGURED] = "spec.queue",
        [WEIR_REASON_ISOLATION] = "spec.isolation",
    };

    if (c->code == WEIR_REASON_ISOLATION && c->spec.isolation == WEIR_ISOLATION_NONE)
        return "spec.queue";
    if (c->code != WEIR_REASON_RESOURCES && fields[c->code] != NULL)
        return fields[c->code];
    if (strstr(c->text, "CPU") != NULL)
        return "spec.cpu";
    if (strstr(c->text, "of memory") != NULL)
        return "spec.memory";
    return c->code == WEIR_REASON_RESOURCES ? "spec.gpus" : "";
}

static void judges_what_can_ever_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_refusal refusal = {.nearest_class = WEIR_NONE};
        struct weir_err err;
        struct bench b;
        int r;

        fleet(&b);
        r = admit(&b, cases[i].spec, &refusal, &err);
        print_message("# case %zu: %s\n", i, err.text);
        assert_int_equal(r, cases[i].code == WEIR_REASON_NONE ? 0 : WEIR_E_IMPOSSIBLE);
        assert_int_equal(refusal.reason.code, cases[i].code);
        assert_int_equal(refusal.nearest, cases[i].nearest);
        assert_string_equal(err.text, cases[i].text);
        assert_string_equal(err.hint, cases[i].hint);
        assert_string_equal(err.field, field_of(&cases[i]));
        bench_finish(&b);
    }
}

/* Of those below, at any depth, the first by name that would take it. */
static void names_a_queue_that_takes_it(void **state)
{
    static const struct {
        struct job_spec spec;
        const char *nearest; /* NULL: none */
    } those[] = {
        {{.queue = "org", .gpus = 1}, "tiny"},
        {{.queue = "org", .gpus = 2}, "zoo"},
        {{.queue = "lab", .gpus = 2}, NULL},
        {{.queue = "org", .gpus = 8, .tasks = 2}, NULL},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(those); i++) {
        struct weir_refusal refusal;
        struct weir_err err;
        struct bench b;

        fleet(&b);
        add_queue(&b, (struct queue_spec){.name = "org"});
        add_queue(&b, (struct queue_spec){.name = "zoo", .parent = "org", .limit_gpus = 8});
        add_queue(&b, (struct queue_spec){.name = "lab", .parent = "org"});
        add_queue(&b, (struct queue_spec){.name = "tiny", .parent = "lab", .limit_gpus = 1});
        assert_int_equal(admit(&b, those[i].spec, &refusal, &err), WEIR_E_IMPOSSIBLE);
        assert_int_equal(refusal.reason.level, WEIR_LEVEL_QUEUE);
        assert_int_equal(refusal.reason.code, WEIR_REASON_MISCONFIGURED);
        assert_int_equal(refusal.reason.subject_kind, WEIR_SUBJECT_QUEUE);
        assert_int_equal(refusal.reason.subject, queue_at(&b, those[i].spec.queue));
        assert_int_equal(refusal.nearest_queue,
                         those[i].nearest != NULL ? queue_at(&b, those[i].nearest) : WEIR_NONE);
        assert_int_equal(strstr(err.hint, "would do") != NULL, those[i].nearest != NULL);
        bench_finish(&b);
    }
}

/* What runs, what is cordoned, broken or used by others may come back. */
static void looks_past_the_moment(void **state)
{
    struct weir_refusal refusal;
    struct weir_err err;
    struct bench b;

    (void)state;
    bench_init(&b);
    add_node(&b, (struct node_spec){.name = "n1", .gpus = 2, .phase = WEIR_NODE_CORDONED});
    add_queue(&b, (struct queue_spec){.name = "q"});
    weir_edit_device(b.edit, device_at(&b, "n1", 0))->health = WEIR_DEVICE_UNHEALTHY;
    weir_edit_device(b.edit, device_at(&b, "n1", 1))->cordoned = 1;
    weir_edit_device(b.edit, device_at(&b, "n1", 1))->n_foreign = 2;
    weir_edit_device(b.edit, device_at(&b, "n1", 1))->memory_foreign_bytes = 79LL << 30;
    assert_int_equal(
        admit(&b, (struct job_spec){.queue = "q", .gpus = 2, .gpu_gib = 80}, &refusal, &err), 0);
    weir_edit_node(b.edit, node_at(&b, "n1"))->phase = WEIR_NODE_GONE;
    assert_int_equal(admit(&b, (struct job_spec){.queue = "q", .gpus = 2}, &refusal, &err),
                     WEIR_E_IMPOSSIBLE);
    bench_finish(&b);
    bench_init(&b);
    add_queue(&b, (struct queue_spec){.name = "q"});
    assert_int_equal(admit(&b, (struct job_spec){.queue = "q"}, &refusal, &err), WEIR_E_IMPOSSIBLE);
    assert_string_equal(err.text, "there is no node to run on");
    bench_finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judges_what_can_ever_run),
        cmocka_unit_test(names_a_queue_that_takes_it),
        cmocka_unit_test(looks_past_the_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
