#include "sim/store/timeline.h"

#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/core/output.h"
#include "sim/core/text.h"
#include "sim/core/units.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Events as text --- */

/* Process ids: the site, the services in the order of their first rows, GPUs on no node, the nodes. */
enum { PID_SITE = 1, PID_SERVICES = 2, PID_NO_NODE = 999999, PID_NODES = 1000000 };

struct span {
    int64_t from_ns, to_ns;
};

/* Seconds of a row in whole nanoseconds. */
static int64_t timeline_ns(double time_s)
{
    return llrint(time_s * 1e9);
}

/* Adds nanoseconds as microseconds, with decimals only if needed. */
static void add_us(struct text *text, int64_t ns)
{
    int64_t rest = ns % 1000;
    if (rest == 0)
        text_printf(text, "%" PRId64, ns / 1000);
    else
        text_printf(text, "%" PRId64 ".%03" PRId64, ns / 1000, rest);
}

/* Begins an event: separator, kind ('X', 'b' ...), process, thread and time. The caller adds members, each after a
 * comma, and "}". */
static void timeline_begin(struct text *text, char kind, int64_t pid, int64_t tid, int64_t at_ns)
{
    text_printf(text, ",\n{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", kind, pid, tid);
    add_us(text, at_ns);
}

/* Adds ,"dur": the length of a slice. */
static void timeline_duration(struct text *text, struct span span)
{
    text_add(text, ",\"dur\":");
    add_us(text, span.to_ns - span.from_ns);
}

static void add_metadata(struct text *text, const char *what, int64_t pid, int64_t tid)
{
    text_printf(text, ",\n{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":\"%s\",\"args\":{", pid, tid,
                what);
}

/* Names a process (tid 0) or a thread, and puts processes in the order of their ids. */
static void timeline_name(struct text *text, int64_t pid, int64_t tid, const char *name)
{
    add_metadata(text, tid == 0 ? "process_name" : "thread_name", pid, tid);
    text_add(text, "\"name\":");
    text_json_string(text, name);
    text_add(text, "}}");
    if (tid > 0) return;
    add_metadata(text, "process_sort_index", pid, tid);
    text_printf(text, "\"sort_index\":%" PRId64 "}}", pid);
}

/* --- Jobs on their GPUs ---
 *
 * Their rows come when they leave, so the lanes are given out at the end, in the order in which the jobs came. */

struct timeline_job {
    struct span span;
    int64_t job, node, gpus;
};

struct timeline_jobs {
    size_t n, capacity;
    struct timeline_job *jobs;
};

/* Returns 0 or SIM_E_NOMEM. */
static int timeline_jobs_add(struct timeline_jobs *jobs, const struct placement_row *row)
{
    const struct timeline_job job = {.span = {timeline_ns(row->start_s), timeline_ns(row->end_s)},
                                     .job = row->job,
                                     .node = row->node,
                                     .gpus = row->gpus};
    return vec_push(&jobs->jobs, &jobs->n, &jobs->capacity, job);
}

static void timeline_jobs_fini(struct timeline_jobs *jobs)
{
    mem_free(jobs->jobs);
    *jobs = (struct timeline_jobs){0};
}

static int compare(const void *a, const void *b)
{
    const struct timeline_job *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    if (x->span.from_ns != y->span.from_ns) return x->span.from_ns < y->span.from_ns ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* The lanes of one node, with the time at which each becomes free. */
struct lanes {
    size_t n, capacity;
    int64_t *free_ns;
};

/* Takes the lowest lane that is free at the start of the span, until its end. Returns its number or SIM_E_NOMEM. */
static int64_t take_lane(struct lanes *lanes, struct span span)
{
    size_t lane = 0;
    while (lane < lanes->n && lanes->free_ns[lane] > span.from_ns) lane++;
    if (lane == lanes->n && vec_push(&lanes->free_ns, &lanes->n, &lanes->capacity, 0) != 0) return SIM_E_NOMEM;
    lanes->free_ns[lane] = span.to_ns;
    return (int64_t)lane;
}

static void write_name(struct text *text, int64_t pid, int64_t tid, const char *what, int64_t number)
{
    char name[32];
    snprintf(name, sizeof name, "%s %" PRId64, what, number);
    timeline_name(text, pid, tid, name);
}

static int64_t pid_of(const struct timeline_job *job)
{
    return job->node < 0 ? PID_NO_NODE : PID_NODES + job->node;
}

static int write_job(const struct timeline_job *job, struct lanes *lanes, struct text *text)
{
    int64_t n_slices = job->node < 0 ? 1 : job->gpus;
    for (int64_t i = 0; i < n_slices; i++) {
        size_t known = lanes->n;
        int64_t lane = take_lane(lanes, job->span);
        if (lane < 0) return SIM_E_NOMEM;
        if (lanes->n > known) write_name(text, pid_of(job), lane + 1, job->node < 0 ? "lane" : "GPU", lane);
        timeline_begin(text, 'X', pid_of(job), lane + 1, job->span.from_ns);
        timeline_duration(text, job->span);
        text_printf(text, ",\"name\":\"job %" PRId64 "\",\"args\":{\"gpus\":%" PRId64 "}}", job->job, job->gpus);
    }
    return 0;
}

/* Writes a slice for each job and GPU, or for each job if it is on no node in particular. Returns 0, SIM_E_IO or
 * SIM_E_NOMEM. */
static int timeline_jobs_write(struct timeline_jobs *jobs, struct output *output, struct diag *diag)
{
    struct lanes lanes = {0};
    struct text *text = output_text(output);
    int code = 0;
    if (jobs->n > 0) qsort(jobs->jobs, jobs->n, sizeof *jobs->jobs, compare);
    for (size_t i = 0; code == 0 && i < jobs->n; i++) {
        const struct timeline_job *job = &jobs->jobs[i];
        if (i == 0 || job->node != job[-1].node) {
            lanes.n = 0;
            if (job->node < 0)
                timeline_name(text, PID_NO_NODE, 0, "GPUs");
            else
                write_name(text, pid_of(job), 0, "node", job->node);
        }
        code = write_job(job, &lanes, text);
        if (code == 0) code = output_flush(output, diag);
    }
    mem_free(lanes.free_ns);
    return code;
}

/* --- The timeline --- */

/* A service, shown as a process; its index determines the process id. */
struct service {
    char *name;
    int64_t n_replicas; /* threads named so far */
};

struct timeline {
    struct output *output;
    struct diag *diag;
    char *path;
    struct timeline_options options;
    struct span window;
    struct service *services;
    size_t n_services, services_capacity, latest; /* latest: the last service looked up */
    struct timeline_jobs jobs;
    struct request_row *unfinished; /* written at the end; `service` is NULL, `cached_tokens` the process */
    size_t n_unfinished, unfinished_capacity;
    int64_t end_ns, bytes;
};

static bool in_window(const struct timeline *timeline, struct span span)
{
    return span.from_ns <= timeline->window.to_ns && span.to_ns >= timeline->window.from_ns;
}

/* Writes the buffered events. */
static int flush(struct timeline *timeline)
{
    const struct text *text = output_text(timeline->output);
    size_t before = text->length;
    int code = output_flush(timeline->output, timeline->diag);
    if (text->length == 0) timeline->bytes += (int64_t)before;
    return code;
}

/* The process of the service named by `n` characters; a new one is added and named. SIM_E_NOMEM on failure. */
static int64_t service_pid(struct timeline *timeline, const char *name, size_t n)
{
    for (size_t i = 0; i < timeline->n_services; i++) {
        size_t k = (timeline->latest + i) % timeline->n_services;
        const char *known = timeline->services[k].name;
        if (strncmp(known, name, n) != 0 || known[n] != 0) continue;
        timeline->latest = k;
        return PID_SERVICES + (int64_t)k;
    }
    char *copy = mem_zalloc(n + 1, 1);
    if (copy == NULL) return SIM_E_NOMEM;
    memcpy(copy, name, n);
    timeline->latest = timeline->n_services;
    if (vec_push(&timeline->services, &timeline->n_services, &timeline->services_capacity,
                 ((struct service){.name = copy})) != 0) {
        mem_free(copy);
        return SIM_E_NOMEM;
    }
    int64_t pid = PID_SERVICES + (int64_t)timeline->latest;
    struct text title;
    text_init(&title);
    text_printf(&title, "service %s", copy);
    if (!title.failed) timeline_name(output_text(timeline->output), pid, 0, title.chars);
    int code = title.failed ? SIM_E_NOMEM : 0;
    text_fini(&title);
    return code != 0 ? code : pid;
}

/* --- Batches --- */

static void name_replicas(struct timeline *timeline, int64_t pid, int64_t replica)
{
    struct service *service = &timeline->services[pid - PID_SERVICES];
    char name[32];
    for (; service->n_replicas <= replica; service->n_replicas++) {
        snprintf(name, sizeof name, "replica %" PRId64, service->n_replicas);
        timeline_name(output_text(timeline->output), pid, service->n_replicas + 1, name);
    }
}

static int on_batch(void *context, const struct batch_row *row)
{
    struct timeline *timeline = context;
    struct span span = {timeline_ns(row->start_s), timeline_ns(row->end_s)};
    if (!in_window(timeline, span)) return 0;
    int64_t pid = service_pid(timeline, row->service, strlen(row->service));
    if (pid < 0) return (int)pid;
    name_replicas(timeline, pid, row->replica);
    const char *name = row->prefill_sequences == 0 ? "decode" : row->decoding == 0 ? "prefill" : "prefill + decode";
    struct text *text = output_text(timeline->output);
    timeline_begin(text, 'X', pid, row->replica + 1, span.from_ns);
    timeline_duration(text, span);
    text_printf(text,
                ",\"name\":\"%s\",\"args\":{\"iterations\":%" PRId64 ",\"prefill_sequences\":%" PRId64
                ",\"prefill_tokens\":%" PRId64 ",\"decoding\":%" PRId64 "}}",
                name, row->iterations, row->prefill_sequences, row->prefill_tokens, row->decoding);
    return flush(timeline);
}

/* --- Requests --- */

static bool is_shown(const struct timeline *timeline, int64_t id)
{
    return hash_mix((uint64_t)id + UINT64_C(0x9e3779b97f4a7c15)) % (uint64_t)timeline->options.one_in == 0;
}

/* Adds one end ('b' or 'e') of a request's span. */
static void add_end(struct text *text, char kind, int64_t pid, int64_t id, int64_t at_ns, const char *name)
{
    timeline_begin(text, kind, pid, 0, at_ns);
    text_printf(text, ",\"cat\":\"requests of %" PRId64 "\",\"id\":%" PRId64 ",\"name\":\"%s\"", pid, id, name);
}

static void add_part(struct text *text, int64_t pid, int64_t id, struct span span, const char *name)
{
    if (span.from_ns == span.to_ns) return;
    add_end(text, 'b', pid, id, span.from_ns, name);
    text_add(text, "}");
    add_end(text, 'e', pid, id, span.to_ns, name);
    text_add(text, "}");
}

/* The time `wait_s` after the arrival; end_ns if the event never happened. */
static int64_t after(const struct request_row *row, double wait_s, int64_t end_ns)
{
    return isnan(wait_s) ? end_ns : timeline_ns(row->arrival_s + wait_s);
}

static int write_request(struct timeline *timeline, const struct request_row *row, int64_t pid, int64_t end_ns)
{
    int64_t arrival_ns = timeline_ns(row->arrival_s);
    int64_t scheduled_ns = after(row, row->queue_s, end_ns), first_token_ns = after(row, row->ttft_s, end_ns);
    struct text *text = output_text(timeline->output);
    char name[32];
    if (!in_window(timeline, (struct span){arrival_ns, end_ns})) return 0;
    snprintf(name, sizeof name, "request %" PRId64, row->id);
    add_end(text, 'b', pid, row->id, arrival_ns, name);
    text_printf(text,
                ",\"args\":{\"prompt_tokens\":%" PRId64 ",\"output_tokens\":%" PRId64 ",\"replica\":%" PRId64
                ",\"preemptions\":%" PRId64 ",\"status\":\"%s\"}}",
                row->prompt_tokens, row->output_tokens, row->replica, row->preemptions, row->status);
    add_part(text, pid, row->id, (struct span){arrival_ns, scheduled_ns}, "queued");
    add_part(text, pid, row->id, (struct span){scheduled_ns, first_token_ns}, "prefill");
    add_part(text, pid, row->id, (struct span){first_token_ns, end_ns}, "decode");
    add_end(text, 'e', pid, row->id, end_ns, name);
    text_add(text, "}");
    return flush(timeline);
}

static int defer(struct timeline *timeline, const struct request_row *row, int64_t pid)
{
    struct request_row kept = *row;
    kept.service = NULL;
    kept.status = "unfinished";
    kept.cached_tokens = pid;
    return vec_push(&timeline->unfinished, &timeline->n_unfinished, &timeline->unfinished_capacity, kept);
}

static int on_request(void *context, const struct request_row *row)
{
    struct timeline *timeline = context;
    if (!is_shown(timeline, row->id) || strcmp(row->status, "rejected") == 0) return 0;
    int64_t pid = service_pid(timeline, row->service, strlen(row->service));
    if (pid < 0) return (int)pid;
    if (isnan(row->e2e_s)) return defer(timeline, row, pid);
    return write_request(timeline, row, pid, timeline_ns(row->arrival_s + row->e2e_s));
}

/* --- Jobs, counters, the end --- */

static int on_placement(void *context, const struct placement_row *row)
{
    struct timeline *timeline = context;
    struct span span = {timeline_ns(row->start_s), timeline_ns(row->end_s)};
    return in_window(timeline, span) ? timeline_jobs_add(&timeline->jobs, row) : 0;
}

static bool is_of_service(const char *series)
{
    return strncmp(series, "service.", 8) == 0 || strncmp(series, "replica.", 8) == 0;
}

/* "replica.waiting" of "chat/1" is the counter "replica.waiting 1" of the service "chat"; "cost.usd" of "spot" is
 * "cost.usd spot" of the site. */
static int on_sample(void *context, const struct sample_row *row)
{
    struct timeline *timeline = context;
    int64_t at_ns = timeline_ns(row->t_s), pid = PID_SITE;
    if (!in_window(timeline, (struct span){at_ns, at_ns}) || !isfinite(row->value)) return 0;
    size_t n = is_of_service(row->series) ? strcspn(row->entity, "/") : 0;
    if (n > 0) pid = service_pid(timeline, row->entity, n);
    if (pid < 0) return (int)pid;
    struct text *text = output_text(timeline->output);
    timeline_begin(text, 'C', pid, 0, at_ns);
    const char *rest = row->entity + n + (row->entity[n] == '/');
    char name[160];
    snprintf(name, sizeof name, "%s%s%s", row->series, *rest != 0 ? " " : "", rest);
    text_add(text, ",\"name\":");
    text_json_string(text, name);
    text_add(text, ",\"args\":{\"value\":");
    text_json_number(text, row->value);
    text_add(text, "}}");
    return flush(timeline);
}

static int on_metric(void *context, const struct metric_row *row)
{
    struct timeline *timeline = context;
    if (strcmp(row->name, "sim.end_s") == 0) timeline->end_ns = timeline_ns(row->value);
    return 0;
}

static int write_rest(struct timeline *timeline)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < timeline->n_unfinished; i++) {
        const struct request_row *row = &timeline->unfinished[i];
        code = write_request(timeline, row, row->cached_tokens, timeline->end_ns);
    }
    if (code == 0) code = timeline_jobs_write(&timeline->jobs, timeline->output, timeline->diag);
    text_add(output_text(timeline->output), "\n]}\n");
    return code;
}

static void warn_if_large(const struct timeline *timeline)
{
    if (timeline->bytes < TIMELINE_LARGE_BYTES) return;
    diag_warning(timeline->diag, timeline->path,
                 "take a part of it: --timeline-window 10min:12min, --timeline-sample 1/100",
                 "the timeline is %.1f GB of JSON, which most viewers cannot open", (double)timeline->bytes / 1e9);
}

static void destroy(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->n_services; i++) mem_free(timeline->services[i].name);
    mem_free(timeline->services);
    mem_free(timeline->unfinished);
    mem_free(timeline->path);
    timeline_jobs_fini(&timeline->jobs);
    mem_free(timeline);
}

int timeline_open(const char *path, const struct timeline_options *options, struct timeline **out, struct diag *diag)
{
    struct timeline *timeline = mem_zalloc(1, sizeof *timeline);
    if (timeline != NULL) timeline->path = mem_strdup(path);
    if (timeline == NULL || timeline->path == NULL) {
        mem_free(timeline);
        return diag_nomem_at(diag, path);
    }
    timeline->options = *options;
    timeline->diag = diag;
    timeline->window = (struct span){sim_ns_from_s(options->from_s), sim_ns_from_s(options->to_s)};
    int code = output_open(path, &timeline->output, diag);
    if (code != 0) {
        destroy(timeline);
        return code;
    }
    text_add(output_text(timeline->output), "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                                            "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\","
                                            "\"args\":{\"name\":\"site\"}}");
    *out = timeline;
    return 0;
}

struct sink timeline_sink(struct timeline *timeline)
{
    return (struct sink){.context = timeline,
                         .request = on_request,
                         .placement = on_placement,
                         .batch = on_batch,
                         .sample = on_sample,
                         .metric = on_metric};
}

int timeline_close(struct timeline *timeline, bool failed)
{
    if (timeline == NULL) return 0;
    int code = failed ? 0 : write_rest(timeline);
    if (code == SIM_E_NOMEM) diag_nomem_at(timeline->diag, timeline->path);
    int closed = output_close(timeline->output, failed || code != 0, timeline->diag);
    if (code == 0) code = closed;
    if (code == 0 && !failed) warn_if_large(timeline);
    destroy(timeline);
    return code;
}
