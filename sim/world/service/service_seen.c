/* What a router or a batcher sees when it decides, as text: for whoever asks why it decided so (sink.h, seen). Also
 * what the queue of a replica waits for (admission). Without such a sink nothing is formatted, no callback is set. */
#include "sim/core/text.h"
#include "sim/world/service/service_state.h"

#include <inttypes.h>

enum { REPLICAS_TOLD = 16, WAITING_TOLD = 4 };

static int emit(const struct site_env *site, const char *service, const struct policy *policy, int64_t subject,
                sim_ns now, struct text *text)
{
    struct decision_row row = {.t_s = sim_s_from_ns(now), .service = service, .policy = policy->name,
                               .action = "see", .subject = subject, .reason = text->chars};
    const int code = text->failed ? SIM_E_NOMEM : site->sink->seen(site->sink->context, &row);
    text_fini(text);
    return code;
}

/* Of each candidate, by its number in the fleet. */
int fleet_emit_seen(const struct fleet *fleet, const struct policy *policy, const struct fleet_view *view,
                    const struct request *request, sim_ns now)
{
    const struct site_env *site = fleet->env->site;
    struct text text;
    text_init(&text);
    text_printf(&text, "prompt of %d tokens; unfinished, waiting, queued tokens, free KV blocks of replica",
                request->prompt_tokens);
    const int32_t n = view->n_replicas < REPLICAS_TOLD ? view->n_replicas : REPLICAS_TOLD;
    for (int32_t i = 0; i < n; i++) {
        const struct replica_load *load = &view->loads[i];
        text_printf(&text, "%s %d: %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64, i > 0 ? ";" : "",
                    fleet_view_number(view, i), load->outstanding, load->waiting, load->queued_tokens,
                    fleet_view_kv_total_blocks(view, i) - fleet_view_kv_used_blocks(view, i));
    }
    if (n < view->n_replicas) text_printf(&text, "; and %d more", view->n_replicas - n);
    if (view->seen_ns < view->now_ns) text_printf(&text, "; as of %.6f s", sim_s_from_ns(view->seen_ns));
    return emit(site, fleet->config->name, policy, request->view.id, now, &text);
}

int service_on_compose(const struct replica *replica, sim_ns now)
{
    const struct service *service = replica->env->owner;
    const struct replica_view *view = &replica->view;
    struct text text;
    text_init(&text);
    text_printf(&text,
                "replica %d: %" PRId64 " wait, %" PRId64 " prompts in part, %" PRId64 " decode; %" PRId64 " of %" PRId64
                " KV blocks free",
                replica->index, view->n_waiting, view->n_prefilling, view->n_decoding, view->free_blocks,
                view->total_blocks);
    const struct request_view *request = view->waiting;
    for (int i = 0; i < WAITING_TOLD && request != NULL; i++, request = request->next)
        text_printf(&text, "%s %" PRId64 " of %d tokens since %.6f s", i > 0 ? "," : "; first to wait: request",
                    request->id, request->prompt_tokens, sim_s_from_ns(request->arrival_ns));
    const int64_t subject = view->waiting != NULL ? view->waiting->id : -1;
    return emit(service->env.site, service->config->name, &replica->env->batcher->policy, subject, now, &text);
}

int service_on_queue(const struct replica *replica, const struct request_view *request, sim_ns now,
                     enum admission_step step)
{
    const struct service *service = replica->env->owner;
    const struct batch_plan *plan = &replica->plan;
    const struct admission_row row = {.t_s = sim_s_from_ns(now),
                                      .service = service->config->name,
                                      .replica = replica->index,
                                      .step = step,
                                      .request = request != NULL ? request->id : -1,
                                      .limit = (int)plan->limit,
                                      .stands = !plan->recheck_on_arrival && plan->n_prefills == 0 && plan->decode &&
                                                plan->iterations > 1 && replica->view.stages == 1};
    const struct sink *sink = service->env.site->sink;
    return sink->admission(sink->context, &row);
}
