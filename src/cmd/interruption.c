#include "cmd/interruption.h"

#include "base/clock.h"
#include "cmd/attach_signals.h"

#include <poll.h>
#include <stdio.h>

enum { PATIENCE_MS = 5000, SIGNAL_STATUS = 128 };

static void take(struct weir_interruption *interruption, int number)
{
    switch (number) {
    case SIGTSTP:
        raise(SIGSTOP);
        break;
    case SIGCONT:
    case SIGUSR1:
    case SIGUSR2:
        break; /* there is no command yet that could be told */
    default:
        interruption->is_repeated = interruption->number != 0;
        if (interruption->is_repeated)
            break;
        interruption->number = number;
        interruption->until_ms = weir_clock_mono_ms() + PATIENCE_MS;
        interruption->http->timeout_ms = PATIENCE_MS;
        break;
    }
}

bool weir_interruption_look(struct weir_interruption *interruption)
{
    int number;

    while (!interruption->is_repeated && (number = weir_attach_signals_take()) != 0)
        take(interruption, number);
    return interruption->is_repeated ||
           (interruption->number != 0 && weir_clock_mono_ms() > interruption->until_ms);
}

static bool on_interrupted(void *arg)
{
    return weir_interruption_look(arg);
}

void weir_interruption_init(struct weir_interruption *interruption, bool quiet,
                            struct weir_http_client *http)
{
    *interruption = (struct weir_interruption){.http = http, .quiet = quiet};
    http->interrupted = on_interrupted;
    http->interrupted_arg = interruption;
    http->wait_mask = weir_attach_signals_mask();
}

bool weir_interruption_pause(struct weir_interruption *interruption, int ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

    ppoll(NULL, 0, &time, weir_attach_signals_mask());
    return weir_interruption_look(interruption);
}

int weir_interruption_tell(const struct weir_interruption *interruption)
{
    if (!interruption->was_sent && !interruption->quiet)
        fprintf(stderr, "weir: interrupted: the job was not submitted\n");
    if (interruption->was_sent)
        fprintf(stderr, "weir: interrupted%s: the job may have been taken (see weir ps)\n",
                interruption->is_repeated ? " again" : ", and weir does not answer");
    return SIGNAL_STATUS + interruption->number;
}
