/* External data: see external.h. The fence has four layers: the text of the location, the
 * kernel's own path walk (or ours, link by link), what the opened file is, and the range
 * inside it. */
#include "core/model/external.h"

#include "core/base/checked.h"
#include "core/model/model.h"
#include "core/model/rules.h"
#include "core/model/sha1.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_LOCATION = 4096 };

/* Layer 1: a relative path whose every part is a plain name. */
static bool is_plain(const char *location) {
    if (location[0] == '\0' || location[0] == '/' || strlen(location) >= MAX_LOCATION)
        return false;
    for (const char *part = location;;) {
        size_t n = strcspn(part, "/");
        bool dots = (n == 1 && part[0] == '.') || (n == 2 && strncmp(part, "..", 2) == 0);
        if (n == 0 || (dots && n == 2)) return false;
        for (size_t i = 0; i < n; i++) {
            if (part[i] == '\\' || part[i] == ':' || (unsigned char)part[i] < 0x20)
                return false;
        }
        if (part[n] == '\0') return !dots;
        part += n + 1;
    }
}

/* Layer 2 without openat2: one part after the other, never through a link. */
static int open_by_parts(int dir, const char *location) {
    char part[MAX_LOCATION];
    int at = dup(dir);
    while (at >= 0) {
        size_t n = strcspn(location, "/");
        memcpy(part, location, n);
        part[n] = '\0';
        bool last = location[n] == '\0';
        int flags =
            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY);
        int next = openat(at, part, flags);
        int error = errno;
        close(at);
        errno = error;
        if (last || next < 0) return next;
        at = next;
        location += n + 1;
    }
    return -1;
}

static int open_beneath(int dir, const char *location) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    long fd = syscall(SYS_openat2, dir, location, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return (int)fd;
    return open_by_parts(dir, location);
}

/* The folder of the model: base_dir, or what precedes the last slash of its path. */
static int open_folder(const struct tn_model *source) {
    char folder[MAX_LOCATION];
    const char *text = source->base_dir;
    if (!text) {
        const char *slash = strrchr(source->path, '/');
        size_t n = slash ? (size_t)(slash - source->path) : 0;
        if (n >= sizeof folder) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(folder, source->path, n);
        folder[n] = '\0';
        text = n ? folder : slash ? "/" : ".";
    }
    return open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static tn_status refuse_open(
    const char *tensor, const char *location, int error, struct tn_diag *diag) {
    if (error == ELOOP || error == EXDEV)
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_ESCAPE,
            "tensor '%s': its data file '%s' is reached through a symbolic link, which "
            "is not allowed; replace the link by the file",
            tensor, location);
    return tn__fail_as(diag, error == ENOENT ? TN_NOT_FOUND : TN_IO,
        TN_RULE_EXTERNAL_FILE,
        "tensor '%s': cannot open its data file '%s' beside the model: %s", tensor,
        location, strerror(error));
}

/* Layer 3: a regular file that nothing else names. */
static tn_status check_file(
    int fd, const char *tensor, const char *location, struct tn_diag *diag) {
    struct stat st;
    if (fstat(fd, &st) != 0) return refuse_open(tensor, location, errno, diag);
    if (!S_ISREG(st.st_mode))
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_FILE,
            "tensor '%s': its data file '%s' is not a regular file", tensor, location);
    if (st.st_nlink > 1)
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_FILE,
            "tensor '%s': its data file '%s' has %lu hard links, expected 1; copy the "
            "file",
            tensor, location, (unsigned long)st.st_nlink);
    return TN_OK;
}

static tn_status map_file(struct tn__externals *externals, const char *tensor,
    const char *location, struct tn__mapping *out, struct tn_diag *diag) {
    int dir = open_folder(externals->source);
    if (dir < 0)
        return tn__fail_as(diag, TN_IO, TN_RULE_EXTERNAL_BASE,
            "tensor '%s': cannot open the folder for external data: %s", tensor,
            strerror(errno));
    int fd = open_beneath(dir, location), error = errno;
    close(dir);
    if (fd < 0) return refuse_open(tensor, location, error, diag);
    tn_status status = check_file(fd, tensor, location, diag);
    if (status == TN_OK) status = tn__mapping_create(fd, location, out, diag);
    close(fd);
    if (status == TN_OK) status = tn__mapping_give(out, externals->model, diag);
    return status;
}

static tn_status find_file(struct tn__externals *externals, const char *tensor,
    const char *location, struct tn__external_file **out, struct tn_diag *diag) {
    for (struct tn__external_file *file = externals->files; file; file = file->next) {
        if (strcmp(file->location, location) == 0) {
            *out = file;
            return TN_OK;
        }
    }
    struct tn__external_file *file = tn__arena_alloc(externals->temp, sizeof *file);
    char *name = tn__arena_string(externals->temp, location, strlen(location));
    if (!file || !name)
        return tn__fail_memory(diag, "the list of data files", sizeof *file);
    TN_TRY(map_file(externals, tensor, location, &file->mapping, diag));
    file->location = name;
    file->next = externals->files;
    externals->files = file;
    *out = file;
    return TN_OK;
}

/* A number of decimal digits and nothing else. */
static tn_status parse_number(const char *text, const char *key, const char *tensor,
    uint64_t *out, struct tn_diag *diag) {
    uint64_t value = 0;
    bool fits = text[0] != '\0';
    for (const char *p = text; *p && fits; p++) {
        fits = *p >= '0' && *p <= '9' && !__builtin_mul_overflow(value, 10u, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    }
    if (!fits || value > INT64_MAX)
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_NUMBER,
            "tensor '%s': external data has %s '%.40s', expected a decimal number that "
            "is not negative",
            tensor, key, text);
    *out = value;
    return TN_OK;
}

static tn_status read_place(const struct tn__external_place *place, const char *tensor,
    uint64_t size, uint64_t *out_offset, struct tn_diag *diag) {
    uint64_t length = size;
    *out_offset = 0;
    if (!place->location || !is_plain(place->location))
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_LOCATION,
            "tensor '%s': external data has location '%.120s', expected the relative "
            "path of a file inside the model's folder",
            tensor, place->location ? place->location : "");
    if (place->offset)
        TN_TRY(parse_number(place->offset, "offset", tensor, out_offset, diag));
    if (place->length)
        TN_TRY(parse_number(place->length, "length", tensor, &length, diag));
    if (length != size)
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_LENGTH,
            "tensor '%s': external data has %llu bytes, its shape needs %llu", tensor,
            (unsigned long long)length, (unsigned long long)size);
    return TN_OK;
}

/* The checksum is of the whole file, so that it is compared once. */
static tn_status check_sum(struct tn__external_file *file, const char *checksum,
    const char *tensor, struct tn_diag *diag) {
    char found[TN_SHA1_TEXT_SIZE];
    if (file->checked) return TN_OK;
    tn__sha1(file->mapping.data, file->mapping.size, found);
    if (strcasecmp(found, checksum) != 0)
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_CHECKSUM,
            "tensor '%s': its data file '%s' has SHA-1 %s, the model states '%.60s'; it "
            "is damaged or belongs to another model",
            tensor, file->location, found, checksum);
    file->checked = true;
    return TN_OK;
}

tn_status tn__external_data(struct tn__externals *externals,
    const struct tn__external_place *place, const char *tensor, uint64_t size,
    const struct tn__external_room *room, const void **out, struct tn_diag *diag) {
    uint64_t offset;
    TN_TRY(read_place(place, tensor, size, &offset, diag));
    const struct tn_model *source = externals->source;
    if (!source || (!source->path && !source->base_dir && !source->read))
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_BASE,
            "tensor '%s' is stored in the file '%s', but the model came from memory: "
            "give a base folder or a reader",
            tensor, place->location);
    if (source->read) {
        void *buffer;
        TN_TRY(room->alloc(room->arg, size, &buffer, diag));
        *out = buffer;
        tn_status status =
            source->read(source->read_arg, place->location, offset, size, buffer, diag);
        if (status == TN_OK) return TN_OK;
        return tn_fail(diag, status, "tensor '%s': the reader failed for '%s'", tensor,
            place->location);
    }
    struct tn__external_file *file = NULL;
    TN_TRY(find_file(externals, tensor, place->location, &file, diag));
    if (externals->verify && place->checksum)
        TN_TRY(check_sum(file, place->checksum, tensor, diag));
    uint64_t end;
    if (!tn_add_size(offset, size, &end) || end > file->mapping.size)
        return tn__fail_rule(diag, TN_RULE_EXTERNAL_RANGE,
            "tensor '%s': bytes %llu to %llu of '%s' are wanted, but the file has %llu; "
            "it is cut short or belongs to another model",
            tensor, (unsigned long long)offset, (unsigned long long)(offset + size),
            place->location, (unsigned long long)file->mapping.size);
    *out = (const char *)file->mapping.data + offset;
    return TN_OK;
}
