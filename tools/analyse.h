/* tools/analyse.h — what tools/check-analyze tells the analysers, who see one source at a time: an
 * error is made with a negative code, always. Never part of a build. */
#ifndef WEIR_TOOLS_ANALYSE_H
#define WEIR_TOOLS_ANALYSE_H

#include "base/err.h"
#include "base/tree.h"

static inline int negative(int code)
{
    if (code >= 0)
        __builtin_unreachable();
    return code;
}

#define weir_error(...)       negative(weir_error(__VA_ARGS__))
#define weir_error_v(...)     negative(weir_error_v(__VA_ARGS__))
#define weir_error_errno(...) negative(weir_error_errno(__VA_ARGS__))
#define weir_error_wrap(...)  negative(weir_error_wrap(__VA_ARGS__))
#define weir_error_at(...)    negative(weir_error_at(__VA_ARGS__))
#define weir_error_field(...) negative(weir_error_field(__VA_ARGS__))
#define weir_error_hint(...)  negative(weir_error_hint(__VA_ARGS__))
#define weir_error_pass(...)  negative(weir_error_pass(__VA_ARGS__))
#define weir_error_code(...)  negative(weir_error_code(__VA_ARGS__))
#define weir_tree_place(...)  negative(weir_tree_place(__VA_ARGS__))
#define weir_tree_error(...)  negative(weir_tree_error(__VA_ARGS__))

#endif
