#include "sim/world/failures/failure_config.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {"exponential", "weibull", "lognormal", "constant", NULL};
static const char *const scope_names[] = {"gpu", "node", "switch", "site", "job", "nic", NULL};

#define ROW_OF struct lifetime_config
static const struct config_field lifetime_fields[] = {
    ROW_CHOICE("law", kind, DEFAULT("exponential"), kind_names, "distribution of the time"),
    ROW_QUANTITY("mean", mean_s, UNIT_TIME, REQUIRED, AT_LEAST(0), "mean time"),
    ROW_REAL("shape", shape, OPTIONAL, WITHIN(0.05, 100),
             "Weibull: shape (below 1: the hazard rate falls with age); lognormal: standard deviation of the logarithm"),
    ROW_QUANTITY("median", median_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "lognormal: median time, instead of the shape; not below the mean: the time is constant"),
    {0}};
#undef ROW_OF

static const char repair_help[] = "time for which nodes are down; default: nodes stay up";
static const char restart_help[] = "time until a failed job computes again, added to jobs.restart; default: none";

#define ROW_OF struct failure_cause_config
static const struct config_field cause_fields[] = {
    ROW_TEXT("source", source, OPTIONAL, ANY, "where its times come from, as calibrate lifetimes writes it; runs do not read it"),
    ROW_CHOICE(
        "scope", scope, REQUIRED, scope_names,
        "component that fails: each GPU (with its node), each node, each switch (with its nodes), the site, each running job, or each NIC (slow)"),
    ROW_SECTION("lifetime", lifetime, FILLED, lifetime_fields, "time to failure of each component, new or repaired"),
    ROW_SECTION("repair", repair, OPTIONAL, lifetime_fields, repair_help),
    ROW_SECTION("restart", restart, OPTIONAL, lifetime_fields, restart_help),
    ROW_REAL("visible", visible_frac, DEFAULT("1"), WITHIN(0, 1),
             "share of the failures that affect jobs and nodes; the others are only counted (failure.unseen)"),
    ROW_REAL("slow", slow_frac, OPTIONAL, WITHIN(0, 1),
             "share of its speed that a failing component keeps until it is found ('detection') or mended ('repair')"),
    ROW_SECTION("detection", detection, OPTIONAL, lifetime_fields,
                "time until a failure is found: jobs hang, or are slow, and then restart; default: at once"),
    {0}};
#undef ROW_OF

#define ROW_OF struct failure_domain_config
static const struct config_field domain_fields[] = {
    ROW_INT("nodes", nodes, REQUIRED, WITHIN(1, 1e6), "nodes of each group, neighbours by number"),
    ROW_QUANTITY("shock", shock_mean_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "mean time between shocks of a group; a shock hits each node with probability 'hit'"),
    ROW_REAL("hit", hit_frac, DEFAULT("1"), WITHIN(0, 1),
             "probability that a shock hits a node of the group"),
    ROW_QUANTITY("lethal", lethal_mean_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "mean time between shocks that hit all nodes of a group"),
    ROW_QUANTITY("spread", spread_s, UNIT_TIME, DEFAULT("0s"), AT_LEAST(0),
                 "nodes hit by a shock fail one by one, evenly spread over this time"),
    ROW_SECTION("repair", repair, OPTIONAL, lifetime_fields, repair_help),
    ROW_SECTION("restart", restart, OPTIONAL, lifetime_fields, restart_help),
    ROW_INT("needed", needed, DEFAULT("0"), WITHIN(0, 1e6),
            "nodes that a group needs to count as available in failure.available_frac; 0: not reported"),
    {0}};
#undef ROW_OF

static const char *const outage_jobs_names[] = {"pause", "interrupt", NULL};

#define ROW_OF struct failure_outage_config
static const struct config_field outage_fields[] = {
    ROW_INT("node", node, REQUIRED, WITHIN(0, 1e6), "number of the node, in the order of the node types"),
    ROW_INT("nodes", nodes, DEFAULT("1"), WITHIN(1, 1e6), "nodes, with the neighbours that follow"),
    ROW_TIME("from", from_ns, REQUIRED, AT_LEAST(0), "time at which the outage begins"),
    ROW_TIME("until", until_ns, OPTIONAL, AT_LEAST(1e-9), "time at which the outage ends; default: it never does"),
    ROW_CHOICE("jobs", jobs, DEFAULT("pause"), outage_jobs_names,
               "running jobs keep their GPUs and go on afterwards, or are interrupted as by a failure"),
    {0}};
#undef ROW_OF

#define ROW_OF struct recovery_config
static const struct config_field recovery_fields[] = {
    ROW_REAL("automatic", automatic_frac, DEFAULT("1"), WITHIN(0, 1),
             "share of the failures whose cause is found automatically; people find the others"),
    ROW_SECTION("diagnosis", diagnosis, OPTIONAL, lifetime_fields,
                "time in which a cause is found automatically; default: none"),
    ROW_TIME("staff_from", staff_from_ns, DEFAULT("0s"), WITHIN(0, 86400), "time of day from which staff are present"),
    ROW_TIME("staff_until", staff_until_ns, DEFAULT("24h"), WITHIN(1e-9, 86400),
             "time of day until which staff are present; before 'staff_from': over midnight"),
    ROW_SECTION("staff_time", staff_time, OPTIONAL, lifetime_fields,
                "time in which people find a cause; default: none"),
    {0}};
#undef ROW_OF

#define ROW_OF struct failures_config
const struct config_field failures_config_fields[] = {
    ROW_MAP("causes", causes, OPTIONAL, ANY, struct failure_cause_config, cause_fields, "causes of failures, by name"),
    ROW_MAP("domains", domains, OPTIONAL, ANY, struct failure_domain_config, domain_fields,
            "failure domains: groups of nodes with common power, cooling or network, by name"),
    ROW_MAP("outages", outages, OPTIONAL, ANY, struct failure_outage_config, outage_fields,
            "planned outages: nodes that are down in a stated time, by name"),
    ROW_SECTION("recovery", recovery, OPTIONAL, recovery_fields,
                "how failed jobs come back: automatically, or by people; default: at once"),
    ROW_INT("nodes_per_switch", nodes_per_switch, DEFAULT("32"), WITHIN(1, 1e6), "nodes below each switch, for causes of scope 'switch'"),
    ROW_INT("spare_nodes", spare_nodes, DEFAULT("0"), WITHIN(0, 1e6),
            "number of spare nodes: the last ones of the cluster, which replace nodes that are down"),
    ROW_TIME("spare_delay", spare_delay_ns, DEFAULT("0s"), AT_LEAST(0),
             "time until a spare node replaces one that is down"),
    {0}};
#undef ROW_OF

bool failures_config_any(const struct failures_config *config)
{
    return config->causes.n > 0 || config->domains.n > 0 || config->outages.n > 0 || config->spare_nodes > 0;
}

bool failures_config_strikes_nodes(const struct failures_config *config)
{
    const struct failure_cause_config *causes = config->causes.items;
    bool any = config->domains.n > 0 || config->outages.n > 0;
    for (size_t i = 0; i < config->causes.n; i++) any = any || causes[i].scope != FAILURE_JOB;
    return any;
}

bool failures_config_slows_nics(const struct failures_config *config)
{
    const struct failure_cause_config *causes = config->causes.items;
    bool any = false;
    for (size_t i = 0; i < config->causes.n; i++) any = any || causes[i].scope == FAILURE_NIC;
    return any;
}

struct lifetime lifetime_config_get(const struct lifetime_config *config)
{
    if (!(config->mean_s > 0.0)) return (struct lifetime){.kind = LIFETIME_CONSTANT};
    if (config->kind == LIFETIME_LOGNORMAL && config->median_s > 0.0)
        return lifetime_lognormal(config->mean_s, config->median_s);
    return (struct lifetime){
        .kind = (enum lifetime_kind)config->kind, .mean_s = config->mean_s, .shape = config->shape};
}

/* Where a finding is made. */
struct checking {
    const struct config *document;
    struct diag *diag;
    const char *map, *name; /* "causes", "nvlink"; map NULL: a section */
};

static int report(const struct checking *checking, const char *key, const char *hint, const char *text)
{
    char path[512];
    const bool is_in_map = checking->map != NULL;
    snprintf(path, sizeof path, "failures.%s%s%s.%s", is_in_map ? checking->map : "", is_in_map ? "." : "",
             checking->name, key);
    return diag_error(checking->diag, SIM_E_CONFIG, config_where(checking->document, path), hint, "%s of '%s' %s", key,
                      checking->name, text);
}

static int check_lifetime(const struct checking *checking, const char *key, const struct lifetime_config *lifetime)
{
    if (!(lifetime->mean_s > 0.0)) return 0;
    const bool has_shape = lifetime->shape > 0.0, has_median = lifetime->median_s > 0.0;
    if (lifetime->kind == LIFETIME_WEIBULL && !has_shape)
        return report(checking, key, "for example \"shape\": 0.7", "is weibull: it needs a 'shape'");
    if (lifetime->kind == LIFETIME_LOGNORMAL && has_shape == has_median)
        return report(checking, key, NULL, "is lognormal: it needs a 'shape' or a 'median', one of the two");
    if (lifetime->kind != LIFETIME_LOGNORMAL && has_median)
        return report(checking, key, NULL, "has a 'median', which only a lognormal distribution has");
    if ((lifetime->kind == LIFETIME_EXPONENTIAL || lifetime->kind == LIFETIME_CONSTANT) && has_shape)
        return report(checking, key, NULL, "has a 'shape', which its distribution does not have");
    return 0;
}

/* Half of all lifetimes must be above 0 on the clock: else a component fails again and again at one moment. */
static int check_median(const struct checking *checking, const char *key, const struct lifetime *lifetime)
{
    if (sim_ns_from_s(lifetime_quantile_s(lifetime, 0.5)) > 0) return 0;
    return report(checking, key, "raise its mean, or choose a shape that is less extreme",
                  "has a median below 1 ns: it would fail all the time");
}

/* The worse of two codes. */
static int both(int a, int b)
{
    return a != 0 ? a : b;
}

bool failure_cause_is_slow(const struct failure_cause_config *cause)
{
    return cause->slow_frac >= 0.0 || cause->detection.mean_s > 0.0;
}

static int check_slow(const struct checking *checking, const struct failure_cause_config *cause)
{
    if (cause->scope == FAILURE_NIC && !(cause->slow_frac > 0.0))
        return report(checking, "slow", "for example \"slow\": 0.5", "must be given, above 0: its scope is 'nic'");
    if (!failure_cause_is_slow(cause)) return 0;
    if (cause->scope == FAILURE_JOB)
        return report(checking, cause->slow_frac >= 0.0 ? "slow" : "detection", "add the time to 'restart'",
                      "has no effect: its scope is 'job'");
    if (!(cause->detection.mean_s > 0.0) && !(cause->repair.mean_s > 0.0))
        return report(checking, "slow", "add a 'detection', after which its node is repaired, or a 'repair'",
                      "would never end");
    return check_lifetime(checking, "detection", &cause->detection);
}

static int check_cause(const struct failure_cause_config *cause, const struct config *document, struct diag *diag)
{
    const struct checking checking = {document, diag, "causes", cause->name};
    const struct lifetime lifetime = lifetime_config_get(&cause->lifetime);
    int code = check_lifetime(&checking, "lifetime", &cause->lifetime);
    if (code == 0) code = check_median(&checking, "lifetime", &lifetime);
    if (cause->scope == FAILURE_JOB && cause->repair.mean_s > 0.0)
        code = report(&checking, "repair", "use 'restart'", "has no effect: its scope is 'job', nodes stay");
    code = both(code, check_slow(&checking, cause));
    code = both(code, check_lifetime(&checking, "repair", &cause->repair));
    return both(code, check_lifetime(&checking, "restart", &cause->restart));
}

static int check_domain(const struct failure_domain_config *domain, const struct config *document, struct diag *diag)
{
    const struct checking checking = {document, diag, "domains", domain->name};
    const struct lifetime shock = {.kind = LIFETIME_EXPONENTIAL, .mean_s = domain->shock_mean_s},
                          lethal = {.kind = LIFETIME_EXPONENTIAL, .mean_s = domain->lethal_mean_s};
    int code = check_lifetime(&checking, "repair", &domain->repair);
    code = both(code, check_median(&checking, "shock", &shock));
    code = both(code, check_median(&checking, "lethal", &lethal));
    if (domain->needed > domain->nodes) code = report(&checking, "needed", NULL, "is more than the nodes of a group");
    return both(code, check_lifetime(&checking, "restart", &domain->restart));
}

static int check_outage(const struct failure_outage_config *outage, const struct config *document, struct diag *diag)
{
    const struct checking checking = {document, diag, "outages", outage->name};
    if (failure_outage_until_ns(outage) > outage->from_ns) return 0;
    return report(&checking, "until",
                  "for example \"from\": \"2h\", \"until\": \"3h\"; an outage without 'until' never ends",
                  "is not after its 'from'");
}

static int check_recovery(const struct recovery_config *recovery, const struct config *document, struct diag *diag)
{
    const struct checking checking = {document, diag, NULL, "recovery"};
    int code = check_lifetime(&checking, "diagnosis", &recovery->diagnosis);
    if (recovery->staff_until_ns > 0 && recovery->staff_until_ns == recovery->staff_from_ns)
        code = report(&checking, "staff_until", "for example \"staff_from\": \"9h\", \"staff_until\": \"21h\"",
                      "is 'staff_from': staff are never present");
    return both(code, check_lifetime(&checking, "staff_time", &recovery->staff_time));
}

double recovery_config_mean_s(const struct recovery_config *recovery)
{
    const double day_s = 86400.0, open_s = sim_s_from_ns(recovery->staff_until_ns - recovery->staff_from_ns),
                 present_s = open_s > 0.0 ? open_s : open_s + day_s;
    const double waits_s = (day_s - present_s) * (day_s - present_s) / (2.0 * day_s);
    return recovery->automatic_frac * recovery->diagnosis.mean_s +
           (1.0 - recovery->automatic_frac) * (waits_s + recovery->staff_time.mean_s);
}

/* Whether jobs lose their GPUs by it, so that its cause is looked for. */
static bool cause_interrupts(const struct failure_cause_config *cause)
{
    return cause->visible_frac > 0.0 && (!failure_cause_is_slow(cause) || cause->detection.mean_s > 0.0);
}

static bool some_failure_interrupts(const struct failures_config *config)
{
    const struct failure_cause_config *causes = config->causes.items;
    const struct failure_domain_config *domains = config->domains.items;
    bool any = false;
    for (size_t i = 0; i < config->causes.n; i++) any = any || cause_interrupts(&causes[i]);
    for (size_t i = 0; i < config->domains.n; i++)
        any = any || domains[i].lethal_mean_s > 0.0 || (domains[i].shock_mean_s > 0.0 && domains[i].hit_frac > 0.0);
    return any;
}

static void warn_of_key(const struct config *document, struct diag *diag, const char *key, const char *why)
{
    char path[64];
    snprintf(path, sizeof path, "failures.recovery.%s", key);
    config_warn_idle(document, path, key, why, "leave it out", diag);
}

void failures_config_warn(const struct failures_config *config, bool has_jobs, const struct config *document,
                          struct diag *diag)
{
    static const char *const of_staff[] = {"staff_from", "staff_until", "staff_time"};
    const struct recovery_config *recovery = &config->recovery;
    if (recovery->staff_until_ns == 0) return;
    const bool some = some_failure_interrupts(config), is_idle = !(recovery_config_mean_s(recovery) > 0.0);
    if (!some || !has_jobs || is_idle) {
        diag_warning(diag, config_where(document, "failures.recovery"), "leave it out", "'recovery' has no effect: %s",
                     !some      ? "no cause or domain makes jobs fail, and causes of planned outages are not looked for"
                     : has_jobs ? "it takes no time; 'diagnosis', 'staff_time' and hours of staff do"
                                : "there are no jobs, and replicas of services await no diagnosis");
        return;
    }
    for (size_t i = 0; i < sizeof of_staff / sizeof *of_staff && !(recovery->automatic_frac < 1.0); i++)
        warn_of_key(document, diag, of_staff[i], "all causes are found automatically, people find none");
    if (!(recovery->automatic_frac > 0.0)) warn_of_key(document, diag, "diagnosis", "people find all causes");
}

/* Metrics identify causes, domains, outages and breakers by name alone. */
static int check_name(const struct checking *checking, const char *taken, const char *by)
{
    char path[512];
    if (taken == NULL || strcmp(checking->name, taken) != 0) return 0;
    snprintf(path, sizeof path, "failures.%s.%s", checking->map, checking->name);
    return diag_error(checking->diag, SIM_E_CONFIG, config_where(checking->document, path), "give it another name",
                      "'%s' is the name of %s as well", checking->name, by);
}

int failures_config_check(const struct failures_config *config, bool has_breakers, const struct config *document,
                          struct diag *diag)
{
    const struct failure_cause_config *causes = config->causes.items;
    const struct failure_domain_config *domains = config->domains.items;
    const struct failure_outage_config *outages = config->outages.items;
    const char *breaker = has_breakers ? "breaker" : NULL;
    int code = check_recovery(&config->recovery, document, diag);
    for (size_t i = 0; i < config->causes.n; i++) {
        const struct checking checking = {document, diag, "causes", causes[i].name};
        code = both(code, check_cause(&causes[i], document, diag));
        code = both(code, check_name(&checking, breaker, "breaker failures"));
    }
    for (size_t i = 0; i < config->domains.n; i++) {
        const struct checking checking = {document, diag, "domains", domains[i].name};
        code = both(code, check_domain(&domains[i], document, diag));
        code = both(code, check_name(&checking, breaker, "breaker failures"));
        for (size_t k = 0; k < config->causes.n; k++)
            code = both(code, check_name(&checking, causes[k].name, "a cause"));
    }
    for (size_t i = 0; i < config->outages.n; i++) {
        const struct checking checking = {document, diag, "outages", outages[i].name};
        code = both(code, check_outage(&outages[i], document, diag));
        code = both(code, check_name(&checking, breaker, "breaker failures"));
        for (size_t k = 0; k < config->causes.n; k++)
            code = both(code, check_name(&checking, causes[k].name, "a cause"));
        for (size_t k = 0; k < config->domains.n; k++)
            code = both(code, check_name(&checking, domains[k].name, "a domain"));
    }
    return code;
}
