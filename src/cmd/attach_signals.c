#include "cmd/attach_signals.h"

#include "base/count.h"
#include "base/err.h"

#include <poll.h>
#include <stddef.h>

static const struct {
    int number;
    const char *name;
} caught[] = {
    {SIGINT, "INT"},   {SIGTERM, "TERM"}, {SIGHUP, "HUP"},   {SIGQUIT, "QUIT"},
    {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGTSTP, "TSTP"}, {SIGCONT, "CONT"},
};

enum { N_CAUGHT = WEIR_COUNT_OF(caught) };

static volatile sig_atomic_t pending[N_CAUGHT];
static sigset_t mask_before;
static sigset_t mask_waiting;
static sigset_t caught_set;
static struct sigaction actions_before[N_CAUGHT];
static struct sigaction pipe_before;

static void on_signal(int number)
{
    for (size_t i = 0; i < N_CAUGHT; i++)
        if (caught[i].number == number)
            pending[i] = 1;
}

void weir_attach_signals_begin(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigemptyset(&caught_set);
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaddset(&caught_set, caught[i].number);
    sigprocmask(SIG_BLOCK, &caught_set, &mask_before);
    mask_waiting = mask_before;
    for (size_t i = 0; i < N_CAUGHT; i++) {
        /* What whoever started us has ignored stays so: nohup, a shell's background job. */
        sigaction(caught[i].number, NULL, &actions_before[i]);
        if (actions_before[i].sa_handler == SIG_IGN)
            continue;
        sigdelset(&mask_waiting, caught[i].number);
        sigaction(caught[i].number, &action, NULL);
    }
    sigaction(SIGPIPE, &ignore, &pipe_before);
}

void weir_attach_signals_end(void)
{
    weir_attach_signals_look(); /* one that came too late must not take the outcome with it */
    for (size_t i = 0; i < N_CAUGHT; i++)
        sigaction(caught[i].number, &actions_before[i], NULL);
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

const sigset_t *weir_attach_signals_mask(void)
{
    return &mask_waiting;
}

int weir_attach_signals_take(void)
{
    for (size_t i = 0; i < N_CAUGHT; i++) {
        if (pending[i] == 0)
            continue;
        pending[i] = 0;
        return caught[i].number;
    }
    return 0;
}

void weir_attach_signals_look(void)
{
    struct timespec now = {0, 0};

    ppoll(NULL, 0, &now, &mask_waiting);
}

void weir_attach_signals_allow(bool allow)
{
    sigprocmask(SIG_SETMASK, &mask_waiting, NULL);
    if (!allow)
        sigprocmask(SIG_BLOCK, &caught_set, NULL);
}

const char *weir_attach_signals_name(int number)
{
    for (size_t i = 0; i < N_CAUGHT; i++)
        if (caught[i].number == number)
            return caught[i].name;
    WEIR_BUG("a signal that is not caught");
}
