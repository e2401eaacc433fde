#include "base/hash.h"

#include <string.h>

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

uint32_t weir_hash_crc32c(uint32_t seed, const void *data, size_t len)
{
    /* The remainder of every half byte: ten times as fast as bit by bit, in 64 bytes. */
    static const uint32_t table[16] = {
        0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u, 0x417b1dbcu, 0x5125dad3u,
        0x61c69362u, 0x7198540du, 0x82f63b78u, 0x92a8fc17u, 0xa24bb5a6u, 0xb21572c9u,
        0xc38d26c4u, 0xd3d3e1abu, 0xe330a81au, 0xf36e6f75u,
    };
    const unsigned char *p = data;
    uint32_t crc = ~seed;

    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
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
