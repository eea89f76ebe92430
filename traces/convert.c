#include "traces/convert.h"

#include "sim/core/key_map.h"
#include "sim/core/output.h"
#include "traces/session.h"

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
    const int32_t of_prompt = r->prefix_covers_output ? r->prompt_tokens / r->prefix_block_tokens : INT32_MAX;
    const int32_t n = of_prompt < r->n_prefix_blocks ? of_prompt : r->n_prefix_blocks;
    for (int32_t i = 0; i < n; i++) {
        text_printf(text, "%s%" PRIu64, i > 0 ? separator : "", r->prefix_blocks[i]);
    }
}

/* --- csv --- */

static void begin_csv(struct text *text, const struct request_record *r)
{
    add_seconds(text, r->arrival_ns);
    text_printf(text, ",%" PRId32 ",%" PRId32, r->prompt_tokens, r->output_tokens);
    text_add(text, ",");
    add_blocks(text, r, " ");
}

static void end_csv(struct text *text, const struct request_record *r)
{
    if (r->class_name != NULL) {
        text_add(text, ",");
        add_field(text, r->class_name);
    }
    text_add(text, "\n");
}

static void add_csv(struct text *text, const struct request_record *r)
{
    begin_csv(text, r);
    end_csv(text, r);
}

static void add_csv_with_chunks(struct text *text, const struct request_record *r)
{
    begin_csv(text, r);
    text_add(text, ",");
    for (int32_t i = 0; i < r->n_chunks; i++)
        text_printf(text, "%s%" PRIu64 ":%" PRId32, i > 0 ? " " : "", r->chunks[i].id, r->chunks[i].tokens);
    end_csv(text, r);
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

/* --- jsonl --- */

static void add_object(struct text *text, const struct request_record *r)
{
    text_add(text, "{\"arrival_s\": ");
    add_seconds(text, r->arrival_ns);
    text_printf(text, ", \"prompt_tokens\": %" PRId32 ", \"output_tokens\": %" PRId32, r->prompt_tokens,
                r->output_tokens);
    if (r->n_prefix_blocks > 0) {
        text_add(text, ", \"prefix_blocks\": [");
        add_blocks(text, r, ", ");
        text_add(text, "]");
    }
    for (int32_t i = 0; i < r->n_chunks; i++)
        text_printf(text, "%s[%" PRIu64 ", %" PRId32 "]%s", i > 0 ? ", " : ", \"chunks\": [", r->chunks[i].id,
                    r->chunks[i].tokens, i + 1 == r->n_chunks ? "]" : "");
    if (r->class_name != NULL) text_printf(text, ", \"class\": \"%s\"", r->class_name);
    if (r->session_id > 0) text_printf(text, ", \"session\": %" PRId64, r->session_id);
    text_add(text, "}\n");
}

/* --- sessions --- */

enum session_list { LIST_INPUT, LIST_OUTPUT, LIST_WAIT, LIST_TOOL, LIST_PARENT, LIST_JOIN, SESSION_LISTS };

static void add_turn_value(struct text *text, const struct session_turn *turn, enum session_list list)
{
    switch (list) {
    case LIST_INPUT: text_printf(text, "%" PRId32, turn->input_tokens); break;
    case LIST_OUTPUT: text_printf(text, "%" PRId32, turn->output_tokens); break;
    case LIST_WAIT: add_seconds(text, turn->wait_ns); break;
    case LIST_TOOL: text_printf(text, "%d", turn->is_tool); break;
    case LIST_PARENT: text_printf(text, "%" PRId32, turn->parent); break;
    default: text_printf(text, "%" PRId32, turn->joined_by); break;
    }
}

/* Whether all values are what the absence of the list means. */
static bool is_default(const struct session_plan *plan, enum session_list list)
{
    bool differs = list <= LIST_OUTPUT;
    for (size_t i = 0; i < plan->n_turns; i++) {
        const struct session_turn *turn = &plan->turns[i];
        differs = differs || (list == LIST_WAIT && turn->wait_ns > 0) || (list == LIST_TOOL && turn->is_tool) ||
                  (list == LIST_PARENT && turn->parent != (int32_t)i - 1) ||
                  (list == LIST_JOIN && turn->joined_by >= 0);
    }
    return !differs;
}

static void add_session(struct text *text, const struct request_record *first, const struct session_plan *plan)
{
    static const char *const names[SESSION_LISTS] = {"input", "output", "wait_s", "tool", "parent", "join"};
    text_add(text, "{\"arrival_s\": ");
    add_seconds(text, first->arrival_ns);
    if (plan->class_name != NULL) text_printf(text, ", \"class\": \"%s\"", plan->class_name);
    if (plan->system_tokens > 0)
        text_printf(text, ", \"system\": \"%s\", \"system_tokens\": %" PRId32, plan->system, plan->system_tokens);
    for (int list = 0; list < SESSION_LISTS; list++) {
        if (is_default(plan, (enum session_list)list)) continue;
        text_printf(text, ", \"%s\": [", names[list]);
        for (size_t i = 0; i < plan->n_turns; i++) {
            if (i > 0) text_add(text, ", ");
            add_turn_value(text, &plan->turns[i], (enum session_list)list);
        }
        text_add(text, "]");
    }
    text_add(text, "}\n");
}

/* --- csv-jobs --- */

static void add_needs(struct text *text, const struct job_record *r)
{
    if (r->n_enough > 0) text_printf(text, "%" PRId32 "of ", r->n_enough);
    for (int32_t i = 0; i < r->n_needs; i++) {
        text_printf(text, "%s%" PRId64, i > 0 ? " " : "", r->needs[i].job);
        if (r->needs[i].delay_ns > 0) {
            text_add(text, ":");
            add_seconds(text, r->needs[i].delay_ns);
        }
        if (r->needs[i].keeps_gpus) text_add(text, "!");
    }
}

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
    text_printf(text, ",%s", statuses[r->status]);
}

/* Nothing if it is unknown. */
static void add_known(struct text *text, int64_t value)
{
    text_add(text, ",");
    if (value > 0) text_printf(text, "%" PRId64, value);
}

static void end_csv_job(struct text *text, const struct job_record *r)
{
    text_add(text, ",");
    if (r->gpu_models != NULL) add_field(text, r->gpu_models);
    add_known(text, r->cpu_milli);
    add_known(text, r->memory_bytes);
    text_add(text, "\n");
}

static void add_plain_job(struct text *text, const struct job_record *r)
{
    add_csv_job(text, r);
    end_csv_job(text, r);
}

static void add_graph_job(struct text *text, const struct job_record *r)
{
    add_csv_job(text, r);
    text_add(text, ",");
    add_needs(text, r);
    end_csv_job(text, r);
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
     .writes_blocks = true,
     .writes_classes = true,
     .request = add_csv},
    {.name = "csv-chunks",
     .summary = "csv with the chunks of prompts",
     .header = "arrival_s,prompt_tokens,output_tokens,prefix_blocks,chunks\n",
     .class_header = "arrival_s,prompt_tokens,output_tokens,prefix_blocks,chunks,class\n",
     .writes_blocks = true,
     .writes_classes = true,
     .writes_chunks = true,
     .request = add_csv_with_chunks},
    {.name = "jsonl",
     .summary = "JSON Lines of requests, exact",
     .header = "",
     .writes_blocks = true,
     .writes_classes = true,
     .writes_chunks = true,
     .writes_sessions = true,
     .request = add_object},
    {.name = "azure-llm",
     .summary = "columns of the Azure traces",
     .header = "TIMESTAMP,ContextTokens,GeneratedTokens\n",
     .request = add_azure},
    {.name = "mooncake",
     .summary = "JSON Lines with prefix blocks",
     .header = "",
     .writes_blocks = true,
     .request = add_mooncake},
    {.name = "sessions", .summary = "JSON Lines with sessions of several turns", .header = "", .session = add_session},
    {.name = "csv-jobs",
     .summary = "table of jobs, exact",
     .header = "job_id,submit_s,duration_s,gpus,nodes,gpu_milli,estimate_s,group,user,type,fate,gpu_models,cpu_milli,"
               "memory_bytes\n",
     .writes_job_details = true,
     .job = add_plain_job},
    {.name = "csv-graphs",
     .summary = "csv-jobs with the jobs that each comes after",
     .header = "job_id,submit_s,duration_s,gpus,nodes,gpu_milli,estimate_s,group,user,type,fate,after,gpu_models,"
               "cpu_milli,memory_bytes\n",
     .writes_job_details = true,
     .says_needs = true,
     .job = add_graph_job},
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

/* Writes the session that a request begins, and ends it. */
static int write_session(struct request_source *source, const struct trace_writer *writer,
                         const struct request_record *first, struct text *text, struct diag *diag)
{
    const struct request_end end = {.id = first->id, .session_id = first->session_id, .now_ns = first->arrival_ns};
    struct request_record none;
    writer->session(text, first, source->session(source, first->session_id));
    return source->follow(source, &end, &none, diag);
}

static int write_request(struct request_source *source, const struct trace_writer *writer,
                         const struct request_record *record, struct text *text, struct diag *diag)
{
    if (writer->session != NULL) return write_session(source, writer, record, text, diag);
    writer->request(text, record);
    return 0;
}

/* What has been said of the records so far. */
struct said {
    bool sessions, blocks, classes, chunks;
};

/* Says once what becomes of the sessions that a log names. */
static void warn_of_sessions(const struct trace_writer *writer, const struct request_record *record, const char *path,
                             struct said *said, struct diag *diag)
{
    if (said->sessions || !record->session_is_logged) return;
    said->sessions = true;
    if (writer->writes_sessions)
        diag_warning(diag, path, "read it with columns.session=session", "its sessions have numbers as names");
    else
        diag_warning(diag, path, "write it as jsonl", "the sessions of its requests are left out");
}

/* Says once of each that the records have it and the file does not. */
static void warn_of_losses(const struct trace_writer *writer, const struct request_record *record, const char *path,
                           struct said *said, struct diag *diag)
{
    warn_of_sessions(writer, record, path, said, diag);
    if (!said->chunks && !writer->writes_chunks && record->n_chunks > 0)
        diag_warning(diag, path, "write it as csv-chunks or jsonl", "the chunks of its prompts are left out");
    said->chunks |= record->n_chunks > 0;
    if (writer->session != NULL) return;
    if (!said->blocks && !writer->writes_blocks && record->n_prefix_blocks > 0)
        diag_warning(diag, path, "write it as csv, jsonl or mooncake",
                     "the prefix blocks of its prompts are left out: prefix caches find nothing");
    if (!said->classes && !writer->writes_classes && record->class_name != NULL)
        diag_warning(diag, path, "write it as csv or jsonl", "the classes of its requests are left out");
    said->blocks |= record->n_prefix_blocks > 0;
    said->classes |= record->class_name != NULL;
}

int trace_convert_requests(struct request_source *source, const struct trace_writer *writer, const char *path,
                           int64_t *n, struct diag *diag)
{
    struct output *output;
    struct request_record record;
    struct said said = {0};
    int code = output_open(path, &output, diag);
    *n = 0;
    if (code != 0) return code;
    code = source->next(source, &record, diag);
    if (code == 1 && writer->writes_blocks && record.n_prefix_blocks > 0 && record.prefix_block_tokens != 512)
        diag_warning(diag, path, NULL,
                     "its prefix blocks have %" PRId32 " tokens: read it with \"block_tokens\": %" PRId32,
                     record.prefix_block_tokens, record.prefix_block_tokens);
    const bool classed = code == 1 && record.class_name != NULL && writer->class_header != NULL;
    text_add(output_text(output), classed ? writer->class_header : writer->header);
    while (code == 1) {
        warn_of_losses(writer, &record, path, &said, diag);
        code = write_request(source, writer, &record, output_text(output), diag);
        if (code == 0) code = output_flush(output, diag);
        if (code != 0) break;
        ++*n;
        code = source->next(source, &record, diag);
    }
    int closed = output_close(output, code != 0, diag);
    return code != 0 ? code : closed;
}

/* Jobs that the source has left out cannot be named. */
static int check_needs(const struct trace_writer *writer, struct key_map *written, const struct job_record *record,
                       const char *path, struct diag *diag)
{
    int32_t n_left_out = 0;
    if (!writer->says_needs && record->n_needs > 0)
        return diag_error(diag, SIM_E_USAGE, path, "convert with --to csv-graphs",
                          "job %" PRId64 " comes after others, which '%s' cannot say", record->id, writer->name);
    if (!writer->says_needs) return 0;
    for (int32_t i = 0; i < record->n_needs; i++)
        n_left_out += key_map_find(written, (uint64_t)record->needs[i].job) < 0;
    if (n_left_out > 0)
        return diag_error(diag, SIM_E_USAGE, path, "convert the whole trace, and let the run leave jobs out",
                          "job %" PRId64 " comes after %" PRId32 " jobs that a transform has left out", record->id,
                          n_left_out);
    return key_map_set(written, (uint64_t)record->id, 0) == 0 ? 0 : diag_nomem(diag);
}

/* What of jobs a file cannot hold. */
struct omission {
    const char *what;
    bool (*has)(const struct job_record *record);
    bool is_detail; /* writers with writes_job_details hold it */
};

static bool has_loss(const struct job_record *record)
{
    return record->has_loss;
}

static bool has_share(const struct job_record *record)
{
    return record->gpu_milli < 1000;
}

static bool has_models(const struct job_record *record)
{
    return record->gpu_models != NULL && *record->gpu_models != 0;
}

static bool has_host_needs(const struct job_record *record)
{
    return record->cpu_milli > 0 || record->memory_bytes > 0;
}

static bool has_nodes(const struct job_record *record)
{
    return record->nodes > 0;
}

static bool has_estimate(const struct job_record *record)
{
    return record->estimate_ns != record->duration_ns;
}

static bool has_names(const struct job_record *record)
{
    return (record->user != NULL && *record->user != 0) || (record->type != NULL && *record->type != 0);
}

static bool has_other_fate(const struct job_record *record)
{
    return record->status != JOB_COMPLETES;
}

static const struct omission omissions[] = {
    {"the losses at the end of its trials are left out", has_loss, false},
    {"shares of GPUs become whole GPUs", has_share, true},
    {"the GPU models that its jobs accept are left out", has_models, true},
    {"the CPUs and the memory of its jobs are left out", has_host_needs, true},
    {"the numbers of nodes that its jobs ask for are left out", has_nodes, true},
    {"the run times that its users estimated are left out", has_estimate, true},
    {"the users or types of its jobs are left out", has_names, true},
    {"that some of its jobs were cancelled or failed is left out", has_other_fate, true}};

enum { OMISSIONS = sizeof omissions / sizeof *omissions };

/* Says once of each that the jobs have it and the file does not. */
static void warn_of_omissions(const struct trace_writer *writer, const struct job_record *record, const char *path,
                              bool said[OMISSIONS], struct diag *diag)
{
    for (size_t i = 0; i < OMISSIONS; i++) {
        const struct omission *omission = &omissions[i];
        if (said[i] || (omission->is_detail && writer->writes_job_details) || !omission->has(record)) continue;
        said[i] = true;
        diag_warning(diag, path, omission->is_detail ? "write it as csv-jobs" : NULL, "%s", omission->what);
    }
}

/* The run time of jobs that state steps is not known before a run. */
static int check_run_time(const struct trace_writer *writer, const struct job_record *record, const char *path,
                          struct diag *diag)
{
    if (record->steps == 0) return 0;
    return diag_error(diag, SIM_E_USAGE, path, "give its job a 'duration'",
                      "job %" PRId64 " has no run time before it runs, and '%s' cannot say what decides it", record->id,
                      writer->name);
}

int trace_convert_jobs(struct job_source *source, const struct trace_writer *writer, const char *path, int64_t *n,
                       struct diag *diag)
{
    struct output *output;
    struct job_record record;
    struct key_map written = {0};
    bool said[OMISSIONS] = {false};
    int code = output_open(path, &output, diag);
    *n = 0;
    if (code != 0) return code;
    text_add(output_text(output), writer->header);
    while ((code = source->next(source, &record, diag)) == 1) {
        code = check_run_time(writer, &record, path, diag);
        if (code == 0) code = check_needs(writer, &written, &record, path, diag);
        if (code != 0) break;
        warn_of_omissions(writer, &record, path, said, diag);
        writer->job(output_text(output), &record);
        code = output_flush(output, diag);
        if (code != 0) break;
        ++*n;
    }
    key_map_fini(&written);
    int closed = output_close(output, code != 0, diag);
    return code != 0 ? code : closed;
}
