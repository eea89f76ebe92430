#include "analysis/calibrate/file_hash.h"

#include "sim/core/input.h"
#include "sim/core/mem.h"

enum { READ_BYTES = 1 << 16 };

int file_hash(const char *path, char hex[HASH_HEX_CHARS], struct diag *diag)
{
    struct input *input = NULL;
    int status = input_open(path, &input, diag);
    if (status < 0) return status;
    unsigned char *bytes = mem_alloc(READ_BYTES);
    struct hash *hash = hash_create();
    if (bytes == NULL || hash == NULL) status = diag_error(diag, SIM_E_NOMEM, path, NULL, "out of memory");
    size_t n_read = 1;
    while (status == 0 && n_read > 0) {
        status = input_read(input, bytes, READ_BYTES, &n_read, diag);
        if (status == 0) hash_bytes(hash, bytes, n_read);
    }
    if (status == 0) hash_hex(hash, hex);
    hash_destroy(hash);
    mem_free(bytes);
    input_close(input);
    return status;
}
