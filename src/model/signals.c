#include "model/signals.h"

#include "base/count.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

enum { SIGNAL_STATUS = 128, SIGNAL_MAX = 64 };

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ILL", SIGILL},   {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT}, {"BUS", SIGBUS},   {"FPE", SIGFPE},   {"KILL", SIGKILL}, {"USR1", SIGUSR1},
    {"SEGV", SIGSEGV}, {"USR2", SIGUSR2}, {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CHLD", SIGCHLD}, {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN},
    {"TTOU", SIGTTOU}, {"URG", SIGURG},   {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ}, {"WINCH", SIGWINCH},
    {"IO", SIGIO},     {"PWR", SIGPWR},   {"SYS", SIGSYS},
};

int weir_signal_number(struct weir_str name)
{
    uint64_t number;

    if (weir_str_to_u64(name, &number))
        return number >= 1 && number <= 31 ? (int)number : 0;
    if (name.len > 3 && weir_str_eq_nocase(weir_str_sub(name, 0, 3), WEIR_STR("SIG")))
        name = weir_str_sub(name, 3, name.len);
    for (size_t i = 0; i < WEIR_COUNT_OF(signals); i++)
        if (weir_str_eq_nocase(name, weir_str(signals[i].name)))
            return signals[i].number;
    return 0;
}

const char *weir_signal_name(int number)
{
    for (size_t i = 0; i < WEIR_COUNT_OF(signals); i++)
        if (signals[i].number == number)
            return signals[i].name;
    return NULL;
}

const char *weir_status_text(int status, char ret_text[WEIR_STATUS_TEXT_MAX])
{
    bool is_signal = status > SIGNAL_STATUS && status <= SIGNAL_STATUS + SIGNAL_MAX;
    const char *name = is_signal ? weir_signal_name(status - SIGNAL_STATUS) : NULL;

    if (name != NULL)
        snprintf(ret_text, WEIR_STATUS_TEXT_MAX, "killed by signal %d (%s)", status - SIGNAL_STATUS,
                 name);
    else if (is_signal)
        snprintf(ret_text, WEIR_STATUS_TEXT_MAX, "killed by signal %d", status - SIGNAL_STATUS);
    else
        snprintf(ret_text, WEIR_STATUS_TEXT_MAX, "exit %d", status);
    return ret_text;
}
