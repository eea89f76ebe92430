/* The runs of studies as this program does them. */
#ifndef ORRERY_CLI_STUDY_SWEEPING_H
#define ORRERY_CLI_STUDY_SWEEPING_H

#include "sim/catalog/catalog.h"
#include "sim/cli/cli.h"
#include "sim/core/text.h"
#include "sim/study/sweep.h"

/* What runs are done with; `runner` of it goes to sweep(). */
struct sweeping_host {
    const volatile sig_atomic_t *interrupt;
    const struct plugins *plugins;
    struct catalog_memory memory; /* every worker has its own copy */
    struct text platform, program;
    struct sweep_runner runner;
};

/* Returns 0 or SIM_E_NOMEM with a finding. sweeping_fini may be called in either case. */
int sweeping_init(struct sweeping_host *host, struct cli *cli);
void sweeping_fini(struct sweeping_host *host);

#endif
