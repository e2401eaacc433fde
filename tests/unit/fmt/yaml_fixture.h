/* What the tests of YAML share: an arena and an error for each. */
#ifndef WEIR_TESTS_FMT_YAML_FIXTURE_H
#define WEIR_TESTS_FMT_YAML_FIXTURE_H

#include "../support.h"

#include "base/arena.h"
#include "base/err.h"
#include "fmt/yaml.h"

struct fixture {
    struct weir_arena arena;
    struct weir_err err;
};

static inline int set_up(void **state)
{
    static struct fixture fixture;

    weir_arena_init(&fixture.arena, 0);
    memset(&fixture.err, 0, sizeof(fixture.err));
    *state = &fixture;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    weir_arena_finish(&f->arena);
    return 0;
}

#define YAML_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
