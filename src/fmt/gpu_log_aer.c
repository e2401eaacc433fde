/* DRIVER dddd:bb:dd.f: PCIe Bus Error: severity=…   DRIVER dddd:bb:dd.f: AER: … error … received */
#include "fmt/gpu_log_scan.h"

enum { DRIVER_NAME_MAX = 32 };

/* "nvidia 0000:07:00.0: ". */
static bool scan_speaker(struct weir_str *s, struct weir_gpu_log *log)
{
    struct weir_str rest = *s, driver;

    if (!weir_str_split(&rest, ' ', &driver) || driver.len == 0 || driver.len > DRIVER_NAME_MAX ||
        weir_str_find_char(driver, '[') >= 0 || weir_str_find_char(driver, ':') >= 0 ||
        !weir_scan_pci(&rest, log) || !log->has_function || !weir_scan_literal(&rest, ":"))
        return false;
    log->unit = driver;
    *s = rest;
    return true;
}

static uint8_t find_severity(struct weir_str text)
{
    struct weir_str behind;

    if (weir_scan_find(text, "Non-Fatal", &behind) || weir_scan_find(text, "Non-fatal", &behind) ||
        weir_scan_find(text, "Nonfatal", &behind))
        return WEIR_GPU_LOG_SEVERITY_NONFATAL;
    if (weir_scan_find(text, "Fatal", &behind))
        return WEIR_GPU_LOG_SEVERITY_FATAL;
    if (weir_scan_find(text, "Correct", &behind))
        return WEIR_GPU_LOG_SEVERITY_CORRECTED;
    return WEIR_GPU_LOG_SEVERITY_UNKNOWN;
}

/* "DPC: containment event": the port cut its device off. "pciehp: Slot(2): Link Down": it went. */
static bool read_port(struct weir_str text, struct weir_gpu_log *log)
{
    struct weir_str rest = text, behind;

    if (weir_scan_literal(&rest, "DPC: containment event"))
        log->severity = WEIR_GPU_LOG_SEVERITY_FATAL;
    else if (weir_scan_literal(&rest, "pciehp: Slot(") &&
             (weir_scan_find(rest, "Link Down", &behind) ||
              weir_scan_find(rest, "Card not present", &behind)))
        log->severity = WEIR_GPU_LOG_SEVERITY_NONFATAL;
    else
        return false;
    log->kind = WEIR_GPU_LOG_AER;
    return true;
}

/* "AER: Multiple Correctable error message received from …", "AER: device recovery failed". */
static bool read_aer(struct weir_str text, struct weir_gpu_log *log)
{
    struct weir_str behind;

    log->severity = find_severity(text);
    log->kind = WEIR_GPU_LOG_AER_DETAIL;
    /* Without a recovery the device does not come back from the reset of its link. */
    if (weir_scan_find(text, "recovery failed", &behind) ||
        weir_scan_find(text, "can't recover", &behind))
        log->severity = WEIR_GPU_LOG_SEVERITY_FATAL;
    if (log->severity != WEIR_GPU_LOG_SEVERITY_UNKNOWN)
        log->kind = WEIR_GPU_LOG_AER;
    return true;
}

bool weir_gpu_log_read_aer(struct weir_str line, struct weir_gpu_log *log)
{
    struct weir_str rest = line, text, behind;
    bool has_tag;

    if (!scan_speaker(&rest, log))
        return false;
    has_tag = weir_scan_blanks(&rest) && weir_scan_literal(&rest, "AER: ");
    (void)weir_scan_blanks(&rest);
    text = rest;
    log->text = text;
    if (weir_scan_literal(&rest, "PCIe Bus Error: severity=")) {
        log->kind = WEIR_GPU_LOG_AER;
        log->severity = find_severity(weir_str_sub(rest, 0, 32));
        return true;
    }
    if (has_tag)
        return read_aer(text, log);
    if (read_port(text, log))
        return true;
    /* "[12] Timeout", "device [10de:2184] error status/mask=…", "TLP Header: …" */
    if ((weir_scan_literal(&rest, "[") && weir_scan_blanks(&rest) &&
         weir_scan_find(weir_str_sub(rest, 0, 3), "]", &behind)) ||
        (weir_str_starts_with(text, WEIR_STR("device [")) &&
         weir_scan_find(text, "] error status/mask=", &behind)) ||
        weir_str_starts_with(text, WEIR_STR("TLP Header:"))) {
        log->kind = WEIR_GPU_LOG_AER_DETAIL;
        return true;
    }
    return false;
}
