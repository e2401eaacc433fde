/* base/units.h — amounts for people, and arithmetic that does not wrap.
 *
 * Units are integers and in the name: _mgpu (1/1000 GPU), _ugpu (1/1,000,000 GPU), _mcpu, _bytes,
 * _ms, _uusd. */
#ifndef WEIR_BASE_UNITS_H
#define WEIR_BASE_UNITS_H

#include <stdint.h>

struct weir_buf;

#define WEIR_KIB ((int64_t)1024)
#define WEIR_MIB ((int64_t)1024 * 1024)
#define WEIR_GIB ((int64_t)1024 * 1024 * 1024)
enum { WEIR_MGPU_PER_GPU = 1000, WEIR_UGPU_PER_GPU = 1000000 };

/* Saturating. INT64_MAX stands for "unbounded": a sum with it is unbounded, and so is what anything
 * is taken from it. */
int64_t weir_units_add(int64_t a, int64_t b);
int64_t weir_units_mul(int64_t a, int64_t b);

/* "79.5 GiB": one decimal, the rest cut off; below 1024 "1023 B". */
int weir_units_format_bytes(int64_t bytes, struct weir_buf *out);
int weir_units_format_mgpu(int64_t mgpu, struct weir_buf *out); /* "2", "0.5", "1.25" */

#endif
