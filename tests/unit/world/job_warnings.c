/* What schedulers warn of, and what they are asked before the run. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

#include <string.h>

/* Starts everybody, and warns at each decision of what its parameters say. */
struct warner {
    int n_codes;
    const struct job_view *pending[8];
    int n;
};

static void warner_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct warner *warner = state;
    (void)view;
    if (note->event == JOB_EVENT_SUBMIT) warner->pending[warner->n++] = note->job;
}

static int warner_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    static const char *const codes[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    struct warner *warner = state;
    (void)view;
    for (int i = 0; i < warner->n_codes; i++) job_plan_warn(plan, codes[i], "a text");
    while (warner->n > 0) job_plan_start(plan, warner->pending[--warner->n], "it is its turn");
    return 0;
}

static int warns_of_two(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    ((struct warner *)state)->n_codes = 2;
    return 0;
}

static int warns_of_nine(void *state, const void *params, struct diag *diag)
{
    (void)params, (void)diag;
    ((struct warner *)state)->n_codes = 9;
    return 0;
}

static int does_not_like_the_cluster(void *state, const struct cluster_view *view, struct diag *diag)
{
    (void)state;
    CHECK_EQ_INT(view->total_gpus, 4);
    CHECK(view->next_type == NULL);
    return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler", NULL, "not on four GPUs");
}

static struct scheduler warner_with(int (*init)(void *, const void *, struct diag *))
{
    return (struct scheduler){
        .policy = {.abi = POLICY_ABI, .size = sizeof(struct scheduler), .family = POLICY_SCHEDULER, .name = "warner",
                   .summary = "", .source = "", .state_bytes = sizeof(struct warner), .init = init},
        .notify = warner_notify,
        .decide = warner_decide};
}

static void check_warnings(const struct scheduler *scheduler, int code, size_t n_warnings)
{
    struct job_record records[] = {jobrun_record(0, 0, 10, 1), jobrun_record(1, 5, 10, 1)};
    SCOPED(jobrun) run;
    jobrun_init(&run, &(struct jobrun_spec){.records = records, .n = 2, .own_scheduler = scheduler,
                                            .cluster = {.nodes = 1, .gpus_per_node = 4}}, code);
    CHECK_EQ_INT(run.n_warnings, n_warnings);
    CHECK_EQ_INT(run.diag.n_errors, code != 0);
}

TEST(warnings_of_a_code_are_one_row)
{
    const struct scheduler scheduler = warner_with(warns_of_two);
    check_warnings(&scheduler, 0, 2);
}

TEST(more_codes_than_there_is_room_for_are_a_fault)
{
    const struct scheduler scheduler = warner_with(warns_of_nine);
    check_warnings(&scheduler, SIM_E_POLICY, 0);
}

TEST(a_scheduler_may_refuse_a_cluster)
{
    struct scheduler scheduler = warner_with(warns_of_two);
    scheduler.prepare = does_not_like_the_cluster;
    check_warnings(&scheduler, SIM_E_CONFIG, 0);
}

static size_t warnings_of(const char *scheduler, const char *gpu, const char *type)
{
    const struct bed_rows *rows = bed_run(
        NULL,
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4%s}, 'jobs': {'scheduler': '%s', 'types': {'default': {%s}}, "
        "'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '0s', 'duration': '10s', 'gpus': 1}]}}}",
        gpu, scheduler, type);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT((int64_t)bed_metric(rows, "job.finished"), 1);
    return rows->n_warnings;
}

/* A job alone has all four GPUs under `equi`, one under `fifo`. Nobody has said that it is four times as fast. */
TEST(jobs_that_speed_up_in_proportion_are_told)
{
    CHECK_EQ_INT(warnings_of("equi", "", ""), 1);
    CHECK_EQ_INT(warnings_of("equi", "", "'speedup': {'law': 'amdahl', 'parallel_frac': 0.9}"), 0);
    CHECK_EQ_INT(warnings_of("fifo", "", ""), 0);
    CHECK_EQ_INT(warnings_of("equi", "", "'speedup': {'law': 'amdahl', 'parallel_frac': 1}"), 1);
    CHECK_EQ_INT(warnings_of("equi", "", "'speedup': {'law': 'power', 'exponent': 1}"), 1);
    CHECK_EQ_INT(warnings_of("equi", "", "'speedup': {'law': 'power', 'exponent': 0.9}"), 0);
    CHECK_EQ_INT(warnings_of("equi", "", "'speedup': {'parallel_frac': 0.9}"), 1);
    CHECK_EQ_INT(warnings_of("equi", "", "'speedup': {'law': 'linear'}"), 0); /* on purpose */
}

/* Attention was not measured over prompts as long as these sequences, and no trainer's constants on this GPU. */
TEST(steps_outside_the_fitted_range_are_told)
{
    const char *gpu = ", 'gpu': 'h100-sxm'";
    CHECK_EQ_INT(warnings_of("fifo", gpu,
                             "'training': {'llm': 'phi-2', 'global_batch': 4, 'sequence_tokens': 16384, "
                             "'recompute': 'full', 'shape': {'layers': 2}}"),
                 2);
    CHECK_EQ_INT(warnings_of("fifo", gpu, ""), 0);
}

#define PLAN "'llm': 'phi-2', 'global_batch': 8, 'sequence_tokens': 16384, 'recompute': 'full', 'shape': {'layers': 2}"
#define JOB(type) "{'type': '" type "', 'gpus': 8, 'steps': 1}"

/* Whatever the number of types and node types: a line of the kernels of each GPU, and one of each trainer on it:
 * here of two GPUs and two trainers. */
TEST(steps_have_one_line_per_gpu_and_trainer)
{
    const struct bed_rows *rows = bed_ok(
        BED(.quiet = true),
        "{'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'node_types': {'b': {'nodes': 2, 'gpu': 'v100-32-sxm'}, 'c':"
        " {'nodes': 1, 'gpu': 'h100-sxm'}}}, 'jobs': {'scheduler': 'gavel', 'types': {'s': {'training': {" PLAN
        "}}, 'u': {'training': {" PLAN "}}, 't': {'training': {'trainer': 'deepspeed-zero3', " PLAN
        "}}}, 'trace': {'format': 'inline-jobs',"
        " 'jobs': [" JOB("s") "," JOB("t") "," JOB("u") "," JOB("s") "]}}}");
    CHECK_EQ_INT(rows->n_warnings, 2 + 4);
}

/* Checkpoints go to a peer over a network that is not there: refused, of whichever type they are. */
TEST(checkpoints_of_every_type_need_their_network)
{
    for (int wrong = -1; wrong < 3; wrong++) {
        SCOPED(text) list = {0};
        for (int i = 0; i < 3; i++)
            text_printf(&list, "%s'%c': {%s}", i > 0 ? ", " : "", 'a' + i,
                        i == wrong ? "'checkpoint': {'policy': 'daly', 'bytes': '1GB', 'to': 'peer'}" : "");
        const struct bed_rows *rows = bed_run(
            BED(.quiet = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 2}, 'jobs': {'placement': 'first-fit', 'types': {%s}, 'trace': {"
            "'format': 'inline-jobs', 'jobs': [{'type': 'c', 'gpus': 2, 'duration': '100s'}]}}}",
            list.chars);
        CHECK_EQ_INT(rows->code != 0, wrong >= 0);
        if (wrong >= 0) CHECK(strstr(rows->diag.items[0].text, "there is no network") != NULL);
    }
}

/* Node types that the scheduler ignores are a row of the run, unless a service uses them or jobs rent their GPUs. */
TEST(node_types_that_nothing_uses_are_told)
{
    static const char chat[] =
        "'services': {'s': {'llm': 'llama-3-8b', 'replicas': 1, 'pools': {'p': {'gpu': 'a100-80-sxm'}},"
        " 'trace': {'format': 'generate', 'count': 1}}}, ";
    static const char market[] = "'market': {'renting': 'as-asked', 'offers': {'o': {'gpu': 'v100-16-sxm',"
                                 " 'price': '$1/h'}}}, ";
    static const struct {
        const char *scheduler, *more;
        bool is_told;
    } cases[] = {{"fifo", "", true},  {"srtf", "", true},      {"sia", "", false},
                 {"gavel", "", false}, {"fifo", market, false}, {"fifo", chat, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{'cluster': {'nodes': 1, 'gpu': 'v100-16-sxm', 'node_types': {'more': {'nodes': 1,"
            " 'gpu': 'a100-80-sxm'}}}, %s"
            "'jobs': {'scheduler': '%s', 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '9s'}]}}}",
            cases[i].more, cases[i].scheduler);
        const char *text = bed_warning(rows, "idle-node-types");
        CHECK_EQ_INT(rows->code, 0);
        CHECK((text != NULL) == cases[i].is_told);
        CHECK(text == NULL || strstr(text, "'more'") != NULL);
        bed_free(rows);
    }
}
