/* What is read as a quantity reads back from its canonical form; a coarser unit is the finer one
 * rounded away from zero. */
#include "base/buf.h"
#include "base/err.h"
#include "fmt/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_back(int64_t value)
{
    struct weir_buf buf = WEIR_BUF_INIT(64);
    int64_t again = 0;

    WEIR_ASSERT(weir_quantity_format_bytes(value, &buf) == 0);
    WEIR_ASSERT(weir_quantity_parse(weir_buf_view(&buf), 0, WEIR_QUANTITY_SIGNED, &again, NULL) ==
                0);
    WEIR_ASSERT(again == value);
    weir_buf_finish(&buf);
}

static int64_t divide_away_from_zero(int64_t value, int64_t by)
{
    return value / by + (value % by > 0) - (value % by < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_str text = weir_str_n((const char *)data, size);
    struct weir_err err = WEIR_ERR_INIT;
    int64_t value[10];
    int first = 0;
    bool known = true;

    for (unsigned d = 0; d <= 9; d++) {
        int rc = weir_quantity_parse(text, d, WEIR_QUANTITY_SIGNED, &value[d], &err);

        if (rc < 0) {
            WEIR_ASSERT(err.code == rc && err.text[0] != '\0');
            first = d == 0 ? rc : first;
            /* What is a quantity in one unit can only overflow in a finer one. */
            WEIR_ASSERT(rc == first || (first == 0 && rc == WEIR_E_TOO_LARGE));
            known = false;
            continue;
        }
        WEIR_ASSERT(known);
        if (d > 0)
            WEIR_ASSERT(divide_away_from_zero(value[d], 10) == value[d - 1]);
        if (d == 0)
            check_back(value[d]);
    }
    return 0;
}
