/* Replicas of the naive simulator that start and stop. A pool that scales decides at multiples of its interval. One
 * that does not starts a missing replica as soon as there is room. */
#include "tests/oracle/naive_state.h"
#include "tests/support/harness.h"

#include <math.h>

/* --- Pools: those that process prompts, with all others where there are no pools; those that only decode --- */

static int first_of(const struct naive *naive, int pool)
{
    return pool == 0 ? 0 : naive->s->prefill_replicas;
}

static int behind(const struct naive *naive, int pool)
{
    return pool == 0 && naive->s->prefill_replicas > 0 ? naive->s->prefill_replicas : naive->s->replicas;
}

static int n_pools(const struct naive *naive)
{
    return naive->s->prefill_replicas > 0 ? 2 : 1;
}

static const struct naive_scaling *scaling_of(const struct naive *naive, int pool)
{
    const struct naive_scaling *scaling = &naive->s->site->scaling[pool];
    return scaling->max > 0 ? scaling : NULL;
}

void scaling_begin(struct naive *naive)
{
    for (int pool = 0; pool < n_pools(naive); pool++) {
        const struct naive_scaling *scaling = scaling_of(naive, pool);
        const int first = first_of(naive, pool), all = behind(naive, pool) - first;
        naive->wanted[pool] = scaling != NULL ? scaling->start : all;
        naive->decides_ns[pool] = scaling != NULL ? 0 : INT64_MAX;
        for (int i = 0; i < naive->wanted[pool]; i++)
            if (!site_take_gpus(naive, first + i)) abort();
    }
}

int64_t scaling_next_ns(const struct naive *naive)
{
    int64_t next = INT64_MAX;
    for (int pool = 0; pool < n_pools(naive); pool++)
        if (naive->decides_ns[pool] < next) next = naive->decides_ns[pool];
    for (int i = 0; i < naive->s->replicas; i++)
        if (naive->replicas[i].starts && naive->replicas[i].up_ns < next) next = naive->replicas[i].up_ns;
    return next;
}

/* --- Single replicas --- */

static void put_up(struct naive *naive, struct replica *replica)
{
    replica->starts = replica->drains = false;
    if (naive->held.n + naive->undecided.n > 0) naive->release_ns = naive->now_ns + 1;
}

static void stop(struct naive *naive, int index)
{
    static const struct replica none;
    site_release_gpus(naive, index);
    naive->replicas[index] = none;
    naive->replicas[index].free_blocks = naive->s->blocks;
}

/* It holds the KV of prompts that it has processed until others have taken it. */
static void stop_if_empty(struct naive *naive, int index)
{
    for (int id = 0; id < naive->arrived; id++)
        if (naive->outcomes[id].replica == index && naive->sequences[id].handed_blocks > 0) return;
    if (requests_at(&naive->replicas[index]) == 0) stop(naive, index);
}

static void start(struct naive *naive, int index, int64_t delay_ns)
{
    struct replica *replica = &naive->replicas[index];
    replica->starts = true;
    replica->up_ns = naive->now_ns > 0 ? naive->now_ns + delay_ns : 0;
    if (replica->up_ns <= naive->now_ns) put_up(naive, replica);
}

static void advance(struct naive *naive)
{
    for (int i = 0; i < naive->s->replicas; i++) {
        struct replica *replica = &naive->replicas[i];
        if (replica->starts && replica->up_ns <= naive->now_ns) put_up(naive, replica);
        if (replica->drains) stop_if_empty(naive, i);
    }
}

/* --- The wanted number --- */

/* Of the pool, up or starting. */
static int serving(const struct naive *naive, int pool)
{
    int n = 0;
    for (int i = first_of(naive, pool); i < behind(naive, pool); i++)
        n += naive->replicas[i].n_gpus > 0 && !naive->replicas[i].drains;
    return n;
}

/* Kubernetes' rule without a tolerance, in its order of operations. */
static void decide(struct naive *naive, int pool)
{
    const struct naive_scaling *scaling = scaling_of(naive, pool);
    const int have = serving(naive, pool);
    int load = pool == 0 ? naive->held.n : 0, wanted = have;
    if (pool == 1) load += naive->undecided.n;
    for (int i = first_of(naive, pool); i < behind(naive, pool); i++) load += requests_at(&naive->replicas[i]);
    const double needed = (double)load / scaling->target, ratio = needed / have;
    if (have == 0)
        wanted = (int)ceil(needed);
    else if (ratio < 1 || ratio > 1)
        wanted = (int)ceil(have * ratio);
    if (wanted > scaling->max) wanted = scaling->max;
    naive->wanted[pool] = wanted < scaling->min ? scaling->min : wanted;
    naive->decides_ns[pool] += scaling->interval_ns;
}

/* The highest numbers first, those that start before those that are up. */
static void drop(struct naive *naive, int pool)
{
    for (int i = behind(naive, pool) - 1; i >= first_of(naive, pool); i--)
        if (naive->replicas[i].starts && serving(naive, pool) > naive->wanted[pool]) stop(naive, i);
    for (int i = behind(naive, pool) - 1; i >= first_of(naive, pool); i--) {
        if (!is_up(naive, &naive->replicas[i]) || serving(naive, pool) <= naive->wanted[pool]) continue;
        naive->replicas[i].drains = true;
        if (naive->s->site->counts != NULL) naive->s->site->counts->drains++;
        stop_if_empty(naive, i);
    }
}

/* The lowest numbers first, those that drain before new ones. */
static void add(struct naive *naive, int pool, int n)
{
    const struct naive_scaling *scaling = scaling_of(naive, pool);
    const int64_t delay_ns = scaling != NULL ? scaling->delay_ns : naive->s->site->restart_ns;
    for (int i = first_of(naive, pool); i < behind(naive, pool); i++)
        if (naive->replicas[i].drains && serving(naive, pool) < n) put_up(naive, &naive->replicas[i]);
    for (int i = first_of(naive, pool); i < behind(naive, pool); i++) {
        if (naive->replicas[i].n_gpus > 0 || serving(naive, pool) >= n) continue;
        if (!site_take_gpus(naive, i)) return;
        if (naive->s->site->counts != NULL) naive->s->site->counts->starts++;
        start(naive, i, delay_ns);
    }
}

/* Replicas that the pool has before others get more: all of one that does not scale. */
static int least(const struct naive *naive, int pool)
{
    const struct naive_scaling *scaling = scaling_of(naive, pool);
    return scaling != NULL ? scaling->min : naive->wanted[pool];
}

void scaling_follow(struct naive *naive)
{
    bool is_due[2] = {false, false}, any = false;
    advance(naive);
    for (int pool = 0; pool < n_pools(naive); pool++) {
        is_due[pool] = naive->network.nodes_changed || scaling_of(naive, pool) == NULL;
        if (naive->decides_ns[pool] > naive->now_ns) continue;
        decide(naive, pool);
        is_due[pool] = true;
    }
    for (int pool = 0; pool < n_pools(naive); pool++)
        any = any || (is_due[pool] && (scaling_of(naive, pool) != NULL || serving(naive, pool) < naive->wanted[pool]));
    for (int pool = 0; pool < n_pools(naive); pool++)
        is_due[pool] = is_due[pool] || (any && serving(naive, pool) < least(naive, pool));
    for (int pool = 0; pool < n_pools(naive); pool++)
        if (is_due[pool]) drop(naive, pool);
    for (int pool = n_pools(naive) - 1; pool >= 0; pool--)
        if (is_due[pool]) add(naive, pool, least(naive, pool));
    for (int pool = 0; pool < n_pools(naive); pool++)
        if (is_due[pool]) add(naive, pool, naive->wanted[pool]);
    naive->network.nodes_changed = false;
}

/* Requests of 3 ns each come at 0, 1, 2 and 3 to one replica of up to two, with a target of one request. At 4 the first
 * is done, three are left, and a second replica starts; it is up at 6. The request of 7 goes there and ends at 10, when
 * all have ended at the other one but that of 3, at 12. */
TEST(a_scaled_pool_by_hand)
{
    static struct naive_counts counts;
    static struct naive_site site = {.nodes = 1, .node_gpus = 2, .gpus = 1, .groups = 1, .counts = &counts,
                                     .scaling = {{.start = 1, .min = 1, .max = 2, .target = 1, .interval_ns = 4,
                                                  .delay_ns = 2}}};
    static struct naive_scenario s = {.site = &site, .replicas = 2, .stages = 1, .block_tokens = 4, .max_sequences = 1,
                                      .routing = NAIVE_LEAST_OUTSTANDING, .max_tokens = 100, .max_context = 100,
                                      .blocks = 30, .prefill = {.fixed = 3}, .n = 5};
    static const int64_t arrivals[] = {0, 1, 2, 3, 7}, ends[] = {3, 6, 9, 12, 10};
    struct naive_outcome outcomes[5];
    for (int i = 0; i < s.n; i++)
        s.requests[i] = (struct naive_request){.arrival_ns = arrivals[i], .prompt = 10, .output = 1};
    CHECK(naive_serve(&s, outcomes) > 0);
    for (int i = 0; i < s.n; i++) CHECK_EQ_INT(outcomes[i].end_ns, ends[i]);
    CHECK_EQ_INT(outcomes[4].replica, 1);
    CHECK_EQ_INT(counts.starts, 1);
}
