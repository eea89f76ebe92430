/* Measures the CPU time of a round in which all jobs are new: one JSON line per scheduler and number of jobs. It is the
 * time of a run of one decision, less that of a run under fifo-skip; the median of five. "growth" is that time relative
 * to half as many jobs. Each listed scheduler has a cell: those that need more than jobs and GPUs are below, all others
 * have the plain one. Trials do nothing at their start, so the cell of halving is a whole sweep, of about as many
 * decisions as trials.
 *
 * Times are noisy on a busy machine. Instructions are not:
 * valgrind --tool=callgrind --toggle-collect=on_decide build/release/bench/rounds CELL JOBS
 *
 * usage: rounds [CELL [JOBS]]     with JOBS: one run of the cell, without a line */
#include "policies/registry.h"
#include "sim/core/rng.h"
#include "sim/core/text.h"
#include "tests/bench/bench.h"
#include "tests/bench/shared/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double long_s = 0.2; /* a round of a cell after which no longer one is measured */
enum { LEAST_TRIALS = 27 }; /* of a sweep */

/* Texts have ' for ", and # for the number of jobs. Jobs are of the types a, b and c. */
struct cell {
    const char *name, *policy, *params; /* params: members after the policy */
    const char *placement, *cluster, *types;
    int chain;         /* jobs that come after one another; 0: none do */
    bool is_narrow;    /* jobs of one GPU only */
    const char *until; /* NULL: the first decision */
};

#define NODES "'nodes': 128, 'gpus_per_node': 8"
#define H100 "'gpu': 'h100-sxm', " NODES
#define TYPES(a, b, c) "'a': {" a "}, 'b': {" b "}, 'c': {" c "}"
#define NODE_TYPES                                                                                                     \
    "'gpu': 'h100-sxm', 'nodes': 64, 'gpus_per_node': 8, 'node_types': {"                                              \
    "'x': {'nodes': 32, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'},"                                                    \
    " 'y': {'nodes': 32, 'gpus_per_node': 8, 'gpu': 'v100-16-sxm'}}"
#define ELEMENT(name, gpu) "'" name "': {'nodes': 1, 'gpus_per_node': 1, 'gpu': '" gpu "'}"
#define ELEMENTS(name)                                                                                                 \
    ELEMENT(name "x", "a100-80-sxm") ", " ELEMENT(name "y", "v100-16-sxm") ", " ELEMENT(name "z", "h100-sxm")
#define SIXTEEN                                                                                                        \
    "'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 1, 'node_types': {" ELEMENTS("a") ", " ELEMENTS("b") ", "         \
    ELEMENTS("c") ", " ELEMENTS("d") ", " ELEMENTS("e") "}"
#define SPEEDS(second, third) "'speeds': {'h100-sxm': 1, 'a100-80-sxm': " #second ", 'v100-16-sxm': " #third "}"
#define SPEEDUP(p) "'speedup': {'law': 'power', 'exponent': " #p "}"
#define GOODPUT(first, beta, noise)                                                                                    \
    "'goodput': {'first_batch': " #first ", 'most_batch': 4096, 'most_local': 256, 'noise': " #noise ","               \
    " 'profiles': {'h100-sxm': {'alpha_c': 0.02, 'beta_c': " #beta ", 'alpha_r': 0.005, 'beta_r': 0.0005,"             \
    " 'alpha_n': 0.03, 'beta_n': 0.002, 'gamma': 2}}}"
#define SHARING(sharing) "'sharing': {" sharing "}"
#define PAIR(of, speed) "'" of "': {'speeds': {'h100-sxm': " #speed "}}"
#define PAIRS(a, b, c) SHARING("'pairs': {" PAIR("a", a) ", " PAIR("b", b) ", " PAIR("c", c) "}")
#define HOST "'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 9, 'speed': 2}]}"

static const char plain[] = TYPES("", "", ""), widths[] = TYPES(SPEEDUP(0.6), SPEEDUP(0.7), SPEEDUP(0.8)),
                  batches[] = TYPES(GOODPUT(64, 0.001, 500), GOODPUT(128, 0.002, 1000), GOODPUT(192, 0.003, 1500)),
                  gpus[] = TYPES(SPEEDS(0.3, 0.1), SPEEDS(0.5, 0.2), SPEEDS(0.7, 0.3)),
                  loads[] = TYPES(SHARING("'utilisation': 0.7"), SHARING("'utilisation': 0.4"),
                                  SHARING("'utilisation': 0.5, 'opportunistic': true")),
                  phases[] = TYPES(SHARING("'phases': [1, 0.1, 0.1, 0.1]"), SHARING("'phases': [0.1, 1, 0.1, 0.3]"),
                                   SHARING("'phases': [0.1, 0.1, 1, 0.5]")),
                  pairs[] = TYPES(PAIRS(0.6, 0.65, 0.7), PAIRS(0.7, 0.75, 0.8), PAIRS(0.8, 0.85, 0.9)),
                  hosts[] = TYPES(HOST, "", "");

#define DEEP ", 'depth': 100000"
#define NEW 0, false, NULL /* jobs without needs, at the first decision */
#define ONE_TYPE(name, params, types) {name, name, params, "consolidated", H100, types, NEW}
#define MIXED(name, params) {"gavel" name, "gavel", params, "consolidated", NODE_TYPES, gpus, NEW}
#define MIXED_FIFO(name) {name, name, "", "consolidated", NODE_TYPES, gpus, NEW}
#define SHARED(name, params, types) {name, name, params, "counted", H100, types, NEW}
#define GRAPHS(name, policy, params, chain) {name, policy, params, "consolidated", SIXTEEN, gpus, chain, true, NULL}
#define CPUS NODES ", 'cpus_per_node': 24"
#define SYNERGY(name, params) {"synergy" name, "synergy", params, "consolidated", CPUS, hosts, NEW}

static const struct cell cells[] = {
    {"hived", "hived",
     ", 'virtual_clusters': {'a': {'cells': [{'gpus': 8, 'count': 48}]}, 'b': {'cells': [{'gpus': 4, 'count': 96}]}}",
     "consolidated", NODES, plain, NEW},
    ONE_TYPE("shockwave", DEEP, plain),
    ONE_TYPE("chronus", DEEP, plain),
    ONE_TYPE("themis", DEEP, plain),
    ONE_TYPE("elasticflow", DEEP, widths),
    ONE_TYPE("equi", "", widths),
    ONE_TYPE("hesrpt", "", widths),
    ONE_TYPE("all-to-shortest", "", widths),
    ONE_TYPE("pollux", DEEP, batches),
    ONE_TYPE("sia", DEEP, batches),
    ONE_TYPE("optimus", DEEP, batches),
    ONE_TYPE("afs", DEEP, batches),
    MIXED("", ""),
    MIXED("-makespan", ", 'objective': 'makespan'"),
    MIXED("-ftf", ", 'objective': 'ftf'"),
    MIXED("-in-order", ", 'objective': 'fifo'"),
    MIXED("-cost", ", 'objective': 'cost', 'prices': {'h100-sxm': '$3/h', 'a100-80-sxm': '$2/h',"
                   " 'v100-16-sxm': '$1/h'}"),
    MIXED("-throughput", ", 'objective': 'throughput'"),
    MIXED("-entities", ", 'objective': 'entities'"),
    MIXED_FIFO("gavel-fifo"),
    MIXED_FIFO("gavel-fifo-perf"),
    MIXED_FIFO("gavel-isolated"),
    SHARED("gandiva", "", pairs),
    SHARED("gavel-fifo-packed", "", pairs),
    SHARED("gavel-packed", DEEP, pairs),
    SHARED("muri", "", phases),
    SHARED("lucid", "", loads),
    SHARED("antman", "", loads),
    SHARED("horus", "", loads),
    GRAPHS("dispatch", "dispatch", ", 'rule': 's-opn'", 2),
    GRAPHS("heft", "heft", "", 4),
    GRAPHS("heft-start", "heft", ", 'order': 'least-start'", 4),
    GRAPHS("heft-finish", "heft", ", 'order': 'least-finish'", 4),
    {"halving", "halving", ", 'eta': 3, 'rungs': 4, 'trials': #", "consolidated", H100, plain, 0, false, "1000h"},
    SYNERGY("", ""),
    SYNERGY("-opt", ", 'division': 'opt'"),
    SYNERGY("-las", ", 'order': 'las'"),
    SYNERGY("-ftf", ", 'order': 'ftf'"),
};

static void add_quoted(struct text *text, const char *part, int jobs)
{
    for (const char *c = part; *c != 0; c++) {
        if (*c == '#')
            text_printf(text, "%d", jobs);
        else
            text_add_bytes(text, *c == '\'' ? "\"" : c, 1);
    }
}

/* Jobs with 1 to 4 GPUs and run times of 100 s to 20,000 s, evenly distributed by their logarithms. */
static void write_scenario(struct text *text, const struct cell *cell, const char *policy, const char *params, int jobs)
{
    struct rng rng;
    rng_init(&rng, 1, 0, "bench", 0);
    text_printf(text, "{\"cluster\": {");
    add_quoted(text, cell->cluster, jobs);
    text_printf(text, "}, \"until\": \"%s\", \"jobs\": {\"scheduler\": {\"policy\": \"%s\"",
                cell->until != NULL ? cell->until : "1s", policy);
    add_quoted(text, params, jobs);
    text_printf(text, "}, \"placement\": \"%s\", \"types\": {", cell->placement);
    add_quoted(text, cell->types, jobs);
    text_printf(text, "}, \"deadlines\": {\"least\": 1, \"most\": 4, \"best_effort\": 0.3}, \"trace\": {\"format\":"
                      " \"inline-jobs\", \"jobs\": [");
    for (int i = 0; i < jobs; i++) {
        const int type = 'a' + (int)rng_below(&rng, 3), width = 1 << rng_below(&rng, 3);
        text_printf(text, "%s{\"duration\": \"%.0fs\", \"gpus\": %d, \"type\": \"%c\"", i > 0 ? ", " : "",
                    100 * pow(200, rng_uniform(&rng)), cell->is_narrow ? 1 : width, type);
        if (cell->chain > 0 && i % cell->chain > 0)
            text_printf(text, ", \"after\": [{\"job\": %d, \"delay\": \"1s\"}]", i - 1);
        text_add(text, "}");
    }
    text_printf(text, "]}}}");
}

static double run_s(const struct cell *cell, const char *policy, const char *params, int jobs, int n_repeats)
{
    double repeats[BENCH_REPEATS] = {0};
    struct text text;
    text_init(&text);
    write_scenario(&text, cell, policy, params, jobs);
    for (int i = 0; i < n_repeats; i++)
        repeats[i] = text.failed ? (double)NAN : bench_scenario(text.chars, "job.arrived", false).cpu_s;
    text_fini(&text);
    return n_repeats < BENCH_REPEATS ? repeats[0] : bench_median(repeats);
}

/* Prints rounds of twice as many jobs each time, up to the first long one. */
static void measure(const struct cell *cell)
{
    const bool is_tiny = getenv("BENCH_TINY") != NULL;
    const int n_repeats = is_tiny ? 1 : BENCH_REPEATS;
    double before_s = NAN;
    for (int jobs = 500; jobs <= (is_tiny ? 500 : 4000); jobs *= 2) {
        const int load = bench_load(jobs), n = cell->until != NULL && load < LEAST_TRIALS ? LEAST_TRIALS : load;
        const double spent_s = run_s(cell, cell->policy, cell->params, n, n_repeats) -
                               (is_tiny ? 0 : run_s(cell, "fifo-skip", "", n, n_repeats));
        printf("{\"bench\": \"rounds\", \"cell\": \"%s\", \"scheduler\": \"%s\", \"jobs\": %d, \"ms_per_round\": %.2f,"
               " \"growth\": %.2f}\n",
               cell->name, cell->policy, n, spent_s * 1e3, isnan(before_s) ? 0.0 : spent_s / before_s);
        fflush(stdout);
        before_s = spent_s;
        if (spent_s > long_s) break;
    }
}

/* The cells of the policies above, then the plain ones of all others. Returns false behind the last. */
static bool cell_at(size_t index, struct cell *cell)
{
    const size_t n_cells = sizeof cells / sizeof *cells;
    const struct policy_table table = policy_registry();
    if (index < n_cells) {
        *cell = cells[index];
        return true;
    }
    index -= n_cells;
    for (size_t i = 0; i < table.n; i++) {
        const char *name = table.policies[i]->name;
        bool is_above = table.policies[i]->family != POLICY_SCHEDULER;
        for (size_t j = 0; j < n_cells; j++) is_above = is_above || strcmp(cells[j].policy, name) == 0;
        if (is_above || index-- > 0) continue;
        *cell = (struct cell){name, name, "", "consolidated", NODES, plain, NEW};
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct cell cell;
    const char *only = NULL;
    for (size_t i = 0; argc > 1 && cell_at(i, &cell); i++)
        if (strcmp(cell.name, argv[1]) == 0) only = argv[1];
    if (argc > 1 && only == NULL) {
        fprintf(stderr, "rounds: there is no cell '%s'\n", argv[1]);
        return 2;
    }
    for (size_t i = 0; cell_at(i, &cell); i++) {
        if (only != NULL && strcmp(cell.name, only) != 0) continue;
        if (only != NULL && argc > 2)
            run_s(&cell, cell.policy, cell.params, atoi(argv[2]), 1);
        else
            measure(&cell);
    }
    return 0;
}
