/* nvidia-nvswitchN: SXid (PCI:dddd:bb:dd.f): CODE, TEXT — and what the fabric manager says of the
 * same errors. */
#include "base/count.h"
#include "fmt/gpu_log_scan.h"

static uint8_t scan_severity(struct weir_str *s)
{
    static const struct {
        const char *word;
        uint8_t severity;
    } words[] = {{"Fatal", WEIR_GPU_LOG_SEVERITY_FATAL},
                 {"Non-fatal", WEIR_GPU_LOG_SEVERITY_NONFATAL},
                 {"Nonfatal", WEIR_GPU_LOG_SEVERITY_NONFATAL},
                 {"Correctable", WEIR_GPU_LOG_SEVERITY_CORRECTED},
                 {"Intermediate", WEIR_GPU_LOG_SEVERITY_NONFATAL}};

    for (size_t i = 0; i < WEIR_COUNT_OF(words); i++) {
        struct weir_str rest = *s;

        if (weir_scan_literal(&rest, words[i].word) &&
            (rest.len == 0 || weir_scan_literal(&rest, ","))) {
            (void)weir_scan_blanks(&rest);
            *s = rest;
            return words[i].severity;
        }
    }
    return WEIR_GPU_LOG_SEVERITY_UNKNOWN;
}

static bool is_detail(struct weir_str text)
{
    return weir_str_starts_with(text, WEIR_STR("Severity ")) ||
           weir_str_starts_with(text, WEIR_STR("Data {"));
}

bool weir_gpu_log_read_sxid(struct weir_str line, struct weir_gpu_log *log)
{
    struct weir_str rest = line;
    uint32_t number;

    if (!weir_scan_literal(&rest, "nvidia-nvswitch") || !weir_scan_u32(&rest, &number) ||
        !weir_scan_literal(&rest, ": SXid (PCI:") || !weir_scan_pci(&rest, log) ||
        !weir_scan_literal(&rest, "):") || !weir_scan_blanks(&rest) ||
        !weir_scan_u32(&rest, &log->code) || (rest.len > 0 && !weir_scan_literal(&rest, ",")))
        return false;
    (void)weir_scan_blanks(&rest);
    log->kind = is_detail(rest) ? WEIR_GPU_LOG_SXID_DETAIL : WEIR_GPU_LOG_SXID;
    log->severity = scan_severity(&rest);
    log->text = rest;
    if (weir_scan_literal(&rest, "Link "))
        (void)weir_scan_i32(&rest, &log->link);
    return true;
}
