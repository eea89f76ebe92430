/* Queueing theory as an oracle for engine, streams and statistics: stations with Poisson arrivals, first come first
 * served, whose mean wait has a closed form.
 *
 * Every model runs with the seeds 1, 2, ... SEEDS: fixed, but none was picked. A seed gives REPLICATIONS independent
 * runs; their mean waits give a 99 % confidence interval (Student t), and of such intervals one in a hundred is bound
 * to miss the true mean. So the law is about coverage: of all the intervals at most MAX_MISSES miss (a right simulator
 * exceeds that with a chance of 7e-4). The runs of all seeds together give one narrow 99.9 % interval per model. Every
 * run is made on the calendar and on the heap, and must be the same to the nanosecond. */
#include "sim/core/check.h"
#include "sim/core/engine.h"
#include "sim/core/hash.h"
#include "sim/core/tally.h"
#include "tests/support/harness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

enum { SEEDS = 8, REPLICATIONS = 10, MAX_MISSES = 3, WARMUP = 1000, CUSTOMERS = 21000 };
enum { MAX_SERVERS = 4, RING = 4096 };

enum service_law { DETERMINISTIC, EXPONENTIAL, LOGNORMAL, HYPEREXPONENTIAL };

struct model {
    const char *name;
    enum service_law law;
    int n_servers;
    double load;        /* arrival rate * mean service time / servers */
    double mean_s, scv; /* service time: mean and squared coefficient of variation */
};

static const struct model models[] = {
    {"M/M/1", EXPONENTIAL, 1, 0.7, 1.0, 1},
    {"M/M/4", EXPONENTIAL, 4, 0.8, 1.0, 1},
    {"M/D/1", DETERMINISTIC, 1, 0.7, 1.0, 0},
    {"M/G/1 lognormal", LOGNORMAL, 1, 0.6, 0.25, 1.5},
    {"M/G/1 hyperexponential", HYPEREXPONENTIAL, 1, 0.6, 4.0, 4},
};

enum { MODELS = sizeof models / sizeof models[0] };

static double arrival_rate(const struct model *model)
{
    return model->load * model->n_servers / model->mean_s;
}

/* Chance that an arrival to M/M/c must wait (Erlang's C formula, from the recursion of his B formula). */
static double erlang_c(int n_servers, double load)
{
    double blocked = 1, offered = load * n_servers;
    for (int c = 1; c <= n_servers; c++) blocked = offered * blocked / (c + offered * blocked);
    return blocked / (1 - load * (1 - blocked));
}

/* Mean time in queue: Erlang for M/M/c, Pollaczek and Khinchine for one server. */
static double expected_wait_s(const struct model *model)
{
    if (model->n_servers > 1)
        return erlang_c(model->n_servers, model->load) * model->mean_s / (model->n_servers * (1 - model->load));
    return model->load * model->mean_s * (1 + model->scv) / (2 * (1 - model->load));
}

struct server {
    struct owner owner;
    struct station *station;
    bool busy;
    sim_ns arrived, began; /* of the customer in service */
};

struct station {
    const struct model *model;
    struct owner source;
    struct server servers[MAX_SERVERS];
    struct rng arrivals, services;
    int n_arrived, n_begun, n_left;
    sim_ns waiting[RING]; /* arrival times, first come first served */
    unsigned first_waiting, n_waiting;
    struct level in_system, in_queue, in_service;
    tally_int128 sojourn_ns, wait_ns, service_ns; /* sums over all customers */
    struct tally wait_s;                          /* without the warm-up */
    struct hash *trajectory;
};

/* Two exponentials, each of which brings half of the work ("balanced means"). */
static double draw_hyperexponential(struct rng *rng, double mean, double scv)
{
    double p = (1 - sqrt((scv - 1) / (scv + 1))) / 2;
    if (rng_uniform(rng) >= p) p = 1 - p;
    return rng_exponential(rng, mean / (2 * p));
}

static double draw_service_s(struct station *station)
{
    const struct model *model = station->model;
    switch (model->law) {
    case DETERMINISTIC: return model->mean_s;
    case EXPONENTIAL: return rng_exponential(&station->services, model->mean_s);
    case HYPEREXPONENTIAL: return draw_hyperexponential(&station->services, model->mean_s, model->scv);
    case LOGNORMAL: break;
    }
    double sigma2 = log1p(model->scv);
    gsl_rng gsl = rng_gsl(&station->services);
    return gsl_ran_lognormal(&gsl, log(model->mean_s) - sigma2 / 2, sqrt(sigma2));
}

static void on_departure(struct engine *engine, struct owner *owner, sim_ns now);

static void begin_service(struct engine *engine, struct server *server, sim_ns arrived, sim_ns now)
{
    struct station *station = server->station;
    server->busy = true;
    server->arrived = arrived;
    server->began = now;
    station->wait_ns += now - arrived;
    if (station->n_begun++ >= WARMUP) tally_add(&station->wait_s, sim_s_from_ns(now - arrived));
    level_set(&station->in_service, now, station->in_service.value + 1);
    engine_schedule(engine, now + sim_ns_from_s(draw_service_s(station)), 0, on_departure, &server->owner);
}

static void on_departure(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct server *server = OWNER_ENTITY(owner, struct server, owner);
    struct station *station = server->station;
    server->busy = false;
    station->n_left++;
    station->sojourn_ns += now - server->arrived;
    station->service_ns += now - server->began;
    level_set(&station->in_service, now, station->in_service.value - 1);
    level_set(&station->in_system, now, station->in_system.value - 1);
    hash_i64(station->trajectory, server->arrived);
    hash_i64(station->trajectory, server->began);
    hash_i64(station->trajectory, now);
    if (station->n_waiting == 0) return;
    sim_ns arrived = station->waiting[station->first_waiting++ % RING];
    level_set(&station->in_queue, now, --station->n_waiting);
    begin_service(engine, server, arrived, now);
}

static struct server *idle_server(struct station *station)
{
    for (int i = 0; i < station->model->n_servers; i++) {
        if (!station->servers[i].busy) return &station->servers[i];
    }
    return NULL;
}

static void on_arrival(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct station *station = OWNER_ENTITY(owner, struct station, source);
    level_set(&station->in_system, now, station->in_system.value + 1);
    struct server *server = idle_server(station);
    if (server != NULL) {
        begin_service(engine, server, now, now);
    } else {
        SIM_REQUIRE(station->n_waiting < RING);
        station->waiting[(station->first_waiting + station->n_waiting) % RING] = now;
        level_set(&station->in_queue, now, ++station->n_waiting);
    }
    if (++station->n_arrived == CUSTOMERS) return;
    double gap_s = rng_exponential(&station->arrivals, 1 / arrival_rate(station->model));
    engine_schedule(engine, now + sim_ns_from_s(gap_s), 0, on_arrival, owner);
}

static void station_init(struct station *station, const struct model *model, uint64_t seed, uint32_t run)
{
    memset(station, 0, sizeof *station);
    station->model = model;
    owner_init(&station->source, 0);
    for (uint32_t i = 0; i < MAX_SERVERS; i++) {
        station->servers[i].station = station;
        owner_init(&station->servers[i].owner, 1 + i);
    }
    uint64_t index = (uint64_t)(model - models); /* models share no numbers, so their intervals are independent */
    rng_init(&station->arrivals, seed, run, "arrivals", index);
    rng_init(&station->services, seed, run, "services", index);
    level_init(&station->in_system, 0, 0);
    level_init(&station->in_queue, 0, 0);
    level_init(&station->in_service, 0, 0);
    tally_init(&station->wait_s);
}

/* Little's law holds exactly on a run that begins and ends empty: the area under "number there" is the sum of the times
 * that each customer was there. So does it for the queue and for the servers alone. */
static void check_littles_law(const struct station *station, sim_ns end)
{
    CHECK(station->in_system.integral == station->sojourn_ns);
    CHECK(station->in_queue.integral == station->wait_ns);
    CHECK(station->in_service.integral == station->service_ns);
    double mean_number = level_mean(&station->in_system, end);
    double throughput_per_s = station->n_left / sim_s_from_ns(end);
    double mean_sojourn_s = (double)station->sojourn_ns / 1e9 / station->n_left;
    CHECK_NEAR(throughput_per_s * mean_sojourn_s / mean_number, 1, 1e-14);
}

/* Returns the mean wait of the customers after the warm-up, and writes the hash of all their times. */
static double simulate(const struct model *model, uint64_t seed, uint32_t run, enum queue_kind queue,
                       char trajectory[HASH_HEX_CHARS])
{
    static struct station station;
    station_init(&station, model, seed, run);
    struct engine *engine = engine_create(&(struct engine_options){.queue = queue});
    station.trajectory = hash_create();
    SIM_REQUIRE(engine != NULL && station.trajectory != NULL);
    struct diag diag = {0};
    engine_schedule(engine, 0, 0, on_arrival, &station.source);
    CHECK_EQ_INT(engine_run(engine, &diag), 0);
    CHECK_EQ_INT(station.n_left, CUSTOMERS);
    CHECK_EQ_INT(engine_stats(engine).fired, 2 * CUSTOMERS);
    check_littles_law(&station, engine_now(engine));
    hash_hex(station.trajectory, trajectory);
    hash_destroy(station.trajectory);
    engine_destroy(engine);
    return station.wait_s.mean;
}

static double simulate_on_both_queues(const struct model *model, uint64_t seed, uint32_t run)
{
    char on_calendar[HASH_HEX_CHARS], on_heap[HASH_HEX_CHARS];
    double wait_s = simulate(model, seed, run, QUEUE_CALENDAR, on_calendar);
    CHECK(simulate(model, seed, run, QUEUE_HEAP, on_heap) == wait_s);
    CHECK_EQ_STR(on_heap, on_calendar);
    return wait_s;
}

/* Half the width of the interval that holds the true mean with the given confidence. */
static double half_width(const struct tally *means, double confidence_frac)
{
    double n = (double)means->count;
    return gsl_cdf_tdist_Pinv((1 + confidence_frac) / 2, n - 1) * sqrt(tally_variance(means) / n);
}

TEST_OPTIMISED(waits_agree_with_theory)
{
    int misses = 0;
    for (int m = 0; m < MODELS; m++) {
        struct tally all_seeds;
        double expected_s = expected_wait_s(&models[m]);
        tally_init(&all_seeds);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct tally one_seed;
            tally_init(&one_seed);
            for (uint32_t run = 0; run < REPLICATIONS; run++)
                tally_add(&one_seed, simulate_on_both_queues(&models[m], seed, run));
            if (fabs(one_seed.mean - expected_s) > half_width(&one_seed, 0.99)) misses++;
            tally_merge(&all_seeds, &one_seed);
        }
        if (!CHECK_NEAR(all_seeds.mean, expected_s, half_width(&all_seeds, 0.999)))
            CHECK_EQ_STR(models[m].name, "waits as theory says");
        CHECK(half_width(&all_seeds, 0.999) < 0.05 * expected_s); /* the interval is narrow enough to mean something */
    }
    CHECK(misses <= MAX_MISSES);
}

/* Known values of the formulas themselves, so that an error there cannot hide behind one in the simulator. */
TEST(formulas_have_their_known_values)
{
    CHECK_NEAR(erlang_c(1, 0.7), 0.7, 1e-15);
    CHECK_NEAR(erlang_c(2, 0.5), 1.0 / 3, 1e-15);
    CHECK_NEAR(expected_wait_s(&models[0]), 0.7 / 0.3, 1e-14);
    CHECK_NEAR(expected_wait_s(&models[2]), 0.35 / 0.3, 1e-14);
}
