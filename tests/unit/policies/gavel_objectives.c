/* What Gavel's objectives come to in the world, where rounds of six minutes realise the time shares of a linear
 * program: jobs of so much work that by a closed form all of them, or one after another, are done at a known time.
 * Times are in units of 100 h, so that a round counts 0.001. */
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

enum { MOST_JOBS = 4 };

static const double UNIT_S = 360e3;

/* Jobs of one kind each, on one fast and one slow GPU. */
struct field {
    const char *params;
    const char *groups[MOST_JOBS];
    int n, gpus;       /* of the first node type; 0: one fast and one slow */
    double work[MOST_JOBS], fast[MOST_JOBS], slow[MOST_JOBS]; /* work per time on either */
    int width[MOST_JOBS];     /* 0: 1 */
    double submit_s[MOST_JOBS];
    struct config_list regimes[MOST_JOBS]; /* struct job_regime */
    int code;
    size_t n_warnings;
    double end[MOST_JOBS];
};

static struct job_type field_type(const struct field *field, int i, struct gpu_speed speeds[2])
{
    static const char *const names[MOST_JOBS] = {"a", "b", "c", "d"};
    speeds[0] = (struct gpu_speed){"fast", field->fast[i]};
    speeds[1] = (struct gpu_speed){"slow", field->slow[i]};
    return (struct job_type){.name = names[i], .speeds = {field->gpus > 0 ? 0 : 2, speeds},
                             .regimes = field->regimes[i]};
}

static void field_run(struct field *field)
{
    struct gpu_speed speeds[MOST_JOBS][2];
    struct job_type types[MOST_JOBS];
    struct job_record records[MOST_JOBS];
    struct node_type_config slow = {.name = "old", .nodes = 1, .gpus_per_node = 1, .gpu = "slow"};
    for (int i = 0; i < field->n; i++) {
        types[i] = field_type(field, i, speeds[i]);
        records[i] = jobrun_record(i, field->submit_s[i], field->work[i] * UNIT_S,
                                   field->width[i] > 0 ? field->width[i] : 1);
        records[i].type = types[i].name;
        if (field->groups[i] != NULL) records[i].group = field->groups[i];
    }
    struct jobrun_spec spec = {.records = records, .n = (size_t)field->n, .types = {(size_t)field->n, types},
                               .scheduler = "gavel", .scheduler_params = field->params,
                               .cluster = {.nodes = 1, .gpus_per_node = 1, .gpu = "fast", .node_types = {1, &slow}}};
    if (field->gpus > 0) spec.cluster = (struct cluster_config){.nodes = 1, .gpus_per_node = field->gpus};
    SCOPED(jobrun) run;
    jobrun_init(&run, &spec, field->code);
    for (int i = 0; i < field->n; i++) field->end[i] = field->code == 0 ? run.jobs[i].end_s / UNIT_S : (double)NAN;
    field->n_warnings = run.n_warnings;
}

static void check_ends(struct field *field, const double *expected)
{
    field_run(field);
    for (int i = 0; i < field->n; i++) CHECK_NEAR(field->end[i], expected[i], 0.005);
}

/* The job that gains more by the fast GPU has it for itself: relative rates of 1 and 0.5, against 1 and 0.25. Least
 * attained service would have both take turns. */
TEST(throughput_gives_the_fast_gpu_to_the_job_that_gains_most)
{
    struct field field = {.params = "{'objective': 'throughput'}", .n = 2, .work = {4, 1}, .fast = {4, 2}, .slow = {1, 1}};
    check_ends(&field, (double[]){1, 1});
    struct field turned = {.params = "{'objective': 'throughput'}", .n = 2, .work = {1, 4}, .fast = {2, 4}, .slow = {1, 1}};
    check_ends(&turned, (double[]){1, 1});
}

/* With raw rates the second job, of 10 steps per second to 1, has the fast GPU: 20 + 1 is more than 4 + 10. Relative to
 * their fastest GPUs, 1 + 1/2 is more than 1/4 + 1. */
TEST(raw_rates_give_the_fast_gpu_to_the_job_of_most_steps)
{
    struct field field = {.params = "{'objective': 'throughput', 'rates': {'b': 10}}", .n = 2, .work = {1, 2},
                          .fast = {4, 2}, .slow = {1, 1}};
    check_ends(&field, (double[]){1, 1});
}

/* One GPU goes to the job of most steps per second with its present batch. The first job has 10, and 2 after half of
 * its epochs, which counts as the third one comes. The second has 5 and the third 1. */
TEST(raw_rates_follow_the_batch_size)
{
    struct job_regime grows[] = {{1, 1, 10}, {1, 1, 2}}, keeps[] = {{1, 1, 5}}, few[] = {{1, 1, 1}};
    struct field field = {.params = "{'objective': 'throughput', 'raw': true, 'reallocation': '0s'}", .n = 3, .gpus = 1,
                          .work = {1, 1, 0.1}, .submit_s = {0, 0, 0.6 * UNIT_S},
                          .regimes = {{2, grows}, {1, keeps}, {1, few}}};
    check_ends(&field, (double[]){2, 1.6, 2.1});
    CHECK_EQ_INT(field.n_warnings, 0);
    field.params = "{'objective': 'throughput', 'raw': true, 'reallocation': '0s', 'rates': {'c': 20}}";
    check_ends(&field, (double[]){2.1, 1.7, 0.7});
}

/* Without steps per second a job counts as one of 1, and the run warns. */
TEST(jobs_without_steps_per_second_are_warned_of)
{
    struct job_regime stated[] = {{1, 1, 0.5}};
    struct field field = {.params = "{'objective': 'throughput', 'raw': true}", .n = 2, .gpus = 1, .work = {1, 1},
                          .regimes = {{1, stated}}};
    check_ends(&field, (double[]){2, 1});
    CHECK_EQ_INT(field.n_warnings, 1);
}

/* Three jobs of which each gains less than the one before by the fast GPU: effective throughputs 1.8182, 1.4545,
 * 1.0909. */
static struct field three_jobs(const char *params)
{
    return (struct field){.params = params, .n = 3, .work = {20.0 / 11, 16.0 / 11, 12.0 / 11}, .fast = {4, 3, 2},
                          .slow = {1, 1, 1}};
}

TEST(max_min_keeps_the_rates_of_the_paper)
{
    struct field field = three_jobs("{'objective': 'las'}");
    check_ends(&field, (const double[]){1, 1, 1});
}

/* To one that knows of no speeds each job is worth two thirds of either GPU: rates 5/3, 4/3 and 1, as 20/11, 16/11 and
 * 12/11 times 11/12. */
TEST(who_knows_no_speeds_is_slower_by_a_closed_form)
{
    struct field field = three_jobs("{'objective': 'las', 'aware': false}");
    check_ends(&field, (const double[]){12.0 / 11, 12.0 / 11, 12.0 / 11});
}

TEST(weights_are_shares)
{
    struct field field = {.params = "{'weights': {'a': 3}}", .n = 2, .gpus = 1, .work = {0.75, 0.25}};
    check_ends(&field, (const double[]){1, 1});
    CHECK_EQ_INT(field.n_warnings, 0);
    field.params = "{'weights': {'A': 3}}";
    check_ends(&field, (const double[]){1, 0.5});
    CHECK_EQ_INT(field.n_warnings, 1);
    field.params = "{}";
    check_ends(&field, (const double[]){1, 0.5});
}

/* Two jobs of the first group against one of the second, on one GPU: quarters against a half. With twice the weight
 * the first group has two thirds, and in order its older job has all of them until it ends. */
TEST(groups_are_entities)
{
    struct field field = {.params = "{'objective': 'entities'}", .n = 3, .gpus = 1, .groups = {"x", "x", "y"},
                          .work = {0.25, 0.25, 0.5}};
    check_ends(&field, (const double[]){1, 1, 1});
    CHECK_EQ_INT(field.n_warnings, 0);
    field.params = "{'objective': 'entities', 'entities': {'x': {'weight': 2, 'within': 'fifo'}}}";
    field.work[0] = field.work[1] = 1.0 / 3;
    field.work[2] = 1.0 / 3;
    check_ends(&field, (const double[]){0.5, 1, 1});
    CHECK_EQ_INT(field.n_warnings, 0);
    field.params = "{'objective': 'entities', 'entities': {'z': {'weight': 2}}}";
    field_run(&field);
    CHECK_EQ_INT(field.n_warnings, 1);
}

/* A gang of two on two GPUs is done with as much GPU time as each of the others: a third of the time on both. */
TEST(gangs_get_gpu_time_as_others)
{
    struct field field = {.params = "{}", .n = 3, .gpus = 2, .width = {2, 1, 1}, .work = {1.0 / 3, 2.0 / 3, 2.0 / 3}};
    check_ends(&field, (const double[]){1, 1, 1});
}

/* Two short jobs and a long one on two GPUs: all is done at once only where the long one never waits. Fair shares take
 * a quarter longer. */
TEST(makespan_is_that_of_the_longest)
{
    struct field field = {.params = "{'objective': 'makespan'}", .n = 3, .gpus = 2, .work = {0.5, 0.5, 1}};
    check_ends(&field, (const double[]){1, 1, 1});
    field.params = "{}";
    check_ends(&field, (const double[]){0.75, 0.75, 1.25});
}

/* The wide one has its GPUs for half of the time. */
TEST(makespan_of_a_gang)
{
    struct field field = {.params = "{'objective': 'makespan'}", .n = 3, .gpus = 2, .width = {2, 1, 1}, .work = {0.5, 0.5, 0.5}};
    check_ends(&field, (const double[]){1, 1, 1});
}

/* Each works where its advantage lies; whoever knows no speeds sees no reason for that. */
TEST(makespan_by_speeds)
{
    struct field field = {.params = "{'objective': 'makespan'}", .n = 2, .work = {2, 1}, .fast = {0.5, 1}, .slow = {2, 1}};
    check_ends(&field, (const double[]){1, 1});
    field.params = "{'objective': 'makespan', 'aware': false}";
    field_run(&field);
    CHECK(field.end[0] > 1.2);
}

/* From the start fairness of finish times is that of rates relative to the nth part, which here is that of least
 * attained service. */
TEST(finish_times_are_fair_from_the_start)
{
    struct field field = three_jobs("{'objective': 'ftf'}");
    check_ends(&field, (const double[]){1, 1, 1});
}

/* The second job comes just after the first got its allocation, and waits a unit of time for the next one. Then the
 * first has an age of 1, all spent at full speed, and 2 left; with r of the GPU (1 + 2 / r) / (1 + 2 * 2) = (1 + 2 / (1
 * - r)) / (2 * 2). */
TEST(who_waited_is_made_up_for)
{
    const double r = (19 - sqrt(19 * 19 - 4 * 8)) / 2;
    struct field field = {.params = "{'objective': 'ftf', 'reallocation': '100h'}", .n = 2, .gpus = 1,
                          .work = {3, 2}, .submit_s = {0, 1}};
    check_ends(&field, (const double[]){5, 1 + 2 / (1 - r)});
    field.params = "{'objective': 'las', 'reallocation': '100h'}";
    check_ends(&field, (const double[]){5, 5});
}

/* The first two get the GPUs, the second one the fast, which counts more for it; the third comes after them. */
TEST(first_in_first_out_goes_by_speeds)
{
    struct field field = {.params = "{'objective': 'fifo'}", .n = 3, .work = {1, 1, 1}, .fast = {1, 1, 1},
                          .slow = {1, 0.1, 0.5}};
    check_ends(&field, (const double[]){1, 1, 2});
}

/* Three dollars for twice the speed of one: only the slow GPU is worth it, unless a job has to be done by 4/3 of its
 * run time. */
TEST(cost_goes_by_prices)
{
    struct field field = {.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}}", .n = 1,
                          .work = {1}, .fast = {1}, .slow = {0.5}};
    check_ends(&field, (const double[]){2});
    field.params = "{'objective': 'cost', 'prices': {'fast': '$1.9/h', 'slow': '$1/h'}}";
    check_ends(&field, (const double[]){1});
    field.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}, 'slo': 1.3333333}";
    check_ends(&field, (const double[]){4.0 / 3});
    CHECK_EQ_INT(field.n_warnings, 0);
}

/* The slo of its own type makes a job take part of the dear GPU's time. One of another type keeps to the cheap one,
 * and so does one whose type has the slo 0, which is none. */
TEST(slo_may_depend_on_the_type)
{
    struct field field = {.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'},"
                                    " 'slos': {'a': 1.3333333}}",
                          .n = 1, .work = {1}, .fast = {1}, .slow = {0.5}};
    check_ends(&field, (const double[]){4.0 / 3});
    CHECK_EQ_INT(field.n_warnings, 0);
    field.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}, 'slo': 1.3333333,"
                   " 'slos': {'a': 100}}";
    check_ends(&field, (const double[]){2});
    field.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}, 'slo': 1.3333333,"
                   " 'slos': {'a': 0}}";
    check_ends(&field, (const double[]){2});
    CHECK_EQ_INT(field.n_warnings, 0);
    field.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}, 'slos': {'b': 1.3333333}}";
    check_ends(&field, (const double[]){2});
    CHECK_EQ_INT(field.n_warnings, 1);
}

/* A single job's raw rate changes neither what is worth its price nor what meets the slo. */
TEST(cost_in_raw_rates_goes_by_prices_and_slo)
{
    struct field field = {.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}, 'rates': {'a': 5}}",
                          .n = 1, .work = {1}, .fast = {1}, .slow = {0.5}};
    check_ends(&field, (const double[]){2});
    field.params = "{'objective': 'cost', 'prices': {'fast': '$1.9/h', 'slow': '$1/h'}, 'rates': {'a': 5}}";
    check_ends(&field, (const double[]){1});
    field.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}, 'slo': 1.3333333, 'rates': {'a': 5}}";
    check_ends(&field, (const double[]){4.0 / 3});
    CHECK_EQ_INT(field.n_warnings, 0);
}

TEST(raw_rates_of_types_that_no_job_has_are_warned_of)
{
    struct field field = {.params = "{'objective': 'throughput', 'rates': {'b': 10, 'B': 2}}", .n = 2, .work = {1, 2},
                          .fast = {4, 2}, .slow = {1, 1}};
    check_ends(&field, (double[]){1, 1});
    CHECK_EQ_INT(field.n_warnings, 1);
}

/* Three such jobs on the two GPUs cannot all have 3/4 of the fast one's speed, and who comes too late for that is past
 * it. */
TEST(slo_that_cannot_be_met_is_warned_of)
{
    struct field field = {.params = "{'objective': 'cost', 'prices': {'fast': '$3/h', 'slow': '$1/h'}, 'slo': 1.3333333}",
                          .n = 3, .work = {1, 1, 1}, .fast = {1, 1, 1}, .slow = {0.5, 0.5, 0.5}};
    field_run(&field);
    CHECK_EQ_INT(field.n_warnings, 2);
    for (int i = 0; i < 3; i++) CHECK(field.end[i] > 0);
}

/* The second job comes just after the first got its allocation, and waits a unit of time for the next one: longer than
 * it has. */
TEST(jobs_past_their_slo_are_warned_of)
{
    struct field field = {.params = "{'objective': 'cost', 'slo': 1.5, 'reallocation': '100h'}", .n = 2, .gpus = 1,
                          .work = {1, 0.5}, .submit_s = {0, 1}};
    field_run(&field);
    CHECK_EQ_INT(field.n_warnings, 1);
    field.params = "{'objective': 'cost', 'slo': 4, 'reallocation': '100h'}";
    field_run(&field);
    CHECK_EQ_INT(field.n_warnings, 0);
}

/* Idle time before the first job counts as received, so that after one round it is ahead of its share and nothing
 * runs. Rounds pass until it may run again. The second job waits for the next allocation. */
TEST(who_is_ahead_of_its_share_runs_again)
{
    struct field field = {.params = "{'objective': 'cost', 'idle_waits': true}", .n = 2, .gpus = 2, .work = {1, 1},
                          .submit_s = {480, 500}};
    check_ends(&field, (const double[]){1, 1 + 32 * 60 / UNIT_S});
}

/* Among several types of GPU a price that is not known is an error; alone it does not count. */
TEST(cost_needs_prices)
{
    struct field field = {.params = "{'objective': 'cost', 'prices': {'fast': '$3/h'}}", .n = 1, .work = {1}, .fast = {1},
                          .slow = {0.5}, .code = SIM_E_CONFIG};
    field_run(&field);
    field.params = "{'objective': 'cost'}";
    field_run(&field);
    field = (struct field){.params = "{'objective': 'cost'}", .n = 1, .gpus = 1, .work = {1}};
    check_ends(&field, (const double[]){1});
}
