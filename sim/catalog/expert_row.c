#include "sim/catalog/expert_row.h"

#include "sim/core/number.h"

int expert_row_read(const struct csv *csv, size_t experts, const char *what, const char *hint, double *tokens,
                    struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    const struct csv_field *fields = csv_fields(csv);
    const size_t n = csv_n_fields(csv);
    const double most = 1e15; /* beyond it sums lose whole tokens */
    for (size_t i = 0; i < experts && i < n; i++) {
        const bool is_number = number_f64(fields[i].chars, fields[i].n_chars, &tokens[i]) == NUMBER_OK;
        if (is_number && tokens[i] >= 0.0 && tokens[i] <= most) continue;
        csv_where(csv, i, 0, where);
        return diag_error(diag, SIM_E_DATA, where, hint, "a %s must be a number from 0 to 1e15, got '%.*s'", what,
                          (int)(fields[i].n_chars < 40 ? fields[i].n_chars : 40), fields[i].chars);
    }
    if (n == experts) return 0;
    csv_where(csv, n < experts ? n : experts, 0, where);
    return diag_error(diag, SIM_E_DATA, where, hint, "%zu %ss in this row, but the LLM has %zu experts", n, what,
                      experts);
}
