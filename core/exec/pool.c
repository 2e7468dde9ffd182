/* The thread pool: see pool.h.
 *
 * A loop is published in `gate`, one word: its number (high half), an open bit, and how
 * many workers are inside. A worker enters by raising the count while the bit is set, so
 * it can never see the fields of a loop that has ended; the caller closes the gate when
 * nothing is left to claim and waits for the count to fall to zero. */
#include "core/exec/pool.h"

#include "core/exec/fp_mode.h"
#include "core/os/clock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAUSES_PER_LOOK = 32, PIECES_PER_THREAD = 4 };
#define GATE_OPEN UINT64_C(0x80000000)
#define GATE_COUNT UINT64_C(0x7fffffff)

static struct {
    _Atomic uint64_t gate;
    _Atomic uint32_t wake; /* futex: grows with each loop, and to stop */
    _Atomic uint32_t
        gone; /* futex: grows when a worker leaves a loop the caller awaits */
    _Atomic uint32_t awaiting;
    _Atomic uint32_t sleepers;
    _Atomic bool stopping;
    _Atomic uint64_t spin_ns;
    _Atomic int busy; /* a loop is running */
    _Atomic uint32_t n_workers;
    uint32_t users;
    pthread_mutex_t lock; /* users, workers */
    pthread_t workers[TN_POOL_MOST_THREADS];
    /* the loop */
    _Atomic int64_t next;
    _Atomic uint32_t joined; /* threads that took part, the caller included */
    int64_t n, piece;
    uint32_t threads;
    uint64_t fp_mode;
    tn_parallel_fn fn;
    void *arg;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .spin_ns = 30000};

static _Thread_local uint32_t own_index; /* worker number inside a loop */
static _Thread_local bool inside;        /* this thread is in a loop's body */
static _Thread_local uint32_t own_limit; /* 0 none */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void futex_wait(_Atomic uint32_t *word, uint32_t seen) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins until *word differs from `seen`, at most for the set time. */
static bool spin_while(_Atomic uint32_t *word, uint32_t seen) {
    uint64_t start = tn__clock_ns(), most = atomic_load(&pool.spin_ns);
    do {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen) return true;
            relax();
        }
    } while (tn__clock_ns() - start < most);
    return false;
}

/* Claims pieces until none is left. */
static void work(uint32_t index) {
    int64_t n = pool.n, piece = pool.piece;
    bool was_inside = inside;
    inside = true;
    own_index = index;
    for (;;) {
        int64_t begin =
            atomic_fetch_add_explicit(&pool.next, piece, memory_order_relaxed);
        if (begin >= n) break;
        int64_t end = n - begin < piece ? n : begin + piece;
        pool.fn(pool.arg, begin, end, index);
    }
    inside = was_inside;
}

/* Enters the open loop, if there is one that wants this worker. */
static bool enter(void) {
    uint64_t gate = atomic_load_explicit(&pool.gate, memory_order_acquire);
    while (gate & GATE_OPEN) {
        if (atomic_compare_exchange_weak_explicit(
                &pool.gate, &gate, gate + 1, memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    return false;
}

static void leave(void) {
    uint64_t before = atomic_fetch_sub_explicit(&pool.gate, 1, memory_order_acq_rel);
    if ((before & GATE_COUNT) != 1 || (before & GATE_OPEN)) return;
    atomic_fetch_add_explicit(&pool.gone, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&pool.awaiting, memory_order_seq_cst))
        futex_wake(&pool.gone, 1);
}

static void *worker_main(void *arg) {
    (void)arg;
    uint32_t seen = 0;
    while (!atomic_load_explicit(&pool.stopping, memory_order_acquire)) {
        uint32_t now = atomic_load_explicit(&pool.wake, memory_order_acquire);
        if (now == seen) {
            if (spin_while(&pool.wake, seen)) continue;
            atomic_fetch_add_explicit(&pool.sleepers, 1, memory_order_seq_cst);
            futex_wait(&pool.wake, seen);
            atomic_fetch_sub_explicit(&pool.sleepers, 1, memory_order_seq_cst);
            continue;
        }
        seen = now;
        if (!enter()) continue;
        uint32_t index = atomic_fetch_add_explicit(&pool.joined, 1, memory_order_relaxed);
        if (index < pool.threads) {
            tn__fp_set(pool.fp_mode);
            work(index);
        }
        leave();
    }
    return NULL;
}

/* ---- life ----------------------------------------------------------------------------- */

/* The child of a fork has no workers: its first loop starts new ones. */
static void forget_workers(void) {
    atomic_store(&pool.n_workers, 0);
    atomic_store(&pool.gate, atomic_load(&pool.gate) & ~(GATE_OPEN | GATE_COUNT));
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.awaiting, 0);
    atomic_store(&pool.busy, inside ? 1 : 0);
    pthread_mutex_init(&pool.lock, NULL);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, forget_workers);
}

static void grow_workers(uint32_t want) {
    pthread_once(&fork_once, watch_forks);
    pthread_mutex_lock(&pool.lock);
    uint32_t n = atomic_load(&pool.n_workers);
    while (n < want && n < TN_POOL_MOST_THREADS - 1) {
        if (pthread_create(&pool.workers[n], NULL, worker_main, NULL) != 0) break;
        n++;
    }
    atomic_store(&pool.n_workers, n);
    pthread_mutex_unlock(&pool.lock);
}

void tn__pool_retain(void) {
    pthread_mutex_lock(&pool.lock);
    pool.users++;
    pthread_mutex_unlock(&pool.lock);
}

void tn__pool_release(void) {
    pthread_mutex_lock(&pool.lock);
    uint32_t n = --pool.users == 0 ? atomic_exchange(&pool.n_workers, 0) : 0;
    if (n > 0) {
        atomic_store(&pool.stopping, true);
        atomic_fetch_add(&pool.wake, 1);
        futex_wake(&pool.wake, TN_POOL_MOST_THREADS);
        for (uint32_t i = 0; i < n; i++)
            pthread_join(pool.workers[i], NULL);
        atomic_store(&pool.stopping, false);
    }
    pthread_mutex_unlock(&pool.lock);
}

void tn__pool_set_spin(uint64_t ns) {
    atomic_store(&pool.spin_ns, ns);
}

uint32_t tn__pool_size(void) {
    return atomic_load(&pool.n_workers);
}

uint32_t tn__pool_limit(uint32_t threads) {
    uint32_t before = own_limit;
    own_limit = threads;
    return before;
}

/* ---- loops ---------------------------------------------------------------------------- */

/* Waits until no worker is inside the closed loop. */
static void await_workers(void) {
    for (;;) {
        uint32_t seen = atomic_load_explicit(&pool.gone, memory_order_seq_cst);
        if ((atomic_load_explicit(&pool.gate, memory_order_acquire) & GATE_COUNT) == 0)
            return;
        if (spin_while(&pool.gone, seen)) continue;
        atomic_store_explicit(&pool.awaiting, 1, memory_order_seq_cst);
        futex_wait(&pool.gone, seen);
        atomic_store_explicit(&pool.awaiting, 0, memory_order_seq_cst);
    }
}

static void publish(
    uint32_t threads, int64_t n, int64_t piece, tn_parallel_fn fn, void *arg) {
    pool.n = n;
    pool.piece = piece;
    pool.threads = threads;
    pool.fn = fn;
    pool.arg = arg;
    pool.fp_mode = tn__fp_get();
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool.joined, 1, memory_order_relaxed);
    uint64_t number = atomic_load_explicit(&pool.gate, memory_order_relaxed) >> 32;
    atomic_store_explicit(
        &pool.gate, (number + 1) << 32 | GATE_OPEN, memory_order_release);
    atomic_fetch_add_explicit(&pool.wake, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&pool.sleepers, memory_order_seq_cst))
        futex_wake(&pool.wake, (int)threads - 1);
}

void tn__pool_run(
    uint32_t threads, int64_t n, int64_t grain, tn_parallel_fn fn, void *arg) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    if (own_limit && own_limit < threads) threads = own_limit;
    if (threads > TN_POOL_MOST_THREADS) threads = TN_POOL_MOST_THREADS;
    int64_t grains = n / grain + (n % grain != 0);
    if (grains < (int64_t)threads) threads = (uint32_t)grains;
    int idle = 0;
    if (threads <= 1 || inside || n > INT64_MAX / 4 ||
        !atomic_compare_exchange_strong(&pool.busy, &idle, 1)) {
        fn(arg, 0, n, inside ? own_index : 0);
        return;
    }
    if (atomic_load_explicit(&pool.n_workers, memory_order_relaxed) < threads - 1)
        grow_workers(threads - 1);
    int64_t pieces = (int64_t)threads * PIECES_PER_THREAD;
    int64_t per_piece = grains / pieces + (grains % pieces != 0);
    publish(threads, n, per_piece * grain, fn, arg);
    work(0);
    atomic_fetch_and_explicit(&pool.gate, ~GATE_OPEN, memory_order_acq_rel);
    await_workers();
    atomic_store_explicit(&pool.busy, 0, memory_order_release);
}
