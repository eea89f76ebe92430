#include "sim/cli/list_empty.h"

#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Bytes of the name up to the dot behind its first `n_dots`. */
static size_t length_to_dot(const char *name, int n_dots)
{
    const char *end = name + strcspn(name, ".");
    for (; n_dots > 0 && *end != 0; n_dots--) end += 1 + strcspn(end + 1, ".");
    return (size_t)(end - name);
}

static bool is_alike(const char *word, size_t n_word, const char *part, size_t n_part)
{
    char a[64], b[64];
    const bool is_any = (n_part == 4 && memcmp(part, "NAME", 4) == 0) || (n_part == 2 && memcmp(part, "[]", 2) == 0);
    if (is_any || n_word >= sizeof a || n_part >= sizeof b) return is_any;
    snprintf(a, sizeof a, "%.*s", (int)n_word, word);
    snprintf(b, sizeof b, "%.*s", (int)n_part, part);
    return text_distance(a, b) <= n_word / 4;
}

/* Bytes of the key whose parts are alike those of the word, where NAME stands for any: `services.NAME` for
 * `service.chat`. 0: they are not. */
static size_t length_alike(const char *word, const char *key)
{
    const char *end = key;
    for (;;) {
        const size_t n_word = strcspn(word, "."), n_part = strcspn(end, ".");
        if (!is_alike(word, n_word, end, n_part)) return 0;
        word += n_word;
        end += n_part;
        if (*word == '\0') return (size_t)(end - key);
        if (*end == '\0') return 0;
        word++, end++;
    }
}

/* The first key that is alike the word, and how many of its bytes are. NULL: none is. */
static const char *first_alike(const char *word, const char *const *keys, size_t n, size_t *n_chars)
{
    for (size_t i = 0; i < n; i++)
        if ((*n_chars = length_alike(word, keys[i])) > 0) return keys[i];
    return NULL;
}

static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    while (strlen(text) >= n && strncasecmp(text, word, n) != 0) text++;
    return strlen(text) >= n;
}

void list_filter(struct answer_table *table, const char *word)
{
    size_t n_kept = 0;
    for (size_t row = 0; row + table->n_columns <= table->n_cells; row += table->n_columns) {
        bool fits = word[0] == 0;
        for (size_t i = 0; i < table->n_columns && !fits; i++)
            fits = table->columns[i].title != NULL && table->cells[row + i].kind == CELL_TEXT &&
                   has_word(table->texts.chars + table->cells[row + i].chars, word);
        if (!fits) continue;
        memmove(table->cells + n_kept, table->cells + row, table->n_columns * sizeof *table->cells);
        n_kept += table->n_columns;
    }
    table->n_cells = n_kept;
}

int list_fail_empty(struct cli *cli, const char *listing, const char *relation, const char *word,
                    const struct answer_table *all, int n_dots)
{
    const size_t n_rows = all->n_cells / all->n_columns;
    const char **names = mem_zalloc(n_rows + 1, sizeof *names), *nearest = NULL;
    char hint[DIAG_TEXT_CHARS];
    if (names == NULL || all->failed) {
        mem_free(names);
        return diag_nomem(&cli->diag);
    }
    for (size_t i = 0; i < n_rows; i++) names[i] = all->texts.chars + all->cells[i * all->n_columns].chars;
    size_t n_alike = 0;
    const char *alike = strcmp(listing, "keys") == 0 ? first_alike(word, names, n_rows, &n_alike) : NULL;
    text_nearest_end(word, names, n_rows, &nearest);
    if (alike != NULL)
        snprintf(hint, sizeof hint, "did you mean '%.*s'?", (int)n_alike, alike);
    else if (nearest != NULL)
        snprintf(hint, sizeof hint, "did you mean '%.*s'?", (int)length_to_dot(nearest, n_dots), nearest);
    else
        snprintf(hint, sizeof hint, "'orrery list %s' shows all%s", listing,
                 strcmp(listing, "keys") == 0 ? "; keys of policies and costs are in 'orrery list parameters'" : "");
    mem_free(names);
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "nothing in 'list %s' %s '%s'", listing, relation, word);
}

/* --- What can be listed --- */

int list_listings(struct cli *cli, const char *const *names, const char *const *whats, enum answer_form form)
{
    static const struct table_column columns[] = {LEFT("listing"), LEFT("what")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; names[i] != NULL; i++) {
        table_text(&table, names[i]);
        table_text(&table, whats[i]);
    }
    return table_print(&table, 0, form, cli->out, &cli->diag);
}

int list_pick(struct cli *cli, const char *word, const char *const *names)
{
    static const char *const usual[][2] = {{"policy", "policies"},     {"family", "policies"}, {"families", "policies"},
                                           {"schedulers", "policies"}, {"model", "llms"},      {"models", "llms"},
                                           {"study", "studies"},       {"hardware", "gpus"},   {"drives", "storage"}};
    char hint[64];
    if (strcmp(word, "figures") == 0 || strcmp(word, "figure") == 0) {
        diag_error(&cli->diag, SIM_E_USAGE, NULL, "'orrery figure list' lists figures", "unknown listing '%s'", word);
        return -1;
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (strcmp(usual[i][0], word) != 0) continue;
        snprintf(hint, sizeof hint, "did you mean '%s'?", usual[i][1]);
        diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "unknown listing '%s'", word);
        return -1;
    }
    return cli_pick(cli, "listing", word, names);
}
