/* The scenario is asked, not the run: a node type may be idle in a run although something could use it. */
#include "sim/cli/run/idle_types.h"

#include "sim/core/text.h"
#include "sim/world/jobs/job_types.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/policy/scheduler.h"

#include <string.h>

/* Names of types in a hint. */
enum { SHOWN_TYPES = JOB_TYPES_UNNAMED - 1 };

/* Whether a pool of a service takes GPUs of this node type. */
static bool serves_on(const struct scenario *scenario, const struct node_type_config *type)
{
    for (size_t i = 0; i < scenario->services.n; i++) {
        const struct service_config *service = scenario_service(scenario, i);
        for (size_t p = 0; p < service_n_pools(service); p++) {
            const struct pool_config pool = service_pool(service, p);
            const char *gpu = pool.gpu != NULL ? pool.gpu : scenario->cluster.nodes.gpu;
            if (gpu != NULL && type->gpu != NULL && strcmp(gpu, type->gpu) == 0) return true;
        }
    }
    return false;
}

void warn_idle_types(const struct setup *setup, struct diag *diag)
{
    const struct scenario *scenario = &setup->scenario;
    const struct scheduler *scheduler = scenario->jobs.scheduler.entry;
    const struct config_list *types = &scenario->cluster.nodes.node_types;
    const bool is_rented = scenario->market.renting.entry != NULL;
    if (scenario->jobs.trace.entry == NULL || scheduler->uses_node_types || is_rented) return;
    struct text names;
    size_t n = 0;
    text_init(&names);
    for (size_t i = 0; i < types->n; i++) {
        const struct node_type_config *type = (const struct node_type_config *)types->items + i;
        if (!serves_on(scenario, type)) text_printf(&names, "%s'%s'", n++ > 0 ? ", " : "", type->name);
    }
    if (n > 0 && !names.failed)
        diag_warning(
            diag, config_where(setup->config, "cluster.node_types"), "'gavel' places jobs on them; else leave them out",
            "scheduler '%s' ignores further node types: nothing runs on %s", scheduler->policy.name, names.chars);
    text_fini(&names);
}

void warn_trace_misfit(const struct setup *setup, struct diag *diag)
{
    enum { MOST_TYPES = 64 };
    const struct scenario *scenario = &setup->scenario;
    const struct trace_format *format = scenario->jobs.trace.entry;
    const struct config_list *types = &scenario->jobs.types;
    const char *loading[MOST_TYPES + 1] = {NULL};
    size_t n = 0;
    if (format == NULL || format->misfit == NULL) return;
    for (size_t i = 0; i < types->n && n < MOST_TYPES; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        if (type->load.from != NULL) loading[n++] = type->name;
    }
    const struct cluster_config *nodes = &scenario->cluster.nodes;
    const struct trace_site site = {nodes->nodes, nodes->gpus_per_node, loading};
    const char *text = format->misfit(scenario->jobs.trace.params, &site);
    if (text != NULL)
        diag_warning(diag, config_where(setup->config, "jobs.trace"), NULL, "trace '%s': %s", format->name, text);
}

void warn_absent_job_types(const struct setup *setup, const struct world *world, struct diag *diag)
{
    const char *const *unnamed, *absent;
    const struct jobs *jobs = world_jobs(world);
    if (jobs == NULL) return;
    const size_t n_unnamed = jobs_unnamed_types(jobs, &unnamed);
    struct text hint;
    size_t at = 0;
    text_init(&hint);
    for (size_t i = 0; i < n_unnamed && i < SHOWN_TYPES; i++)
        text_printf(&hint, "%s'%s'", i > 0 ? ", " : "jobs had these types, which it does not name: ", unnamed[i]);
    if (n_unnamed > SHOWN_TYPES) text_printf(&hint, ", ...");
    while ((absent = jobs_absent_type(jobs, &at)) != NULL) {
        char key[512];
        snprintf(key, sizeof key, "jobs.types.%s", absent);
        diag_warning(diag, config_where(setup->config, key), n_unnamed > 0 && !hint.failed ? hint.chars : NULL,
                     "no job was of type '%s', which jobs.types names", absent);
    }
    text_fini(&hint);
}
