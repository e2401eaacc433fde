/* edge/api/users.h — names of users of this machine, remembered for a minute. */
#ifndef WEIR_EDGE_API_USERS_H
#define WEIR_EDGE_API_USERS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEIR_USERS_KEPT = 32, WEIR_USER_NAME_MAX = 64 };

struct weir_user {
    int64_t read_mono_ms; /* 0: not used */
    uint32_t uid;
    uint32_t gid;
    bool is_by_name; /* found by its name; else by its uid */
    char name[WEIR_USER_NAME_MAX];
};

struct weir_users {
    struct weir_user kept[WEIR_USERS_KEPT];
    uint32_t turn;
};

/* A uid without a name is called by its number, "1234". Valid until the next call. */
const struct weir_user *weir_users_by_uid(struct weir_users *users, uint32_t uid, uint32_t gid);
/* NULL: there is no such user. */
const struct weir_user *weir_users_by_name(struct weir_users *users, struct weir_str name);

#endif
