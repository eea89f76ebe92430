/* Completion scripts for shells, generated from the tables of verbs and options like the help.
 *
 * A script completes verbs, options, choices, file names, and the names that `orrery list` prints. */
#ifndef ORRERY_CLI_COMPLETION_COMPLETION_H
#define ORRERY_CLI_COMPLETION_COMPLETION_H

#include "sim/cli/cli.h"

#include <stdbool.h>
#include <stdio.h>

void completion_bash(FILE *out);
void completion_zsh(FILE *out);
void completion_fish(FILE *out);

/* What a shell offers for the value of an option. */
enum completion_value { COMPLETION_NONE, COMPLETION_CHOICES, COMPLETION_GPU, COMPLETION_SETTING, COMPLETION_FILE };

/* COMPLETION_NONE: the option is a flag. A text of any other kind may be a file name. */
enum completion_value completion_value(const struct option *option);

/* Keys of --set whose values `orrery list LISTING` prints. A pattern may begin with '*'. For the listing "policies",
 * the family is the key's last part. */
struct completion_key {
    const char *pattern, *listing;
};

extern const struct completion_key completion_keys[]; /* ends with a zero entry */
extern const char completion_keep[];                  /* values of --set keep=, with blanks between them */

/* Writes the words that may follow the verb, from its usage ("gpus|llms", "config SCENARIO"), each with a blank behind
 * it. Words in capitals are left out: they stand for other words. */
void completion_words(FILE *out, const struct verb *verb);

/* Whether the verb's usage has this word, such as "SCENARIO". */
bool completion_takes(const struct verb *verb, const char *what);

/* Writes the names of all verbs, each with a blank behind it. */
void completion_verbs(FILE *out);

/* Calls `write` for each verb, with the table of its options. */
void completion_each(FILE *out, void (*write)(FILE *out, const struct verb *verb, const struct option *table));

#endif
