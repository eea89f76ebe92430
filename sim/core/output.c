#include "sim/core/output.h"

#include "sim/core/mem.h"
#include "sim/core/part.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { FLUSH_BYTES = 1 << 16 };

struct output {
    char *path;
    char target[PATH_MAX]; /* what the path leads to */
    struct part part;      /* without a name for a device */
    gzFile file;           /* NULL: all is written */
    struct text text;
};

static bool is_compressed(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

/* Creates the part. Returns another descriptor of it, which gzip closes, or -1 with errno. */
static int create_part(struct output *output, mode_t mode)
{
    if (part_create(&output->part, output->target, mode) != 0) return -1;
    return fcntl(output->part.lock, F_DUPFD_CLOEXEC, 0);
}

/* A part that has the permissions of the file it replaces; they have to allow writing. */
static int replace_file(struct output *output, mode_t mode)
{
    if (access(output->path, W_OK) != 0 || realpath(output->path, output->target) == NULL) return -1;
    const int fd = create_part(output, 0666);
    if (fd < 0 || fchmod(fd, mode & 0777) == 0) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Returns a file to write to, or -1 with errno. */
static int open_file(struct output *output)
{
    struct stat status;
    if (stat(output->path, &status) == 0) {
        return S_ISREG(status.st_mode) ? replace_file(output, status.st_mode)
                                       : open(output->path, O_WRONLY | O_CLOEXEC);
    }
    if (errno != ENOENT) return -1;
    if (strlen(output->path) >= sizeof output->target) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(output->target, output->path, strlen(output->path) + 1);
    return create_part(output, 0666);
}

static void destroy(struct output *output)
{
    text_fini(&output->text);
    mem_free(output->path);
    mem_free(output);
}

int output_open(const char *path, struct output **output, struct diag *diag)
{
    struct output *new = mem_zalloc(1, sizeof *new);
    if (new != NULL) new->path = mem_strdup(path);
    if (new == NULL || new->path == NULL) {
        mem_free(new);
        return diag_nomem_at(diag, path);
    }
    text_init(&new->text);
    int fd = open_file(new), error = errno;
    new->file = fd >= 0 ? gzdopen(fd, is_compressed(path) ? "wb6" : "wbT") : NULL;
    if (new->file != NULL) {
        *output = new;
        return 0;
    }
    if (fd >= 0) close(fd);
    part_discard(&new->part);
    destroy(new);
    return fd < 0 ? diag_system_error(diag, path, "cannot write", error) : diag_nomem_at(diag, path);
}

void output_clean(const char *path)
{
    char target[PATH_MAX];
    part_clean(realpath(path, target) != NULL ? target : path);
}

struct text *output_text(struct output *output)
{
    return &output->text;
}

static int write_text(struct output *output, struct diag *diag)
{
    struct text *text = &output->text;
    if (text->failed) return diag_nomem_at(diag, output->path);
    if (text->length > 0 && gzwrite(output->file, text->chars, (unsigned)text->length) == 0) {
        return diag_system_error(diag, output->path, "cannot write", errno);
    }
    text->length = 0;
    return 0;
}

int output_flush(struct output *output, struct diag *diag)
{
    return output->text.length < FLUSH_BYTES && !output->text.failed ? 0 : write_text(output, diag);
}

int output_finish(struct output *output, struct diag *diag)
{
    const int code = write_text(output, diag);
    errno = 0;
    const bool is_closed = gzclose(output->file) == Z_OK;
    output->file = NULL;
    const bool is_whole = is_closed && (output->part.path[0] == 0 || part_flush(&output->part) == 0);
    return code == 0 && !is_whole ? diag_system_error(diag, output->path, "cannot write", errno) : code;
}

int output_close(struct output *output, bool failed, struct diag *diag)
{
    const bool was_finished = output->file == NULL;
    int code = was_finished || failed ? 0 : output_finish(output, diag);
    if (output->file != NULL) gzclose(output->file);
    if (!failed && code == 0 && output->part.path[0] != 0 && part_take_name(&output->part, true) != 0) {
        code = diag_system_error(diag, output->path, "cannot write", errno);
        if (was_finished) part_leave(&output->part);
    }
    part_discard(&output->part);
    destroy(output);
    return code;
}
