/* Measures the engine's CPU time per event, calendar against heap, in an M/M/1 queue of a million objects.
 * Each object has two events, and two events are pending at a time: the smallest model there is. Interarrival and
 * service times come from tables made beforehand.
 *
 * usage: mm1 [FULL] */
#include "sim/core/engine.h"
#include "tests/bench/bench.h"
#include "tests/bench/increments.h"

#include <stdbool.h>
#include <stdio.h>

enum { MAX_OBJECTS = 1000000, LINE_OBJECTS = 4096 };

struct station {
    struct owner arrivals, server;
    uint32_t n_objects, n_arrived, n_served;
    uint32_t next_interval, next_service;
    sim_ns arrived_ns[LINE_OBJECTS]; /* ring of the objects in the system */
    sim_ns sojourn_ns;               /* of all objects that were served */
    sim_ns intervals_ns[N_INCREMENTS], services_ns[N_INCREMENTS];
};

static void depart(struct engine *engine, struct owner *owner, sim_ns now);

static void serve_next(struct engine *engine, struct station *station, sim_ns now)
{
    sim_ns service_ns = station->services_ns[station->next_service++ % N_INCREMENTS];
    engine_schedule(engine, now + service_ns, 0, depart, &station->server);
}

static void depart(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct station *station = OWNER_ENTITY(owner, struct station, server);
    station->sojourn_ns += now - station->arrived_ns[station->n_served++ % LINE_OBJECTS];
    if (station->n_served < station->n_arrived) serve_next(engine, station, now);
}

static void arrive(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct station *station = OWNER_ENTITY(owner, struct station, arrivals);
    bool idle = station->n_served == station->n_arrived;
    if (station->n_arrived - station->n_served == LINE_OBJECTS) {
        engine_fail(engine, SIM_E_NOMEM);
        return;
    }
    station->arrived_ns[station->n_arrived++ % LINE_OBJECTS] = now;
    if (idle) serve_next(engine, station, now);
    if (station->n_arrived == station->n_objects) return;
    sim_ns interval_ns = station->intervals_ns[station->next_interval++ % N_INCREMENTS];
    engine_schedule(engine, now + interval_ns, 0, arrive, owner);
}

/* Means are 1 and 0.75 s, so that objects stay 3 s on average. */
static void station_init(struct station *station)
{
    struct rng intervals, services;
    rng_init(&intervals, 1, 0, "intervals", 0);
    rng_init(&services, 1, 0, "services", 0);
    for (int i = 0; i < N_INCREMENTS; i++) {
        station->intervals_ns[i] = sim_ns_from_s(rng_exponential(&intervals, 1));
        station->services_ns[i] = sim_ns_from_s(rng_exponential(&services, 0.75));
    }
}

static void station_empty(struct station *station)
{
    owner_init(&station->arrivals, 1);
    owner_init(&station->server, 2);
    station->n_arrived = station->n_served = 0;
    station->next_interval = station->next_service = 0;
    station->sojourn_ns = 0;
}

/* CPU seconds of a run; negative when it failed. */
static double run_s(struct station *station, enum queue_kind queue)
{
    struct engine_options options = {.queue = queue};
    double start_s = bench_cpu_s();
    struct engine *engine = engine_create(&options);
    if (engine == NULL) return -1;
    station_empty(station);
    engine_schedule(engine, 0, 0, arrive, &station->arrivals);
    int code = engine_run(engine, NULL);
    engine_destroy(engine);
    return code == 0 ? bench_cpu_s() - start_s : -1;
}

int main(void)
{
    static struct station station;
    double repeats_s[2][BENCH_REPEATS];
    station_init(&station);
    station.n_objects = (uint32_t)bench_load(MAX_OBJECTS);
    for (int i = 0; i < BENCH_REPEATS; i++)
        for (int queue = QUEUE_CALENDAR; queue <= QUEUE_HEAP; queue++)
            if ((repeats_s[queue][i] = run_s(&station, (enum queue_kind)queue)) < 0) return 1;
    double calendar_s = bench_median(repeats_s[QUEUE_CALENDAR]), heap_s = bench_median(repeats_s[QUEUE_HEAP]);
    printf("{\"bench\":\"mm1\",\"queue\":\"calendar\",\"objects\":%d,\"cpu_s\":%.4f,\"ratio_to_heap\":%.2f,"
           "\"mean_sojourn_s\":%.2f}\n",
           (int)station.n_objects, calendar_s, heap_s / calendar_s,
           (double)station.sojourn_ns / 1e9 / station.n_objects);
    return 0;
}
