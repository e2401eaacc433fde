/* NVRM: Xid (PCI:dddd:bb:dd[.f][ GPU-I:NN[ GPU-CI:NN]]): CODE[, pid=P[, name=N]][, TEXT]
 *
 * The text is another one in every driver branch, so only what a rule needs is looked for in it. */
#include "base/count.h"
#include "fmt/gpu_log_scan.h"

#include <string.h>

enum {
    COMM_MAX = 15, /* TASK_COMM_LEN without its NUL */
    XID_RECOVERY = 154,
    XID_FIRST_UNIT = 144,
    XID_LAST_UNIT = 150
};

/* "(PCI:…): " with the instances of MIG. */
static bool scan_place(struct weir_str *s, struct weir_gpu_log *log)
{
    struct weir_str rest = *s;

    if (!weir_scan_literal(&rest, "("))
        return false;
    (void)weir_scan_literal(&rest, "PCI:"); /* drivers before 3xx leave it out */
    if (!weir_scan_pci(&rest, log))
        return false;
    if (weir_scan_literal(&rest, " GPU-I:") && !weir_scan_i32(&rest, &log->gpu_instance))
        return false;
    if (weir_scan_literal(&rest, " GPU-CI:") && !weir_scan_i32(&rest, &log->compute_instance))
        return false;
    if (!weir_scan_literal(&rest, "):"))
        return false;
    *s = rest;
    return weir_scan_blanks(s);
}

static void scan_pid(struct weir_str *s, struct weir_gpu_log *log)
{
    struct weir_str rest = *s;
    uint32_t pid;

    if (!weir_scan_literal(&rest, "pid="))
        return;
    (void)weir_scan_literal(&rest, "'");
    if (weir_scan_u32(&rest, &pid))
        log->pid = pid;
    else if (!weir_scan_literal(&rest, "<unknown>"))
        return;
    (void)weir_scan_literal(&rest, "'");
    if (rest.len > 0 && !weir_scan_literal(&rest, ","))
        return;
    (void)weir_scan_blanks(&rest);
    *s = rest;
}

/* How the driver's texts begin. A process may be called "a, b": its name ends where one of these
 * follows. */
static bool begins_a_text(struct weir_str s)
{
    static const char *const openers[] = {
        "Ch ",           "channel ", "Channel ",    "Timeout", "Contained", "Uncontained",
        "Row Remapper",  "GPU ",     "Graphics",    "NVLink",  "An ",       "Dynamic ",
        "GSP ",          "High ",    "errorString", "MMU ",    "Xid ",      "SEC_",
        "RLW_",          "SAW_",     "TLW_",        "TREX",    "NVLPW",     "NETIR",
        "MSE",           "DRAM",     "SRAM",        "Class ",  "Key ",      "Page ",
        "Uncorrectable", "PBDMA",    "CE",          "Head ",   "Error"};

    for (size_t i = 0; i < WEIR_COUNT_OF(openers); i++)
        if (weir_str_starts_with(s, weir_str(openers[i])))
            return true;
    return false;
}

/* Takes "name=N[, ]": up to the first ", " that a text follows within the length a name can have,
 * else up to the first ", ". */
static void scan_name(struct weir_str *s, struct weir_gpu_log *log)
{
    struct weir_str rest = *s;
    ptrdiff_t first, end = -1;
    size_t length;

    if (!weir_scan_literal(&rest, "name="))
        return;
    first = weir_str_find(rest, WEIR_STR(", "));
    for (size_t at = 0; end < 0 && at <= COMM_MAX && at + 2 <= rest.len; at++)
        if (rest.ptr[at] == ',' && rest.ptr[at + 1] == ' ' &&
            begins_a_text(weir_str_sub(rest, at + 2, rest.len)))
            end = (ptrdiff_t)at;
    if (end < 0)
        end = first;
    length = end < 0 ? rest.len : (size_t)end;
    log->name = weir_str_sub(rest, 0, length);
    if (weir_str_eq_c(log->name, "<unknown>"))
        log->name = weir_str_n(NULL, 0);
    *s = weir_str_sub(rest, end < 0 ? rest.len : length + 2, rest.len);
}

/* " caused by previous Xid N" ends the line, behind anything a process could have put in its name.
 */
static void find_cause(struct weir_gpu_log *log)
{
    static const char words[] = " caused by previous Xid ";
    struct weir_str rest = log->text;
    uint32_t code;
    ptrdiff_t at = -1;

    for (size_t i = 0; i + strlen(words) <= log->text.len; i++)
        if (memcmp(log->text.ptr + i, words, strlen(words)) == 0)
            at = (ptrdiff_t)i;
    if (at < 0)
        return;
    rest = weir_str_sub(rest, (size_t)at + strlen(words), rest.len);
    if (!weir_scan_u32(&rest, &code) || weir_str_trim(rest).len > 0)
        return;
    log->caused_by = code;
}

/* "GPU recovery action changed from 0xA (Name) to 0xB (Name)". Numbers that nobody knows yet may
 * have a known name, and the other way round. */
static uint8_t recovery_action(struct weir_str number_and_name)
{
    static const char *const names[] = {"None",      "GPU Reset Required", "Node Reboot Required",
                                        "Drain P2P", "Drain and Reset",    "Recover IMEX Domain"};
    struct weir_str rest = number_and_name;
    uint32_t number = 0;
    bool has_number = weir_scan_hex_0x(&rest, &number) || weir_scan_u32(&rest, &number);

    if (has_number && number < WEIR_COUNT_OF(names))
        return (uint8_t)number;
    for (size_t i = 0; i < WEIR_COUNT_OF(names); i++) {
        struct weir_str behind;

        if (weir_scan_find(weir_str_sub(rest, 0, strlen(names[i]) + 4), names[i], &behind))
            return (uint8_t)i;
    }
    return has_number && number < WEIR_GPU_LOG_ACTION_NONE ? (uint8_t)number
                                                           : WEIR_GPU_LOG_ACTION_NONE;
}

static void find_recovery(struct weir_gpu_log *log)
{
    struct weir_str from, to;

    if (!weir_scan_find(log->text, "changed from ", &from))
        return;
    log->action_from = recovery_action(from);
    if (weir_scan_find(from, " to ", &to))
        log->action_to = recovery_action(to);
}

/* The registers: hex numbers in the last brackets, or a text of nothing but bare words of eight
 * digits. */
static void find_words(struct weir_gpu_log *log)
{
    struct weir_str rest = log->text;
    ptrdiff_t open = -1;
    uint32_t word;
    bool is_bracketed;

    for (size_t i = 0; i + 2 < rest.len; i++)
        if (memcmp(rest.ptr + i, "(0x", 3) == 0)
            open = (ptrdiff_t)i;
    is_bracketed = open >= 0;
    if (is_bracketed)
        rest = weir_str_sub(rest, (size_t)open + 1, rest.len);
    while (log->n_words < WEIR_GPU_LOG_WORDS_MAX &&
           (is_bracketed ? weir_scan_hex_0x(&rest, &word) : weir_scan_hex(&rest, 8, &word))) {
        log->words[log->n_words++] = word;
        (void)weir_scan_literal(&rest, ",");
        (void)weir_scan_blanks(&rest);
    }
    /* "(0x1 of …" or a text that only begins with hex digits ("Ch 00000010", "CE…") is none. */
    if (is_bracketed ? !weir_scan_literal(&rest, ")") : rest.len > 0)
        log->n_words = 0;
}

static void find_number(struct weir_str text, const char *label, int32_t *ret_value)
{
    struct weir_str behind;

    if (weir_scan_find(text, label, &behind))
        (void)weir_scan_i32(&behind, ret_value);
}

/* "RLW_REMAP Nonfatal XC0 i0 Link 10 (…)". */
static void find_unit(struct weir_gpu_log *log)
{
    struct weir_str rest = log->text, word;

    if (log->code < XID_FIRST_UNIT || log->code > XID_LAST_UNIT ||
        !weir_str_split(&rest, ' ', &word))
        return;
    log->unit = word;
    if (weir_str_starts_with(rest, WEIR_STR("Fatal ")))
        log->severity = WEIR_GPU_LOG_SEVERITY_FATAL;
    else if (weir_str_starts_with(rest, WEIR_STR("Nonfatal ")) ||
             weir_str_starts_with(rest, WEIR_STR("Non-fatal ")))
        log->severity = WEIR_GPU_LOG_SEVERITY_NONFATAL;
}

static void read_text(struct weir_gpu_log *log)
{
    struct weir_str behind;

    find_cause(log);
    find_words(log);
    find_unit(log);
    find_number(log->text, "GPC ", &log->gpc);
    find_number(log->text, "TPC ", &log->tpc);
    find_number(log->text, log->unit.len > 0 ? " Link " : " link ", &log->link);
    log->wants_drain = weir_scan_find(log->text, " D-RST: Yes", &behind);
    log->wants_reset = weir_scan_find(log->text, " RST: Yes", &behind);
    if (log->code == XID_RECOVERY)
        find_recovery(log);
}

bool weir_gpu_log_read_xid(struct weir_str line, struct weir_gpu_log *log)
{
    struct weir_str rest = line;

    if (!weir_scan_literal(&rest, "NVRM: Xid ") || !scan_place(&rest, log) ||
        !weir_scan_u32(&rest, &log->code))
        return false;
    /* The code ends at a comma or with the line: "79x" is none. */
    if (rest.len > 0 && !weir_scan_literal(&rest, ","))
        return false;
    (void)weir_scan_blanks(&rest);
    scan_pid(&rest, log);
    scan_name(&rest, log);
    log->kind = WEIR_GPU_LOG_XID;
    log->text = rest;
    read_text(log);
    return true;
}
