#include "edge/local/command.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "edge/local/proc.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Sets a command apart from a signal that someone sends by hand. */
#define PAYLOAD_MARK 0x5743ULL

uint64_t weir_command_pack(const struct weir_command *command)
{
    return PAYLOAD_MARK << 48 | (uint64_t)command->op << 40 | (uint64_t)command->signal << 32 |
           command->grace_ms;
}

bool weir_command_unpack(uint64_t payload, struct weir_command *ret_command)
{
    unsigned op = payload >> 40 & 0xFF;
    unsigned signal = payload >> 32 & 0xFF;
    bool needs_signal = op == WEIR_COMMAND_FORWARD || op == WEIR_COMMAND_CHECKPOINT;

    if (payload >> 48 != PAYLOAD_MARK || op == 0 || op >= WEIR_COMMAND_OP_MAX)
        return false;
    if (needs_signal && (signal < 1 || signal > 64))
        return false;
    *ret_command = (struct weir_command){(enum weir_command_op)op, (uint8_t)signal,
                                         (uint32_t)(payload & UINT32_MAX)};
    return true;
}

int weir_command_send(const struct weir_attempt_status *status, const struct weir_command *command,
                      struct weir_err *err)
{
    siginfo_t info;
    struct weir_proc proc;

    if (status->shim_pid <= 0)
        return weir_error(err, WEIR_E_NOT_FOUND, "attempt %llu has no shim",
                          (unsigned long long)status->id.serial);
    /* The descriptor first: what is read of the pid afterwards is of the same process or of a later
     * one, whose start time differs. */
    weir_cleanup_fd int fd = (int)syscall(SYS_pidfd_open, status->shim_pid, 0);
    if (fd < 0 && errno != ESRCH)
        return weir_error_errno(err, errno, "open shim %d", status->shim_pid);
    if (fd < 0 || !weir_proc_read(status->shim_pid, &proc) || weir_proc_is_dead(&proc) ||
        proc.start_ticks != status->shim_start_ticks)
        return weir_error(err, WEIR_E_NOT_FOUND, "shim %d is gone", status->shim_pid);
    memset(&info, 0, sizeof(info));
    info.si_signo = WEIR_COMMAND_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)weir_command_pack(command);
    if (syscall(SYS_pidfd_send_signal, fd, WEIR_COMMAND_SIGNAL, &info, 0) == 0)
        return 0;
    if (errno == EAGAIN)
        return weir_error(err, WEIR_E_UNAVAILABLE, "shim %d: its signal queue is full",
                          status->shim_pid);
    if (errno == ESRCH)
        return weir_error(err, WEIR_E_NOT_FOUND, "shim %d is gone", status->shim_pid);
    return weir_error_errno(err, errno, "signal shim %d", status->shim_pid);
}
