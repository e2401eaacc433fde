#include "app/decision_format.h"

#include "base/char.h"
#include "base/err.h"
#include "base/hash.h"
#include "model/plan.h"
#include "model/world_codec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FORMAT_VERSION = 1, DIGITS = 8 };

_Static_assert(sizeof(struct weir_decision_head) == 48, "no padding");
_Static_assert(sizeof(struct weir_decision_record) == 12, "no padding");
_Static_assert(sizeof(struct weir_decision_keyframe) == 16 + sizeof(struct weir_policy),
               "no padding");
_Static_assert(sizeof(struct weir_decision_tick) == 64, "no padding");

uint64_t weir_decision_layout(void)
{
    const uint64_t parts[] = {weir_world_layout(),         FORMAT_VERSION,
                              sizeof(struct weir_policy),  WEIR_POLICY_ALL,
                              sizeof(struct weir_action),  WEIR_ACTION_KIND_MAX,
                              sizeof(struct weir_grant),   WEIR_CAUSE_MAX,
                              sizeof(struct weir_verdict), WEIR_UNBLOCK_MAX,
                              sizeof(struct weir_reason),  WEIR_REASON_CODE_MAX,
                              sizeof(struct weir_holder),  WEIR_LEVEL_MAX,
                              sizeof(struct weir_awaited), sizeof(struct weir_cordoned)};

    return weir_hash_sip13(3, 4, parts, sizeof(parts));
}

void weir_decision_name(uint32_t number, char ret_name[WEIR_DECISION_NAME_BYTES])
{
    snprintf(ret_name, WEIR_DECISION_NAME_BYTES, "%08u.wdl", number);
}

/* The number of NNNNNNNN.wdl, or 0. */
static uint32_t number_of(const char *name)
{
    uint32_t number = 0;

    if (strlen(name) != DIGITS + 4 || strcmp(name + DIGITS, ".wdl") != 0)
        return 0;
    for (int i = 0; i < DIGITS; i++) {
        if (!weir_char_is_digit(name[i]))
            return 0;
        number = number * 10 + (uint32_t)(name[i] - '0');
    }
    return number;
}

static int compare_segments(const void *a, const void *b)
{
    const struct weir_decision_segment *x = a;
    const struct weir_decision_segment *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

static int add_segment(int dir_fd, const char *name, struct weir_decision_segments *segments,
                       struct weir_err *err)
{
    struct stat st;
    struct weir_decision_segment segment = {.number = number_of(name)};

    if (segment.number == 0)
        return 0;
    /* Gone since the folder was read: the writer has made room. */
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
        return 0;
    segment.bytes = st.st_size;
    if (weir_vec_push(segments, segment) < 0)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the decision log");
    return 0;
}

int weir_decision_list(int dir_fd, struct weir_decision_segments *ret_segments,
                       struct weir_err *err)
{
    struct weir_decision_segments segments = {0};
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    int r = 0;

    if (dir == NULL) {
        r = weir_error_errno(err, errno, "list the decision log");
        if (fd >= 0)
            close(fd);
        return r;
    }
    while (r == 0) {
        struct dirent *entry;

        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0)
                r = weir_error_errno(err, errno, "list the decision log");
            break;
        }
        r = add_segment(dir_fd, entry->d_name, &segments, err);
    }
    closedir(dir);
    if (r < 0) {
        weir_vec_finish(&segments);
        return r;
    }
    if (segments.n > 0)
        qsort(segments.items, segments.n, sizeof(segments.items[0]), compare_segments);
    *ret_segments = segments;
    return 0;
}

void weir_decision_head_fill(uint32_t number, struct weir_decision_head *ret_head)
{
    *ret_head = (struct weir_decision_head){.layout = weir_decision_layout(), .number = number};
    memcpy(ret_head->magic, WEIR_DECISION_MAGIC, sizeof(ret_head->magic));
    snprintf(ret_head->version, sizeof(ret_head->version), "%s", WEIR_VERSION);
    ret_head->crc = weir_hash_crc32c(0, ret_head, offsetof(struct weir_decision_head, crc));
}

bool weir_decision_head_is_sound(const struct weir_decision_head *head)
{
    return memcmp(head->magic, WEIR_DECISION_MAGIC, sizeof(head->magic)) == 0 &&
           memchr(head->version, '\0', sizeof(head->version)) != NULL &&
           head->crc == weir_hash_crc32c(0, head, offsetof(struct weir_decision_head, crc));
}

uint32_t weir_decision_crc(uint32_t length, uint32_t type, const void *payload)
{
    const uint32_t front[] = {length, type};

    return weir_hash_crc32c(weir_hash_crc32c(0, front, sizeof(front)), payload, length);
}
