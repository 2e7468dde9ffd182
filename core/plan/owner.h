/* Who may call a provider, and when: the one thread that a provider of that kind wants all
 * its calls from, and a gate that lets only so many runs in at a time. */
#ifndef TENON_OWNER_H
#define TENON_OWNER_H

#include "core/base/diag.h"

struct tn__owner;
struct tn__gate;

typedef void (*tn__owned_fn)(void *arg);

/* A thread that waits for calls; NULL when there is none to be had. */
struct tn__owner *tn__owner_create(void);
void tn__owner_destroy(struct tn__owner *owner); /* NULL is fine */
/* [any] Calls fn(arg) on the owner's thread and waits; at once when there is no owner. */
void tn__owner_call(struct tn__owner *owner, tn__owned_fn fn, void *arg);

/* Lets `places` in; NULL when there is no memory. */
struct tn__gate *tn__gate_create(uint32_t places);
void tn__gate_destroy(struct tn__gate *gate); /* NULL is fine */
void tn__gate_enter(struct tn__gate *gate);   /* [any] NULL is open */
void tn__gate_leave(struct tn__gate *gate);

#endif
