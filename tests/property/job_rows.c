/* What rows about jobs say where a site has several node types: how many GPUs of which type a job takes, gives back
 * and loses, and how many are free then. The replay counts GPUs by the rows alone. And what a run says of speeds that
 * the scenario states for some types of GPUs, or for none. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { TYPES = 3, JOBS = 32 };

static const struct {
    const char *said, *name, *gpu;
    int total_gpus, first_node, end_node;
} types[TYPES] = {{"of the cluster's own nodes", NULL, "a100-80-sxm", 8, 0, 1},
                  {"of node type 'new'", "new", "h100-sxm", 4, 1, 2},
                  {"of node type 'old'", "old", "t4", 16, 2, 6}};

static const char *const schedulers[] = {"gavel", "gavel-fifo", "gavel-fifo-perf", "gavel-isolated"};

#define SITE                                                                                                           \
    "'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm', 'node_types': {'new': {'nodes': 1,"             \
    " 'gpus_per_node': 4, 'gpu': 'h100-sxm'}, 'old': {'nodes': 4, 'gpus_per_node': 4, 'gpu': 't4'}}}"

/* Jobs of 1 to 4 GPUs, of three types that compare the GPUs differently. */
static struct bed_rows *run(const char *scheduler, const char *more, int seed)
{
    static const int widths[] = {1, 2, 4};
    struct rng rng = test_rng((uint64_t)seed, "job rows", 0);
    SCOPED(text) jobs = {0};
    for (int i = 0, submit_s = 0; i < JOBS; i++, submit_s += (int)rng_below(&rng, 600))
        text_printf(&jobs, "%s{'duration': '%ds', 'submit': '%ds', 'gpus': %d, 'type': '%c'}", i > 0 ? ", " : "",
                    600 + (int)rng_below(&rng, 9000), submit_s, widths[rng_below(&rng, 3)],
                    'a' + (int)rng_below(&rng, 3));
    return bed_ok(BED(.check = true),
                  "{" SITE ", 'seed': %d, 'keep': 'decisions'%s, 'jobs': {'scheduler': '%s', 'placement':"
                  " '%s', 'types': {'a': {'speeds': {'h100-sxm': 2, 't4': 0.25}}, 'b': {'speeds': {'h100-sxm': 1.2,"
                  " 't4': 0.8}}, 'c': {'speeds': {'h100-sxm': 1.5, 't4': 0}}}, 'trace': {'format': 'inline-jobs',"
                  " 'jobs': [%s]}}}",
                  seed, more, scheduler, seed % 2 == 0 ? "counted" : "consolidated", jobs.chars);
}

/* The node type that a reason names; -1: none. */
static int type_in(const char *reason)
{
    for (int i = 0; i < TYPES; i++)
        if (strstr(reason, types[i].said) != NULL) return i;
    return -1;
}

/* The number behind `word` in a reason; NAN: it has no such word. */
static double number_behind(const char *reason, const char *word)
{
    const char *at = strstr(reason, word);
    return at != NULL ? strtod(at + strlen(word), NULL) : (double)NAN;
}

struct replay {
    int type[JOBS]; /* -1: the job holds nothing */
    double gpus[JOBS], used[TYPES];
};

static void take(struct replay *replay, int64_t job, const char *reason)
{
    replay->type[job] = type_in(reason);
    replay->gpus[job] = number_behind(reason, "takes ");
    if (CHECK(replay->type[job] >= 0 && replay->gpus[job] > 0)) replay->used[replay->type[job]] += replay->gpus[job];
}

static void give_back(struct replay *replay, int64_t job, double gpus, const char *reason)
{
    const int type = replay->type[job];
    CHECK(type >= 0);
    CHECK_EQ_INT(type_in(reason), type);
    CHECK_NEAR(gpus, replay->gpus[job], 1e-6);
    if (type >= 0) replay->used[type] -= replay->gpus[job];
    replay->type[job] = -1;
}

/* The free GPUs of a reason are those of the type that it names, by all rows so far. */
static void check_free(const struct replay *replay, const char *reason, const char *word)
{
    const int type = type_in(reason);
    const char *at = strstr(reason, word);
    if (!CHECK(type >= 0 && at != NULL)) return;
    const double free_gpus = number_behind(at, word), total = number_behind(at, " of ");
    CHECK_NEAR(total, types[type].total_gpus, 0);
    CHECK(free_gpus >= 0 && free_gpus <= total);
    CHECK_NEAR(free_gpus, total - replay->used[type], 1e-6);
}

TEST(rows_of_jobs_count_the_gpus_of_their_node_type)
{
    int n_preempted = 0, n_types[TYPES] = {0};
    for (int k = 0; k < 8; k++) {
        const struct bed_rows *rows = run(schedulers[k % 4], "", k / 4);
        struct replay replay = {.used = {0}};
        for (size_t i = 0; i < rows->n_decisions; i++) {
            const struct bed_decision *row = &rows->decisions[i];
            if (!CHECK(row->subject >= -1 && row->subject < JOBS)) continue;
            const bool takes = strcmp(row->action, "start") == 0 || strcmp(row->action, "resume") == 0;
            if (takes) {
                take(&replay, row->subject, row->reason);
                if (type_in(row->reason) >= 0) n_types[type_in(row->reason)]++;
            } else if (strcmp(row->action, "preempt") == 0) {
                give_back(&replay, row->subject, number_behind(row->reason, "gives back "), row->reason);
                n_preempted++;
            } else if (strcmp(row->action, "finish") == 0) {
                give_back(&replay, row->subject, number_behind(row->reason, "has held "), row->reason);
            } else {
                continue;
            }
            check_free(&replay, row->reason, strcmp(row->action, "finish") == 0 ? "; " : ", then ");
        }
    }
    CHECK(n_preempted > 0 && n_types[0] > 0 && n_types[1] > 0 && n_types[2] > 0);
}

static const char *interrupt_reason(const struct bed_rows *rows)
{
    for (size_t i = 0; i < rows->n_decisions; i++)
        if (strcmp(rows->decisions[i].action, "interrupt") == 0) return rows->decisions[i].reason;
    return "";
}

/* A strike takes the GPUs that the job holds, of their node type. It says nothing of free ones: the node is about to
 * leave with some of them. */
TEST(an_interrupted_job_names_the_gpus_that_it_loses)
{
    int n_interrupts = 0;
    for (int k = 0; k < 4; k++) {
        const struct bed_rows *rows = run(
            schedulers[k],
            ", 'failures': {'causes': {'node': {'scope': 'node', 'lifetime': {'mean': '3h'}, 'repair': {'law':"
            " 'constant', 'mean': '10min'}}}}",
            1);
        int type[JOBS] = {0};
        double gpus[JOBS] = {0};
        for (size_t i = 0; i < rows->n_decisions; i++) {
            const struct bed_decision *row = &rows->decisions[i];
            const double taken = number_behind(row->reason, "takes ");
            if (!isnan(taken)) {
                type[row->subject] = type_in(row->reason);
                gpus[row->subject] = taken;
            }
            if (strcmp(row->action, "interrupt") != 0) continue;
            n_interrupts++;
            CHECK_EQ_INT(type_in(row->reason), type[row->subject]);
            CHECK_NEAR(number_behind(row->reason, "of work on "), gpus[row->subject], 1e-6);
            CHECK(strstr(row->reason, "free") == NULL);
        }
    }
    CHECK(n_interrupts > 0);
}

/* So does one that loses spot GPUs, or yields to a service. */
TEST(interrupts_by_market_and_service_name_the_gpus)
{
    const struct bed_rows *rows = bed_ok(
        NULL,
        "{'keep': 'decisions', 'cluster': {'unlimited': true}, 'market': {'offers': {'gpu': {'price': '$3.6/h', 'kind':"
        " 'spot', 'spot': {'availability': '%s', 'format': 'instance-counts'}}}, 'renting': 'as-asked'}, 'jobs':"
        " {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 4}]}}}",
        test_file("spot.csv", "0,4\n60000,0\n70000,4\n"));
    CHECK_EQ_STR(interrupt_reason(rows), "loses its spot GPUs: 4 GPUs");
    rows = bed_ok(
        NULL,
        "{'keep': 'decisions', 'cluster': {'nodes': 1, 'gpus_per_node': 2, 'gpu': 'a100-80-sxm'}, 'services': {'chat':"
        " {'llm': 'mistral-7b', 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 0},"
        " {'at': '10s', 'replicas': 1}, {'at': '90s', 'replicas': 0}]}, 'min': 0, 'max': 1, 'interval': '10s'},"
        " 'trace': {'format': 'generate', 'count': 5, 'arrival': {'process': 'fixed', 'rate': '0.1/s'}, 'prompt':"
        " {'distribution': 'fixed', 'tokens': 9}, 'output': {'distribution': 'fixed', 'tokens': 9}}}}, 'jobs':"
        " {'preemptible': true, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '200s', 'gpus': 2}]}}}");
    CHECK_EQ_STR(interrupt_reason(rows), "yields to a service its 2 GPUs");
}

/* The user and the group of a table are those of the job's row. */
TEST(users_and_groups_of_a_table_reach_the_row)
{
    const struct bed_rows *rows = bed_ok(
        NULL, "{'cluster': {'nodes': 1, 'gpus_per_node': 2}, 'jobs': {'trace': {'format': 'csv-jobs', 'path': '%s'}}}",
        test_file("users.csv", "submit_s,duration_s,gpus,group,user\n0,5,1,red,ann\n1,5,1,blue,\n"));
    if (!CHECK_EQ_INT((int)rows->n_jobs, 2)) return;
    CHECK_EQ_STR(bed_job(rows, 0)->group_name, "red");
    CHECK_EQ_STR(bed_job(rows, 0)->user_name, "ann");
    CHECK_EQ_STR(bed_job(rows, 1)->group_name, "blue");
    CHECK_EQ_STR(bed_job(rows, 1)->user_name, "");
}

/* A placement's GPU and node type are those of its node, and of the decision that began it. */
TEST(placements_and_jobs_name_their_types)
{
    int n[TYPES] = {0};
    const struct bed_rows *rows = run("gavel-fifo-perf", "", 1);
    for (size_t i = 0; i < rows->n_placements; i++) {
        const struct placement_row *row = &rows->placements[i];
        int type = 0;
        while (type < TYPES && row->node >= types[type].end_node) type++;
        if (!CHECK(type < TYPES && row->node >= types[type].first_node)) continue;
        CHECK_EQ_STR(row->gpu, types[type].gpu);
        CHECK_EQ_STR(row->node_type != NULL ? row->node_type : "", types[type].name != NULL ? types[type].name : "");
        for (size_t k = 0; k < rows->n_decisions; k++) {
            const struct bed_decision *began = &rows->decisions[k];
            if (began->subject != row->job || began->t_s != row->start_s || strstr(began->reason, "takes ") == NULL)
                continue;
            CHECK_EQ_INT(type_in(began->reason), type);
            n[type]++;
        }
    }
    CHECK(n[0] > 0 && n[1] > 0 && n[2] > 0);
    for (size_t i = 0; i < rows->n_jobs; i++)
        CHECK(rows->jobs[i].type[0] >= 'a' && rows->jobs[i].type[0] <= 'c' && rows->jobs[i].user_name[0] == '\0');
}

/* --- Speeds --- */

/* Many jobs at once, so that gavel-fifo-perf uses all types of GPUs. */
static struct bed_rows *with_types(const char *scheduler, const char *said)
{
    SCOPED(text) jobs = {0};
    for (int i = 0; i < 28; i++) text_printf(&jobs, "%s{'duration': '1h', 'type': 'x'}", i > 0 ? ", " : "");
    return bed_run(BED(.quiet = true),
                   "{" SITE ", 'jobs': {'scheduler': '%s', 'types': {%s}, 'trace': {'format': 'inline-jobs', 'jobs':"
                   " [%s]}}}",
                   scheduler, said, jobs.chars);
}

/* A key of speeds is the name of a GPU, be it of another site. */
TEST(speeds_of_no_gpu_are_refused)
{
    static const struct {
        const char *said, *named, *hint; /* NULL: it is right */
    } cases[] = {{"'x': {'speeds': {'h100-sxm': 2, 't4': 0.25}}", NULL, NULL},
                 {"'x': {'speeds': {'h100-sxm': 2, 't4': 0.25, 'v100-16-sxm': 0.5}}", NULL, NULL},
                 {"'x': {'speeds': {'new': 2, 't4': 0.25}}", "'new'", "did you mean 'h100-sxm'"},
                 {"'x': {'speeds': {'h100-smx': 2}}", "'h100-smx'", "did you mean 'h100-sxm'"},
                 {"'x': {}, 'y': {'sharing': {'pairs': {'x': {'speeds': {'old': 1}}}}}", "'old'", "did you mean 't4'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = with_types("fifo", cases[i].said);
        CHECK_EQ_INT(rows->code, cases[i].named == NULL ? 0 : SIM_E_CONFIG);
        CHECK_EQ_INT(rows->diag.n_errors, cases[i].named != NULL);
        if (cases[i].named == NULL || rows->diag.n_items == 0) continue;
        CHECK(strstr(rows->diag.items[0].text, cases[i].named) != NULL);
        CHECK(strstr(rows->diag.items[0].hint, cases[i].hint) != NULL);
    }
}

/* One type of GPU without a speed may be that of the trace's run times. Two of them are not equally fast. */
TEST(equal_speeds_on_different_gpus_are_named)
{
    static const struct {
        const char *scheduler, *said, *gpus;
    } cases[] = {{"gavel-fifo-perf", "'x': {'speeds': {'h100-sxm': 2, 't4': 0.25}}", NULL},
                 {"gavel-fifo-perf", "'x': {'speeds': {'h100-sxm': 2, 'a100-80-sxm': 1}}", NULL},
                 {"gavel-fifo-perf", "'x': {'speeds': {'h100-sxm': 2}}",
                  "'x' ran equally fast on different GPUs: a100-80-sxm, t4;"},
                 {"gavel-fifo-perf", "'x': {}", "'x' ran equally fast on different GPUs: a100-80-sxm, h100-sxm, t4;"},
                 {"gavel-fifo-perf", "",
                  "that jobs.types does not describe ran equally fast on different GPUs: a100-80-sxm, h100-sxm, t4;"},
                 {"fifo", "'x': {}", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *rows = with_types(cases[i].scheduler, cases[i].said);
        CHECK_EQ_INT(rows->code, 0);
        const char *text = bed_warning(rows, "equal-speeds");
        CHECK((text != NULL) == (cases[i].gpus != NULL));
        if (text != NULL && cases[i].gpus != NULL) CHECK(strstr(text, cases[i].gpus) != NULL);
    }
}
