/* Option tables: one table defines parsing, did-you-mean and the help. */
#ifndef ORRERY_CLI_OPTIONS_H
#define ORRERY_CLI_OPTIONS_H

#include "sim/core/err.h"
#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_FLAG,  /* bool */
    OPTION_TEXT,  /* const char *, NULL when absent */
    OPTION_TEXTS, /* struct option_texts: may be given several times */
    OPTION_CHOICE, /* int, index into `choices`; zero when absent */
    OPTION_WORD    /* a flag: int, index of its own name in `choices`; words of one offset exclude each other */
};

enum { OPTION_MAX_TEXTS = 256 };

struct option_texts {
    size_t n;
    const char *items[OPTION_MAX_TEXTS];
};

struct option {
    const char *group; /* heading in the help above this option, or NULL */
    const char *name;  /* without dashes */
    char letter;       /* short form, or 0 */
    enum option_kind kind;
    size_t offset;        /* in the verb's struct of options */
    const char *argument; /* name of its value in the help; NULL for flags */
    const char *const *choices;
    const char *help;
};

/* Writes what to do about an unknown option whose name, without dashes, may be meant as a key of --set. Returns false
 * if no key has the name. */
typedef bool option_key_fn(const char *name, char *hint, size_t hint_bytes);

/* Reads argv[0 .. argc), where options and other arguments mix ("--" ends the options; "--name=value" is "--name
 * value"). Fills `values` by the table and moves the other arguments to the front of argv. `explain_key` may be NULL.
 * Returns their number, or SIM_E_USAGE with all findings. */
int options_parse(const struct option *table, option_key_fn *explain_key, int argc, char **argv, void *values,
                  struct diag *diag);

/* Adds the help: "  -o, --output FILE   where rows go", under the headings of the groups. */
void options_help(const struct option *table, struct text *help);

#endif
