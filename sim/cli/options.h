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

/* What is known of an unknown option. */
enum option_hint {
    OPTION_UNKNOWN,
    OPTION_IS_KEY, /* a key of --set has the name, which may also be a slip of an option */
    OPTION_MEANT   /* it is clear what is meant */
};

/* Writes what to do about an unknown option by its name, without dashes, unless it is OPTION_UNKNOWN. */
typedef enum option_hint option_key_fn(const char *name, char *hint, size_t hint_bytes);

/* Reads argv[0 .. argc), where options and other arguments mix ("--" ends the options; "--name=value" is "--name
 * value"). Fills `values` by the table and moves the other arguments to the front of argv. `explain_key` may be NULL.
 * Returns their number, or SIM_E_USAGE with all findings. */
int options_parse(const struct option *table, option_key_fn *explain_key, int argc, char **argv, void *values,
                  struct diag *diag);

/* Adds the help: "  -o, --output FILE   where rows go", under the headings of the groups. */
void options_help(const struct option *table, struct text *help);

#endif
