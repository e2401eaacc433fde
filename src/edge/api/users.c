#include "edge/api/users.h"

#include "base/clock.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

enum { KEEP_MS = 60000, PASSWD_BYTES = 4096 };

static bool is_fresh(const struct weir_user *user, int64_t now)
{
    return user->read_mono_ms > 0 && now - user->read_mono_ms < KEEP_MS;
}

static const struct weir_user *keep(struct weir_users *users, uint32_t uid, uint32_t gid,
                                    const char *name, bool is_by_name)
{
    struct weir_user *user = &users->kept[users->turn++ % WEIR_USERS_KEPT];

    *user = (struct weir_user){weir_clock_mono_ms(), uid, gid, is_by_name, ""};
    snprintf(user->name, sizeof(user->name), "%s", name);
    return user;
}

const struct weir_user *weir_users_by_uid(struct weir_users *users, uint32_t uid, uint32_t gid)
{
    int64_t now = weir_clock_mono_ms();
    char text[PASSWD_BYTES];
    char number[16];
    struct passwd entry;
    struct passwd *found = NULL;

    for (size_t i = 0; i < WEIR_USERS_KEPT; i++)
        if (is_fresh(&users->kept[i], now) && !users->kept[i].is_by_name &&
            users->kept[i].uid == uid && users->kept[i].gid == gid)
            return &users->kept[i];
    if (getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found != NULL &&
        strlen(entry.pw_name) < WEIR_USER_NAME_MAX)
        return keep(users, uid, gid, entry.pw_name, false);
    snprintf(number, sizeof(number), "%u", uid);
    return keep(users, uid, gid, number, false);
}

const struct weir_user *weir_users_by_name(struct weir_users *users, struct weir_str name)
{
    int64_t now = weir_clock_mono_ms();
    char text[PASSWD_BYTES];
    char key[WEIR_USER_NAME_MAX];
    struct passwd entry;
    struct passwd *found = NULL;

    if (name.len >= sizeof(key))
        return NULL;
    for (size_t i = 0; i < WEIR_USERS_KEPT; i++)
        if (is_fresh(&users->kept[i], now) && users->kept[i].is_by_name &&
            weir_str_eq_c(name, users->kept[i].name))
            return &users->kept[i];
    snprintf(key, sizeof(key), "%.*s", WEIR_STR_ARG(name));
    if (getpwnam_r(key, &entry, text, sizeof(text), &found) != 0 || found == NULL)
        return NULL;
    return keep(users, entry.pw_uid, entry.pw_gid, key, true);
}
