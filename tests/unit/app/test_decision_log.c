#include "app/decision_format.h"
#include "app/decision_log.h"
#include "app/decision_reader.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "decision_rig.h"
#include "tests/unit/support.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

/* What is in the log, to the end. Every tick must be what was taken down. */
struct read_back {
    uint32_t n;
    uint32_t n_gaps; /* the first tick not counted */
    uint64_t first_seq;
    uint64_t last_seq;
    uint32_t n_segments;
    struct weir_decision_damage damage;
};

static struct read_back read_folder(const char *dir, const struct rig *rig)
{
    struct read_back back = {0};
    struct weir_decision_reader *reader = NULL;
    struct weir_decision decision;
    struct weir_err err = WEIR_ERR_INIT;
    uint32_t segment = 0;
    int r;

    if (weir_decision_reader_open(dir, &reader, &err) < 0)
        fail_msg("%s", err.text);
    while ((r = weir_decision_reader_next(reader, &decision, &err)) > 0) {
        if (!rig_same(rig, &decision))
            fail_msg("tick %llu is not what was taken down", (unsigned long long)decision.seq);
        if (back.n == 0)
            back.first_seq = decision.seq;
        else if (!decision.follows)
            back.n_gaps++;
        else
            assert_int_equal(decision.seq, back.last_seq + 1);
        back.n_segments += decision.segment != segment;
        segment = decision.segment;
        back.last_seq = decision.seq;
        back.n++;
    }
    if (r < 0)
        fail_msg("%s", err.text);
    back.damage = *weir_decision_reader_damage(reader);
    assert_null(weir_decision_reader_close(reader));
    return back;
}

static struct read_back read_all(const struct rig *rig)
{
    return read_folder(rig->dir, rig);
}

static void assert_undamaged(const struct read_back *back)
{
    assert_int_equal(back->damage.n_torn, 0);
    assert_int_equal(back->damage.n_corrupt, 0);
    assert_int_equal(back->damage.n_foreign, 0);
}

static void comes_back_as_it_was(void **state)
{
    struct rig rig;
    struct read_back back;
    struct weir_decision_stats stats;

    (void)state;
    assert_true(rig_open(&rig, 1));
    for (int i = 0; i < 400; i++) {
        assert_true(rig_tick(&rig, (unsigned)weir_rng_below(&rig.history.rng, 6)));
        /* Versions that the log does not see. */
        if (i % 9 == 0)
            weir_world_unref(weir_edit_seal(rig.history.edit));
        if (i % 50 == 7)
            rig.policy.backoff_ms++;
        if (weir_rng_below(&rig.history.rng, 5) == 0)
            weir_decision_log_flush(rig.log);
    }
    weir_decision_log_flush(rig.log);
    stats = weir_decision_log_stats(rig.log);
    assert_int_equal(stats.n_written, 400);
    assert_int_equal(stats.n_lost, 0);
    assert_int_equal(stats.bytes, rig_bytes(&rig));
    back = read_all(&rig);
    assert_int_equal(back.n, 400);
    assert_int_equal(back.n_gaps, 0);
    assert_undamaged(&back);
    rig_close(&rig);
}

static void is_read_while_it_is_written(void **state)
{
    struct rig rig;

    (void)state;
    assert_true(rig_open(&rig, 2));
    for (uint32_t i = 1; i <= 30; i++) {
        struct read_back back;

        assert_true(rig_tick(&rig, 3));
        back = read_all(&rig);
        assert_int_equal(back.n, i - 1); /* this one is not flushed */
        weir_decision_log_flush(rig.log);
        back = read_all(&rig);
        assert_int_equal(back.n, i);
        assert_undamaged(&back);
    }
    rig_close(&rig);
}

static void a_tick_on_the_same_world_is_small(void **state)
{
    struct rig rig;
    int64_t before;

    (void)state;
    assert_true(rig_open(&rig, 3));
    assert_true(rig_tick(&rig, 500));
    weir_decision_log_flush(rig.log);
    before = rig_bytes(&rig);
    for (int i = 0; i < 100; i++)
        assert_true(rig_tick(&rig, 0));
    weir_decision_log_flush(rig.log);
    assert_true(rig_bytes(&rig) - before <= 100 * (12 + 64 + 3 * 56 + 2 * 32));
    assert_int_equal(read_all(&rig).n, 101);
    rig_close(&rig);
}

static void stays_within_its_bound(void **state)
{
    const struct weir_decision_limits limits = {1000 * WEIR_KIB, 60 * WEIR_KIB, 20 * WEIR_KIB};
    struct rig rig;
    struct read_back back;
    char path[400];

    (void)state;
    assert_true(rig_open_within(&rig, 4, limits));
    for (int i = 0; i < 3000; i++) {
        assert_true(rig_tick(&rig, 4));
        if (i % 4 == 0)
            weir_decision_log_flush(rig.log);
        if (i % 20 == 0)
            assert_true(rig_bytes(&rig) <= limits.total_bytes);
    }
    weir_decision_log_flush(rig.log);
    assert_true(rig_bytes(&rig) <= limits.total_bytes);
    assert_true(rig_bytes(&rig) > limits.total_bytes / 2);
    assert_int_equal(weir_decision_log_stats(rig.log).n_lost, 0);
    assert_true(rig_segment(&rig, 0, path, sizeof(path)));
    assert_null(strstr(path, "00000001.wdl"));
    back = read_all(&rig);
    assert_int_equal(back.last_seq, 3000);
    assert_int_equal(back.n, back.last_seq - back.first_seq + 1);
    assert_true(back.first_seq > 1 && back.n_segments > 3);
    assert_int_equal(back.n_gaps, 0);
    assert_undamaged(&back);
    rig_close(&rig);
}

static void a_new_process_goes_on_in_a_new_segment(void **state)
{
    struct rig rig;
    struct read_back back;

    (void)state;
    assert_true(rig_open(&rig, 5));
    for (int i = 0; i < 10; i++)
        assert_true(rig_tick(&rig, 3));
    rig.log = weir_decision_log_close(rig.log);
    back = read_all(&rig);
    assert_int_equal(back.n, 10);
    /* The next process numbers its ticks from 1 again. */
    usleep(2000);
    assert_int_equal(
        weir_decision_log_open(rig.dir, weir_decision_limits_default(), &rig.log, NULL), 0);
    for (uint32_t i = 0; i < rig.n; i++)
        weir_world_unref(rig.ticks[i].world);
    rig.n = 0;
    for (int i = 0; i < 5; i++)
        assert_true(rig_tick(&rig, 3));
    weir_decision_log_flush(rig.log);
    {
        struct weir_decision_reader *reader = NULL;
        struct weir_decision decision;
        uint64_t run = 0;
        int n = 0;

        assert_int_equal(weir_decision_reader_open(rig.dir, &reader, NULL), 0);
        for (; weir_decision_reader_next(reader, &decision, NULL) > 0; n++) {
            assert_int_equal(decision.segment, n < 10 ? 1 : 2);
            assert_int_equal(decision.follows, n != 0 && n != 10);
            assert_int_equal(decision.run == run, decision.follows);
            run = decision.run;
            assert_int_equal(decision.seq, n < 10 ? n + 1 : n - 9);
        }
        assert_int_equal(n, 15);
        weir_decision_reader_close(reader);
    }
    rig_close(&rig);
}

/* ---- what kills and disks leave ---- */

static char *slurp(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 22);

    assert_non_null(file);
    assert_non_null(bytes);
    *ret_n = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static void spew(const char *path, const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

/* Two segments: the first of 12 ticks, the second of 3. */
static void two_segments(struct rig *rig, char *path, size_t size, char **ret_bytes, size_t *ret_n)
{
    assert_true(rig_open_within(rig, 6, (struct weir_decision_limits){WEIR_GIB, 1, 1 << 20}));
    for (int i = 0; i < 12; i++)
        assert_true(rig_tick(rig, 2));
    rig->policy.backoff_ms++; /* a keyframe is due, the segment is full */
    for (int i = 0; i < 3; i++)
        assert_true(rig_tick(rig, 2));
    weir_decision_log_flush(rig->log);
    assert_true(rig_segment(rig, 0, path, size));
    *ret_bytes = slurp(path, ret_n);
}

static void a_torn_end_is_left_out(void **state)
{
    struct rig rig;
    char path[400];
    char *bytes;
    size_t n;
    uint32_t most = 0;

    (void)state;
    two_segments(&rig, path, sizeof(path), &bytes, &n);
    assert_int_equal(read_all(&rig).n, 15);
    assert_int_equal(read_all(&rig).n_gaps, 0);
    for (size_t cut = 0; cut < n; cut += cut < 200 || cut + 1500 > n ? 1 : 97) {
        struct read_back back;

        spew(path, bytes, cut);
        back = read_all(&rig);
        assert_true(back.n >= 3 && back.n < 15);
        assert_true(back.n >= most);
        most = back.n;
        /* Cut between two records it is not torn, but the gap is seen all the same. */
        assert_true(back.damage.n_torn <= 1);
        assert_int_equal(back.damage.n_corrupt, 0);
        assert_int_equal(back.n_gaps, back.n > 3 ? 1 : 0);
    }
    assert_int_equal(most, 14);
    spew(path, bytes, n);
    free(bytes);
    rig_close(&rig);
}

static void zeros_at_the_end_are_a_torn_end(void **state)
{
    struct rig rig;
    char path[400];
    char *bytes;
    size_t n;
    struct read_back back;

    (void)state;
    two_segments(&rig, path, sizeof(path), &bytes, &n);
    memset(bytes + n, 0, 10000);
    spew(path, bytes, n + 10000);
    back = read_all(&rig);
    assert_int_equal(back.n, 15);
    assert_int_equal(back.damage.n_torn, 1);
    assert_int_equal(back.damage.n_corrupt, 0);
    free(bytes);
    rig_close(&rig);
}

static void damage_is_left_out_up_to_the_next_segment(void **state)
{
    struct rig rig;
    char path[400];
    char *bytes;
    size_t n;

    (void)state;
    two_segments(&rig, path, sizeof(path), &bytes, &n);
    for (size_t at = 0; at < n; at += 1 + at / 50) {
        struct read_back back;

        bytes[at] = (char)(bytes[at] ^ 0x40);
        spew(path, bytes, n);
        bytes[at] = (char)(bytes[at] ^ 0x40);
        back = read_all(&rig);
        assert_true(back.n >= 3 && back.n < 15);
        assert_int_equal(back.damage.n_corrupt + back.damage.n_torn, 1);
        if (back.damage.n_corrupt > 0)
            assert_non_null(strstr(back.damage.first.text, "decisions '00000001.wdl': "));
    }
    free(bytes);
    rig_close(&rig);
}

/* Sound records that say nonsense. */
static void a_record_must_make_sense(void **state)
{
    static const struct {
        uint32_t type;
        uint32_t length;
        const char *text;
    } cases[] = {{7, 0, "no known type"},
                 {WEIR_DECISION_KEYFRAME, 10, "a keyframe is too short"},
                 {WEIR_DECISION_KEYFRAME, sizeof(struct weir_decision_keyframe), "ends too early"},
                 {WEIR_DECISION_TICK, 0, "before the first keyframe"}};
    struct rig rig;
    char path[400];
    char *bytes;
    size_t n;

    (void)state;
    two_segments(&rig, path, sizeof(path), &bytes, &n);
    for (size_t i = 0; i < WEIR_COUNT_OF(cases); i++) {
        struct weir_decision_record record = {.length = cases[i].length, .type = cases[i].type};
        struct read_back back;
        char *at = bytes + sizeof(struct weir_decision_head);

        memset(at + sizeof(record), 0, cases[i].length);
        record.crc = weir_decision_crc(record.length, record.type, at + sizeof(record));
        memcpy(at, &record, sizeof(record));
        spew(path, bytes, n);
        back = read_all(&rig);
        assert_int_equal(back.n, 3);
        assert_int_equal(back.damage.n_corrupt, 1);
        if (strstr(back.damage.first.text, cases[i].text) == NULL)
            fail_msg("'%s' is not in '%s'", cases[i].text, back.damage.first.text);
    }
    free(bytes);
    rig_close(&rig);
}

static void change_layout(const char *path)
{
    size_t n;
    char *bytes = slurp(path, &n);
    struct weir_decision_head head;

    memcpy(&head, bytes, sizeof(head));
    head.layout++;
    head.crc = weir_hash_crc32c(0, &head, offsetof(struct weir_decision_head, crc));
    memcpy(bytes, &head, sizeof(head));
    spew(path, bytes, n);
    free(bytes);
}

static void another_builds_log_is_refused(void **state)
{
    struct rig rig;
    char path[400];
    char *bytes;
    size_t n;
    struct read_back back;
    struct weir_decision_reader *reader = NULL;
    struct weir_decision decision;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    two_segments(&rig, path, sizeof(path), &bytes, &n);
    change_layout(path);
    back = read_all(&rig);
    assert_int_equal(back.n, 3);
    assert_int_equal(back.damage.n_foreign, 1);
    assert_true(rig_segment(&rig, 1, path, sizeof(path)));
    change_layout(path);
    assert_int_equal(weir_decision_reader_open(rig.dir, &reader, NULL), 0);
    assert_int_equal(weir_decision_reader_next(reader, &decision, &err), WEIR_E_UNSUPPORTED);
    assert_string_equal(err.text,
                        "decisions '00000001.wdl': written by another build (weir " WEIR_VERSION
                        ")");
    assert_non_null(strstr(err.hint, "version of weir"));
    weir_decision_reader_close(reader);
    free(bytes);
    rig_close(&rig);
}

/* The kernel refuses to let any file grow past this: a full disk for one process. */
static void let_files_grow_to(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_makes_a_gap_that_is_seen(void **state)
{
    struct rig rig;
    struct read_back back;
    struct weir_decision_stats stats;
    char path[400];

    (void)state;
    assert_true(rig_open(&rig, 7));
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 20; i++) {
        assert_true(rig_tick(&rig, 3));
        weir_decision_log_flush(rig.log);
    }
    let_files_grow_to((rlim_t)rig_bytes(&rig) + 1000);
    for (int i = 0; i < 100 && !weir_decision_log_stats(rig.log).is_off; i++) {
        assert_true(rig_tick(&rig, 3));
        weir_decision_log_flush(rig.log);
    }
    assert_true(weir_decision_log_stats(rig.log).is_off);
    let_files_grow_to(100); /* not even a keyframe */
    for (int i = 0; i < 30; i++) {
        assert_true(rig_tick(&rig, 3));
        weir_decision_log_flush(rig.log);
    }
    stats = weir_decision_log_stats(rig.log);
    assert_true(stats.is_off);
    assert_int_equal(stats.n_written + stats.n_lost, rig.n);
    assert_false(rig_segment(&rig, 1, path, sizeof(path)));
    assert_int_equal(stats.bytes, rig_bytes(&rig));
    let_files_grow_to(RLIM_INFINITY);
    for (int i = 0; i < 30; i++) {
        assert_true(rig_tick(&rig, 3));
        weir_decision_log_flush(rig.log);
    }
    stats = weir_decision_log_stats(rig.log);
    assert_false(stats.is_off);
    assert_true(rig_segment(&rig, 1, path, sizeof(path)));
    assert_false(rig_segment(&rig, 2, path, sizeof(path)));
    back = read_all(&rig);
    assert_int_equal(back.n, stats.n_written);
    assert_int_equal(back.last_seq, rig.n);
    assert_int_equal(back.n_gaps, 1);
    assert_undamaged(&back);
    assert_true(stats.n_lost >= 30);
    rig_close(&rig);
}

static void a_bound_too_small_for_a_keyframe_is_said(void **state)
{
    struct rig rig;

    (void)state;
    assert_true(rig_open_within(&rig, 8, (struct weir_decision_limits){1000, 1000, 1000}));
    for (int i = 0; i < 50; i++) {
        assert_true(rig_tick(&rig, 3));
        weir_decision_log_flush(rig.log);
    }
    assert_int_equal(weir_decision_log_stats(rig.log).n_lost, 50);
    assert_int_equal(rig_bytes(&rig), 0);
    rig_close(&rig);
}

static void a_kill_leaves_what_was_flushed(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 6; round++) {
        struct rig rig;
        struct rig twin;
        struct read_back back = {0};
        int pipe_fds[2];
        uint32_t n_flushed = 0;
        pid_t pid;

        assert_true(rig_open(&rig, 9));
        assert_int_equal(pipe(pipe_fds), 0);
        fflush(stdout);
        pid = fork();
        if (pid == 0) {
            for (uint32_t i = 0; i < RIG_TICKS_MAX; i++) {
                if (!rig_tick(&rig, 3))
                    _exit(1);
                weir_decision_log_flush(rig.log);
                if (write(pipe_fds[1], &rig.n, sizeof(rig.n)) != sizeof(rig.n))
                    _exit(1);
            }
            pause();
        }
        assert_true(pid > 0);
        close(pipe_fds[1]);
        usleep(3000 * (round + 1));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        while (read(pipe_fds[0], &back.n, sizeof(back.n)) == sizeof(back.n))
            n_flushed = back.n;
        close(pipe_fds[0]);
        /* The same seed gives the same history: what the child took down can be told. */
        assert_true(rig_open(&twin, 9));
        for (uint32_t i = 0; i < n_flushed + 1; i++)
            assert_true(rig_tick(&twin, 3));
        back = read_folder(rig.dir, &twin);
        assert_true(back.n == n_flushed || back.n == n_flushed + 1);
        assert_int_equal(back.n_gaps, 0);
        assert_int_equal(back.damage.n_corrupt, 0);
        rig_close(&twin);
        rig_close(&rig);
    }
}

static void refuses_what_is_no_folder(void **state)
{
    struct weir_decision_log *log = NULL;
    struct weir_decision_reader *reader = NULL;
    struct weir_err err = WEIR_ERR_INIT;
    char dir[] = "/tmp/weir-decisions-XXXXXX";
    char path[96];

    (void)state;
    assert_int_equal(weir_decision_log_open("/nowhere/at/all", weir_decision_limits_default(), &log,
                                            &err),
                     WEIR_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "open data directory '/nowhere/at/all'"));
    assert_non_null(mkdtemp(dir));
    assert_int_equal(weir_decision_reader_open(dir, &reader, &err), WEIR_E_NOT_FOUND);
    snprintf(path, sizeof(path), "%s/decisions", dir);
    spew(path, "", 0);
    assert_int_equal(weir_decision_log_open(dir, weir_decision_limits_default(), &log, &err),
                     WEIR_E_IO);
    assert_null(log);
    assert_null(reader);
    assert_null(weir_decision_log_close(NULL));
    assert_null(weir_decision_reader_close(NULL));
    unlink(path);
    rmdir(dir);
}

static void other_files_are_left_alone(void **state)
{
    struct rig rig;
    char path[400];
    FILE *file;

    (void)state;
    assert_true(rig_open(&rig, 11));
    snprintf(path, sizeof(path), "%s/decisions/00000009.wdl~", rig.dir);
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    rig.log = weir_decision_log_close(rig.log);
    assert_int_equal(weir_decision_log_open(rig.dir,
                                            (struct weir_decision_limits){100000, 10000, 5000},
                                            &rig.log, NULL),
                     0);
    for (int i = 0; i < 300; i++) {
        assert_true(rig_tick(&rig, 3));
        weir_decision_log_flush(rig.log);
    }
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_as_it_was),
        cmocka_unit_test(is_read_while_it_is_written),
        cmocka_unit_test(a_tick_on_the_same_world_is_small),
        cmocka_unit_test(stays_within_its_bound),
        cmocka_unit_test(a_new_process_goes_on_in_a_new_segment),
        cmocka_unit_test(a_torn_end_is_left_out),
        cmocka_unit_test(zeros_at_the_end_are_a_torn_end),
        cmocka_unit_test(damage_is_left_out_up_to_the_next_segment),
        cmocka_unit_test(a_record_must_make_sense),
        cmocka_unit_test(another_builds_log_is_refused),
        cmocka_unit_test(a_full_disk_makes_a_gap_that_is_seen),
        cmocka_unit_test(a_bound_too_small_for_a_keyframe_is_said),
        cmocka_unit_test(a_kill_leaves_what_was_flushed),
        cmocka_unit_test(refuses_what_is_no_folder),
        cmocka_unit_test(other_files_are_left_alone),
    };

    weir_log_set_fd(-1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
