#include "core/health/incident.h"

#include "core/health/subcode.h"
#include "model/xid_catalogue.h"
#include "tests/unit/support.h"

static struct weir_health health;

static struct weir_fault_event xid(uint32_t code, uint8_t bus, int64_t at_ms)
{
    return (struct weir_fault_event){
        .at_ms = at_ms,
        .device = {.node = 1, .bus = bus, .is_known = true},
        .kind = WEIR_FAULT_XID,
        .code = code,
        .recovery = WEIR_FAULT_RECOVERY_ABSENT,
        .pid = -1,
        .gpu_instance = -1,
        .link = -1,
        .gpc = -1,
        .tpc = -1,
        .text = WEIR_STR("evidence\nsecond line"),
    };
}

static struct weir_fault_event verdict(uint8_t recovery, uint8_t bus, int64_t at_ms)
{
    struct weir_fault_event event = xid(154, bus, at_ms);

    event.recovery = recovery;
    return event;
}

static struct weir_incident *feed(struct weir_fault_event event)
{
    return weir_health_feed(&health, &event);
}

static unsigned count_incidents(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < WEIR_INCIDENTS_MAX; i++)
        n += health.incidents[i].state != WEIR_INCIDENT_FREE;
    return n;
}

static int set_up(void **state)
{
    (void)state;
    weir_health_init(&health);
    return 0;
}

static void one_incident_settles_then_closes(void **state)
{
    struct weir_incident *incident = feed(xid(48, 1, 1000));

    (void)state;
    assert_int_equal(incident->state, WEIR_INCIDENT_SETTLING);
    assert_int_equal(weir_health_due_ms(&health), 1000 + WEIR_INCIDENT_SETTLE_MS);
    weir_health_tick(&health, 1000 + WEIR_INCIDENT_SETTLE_MS - 1);
    assert_int_equal(incident->state, WEIR_INCIDENT_SETTLING);
    weir_health_tick(&health, 1000 + WEIR_INCIDENT_SETTLE_MS);
    assert_int_equal(incident->state, WEIR_INCIDENT_DECIDED);
    assert_int_equal(incident->action, WEIR_FAULT_ACTION_RESET_GPU);
    assert_int_equal(weir_incident_outcome(incident), WEIR_FAULT_OUTCOME_DEVICE);
    assert_string_equal(incident->evidence, "evidence");
    assert_int_equal(incident->n_episodes, 1);
    assert_int_equal(weir_health_due_ms(&health), 1000 + WEIR_INCIDENT_EPISODE_MS + 1);
    weir_health_tick(&health, 1000 + WEIR_INCIDENT_EPISODE_MS + 1);
    assert_int_equal(incident->state, WEIR_INCIDENT_CLOSED);
    assert_int_equal(weir_health_due_ms(&health), INT64_MAX);
    assert_ptr_not_equal(feed(xid(48, 1, 2000 + WEIR_INCIDENT_EPISODE_MS)), incident);
}

static void what_belongs_together_merges(void **state)
{
    struct weir_incident *incident = feed(xid(48, 1, 0));

    (void)state;
    assert_ptr_equal(feed(xid(31, 1, WEIR_INCIDENT_MERGE_MS)), incident);
    assert_ptr_equal(feed(xid(95, 1, 2 * 60 * 1000)), incident);
    assert_ptr_equal(feed(xid(45, 1, 3 * 60 * 1000)), incident);
    assert_ptr_not_equal(feed(xid(31, 1, 4 * 60 * 1000)), incident);
    assert_ptr_not_equal(feed(xid(48, 2, 4 * 60 * 1000)), incident);
    assert_int_equal(count_incidents(), 3);
    assert_int_equal(incident->n_events, 4);
    assert_int_equal(incident->code, 48);
}

static void children_go_to_their_cause(void **state)
{
    struct weir_incident *link = feed(xid(149, 1, 0));
    struct weir_incident *app = feed(xid(13, 1, WEIR_INCIDENT_MERGE_MS + 1));
    struct weir_fault_event child = xid(45, 1, WEIR_INCIDENT_MERGE_MS + 2);

    (void)state;
    assert_ptr_not_equal(app, link);
    child.caused_by = 149;
    assert_ptr_equal(feed(child), link);
    child.caused_by = 0;
    assert_true(feed(child) != NULL);
    assert_int_equal(count_incidents(), 2);
    assert_int_equal(app->action, WEIR_FAULT_ACTION_RESTART_APP);
    assert_int_equal(weir_incident_outcome(app), WEIR_FAULT_OUTCOME_JOB);
}

/* The verdict may be told before what it is of: the cause is the error all the same. */
static void the_cause_is_what_the_verdict_is_of(void **state)
{
    struct weir_fault_event error = xid(48, 1, 100);
    struct weir_incident *incident = feed(verdict(WEIR_FAULT_RECOVERY_RESET, 1, 0));

    (void)state;
    assert_int_equal(incident->code, 154);
    error.text = WEIR_STR("a double bit error");
    assert_ptr_equal(feed(error), incident);
    assert_int_equal(incident->code, 48);
    assert_string_equal(incident->evidence, "a double bit error");
    assert_int_equal(incident->recovery, WEIR_FAULT_RECOVERY_RESET);
    assert_int_equal(incident->action, WEIR_FAULT_ACTION_RESET_GPU);
    assert_ptr_equal(feed(verdict(WEIR_FAULT_RECOVERY_RESET, 1, 200)), incident);
    assert_string_equal(incident->evidence, "a double bit error");
}

/* After a repair the same error is another one, and judged again. */
static void what_is_closed_takes_nothing_more(void **state)
{
    struct weir_incident *incident = feed(xid(48, 1, 0));
    struct weir_incident *other = feed(xid(48, 2, 0));
    struct weir_fault_device device = incident->device;

    (void)state;
    weir_health_tick(&health, WEIR_INCIDENT_SETTLE_MS);
    weir_health_close(&health, &device);
    assert_int_equal(incident->state, WEIR_INCIDENT_CLOSED);
    assert_int_equal(other->state, WEIR_INCIDENT_DECIDED);
    assert_ptr_not_equal(feed(xid(48, 1, 3000)), incident);
    assert_int_equal(incident->n_events, 1);
}

static void the_verdict_raises_and_never_lowers(void **state)
{
    struct weir_incident *app = feed(xid(31, 1, 0)), *lost = feed(xid(79, 2, 0)), *alone;

    (void)state;
    assert_int_equal(lost->state, WEIR_INCIDENT_DECIDED);
    feed(verdict(WEIR_FAULT_RECOVERY_REBOOT, 1, 2000));
    feed(verdict(WEIR_FAULT_RECOVERY_RESET, 2, 2000));
    assert_int_equal(app->action, WEIR_FAULT_ACTION_REBOOT_NODE);
    assert_int_equal(app->authority, WEIR_FAULT_AUTHORITY_DRIVER);
    assert_int_equal(app->code, 31);
    assert_int_equal(lost->action, WEIR_FAULT_ACTION_REBOOT_NODE);
    assert_int_equal(lost->authority, WEIR_FAULT_AUTHORITY_CATALOGUE);
    assert_int_equal(lost->recovery, WEIR_FAULT_RECOVERY_RESET);
    alone = feed(verdict(WEIR_FAULT_RECOVERY_DRAIN_P2P, 3, 2000));
    assert_int_equal(alone->action, WEIR_FAULT_ACTION_RESET_FABRIC);
    assert_int_equal(alone->code, 154);
}

static void a_late_verdict_settles_anew(void **state)
{
    struct weir_incident *incident = feed(xid(62, 1, 0));
    uint64_t changed;

    (void)state;
    weir_health_tick(&health, 10000);
    changed = incident->changed;
    assert_int_equal(incident->state, WEIR_INCIDENT_DECIDED);
    feed(verdict(WEIR_FAULT_RECOVERY_NONE, 1, 20000));
    assert_int_equal(incident->changed, changed);
    feed(verdict(WEIR_FAULT_RECOVERY_REBOOT, 1, 20000));
    assert_true(incident->changed > changed);
    weir_health_tick(&health, 20000 + WEIR_INCIDENT_SETTLE_MS);
    assert_int_equal(incident->state, WEIR_INCIDENT_DECIDED);
    assert_int_equal(incident->action, WEIR_FAULT_ACTION_REBOOT_NODE);
}

static void halves_of_a_message_meet_on_their_node(void **state)
{
    struct weir_fault_event head = xid(0, 9, 0), tail = xid(0, 0, 100), other;
    struct weir_incident *incident;

    (void)state;
    head.kind = WEIR_FAULT_LOST_HEAD;
    tail.kind = WEIR_FAULT_LOST_TAIL;
    tail.device.is_known = false;
    tail.device.bus = 0;
    other = head;
    other.device.node = 2;
    other.device.bus = 8;
    assert_null(feed(head));
    assert_null(feed(other));
    incident = feed(tail);
    assert_int_equal(incident->device.bus, 9);
    assert_int_equal(incident->action, WEIR_FAULT_ACTION_REBOOT_NODE);
    assert_int_equal(weir_incident_outcome(incident), WEIR_FAULT_OUTCOME_DEVICE);
    /* The head is used up, and the other node's is too old. */
    tail.device.node = 1;
    tail.at_ms = 200 + WEIR_INCIDENT_MERGE_MS;
    assert_false(feed(tail)->device.is_known);
    tail.device.node = 2;
    incident = feed(tail);
    assert_false(incident->device.is_known);
    assert_int_equal(weir_incident_outcome(incident), WEIR_FAULT_OUTCOME_NODE);
    assert_int_equal(health.n_heads, 0);
}

/* Of a GPU that falls the driver complains without its name, before and after it says which. */
static void what_has_no_name_is_of_the_gpu_that_fails_then(void **state)
{
    struct weir_fault_event nameless = xid(0, 0, 1000), elsewhere;
    struct weir_incident *alone, *named, *other;

    (void)state;
    nameless.kind = WEIR_FAULT_LOST;
    nameless.device = (struct weir_fault_device){.node = 1};
    elsewhere = nameless;
    elsewhere.device.node = 2;
    feed(xid(31, 4, 900)); /* fails nobody's GPU */
    alone = feed(nameless);
    other = feed(elsewhere);
    assert_false(alone->device.is_known);
    assert_int_equal(alone->state, WEIR_INCIDENT_SETTLING);
    named = feed(xid(48, 3, 2000));
    nameless.at_ms = 2500;
    assert_ptr_equal(feed(nameless), named);
    assert_int_equal(named->device.bus, 3);
    assert_int_equal(named->action, WEIR_FAULT_ACTION_REBOOT_NODE);
    weir_health_tick(&health, 1000 + WEIR_INCIDENT_SETTLE_MS);
    assert_int_equal(alone->state, WEIR_INCIDENT_CLOSED);
    assert_int_equal(alone->decided, 0);
    assert_int_equal(other->state, WEIR_INCIDENT_DECIDED);
    assert_int_equal(weir_incident_outcome(other), WEIR_FAULT_OUTCOME_NODE);
    assert_int_equal(weir_incident_outcome(named), WEIR_FAULT_OUTCOME_DEVICE);
    nameless.at_ms = 2500 + WEIR_INCIDENT_MERGE_MS + 1;
    alone = feed(nameless);
    assert_ptr_not_equal(alone, named);
    weir_health_tick(&health, nameless.at_ms + WEIR_INCIDENT_SETTLE_MS);
    assert_int_equal(alone->state, WEIR_INCIDENT_DECIDED);
}

static void heads_are_bounded(void **state)
{
    struct weir_fault_event head = xid(0, 9, 0);

    (void)state;
    head.kind = WEIR_FAULT_LOST_HEAD;
    for (uint32_t node = 0; node < 3 * WEIR_FAULT_HEADS_MAX; node++) {
        head.device.node = node;
        assert_null(feed(head));
    }
    assert_int_equal(health.n_heads, WEIR_FAULT_HEADS_MAX);
    assert_int_equal(health.heads[WEIR_FAULT_HEADS_MAX - 1].device.node,
                     3 * WEIR_FAULT_HEADS_MAX - 1);
}

static void a_storm_is_one_incident(void **state)
{
    struct weir_incident *incident = NULL;

    (void)state;
    for (int64_t i = 0; i < 10000; i++)
        incident = feed(xid(95, 1, i / 10));
    assert_int_equal(count_incidents(), 1);
    assert_int_equal(incident->n_events, 10000);
    assert_int_equal(incident->n_episodes, 1);
    /* What is worse is not lost in it. */
    assert_ptr_equal(feed(xid(79, 1, 1100)), incident);
    assert_int_equal(incident->code, 79);
}

static void a_full_table_gives_up_what_weighs_least(void **state)
{
    struct weir_fault_event event = xid(79, 0, 0);

    (void)state;
    for (uint32_t node = 0; node < WEIR_INCIDENTS_MAX; node++) {
        event.device.node = node;
        event.code = node == 7 ? 43 : 79;
        assert_non_null(feed(event));
    }
    event.device.node = 1000;
    event.code = 92;
    assert_int_equal(feed(event)->device.node, 1000);
    event.device.node = 1001;
    event.code = 43;
    assert_null(feed(event));
    assert_int_equal(health.n_dropped, 1);
    /* Closed ones go before any open one. */
    weir_health_tick(&health, WEIR_INCIDENT_EPISODE_MS + 1);
    event.at_ms = WEIR_INCIDENT_EPISODE_MS + 1;
    assert_non_null(feed(event));
}

static void origin_is_asked_first(void **state)
{
    struct weir_fault_event event = xid(79, 1, 0);
    struct weir_fault_class class;

    (void)state;
    event.origin = WEIR_FAULT_ORIGIN_USER;
    assert_null(feed(event));
    weir_fault_classify(&event, &class);
    assert_int_equal(class.action, WEIR_FAULT_ACTION_NOT_EVENT);
    assert_int_equal(class.authority, WEIR_FAULT_AUTHORITY_ORIGIN);
    event.origin = WEIR_FAULT_ORIGIN_STALE;
    assert_null(feed(event));
    event.kind = WEIR_FAULT_LOST_HEAD;
    assert_null(feed(event));
    assert_int_equal(health.n_heads, 0);
    assert_int_equal(count_incidents(), 0);
}

static void spread_needs_many_devices_and_no_verdict(void **state)
{
    struct weir_fault_event event = xid(145, 1, 0);

    (void)state;
    event.n_words = 2;
    event.words[0] = 0x040988e2;
    event.words[1] = 8;
    for (uint8_t bus = 1; bus <= 4; bus++) {
        event.device.bus = bus;
        assert_int_equal(feed(event)->action, WEIR_FAULT_ACTION_FOLLOW_154);
    }
    feed(verdict(WEIR_FAULT_RECOVERY_RESET, 4, 100));
    weir_health_tick(&health, 10000);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(health.incidents[i].action, WEIR_FAULT_ACTION_RESTART_APP);
    assert_int_equal(health.incidents[3].action, WEIR_FAULT_ACTION_RESET_GPU);
    weir_health_init(&health);
    for (uint8_t bus = 1; bus <= 4; bus++) {
        event.device.bus = bus;
        feed(event);
    }
    weir_health_tick(&health, 10000);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(health.incidents[i].action, WEIR_FAULT_ACTION_REBOOT_NODE);
        assert_int_equal(health.incidents[i].authority, WEIR_FAULT_AUTHORITY_SPREAD);
        assert_int_equal(health.incidents[i].scope, WEIR_FAULT_SCOPE_NODE);
    }
}

static uint8_t repeat(struct weir_fault_event event, unsigned n, int64_t apart_ms, bool one_user)
{
    const struct weir_incident *incident = NULL;

    weir_health_init(&health);
    for (unsigned i = 0; i < n; i++) {
        event.at_ms = i * apart_ms;
        event.user = one_user ? 1 : i + 1;
        incident = feed(event);
    }
    return incident->action;
}

static void repetition_within_a_day_weighs(void **state)
{
    const int64_t hour_ms = 3600 * 1000;
    struct weir_fault_event event = xid(109, 1, 0);

    (void)state;
    assert_int_equal(repeat(event, 4, hour_ms, false), WEIR_FAULT_ACTION_RESET_GPU);
    assert_int_equal(repeat(event, 5, hour_ms, false), WEIR_FAULT_ACTION_SUPPORT);
    assert_int_equal(repeat(event, 9, 10 * hour_ms, false), WEIR_FAULT_ACTION_RESET_GPU);
    event.code = 45;
    assert_int_equal(repeat(event, 9, hour_ms, false), WEIR_FAULT_ACTION_RECORD);
}

/* Of errors that are the program's as a rule no number takes a GPU out: several users may have the
 * same broken library. */
static void what_several_users_see_is_tested(void **state)
{
    const int64_t hour_ms = 3600 * 1000;
    struct weir_fault_event event = xid(31, 1, 0);
    struct weir_incident *incident = NULL;

    (void)state;
    for (unsigned i = 0; i < 6; i++) { /* each pair of users leads to one test */
        event.at_ms = i * hour_ms;
        event.user = 100 + i;
        incident = feed(event);
        assert_int_equal(incident->is_to_test, i % 2 == 1);
        assert_int_equal(incident->action, WEIR_FAULT_ACTION_RESTART_APP);
        assert_int_equal(weir_incident_outcome(incident),
                         i % 2 == 1 ? WEIR_FAULT_OUTCOME_TEST : WEIR_FAULT_OUTCOME_JOB);
    }
    for (unsigned i = 6; i < 12; i++) { /* one alone never does */
        event.at_ms = i * hour_ms;
        assert_int_equal(weir_incident_outcome(feed(event)), WEIR_FAULT_OUTCOME_JOB);
    }
    event.device.bus = 2;
    for (unsigned i = 1; i < 5; i++) { /* not within a day */
        event.at_ms = 24 * i * hour_ms;
        event.user++;
        assert_int_equal(weir_incident_outcome(feed(event)), WEIR_FAULT_OUTCOME_JOB);
    }
    event.device.bus = 3;
    event.code = 13;
    for (unsigned i = 0; i < 4; i++) { /* where it happened has to be known */
        event.at_ms += hour_ms;
        event.user++;
        event.gpc = event.tpc = i < 2 ? -1 : 2;
        assert_int_equal(weir_incident_outcome(feed(event)),
                         i == 3 ? WEIR_FAULT_OUTCOME_TEST : WEIR_FAULT_OUTCOME_JOB);
    }
    /* What weighs more decides. */
    event.code = 48;
    assert_int_equal(weir_incident_outcome(feed(event)), WEIR_FAULT_OUTCOME_DEVICE);
}

static void who_fails_elsewhere_takes_the_fault_with_him(void **state)
{
    const int64_t hour_ms = 3600 * 1000;
    struct weir_fault_event event = xid(31, 1, 0);

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        event.at_ms = i * hour_ms;
        event.user = 100 + i;
        event.device.bus = 2;
        feed(event);
        event.device.bus = 1;
        assert_false(feed(event)->is_to_test);
    }
    /* Nobody known proves nothing. */
    event.user = 0;
    event.device.bus = 3;
    for (unsigned i = 3; i < 9; i++) {
        event.at_ms = i * hour_ms;
        assert_false(feed(event)->is_to_test);
    }
}

static void links_count_by_themselves(void **state)
{
    struct weir_fault_event event = xid(74, 1, 0);
    const struct weir_incident *incident = NULL;

    (void)state;
    event.n_words = 7;
    event.words[2] = 1 << 16;
    for (int link = 0; link < 3; link++) {
        event.at_ms = link * 3600 * 1000;
        event.link = link;
        incident = feed(event);
        assert_int_equal(incident->action, WEIR_FAULT_ACTION_WATCH);
    }
    event.at_ms = 4 * 3600 * 1000;
    event.link = 1;
    assert_int_equal(feed(event)->action, WEIR_FAULT_ACTION_SUPPORT);
}

static void history_is_bounded(void **state)
{
    struct weir_fault_event event = xid(62, 1, 0);

    (void)state;
    for (uint32_t i = 0; i < 3 * WEIR_FAULT_HISTORY_MAX; i++) {
        event.device.node = i;
        event.at_ms = (int64_t)i * WEIR_INCIDENT_EPISODE_MS * 2;
        assert_int_equal(feed(event)->n_episodes, 1);
    }
    event.at_ms += WEIR_INCIDENT_EPISODE_MS * 2;
    assert_int_equal(feed(event)->n_episodes, 2);
}

static void every_rule_of_the_units_decodes_to_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < weir_n_xid_units; i++) {
        const struct weir_xid_unit *rule = &weir_xid_units[i];
        const uint16_t forms[] = {rule->v1, rule->v2};
        const uint32_t promote[] = {1 << 10, 1 << 7};

        for (unsigned form = 0; form < 2; form++) {
            struct weir_fault_event event = xid(rule->xid, 1, 0);
            struct weir_subcode subcode;

            if (forms[form] == WEIR_XID_UNIT_NONE)
                continue;
            event.n_words = 2;
            event.words[0] = forms[form] == WEIR_XID_UNIT_EVERY ? 0x1234 : forms[form];
            if (rule->promote == WEIR_XID_PROMOTE_SET)
                event.words[0] |= promote[form];
            if (rule->by == WEIR_XID_UNIT_BY_STATUS || rule->by == WEIR_XID_UNIT_BY_EITHER)
                event.words[1] = rule->value;
            if (rule->by == WEIR_XID_UNIT_BY_REASON)
                event.words[0] |= rule->value << 20;
            assert_true(weir_subcode_decode(&event, &subcode));
            assert_string_equal(subcode.unit, rule->name);
            assert_int_equal(subcode.action, rule->action);
        }
    }
}

/* What the registers say nobody knows who does not see them. */
static void without_registers_nothing_is_decoded(void **state)
{
    struct weir_fault_event whole = xid(150, 1, 0);
    struct weir_fault_class class;

    (void)state;
    for (uint32_t code = 144; code <= 150; code++) {
        struct weir_fault_event event = xid(code, 1, 0);
        struct weir_subcode subcode;

        event.severity = WEIR_FAULT_SEVERITY_FATAL;
        assert_false(weir_subcode_decode(&event, &subcode));
        weir_fault_classify(&event, &class);
        assert_int_equal(class.action, weir_xid_find(code)->action);
        assert_int_equal(class.action, WEIR_FAULT_ACTION_WATCH);
        assert_non_null(strstr(class.why, "without the registers"));
    }
    whole.n_words = 2;
    weir_fault_classify(&whole, &class);
    assert_int_equal(class.action, WEIR_FAULT_ACTION_RESET_GPU);
    whole.severity = WEIR_FAULT_SEVERITY_NONFATAL;
    weir_fault_classify(&whole, &class);
    assert_int_equal(class.action, WEIR_FAULT_ACTION_WATCH);
    assert_string_equal(class.name, "xid:150/MSE;nonfatal;fabric");
    /* Where the registers say it, they say it of themselves. */
    whole = xid(145, 1, 0);
    whole.severity = WEIR_FAULT_SEVERITY_NONFATAL;
    whole.n_words = 2;
    whole.words[0] = 0x082;
    whole.words[1] = 0x40;
    weir_fault_classify(&whole, &class);
    assert_int_equal(class.action, WEIR_FAULT_ACTION_RESET_GPU);
}

static void the_catalogue_is_whole(void **state)
{
    (void)state;
    for (uint32_t code = 1; code <= 176; code++)
        assert_non_null(weir_xid_find(code));
    assert_null(weir_xid_find(0));
    assert_null(weir_xid_find(177));
    assert_int_equal(weir_sxid_find(20034)->class, WEIR_SXID_CLASS_FATAL_PORT);
    assert_null(weir_sxid_find(28006));
    for (int i = 0; i < WEIR_FAULT_ACTION_MAX; i++)
        assert_non_null(weir_fault_action_words((enum weir_fault_action)i));
    for (int i = 0; i < WEIR_FAULT_OUTCOME_MAX; i++)
        assert_non_null(weir_fault_outcome_words((enum weir_fault_outcome)i));
    assert_null(weir_fault_action_name(WEIR_FAULT_ACTION_MAX));
}

static void a_bad_adapter_makes_no_gpu_bad(void **state)
{
    struct weir_fault_event event = xid(0, 1, 0);
    const struct weir_incident *incident;

    (void)state;
    event.kind = WEIR_FAULT_NIC_FAILED;
    incident = feed(event);
    assert_int_equal(incident->action, WEIR_FAULT_ACTION_SUPPORT);
    assert_int_equal(weir_incident_outcome(incident), WEIR_FAULT_OUTCOME_WATCH);
    event.kind = WEIR_FAULT_SXID;
    event.code = 20034;
    event.device.bus = 2;
    event.severity = WEIR_FAULT_SEVERITY_FATAL;
    assert_int_equal(weir_incident_outcome(feed(event)), WEIR_FAULT_OUTCOME_FABRIC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(one_incident_settles_then_closes, set_up),
        cmocka_unit_test_setup(what_belongs_together_merges, set_up),
        cmocka_unit_test_setup(children_go_to_their_cause, set_up),
        cmocka_unit_test_setup(the_verdict_raises_and_never_lowers, set_up),
        cmocka_unit_test_setup(a_late_verdict_settles_anew, set_up),
        cmocka_unit_test_setup(halves_of_a_message_meet_on_their_node, set_up),
        cmocka_unit_test_setup(what_has_no_name_is_of_the_gpu_that_fails_then, set_up),
        cmocka_unit_test_setup(heads_are_bounded, set_up),
        cmocka_unit_test_setup(a_storm_is_one_incident, set_up),
        cmocka_unit_test_setup(a_full_table_gives_up_what_weighs_least, set_up),
        cmocka_unit_test_setup(origin_is_asked_first, set_up),
        cmocka_unit_test_setup(spread_needs_many_devices_and_no_verdict, set_up),
        cmocka_unit_test_setup(repetition_within_a_day_weighs, set_up),
        cmocka_unit_test_setup(what_several_users_see_is_tested, set_up),
        cmocka_unit_test_setup(who_fails_elsewhere_takes_the_fault_with_him, set_up),
        cmocka_unit_test_setup(links_count_by_themselves, set_up),
        cmocka_unit_test_setup(history_is_bounded, set_up),
        cmocka_unit_test_setup(a_bad_adapter_makes_no_gpu_bad, set_up),
        cmocka_unit_test_setup(the_cause_is_what_the_verdict_is_of, set_up),
        cmocka_unit_test_setup(what_is_closed_takes_nothing_more, set_up),
        cmocka_unit_test(every_rule_of_the_units_decodes_to_itself),
        cmocka_unit_test(without_registers_nothing_is_decoded),
        cmocka_unit_test(the_catalogue_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
