#include "model/signals.h"

#include <signal.h>
#include <stddef.h>

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
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (weir_str_eq_nocase(name, weir_str(signals[i].name)))
            return signals[i].number;
    return 0;
}

const char *weir_signal_name(int number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signals[i].number == number)
            return signals[i].name;
    return NULL;
}
