#include "policies/scheduler/sizes_file.h"

#include "sim/core/csv.h"
#include "sim/core/number.h"

static int read_size(const struct csv *csv, int position, double *gpu_s, struct diag *diag)
{
    const bool there = (size_t)position < csv_n_fields(csv);
    const struct csv_field field = there ? csv_fields(csv)[position] : (struct csv_field){.chars = ""};
    if (number_f64(field.chars, field.n_chars, gpu_s) == NUMBER_OK && *gpu_s >= 0 && *gpu_s <= 1e15) return 0;
    char where[DIAG_WHERE_CHARS];
    csv_where(csv, (size_t)position, 0, where);
    return diag_error(diag, SIM_E_DATA, where, NULL, "'gpu_s' is a number of GPU-seconds from 0 to 1e15, not '%.*s'",
                      (int)field.n_chars, field.chars);
}

static int read_rows(struct csv *csv, struct real_list *sizes, struct diag *diag)
{
    const struct csv_column column = {.name = "gpu_s"};
    int position, code = csv_read_header(csv, &column, 1, &position, diag);
    while (code == 0 && (code = csv_next(csv, diag)) == 1) {
        double gpu_s;
        code = read_size(csv, position, &gpu_s, diag);
        if (code == 0) code = real_list_add(sizes, gpu_s);
    }
    if (code == 0 && sizes->n == 0) code = diag_error(diag, SIM_E_DATA, csv_name(csv), NULL, "the history has no jobs");
    return code;
}

int sizes_file_read(const char *path, struct real_list *sizes_gpu_s, struct diag *diag)
{
    struct input *input;
    struct csv *csv;
    int code = input_open(path, &input, diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, diag);
    if (code != 0) return code;
    code = read_rows(csv, sizes_gpu_s, diag);
    csv_destroy(csv);
    real_list_sort(sizes_gpu_s);
    return code;
}
