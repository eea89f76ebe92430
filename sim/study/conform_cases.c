#include "sim/study/conform_cases.h"

#include "sim/core/check.h"
#include "sim/core/rng.h"
#include "sim/core/units.h"
#include "sim/study/conform_cache.h"
#include "sim/world/policy/batching.h"

#include <inttypes.h>
#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof *(array))

/* A key under which scenarios name a policy. */
struct slot {
    const char *key;
    const char *other; /* neither the policy under test nor its partner; NULL: the key's section is left out */
    size_t n_left_out; /* cases at the end that a policy under test at this key does not take */
    bool may_reject;   /* a policy under test at this key may reject more jobs than a case says */
};

enum { MAX_SLOTS = 6 };

/* --- Jobs --- */

struct job {
    double submit_s, duration_s;
    int32_t gpus, nodes;
    double estimate_s; /* negative: the duration */
};

struct job_details {
    const char *cluster; /* members of the section */
    struct job (*job)(int64_t id);
    const char *mtbf; /* mean time between failures of a job; NULL: jobs fail only where they save checkpoints */
};

static struct job plain(double submit_s, double duration_s, int32_t gpus)
{
    return (struct job){.submit_s = submit_s, .duration_s = duration_s, .gpus = gpus, .estimate_s = -1};
}

static struct job one_gpu(int64_t id)
{
    (void)id;
    return plain(5, 3, 1);
}

static struct job no_gpus(int64_t id)
{
    return plain((double)id, 4, id % 3 == 0 ? 1 : 0);
}

static struct job too_large(int64_t id)
{
    return plain((double)id, 2, id == 1 ? 17 : 16);
}

static struct job all_at_once(int64_t id)
{
    return plain(0, 1 + (double)(id % 7), 1 + (int32_t)(id % 5));
}

/* Every second a job comes and one ends. */
static struct job handover(int64_t id)
{
    return plain((double)id, 2, 4);
}

static struct job equals(int64_t id)
{
    (void)id;
    return plain(1, 1, 2);
}

static struct job no_time(int64_t id)
{
    return plain((double)(id / 3), id % 2 == 0 ? 0 : 1, 1 + (int32_t)(id % 8));
}

static struct job widest_after_narrow(int64_t id)
{
    return plain(0.5 * (double)id, 3, id % 6 == 5 ? 16 : 1);
}

static struct job nodes_wanted(int64_t id)
{
    struct job job = plain(0.25 * (double)id, 1.5, 2 + (int32_t)(id % 7));
    job.nodes = (int32_t)(id % 3);
    return job;
}

/* Some end long before, some long after the time stated. */
static struct job wrong_estimates(int64_t id)
{
    struct job job = plain(0.5 * (double)id, 4, 1 + (int32_t)(id * 5 % 13));
    job.estimate_s = (double)((id % 3) * (id % 5));
    return job;
}

/* Each is shorter than the one before, so that preemptive schedulers stack them. */
static struct job shorter_and_shorter(int64_t id)
{
    return plain((double)id, 100 - 2 * (double)id, 16);
}

static struct job odd_nanoseconds(int64_t id)
{
    return plain((double)id * 0.333333333, (double)(id * id % 11) * 0.777777777, 1 + (int32_t)(id % 3));
}

/* The cluster is empty for days between them. */
static struct job far_apart(int64_t id)
{
    return plain(1e6 * (double)id, 7200, 8);
}

/* Weeks of one wide job before minutes of narrow ones. */
static struct job long_and_short(int64_t id)
{
    return id == 0 ? plain(0, 2e6, 15) : plain(60.0 * (double)id, 60, 1 + (int32_t)(id % 4));
}

static struct job whole_nodes(int64_t id)
{
    return plain((double)(id / 4), 1 + (double)(id % 3), id % 2 == 0 ? 4 : 8);
}

static struct job random_job(int64_t id)
{
    struct rng rng;
    rng_init(&rng, 7, 0, "conformance", (uint64_t)id);
    double submit_s = 0.9 * ((double)id + rng_uniform(&rng));
    int32_t gpus = 1 << rng_below(&rng, 5);
    return plain(submit_s, rng_exponential(&rng, 2.6), gpus > 12 ? 12 : gpus);
}

#define CLUSTER(nodes, gpus) "\"nodes\": " #nodes ", \"gpus_per_node\": " #gpus
/* The other node type has more and smaller nodes. */
#define NODE_TYPES                                                                                                     \
    ", \"gpu\": \"v100-16-sxm\", \"node_types\": {\"more\": {\"nodes\": 5, \"gpus_per_node\": 2, \"gpu\": \"p100\"}}"
#define JOBS(title, count, rejected, site, function)                                                                   \
    {.name = title, .n = count, .n_rejected = rejected, .details = &(const struct job_details){site, function, NULL}}

static const struct conform_case job_cases[] = {
    JOBS("no jobs", 0, 0, CLUSTER(2, 8), one_gpu),
    JOBS("one job, one GPU", 1, 0, CLUSTER(1, 1), one_gpu),
    JOBS("queue for one GPU", 20, 0, CLUSTER(1, 1), one_gpu),
    JOBS("jobs without GPUs", 30, 0, CLUSTER(1, 2), no_gpus),
    JOBS("larger than the cluster", 3, 1, CLUSTER(2, 8), too_large),
    JOBS("all at once", 60, 0, CLUSTER(3, 4), all_at_once),
    JOBS("handover", 40, 0, CLUSTER(2, 4), handover),
    JOBS("equal jobs", 50, 0, CLUSTER(2, 3), equals),
    JOBS("no run time", 60, 0, CLUSTER(1, 8), no_time),
    JOBS("wide behind narrow", 60, 0, CLUSTER(2, 8), widest_after_narrow),
    JOBS("nodes wanted", 60, 0, CLUSTER(3, 4), nodes_wanted),
    JOBS("whole nodes", 60, 0, CLUSTER(3, 4), whole_nodes),
    JOBS("wrong estimates", 60, 0, CLUSTER(4, 4), wrong_estimates),
    JOBS("shorter and shorter", 40, 0, CLUSTER(2, 8), shorter_and_shorter),
    JOBS("odd nanoseconds", 80, 0, CLUSTER(1, 4), odd_nanoseconds),
    JOBS("far apart", 10, 0, CLUSTER(2, 4), far_apart),
    JOBS("long and short", 60, 0, CLUSTER(2, 8), long_and_short),
    {.name = "jobs that fail", .n = 60, .details = &(const struct job_details){CLUSTER(4, 4), random_job, "10s"}},
    {.name = "ten thousand", .n = 10000, .large = true, .details = &(const struct job_details){CLUSTER(4, 4), random_job, NULL}},
    JOBS("two node types", 60, 0, CLUSTER(3, 4) NODE_TYPES, random_job),
    JOBS("unlimited", 60, 0, "\"unlimited\": true", all_at_once),
};

/* At the end: cases that some policies do not take. Renters rent GPUs of one type, and no unlimited cluster. */
enum { N_UNRENTABLE = 2 };

static void add_time(struct text *json, const char *key, double seconds)
{
    sim_ns ns = sim_ns_from_s(seconds);
    text_printf(json, "\"%s\": \"%" PRId64 ".%09" PRId64 "s\", ", key, ns / SIM_NS_PER_S, ns % SIM_NS_PER_S);
}

static void add_job(struct text *json, const struct job *job)
{
    text_add(json, "{");
    add_time(json, "submit", job->submit_s);
    add_time(json, "duration", job->duration_s);
    if (job->estimate_s >= 0) add_time(json, "estimate", job->estimate_s);
    if (job->nodes > 0) text_printf(json, "\"nodes\": %d, ", job->nodes);
    text_printf(json, "\"gpus\": %d}", job->gpus);
}

/* Jobs that save their state, now and then fail, and begin to compute again after a while. */
static void add_checkpoints(const char *policy, struct text *json)
{
    text_printf(json,
                "\n    \"types\": {\"default\": {\"checkpoint\": {\"policy\": \"%s\", \"bytes\": \"2GB\", "
                "\"write\": \"1GB/s\"}}},",
                policy);
}

/* Checkpointers meet rare failures in every case, and wait until they work again. */
static void add_failures(const struct job_details *details, bool saves, struct text *json)
{
    const char *mtbf = details->mtbf != NULL ? details->mtbf : "2d";
    if (details->mtbf == NULL && !saves) return;
    text_printf(json,
                ",\n  \"failures\": {\"causes\": {\"software\": {\"scope\": \"job\", \"lifetime\": {\"mean\": \"%s\"},"
                " \"restart\": {\"law\": \"constant\", \"mean\": \"%s\"}}}}",
                mtbf, saves ? "7s" : "0s");
}

enum { SCHEDULER_SLOT, PLACEMENT_SLOT, CHECKPOINT_SLOT, RENTING_SLOT };

static const struct slot job_slots[] = {
    [SCHEDULER_SLOT] = {.key = "jobs.scheduler", .other = "fifo"},
    [PLACEMENT_SLOT] = {.key = "jobs.placement", .other = "first-fit", .may_reject = true},
    [CHECKPOINT_SLOT] = {.key = "jobs.types.default.checkpoint.policy"},
    [RENTING_SLOT] = {.key = "market.renting", .n_left_out = N_UNRENTABLE},
    {0}};

static void add_jobs(const struct conform_case *wanted, const char *const *named, struct text *json)
{
    const char *checkpointing = named[CHECKPOINT_SLOT], *renting = named[RENTING_SLOT];
    const struct job_details *details = wanted->details;
    text_printf(json, "{\n  \"name\": \"%s\",\n  \"cluster\": {%s},\n", wanted->name, details->cluster);
    if (renting != NULL)
        text_printf(json, "  \"market\": {\"offers\": {\"any\": {\"price\": \"$1/h\"}}, \"renting\": \"%s\"},\n",
                    renting);
    text_printf(json, "  \"jobs\": {\n    \"scheduler\": \"%s\", \"placement\": \"%s\",", named[SCHEDULER_SLOT],
                named[PLACEMENT_SLOT]);
    if (checkpointing != NULL) add_checkpoints(checkpointing, json);
    text_add(json, "\n    \"trace\": {\"format\": \"inline-jobs\", \"jobs\": [");
    for (size_t i = 0; i < wanted->n; i++) {
        struct job job = details->job((int64_t)i);
        text_add(json, i == 0 ? "\n      " : ",\n      ");
        add_job(json, &job);
    }
    text_add(json, "]}\n  }");
    add_failures(details, checkpointing != NULL, json);
    text_add(json, "\n}\n");
}

/* --- Requests --- */

struct request_details {
    int replicas, blocks;
    const char *cost, *trace;
};

#define OPERATORS "\"operators\""
#define AFFINE                                                                                                         \
    "{\"kind\": \"affine\", \"prefill\": {\"fixed\": \"9ms\", \"per_token\": \"60us\"}, "                                   \
    "\"decode\": {\"fixed\": \"11ms\", \"per_sequence\": \"20us\", \"per_context_token\": \"30ns\"}}"
#define EQUAL_STEPS                                                                                                    \
    "{\"kind\": \"affine\", \"prefill\": {\"fixed\": \"10ms\"}, \"decode\": {\"fixed\": \"10ms\"}}"
#define ARRIVE(process, rate) "\"arrival\": {\"process\": \"" process "\", \"rate\": \"" rate "\"}"
#define FIXED(what, tokens) "\"" what "\": {\"distribution\": \"fixed\", \"tokens\": " #tokens "}"
#define UNIFORM(what, min, max) "\"" what "\": {\"distribution\": \"uniform\", \"min\": " #min ", \"max\": " #max "}"
#define REQUESTS(title, count, replicas, blocks, cost, arrival, prompt, output)                                        \
    {.name = title, .n = count,                                                                                        \
     .details = &(const struct request_details){replicas, blocks, cost, arrival ", " prompt ", " output}}

/* Follows the cost in its section: the batcher under test has the prompts, another one decodes what is handed over. */
#define ELSEWHERE                                                                                                      \
    ", \"pools\": {\"p\": {\"role\": \"prefill\"}, \"d\": {\"role\": \"decode\", \"replicas\": 2, \"batching\": \"vllm-v1\"}}"
#define THREE_KINDS                                                                                                    \
    ", \"kv_transfer\": {\"mode\": \"layer-wise\", \"layer_wise_from\": 64}, \"pools\": {\"d\": {\"role\": \"decode\","     \
    " \"batching\": \"vllm-v1\"}, \"p\": {\"role\": \"prefill\"}, \"m\": {\"replicas\": 1, \"batching\": \"vllm-v0\"}}"

static const struct conform_case request_cases[] = {
    REQUESTS("one request", 1, 1, 1000, OPERATORS, ARRIVE("fixed", "1/s"), FIXED("prompt", 100), FIXED("output", 5)),
    REQUESTS("one token each", 50, 2, 1000, AFFINE, ARRIVE("poisson", "20/s"), UNIFORM("prompt", 1, 500), FIXED("output", 1)),
    REQUESTS("one token in, one out", 40, 2, 1000, AFFINE, ARRIVE("poisson", "90/s"), FIXED("prompt", 1), FIXED("output", 1)),
    REQUESTS("all at once", 200, 3, 400, AFFINE, ARRIVE("fixed", "1000000000/s"), UNIFORM("prompt", 1, 300),
             UNIFORM("output", 1, 80)),
    REQUESTS("equal lengths, equal gaps", 100, 2, 200, AFFINE, ARRIVE("fixed", "10/s"), FIXED("prompt", 64),
             FIXED("output", 32)),
    REQUESTS("scarce blocks", 200, 2, 60, OPERATORS, ARRIVE("poisson", "30/s"), UNIFORM("prompt", 1, 300),
             UNIFORM("output", 1, 300)),
    REQUESTS("room for one", 40, 2, 9, AFFINE, ARRIVE("poisson", "20/s"), UNIFORM("prompt", 60, 70), UNIFORM("output", 1, 60)),
    REQUESTS("a single block", 30, 2, 2, AFFINE, ARRIVE("poisson", "20/s"), UNIFORM("prompt", 1, 12), UNIFORM("output", 1, 4)),
    {.name = "some never fit", .n = 60, .may_reject = true, .details = &(const struct request_details){
         1, 30, AFFINE, ARRIVE("poisson", "5/s") ", " UNIFORM("prompt", 1, 700) ", " UNIFORM("output", 1, 100)}},
    REQUESTS("long prompts", 60, 2, 4000, AFFINE, ARRIVE("poisson", "3/s"), UNIFORM("prompt", 1000, 9000),
             UNIFORM("output", 1, 200)),
    REQUESTS("long outputs", 30, 2, 1000, AFFINE, ARRIVE("poisson", "1/s"), FIXED("prompt", 16), UNIFORM("output", 500, 3000)),
    REQUESTS("far apart", 10, 3, 400, AFFINE, ARRIVE("fixed", "0.001/s"), FIXED("prompt", 64), FIXED("output", 32)),
    REQUESTS("bursts", 300, 4, 300, AFFINE, "\"arrival\": {\"process\": \"gamma\", \"rate\": \"30/s\", \"cv\": 6}",
             UNIFORM("prompt", 1, 300), UNIFORM("output", 1, 100)),
    REQUESTS("closed loop", 120, 2, 300, AFFINE,
             "\"arrival\": {\"process\": \"closed\", \"users\": 8, \"think\": \"200ms\"}", UNIFORM("prompt", 1, 300),
             UNIFORM("output", 1, 80)),
    REQUESTS("users without think time, coinciding boundaries", 120, 3, 300, EQUAL_STEPS,
             "\"arrival\": {\"process\": \"closed\", \"users\": 6, \"think\": \"0s\"}", FIXED("prompt", 64),
             UNIFORM("output", 1, 8)),
    {.name = "ten thousand", .n = 10000, .large = true, .details = &(const struct request_details){
         4, 900, AFFINE, ARRIVE("poisson", "60/s") ", " UNIFORM("prompt", 1, 200) ", " UNIFORM("output", 1, 40)}},
    /* With pools. */
    REQUESTS("prompts elsewhere", 150, 1, 300, AFFINE ELSEWHERE, ARRIVE("poisson", "20/s"), UNIFORM("prompt", 1, 600),
             UNIFORM("output", 1, 80)),
    REQUESTS("three kinds of pools, layer by layer", 150, 2, 120, AFFINE THREE_KINDS, ARRIVE("poisson", "40/s"),
             UNIFORM("prompt", 1, 600), UNIFORM("output", 1, 120)),
    REQUESTS("two pipeline stages", 150, 2, 300, AFFINE ", \"pipeline_parallel\": 2", ARRIVE("poisson", "20/s"),
             UNIFORM("prompt", 1, 300), UNIFORM("output", 1, 80)),
};

/* At the end: cases that some policies do not take. Services with pools scale pool by pool; offloaders place the
 * layers of one stage. */
enum { N_WITH_STAGES = 1, N_WITH_POOLS = 2 };

enum { BATCHING_SLOT, ROUTING_SLOT, OFFLOAD_SLOT, SCALING_SLOT, CAPPING_SLOT, SPECULATION_SLOT };

static const struct slot request_slots[] = {
    [BATCHING_SLOT] = {.key = "services.chat.batching", .other = "vllm-v0"},
    [ROUTING_SLOT] = {.key = "services.chat.routing", .other = "round-robin"},
    [OFFLOAD_SLOT] = {.key = "services.chat.kv.offload", .other = "none", .n_left_out = N_WITH_STAGES},
    [SCALING_SLOT] = {.key = "services.chat.scaling.policy", .n_left_out = N_WITH_STAGES + N_WITH_POOLS},
    [CAPPING_SLOT] = {.key = "cluster.power.capping"},
    [SPECULATION_SLOT] = {.key = "services.chat.speculation", .n_left_out = N_WITH_STAGES},
    {0}};

/* All tiers of memory beyond the GPU, and goals, for policies that use them. */
#define TIERS                                                                                                          \
    ", \"slo_ttft\": \"10s\", \"slo_tpot\": \"1s\", \"tiers\": {\"host\": {\"device\": \"host-dram-pcie4\"}, "                       \
    "\"disk\": {\"device\": \"samsung-980-pro\"}, \"csd\": {\"device\": \"instcsd\"}}"

/* A budget that these scenarios pass now and then, and commands that come soon enough for them. */
static void add_power(const char *policy, struct text *json)
{
    if (policy == NULL) return;
    text_printf(
        json,
        ",\n    \"server_power\": {\"idle\": \"680W\", \"per_gpu_watt\": 0.66},\n    \"power\": {\"budget\": \"2200W\", "
        "\"level\": \"server\", \"telemetry\": {\"period\": \"100ms\"},\n      \"commands\": {\"out_of_band\": \"400ms\", "
        "\"brake\": \"50ms\"}, \"capping\": \"%s\"}",
        policy);
}

static void add_speculation(const char *policy, struct text *json)
{
    if (policy == NULL) return;
    text_printf(json,
                "\"speculation\": \"%s\", \"acceptance\": {\"rates\": [0.8, 0.6, 0.7], \"rank_power\": 0.4},\n    ",
                policy);
}

/* Between none and twice as many as the scenario says. */
static void add_scaling(const struct request_details *details, const char *policy, struct text *json)
{
    if (policy == NULL) return;
    text_printf(
        json,
        "\"scaling\": {\"policy\": \"%s\", \"min\": 0, \"max\": %d, \"interval\": \"250ms\", \"start_delay\": \"400ms\"},\n    ",
        policy, 2 * details->replicas);
}

static void add_requests(const struct conform_case *wanted, const char *const *named, struct text *json)
{
    const struct request_details *details = wanted->details;
    const char *offload = named[OFFLOAD_SLOT];
    text_printf(json,
                "{\n  \"name\": \"%s\", \"seed\": 3,\n"
                "  \"cluster\": {\"nodes\": 1, \"gpus_per_node\": 8, \"gpu\": \"a100-80-sxm\"",
                wanted->name);
    add_power(named[CAPPING_SLOT], json);
    text_add(json, "},\n  \"services\": {\"chat\": {\n    ");
    add_scaling(details, named[SCALING_SLOT], json);
    add_speculation(named[SPECULATION_SLOT], json);
    text_printf(json,
                "\"llm\": \"mistral-7b\", \"replicas\": %d, \"kv\": {\"blocks\": %d, \"offload\": \"%s\"%s},\n"
                "    \"cost\": %s,\n    \"batching\": \"%s\", \"routing\": \"%s\",\n"
                "    \"trace\": {\"format\": \"generate\", \"count\": %zu,\n      %s}\n  }}\n}\n",
                details->replicas, details->blocks, offload, strcmp(offload, "none") != 0 ? TIERS : "", details->cost,
                named[BATCHING_SLOT], named[ROUTING_SLOT], wanted->n, details->trace);
}

/* --- Caches --- */

enum { EVICTION_SLOT, BELOW_SLOT };

/* The partner has the cache below. */
static const struct slot cache_slots[] = {
    [EVICTION_SLOT] = {.key = "eviction"}, [BELOW_SLOT] = {.key = "eviction"}, {0}};

static void add_caches(const struct conform_case *wanted, const char *const *named, struct text *json)
{
    conform_cache_json(wanted, named[EVICTION_SLOT], named[BELOW_SLOT], json);
}

/* --- All --- */

static const size_t n_job_cases = N_OF(job_cases), n_request_cases = N_OF(request_cases);

/* Scenarios with the same keys for policies. */
static const struct kind {
    const struct conform_case *cases;
    const size_t *n_cases;
    const struct slot *slots; /* ended by a zero one */
    /* Writes a case; named[i]: the policy at slots[i].key, or NULL. */
    void (*add)(const struct conform_case *wanted, const char *const *named, struct text *json);
} kinds[] = {{job_cases, &n_job_cases, job_slots, add_jobs},
             {request_cases, &n_request_cases, request_slots, add_requests},
             {conform_cache_cases, &conform_cache_n_cases, cache_slots, add_caches}};

/* The kind with the key of the family (policy/families.h), and the slot of that key. */
static const struct kind *kind_of(enum policy_family family, const struct slot **slot)
{
    const char *key = policy_family_key(family);
    for (const struct kind *kind = kinds; kind < kinds + N_OF(kinds); kind++)
        for (*slot = kind->slots; (*slot)->key != NULL; ++*slot)
            if (strcmp((*slot)->key, key) == 0) return kind;
    SIM_BUG("no conformance scenario has the key '%s'", key);
}

const struct conform_case *conform_cases(enum policy_family family, size_t *n)
{
    const struct slot *slot;
    const struct kind *kind = kind_of(family, &slot);
    *n = *kind->n_cases - slot->n_left_out;
    return kind->cases;
}

bool conform_may_reject(const struct policy *policy)
{
    const struct slot *slot;
    kind_of(policy->family, &slot);
    return slot->may_reject || batcher_drops(policy);
}

bool conform_is_of_caches(enum policy_family family)
{
    const struct slot *slot;
    return kind_of(family, &slot)->slots == cache_slots;
}

void conform_case_json(const struct conform_case *wanted, enum policy_family family, const char *policy,
                       const char *partner, struct text *json)
{
    const char *partner_key = policy_family_key(policy_family_partner_family(family));
    const char *named[MAX_SLOTS];
    const struct slot *slot;
    const struct kind *kind = kind_of(family, &slot);
    for (int i = 0; kind->slots[i].key != NULL; i++) {
        const char *key = kind->slots[i].key;
        named[i] = &kind->slots[i] == slot ? policy : strcmp(key, partner_key) == 0 ? partner : kind->slots[i].other;
    }
    kind->add(wanted, named, json);
}
