/* The router `splitwise` at its bounds, on two prompt and two token machines: SplitwiseSim (Mutinifni/splitwise-sim @
 * 8f99e7d, scheduler.py, MixedPoolScheduler). */
#include "policies/registry.h"
#include "sim/world/service/fleet.h"
#include "sim/world/replica/request.h"
#include "tests/support/harness.h"

enum { MACHINES = 4, BLOCK = 16, KV_TOKENS = 100 * BLOCK, MOST_PENDING = 8192 };

struct bed {
    struct replica replicas[MACHINES];
    struct replica_load loads[MACHINES];
    int64_t reserved_tokens[MACHINES];
};

static struct bed idle(void)
{
    struct bed bed = {0};
    for (int i = 0; i < MACHINES; i++)
        bed.replicas[i].kv = (struct kvcache){.total_blocks = KV_TOKENS / BLOCK, .block_tokens = BLOCK};
    return bed;
}

/* Machines 0 and 1 are the prompt pool, 2 and 3 the token pool. */
static void check_pair(struct bed *bed, int32_t prompt_tokens, int32_t output_tokens, int prompt, int decode)
{
    const struct router *router = (const void *)policy_find(POLICY_ROUTING, "splitwise");
    struct fleet_pool pools[] = {{.first = 0, .n = 2, .config = {.role = POOL_PREFILL}},
                                 {.first = 2, .n = 2, .config = {.role = POOL_DECODE}}};
    bool asked;
    const struct fleet fleet = {.n_pools = 2, .pools = pools, .n_replicas = MACHINES, .replicas = bed->replicas,
                                .loads = bed->loads, .reserved_tokens = bed->reserved_tokens, .asked_oracle = &asked};
    const struct fleet_view view = {.n_replicas = MACHINES, .loads = bed->loads, .fleet = &fleet};
    const struct request request = {.view = {.prompt_tokens = prompt_tokens}, .prompt_tokens = prompt_tokens,
                                    .output_tokens = output_tokens};
    struct route_pair pair = {-1, -1};
    int64_t state[8] = {MOST_PENDING}; /* the parameter, and room for the rest */
    MUST(sizeof state >= router->policy.state_bytes);
    CHECK_EQ_INT(router->route_pair(state, &view, &request.view, &pair), 0);
    router->policy.fini(state);
    CHECK_EQ_INT(pair.prompt, prompt);
    CHECK_EQ_INT(pair.decode, decode);
}

TEST(among_equals_the_lowest_machine_is_chosen)
{
    struct bed bed = idle();
    check_pair(&bed, 100, 10, 0, 2);
}

/* A queue may reach the bound, and may exceed it where nobody waits. */
TEST(a_prompt_queue_may_be_exactly_as_long_as_allowed)
{
    struct bed bed = idle();
    for (int i = 0; i < 2; i++) bed.loads[i] = (struct replica_load){.waiting = 1, .queued_tokens = 8000};
    check_pair(&bed, 192, 10, 0, 2);
    check_pair(&bed, 193, 10, 2, 2);
    bed.loads[0].waiting = 0;
    check_pair(&bed, 193, 10, 0, 2);
}

/* A machine whose memory would be exactly full is refused. */
TEST(memory_may_not_be_exactly_full)
{
    struct bed bed = idle();
    check_pair(&bed, KV_TOKENS - 11, 10, 0, 2);
    check_pair(&bed, KV_TOKENS - 10, 10, 0, 0);
    bed.reserved_tokens[2] = 1;
    check_pair(&bed, KV_TOKENS - 11, 10, 0, 3);
}

/* The machine lent by the other pool is the best of it, whatever its own queue and memory. */
TEST(the_other_pool_lends_in_any_case)
{
    struct bed bed = idle();
    for (int i = 0; i < 2; i++) bed.loads[i] = (struct replica_load){.waiting = 1, .queued_tokens = 8192};
    for (int i = 2; i < MACHINES; i++) bed.loads[i] = (struct replica_load){.waiting = 1, .queued_tokens = 9000};
    bed.loads[2].decodes = 1;
    check_pair(&bed, 100, 10, 3, 2);
    bed = idle();
    for (int i = 0; i < MACHINES; i++) bed.reserved_tokens[i] = KV_TOKENS + 10 * (i != 1);
    check_pair(&bed, 100, 10, 0, 1);
}
