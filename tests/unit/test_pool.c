/* The thread pool: every item once, bounds that kernels rely on, and life after fork. */
#include "unit.h"

#include "core/exec/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 100000 };

static _Atomic unsigned char hits[ITEMS];
static _Atomic int bad_bounds, calls;
static _Atomic uint32_t greatest_worker;

struct job {
    int64_t n, grain;
};

static void mark(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct job *job = arg;
    if (begin % job->grain || (end % job->grain && end != job->n)) bad_bounds++;
    uint32_t seen = greatest_worker;
    while (
        worker > seen && !atomic_compare_exchange_weak(&greatest_worker, &seen, worker)) {
    }
    calls++;
    for (int64_t i = begin; i < end; i++)
        hits[i]++;
}

static void run_job(uint32_t threads, int64_t n, int64_t grain) {
    struct job job = {n, grain};
    bad_bounds = calls = 0;
    greatest_worker = 0;
    for (int64_t i = 0; i < n; i++)
        hits[i] = 0;
    tn__pool_run(threads, n, grain, mark, &job);
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(hits[i] == 1, "item %d ran %d times", (int)i, hits[i]);
    ck_assert_int_eq(bad_bounds, 0);
    ck_assert_uint_lt(greatest_worker, threads);
}

START_TEST(every_item_runs_once_within_bounds_of_the_grain) {
    static const int64_t sizes[] = {1, 2, 3, 7, 64, 1000, 99999, ITEMS};
    static const int64_t grains[] = {1, 3, 64, 5000};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (unsigned g = 0; g < sizeof grains / sizeof *grains; g++) {
            for (uint32_t threads = 1; threads <= 4; threads++)
                run_job(threads, sizes[s], grains[g]);
        }
    }
}
END_TEST

START_TEST(small_loops_start_no_thread) {
    run_job(4, 100, 100);
    run_job(1, ITEMS, 1);
    ck_assert_uint_eq(tn__pool_size(), 0);
    ck_assert_int_eq(calls, 1);
    tn__pool_run(4, 0, 1, mark, NULL);
    ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(a_limit_of_the_thread_holds) {
    ck_assert_uint_eq(tn__pool_limit(1), 0);
    run_job(4, ITEMS, 1);
    ck_assert_int_eq(calls, 1);
    ck_assert_uint_eq(tn__pool_limit(0), 1);
}
END_TEST

static void nest(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    _Atomic int *wrong = arg;
    struct job job = {64, 1};
    (void)worker;
    for (int64_t i = begin; i < end; i++) {
        int before = calls;
        tn__pool_run(4, 64, 64, mark, &job);
        if (calls == before) (*wrong)++;
    }
}

START_TEST(a_loop_inside_a_loop_runs_in_place) {
    _Atomic int wrong = 0;
    tn__pool_run(4, 64, 1, nest, &wrong);
    ck_assert_int_eq(wrong, 0);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_eq(hits[i], 64);
}
END_TEST

struct sum {
    _Atomic int64_t value;
};

static void add_up(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    struct sum *sum = arg;
    int64_t part = 0;
    (void)worker;
    for (int64_t i = begin; i < end; i++)
        part += i;
    sum->value += part;
}

static void *many_loops(void *arg) {
    (void)arg;
    for (int i = 0; i < 2000; i++) {
        struct sum sum = {0};
        tn__pool_run(4, 1000, 1, add_up, &sum);
        if (sum.value != 499500) return "wrong sum";
    }
    return NULL;
}

START_TEST(concurrent_callers_do_not_disturb_each_other) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, many_loops, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        ck_assert_ptr_null(problem);
    }
}
END_TEST

#if !defined(__SANITIZE_THREAD__)
START_TEST(a_forked_child_has_a_pool_of_its_own) {
    run_job(4, ITEMS, 1);
    ck_assert_uint_eq(tn__pool_size(), 3);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct sum sum = {0};
        bool empty = tn__pool_size() == 0;
        for (int i = 0; i < 100; i++)
            tn__pool_run(4, 1000, 1, add_up, &sum);
        _exit(empty && tn__pool_size() == 3 && sum.value == 49950000 ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    run_job(4, ITEMS, 1);
}
END_TEST
#endif

START_TEST(the_last_user_ends_the_threads_and_a_new_one_starts_them) {
    for (int i = 0; i < 20; i++) {
        tn__pool_retain();
        run_job(3, ITEMS, 10);
        ck_assert_uint_ge(tn__pool_size(), 2);
        tn__pool_release();
    }
}
END_TEST

static void retain(void) {
    tn__pool_retain();
}

static void release(void) {
    tn__pool_release();
}

static void add_tests(TCase *tests) {
    tcase_add_checked_fixture(tests, retain, release);
    tcase_add_test(tests, every_item_runs_once_within_bounds_of_the_grain);
    tcase_add_test(tests, small_loops_start_no_thread);
    tcase_add_test(tests, a_limit_of_the_thread_holds);
    tcase_add_test(tests, a_loop_inside_a_loop_runs_in_place);
    tcase_add_test(tests, concurrent_callers_do_not_disturb_each_other);
#if !defined(__SANITIZE_THREAD__) /* which cannot start threads after a fork */
    tcase_add_test(tests, a_forked_child_has_a_pool_of_its_own);
#endif
    tcase_add_test(tests, the_last_user_ends_the_threads_and_a_new_one_starts_them);
}

UNIT_MAIN("pool")
