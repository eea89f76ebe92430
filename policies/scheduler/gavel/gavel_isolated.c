/* Gavel's isolated shares: each of n jobs has one nth of the GPUs of every node type, as far as it can use them.
 * Rounds realise the shares. Neither speeds nor remaining work matter. */
#include "policies/declared.h"
#include "policies/scheduler/gavel/gavel_rounds.h"

static int allocate(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    (void)view;
    for (size_t i = 0; i < rounds->n; i++) {
        struct gavel_job *job = rounds->jobs[i];
        gavel_nth_part(rounds, (double)rounds->n, job->view->gpus, job->alone.share);
    }
    return 0;
}

static const struct gavel_rule rule = {.allocate = allocate, .rotates = true};

GAVEL_SCHEDULER(scheduler_gavel_isolated, rule, struct gavel_rounds, gavel_notify, gavel_rounds_fini, .name = "gavel-isolated",
                .summary = "in rounds over all jobs, each of n jobs gets one nth of every node type",
                .source = "Gavel (OSDI 2020) simulator, isolated");
