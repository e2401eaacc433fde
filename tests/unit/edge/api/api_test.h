/* What the tests of the API share: one fixture, made anew for each test, and how it is asked. */
#ifndef WEIR_TESTS_API_TEST_H
#define WEIR_TESTS_API_TEST_H

#include "../../support.h"

#include "api_fixture.h"

static struct api_fixture f;

static inline int api_set_up(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1); /* texts name times of day */
    tzset();
    api_fixture_init(&f, NULL);
    return 0;
}

static inline int api_tear_down(void **state)
{
    (void)state;
    api_fixture_finish(&f);
    return 0;
}

static inline void get(const char *target, int status, struct api_answer *ret_answer)
{
    api_ask(&f, "GET", target, NULL, NULL, ret_answer);
    if (ret_answer->status != status)
        fail_msg("%s: %d: %s", target, ret_answer->status, weir_buf_cstr(&ret_answer->body));
}

static inline void assert_get(const char *target, const char *path, const char *expected)
{
    struct api_answer answer;

    get(target, 200, &answer);
    if (strcmp(api_text(&answer, path), expected) != 0)
        fail_msg("%s: %s is '%s', not '%s'", target, path, api_text(&answer, path), expected);
    api_answer_finish(&answer);
}

#endif
