/* Job shops without buffers: a job keeps its machine until its next operation starts (keeps_gpus). Optima with and
 * without exchange of machines are proved by branch and bound over the alternative graph (Mascis and Pacciarelli,
 * European J. Operational Research 143(3), 2002), and equal those of an independent program. So do the makespans of
 * dispatch rules. Random shops agree with a naive simulation, deadlocks included. */
#include "tests/support/shops.h"
#include "tests/support/harness.h"

static const struct shop two_by_two = {2, 2, {{{0, 3}, {1, 2}}, {{1, 2}, {0, 4}}}};
static const struct shop three_by_three = {
    3, 3, {{{0, 3}, {1, 2}, {2, 2}}, {{0, 2}, {2, 1}, {1, 4}}, {{1, 4}, {2, 3}, {0, 1}}}};

enum { RULES = 6 };
static const char *const rules[RULES] = {"fifo", "spt", "mwkr", "mopnr", "fdd-mwkr", "lwkr"};

/* --- Published optima, and integers of the rules --- */

enum { NODES = 10 * 6 + 2 /* of the shops here */, NO_PATH = INT16_MIN, MOST_PAIRS = 512, WORST = 20000 };

/* Start of `to` >= start of `from` + weight. */
struct arc {
    int from, to, weight;
};

struct graph {
    int16_t longest[NODES][NODES];
    bool is_open[MOST_PAIRS];
};

struct search {
    const struct shop *shop;
    enum shop_kind kind;
    int best, n_pairs, n_nodes;
    struct arc pairs[MOST_PAIRS][2]; /* one of the two holds */
};

static bool has_path(const struct graph *graph, int from, int to)
{
    return graph->longest[from][to] > NO_PATH;
}

static int sink_of(const struct search *search)
{
    return search->n_nodes - 1;
}

/* Without exchange, jobs that wait for each other at one moment do not move either. */
static bool closes_cycle(const struct search *search, const struct graph *graph, const struct arc *arc)
{
    if (!has_path(graph, arc->to, arc->from)) return false;
    return search->kind == SHOP_NO_SWAP || graph->longest[arc->to][arc->from] + arc->weight > 0;
}

static int length_with(const struct search *search, const struct graph *graph, const struct arc *arc)
{
    return graph->longest[0][arc->from] + arc->weight + graph->longest[arc->to][sink_of(search)];
}

/* Whether a better schedule may have the arc. */
static bool is_possible(const struct search *search, const struct graph *graph, const struct arc *arc)
{
    return !closes_cycle(search, graph, arc) && length_with(search, graph, arc) < search->best;
}

static void add_arc(const struct search *search, struct graph *graph, const struct arc *arc)
{
    for (int i = 0; i < search->n_nodes; i++) {
        if (!has_path(graph, i, arc->from)) continue;
        const int length = graph->longest[i][arc->from] + arc->weight;
        for (int j = 0; j < search->n_nodes; j++) {
            if (!has_path(graph, arc->to, j) || length + graph->longest[arc->to][j] <= graph->longest[i][j]) continue;
            graph->longest[i][j] = (int16_t)(length + graph->longest[arc->to][j]);
        }
    }
}

/* Adds arcs of which only one of two is possible. False: there is none. */
static bool settle(const struct search *search, struct graph *graph)
{
    for (bool changes = true; changes;) {
        changes = false;
        for (int i = 0; i < search->n_pairs; i++) {
            if (!graph->is_open[i]) continue;
            const struct arc *pair = search->pairs[i];
            const bool first = is_possible(search, graph, &pair[0]), second = is_possible(search, graph, &pair[1]);
            if (!first && !second) return false;
            if (first && second) continue;
            graph->is_open[i] = false;
            changes = true;
            add_arc(search, graph, &pair[second]);
        }
    }
    return graph->longest[0][sink_of(search)] < search->best;
}

static void branch(struct search *search, const struct graph *from)
{
    struct graph graph = *from;
    int at = -1, most = -1, first = 0;
    if (!settle(search, &graph)) return;
    for (int i = 0; i < search->n_pairs; i++) {
        if (!graph.is_open[i]) continue;
        const int lengths[] = {length_with(search, &graph, &search->pairs[i][0]),
                               length_with(search, &graph, &search->pairs[i][1])};
        const int score = lengths[0] + lengths[1] + (lengths[0] < lengths[1] ? lengths[0] : lengths[1]);
        if (score <= most) continue;
        most = score;
        at = i;
        first = lengths[1] < lengths[0];
    }
    if (at < 0) {
        search->best = graph.longest[0][sink_of(search)];
        return;
    }
    graph.is_open[at] = false;
    for (int k = 0; k < 2; k++) {
        struct graph next = graph;
        const struct arc *arc = &search->pairs[at][k == 0 ? first : !first];
        if (!is_possible(search, &next, arc)) continue;
        add_arc(search, &next, arc);
        branch(search, &next);
    }
}

static int node_of(const struct shop *shop, int job, int place)
{
    return 1 + job * shop->machines + place;
}

/* Operation (job, place) comes before (other, at) on their machine. */
static struct arc before(const struct search *search, int job, int place, int other, int at)
{
    const struct shop *shop = search->shop;
    const int to = node_of(shop, other, at);
    if (search->kind == SHOP_CLASSIC || place + 1 == shop->machines)
        return (struct arc){node_of(shop, job, place), to, shop->tasks[job][place].time_s};
    return (struct arc){node_of(shop, job, place + 1), to, 0};
}

static void pair_up(struct search *search, struct graph *graph, int job, int place)
{
    const struct shop *shop = search->shop;
    for (int other = 0; other < job; other++)
        for (int at = 0; at < shop->machines; at++) {
            if (shop->tasks[other][at].machine != shop->tasks[job][place].machine) continue;
            search->pairs[search->n_pairs][0] = before(search, job, place, other, at);
            search->pairs[search->n_pairs][1] = before(search, other, at, job, place);
            graph->is_open[search->n_pairs++] = true;
        }
}

static int optimum(const struct shop *shop, enum shop_kind kind)
{
    struct search search = {.shop = shop, .kind = kind, .best = WORST};
    struct graph graph = {.is_open = {false}};
    search.n_nodes = shop->jobs * shop->machines + 2;
    if (!CHECK(search.n_nodes <= NODES)) return -1;
    for (int i = 0; i < search.n_nodes; i++)
        for (int j = 0; j < search.n_nodes; j++) graph.longest[i][j] = i == j ? 0 : NO_PATH;
    for (int j = 0; j < shop->jobs; j++) {
        add_arc(&search, &graph, &(struct arc){0, node_of(shop, j, 0), 0});
        for (int k = 0; k < shop->machines; k++) {
            const int next = k + 1 < shop->machines ? node_of(shop, j, k + 1) : sink_of(&search);
            add_arc(&search, &graph, &(struct arc){node_of(shop, j, k), next, shop->tasks[j][k].time_s});
            pair_up(&search, &graph, j, k);
        }
    }
    branch(&search, &graph);
    return search.best;
}

TEST(optima_without_buffers_are_those_of_an_independent_program)
{
    static const struct {
        const struct shop *shop;
        int classic, swap, no_swap;
    } cases[] = {{&two_by_two, 7, 7, 11},      {&three_by_three, 11, 12, 15}, {&shop_ft06, 55, 63, 69},
                 {&shop_la01, 0, 793, 881},    {&shop_la02, 0, 793, 900},     {&shop_la03, 0, 715, 808},
                 {&shop_la04, 0, 743, 859},    {&shop_la05, 0, 664, 732}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].classic > 0) CHECK_EQ_INT(optimum(cases[i].shop, SHOP_CLASSIC), cases[i].classic);
        CHECK_EQ_INT(optimum(cases[i].shop, SHOP_SWAP), cases[i].swap);
        CHECK_EQ_INT(optimum(cases[i].shop, SHOP_NO_SWAP), cases[i].no_swap);
    }
}

static double makespan_s(const struct shop *shop, enum shop_kind kind, const char *rule)
{
    struct bed_rows *rows = shop_run(shop, kind, rule, false);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, shop->jobs * shop->machines);
    const double makespan = bed_metric(rows, "job.makespan_s");
    bed_free(rows);
    return makespan;
}

TEST(rules_without_buffers_give_their_integers)
{
    static const struct {
        const struct shop *shop;
        double makespan_s[RULES];
    } cases[] = {{&shop_ft06, {75, 79, 75, 75, 73, 82}},
                 {&shop_la01, {1130, 1175, 1142, 1130, 1202, 1351}},
                 {&shop_la05, {1021, 1098, 989, 1002, 965, 931}},
                 {&three_by_three, {12, 12, 12, 12, 12, 12}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int rule = 0; rule < RULES; rule++)
            CHECK_NEAR(makespan_s(cases[i].shop, SHOP_SWAP, rules[rule]), cases[i].makespan_s[rule], 1e-9);
}

/* With buffers, shortest operations first ends the three jobs at 28 s in sum. */
TEST(buffers_matter_in_the_small_shop)
{
    const struct bed_rows *rows = shop_run(&three_by_three, SHOP_CLASSIC, "spt", false);
    double end_s[3] = {0};
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_jobs; i++)
        end_s[rows->jobs[i].id / 3] = fmax(end_s[rows->jobs[i].id / 3], rows->jobs[i].end_s);
    CHECK_NEAR(bed_metric(rows, "job.makespan_s"), 12, 1e-9);
    CHECK_NEAR((end_s[0] + end_s[1] + end_s[2]) / 3, 9.33, 0.005);
    CHECK(isnan(bed_metric(rows, "job.kept_gpu_s.sum")));
}

/* --- A naive simulation of random shops --- */

struct naive {
    const struct shop *shop;
    enum shop_kind kind;
    int rule, now_s, next[MOST_JOBS], ready_s[MOST_JOBS], end_s[MOST_JOBS], on[MOST_JOBS], job_on[MOST_MACHINES];
    int kept_s; /* machine time for which jobs wait on their machines */
};

static int work_of(const struct shop *shop, int job, int from, int to)
{
    int work_s = 0;
    for (int k = from; k < to; k++) work_s += shop->tasks[job][k].time_s;
    return work_s;
}

static double key_of(const struct naive *naive, int job)
{
    const struct shop *shop = naive->shop;
    const int k = naive->next[job];
    const double p = shop->tasks[job][k].time_s, left = work_of(shop, job, k, shop->machines);
    const double keys[RULES] = {
        naive->ready_s[job], p, -left, -(double)(shop->machines - k), work_of(shop, job, 0, k + 1) / left, left};
    return keys[naive->rule];
}

static bool waits(const struct naive *naive, int job)
{
    return naive->next[job] < naive->shop->machines && naive->ready_s[job] <= naive->now_s &&
           naive->end_s[job] <= naive->now_s;
}

static int wanted_by(const struct naive *naive, int job)
{
    return naive->shop->tasks[job][naive->next[job]].machine;
}

static void leave_machine(struct naive *naive, int job)
{
    if (naive->on[job] < 0) return;
    naive->kept_s += naive->now_s - naive->end_s[job];
    naive->job_on[naive->on[job]] = -1;
    naive->on[job] = -1;
}

static void begin(struct naive *naive, int job)
{
    const int machine = wanted_by(naive, job);
    naive->job_on[machine] = job;
    naive->on[job] = machine;
    naive->end_s[job] = naive->ready_s[job] = naive->now_s + naive->shop->tasks[job][naive->next[job]++].time_s;
}

/* Jobs that have done all leave, and idle machines take their best waiting job, until nothing changes. */
static void start_all(struct naive *naive)
{
    const struct shop *shop = naive->shop;
    for (bool changes = true; changes;) {
        changes = false;
        for (int j = 0; j < shop->jobs; j++)
            if (naive->next[j] == shop->machines && naive->end_s[j] <= naive->now_s) leave_machine(naive, j);
        for (int m = 0; m < shop->machines; m++) {
            int best = -1;
            for (int j = 0; j < shop->jobs && naive->job_on[m] < 0; j++)
                if (waits(naive, j) && wanted_by(naive, j) == m && (best < 0 || key_of(naive, j) < key_of(naive, best)))
                    best = j;
            if (best < 0) continue;
            leave_machine(naive, best);
            begin(naive, best);
            changes = true;
        }
    }
}

/* Moves the jobs of a cycle of waiting jobs at once. Returns whether there was one. */
static bool exchange(struct naive *naive)
{
    for (int first = 0; first < naive->shop->jobs; first++) {
        int cycle[MOST_JOBS], n = 0, at = first;
        while (at >= 0 && n < MOST_JOBS && waits(naive, at)) {
            cycle[n++] = at;
            at = naive->job_on[wanted_by(naive, at)];
            if (at == first) break;
        }
        if (n == 0 || at != first) continue;
        for (int i = 0; i < n; i++) leave_machine(naive, cycle[i]);
        for (int i = 0; i < n; i++) begin(naive, cycle[i]);
        return true;
    }
    return false;
}

/* False: the jobs wait for one another forever. */
static bool naive_run(struct naive *naive)
{
    const struct shop *shop = naive->shop;
    for (int j = 0; j < shop->jobs; j++) naive->on[j] = -1;
    for (int m = 0; m < shop->machines; m++) naive->job_on[m] = -1;
    for (;;) {
        do start_all(naive);
        while (naive->kind == SHOP_SWAP && exchange(naive));
        int next_s = INT32_MAX, n_left = 0;
        for (int j = 0; j < shop->jobs; j++) {
            n_left += naive->next[j] < shop->machines || naive->end_s[j] > naive->now_s;
            if (naive->end_s[j] > naive->now_s && naive->end_s[j] < next_s) next_s = naive->end_s[j];
        }
        if (n_left == 0) return true;
        if (next_s == INT32_MAX) return false;
        naive->now_s = next_s;
    }
}

static void draw_shop(struct rng *rng, struct shop *shop)
{
    *shop = (struct shop){.jobs = 2 + (int)rng_below(rng, 6), .machines = 2 + (int)rng_below(rng, 4)};
    for (int j = 0; j < shop->jobs; j++) {
        for (int k = 0; k < shop->machines; k++) {
            const int other = (int)rng_below(rng, (uint64_t)k + 1);
            shop->tasks[j][k].machine = shop->tasks[j][other].machine;
            shop->tasks[j][other].machine = k;
            shop->tasks[j][k].time_s = 1 + (int)rng_below(rng, 30);
        }
    }
}

TEST(random_shops_without_buffers_end_as_in_a_naive_simulation)
{
    enum { SHOPS = 120 };
    struct rng rng = test_rng(2002, "shops", 0);
    int n_stuck = 0, n_kept = 0;
    for (int i = 0; i < SHOPS; i++) {
        struct shop shop;
        draw_shop(&rng, &shop);
        struct naive naive = {.shop = &shop, .kind = i % 2 == 0 ? SHOP_SWAP : SHOP_NO_SWAP, .rule = i / 2 % RULES};
        const bool ends = naive_run(&naive);
        struct bed_rows *rows = shop_run(&shop, naive.kind, rules[naive.rule], true);
        CHECK_EQ_INT(rows->code, ends ? 0 : SIM_E_STALLED);
        CHECK(ends || strstr(rows->diag.items[0].text, "deadlock") != NULL);
        n_stuck += !ends;
        double end_s[MOST_JOBS] = {0};
        for (size_t k = 0; k < rows->n_jobs; k++)
            end_s[rows->jobs[k].id / shop.machines] = fmax(end_s[rows->jobs[k].id / shop.machines],
                                                           rows->jobs[k].end_s);
        for (int j = 0; j < shop.jobs && ends; j++) CHECK_NEAR(end_s[j], naive.end_s[j], 1e-9);
        if (ends && naive.kept_s > 0) CHECK_NEAR(bed_metric(rows, "job.kept_gpu_s.sum"), naive.kept_s, 1e-9);
        n_kept += ends && naive.kept_s > 0;
        bed_free(rows);
    }
    CHECK(n_stuck > 5 && n_stuck < SHOPS / 2);
    CHECK(n_kept > SHOPS / 4);
}

/* GPU time is work and waits on machines; no rule beats the best schedule. */
TEST(gpu_time_is_work_and_waits_on_machines)
{
    for (int rule = 0; rule < RULES; rule++) {
        struct bed_rows *rows = shop_run(&shop_ft06, SHOP_SWAP, rules[rule], false);
        CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"),
                   bed_metric(rows, "job.useful_gpu_s.sum") + bed_metric(rows, "job.kept_gpu_s.sum"), 1e-6);
        CHECK(bed_metric(rows, "job.makespan_s") >= 63);
        bed_free(rows);
    }
}

/* Two jobs wait for GPUs that are kept for one another, the second for as many as `gpus`. */
static const struct diag_item *deadlock(const char *scheduler, int gpus)
{
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'p100', 'node_types': {'v': {'nodes': 1, 'gpus_per_node':"
        " 2, 'gpu': 'v100-16-sxm'}}}, 'jobs': {'scheduler': %s, 'types': {'a': {'speeds': {'p100': 1, 'v100-16-sxm':"
        " 0}}, 'b': {'speeds': {'v100-16-sxm': 1, 'p100': 0}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'duration': '5s', 'type': 'a'}, {'duration': '5s', 'gpus': 2, 'type': 'b'},"
        "{'duration': '10s', 'gpus': %d, 'type': 'b', 'after': [{'job': 0, 'keeps_gpus': true}]},"
        "{'duration': '10s', 'type': 'a', 'after': [{'job': 1, 'keeps_gpus': true}]}]}}}",
        scheduler, gpus);
    CHECK_EQ_INT(rows->code, SIM_E_STALLED);
    CHECK(rows->diag.n_items > 0);
    return &rows->diag.items[0];
}

/* The hint fits what the scheduler does. */
TEST(deadlocks_are_told_with_a_way_out)
{
    const struct diag_item *never = deadlock("{'policy': 'dispatch', 'swap': false}", 2);
    CHECK(strstr(never->text, "2 jobs wait forever for GPUs that 2 others keep: job 0 for job 2, job 1 for job 3") !=
          NULL);
    CHECK(strstr(never->hint, "jobs.scheduler.swap") != NULL);
    const struct diag_item *other = deadlock("'dispatch'", 1); /* 1 of 2 GPUs: no exchange */
    CHECK(strstr(other->hint, "as many as they ask for") != NULL);
    const struct bed_rows *one = bed_run(
        BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'scheduler': 'fifo', 'trace':"
                            " {'format': 'inline-jobs', 'jobs': [{'duration': '5s'}, {'duration': '5s', 'after':"
                            " [{'job': 0, 'keeps_gpus': true}]}]}}}");
    CHECK_EQ_INT(one->code, SIM_E_STALLED);
    CHECK(one->diag.n_items > 0);
    CHECK(strstr(one->diag.items[0].text, "1 job waits forever for GPUs that 1 other keeps: job 0 for job 1") != NULL);
    CHECK(strstr(one->diag.items[0].hint, "dispatch") != NULL);
}

/* A job without GPUs keeps none: whoever it would keep them for starts as if nothing were asked. */
TEST(a_job_without_gpus_keeps_none)
{
    struct bed_rows *rows =
        bed_run(&(struct bed_options){.check = true},
                "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': ["
                " {'duration': '23s', 'gpus': 0}, {'duration': '25s', 'after': [{'job': 0, 'keeps_gpus': true}]}]}}}");
    CHECK_EQ_INT(rows->code, 0);
    MUST(rows->n_jobs == 2);
    CHECK_NEAR(rows->end_s, 48, 1e-9);
    bed_free(rows);
}

/* Nor do those that came when the GPUs were held by others, with a job behind them all. */
TEST(a_job_that_waits_for_one_without_gpus_bears_others)
{
    const struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'duration': '5s', 'gpus': 0}, {'duration': '100s'}, {'duration': '10s', 'after': [{'job': 0, 'keeps_gpus':"
        " true}]}, {'submit': '50s', 'duration': '7s'}]}}}");
    CHECK_NEAR(bed_job(rows, 2)->end_s, 110, 1e-9);
    CHECK_NEAR(bed_job(rows, 3)->end_s, 117, 1e-9);
}

/* Two jobs whose phases interleave share one GPU. The second keeps it for a third job, which comes as if nothing were
 * asked, and a fourth takes the memory of the second. */
TEST(a_job_that_shares_its_gpus_keeps_none)
{
    struct bed_rows *rows[2];
    for (int keeps = 0; keeps < 2; keeps++) {
        rows[keeps] = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'scheduler': {'policy': 'muri', 'round': '10s'},"
            " 'placement': 'counted', 'types': {'a': {'sharing': {'phases': [0.1, 0, 0, 0]}}, 'b': {'sharing':"
            " {'phases': [0, 0.1, 0, 0]}}}, 'trace': {'format': 'inline-jobs', 'jobs': ["
            "{'duration': '300s', 'type': 'a'}, {'duration': '40s', 'type': 'b'},"
            "{'duration': '20s', 'type': 'b', 'after': [{'job': 1, 'keeps_gpus': %s}]},"
            "{'submit': '50s', 'duration': '30s', 'type': 'b'}]}}}",
            keeps ? "true" : "false");
        CHECK_EQ_INT(rows[keeps]->n_jobs, 4);
    }
    for (int i = 0; i < 4; i++) CHECK_NEAR(bed_job(rows[1], i)->end_s, bed_job(rows[0], i)->end_s, 0);
    CHECK(bed_job(rows[0], 1)->end_s < bed_job(rows[0], 0)->end_s);
    CHECK(isnan(bed_metric(rows[1], "job.kept_gpu_s.sum")));
}
