/* The word behind a listing. A listing that it empties is a slip. */
#ifndef ORRERY_CLI_LIST_EMPTY_H
#define ORRERY_CLI_LIST_EMPTY_H

#include "sim/cli/answer.h"
#include "sim/cli/cli.h"

/* Keeps the rows of which a shown cell has the word, in any case. */
void list_filter(struct answer_table *table, const char *word);

/* Reports that nothing of `orrery list LISTING` "begins with" or "has" the word. The first column of `all` has the
 * names; one near the word is suggested, with its first `n_dots` dots. Returns SIM_E_USAGE or SIM_E_NOMEM. */
int list_fail_empty(struct cli *cli, const char *listing, const char *relation, const char *word,
                    const struct answer_table *all, int n_dots);

/* Prints what can be listed: names, which NULL ends, and what each has. Returns as table_print. */
int list_listings(struct cli *cli, const char *const *names, const char *const *whats, enum answer_form form);

/* As cli_pick of a listing, also by the names that people give it: "models" for "llms". */
int list_pick(struct cli *cli, const char *word, const char *const *names);

#endif
