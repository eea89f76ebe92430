#include "tests/support/store_fixture.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

const struct run_info store_run_info = {
    .name = "chat",
    .version = "0.1",
    .git_commit = "0123456789ab",
    .scenario = "{\"until\": \"1d\", \"name\": \"l'été\"}",
    .scenario_hash = "00112233445566778899aabbccddeeff",
    .seed = 42,
    .keep = KEEP_ROWS,
    .policies = "batching=vllm-v0 routing=jsq",
    .oracle = "",
    .platform = "linux x86_64",
};

const struct run_end store_run_end = {
    .status = "done",
    .trace_hash = "ffeeddccbbaa99887766554433221100",
    .extrapolated_frac = 0.25,
    .cost = {.started_utc = "2024-05-01T12:00:00Z", .wall_s = 1.5, .cpu_s = 1.25, .events = 7, .peak_rss_bytes = 4096},
};

static double random_real(struct rng *rng)
{
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 3.0e15, 1e300, 5e-324, 0.1, (double)INFINITY};
    uint64_t bits;
    double value;
    switch (rng_below(rng, 8)) {
    case 0: return (double)NAN;
    case 1: return special[rng_below(rng, sizeof special / sizeof *special)];
    case 2:
        bits = rng_u64(rng);
        memcpy(&value, &bits, sizeof value);
        return value;
    default: return rng_exponential(rng, 20);
    }
}

static int64_t random_integer(struct rng *rng)
{
    return (int64_t)(rng_u64(rng) >> rng_below(rng, 64));
}

static const char *random_text(struct rng *rng)
{
    static const char *const texts[] = {"chat", "", "finished", "it's \"quoted\"", "数据中心", "a\nb", "preempt"};
    return texts[rng_below(rng, sizeof texts / sizeof *texts)];
}

struct request_row store_random_request(struct rng *rng, int64_t id)
{
    return (struct request_row){
        .id = id,
        .service = random_text(rng),
        .arrival_s = random_real(rng),
        .prompt_tokens = random_integer(rng),
        .output_tokens = random_integer(rng),
        .replica = -1,
        .queue_s = random_real(rng),
        .ttft_s = random_real(rng),
        .tpot_s = random_real(rng),
        .e2e_s = random_real(rng),
        .max_gap_s = random_real(rng),
        .preemptions = random_integer(rng),
        .cached_tokens = random_integer(rng),
        .status = random_text(rng),
    };
}

static int put_job(const struct sink *sink, struct rng *rng, int64_t id)
{
    struct job_row row = {.id = id,
                          .submit_s = random_real(rng),
                          .start_s = random_real(rng),
                          .end_s = random_real(rng),
                          .gpus = random_integer(rng),
                          .gpu_s = random_real(rng),
                          .jct_s = random_real(rng),
                          .preemptions = random_integer(rng),
                          .restarts = random_integer(rng),
                          .lost_gpu_s = random_real(rng),
                          .status = random_text(rng),
                          .energy_j = rng_below(rng, 2) > 0 ? random_real(rng) : (double)NAN,
                          .type = rng_below(rng, 2) > 0 ? random_text(rng) : NULL,
                          .group_name = rng_below(rng, 2) > 0 ? random_text(rng) : "",
                          .user_name = rng_below(rng, 2) > 0 ? random_text(rng) : NULL};
    return sink->job != NULL ? sink->job(sink->context, &row) : 0;
}

static int put_decision(const struct sink *sink, struct rng *rng, int64_t id)
{
    char reason[64];
    snprintf(reason, sizeof reason, "job %d waits for %d GPUs", (int)id, (int)rng_below(rng, 8));
    struct decision_row row = {.t_s = random_real(rng),
                               .service = random_text(rng),
                               .policy = random_text(rng),
                               .action = random_text(rng),
                               .subject = id,
                               .reason = reason};
    return sink->decision != NULL ? sink->decision(sink->context, &row) : 0;
}

static int put_small(const struct sink *sink, struct rng *rng, int64_t id)
{
    char name[32];
    snprintf(name, sizeof name, "metric.%d", (int)id);
    struct sample_row sample = {random_text(rng), random_text(rng), random_real(rng), random_real(rng)};
    struct warning_row warning = {random_real(rng), random_text(rng), random_text(rng), random_integer(rng)};
    struct histogram_row histogram = {name, 0.5 * (double)id, random_real(rng), random_integer(rng)};
    struct metric_row metric = {.name = name, .unit = random_text(rng), .value = random_real(rng)};
    struct placement_row placement = {.job = id,
                                      .node = random_integer(rng),
                                      .gpus = random_integer(rng),
                                      .start_s = random_real(rng),
                                      .end_s = random_real(rng),
                                      .gpu = rng_below(rng, 2) > 0 ? random_text(rng) : NULL,
                                      .node_type = rng_below(rng, 2) > 0 ? random_text(rng) : NULL};
    struct decision_row detail = {random_real(rng), random_text(rng), random_text(rng), random_text(rng), id,
                                  random_text(rng)};
    int code = sink->placement != NULL ? sink->placement(sink->context, &placement) : 0;
    if (code == 0 && sink->detail != NULL) code = sink->detail(sink->context, &detail);
    if (code == 0 && sink->sample != NULL) code = sink->sample(sink->context, &sample);
    if (code == 0) code = sink->warning(sink->context, &warning);
    if (code == 0 && sink->histogram != NULL) code = sink->histogram(sink->context, &histogram);
    return code != 0 ? code : sink->metric(sink->context, &metric);
}

int store_put_rows(const struct sink *sink, int n, uint64_t seed)
{
    struct rng rng;
    int code = 0;
    rng_init(&rng, seed, 0, "rows", 0);
    for (int i = 0; i < n && code == 0; i++) {
        struct request_row row = store_random_request(&rng, i);
        if (sink->request != NULL) code = sink->request(sink->context, &row);
        if (code == 0 && i % 3 == 0) code = put_job(sink, &rng, i);
        if (code == 0 && i % 5 == 0) code = put_decision(sink, &rng, i);
        if (code == 0 && i % 7 == 0) code = put_small(sink, &rng, i);
    }
    return code;
}

int store_write_run(const char *path, const struct results_options *options, int n, uint64_t seed, char *result_hash,
                    struct diag *diag)
{
    char unused[HASH_HEX_CHARS];
    struct results *results;
    int64_t run_id;
    int code = results_open(path, options, &results, diag);
    if (code != 0) return code;
    code = results_begin_run(results, &store_run_info, &run_id, diag);
    if (code == 0) {
        struct sink sink = results_sink(results);
        int put = store_put_rows(&sink, n, seed);
        code = results_end_run(results, &store_run_end, result_hash != NULL ? result_hash : unused, diag);
        if (code == 0) code = put;
    }
    results_close(results);
    return code;
}

const char *store_query(const char *path, const char *sql)
{
    static char answers[8][256];
    static unsigned next;
    char *answer = answers[next++ % 8];
    sqlite3 *db = NULL;
    sqlite3_stmt *query = NULL;
    snprintf(answer, sizeof *answers, "none");
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
        snprintf(answer, sizeof *answers, "error: %s", sqlite3_errmsg(db));
    int step = query != NULL ? sqlite3_step(query) : SQLITE_DONE;
    if (step == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(query, 0);
        snprintf(answer, sizeof *answers, "%s", text != NULL ? (const char *)text : "null");
    } else if (step != SQLITE_DONE) {
        snprintf(answer, sizeof *answers, "error: %s", sqlite3_errmsg(db));
    }
    sqlite3_finalize(query);
    sqlite3_close(db);
    return answer;
}
