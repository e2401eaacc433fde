#include "base/hash.h"

#include <string.h>
#include <threads.h>

static uint64_t rotl(uint64_t x, int b)
{
    return x << b | x >> (64 - b);
}

struct sip {
    uint64_t v0, v1, v2, v3;
};

static void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotl(s->v1, 13) ^ s->v0;
    s->v0 = rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotl(s->v1, 17) ^ s->v2;
    s->v2 = rotl(s->v2, 32);
}

uint64_t weir_hash_sip13(uint64_t key0, uint64_t key1, const void *data, size_t len)
{
    struct sip s = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du,
                    key0 ^ 0x6c7967656e657261u, key1 ^ 0x7465646279746573u};
    const unsigned char *p = data;
    uint64_t tail = (uint64_t)len << 56;
    size_t left = len;

    for (; left >= 8; left -= 8, p += 8) {
        uint64_t m;

        memcpy(&m, p, sizeof(m));
        s.v3 ^= m;
        sip_round(&s);
        s.v0 ^= m;
    }
    for (size_t i = 0; i < left; i++)
        tail |= (uint64_t)p[i] << (8 * i);
    s.v3 ^= tail;
    sip_round(&s);
    s.v0 ^= tail;
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

enum { SLICES = 8 };

/* crc_tables[0] is the usual table of one byte; crc_tables[k] what that byte has become k bytes on.
 */
static uint32_t crc_tables[SLICES][256];
static once_flag crc_tables_made = ONCE_FLAG_INIT;

static void make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;

        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82F63B78u & (0u - (crc & 1u)));
        crc_tables[0][byte] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = crc_tables[slice - 1][byte];

            crc_tables[slice][byte] = crc >> 8 ^ crc_tables[0][crc & 0xFF];
        }
}

uint32_t weir_hash_crc32c(uint32_t seed, const void *data, size_t len)
{
    const unsigned char *p = data;
    uint32_t crc = ~seed;

    call_once(&crc_tables_made, make_crc_tables);
    for (; len >= SLICES; len -= SLICES, p += SLICES) {
        uint32_t folded = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                                 (uint32_t)p[3] << 24);

        crc = crc_tables[7][folded & 0xFF] ^ crc_tables[6][folded >> 8 & 0xFF] ^
              crc_tables[5][folded >> 16 & 0xFF] ^ crc_tables[4][folded >> 24] ^
              crc_tables[3][p[4]] ^ crc_tables[2][p[5]] ^ crc_tables[1][p[6]] ^ crc_tables[0][p[7]];
    }
    for (; len > 0; len--, p++)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *p) & 0xFF];
    return ~crc;
}

void weir_hash_key128(struct weir_str domain, struct weir_str name, uint8_t ret_key[16])
{
    uint64_t tag = weir_hash_sip13(0x77656972u, 0x6b657973u, domain.ptr, domain.len);
    uint64_t half[2] = {weir_hash_sip13(tag, 1, name.ptr, name.len),
                        weir_hash_sip13(tag, 2, name.ptr, name.len)};

    memcpy(ret_key, half, sizeof(half));
}

uint64_t weir_hash_mix64(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53u;
    value ^= value >> 33;
    return value;
}
