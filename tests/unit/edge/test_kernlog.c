/* The kernel's log as a file: what comes bit by bit, begins anew, or is not there. */
#include "../support.h"

#include "base/buf.h"
#include "edge/kernlog/kernlog.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static struct weir_kernlog *kernlog;
static struct weir_fault_source source;
static struct weir_buf seen;
static int result_of_each;

static void write_log(const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void say(uint64_t seq, uint32_t xid)
{
    char line[200];

    snprintf(line, sizeof(line),
             "3,%llu,5000000,-;NVRM: Xid (PCI:0000:0e:00): %u, pid=1, name=a, Ch 1\n",
             (unsigned long long)seq, xid);
    write_log("a", line);
}

static int note(void *arg, uint64_t seq, const struct weir_fault_event *event)
{
    (void)arg;
    if (result_of_each < 0)
        return result_of_each;
    weir_buf_printf(&seen, "%llu:%u@%lld%s ", (unsigned long long)seq, event->code,
                    (long long)event->at_ms, event->origin == WEIR_FAULT_ORIGIN_KERNEL ? "" : "?");
    return 0;
}

static int ask(uint64_t after)
{
    weir_buf_reset(&seen);
    return source.read(source.ctx, after, note, NULL, NULL);
}

static void must_say(uint64_t after, const char *expected)
{
    assert_int_equal(ask(after), 0);
    assert_string_equal(weir_buf_cstr(&seen), expected);
}

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "%s", "kernlog.XXXXXX");
    close(mkstemp(path));
    unlink(path);
    weir_buf_init(&seen, 1 << 20);
    result_of_each = 0;
    return weir_kernlog_open(path, true, &kernlog, &source, NULL);
}

static int end(void **state)
{
    (void)state;
    weir_kernlog_close(kernlog);
    weir_buf_finish(&seen);
    unlink(path);
    return 0;
}

static void tells_what_came(void **state)
{
    (void)state;
    must_say(0, "");
    assert_int_equal(weir_kernlog_fd(kernlog), -1);
    say(1, 31);
    say(2, 48);
    must_say(0, "1:31@5000 2:48@5000 ");
    must_say(2, "");
    say(3, 79);
    must_say(2, "3:79@5000 ");
    write_log("a", "6,4,5000000,-;usb 1-1: new device\n SUBSYSTEM=usb\n");
    write_log("a", "11,5,5000000,-;NVRM: Xid (PCI:0000:0e:00): 79, forged\n");
    must_say(3, "5:79@5000? ");
    assert_int_equal(weir_kernlog_n_missed(kernlog), 0);
    say(9, 63);
    must_say(5, "9:63@5000 ");
    assert_int_equal(weir_kernlog_n_missed(kernlog), 3);
}

/* Else a log of other things would be read from its beginning for ever, and never to its end. */
static void what_is_no_fault_is_read_once(void **state)
{
    FILE *file;

    (void)state;
    say(1, 31);
    write_log("a", "6,2,5000000,-;usb 1-1: new device\n");
    must_say(0, "1:31@5000 ");
    file = fopen(path, "r+");
    assert_non_null(file);
    fputs("3,7", file); /* who looks again would see it */
    fclose(file);
    must_say(1, "");
    say(8, 48);
    must_say(1, "8:48@5000 ");
}

static void waits_for_the_rest_of_a_line(void **state)
{
    (void)state;
    write_log("a", "3,1,5000000,-;NVRM: Xid (PCI:0000:0e");
    must_say(0, "");
    write_log("a", ":00): 48, pid=1, name=a\n3,2,");
    must_say(0, "1:48@5000 ");
    write_log("a", "6000000,-;NVRM: Xid (PCI:0000:0e:00): 31, pid=1\n");
    must_say(1, "2:31@6000 ");
}

/* What was told before is known by its number. */
static void a_log_that_begins_anew_is_read_anew(void **state)
{
    char other[80];

    (void)state;
    for (uint64_t i = 1; i <= 5; i++)
        say(i, 31);
    assert_int_equal(ask(0), 0);
    write_log("w", "");
    say(6, 48);
    must_say(5, "6:48@5000 ");
    snprintf(other, sizeof(other), "%s.new", path);
    assert_int_equal(rename(path, other), 0);
    for (uint64_t i = 5; i <= 8; i++)
        say(i, 63);
    must_say(6, "7:63@5000 8:63@5000 ");
    unlink(other);
    unlink(path);
    must_say(8, "");
}

static void garbage_is_no_fault(void **state)
{
    char *large = malloc(100001);

    (void)state;
    memset(large, 'x', 100000);
    large[100000] = '\0';
    write_log("a", "\n\n;\n,,,;\n3,1;\n\xff\xfe\n3,99999999999999999999999,1,-;x\n");
    write_log("a", large);
    must_say(0, "");
    write_log("a", "\n");
    say(7, 48);
    must_say(0, "7:48@5000 ");
    free(large);
}

static void what_was_not_taken_is_told_again(void **state)
{
    (void)state;
    say(1, 31);
    result_of_each = WEIR_E_IO;
    assert_int_equal(ask(0), WEIR_E_IO);
    result_of_each = 0;
    say(2, 48);
    must_say(0, "1:31@5000 2:48@5000 ");
    must_say(2, "");
    must_say(1, "2:48@5000 "); /* it was taken, and then was not */
    must_say(0, "1:31@5000 2:48@5000 ");
}

static void what_cannot_be_opened_is_an_error(void **state)
{
    struct weir_kernlog *log = NULL;
    struct weir_fault_source none;
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    assert_int_equal(weir_kernlog_open("/nosuch/kmsg", false, &log, &none, &err), WEIR_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nosuch/kmsg"));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(ask(0) < 0);
    assert_int_equal(rmdir(path), 0);
    assert_null(weir_kernlog_close(NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tells_what_came),
        TEST(what_is_no_fault_is_read_once),
        TEST(waits_for_the_rest_of_a_line),
        TEST(a_log_that_begins_anew_is_read_anew),
        TEST(garbage_is_no_fault),
        TEST(what_was_not_taken_is_told_again),
        TEST(what_cannot_be_opened_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
