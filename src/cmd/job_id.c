#include "cmd/job_id.h"

#include "base/err.h"

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

int weir_job_id_whole(const char *command, const char *word, const char **ret_whole,
                      struct weir_err *err)
{
    struct weir_job_id job = weir_job_id(word);

    if (job.member.len > 0) {
        weir_error(err, WEIR_E_INVALID, "%s: '%s' is one member of a job", command, job.whole);
        return weir_error_hint(err, "all of it is %.*s", WEIR_STR_ARG(job.id));
    }
    *ret_whole = job.whole;
    return 0;
}
