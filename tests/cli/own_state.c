/* Policies whose every function checks that it is given the state that init made, and leaves a file of its name in
 * the folder CALLED: for tests/cli/conform.sh. */
#include "sim/world/policy/all.h"

#include <stdio.h>

struct own {
    uint64_t mark;
    const struct job_view *first; /* of a scheduler: jobs that wait */
};

static const uint64_t own_mark = 0x6f776e2073746174;

static int init(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    *(struct own *)state = (struct own){.mark = own_mark};
    return 0;
}

static void check(const void *state, const char *function)
{
    static const char *last;
    if (((const struct own *)state)->mark != own_mark) __builtin_trap();
    if (function == last) return;
    last = function;
    char path[4096];
    snprintf(path, sizeof path, "CALLED/%s", function);
    FILE *file = fopen(path, "w");
    if (file != NULL) fclose(file);
}

static void fini(void *state)
{
    check(state, "fini");
}

#define OWN(family_struct, family_id, title)                                                                           \
    {.abi = POLICY_ABI, .size = sizeof(struct family_struct), .family = family_id, .name = title, .summary = title,     \
     .oracle = ORACLE_MIX | ORACLE_OUTPUT, .state_bytes = sizeof(struct own), .init = init, .fini = fini}

/* --- First in, first out, as long as jobs fit --- */

struct slot {
    const struct job_view *next;
};

static void notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    check(state, "notify");
    (void)view;
    const struct job_view **link = &((struct own *)state)->first;
    if (note->event == JOB_EVENT_SUBMIT || note->event == JOB_EVENT_PREEMPT) {
        while (*link != NULL) link = &((struct slot *)job_view_slot(*link))->next;
        ((struct slot *)job_view_slot(note->job))->next = NULL;
        *link = note->job;
    } else if (note->event == JOB_EVENT_START) {
        while (*link != note->job) link = &((struct slot *)job_view_slot(*link))->next;
        *link = ((struct slot *)job_view_slot(note->job))->next;
    }
}

static int decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    check(state, "decide");
    (void)view;
    const struct own *own = state;
    while (own->first != NULL && job_plan_start(plan, own->first, "it fits")) continue;
    return 0;
}

static int prepare(void *state, const struct cluster_view *view, struct diag *diag)
{
    check(state, "prepare");
    (void)view, (void)diag;
    return 0;
}

static bool wants_sizes(const void *state)
{
    check(state, "wants_sizes");
    return true;
}

static bool shares(const void *state)
{
    check(state, "shares");
    return false;
}

static void finish(void *state, struct job_plan *plan)
{
    check(state, "finish");
    (void)plan;
}

static const struct scheduler own_scheduler = {.policy = OWN(scheduler, POLICY_SCHEDULER, "own-scheduler"),
                                               .job_bytes = sizeof(struct slot),
                                               .notify = notify,
                                               .decide = decide,
                                               .prepare = prepare,
                                               .wants_sizes = wants_sizes,
                                               .shares = shares,
                                               .finish = finish};

/* --- Blocks for prompt and output are reserved at admission --- */

static int compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    check(state, "compose");
    int64_t free_blocks = view->free_blocks;
    for (const struct request_view *r = view->waiting; r != NULL && !batch_plan_full(plan); r = r->next) {
        const int64_t tokens = r->prompt_tokens + replica_view_output_tokens(view, r);
        const int64_t blocks = blocks_for_tokens(view, tokens);
        if (blocks > view->total_blocks) {
            batch_plan_reject(plan, r, "it never fits");
            continue;
        }
        if (blocks > free_blocks) break;
        free_blocks -= blocks;
        batch_plan_prefill_holding(plan, r, r->prompt_tokens, tokens);
    }
    plan->decode = plan->n_prefills == 0 && view->n_decoding > 0;
    plan->recheck_on_arrival = true;
    return 0;
}

static int64_t pass(void *state, const struct replica_view *view)
{
    check(state, "pass");
    (void)view;
    return 1;
}

static const struct batcher own_batcher = {
    .policy = OWN(batcher, POLICY_BATCHING, "own-batcher"), .compose = compose, .compose_stage = pass};

/* --- Everything on the GPU --- */

static int place(void *state, const struct offload_view *view, struct offload_plan *plan)
{
    check(state, "place");
    (void)view, (void)plan;
    return 0;
}

static uint32_t reads(const void *state)
{
    check(state, "reads");
    return OFFLOAD_READS_TTFT;
}

static const struct kv_offloader own_offloader = {
    .policy = OWN(kv_offloader, POLICY_KV_OFFLOAD, "own-offloader"), .place = place, .reads = reads};

/* --- The first replica, which does all of a request --- */

static int route_pair(void *state, const struct fleet_view *view, const struct request_view *request,
                      struct route_pair *pair)
{
    check(state, "route_pair");
    (void)view, (void)request;
    *pair = (struct route_pair){0, 0};
    return 0;
}

static const struct router own_router = {.policy = OWN(router, POLICY_ROUTING, "own-router"), .route_pair = route_pair};

ORRERY_PLUGIN(&own_scheduler.policy, &own_batcher.policy, &own_offloader.policy, &own_router.policy)
