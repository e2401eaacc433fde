/* Includes the source: the bounds on slots and holes are its own business, and tested as such. */
#include "../support.h"

#include "base/map.c"

static struct weir_str numbered(char *text, size_t size, uint64_t number)
{
    return weir_str_n(text, (size_t)snprintf(text, size, "key-%llu", (unsigned long long)number));
}

/* What must hold after every step: counts, ends of the entries, a slot for each entry and no other.
 */
static void assert_sound(const struct weir_map *map)
{
    size_t n_live = 0;
    size_t n_used = 0;

    for (size_t i = 0; i < map->n_entries; i++)
        n_live += map->entries[i].key != NULL;
    for (size_t i = 0; i < map->n_slots; i++) {
        if (map->slots[i] == 0)
            continue;
        n_used++;
        assert_true(map->slots[i] <= map->n_entries);
        assert_non_null(map->entries[map->slots[i] - 1].key);
    }
    assert_int_equal(n_live, map->n_live);
    assert_int_equal(n_used, map->n_live);
    assert_true(map->n_live * 4 <= map->n_slots * 3);
    if (map->n_live > 0) {
        assert_non_null(map->entries[map->n_entries - 1].key);
    } else {
        assert_int_equal(map->n_entries, 0);
    }
}

static void an_empty_one_can_be_used(void **state)
{
    struct weir_map map = WEIR_MAP_INIT;
    uint64_t value = 7;

    (void)state;
    assert_false(weir_map_get(&map, WEIR_STR("a"), &value));
    assert_false(weir_map_remove(&map, WEIR_STR("a")));
    weir_map_clear(&map);
    assert_int_equal(value, 7);
    weir_map_finish(&map);
    weir_map_finish(NULL);
}

static void sets_gets_and_replaces(void **state)
{
    struct weir_map map = WEIR_MAP_INIT;
    char key[] = "b";
    uint64_t value = 0;

    (void)state;
    assert_int_equal(weir_map_set(&map, WEIR_STR("a"), 1), 0);
    assert_int_equal(weir_map_set(&map, weir_str(key), 2), 0);
    key[0] = 'x'; /* the key was copied */
    assert_int_equal(weir_map_set(&map, WEIR_STR("a"), UINT64_MAX), 0);
    assert_int_equal(map.n_live, 2);
    assert_true(weir_map_get(&map, WEIR_STR("a"), &value) && value == UINT64_MAX);
    assert_true(weir_map_get(&map, WEIR_STR("b"), &value) && value == 2);
    assert_false(weir_map_get(&map, WEIR_STR("x"), &value));
    weir_map_finish(&map);
}

static void keys_are_bytes(void **state)
{
    struct weir_str keys[] = {WEIR_STR(""),  WEIR_STR("\0"),  WEIR_STR("\0\0"),
                              WEIR_STR("a"), WEIR_STR("a\0"), WEIR_STR("\xff\xfe")};
    struct weir_map map = WEIR_MAP_INIT;
    uint64_t value;

    (void)state;
    for (size_t i = 0; i < WEIR_COUNT_OF(keys); i++)
        assert_int_equal(weir_map_set(&map, keys[i], i), 0);
    for (size_t i = 0; i < WEIR_COUNT_OF(keys); i++)
        assert_true(weir_map_get(&map, keys[i], &value) && value == i);
    assert_true(weir_map_get(&map, weir_str(NULL), &value) && value == 0);
    assert_true(weir_map_remove(&map, weir_str(NULL)));
    assert_false(weir_map_get(&map, WEIR_STR(""), &value));
    weir_map_finish(&map);
}

/* 300,000 steps on up to 100,000 keys against an array. */
static void behaves_like_an_array(void **state)
{
    enum { KEYS = 100000, STEPS = 300000 };
    struct weir_rng rng = random_numbers();
    uint64_t *values = calloc(KEYS, sizeof(*values));
    bool *there = calloc(KEYS, sizeof(*there));
    struct weir_map map = WEIR_MAP_INIT;
    size_t n = 0;
    char text[32];

    (void)state;
    weir_map_seed(weir_rng_next(&rng), weir_rng_next(&rng));
    for (int step = 0; step < STEPS; step++) {
        /* Mostly growing for the first third, then mostly shrinking, then even. */
        uint64_t bias = step < STEPS / 3 ? 8 : step < STEPS * 2 / 3 ? 2 : 5;
        size_t k = weir_rng_below(&rng, KEYS);
        struct weir_str key = numbered(text, sizeof(text), k);
        uint64_t value = 0;

        assert_int_equal(weir_map_get(&map, key, &value), there[k]);
        assert_true(!there[k] || value == values[k]);
        if (weir_rng_below(&rng, 10) < bias) {
            values[k] = weir_rng_next(&rng);
            assert_int_equal(weir_map_set(&map, key, values[k]), 0);
            n += !there[k];
            there[k] = true;
        } else {
            assert_int_equal(weir_map_remove(&map, key), there[k]);
            n -= there[k];
            there[k] = false;
        }
        assert_int_equal(map.n_live, n);
    }
    assert_sound(&map);
    for (size_t k = 0; k < KEYS; k++) {
        uint64_t value = 0;

        assert_int_equal(weir_map_get(&map, numbered(text, sizeof(text), k), &value), there[k]);
    }
    weir_map_finish(&map);
    weir_map_seed(0, 0);
    free(values);
    free(there);
}

/* Few keys, so that every shape of a small table comes up, and each is looked at whole. */
static void stays_sound_at_every_step(void **state)
{
    struct weir_rng rng = random_numbers();
    struct weir_map map = WEIR_MAP_INIT;
    char text[32];

    (void)state;
    for (int step = 0; step < 30000; step++) {
        struct weir_str key = numbered(text, sizeof(text), weir_rng_below(&rng, 40));

        if (weir_rng_below(&rng, 2) == 0)
            assert_int_equal(weir_map_set(&map, key, 1), 0);
        else
            weir_map_remove(&map, key);
        assert_sound(&map);
    }
    weir_map_finish(&map);
}

/* Whatever was removed and set again, against a plain list. */
static void has_what_was_set_and_not_removed(void **state)
{
    enum { KEYS = 300 };
    struct weir_rng rng = random_numbers();
    struct weir_map map = WEIR_MAP_INIT;
    uint64_t set[KEYS] = {0}; /* 0: not there */
    char text[32];

    (void)state;
    for (uint64_t step = 1; step < 20000; step++) {
        uint64_t k = weir_rng_below(&rng, KEYS);
        struct weir_str key = numbered(text, sizeof(text), k);

        if (weir_rng_below(&rng, 2) == 0) {
            assert_int_equal(weir_map_set(&map, key, step), 0);
            set[k] = step;
        } else {
            assert_int_equal(weir_map_remove(&map, key), set[k] != 0);
            set[k] = 0;
        }
        for (uint64_t i = 0; i < KEYS; i++) {
            uint64_t value = 0;

            assert_int_equal(weir_map_get(&map, numbered(text, sizeof(text), i), &value),
                             set[i] != 0);
            assert_true(value == set[i]);
        }
    }
    weir_map_finish(&map);
}

/* A queue that lives for long neither grows nor slows down: steps are counted, not timed. */
static void a_long_life_of_removals_costs_nothing_extra(void **state)
{
    struct weir_map map = WEIR_MAP_INIT;
    char text[32];

    (void)state;
    for (uint64_t i = 0; i < 500000; i++) {
        weir_map_set(&map, numbered(text, sizeof(text), i), i);
        if (i < 100)
            continue;
        assert_true(weir_map_remove(&map, numbered(text, sizeof(text), i - 100)));
    }
    assert_int_equal(map.n_live, 100);
    assert_true(map.n_slots <= 256);
    assert_true(map.cap_entries <= 512);
    weir_map_finish(&map);
}

/* The oldest stays, all others come and go: holes in the middle. */
static void holes_in_the_middle_are_closed(void **state)
{
    struct weir_map map = WEIR_MAP_INIT;
    char text[32];

    (void)state;
    weir_map_set(&map, WEIR_STR("oldest"), 0);
    for (uint64_t i = 0; i < 100000; i++) {
        weir_map_set(&map, numbered(text, sizeof(text), i), i);
        if (i >= 3)
            weir_map_remove(&map, numbered(text, sizeof(text), i - 3));
        assert_true(map.n_entries <= 2 * map.n_live + HOLES_KEPT + 1);
    }
    assert_true(map.n_slots <= 32);
    weir_map_finish(&map);
}

/* Slots that all want the same place, with a wrap at the end of the table. */
static void removal_keeps_colliding_keys_reachable(void **state)
{
    struct weir_rng rng = random_numbers();
    uint64_t chosen[6];
    char text[32];

    (void)state;
    for (uint32_t home = 0; home < SLOTS_MIN; home++) {
        size_t n = 0;

        /* Three keys of this home and three of the next, in any order. */
        for (uint64_t k = 0; n < WEIR_COUNT_OF(chosen); k++) {
            uint32_t at = hash_of(numbered(text, sizeof(text), k)) % SLOTS_MIN;

            if (at == (home + n % 2) % SLOTS_MIN)
                chosen[n++] = k;
        }
        for (int round = 0; round < 200; round++) {
            struct weir_map map = WEIR_MAP_INIT;
            unsigned left = 0x3F;

            for (size_t i = 0; i < n; i++)
                weir_map_set(&map, numbered(text, sizeof(text), chosen[i]), i);
            assert_int_equal(map.n_slots, SLOTS_MIN);
            while (left != 0) {
                size_t i = weir_rng_below(&rng, n);

                if ((left >> i & 1) == 0)
                    continue;
                assert_true(weir_map_remove(&map, numbered(text, sizeof(text), chosen[i])));
                left &= ~(1u << i);
                assert_sound(&map);
                for (size_t j = 0; j < n; j++) {
                    uint64_t value;
                    bool found =
                        weir_map_get(&map, numbered(text, sizeof(text), chosen[j]), &value);

                    assert_int_equal(found, left >> j & 1);
                }
            }
            weir_map_finish(&map);
        }
    }
}

static void clear_empties_and_keeps_working(void **state)
{
    struct weir_map map = WEIR_MAP_INIT;
    char text[32];
    uint64_t value;

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 100; i++)
            weir_map_set(&map, numbered(text, sizeof(text), i), i);
        weir_map_remove(&map, numbered(text, sizeof(text), 50));
        weir_map_clear(&map);
        assert_sound(&map);
        assert_false(weir_map_get(&map, WEIR_STR("key-1"), &value));
    }
    weir_map_finish(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_one_can_be_used),
        cmocka_unit_test(sets_gets_and_replaces),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(behaves_like_an_array),
        cmocka_unit_test(stays_sound_at_every_step),
        cmocka_unit_test(has_what_was_set_and_not_removed),
        cmocka_unit_test(a_long_life_of_removals_costs_nothing_extra),
        cmocka_unit_test(holes_in_the_middle_are_closed),
        cmocka_unit_test(removal_keeps_colliding_keys_reachable),
        cmocka_unit_test(clear_empties_and_keeps_working),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
