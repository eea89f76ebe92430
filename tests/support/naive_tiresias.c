#include "tests/support/naive_tiresias.h"

#include <limits.h>
#include <stddef.h>

struct entry {
    struct naive_job *job;
    int executed, waited; /* since the latest promotion */
};

struct lists {
    const struct naive_tiresias *params;
    struct entry entries[NAIVE_MAX_JOBS]; /* in the order of submission */
    int n_entries;
    struct entry *queues[NAIVE_MAX_LIMITS + 1][NAIVE_MAX_JOBS];
    int n[NAIVE_MAX_LIMITS + 1];
    int total_gpus, now;
};

static void append(struct lists *lists, int queue, struct entry *entry)
{
    lists->queues[queue][lists->n[queue]++] = entry;
}

static int queue_of(const struct lists *lists, const struct entry *entry)
{
    for (int queue = 0;; queue++)
        for (int i = 0; i < lists->n[queue]; i++)
            if (lists->queues[queue][i] == entry) return queue;
}

static void take(struct lists *lists, const struct entry *entry)
{
    int queue = queue_of(lists, entry), kept = 0;
    for (int i = 0; i < lists->n[queue]; i++)
        if (lists->queues[queue][i] != entry) lists->queues[queue][kept++] = lists->queues[queue][i];
    lists->n[queue] = kept;
}

static void advance(struct lists *lists, int time)
{
    for (int i = 0; i < lists->n_entries; i++) {
        struct entry *entry = &lists->entries[i];
        if (entry->job->end >= 0) continue;
        if (entry->job->runs) {
            entry->executed += time - lists->now;
            entry->job->left -= time - lists->now;
        } else if (entry->executed > 0) {
            entry->waited += time - lists->now;
        }
        if (!entry->job->runs || entry->job->left > 0) continue;
        take(lists, entry);
        entry->job->end = time;
        entry->job->runs = false;
    }
    lists->now = time;
}

static int service(const struct lists *lists, const struct entry *entry)
{
    return entry->executed * (lists->params->by_time ? 1 : entry->job->gpus);
}

static void change_queues(struct lists *lists)
{
    const struct naive_tiresias *params = lists->params;
    for (int i = 0; i < lists->n_entries; i++) {
        struct entry *entry = &lists->entries[i];
        if (entry->job->end >= 0) continue;
        int queue = queue_of(lists, entry);
        if (entry->job->runs && queue < params->n_limits && service(lists, entry) >= params->limits[queue]) {
            take(lists, entry);
            append(lists, queue + 1, entry);
        } else if (!entry->job->runs && params->promote_knob > 0 && queue > 0 &&
                   entry->waited >= entry->executed * params->promote_knob) {
            take(lists, entry);
            append(lists, 0, entry);
            entry->executed = entry->waited = 0;
        }
    }
}

static void put_waiting_behind(struct lists *lists, int queue)
{
    struct entry *waiting[NAIVE_MAX_JOBS];
    int n_waiting = 0, n_running = 0;
    for (int i = 0; i < lists->n[queue]; i++) {
        struct entry *entry = lists->queues[queue][i];
        if (entry->job->runs)
            lists->queues[queue][n_running++] = entry;
        else
            waiting[n_waiting++] = entry;
    }
    for (int i = 0; i < n_waiting; i++) lists->queues[queue][n_running + i] = waiting[i];
}

static void walk(struct lists *lists)
{
    int gpus = lists->total_gpus;
    for (int queue = 0; queue <= lists->params->n_limits; queue++) {
        for (int i = 0; i < lists->n[queue]; i++) {
            struct naive_job *job = lists->queues[queue][i]->job;
            bool fits = job->gpus <= gpus;
            if (fits) gpus -= job->gpus;
            if (fits && !job->runs && job->starts++ == 0) job->start = lists->now;
            if (!fits && job->runs) job->preemptions++;
            job->runs = fits;
        }
        put_waiting_behind(lists, queue);
    }
}

/* When to look next at a job if nothing happens before. */
static int look(const struct lists *lists, const struct entry *entry)
{
    const struct naive_tiresias *params = lists->params;
    int queue = queue_of(lists, entry);
    if (!entry->job->runs) {
        int wait = entry->executed * params->promote_knob - entry->waited;
        return params->promote_knob > 0 && queue > 0 && wait > 0 ? lists->now + wait : INT_MAX;
    }
    if (queue == params->n_limits) return INT_MAX;
    int weight = params->by_time ? 1 : entry->job->gpus;
    int left = params->limits[queue] - (params->released ? entry->executed : service(lists, entry));
    int wait = left / weight;
    return lists->now + (wait > 0 ? wait : 1);
}

static int next_event(const struct lists *lists, const struct naive_job *arriving)
{
    int next = arriving != NULL ? arriving->submit : INT_MAX;
    for (int i = 0; i < lists->n_entries; i++) {
        const struct entry *entry = &lists->entries[i];
        if (entry->job->end >= 0) continue;
        int end = entry->job->runs ? lists->now + entry->job->left : INT_MAX;
        int time = look(lists, entry);
        if (end < next) next = end;
        if (time < next) next = time;
    }
    return next;
}

void naive_tiresias_run(const struct naive_tiresias *params, struct naive_job *jobs, int n, int total_gpus)
{
    struct lists lists = {.params = params, .total_gpus = total_gpus};
    for (int i = 0; i < n; i++) {
        jobs[i].left = jobs[i].run;
        jobs[i].preemptions = jobs[i].starts = 0;
        jobs[i].end = -1;
        jobs[i].runs = false;
    }
    for (int time; (time = next_event(&lists, lists.n_entries < n ? &jobs[lists.n_entries] : NULL)) < INT_MAX;) {
        advance(&lists, time);
        while (lists.n_entries < n && jobs[lists.n_entries].submit == time) {
            struct entry *entry = &lists.entries[lists.n_entries];
            entry->job = &jobs[lists.n_entries++];
            append(&lists, 0, entry);
        }
        change_queues(&lists);
        walk(&lists);
    }
}
