#include "edge/local/attempt.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"

#include <string.h>

/* "WSL1" read as little-endian. */
#define RECORD_MARK 0x314C5357U

enum { CRC_AT = WEIR_ATTEMPT_RECORD_BYTES - 4 };

struct cursor {
    uint8_t *at;
};

static void put(struct cursor *cursor, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = 0; i < n_bytes; i++)
        *cursor->at++ = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t **at, unsigned n_bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < n_bytes; i++)
        value |= (uint64_t) * (*at)++ << (8 * i);
    return value;
}

static int32_t get_i32(const uint8_t **at)
{
    return (int32_t)(uint32_t)get(at, 4);
}

static int64_t get_i64(const uint8_t **at)
{
    return (int64_t)get(at, 8);
}

bool weir_attempt_is_final(enum weir_attempt_phase phase)
{
    return phase == WEIR_ATTEMPT_FORBIDDEN || phase == WEIR_ATTEMPT_EXITED ||
           phase == WEIR_ATTEMPT_FAILED;
}

void weir_attempt_marker(const struct weir_attempt_id *id, char ret_text[WEIR_CLUSTER_MARKER_MAX])
{
    weir_cluster_marker(id->serial, id->nonce, ret_text);
}

void weir_attempt_why(const struct weir_attempt_status *status, char ret_text[WEIR_ATTEMPT_WHY_MAX])
{
    struct weir_err why = WEIR_ERR_INIT; /* keeps it to one line of UTF-8 */
    char room[64];
    const char *reason = strerror_r(status->start_errno, room, sizeof(room));

    if (status->subject[0] == '\0') /* a shim of an earlier version wrote it */
        weir_error(&why, WEIR_E_IO, "%s: %s", status->what, reason);
    else if (strcmp(status->what, "working directory") == 0)
        weir_error(&why, WEIR_E_IO, "cannot enter '%s': %s", status->subject, reason);
    else if (strcmp(status->what, "exec") == 0)
        weir_error(&why, WEIR_E_IO, "cannot run '%s': %s", status->subject, reason);
    else
        weir_error(&why, WEIR_E_IO, "cannot run '%s': %s: %s", status->subject, status->what,
                   reason);
    snprintf(ret_text, WEIR_ATTEMPT_WHY_MAX, "%.*s",
             WEIR_STR_ARG(weir_str_cut(weir_str(why.text), WEIR_ATTEMPT_WHY_MAX - 1)));
}

void weir_attempt_record_encode(const struct weir_attempt_status *status,
                                uint8_t ret_record[WEIR_ATTEMPT_RECORD_BYTES])
{
    struct cursor cursor = {ret_record};
    size_t what_len = strnlen(status->what, WEIR_ATTEMPT_WHAT_MAX - 1);
    size_t subject_len = strnlen(status->subject, WEIR_ATTEMPT_SUBJECT_MAX - 1);

    memset(ret_record, 0, WEIR_ATTEMPT_RECORD_BYTES);
    put(&cursor, RECORD_MARK, 4);
    put(&cursor, status->id.slot, 4);
    put(&cursor, status->seq, 8);
    put(&cursor, status->id.serial, 8);
    put(&cursor, status->id.nonce, 8);
    put(&cursor, status->phase, 4);
    put(&cursor, status->flags, 4);
    put(&cursor, (uint32_t)status->start_errno, 4);
    put(&cursor, (uint32_t)status->wait_status, 4);
    put(&cursor, (uint32_t)status->shim_pid, 4);
    put(&cursor, (uint32_t)status->main_pid, 4);
    put(&cursor, status->shim_start_ticks, 8);
    put(&cursor, status->main_start_ticks, 8);
    put(&cursor, (uint64_t)status->claimed_wall_ms, 8);
    put(&cursor, (uint64_t)status->started_wall_ms, 8);
    put(&cursor, (uint64_t)status->started_mono_ms, 8);
    put(&cursor, (uint64_t)status->ended_wall_ms, 8);
    put(&cursor, (uint64_t)status->ended_mono_ms, 8);
    put(&cursor, (uint64_t)status->user_us, 8);
    put(&cursor, (uint64_t)status->system_us, 8);
    put(&cursor, (uint64_t)status->maxrss_kib, 8);
    put(&cursor, status->out_bytes, 8);
    put(&cursor, status->err_bytes, 8);
    put(&cursor, status->out_dropped, 8);
    put(&cursor, status->err_dropped, 8);
    put(&cursor, status->uid, 4);
    memcpy(cursor.at, status->boot_id, sizeof(status->boot_id));
    cursor.at += sizeof(status->boot_id);
    memcpy(cursor.at, status->what, what_len);
    cursor.at += WEIR_ATTEMPT_WHAT_MAX;
    memcpy(cursor.at, status->subject, subject_len);
    cursor.at = ret_record + CRC_AT;
    put(&cursor, weir_hash_crc32c(0, ret_record, CRC_AT), 4);
}

int weir_attempt_record_decode(const uint8_t record[WEIR_ATTEMPT_RECORD_BYTES],
                               struct weir_attempt_status *ret_status, struct weir_err *err)
{
    const uint8_t *at = record + CRC_AT;
    struct weir_attempt_status status = {0};
    uint32_t phase;

    if (get(&at, 4) != weir_hash_crc32c(0, record, CRC_AT))
        return weir_error(err, WEIR_E_CORRUPT, "attempt record: checksum differs");
    at = record;
    if (get(&at, 4) != RECORD_MARK)
        return weir_error(err, WEIR_E_CORRUPT, "attempt record: unknown format");
    status.id.slot = (uint32_t)get(&at, 4);
    status.seq = get(&at, 8);
    status.id.serial = get(&at, 8);
    status.id.nonce = get(&at, 8);
    phase = (uint32_t)get(&at, 4);
    if (phase <= WEIR_ATTEMPT_NONE || phase >= WEIR_ATTEMPT_PHASE_MAX)
        return weir_error(err, WEIR_E_CORRUPT, "attempt record: unknown phase %u", phase);
    status.phase = (enum weir_attempt_phase)phase;
    status.flags = (uint32_t)get(&at, 4);
    status.start_errno = get_i32(&at);
    status.wait_status = get_i32(&at);
    status.shim_pid = get_i32(&at);
    status.main_pid = get_i32(&at);
    status.shim_start_ticks = get(&at, 8);
    status.main_start_ticks = get(&at, 8);
    status.claimed_wall_ms = get_i64(&at);
    status.started_wall_ms = get_i64(&at);
    status.started_mono_ms = get_i64(&at);
    status.ended_wall_ms = get_i64(&at);
    status.ended_mono_ms = get_i64(&at);
    status.user_us = get_i64(&at);
    status.system_us = get_i64(&at);
    status.maxrss_kib = get_i64(&at);
    status.out_bytes = get(&at, 8);
    status.err_bytes = get(&at, 8);
    status.out_dropped = get(&at, 8);
    status.err_dropped = get(&at, 8);
    status.uid = (uid_t)get(&at, 4);
    memcpy(status.boot_id, at, sizeof(status.boot_id));
    at += sizeof(status.boot_id);
    memcpy(status.what, at, WEIR_ATTEMPT_WHAT_MAX);
    status.what[WEIR_ATTEMPT_WHAT_MAX - 1] = '\0';
    at += WEIR_ATTEMPT_WHAT_MAX;
    memcpy(status.subject, at, WEIR_ATTEMPT_SUBJECT_MAX);
    status.subject[WEIR_ATTEMPT_SUBJECT_MAX - 1] = '\0';
    *ret_status = status;
    return 0;
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

int weir_attempt_slot_decode(const uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES], uint32_t slot,
                             struct weir_attempt_status *ret_status, struct weir_err *err)
{
    struct weir_attempt_status newest = {.id.slot = slot};
    bool is_virgin = false;
    int n_valid = 0;

    for (size_t i = 0; i < 2; i++) {
        const uint8_t *record = bytes + i * WEIR_ATTEMPT_RECORD_BYTES;
        struct weir_attempt_status status;

        /* A zero record means that at most one write ever began here: if that one is torn, nothing
         * was written yet. */
        if (all_zero(record, WEIR_ATTEMPT_RECORD_BYTES))
            is_virgin = true;
        if (weir_attempt_record_decode(record, &status, NULL) < 0 || status.id.slot != slot)
            continue;
        if (n_valid++ == 0 || status.seq > newest.seq)
            newest = status;
    }
    if (n_valid == 0 && !is_virgin)
        return weir_error(err, WEIR_E_CORRUPT, "slot %u: neither record is valid", slot);
    *ret_status = newest;
    return 0;
}
