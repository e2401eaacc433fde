/* base/hash.h — hashes: SipHash-1-3 for tables and persistent keys, CRC-32C for records on disk. */
#ifndef WEIR_BASE_HASH_H
#define WEIR_BASE_HASH_H

#include "base/str.h"

#include <stdint.h>

/* SipHash-1-3 (Aumasson and Bernstein 2012, the short-round variant). */
uint64_t weir_hash_sip13(uint64_t key0, uint64_t key1, const void *data, size_t len);
/* CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), seed 0 to start, the previous value to go
 * on. */
uint32_t weir_hash_crc32c(uint32_t seed, const void *data, size_t len);
/* 128 bits of a name under a fixed key: for persistent ids, not for secrets. Writes 16 bytes. */
void weir_hash_key128(struct weir_str domain, struct weir_str name, uint8_t ret_key[16]);
/* Finaliser of MurmurHash3 (Appleby): mixes one 64-bit word. */
uint64_t weir_hash_mix64(uint64_t value);

#endif
