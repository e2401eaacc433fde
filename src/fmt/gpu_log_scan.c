#include "fmt/gpu_log_scan.h"

#include <string.h>

bool weir_scan_literal(struct weir_str *s, const char *literal)
{
    if (!weir_str_starts_with(*s, weir_str(literal)))
        return false;
    *s = weir_str_sub(*s, strlen(literal), s->len);
    return true;
}

bool weir_scan_blanks(struct weir_str *s)
{
    while (s->len > 0 && (s->ptr[0] == ' ' || s->ptr[0] == '\t'))
        *s = weir_str_sub(*s, 1, s->len);
    return true;
}

bool weir_scan_u32(struct weir_str *s, uint32_t *ret_value)
{
    size_t n = 0;
    uint64_t value;

    while (n < s->len && s->ptr[n] >= '0' && s->ptr[n] <= '9')
        n++;
    if (!weir_str_to_u64(weir_str_sub(*s, 0, n), &value) || value > UINT32_MAX)
        return false;
    *s = weir_str_sub(*s, n, s->len);
    *ret_value = (uint32_t)value;
    return true;
}

bool weir_scan_i32(struct weir_str *s, int32_t *ret_value)
{
    struct weir_str rest = *s;
    bool negative = weir_scan_literal(&rest, "-");
    uint32_t value;

    if (!weir_scan_u32(&rest, &value) || value > INT32_MAX)
        return false;
    *s = rest;
    *ret_value = negative ? -(int32_t)value : (int32_t)value;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool weir_scan_hex(struct weir_str *s, unsigned max_digits, uint32_t *ret_value)
{
    uint32_t value = 0;
    size_t n = 0;

    while (n < s->len && hex_digit(s->ptr[n]) >= 0) {
        if (n == max_digits)
            return false;
        value = value << 4 | (uint32_t)hex_digit(s->ptr[n++]);
    }
    if (n == 0)
        return false;
    *s = weir_str_sub(*s, n, s->len);
    *ret_value = value;
    return true;
}

bool weir_scan_hex_0x(struct weir_str *s, uint32_t *ret_value)
{
    struct weir_str rest = *s;

    if (!weir_scan_literal(&rest, "0x") || !weir_scan_hex(&rest, 8, ret_value))
        return false;
    *s = rest;
    return true;
}

bool weir_scan_pci(struct weir_str *s, struct weir_gpu_log *log)
{
    struct weir_str rest = *s;
    uint32_t domain, bus, device, function = 0;
    bool has_function;

    if (!weir_scan_hex(&rest, 8, &domain) || !weir_scan_literal(&rest, ":") ||
        !weir_scan_hex(&rest, 2, &bus) || !weir_scan_literal(&rest, ":") ||
        !weir_scan_hex(&rest, 2, &device) || device > 31)
        return false;
    *s = rest;
    has_function =
        weir_scan_literal(&rest, ".") && weir_scan_hex(&rest, 1, &function) && function < 8;
    if (has_function)
        *s = rest;
    log->has_pci = true;
    log->has_function = has_function;
    log->pci_domain = domain;
    log->pci_bus = (uint8_t)bus;
    log->pci_device = (uint8_t)device;
    log->pci_function = has_function ? (uint8_t)function : 0;
    return true;
}

bool weir_scan_find(struct weir_str s, const char *needle, struct weir_str *ret_behind)
{
    ptrdiff_t at = weir_str_find(s, weir_str(needle));

    if (at < 0)
        return false;
    *ret_behind = weir_str_sub(s, (size_t)at + strlen(needle), s.len);
    return true;
}
