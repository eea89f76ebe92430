/* The bytes of a file, plain or gzip-compressed, or of a block of memory. Compression is recognised by content, so the
 * name of a file does not matter. Memory is bounded: nothing is kept but zlib's window. */
#ifndef ORRERY_CORE_INPUT_H
#define ORRERY_CORE_INPUT_H

#include "sim/core/err.h"

#include <stddef.h>

struct input;

enum { INPUT_HEAD_BYTES = 1024 }; /* that tell the kind of a file */

/* What the first bytes of a file say that it is, "a zip archive" or "compressed by xz"; NULL: it may be text. Bytes of
 * no known kind are binary data if an eighth of them, and at least four, are not of text in UTF-8. It looks at the
 * first INPUT_HEAD_BYTES. */
const char *input_binary_kind(const char *bytes, size_t n);

/* Opens a file. Returns 0, SIM_E_IO (with the path), SIM_E_DATA if it is binary (gzip is read), or SIM_E_NOMEM. */
int input_open(const char *path, struct input **input, struct diag *diag);

/* Reads from `bytes`, which must outlive the input; `name` stands for the file in messages. */
int input_open_memory(const char *name, const void *bytes, size_t n_bytes, struct input **input, struct diag *diag);

void input_close(struct input *input); /* NULL is allowed */

/* Reads up to `n_bytes` (at most 1 GiB) and sets *n_read; 0 is the end. Returns 0 or SIM_E_IO: the file cannot be read,
 * or its compressed data are cut short or damaged. */
int input_read(struct input *input, void *buffer, size_t n_bytes, size_t *n_read, struct diag *diag);

const char *input_name(const struct input *input);

/* Share of the file (of its compressed bytes, if so) that has been read; 0 when the size is not known. */
double input_done_frac(const struct input *input);

#endif
