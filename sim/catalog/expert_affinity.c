#include "sim/catalog/expert_affinity.h"

#include "sim/catalog/expert_row.h"

#include <string.h>

static const char hint[] = "a row has the tokens of an expert, by the expert of the next layer; there is no header";

/* Returns the number of rows, or a negative code. */
static int64_t read_rows(const struct expert_affinity *affinity, struct csv *csv, double *flows, struct diag *diag)
{
    const size_t n = affinity->experts, most = (affinity->layers - 1) * n;
    for (size_t rows = 0;; rows++) {
        const int got = csv_next(csv, diag);
        if (got <= 0) return got < 0 ? got : (int64_t)rows;
        if (rows == most) return (int64_t)most + 1;
        const int code = expert_row_read(csv, n, "count", hint, flows + rows * n, diag);
        if (code != 0) return code;
    }
}

static int read_file(const struct expert_affinity *affinity, double *flows, struct diag *diag)
{
    const size_t n = affinity->experts, steps = affinity->layers - 1;
    struct input *input;
    struct csv *csv = NULL;
    int code = input_open(affinity->path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, diag);
    const int64_t rows = code == 0 ? read_rows(affinity, csv, flows, diag) : code;
    csv_destroy(csv);
    if (rows < 0) return (int)rows;
    if (rows != (int64_t)n && rows != (int64_t)(steps * n))
        return diag_error(diag, SIM_E_DATA, affinity->path,
                          "write a row for each expert of a layer, for all layers alike or for each but the last",
                          "the file has %s%lld rows, neither %zu nor %zu",
                          rows > (int64_t)(steps * n) ? "more than " : "",
                          (long long)(rows > (int64_t)(steps * n) ? rows - 1 : rows), n, steps * n);
    for (size_t step = 1; step < steps && rows == (int64_t)n; step++)
        memcpy(flows + step * n * n, flows, n * n * sizeof *flows);
    return 0;
}

int expert_affinity_read(const struct expert_affinity *affinity, double *flows, struct diag *diag)
{
    const size_t n = affinity->experts;
    if (affinity->path != NULL) return read_file(affinity, flows, diag);
    for (size_t step = 0; step + 1 < affinity->layers; step++)
        expert_chain_flows(flows + step * n * n, n, affinity->affinity);
    return 0;
}
