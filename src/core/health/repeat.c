#include "core/health/repeat.h"

#include "model/xid_catalogue.h"

#include <string.h>

enum {
    XID_EXCEPTION = 13,
    XID_PAGE_FAULT = 31,
    XID_REMAPPED = 63,
    USERS_MIN = 2,
    REMAPPED_MIN = 8,
    OTHERS_MIN = 5,
    PLACE_RADIX = 1000
};

/* Codes of switches and of events without a code must not meet those of Xids. */
static uint32_t history_code(const struct weir_fault_event *event)
{
    enum { KIND_SHIFT = 24, CODE_MASK = 0xffffff };

    return (uint32_t)event->kind << KIND_SHIFT | (event->code & CODE_MASK);
}

static int64_t place_of(const struct weir_fault_event *event, const struct weir_fault_class *class)
{
    enum { NO_LINK = -1 };

    if (event->kind == WEIR_FAULT_XID && event->code == XID_EXCEPTION)
        return event->gpc >= 0 && event->tpc >= 0 ? (int64_t)event->gpc * PLACE_RADIX + event->tpc
                                                  : -1;
    return class->repeats > 0 ? event->link : NO_LINK;
}

static void forget_old(struct weir_fault_history *entry, int64_t now_ms)
{
    uint32_t n_old = 0;

    while (n_old < entry->n && now_ms - entry->at_ms[n_old] >= WEIR_FAULT_REPEAT_WINDOW_MS)
        n_old++;
    if (n_old == 0 && entry->n == WEIR_FAULT_HISTORY_TIMES)
        n_old = 1;
    entry->n -= n_old;
    memmove(entry->at_ms, entry->at_ms + n_old, entry->n * sizeof(entry->at_ms[0]));
    memmove(entry->user, entry->user + n_old, entry->n * sizeof(entry->user[0]));
    memmove(entry->place, entry->place + n_old, entry->n * sizeof(entry->place[0]));
}

static int64_t last_of(const struct weir_fault_history *entry)
{
    return entry->n > 0 ? entry->at_ms[entry->n - 1] : INT64_MIN;
}

/* The entry of the code and device; else a free one, else that which was quiet longest. */
static struct weir_fault_history *find_entry(struct weir_health *health,
                                             const struct weir_fault_device *device, uint32_t code)
{
    struct weir_fault_history *best = &health->history[0];

    for (uint32_t i = 0; i < WEIR_FAULT_HISTORY_MAX; i++) {
        struct weir_fault_history *entry = &health->history[i];

        if (entry->code == code && weir_fault_same_device(&entry->device, device))
            return entry;
        if (best->code != 0 && (entry->code == 0 || last_of(entry) < last_of(best)))
            best = entry;
    }
    *best = (struct weir_fault_history){.device = *device, .code = code};
    return best;
}

static bool has_user(const struct weir_fault_history *entry, uint64_t user, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (entry->user[i] == user)
            return true;
    return false;
}

/* The same of what came since the device was to be tested. */
static bool has_user_since(const struct weir_fault_history *entry, uint64_t user, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (entry->user[i] == user && (entry->tested_ms == 0 || entry->at_ms[i] > entry->tested_ms))
            return true;
    return false;
}

/* Whose jobs fail in the same way on several devices takes the fault with him. */
static bool fails_elsewhere(const struct weir_health *health, const struct weir_fault_history *here,
                            uint64_t user)
{
    for (uint32_t i = 0; i < WEIR_FAULT_HISTORY_MAX; i++) {
        const struct weir_fault_history *entry = &health->history[i];

        if (entry != here && entry->code == here->code && has_user(entry, user, entry->n))
            return true;
    }
    return false;
}

static void judge_app(const struct weir_health *health, struct weir_fault_history *entry,
                      bool at_one_place, struct weir_repeat *repeat)
{
    int64_t place = entry->place[entry->n - 1];
    uint32_t n_users = 0;

    if (at_one_place && place < 0)
        return;
    for (uint32_t i = 0; i < entry->n; i++) {
        if (at_one_place && entry->place[i] != place)
            continue;
        if (entry->at_ms[i] <= entry->tested_ms && entry->tested_ms > 0)
            continue;
        n_users += entry->user[i] != 0 && !has_user_since(entry, entry->user[i], i) &&
                   !fails_elsewhere(health, entry, entry->user[i]);
    }
    if (n_users >= USERS_MIN) {
        repeat->is_to_test = true;
        repeat->why =
            "jobs of several users had this error on this GPU within a day, and on no other";
        entry->tested_ms = entry->at_ms[entry->n - 1];
    }
}

static void judge_link(const struct weir_fault_history *entry, const struct weir_fault_class *class,
                       struct weir_repeat *repeat)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < entry->n; i++)
        n += entry->place[i] == entry->place[entry->n - 1];
    if (n >= class->repeats) {
        repeat->action = class->repeats_action;
        repeat->why = "these registers on one link, so often within a day, are a fault of the link";
    }
}

/* Whether an error that stays is its device's fault. */
static bool is_of_device(const struct weir_fault_event *event)
{
    const struct weir_xid *xid = weir_xid_find(event->code);

    return event->kind == WEIR_FAULT_XID && xid != NULL && xid->fatal != WEIR_XID_FATAL_UNKNOWN &&
           (xid->origin == WEIR_XID_ORIGIN_HARDWARE || xid->origin == WEIR_XID_ORIGIN_FIRMWARE ||
            xid->origin == WEIR_XID_ORIGIN_FABRIC || xid->origin == WEIR_XID_ORIGIN_DRIVER);
}

static void judge(const struct weir_health *health, struct weir_fault_history *entry,
                  const struct weir_fault_event *event, const struct weir_fault_class *class,
                  struct weir_repeat *repeat)
{
    bool is_xid = event->kind == WEIR_FAULT_XID;

    if (is_xid && (event->code == XID_EXCEPTION || event->code == XID_PAGE_FAULT)) {
        judge_app(health, entry, event->code == XID_EXCEPTION, repeat);
    } else if (class->repeats > 0) {
        judge_link(entry, class, repeat);
    } else if (is_xid && event->code == XID_REMAPPED) {
        if (entry->n < REMAPPED_MIN)
            return;
        repeat->action = WEIR_FAULT_ACTION_SUPPORT;
        repeat->why = "memory of this GPU goes bad row by row";
    } else if (entry->n >= OTHERS_MIN && is_of_device(event) &&
               class->action > WEIR_FAULT_ACTION_RECORD) {
        repeat->action = WEIR_FAULT_ACTION_SUPPORT;
        repeat->why = "it came five times within a day: what was done did not help";
    } else if (entry->n >= OTHERS_MIN && event->kind == WEIR_FAULT_SXID) {
        repeat->action = WEIR_FAULT_ACTION_WATCH;
        repeat->why = "it came five times within a day";
    }
}

void weir_repeat_note(struct weir_health *health, const struct weir_fault_event *event,
                      const struct weir_fault_class *class, struct weir_repeat *ret_repeat)
{
    struct weir_fault_history *entry = find_entry(health, &event->device, history_code(event));
    struct weir_repeat repeat = {0};

    forget_old(entry, event->at_ms);
    entry->at_ms[entry->n] = event->at_ms;
    entry->user[entry->n] = event->user;
    entry->place[entry->n] = place_of(event, class);
    entry->n++;
    repeat.n_episodes = entry->n;
    judge(health, entry, event, class, &repeat);
    *ret_repeat = repeat;
}
