/* A library that a plugin is linked against and that no system has. */
int tenon_absent(void);

__attribute__((visibility("default"))) int tenon_absent(void) {
    return 0;
}
