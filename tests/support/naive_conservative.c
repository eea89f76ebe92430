#include "tests/support/naive_conservative.h"

#include <limits.h>

/* A job's time in the plan; it waits until it started. */
struct slot {
    int from, to; /* INT_MAX: not placed yet */
    bool is_admitted;
};

struct site {
    struct naive_job *jobs;
    struct slot slots[NAIVE_MAX_JOBS];
    int n, total_gpus, now, depth;
};

static bool waits(const struct naive_job *job)
{
    return job->start < 0;
}

static int planned(const struct site *site, int time)
{
    int gpus = 0;
    for (int i = 0; i < site->n; i++)
        if (site->jobs[i].end < 0 && site->slots[i].from <= time && time < site->slots[i].to)
            gpus += site->jobs[i].gpus;
    return gpus;
}

static bool is_free(const struct site *site, const struct naive_job *job, int from)
{
    int to = job->estimate > 0 ? from + job->estimate : from + 1;
    for (int time = from; time < to; time++)
        if (planned(site, time) + job->gpus > site->total_gpus) return false;
    return true;
}

static bool place(struct site *site, int i)
{
    int before = site->slots[i].from;
    struct naive_job *job = &site->jobs[i];
    int from = site->now;
    site->slots[i] = (struct slot){INT_MAX, INT_MAX, true};
    while (!is_free(site, job, from)) from++;
    site->slots[i] = (struct slot){from, from + job->estimate, true};
    if (job->promise < 0) job->promise = from;
    return from != before;
}

static void plan(struct site *site, bool early)
{
    bool overdue = false, moved = true;
    for (int i = 0; i < site->n; i++) overdue |= waits(&site->jobs[i]) && site->slots[i].from < site->now;
    for (int i = 0; i < site->n && overdue; i++)
        if (waits(&site->jobs[i])) site->slots[i].from = site->slots[i].to = INT_MAX;
    while (moved) {
        moved = false;
        for (int i = 0; i < site->n; i++)
            if (waits(&site->jobs[i]) && site->slots[i].is_admitted && (early || site->slots[i].from == INT_MAX))
                moved |= place(site, i);
    }
}

static int free_gpus(const struct site *site)
{
    int gpus = site->total_gpus;
    for (int i = 0; i < site->n; i++) gpus -= site->jobs[i].runs ? site->jobs[i].gpus : 0;
    return gpus;
}

/* Jobs whose time has come start if they fit, in order of their times; the others wait. */
static int count_waiting(const struct site *site, int *left)
{
    int waiting = 0;
    for (int time = 0; time <= site->now; time++)
        for (int i = 0; i < site->n; i++)
            if (waits(&site->jobs[i]) && site->slots[i].from == time && site->jobs[i].gpus <= *left)
                *left -= site->jobs[i].gpus, waiting--;
    for (int i = 0; i < site->n; i++) waiting += waits(&site->jobs[i]) && site->slots[i].is_admitted;
    return waiting;
}

static void fill(struct site *site)
{
    int admitted = 0;
    for (int i = 0; i < site->n; i++) admitted += waits(&site->jobs[i]) && site->slots[i].is_admitted;
    for (int i = 0; i < site->n && admitted < site->depth; i++) {
        if (!waits(&site->jobs[i]) || site->slots[i].is_admitted) continue;
        site->slots[i].is_admitted = true;
        admitted++;
    }
}

static void admit(struct site *site)
{
    int left = free_gpus(site), waiting = count_waiting(site, &left);
    for (int i = 0; i < site->n && waiting < site->depth; i++) {
        if (!waits(&site->jobs[i]) || site->slots[i].is_admitted) continue;
        place(site, i);
        if (site->slots[i].from == site->now && site->jobs[i].gpus <= left)
            left -= site->jobs[i].gpus;
        else
            waiting++;
    }
}

static void start_due(struct site *site)
{
    for (int i = 0; i < site->n; i++) {
        struct naive_job *job = &site->jobs[i];
        if (!waits(job) || site->slots[i].from > site->now || job->gpus > free_gpus(site)) continue;
        job->runs = true;
        job->start = site->now;
        job->starts = 1;
    }
}

/* Whether one ended before its estimate. */
static bool advance(struct site *site, int time)
{
    bool early = false;
    for (int i = 0; i < site->n; i++) {
        struct naive_job *job = &site->jobs[i];
        if (!job->runs || job->start + job->run > time) continue;
        job->end = time;
        job->runs = false;
        early |= site->slots[i].to > time;
    }
    site->now = time;
    return early;
}

static int next_event(const struct site *site, int arrival)
{
    int next = arrival;
    for (int i = 0; i < site->n; i++) {
        const struct naive_job *job = &site->jobs[i];
        int time = job->runs ? job->start + job->run : INT_MAX;
        if (waits(job) && site->slots[i].from > site->now) time = site->slots[i].from;
        if (time < next) next = time;
    }
    return next;
}

void naive_conservative_run(struct naive_job *jobs, int n, int total_gpus, int depth)
{
    struct site site = {.jobs = jobs, .total_gpus = total_gpus, .now = -1, .depth = depth};
    for (int i = 0; i < n; i++) {
        jobs[i].start = jobs[i].end = jobs[i].promise = -1;
        jobs[i].preemptions = jobs[i].starts = 0;
        jobs[i].runs = false;
    }
    for (int time; (time = next_event(&site, site.n < n ? jobs[site.n].submit : INT_MAX)) < INT_MAX;) {
        bool early = advance(&site, time);
        while (site.n < n && jobs[site.n].submit == time)
            site.slots[site.n++] = (struct slot){INT_MAX, INT_MAX, depth == 0};
        fill(&site);
        plan(&site, early);
        admit(&site);
        start_due(&site);
    }
}
