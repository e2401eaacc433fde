/* A record that was read, written again from what was read, reads as the same; and nothing reads
 * past its end or leaves the buffer. Whatever a record holds, its lines can be judged. */
#include "base/buf.h"
#include "base/err.h"
#include "core/health/incident.h"
#include "edge/kernlog/fault_line.h"
#include "fmt/kmsg.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct weir_health health;

static void must(bool cond)
{
    if (!cond)
        abort();
}

static void write_message(struct weir_str message, struct weir_buf *out)
{
    for (size_t i = 0; i < message.len; i++) {
        unsigned char c = (unsigned char)message.ptr[i];

        if (c < ' ' || c >= 127 || c == '\\')
            weir_buf_printf(out, "\\x%02x", c);
        else
            weir_buf_putc(out, (char)c);
    }
}

static void read_again(const struct weir_kmsg *kmsg)
{
    struct weir_buf out = WEIR_BUF_INIT(1 << 16);
    char decoded[WEIR_KMSG_RECORD_MAX];
    struct weir_kmsg again;

    weir_buf_printf(&out, "%u,%llu,%llu,%c;", kmsg->facility << 3 | kmsg->level,
                    (unsigned long long)kmsg->seq, (unsigned long long)kmsg->at_us,
                    kmsg->is_fragment ? 'c' : '-');
    write_message(kmsg->message, &out);
    weir_buf_putc(&out, '\n');
    weir_buf_str(&out, kmsg->dictionary);
    if (weir_buf_view(&out).len <= WEIR_KMSG_RECORD_MAX) {
        must(weir_kmsg_read(weir_buf_view(&out), decoded, sizeof(decoded), &again, NULL) == 0);
        must(weir_str_eq(again.message, kmsg->message));
        must(weir_str_eq(again.dictionary, kmsg->dictionary));
        must(again.facility == kmsg->facility && again.level == kmsg->level &&
             again.seq == kmsg->seq && again.at_us == kmsg->at_us);
    }
    weir_buf_finish(&out);
}

static void judge(const struct weir_kmsg *kmsg)
{
    struct weir_fault_event event;
    size_t at = 0;

    while (weir_fault_from_kmsg(kmsg, 0, 0, &at, &event)) {
        must(kmsg->facility == 0 || event.origin == WEIR_FAULT_ORIGIN_USER);
        must(kmsg->facility == 0 || weir_health_feed(&health, &event) == NULL);
        (void)weir_health_feed(&health, &event);
    }
    weir_health_tick(&health, WEIR_INCIDENT_SETTLE_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_str record = weir_str_n((const char *)data, size);
    char *decoded = malloc(size > 0 ? size : 1);
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_kmsg kmsg;

    must(decoded != NULL);
    weir_health_init(&health);
    if (weir_kmsg_read(record, decoded, size, &kmsg, &err) == 0) {
        must(kmsg.message.len <= size && kmsg.level < 8);
        (void)weir_kmsg_value(&kmsg, "DEVICE");
        read_again(&kmsg);
        judge(&kmsg);
    } else {
        must(err.code == WEIR_E_TOO_LARGE || err.column > 0);
    }
    free(decoded);
    return 0;
}
