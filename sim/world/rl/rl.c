#include "sim/world/rl/rl_state.h"

#include "sim/world/rows/priority.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* --- Reporting --- */

/* In place of a service or none: the subject of these rows is a step, no request and no job. */
#define ROWS_OF "(rl)"

__attribute__((format(printf, 5, 6))) static int report(const struct rl *rl, const char *action, int64_t step,
                                                        sim_ns at, const char *format, ...)
{
    const struct sink *sink = rl->env.site->sink;
    char reason[160];
    va_list arguments;
    if (sink->detail == NULL) return 0;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    const struct decision_row row = {.t_s = sim_s_from_ns(at), .service = ROWS_OF, .policy = "rl",
                                     .action = action, .subject = step, .reason = reason};
    return sink->detail(sink->context, &row);
}

/* --- What begins --- */

static int begin_rollouts(struct rl *rl, sim_ns at)
{
    const struct rl_config *config = rl->config;
    const int64_t step = rl->n_begun++;
    *rl_batch(rl, step) = (struct rl_batch){
        .version = rl->loaded, .begin_ns = at, .n_left = config->prompts * config->samples};
    rl->is_generating = true;
    service_release(rl->env.service, config->prompts, config->samples, rl->loaded, at);
    return report(rl, "generate", step, at, "weights of %" PRId64 " steps", rl->loaded);
}

static int begin_send(struct rl *rl, sim_ns now)
{
    rl->phase = RL_SEND;
    rl->sending = rl->n_trained;
    rl->since_ns = now;
    const int code = report(rl, "send", rl->n_trained - 1, now, "to %" PRId32 " replicas", rl->n_replicas);
    return code != 0 ? code : rl_begin_moves(rl, now);
}

static void train_ends(struct engine *engine, struct owner *owner, sim_ns now);

static int begin_steps(struct rl *rl, sim_ns now)
{
    const struct rl_batch *batch = rl_batch(rl, rl->n_trained);
    const int64_t tokens = batch->prompt_tokens + batch->output_tokens;
    double seconds;
    const int code = rl_training_s(rl, tokens, &seconds);
    if (code != 0) return code;
    rl->phase = RL_TRAIN;
    rl->since_ns = now;
    engine_arm(rl->env.site->engine, sim_ns_add(now, sim_ns_from_s(seconds)), PRIORITY_JOB_FINISH, train_ends,
               &rl->owner);
    return report(rl, "train", rl->n_trained, now, "%" PRId64 " tokens of %" PRId64 " samples", tokens, batch->samples);
}

static int begin_training(struct rl *rl, sim_ns now)
{
    if (rl->config->layout == RL_APART) return begin_steps(rl, now);
    rl->phase = RL_FETCH;
    rl->since_ns = now;
    return rl_begin_moves(rl, now);
}

/* --- Decisions --- */

static bool may_send(const struct rl *rl)
{
    const bool waits = rl->config->update == RL_DRAIN && rl->is_generating;
    return rl->phase == RL_IDLE && rl->n_trained > rl->loaded && !waits;
}

static bool may_begin_rollouts(const struct rl *rl)
{
    const bool waits = rl->phase == RL_SEND && rl->config->update != RL_BESIDE;
    return !rl->is_generating && !rl->is_dry && !waits && rl->n_begun < rl->config->steps &&
           rl->n_begun - rl->loaded <= rl->config->staleness;
}

/* Applies the rules of rl.h. */
static int decide(struct rl *rl, sim_ns now)
{
    int code = 0;
    rl->stats.settled_ns = now;
    if (may_send(rl)) code = begin_send(rl, now);
    if (code == 0 && rl->phase == RL_IDLE && rl->n_generated > rl->n_trained) code = begin_training(rl, now);
    if (code == 0 && may_begin_rollouts(rl)) code = begin_rollouts(rl, now + 1);
    return code;
}

/* --- What ends --- */

/* Counts the samples of a step that has been trained. */
static int count_training(struct rl *rl, sim_ns now)
{
    struct rl_stats *stats = &rl->stats;
    const struct rl_batch *batch = rl_batch(rl, rl->n_trained);
    const sim_ns lasted_ns = now - rl->since_ns, before_ns = stats->last_ns < 0 ? 0 : stats->last_ns;
    const double stale = (double)(rl->n_trained - batch->version);
    int code = distribution_add(&stats->training_s, sim_s_from_ns(lasted_ns));
    if (code == 0) code = distribution_add(&stats->step_s, sim_s_from_ns(now - before_ns));
    for (int64_t i = 0; i < batch->samples && code == 0; i++) code = distribution_add(&stats->staleness, stale);
    stats->training_ns += lasted_ns;
    stats->last_ns = now;
    stats->trained_tokens += batch->output_tokens;
    stats->trained_prompt_tokens += batch->prompt_tokens;
    stats->trained_samples += batch->samples;
    return code;
}

static void train_ends(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct rl *rl = OWNER_ENTITY(owner, struct rl, owner);
    int code = count_training(rl, now);
    rl->n_trained++;
    rl->phase = rl->config->layout == RL_APART ? RL_IDLE : RL_STASH;
    rl->since_ns = now;
    if (code == 0) code = rl->phase == RL_STASH ? rl_begin_moves(rl, now) : decide(rl, now);
    if (code != 0) engine_fail(engine, code);
}

int rl_moved(struct rl *rl, sim_ns now)
{
    struct rl_stats *stats = &rl->stats;
    const sim_ns lasted_ns = now - rl->since_ns;
    if (rl->phase != RL_SEND) {
        stats->swapping_ns += lasted_ns;
        if (rl->phase == RL_FETCH) return begin_steps(rl, now);
        rl->phase = RL_IDLE;
        return decide(rl, now);
    }
    stats->sending_ns += lasted_ns;
    stats->n_sends++;
    rl->loaded = rl->sending;
    rl->phase = RL_IDLE;
    const int code = distribution_add(&stats->sending_s, sim_s_from_ns(lasted_ns));
    return code != 0 ? code : decide(rl, now);
}

static int end_rollouts(struct rl *rl, sim_ns now)
{
    const sim_ns lasted_ns = now - rl_batch(rl, rl->n_generated)->begin_ns;
    rl->is_generating = false;
    rl->n_generated++;
    rl->stats.generating_ns += lasted_ns;
    const int code = distribution_add(&rl->stats.rollout_s, sim_s_from_ns(lasted_ns));
    return code != 0 ? code : decide(rl, now);
}

/* The last sample has left of a step that the trace does not complete. */
static int cut_rollouts(struct rl *rl, sim_ns now)
{
    const sim_ns begin_ns = rl_batch(rl, rl->n_generated)->begin_ns;
    rl->is_generating = false;
    rl->is_cut = true;
    rl->stats.generating_ns += now > begin_ns ? now - begin_ns : 0;
    return decide(rl, now);
}

static struct rl *rl_of(struct service_feeder *feeder)
{
    return (struct rl *)(void *)((char *)feeder - offsetof(struct rl, feeder));
}

static int on_left(struct service_feeder *feeder, int64_t prompt_tokens, int64_t output_tokens, bool is_finished,
                   sim_ns now)
{
    struct rl *rl = rl_of(feeder);
    struct rl_batch *batch = rl_batch(rl, rl->n_generated);
    if (is_finished) {
        batch->samples++;
        batch->prompt_tokens += prompt_tokens;
        batch->output_tokens += output_tokens;
        rl->stats.generated_tokens += output_tokens;
    }
    if (--batch->n_left > 0) return 0;
    return rl->is_dry ? cut_rollouts(rl, now) : end_rollouts(rl, now);
}

/* A step whose samples are not all there is not trained. What has been generated for it is dropped. */
static void drop_when_dry(struct rl *rl)
{
    struct rl_batch *batch = rl_batch(rl, rl->n_generated);
    rl->stats.dropped_tokens += batch->output_tokens;
    batch->output_tokens = 0;
}

static int on_ran_dry(struct service_feeder *feeder, int64_t n_missing, sim_ns now)
{
    struct rl *rl = rl_of(feeder);
    struct rl_batch *batch = rl_batch(rl, rl->n_generated);
    rl->is_dry = true;
    rl->stats.settled_ns = now;
    batch->n_left -= n_missing;
    return batch->n_left == 0 ? cut_rollouts(rl, now) : 0;
}

static int on_halted(struct service_feeder *feeder, int32_t replica, sim_ns now)
{
    return rl_halted(rl_of(feeder), replica, now);
}

/* --- The component --- */

static int start(void *self)
{
    return begin_rollouts(self, 0);
}

static void check(void *self, sim_ns now)
{
    const struct rl *rl = self;
    const struct rl_stats *stats = &rl->stats;
    int64_t waiting = 0, bytes = 0;
    (void)now;
    for (int64_t step = rl->n_trained; step < rl->n_begun; step++) waiting += rl_batch(rl, step)->output_tokens;
    for (int32_t i = 0; i < rl->n_replicas; i++) bytes += service_weight_bytes(rl->env.service, i);
    SIM_LAW("INV-13 (tokens that are generated are trained, wait for it, or are dropped)", stats->generated_tokens,
            stats->trained_tokens + waiting + stats->dropped_tokens);
    if (rl->phase != RL_SEND)
        SIM_LAW("INV-13 (each replica gets the weights of each sending)", stats->sent_bytes, stats->n_sends * bytes);
}

static int warn(const struct rl *rl)
{
    const struct sink *sink = rl->env.site->sink;
    char text[256];
    if (!rl->is_dry || sink->warning == NULL) return 0;
    snprintf(text, sizeof text,
             "rl: the trace of service '%s' ends before step %" PRId64 " of %" PRId64 " has all of its samples",
             rl->config->service, rl->n_begun, rl->config->steps);
    const struct warning_row row = {.t_s = (double)NAN, .code = "rl-trace", .text = text, .count = 1};
    return sink->warning(sink->context, &row);
}

static int finish(void *self, sim_ns now)
{
    struct rl *rl = self;
    if (rl->is_cut || (rl->is_dry && rl->is_generating)) drop_when_dry(rl);
    const int code = warn(rl);
    return code != 0 ? code : rl_emit(rl, now);
}

static void destroy(void *self)
{
    struct rl *rl = self;
    rl_stats_fini(&rl->stats);
    mem_free(rl->batches);
    mem_free(rl->moves);
    mem_free(rl);
}

const struct component rl_component = {
    .name = "rl", .start = start, .check = check, .finish = finish, .destroy = destroy};

int rl_create(const struct rl_config *config, const struct rl_env *env, struct rl **out)
{
    struct rl *rl = mem_zalloc(1, sizeof *rl);
    *out = rl;
    if (rl == NULL) return diag_nomem(env->site->diag);
    *rl = (struct rl){.env = *env, .config = config, .n_replicas = service_n_replicas(env->service),
                      .feeder = {.left = on_left, .ran_dry = on_ran_dry, .halted = on_halted}};
    owner_init(&rl->owner, site_env_owner_ids(env->site, 1));
    rl->stats.last_ns = -1;
    rl->batches = mem_zalloc((size_t)config->staleness + 2, sizeof *rl->batches);
    if (rl->batches == NULL || rl_stats_init(&rl->stats) != 0) return diag_nomem(env->site->diag);
    int code = service_feed(env->service, &rl->feeder, config->update == RL_HALT);
    if (code == 0) code = rl_trainer_create(rl);
    return code != 0 ? code : rl_weights_create(rl);
}
