#include "sim/store/timeline_jobs.h"

#include "sim/core/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int timeline_jobs_add(struct timeline_jobs *jobs, const struct placement_row *row)
{
    if (jobs->n == jobs->capacity) {
        size_t capacity = jobs->capacity > 0 ? 2 * jobs->capacity : 256;
        struct timeline_job *grown = mem_realloc(jobs->jobs, capacity * sizeof *grown);
        if (grown == NULL) return SIM_E_NOMEM;
        jobs->jobs = grown;
        jobs->capacity = capacity;
    }
    jobs->jobs[jobs->n++] = (struct timeline_job){.span = {timeline_ns(row->start_s), timeline_ns(row->end_s)},
                                                  .job = row->job,
                                                  .node = row->node,
                                                  .gpus = row->gpus};
    return 0;
}

void timeline_jobs_fini(struct timeline_jobs *jobs)
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

/* The lanes of one node: when each becomes free. */
struct lanes {
    size_t n, capacity;
    int64_t *free_ns;
};

/* The lowest lane that is free at the start of the span, now taken to its end. Returns its number or SIM_E_NOMEM. */
static int64_t take_lane(struct lanes *lanes, struct span span)
{
    size_t lane = 0;
    while (lane < lanes->n && lanes->free_ns[lane] > span.from_ns) lane++;
    if (lane == lanes->capacity) {
        size_t capacity = lanes->capacity > 0 ? 2 * lanes->capacity : 16;
        int64_t *grown = mem_realloc(lanes->free_ns, capacity * sizeof *grown);
        if (grown == NULL) return SIM_E_NOMEM;
        lanes->free_ns = grown;
        lanes->capacity = capacity;
    }
    if (lane == lanes->n) lanes->n++;
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

int timeline_jobs_write(struct timeline_jobs *jobs, struct output *output, struct diag *diag)
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
