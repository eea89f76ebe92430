/* Offloaded iterations on shared links: closed forms of two that meet on one link, bytes that add up in random sites,
 * and stepping that changes nothing. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* A site of `node` with services that are texts of the form of SERVICE; quotes are single. */
static struct bed_rows *run(const char *node, const char *services, const struct bed_options *options)
{
    return bed_run(options, "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a10'%s}, 'services': {%s}}", node,
                   services);
}

#define HOST "'host': {'device': 'host-dram-pcie4', 'capacity': '4TB'}"
#define SERVICE(name, replicas, kv, trace)                                                                             \
    "'" name "': {'llm': 'opt-6.7b', 'cost': {'kind': 'operators', 'engine': 'none'}, 'routing': 'round-robin', "      \
    "'replicas': " replicas ", 'kv': {" kv "}, 'batching': {'policy': 'vllm-v0', 'max_batched_tokens': 100000}, "      \
    "'trace': {'format': 'generate', " trace "}}"
#define PROMPTS(count, rate, prompt, output)                                                                           \
    "'count': " count ", 'arrival': {'process': 'fixed', 'rate': '" rate "'}, 'prompt': {'distribution': 'fixed', "    \
    "'tokens': " prompt "}, 'output': {'distribution': 'fixed', 'tokens': " output "}"
#define STREAMING "'tiers': {" HOST "}, 'offload': {'policy': 'zero-inference', 'host_cache': false}"
#define SWITCH(rate) ", 'pcie_switch': {'gpus': 8, 'bandwidth': '" rate "'}"

static double e2e_s(const struct bed_rows *rows, int64_t id)
{
    const struct request_row *row = bed_request(rows, id);
    return row != NULL ? row->e2e_s : (double)NAN;
}

/* An iteration of no time, or of no end, asks for no share of a link, and is refused for its time. */
TEST(an_iteration_without_a_duration_is_refused)
{
    static const char *const services[] = {
        "'llm': 'mistral-7b', 'kv': {'tiers': {" HOST "}, 'slo_tpot': '3834us', 'offload': 'flexgen-slo'},"
        " 'cost': {'kind': 'affine'}",
        "'llm': 'phi-2', 'kv': {'tiers': {" HOST
        ", 'disk': {'device': 'samsung-980-pro'}}, 'offload': {'policy': 'flexgen',"
        " 'schedule': 'published', 'gpu_batch': 1, 'cache_gpu': 0.099, 'host_rate': '2.2250738585072014e-308FLOP/s'}}"};
    for (int i = 0; i < 2; i++) {
        struct bed_rows *rows = bed_run(BED(.quiet = true),
                                        "{'cluster': {'gpu': 'a30'}, 'services': {'a': {%s,"
                                        " 'trace': {'format': 'generate', 'count': 3}}}}",
                                        services[i]);
        CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
        const char *refusal = rows->diag.items[rows->diag.n_items - 1].text; /* behind warnings */
        CHECK(strstr(refusal, i == 0 ? "gives 0 s" : "gives inf s") != NULL);
    }
}

/* Two that begin together share a switch like one alone on a switch of half the bandwidth. */
TEST(twins_get_half_each)
{
    struct bed_rows *both = run(SWITCH("10GB/s"),
                                SERVICE("s", "2", STREAMING, PROMPTS("2", "1000000000/s", "64", "20")),
                                &(struct bed_options){.check = true});
    struct bed_rows *one = run(SWITCH("5GB/s"), SERVICE("s", "1", STREAMING, PROMPTS("1", "1000000000/s", "64", "20")),
                               &(struct bed_options){.check = true});
    CHECK_EQ_INT(both->code, 0);
    for (int64_t id = 0; id < 2; id++) CHECK_NEAR(e2e_s(both, id), e2e_s(one, 0), 1e-7);
    CHECK(both->engine.fired < 40); /* runs of iterations stay runs */
}

/* An iteration that streams for T seconds alone meets another that begins T/2 later: processor sharing. The first ends
 * after T/2 + 2 T/2, the second has moved half by then and the rest alone. */
TEST(a_late_twin_slows_down_what_is_under_way)
{
    struct bed_rows *one = run(SWITCH("10GB/s"), SERVICE("s", "1", STREAMING, PROMPTS("1", "1/s", "64", "1")),
                               &(struct bed_options){0});
    const double alone_s = e2e_s(one, 0), apart_s = 0.6;
    struct bed_rows *both = run(SWITCH("10GB/s"),
                                SERVICE("s", "2", STREAMING, PROMPTS("2", "1.6666666666666667/s", "64", "1")),
                                &(struct bed_options){.check = true});
    CHECK_NEAR(bed_request(both, 1)->arrival_s - bed_request(both, 0)->arrival_s, apart_s, 1e-9);
    CHECK(alone_s > 1.2 && alone_s < 1.4);
    CHECK_NEAR(e2e_s(both, 0), apart_s + 2 * (alone_s - apart_s), 1e-7);
    CHECK_NEAR(e2e_s(both, 1), 2 * alone_s - apart_s, 1e-7);
    CHECK_NEAR(bed_metric(both, "link.pcie.used_frac.max") * bed_metric(both, "sim.end_s"), 2 * alone_s, 1e-3);
}

/* Who computes for longer than it moves asks for what it needs; the other one gets all that is left. */
TEST(a_small_demand_is_met)
{
#define LITTLE "'tiers': {" HOST "}, 'offload': {'policy': 'zero-inference', 'host_cache': false, 'weights_gpu': 0.9}"
#define LONG_PROMPT SERVICE("a", "1", LITTLE, PROMPTS("1", "1000000000/s", "2000", "1"))
#define SOME "'tiers': {" HOST "}, 'offload': {'policy': 'zero-inference', 'host_cache': false, 'weights_gpu': 0.7}"
#define STREAMS SERVICE("b", "1", SOME, PROMPTS("1", "1000000000/s", "8", "1"))
    struct bed_rows *a = run(SWITCH("24GB/s"), LONG_PROMPT, &(struct bed_options){0});
    struct bed_rows *b = run(SWITCH("24GB/s"), STREAMS, &(struct bed_options){0});
    struct bed_rows *both = run(SWITCH("24GB/s"), LONG_PROMPT ", " STREAMS, &(struct bed_options){.check = true});
    MUST(both->n_requests == 2 && a->n_requests == 1 && b->n_requests == 1);
    const double a_s = e2e_s(a, 0), b_s = e2e_s(b, 0);
    const double demand = bed_metric(a, "offload.to_gpu_bytes.sum") / a_s;
    const double streamed = bed_metric(b, "offload.to_gpu_bytes.sum");
    CHECK(demand < 8e9 && b_s < a_s);
    CHECK_NEAR(streamed / b_s, 24e9, 1e3);
    const int first = both->requests[0].prompt_tokens == 2000 ? 0 : 1;
    if (CHECK(streamed / (24e9 - demand) < a_s)) {
        CHECK_NEAR(both->requests[first].e2e_s, a_s, 1e-7);
        CHECK_NEAR(both->requests[1 - first].e2e_s, streamed / (24e9 - demand), 1e-7);
    }
}

/* Replicas that read the node's drives share them; drives of their own they do not. */
TEST(drives_of_the_node_are_shared)
{
#define FROM_DISK                                                                                                      \
    "'tiers': {" HOST ", 'scratch': {'device': 'samsung-980-pro', 'capacity': '2TB'}}, 'offload': {'policy': "         \
    "'flexgen', 'schedule': 'published', 'gpu_batch': 8, 'weights_gpu': 0, 'weights_host': 0}"
#define SCRATCH ", 'storage': {'scratch': {'device': 'samsung-980-pro'}}"
    const char *const one = SERVICE("s", "1", FROM_DISK, PROMPTS("1", "1000000000/s", "64", "8"));
    const char *const two = SERVICE("s", "2", FROM_DISK, PROMPTS("2", "1000000000/s", "64", "8"));
    struct bed_rows *alone = run(SCRATCH, one, &(struct bed_options){.check = true});
    struct bed_rows *shared = run(SCRATCH, two, &(struct bed_options){.check = true});
    struct bed_rows *apart = run("", two, &(struct bed_options){.check = true});
    CHECK_EQ_INT(shared->code, 0);
    CHECK(e2e_s(shared, 1) > 1.9 * e2e_s(alone, 0) && e2e_s(shared, 1) < 2 * e2e_s(alone, 0));
    CHECK_NEAR(e2e_s(apart, 1), e2e_s(alone, 0), 1e-6);
    const double read = bed_metric(shared, "offload.disk_read_bytes.sum"),
                 written = bed_metric(shared, "offload.disk_write_bytes.sum");
    CHECK_NEAR(bed_metric(shared, "link.storage.bytes"), 2 * (read + written), 100); /* media and port */
    CHECK(isnan(bed_metric(apart, "link.storage.bytes")));
}

/* --- Random sites --- */

struct site {
    char node[512], services[4096];
    int switched, tensor_parallel;
};

static const char *pick(struct rng *rng, const char *const *texts, uint64_t n)
{
    return texts[rng_below(rng, n)];
}

static void make_service(struct rng *rng, char name, int tensor_parallel, struct text *text)
{
    static const char *const offloads[] = {
        "'zero-inference'",
        "{'policy': 'zero-inference', 'weights_gpu': 0.8, 'host_cache': false}",
        "{'policy': 'vllm-cpu', 'cpu_offload': '2GB', 'swap': true}",
        "{'policy': 'select-n', 'interval': 5}",
        "{'policy': 'flexgen', 'gpu_batch': 8, 'weights_gpu': 0.5, 'weights_host': 0.3, 'cache_gpu': 0.2, 'cache_host': 0.5}",
        "'instinfer'",
    };
    static const char *const batchers[] = {"{'policy': 'vllm-v0', 'max_batched_tokens': 8192}",
                                           "{'policy': 'vllm-v1', 'token_budget': 512}",
                                           "{'policy': 'sarathi', 'token_budget': 256}"};
    const uint64_t offload = rng_below(rng, sizeof offloads / sizeof *offloads);
    text_printf(
        text,
        "%s'%c': {'llm': 'opt-6.7b', 'cost': {'kind': 'operators', 'engine': 'none'}, 'replicas': %d, "
        "'tensor_parallel': %d, 'kv': {'blocks': %d, 'tiers': {" HOST
        ", 'scratch': {'device': 'samsung-980-pro', 'capacity': '4TB'}, 'drives': {'device': 'instcsd', 'capacity': "
        "'4TB', 'count': 2}}, 'offload': %s}, 'batching': %s, 'trace': {'format': 'generate', 'count': 12, 'arrival': "
        "{'process': 'poisson', 'rate': '%d/s'}, 'prompt': {'distribution': 'uniform', 'min': 10, 'max': 400}, "
        "'output': {'distribution': 'uniform', 'min': 1, 'max': 60}}}",
        name == 'a' ? "" : ", ", name, 1 + (int)rng_below(rng, 2), tensor_parallel, 70 + (int)rng_below(rng, 100),
        offloads[offload], batchers[offload == 2 ? 0 : rng_below(rng, 3)], 1 + (int)rng_below(rng, 20));
}

static void make_site(uint64_t number, struct site *site)
{
    static const char *const hosts[] = {"", ", 'host': {'device': 'host-dram-pcie4'}", ", 'host': {'device': 'host-dram-pcie3'}"};
    static const char *const storages[] = {"", ", 'storage': {'scratch': {'device': 'samsung-980-pro', 'ceiling': '2GB/s'}}",
                                           ", 'storage': {'drives': {'device': 'instcsd', 'count': 2}}"};
    SCOPED(text) services = {0};
    struct rng rng = test_rng(7, "site", number);
    site->switched = (int)rng_below(&rng, 2);
    site->tensor_parallel = 1 + (int)rng_below(&rng, 2);
    snprintf(site->node, sizeof site->node, "%s%s%s", site->switched ? SWITCH("9GB/s") : "", pick(&rng, hosts, 3),
             pick(&rng, storages, 3));
    for (char name = 'a'; name <= 'b'; name++) make_service(&rng, name, site->tensor_parallel, &services);
    snprintf(site->services, sizeof site->services, "%s", services.chars);
}

/* Whatever shares what: links carry the bytes of the iterations, never more than they can, and stepping, queues and
 * repetition change nothing. */
TEST(random_sites)
{
    for (uint64_t number = 0; number < 60; number++) {
        struct site site;
        make_site(number, &site);
        struct bed_rows *rows = run(site.node, site.services, &(struct bed_options){.check = true});
        struct bed_rows *steps = run(site.node, site.services, &(struct bed_options){.single_step = true, .queue = QUEUE_HEAP});
        bool good = CHECK_EQ_INT(rows->code, 0) && CHECK(bed_equal(rows, steps));
        const double host = bed_metric(rows, "offload.to_gpu_bytes.sum") +
                            bed_metric(rows, "offload.from_gpu_bytes.sum");
        const double lanes = site.tensor_parallel * host + bed_metric(rows, "offload.csd_link_bytes.sum") +
                             bed_metric(rows, "replica.swapped_bytes.sum");
        const double tolerance = 8.0 * (double)rows->n_batches;
        good = CHECK_NEAR(bed_metric(rows, "link.pcie.bytes"), (1 + site.switched) * lanes, tolerance) && good;
        static const char *const kinds[] = {"pcie", "host", "storage", "csd"};
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            char name[64];
            snprintf(name, sizeof name, "link.%s.used_frac.max", kinds[i]);
            const double used = bed_metric(rows, name);
            good = CHECK(isnan(used) || used < 1 + 1e-9) && good;
        }
        if (!good) printf("\n  site %d: %s, {%s}", (int)number, site.node, site.services);
        bed_free(rows);
        bed_free(steps);
    }
}
