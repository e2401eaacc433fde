#include "edge/local/attempt.h"

#include "base/count.h"
#include "base/err.h"
#include "base/rng.h"
#include "edge/local/command.h"
#include "edge/local/proc.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct weir_attempt_status sample(uint64_t seq)
{
    return (struct weir_attempt_status){
        .seq = seq,
        .id = {0x1122334455667788, 0x99AABBCCDDEEFF00, 5},
        .phase = WEIR_ATTEMPT_EXITED,
        .flags = WEIR_ATTEMPT_TIME_LIMIT | WEIR_ATTEMPT_LEFT_BEHIND,
        .start_errno = 2,
        .what = "working directory",
        .subject = "/data/run 1",
        .shim_pid = 4194303,
        .main_pid = 77,
        .shim_start_ticks = 1ULL << 40,
        .main_start_ticks = (1ULL << 40) + 1,
        .uid = 0xFFFFFFFE,
        .boot_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
        .claimed_wall_ms = 1700000000000,
        .started_wall_ms = 1700000000001,
        .started_mono_ms = 1,
        .ended_wall_ms = -5, /* a clock set before 1970 */
        .ended_mono_ms = 3,
        .wait_status = 0x8B,
        .user_us = 4,
        .system_us = 5,
        .maxrss_kib = 6,
        .out_bytes = UINT64_MAX,
        .err_bytes = 8,
        .out_dropped = 9,
        .err_dropped = 10,
    };
}

static void assert_same(const struct weir_attempt_status *a, const struct weir_attempt_status *b)
{
    uint8_t bytes_a[WEIR_ATTEMPT_RECORD_BYTES];
    uint8_t bytes_b[WEIR_ATTEMPT_RECORD_BYTES];

    assert_string_equal(a->what, b->what);
    assert_string_equal(a->subject, b->subject);
    assert_true(a->id.serial == b->id.serial && a->id.nonce == b->id.nonce);
    assert_int_equal(a->id.slot, b->id.slot);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->wait_status, b->wait_status);
    assert_true(a->ended_wall_ms == b->ended_wall_ms && a->out_bytes == b->out_bytes);
    assert_true(a->uid == b->uid && a->err_dropped == b->err_dropped);
    assert_memory_equal(a->boot_id, b->boot_id, 16);
    weir_attempt_record_encode(a, bytes_a);
    weir_attempt_record_encode(b, bytes_b);
    assert_memory_equal(bytes_a, bytes_b, sizeof(bytes_a));
}

static void a_record_reads_back(void **state)
{
    struct weir_attempt_status in = sample(9);
    struct weir_attempt_status out;
    uint8_t record[WEIR_ATTEMPT_RECORD_BYTES];

    (void)state;
    weir_attempt_record_encode(&in, record);
    assert_int_equal(weir_attempt_record_decode(record, &out, NULL), 0);
    assert_same(&in, &out);
}

static void any_flipped_bit_is_seen(void **state)
{
    struct weir_attempt_status in = sample(9);
    struct weir_attempt_status out;
    uint8_t record[WEIR_ATTEMPT_RECORD_BYTES];

    (void)state;
    weir_attempt_record_encode(&in, record);
    for (size_t bit = 0; bit < sizeof(record) * 8; bit++) {
        struct weir_err err = WEIR_ERR_INIT;

        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(weir_attempt_record_decode(record, &out, &err), WEIR_E_CORRUPT);
        assert_true(err.text[0] != '\0');
        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void long_text_is_cut(void **state)
{
    struct weir_attempt_status in = sample(1);
    struct weir_attempt_status out;
    uint8_t record[WEIR_ATTEMPT_RECORD_BYTES];

    (void)state;
    memset(in.what, 'w', sizeof(in.what));
    memset(in.subject, 's', sizeof(in.subject));
    weir_attempt_record_encode(&in, record);
    assert_int_equal(weir_attempt_record_decode(record, &out, NULL), 0);
    assert_int_equal(strlen(out.what), WEIR_ATTEMPT_WHAT_MAX - 1);
    assert_int_equal(strlen(out.subject), WEIR_ATTEMPT_SUBJECT_MAX - 1);
}

static void a_failure_is_told_in_one_line(void **state)
{
    static const struct {
        const char *what;
        const char *subject;
        int errnum;
        const char *why;
    } cases[] = {
        {"working directory", "/gone", ENOENT, "cannot enter '/gone': No such file or directory"},
        {"exec", "a\nb", EACCES, "cannot run 'a?b': Permission denied"},
        {"cgroup.procs", "x", EINVAL, "cannot run 'x': cgroup.procs: Invalid argument"},
        {"exec", "", EACCES, "exec: Permission denied"},
    };
    char why[WEIR_ATTEMPT_WHY_MAX];

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_attempt_status status = {.start_errno = cases[i].errnum};

        snprintf(status.what, sizeof(status.what), "%s", cases[i].what);
        snprintf(status.subject, sizeof(status.subject), "%s", cases[i].subject);
        weir_attempt_why(&status, why);
        assert_string_equal(why, cases[i].why);
    }
}

static void write_record(uint8_t slot[WEIR_ATTEMPT_SLOT_BYTES], uint64_t seq)
{
    struct weir_attempt_status status = sample(seq);

    weir_attempt_record_encode(&status, slot + (seq & 1) * WEIR_ATTEMPT_RECORD_BYTES);
}

static void the_newer_record_counts(void **state)
{
    uint8_t slot[WEIR_ATTEMPT_SLOT_BYTES] = {0};
    struct weir_attempt_status out;

    (void)state;
    assert_int_equal(weir_attempt_slot_decode(slot, 5, &out, NULL), 0);
    assert_int_equal(out.phase, WEIR_ATTEMPT_NONE);
    assert_int_equal(out.id.serial, 0);
    for (uint64_t seq = 1; seq < 6; seq++) {
        write_record(slot, seq);
        assert_int_equal(weir_attempt_slot_decode(slot, 5, &out, NULL), 0);
        assert_int_equal(out.seq, seq);
    }
}

/* A writer that dies at any byte leaves the earlier state. */
static void a_torn_write_leaves_the_earlier_state(void **state)
{
    uint8_t before[WEIR_ATTEMPT_SLOT_BYTES] = {0};

    (void)state;
    for (uint64_t seq = 1; seq < 4; seq++) {
        uint8_t after[WEIR_ATTEMPT_SLOT_BYTES];

        memcpy(after, before, sizeof(after));
        write_record(after, seq);
        for (size_t cut = 0; cut <= WEIR_ATTEMPT_RECORD_BYTES; cut++) {
            size_t at = (seq & 1) * WEIR_ATTEMPT_RECORD_BYTES;
            uint8_t torn[WEIR_ATTEMPT_SLOT_BYTES];
            struct weir_attempt_status out;

            memcpy(torn, before, sizeof(torn));
            memcpy(torn + at, after + at, cut);
            assert_int_equal(weir_attempt_slot_decode(torn, 5, &out, NULL), 0);
            assert_true(out.seq == seq || out.seq == seq - 1);
            if (cut == WEIR_ATTEMPT_RECORD_BYTES)
                assert_int_equal(out.seq, seq);
        }
        memcpy(before, after, sizeof(before));
    }
}

static void two_bad_records_are_an_error(void **state)
{
    uint8_t slot[WEIR_ATTEMPT_SLOT_BYTES];
    struct weir_attempt_status out;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    write_record(slot, 1);
    write_record(slot, 2);
    assert_int_equal(weir_attempt_slot_decode(slot, 6, &out, &err), WEIR_E_CORRUPT);
    slot[100] ^= 1;
    slot[WEIR_ATTEMPT_RECORD_BYTES + 100] ^= 1;
    assert_int_equal(weir_attempt_slot_decode(slot, 5, &out, &err), WEIR_E_CORRUPT);
    assert_non_null(strstr(err.text, "slot 5"));
}

static void the_marker_names_the_attempt(void **state)
{
    struct weir_attempt_id id = {UINT64_MAX, 0xAB, 1};
    char text[WEIR_CLUSTER_MARKER_MAX];

    (void)state;
    weir_attempt_marker(&id, text);
    assert_string_equal(text, "WEIR_ATTEMPT=18446744073709551615:00000000000000ab");
}

static void commands_survive_the_payload(void **state)
{
    struct weir_rng rng;
    struct weir_command out;

    (void)state;
    for (unsigned op = 1; op < WEIR_COMMAND_OP_MAX; op++) {
        struct weir_command in = {(enum weir_command_op)op, SIGUSR1, 123456789};

        assert_true(weir_command_unpack(weir_command_pack(&in), &out));
        assert_true(out.op == in.op && out.signal == SIGUSR1 && out.grace_ms == 123456789);
        in.signal = 65;
        assert_int_equal(weir_command_unpack(weir_command_pack(&in), &out),
                         op == WEIR_COMMAND_STOP || op == WEIR_COMMAND_KILL);
    }
    weir_rng_init(&rng, 1);
    for (int i = 0; i < 10000; i++)
        assert_false(weir_command_unpack(weir_rng_next(&rng) >> 4, &out));
}

static void proc_lines_are_parsed(void **state)
{
    static const char *const bad[] = {
        "", "x", "1", "1 (a", "1 (a)", "1 (a) ", "1 (a) S 2 3 4 5", "(a) S 1 2 3"};
    struct weir_proc proc;

    (void)state;
    assert_true(weir_proc_parse("4242 (a) ) S (b) S 17 18 19 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 "
                                "987654321 100 1 18446744073709551615",
                                &proc));
    assert_int_equal(proc.pid, 4242);
    assert_int_equal(proc.state, 'S');
    assert_int_equal(proc.ppid, 17);
    assert_int_equal(proc.pgrp, 18);
    assert_int_equal(proc.session, 19);
    assert_int_equal(proc.start_ticks, 987654321);
    for (size_t i = 0; i < WEIR_COUNT_OF(bad); i++)
        assert_false(weir_proc_parse(bad[i], &proc));
    assert_true(weir_proc_read(getpid(), &proc));
    assert_int_equal(proc.ppid, getppid());
    assert_int_equal(proc.session, getsid(0));
    assert_false(weir_proc_is_dead(&proc));
    assert_false(weir_proc_read(0x3FFFFFFF, &proc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_reads_back),
        cmocka_unit_test(any_flipped_bit_is_seen),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(a_failure_is_told_in_one_line),
        cmocka_unit_test(the_newer_record_counts),
        cmocka_unit_test(a_torn_write_leaves_the_earlier_state),
        cmocka_unit_test(two_bad_records_are_an_error),
        cmocka_unit_test(the_marker_names_the_attempt),
        cmocka_unit_test(commands_survive_the_payload),
        cmocka_unit_test(proc_lines_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
