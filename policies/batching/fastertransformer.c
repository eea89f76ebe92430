/* Request-level batching as in FasterTransformer behind a serving layer (the baseline of Yu et al., OSDI 2022, and
 * Kwon et al., SOSP 2023). When the replica is empty, a batch forms from the waiting requests. All its prompts are
 * processed in one iteration, and no request joins before the last member has ended. KV slots are reserved for the
 * longest sequence. Members leave as they end; the cost of their empty places is not modelled. */
#include "policies/batching/reservation.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

struct fastertransformer {
    int64_t max_sequences;
    struct reservation_params reservation;
};

#define ROW_OF struct fastertransformer
static const struct config_field fastertransformer_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("256"), WITHIN(1, 65536),
            "most sequences in the batch; a replica has one batch, also with pipeline stages"),
    RESERVATION_FIELDS,
    {0}};
#undef ROW_OF

static int fastertransformer_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct fastertransformer *params = state;
    plan->decode = view->n_decoding > 0;
    if (replica_view_running(view) == 0)
        reservation_admit(&params->reservation, view, plan, 0, params->max_sequences);
    else
        batch_plan_limit(plan, NULL, BATCH_LIMIT_CLOSED);
    return 0;
}

const struct batcher batching_fastertransformer = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "fastertransformer",
               .summary = "request level: the waiting requests form a batch, which runs until its last member has ended",
               .source = "NVIDIA FasterTransformer; Yu et al., OSDI 2022",
               .oracle = ORACLE_OUTPUT,
               .params = fastertransformer_fields,
               .params_bytes = sizeof(struct fastertransformer),
               .state_bytes = sizeof(struct fastertransformer)},
    .compose = fastertransformer_compose,
};
