/* fmt/json_scan.h — finding the next byte that matters in a JSON string, eight bytes at a time.
 * For the files of fmt/json only.
 *
 * Each lane of a word is tested at once: (lane ^ c) - 1 borrows into its top bit where lane == c. A
 * borrow can reach the lanes above, never those below, so the lowest hit is exact. */
#ifndef WEIR_FMT_JSON_SCAN_H
#define WEIR_FMT_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define JSON_LANES(byte) (0x0101010101010101u * (uint64_t)(byte))

/* The first byte in memory is the lowest lane. */
static inline uint64_t json_load(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The first byte that is not plain text: a quote, a backslash, a control character or no ASCII.
 * end if there is none. */
static inline const char *json_skip_plain(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t word = json_load(p);
        uint64_t hit = ((word ^ JSON_LANES('"')) - JSON_LANES(1)) |
                       ((word ^ JSON_LANES('\\')) - JSON_LANES(1)) | (word - JSON_LANES(0x20)) |
                       word;

        hit &= JSON_LANES(0x80);
        if (hit != 0)
            return p + (__builtin_ctzll(hit) >> 3);
        p += 8;
    }
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
           *p != '\\')
        p++;
    return p;
}

/* The first quote or backslash; end if there is none. */
static inline const char *json_skip_to_quote(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t word = json_load(p);
        uint64_t quote = word ^ JSON_LANES('"');
        uint64_t slash = word ^ JSON_LANES('\\');
        uint64_t hit = (((quote - JSON_LANES(1)) & ~quote) | ((slash - JSON_LANES(1)) & ~slash)) &
                       JSON_LANES(0x80);

        if (hit != 0)
            return p + (__builtin_ctzll(hit) >> 3);
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

#endif
