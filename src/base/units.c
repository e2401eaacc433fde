#include "base/units.h"

#include "base/buf.h"

int64_t weir_units_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

int64_t weir_units_sub(int64_t a, int64_t b)
{
    int64_t difference;

    if (a == INT64_MAX)
        return INT64_MAX;
    if (__builtin_sub_overflow(a, b, &difference))
        return a > 0 ? INT64_MAX : INT64_MIN;
    return difference;
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
    double value = (double)bytes;
    unsigned unit = 0;

    while ((value >= 1023.5 || value <= -1023.5) && unit < 6) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        return weir_buf_printf(out, "%lld B", (long long)bytes);
    return weir_buf_printf(out, "%.*f %s",
                           value < 9.995   ? 2
                           : value < 99.95 ? 1
                                           : 0,
                           value, names[unit]);
}

int weir_units_format_mgpu(int64_t mgpu, struct weir_buf *out)
{
    int64_t part = mgpu % 1000;

    weir_buf_i64(out, mgpu / 1000);
    if (part == 0)
        return out->failed;
    if (part < 0)
        part = -part;
    weir_buf_printf(out, ".%03d", (int)part);
    while (out->len > 0 && out->data[out->len - 1] == '0')
        weir_buf_truncate(out, out->len - 1);
    return out->failed;
}
