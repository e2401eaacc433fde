#include "edge/local/slots.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char advice[] =
    "restore it, or move it away: then jobs that ran count as lost, and what is left of them is "
    "ended";

static off_t slot_at(uint32_t slot)
{
    return (off_t)slot * WEIR_ATTEMPT_SLOT_BYTES;
}

/* 0 or an errno value. A short read is a slot past the end. */
static int read_slot(int fd, uint32_t slot, uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES])
{
    ssize_t n = pread(fd, bytes, WEIR_ATTEMPT_SLOT_BYTES, slot_at(slot));

    if (n < 0)
        return errno;
    return n == WEIR_ATTEMPT_SLOT_BYTES ? 0 : ERANGE;
}

/* 0, EAGAIN when another open file holds the slot, or another errno value. */
static int lock_slot(int fd, uint32_t slot, short type, int how)
{
    struct flock lock = {.l_type = type,
                         .l_whence = SEEK_SET,
                         .l_start = slot_at(slot),
                         .l_len = WEIR_ATTEMPT_SLOT_BYTES};

    if (fcntl(fd, how, &lock) == 0)
        return 0;
    return errno == EACCES ? EAGAIN : errno;
}

static int is_slot_locked(int fd, uint32_t slot, bool *ret_locked)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = slot_at(slot),
                         .l_len = WEIR_ATTEMPT_SLOT_BYTES};

    if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
        return errno;
    *ret_locked = lock.l_type != F_UNLCK;
    return 0;
}

int weir_slot_claim(int fd, const struct weir_attempt_id *id, uint64_t *ret_seq)
{
    uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES];
    struct weir_attempt_status status;
    int errnum = lock_slot(fd, id->slot, F_WRLCK, F_OFD_SETLK);

    /* The slot's last shim may have written its end, and not be gone yet: wait that moment. */
    if (errnum == EAGAIN && read_slot(fd, id->slot, bytes) == 0 &&
        weir_attempt_slot_decode(bytes, id->slot, &status, NULL) == 0 &&
        weir_attempt_is_final(status.phase))
        errnum = lock_slot(fd, id->slot, F_WRLCK, F_OFD_SETLKW);
    if (errnum == EAGAIN)
        return EBUSY;
    if (errnum == 0)
        errnum = read_slot(fd, id->slot, bytes);
    if (errnum != 0)
        return errnum;
    if (weir_attempt_slot_decode(bytes, id->slot, &status, NULL) < 0)
        return EBADMSG;
    if (status.id.serial >= id->serial)
        return ESTALE;
    *ret_seq = status.seq;
    return 0;
}

int weir_slot_write(int fd, struct weir_attempt_status *status)
{
    uint8_t record[WEIR_ATTEMPT_RECORD_BYTES];
    off_t at;
    ssize_t n;

    status->seq++;
    weir_attempt_record_encode(status, record);
    at = slot_at(status->id.slot) + (off_t)(status->seq & 1) * WEIR_ATTEMPT_RECORD_BYTES;
    do
        n = pwrite(fd, record, sizeof(record), at);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(record))
        return 0;
    status->seq--;
    return n < 0 ? errno : EIO;
}

int weir_slots_open(const char *data_dir, uint32_t n_min, struct weir_slots *ret_slots,
                    struct weir_err *err)
{
    weir_cleanup_fd int dir_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct weir_slots slots = WEIR_SLOTS_INIT;
    struct stat st;
    int code;

    if (dir_fd < 0)
        return weir_error_errno(err, errno, "open data directory '%s'", data_dir);
    slots.fd = openat(dir_fd, WEIR_SLOTS_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (slots.fd < 0) {
        weir_error_errno(err, errno, "open '%s/" WEIR_SLOTS_FILE "'", data_dir);
        return weir_error_hint(err, "%s", advice);
    }
    if (fstat(slots.fd, &st) < 0) {
        code = weir_error_errno(err, errno, "stat '%s/" WEIR_SLOTS_FILE "'", data_dir);
        weir_slots_close(&slots);
        return code;
    }
    /* A part of a slot at the end is what a growth left that was cut off: it is written again. */
    slots.n = (uint32_t)(st.st_size / WEIR_ATTEMPT_SLOT_BYTES);
    slots.n_found = slots.n;
    if (weir_slots_grow(&slots, n_min, err) < 0) {
        weir_slots_close(&slots);
        return weir_error_wrap(err, "data directory '%s'", data_dir);
    }
    *ret_slots = slots;
    return 0;
}

int weir_slots_grow(struct weir_slots *slots, uint32_t n, struct weir_err *err)
{
    static const uint8_t zeros[64 * WEIR_ATTEMPT_SLOT_BYTES];

    if (n > WEIR_SLOTS_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "slots: %u is more than %d", n, WEIR_SLOTS_MAX);
    while (slots->n < n) {
        uint32_t n_more = n - slots->n < 64 ? n - slots->n : 64;
        size_t n_bytes = (size_t)n_more * WEIR_ATTEMPT_SLOT_BYTES;
        ssize_t n_written = pwrite(slots->fd, zeros, n_bytes, slot_at(slots->n));

        if (n_written < 0 && errno == EINTR)
            continue;
        if (n_written < 0)
            return weir_error_errno(err, errno, "preallocate slots");
        if (n_written < WEIR_ATTEMPT_SLOT_BYTES)
            return weir_error(err, WEIR_E_NO_SPACE, "preallocate slots: the disk is full");
        slots->n += (uint32_t)(n_written / WEIR_ATTEMPT_SLOT_BYTES);
    }
    return 0;
}

void weir_slots_close(struct weir_slots *slots)
{
    if (slots->fd >= 0)
        close(slots->fd);
    slots->fd = -1;
    slots->n = 0;
}

static int slot_error(struct weir_err *err, int errnum, uint32_t slot)
{
    if (errnum == ERANGE)
        return weir_error(err, WEIR_E_INVALID, "no slot %u", slot);
    return weir_error_errno(err, errnum, "slot %u", slot);
}

int weir_slots_check(const struct weir_slots *slots, uint32_t slot, struct weir_err *err)
{
    uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES];
    struct weir_attempt_status status;
    bool is_alive = false;
    int errnum = read_slot(slots->fd, slot, bytes);

    if (errnum == ERANGE ||
        (errnum == 0 && weir_attempt_slot_decode(bytes, slot, &status, err) == 0))
        return 0;
    if (errnum == 0)
        errnum = is_slot_locked(slots->fd, slot, &is_alive);
    if (errnum != 0)
        return slot_error(err, errnum, slot);
    return is_alive ? 0 : weir_error_hint(err, "%s", advice);
}

int weir_slots_holder(const struct weir_slots *slots, uint32_t slot,
                      struct weir_attempt_status *ret_status, struct weir_err *err)
{
    uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES];
    struct weir_attempt_status status;
    bool is_alive = false;
    int errnum = is_slot_locked(slots->fd, slot, &is_alive);

    if (errnum == 0 && is_alive)
        errnum = read_slot(slots->fd, slot, bytes);
    if (errnum != 0)
        return slot_error(err, errnum, slot);
    if (!is_alive || weir_attempt_slot_decode(bytes, slot, &status, NULL) < 0 ||
        status.phase == WEIR_ATTEMPT_NONE || weir_attempt_is_final(status.phase))
        return 0;
    *ret_status = status;
    return 1;
}

int weir_slots_max_serial(const struct weir_slots *slots, uint64_t *ret_serial,
                          struct weir_err *err)
{
    uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES];
    uint64_t max = 0;

    for (uint32_t slot = 0; slot < slots->n; slot++) {
        struct weir_attempt_status status;
        int errnum = read_slot(slots->fd, slot, bytes);

        if (errnum != 0)
            return slot_error(err, errnum, slot);
        if (weir_attempt_slot_decode(bytes, slot, &status, NULL) == 0 && status.id.serial > max)
            max = status.id.serial;
    }
    *ret_serial = max;
    return 0;
}

/* What the slot holds of the attempt: an older attempt's record counts as nothing. */
static int read_status(const struct weir_slots *slots, const struct weir_attempt_id *id,
                       struct weir_attempt_status *ret_status, struct weir_err *err)
{
    uint8_t bytes[WEIR_ATTEMPT_SLOT_BYTES];
    struct weir_attempt_status status;
    int errnum = read_slot(slots->fd, id->slot, bytes);

    if (errnum != 0)
        return slot_error(err, errnum, id->slot);
    if (weir_attempt_slot_decode(bytes, id->slot, &status, err) < 0)
        return weir_error_code(err);
    if (status.id.serial > id->serial)
        return weir_error(err, WEIR_E_EXISTS, "slot %u: attempt %llu has it, not %llu", id->slot,
                          (unsigned long long)status.id.serial, (unsigned long long)id->serial);
    if (status.id.serial < id->serial)
        status = (struct weir_attempt_status){.seq = status.seq, .id = *id};
    *ret_status = status;
    return 0;
}

int weir_slots_view(const struct weir_slots *slots, const struct weir_attempt_id *id,
                    struct weir_attempt_view *ret_view, struct weir_err *err)
{
    struct weir_attempt_view view;

    /* A shim locks before it claims. So a claim that was seen before the lock was found free
     * belongs to a dead shim; one that is seen only afterwards says nothing: look again. */
    for (;;) {
        struct weir_attempt_status before;
        int code = read_status(slots, id, &before, err);
        int errnum;

        if (code < 0)
            return code;
        errnum = is_slot_locked(slots->fd, id->slot, &view.is_alive);
        if (errnum != 0)
            return slot_error(err, errnum, id->slot);
        view.status = before;
        if (weir_attempt_is_final(before.phase))
            break;
        code = read_status(slots, id, &view.status, err);
        if (code < 0)
            return code;
        if (view.is_alive || before.phase != WEIR_ATTEMPT_NONE ||
            view.status.phase == WEIR_ATTEMPT_NONE)
            break;
    }
    *ret_view = view;
    return 0;
}

/* With the slot locked. */
static int forbid_locked(int fd, const struct weir_attempt_id *id,
                         struct weir_attempt_status *ret_status, struct weir_err *err)
{
    struct weir_slots slots = {fd, WEIR_SLOTS_MAX, 0};
    struct weir_attempt_status status;
    int code = read_status(&slots, id, &status, err);
    int errnum;

    if (code == WEIR_E_CORRUPT)
        status = (struct weir_attempt_status){.id = *id};
    else if (code < 0)
        return code;
    if (status.phase == WEIR_ATTEMPT_NONE) {
        status.phase = WEIR_ATTEMPT_FORBIDDEN;
        status.claimed_wall_ms = weir_clock_wall_ms();
        weir_clock_boot_id(status.boot_id);
        errnum = weir_slot_write(fd, &status);
        if (errnum != 0)
            return slot_error(err, errnum, id->slot);
    }
    *ret_status = status;
    return 0;
}

int weir_slots_forbid(const struct weir_slots *slots, const struct weir_attempt_id *id,
                      struct weir_attempt_status *ret_status, struct weir_err *err)
{
    int errnum = lock_slot(slots->fd, id->slot, F_WRLCK, F_OFD_SETLK);
    struct weir_attempt_status status;
    int code;

    if (errnum == EAGAIN) {
        code = read_status(slots, id, &status, err);
        if (code == 0 && !weir_attempt_is_final(status.phase))
            code = weir_error(err, WEIR_E_UNAVAILABLE, "slot %u: a shim is at work", id->slot);
        if (code == 0)
            *ret_status = status;
        return code;
    }
    if (errnum != 0)
        return slot_error(err, errnum, id->slot);
    code = forbid_locked(slots->fd, id, ret_status, err);
    lock_slot(slots->fd, id->slot, F_UNLCK, F_OFD_SETLK);
    return code;
}
