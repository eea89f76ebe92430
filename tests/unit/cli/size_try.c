/* One simulation of `orrery size` against the rows of the same run, taken one by one. */
#include "sim/cli/run/simulate.h"
#include "sim/cli/size/size.h"
#include "tests/support/harness.h"

enum { MOST_ROWS = 400 };

/* All rows of a run. */
struct twin {
    struct request_row requests[MOST_ROWS];
    bool is_rejected[MOST_ROWS], has_ended[MOST_ROWS];
    size_t n;
    int64_t prefill_replicas;
    char engine[DIAG_TEXT_CHARS];
    double kv_peak_frac, busy_frac;
    double pool_kv_frac[SIZE_POOLS], pool_waiting[SIZE_POOLS], compute_s[SIZE_POOLS][SIZE_PHASES];
    double mean_kv_frac, all_waiting; /* the most sampled of all replicas together */
};

static int on_request(void *context, const struct request_row *row)
{
    struct twin *twin = context;
    if (!CHECK(twin->n < MOST_ROWS)) return SIM_E_NOMEM;
    twin->is_rejected[twin->n] = strcmp(row->status, "rejected") == 0;
    twin->has_ended[twin->n] = strcmp(row->status, "finished") == 0;
    twin->requests[twin->n++] = *row;
    return 0;
}

static int on_warning(void *context, const struct warning_row *row)
{
    struct twin *twin = context;
    if (strcmp(row->code, "engine") == 0) snprintf(twin->engine, sizeof twin->engine, "%s", row->text);
    return 0;
}

static int on_metric(void *context, const struct metric_row *row)
{
    struct twin *twin = context;
    if (strcmp(row->name, "replica.kv_peak_frac") == 0) twin->kv_peak_frac = row->value;
    if (strcmp(row->name, "replica.busy_frac") == 0) twin->busy_frac = row->value;
    return 0;
}

static int on_batch(void *context, const struct batch_row *row)
{
    struct twin *twin = context;
    const int pool = row->replica >= twin->prefill_replicas ? 1 : 0, phase = row->prefill_sequences == 0 ? 1 : 0;
    twin->compute_s[pool][phase] += row->end_s - row->start_s;
    return 0;
}

static int on_sample(void *context, const struct sample_row *row)
{
    struct twin *twin = context;
    char service[32];
    int replica;
    if (strcmp(row->series, "service.kv_used_frac") == 0) twin->mean_kv_frac = fmax(twin->mean_kv_frac, row->value);
    if (strcmp(row->series, "service.waiting") == 0) twin->all_waiting = fmax(twin->all_waiting, row->value);
    if (sscanf(row->entity, "%31[^/]/%d", service, &replica) != 2) return 0;
    const int pool = replica >= twin->prefill_replicas ? 1 : 0;
    if (strcmp(row->series, "replica.kv_used_frac") == 0)
        twin->pool_kv_frac[pool] = fmax(twin->pool_kv_frac[pool], row->value);
    if (strcmp(row->series, "replica.waiting") == 0)
        twin->pool_waiting[pool] = fmax(twin->pool_waiting[pool], row->value);
    return 0;
}

static double value_of(const struct twin *twin, size_t i, enum size_time time)
{
    const struct request_row *row = &twin->requests[i];
    if (!twin->has_ended[i]) return (double)INFINITY;
    switch (time) {
    case SIZE_TTFT: return row->ttft_s;
    case SIZE_TPOT: return row->tpot_s;
    default: return row->e2e_s;
    }
}

static bool counts(const struct twin *twin, const struct size_requests *requests, size_t i, size_t at)
{
    const struct size_request *request = size_requests_find(requests, twin->requests[i].id);
    return request != NULL && (request->objectives >> at & 1) != 0;
}

/* The least value that `quantile` of the counted requests do not exceed. NAN: none is counted. */
static double quantile_of(const struct twin *twin, const struct size_requests *requests, size_t at,
                          const struct size_objective *objective)
{
    double best = (double)NAN;
    for (size_t i = 0; i < twin->n; i++) {
        const double value = value_of(twin, i, objective->time);
        double n = 0, n_within = 0;
        if (!counts(twin, requests, i, at)) continue;
        for (size_t k = 0; k < twin->n; k++) {
            if (!counts(twin, requests, k, at)) continue;
            n++;
            n_within += value_of(twin, k, objective->time) <= value;
        }
        if (n_within >= objective->quantile * n - 1e-9 && !(value >= best)) best = value;
    }
    return best;
}

/* Of whole percents p, the rank is the least k with 100 k >= p n. */
TEST(a_rank_is_that_of_whole_numbers)
{
    for (size_t percent = 1; percent <= 100; percent++)
        for (size_t n = 1; n <= 400; n++) CHECK_EQ_INT(size_rank((double)percent / 100, n), (percent * n + 99) / 100);
    CHECK_EQ_INT(size_rank(0.999, 1000), 999);
    CHECK_EQ_INT(size_rank(0.999, 1000000000), 999000000);
    CHECK_EQ_INT(size_rank(0.99, 1000000001), 990000001);
}

/* Rows up to that at which more of the objective's requests than may have exceeded its limit: the number of its
 * requests by then, and the least of their values over the limit. 0: it is met. */
static size_t ended_of(const struct twin *twin, const struct size_requests *requests, size_t at,
                       const struct size_objective *objective, size_t *row, double *least_s)
{
    size_t n = 0, n_over = 0;
    *least_s = (double)INFINITY;
    for (*row = 0; *row < twin->n; ++*row) {
        const double value = value_of(twin, *row, objective->time);
        if (!counts(twin, requests, *row, at)) continue;
        n++;
        if (value > objective->limit_s) *least_s = fmin(*least_s, value);
        n_over += value > objective->limit_s;
        if (n_over > requests->counted[at] - size_rank(objective->quantile, requests->counted[at])) return n;
    }
    return 0;
}

struct try_case {
    const char *llm, *trace;
    int64_t prefill_replicas, replicas;
    struct size_objective objectives[2];
    int missed;
    bool rejects;
    size_t n_known; /* requests, in the order of their numbers; 0: all */
};

#define TRACE(count, rate, more)                                                                                       \
    "{\"format\": \"generate\", \"count\": " #count ", \"arrival\": {\"process\": \"poisson\", \"rate\": \"" rate      \
    "\"}" more "}"
#define SHORT ", \"output\": {\"distribution\": \"uniform\", \"min\": 1, \"max\": 3}"
#define LONG ", \"prompt\": {\"distribution\": \"uniform\", \"min\": 100, \"max\": 2600}"

static const struct size_batching batching = {.policy = "vllm-v1", .token_budget = 2048, .budget_key = "token_budget",
                                              .shares_iterations = true};

static void check_whole(const struct twin *twin, const struct size_question *question,
                        const struct size_requests *requests, const struct size_outcome *whole)
{
    int64_t n_rejected = 0;
    for (size_t i = 0; i < twin->n; i++) n_rejected += twin->is_rejected[i];
    CHECK_EQ_INT(whole->n_rejected, n_rejected);
    CHECK_EQ_STR(whole->engine, twin->engine);
    CHECK(whole->has_run && !whole->is_cut && whole->why[0] == 0);
    CHECK(whole->kv_peak_frac == twin->kv_peak_frac && whole->busy_frac == twin->busy_frac);
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double value = quantile_of(twin, requests, i, &question->objectives[i]);
        if (!CHECK(whole->values[i] == value)) printf("\n  objective %zu: %g, not %g\n", i, whole->values[i], value);
    }
    for (int pool = 0; pool < SIZE_POOLS; pool++) {
        CHECK(whole->pool_kv_frac[pool] == twin->pool_kv_frac[pool]);
        CHECK(whole->pool_waiting[pool] == twin->pool_waiting[pool]);
        for (int phase = 0; phase < SIZE_PHASES; phase++)
            CHECK_NEAR(whole->compute_s[pool][phase], twin->compute_s[pool][phase], 1e-9);
    }
}

/* Samples of replicas: one has at least the mean use of KV caches, none more than the peak or more requests than
 * wait in all. Without pools all replicas are of the second. */
static void check_samples(const struct twin *twin, const struct size_outcome *whole)
{
    const double most_kv_frac = fmax(whole->pool_kv_frac[SIZE_PREFILL], whole->pool_kv_frac[SIZE_DECODE]);
    const double most_waiting = fmax(whole->pool_waiting[SIZE_PREFILL], whole->pool_waiting[SIZE_DECODE]);
    CHECK(twin->mean_kv_frac > 0 && most_kv_frac >= twin->mean_kv_frac && most_kv_frac <= whole->kv_peak_frac);
    CHECK((most_waiting > 0) == (twin->all_waiting > 0) && most_waiting <= twin->all_waiting);
    for (int pool = 0; pool < SIZE_POOLS; pool++)
        CHECK((whole->pool_kv_frac[pool] > 0) == (pool == SIZE_DECODE || twin->prefill_replicas > 0));
}

/* Preemptions and the longest time until a request is first scheduled are those of all rows of requests. */
static void check_queues(const struct twin *twin, const struct size_outcome *whole)
{
    int64_t n_preemptions = 0;
    double longest_s = 0;
    for (size_t i = 0; i < twin->n; i++) {
        n_preemptions += twin->requests[i].preemptions;
        if (twin->requests[i].queue_s > longest_s) longest_s = twin->requests[i].queue_s;
    }
    CHECK_EQ_INT(whole->n_preemptions, n_preemptions);
    CHECK(whole->queue_max_s == longest_s);
}

static void check_cut(const struct twin *twin, const struct size_question *question,
                      const struct size_requests *requests, const struct size_outcome *cut, int missed)
{
    size_t rows[2], n_ended[2];
    double least_s[2];
    for (size_t i = 0; i < 2; i++)
        n_ended[i] = ended_of(twin, requests, i, &question->objectives[i], &rows[i], &least_s[i]);
    const int first = n_ended[0] > 0 && (n_ended[1] == 0 || rows[0] <= rows[1]) ? 0 : n_ended[1] > 0 ? 1 : -1;
    CHECK_EQ_INT(first, missed);
    CHECK_EQ_INT(cut->missed, first);
    CHECK(cut->has_run && cut->meets == (first < 0) && cut->is_cut == (first >= 0));
    if (first >= 0) {
        CHECK_EQ_INT(cut->n_ended, n_ended[first]);
        CHECK(cut->reached_s == least_s[first]);
    }
    CHECK(cut->pool_kv_frac[1] == 0 && cut->compute_s[1][0] == 0); /* of whole runs alone */
}

struct trying {
    struct size_question question;
    struct size_requests requests;
    struct size_option option;
    int64_t replicas;
};

static struct size_outcome try(const struct trying *trying, bool is_whole)
{
    struct size_outcome outcome;
    size_try(&trying->question, &trying->requests, &trying->option, trying->replicas,
             (struct size_case){TIMES_PREDICTED, is_whole, NULL}, NULL, &outcome);
    return outcome;
}

/* A value at its limit is within it, one above is not. The limits are values of the run, so that each of its requests
 * is the least above one of them. */
static void check_limits(const struct twin *twin, struct trying *trying, const struct size_outcome *whole)
{
    struct size_objective *objective = &trying->question.objectives[0];
    trying->question.objectives[1].limit_s = (double)INFINITY;
    objective->limit_s = whole->values[0];
    CHECK(try(trying, false).meets);
    objective->limit_s = nextafter(whole->values[0], 0);
    CHECK_EQ_INT(try(trying, false).missed, 0);
    objective->quantile = 0.95;
    for (size_t i = 0; i < 24; i++) {
        objective->limit_s = value_of(twin, i / 2, objective->time);
        if (i % 2 > 0) objective->limit_s = nextafter(objective->limit_s, 0);
        if (!isfinite(objective->limit_s)) continue; /* rejected, or of a single token */
        const struct size_outcome cut = try(trying, false);
        check_cut(twin, &trying->question, &trying->requests, &cut, cut.missed);
    }
}

/* At the ends of the interval of times everything takes less, or more; and an interrupted run says nothing. */
static void check_others(const struct trying *trying, const struct size_outcome *predicted)
{
    const volatile sig_atomic_t interrupt = 1;
    struct size_outcome slow, fast, none;
    size_try(&trying->question, &trying->requests, &trying->option, trying->replicas,
             (struct size_case){TIMES_SLOW, true, NULL}, NULL, &slow);
    size_try(&trying->question, &trying->requests, &trying->option, trying->replicas,
             (struct size_case){TIMES_FAST, true, NULL}, NULL, &fast);
    size_try(&trying->question, &trying->requests, &trying->option, trying->replicas,
             (struct size_case){TIMES_PREDICTED, true, NULL}, &interrupt, &none);
    if (isfinite(predicted->values[1]))
        CHECK(fast.values[1] < predicted->values[1] && predicted->values[1] < slow.values[1]);
    CHECK(!none.has_run && !none.meets && none.why[0] != 0);
}

/* Forgets all but the first requests. */
static void keep_first(struct size_requests *requests, size_t n)
{
    requests->n = n;
    for (size_t i = 0; i < 2; i++) {
        requests->counted[i] = 0;
        for (size_t k = 0; k < n; k++) requests->counted[i] += requests->items[k].objectives >> i & 1;
    }
}

static void check_try(const struct try_case *from)
{
    static const struct option_texts no_settings;
    static struct twin twin;
    struct catalog_memory memory;
    struct world_result result = {0};
    struct setup setup;
    struct diag diag;
    diag_init(&diag);
    catalog_memory_init(&memory);
    twin = (struct twin){.prefill_replicas = from->prefill_replicas, .kv_peak_frac = (double)NAN,
                         .busy_frac = (double)NAN};
    struct trying trying = {.question = {.llm = from->llm, .trace_json = from->trace, .settings = &no_settings,
                                         .n_objectives = 2, .n_gpus = 1, .gpus = {{"a100-80-sxm", 3.67, NULL}},
                                         .most_gpus = 64, .memory = &memory},
                            .replicas = from->replicas};
    struct size_question *question = &trying.question;
    memcpy(question->objectives, from->objectives, sizeof from->objectives);
    trying.option = (struct size_option){.gpu = &question->gpus[0], .tensor_parallel = 1, .pipeline_parallel = 1,
                                         .groups = 1, .batching = &batching,
                                         .prefill_replicas = from->prefill_replicas};
    const struct sink sink = {.context = &twin, .request = on_request, .warning = on_warning, .metric = on_metric,
                              .sample = on_sample, .batch = on_batch};
    CHECK_EQ_INT(size_load(question, &trying.option, from->replicas, &setup, &diag), 0);
    CHECK_EQ_INT(size_requests_read(question, &setup, NULL, &trying.requests, &diag), 0);
    CHECK_EQ_INT(simulate_rows(&setup, &(struct world_options){.queue = QUEUE_HEAP, .each_replica = true}, &sink, &result,
                               &diag), 0);
    if (diag.n_items > 0) test_quotes(diag.items[0].text);
    if (from->n_known > 0) keep_first(&trying.requests, from->n_known);
    const struct size_outcome whole = try(&trying, true), cut = try(&trying, false);
    check_whole(&twin, question, &trying.requests, &whole);
    check_samples(&twin, &whole);
    check_queues(&twin, &whole);
    CHECK((whole.n_rejected > 0) == from->rejects);
    CHECK_EQ_INT(whole.missed, from->missed);
    CHECK(whole.meets == (from->missed < 0) && whole.extrapolated_frac == result.extrapolated_frac);
    check_cut(&twin, question, &trying.requests, &cut, from->missed);
    if (from->missed < 0) CHECK(cut.values[0] == whole.values[0] && cut.values[1] == whole.values[1]);
    check_others(&trying, &whole);
    check_limits(&twin, &trying, &whole);
    size_requests_fini(&trying.requests);
    setup_fini(&setup);
    catalog_memory_fini(&memory);
}

TEST(a_try_is_what_its_rows_are)
{
    static const struct try_case cases[] = {
        {"mistral-7b", TRACE(150, "12/s", ""), 0, 2,
         {{NULL, SIZE_TTFT, 0.9, 5, "ttft p90"}, {NULL, SIZE_E2E, 0.5, 60, "e2e p50"}}, -1, false, 0},
        {"mistral-7b", TRACE(150, "12/s", ""), 0, 2,
         {{NULL, SIZE_TTFT, 0.9, 5, "ttft p90"}, {NULL, SIZE_TPOT, 0.8, 0.001, "tpot p80"}}, 1, false, 0},
        {"mistral-7b", TRACE(150, "40/s", ""), 1, 2,
         {{NULL, SIZE_TTFT, 0.5, 0.03, "ttft p50"}, {NULL, SIZE_E2E, 0.9, 30, "e2e p90"}}, 0, false, 0},
        {"phi-2", TRACE(150, "5/s", LONG), 0, 1,
         {{NULL, SIZE_TPOT, 0.5, 1, "tpot p50"}, {NULL, SIZE_E2E, 0.99, 30, "e2e p99"}}, 1, true, 0},
        {"mistral-7b", TRACE(150, "12/s", ""), 0, 2,
         {{NULL, SIZE_TTFT, 0.9, 0.001, "ttft p90"}, {NULL, SIZE_E2E, 0.5, 0.5, "e2e p50"}}, 0, false, 0},
        {"mistral-7b", TRACE(150, "12/s", SHORT), 0, 1,
         {{NULL, SIZE_TPOT, 0.5, 1, "tpot p50"}, {NULL, SIZE_E2E, 0.9, 0.1, "e2e p90"}}, 1, false, 0},
        {"mistral-7b", TRACE(150, "12/s", ""), 0, 2,
         {{NULL, SIZE_TTFT, 0.9, 5, "ttft p90"}, {NULL, SIZE_E2E, 0.5, 60, "e2e p50"}}, -1, false, 90},
        {"mistral-7b", TRACE(20, "12/s", ""), 0, 2,
         {{NULL, SIZE_TTFT, 0.9, 5, "ttft p90"}, {NULL, SIZE_E2E, 0.5, 60, "e2e p50"}}, -1, false, 1},
        {"mistral-7b", TRACE(300, "400/s", ""), 0, 11,
         {{NULL, SIZE_TTFT, 0.9, 0.001, "ttft p90"}, {NULL, SIZE_E2E, 0.5, 60, "e2e p50"}}, 0, false, 0},
        {"mistral-7b", TRACE(300, "400/s", ""), 3, 11,
         {{NULL, SIZE_TTFT, 0.9, 0.001, "ttft p90"}, {NULL, SIZE_E2E, 0.5, 60, "e2e p50"}}, 0, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_try(&cases[i]);
}

/* The weights are larger than the GPU: that finding is said, and not its code alone. */
TEST(a_try_that_cannot_run_says_why)
{
    static const struct option_texts no_settings;
    struct catalog_memory memory;
    catalog_memory_init(&memory);
    struct trying trying = {.question = {.llm = "llama-3.1-70b", .trace_json = TRACE(3, "12/s", ""),
                                         .settings = &no_settings, .n_objectives = 1, .n_gpus = 1,
                                         .gpus = {{"a100-80-sxm", 3.67, NULL}}, .most_gpus = 64, .memory = &memory},
                            .replicas = 1};
    trying.option = (struct size_option){.gpu = &trying.question.gpus[0], .tensor_parallel = 1, .pipeline_parallel = 1,
                                         .groups = 1, .batching = &batching};
    const struct size_outcome outcome = try(&trying, true);
    CHECK(!outcome.has_run && !outcome.meets);
    CHECK(isnan(outcome.busy_frac) && isnan(outcome.kv_peak_frac)); /* not known */
    if (!CHECK(strstr(outcome.why, "llama-3.1-70b") != NULL)) printf("\n  %s", outcome.why);
    catalog_memory_fini(&memory);
}
