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

/* Cut off, never rounded up: who asks for what is shown must be able to get it. */
int weir_units_format_bytes(int64_t bytes, struct weir_buf *out)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    uint64_t amount = bytes < 0 ? 0u - (uint64_t)bytes : (uint64_t)bytes;
    uint64_t size = 1;
    unsigned unit = 0;

    if (amount < 1024)
        return weir_buf_printf(out, "%lld B", (long long)bytes);
    while (amount / size >= 1024) {
        size *= 1024;
        unit++;
    }
    return weir_buf_printf(out, "%s%llu.%u %s", bytes < 0 ? "-" : "",
                           (unsigned long long)(amount / size),
                           (unsigned)(amount % size / (size / 1024) * 10 / 1024), names[unit]);
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
