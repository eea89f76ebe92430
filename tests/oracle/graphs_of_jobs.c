/* The example of HEFT's paper (Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002): ten tasks, three processors. Makespans
 * of HEFT, CPOP and other list schedulers are exact integers, worked out by an independent program. */
#include "sim/world/policy/scheduler.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { TASKS = 10, PROCESSORS = 3, EDGES = 15 };

static const int times_s[TASKS][PROCESSORS] = {{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17}, {12, 13, 10},
                                               {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};

static const struct {
    int from, to, delay_s;
} edges[EDGES] = {{0, 1, 18}, {0, 2, 12}, {0, 3, 9},  {0, 4, 11}, {0, 5, 14}, {1, 7, 19}, {1, 8, 16}, {2, 6, 23},
                  {3, 7, 27}, {3, 8, 23}, {4, 8, 13}, {5, 7, 15}, {6, 9, 17}, {7, 9, 11}, {8, 9, 13}};

static const char *const processors[PROCESSORS] = {"p100", "t4", "k80"};

static void add_types(struct text *text)
{
    for (int i = 0; i < TASKS; i++) {
        text_printf(text, "%s'task%d': {'speeds': {", i > 0 ? ", " : "", i);
        for (int p = 0; p < PROCESSORS; p++)
            text_printf(text, "%s'%s': %.17g", p > 0 ? ", " : "", processors[p], 1.0 / times_s[i][p]);
        text_add(text, "}}");
    }
}

/* Copies of the graph, one every 1000 s. The run times of tasks are those estimated times a factor. */
struct runs {
    int n;
    double noise; /* standard deviation of the factor, which is normal around 1 and at least 0.05 */
    bool is_begun_only;
};

static double draw_factor(struct rng *rng, double noise)
{
    if (noise == 0) return 1;
    const double normal = sqrt(-2 * log(rng_uniform(rng))) * cos(2 * M_PI * rng_uniform(rng));
    return fmax(1 + noise * normal, 0.05);
}

static void add_graph(struct text *text, int number, double noise, struct rng *rng)
{
    for (int i = 0; i < TASKS; i++) {
        text_printf(text, "%s{'submit': '%ds', 'duration': '%.9fs', 'estimate': '1s', 'type': 'task%d', 'after': [",
                    number + i > 0 ? ", " : "", 1000 * number, draw_factor(rng, noise), i);
        for (int e = 0, n = 0; e < EDGES; e++)
            if (edges[e].to == i)
                text_printf(text, "%s{'job': %d, 'delay': '%ds'}", n++ > 0 ? ", " : "", TASKS * number + edges[e].from,
                            edges[e].delay_s);
        text_add(text, "]}");
    }
}

/* A task has a run time of 1 s at speed 1. */
static struct bed_rows *run_graphs(const char *scheduler, const struct policy *policy, struct runs runs)
{
    SCOPED(text) text;
    text_init(&text);
    text_printf(&text,
                "{%s'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': '%s', 'node_types': {"
                "'p2': {'nodes': 1, 'gpus_per_node': 1, 'gpu': '%s'}, 'p3': {'nodes': 1, 'gpus_per_node': 1, 'gpu': "
                "'%s'}}}, 'jobs': {'types': {",
                runs.is_begun_only ? "'until': '1s', " : "", processors[0], processors[1], processors[2]);
    add_types(&text);
    text_printf(&text, "}, 'scheduler': %s, 'trace': {'format': 'inline-jobs', 'jobs': [", scheduler);
    struct rng rng = test_rng(2002, "graphs of jobs", (uint64_t)(runs.noise * 10));
    for (int i = 0; i < runs.n; i++) add_graph(&text, i, runs.noise, &rng);
    text_add(&text, "]}}}");
    return bed_run(BED(.check = true, .policy = policy), "%s", text.chars);
}

static const struct bed_rows *schedule(const char *scheduler)
{
    return run_graphs(scheduler, NULL, (struct runs){.n = 1});
}

static double makespan_s(const char *scheduler)
{
    const struct bed_rows *rows = schedule(scheduler);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, TASKS);
    return bed_metric(rows, "job.makespan_s");
}

TEST(heft_gives_the_schedule_of_its_paper)
{
    static const struct {
        int node;
        double start_s, end_s;
    } expected[TASKS] = {{2, 0, 9},   {0, 27, 40}, {2, 9, 28},  {1, 18, 26}, {2, 28, 38},
                         {1, 26, 42}, {2, 38, 49}, {0, 57, 62}, {1, 56, 68}, {1, 73, 80}};
    const struct bed_rows *rows = schedule("'heft'");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_placements, TASKS);
    for (size_t i = 0; i < rows->n_placements; i++) {
        const struct placement_row *row = &rows->placements[i];
        CHECK_EQ_INT(row->node, expected[row->job].node);
        CHECK_NEAR(row->start_s, expected[row->job].start_s, 1e-6);
        CHECK_NEAR(row->end_s, expected[row->job].end_s, 1e-6);
    }
}

TEST(list_schedulers_give_their_integers)
{
    static const struct {
        const char *scheduler;
        double makespan_s;
    } cases[] = {
        {"{'policy': 'heft', 'insertion': false}", 80},
        {"{'policy': 'heft', 'order': 'critical-path'}", 86},
        {"{'policy': 'heft', 'order': 'submission'}", 88},
        {"{'policy': 'heft', 'order': 'submission', 'choice': 'time'}", 82},
        {"{'policy': 'heft', 'order': 'submission', 'choice': 'start'}", 99},
        {"{'policy': 'heft', 'order': 'least-start'}", 93},
        {"{'policy': 'heft', 'order': 'least-finish'}", 76},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_NEAR(makespan_s(cases[i].scheduler), cases[i].makespan_s, 1e-6);
}

/* --- Upward ranks, by a scheduler that looks at the paths of all tasks --- */

static int probe_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    static const double ranks[TASKS] = {108, 77, 80, 80, 69, 190.0 / 3, 128.0 / 3, 107.0 / 3, 133.0 / 3, 44.0 / 3};
    const struct job_view **waiting = state;
    int n = 0;
    for (const struct job_view *job = job_view_oldest(view, *waiting); job != NULL; job = job_view_next(view, job), n++)
        CHECK_NEAR((double)job_view_path(view, job).tail_ns / 1e9, ranks[job->id], 1e-6);
    CHECK_EQ_INT(n, TASKS);
    if ((*waiting)->state == JOB_PENDING) job_plan_start(plan, *waiting, "probe");
    return 0;
}

static void probe_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    const struct job_view **waiting = state;
    (void)view;
    if (note->event == JOB_EVENT_SUBMIT && *waiting == NULL) *waiting = note->job;
}

TEST(upward_ranks_are_those_of_the_paper)
{
    const struct scheduler probe = {.policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER), .name = "probe", .summary = "",
                                               .source = "", .state_bytes = sizeof(const struct job_view *)},
                                    .notify = probe_notify,
                                    .decide = probe_decide,
                                    .uses_node_types = true};
    const struct bed_rows *rows = run_graphs("'probe'", &probe.policy, (struct runs){.n = 1, .is_begun_only = true});
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "job.submitted"), TASKS, 1e-9);
}

/* --- Noise --- */

/* The independent program drew 20,000 graphs for each mean. The bar is four standard errors of the difference. */
TEST_OPTIMISED(noise_lengthens_the_schedule_of_heft_as_in_an_independent_program)
{
    enum { GRAPHS = 2000, DRAWN = 20000 };
    static const struct {
        double noise, mean_s;
    } cases[] = {{0, 80}, {0.1, 80.04}, {0.3, 82.25}, {0.5, 85.95}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = run_graphs("'heft'", NULL, (struct runs){.n = GRAPHS, .noise = cases[i].noise});
        double end_s[GRAPHS] = {0}, sum_s = 0, squares = 0;
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(rows->n_jobs, GRAPHS * TASKS);
        for (size_t k = 0; k < rows->n_jobs; k++) {
            const int64_t graph = rows->jobs[k].id / TASKS;
            end_s[graph] = fmax(end_s[graph], rows->jobs[k].end_s - 1000.0 * (double)graph);
        }
        for (int k = 0; k < GRAPHS; k++) {
            sum_s += end_s[k];
            squares += end_s[k] * end_s[k];
        }
        const double mean_s = sum_s / GRAPHS, variance = fmax(squares / GRAPHS - mean_s * mean_s, 0);
        CHECK_NEAR(mean_s, cases[i].mean_s, 4 * sqrt(variance / GRAPHS + variance / DRAWN) + 0.005);
        bed_free(rows);
    }
}
