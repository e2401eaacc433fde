#include "base/units.h"

#include "base/buf.h"

int64_t weir_units_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (a == INT64_MAX || b == INT64_MAX)
        return INT64_MAX;
    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

int64_t weir_units_mul(int64_t a, int64_t b)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product))
        return (a > 0) == (b > 0) ? INT64_MAX : INT64_MIN;
    return product;
}

int weir_units_format_bytes(int64_t bytes, struct weir_buf *out)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = bytes < 0 ? -(double)bytes : (double)bytes;
    unsigned unit = 0;
    int decimals;

    if (bytes > -1024 && bytes < 1024)
        return weir_buf_printf(out, "%lld B", (long long)bytes);
    while (value >= 1023.5 && unit < 6) {
        value /= 1024;
        unit++;
    }
    decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return weir_buf_printf(out, "%s%.*f %s", bytes < 0 ? "-" : "", decimals, value, names[unit]);
}

int weir_units_format_mgpu(int64_t mgpu, struct weir_buf *out)
{
    uint64_t amount = mgpu < 0 ? 0u - (uint64_t)mgpu : (uint64_t)mgpu;
    unsigned part = (unsigned)(amount % WEIR_MGPU_PER_GPU);
    int decimals = 3;

    for (; decimals > 0 && part % 10 == 0; decimals--)
        part /= 10;
    if (mgpu < 0)
        weir_buf_putc(out, '-');
    weir_buf_u64(out, amount / WEIR_MGPU_PER_GPU);
    return decimals == 0 ? out->failed : weir_buf_printf(out, ".%0*u", decimals, part);
}
