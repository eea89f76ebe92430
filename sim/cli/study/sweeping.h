/* The host of a study's runs in this program. */
#ifndef ORRERY_CLI_STUDY_SWEEPING_H
#define ORRERY_CLI_STUDY_SWEEPING_H

#include "sim/catalog/catalog.h"
#include "sim/cli/cli.h"
#include "sim/core/text.h"
#include "sim/study/sweep.h"

/* Shared by all runs of a study; `runner` goes to sweep(). */
struct sweeping_host {
    const volatile sig_atomic_t *interrupt;
    const struct plugins *plugins;
    const char *data; /* as in struct cli */
    struct catalog_memory memory; /* each worker process has its own copy */
    struct heard *heard;          /* warnings of runs go there (sweep_warnings.h); NULL: nowhere */
    struct text platform, program;
    struct sweep_runner runner;
};

/* Returns 0 or SIM_E_NOMEM with a finding; sweeping_fini may follow either. */
int sweeping_init(struct sweeping_host *host, struct cli *cli);
void sweeping_fini(struct sweeping_host *host);

/* What is said of the size of a study's results. */
struct sweeping_size {
    FILE *err;
    const char *output, *keep; /* of the study */
    double limit_bytes;
    bool is_shown; /* a line of progress, which is wiped before the warning */
    bool has_warned;
};

/* Warns, once, if the ended runs predict more than the limit. */
void sweeping_size_warn(struct sweeping_size *size, const struct sweep_progress *progress);

/* Warns before the runs, if the seeds are block-bootstrap replicates that are too few for a verdict of `orrery compare`
 * on the metrics which it tests by default. Says what to type, with the study's `path` and the database `output`.
 * Says nothing of a study whose first run cannot be loaded. */
void sweeping_replicates_warn(const struct sweeping_host *host, const struct study *study, const char *path,
                              const char *output, FILE *err);

/* Reads the number behind an option, of runs or seeds; *n is 0 if `text` is NULL. Returns 0 or SIM_E_USAGE. */
int sweeping_read_count(struct cli *cli, const char *option, const char *text, int *n);

#endif
