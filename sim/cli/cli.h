/* The command line: `orrery VERB ...`, one file per verb.
 *
 * A verb writes its result to `out` and returns 0 or a negative code (sim/core/err.h). Its findings go to the diag,
 * which cli_main prints on stderr: a verb neither exits nor prints diagnostics itself. */
#ifndef ORRERY_CLI_CLI_H
#define ORRERY_CLI_CLI_H

#include "sim/cli/options.h"
#include "sim/cli/plugins.h"
#include "sim/core/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct cli {
    FILE *out, *err; /* the result, deterministic; progress and closing lines */
    struct diag diag;
    const volatile sig_atomic_t *interrupt;
    const struct plugins *plugins; /* given with --plugin; NULL without any */
    const char *data;              /* given with --data: the folder of public traces and measurements; NULL: none */
    struct apart *apart;           /* of a child process that makes a call with plug-ins (apart.h); else NULL */
    int child_status;              /* not 0: exit status of a child process, which has reported why */
};

/* What --data does, in the help of each verb that has it. */
#define DATA_OPTION_HELP "folder of public traces and measurements; default: ../shared/data beside the repository"

/* The command line behind the verb. */
struct cli_call {
    const void *options; /* the struct that the verb's option table fills */
    int n_arguments;
    char *const *arguments; /* NULL-terminated; options are not among them */
};

struct verb {
    const char *name, *summary;
    const char *usage;            /* text behind the verb's name, one line per form */
    const char *notes;            /* shown below the options, or NULL */
    void (*print_more)(FILE *out); /* shown after the notes, or NULL */
    const struct option *options; /* ends with a zero option */
    size_t options_bytes;
    option_key_fn *explain_key; /* where a scenario has a key that was given as an option; NULL: --set has other keys */
    bool takes_plugins; /* has the option --plugin, loaded into cli->plugins before the verb runs */
    bool (*is_plugin)(const char *argument); /* whether the first argument is a plug-in, loaded likewise; or NULL */
    int min_arguments, max_arguments;
    int results_arguments; /* so many of the first name results; a scenario or a trace in their place is refused */
    int (*run)(struct cli *cli, const struct cli_call *call);
};

/* All verbs, in the order of the help. */
#define CLI_VERBS(X)                                                                                                   \
    X(run)                                                                                                             \
    X(size)                                                                                                            \
    X(plan)                                                                                                            \
    X(sweep)                                                                                                           \
    X(merge)                                                                                                           \
    X(runs)                                                                                                            \
    X(show)                                                                                                            \
    X(compare)                                                                                                         \
    X(check)                                                                                                           \
    X(figure)                                                                                                          \
    X(plot)                                                                                                            \
    X(report)                                                                                                          \
    X(why)                                                                                                             \
    X(export)                                                                                                          \
    X(validate)                                                                                                        \
    X(explain)                                                                                                         \
    X(list)                                                                                                            \
    X(trace)                                                                                                           \
    X(profile)                                                                                                         \
    X(calibrate)                                                                                                       \
    X(conform)

#define VERB_DECLARATION(name) extern const struct verb verb_##name;
CLI_VERBS(VERB_DECLARATION)
#undef VERB_DECLARATION

/* The verbs of CLI_VERBS. */
const struct verb *const *cli_verbs(size_t *n);

/* The meaning of exit statuses. */
const char *cli_exit_text(void);

enum { VERB_MAX_OPTIONS = 64 };

/* The options of the verb, with those that verbs share; ends with a zero option. */
void verb_options(const struct verb *verb, struct option table[VERB_MAX_OPTIONS]);

/* Runs `orrery argv[1] argv[2] ...` and returns the exit status. May reorder argv. */
int cli_main(struct cli *cli, int argc, char **argv);

/* The index of `word` in `words` (ended by NULL); -1 if absent, with a finding "unknown WHAT 'word'" and did-you-
 * mean. */
int cli_pick(struct cli *cli, const char *what, const char *word, const char *const *words);

#endif
