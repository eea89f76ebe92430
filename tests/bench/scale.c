/* Measures how the time of an event grows with the size of a site, for every policy: one JSON line per policy and size.
 *
 * Each family has an axis: what there is more of, such as waiting jobs or nodes. Work grows in proportion, so that a
 * policy in constant time keeps its time per event. "growth" is that time relative to half the size: 1 is constant,
 * 2 is a walk through everything at each event. Caches that overflow add to it. Policies that only replay a recorded
 * trace, because they know its future, are left out.
 *
 * usage: scale [full | FAMILY [POLICY]]     full or a name: up to eight times the smallest size; otherwise an eighth
 * of that size, and twice as much */
#include "policies/registry.h"
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "sim/world/policy/all.h"
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In texts, $P stands for the policy, $N for the size, $R for requests per second or a number of them, $T for a trace
 * of jobs; ' stands for ". */
struct axis {
    enum policy_family family;
    const char *of;      /* what there is more of */
    int smallest;        /* size; the largest is eight times it */
    double per_size;     /* $R over $N, and jobs of the trace over $N */
    const char *scenario;
};

#define AFFINE                                                                                                         \
    "'cost': {'kind': 'affine', 'prefill': {'fixed': '9ms', 'per_token': '60us'}, 'decode': {'fixed': '11ms',"         \
    " 'per_sequence': '20us', 'per_context_token': '30ns'}}"
#define LENGTHS                                                                                                        \
    "'prompt': {'distribution': 'uniform', 'min': 20, 'max': 1000}, 'output': {'distribution': 'uniform', 'min': 1,"    \
    " 'max': 200}"
#define SERVICE(cluster, members, trace)                                                                               \
    "{'cluster': {'gpu': 'a100-80-sxm', " cluster "}, 'seed': 1, 'services': {'chat': {'llm': 'llama-2-7b', " AFFINE    \
    ", " members ", 'trace': {'format': 'generate', " trace ", " LENGTHS "}}}}"
#define JOBS(cluster, members)                                                                                         \
    "{'cluster': {" cluster "}, 'seed': 1, 'jobs': {" members ", 'trace': {'format': 'csv-jobs', 'path': '$T'}}}"

static const struct axis axes[] = {
    {POLICY_SCHEDULER, "waiting jobs", 8000, 1, JOBS("'nodes': 4", "'scheduler': $P")},
    {POLICY_SCHEDULER, "running jobs", 8000, 2, JOBS("'nodes': $N", "'scheduler': $P")},
    {POLICY_PLACEMENT, "nodes", 1000, 16, JOBS("'nodes': $N", "'scheduler': 'fifo', 'placement': $P")},
    {POLICY_CHECKPOINTING, "running jobs", 8000, 2,
     JOBS("'nodes': $N", "'types': {'default': {'checkpoint': {'policy': $P, 'bytes': '2GB', 'write': '1GB/s'}}}")},
    {POLICY_BATCHING, "waiting requests", 8000, 1,
     SERVICE("'nodes': 1", "'batching': $P", "'count': $R, 'arrival': {'process': 'fixed', 'rate': '1000000/s'}")},
    {POLICY_KV_OFFLOAD, "waiting requests", 8000, 1,
     SERVICE("'nodes': 1",
             "'batching': 'vllm-v0', 'kv': {'blocks': 2000, 'offload': $P, 'slo_ttft': '10s', 'slo_tpot': '1s', 'tiers': {'host': {'device':"
             " 'host-dram-pcie4'}, 'disk': {'device': 'samsung-980-pro'}, 'csd': {'device': 'instcsd'}}}",
             "'count': $R, 'arrival': {'process': 'fixed', 'rate': '1000000/s'}")},
    {POLICY_ROUTING, "replicas", 1000, 8,
     SERVICE("'nodes': $N, 'network': {'bandwidth': '50GB/s'}", "'replicas': $N, 'batching': 'vllm-v0', 'routing': $P",
             "'duration': '10s', 'arrival': {'process': 'poisson', 'rate': '$R/s'}")},
    {POLICY_AUTOSCALING, "replicas", 1000, 2,
     SERVICE("'nodes': $N",
             "'replicas': 10, 'batching': 'vllm-v0', 'scaling': {'max': $N, 'start_delay': '1s', 'policy': $P}",
             "'duration': '120s', 'arrival': {'process': 'poisson', 'rate': '$R/s'}")},
    {POLICY_EVICTION, "cached blocks", 20000, 1,
     SERVICE("'nodes': 1", "'batching': 'vllm-v0', 'kv': {'blocks': $N, 'prefix_cache': $P}",
             "'count': $R, 'sessions': {'continue': 0.5, 'block_tokens': 64, 'max_sessions': 1000},"
             " 'arrival': {'process': 'poisson', 'rate': '10/s'}")},
    {POLICY_POWER_CAP, "servers", 100, 4,
     SERVICE("'nodes': $N, 'gpus_per_node': 1, 'server_power': {'idle': '300W', 'per_gpu_watt': 1}, 'power': {'budget':"
             " '$NkW', 'level': 'site', 'capping': $P}",
             "'replicas': $N, 'batching': 'vllm-v0'", "'duration': '60s', 'arrival': {'process': 'poisson', 'rate': '$R/s'}")},
    {POLICY_RENTAL, "running jobs", 4000, 2,
     "{'cluster': {'unlimited': true}, 'seed': 1, 'market': {'offers': {'any': {'price': '$1/h'}}, 'renting': $P},"
     " 'jobs': {'types': {'default': {'speedup': {'law': 'amdahl', 'parallel_frac': 0.8}}}, 'trace': {'format': 'csv-jobs', 'path': '$T'}}}"},
};

enum { N_AXES = sizeof axes / sizeof *axes, N_DOUBLINGS = 3 };

/* What a policy has no default for; NULL: the policy is left out, since it decides once, at the start. */
static const struct stated {
    const char *policy, *members;
} stated[] = {
    {"schedule", "'steps': [{'at': '0s', 'replicas': 100}, {'at': '60s', 'replicas': 10}]"},
    {"fixed-width", "'budget_gpus': 1000, 'classes': {'default': {'rate': '0.1/s', 'size': '1h'}}"},
    {"fixed-fleet", NULL},
    {"melange", NULL},
    {"afs", "'depth': 100"},
    {"pollux", "'depth': 200"},
    {"sia", "'depth': 200"},
    {"gavel-packed", "'depth': 200"},
    {"halving", "'trials': 40"},
    {"cheapest-single-type", NULL},
};

/* Returns false for a policy that is left out. */
static bool choice_text(const char *policy, char choice[200])
{
    const char *members = "";
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++)
        if (strcmp(stated[i].policy, policy) == 0) members = stated[i].members;
    if (strcmp(policy, "halving") == 0 && bench_load(1000) < 1000) members = "'rungs': 1, 'trials': 1";
    if (members != NULL) snprintf(choice, 200, "{'policy': '%s'%s%s}", policy, *members != 0 ? ", " : "", members);
    return members != NULL;
}

/* Jobs of one GPU (those for many nodes: of 1, 2, 4 or 8), all submitted in the first second, that run from 1 s to
 * 10,000 s, evenly distributed by their logarithms. */
static void write_jobs(const char *path, int n, bool of_all_sizes)
{
    struct rng rng;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    rng_init(&rng, 1, 0, "scale", 0);
    fputs("submit_s,duration_s,gpus\n", file);
    for (int i = 0; i < n; i++)
        fprintf(file, "%.9f,%.6f,%d\n", (double)i / n, pow(10000, rng_uniform(&rng)), of_all_sizes ? 1 << i % 4 : 1);
    fclose(file);
}

static void fill_in(struct text *json, const struct axis *axis, const char *choice, int size, const char *trace)
{
    for (const char *c = axis->scenario; *c != 0; c++) {
        if (*c == '$' && c[1] == 'P')
            for (const char *p = choice; *p != 0; p++) text_add_bytes(json, *p == '\'' ? "\"" : p, 1);
        else if (*c == '$' && c[1] == 'N')
            text_printf(json, "%d", size);
        else if (*c == '$' && c[1] == 'R')
            text_printf(json, "%.0f", axis->per_size * size);
        else if (*c == '$' && c[1] == 'T')
            text_add(json, trace);
        else {
            text_add_bytes(json, *c == '\'' ? "\"" : c, 1);
            continue;
        }
        c++;
    }
}

/* Microseconds of an event, the median of some runs, or one run when that is long. */
static double event_us(const char *json, struct bench_outcome *outcome)
{
    double spent_s[BENCH_REPEATS];
    for (int i = 0; i < BENCH_REPEATS; i++) {
        *outcome = bench_scenario(json, "sim.end_s", false);
        spent_s[i] = outcome->cpu_s;
        if (outcome->cpu_s > 0.02 || getenv("BENCH_TINY") != NULL)
            return 1e6 * outcome->cpu_s / (double)outcome->events;
    }
    return 1e6 * bench_median(spent_s) / (double)outcome->events;
}

static void measure(const struct axis *axis, const struct policy *policy, int smallest, int n_doublings)
{
    char choice[200], trace[64];
    double before_us = 0;
    if ((policy->oracle & ORACLE_FUTURE) != 0 || !choice_text(policy->name, choice)) return;
    snprintf(trace, sizeof trace, P_tmpdir "/orrery-scale-%ld.csv", (long)getpid());
    for (int i = 0; i <= n_doublings; i++) {
        const int size = smallest << i;
        struct text json;
        struct bench_outcome outcome;
        text_init(&json);
        fill_in(&json, axis, choice, size, trace);
        write_jobs(trace, (int)(axis->per_size * size), axis->family == POLICY_PLACEMENT);
        const double us = event_us(json.chars, &outcome);
        printf("{\"bench\":\"scale\",\"family\":\"%s\",\"policy\":\"%s\",\"of\":\"%s\",\"size\":%d,\"cpu_s\":%.3f,"
               "\"events\":%llu,\"us_per_event\":%.3f,\"growth\":%.2f}\n",
               policy_family_name(axis->family), policy->name, axis->of, size, outcome.cpu_s,
               (unsigned long long)outcome.events, us, before_us > 0 ? us / before_us : 0.0);
        fflush(stdout);
        before_us = us;
        text_fini(&json);
    }
    unlink(trace);
}

int main(int argc, char **argv)
{
    const struct policy_table table = policy_registry();
    const char *only_family = argc > 1 && strcmp(argv[1], "full") != 0 ? argv[1] : NULL;
    const char *only_policy = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < N_AXES; i++) {
        const struct axis *axis = &axes[i];
        if (only_family != NULL && strcmp(only_family, policy_family_name(axis->family)) != 0) continue;
        const int smallest = argc > 1 ? axis->smallest : bench_load(axis->smallest / 8);
        for (size_t j = 0; j < table.n; j++) {
            const struct policy *policy = table.policies[j];
            if (policy->family != axis->family || (only_policy != NULL && strcmp(only_policy, policy->name) != 0))
                continue;
            measure(axis, policy, smallest < 4 ? 4 : smallest, argc > 1 ? N_DOUBLINGS : 1);
        }
    }
    return 0;
}
