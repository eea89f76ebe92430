/* Iteration-level scheduling as in Orca (Yu et al., OSDI 2022): requests join and leave at every iteration, and whole
 * prompts are processed in the same iteration as the decoding of others. KV slots for prompt and output are reserved at
 * admission and held to the end, so no request is ever preempted. There are as many batches in flight as pipeline
 * stages, each of at most max_sequences (its Algorithm 1; so in Vidur). `reservation` selects what is known of the
 * output (Kwon et al., SOSP 2023, section 6.1).
 *
 * Takes no requests whose prompt was processed elsewhere: the paper has none, and Orca's code is not public. */
#include "policies/batching/reservation.h"
#include "policies/declared.h"
#include "sim/world/policy/batching.h"

struct orca {
    int64_t max_sequences;
    struct reservation_params reservation;
};

#define ROW_OF struct orca
static const struct config_field orca_fields[] = {
    ROW_INT("max_sequences", max_sequences, DEFAULT("256"), WITHIN(1, 65536),
            "most sequences in a batch (Orca: max_bs); with pipeline stages there are as many batches"),
    RESERVATION_FIELDS,
    {0}};
#undef ROW_OF

static int orca_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    const struct orca *params = state;
    plan->decode = view->n_decoding > 0;
    plan->recheck_on_arrival = !reservation_admit(&params->reservation, view, plan, view->n_decoding,
                                                  params->max_sequences);
    return 0;
}

const struct batcher batching_orca = {
    .policy = {POLICY_HEAD(batcher, POLICY_BATCHING),
               .name = "orca",
               .summary = "iteration-level scheduling, whole prompts beside decoding, KV reserved to the end",
               .source = "Yu et al., OSDI 2022",
               .oracle = ORACLE_OUTPUT,
               .params = orca_fields,
               .params_bytes = sizeof(struct orca),
               .state_bytes = sizeof(struct orca)},
    .compose = orca_compose,
};
