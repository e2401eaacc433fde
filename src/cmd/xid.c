#include "base/buf.h"
#include "base/cleanup.h"
#include "base/count.h"
#include "base/err.h"
#include "base/mem.h"
#include "cmd/commands.h"
#include "cmd/output.h"
#include "cmd/xid_words.h"
#include "edge/kernlog/fault_line.h"
#include "fmt/json.h"
#include "fmt/kmsg.h"

#include <stdio.h>
#include <string.h>

enum { OUTPUT_BYTES_MAX = 4 * 1024 * 1024, EVENTS_MAX = 256 };

static const struct weir_option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = WEIR_OPTION_CHOICE,
     .argument = "FORM",
     .choices = "table|json",
     .help = "the form of what is printed",
     .example = "json"},
};

/* What the answer is written to: text, or JSON where the writer is used. */
struct answer {
    struct weir_buf text;
    struct weir_json_writer json;
    bool is_json;
};

static int finish(struct answer *answer, int status, struct weir_err *err)
{
    int result = answer->is_json ? weir_json_writer_end(&answer->json, "the answer", err)
                                 : weir_buf_check(&answer->text, "the answer", err);

    if (result < 0)
        return result;
    fputs(weir_buf_cstr(&answer->text), stdout);
    if (answer->is_json)
        putchar('\n');
    return status;
}

static int list_codes(const struct weir_args *args, struct answer *answer, struct weir_err *err)
{
    static const struct weir_sheet_column columns[] = {{.title = "XID", .is_right = true},
                                                       {.title = "ACTION"},
                                                       {.title = "ORIGIN"},
                                                       {.title = "NAME"},
                                                       {.title = "MEANING", .stretches = true}};
    struct weir_sheet_look look = weir_output_look(args, false);
    struct weir_sheet sheet;
    int result;

    if (answer->is_json) {
        weir_json_array_begin(&answer->json);
        for (size_t i = 0; i < weir_n_xids; i++)
            (void)weir_xid_words_code_json(weir_xids[i].code, false, &answer->json);
        weir_json_array_end(&answer->json);
        return finish(answer, WEIR_EXIT_FINE, err);
    }
    weir_sheet_init(&sheet, columns, WEIR_COUNT_OF(columns));
    for (size_t i = 0; i < weir_n_xids; i++) {
        const struct weir_xid *xid = &weir_xids[i];
        char code[16];

        snprintf(code, sizeof(code), "%u", xid->code);
        weir_sheet_add(&sheet, weir_str(code));
        weir_sheet_add(&sheet,
                       weir_str(weir_fault_action_name((enum weir_fault_action)xid->action)));
        weir_sheet_add(&sheet, weir_str(weir_xid_origin_name((enum weir_xid_origin)xid->origin)));
        weir_sheet_add(&sheet, weir_str(xid->name));
        weir_sheet_add(&sheet, weir_str(xid->meaning));
    }
    result = weir_sheet_write(&sheet, &look, &answer->text, err);
    weir_sheet_finish(&sheet);
    return result < 0 ? result : finish(answer, WEIR_EXIT_FINE, err);
}

static int explain_code(uint32_t code, bool is_switch, struct answer *answer, struct weir_err *err)
{
    bool is_known = answer->is_json ? weir_xid_words_code_json(code, is_switch, &answer->json)
                                    : weir_xid_words_code(code, is_switch, &answer->text);

    return finish(answer, is_known ? WEIR_EXIT_FINE : WEIR_EXIT_NO, err);
}

/* ---- lines ---- */

struct scene {
    struct weir_health health;
    struct weir_fault_event events[EVENTS_MAX];
    uint32_t n_events;
    char decoded[WEIR_KMSG_RECORD_MAX];
};

static void read_lines(struct weir_str text, struct scene *scene)
{
    struct weir_str rest = text, line;
    struct weir_kmsg kmsg;
    size_t at = 0;

    /* A record of /dev/kmsg tells who wrote it; anything else is a text log. */
    if (weir_kmsg_read(text, scene->decoded, sizeof(scene->decoded), &kmsg, NULL) == 0) {
        while (scene->n_events < EVENTS_MAX &&
               weir_fault_from_kmsg(&kmsg, 0, 0, &at, &scene->events[scene->n_events]))
            scene->n_events++;
        return;
    }
    while (scene->n_events < EVENTS_MAX && weir_str_split(&rest, '\n', &line))
        if (weir_fault_from_line(line, 0, 0, &scene->events[scene->n_events]))
            scene->n_events++;
}

/* The lines are taken to have come at once. */
static void fold(struct scene *scene)
{
    weir_health_init(&scene->health);
    for (uint32_t i = 0; i < scene->n_events; i++)
        (void)weir_health_feed(&scene->health, &scene->events[i]);
    weir_health_tick(&scene->health, WEIR_INCIDENT_SETTLE_MS);
}

static void show_incidents(const struct scene *scene, struct answer *answer)
{
    for (uint32_t i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *incident = &scene->health.incidents[i];

        if (incident->state == WEIR_INCIDENT_FREE)
            continue;
        if (answer->is_json)
            weir_xid_words_incident_json(incident, &answer->json);
        else
            weir_xid_words_incident(incident, &answer->text);
    }
}

static void show_scene(const struct scene *scene, struct answer *answer)
{
    if (answer->is_json) {
        weir_json_object_begin(&answer->json);
        weir_json_key(&answer->json, "events");
        weir_json_array_begin(&answer->json);
        for (uint32_t i = 0; i < scene->n_events; i++)
            if (scene->events[i].kind != WEIR_FAULT_LOST_HEAD)
                weir_xid_words_event_json(&scene->events[i], &answer->json);
        weir_json_array_end(&answer->json);
        weir_json_key(&answer->json, "incidents");
        weir_json_array_begin(&answer->json);
        show_incidents(scene, answer);
        weir_json_array_end(&answer->json);
        weir_json_object_end(&answer->json);
        return;
    }
    for (uint32_t i = 0; i < scene->n_events; i++) {
        /* It says nothing without its next line, and with that the incident says it. */
        if (scene->events[i].kind == WEIR_FAULT_LOST_HEAD)
            continue;
        weir_xid_words_event(&scene->events[i], &answer->text);
        if (scene->n_events > 1)
            weir_buf_putc(&answer->text, '\n');
    }
    if (scene->n_events > 1)
        show_incidents(scene, answer);
}

static int explain_lines(const char *words, struct answer *answer, struct weir_err *err)
{
    char shown[WEIR_STR_SHOW_MAX];
    struct scene *scene = weir_mem_alloc_array(1, sizeof(*scene));
    int result;

    if (scene == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "xid: no memory");
    read_lines(weir_str(words), scene);
    if (scene->n_events == 0) {
        weir_error(err, WEIR_E_INVALID, "xid: '%s' is no code, and no log line about a GPU's fault",
                   weir_str_show(weir_str(words), shown));
        result = weir_error_hint(err, "give a number, or the whole line in quotes");
    } else {
        fold(scene);
        show_scene(scene, answer);
        result = finish(answer, WEIR_EXIT_FINE, err);
    }
    weir_mem_free(scene);
    return result;
}

static int read_code(const char *text, uint32_t *ret_code)
{
    uint64_t value;

    if (!weir_str_to_u64(weir_str(text), &value) || value > UINT32_MAX)
        return WEIR_E_INVALID;
    *ret_code = (uint32_t)value;
    return 0;
}

static int explain(const struct weir_args *args, struct answer *answer, struct weir_err *err)
{
    uint32_t code = 0;

    if (args->n_operands == 0)
        return list_codes(args, answer, err);
    if (strcmp(args->operands[0], "sxid") == 0) {
        if (args->n_operands != 2 || read_code(args->operands[1], &code) < 0) {
            weir_error(err, WEIR_E_INVALID, "xid: sxid needs the number of one");
            return weir_error_hint(err, "for example weir xid sxid 20034");
        }
        return explain_code(code, true, answer, err);
    }
    if (args->n_operands > 1) {
        weir_error(err, WEIR_E_INVALID, "xid: '%s' is one word too many", args->operands[1]);
        return weir_error_hint(err, "a log line goes in quotes, as one word");
    }
    if (read_code(args->operands[0], &code) == 0)
        return explain_code(code, false, answer, err);
    return explain_lines(args->operands[0], answer, err);
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    const char *form = weir_args_text(args, "output");
    struct answer answer = {.is_json = form != NULL && strcmp(form, "json") == 0};
    int result;

    weir_buf_init(&answer.text, OUTPUT_BYTES_MAX);
    weir_json_writer_init(&answer.json, &answer.text, true);
    result = explain(args, &answer, err);
    weir_buf_finish(&answer.text);
    return result;
}

static const struct weir_example examples[] = {
    {"weir xid", "all codes"},
    {"weir xid 79", "what it means, what weir does, what to do by hand"},
    {"weir xid sxid 20034", "the same for an error of an NVSwitch"},
    {"weir xid 'NVRM: Xid (PCI:0000:3b:00): 62, 2027d9d0 00005e4c'",
     "a line of the kernel log, decoded"},
};

const struct weir_command weir_command_xid = {
    .name = "xid",
    .summary = "explain a GPU error code or a kernel log line",
    .operands = "[CODE|LINE|sxid CODE]",
    .about =
        "Says what an Xid means, whose fault it is, what weir does about it, and what to do by "
        "hand. A line of the kernel log, pasted in quotes, is decoded with the registers it "
        "prints; of several lines it is also said what they come to together. It needs no server "
        "and no GPU.\n\n"
        "A code that is not in the catalogue gives the exit status 1.",
    .examples = examples,
    .n_examples = WEIR_COUNT_OF(examples),
    .options = options,
    .n_options = WEIR_COUNT_OF(options),
    .max_operands = 2,
    .group = WEIR_GROUP_LOOK,
    .run = run,
};
