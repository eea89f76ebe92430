#include "sim/cli/run/misfits.h"

#include "sim/core/text.h"
#include "sim/world/idle_types.h"
#include "sim/world/jobs/job_types.h"
#include "sim/world/jobs/jobs.h"

#include <string.h>

/* Names of types in a hint. */
enum { SHOWN_TYPES = JOB_TYPES_UNNAMED - 1 };

void warn_idle_types(const struct setup *setup, struct diag *diag)
{
    char text[DIAG_TEXT_CHARS];
    if (idle_types_find(&setup->scenario, text, sizeof text))
        diag_warning(diag, config_where(setup->config, "cluster.node_types"), NULL, "%s", text);
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
