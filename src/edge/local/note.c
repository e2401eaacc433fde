#include "edge/local/note.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_MAX = 256 };

static const char advice[] = "move it away: it is made anew, and nothing is lost";

/* In the machine's own byte order: writer and reader are on one machine. */
struct wire_note {
    uint64_t serial;
    uint32_t slot;
    uint32_t reserved;
};
_Static_assert(sizeof(struct wire_note) == WEIR_NOTE_BYTES, "a note has 16 bytes");

int weir_notes_open(const char *data_dir, int *ret_fd, struct weir_err *err)
{
    weir_cleanup_fd int dir_fd = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    weir_cleanup_fd int fd = -1;
    struct stat st;

    if (dir_fd < 0)
        return weir_error_errno(err, errno, "open data directory '%s'", data_dir);
    if (mkfifoat(dir_fd, WEIR_NOTE_FILE, 0600) < 0 && errno != EEXIST)
        return weir_error_errno(err, errno, "make '%s/" WEIR_NOTE_FILE "'", data_dir);
    /* Open for writing too, so that it never reads as ended when no shim has it open. */
    fd = openat(dir_fd, WEIR_NOTE_FILE, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0) {
        weir_error_errno(err, errno, "open '%s/" WEIR_NOTE_FILE "'", data_dir);
        return weir_error_hint(err, "%s", advice);
    }
    if (!S_ISFIFO(st.st_mode)) {
        weir_error(err, WEIR_E_EXISTS, "'%s/" WEIR_NOTE_FILE "' is not a FIFO", data_dir);
        return weir_error_hint(err, "%s", advice);
    }
    *ret_fd = WEIR_TAKE_FD(fd);
    return 0;
}

int weir_notes_read(int fd, struct weir_note *notes, size_t max, size_t *ret_n,
                    struct weir_err *err)
{
    struct wire_note wire[READ_MAX];
    size_t n_wanted = max < READ_MAX ? max : READ_MAX;
    ssize_t n;

    /* Notes are written whole (they are shorter than PIPE_BUF), so whole notes come out. */
    do
        n = read(fd, wire, n_wanted * sizeof(wire[0]));
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        return weir_error_errno(err, errno, "read notes");
    *ret_n = n > 0 ? (size_t)n / sizeof(wire[0]) : 0;
    for (size_t i = 0; i < *ret_n; i++)
        notes[i] = (struct weir_note){wire[i].serial, wire[i].slot};
    return 0;
}

void weir_note_send(const struct weir_note *note, int wait_ms)
{
    weir_cleanup_fd int fd = open(WEIR_NOTE_FILE, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    struct wire_note wire = {note->serial, note->slot, 0};
    struct pollfd watch = {.fd = fd, .events = POLLOUT};

    if (fd < 0 || write(fd, &wire, sizeof(wire)) >= 0 || errno != EAGAIN)
        return;
    if (wait_ms > 0 && poll(&watch, 1, wait_ms) > 0 && (watch.revents & POLLOUT) != 0)
        (void)!write(fd, &wire, sizeof(wire));
}
