/* model/world_codec.h — a world as bytes and back: whole (a keyframe), or as what differs from an
 * earlier version of it (a delta).
 *
 * For one build on one sort of machine: rows are written as they lie in memory. The bytes begin
 * with the layout, and other layouts are refused; it changes with the size of a row, with the
 * number of values of an enumeration, and with LAYOUT_VERSION in world_codec.c, which is to be
 * raised by whoever moves a field without changing a size.
 *
 *     layout        8 bytes
 *     kind          1 byte, 'K' or 'D'
 *     version       number; and of a delta: number, the version of its base
 *     boot id       16 bytes
 *     per table     number of rows; and of a delta: number of rows that differ
 *       per row     of a delta: number, rows left out since the last
 *                   number of runs; each: number of words left out, number of words, 8 bytes each
 *
 * Words are those of the row xor those of the base's row; where there is none, of zero. Numbers are
 * LEB128 without overlong forms. There is one way to write a thing: what can be read, is written
 * again byte for byte. */
#ifndef WEIR_MODEL_WORLD_CODEC_H
#define WEIR_MODEL_WORLD_CODEC_H

#include "base/str.h"
#include "model/world.h"

struct weir_buf;
struct weir_err;

/* What this build writes and reads. */
uint64_t weir_world_layout(void);

/* Whether `world` can be a later version of `base`: what a delta asks for. */
bool weir_world_is_earlier(const struct weir_world *base, const struct weir_world *world);

/* Appends `world`. base NULL: a keyframe. Else an earlier version of the same world, however far
 * back: time is linear in what both do not share. WEIR_E_INVALID (nothing appended) if base is not
 * earlier; else as the buffer fails. */
int weir_world_write(const struct weir_world *world, const struct weir_world *base,
                     struct weir_buf *out);

/* The world of these bytes (all of them), with a reference for the caller. `base` (not looked at
 * for a keyframe) is what a delta was written against; its chunks are shared. Bytes are taken for
 * hostile: what is read uses at most 128 times their size, but is no more than rows of bytes until
 * weir_world_check() has seen it.
 * WEIR_E_UNSUPPORTED: of another layout. WEIR_E_INVALID: a delta, and base is NULL or not its base.
 * WEIR_E_CORRUPT, WEIR_E_NO_MEMORY. */
int weir_world_read(struct weir_str bytes, const struct weir_world *base,
                    const struct weir_world **ret_world, struct weir_err *err);

#endif
