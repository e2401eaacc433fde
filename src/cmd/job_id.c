#include "cmd/job_id.h"

struct weir_job_id weir_job_id(const char *word)
{
    static const struct weir_str prefix = {"workload/", 9};
    struct weir_job_id found = {.whole = word};
    struct weir_str rest;
    uint64_t number;

    if (weir_str_starts_with(weir_str(word), prefix))
        found.whole = word + prefix.len;
    rest = weir_str(found.whole);
    if (weir_str_split(&rest, '/', &found.id) && rest.ptr != NULL && weir_str_to_u64(rest, &number))
        found.member = rest;
    else
        found.id = weir_str(found.whole);
    return found;
}
