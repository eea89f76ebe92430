#include "sim/core/output.h"

#include "sim/core/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { FLUSH_BYTES = 1 << 16 };

struct output {
    char *path;
    gzFile file;
    struct text text;
};

static bool is_compressed(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

int output_open(const char *path, struct output **output, struct diag *diag)
{
    struct output *new = mem_zalloc(1, sizeof *new);
    if (new != NULL) new->path = mem_strdup(path);
    if (new == NULL || new->path == NULL) {
        mem_free(new);
        return diag_error(diag, SIM_E_NOMEM, path, NULL, "out of memory");
    }
    text_init(&new->text);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), error = errno;
    new->file = fd >= 0 ? gzdopen(fd, is_compressed(path) ? "wb6" : "wbT") : NULL;
    if (new->file != NULL) {
        *output = new;
        return 0;
    }
    if (fd >= 0) close(fd);
    mem_free(new->path);
    mem_free(new);
    return fd < 0 ? diag_system_error(diag, path, "cannot write", error)
                  : diag_error(diag, SIM_E_NOMEM, path, NULL, "out of memory");
}

struct text *output_text(struct output *output)
{
    return &output->text;
}

static int write_text(struct output *output, struct diag *diag)
{
    struct text *text = &output->text;
    if (text->failed) return diag_error(diag, SIM_E_NOMEM, output->path, NULL, "out of memory");
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

int output_close(struct output *output, bool failed, struct diag *diag)
{
    int code = failed ? 0 : write_text(output, diag);
    errno = 0;
    bool closed = gzclose(output->file) == Z_OK;
    if (!failed && code == 0 && !closed) code = diag_system_error(diag, output->path, "cannot write", errno);
    if (failed || code != 0) unlink(output->path);
    text_fini(&output->text);
    mem_free(output->path);
    mem_free(output);
    return code;
}
