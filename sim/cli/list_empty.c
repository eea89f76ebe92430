#include "sim/cli/list_empty.h"

#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the name up to the dot behind its first `n_dots`. */
static size_t length_to_dot(const char *name, int n_dots)
{
    const char *end = name + strcspn(name, ".");
    for (; n_dots > 0 && *end != 0; n_dots--) end += 1 + strcspn(end + 1, ".");
    return (size_t)(end - name);
}

int list_fail_empty(struct cli *cli, const char *listing, const char *word, const struct answer_table *all, int n_dots)
{
    const size_t n_rows = all->n_cells / all->n_columns;
    const char **names = mem_zalloc(n_rows + 1, sizeof *names), *nearest = NULL;
    char hint[DIAG_TEXT_CHARS];
    if (names == NULL || all->failed) {
        mem_free(names);
        return diag_nomem(&cli->diag);
    }
    for (size_t i = 0; i < n_rows; i++) names[i] = all->texts.chars + all->cells[i * all->n_columns].chars;
    text_nearest_end(word, names, n_rows, &nearest);
    if (nearest != NULL)
        snprintf(hint, sizeof hint, "did you mean '%.*s'?", (int)length_to_dot(nearest, n_dots), nearest);
    else
        snprintf(hint, sizeof hint, "'orrery list %s' shows all%s", listing,
                 strcmp(listing, "keys") == 0 ? "; keys of policies and costs are in 'orrery list parameters'" : "");
    mem_free(names);
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "nothing in 'list %s' begins with '%s'", listing, word);
}
