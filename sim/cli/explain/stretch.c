#include "sim/cli/explain/stretch.h"

#include "analysis/report/words.h"
#include "sim/cli/explain/story_parts.h"
#include "sim/core/err.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void stretch_init(struct stretch *stretch, double from_s, double to_s, struct arena *arena)
{
    const struct story_subject nothing = {.is_job = true, .id = INT64_MIN, .service = ""};
    *stretch = (struct stretch){.from_s = from_s, .to_s = to_s,
                                .power = {.run_mean_w = (double)NAN, .run_max_w = (double)NAN}};
    story_init(&stretch->story, &nothing, arena);
}

void stretch_fini(struct stretch *stretch)
{
    story_fini(&stretch->story);
    for (size_t i = 0; i < stretch->n_services; i++) {
        histogram_fini(&stretch->services[i].in.ttft);
        histogram_fini(&stretch->services[i].all.ttft);
    }
    mem_free(stretch->services);
    stretch->services = NULL;
}

static bool is_in(const struct stretch *stretch, double t_s)
{
    return t_s >= stretch->from_s && t_s < stretch->to_s;
}

/* The service of this name; NULL: out of memory. */
static struct stretch_service *service_of(struct stretch *stretch, const char *name)
{
    for (size_t i = 0; i < stretch->n_services; i++)
        if (strcmp(stretch->services[i].name, name) == 0) return &stretch->services[i];
    const struct stretch_service service = {.name = arena_strdup(stretch->story.arena, name)};
    if (service.name == NULL || vec_push(&stretch->services, &stretch->n_services, &stretch->capacity, service) != 0)
        return NULL;
    return &stretch->services[stretch->n_services - 1];
}

/* --- Load --- */

/* Counts what begins to wait at `since_s` and waits no longer from `until_s` on; NAN: it waits for good. */
static void count_ends(const struct stretch *stretch, struct stretch_ends *ends, double since_s, double until_s)
{
    ends->from += since_s < stretch->from_s && !(until_s < stretch->from_s);
    ends->to += since_s < stretch->to_s && !(until_s < stretch->to_s);
}

static int count_arrival(struct stretch_load *load, const struct request_row *row)
{
    load->arrivals++;
    load->rejected += strcmp(row->status, "rejected") == 0;
    if (!isnan(row->queue_s)) load->queue_s += row->queue_s, load->n_queued++;
    if (isnan(row->ttft_s)) return 0;
    load->ttft_s += row->ttft_s;
    if (load->n_answered++ == 0 && histogram_init(&load->ttft) != 0) return SIM_E_NOMEM;
    return histogram_add(&load->ttft, row->ttft_s, 1);
}

static int on_request(void *context, const struct request_row *row)
{
    struct stretch *stretch = context;
    struct stretch_service *service = service_of(stretch, row->service);
    if (service == NULL) return SIM_E_NOMEM;
    int code = count_arrival(&service->all, row);
    if (code == 0 && is_in(stretch, row->arrival_s)) code = count_arrival(&service->in, row);
    if (code != 0) return code;
    service->all.finished += !isnan(row->e2e_s);
    service->in.finished += is_in(stretch, row->arrival_s + row->e2e_s);
    service->all.tokens += isnan(row->ttft_s) ? 0 : 1;
    service->in.tokens += is_in(stretch, row->arrival_s + row->ttft_s);
    if (strcmp(row->status, "rejected") != 0)
        count_ends(stretch, &service->not_scheduled, row->arrival_s, row->arrival_s + row->queue_s);
    return 0;
}

/* A row of several iterations counts by its share of the time: they are about equally long. */
static void count_batch(struct stretch_load *load, const struct batch_row *row, double share)
{
    const double lasted_s = row->end_s - row->start_s;
    load->tokens += share * (double)(row->decoding * row->iterations);
    load->busy_s += share * lasted_s;
    load->slowed_s += share * (lasted_s - row->full_clock_s);
}

/* The tokens of a single iteration come at its end. */
static int on_batch(void *context, const struct batch_row *row)
{
    struct stretch *stretch = context;
    const double lasted_s = row->end_s - row->start_s;
    const double from_s = fmax(row->start_s, stretch->from_s), to_s = fmin(row->end_s, stretch->to_s);
    struct stretch_service *service = service_of(stretch, row->service);
    if (service == NULL) return SIM_E_NOMEM;
    count_batch(&service->all, row, 1);
    if (to_s > from_s) count_batch(&service->in, row, (to_s - from_s) / lasted_s);
    return 0;
}

/* --- Jobs --- */

static int on_job(void *context, const struct job_row *row)
{
    struct stretch *stretch = context;
    stretch->has_jobs = true;
    stretch->jobs.submitted += is_in(stretch, row->submit_s);
    stretch->jobs.ended += is_in(stretch, row->end_s);
    if (strcmp(row->status, "rejected") != 0)
        count_ends(stretch, &stretch->jobs.not_started, row->submit_s, fmin(row->start_s, row->end_s));
    return 0;
}

static bool is_yield(const struct decision_row *row)
{
    return strcmp(row->action, "interrupt") == 0 && strncmp(row->reason, "yields", strlen("yields")) == 0;
}

/* --- Events --- */

static int see_job(struct stretch *stretch, const struct decision_row *row)
{
    struct stretch_jobs *jobs = &stretch->jobs;
    const bool yields = is_yield(row);
    jobs->started += strcmp(row->action, "start") == 0;
    jobs->resumed += strcmp(row->action, "resume") == 0;
    jobs->preempted += strcmp(row->action, "preempt") == 0;
    jobs->yielded += yields;
    if (strcmp(row->action, "interrupt") != 0) return 0;
    jobs->interrupted += !yields;
    return story_tell(&stretch->story, row->t_s, yields ? "yield" : "stop", "job %" PRId64 ": %s", row->subject,
                      row->reason);
}

/* A decision on a request counts, one on a replica is an event. Commands of the power policy have the name of a domain
 * as their service; they are told at the end. */
static int see_service(struct stretch *stretch, const struct decision_row *row)
{
    static const char *const replicas[] = {"fail", "start", "up", "drain", "stop", NULL};
    const bool is_restart = strcmp(row->action, "requeue") == 0, is_preemption = strcmp(row->action, "preempt") == 0;
    if (row->subject == -1 && story_is_any(row->action, replicas))
        return story_tell(&stretch->story, row->t_s, row->action, "%s, %s: %s", row->service, row->policy, row->reason);
    if (!is_restart && !is_preemption) return 0;
    struct stretch_service *service = service_of(stretch, row->service);
    if (service == NULL) return SIM_E_NOMEM;
    service->restarted += is_restart;
    service->preempted += is_preemption;
    return 0;
}

static int on_decision(void *context, const struct decision_row *row)
{
    struct stretch *stretch = context;
    const int code = story_note_command(&stretch->story, row);
    if (code != 0 || !is_in(stretch, row->t_s)) return code;
    return row->service[0] == '\0' ? see_job(stretch, row) : see_service(stretch, row);
}

static int on_power_command(void *context, const struct power_command_row *row)
{
    struct stretch *stretch = context;
    return story_on_power_command(&stretch->story, row);
}

/* "node 3, 8 GPUs, for a repair of 3.91 h: cause gpu" */
static int on_node(void *context, const struct node_row *row)
{
    struct stretch *stretch = context;
    char time[WORDS_CHARS];
    if (!is_in(stretch, row->t_s)) return 0;
    words_seconds(row->down_s, time);
    switch (row->step) {
    case NODE_DOWN:
        return story_tell(&stretch->story, row->t_s, "down", "node %" PRId64 ", %" PRId64 " GPU%s, for %s%s: %s",
                          row->node, row->gpus, story_plural((double)row->gpus),
                          isinf(row->down_s) ? "good" : "a repair of ", isinf(row->down_s) ? "" : time, row->cause);
    case NODE_BACK:
    case NODE_SPARE:
        return story_tell(&stretch->story, row->t_s, "back", "node %" PRId64 ", after %s down%s", row->node, time,
                          row->step == NODE_SPARE ? ": it waits as a spare node" : "");
    case NODE_REPLACES:
        return story_tell(&stretch->story, row->t_s, "spare", "node %" PRId64 " takes the place of one that is down",
                          row->node);
    }
    return 0;
}

/* Samples of the power of the site. */
static int on_sample(void *context, const struct sample_row *row)
{
    struct stretch *stretch = context;
    if (strcmp(row->series, "power.site_w") != 0) return 0;
    stretch->power.run_max_w = fmax(stretch->power.run_max_w, row->value); /* NAN first */
    if (!is_in(stretch, row->t_s)) return 0;
    stretch->power.sum_w += row->value;
    stretch->power.max_w = fmax(stretch->power.max_w, row->value);
    stretch->power.n++;
    return 0;
}

static int on_metric(void *context, const struct metric_row *row)
{
    struct stretch *stretch = context;
    if (strcmp(row->name, "power.site_w.mean") == 0) stretch->power.run_mean_w = row->value;
    if (strcmp(row->name, "sim.end_s") == 0) stretch->story.end_s = row->value;
    return 0;
}

struct sink stretch_sink(struct stretch *stretch)
{
    return (struct sink){.context = stretch,
                         .request = on_request,
                         .job = on_job,
                         .batch = on_batch,
                         .decision = on_decision,
                         .detail = on_decision,
                         .power_command = on_power_command,
                         .node = on_node,
                         .sample = on_sample,
                         .metric = on_metric};
}

void stretch_forget_tokens(struct stretch_service *service)
{
    service->in.tokens = service->all.tokens = (double)NAN;
}

void stretch_forget_busy(struct stretch_service *service)
{
    service->in.busy_s = service->all.busy_s = (double)NAN;
}

int stretch_end(struct stretch *stretch)
{
    struct story *story = &stretch->story;
    int code = 0;
    if (story->end_s < stretch->to_s) stretch->to_s = story->end_s;
    for (size_t i = 0; i < story->n_commands && code == 0; i++) {
        const struct story_command *command = &story->commands[i];
        const bool is_in_force = command->since_s < stretch->to_s && !(command->until_s <= stretch->from_s);
        if (is_in_force) code = story_tell_command(story, fmax(command->since_s, stretch->from_s), command, "");
    }
    return code != 0 ? code : story_end(story);
}
