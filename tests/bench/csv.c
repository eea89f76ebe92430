/* Measures how fast the trace readers turn bytes into records, against libcsv with callbacks that do nothing.
 * Both read one file in turns in one process; figures are medians of five in CPU time, opening and reading the
 * file included. */
#include "sim/core/config/config.h"
#include "sim/core/rng.h"
#include "sim/world/rows/source.h"
#include "tests/bench/bench.h"
#include "traces/registry.h"

#include <csv.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ROWS = 500000, CHUNK_BYTES = 65536 };

static int n_rows(void)
{
    return bench_load(MAX_ROWS);
}

static void stop(const char *what)
{
    fprintf(stderr, "csv: %s\n", what);
    exit(1);
}

/* --- the files --- */

static void write_azure(FILE *file, struct rng *rng)
{
    double time_s = 0;
    fprintf(file, "TIMESTAMP,ContextTokens,GeneratedTokens\r\n");
    for (int i = 0; i < n_rows(); i++) {
        time_s += rng_exponential(rng, 0.17);
        long second = (long)time_s;
        fprintf(file, "2023-11-%02ld %02ld:%02ld:%02ld.%07ld,%d,%d\r\n", 16 + second / 86400, second / 3600 % 24,
                second / 60 % 60, second % 60, (long)((time_s - (double)second) * 1e7),
                1 + (int)rng_exponential(rng, 1100), 1 + (int)rng_exponential(rng, 210));
    }
}

static void write_jobs(FILE *file, struct rng *rng)
{
    double time_s = 0;
    fprintf(file, "job_id,submit_s,duration_s,gpus,nodes,gpu_milli,estimate_s,group\n");
    for (int i = 0; i < n_rows(); i++) {
        time_s += rng_exponential(rng, 30);
        double duration_s = rng_exponential(rng, 5000);
        fprintf(file, "%d,%.3f,%.3f,%d,%d,%d,%.1f,vc%d\n", i, time_s, duration_s, 1 << rng_below(rng, 7),
                (int)rng_below(rng, 4), 1000, 2 * duration_s, (int)rng_below(rng, 20));
    }
}

/* --- the two contestants --- */

static void no_field(void *field, size_t n, void *context)
{
    (void)field;
    (void)n;
    (void)context;
}

static void no_row(int end, void *context)
{
    (void)end;
    (void)context;
}

static double time_libcsv(const char *path)
{
    double start_s = bench_cpu_s();
    static char chunk[CHUNK_BYTES];
    struct csv_parser parser;
    FILE *file = fopen(path, "rb");
    if (file == NULL || csv_init(&parser, 0) != 0) stop("cannot open the file");
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;) csv_parse(&parser, chunk, n, no_field, no_row, NULL);
    csv_fini(&parser, no_field, no_row, NULL);
    csv_free(&parser);
    fclose(file);
    return bench_cpu_s() - start_s;
}

static int64_t read_records(const struct config_variant *trace, struct diag *diag)
{
    const struct trace_format *format = trace->entry;
    const struct source_options options = {.stream = "bench", .where = "bench"};
    int64_t n = 0;
    if (format->open_requests != NULL) {
        struct request_source *source;
        struct request_record record;
        if (format->open_requests(trace->params, &options, &source, diag) != 0) return 0;
        while (source->next(source, &record, diag) == 1) n++;
        source->close(source);
    } else {
        struct job_source *source;
        struct job_record record;
        if (format->open_jobs(trace->params, &options, &source, diag) != 0) return 0;
        while (source->next(source, &record, diag) == 1) n++;
        source->close(source);
    }
    return n;
}

static double time_reader(const struct config_variant *trace)
{
    double start_s = bench_cpu_s();
    struct diag diag = {0};
    if (read_records(trace, &diag) != n_rows()) stop(diag.n_items > 0 ? diag.items[0].text : "rows are missing");
    return bench_cpu_s() - start_s;
}

/* --- the comparison --- */

static void bind(const char *family, const char *format, const char *path, struct arena *arena,
                 struct config_variant *trace)
{
    static const struct config_families families = {.alternative = trace_alternative};
    const struct config_field fields[] = {
        {.name = "trace", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .family = family, .tag = "format"}, {0}};
    char text[1024];
    struct diag diag = {0};
    struct config *config;
    int n = snprintf(text, sizeof text, "{\"trace\": {\"format\": \"%s\", \"path\": \"%s\"}}", format, path);
    if (config_parse("bench", "/", text, (size_t)n, &config, &diag) != 0 ||
        config_bind(config, fields, &families, arena, trace, sizeof *trace, &diag) != 0) {
        stop(diag.items[0].text);
    }
    config_destroy(config);
}

static void compare(const char *family, const char *format, void (*write)(FILE *, struct rng *))
{
    char path[] = P_tmpdir "/orrery-csv-XXXXXX";
    struct rng rng;
    struct arena arena;
    struct config_variant trace;
    double libcsv_s[BENCH_REPEATS], reader_s[BENCH_REPEATS];
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (file == NULL) stop("cannot write to /tmp");
    rng_init(&rng, 1, 0, format, 0);
    write(file, &rng);
    long n_bytes = ftell(file);
    fclose(file);
    arena_init(&arena);
    bind(family, format, path, &arena, &trace);
    for (int i = 0; i < BENCH_REPEATS; i++) {
        libcsv_s[i] = time_libcsv(path);
        reader_s[i] = time_reader(&trace);
    }
    double own_s = bench_median(reader_s), peer_s = bench_median(libcsv_s);
    printf("{\"bench\":\"csv\",\"format\":\"%s\",\"rows\":%d,\"rows_per_s\":%.0f,\"mb_per_s\":%.0f,"
           "\"libcsv_mb_per_s\":%.0f,\"ratio_to_libcsv\":%.2f}\n",
           format, n_rows(), n_rows() / own_s, (double)n_bytes / own_s / 1e6, (double)n_bytes / peer_s / 1e6,
           peer_s / own_s);
    arena_fini(&arena);
    unlink(path);
}

int main(void)
{
    compare("request-trace", "azure-llm", write_azure);
    compare("job-trace", "csv-jobs", write_jobs);
    return 0;
}
