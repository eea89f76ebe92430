/* The traces of Shockwave's artifact: jobs, how their batches grow, and the batch sizes and speeds of their types. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/formats/batch_growth.h"
#include "traces/formats/job_profiles.h"

/* Batch sizes of a job as "batch x epochs ...". */
static const char *batches_of(const char *name, enum growth_mode mode, int64_t batch, int64_t gpus, int64_t epochs)
{
    static char result[512];
    const struct growing_model *model = growing_model_find(name, strlen(name));
    size_t length = 0;
    result[0] = 0;
    for (int64_t from = 0, to; model != NULL && from < epochs; from = to) {
        const int64_t present = growth_batch(model, mode, batch, gpus, epochs, from);
        for (to = from + 1; to < epochs && growth_batch(model, mode, batch, gpus, epochs, to) == present;) to++;
        length += (size_t)snprintf(result + length, sizeof result - length, "%lldx%lld ", (long long)present,
                                   (long long)(to - from));
    }
    return result;
}

/* Each doubling is by the first batch size: that of 5 on four GPUs, not also those of 10 and 20. */
TEST(gns_doubles_the_first_batch_at_the_listed_epochs)
{
    CHECK_EQ_STR(batches_of("lm", GROWTH_GNS, 5, 4, 100), "5x11 10x20 20x40 40x20 80x9 ");
    CHECK_EQ_STR(batches_of("lm", GROWTH_GNS, 10, 1, 23), "10x11 20x10 40x2 ");
    CHECK_EQ_STR(batches_of("lm", GROWTH_GNS, 80, 1, 23), "80x23 ");
    CHECK_EQ_STR(batches_of("resnet-18", GROWTH_GNS, 64, 4, 70), "64x11 128x50 256x9 ");
    CHECK_EQ_STR(batches_of("resnet-50", GROWTH_GNS, 64, 1, 101), "64x101 ");
    CHECK_EQ_STR(batches_of("transformer", GROWTH_GNS, 16, 1, 500), "16x500 ");
    CHECK_EQ_STR(batches_of("recommendation", GROWTH_GNS, 4096, 1, 50), "4096x41 8192x9 ");
}

/* The first 30 % and the critical epochs keep the batch; epoch 30 of 100 is the last of the 30 %. */
TEST(accordion_keeps_the_batch_in_critical_epochs)
{
    CHECK_EQ_STR(batches_of("lm", GROWTH_ACCORDION, 10, 1, 20), "10x10 80x10 ");
    CHECK_EQ_STR(batches_of("lm", GROWTH_ACCORDION, 10, 1, 100), "10x31 80x69 ");
    CHECK_EQ_STR(batches_of("resnet-50", GROWTH_ACCORDION, 32, 1, 70), "32x22 128x8 32x10 128x20 32x10 ");
    CHECK_EQ_STR(batches_of("recommendation", GROWTH_ACCORDION, 512, 1, 95),
                 "512x30 8192x30 512x10 8192x10 512x10 8192x5 ");
    CHECK_EQ_STR(batches_of("resnet-18", GROWTH_ACCORDION, 256, 2, 300), "256x300 ");
    CHECK_EQ_STR(batches_of("transformer", GROWTH_ACCORDION, 16, 1, 50), "16x50 ");
}

/* No mode takes a batch below the first or above the model's largest. */
TEST(batches_stay_within_the_models_sizes)
{
    static const char *const names[] = {"resnet-18", "resnet-50", "transformer", "lm", "recommendation"};
    for (size_t m = 0; m < sizeof names / sizeof *names; m++) {
        const struct growing_model *model = growing_model_find(names[m], strlen(names[m]));
        for (int64_t batch = model->largest; batch >= model->largest / 16; batch /= 2)
            for (int64_t gpus = 1; gpus <= 4; gpus *= 2)
                for (int mode = 0; growth_mode_names[mode] != NULL; mode++)
                    for (int64_t epoch = 0; epoch < 300; epoch++) {
                        const int64_t now = growth_batch(model, (enum growth_mode)mode, batch, gpus, 300, epoch);
                        CHECK(now >= batch && now <= model->largest);
                        CHECK(epoch > 0 || now == batch);
                    }
    }
    CHECK(growing_model_find("bert", 4) == NULL);
}

TEST(epochs_are_whole_passes_over_the_data)
{
    const struct growing_model *model = growing_model_find("lm", 2);
    CHECK_EQ_INT(growth_epochs(model, 5, 11935), 1);
    CHECK_EQ_INT(growth_epochs(model, 5, 11936), 2);
    CHECK_EQ_INT(growth_epochs(model, 10, 134583), 23);
}

/* --- Files --- */

#define ROW(type, steps, gpus, mode, duration, arrival)                                                                \
    type "\tpython3 main.py\tfolder\t--steps\t1\t" steps "\t" gpus "\t" mode "\t1\t-1.000000\t" duration "\t" arrival  \
         "\n"
#define TWO_JOBS                                                                                                       \
    ROW("LM (batch size 10)", "134583", "1", "gns", "1418", "0")                                                       \
    ROW("ResNet-50 (batch size 32)", "5279", "2", "static", "895", "50.5")

/* Jobs as "id@submit:duration/gpus type ", then the first finding. */
static const char *jobs_of(const char *text)
{
    static char result[1024];
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    size_t length = 0;
    result[0] = 0;
    trace_source_jobs(&trace, 1, "{'format': 'shockwave', 'path': '%s'}", trace_source_file("jobs.tsv", text));
    while (trace.code == 0 && trace_source_job(&trace, &job) == 1)
        length += (size_t)snprintf(result + length, sizeof result - length, "%lld@%g:%g/%d %s ", (long long)job.id,
                                   sim_s_from_ns(job.submit_ns), sim_s_from_ns(job.duration_ns), job.gpus, job.type);
    const char *finding = strstr(trace.message, "jobs.tsv");
    if (finding != NULL) snprintf(result + length, sizeof result - length, "%s", finding);
    return result;
}

TEST(jobs_have_the_type_of_model_batch_gpus_mode_and_epochs)
{
    CHECK_EQ_STR(jobs_of(TWO_JOBS), "0@0:1418/1 lm-10-1-gns-23 1@50.5:895/2 resnet-50-32-2-static-2 ");
    CHECK(strstr(jobs_of(ROW("LM", "1", "1", "gns", "1", "0")),
                 "jobs.tsv:1:1: error: a job type must be written as \"LM (batch size 10)\"") != NULL);
    CHECK(strstr(jobs_of(ROW("LM (batch size 9999999999)", "1", "1", "gns", "1", "0")), "a job type must be") != NULL);
    CHECK(strstr(jobs_of(ROW("Bert (batch size 8)", "1", "1", "gns", "1", "0")), "the model is none of ResNet-18") !=
          NULL);
    CHECK(strstr(jobs_of(ROW("LM (batch size 5)", "1", "1", "fast", "1", "0")), "a mode must be one of static") !=
          NULL);
    CHECK(strstr(jobs_of(ROW("LM (batch size 5)", "0", "1", "gns", "1", "0")), "jobs.tsv:1:52: error: 'steps'") !=
          NULL);
    CHECK(strstr(jobs_of("LM (batch size 5)\tcommand\n"), "jobs.tsv:1") != NULL);
}

/* Types as "type: epochs speed steps/s, ...|", or the finding. */
static const char *types_of(const char *more, const char *document)
{
    static char result[2048];
    SCOPED(arena) arena;
    SCOPED(text) text;
    struct config_list profiles = {0};
    struct diag diag;
    const char *path = trace_source_file("jobs.tsv", document);
    const char *json = test_json("{'profiles': {'format': 'shockwave', 'path': '%s'%s}}", path, more);
    diag_init(&diag);
    arena_init(&arena);
    text_init(&text);
    const int code = trace_source_profiles(json, &arena, &profiles, &diag);
    for (size_t i = 0; code == 0 && i < profiles.n; i++) {
        const struct job_profile *profile = (const struct job_profile *)profiles.items + i;
        const struct job_regime *regime = profile->regimes.items;
        text_printf(&text, "%s:", profile->type);
        for (size_t k = 0; k < profile->regimes.n; k++, regime++)
            text_printf(&text, "%s %g %g %g", k > 0 ? "," : "", regime->epochs, regime->speed, regime->steps_per_s);
        text_add(&text, "|");
    }
    snprintf(result, sizeof result, "%s", code == 0 ? text.chars : diag.items[0].text);
    return result;
}

/* A first batch of 10 at 100 steps/s, twice that at 75: 1.5 times as fast by epochs; four times at the stated 50. */
TEST(speeds_of_batch_sizes_are_those_of_jobs_that_begin_with_them)
{
    static const char text[] = ROW("LM (batch size 10)", "134583", "1", "gns", "1345.83", "0")
        ROW("LM (batch size 20)", "7500", "1", "static", "100", "1")
            ROW("LM (batch size 20)", "80", "1", "static", "1", "1");
    CHECK_EQ_STR(types_of(", 'rates': {'lm-40-1': 50}", text),
                 "lm-10-1-gns-23: 11 1 100, 10 1.5 75, 2 2 50|lm-20-1-static-3: 3 1 75|lm-20-1-static-1: 1 1 75|");
    CHECK_EQ_STR(types_of(", 'rates': {'lm-40-1': 50, 'lm-20-1': 100}", ROW("LM (batch size 20)", "7500", "1", "static", "100", "1")),
                 "lm-20-1-static-3: 3 1 100|");
}

TEST(a_batch_size_without_a_speed_is_an_error)
{
    CHECK(strstr(types_of("", ROW("LM (batch size 10)", "134583", "1", "gns", "1418", "0")),
                 "line 1: no job begins as lm-20-1, so its steps per second are unknown") != NULL);
    CHECK(strstr(types_of("", "LM (batch size 5)\tcommand\n"), "a row must have 12 fields") != NULL);
    CHECK(strstr(types_of("", ROW("LM (batch size 10)", "1", "1", "static", "0", "0")), "a duration must be") != NULL);
    CHECK(strstr(types_of("", ROW("LM (batch size 10)", "1.5", "1", "static", "1", "0")), "steps must be") != NULL);
    CHECK(strstr(types_of("", ROW("LM (batch size 10)", "1", "0", "static", "1", "0")), "GPUs must be") != NULL);
}

/* At 100 steps/s of a batch of 10: 50000 steps/s of 20 are a thousand times as fast by samples, 0.05 a thousandth. */
TEST(no_batch_size_is_a_thousand_times_as_fast)
{
    static const struct {
        const char *rate, *expected;
    } cases[] = {{"50000", "lm-10-1-gns-23: 11 1 100, 10 1000 50000, 2 2 50|"},
                 {"0.05", "lm-10-1-gns-23: 11 1 100, 10 0.001 0.05, 2 2 50|"},
                 {"50001", "line 1: with batch size 20 the job is 1000.02 times as fast as at first"},
                 {"0.04999", "line 1: with batch size 20 the job is 0.0009998 times as fast as at first"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQ_STR(types_of(test_json(", 'rates': {'lm-40-1': 50, 'lm-20-1': %s}", cases[i].rate),
                              ROW("LM (batch size 10)", "134583", "1", "gns", "1345.83", "0")),
                     cases[i].expected);
}

/* Of several jobs that begin alike the longest states the speed, wherever its row stands. */
TEST(the_longest_job_states_the_speed)
{
#define SHORT ROW("LM (batch size 20)", "80", "1", "static", "1", "1")
#define LONG ROW("LM (batch size 20)", "7500", "1", "static", "100", "1")
    static const char *const orders[] = {SHORT LONG, LONG SHORT, SHORT LONG SHORT};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const char *types = types_of("", orders[i]);
        CHECK(strstr(types, "lm-20-1-static-3: 3 1 75|") != NULL && strstr(types, "lm-20-1-static-1: 1 1 75|") != NULL);
    }
    CHECK_EQ_STR(types_of("", LONG ROW("LM (batch size 20)", "100", "2", "static", "200", "1")
                                  ROW("ResNet-18 (batch size 128)", "100", "1", "static", "400", "1")),
                 "lm-20-1-static-3: 3 1 75|lm-20-2-static-1: 1 1 0.5|resnet-18-128-1-static-1: 1 1 0.25|");
}

/* A million epochs of the recommendation model's largest batch, of 15 steps each, and one step more. */
TEST(no_job_has_more_than_a_million_epochs)
{
    CHECK(strstr(types_of("", ROW("Recommendation (batch size 8192)", "15000000", "1", "static", "1", "0")),
                 "recommendation-8192-1-static-1000000: 1e+06 1 1.5e+07|") != NULL);
    CHECK(strstr(types_of("", ROW("Recommendation (batch size 8192)", "15000001", "1", "static", "1", "0")),
                 "steps are of more than a million epochs") != NULL);
}

TEST(rates_that_no_job_has_are_told)
{
    SCOPED(arena) arena;
    struct config_list profiles = {0};
    struct diag diag;
    const char *path = trace_source_file("jobs.tsv", ROW("LM (batch size 20)", "7500", "1", "static", "100", "1"));
    const char *json = test_json(
        "{'profiles': {'format': 'shockwave', 'path': '%s', 'rates': {'lm-10-1': 5, 'lm-20-1': "
        "6, 'lm-20-2': 7}}}",
        path);
    diag_init(&diag);
    arena_init(&arena);
    CHECK_EQ_INT(trace_source_profiles(json, &arena, &profiles, &diag), 0);
    CHECK_EQ_INT(diag.n_items, 2);
    CHECK_EQ_STR(diag.items[0].text, "no job has a batch of 'lm-10-1', which 'rates' names");
    CHECK_EQ_STR(diag.items[1].text, "no job has a batch of 'lm-20-2', which 'rates' names");
}

/* Types in the order of the file, each once, with the speed of the longest of the jobs that begin alike. */
TEST(types_of_many_rows_are_those_of_a_walk_over_all_pairs)
{
    enum { N = 60 };
    for (uint64_t index = 0; index < 20; index++) {
        struct rng rng = test_rng(index, "shockwave", 0);
        static char text[N * 128], expected[2048];
        int batches[N], gpus[N], steps[N], seconds[N];
        size_t n = 0, length = 0;
        text[0] = expected[0] = 0;
        for (int i = 0; i < N; i++) {
            batches[i] = 5 << rng_below(&rng, 3);
            gpus[i] = 1 + (int)rng_below(&rng, 2);
            steps[i] = 1 + (int)rng_below(&rng, 4);
            seconds[i] = 1 + (int)rng_below(&rng, 3);
            n += (size_t)snprintf(text + n, sizeof text - n,
                                  "LM (batch size %d)\tc\tf\t--steps\t1\t%d\t%d\tstatic\t1\t-1\t%d\t%d\n", batches[i],
                                  12000 * steps[i], gpus[i], 1000 * seconds[i], i);
        }
        for (int i = 0; i < N; i++) {
            int best = i, before = -1;
            const int64_t epochs = growth_epochs(growing_model_find("lm", 2), batches[i], 12000 * steps[i]);
            for (int k = 0; k < N; k++) {
                const bool alike = batches[k] == batches[i] && gpus[k] == gpus[i];
                if (alike && (seconds[k] > seconds[best] || (seconds[k] == seconds[best] && k < best))) best = k;
                if (alike && k < i &&
                    growth_epochs(growing_model_find("lm", 2), batches[k], 12000 * steps[k]) == epochs)
                    before = k;
            }
            if (before >= 0) continue;
            length += (size_t)snprintf(expected + length, sizeof expected - length, "lm-%d-%d-static-%lld: %lld 1 %g|",
                                       batches[i], gpus[i], (long long)epochs, (long long)epochs,
                                       12.0 * steps[best] / seconds[best]);
        }
        CHECK_EQ_STR(types_of("", text), expected);
    }
}

/* Jobs whose batches grow keep the first one where no profiles say how: the run warns. */
TEST(jobs_whose_batches_do_not_grow_are_counted)
{
    static const char text[] = ROW("LM (batch size 10)", "134583", "1", "gns", "1418", "0")
        ROW("LM (batch size 20)", "7500", "1", "static", "100", "1")
            ROW("LM (batch size 40)", "7500", "1", "static", "90", "2")
                ROW("LM (batch size 10)", "134583", "1", "accordion", "1400", "3");
    const char *path = trace_source_file("jobs.tsv", text);
    for (int profiled = 0; profiled <= 1; profiled++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true), "{'cluster': {'nodes': 1}, 'jobs': {%s'trace': {'format': 'shockwave', 'path': '%s'}}}",
            profiled ? test_json("'profiles': {'format': 'shockwave', 'path': '%s', 'rates': {'lm-80-1': 60}}, ", path)
                     : "",
            path);
        const char *warning = bed_warning(rows, "unprofiled");
        CHECK_EQ_INT(warning != NULL, !profiled);
        if (warning != NULL) CHECK(strstr(warning, "keep the batch size that they begin with") != NULL);
        if (!profiled) CHECK_EQ_INT(rows->code, 0);
    }
}
