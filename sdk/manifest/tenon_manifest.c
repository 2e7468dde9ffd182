/* tenon-manifest: writes the manifest of a plugin from the plugin's own tables.
 *
 *     tenon-manifest <plugin.so> > <id>.plugin.ini */
#include "manifest_write.h"

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: tenon-manifest <plugin.so>\n");
        return 2;
    }
    return manifest_write(argv[1], stdout);
}
