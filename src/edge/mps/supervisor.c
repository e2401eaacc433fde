#include "edge/mps/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "edge/local/proc.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 4 };
#define NEVER       INT64_MAX
#define HEALTH_LINE "get_default_active_thread_percentage\n"

enum phase {
    OFF,
    BEGINNING,
    ON,
    RESTING, /* it died; another one is begun at due_ms */
    QUITTING,
    TERMINATING,
    KILLING,
};

struct mps_daemon {
    char uuid[WEIR_MPS_UUID_MAX];
    char folder[WEIR_MPS_PATH_MAX];
    char pipe_dir[WEIR_MPS_PATH_MAX];
    char log_dir[WEIR_MPS_PATH_MAX];
    enum phase phase;
    bool is_wanted;
    bool is_end_asked; /* its end is no failure */
    bool has_answered; /* once since begin() */
    struct weir_mps_process process;
    struct weir_mps_process question;
    bool is_stale;     /* the question: its answer does not count */
    int64_t due_ms;    /* of the phase; NEVER: none */
    int64_t ask_ms;    /* the next question; NEVER: none */
    int64_t answer_ms; /* the question must be answered by then; NEVER: the phase's time counts */
    int64_t on_ms;     /* when it came on */
    uint32_t n_tries;  /* begun anew in a row */
    uint32_t n_deaths;
    uint32_t n_failures;
    char why[WEIR_MPS_WHY_MAX];
};

struct weir_mps_supervisor {
    char root[WEIR_MPS_PATH_MAX];
    struct weir_mps_program program;
    struct weir_mps_times times;
    int epoll_fd;
    int timer_fd;
    struct daemons weir_vec(struct mps_daemon *) daemons;
    bool is_changed;
};

struct weir_mps_times weir_mps_times_default(void)
{
    return (struct weir_mps_times){.begin_ms = 20000,
                                   .retry_ms = 100,
                                   .health_ms = 10000,
                                   .answer_ms = 5000,
                                   .quit_ms = 10000,
                                   .terminate_ms = 3000,
                                   .rest_ms = 1000,
                                   .settled_ms = 60000,
                                   .tries = 5};
}

/* ---- watching ---- */

static void watch(struct weir_mps_supervisor *s, const struct weir_mps_process *process)
{
    struct epoll_event event = {.events = EPOLLIN};

    /* Where it cannot be watched its end is seen when the next thing is due. */
    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, process->fd, &event);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t due_of(const struct mps_daemon *d)
{
    if (d->question.pid == 0)
        return earlier(d->due_ms, d->ask_ms);
    return d->is_stale ? d->due_ms : earlier(d->due_ms, d->answer_ms);
}

static void arm(const struct weir_mps_supervisor *s)
{
    struct itimerspec spec = {0};
    int64_t due = NEVER;

    for (size_t i = 0; i < s->daemons.n; i++)
        due = earlier(due, due_of(s->daemons.items[i]));
    if (due != NEVER) {
        due = due < 1 ? 1 : due;
        spec.it_value.tv_sec = due / 1000;
        spec.it_value.tv_nsec = due % 1000 * 1000000;
    }
    timerfd_settime(s->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* ---- steps ---- */

static void enter(struct weir_mps_supervisor *s, struct mps_daemon *d, enum phase phase,
                  int64_t due_ms)
{
    d->phase = phase;
    d->due_ms = due_ms;
    d->ask_ms = NEVER;
    s->is_changed = true;
}

static void ask(struct weir_mps_supervisor *s, struct mps_daemon *d, const char *line,
                int64_t answer_ms, int64_t now)
{
    struct weir_err cannot = WEIR_ERR_INIT;

    if (weir_mps_ask(&s->program, d->folder, line, &d->question, &cannot) < 0) {
        d->ask_ms = now + s->times.retry_ms; /* no process could be made: that says nothing of it */
        return;
    }
    watch(s, &d->question);
    d->ask_ms = NEVER;
    d->answer_ms = answer_ms;
}

static void drop_question(struct mps_daemon *d)
{
    weir_mps_signal(&d->question, SIGKILL);
    d->is_stale = d->question.pid != 0;
}

static void kill_hung(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t waited_ms)
{
    snprintf(d->why, sizeof(d->why), "it did not answer within %lld ms", (long long)waited_ms);
    drop_question(d);
    weir_mps_signal(&d->process, SIGKILL);
    enter(s, d, KILLING, NEVER);
}

static void terminate(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t now)
{
    drop_question(d);
    weir_mps_signal(&d->process, SIGTERM);
    enter(s, d, TERMINATING, now + s->times.terminate_ms);
}

static int start(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t now,
                 struct weir_err *err)
{
    int r = weir_mps_make_folder(d->folder, err);

    if (r == 0)
        r = weir_mps_start(&s->program, d->folder, d->uuid, &d->process, err);
    if (r < 0)
        return r;
    watch(s, &d->process);
    d->is_end_asked = false;
    enter(s, d, BEGINNING, now + s->times.begin_ms);
    d->ask_ms = now + s->times.retry_ms;
    return 0;
}

/* One that once answered is begun again, later each time; one that never did is not: whoever asked
 * for it hears of that. */
static void rest(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t now)
{
    if (d->has_answered && d->n_tries < s->times.tries) {
        enter(s, d, RESTING, now + (s->times.rest_ms << d->n_tries));
        d->n_tries++;
        return;
    }
    d->is_wanted = false;
    d->n_failures++;
    enter(s, d, OFF, NEVER);
}

static void start_again(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t now)
{
    struct weir_err cannot = WEIR_ERR_INIT;

    if (start(s, d, now, &cannot) == 0)
        return;
    snprintf(d->why, sizeof(d->why), "%.*s",
             WEIR_STR_ARG(weir_str_cut(weir_str(cannot.text), sizeof(d->why) - 1)));
    rest(s, d, now);
}

static void take_end(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t now)
{
    bool was_hung = d->phase == KILLING && !d->is_end_asked; /* then why says so already */
    bool was_on = d->phase == ON || (was_hung && d->has_answered);
    int status;

    if (!weir_mps_has_ended(&d->process, &status))
        return;
    drop_question(d);
    if (d->phase == ON && now - d->on_ms >= s->times.settled_ms)
        d->n_tries = 0;
    if (!was_hung && !d->is_end_asked)
        weir_mps_say_end(d->folder, status, d->why, sizeof(d->why));
    d->n_deaths += was_on && !d->is_end_asked ? 1 : 0;
    weir_mps_clear(d->folder);
    if (!d->is_wanted)
        enter(s, d, OFF, NEVER);
    else if (d->is_end_asked)
        start_again(s, d, now);
    else
        rest(s, d, now);
}

static void take_answer(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t now)
{
    bool counts = !d->is_stale;
    int status;

    if (!weir_mps_has_ended(&d->question, &status))
        return;
    d->is_stale = false;
    if (!counts)
        return;
    if (d->phase == BEGINNING && status == 0) {
        enter(s, d, ON, NEVER);
        d->on_ms = now;
        d->has_answered = true;
        d->ask_ms = now + s->times.health_ms;
    } else if (d->phase == BEGINNING) {
        d->ask_ms = now + s->times.retry_ms;
    } else if (d->phase == ON && status == 0) {
        d->ask_ms = now + s->times.health_ms;
    } else if (d->phase == ON) {
        kill_hung(s, d, 0);
        snprintf(d->why, sizeof(d->why), "it refused to answer");
    } else if (d->phase == QUITTING && status != 0) {
        terminate(s, d, now);
    }
}

static void take_time(struct weir_mps_supervisor *s, struct mps_daemon *d, int64_t now)
{
    char line[32];

    if (d->question.pid != 0 && !d->is_stale && now >= d->answer_ms) {
        drop_question(d);
        d->ask_ms = now + s->times.retry_ms;
        if (d->phase == ON)
            kill_hung(s, d, s->times.answer_ms);
    }
    if (d->phase == BEGINNING && now >= d->due_ms)
        kill_hung(s, d, s->times.begin_ms);
    else if (d->phase == RESTING && now >= d->due_ms)
        start_again(s, d, now);
    else if (d->phase == QUITTING && now >= d->due_ms)
        terminate(s, d, now);
    else if (d->phase == TERMINATING && now >= d->due_ms) {
        weir_mps_signal(&d->process, SIGKILL);
        enter(s, d, KILLING, NEVER);
    }
    if (now < d->ask_ms || d->question.pid != 0)
        return;
    snprintf(line, sizeof(line), "quit -t %lld\n", (long long)(s->times.quit_ms + 999) / 1000);
    if (d->phase == QUITTING)
        ask(s, d, line, NEVER, now);
    else
        ask(s, d, HEALTH_LINE, now + s->times.answer_ms, now);
}

static bool service(void *ctx)
{
    struct weir_mps_supervisor *s = ctx;
    int64_t now = weir_clock_mono_ms();
    bool was_changed;
    uint64_t n;

    (void)!read(s->timer_fd, &n, sizeof(n));
    weir_vec_foreach (d, &s->daemons) {
        take_answer(s, *d, now);
        take_end(s, *d, now);
        take_time(s, *d, now);
    }
    arm(s);
    was_changed = s->is_changed;
    s->is_changed = false;
    return was_changed;
}

/* ---- the port ---- */

static struct mps_daemon *find(const struct weir_mps_supervisor *s, struct weir_str uuid)
{
    for (size_t i = 0; i < s->daemons.n; i++)
        if (weir_str_eq_c(uuid, s->daemons.items[i]->uuid))
            return s->daemons.items[i];
    return NULL;
}

/* What is behind the last dash: paths of sockets are short. */
static struct weir_str folder_name(struct weir_str uuid)
{
    size_t from = uuid.len;

    while (from > 0 && uuid.ptr[from - 1] != '-')
        from--;
    return weir_str_sub(uuid, from, uuid.len);
}

/* The end of the name becomes a folder's. */
static int check_uuid(const struct weir_mps_supervisor *s, struct weir_str uuid,
                      struct weir_err *err)
{
    struct weir_str name = folder_name(uuid);

    if (name.len == 0 || name.ptr[0] == '.' || weir_str_find_char(name, '/') >= 0)
        return weir_error(err, WEIR_E_INVALID, "the name of the GPU cannot be that of a folder");
    if (uuid.len >= WEIR_MPS_UUID_MAX ||
        strlen(s->root) + 1 + name.len + WEIR_MPS_SOCKET_MAX > WEIR_MPS_PATH_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE,
                          "the name of the GPU is too long for the sockets of MPS");
    for (size_t i = 0; i < s->daemons.n; i++)
        if (weir_str_eq(folder_name(weir_str(s->daemons.items[i]->uuid)), name))
            return weir_error(err, WEIR_E_UNSUPPORTED,
                              "the name of the GPU ends as that of another one under MPS");
    return 0;
}

static int add(struct weir_mps_supervisor *s, struct weir_str uuid, struct mps_daemon **ret,
               struct weir_err *err)
{
    struct mps_daemon *d;
    int r = check_uuid(s, uuid, err);

    if (r < 0)
        return r;
    d = weir_mem_alloc_array(1, sizeof(*d));
    if (d == NULL || weir_vec_push(&s->daemons, d) < 0) {
        weir_mem_free(d);
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for an MPS daemon");
    }
    *d = (struct mps_daemon){.process = WEIR_MPS_PROCESS_NONE,
                             .question = WEIR_MPS_PROCESS_NONE,
                             .due_ms = NEVER,
                             .ask_ms = NEVER};
    snprintf(d->uuid, sizeof(d->uuid), "%.*s", WEIR_STR_ARG(uuid));
    weir_str_format(d->folder, sizeof(d->folder), "%s/%.*s", s->root,
                    WEIR_STR_ARG(folder_name(uuid)));
    weir_str_format(d->pipe_dir, sizeof(d->pipe_dir), "%s/pipe", d->folder);
    weir_str_format(d->log_dir, sizeof(d->log_dir), "%s/log", d->folder);
    *ret = d;
    return 0;
}

static int begin(void *ctx, struct weir_str uuid, struct weir_err *err)
{
    struct weir_mps_supervisor *s = ctx;
    struct mps_daemon *d = find(s, uuid);
    int r = 0;

    if (s->program.exe == NULL)
        return weir_error(err, WEIR_E_UNSUPPORTED, "there is no MPS control program");
    if (d == NULL)
        r = add(s, uuid, &d, err);
    if (r < 0 || d->is_wanted)
        return r;
    d->has_answered = false;
    d->n_tries = 0;
    if (d->phase == OFF)
        r = start(s, d, weir_clock_mono_ms(), err);
    d->is_wanted = r == 0; /* of one that is ending: when it has ended */
    arm(s);
    return r;
}

static void end(void *ctx, struct weir_str uuid)
{
    struct weir_mps_supervisor *s = ctx;
    struct mps_daemon *d = find(s, uuid);
    int64_t now = weir_clock_mono_ms();

    if (d == NULL || !d->is_wanted)
        return;
    d->is_wanted = false;
    d->is_end_asked = true;
    if (d->phase == RESTING) {
        enter(s, d, OFF, NEVER);
    } else if (d->phase == BEGINNING || d->phase == ON) {
        drop_question(d);
        enter(s, d, QUITTING, now + s->times.quit_ms + s->times.terminate_ms);
        d->ask_ms = now;
        if (s->program.exe == NULL)
            terminate(s, d, now);
    }
    arm(s);
}

static enum weir_mps state_of(const struct mps_daemon *d)
{
    if (d->phase == ON || d->phase == OFF)
        return d->phase == ON ? WEIR_MPS_ON : WEIR_MPS_OFF;
    return d->is_wanted ? WEIR_MPS_STARTING : WEIR_MPS_STOPPING;
}

static void look(void *ctx, struct weir_str uuid, struct weir_mps_facts *ret_facts)
{
    const struct mps_daemon *d = find(ctx, uuid);

    *ret_facts = (struct weir_mps_facts){.state = WEIR_MPS_OFF};
    if (d == NULL)
        return;
    *ret_facts = (struct weir_mps_facts){.state = state_of(d),
                                         .n_deaths = d->n_deaths,
                                         .n_failures = d->n_failures,
                                         .pipe_dir = weir_str(d->pipe_dir),
                                         .log_dir = weir_str(d->log_dir)};
    memcpy(ret_facts->why, d->why, sizeof(ret_facts->why));
}

static bool owns(void *ctx, uint32_t pid)
{
    const struct weir_mps_supervisor *s = ctx;
    struct weir_proc proc = {.ppid = (pid_t)pid};

    for (int i = 0; i < ANCESTORS_MAX && proc.ppid > 1; i++) {
        for (size_t d = 0; d < s->daemons.n; d++)
            if (s->daemons.items[d]->process.pid == proc.ppid)
                return true;
        if (!weir_proc_read(proc.ppid, &proc))
            return false;
    }
    return false;
}

/* ---- opening ---- */

static int adopt(struct weir_mps_supervisor *s, const char *name, int64_t now, struct weir_err *err)
{
    char folder[WEIR_MPS_PATH_MAX];
    char uuid[WEIR_MPS_UUID_MAX];
    struct weir_mps_process process;
    struct mps_daemon *d;
    int r;

    if (strlen(s->root) + 1 + strlen(name) + WEIR_MPS_SOCKET_MAX > WEIR_MPS_PATH_MAX)
        return 0; /* then it is no folder of ours */
    weir_str_format(folder, sizeof(folder), "%s/%s", s->root, name);
    if (!weir_mps_find(folder, &process, uuid)) {
        weir_mps_clear(folder);
        return 0;
    }
    r = add(s, weir_str(uuid), &d, err);
    if (r < 0) {
        weir_mps_forget(&process);
        return r == WEIR_E_NO_MEMORY ? r : 0;
    }
    d->process = process;
    watch(s, &d->process);
    d->is_wanted = true;
    enter(s, d, s->program.exe != NULL ? BEGINNING : ON, NEVER);
    if (s->program.exe == NULL)
        return 0;
    d->due_ms = now + s->times.answer_ms;
    d->ask_ms = now;
    return 0;
}

static int adopt_all(struct weir_mps_supervisor *s, struct weir_err *err)
{
    int64_t now = weir_clock_mono_ms();
    DIR *dir = opendir(s->root);
    const struct dirent *entry;
    int r = 0;

    if (dir == NULL)
        return weir_error_errno(err, errno, "list '%s'", s->root);
    while (r == 0 && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            r = adopt(s, entry->d_name, now, err);
    closedir(dir);
    return r;
}

static int open_fds(struct weir_mps_supervisor *s, const char *data_dir, struct weir_err *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    weir_str_format(s->root, sizeof(s->root), "%s/mps", data_dir);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->epoll_fd < 0 || s->timer_fd < 0 ||
        epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->timer_fd, &event) < 0)
        return weir_error_errno(err, errno, "watch the MPS daemons");
    if (mkdir(s->root, 0711) < 0 && errno != EEXIST)
        return weir_error_errno(err, errno, "make '%s'", s->root);
    return chmod(s->root, 0711) < 0 ? weir_error_errno(err, errno, "open up '%s'", s->root) : 0;
}

int weir_mps_open(const char *data_dir, const struct weir_mps_program *program,
                  struct weir_mps_times times, struct weir_mps_supervisor **ret_supervisor,
                  struct weir_mps_port *ret_port, struct weir_err *err)
{
    struct weir_mps_supervisor *s = weir_mem_alloc_array(1, sizeof(*s));
    int r;

    if (s == NULL)
        return weir_error(err, WEIR_E_NO_MEMORY, "no memory for the MPS daemons");
    *s = (struct weir_mps_supervisor){
        .program = *program, .times = times, .epoll_fd = -1, .timer_fd = -1};
    r = strlen(data_dir) <= WEIR_MPS_DATA_DIR_MAX
            ? open_fds(s, data_dir, err)
            : weir_error(err, WEIR_E_TOO_LARGE,
                         "the path of the data directory is longer than the %d bytes that the "
                         "sockets of MPS leave",
                         WEIR_MPS_DATA_DIR_MAX);
    if (r == 0)
        r = adopt_all(s, err);
    if (r < 0) {
        weir_mps_close(s);
        return r;
    }
    arm(s);
    *ret_supervisor = s;
    *ret_port = (struct weir_mps_port){s,       program->exe != NULL, begin, end, look, owns,
                                       service, s->epoll_fd};
    return 0;
}

struct weir_mps_supervisor *weir_mps_close(struct weir_mps_supervisor *s)
{
    if (s == NULL)
        return NULL;
    weir_vec_foreach (d, &s->daemons) {
        weir_mps_signal(&(*d)->question, SIGKILL);
        weir_mps_forget(&(*d)->question);
        weir_mps_forget(&(*d)->process);
        weir_mem_free(*d);
    }
    weir_vec_finish(&s->daemons);
    if (s->epoll_fd >= 0)
        close(s->epoll_fd);
    if (s->timer_fd >= 0)
        close(s->timer_fd);
    return weir_mem_free(s);
}

/* ---- the program ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return path[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool weir_mps_find_program(const char *name, char *ret_path, size_t size)
{
    const char *path = getenv("PATH");
    struct weir_str rest = weir_str(path != NULL ? path : "/usr/local/bin:/usr/bin:/bin");
    struct weir_str dir;

    if (strchr(name, '/') != NULL) {
        char *real = realpath(name, NULL);
        bool is_there = real != NULL && strlen(real) < size && is_program(real);

        if (is_there)
            memcpy(ret_path, real, strlen(real) + 1);
        free(real);
        return is_there;
    }
    while (name[0] != '\0' && weir_str_split(&rest, ':', &dir))
        if (snprintf(ret_path, size, "%.*s/%s", WEIR_STR_ARG(dir), name) < (int)size &&
            is_program(ret_path))
            return true;
    return false;
}
