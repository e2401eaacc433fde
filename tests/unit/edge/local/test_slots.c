/* Slots, notes and the output reader, without processes. */
#include "base/count.h"
#include "base/err.h"
#include "edge/local/note.h"
#include "edge/local/output.h"
#include "edge/local/sink.h"
#include "edge/local/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/weir-slots-XXXXXX");
    return mkdtemp(dir) == NULL || chdir(dir) != 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(WEIR_SLOTS_FILE);
    unlink(WEIR_NOTE_FILE);
    weir_output_remove(dir, "out", NULL);
    return rmdir(dir);
}

static int open_own(void)
{
    int fd = open(WEIR_SLOTS_FILE, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

static struct weir_slots open_slots(uint32_t n)
{
    struct weir_slots slots;

    assert_int_equal(weir_slots_open(dir, n, &slots, NULL), 0);
    return slots;
}

static void slots_are_really_written(void **state)
{
    struct weir_slots slots = open_slots(100);
    struct stat st;

    (void)state;
    assert_int_equal(fstat(slots.fd, &st), 0);
    assert_int_equal(st.st_size, 100 * WEIR_ATTEMPT_SLOT_BYTES);
    assert_true(st.st_blocks * 512 >= st.st_size);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(slots.n_found, 0);
    assert_int_equal(weir_slots_grow(&slots, 200, NULL), 0);
    assert_int_equal(slots.n, 200);
    assert_int_equal(weir_slots_grow(&slots, WEIR_SLOTS_MAX + 1, NULL), WEIR_E_TOO_LARGE);
    weir_slots_close(&slots);
    /* A growth that was cut off in the middle of a slot. */
    assert_int_equal(truncate(WEIR_SLOTS_FILE, 100 * WEIR_ATTEMPT_SLOT_BYTES + 7), 0);
    slots = open_slots(3);
    assert_int_equal(slots.n, 100);
    assert_int_equal(slots.n_found, 100);
    assert_int_equal(weir_slots_grow(&slots, 101, NULL), 0);
    assert_int_equal(slots.n_found, 100);
    weir_slots_close(&slots);
}

static void an_attempt_is_claimed_once(void **state)
{
    struct weir_slots slots = open_slots(4);
    struct weir_attempt_id id = {10, 1, 2};
    struct weir_attempt_id next = {11, 1, 2};
    struct weir_attempt_id missing = {12, 1, 4};
    struct weir_attempt_status status = {.id = id, .phase = WEIR_ATTEMPT_RUNNING};
    struct weir_attempt_view view;
    struct weir_err err = WEIR_ERR_INIT;
    uint64_t serial;
    int fd = open_own();
    int other_fd = open_own();

    (void)state;
    assert_int_equal(weir_slots_view(&slots, &id, &view, NULL), 0);
    assert_int_equal(view.status.phase, WEIR_ATTEMPT_NONE);
    assert_false(view.is_alive);
    assert_int_equal(weir_slot_claim(fd, &id, &status.seq), 0);
    assert_int_equal(weir_slots_view(&slots, &id, &view, NULL), 0);
    assert_true(view.is_alive);
    assert_int_equal(weir_slot_write(fd, &status), 0);
    /* While it is held nobody else gets it: not the same attempt, not a newer one, not the server.
     */
    assert_int_equal(weir_slot_claim(other_fd, &id, &serial), EBUSY);
    assert_int_equal(weir_slot_claim(other_fd, &next, &serial), EBUSY);
    assert_int_equal(weir_slots_forbid(&slots, &id, &status, &err), WEIR_E_UNAVAILABLE);
    close(fd);
    assert_int_equal(weir_slots_view(&slots, &id, &view, NULL), 0);
    assert_int_equal(view.status.phase, WEIR_ATTEMPT_RUNNING);
    assert_false(view.is_alive);
    assert_int_equal(weir_slot_claim(other_fd, &id, &serial), ESTALE);
    close(other_fd);
    assert_int_equal(weir_slots_forbid(&slots, &id, &status, NULL), 0);
    assert_int_equal(status.phase, WEIR_ATTEMPT_RUNNING);
    assert_int_equal(weir_slots_max_serial(&slots, &serial, NULL), 0);
    assert_int_equal(serial, 10);
    fd = open_own();
    assert_int_equal(weir_slot_claim(fd, &next, &serial), 0);
    assert_int_equal(weir_slot_claim(fd, &missing, &serial), ERANGE);
    close(fd);
    assert_int_equal(weir_slots_view(&slots, &missing, &view, &err), WEIR_E_INVALID);
    weir_slots_close(&slots);
}

static void a_forbidden_attempt_never_starts(void **state)
{
    struct weir_slots slots = open_slots(4);
    struct weir_attempt_id id = {10, 1, 0};
    struct weir_attempt_id older = {9, 1, 0};
    struct weir_attempt_id newer = {11, 1, 0};
    struct weir_attempt_status status;
    struct weir_attempt_view view;
    uint64_t seq;
    int fd = open_own();

    (void)state;
    assert_int_equal(weir_slots_forbid(&slots, &id, &status, NULL), 0);
    assert_int_equal(status.phase, WEIR_ATTEMPT_FORBIDDEN);
    assert_int_equal(weir_slots_forbid(&slots, &id, &status, NULL), 0);
    assert_int_equal(status.phase, WEIR_ATTEMPT_FORBIDDEN);
    assert_int_equal(weir_slot_claim(fd, &id, &seq), ESTALE);
    close(fd);
    fd = open_own();
    assert_int_equal(weir_slot_claim(fd, &older, &seq), ESTALE);
    close(fd);
    assert_int_equal(weir_slots_view(&slots, &older, &view, NULL), WEIR_E_EXISTS);
    assert_int_equal(weir_slots_forbid(&slots, &older, &status, NULL), WEIR_E_EXISTS);
    fd = open_own();
    assert_int_equal(weir_slot_claim(fd, &newer, &seq), 0);
    close(fd);
    weir_slots_close(&slots);
}

/* The slot of an attempt that wrote its end is free as soon as that shim lets go. */
static void a_final_slot_is_taken_over(void **state)
{
    struct weir_slots slots = open_slots(1);
    struct weir_attempt_id id = {10, 1, 0};
    struct weir_attempt_id next = {11, 1, 0};
    struct weir_attempt_status status = {.id = id, .phase = WEIR_ATTEMPT_EXITED};
    struct weir_attempt_status seen;
    uint64_t seq;
    int fd = open_own();
    int go[2];
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(go), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char byte;

        close(fd);
        fd = open_own();
        if (weir_slot_claim(fd, &id, &status.seq) != 0 || weir_slot_write(fd, &status) != 0)
            _exit(1);
        close(go[1]);
        while (read(go[0], &byte, 1) > 0)
            continue;
        _exit(0);
    }
    close(go[0]);
    do
        assert_int_equal(weir_slots_max_serial(&slots, &seq, NULL), 0);
    while (seq != 10);
    assert_int_equal(weir_slots_forbid(&slots, &id, &seen, NULL), 0);
    assert_int_equal(seen.phase, WEIR_ATTEMPT_EXITED);
    close(go[1]);
    assert_int_equal(weir_slot_claim(fd, &next, &seq), 0);
    close(fd);
    weir_slots_close(&slots);
}

static void a_corrupt_slot_is_repaired_by_forbidding(void **state)
{
    struct weir_slots slots = open_slots(2);
    struct weir_attempt_id id = {10, 1, 1};
    struct weir_attempt_id next = {11, 1, 1};
    struct weir_attempt_status status;
    struct weir_attempt_view view;
    struct weir_err err = WEIR_ERR_INIT;
    char noise[WEIR_ATTEMPT_SLOT_BYTES];
    uint64_t seq;
    int fd = open_own();

    (void)state;
    memset(noise, 'n', sizeof(noise));
    assert_int_equal(pwrite(fd, noise, sizeof(noise), sizeof(noise)), sizeof(noise));
    assert_int_equal(weir_slot_claim(fd, &id, &seq), EBADMSG);
    close(fd);
    assert_int_equal(weir_slots_view(&slots, &id, &view, NULL), WEIR_E_CORRUPT);
    assert_int_equal(weir_slots_check(&slots, 0, NULL), 0);
    assert_int_equal(weir_slots_check(&slots, 9, NULL), 0); /* there never was such a record */
    assert_int_equal(weir_slots_check(&slots, 1, &err), WEIR_E_CORRUPT);
    assert_non_null(strstr(err.text, "slot 1"));
    assert_non_null(strstr(err.hint, "move it away"));
    assert_int_equal(weir_slots_max_serial(&slots, &seq, NULL), 0);
    assert_int_equal(seq, 0);
    assert_int_equal(weir_slots_forbid(&slots, &id, &status, NULL), 0);
    assert_int_equal(status.phase, WEIR_ATTEMPT_FORBIDDEN);
    fd = open_own();
    assert_int_equal(weir_slot_claim(fd, &next, &seq), 0);
    close(fd);
    weir_slots_close(&slots);
}

static void opening_fails_in_plain_words(void **state)
{
    struct weir_slots slots;
    struct weir_err err = WEIR_ERR_INIT;
    int fd;

    (void)state;
    assert_int_equal(weir_slots_open("/nowhere", 1, &slots, &err), WEIR_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere"));
    assert_int_equal(symlink("/dev/null", WEIR_SLOTS_FILE), 0);
    assert_true(weir_slots_open(dir, 1, &slots, &err) < 0);
    assert_int_equal(unlink(WEIR_SLOTS_FILE), 0);
    assert_int_equal(mkdir(WEIR_NOTE_FILE, 0700), 0);
    assert_true(weir_notes_open(dir, &fd, &err) < 0);
    assert_int_equal(rmdir(WEIR_NOTE_FILE), 0);
    fd = open(WEIR_NOTE_FILE, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(weir_notes_open(dir, &fd, &err), WEIR_E_EXISTS);
    assert_int_equal(weir_notes_open("/nowhere", &fd, &err), WEIR_E_NOT_FOUND);
}

static void notes_come_through_in_order(void **state)
{
    struct weir_note notes[300];
    size_t n_read = 0;
    size_t n;
    int fd;

    (void)state;
    weir_note_send(&(struct weir_note){1, 1}, 0); /* nobody there: no error */
    assert_int_equal(weir_notes_open(dir, &fd, NULL), 0);
    assert_int_equal(weir_notes_read(fd, notes, 300, &n, NULL), 0);
    assert_int_equal(n, 0);
    for (uint32_t i = 0; i < 1000; i++)
        weir_note_send(&(struct weir_note){i + 1ULL, i}, 0);
    do {
        assert_int_equal(weir_notes_read(fd, notes, 300, &n, NULL), 0);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(notes[i].slot, n_read + i);
            assert_int_equal(notes[i].serial, n_read + i + 1);
        }
        n_read += n;
    } while (n > 0);
    assert_int_equal(n_read, 1000);
    /* A full FIFO is given up on. */
    for (uint32_t i = 0; i < 10000; i++)
        weir_note_send(&(struct weir_note){1, 1}, 0);
    weir_note_send(&(struct weir_note){1, 1}, 1);
    close(fd);
}

static void write_pattern(struct weir_sink *sink, size_t n)
{
    char bytes[1000];

    while (n > 0) {
        size_t n_now = n < sizeof(bytes) ? n : sizeof(bytes);

        for (size_t i = 0; i < n_now; i++)
            bytes[i] = (char)((sink->offset + i) % 251);
        weir_sink_write(sink, bytes, n_now);
        n -= n_now;
    }
}

static void read_pattern(enum weir_output_stream stream, uint64_t from, uint64_t first,
                         uint64_t end)
{
    uint64_t at = from;

    for (;;) {
        struct weir_output_chunk chunk;
        unsigned char bytes[777];

        assert_int_equal(
            weir_output_read(dir, "out", stream, at, bytes, sizeof(bytes), &chunk, NULL), 0);
        assert_int_equal(chunk.first, first);
        if (chunk.n == 0) {
            assert_int_equal(chunk.offset, at);
            break;
        }
        if (at < first)
            assert_int_equal(chunk.offset, first);
        else
            assert_int_equal(chunk.offset, at);
        for (size_t i = 0; i < chunk.n; i++)
            assert_int_equal(bytes[i], (chunk.offset + i) % 251);
        at = chunk.offset + chunk.n;
    }
    assert_int_equal(at, end);
}

static void output_rotates_within_the_cap(void **state)
{
    struct weir_sink out;
    struct weir_sink err_sink;
    struct weir_output_chunk chunk;
    char bytes[16];

    (void)state;
    weir_sink_init(&out, WEIR_OUTPUT_OUT, "out", 8192);
    weir_sink_init(&err_sink, WEIR_OUTPUT_ERR, "out", 8192);
    assert_int_equal(weir_output_read(dir, "out", WEIR_OUTPUT_OUT, 3, bytes, 16, &chunk, NULL), 0);
    assert_int_equal(chunk.n, 0);
    assert_int_equal(chunk.offset, 3);
    write_pattern(&out, 8192);
    assert_false(out.is_rotated);
    read_pattern(WEIR_OUTPUT_OUT, 0, 0, 8192);
    read_pattern(WEIR_OUTPUT_OUT, 8191, 0, 8192);
    write_pattern(&err_sink, 10);
    write_pattern(&out, 1);
    assert_true(out.is_rotated);
    read_pattern(WEIR_OUTPUT_OUT, 0, 2048, 8193);
    read_pattern(WEIR_OUTPUT_OUT, 2047, 2048, 8193);
    read_pattern(WEIR_OUTPUT_OUT, 2048, 2048, 8193);
    write_pattern(&out, 100000);
    read_pattern(WEIR_OUTPUT_OUT, 0, 100352, 108193);
    read_pattern(WEIR_OUTPUT_ERR, 0, 0, 10);
    weir_sink_close(&out);
    weir_sink_close(&err_sink);
    assert_int_equal(weir_output_remove(dir, "out", NULL), 0);
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(weir_output_remove(dir, "out", NULL), 0);
}

static void foreign_files_do_not_disturb_reading(void **state)
{
    static const char *const names[] = {"out/out.", "out/out.x", "out/out.99999999999999999999",
                                        "out/other", "out/err.-1"};
    struct weir_sink sink;

    (void)state;
    weir_sink_init(&sink, WEIR_OUTPUT_OUT, "out", 8192);
    write_pattern(&sink, 3000);
    weir_sink_close(&sink);
    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++) {
        int fd = open(names[i], O_CREAT | O_WRONLY, 0600);

        assert_true(fd >= 0);
        close(fd);
    }
    read_pattern(WEIR_OUTPUT_OUT, 0, 0, 3000);
}

static void the_last_number_is_that_of_a_job(void **state)
{
    static const char *const names[] = {"out/9.0.1", "out/12.3.1", "out/18446744073709551615.0.1",
                                        "out/x.0.1", "out/777"};
    enum { N = WEIR_COUNT_OF(names) };
    uint64_t number = 1;

    (void)state;
    assert_int_equal(weir_output_last_number(dir, &number, NULL), 0);
    assert_int_equal(number, 0);
    assert_int_equal(mkdir("out", 0700), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(mkdir(names[i], 0700), 0);
    assert_int_equal(weir_output_last_number(dir, &number, NULL), 0);
    assert_int_equal(number, 12);
    for (int i = 0; i < N; i++)
        rmdir(names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(slots_are_really_written, setup, teardown),
        cmocka_unit_test_setup_teardown(an_attempt_is_claimed_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_forbidden_attempt_never_starts, setup, teardown),
        cmocka_unit_test_setup_teardown(a_final_slot_is_taken_over, setup, teardown),
        cmocka_unit_test_setup_teardown(a_corrupt_slot_is_repaired_by_forbidding, setup, teardown),
        cmocka_unit_test_setup_teardown(opening_fails_in_plain_words, setup, teardown),
        cmocka_unit_test_setup_teardown(notes_come_through_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(output_rotates_within_the_cap, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_number_is_that_of_a_job, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_files_do_not_disturb_reading, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
