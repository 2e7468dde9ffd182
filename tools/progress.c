/* A line on a terminal while something takes longer than a second. */
#include "cli.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static pthread_t thread;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool running, shown;
static const char *label;

static void *tick(void *unused) {
    (void)unused;
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    pthread_mutex_lock(&mutex);
    for (unsigned seconds = 1; running; seconds++) {
        at.tv_sec++;
        while (running && pthread_cond_timedwait(&changed, &mutex, &at) == 0) {
        }
        if (running) {
            fprintf(stderr, "\r%s… %u s", label, seconds);
            fflush(stderr);
            shown = true;
        }
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

void progress_begin(const struct cli_args *args, const char *what) {
    if (args->quiet || args->json || !isatty(STDERR_FILENO)) return;
    label = what;
    running = true;
    shown = false;
    if (pthread_create(&thread, NULL, tick, NULL) != 0) running = false;
}

void progress_end(void) {
    if (!running) return;
    pthread_mutex_lock(&mutex);
    running = false;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    if (shown) fputs("\r\033[K", stderr);
}
