/* Batches that keep a deadline, as in Nexus (Shen et al., SOSP 2019, section 6.3) and Clockwork (Gujarati et al., OSDI
 * 2020). Each request is to have its first token within a time of its arrival. The cost model says how long a batch
 * takes. Prompts join in the order of arrival, beside decoding, while all of the batch keep their deadlines.
 *
 * A request is dropped if it could not keep its deadline in a batch of `window` waiting requests, itself the first,
 * beside sequences that decode and prompts that are recomputed. With 1 it is dropped when it is hopeless (lazy drop).
 * Then the first request, with little time left, keeps every batch small. A longer window drops it earlier, for a
 * batch that serves more (early drop). Nexus takes the batch size of its plan as the window.
 *
 * A request that decodes has no deadline any more. If KV blocks run short, the latest arrival is preempted and
 * recomputes. Predictions hold for the full clock, links without other traffic, no drafts, and prompts of which a
 * prefix store loads nothing; with pipeline stages, for a batch that meets equal ones. */
#include "policies/batching/making_room.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

#include <math.h>

struct nexus {
    sim_ns deadline_ns;
    int64_t window, max_sequences;
};

#define ROW_OF struct nexus
static const struct config_field nexus_fields[] = {
    ROW_TIME("deadline", deadline_ns, DEFAULT("100ms"), AT_LEAST(1e-9),
             "from the arrival of a request to its first token"),
    ROW_INT("window", window, DEFAULT("1"), WITHIN(1, 65536),
            "a request is dropped if it cannot keep its deadline in a batch of so many that wait"),
    ROW_INT("max_sequences", max_sequences, DEFAULT("256"), WITHIN(1, 65536),
            "most running sequences; with pipeline stages each batch holds its share"),
    {0}};
#undef ROW_OF

/* Seconds until the request's deadline; INFINITY: it has had its first token. */
static double left_s(const struct nexus *params, const struct replica_view *view, const struct request_view *request)
{
    if (replica_view_generated_tokens(view, request) > 0) return (double)INFINITY;
    return sim_s_from_ns(request->arrival_ns - view->now_ns) + sim_s_from_ns(params->deadline_ns);
}

static double batch_s(const struct replica_view *view, const struct batch_plan *plan)
{
    return replica_view_iteration_s(view, plan) * (double)view->stages;
}

/* Whether the request keeps its deadline in a batch of the plan's prefills, itself and those that wait behind it. */
static bool keeps_in_window(const struct nexus *params, const struct replica_view *view, struct batch_plan *plan,
                            const struct request_view *request)
{
    const int32_t before = plan->n_prefills;
    const double deadline_s = left_s(params, view, request);
    for (const struct request_view *r = request; r != NULL && !batch_plan_full(plan); r = r->next) {
        if (plan->n_prefills - before >= params->window) break;
        batch_plan_prefill(plan, r, prompt_chunk(view, r, r->prompt_tokens));
    }
    const bool keeps = batch_s(view, plan) <= deadline_s;
    plan->n_prefills = before;
    return keeps;
}

static void admit(const struct nexus *params, const struct replica_view *view, struct batch_plan *plan,
                  const struct room *room)
{
    const int64_t most = sequences_per_batch(view, params->max_sequences) - room->decoding;
    int64_t free_blocks = room->free_blocks, running = room->running;
    double earliest_s = (double)INFINITY; /* of the deadlines in the batch */
    for (const struct request_view *head = view->waiting; head != NULL; head = head->next) {
        if (batch_plan_full(plan)) {
            plan->iterations = 1; /* the rest of the queue waits for the next plan */
            return;
        }
        if (blocks_for_tokens(view, head->prompt_tokens) > view->total_blocks) {
            batch_plan_reject(plan, head, "prompt exceeds the KV cache");
            continue;
        }
        if (isinf(earliest_s) && !keeps_in_window(params, view, plan, head)) {
            batch_plan_reject(plan, head, "would miss its deadline");
            continue;
        }
        const int64_t needed = replica_view_needed_blocks(view, head, head->prompt_tokens);
        running += request_view_sequences(head);
        if (needed > free_blocks || plan->n_prefills >= most ||
            (running > params->max_sequences && running > request_view_sequences(head))) {
            batch_plan_limit(plan, head, needed > free_blocks ? BATCH_LIMIT_KV_BLOCKS : BATCH_LIMIT_SEQUENCES);
            return;
        }
        batch_plan_prefill(plan, head, prompt_chunk(view, head, head->prompt_tokens));
        const double deadline_s = left_s(params, view, head);
        if (plan->n_prefills > 1 && batch_s(view, plan) > fmin(earliest_s, deadline_s)) {
            plan->n_prefills--;
            batch_plan_limit(plan, head, BATCH_LIMIT_DEADLINE);
            return;
        }
        earliest_s = fmin(earliest_s, deadline_s);
        free_blocks -= needed;
    }
}

static int nexus_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct nexus *params = state;
    const struct room_rules rules = {.max_batch = sequences_per_batch(view, params->max_sequences)};
    const struct room room = make_room(view, plan, &rules);
    if (plan->n_evictions == 0) admit(params, view, plan, &room);
    plan->recheck_on_arrival = true;
    return 0;
}

const struct batcher batching_nexus = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "nexus",
               .summary = "batches as large as deadlines allow; drops requests that would miss theirs",
               .source = "Shen et al., SOSP 2019; Gujarati et al., OSDI 2020",
               .params = nexus_fields,
               .params_bytes = sizeof(struct nexus),
               .state_bytes = sizeof(struct nexus)},
    .compose = nexus_compose,
    .forks = true,
    .drops = true,
    .order = BATCH_BY_ARRIVAL,
};
