#include "edge/nvml/sim_orders.h"

#include "base/arena.h"
#include "base/char.h"
#include "base/err.h"
#include "base/sort.h"
#include "base/time.h"
#include "edge/nvml/nvml_abi_values.h"

#include <inttypes.h>

enum { RELOAD_MS = 2000, ECC_MAX = 1000000, WATT_MAX = 100000 };

struct reader {
    struct weir_str line;
    size_t at;
    size_t word_at; /* of the last word taken */
    uint32_t number;
    struct weir_err *err;
};

static int fail_at_word(const struct reader *in)
{
    return weir_error_at(in->err, in->number, (uint32_t)in->word_at + 1);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word; empty at the end of the line. */
static struct weir_str next_word(struct reader *in)
{
    size_t from;

    while (in->at < in->line.len && is_blank(in->line.ptr[in->at]))
        in->at++;
    from = in->at;
    while (in->at < in->line.len && !is_blank(in->line.ptr[in->at]))
        in->at++;
    in->word_at = from;
    return weir_str_sub(in->line, from, in->at - from);
}

static int expected(const struct reader *in, struct weir_str word, const char *what)
{
    char shown[WEIR_STR_SHOW_MAX];

    if (word.len == 0)
        weir_error(in->err, WEIR_E_INVALID, "%s expected at the end of the line", what);
    else
        weir_error(in->err, WEIR_E_INVALID, "%s expected, not '%s'", what,
                   weir_str_show(word, shown));
    return fail_at_word(in);
}

static int read_number(struct reader *in, const char *what, uint64_t max, uint64_t *ret_number)
{
    struct weir_str word = next_word(in);
    uint64_t number;

    if (!weir_str_to_u64(word, &number) || number == 0)
        return expected(in, word, what);
    if (number > max) {
        weir_error(in->err, WEIR_E_INVALID, "%s is at most %" PRIu64, what, max);
        return fail_at_word(in);
    }
    *ret_number = number;
    return 0;
}

static int read_duration(struct reader *in, struct weir_str word, int64_t *ret_ms)
{
    if (word.len == 0)
        return expected(in, word, "a duration like 30s");
    if (weir_duration_parse(word, ret_ms, in->err) < 0)
        return fail_at_word(in);
    return 0;
}

/* Which of the words it is, or -1. */
static int choose(struct weir_str word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (weir_str_eq_c(word, words[i]))
            return i;
    return -1;
}

static int read_xid(struct reader *in, struct weir_sim_fault *fault)
{
    struct weir_str word;
    uint64_t pid;
    int rc = read_number(in, "the code of an XID", 9999, &fault->amount);

    if (rc < 0)
        return rc;
    word = next_word(in);
    if (word.len == 0)
        return 0;
    if (!weir_str_eq_c(word, "pid"))
        return expected(in, word, "'pid' or nothing");
    rc = read_number(in, "a process id", INT32_MAX, &pid);
    if (rc == 0)
        fault->pid = (uint32_t)pid;
    return rc;
}

static int read_ecc(struct reader *in, struct weir_sim_fault *fault)
{
    static const char *const kinds[] = {"corrected", "uncorrected", ""};
    struct weir_str word;
    int kind;
    int rc = read_number(in, "a number of errors", ECC_MAX, &fault->amount);

    if (rc < 0)
        return rc;
    word = next_word(in);
    kind = choose(word, kinds, 3);
    if (kind < 0)
        return expected(in, word, "'corrected', 'uncorrected' or nothing");
    fault->which = kind == 0 ? WEIR_NVML_ECC_CORRECTED : WEIR_NVML_ECC_UNCORRECTED;
    return 0;
}

static int read_remap(struct reader *in, struct weir_sim_fault *fault)
{
    static const char *const kinds[] = {[WEIR_SIM_REMAP_CORRECTABLE] = "correctable",
                                        [WEIR_SIM_REMAP_UNCORRECTABLE] = "uncorrectable",
                                        [WEIR_SIM_REMAP_FAILED] = "failed"};
    struct weir_str word = next_word(in);
    int kind = choose(word, kinds, 3);

    if (kind < 0)
        return expected(in, word, "'correctable', 'uncorrectable' or 'failed'");
    fault->which = (uint32_t)kind;
    fault->amount = 1;
    return kind == WEIR_SIM_REMAP_FAILED
               ? 0
               : read_number(in, "a number of rows", 1024, &fault->amount);
}

/* "off", or a number. */
static int read_limit(struct reader *in, const char *what, uint64_t max, uint64_t unit,
                      struct weir_sim_fault *fault)
{
    struct reader ahead = *in;
    int rc;

    if (weir_str_eq_c(next_word(&ahead), "off")) {
        *in = ahead;
        fault->amount = 0;
        return 0;
    }
    rc = read_number(in, what, max, &fault->amount);
    fault->amount *= unit;
    return rc;
}

static int read_hang(struct reader *in, struct weir_sim_fault *fault)
{
    struct weir_str word = next_word(in);
    int64_t ms;
    int rc;

    if (weir_str_eq_c(word, "forever")) {
        fault->amount = (uint64_t)WEIR_SIM_NEVER;
        return 0;
    }
    rc = read_duration(in, word, &ms);
    if (rc == 0)
        fault->amount = (uint64_t)ms;
    return rc;
}

static int read_action(struct reader *in, struct weir_sim_fault *fault)
{
    static const char *const actions[] = {
        [WEIR_NVML_RECOVERY_NONE] = "none",
        [WEIR_NVML_RECOVERY_GPU_RESET] = "reset",
        [WEIR_NVML_RECOVERY_NODE_REBOOT] = "reboot",
        [WEIR_NVML_RECOVERY_DRAIN_P2P] = "drain-p2p",
        [WEIR_NVML_RECOVERY_DRAIN_AND_RESET] = "drain-and-reset",
    };
    struct weir_str word = next_word(in);
    int action = choose(word, actions, WEIR_NVML_RECOVERY_DRAIN_AND_RESET + 1);

    if (action < 0)
        return expected(in, word, "'none', 'reset', 'reboot', 'drain-p2p' or 'drain-and-reset'");
    fault->which = (uint32_t)action;
    return 0;
}

static int read_fault(struct reader *in, struct weir_sim_fault *fault)
{
    static const char *const kinds[WEIR_SIM_FAULT_MAX] = {
        [WEIR_SIM_FAULT_XID] = "xid",
        [WEIR_SIM_FAULT_LOST] = "lost",
        [WEIR_SIM_FAULT_RESET_REQUIRED] = "reset-required",
        [WEIR_SIM_FAULT_RECOVERED] = "recovered",
        [WEIR_SIM_FAULT_ACTION] = "action",
        [WEIR_SIM_FAULT_ECC] = "ecc",
        [WEIR_SIM_FAULT_REMAP] = "remap",
        [WEIR_SIM_FAULT_THERMAL] = "thermal",
        [WEIR_SIM_FAULT_POWER] = "power",
        [WEIR_SIM_FAULT_HANG] = "hang",
    };
    struct weir_str word = next_word(in);
    int kind = choose(word, kinds, WEIR_SIM_FAULT_MAX);

    if (kind < 0) {
        expected(in, word, "a fault");
        return weir_error_hint(in->err, "faults are xid, lost, reset-required, recovered, action, "
                                        "ecc, remap, thermal, power and hang");
    }
    fault->kind = (uint32_t)kind;
    switch ((enum weir_sim_fault_kind)kind) {
    case WEIR_SIM_FAULT_XID:
        return read_xid(in, fault);
    case WEIR_SIM_FAULT_ACTION:
        return read_action(in, fault);
    case WEIR_SIM_FAULT_ECC:
        return read_ecc(in, fault);
    case WEIR_SIM_FAULT_REMAP:
        return read_remap(in, fault);
    case WEIR_SIM_FAULT_THERMAL:
        return read_limit(in, "degrees Celsius or 'off'", 120, 1, fault);
    case WEIR_SIM_FAULT_POWER:
        return read_limit(in, "a number of watts or 'off'", WATT_MAX, 1000, fault);
    case WEIR_SIM_FAULT_HANG:
        return read_hang(in, fault);
    case WEIR_SIM_FAULT_LOST:
    case WEIR_SIM_FAULT_RESET_REQUIRED:
    case WEIR_SIM_FAULT_RECOVERED:
    case WEIR_SIM_FAULT_MAX:
        break;
    }
    return 0;
}

static int read_reload(struct reader *in, struct weir_sim_order *order)
{
    struct weir_str word = next_word(in);

    if (!weir_str_eq_c(word, "reload"))
        return expected(in, word, "'reload'");
    order->is_reload = true;
    order->down_ms = RELOAD_MS;
    word = next_word(in);
    return word.len == 0 ? 0 : read_duration(in, word, &order->down_ms);
}

static int read_gpu(struct reader *in, struct weir_sim_order *order)
{
    order->gpu = next_word(in);
    order->gpu_column = (uint32_t)in->word_at + 1;
    if (order->gpu.len == 0)
        return expected(in, order->gpu, "which GPU it is (3, sim-1/3, a UUID or 'all')");
    return read_fault(in, &order->fault);
}

/* "+30s" or "at 30s"; what follows is the next word. */
static int read_instant(struct reader *in, struct weir_str *word, struct weir_sim_order *order)
{
    struct weir_str duration = weir_str_sub(*word, 1, word->len);
    int rc;

    if (weir_str_eq_c(*word, "at"))
        duration = next_word(in);
    else if (word->ptr[0] != '+')
        return 0;
    rc = read_duration(in, duration, &order->after_ms);
    if (rc == 0)
        *word = next_word(in);
    return rc;
}

static int read_node(struct reader *in, struct weir_str *word, struct weir_sim_order *order)
{
    order->node = next_word(in);
    order->node_column = (uint32_t)in->word_at + 1;
    if (order->node.len == 0)
        return expected(in, order->node, "the name of a node");
    *word = next_word(in);
    return weir_str_eq_c(*word, "gpu") ? 0 : expected(in, *word, "'gpu'");
}

static int read_order(struct reader *in, struct weir_str word, struct weir_sim_order *order)
{
    size_t from;
    int rc = read_instant(in, &word, order);

    from = in->word_at;
    if (rc == 0 && weir_str_eq_c(word, "node"))
        rc = read_node(in, &word, order);
    if (rc < 0)
        return rc;
    if (weir_str_eq_c(word, "gpu"))
        rc = read_gpu(in, order);
    else if (weir_str_eq_c(word, "driver"))
        rc = read_reload(in, order);
    else
        return expected(in, word, "'gpu', 'node' or 'driver'");
    if (rc < 0)
        return rc;
    order->text = weir_str_trim(weir_str_sub(in->line, from, in->line.len));
    word = next_word(in);
    return word.len == 0 ? 0 : expected(in, word, "nothing more");
}

static int by_instant(const void *a, const void *b, const void *ctx)
{
    const struct weir_sim_order *x = a;
    const struct weir_sim_order *y = b;

    (void)ctx;
    return x->after_ms < y->after_ms ? -1 : x->after_ms > y->after_ms;
}

static int read_line(struct reader *in, struct weir_arena *arena, struct weir_sim_order **orders,
                     uint32_t *n, uint32_t *cap)
{
    ptrdiff_t comment = weir_str_find_char(in->line, '#');
    struct weir_sim_order order = {.line = in->number};
    struct weir_str word;
    int rc;

    if (comment >= 0)
        in->line.len = (size_t)comment;
    word = next_word(in);
    if (word.len == 0)
        return 0;
    if (*n == WEIR_SIM_ORDERS_MAX) {
        weir_error(in->err, WEIR_E_TOO_LARGE, "more than %d faults", WEIR_SIM_ORDERS_MAX);
        return fail_at_word(in);
    }
    rc = read_order(in, word, &order);
    if (rc < 0)
        return rc;
    if (weir_arena_grow(arena, orders, cap, *n + 1, sizeof(order)) < 0)
        return weir_error(in->err, WEIR_E_NO_MEMORY, "no memory for the faults");
    (*orders)[(*n)++] = order;
    return 0;
}

int weir_sim_orders_parse(struct weir_str text, struct weir_arena *arena,
                          struct weir_sim_order **ret_orders, size_t *ret_n, struct weir_err *err)
{
    struct reader in = {.err = err};
    struct weir_sim_order *orders = NULL;
    uint32_t n = 0;
    uint32_t cap = 0;
    int rc = 0;

    if (text.len > WEIR_SIM_ORDERS_BYTES_MAX)
        return weir_error(err, WEIR_E_TOO_LARGE, "the faults are longer than %d bytes",
                          WEIR_SIM_ORDERS_BYTES_MAX);
    while (rc == 0 && weir_str_split(&text, '\n', &in.line)) {
        in.at = 0;
        in.number++;
        rc = read_line(&in, arena, &orders, &n, &cap);
    }
    if (rc == 0 && n > 1 && weir_sort(orders, n, sizeof(orders[0]), by_instant, NULL, arena) < 0)
        rc = weir_error(err, WEIR_E_NO_MEMORY, "no memory for the faults");
    if (rc < 0)
        return rc;
    *ret_orders = orders;
    *ret_n = n;
    return 0;
}

/* Does the order mean this GPU? `place` is its number in its node. */
static bool means(const struct weir_sim_order *order, const struct weir_sim_facts *facts,
                  uint32_t index, uint32_t place)
{
    ptrdiff_t slash = weir_str_find_char(order->gpu, '/');
    uint64_t number;

    if (order->node.len > 0 && !weir_str_eq_c(order->node, facts->node))
        return false;
    if (weir_str_eq_c(order->gpu, "all") || weir_str_eq_c(order->gpu, facts->uuid))
        return true;
    if (weir_str_to_u64(order->gpu, &number))
        return number == (order->node.len > 0 ? place : index);
    return slash > 0 && weir_str_eq_c(weir_str_sub(order->gpu, 0, (size_t)slash), facts->node) &&
           weir_str_to_u64(weir_str_sub(order->gpu, (size_t)slash + 1, order->gpu.len), &number) &&
           number == place;
}

static int not_there(const struct weir_sim_fleet *fleet, const struct weir_sim_order *order,
                     struct weir_err *err)
{
    char gpu[WEIR_STR_SHOW_MAX];
    char node[WEIR_STR_SHOW_MAX];
    bool is_node_there = false;

    for (uint32_t i = 0; i < weir_sim_fleet_size(fleet); i++)
        is_node_there |= weir_str_eq_c(order->node, weir_sim_fleet_facts(fleet, i)->node);
    weir_str_show(order->gpu, gpu);
    weir_str_show(order->node, node);
    if (order->node.len == 0)
        weir_error(err, WEIR_E_NOT_FOUND, "the fleet has no GPU '%s'", gpu);
    else if (is_node_there)
        weir_error(err, WEIR_E_NOT_FOUND, "node '%s' has no GPU '%s'", node, gpu);
    else
        weir_error(err, WEIR_E_NOT_FOUND, "the fleet has no node '%s'", node);
    return weir_error_at(err, order->line,
                         order->node.len == 0 || is_node_there ? order->gpu_column
                                                               : order->node_column);
}

/* `to` is the fleet that the order is carried out on; NULL: it only looks whether there is such a
 * GPU.
 */
static int walk(struct weir_sim_fleet *to, const struct weir_sim_fleet *fleet,
                const struct weir_sim_order *order, int64_t at_ms, struct weir_err *err)
{
    const char *node = NULL;
    uint32_t place = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < weir_sim_fleet_size(fleet); i++) {
        const struct weir_sim_facts *facts = weir_sim_fleet_facts(fleet, i);
        int rc;

        place = node != NULL && strcmp(node, facts->node) == 0 ? place + 1 : 0;
        node = facts->node;
        if (!means(order, facts, i, place))
            continue;
        n++;
        rc = to != NULL ? weir_sim_fleet_fault(to, i, &order->fault, at_ms, err)
                        : weir_sim_fault_check(facts, &order->fault, err);
        if (rc < 0) {
            weir_error_at(err, order->line, 1);
            return rc;
        }
    }
    if (n > 0)
        return 0;
    return not_there(fleet, order, err);
}

int weir_sim_order_check(const struct weir_sim_fleet *fleet, const struct weir_sim_order *order,
                         struct weir_err *err)
{
    return order->is_reload ? 0 : walk(NULL, fleet, order, 0, err);
}

int weir_sim_order_carry_out(struct weir_sim_fleet *fleet, const struct weir_sim_order *order,
                             int64_t at_ms, struct weir_err *err)
{
    if (!order->is_reload)
        return walk(fleet, fleet, order, at_ms, err);
    weir_sim_fleet_reload_driver(fleet, order->down_ms, at_ms);
    return 0;
}

int64_t weir_sim_schedule_run(
    struct weir_sim_schedule *schedule, struct weir_sim_fleet *fleet, int64_t now_ms,
    void (*tell)(void *arg, struct weir_str order, const struct weir_err *why), void *arg)
{
    for (; schedule->next < schedule->n; schedule->next++) {
        const struct weir_sim_order *order = &schedule->orders[schedule->next];
        int64_t at_ms = schedule->begin_ms + order->after_ms;
        struct weir_err err = WEIR_ERR_INIT;

        if (at_ms > now_ms)
            return at_ms - now_ms;
        tell(arg, order->text,
             weir_sim_order_carry_out(fleet, order, at_ms, &err) < 0 ? &err : NULL);
    }
    return WEIR_SIM_NEVER;
}
