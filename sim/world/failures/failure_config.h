/* What fails at a site, and how it returns: the section "failures" of a scenario.
 *
 * A *cause* strikes components of one kind, each with lifetimes of its own; a *domain* is a group of neighbouring nodes
 * that shocks strike together (models/failure.h). Both take nodes down until they are repaired; without a "repair" they
 * only interrupt the jobs on the nodes. */
#ifndef ORRERY_WORLD_FAILURES_FAILURE_CONFIG_H
#define ORRERY_WORLD_FAILURES_FAILURE_CONFIG_H

#include "models/failure.h"
#include "sim/core/config/config.h"
#include "sim/core/units.h"

#include <stdbool.h>

/* What fails. A GPU takes its node down, a switch and the site all of their nodes. A job fails by its own software and
 * leaves the nodes up. A NIC that is slow leaves its node up until it is found. */
enum failure_scope { FAILURE_GPU, FAILURE_NODE, FAILURE_SWITCH, FAILURE_SITE, FAILURE_JOB, FAILURE_NIC };

/* A distribution as the scenario writes it; absent: mean_s is 0. */
struct lifetime_config {
    int kind; /* enum lifetime_kind */
    double mean_s, median_s, shape;
};

struct failure_cause_config {
    const char *name; /* its key */
    const char *source; /* of its times; NULL: not stated */
    int scope;
    struct lifetime_config lifetime, repair, restart, detection;
    double visible_frac;
    double slow_frac; /* share of its speed that a component keeps; NAN: not given */
};

struct failure_domain_config {
    const char *name;
    int64_t nodes;  /* of each group: 0 .. nodes - 1, and so on */
    int64_t needed; /* of a group, so that it counts as available; 0: not asked */
    double shock_mean_s, lethal_mean_s; /* between shocks of a group; NAN: none */
    double hit_frac, spread_s;
    struct lifetime_config repair, restart;
};

/* What running jobs do while their node has an outage. */
enum failure_outage_jobs { FAILURE_OUTAGE_PAUSE, FAILURE_OUTAGE_INTERRUPT };

/* A planned outage: nodes that are down in a stated time, such as for maintenance, or from then on. */
struct failure_outage_config {
    const char *name;    /* its key */
    int64_t node, nodes; /* the first one, by its number in the site, and how many with their neighbours */
    sim_ns from_ns, until_ns; /* until_ns 0: it never ends */
    int jobs; /* enum failure_outage_jobs */
};

/* When the outage ends; SIM_NS_MAX: never. */
static inline sim_ns failure_outage_until_ns(const struct failure_outage_config *outage)
{
    return outage->until_ns > 0 ? outage->until_ns : SIM_NS_MAX;
}

/* How failed jobs come back; absent: staff_until_ns 0. */
struct recovery_config {
    double automatic_frac;
    struct lifetime_config diagnosis, staff_time;
    sim_ns staff_from_ns, staff_until_ns; /* times of day; until before from: over midnight */
};

struct failures_config {
    struct recovery_config recovery;
    struct config_list outages; /* struct failure_outage_config */
    struct config_list causes;  /* struct failure_cause_config */
    struct config_list domains; /* struct failure_domain_config */
    int64_t nodes_per_switch;
    int64_t spare_nodes;
    sim_ns spare_delay_ns;
};

extern const struct config_field failures_config_fields[];

/* Mean time until a cause is found, over all times of day. */
double recovery_config_mean_s(const struct recovery_config *recovery);

/* Warns of a recovery that can have no effect, and of its keys. */
void failures_config_warn(const struct failures_config *config, bool has_jobs, const struct config *document,
                          struct diag *diag);

/* Whether anything fails. */
bool failures_config_any(const struct failures_config *config);

/* Whether components of a cause are slow, or hang, before their failure has consequences. */
bool failure_cause_is_slow(const struct failure_cause_config *cause);

/* Whether NICs may be slow. */
bool failures_config_slows_nics(const struct failures_config *config);

/* Whether any cause or domain strikes nodes. */
bool failures_config_strikes_nodes(const struct failures_config *config);

/* Checks across fields: distributions have their parameters, and sources have different names, also from "breaker"
 * where breakers strike nodes. Returns 0 or SIM_E_CONFIG with findings. */
int failures_config_check(const struct failures_config *config, bool has_breakers, const struct config *document,
                          struct diag *diag);

/* The distribution as a model. An absent one is always 0. */
struct lifetime lifetime_config_get(const struct lifetime_config *config);

#endif
