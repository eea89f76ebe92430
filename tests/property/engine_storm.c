/* Storms of arming, disarming and plain events among entities that come and go in a pool. Every entity knows when its
 * timer must ring, so that an event that is lost, early, late or of an entity that is gone shows; calendar and heap
 * must fire the same events in the same order. */
#include "sim/core/engine.h"
#include "tests/support/harness.h"

enum { N_ENTITIES = 3000, N_CHAINS = 10, N_STEPS = 50000, OPS_PER_STEP = 4 };

struct entity {
    struct storm *storm;
    uint32_t place;  /* in storm.entities */
    uint32_t number; /* in the order in which they came */
    uint32_t n_plain;
    sim_ns rings_ns; /* when the timer must ring; negative: it is not armed */
    struct owner owner;
};

struct storm {
    struct engine *engine;
    struct pool pool;
    struct rng rng;
    struct entity *entities[N_ENTITIES];
    uint32_t last_number;
    bool passing; /* its owners are, and their numbers begin shortly before an id is used up */
    uint64_t n_steps_left, n_armed, n_ended, n_rung; /* timers: armed, replaced or disarmed, rung */
    uint64_t n_scheduled, n_fired;                   /* plain events */
    uint64_t hash;                                   /* of what fired, in order */
    sim_ns far_ns;                                   /* timers ring up to this much later */
    bool ok, out_of_memory;
};

static void ring(struct engine *engine, struct owner *owner, sim_ns now);

static struct entity *entity_create(struct storm *storm, uint32_t place)
{
    struct entity *entity = pool_take(&storm->pool);
    if (entity == NULL) {
        storm->out_of_memory = true;
        return NULL;
    }
    entity->storm = storm;
    entity->place = place;
    entity->n_plain = 0;
    entity->rings_ns = -1;
    entity->number = ++storm->last_number;
    if (storm->passing)
        owner_init_passing(&entity->owner, 7, (1 << OWNERS_PER_ID_BITS) - N_ENTITIES / 2 + entity->number);
    else
        owner_init(&entity->owner, entity->number);
    return storm->entities[place] = entity;
}

static void disarm(struct storm *storm, struct entity *entity)
{
    if (entity->rings_ns >= 0) storm->n_ended++;
    entity->rings_ns = -1;
    engine_disarm(storm->engine, &entity->owner);
}

static void arm(struct storm *storm, struct entity *entity)
{
    if (entity->rings_ns >= 0) storm->n_ended++;
    entity->rings_ns = engine_now(storm->engine) + (sim_ns)rng_below(&storm->rng, (uint64_t)storm->far_ns);
    storm->n_armed++;
    engine_arm(storm->engine, entity->rings_ns, (unsigned)rng_below(&storm->rng, 3), ring, &entity->owner);
}

static void note(struct storm *storm, const struct entity *entity, sim_ns now, uint64_t kind)
{
    storm->hash = (storm->hash ^ entity->number ^ (uint64_t)now << 20 ^ kind) * UINT64_C(0x100000001b3);
}

/* A timer rings, and its entity goes, if no plain event of it is pending; another takes its memory and place. */
static void ring(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct entity *entity = OWNER_ENTITY(owner, struct entity, owner);
    struct storm *storm = entity->storm;
    storm->ok &= entity->rings_ns == now && owner->armed == 0;
    storm->n_rung++;
    note(storm, entity, now, 1);
    entity->rings_ns = -1;
    if (entity->n_plain > 0) return;
    uint32_t place = entity->place;
    pool_give(&storm->pool, entity);
    entity = entity_create(storm, place);
    if (entity != NULL && storm->n_steps_left > 0) arm(storm, entity);
}

/* Does something to some entities, and schedules the next step. */
static void step(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct entity *entity = OWNER_ENTITY(owner, struct entity, owner);
    struct storm *storm = entity->storm;
    storm->n_fired++;
    storm->ok &= entity->n_plain-- > 0;
    note(storm, entity, now, 2);
    if (storm->n_steps_left == 0 || storm->out_of_memory) return;
    storm->n_steps_left--;
    for (int i = 0; i < OPS_PER_STEP; i++) {
        struct entity *other = storm->entities[rng_below(&storm->rng, N_ENTITIES)];
        if (rng_below(&storm->rng, 4) == 0)
            disarm(storm, other);
        else
            arm(storm, other);
    }
    struct entity *next = storm->entities[rng_below(&storm->rng, N_ENTITIES)];
    next->n_plain++;
    storm->n_scheduled++;
    engine_schedule(engine, now + (sim_ns)rng_below(&storm->rng, 20), (unsigned)rng_below(&storm->rng, 3), step,
                    &next->owner);
}

/* Returns what engine_run returned; storm_fini may be called in either case. */
static int run_storm(struct storm *storm, enum queue_kind queue, sim_ns far_ns, bool passing)
{
    *storm = (struct storm){.n_steps_left = N_STEPS, .far_ns = far_ns, .passing = passing, .ok = true};
    struct engine_options options = {.queue = queue};
    rng_init(&storm->rng, 1, 0, "storm", (uint64_t)far_ns);
    pool_init(&storm->pool, sizeof(struct entity));
    storm->engine = engine_create(&options);
    if (storm->engine == NULL) return SIM_E_NOMEM;
    for (uint32_t i = 0; i < N_ENTITIES; i++) {
        struct entity *entity = entity_create(storm, i);
        if (entity == NULL) return SIM_E_NOMEM;
        arm(storm, entity);
    }
    for (uint32_t i = 0; i < N_CHAINS; i++) {
        storm->entities[i]->n_plain++;
        storm->n_scheduled++;
        engine_schedule(storm->engine, i, 0, step, &storm->entities[i]->owner);
    }
    int code = engine_run(storm->engine, NULL);
    return storm->out_of_memory ? SIM_E_NOMEM : code;
}

static void storm_fini(struct storm *storm)
{
    engine_destroy(storm->engine);
    pool_fini(&storm->pool);
}

/* What was armed has rung or was ended, each once; dead records never outnumber the live ones by much. */
static void check_laws(const struct storm *storm)
{
    struct engine_stats stats = engine_stats(storm->engine);
    CHECK(storm->ok);
    CHECK_EQ_INT(storm->n_armed, storm->n_rung + storm->n_ended);
    CHECK_EQ_INT(storm->n_fired, storm->n_scheduled);
    CHECK_EQ_INT(stats.fired, storm->n_rung + storm->n_fired);
    CHECK_EQ_INT(stats.dropped, storm->n_ended);
    CHECK(stats.peak_records <= 2 * (N_ENTITIES + N_CHAINS) + 4096 + 1);
    CHECK(stats.peak_queue_bytes <= 36 * stats.peak_records + 1024 * 1024);
}

/* From timers that mostly ring to timers that are nearly always cancelled. Owners that pass are no others than those
 * that last, also when they begin to share the next id. */
TEST(every_timer_rings_once_and_in_time)
{
    static const sim_ns fars_ns[] = {2000, 100000, 86400 * SIM_NS_PER_S};
    static struct storm storm;
    for (int i = 0; i < 3; i++) {
        uint64_t hashes[4];
        for (int kind = 0; kind < 4; kind++) {
            CHECK_EQ_INT(run_storm(&storm, (enum queue_kind)(kind & 1), fars_ns[i], kind >= 2), 0);
            check_laws(&storm);
            CHECK(storm.n_ended > 100000);
            hashes[kind] = storm.hash;
            storm_fini(&storm);
            CHECK(hashes[kind] == hashes[0]);
        }
    }
}

TEST(running_out_of_memory_ends_the_run)
{
    static struct storm storm;
    for (int queue = QUEUE_CALENDAR; queue <= QUEUE_HEAP; queue++) {
        int code = SIM_E_NOMEM, n = 0;
        for (; n < 100 && code != 0; n++) {
            mem_fail_after(n);
            code = run_storm(&storm, (enum queue_kind)queue, 100000, queue == QUEUE_HEAP);
            mem_fail_never();
            storm_fini(&storm);
            CHECK(code == 0 || code == SIM_E_NOMEM);
        }
        CHECK_EQ_INT(code, 0);
        CHECK(n > 8);
    }
}
