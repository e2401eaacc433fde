#include "../support.h"

#include "base/queue.h"

#include "base/err.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX = 4, N_THREADS = 4, N_EACH = 5000 };

struct number {
    struct weir_queue_item item;
    int thread;
    int value;
};

static struct weir_queue queue;
static struct number numbers[N_THREADS][N_EACH];

static int set_up(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;

    (void)state;
    return weir_queue_init(&queue, MAX, &err);
}

static int tear_down(void **state)
{
    (void)state;
    weir_queue_finish(&queue);
    return 0;
}

static bool is_readable(void)
{
    struct pollfd watched = {.fd = queue.fd, .events = POLLIN};

    return poll(&watched, 1, 0) == 1;
}

static void gives_back_in_order_what_it_has_room_for(void **state)
{
    struct number n[MAX + 1];
    struct weir_queue_item *item;

    (void)state;
    for (int round = 0; round < 2; round++) {
        assert_null(weir_queue_take(&queue));
        assert_false(is_readable());
        for (int i = 0; i <= MAX; i++)
            assert_int_equal(weir_queue_push(&queue, &n[i].item), i < MAX);
        assert_true(is_readable());
        item = weir_queue_take(&queue);
        assert_false(is_readable());
        for (int i = 0; i < MAX; i++) {
            assert_ptr_equal(item, &n[i].item);
            item = item->next;
        }
        assert_null(item);
    }
}

static void waits_no_longer_than_asked(void **state)
{
    struct number n;

    (void)state;
    weir_queue_wait(&queue, 1);
    assert_true(weir_queue_push(&queue, &n.item));
    weir_queue_wait(&queue, -1); /* returns at once */
    assert_ptr_equal(weir_queue_take(&queue), &n.item);
}

static void *push_all(void *arg)
{
    struct number *own = arg;

    for (int i = 0; i < N_EACH; i++) {
        own[i].value = i;
        while (!weir_queue_push(&queue, &own[i].item))
            usleep(50);
    }
    return NULL;
}

static void loses_nothing_between_threads(void **state)
{
    pthread_t threads[N_THREADS];
    int next[N_THREADS] = {0};

    (void)state;
    for (int t = 0; t < N_THREADS; t++) {
        for (int i = 0; i < N_EACH; i++)
            numbers[t][i].thread = t;
        assert_int_equal(pthread_create(&threads[t], NULL, push_all, numbers[t]), 0);
    }
    for (int n = 0; n < N_THREADS * N_EACH;) {
        weir_queue_wait(&queue, -1);
        for (struct weir_queue_item *item = weir_queue_take(&queue); item != NULL; n++) {
            const struct number *number = (const struct number *)item;

            assert_int_equal(number->value, next[number->thread]++);
            item = item->next;
        }
    }
    for (int t = 0; t < N_THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_null(weir_queue_take(&queue));
}

static void says_when_there_are_no_descriptors(void **state)
{
    struct weir_err err = WEIR_ERR_INIT;
    struct weir_queue other;
    struct rlimit before;
    struct rlimit none;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    assert_int_equal(weir_queue_init(&other, 1, &err), WEIR_E_IO);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_non_null(strstr(err.text, "queue"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gives_back_in_order_what_it_has_room_for),
        TEST(waits_no_longer_than_asked),
        TEST(loses_nothing_between_threads),
        TEST(says_when_there_are_no_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
