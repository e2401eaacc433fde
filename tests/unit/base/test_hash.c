#include "../support.h"

#include "base/hash.h"

/* SipHash-1-3 of the bytes 00, 01, 02 … under the key 00 … 0f, by length: made with a plain reading
 * of the paper whose 2-4 form gives the paper's own vector, and which agrees with the 1-3 hash of
 * CPython. */
static const uint64_t sip13[] = {
    0xabac0158050fc4dcu, 0xc9f49bf37d57ca93u, 0x82cb9b024dc7d44du, 0x8bf80ab8e7ddf7fbu,
    0xcf75576088d38328u, 0xdef9d52f49533b67u, 0xc50d2b50c59f22a7u, 0xd3927d989bb11140u,
    0x369095118d299a8eu, 0x25a48eb36c063de4u, 0x79de85ee92ff097fu, 0x70c118c1f94dc352u,
    0x78a384b157b4d9a2u, 0x306f760c1229ffa7u, 0x605aa111c0f95d34u, 0xd320d86d2a519956u,
    0xcc4fdd1a7d908b66u, 0x9cf2689063dbd80cu, 0x8ffc389cb473e63eu, 0xf21f9de58d297d1cu,
    0xc0dc2f46a6cce040u, 0xb992abfe2b45f844u, 0x7ffe7b9ba320872eu, 0x525a0e7fdae6c123u,
    0xf464aeb267349c8cu, 0x45cd5928705b0979u, 0x3a3e35e3ca9913a5u, 0xa91dc74e4ade3b35u,
    0xfb0bed02ef6cd00du, 0x88d93cb44ab1e1f4u, 0x540f11d643c5e663u, 0x2370dd1f8c21d1bcu,
    0x81157b6c16a7b60du, 0x4d54b9e57a8ff9bfu, 0x759f12781f2a753eu, 0xcea1a3bebf186b91u,
    0x2cf508d3ada26206u, 0xb6101c2da3c33057u, 0xb3f47496ae3a36a1u, 0x626b57547b108392u,
    0xc1d2363299e41531u, 0x667cc1923f1ad944u, 0x65704ffec8138825u, 0x24f280d1c28949a6u,
    0xc2ca1cedfaf8876bu, 0xc2164bfc9f042196u, 0xa16e9c9368b1d623u, 0x49fb169c8b5114fdu,
    0x9f3143f8df074c46u, 0xc6fdaf2412cc86b3u, 0x7eaf49d10a52098fu, 0x1cf313559d292f9au,
    0xc44a30dda2f41f12u, 0x36fae98943a71ed0u, 0x318fb34c73f0bce6u, 0xa27abf3670a7e980u,
    0xb4bcc0db243c6d75u, 0x23f8d852fdb71513u, 0x8f035f4da67d8a08u, 0xd89cd0e5b7e8f148u,
    0xf6f4e6bcf7a644eeu, 0xaec59ad80f1837f2u, 0xc3b2f6154b6694e0u, 0x9d199062b7bbb3a8u,
    0xf17997ec4b4a6065u,
};

static void sip_gives_the_reference_values(void **state)
{
    unsigned char bytes[WEIR_COUNT_OF(sip13)];

    (void)state;
    for (size_t len = 0; len < WEIR_COUNT_OF(sip13); len++) {
        bytes[len] = (unsigned char)len;
        assert_true(weir_hash_sip13(0x0706050403020100u, 0x0f0e0d0c0b0a0908u, bytes, len) ==
                    sip13[len]);
    }
    assert_true(weir_hash_sip13(0x0706050403020100u, 0x0f0e0d0c0b0a0908u, NULL, 0) == sip13[0]);
}

static void sip_does_not_care_for_alignment(void **state)
{
    unsigned char room[WEIR_COUNT_OF(sip13) + 8];

    (void)state;
    for (size_t shift = 0; shift < 8; shift++) {
        for (size_t i = 0; i < WEIR_COUNT_OF(sip13); i++)
            room[shift + i] = (unsigned char)i;
        assert_true(weir_hash_sip13(0x0706050403020100u, 0x0f0e0d0c0b0a0908u, room + shift,
                                    WEIR_COUNT_OF(sip13) - 1) == sip13[WEIR_COUNT_OF(sip13) - 1]);
    }
}

/* RFC 3720, B.4, and the check value of the catalogues. */
static void crc_gives_the_reference_values(void **state)
{
    unsigned char bytes[32];

    (void)state;
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(weir_hash_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(weir_hash_crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(weir_hash_crc32c(0, bytes, 32), 0x46dd794e);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    assert_int_equal(weir_hash_crc32c(0, bytes, 32), 0x113fdb5c);
    assert_int_equal(weir_hash_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(weir_hash_crc32c(0, NULL, 0), 0);
}

/* Bit by bit, as the polynomial says. */
static uint32_t plain_crc(uint32_t seed, const unsigned char *p, size_t len)
{
    uint32_t crc = ~seed;

    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    }
    return ~crc;
}

static void crc_agrees_with_its_definition(void **state)
{
    struct weir_rng rng = random_numbers();
    unsigned char bytes[300];

    (void)state;
    for (int round = 0; round < 5000; round++) {
        size_t from = weir_rng_below(&rng, 16);
        size_t len = weir_rng_below(&rng, sizeof(bytes) - from);
        size_t cut = weir_rng_below(&rng, len + 1);
        uint32_t seed = (uint32_t)weir_rng_next(&rng);
        uint32_t whole;

        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (unsigned char)weir_rng_next(&rng);
        whole = weir_hash_crc32c(seed, bytes + from, len);
        assert_int_equal(whole, plain_crc(seed, bytes + from, len));
        /* In two pieces the same. */
        seed = weir_hash_crc32c(seed, bytes + from, cut);
        assert_int_equal(weir_hash_crc32c(seed, bytes + from + cut, len - cut), whole);
    }
}

static void keys_depend_on_domain_and_name(void **state)
{
    uint8_t keys[5][16];
    uint8_t again[16];

    (void)state;
    weir_hash_key128(WEIR_STR("node"), WEIR_STR("a"), keys[0]);
    weir_hash_key128(WEIR_STR("node"), WEIR_STR("b"), keys[1]);
    weir_hash_key128(WEIR_STR("gpu"), WEIR_STR("a"), keys[2]);
    weir_hash_key128(WEIR_STR("nodea"), WEIR_STR(""), keys[3]);
    weir_hash_key128(WEIR_STR(""), WEIR_STR("nodea"), keys[4]);
    for (size_t i = 0; i < WEIR_COUNT_OF(keys); i++) {
        assert_true(memcmp(keys[i], keys[i] + 8, 8) != 0); /* the halves are not the same hash */
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(keys[i], keys[j], 16);
    }
    weir_hash_key128(WEIR_STR("node"), WEIR_STR("a"), again);
    assert_memory_equal(again, keys[0], 16);
}

/* Keys are stored: another value would orphan what is on disk. */
static void keys_never_change(void **state)
{
    static const uint8_t wanted[16] = {0x36, 0x26, 0x4f, 0x3f, 0x60, 0x70, 0xba, 0xdd,
                                       0xf4, 0x66, 0xc1, 0x86, 0xe7, 0x6a, 0x21, 0xea};
    uint8_t key[16];

    (void)state;
    weir_hash_key128(WEIR_STR("node"), WEIR_STR("a"), key);
    assert_memory_equal(key, wanted, 16);
}

/* A bijection moves about half the bits when one is changed, and never two inputs to one output. */
static void mixing_moves_half_the_bits(void **state)
{
    struct weir_rng rng = random_numbers();
    long moved = 0;

    (void)state;
    for (int round = 0; round < 1000; round++) {
        uint64_t value = weir_rng_next(&rng);

        for (int bit = 0; bit < 64; bit++) {
            uint64_t difference =
                weir_hash_mix64(value) ^ weir_hash_mix64(value ^ (uint64_t)1 << bit);

            assert_true(difference != 0);
            moved += __builtin_popcountll(difference);
        }
    }
    assert_in_range(moved / 64000, 31, 32);
    assert_true(weir_hash_mix64(0) == 0);
    assert_true(weir_hash_mix64(1) == 0xb456bcfc34c2cb2cu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sip_gives_the_reference_values),
        cmocka_unit_test(sip_does_not_care_for_alignment),
        cmocka_unit_test(crc_gives_the_reference_values),
        cmocka_unit_test(crc_agrees_with_its_definition),
        cmocka_unit_test(keys_depend_on_domain_and_name),
        cmocka_unit_test(keys_never_change),
        cmocka_unit_test(mixing_moves_half_the_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
