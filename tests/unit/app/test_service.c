/* What is asked of the control plane, and what is refused. */
#include "plane.h"

static void signals_every_member_there_is(void **state)
{
    static const struct {
        int results[3];
        int want;
    } rows[] = {
        {{0, 0, 0}, 0},
        {{WEIR_E_UNAVAILABLE, 0, WEIR_E_NOT_FOUND}, 0},
        {{WEIR_E_NOT_FOUND, WEIR_E_NOT_FOUND, WEIR_E_NOT_FOUND}, WEIR_E_UNAVAILABLE},
        {{WEIR_E_UNAVAILABLE, WEIR_E_UNAVAILABLE, WEIR_E_NOT_FOUND}, WEIR_E_UNAVAILABLE},
        {{WEIR_E_DENIED, 0, 0}, WEIR_E_DENIED},
    };

    (void)state;
    plane->n_gpus = 3;
    weir_server_look(&plane->server, true);
    assert_int_equal(submit(",\"gpus\":1,\"members\":3"), 0);
    tick();
    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        struct weir_err err = WEIR_ERR_INIT;

        for (int m = 0; m < 3; m++) {
            assert_true(plane->attempts[m + 1].is_launched);
            plane->attempts[m + 1].command_result = rows[i].results[m];
            plane->attempts[m + 1].n_commands = 0;
        }
        assert_int_equal(plane->service.signal(&plane->server, &admin, 1, 10, &err), rows[i].want);
        for (int m = 0; m < 3; m++)
            assert_int_equal(plane->attempts[m + 1].n_commands, 1);
    }
}

/* The others of the same tick are answered as if nobody had asked for nonsense. */
static void refuses_an_apply_without_a_trace(void **state)
{
    static const char *const bad[] = {QUEUE("fresh", ""),
                                      WORKLOAD(",\"queue\":\"fresh\",\"gpus\":99"), NULL};

    (void)state;
    assert_int_equal(submit(""), 0);
    assert_int_equal(apply(bad, false), WEIR_E_IMPOSSIBLE);
    assert_int_equal(plane->server.failed, 0);
    assert_int_equal(submit(""), 0);
    tick();
    assert_int_equal(plane->n_answers, 2);
    assert_int_equal(plane->answer, 0);
    assert_null(queue_of("fresh"));
    assert_int_equal(plane->server.n_failed_ticks, 0);
}

/* So is what is beyond the sums that weir keeps. */
static void refuses_what_it_cannot_count(void **state)
{
    static const char *const both[] = {QUEUE("fresh", ""), WORKLOAD(",\"queue\":\"fresh\""),
                                       WORKLOAD(",\"gpus\":0,\"memory\":\"16Pi\",\"array\":32"),
                                       NULL};
    struct weir_server *server = &plane->server;
    struct weir_node *node;

    (void)state;
    node = weir_edit_node(server->edit,
                          weir_world_first(weir_edit_view(server->edit), WEIR_TABLE_NODES));
    node->capacity.of[WEIR_RES_MEMORY] = (int64_t)1 << 54;
    assert_int_equal(submit(",\"gpus\":2,\"memory\":\"16Pi\""), 0);
    tick();
    assert_int_equal(submit(",\"gpus\":0,\"memory\":\"16Pi\",\"array\":32"), 0);
    assert_int_equal(submit(",\"gpus\":0,\"memory\":\"16Pi\",\"array\":32"), WEIR_E_TOO_LARGE);
    assert_int_equal(apply(both, false), WEIR_E_TOO_LARGE);
    assert_null(queue_of("fresh"));
    assert_int_equal(submit(""), 0);
    tick();
    assert_int_equal(plane->n_answers, 3);
    assert_int_equal(plane->answer, 0);
    assert_int_equal(server->n_failed_ticks, 0);
}

static void moves_queues_past_each_other(void **state)
{
    static const char *const first[] = {QUEUE("a", ""), QUEUE("b", "\"parent\":\"a\""), NULL};
    static const char *const swapped[] = {QUEUE("a", "\"parent\":\"b\""), QUEUE("b", ""), NULL};
    static const char *const refused[] = {QUEUE("a", "\"parent\":\"b\""), QUEUE("b", ""),
                                          WORKLOAD(",\"gpus\":99"), NULL};

    (void)state;
    assert_int_equal(apply(first, false), 0);
    assert_int_equal(apply(swapped, true), 0);
    assert_int_equal(apply(refused, false), WEIR_E_IMPOSSIBLE);
    assert_parent("a", "");
    assert_parent("b", "a");
    assert_int_equal(apply(swapped, false), 0);
    tick();
    assert_parent("a", "b");
    assert_parent("b", "");
    assert_int_equal(plane->answer, 0);
    assert_int_equal(plane->server.n_failed_ticks, 0);
}

static const char *repeat(const char *before, char c, size_t n, const char *after)
{
    char *middle = weir_arena_bytes(&plane->arena, n + 1);

    memset(middle, c, n);
    middle[n] = '\0';
    return weir_arena_printf(&plane->arena, "%s%s%s", before, middle, after);
}

static const char *many_variables(int n)
{
    const char *value = repeat("", 'v', 1000, "");
    struct weir_buf text = WEIR_BUF_INIT(4 << 20);
    const char *copy;

    for (int i = 0; i < n; i++)
        weir_buf_printf(&text, "%s\"V%d\":\"%s\"", i > 0 ? "," : "", i, value);
    copy =
        weir_arena_printf(&plane->arena, "\"command\":[\"c\"],\"env\":{%s}", weir_buf_cstr(&text));
    weir_buf_finish(&text);
    return copy;
}

static void refuses_what_can_never_start(void **state)
{
    const struct {
        const char *spec;
        const char *field; /* NULL: it is taken */
    } rows[] = {
        {"\"command\":[\"\"]", "spec.command[0]"},
        {"\"command\":[\"c\",\"\"]", NULL},
        {"\"command\":[\"c\",\"a\\u0000b\"]", "spec.command[1]"},
        {repeat("\"command\":[\"c\",\"", 'a', 131071, "\"]"), NULL},
        {repeat("\"command\":[\"c\",\"", 'a', 131072, "\"]"), "spec.command[1]"},
        {"\"command\":[\"c\"],\"env\":{\"A\":\"a\\u0000b\"}", "spec.env.A"},
        {"\"command\":[\"c\"],\"env\":{\"WEIR_TOKEN\":\"t\"}", "spec.env.WEIR_TOKEN"},
        {repeat("\"command\":[\"c\"],\"env\":{\"A\":\"", 'a', 131069, "\"}"), NULL},
        {repeat("\"command\":[\"c\"],\"env\":{\"A\":\"", 'a', 131070, "\"}"), "spec.env.A"},
        {many_variables(1700), NULL},
        {many_variables(1900), "spec.env"},
        {"\"command\":[\"c\"],\"cwd\":\"tmp\"", "spec.cwd"},
        {"\"command\":[\"c\"],\"cwd\":\"/tmp\\u0000/nowhere\"", "spec.cwd"},
        {repeat("\"command\":[\"c\"],\"cwd\":\"/", 'a', 3999, "\""), NULL},
        {repeat("\"command\":[\"c\"],\"cwd\":\"/", 'a', 4000, "\""), "spec.cwd"},
        {repeat("\"command\":[\"c\"],\"cwd\":\"/\xc3\xa4", 'a', 3998, "\""), "spec.cwd"},
        {"\"command\":[\"c\"],\"outputMax\":4095", "spec.outputMax"},
        {"\"command\":[\"c\"],\"outputMax\":4096", NULL},
        {"\"command\":[\"c\"],\"timeLimit\":\"0s\"", "spec.timeLimit"},
        {"\"command\":[\"c\"],\"timeLimit\":0", "spec.timeLimit"},
        {"\"command\":[\"c\"],\"timeLimit\":\"1ms\"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(rows); i++) {
        struct weir_err err = WEIR_ERR_INIT;
        int r = submit_as(&admin, rows[i].spec, &err);

        if (r != (rows[i].field == NULL ? 0 : WEIR_E_INVALID))
            fail_msg("row %zu: %d %s", i, r, err.text);
        if (rows[i].field != NULL)
            assert_string_equal(err.field, rows[i].field);
    }
}

/* All tokens of a weir that is not root have its uid. */
static void lets_nobody_touch_what_another_name_submitted(void **state)
{
    static const struct weir_actor ana = {{"ana", 3}, 0, 0, WEIR_ROLE_SUBMIT};
    static const struct weir_actor bob = {{"bob", 3}, 0, 0, WEIR_ROLE_SUBMIT};
    static const struct weir_actor other_ana = {{"ana", 3}, 1, 1, WEIR_ROLE_SUBMIT};
    struct weir_done done = {on_done, NULL};
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_service *service = &plane->service;
    void *ctx = &plane->server;

    (void)state;
    assert_int_equal(submit_as(&ana, "\"command\":[\"c\"]", &err), 0);
    tick();
    assert_int_equal(service->cancel(ctx, &bob, 1, done, &err), WEIR_E_DENIED);
    assert_int_equal(service->signal(ctx, &bob, 1, 10, &err), WEIR_E_DENIED);
    assert_int_equal(service->cancel(ctx, &other_ana, 1, done, &err), WEIR_E_DENIED);
    assert_int_equal(service->signal(ctx, &ana, 1, 10, &err), 0);
    assert_int_equal(service->signal(ctx, &admin, 1, 10, &err), 0);
    assert_int_equal(service->cancel(ctx, &ana, 1, done, &err), 0);
}

static const char *hint_for_queue(const char *name)
{
    static struct weir_err err;

    err = (struct weir_err)WEIR_ERR_INIT;
    assert_int_equal(submit_as(&admin,
                               weir_arena_printf(&plane->arena,
                                                 "\"command\":[\"c\"],\"queue\":\"%s\"", name),
                               &err),
                     WEIR_E_INVALID);
    return err.hint;
}

static void suggests_a_queue_of_however_many(void **state)
{
    enum { N_QUEUES = 200 };

    (void)state;
    for (int i = 0; i < N_QUEUES; i++) {
        const char *const doc[] = {
            weir_arena_printf(&plane->arena,
                              "{\"apiVersion\":\"weir.dev/v1\",\"kind\":\"Queue\",\"metadata\":{"
                              "\"name\":\"%s-%03d\"}}",
                              i == 3 ? "research" : "q", i),
            NULL};

        assert_int_equal(apply(doc, false), 0);
    }
    tick();
    assert_string_equal(hint_for_queue("reserch-003"), "did you mean 'research-003'?");
    assert_string_equal(hint_for_queue("q-1999"), "did you mean 'q-199'?");
    assert_string_equal(hint_for_queue("deflault"), "did you mean 'default'?");
    assert_string_equal(hint_for_queue("something-else"), "`weir get queues` lists them");
}

static int take_actor(void *arg, const struct weir_event_record *event)
{
    snprintf(arg, 256, "%.*s", WEIR_STR_ARG(event->actor));
    return 0;
}

static void names_of_actors_stay_text(void **state)
{
    static const struct weir_event_filter all = {.until = INT64_MAX, .limit = UINT32_MAX};
    char name[241];
    char actor[256] = "";

    (void)state;
    name[0] = name[1] = 'x';
    for (size_t i = 2; i + 2 < sizeof(name); i += 2)
        memcpy(name + i, "\xc3\xa4", 3);
    for (size_t skip = 0; skip < 2; skip++) { /* cut at a character wherever the room ends */
        struct weir_actor actor_of = admin;

        actor_of.user = weir_str(name + skip);
        assert_int_equal(plane->service.set_phase(&plane->server, &actor_of, WEIR_SUBJECT_NODE,
                                                  WEIR_STR("here"), WEIR_NODE_CORDONED, false,
                                                  (struct weir_done){on_done, NULL}, NULL),
                         0);
        tick();
        assert_int_equal(plane->server.store.each_event(plane->server.store.ctx, &all, take_actor,
                                                        actor, NULL),
                         0);
        assert_true(weir_str_starts_with(weir_str(actor), WEIR_STR("user:x")));
        assert_true(strlen(actor) > 100);
        assert_true(weir_str_is_utf8(weir_str(actor)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLANE_TEST(signals_every_member_there_is),
        PLANE_TEST(refuses_an_apply_without_a_trace),
        PLANE_TEST(refuses_what_it_cannot_count),
        PLANE_TEST(moves_queues_past_each_other),
        PLANE_TEST(refuses_what_can_never_start),
        PLANE_TEST(lets_nobody_touch_what_another_name_submitted),
        PLANE_TEST(suggests_a_queue_of_however_many),
        PLANE_TEST(names_of_actors_stay_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
