#include "core/plan/owner.h"

#include "core/base/alloc.h"

#include <pthread.h>
#include <stdbool.h>

struct tn__owner {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tn__owned_fn fn; /* the call in flight, NULL: none */
    void *arg;
    bool done, stop;
};

static void *serve(void *self) {
    struct tn__owner *owner = self;
    pthread_mutex_lock(&owner->lock);
    while (!owner->stop) {
        if (!owner->fn || owner->done) {
            pthread_cond_wait(&owner->changed, &owner->lock);
            continue;
        }
        pthread_mutex_unlock(&owner->lock);
        owner->fn(owner->arg);
        pthread_mutex_lock(&owner->lock);
        owner->done = true;
        pthread_cond_broadcast(&owner->changed);
    }
    pthread_mutex_unlock(&owner->lock);
    return NULL;
}

struct tn__owner *tn__owner_create(void) {
    struct tn__owner *owner = tn__alloc_zero(sizeof *owner, 0);
    if (!owner) return NULL;
    pthread_mutex_init(&owner->lock, NULL);
    pthread_cond_init(&owner->changed, NULL);
    if (pthread_create(&owner->thread, NULL, serve, owner) == 0) return owner;
    pthread_cond_destroy(&owner->changed);
    pthread_mutex_destroy(&owner->lock);
    tn__free(owner);
    return NULL;
}

void tn__owner_destroy(struct tn__owner *owner) {
    if (!owner) return;
    pthread_mutex_lock(&owner->lock);
    owner->stop = true;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
    pthread_join(owner->thread, NULL);
    pthread_cond_destroy(&owner->changed);
    pthread_mutex_destroy(&owner->lock);
    tn__free(owner);
}

void tn__owner_call(struct tn__owner *owner, tn__owned_fn fn, void *arg) {
    if (!owner || pthread_equal(pthread_self(), owner->thread)) {
        fn(arg);
        return;
    }
    pthread_mutex_lock(&owner->lock);
    while (owner->fn)
        pthread_cond_wait(&owner->changed, &owner->lock);
    owner->fn = fn;
    owner->arg = arg;
    owner->done = false;
    pthread_cond_broadcast(&owner->changed);
    while (!owner->done)
        pthread_cond_wait(&owner->changed, &owner->lock);
    owner->fn = NULL;
    owner->done = false;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
}

/* ---- gate ----------------------------------------------------------------------------- */

struct tn__gate {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    uint32_t places;
};

struct tn__gate *tn__gate_create(uint32_t places) {
    struct tn__gate *gate = tn__alloc_zero(sizeof *gate, 0);
    if (!gate) return NULL;
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->freed, NULL);
    gate->places = places;
    return gate;
}

void tn__gate_destroy(struct tn__gate *gate) {
    if (!gate) return;
    pthread_cond_destroy(&gate->freed);
    pthread_mutex_destroy(&gate->lock);
    tn__free(gate);
}

void tn__gate_enter(struct tn__gate *gate) {
    if (!gate) return;
    pthread_mutex_lock(&gate->lock);
    while (gate->places == 0)
        pthread_cond_wait(&gate->freed, &gate->lock);
    gate->places--;
    pthread_mutex_unlock(&gate->lock);
}

void tn__gate_leave(struct tn__gate *gate) {
    if (!gate) return;
    pthread_mutex_lock(&gate->lock);
    gate->places++;
    pthread_cond_signal(&gate->freed);
    pthread_mutex_unlock(&gate->lock);
}
