/* How many threads can run at once: affinity, online processors and control groups. A
 * container that owns half a processor of a large machine must not start a large pool. */
#include "core/os/processor.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* Reads a short text file; false when it is absent or longer than the buffer. */
static bool read_text(const char *path, char *buf, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t n = 0;
    ssize_t got = 1;
    while (n < size && got > 0) {
        got = read(fd, buf + n, size - n);
        if (got > 0) n += (size_t)got;
    }
    close(fd);
    if (got < 0 || n == size) return false;
    buf[n] = '\0';
    return true;
}

static bool read_number(const char *dir, const char *name, long long *out) {
    char path[PATH_SIZE], text[64], *end;
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof path || !read_text(path, text, sizeof text))
        return false;
    *out = strtoll(text, &end, 10);
    return end != text;
}

static uint32_t round_up(long long quota, long long period) {
    if (quota <= 0 || period <= 0) return UINT32_MAX;
    long long n = quota / period + (quota % period != 0);
    return n < 1 ? 1 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static uint32_t quota_v2(const char *dir) {
    char path[PATH_SIZE], text[64];
    long long quota, period;
    int n = snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (n < 0 || (size_t)n >= sizeof path || !read_text(path, text, sizeof text) ||
        sscanf(text, "%lld %lld", &quota, &period) != 2) /* "max 100000": no limit */
        return UINT32_MAX;
    return round_up(quota, period);
}

static uint32_t quota_v1(const char *dir) {
    long long quota, period;
    if (!read_number(dir, "cpu.cfs_quota_us", &quota) ||
        !read_number(dir, "cpu.cfs_period_us", &period))
        return UINT32_MAX;
    return round_up(quota, period);
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The least quota of mount/path and of every group above it. Inside a container the path
 * may not exist below the mount: then the mount's own top speaks. */
static uint32_t walk_groups(
    const char *mount, const char *path, size_t n_path, uint32_t (*quota)(const char *)) {
    char dir[PATH_SIZE];
    size_t n_mount = strlen(mount);
    if (n_mount + n_path >= sizeof dir) return UINT32_MAX;
    memcpy(dir, mount, n_mount);
    memcpy(dir + n_mount, path, n_path);
    dir[n_mount + n_path] = '\0';
    uint32_t result = quota(dir);
    while (strlen(dir) > n_mount) {
        *strrchr(dir, '/') = '\0';
        result = least(result, quota(dir));
    }
    return result;
}

/* Whether a comma-separated list has "cpu". */
static bool lists_cpu(const char *list, size_t n) {
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && list[end] != ',')
            end++;
        if (end - i == 3 && memcmp(list + i, "cpu", 3) == 0) return true;
        i = end + 1;
    }
    return false;
}

/* One line "id:controllers:/path". */
static uint32_t line_quota(const char *line, size_t n, const char *root) {
    const char *first = memchr(line, ':', n);
    if (!first) return UINT32_MAX;
    const char *second = memchr(first + 1, ':', n - (size_t)(first + 1 - line));
    if (!second || second + 1 == line + n || second[1] != '/') return UINT32_MAX;
    const char *path = second + 1;
    size_t n_path = n - (size_t)(path - line), n_list = (size_t)(second - first - 1);
    if (n_list == 0) return walk_groups(root, path, n_path, quota_v2);
    if (!lists_cpu(first + 1, n_list)) return UINT32_MAX;
    char mount[PATH_SIZE];
    int length = snprintf(mount, sizeof mount, "%s/%.*s", root,
        (int)(n_list < 256 ? n_list : 256), first + 1);
    if (length < 0 || (size_t)length >= sizeof mount) return UINT32_MAX;
    uint32_t result = walk_groups(mount, path, n_path, quota_v1);
    snprintf(mount, sizeof mount, "%s/cpu", root);
    return least(result, walk_groups(mount, path, n_path, quota_v1));
}

uint32_t tn__cgroup_quota(const char *membership, const char *root) {
    uint32_t result = UINT32_MAX;
    for (const char *line = membership; *line;) {
        size_t n = strcspn(line, "\n");
        result = least(result, line_quota(line, n, root));
        line += n + (line[n] == '\n');
    }
    return result;
}

static uint32_t affinity_count(void) {
    /* masks larger than cpu_set_t exist: ask with growing sizes */
    for (int cpus = 1024; cpus <= 1 << 18; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) return UINT32_MAX;
        size_t size = CPU_ALLOC_SIZE(cpus);
        CPU_ZERO_S(size, set);
        int failed = sched_getaffinity(0, size, set);
        int n = failed ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (!failed) return n > 0 ? (uint32_t)n : UINT32_MAX;
    }
    return UINT32_MAX;
}

uint32_t tn__cpu_threads(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t n = online > 0 ? (uint32_t)online : 1;
    n = least(n, affinity_count());
    char membership[16384];
    if (read_text("/proc/self/cgroup", membership, sizeof membership))
        n = least(n, tn__cgroup_quota(membership, "/sys/fs/cgroup"));
    return n;
}
