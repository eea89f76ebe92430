#include "sim/world/idle_types.h"

#include "sim/core/text.h"
#include "sim/world/policy/scheduler.h"
#include "sim/world/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

bool idle_types_find(const struct scenario *scenario, char *text, size_t text_bytes)
{
    const struct scheduler *scheduler = scenario->jobs.scheduler.entry;
    const struct config_list *types = &scenario->cluster.nodes.node_types;
    const bool is_rented = scenario->market.renting.entry != NULL;
    if (scenario->jobs.trace.entry == NULL || scheduler->uses_node_types || is_rented) return false;
    struct text names;
    size_t n = 0;
    text_init(&names);
    for (size_t i = 0; i < types->n; i++) {
        const struct node_type_config *type = (const struct node_type_config *)types->items + i;
        if (!serves_on(scenario, type)) text_printf(&names, "%s'%s'", n++ > 0 ? ", " : "", type->name);
    }
    const bool found = n > 0 && !names.failed;
    if (found)
        snprintf(text, text_bytes,
                 "scheduler '%s' ignores further node types: nothing runs on %s; 'gavel', 'sia' and others place jobs "
                 "on them; else leave them out",
                 scheduler->policy.name, names.chars);
    text_fini(&names);
    return found;
}

int idle_types_warn(const struct scenario *scenario, const struct sink *sink)
{
    char text[DIAG_TEXT_CHARS];
    if (sink->warning == NULL || !idle_types_find(scenario, text, sizeof text)) return 0;
    const struct warning_row row = {.t_s = (double)NAN, .code = "idle-node-types", .text = text, .count = 1};
    return sink->warning(sink->context, &row);
}
