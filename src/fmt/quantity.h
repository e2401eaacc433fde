/* fmt/quantity.h — Kubernetes' way to write an amount: "20Gi", "500m", "0.5", "1e3".
 *
 *   quantity = ["+" | "-"] number [suffix]
 *   number   = digits, with a fraction ("1.5", "1.", ".5")
 *   suffix   = n u m k M G T P E (powers of 1000) | Ki Mi Gi Ti Pi Ei (powers of 1024)
 *            | ("e" | "E") ["+" | "-"] digits (power of ten)
 *
 * Source: the reference of the Kubernetes API, common definitions, Quantity. "1E" is 10^18, "1E3"
 * is 1000. What is finer than the unit asked for is rounded up, away from zero, as Kubernetes does.
 * Unlike there, what does not fit is an error and not capped. The arithmetic is exact. */
#ifndef WEIR_FMT_QUANTITY_H
#define WEIR_FMT_QUANTITY_H

#include "base/str.h"

#include <stdint.h>

struct weir_buf;
struct weir_err;

enum weir_quantity_sign { WEIR_QUANTITY_UNSIGNED, WEIR_QUANTITY_SIGNED };

/* The amount in units of 10^-decimals (0 … 9): 0 for bytes, 3 for milli-CPUs and milli-GPUs.
 * Negative amounts are refused unless `sign` is WEIR_QUANTITY_SIGNED. Fails with WEIR_E_INVALID
 * (no quantity, negative, more than 38 digits) or WEIR_E_TOO_LARGE. */
int weir_quantity_parse(struct weir_str text, unsigned decimals, enum weir_quantity_sign sign,
                        int64_t *ret_amount, struct weir_err *err);
int weir_quantity_bytes(struct weir_str text, int64_t *ret_bytes, struct weir_err *err);
int weir_quantity_milli(struct weir_str text, int64_t *ret_milli, struct weir_err *err);

/* The canonical form: whole, with the largest suffix that loses nothing. "20Gi", "1000". */
int weir_quantity_format_bytes(int64_t bytes, struct weir_buf *out);

#endif
