#include "sim/world/origins.h"

#include "sim/core/number.h"
#include "sim/world/jobs/jobs.h"
#include "sim/world/scenario.h"
#include "sim/world/service/service.h"

#include <math.h>
#include <stdio.h>

/* Time 0 of a trace. */
struct origin {
    const char *service; /* NULL: that of the jobs */
    sim_ns ns;           /* calendar time, since 1970; 0: unknown */
};

/* Logs that begin within this time of each other count as one. */
static const sim_ns least_shift_ns = 60 * SIM_NS_PER_S;

static void put_owner(const struct origin *origin, char text[64])
{
    if (origin->service == NULL)
        snprintf(text, 64, "the jobs");
    else
        snprintf(text, 64, "service '%.48s'", origin->service);
}

static int warn(const struct origin *first, const struct origin *last, const struct sink *sink)
{
    char text[512], first_at[TIMESTAMP_CHARS], last_at[TIMESTAMP_CHARS], first_of[64], last_of[64];
    timestamp_show(first->ns, first_at);
    timestamp_show(last->ns, last_at);
    put_owner(first, first_of);
    put_owner(last, last_of);
    snprintf(
        text, sizeof text,
        "time 0 is %s in the trace of %s, and %s in that of %s: they are shifted by %.10g s against each other; one "
        "\"origin\" for both keeps them together, such as \"%.10s\", and \"first\" for each says that it is meant",
        first_at, first_of, last_at, last_of, sim_s_from_ns(last->ns - first->ns), first_at);
    const struct warning_row row = {.t_s = (double)NAN, .code = "origins", .text = text, .count = 1};
    return sink->warning(sink->context, &row);
}

static void see(struct origin *first, struct origin *last, const char *service, sim_ns ns)
{
    const struct origin origin = {service, ns};
    if (ns == 0) return;
    if (first->ns == 0 || ns < first->ns) *first = origin;
    if (ns > last->ns) *last = origin;
}

int origins_warn(const struct scenario *scenario, struct service *const *services, size_t n_services,
                 const struct jobs *jobs, const struct sink *sink)
{
    struct origin first = {0}, last = {0};
    for (size_t i = 0; i < n_services; i++)
        see(&first, &last, scenario_service(scenario, i)->name, service_place(services[i]).origin_ns);
    if (jobs != NULL) see(&first, &last, NULL, jobs_place(jobs).origin_ns);
    return last.ns - first.ns < least_shift_ns || sink->warning == NULL ? 0 : warn(&first, &last, sink);
}
