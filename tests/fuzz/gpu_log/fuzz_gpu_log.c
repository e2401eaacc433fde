/* Any text is a line or none: every text of the result lies in it, and every event is judged within
 * the bounds of the ladder. The input is a text log, line by line, ten milliseconds apart. */
#include "core/health/incident.h"
#include "edge/kernlog/fault_line.h"
#include "fmt/gpu_log.h"
#include "fmt/log_prefix.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct weir_health health;

static void must(bool cond)
{
    if (!cond)
        abort();
}

static void must_lie_in(struct weir_str part, struct weir_str whole)
{
    must(part.len == 0 || (part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len));
}

static void read_line(struct weir_str line)
{
    struct weir_str message;
    struct weir_gpu_log log;

    must(weir_log_prefix_strip(line, &message) < WEIR_LOG_ORIGIN_MAX);
    must_lie_in(message, line);
    must(weir_gpu_log_read(message, &log) < WEIR_GPU_LOG_MAX);
    must_lie_in(log.name, message);
    must_lie_in(log.text, message);
    must_lie_in(log.unit, message);
    must_lie_in(log.uuid, message);
    must(log.n_words <= WEIR_GPU_LOG_WORDS_MAX && log.pci_function < 8 && log.pci_device < 32);
}

static void judge(struct weir_str line, int64_t at_ms)
{
    struct weir_fault_event event;
    struct weir_fault_class class;
    const struct weir_incident *incident;

    if (!weir_fault_from_line(line, 0, at_ms, &event))
        return;
    weir_fault_classify(&event, &class);
    must(class.action < WEIR_FAULT_ACTION_MAX && class.why != NULL &&
         weir_fault_scope_name((enum weir_fault_scope) class.scope) != NULL);
    incident = weir_health_feed(&health, &event);
    must(incident == NULL || class.action > WEIR_FAULT_ACTION_NOT_EVENT);
    /* A child's weight is its parent's business; of all others none may be lost. */
    must(incident == NULL || class.is_child || incident->action >= class.action ||
         class.action == WEIR_FAULT_ACTION_FOLLOW_154);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_str rest = weir_str_n((const char *)data, size), line;
    int64_t at_ms = 0;

    weir_health_init(&health);
    while (weir_str_split(&rest, '\n', &line)) {
        read_line(line);
        judge(line, at_ms);
        at_ms += 10;
    }
    weir_health_tick(&health, at_ms + WEIR_INCIDENT_SETTLE_MS);
    for (unsigned i = 0; i < WEIR_INCIDENTS_MAX; i++)
        must(health.incidents[i].state != WEIR_INCIDENT_SETTLING &&
             weir_incident_outcome(&health.incidents[i]) < WEIR_FAULT_OUTCOME_MAX);
    return 0;
}
