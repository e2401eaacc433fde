#include "cmd/xid_words.h"

#include "base/buf.h"
#include "base/count.h"
#include "fmt/json.h"

#include <stdio.h>

enum { LABEL_WIDTH = 14 };

static void put(struct weir_buf *out, const char *label, const char *text)
{
    if (text != NULL)
        weir_buf_printf(out, "%-*s %s\n", LABEL_WIDTH, label, text);
}

static const char *whose(enum weir_xid_origin origin)
{
    static const char *const words[WEIR_XID_ORIGIN_MAX] = {
        [WEIR_XID_ORIGIN_UNKNOWN] = "not known",
        [WEIR_XID_ORIGIN_APP] = "the program's, as a rule",
        [WEIR_XID_ORIGIN_HARDWARE] = "the hardware's",
        [WEIR_XID_ORIGIN_DRIVER] = "the driver's",
        [WEIR_XID_ORIGIN_FIRMWARE] = "the GPU's firmware's, or its hardware's",
        [WEIR_XID_ORIGIN_FABRIC] = "NVLink's: a link, a switch or what is at its other end",
        [WEIR_XID_ORIGIN_CONFIG] = "the set-up's",
        [WEIR_XID_ORIGIN_VM] = "the virtual machine's"};

    return words[origin];
}

static enum weir_fault_outcome outcome_of(uint8_t action, uint8_t family)
{
    return weir_fault_outcome((enum weir_fault_action)action, (enum weir_fault_family)family, true);
}

static void put_actions(struct weir_buf *out, uint8_t action, uint8_t then, uint8_t family)
{
    weir_buf_printf(out, "%-*s %s\n", LABEL_WIDTH, "weir",
                    weir_fault_outcome_words(outcome_of(action, family)));
    weir_buf_printf(out, "%-*s %s: %s\n", LABEL_WIDTH, "By hand",
                    weir_fault_action_name((enum weir_fault_action)action),
                    weir_fault_action_words((enum weir_fault_action)action));
    if (then != WEIR_FAULT_ACTION_NOT_EVENT)
        weir_buf_printf(out, "%-*s %s: %s\n", LABEL_WIDTH, "Then",
                        weir_fault_action_name((enum weir_fault_action)then),
                        weir_fault_action_words((enum weir_fault_action)then));
}

static void put_chips(struct weir_buf *out, const char *chips)
{
    static const char *const names[] = {"A100", "H100", "B100", "GB200"};
    static const char letters[] = "AHBG";

    if (chips == NULL)
        return;
    weir_buf_printf(out, "%-*s", LABEL_WIDTH, "Chips");
    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++)
        if (weir_str_find_char(weir_str(chips), letters[i]) >= 0)
            weir_buf_printf(out, " %s", names[i]);
    weir_buf_putc(out, '\n');
}

static void words_xid(const struct weir_xid *xid, struct weir_buf *out)
{
    weir_buf_printf(out, "Xid %u%s%s\n", xid->code, xid->name != NULL ? "  " : "",
                    xid->name != NULL ? xid->name : "");
    put(out, "Meaning", xid->meaning);
    put(out, "Whose fault", whose((enum weir_xid_origin)xid->origin));
    put(out, "Fatal", weir_xid_fatal_name((enum weir_xid_fatal)xid->fatal));
    put_actions(out, xid->action, xid->then, WEIR_FAULT_FAMILY_FIRMWARE);
    put(out, "If it stays", xid->investigate);
    put_chips(out, xid->chips);
    if (xid->branch != NULL)
        weir_buf_printf(out,
                        "%-*s drivers from %s send one with it, and what it says comes first\n",
                        LABEL_WIDTH, "Xid 154", xid->branch);
}

/* The action of a switch's error where the line gives no severity. */
static struct weir_fault_class class_of_sxid(uint32_t code)
{
    struct weir_fault_event event = {.kind = WEIR_FAULT_SXID,
                                     .code = code,
                                     .recovery = WEIR_FAULT_RECOVERY_ABSENT,
                                     .device = {.is_known = true}};
    struct weir_fault_class class;

    weir_fault_classify(&event, &class);
    return class;
}

static void words_sxid(const struct weir_sxid *sxid, struct weir_buf *out)
{
    struct weir_fault_class class = class_of_sxid(sxid->code);

    weir_buf_printf(out, "SXid %u  %s\n", sxid->code, sxid->name);
    put(out, "Class", weir_sxid_class_name((enum weir_sxid_class)sxid->class));
    put(out, "It does", weir_sxid_class_words((enum weir_sxid_class)sxid->class));
    put_actions(out, class.action, class.then, class.family);
    put(out, "Severity", "the line's own word (Fatal, Non-fatal) comes first: paste the line");
}

bool weir_xid_words_code(uint32_t code, bool is_switch, struct weir_buf *out)
{
    const struct weir_xid *xid = is_switch ? NULL : weir_xid_find(code);
    const struct weir_sxid *sxid = is_switch ? weir_sxid_find(code) : NULL;

    if (xid != NULL) {
        words_xid(xid, out);
        return true;
    }
    if (sxid != NULL) {
        words_sxid(sxid, out);
        return true;
    }
    weir_buf_printf(out, "%s %u is not in the catalogue", is_switch ? "SXid" : "Xid", code);
    if (!is_switch)
        weir_buf_printf(out, ", which knows %u to %u", weir_xids[0].code,
                        weir_xids[weir_n_xids - 1].code);
    weir_buf_puts(out, "\n");
    put_actions(out, WEIR_FAULT_ACTION_WATCH, WEIR_FAULT_ACTION_NOT_EVENT,
                WEIR_FAULT_FAMILY_FIRMWARE);
    put(out, "Why",
        is_switch ? "codes differ between driver branches; the line's own severity says more"
                  : "drivers raise codes that nobody described; no GPU is taken out for one");
    return false;
}

static void member(struct weir_json_writer *out, const char *key, const char *text)
{
    weir_json_key(out, key);
    weir_json_text(out, text);
}

static void action_members(struct weir_json_writer *out, uint8_t action, uint8_t then,
                           enum weir_fault_outcome outcome)
{
    member(out, "action", weir_fault_action_name((enum weir_fault_action)action));
    member(out, "then",
           then != WEIR_FAULT_ACTION_NOT_EVENT
               ? weir_fault_action_name((enum weir_fault_action)then)
               : NULL);
    member(out, "by_hand", weir_fault_action_words((enum weir_fault_action)action));
    member(out, "outcome", weir_fault_outcome_name(outcome));
}

bool weir_xid_words_code_json(uint32_t code, bool is_switch, struct weir_json_writer *out)
{
    const struct weir_xid *xid = is_switch ? NULL : weir_xid_find(code);
    const struct weir_sxid *sxid = is_switch ? weir_sxid_find(code) : NULL;

    weir_json_object_begin(out);
    member(out, "kind", is_switch ? "sxid" : "xid");
    weir_json_key(out, "code");
    weir_json_u64(out, code);
    weir_json_key(out, "known");
    weir_json_bool(out, xid != NULL || sxid != NULL);
    if (is_switch) {
        struct weir_fault_class class = class_of_sxid(code);

        member(out, "name", sxid != NULL ? sxid->name : NULL);
        member(out, "class",
               sxid != NULL ? weir_sxid_class_name((enum weir_sxid_class)sxid->class) : NULL);
        action_members(out, class.action, class.then, outcome_of(class.action, class.family));
    } else if (xid != NULL) {
        member(out, "name", xid->name);
        member(out, "meaning", xid->meaning);
        member(out, "origin", weir_xid_origin_name((enum weir_xid_origin)xid->origin));
        member(out, "fatal", weir_xid_fatal_name((enum weir_xid_fatal)xid->fatal));
        action_members(out, xid->action, xid->then,
                       outcome_of(xid->action, WEIR_FAULT_FAMILY_FIRMWARE));
        member(out, "investigate", xid->investigate);
        member(out, "chips", xid->chips);
        member(out, "branch", xid->branch);
    } else {
        action_members(out, WEIR_FAULT_ACTION_WATCH, WEIR_FAULT_ACTION_NOT_EVENT,
                       WEIR_FAULT_OUTCOME_WATCH);
    }
    weir_json_object_end(out);
    return xid != NULL || sxid != NULL;
}

/* ---- events ---- */

enum { DEVICE_TEXT_MAX = 40 };

static const char *device_text(const struct weir_fault_device *device, char text[DEVICE_TEXT_MAX])
{
    if (!device->is_known)
        return NULL;
    snprintf(text, DEVICE_TEXT_MAX, "%04x:%02x:%02x.%x", device->domain, device->bus,
             device->device, device->function);
    return text;
}

static void put_registers(const struct weir_fault_event *event, struct weir_buf *out)
{
    if (event->n_words == 0)
        return;
    weir_buf_printf(out, "%-*s", LABEL_WIDTH, "Registers");
    for (uint32_t i = 0; i < event->n_words; i++)
        weir_buf_printf(out, " 0x%x", event->words[i]);
    weir_buf_putc(out, '\n');
}

void weir_xid_words_event(const struct weir_fault_event *event, struct weir_buf *out)
{
    char device[DEVICE_TEXT_MAX], shown[WEIR_STR_SHOW_MAX];
    const struct weir_xid *xid = event->kind == WEIR_FAULT_XID ? weir_xid_find(event->code) : NULL;
    const struct weir_sxid *sxid =
        event->kind == WEIR_FAULT_SXID ? weir_sxid_find(event->code) : NULL;
    struct weir_fault_class class;

    weir_fault_classify(event, &class);
    put(out, "Line", weir_str_show(event->text, shown));
    if (class.authority == WEIR_FAULT_AUTHORITY_ORIGIN) {
        weir_buf_printf(out, "%-*s %s: it is evidence of nothing\n", LABEL_WIDTH, "Why", class.why);
        return;
    }
    put(out, "Class", class.name);
    if (xid != NULL) {
        put(out, "Name", xid->name);
        put(out, "Meaning", xid->meaning);
        put(out, "Whose fault", whose((enum weir_xid_origin)xid->origin));
    }
    put(out, "Name", sxid != NULL ? sxid->name : NULL);
    put(out, "Device", device_text(&event->device, device));
    if (event->gpu_instance >= 0)
        weir_buf_printf(out, "%-*s %d\n", LABEL_WIDTH, "GPU instance", event->gpu_instance);
    if (event->pid >= 0)
        weir_buf_printf(out, "%-*s %lld\n", LABEL_WIDTH, "Process", (long long)event->pid);
    put_registers(event, out);
    weir_buf_printf(out, "%-*s %s (%s)\n", LABEL_WIDTH, "Why", class.why,
                    weir_fault_authority_name((enum weir_fault_authority) class.authority));
    put_actions(out, class.action, class.then, class.family);
    put(out, "If it stays", xid != NULL ? xid->investigate : NULL);
}

void weir_xid_words_event_json(const struct weir_fault_event *event, struct weir_json_writer *out)
{
    char device[DEVICE_TEXT_MAX];
    struct weir_fault_class class;

    weir_fault_classify(event, &class);
    weir_json_object_begin(out);
    member(out, "class", class.name);
    weir_json_key(out, "code");
    if (event->code != 0)
        weir_json_u64(out, event->code);
    else
        weir_json_null(out);
    member(out, "device", device_text(&event->device, device));
    weir_json_key(out, "gpu_instance");
    if (event->gpu_instance >= 0)
        weir_json_i64(out, event->gpu_instance);
    else
        weir_json_null(out);
    weir_json_key(out, "pid");
    if (event->pid >= 0)
        weir_json_i64(out, event->pid);
    else
        weir_json_null(out);
    weir_json_key(out, "registers");
    weir_json_array_begin(out);
    for (uint32_t i = 0; i < event->n_words; i++)
        weir_json_u64(out, event->words[i]);
    weir_json_array_end(out);
    member(out, "scope", weir_fault_scope_name((enum weir_fault_scope) class.scope));
    member(out, "authority",
           weir_fault_authority_name((enum weir_fault_authority) class.authority));
    member(out, "why", class.why);
    action_members(out, class.action, class.then,
                   weir_fault_outcome((enum weir_fault_action) class.action,
                                      (enum weir_fault_family) class.family,
                                      event->device.is_known));
    weir_json_key(out, "text");
    weir_json_str(out, event->text);
    weir_json_object_end(out);
}

void weir_xid_words_incident(const struct weir_incident *incident, struct weir_buf *out)
{
    char device[DEVICE_TEXT_MAX], shown[WEIR_STR_SHOW_MAX];
    const char *where = device_text(&incident->device, device);

    weir_buf_printf(out, "Together: %llu event%s of %s\n", (unsigned long long)incident->n_events,
                    incident->n_events == 1 ? "" : "s", where != NULL ? where : "the node");
    put(out, "Class", incident->class);
    put(out, "Cause", weir_str_show(weir_str(incident->evidence), shown));
    weir_buf_printf(out, "%-*s %s (%s)\n", LABEL_WIDTH, "Why", incident->why,
                    weir_fault_authority_name((enum weir_fault_authority)incident->authority));
    weir_buf_printf(out, "%-*s %s\n", LABEL_WIDTH, "weir",
                    weir_fault_outcome_words(weir_incident_outcome(incident)));
    weir_buf_printf(out, "%-*s %s: %s\n", LABEL_WIDTH, "By hand",
                    weir_fault_action_name((enum weir_fault_action)incident->action),
                    weir_fault_action_words((enum weir_fault_action)incident->action));
}

void weir_xid_words_incident_json(const struct weir_incident *incident,
                                  struct weir_json_writer *out)
{
    char device[DEVICE_TEXT_MAX];

    weir_json_object_begin(out);
    member(out, "class", incident->class);
    member(out, "device", device_text(&incident->device, device));
    weir_json_key(out, "events");
    weir_json_u64(out, incident->n_events);
    member(out, "scope", weir_fault_scope_name((enum weir_fault_scope)incident->scope));
    member(out, "authority",
           weir_fault_authority_name((enum weir_fault_authority)incident->authority));
    member(out, "why", incident->why);
    action_members(out, incident->action, incident->then, weir_incident_outcome(incident));
    member(out, "text", incident->evidence);
    weir_json_object_end(out);
}
