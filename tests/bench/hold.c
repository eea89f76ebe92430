/* Measures events per second of the calendar queue, the heap and Brown's queue under the HOLD model.
 * Each of N owners has one event, and every event schedules its owner's next one, through the public API:
 *
 *     hold         engine_schedule
 *     hold_armed   engine_arm, so that dispatch checks the owner
 *     reschedule   the same, and each event moves the event of a random other owner
 *
 * Calendar and heap take turns on the same increments in one process; figures are medians of five, in CPU time. Brown's
 * queue runs bare, without an engine, for at most a second per cell.
 *
 * usage: hold [FULL]     FULL: nine distributions at 10^2 .. 10^7 pending events; else what ends within two minutes */
#include "sim/core/engine.h"
#include "sim/core/mem.h"
#include "tests/bench/bench.h"
#include "tests/bench/increments.h"
#include "tests/bench/peers/brown.h"

#include <stdbool.h>
#include <stdio.h>

enum { MIN_WARM_UP_EVENTS = 300000, BROWN_BATCH_EVENTS = 1000 };

#define BROWN_LIMIT_S 1.0

struct holder {
    _Alignas(16) struct owner owner;
    struct model *model;
};

struct model {
    struct engine *engine;
    struct holder *holders;
    uint32_t n_holders;
    const sim_ns *increments_ns;
    uint32_t next_increment;
    uint64_t n_left;
    uint64_t lottery; /* who is rescheduled: a linear congruential generator */
};

struct variant {
    const char *bench;
    event_fn handler;
};

struct cell {
    const struct variant *variant;
    const struct distribution *distribution;
    uint32_t n_pending;
    uint64_t n_events;
    sim_ns increments_ns[N_INCREMENTS];
};

static sim_ns draw_ns(struct model *model)
{
    return model->increments_ns[model->next_increment++ % N_INCREMENTS];
}

static struct model *model_of(struct owner *owner)
{
    return OWNER_ENTITY(owner, struct holder, owner)->model;
}

static void count_down(struct engine *engine, struct model *model)
{
    if (--model->n_left == 0) engine_stop(engine);
}

static void hold(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct model *model = model_of(owner);
    engine_schedule(engine, now + draw_ns(model), 0, hold, owner);
    count_down(engine, model);
}

static void hold_armed(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct model *model = model_of(owner);
    engine_arm(engine, now + draw_ns(model), 0, hold_armed, owner);
    count_down(engine, model);
}

static void reschedule(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct model *model = model_of(owner);
    model->lottery = model->lottery * 6364136223846793005u + 1442695040888963407u;
    struct holder *other = &model->holders[(model->lottery >> 32) * model->n_holders >> 32];
    engine_arm(engine, now + draw_ns(model), 0, reschedule, owner);
    engine_arm(engine, now + draw_ns(model), 0, reschedule, &other->owner);
    count_down(engine, model);
}

static const struct variant plain = {"hold", hold}, armed = {"hold_armed", hold_armed},
                            moving = {"reschedule", reschedule};

static void model_fini(struct model *model)
{
    engine_destroy(model->engine);
    mem_free(model->holders);
}

/* 0 or SIM_E_NOMEM; model_fini may be called in either case. */
static int model_init(struct model *model, enum queue_kind queue, const struct cell *cell)
{
    struct engine_options options = {.queue = queue, .stall_events = UINT64_MAX};
    *model = (struct model){.n_holders = cell->n_pending, .increments_ns = cell->increments_ns};
    model->engine = engine_create(&options);
    model->holders = mem_alloc(cell->n_pending * sizeof *model->holders);
    if (model->engine == NULL || model->holders == NULL) return SIM_E_NOMEM;
    for (uint32_t i = 0; i < cell->n_pending; i++) {
        owner_init(&model->holders[i].owner, i + 1);
        model->holders[i].model = model;
        if (cell->variant == &plain)
            engine_schedule(model->engine, draw_ns(model), 0, hold, &model->holders[i].owner);
        else
            engine_arm(model->engine, draw_ns(model), 0, cell->variant->handler, &model->holders[i].owner);
    }
    return 0;
}

/* CPU seconds of so many events; negative when it failed. */
static double run_s(struct model *model, uint64_t n_events)
{
    model->n_left = n_events;
    double start_s = bench_cpu_s();
    int code = engine_run(model->engine, NULL);
    return code == 0 && model->n_left == 0 ? bench_cpu_s() - start_s : -1;
}

static void print_result(const struct cell *cell, const char *queue, double s_per_event, double heap_s_per_event,
                         double bytes_per_record)
{
    printf("{\"bench\":\"%s\",\"queue\":\"%s\",\"dist\":\"%s\",\"pending\":%u,\"events_per_s\":%.0f,"
           "\"ratio_to_heap\":%.2f,\"bytes_per_record\":%.1f}\n",
           cell->variant->bench, queue, cell->distribution->name, cell->n_pending, 1 / s_per_event,
           heap_s_per_event / s_per_event, bytes_per_record);
    fflush(stdout);
}

/* Seconds per event of a bare HOLD on Brown's queue; negative when it failed. */
static double brown_s_per_event(struct brown *brown, const struct cell *cell)
{
    uint32_t next_increment = 0, counter = 0;
    struct event event;
    for (uint32_t i = 0; i < cell->n_pending; i++) {
        event = (struct event){.time = (uint64_t)cell->increments_ns[next_increment++ % N_INCREMENTS], .order = i};
        if (brown_push(brown, &event) != 0) return -1;
    }
    uint64_t n_events = 0;
    double start_s = bench_cpu_s(), spent_s = 0;
    for (; n_events < cell->n_events && spent_s < BROWN_LIMIT_S; n_events += BROWN_BATCH_EVENTS) {
        for (int i = 0; i < BROWN_BATCH_EVENTS; i++) {
            if (brown_pop(brown, &event) <= 0) return -1;
            event.time += (uint64_t)cell->increments_ns[next_increment++ % N_INCREMENTS];
            event.order = (event.order & UINT32_MAX) | (uint64_t)++counter << 32;
            if (brown_push(brown, &event) != 0) return -1;
        }
        spent_s = bench_cpu_s() - start_s;
    }
    return spent_s / (double)n_events;
}

static int bench_brown(const struct cell *cell, double heap_s_per_event)
{
    struct brown brown;
    double s_per_event = brown_init(&brown) == 0 ? brown_s_per_event(&brown, cell) : -1;
    if (s_per_event > 0)
        print_result(cell, "brown", s_per_event, heap_s_per_event,
                     (double)(brown.n_days * sizeof *brown.days) / (double)brown.n + sizeof(struct brown_node));
    brown_fini(&brown);
    return s_per_event > 0 ? 0 : SIM_E_NOMEM;
}

/* Warms up, so that the models reach their steady state, and lets the queues take turns. */
static int run_models(const struct cell *cell, struct model models[2], double s_per_event[2])
{
    double repeats_s[2][BENCH_REPEATS];
    bool steady = cell->distribution->draw_s == draw_exponential; /* has no memory, and starts as it goes on */
    uint64_t n_warm_up = (steady ? 1 : 3) * (uint64_t)cell->n_pending;
    const uint64_t least = (uint64_t)bench_load(MIN_WARM_UP_EVENTS);
    if (n_warm_up < least) n_warm_up = least;
    for (int queue = QUEUE_CALENDAR; queue <= QUEUE_HEAP; queue++)
        if (model_init(&models[queue], (enum queue_kind)queue, cell) != 0 || run_s(&models[queue], n_warm_up) < 0)
            return SIM_E_NOMEM;
    for (int i = 0; i < BENCH_REPEATS; i++)
        for (int queue = QUEUE_CALENDAR; queue <= QUEUE_HEAP; queue++)
            if ((repeats_s[queue][i] = run_s(&models[queue], cell->n_events)) < 0) return SIM_E_NOMEM;
    for (int queue = QUEUE_CALENDAR; queue <= QUEUE_HEAP; queue++)
        s_per_event[queue] = bench_median(repeats_s[queue]) / (double)cell->n_events;
    return 0;
}

static int bench_cell(const struct variant *variant, const struct distribution *distribution, uint32_t n_pending,
                      bool with_brown)
{
    static struct cell cell;
    struct model models[2] = {0};
    double s_per_event[2];
    cell.variant = variant;
    cell.distribution = distribution;
    cell.n_pending = n_pending;
    cell.n_events = (uint64_t)bench_load(n_pending < 100000 ? 1000000 : 500000);
    draw_increments(distribution, cell.increments_ns);
    int code = run_models(&cell, models, s_per_event);
    if (code == 0) {
        struct engine_stats stats = engine_stats(models[QUEUE_CALENDAR].engine);
        print_result(&cell, "calendar", s_per_event[QUEUE_CALENDAR], s_per_event[QUEUE_HEAP],
                     (double)stats.peak_queue_bytes / (double)stats.peak_records);
    }
    for (int queue = QUEUE_CALENDAR; queue <= QUEUE_HEAP; queue++) model_fini(&models[queue]);
    if (code == 0 && with_brown) code = bench_brown(&cell, s_per_event[QUEUE_HEAP]);
    if (code != 0) fprintf(stderr, "hold: out of memory with %u pending events\n", n_pending);
    return code;
}

/* The selection: all distributions where it is cheap, and the cells with a target of their own. */
static bool wanted(bool full, const struct distribution *distribution, uint32_t n_pending)
{
    if (full || n_pending <= 10000) return true;
    return distribution->draw_s == draw_exponential || (distribution->draw_s == draw_ties && n_pending <= 1000000);
}

int main(int argc, char **argv)
{
    bool full = argc > 1 && argv[1][0] != 0;
    const uint32_t most = bench_load(2) == 2 ? 10000000 : 10000;
    int code = 0;
    for (uint32_t n_pending = 100; n_pending <= most && code == 0; n_pending *= 10)
        for (int i = 0; i < N_DISTRIBUTIONS && code == 0; i++)
            if (wanted(full, &distributions[i], n_pending))
                code = bench_cell(&plain, &distributions[i], n_pending,
                                  n_pending == 10000 || (full && n_pending < 10000));
    for (uint32_t n_pending = 10000; n_pending <= most / 10 && code == 0; n_pending *= 100) {
        code = bench_cell(&armed, &distributions[0], n_pending, false);
        if (code == 0) code = bench_cell(&moving, &distributions[0], n_pending, false);
    }
    return code != 0;
}
