/* A small plugin with one fault that `tenon plugin lint` must find; the fault is a definition
 * of the command line or a flag of the linker (tests/fakes/meson.build). */
#include "tenon/plugin.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((used)) static int counter;

#ifdef FAULT_CONSTRUCTOR
__attribute__((constructor)) static void begin(void) {
    counter = 1;
}
#endif

#ifdef FAULT_UNDEFINED
static void speak(void) {
    puts("a plugin writes to the program's output");
}
#endif

#ifdef FAULT_HOST_SYMBOL
extern int tn_session_of_the_host(void);
#endif

#ifdef FAULT_EXPORTS
extern __attribute__((visibility("default"))) int fault_exported;
int fault_exported = 1;
#endif

#ifdef FAULT_UNIQUE
__asm__(".pushsection .data\n.globl fault_unique\n"
        ".type fault_unique, @gnu_unique_object\n.size fault_unique, 4\n"
        "fault_unique: .long 1\n.popsection");
#endif

#ifdef FAULT_TEXTREL
__asm__(".pushsection .text\n.quad counter\n.popsection");
#endif

#ifdef FAULT_STATIC_TLS
static __thread int per_thread __attribute__((tls_model("initial-exec")));
#endif

static tn_status fault_init(
    const struct tn_host *host, void **out_state, struct tn_diag *diag) {
    (void)host;
    (void)diag;
    *out_state = &counter;
#ifdef FAULT_UNDEFINED
    speak();
#endif
#ifdef FAULT_HOST_SYMBOL
    counter = tn_session_of_the_host();
#endif
#ifdef FAULT_STATIC_TLS
    counter = per_thread++;
#endif
    return TN_OK;
}

static const struct tn_plugin plugin = {
    .struct_size = TN_PLUGIN_SIZE,
    .abi_minor = TN_ABI_MINOR,
    .host_minor_min = TN_ABI_MINOR,
    .id = FAKE_ID,
    .name = "a fault",
    .version = "1.0.0",
    .vendor = "Tenon",
    .licence = "Apache-2.0",
    .sanitizer = TN_SANITIZER_CURRENT,
    .init = fault_init,
};

#ifdef FAULT_SANITIZER
/* what an instrumented object refers to */
extern void __asan_init(void) __attribute__((weak));
__attribute__((used)) static void *const keep = (void *)&__asan_init;
#endif

TN_DEFINE_PLUGIN(plugin, FAKE_ID);
