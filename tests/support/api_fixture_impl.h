/* What the files of the API's fixture share. */
#ifndef WEIR_TESTS_SUPPORT_API_FIXTURE_IMPL_H
#define WEIR_TESTS_SUPPORT_API_FIXTURE_IMPL_H

#include "api_fixture.h"

enum { API_PATIENCE_MS = 20000 };

/* Ends the test program where something that must hold does not. */
void api_must(bool ok, const char *what);
/* Opens the transaction that the next tick commits. */
void api_begin(struct api_fixture *f);
struct api_output *api_find_output(struct api_fixture *f, uint64_t number, uint32_t member,
                                   uint32_t attempt, enum weir_stream stream);
void api_make_world(struct api_fixture *f);

#endif
