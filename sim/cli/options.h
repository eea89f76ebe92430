/* Options by tables: one table gives parsing, did-you-mean and the help. */
#ifndef ORRERY_CLI_OPTIONS_H
#define ORRERY_CLI_OPTIONS_H

#include "sim/core/err.h"
#include "sim/core/text.h"

#include <stddef.h>

enum option_kind {
    OPTION_FLAG,  /* bool */
    OPTION_TEXT,  /* const char *, NULL when absent */
    OPTION_TEXTS, /* struct option_texts: may come several times */
    OPTION_CHOICE /* int, index into `choices`; zero when absent */
};

enum { OPTION_MAX_TEXTS = 256 };

struct option_texts {
    size_t n;
    const char *items[OPTION_MAX_TEXTS];
};

struct option {
    const char *group; /* heading of the help that starts here, or NULL */
    const char *name;  /* without dashes */
    char letter;       /* short form, or 0 */
    enum option_kind kind;
    size_t offset;        /* in the verb's struct of options */
    const char *argument; /* how the help calls its argument; NULL for flags */
    const char *const *choices;
    const char *help;
};

/* Reads argv[0 .. argc), in which options and other arguments may be mixed ("--" ends the options; "--name=value" is
 * "--name value"). Fills `values` by the table, and moves the other arguments to the front of argv. Returns how many of
 * these there are, or SIM_E_USAGE with all findings. */
int options_parse(const struct option *table, int argc, char **argv, void *values, struct diag *diag);

/* The lines of the help: "  -o, --output FILE   where rows go", under the headings of the groups. */
void options_help(const struct option *table, struct text *help);

#endif
