/* Groups of GPUs over nodes against the naive simulator: tensor, pipeline and data parallelism of any width; prompts
 * and decoding in pools of different widths, whose KV shares network adapters; nodes and GPUs that fail and take their
 * groups. Every request to the nanosecond. */
#include "tests/oracle/naive_cases.h"
#include "tests/support/harness.h"

#include <math.h>

static const double a100_nvlink = 300; /* bytes per ns; configs/hardware/a100-80-sxm.json */

/* --- Random sites --- */

/* A power of two: part of a node, or up to four whole ones. */
static int random_width(struct rng *rng, int node_gpus)
{
    const int wide = node_gpus << naive_between(rng, 0, 2);
    if (wide <= 16 && !naive_one_in(rng, 3)) return wide;
    int gpus = 1;
    while (2 * gpus < node_gpus && naive_one_in(rng, 2)) gpus *= 2;
    return gpus;
}

static int random_groups(struct rng *rng, int gpus)
{
    int groups = 1;
    while (gpus % (2 * groups) == 0 && naive_one_in(rng, 2)) groups *= 2;
    return groups;
}

static int nodes_for(const struct naive_site *site, int gpus, int stages, int replicas)
{
    const int whole = gpus > site->node_gpus;
    return whole ? gpus / site->node_gpus * stages * replicas
                 : (stages * replicas + site->node_gpus / gpus - 1) / (site->node_gpus / gpus);
}

/* No rate is a ratio of whole numbers, so that no transfer ends halfway between two nanoseconds. */
static double random_rate(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_uniform(rng);
}

static void random_site(struct naive_site *site, struct naive_scenario *s, struct rng *rng)
{
    static struct naive_counts counts;
    *site = (struct naive_site){.counts = &counts, .node_gpus = 1 << naive_between(rng, 0, 3), .nvlink = a100_nvlink,
                                .port = random_rate(rng, 5, 30), .adapter = random_rate(rng, 0.5, 20),
                                .adapter_per_node = naive_one_in(rng, 2),
                                .latency_ns = naive_one_in(rng, 2) ? 0 : naive_between(rng, 1, 20000)};
    if (naive_one_in(rng, 3)) site->fabric = random_rate(rng, 2, 40);
    site->token_bytes = 2 * 32 * 8 * 128 * 2; /* Mixtral 8x7B: keys and values, layers, heads, numbers, bytes */
    site->gpus = random_width(rng, site->node_gpus);
    site->decode_gpus = random_width(rng, site->node_gpus);
    site->groups = random_groups(rng, site->gpus);
    site->decode_groups = random_groups(rng, site->decode_gpus);
    s->stages = naive_between(rng, 1, 3);
    s->site = site;
}

static void random_requests(struct naive_scenario *s, struct rng *rng)
{
    int64_t now_ns = 0;
    const double gap_ms = 5 + rng_uniform(rng) * 40;
    s->n = naive_between(rng, 5, 30);
    for (int i = 0; i < s->n; i++) {
        now_ns += (int64_t)(rng_exponential(rng, gap_ms) * 1e6);
        s->requests[i] = (struct naive_request){.arrival_ns = now_ns, .prompt = naive_between(rng, 1, 200),
                                                .output = naive_one_in(rng, 8) ? 1 : naive_between(rng, 1, 40)};
    }
}

static int nodes_for_pools(const struct naive_scenario *s, const struct naive_site *site)
{
    return nodes_for(site, site->gpus, s->stages, s->prefill_replicas) +
           nodes_for(site, site->decode_gpus, s->decode_stages, s->replicas - s->prefill_replicas);
}

static void random_pools(struct naive_scenario *s, struct naive_site *site, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "pools of groups", 0);
    naive_random_scenario(s, (enum naive_kind)(seed % 3), seed + 3000);
    random_requests(s, &rng);
    if (s->kind == NAIVE_VLLM_V1) s->watermark_blocks = 0; /* it has none */
    s->prefill_replicas = naive_between(&rng, 1, 2);
    s->replicas = s->prefill_replicas + naive_between(&rng, 1, 3);
    s->routing = NAIVE_LEAST_OUTSTANDING;
    s->push = naive_one_in(&rng, 2);
    random_site(site, s, &rng);
    s->decode_stages = naive_between(&rng, 1, 3);
    site->nodes = nodes_for_pools(s, site);
    if (site->nodes <= NAIVE_NODES) return;
    s->stages = s->decode_stages = 1;
    site->nodes = nodes_for_pools(s, site);
}

static void random_causes(struct naive_site *site, uint64_t seed, struct rng *rng)
{
    site->seed = seed;
    site->life_ns = naive_life_ns;
    site->restart_ns = naive_one_in(rng, 3) ? 0 : naive_between(rng, 1, 200000000);
    site->n_causes = naive_between(rng, 1, 2);
    for (int i = 0; i < site->n_causes; i++) {
        const double mean_s = random_rate(rng, 0.1, 0.6) * site->nodes * (i == 1 ? site->node_gpus : 1);
        site->causes[i] = (struct naive_cause){.of_gpus = i == 1, .nodes_each = naive_between(rng, 1, 3),
                                               .repair_ns = naive_one_in(rng, 4) ? 0 : naive_between(rng, 1, 300000000),
                                               .mean_ns = (int64_t)(mean_s * 1e9)};
    }
}

static void random_failing(struct naive_scenario *s, struct naive_site *site, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "groups that fail", 0);
    naive_random_scenario(s, (enum naive_kind)(seed % 3), seed + 4000);
    random_requests(s, &rng);
    if (s->kind == NAIVE_VLLM_V1) s->watermark_blocks = 0;
    s->replicas = naive_between(&rng, 1, 4);
    s->routing = (enum naive_routing)naive_between(&rng, NAIVE_ROUND_ROBIN, NAIVE_LEAST_TOKENS);
    random_site(site, s, &rng);
    if (nodes_for(site, site->gpus, s->stages, s->replicas) > NAIVE_NODES - 2) s->stages = 1;
    site->nodes = nodes_for(site, site->gpus, s->stages, s->replicas) + naive_between(&rng, 0, 2);
    random_causes(site, seed, &rng);
}

/* Some nodes more than the pools need, so that a replica may start elsewhere. Every other network is slow,
 * so that failures find KV on its way. */
static void random_failing_pools(struct naive_scenario *s, struct naive_site *site, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "pools that fail", 0);
    random_pools(s, site, seed + 5000);
    if (naive_one_in(&rng, 2)) site->adapter = random_rate(&rng, 0.3, 2);
    site->nodes += naive_between(&rng, 0, 2);
    if (site->nodes > NAIVE_NODES) site->nodes = NAIVE_NODES;
    random_causes(site, seed, &rng);
    for (int i = 0; i < site->n_causes; i++) site->causes[i].mean_ns /= 3;
}

/* Some replicas of what may be all of the pool's. */
static void random_bounds(struct naive_scaling *scaling, int most, struct rng *rng)
{
    *scaling = (struct naive_scaling){.min = 1, .max = most, .start = naive_between(rng, 1, most),
                                      .target = naive_between(rng, 1, 5),
                                      .interval_ns = (int64_t)naive_between(rng, 1, 60) * 1000000,
                                      .delay_ns = naive_one_in(rng, 3) ? 0 : naive_between(rng, 1, 100000000)};
}

/* On a slow network, so that replicas that drain have KV that is still to leave. */
static void add_prompt_replicas(struct naive_scenario *s, struct naive_site *site, struct rng *rng)
{
    const int more = naive_between(rng, 1, 3);
    s->prefill_replicas += more;
    s->replicas += more;
    if (naive_one_in(rng, 2)) site->adapter = random_rate(rng, 0.02, 0.3);
    if (nodes_for_pools(s, site) > NAIVE_NODES) s->stages = s->decode_stages = 1;
    while (nodes_for_pools(s, site) > NAIVE_NODES) s->prefill_replicas--, s->replicas--;
    if (nodes_for_pools(s, site) > site->nodes) site->nodes = nodes_for_pools(s, site);
}

/* Pools, or replicas that do all; one pool may be constant. Some sites have no room for all replicas, and on some nodes
 * fail. */
static void random_scaling(struct naive_scenario *s, struct naive_site *site, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, 0, "pools that scale", 0);
    if (naive_one_in(&rng, 3)) {
        random_failing(s, site, seed + 7000);
        if (naive_one_in(&rng, 2)) site->n_causes = 0;
    } else if (naive_one_in(&rng, 2)) {
        random_failing_pools(s, site, seed + 8000);
    } else {
        random_pools(s, site, seed + 9000);
    }
    if (s->prefill_replicas > 0) add_prompt_replicas(s, site, &rng);
    const int decode = s->prefill_replicas > 0 ? s->replicas - s->prefill_replicas : 0;
    const bool both = decode == 0 || naive_one_in(&rng, 2), first = both || naive_one_in(&rng, 2);
    if (first) random_bounds(&site->scaling[0], decode > 0 ? s->prefill_replicas : s->replicas, &rng);
    if (decode > 0 && (both || !first)) random_bounds(&site->scaling[1], decode, &rng);
    const int prompts = first ? site->scaling[0].start : s->prefill_replicas;
    const int tokens = site->scaling[1].max > 0 ? site->scaling[1].start : decode;
    const int least = nodes_for(site, site->gpus, s->stages, prompts) +
                      (decode > 0 ? nodes_for(site, site->decode_gpus, s->decode_stages, tokens) : 0);
    if (naive_one_in(&rng, 2) && least < site->nodes) site->nodes = naive_between(&rng, least, site->nodes);
}

/* --- Tests --- */

typedef void draw_site(struct naive_scenario *s, struct naive_site *site, uint64_t seed);

/* Compares so many random sites, with FULL set many more. Few may differ where a transfer ends halfway between two
 * nanoseconds. */
static struct naive_totals compare_sites(draw_site *draw)
{
    static struct naive_scenario s;
    struct naive_site site;
    struct naive_totals totals = {0};
    const uint64_t n_sites = getenv("FULL") != NULL ? 1000 : 60;
    for (uint64_t seed = 0; seed < n_sites; seed++) {
        draw(&s, &site, seed);
        naive_check_scenario(&s, seed, &totals);
    }
    CHECK(totals.requests > 800 && totals.halfway <= (int64_t)n_sites / 50);
    return totals;
}

TEST(pools_of_groups_share_adapters)
{
    CHECK(compare_sites(random_pools).preemptions > 20);
}

TEST(failures_take_groups)
{
    CHECK(compare_sites(random_failing).restarts > 500);
}

TEST(failures_take_pools_and_what_moves_between_them)
{
    const struct naive_totals totals = compare_sites(random_failing_pools);
    CHECK(totals.restarts > 500 && totals.lost_moves > 100);
}

TEST(pools_that_scale)
{
    const struct naive_totals totals = compare_sites(random_scaling);
    CHECK(totals.restarts > 1000 && totals.starts > 300 && totals.drains > 100);
}
