/* cmd/xid_words.h — what `weir xid` says of a code or of a log line, for people and for programs.
 */
#ifndef WEIR_CMD_XID_WORDS_H
#define WEIR_CMD_XID_WORDS_H

#include "core/health/incident.h"
#include "model/xid_catalogue.h"

#include <stdbool.h>
#include <stdint.h>

struct weir_buf;
struct weir_json_writer;

/* One code. False: it is not in the catalogue; then what is known of such a code is said. */
bool weir_xid_words_code(uint32_t code, bool is_switch, struct weir_buf *out);
bool weir_xid_words_code_json(uint32_t code, bool is_switch, struct weir_json_writer *out);
/* One event and what it says by itself. */
void weir_xid_words_event(const struct weir_fault_event *event, struct weir_buf *out);
void weir_xid_words_event_json(const struct weir_fault_event *event, struct weir_json_writer *out);
/* What several events come to together. */
void weir_xid_words_incident(const struct weir_incident *incident, struct weir_buf *out);
void weir_xid_words_incident_json(const struct weir_incident *incident,
                                  struct weir_json_writer *out);

#endif
