/* gzread copies plain files through, so one path serves both kinds. zlib allocates its own window. */
#include "sim/core/input.h"

#include "sim/core/mem.h"
#include "sim/core/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { ZLIB_BUFFER_BYTES = 128 * 1024 };

struct input {
    char *name;
    gzFile file; /* NULL: memory */
    double file_bytes;
    const char *memory;
    size_t memory_bytes, memory_at;
};

static int create(const char *name, struct input **input, struct diag *diag)
{
    struct input *new = mem_zalloc(1, sizeof *new);
    if (new != NULL) new->name = mem_strdup(name);
    if (new == NULL || new->name == NULL) {
        mem_free(new);
        return diag_nomem_at(diag, name);
    }
    *input = new;
    return 0;
}

/* NUL, and what no text has beside its tabs and ends of lines, pages and colours. */
static bool is_control(unsigned char c)
{
    return (c < 0x20 && (c == 0 || strchr("\t\n\v\f\r\033", c) == NULL)) || c == 0x7F;
}

/* Bytes of the UTF-8 character at the start of [n] bytes; 0: they are none, or a control character. */
static size_t utf8_character(const unsigned char *bytes, size_t n)
{
    const unsigned char c = bytes[0];
    if (c < 0x80) return is_control(c) ? 0 : 1;
    const size_t length = c >= 0xF5 ? 0 : c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
    for (size_t i = 1; i < length && i < n; i++)
        if ((bytes[i] & 0xC0) != 0x80) return 0;
    return length;
}

/* Whether too many of the bytes are not of text. In an encoding of 8 bits the letters of a language may be odd, too,
 * but text has no control characters: they are a tenth of random bytes. */
static bool is_binary(const char *bytes, size_t n)
{
    size_t n_odd = 0, n_control = 0, length;
    for (size_t i = 0; i < n; i += length + (length == 0)) {
        length = utf8_character((const unsigned char *)bytes + i, n - i);
        n_odd += length == 0;
        n_control += is_control((unsigned char)bytes[i]);
    }
    return n_odd >= 4 && n_odd >= n / 8 && n_control > n / 64;
}

const char *input_binary_kind(const char *bytes, size_t n)
{
#define KIND(head, what) {head, sizeof(head) - 1, what}
    static const struct {
        const char *head;
        size_t n;
        const char *what;
    } kinds[] = {KIND("PK\003\004", "a zip archive"),
                 KIND("PAR1", "a Parquet file"),
                 KIND("SQLite format 3", "a SQLite database"),
                 KIND("\375"
                      "7zXZ",
                      "compressed by xz"),
                 KIND("\050\265\057\375", "compressed by zstd"),
                 KIND("BZh", "compressed by bzip2"),
                 KIND("\037\213", "compressed by gzip"),
                 KIND("\211PNG\r\n", "a picture (PNG)"),
                 KIND("\377\330\377", "a picture (JPEG)"),
                 KIND("%PDF-", "a PDF document"),
                 KIND("\177ELF", "a program"),
                 KIND("ARROW1", "an Arrow file"),
                 KIND("\211HDF\r\n", "an HDF5 file"),
                 KIND("\223NUMPY", "an array of NumPy"),
                 KIND("\377\376", "text in UTF-16"),
                 KIND("\376\377", "text in UTF-16")};
#undef KIND
    if (n > INPUT_HEAD_BYTES) n = INPUT_HEAD_BYTES;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (n >= kinds[i].n && memcmp(bytes, kinds[i].head, kinds[i].n) == 0) return kinds[i].what;
    return is_binary(bytes, n) ? "binary data" : NULL;
}

/* Refuses a file of a kind that no reader of text knows. A pipe is not looked into. */
static int refuse_binary(int fd, const char *path, struct diag *diag)
{
    char head[INPUT_HEAD_BYTES];
    const ssize_t n = pread(fd, head, sizeof head, 0);
    const char *kind = n > 0 ? input_binary_kind(head, (size_t)n) : NULL;
    if (kind == NULL || strstr(kind, "gzip") != NULL) return 0;
    const bool is_database = strstr(kind, "SQLite") != NULL;
    return diag_error(diag, SIM_E_DATA, path,
                      is_database ? "'report', 'compare' and 'export' read results" : "unpack or convert it first",
                      "is %s; expected text, or text in gzip", kind);
}

/* Opens a file that is not a directory, and learns its size. */
static int open_file(const char *path, double *file_bytes, struct diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && path_is_public(path))
        return diag_error(diag, SIM_E_IO, path, NULL,
                          "cannot open: No such file or directory: public data, no part of Orrery; put them there, or "
                          "use --data DIR, which 'run', 'sweep', 'validate' and 'figure' take");
    if (fd < 0) return diag_system_error(diag, path, "cannot open", errno);
    struct stat status;
    int error = fstat(fd, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
    if (error != 0) {
        close(fd);
        return diag_system_error(diag, path, "cannot read", error);
    }
    *file_bytes = (double)status.st_size;
    return fd;
}

int input_open(const char *path, struct input **input, struct diag *diag)
{
    double file_bytes = 0;
    int fd = open_file(path, &file_bytes, diag);
    if (fd < 0) return fd;
    const int refused = refuse_binary(fd, path, diag);
    if (refused != 0) {
        close(fd);
        return refused;
    }
    gzFile file = gzdopen(fd, "rb");
    if (file == NULL) {
        close(fd);
        return diag_nomem_at(diag, path);
    }
    gzbuffer(file, ZLIB_BUFFER_BYTES);
    int code = create(path, input, diag);
    if (code != 0) {
        gzclose(file);
        return code;
    }
    (*input)->file = file;
    (*input)->file_bytes = file_bytes;
    return 0;
}

int input_open_memory(const char *name, const void *bytes, size_t n_bytes, struct input **input, struct diag *diag)
{
    int code = create(name, input, diag);
    if (code != 0) return code;
    (*input)->memory = bytes;
    (*input)->memory_bytes = n_bytes;
    return 0;
}

void input_close(struct input *input)
{
    if (input == NULL) return;
    if (input->file != NULL) gzclose(input->file);
    mem_free(input->name);
    mem_free(input);
}

static size_t read_memory(struct input *input, void *buffer, size_t n_bytes)
{
    size_t left = input->memory_bytes - input->memory_at, n = n_bytes < left ? n_bytes : left;
    if (n > 0) memcpy(buffer, input->memory + input->memory_at, n);
    input->memory_at += n;
    return n;
}

/* zlib reports data that end early only beside a normal end of file. */
static int check_zlib(struct input *input, struct diag *diag)
{
    int error = Z_OK;
    const char *text = gzerror(input->file, &error);
    if (error == Z_OK || error == Z_STREAM_END) return 0;
    if (error == Z_ERRNO) return diag_system_error(diag, input->name, "cannot read", errno);
    if (error == Z_BUF_ERROR) {
        return diag_error(diag, SIM_E_IO, input->name, "copy or download the file again",
                          "compressed data end too early");
    }
    const char *reason = strstr(text, ": "); /* zlib puts "<fd:N>: " before it */
    return diag_error(diag, SIM_E_IO, input->name, "copy or download the file again", "compressed data are damaged: %s",
                      reason != NULL ? reason + 2 : text);
}

int input_read(struct input *input, void *buffer, size_t n_bytes, size_t *n_read, struct diag *diag)
{
    if (input->file == NULL) {
        *n_read = read_memory(input, buffer, n_bytes);
        return 0;
    }
    int n = gzread(input->file, buffer, (unsigned)n_bytes);
    *n_read = n > 0 ? (size_t)n : 0;
    return n > 0 ? 0 : check_zlib(input, diag);
}

const char *input_name(const struct input *input)
{
    return input->name;
}

double input_done_frac(const struct input *input)
{
    if (input->file == NULL)
        return input->memory_bytes > 0 ? (double)input->memory_at / (double)input->memory_bytes : 0;
    if (input->file_bytes <= 0) return 0;
    double done = (double)gzoffset(input->file) / input->file_bytes;
    return done < 1 ? done : 1;
}
