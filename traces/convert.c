#include "traces/convert.h"

#include "sim/core/output.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define FIRST_SECOND INT64_C(1704067200) /* 2024-01-01 00:00:00 UTC */

/* Exact seconds: "66", "0.209966". */
static void add_seconds(struct text *text, sim_ns ns)
{
    text_printf(text, "%" PRId64, ns / SIM_NS_PER_S);
    if (ns % SIM_NS_PER_S == 0) return;
    text_printf(text, ".%09" PRId64, ns % SIM_NS_PER_S);
    while (!text->failed && text->chars[text->length - 1] == '0') text->chars[--text->length] = 0;
}

/* "2024-01-01 00:00:00" */
static void add_calendar(struct text *text, sim_ns ns)
{
    time_t second = (time_t)(FIRST_SECOND + ns / SIM_NS_PER_S);
    struct tm tm;
    char chars[32];
    gmtime_r(&second, &tm);
    strftime(chars, sizeof chars, "%Y-%m-%d %H:%M:%S", &tm);
    text_add(text, chars);
}

/* Text of a table, quoted if necessary. */
static void add_field(struct text *text, const char *chars)
{
    if (strpbrk(chars, ",\"\n") == NULL && (*chars == 0 || strchr(" \t", *chars) == NULL)) {
        text_add(text, chars);
        return;
    }
    text_add(text, "\"");
    for (; *chars; chars++) text_printf(text, *chars == '"' ? "\"\"" : "%c", *chars);
    text_add(text, "\"");
}

static void add_blocks(struct text *text, const struct request_record *r, const char *separator)
{
    for (int32_t i = 0; i < r->n_prefix_blocks; i++) {
        text_printf(text, "%s%" PRIu64, i > 0 ? separator : "", r->prefix_blocks[i]);
    }
}

/* --- csv --- */

static void add_csv(struct text *text, const struct request_record *r)
{
    add_seconds(text, r->arrival_ns);
    text_printf(text, ",%" PRId32 ",%" PRId32, r->prompt_tokens, r->output_tokens);
    text_add(text, ",");
    add_blocks(text, r, " ");
    if (r->class_name != NULL) {
        text_add(text, ",");
        add_field(text, r->class_name);
    }
    text_add(text, "\n");
}

/* --- azure-llm --- */

static void add_azure(struct text *text, const struct request_record *r)
{
    add_calendar(text, r->arrival_ns);
    text_printf(text, ".%07" PRId64 ",%" PRId32 ",%" PRId32 "\n", r->arrival_ns % SIM_NS_PER_S / 100, r->prompt_tokens,
                r->output_tokens);
}

/* --- mooncake --- */

static void add_mooncake(struct text *text, const struct request_record *r)
{
    text_printf(text, "{\"timestamp\": %" PRId64 ", \"input_length\": %" PRId32 ", \"output_length\": %" PRId32,
                r->arrival_ns / 1000000, r->prompt_tokens, r->output_tokens);
    text_add(text, ", \"hash_ids\": [");
    add_blocks(text, r, ", ");
    text_add(text, "]}\n");
}

/* --- csv-jobs --- */

static void add_csv_job(struct text *text, const struct job_record *r)
{
    static const char *const statuses[] = {
        [JOB_COMPLETES] = "completed", [JOB_IS_CANCELLED] = "cancelled", [JOB_FAILS] = "failed"};
    text_printf(text, "%" PRId64 ",", r->id);
    add_seconds(text, r->submit_ns);
    text_add(text, ",");
    add_seconds(text, r->duration_ns);
    text_printf(text, ",%" PRId32 ",%" PRId32 ",%" PRId32 ",", r->gpus, r->nodes, r->gpu_milli);
    add_seconds(text, r->estimate_ns);
    text_add(text, ",");
    add_field(text, r->group);
    text_add(text, ",");
    add_field(text, r->user);
    text_add(text, ",");
    add_field(text, r->type);
    text_printf(text, ",%s\n", statuses[r->status]);
}

/* --- philly --- */

static void add_philly(struct text *text, const struct job_record *r)
{
    int64_t duration_s = r->duration_ns / SIM_NS_PER_S;
    add_calendar(text, r->submit_ns);
    text_printf(text, ",%" PRId64 ".0,%" PRId32 ",%" PRId64 ".0,", duration_s, r->gpus, duration_s * r->gpus);
    add_field(text, r->group);
    text_add(text, "\n");
}

static const struct trace_writer writers[] = {
    {.name = "csv",
     .summary = "table of requests, exact",
     .header = "arrival_s,prompt_tokens,output_tokens,prefix_blocks\n",
     .class_header = "arrival_s,prompt_tokens,output_tokens,prefix_blocks,class\n",
     .request = add_csv},
    {.name = "azure-llm",
     .summary = "columns of the Azure traces",
     .header = "TIMESTAMP,ContextTokens,GeneratedTokens\n",
     .request = add_azure},
    {.name = "mooncake", .summary = "JSON Lines with prefix blocks", .header = "", .request = add_mooncake},
    {.name = "csv-jobs",
     .summary = "table of jobs, exact",
     .header = "job_id,submit_s,duration_s,gpus,nodes,gpu_milli,estimate_s,group,user,type,fate\n",
     .job = add_csv_job},
    {.name = "philly",
     .summary = "columns of the Philly list",
     .header = "timestamp,duration,num_gpus,gpu_time,virtual_cluster\n",
     .job = add_philly}};

const struct trace_writer *trace_writer_at(size_t index)
{
    return index < sizeof writers / sizeof *writers ? &writers[index] : NULL;
}

const struct trace_writer *trace_writer_find(const char *name)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        if (strcmp(writers[i].name, name) == 0) return &writers[i];
    }
    return NULL;
}

int trace_convert_requests(struct request_source *source, const struct trace_writer *writer, const char *path,
                           int64_t *n, struct diag *diag)
{
    struct output *output;
    struct request_record record;
    int code = output_open(path, &output, diag);
    *n = 0;
    if (code != 0) return code;
    code = source->next(source, &record, diag);
    const bool classed = code == 1 && record.class_name != NULL && writer->class_header != NULL;
    text_add(output_text(output), classed ? writer->class_header : writer->header);
    while (code == 1) {
        writer->request(output_text(output), &record);
        code = output_flush(output, diag);
        if (code != 0) break;
        ++*n;
        code = source->next(source, &record, diag);
    }
    int closed = output_close(output, code != 0, diag);
    return code != 0 ? code : closed;
}

int trace_convert_jobs(struct job_source *source, const struct trace_writer *writer, const char *path, int64_t *n,
                       struct diag *diag)
{
    struct output *output;
    struct job_record record;
    int code = output_open(path, &output, diag);
    *n = 0;
    if (code != 0) return code;
    text_add(output_text(output), writer->header);
    while ((code = source->next(source, &record, diag)) == 1) {
        writer->job(output_text(output), &record);
        code = output_flush(output, diag);
        if (code != 0) break;
        ++*n;
    }
    int closed = output_close(output, code != 0, diag);
    return code != 0 ? code : closed;
}
