/* edge/local/note.h — DATA/notify: a FIFO through which shims tell the server "look at my slot".
 *
 * Why a FIFO and not a datagram socket: a socket holds net.unix.max_dgram_qlen datagrams (10 where
 * nobody raised it), a FIFO thousands of notes; and its path may have any length. Notes are a hint:
 * they are lost while no server reads, so a server looks at every slot once when it starts, and now
 * and then afterwards. */
#ifndef WEIR_EDGE_LOCAL_NOTE_H
#define WEIR_EDGE_LOCAL_NOTE_H

#include <stddef.h>
#include <stdint.h>

struct weir_err;

#define WEIR_NOTE_FILE "notify"

enum { WEIR_NOTE_BYTES = 16 };

/* The status of this attempt changed (to running, exited or failed). */
struct weir_note {
    uint64_t serial;
    uint32_t slot;
};

/* Makes DATA/notify if need be, and opens it: non-blocking, readable when notes are there. What
 * else is found under that name is WEIR_E_EXISTS. */
int weir_notes_open(const char *data_dir, int *ret_fd, struct weir_err *err);
/* Takes up to max notes; *ret_n is 0 when there are none now. */
int weir_notes_read(int fd, struct weir_note *notes, size_t max, size_t *ret_n,
                    struct weir_err *err);

/* For the shim: sends to "notify" in the current directory. Waits up to wait_ms for room while a
 * server has it open, gives up silently otherwise. */
void weir_note_send(const struct weir_note *note, int wait_ms);

#endif
