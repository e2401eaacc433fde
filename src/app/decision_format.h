/* app/decision_format.h — how decisions lie in DATA/decisions; for decision_*.c only.
 *
 * Segments NNNNNNNN.wdl, numbered upwards: a head, then records {length, type, CRC-32C, payload}.
 * Each begins with a keyframe and can be read without the others. Rows and integers lie as in
 * memory of the build that wrote them: the layout in the head says which that was. */
#ifndef WEIR_APP_DECISION_FORMAT_H
#define WEIR_APP_DECISION_FORMAT_H

#include "base/vec.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weir_err;

#define WEIR_DECISION_FOLDER "decisions"
#define WEIR_DECISION_MAGIC  "weirlog\n"

enum { WEIR_DECISION_NUMBER_MAX = 99999999, WEIR_DECISION_NAME_BYTES = 16 };

struct weir_decision_head {
    char magic[8];
    uint64_t layout;
    char version[24]; /* of the weir that wrote it, for people */
    uint32_t number;
    uint32_t crc; /* of what is above */
};

enum weir_decision_type {
    WEIR_DECISION_KEYFRAME = 1, /* weir_decision_keyframe, the world whole */
    WEIR_DECISION_TICK = 2      /* weir_decision_tick, actions, grants, the world's delta */
};

struct weir_decision_record {
    uint32_t length; /* of the payload */
    uint32_t type;   /* enum weir_decision_type */
    uint32_t crc;    /* of length, type and payload */
};

struct weir_decision_keyframe {
    uint64_t run; /* of which process: ticks are numbered within it */
    uint64_t seq; /* of the tick that follows */
    struct weir_policy policy;
};

struct weir_decision_tick {
    uint64_t seq;
    struct weir_now now;
    uint64_t seed;
    uint8_t digest[16];
    uint32_t n_actions;
    uint32_t n_grants;
    uint32_t delta_bytes; /* 0: the world of the tick or keyframe before */
    uint32_t reserved;
};

struct weir_decision_segment {
    uint32_t number;
    int64_t bytes;
};

struct weir_decision_segments weir_vec(struct weir_decision_segment);

uint64_t weir_decision_layout(void);
void weir_decision_name(uint32_t number, char ret_name[WEIR_DECISION_NAME_BYTES]);
/* The segments of a folder by number; what is named otherwise is left alone. */
int weir_decision_list(int dir_fd, struct weir_decision_segments *ret_segments,
                       struct weir_err *err);
void weir_decision_head_fill(uint32_t number, struct weir_decision_head *ret_head);
/* Head and checksum are as they must be; the layout may be another's. */
bool weir_decision_head_is_sound(const struct weir_decision_head *head);
uint32_t weir_decision_crc(uint32_t length, uint32_t type, const void *payload);

#endif
