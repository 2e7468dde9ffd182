/* The manifest beside the plugin, held against what the plugin's tables say now. The tables
 * are code of the plugin: a child process reads them, so that a crash is a finding. */
#include "lint_impl.h"
#include "manifest_write.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANIFEST_MAX = 1 << 20, CHILD_SECONDS = 20 };

/* Reads to the end, at most MANIFEST_MAX bytes; NULL when there is no memory or more. */
static char *read_all(FILE *from) {
    char *text = malloc(MANIFEST_MAX + 1);
    if (!text) return NULL;
    size_t n = fread(text, 1, MANIFEST_MAX, from);
    text[n] = '\0';
    if (n < MANIFEST_MAX && !ferror(from)) return text;
    free(text);
    return NULL;
}

/* What the plugin's tables say, as a manifest; NULL after a finding. */
static char *generate(struct lint *lint) {
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0) return NULL;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        alarm(CHILD_SECONDS);
        FILE *to = fdopen(ends[1], "w");
        int result = to ? manifest_write(lint->path, to) : EXIT_FAILURE;
        if (to && fclose(to) != 0) result = EXIT_FAILURE;
        _exit(result);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    char *text = from ? read_all(from) : NULL;
    if (from) fclose(from);
    int how = 0;
    if (child > 0 && waitpid(child, &how, 0) == child && WIFEXITED(how) &&
        WEXITSTATUS(how) == EXIT_SUCCESS && text)
        return text;
    free(text);
    if (child > 0 && WIFSIGNALED(how))
        lint_error(lint, "%s while its tables were read",
            WTERMSIG(how) == SIGALRM ? "did not end" : strsignal(WTERMSIG(how)));
    else
        lint_error(lint, "does not give its tables here (the reason stands above)");
    return NULL;
}

/* "<folder>/<id>.plugin.ini" */
static void manifest_path(const struct lint *lint, char *out, size_t size) {
    const char *slash = strrchr(lint->path, '/');
    snprintf(out, size, "%.*s%s.plugin.ini", slash ? (int)(slash - lint->path + 1) : 0,
        lint->path, lint->note.id);
}

/* The first line in which they differ, as a finding. */
static void compare(
    struct lint *lint, const char *path, const char *have, const char *want) {
    for (unsigned line = 1; *have || *want; line++) {
        size_t n = strcspn(have, "\n"), m = strcspn(want, "\n");
        if (n != m || memcmp(have, want, n) != 0) {
            lint_error(lint,
                "drifted from its manifest: '%.300s' line %u says '%.*s', the library "
                "says '%.*s'; make it anew: tenon-manifest '%.300s' > '%.300s'",
                path, line, (int)(n < 80 ? n : 80), have, (int)(m < 80 ? m : 80), want,
                lint->path, path);
            return;
        }
        have += n + (have[n] != '\0');
        want += m + (want[m] != '\0');
    }
}

void lint_manifest(struct lint *lint) {
    char path[4096];
    if (!lint->has_note || lint->note.abi_major != TN_ABI_MAJOR) return;
    manifest_path(lint, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file) {
        lint_warn(lint,
            "has no manifest '%.300s': it loads by --plugin and by name, but no search "
            "finds it; make one: tenon-manifest '%.300s' > '%.300s'",
            path, lint->path, path);
        return;
    }
    char *have = read_all(file);
    fclose(file);
    char *want = have ? generate(lint) : NULL;
    if (!have) lint_error(lint, "has a manifest that cannot be read: '%.300s'", path);
    if (have && want) compare(lint, path, have, want);
    free(have);
    free(want);
}
