/* Any bytes as a trace; the first one chooses the format, by its place in `formats`, or leaves it to guess. Whatever is
 * read is a record that the world can take, in order of time, and every bad row is reported. */
#include "tests/fuzz/fuzz.h"

#include "sim/core/config/config.h"
#include "traces/guess.h"
#include "traces/registry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* NULL: guessed. */
static const char *const formats[] = {"azure-llm", "burstgpt",   "mooncake", "lengths", "csv",    "philly",
                                      "acme",      "helios",     "openb",    "pai",     "swf",    "csv-jobs",
                                      NULL,        "vllm-bench", "sharegpt", "muri",    "pollux", "jsonl"};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static bool write_file(const char *path, const uint8_t *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) return false;
    bool written = fwrite(data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written;
}

static bool read_requests(const struct config_variant *trace, const struct source_options *options, struct diag *diag)
{
    const struct trace_format *format = trace->entry;
    struct request_source *source;
    struct request_record r;
    int code = format->open_requests(trace->params, options, &source, diag);
    if (code != 0) return code == diag->code;
    sim_ns last_ns = 0;
    bool sound = true;
    int n_bad = 0;
    while ((code = source->next(source, &r, diag)) == 1 || code == SIM_E_DATA) {
        n_bad += code == SIM_E_DATA;
        if (code != 1) continue;
        sound &= r.arrival_ns >= last_ns && r.prompt_tokens >= 1 && r.output_tokens >= 1 && r.n_prefix_blocks >= 0;
        last_ns = r.arrival_ns;
    }
    source->close(source);
    return sound && n_bad + (code != 0) == diag->n_errors;
}

static bool read_jobs(const struct config_variant *trace, const struct source_options *options, struct diag *diag)
{
    const struct trace_format *format = trace->entry;
    struct job_source *source;
    struct job_record r;
    int code = format->open_jobs(trace->params, options, &source, diag);
    if (code != 0) return code == diag->code;
    sim_ns last_ns = 0;
    bool sound = true;
    int n_bad = 0;
    while ((code = source->next(source, &r, diag)) == 1 || code == SIM_E_DATA) {
        n_bad += code == SIM_E_DATA;
        if (code != 1) continue;
        sound &= r.submit_ns >= last_ns && r.duration_ns >= 0 && r.estimate_ns >= 0 && r.gpus >= 0 && r.nodes >= 0 &&
                 r.gpu_milli >= 1 && r.gpu_milli <= 1000 && strlen(r.group) + strlen(r.user) < 100000;
        last_ns = r.submit_ns;
    }
    source->close(source);
    return sound && n_bad + (code != 0) == diag->n_errors;
}

/* The name of the format that the file seems to have, or NULL. */
static const char *guess(const char *path)
{
    const struct trace_format *format;
    struct diag diag = {0};
    return trace_guess(path, TRACE_BOTH, NULL, &format, &diag) == 0 ? format->name : NULL;
}

/* What a format needs besides the file. */
static const char *rest_of(const char *name)
{
    if (strcmp(name, "sharegpt") == 0) return ", \"arrival\": {\"process\": \"fixed\", \"rate\": \"9/s\"}";
    if (strcmp(name, "pollux") != 0) return "";
    return ", \"types\": {\"ncf-32\": {\"run_times\": [{\"gpus\": 1, \"time\": \"9s\"}]}}";
}

static bool read_format(const char *name, const char *path)
{
    static const struct config_families families = {.alternative = trace_alternative, .guess = trace_guess_alternative};
    const struct source_options options = {.stream = "fuzz", .where = "fuzz"};
    bool requests = trace_format_find(name)->open_requests != NULL;
    const struct config_field fields[] = {{.name = "trace",
                                           .kind = CONFIG_VARIANT,
                                           .flags = CONFIG_REQUIRED,
                                           .family = requests ? "request-trace" : "job-trace",
                                           .tag = "format"},
                                          {0}};
    char text[512];
    struct config *config;
    struct config_variant trace;
    struct arena arena;
    struct diag diag = {0};
    int n = snprintf(text, sizeof text, "{\"trace\": {\"format\": \"%s\", \"path\": \"%s\"%s}}", name, path,
                     rest_of(name));
    if (config_parse("fuzz", "/", text, (size_t)n, &config, &diag) != 0) return false;
    arena_init(&arena);
    bool sound = config_bind(config, fields, &families, &arena, &trace, sizeof trace, &diag) == 0 &&
                 (requests ? read_requests : read_jobs)(&trace, &options, &diag);
    config_destroy(config);
    arena_fini(&arena);
    return sound;
}

FUZZ_TARGET(trace)
{
    char path[64];
    if (bytes == 0) return true;
    snprintf(path, sizeof path, P_tmpdir "/orrery-fuzz-%ld", (long)getpid());
    const char *name = formats[data[0] % N_FORMATS];
    bool sound = write_file(path, data + 1, bytes - 1);
    if (name == NULL) name = guess(path);
    sound = sound && (name == NULL || read_format(name, path));
    unlink(path);
    return sound;
}
