/* A value equal to the default, as in every resolved scenario, does not count as given. */
#include "sim/world/unread.h"

#include "models/checkpoint.h"
#include "sim/world/cluster/cluster.h"
#include "sim/world/policy/scheduler.h"
#include "sim/world/scenario.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Defaults of keys whose value is always there. */
static const sim_ns default_out_of_band_ns = 40 * SIM_NS_PER_S, default_in_band_ns = SIM_NS_PER_S / 10;
static const double default_gpu_buffer_bytes = 16e9;
static const double default_sigma = 1, default_most = 10; /* of estimates */
enum { DEFAULT_NODES_PER_SWITCH = 32 };

/* Warns of the setting at a path, if it is given. `else_do` follows "leave it out". */
static void warn(const struct unread_env *env, const char *why, const char *else_do, const char *path, ...)
    __attribute__((format(printf, 4, 5)));

static void warn(const struct unread_env *env, const char *why, const char *else_do, const char *path, ...)
{
    char text[DIAG_WHERE_CHARS], hint[DIAG_WHERE_CHARS];
    va_list args;
    va_start(args, path);
    vsnprintf(text, sizeof text, path, args);
    va_end(args);
    snprintf(hint, sizeof hint, "leave it out%s%s", else_do[0] != '\0' ? ", or " : "", else_do);
    config_warn_idle(env->config, text, text, why, hint, env->diag);
}

/* --- Jobs --- */

static void warn_yielding(const struct unread_env *env)
{
    const struct jobs_config *jobs = &env->scenario->jobs;
    const struct config_list *types = &jobs->all_types;
    if (jobs->preemptible && env->scenario->services.n == 0)
        warn(env, "there are no services that jobs could yield to", "", "jobs.preemptible");
    if (jobs->preemptible) return;
    static const char why[] = "jobs yield to services only if 'jobs.preemptible' is true";
    if (jobs->yield != YIELD_LATEST_START) warn(env, why, "", "jobs.yield");
    for (size_t i = 0; i < types->n; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        if (type->priority != 0) warn(env, why, "", "jobs.types.%s.priority", type->name);
    }
}

static void warn_estimates(const struct unread_env *env)
{
    const struct estimates_config *estimates = &env->scenario->jobs.estimates;
    if (estimates->law != ESTIMATE_LOGNORMAL && fabs(estimates->sigma - default_sigma) > 0)
        warn(env, "only the law 'lognormal' has it", "set 'law'", "jobs.estimates.sigma");
    if (estimates->law != ESTIMATE_UNIFORM && fabs(estimates->most - default_most) > 0)
        warn(env, "only the law 'uniform' has it", "set 'law'", "jobs.estimates.most");
    if (estimates->law == ESTIMATE_TRACED) return;
    if (!env->reads_estimates)
        warn(env, "the scheduler reads no estimates of run times", "choose one that does, such as \"easy\"",
             "jobs.estimates");
}

static void warn_deadlines(const struct unread_env *env)
{
    const struct jobs_config *jobs = &env->scenario->jobs;
    const struct scheduler *scheduler = jobs->scheduler.entry;
    if (scheduler->reads_deadlines && !(jobs->deadlines.most > 0))
        diag_warning(env->diag, config_where(env->config, "jobs.scheduler"),
                     "give them, such as \"deadlines\": {\"least\": 0.5, \"most\": 1.5}, or choose another scheduler",
                     "scheduler '%s' goes by deadlines, and no job has one: there is no 'jobs.deadlines'",
                     scheduler->policy.name);
}

static void warn_speedups(const struct unread_env *env)
{
    static const char set[] = "set 'law'", power[] = "only the law 'power' has it";
    const struct config_list *types = &env->scenario->jobs.all_types;
    for (size_t i = 0; i < types->n; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        const struct speedup_config *speedup = &type->speedup;
        if (speedup->law != SPEEDUP_AMDAHL && fabs(speedup->parallel_frac - 1) > 0)
            warn(env, "only the law 'amdahl' has it", set, "jobs.types.%s.speedup.parallel_frac", type->name);
        if (speedup->law != SPEEDUP_POWER && fabs(speedup->exponent - 1) > 0)
            warn(env, power, set, "jobs.types.%s.speedup.exponent", type->name);
        if (speedup->law != SPEEDUP_POWER && speedup->linear_below_one)
            warn(env, power, set, "jobs.types.%s.speedup.linear_below_one", type->name);
        if (speedup->law != SPEEDUP_TABLE && speedup->points.n > 0)
            warn(env, "only the law 'table' has them", set, "jobs.types.%s.speedup.points", type->name);
    }
}

static void warn_racks(const struct unread_env *env)
{
    const int32_t per_rack = env->cluster->nodes_per_rack;
    const bool is_one = per_rack == 0 || per_rack >= env->cluster->n_nodes;
    if (is_one && env->scenario->jobs.network_penalty.racks_frac > 0)
        warn(env, "all nodes are in one rack", "set 'cluster.nodes_per_rack'", "jobs.network_penalty.racks");
}

static bool has_one_node(const struct cluster *cluster)
{
    return cluster->n_nodes == 1 && cluster->next == NULL;
}

static void warn_migrations(const struct unread_env *env)
{
    static const char path[] = "jobs.restart.migrate";
    if (isnan(env->scenario->jobs.restart.migrate_s)) return;
    if (has_one_node(env->cluster))
        warn(env, "there is one node, so no job moves to another one", "", path);
    else if (env->may_migrate)
        return;
    else if (((const struct scheduler *)env->scenario->jobs.scheduler.entry)->migrates)
        warn(env, "the placement puts no job on nodes", "choose one that does, such as \"consolidated\"", path);
    else
        warn(env, "the scheduler moves no running jobs to other nodes", "choose one that does, \"fifo-migrate\"", path);
}

static void warn_saves(const struct unread_env *env)
{
    const struct config_list *types = &env->scenario->jobs.all_types;
    for (size_t i = 0; i < types->n; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        const struct checkpoint_config *saves = &type->checkpoint;
        static const char other[] = "choose another 'model'";
        if (saves->design == CHECKPOINT_SYNCHRONOUS && !isnan(saves->overlap_s))
            warn(env, "the model 'synchronous' hides no writes", other, "jobs.types.%s.checkpoint.overlap", type->name);
        if (saves->design == CHECKPOINT_FASTPERSIST && !(saves->overlap_s > 0) && type->training.plan.llm == NULL)
            warn(env, "'fastpersist' hides writes behind the next step, and 'overlap' is 0s", "give 'overlap'",
                 "jobs.types.%s.checkpoint.model", type->name);
        if (!isnan(saves->bytes) && !isnan(saves->params))
            warn(env, "'bytes' states the size", "'bytes'", "jobs.types.%s.checkpoint.params", type->name);
        if (saves->design == CHECKPOINT_DATASTATES) continue;
        static const char why[] = "only the model 'datastates' copies to the host first";
        if (!isnan(saves->gpu_copy_bytes_per_s)) warn(env, why, other, "jobs.types.%s.checkpoint.gpu_copy", type->name);
        if (fabs(saves->gpu_buffer_bytes - default_gpu_buffer_bytes) > 0)
            warn(env, why, other, "jobs.types.%s.checkpoint.gpu_buffer", type->name);
    }
}

/* --- Failures --- */

static void warn_switches(const struct unread_env *env)
{
    const struct failures_config *failures = &env->scenario->failures;
    const struct failure_cause_config *causes = failures->causes.items;
    for (size_t i = 0; i < failures->causes.n; i++)
        if (causes[i].scope == FAILURE_SWITCH) return;
    if (failures->nodes_per_switch != DEFAULT_NODES_PER_SWITCH)
        warn(env, "no cause has the scope 'switch'", "", "failures.nodes_per_switch");
}

/* --- Power --- */

static bool gives_clocks(const struct clock_share_config *share)
{
    return share->prefill > 0 || share->decode > 0;
}

static void warn_powerless(const struct unread_env *env)
{
    static const char why[] = "the power of the site is not simulated ('cluster.power')";
    for (size_t i = 0; i < env->scenario->services.n; i++) {
        const struct service_config *service = scenario_service(env->scenario, i);
        if (service->priority != SERVICE_HIGH) warn(env, why, "add it", "services.%s.priority", service->name);
        if (gives_clocks(&service->clock_share)) warn(env, why, "add it", "services.%s.clock_share", service->name);
    }
}

static void warn_commands(const struct unread_env *env)
{
    const struct power_commands_config *commands = &env->scenario->cluster.power.commands;
    if (commands->path == POWER_IN_BAND && commands->out_of_band_ns != default_out_of_band_ns)
        warn(env, "commands go in band ('path')", "", "cluster.power.commands.out_of_band");
    if (commands->path != POWER_IN_BAND && commands->in_band_ns != default_in_band_ns)
        warn(env, "commands go out of band ('path')", "", "cluster.power.commands.in_band");
}

/* Means beyond what a GPU draws are often those of a node. */
static void warn_draws(const struct unread_env *env)
{
    static const double most_tdp_frac = 1.1; /* for a while a GPU may draw a little more */
    const struct config_list *types = &env->scenario->jobs.all_types;
    for (size_t i = 0; i < types->n; i++) {
        const struct job_type *type = (const struct job_type *)types->items + i;
        char path[DIAG_WHERE_CHARS];
        snprintf(path, sizeof path, "jobs.types.%s.power.mean", type->name);
        if (type->power.mean_w > most_tdp_frac * env->most_tdp_w)
            diag_warning(env->diag, config_where(env->config, path), "it is that of one GPU",
                         "'%s' is %.6g W, but no GPU of the site has a TDP above %.6g W", path, type->power.mean_w,
                         env->most_tdp_w);
    }
}

void scenario_warn_unread(const struct unread_env *env)
{
    const bool has_jobs = env->scenario->jobs.trace.entry != NULL;
    if (has_jobs) {
        warn_yielding(env);
        warn_estimates(env);
        warn_deadlines(env);
        warn_speedups(env);
        warn_racks(env);
        warn_migrations(env);
        warn_saves(env);
    }
    warn_switches(env);
    const bool has_power = !isnan(env->most_tdp_w);
    if (has_power && has_jobs) warn_draws(env);
    if (has_power)
        warn_commands(env);
    else
        warn_powerless(env);
}
