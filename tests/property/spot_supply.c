/* Jobs that rent spot GPUs from files of instances, against a naive twin: who waits, who is interrupted, who goes on.
 * Two offers have files of their own and an unlimited cluster, so that nothing but supply holds a job up. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdlib.h>

enum { JOBS = 14, OFFERS = 2, TICKS = 12, LEASES = 400, CASES = 60 };
enum { GAP_S = 10, UUSD_PER_S = 1000 }; /* of a GPU at the first offer; at the second twice as much */

struct offer {
    int64_t instances[TICKS], gpus_per_instance, limit; /* the last tick holds for ever */
    sim_ns start_up_ns;
    bool has_limit;
    int64_t leased;
    int queue[JOBS], n_queue;
};

struct job {
    sim_ns submit_ns, left_ns, duration_ns, ready_ns, start_ns, end_ns;
    int64_t gpus;
    int offer, lease; /* -1: it has none */
    bool is_running, is_rejected, has_run;
};

struct lease {
    int job;
    sim_ns start_ns, end_ns;
    bool is_lost, is_over;
};

struct twin {
    struct offer offers[OFFERS];
    struct job jobs[JOBS];
    struct lease leases[LEASES]; /* in the order in which they begin */
    int n_leases, n_interruptions;
};

/* --- The twin --- */

static int64_t supply_at(const struct offer *offer, sim_ns now)
{
    const int64_t tick = now / (GAP_S * SIM_NS_PER_S);
    return offer->instances[tick < TICKS ? tick : TICKS - 1] * offer->gpus_per_instance;
}

/* The most GPUs from now on. */
static int64_t most_from(const struct offer *offer, sim_ns now)
{
    int64_t most = 0;
    for (int64_t tick = now / (GAP_S * SIM_NS_PER_S); tick < TICKS || most == 0; tick++) {
        const int64_t then = offer->instances[tick < TICKS ? tick : TICKS - 1] * offer->gpus_per_instance;
        most = then > most ? then : most;
        if (tick >= TICKS) break;
    }
    return offer->has_limit && offer->limit < most ? offer->limit : most;
}

static void enqueue(struct twin *twin, int job)
{
    struct offer *offer = &twin->offers[twin->jobs[job].offer];
    offer->queue[offer->n_queue++] = job;
}

static void end_lease(struct twin *twin, int job, sim_ns now, bool is_lost)
{
    struct job *of = &twin->jobs[job];
    struct lease *lease = &twin->leases[of->lease];
    lease->end_ns = now;
    lease->is_lost = is_lost;
    lease->is_over = true;
    twin->offers[of->offer].leased -= of->gpus;
    of->lease = -1;
}

/* The job keeps its work, and waits behind the others. */
static void interrupt(struct twin *twin, int job, sim_ns now)
{
    struct job *of = &twin->jobs[job];
    if (of->is_running) of->left_ns -= now - of->ready_ns;
    of->is_running = false;
    end_lease(twin, job, now, true);
    enqueue(twin, job);
    twin->n_interruptions++;
}

static void take_back(struct twin *twin, int offer, sim_ns now)
{
    for (int i = twin->n_leases; i-- > 0 && twin->offers[offer].leased > supply_at(&twin->offers[offer], now);)
        if (!twin->leases[i].is_over && twin->jobs[twin->leases[i].job].offer == offer)
            interrupt(twin, twin->leases[i].job, now);
}

/* The first offer is cheaper; whoever fits into none is rejected. */
static void submit(struct twin *twin, int job, sim_ns now)
{
    struct job *of = &twin->jobs[job];
    of->offer = 0;
    while (of->offer < OFFERS && most_from(&twin->offers[of->offer], now) < of->gpus) of->offer++;
    of->is_rejected = of->offer == OFFERS;
    if (!of->is_rejected) enqueue(twin, job);
}

static void lease_waiting(struct twin *twin, struct offer *offer, sim_ns now)
{
    const int64_t supply = supply_at(offer, now);
    const int64_t most = offer->has_limit && offer->limit < supply ? offer->limit : supply;
    while (offer->n_queue > 0 && twin->jobs[offer->queue[0]].gpus <= most - offer->leased) {
        struct job *of = &twin->jobs[offer->queue[0]];
        MUST(twin->n_leases < LEASES);
        twin->leases[twin->n_leases] = (struct lease){.job = offer->queue[0], .start_ns = now};
        of->lease = twin->n_leases++;
        of->ready_ns = now + offer->start_up_ns;
        offer->leased += of->gpus;
        memmove(offer->queue, offer->queue + 1, (size_t)--offer->n_queue * sizeof *offer->queue);
    }
}

static void run_jobs(struct twin *twin, sim_ns now)
{
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &twin->jobs[i];
        if (job->submit_ns == now) submit(twin, i, now);
        if (job->lease < 0) continue;
        if (job->is_running && job->ready_ns + job->left_ns == now) {
            job->is_running = false;
            job->end_ns = now;
            end_lease(twin, i, now, false);
        }
    }
}

static void start_ready(struct twin *twin, sim_ns now)
{
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &twin->jobs[i];
        if (job->lease < 0 || job->is_running || job->ready_ns > now) continue;
        job->is_running = true;
        if (!job->has_run) job->start_ns = now;
        job->has_run = true;
    }
}

static sim_ns next_ns(const struct twin *twin, sim_ns now)
{
    sim_ns next = SIM_NS_MAX;
    const sim_ns tick_ns = (now / (GAP_S * SIM_NS_PER_S) + 1) * GAP_S * SIM_NS_PER_S;
    if (tick_ns < TICKS * GAP_S * SIM_NS_PER_S) next = tick_ns;
    for (int i = 0; i < JOBS; i++) {
        const struct job *job = &twin->jobs[i];
        const sim_ns at[] = {job->submit_ns, job->lease < 0 ? 0 : job->ready_ns,
                             job->is_running ? job->ready_ns + job->left_ns : 0};
        for (int k = 0; k < 3; k++)
            if (at[k] > now && at[k] < next) next = at[k];
    }
    return next;
}

static void run_twin(struct twin *twin)
{
    for (sim_ns now = 0; now != SIM_NS_MAX; now = next_ns(twin, now)) {
        for (int i = 0; i < OFFERS; i++) take_back(twin, i, now);
        run_jobs(twin, now);
        for (int i = 0; i < OFFERS; i++) lease_waiting(twin, &twin->offers[i], now);
        start_ready(twin, now);
    }
}

/* --- Cases --- */

/* At the last tick an offer has at least as many instances as ever, so that all jobs end. Times are not those of
 * ticks, but for some submissions. */
static void draw(struct twin *twin, struct rng *rng)
{
    for (int i = 0; i < OFFERS; i++) {
        struct offer *offer = &twin->offers[i];
        offer->gpus_per_instance = 1 + (int64_t)rng_below(rng, 3);
        offer->has_limit = rng_below(rng, 2) == 0;
        offer->limit = 4 + (int64_t)rng_below(rng, 6);
        offer->start_up_ns = rng_below(rng, 2) == 0 ? 0 : 1 + (sim_ns)rng_below(rng, 15000000000u);
        for (int k = 0; k < TICKS; k++) offer->instances[k] = (int64_t)rng_below(rng, 7);
        offer->instances[TICKS - 1] = 6;
    }
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &twin->jobs[i];
        *job = (struct job){.lease = -1, .gpus = 1 + (int64_t)rng_below(rng, i == 0 ? 30 : 8)};
        job->submit_ns = 1 + (sim_ns)rng_below(rng, 90000000000u);
        if (rng_below(rng, 4) == 0) job->submit_ns = GAP_S * SIM_NS_PER_S * (sim_ns)(1 + rng_below(rng, 8));
        job->duration_ns = job->left_ns = 1 + (sim_ns)rng_below(rng, 40000000000u);
    }
}

static int by_submission(const void *a, const void *b)
{
    const struct job *x = a, *y = b;
    return x->submit_ns < y->submit_ns ? -1 : x->submit_ns > y->submit_ns;
}

static const char *write_file(const struct offer *offer, const char *name)
{
    char data[TICKS * 8] = "";
    for (int k = 0; k < TICKS; k++)
        snprintf(data + strlen(data), sizeof data - strlen(data), "%s%d", k > 0 ? ", " : "", (int)offer->instances[k]);
    return test_file(name, "{'metadata': {'gap_seconds': %d}, 'data': [%s]}", GAP_S, data);
}

static struct bed_rows *run(const struct twin *twin)
{
    char offers[2000] = "", jobs[2000] = "";
    for (int i = 0; i < OFFERS; i++) {
        const struct offer *offer = &twin->offers[i];
        char limit[32] = "";
        if (offer->has_limit) snprintf(limit, sizeof limit, "'limit': %d, ", (int)offer->limit);
        snprintf(offers + strlen(offers), sizeof offers - strlen(offers),
                 "%s'%s': {'kind': 'spot', 'price': '$%.1f/h', %s'start_up': '%lldns', 'spot': {'availability': '%s', "
                 "'gpus_per_instance': %d}}",
                 i > 0 ? ", " : "", i == 0 ? "a" : "b", 3600e-6 * UUSD_PER_S * (i + 1), limit,
                 (long long)offer->start_up_ns, write_file(offer, i == 0 ? "a.json" : "b.json"),
                 (int)offer->gpus_per_instance);
    }
    for (int i = 0; i < JOBS; i++)
        snprintf(jobs + strlen(jobs), sizeof jobs - strlen(jobs),
                 "%s{'submit': '%lldns', 'duration': '%lldns', 'gpus': %d}", i > 0 ? ", " : "",
                 (long long)twin->jobs[i].submit_ns, (long long)twin->jobs[i].duration_ns, (int)twin->jobs[i].gpus);
    return bed_ok(
        BED(.check = true, .quiet = true),
        "{'cluster': {'unlimited': true}, 'market': {'offers': {%s}, 'renting': 'as-asked'}, 'jobs': {'trace':"
        " {'format': 'inline-jobs', 'jobs': [%s]}}}",
        offers, jobs);
}

/* --- Comparing --- */

static void compare_leases(const struct twin *twin, const struct bed_rows *rows)
{
    double bill = 0;
    MUST((int)rows->n_leases == twin->n_leases);
    for (size_t i = 0; i < rows->n_leases; i++) {
        const struct lease_row *row = &rows->leases[i];
        MUST(row->id >= 0 && row->id < twin->n_leases);
        const struct lease *lease = &twin->leases[row->id];
        const struct job *job = &twin->jobs[lease->job];
        const int64_t seconds = (lease->end_ns - lease->start_ns + SIM_NS_PER_S - 1) / SIM_NS_PER_S;
        CHECK_EQ_INT(row->job, lease->job);
        CHECK_NEAR(row->gpus, (double)job->gpus, 0);
        CHECK_EQ_INT(llround(row->start_s * 1e9), lease->start_ns);
        CHECK_EQ_INT(llround(row->end_s * 1e9), lease->end_ns);
        CHECK_EQ_STR(row->fate, lease->is_lost ? "lost" : "returned");
        CHECK_EQ_INT(row->cost_uusd, UUSD_PER_S * (job->offer + 1) * job->gpus * seconds);
        bill += (double)row->cost_uusd;
    }
    CHECK_NEAR(bed_metric(rows, "cost.usd") * 1e6, bill, 0.5);
}

TEST(leases_are_those_of_a_naive_twin)
{
    int n_interruptions = 0, n_second = 0, n_rejected = 0;
    for (uint64_t number = 0; number < CASES; number++) {
        struct rng rng = test_rng(number, "spot-supply", 0);
        struct twin *twin = calloc(1, sizeof *twin);
        draw(twin, &rng);
        qsort(twin->jobs, JOBS, sizeof *twin->jobs, by_submission);
        struct bed_rows *rows = run(twin);
        run_twin(twin);
        compare_leases(twin, rows);
        CHECK_EQ_INT((int)bed_metric(rows, "rental.interruptions"), twin->n_interruptions);
        for (int i = 0; i < JOBS; i++) {
            const struct job *job = &twin->jobs[i];
            const struct job_row *row = bed_job(rows, i);
            n_rejected += job->is_rejected;
            if (job->is_rejected) CHECK_EQ_STR(row->status, "rejected");
            if (job->is_rejected) continue;
            n_second += job->offer == 1;
            CHECK_EQ_INT(llround(row->start_s * 1e9), job->start_ns);
            CHECK_EQ_INT(llround(row->end_s * 1e9), job->end_ns);
        }
        n_interruptions += twin->n_interruptions;
        bed_free(rows);
        free(twin);
    }
    CHECK(n_interruptions > 100 && n_second > 20 && n_rejected > 5);
}
