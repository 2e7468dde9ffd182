/* Two plugins and this program have a function of the same name, each exported as far as
 * its compiler was told: every plugin must reach its own, because the version script of the
 * SDK binds it inside. */
#include "tenon/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int tenon_test_helper(void);

__attribute__((visibility("default"))) int tenon_test_helper(void) {
    return 99;
}

/* What the plugin at path reaches, 0 when it cannot be asked. */
static int reached_by(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = handle ? dlsym(handle, TN_PLUGIN_ENTRY_NAME) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    tn_plugin_query_fn query;
    memcpy(&query, &symbol, sizeof query);
    const struct tn_host_info host = {
        .struct_size = TN_HOST_INFO_SIZE, .abi_major = TN_ABI_MAJOR};
    const struct tn_plugin *plugin = NULL;
    if (query(&host, &plugin) != TN_OK) return 0;
    return *(const int *)plugin->get_extension(NULL, "helper");
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int a = reached_by(argv[1]), b = reached_by(argv[2]);
    printf("%d %d %d\n", tenon_test_helper(), a, b);
    return !(tenon_test_helper() == 99 && a == 10 && b == 20);
}
