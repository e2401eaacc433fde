/* xid-cases FILE.tsv: runs labelled log lines through parser, classification and incidents.
 *
 * Columns: id, class, expected_action, line, source. `\n` in the line stands for a line break; a
 * row of several lines is one scene. What the class column says behind "note=" of the scene around
 * the line ("all 8 GPUs at once", "again 5 times, of one job") is played; nothing else of that
 * column is looked at. Two forms are no log line:
 *     kmsg record 'PRIO,…;MESSAGE'
 *     event: expected_gpus=8 nvml_gpus=7
 * The second is what the driver library tells: also nvml_recovery=N, nvml_return=N, nvml_xid=N and
 * nvml_event=0xN.
 *
 * Of a single event the action is the class's; of more it is the heaviest incident's, once time has
 * settled it. Prints a row for each case and the total; 0 only if all are as expected, 2 for a file
 * that cannot be read. */
#include "base/arena.h"
#include "base/str.h"
#include "core/health/incident.h"
#include "edge/kernlog/fault_line.h"
#include "edge/nvml/fault_event.h"
#include "fmt/kmsg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 256, GPU_STEP = 8, STEP_MS = 10, NODE = 1, ROW_BYTES_MAX = 1 << 16 };

struct scene {
    struct weir_fault_event events[EVENTS_MAX];
    unsigned n_events;
    char decoded[WEIR_KMSG_RECORD_MAX];
    struct weir_kmsg kmsg;
};

static struct weir_health health;

/* ---- a row's line as events ---- */

static bool number_behind(struct weir_str text, const char *label, uint64_t *ret_value)
{
    ptrdiff_t at = weir_str_find(text, weir_str(label));
    char digits[24] = "";

    if (at < 0)
        return false;
    text = weir_str_sub(text, (size_t)at + strlen(label), sizeof(digits) - 1);
    memcpy(digits, text.ptr, text.len);
    *ret_value = strtoull(digits, NULL, 0);
    return true;
}

static void add_library_event(struct scene *scene, struct weir_str line)
{
    struct weir_fault_device device = {.node = NODE, .bus = 1, .is_known = true};
    struct weir_fault_event *event = &scene->events[scene->n_events];
    uint64_t expected = 0, driver = 0, pci = 0, value;
    bool is_fault = false;

    if (number_behind(line, "nvml_recovery=", &value)) {
        *event = weir_fault_from_recovery((uint8_t)value, &device, 0);
        is_fault = true;
    } else if (number_behind(line, "nvml_return=", &value)) {
        is_fault = weir_fault_from_nvml_return((int)value, &device, 0, event);
    } else if (number_behind(line, "nvml_xid=", &value)) {
        is_fault = weir_fault_from_nvml(8, value, WEIR_FAULT_RECOVERY_ABSENT, &device, 0, event);
    } else if (number_behind(line, "nvml_event=", &value)) {
        is_fault = weir_fault_from_nvml(value, 0, WEIR_FAULT_RECOVERY_ABSENT, &device, 0, event);
    } else {
        (void)number_behind(line, "expected_gpus=", &expected);
        (void)number_behind(line, "nvml_gpus=", &driver);
        (void)number_behind(line, "pci_gpus=", &pci);
        is_fault = weir_fault_from_count((uint32_t)expected, (uint32_t)driver, (uint32_t)pci, NODE,
                                         0, event);
    }
    scene->n_events += is_fault;
}

static void add_record(struct scene *scene, struct weir_str quoted)
{
    ptrdiff_t close = weir_str_find_char(quoted, '\'');
    size_t at = 0;

    if (close < 0 || weir_kmsg_read(weir_str_sub(quoted, 0, (size_t)close), scene->decoded,
                                    sizeof(scene->decoded), &scene->kmsg, NULL) < 0)
        return;
    while (scene->n_events < EVENTS_MAX &&
           weir_fault_from_kmsg(&scene->kmsg, NODE, 0, &at, &scene->events[scene->n_events]))
        scene->n_events++;
}

/* The breaks between a row's lines: "\n" of the file, "#012" of rsyslog. */
static bool next_line(struct weir_str *rest, struct weir_str *ret_line)
{
    ptrdiff_t at, other;
    size_t width = 2;

    if (rest->ptr == NULL)
        return false;
    at = weir_str_find(*rest, WEIR_STR("\\n"));
    other = weir_str_find(*rest, WEIR_STR("#012"));
    if (other >= 0 && (at < 0 || other < at)) {
        at = other;
        width = 4;
    }
    *ret_line = weir_str_sub(*rest, 0, at < 0 ? rest->len : (size_t)at);
    *rest = at < 0 ? weir_str_n(NULL, 0) : weir_str_sub(*rest, (size_t)at + width, rest->len);
    return true;
}

static void read_scene(struct weir_str text, struct scene *scene)
{
    struct weir_str rest = text, line;

    scene->n_events = 0;
    while (next_line(&rest, &line) && scene->n_events < EVENTS_MAX) {
        if (weir_str_starts_with(line, WEIR_STR("event: ")))
            add_library_event(scene, line);
        else if (weir_str_starts_with(line, WEIR_STR("kmsg record '")))
            add_record(scene, weir_str_sub(line, strlen("kmsg record '"), line.len));
        else if (weir_fault_from_line(line, NODE, 0, &scene->events[scene->n_events]))
            scene->n_events++;
    }
}

/* ---- what the note says of the scene ---- */

/* "all 8 GPUs at once": the same on 8 GPUs. "x8 channels x 4 GPUs within 2 s": 8 times on each
 * of 4. "again 5 times a day apart 1 h from other jobs": so many episodes. */
static void play_note(struct weir_str class, struct scene *scene)
{
    ptrdiff_t note = weir_str_find(class, WEIR_STR("note="));
    struct weir_str text = note < 0 ? WEIR_STR("") : weir_str_sub(class, (size_t)note, class.len);
    uint64_t n_gpus = 1, n_times = 1, value;
    unsigned n = scene->n_events;

    if (number_behind(text, "all ", &value) && weir_str_find(text, WEIR_STR(" GPUs")) >= 0)
        n_gpus = value;
    if (number_behind(text, "channels x ", &value))
        n_gpus = value;
    if (number_behind(text, "note=x", &value))
        n_times = value;
    if (n != 1 || n_gpus == 0 || n_times == 0)
        return;
    for (uint64_t i = 1; i < n_gpus * n_times && scene->n_events < EVENTS_MAX; i++) {
        scene->events[scene->n_events] = scene->events[0];
        scene->events[scene->n_events++].device.bus += (uint8_t)(i % n_gpus * GPU_STEP);
    }
}

/* ---- what comes of it ---- */

static void show(enum weir_fault_action action, enum weir_fault_action then, char *ret, size_t size)
{
    snprintf(ret, size, "%s%s%s", weir_fault_action_name(action),
             then != WEIR_FAULT_ACTION_NOT_EVENT ? ">" : "",
             then != WEIR_FAULT_ACTION_NOT_EVENT ? weir_fault_action_name(then) : "");
}

/* An episode for each "again", an hour apart, each from a job of its own or all from one. */
static void feed_scene(struct scene *scene, unsigned n_episodes, bool one_job)
{
    const int64_t hour_ms = 3600 * 1000;
    int64_t now_ms = 0;

    weir_health_init(&health);
    for (unsigned episode = 0; episode < n_episodes; episode++)
        for (unsigned i = 0; i < scene->n_events; i++) {
            now_ms = episode * hour_ms + (int64_t)i * STEP_MS;
            scene->events[i].at_ms = now_ms;
            if (n_episodes > 1)
                scene->events[i].user = one_job ? 1 : episode + 1;
            (void)weir_health_feed(&health, &scene->events[i]);
        }
    weir_health_tick(&health, now_ms + WEIR_INCIDENT_SETTLE_MS);
}

static void judge_incidents(char *ret, size_t size)
{
    const struct weir_incident *heaviest = NULL;

    for (unsigned i = 0; i < WEIR_INCIDENTS_MAX; i++) {
        const struct weir_incident *one = &health.incidents[i];

        if (one->state == WEIR_INCIDENT_FREE)
            continue;
        if (heaviest == NULL || one->action > heaviest->action)
            heaviest = one;
    }
    if (heaviest == NULL)
        snprintf(ret, size, "NOT_EVENT");
    else
        show((enum weir_fault_action)heaviest->action, (enum weir_fault_action)heaviest->then, ret,
             size);
}

static void judge(struct weir_str class, struct weir_str line, char *ret, size_t size)
{
    static struct scene scene;
    uint64_t n_episodes = 1;

    read_scene(line, &scene);
    play_note(class, &scene);
    (void)number_behind(class, "note=again ", &n_episodes);
    if (scene.n_events == 0) {
        snprintf(ret, size, "NOT_EVENT");
        return;
    }
    if (scene.n_events == 1 && n_episodes <= 1) {
        struct weir_fault_class one;

        weir_fault_classify(&scene.events[0], &one);
        show((enum weir_fault_action)one.action, (enum weir_fault_action)one.then, ret, size);
        return;
    }
    feed_scene(&scene, (unsigned)n_episodes, weir_str_find(class, WEIR_STR("of one job")) >= 0);
    judge_incidents(ret, size);
}

static bool read_row(struct weir_str row, struct weir_str cells[4])
{
    for (unsigned i = 0; i < 4; i++)
        if (!weir_str_split(&row, '\t', &cells[i]))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    static char row[ROW_BYTES_MAX];
    unsigned n = 0, n_good = 0, number = 0;

    if (file == NULL) {
        fprintf(stderr, argc == 2 ? "xid-cases: cannot read %s\n" : "usage: xid-cases FILE.tsv%s\n",
                argc == 2 ? argv[1] : "");
        return 2;
    }
    while (fgets(row, sizeof(row), file) != NULL) {
        struct weir_str text = weir_str(row), cells[4];
        char actual[64];
        bool is_good;

        if (text.len > 0 && text.ptr[text.len - 1] == '\n')
            text.len--;
        if (number++ == 0 || text.len == 0 || text.ptr[0] == '#')
            continue;
        if (!read_row(text, cells)) {
            fprintf(stderr, "xid-cases: %s:%u: fewer than four columns\n", argv[1], number);
            fclose(file);
            return 2;
        }
        judge(cells[1], cells[3], actual, sizeof(actual));
        is_good = weir_str_eq_c(cells[2], actual);
        n++;
        n_good += is_good;
        printf("%.*s %.*s %s %s\n", WEIR_STR_ARG(cells[0]), WEIR_STR_ARG(cells[2]), actual,
               is_good ? "pass" : "FAIL");
    }
    fclose(file);
    printf("%u of %u as expected\n", n_good, n);
    return n > 0 && n_good == n ? 0 : 1;
}
