#include "tests/support/naive_cluster.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

struct list {
    struct naive_job *jobs[NAIVE_MAX_JOBS];
    int n, total_gpus, now;
};

typedef int key_fn(const struct naive_job *job);

static int by_estimate(const struct naive_job *job)
{
    return job->estimate;
}

static int by_gpus(const struct naive_job *job)
{
    return job->gpus;
}

static int by_left(const struct naive_job *job)
{
    return job->left;
}

static int by_gpu_left(const struct naive_job *job)
{
    return job->left * job->gpus;
}

/* Insertion sort: stable. */
static void sort(struct list *list, key_fn *key)
{
    for (int i = 1; i < list->n; i++) {
        struct naive_job *job = list->jobs[i];
        int k = i;
        for (; k > 0 && key(list->jobs[k - 1]) > key(job); k--) list->jobs[k] = list->jobs[k - 1];
        list->jobs[k] = job;
    }
}

static int free_gpus(const struct list *list)
{
    int gpus = list->total_gpus;
    for (int i = 0; i < list->n; i++) gpus -= list->jobs[i]->runs ? list->jobs[i]->gpus : 0;
    return gpus;
}

static void start(struct list *list, struct naive_job *job)
{
    job->runs = true;
    job->began = list->now;
    if (job->starts++ == 0) job->start = list->now;
}

static void walk_pending(struct list *list, bool strict)
{
    for (int i = 0; i < list->n; i++) {
        struct naive_job *job = list->jobs[i];
        if (job->runs) continue;
        if (job->gpus <= free_gpus(list))
            start(list, job);
        else if (strict)
            return;
    }
}

static void walk_all(struct list *list)
{
    int gpus = list->total_gpus;
    for (int i = 0; i < list->n; i++) {
        struct naive_job *job = list->jobs[i];
        bool fits = job->gpus <= gpus;
        if (fits) gpus -= job->gpus;
        if (fits && !job->runs) start(list, job);
        if (!fits && job->runs) {
            job->runs = false;
            job->preemptions++;
        }
    }
}

static int estimated_end(const struct list *list, const struct naive_job *job)
{
    int end = job->began + job->estimate;
    return end > list->now ? end : list->now;
}

/* GPUs that are free at `time` if nobody starts. */
static int free_at(const struct list *list, int time)
{
    int gpus = free_gpus(list);
    for (int i = 0; i < list->n; i++) {
        const struct naive_job *job = list->jobs[i];
        if (job->runs && estimated_end(list, job) <= time) gpus += job->gpus;
    }
    return gpus;
}

static void walk_easy(struct list *list)
{
    const struct naive_job *head = NULL;
    int shadow = 0, extra = 0;
    for (int i = 0; i < list->n; i++) {
        struct naive_job *job = list->jobs[i];
        if (job->runs) continue;
        bool fits = job->gpus <= free_gpus(list), ends_before = list->now + job->estimate <= shadow;
        if (head == NULL && !fits) {
            head = job;
            for (shadow = list->now; free_at(list, shadow) < job->gpus;) shadow++;
            extra = free_at(list, shadow) - job->gpus;
            if (job->promise < 0) job->promise = shadow;
        } else if (fits && (head == NULL || ends_before || job->gpus <= extra)) {
            start(list, job);
            if (head != NULL && !ends_before) extra -= job->gpus;
        }
    }
}

static void decide(struct list *list, const char *scheduler)
{
    static const struct {
        const char *scheduler;
        key_fn *key;
        bool preempts;
    } orders[] = {{"sjf", by_estimate, false},
                  {"fewest-gpus", by_gpus, true},
                  {"srtf", by_left, true},
                  {"srsf", by_gpu_left, true}};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (strcmp(orders[i].scheduler, scheduler) != 0) continue;
        sort(list, orders[i].key);
        if (orders[i].preempts)
            walk_all(list);
        else
            walk_pending(list, false);
        return;
    }
    if (strcmp(scheduler, "easy") == 0)
        walk_easy(list);
    else
        walk_pending(list, strcmp(scheduler, "fifo") == 0);
}

static void advance(struct list *list, int time)
{
    int kept = 0;
    for (int i = 0; i < list->n; i++) {
        struct naive_job *job = list->jobs[i];
        if (job->runs) job->left -= time - list->now;
        if (job->runs && job->left == 0)
            job->end = time;
        else
            list->jobs[kept++] = job;
    }
    list->n = kept;
    list->now = time;
}

void naive_cluster_run(const char *scheduler, struct naive_job *jobs, int n, int total_gpus)
{
    struct list list = {.total_gpus = total_gpus};
    int arrived = 0;
    for (int i = 0; i < n; i++) {
        jobs[i].left = jobs[i].run;
        jobs[i].preemptions = jobs[i].starts = 0;
        jobs[i].promise = -1;
        jobs[i].runs = false;
    }
    while (arrived < n || list.n > 0) {
        int next = arrived < n ? jobs[arrived].submit : INT_MAX;
        for (int i = 0; i < list.n; i++) {
            if (list.jobs[i]->runs && list.now + list.jobs[i]->left < next) next = list.now + list.jobs[i]->left;
        }
        advance(&list, next);
        while (arrived < n && jobs[arrived].submit == next) list.jobs[list.n++] = &jobs[arrived++];
        decide(&list, scheduler);
    }
}
