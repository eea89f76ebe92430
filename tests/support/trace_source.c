#include "tests/support/trace_source.h"

#include "tests/support/harness.h"
#include "traces/formats/job_profiles.h"
#include "traces/guess.h"
#include "traces/registry.h"

static const struct config_families families = {.alternative = trace_alternative, .guess = trace_guess_alternative};

static const struct config_field request_fields[] = {
    {.name = "trace", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .family = "request-trace", .tag = "format"},
    {0}};
static const struct config_field job_fields[] = {
    {.name = "trace", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .family = "job-trace", .tag = "format"}, {0}};

static void keep_message(struct trace_source *trace)
{
    trace->message[0] = 0;
    if (trace->diag.n_items > 0) diag_format(&trace->diag.items[0], trace->message, sizeof trace->message);
}

__attribute__((format(printf, 4, 0))) static int bind(struct trace_source *trace, const struct config_field *fields,
                                                      uint64_t seed, const char *format, va_list args)
{
    char text[8192] = "{\"trace\": ";
    size_t start = strlen(text);
    int n = vsnprintf(text + start, sizeof text - start - 1, format, args);
    if (n < 0 || (size_t)n >= sizeof text - start - 1) abort();
    test_quotes(text);
    strcat(text, "}");
    *trace = (struct trace_source){.options = {.seed = seed, .stream = "trace", .where = "services.chat.trace"}};
    arena_init(&trace->arena);
    trace->code = config_parse("t.json", ".", text, strlen(text), &trace->config, &trace->diag);
    if (trace->code == 0) {
        trace->code = config_bind(trace->config, fields, &families, &trace->arena, &trace->variant,
                                  sizeof trace->variant, &trace->diag);
    }
    return trace->code;
}

int trace_source_requests(struct trace_source *trace, uint64_t seed, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bind(trace, request_fields, seed, format, args);
    va_end(args);
    if (trace->code == 0) {
        const struct trace_format *entry = trace->variant.entry;
        trace->code = entry->open_requests(trace->variant.params, &trace->options, &trace->requests, &trace->diag);
    }
    keep_message(trace);
    return trace->code;
}

int trace_source_jobs(struct trace_source *trace, uint64_t seed, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bind(trace, job_fields, seed, format, args);
    va_end(args);
    if (trace->code == 0) {
        const struct trace_format *entry = trace->variant.entry;
        trace->code = entry->open_jobs(trace->variant.params, &trace->options, &trace->jobs, &trace->diag);
    }
    keep_message(trace);
    return trace->code;
}

void trace_source_fini(struct trace_source *trace)
{
    if (trace->requests != NULL) trace->requests->close(trace->requests);
    if (trace->jobs != NULL) trace->jobs->close(trace->jobs);
    config_destroy(trace->config);
    arena_fini(&trace->arena);
    *trace = (struct trace_source){0};
}

int trace_source_request(struct trace_source *trace, struct request_record *record)
{
    int code = trace->requests->next(trace->requests, record, &trace->diag);
    keep_message(trace);
    return code;
}

int trace_source_job(struct trace_source *trace, struct job_record *record)
{
    int code = trace->jobs->next(trace->jobs, record, &trace->diag);
    keep_message(trace);
    return code;
}

struct trace_totals trace_source_totals(struct trace_source *trace)
{
    struct trace_totals totals = {.ordered = true};
    struct request_record record;
    while ((totals.code = trace_source_request(trace, &record)) == 1) {
        if (totals.n++ == 0) totals.first_ns = record.arrival_ns;
        totals.ordered &= record.arrival_ns >= totals.last_ns;
        totals.last_ns = record.arrival_ns;
        totals.prompt_tokens += record.prompt_tokens;
        totals.output_tokens += record.output_tokens;
        totals.blocks += record.n_prefix_blocks;
    }
    return totals;
}

int64_t trace_source_note(const struct trace_source *trace, const char *code)
{
    struct source_note note;
    for (size_t i = 0;; i++) {
        bool more = trace->requests != NULL ? trace->requests->note(trace->requests, i, &note)
                                            : trace->jobs->note(trace->jobs, i, &note);
        if (!more) return 0;
        if (strcmp(note.code, code) == 0) return note.count;
    }
}

const char *trace_source_file_bytes(const char *name, const void *bytes, size_t n_bytes)
{
    static char path[512]; /* of the latest file */
    snprintf(path, sizeof path, "%s/%s", test_tmpdir(), name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(bytes, 1, n_bytes, file) != n_bytes || fclose(file) != 0) abort();
    return path;
}

const char *trace_source_file(const char *name, const char *text)
{
    return trace_source_file_bytes(name, text, strlen(text));
}

int trace_source_profiles(const char *json, struct arena *arena, struct config_list *profiles, struct diag *diag)
{
    static const struct config_field fields[] = {{.name = "profiles", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED,
                                                  .family = "job-profile", .tag = "format"},
                                                 {0}};
    struct config *config;
    struct config_variant variant = {.entry = NULL};
    int code = config_parse("t.json", ".", json, strlen(json), &config, diag);
    if (code == 0) code = config_bind(config, fields, &families, arena, &variant, sizeof variant, diag);
    config_destroy(config);
    const struct job_profile_format *format = variant.entry;
    return code == 0 ? format->read(variant.params, arena, profiles, diag) : code;
}
