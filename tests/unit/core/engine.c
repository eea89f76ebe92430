/* What engine.h promises, for both kinds of queue. */
#include "sim/core/engine.h"
#include "tests/support/harness.h"

enum { MAX_LOG = 4096, COUNTER_MAX = (1 << OWNER_COUNTER_BITS) - 1 };

/* An entity that notes when it fires, and may act when it does. */
struct bell {
    struct owner owner;
    void (*act)(struct engine *engine, struct bell *bell);
    struct bell *other;
    int n_left; /* what `act` still has to do */
};

struct rig {
    struct engine *engine;
    struct diag diag;
    int n_log;
    uint32_t log_ids[MAX_LOG];
    sim_ns log_ns[MAX_LOG];
    int n_looks;
};

static struct rig *running; /* the rig of the engine whose events fire */

static void ring(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct rig *rig = running;
    struct bell *bell = OWNER_ENTITY(owner, struct bell, owner);
    if (rig->n_log < MAX_LOG) {
        rig->log_ids[rig->n_log] = owner->id;
        rig->log_ns[rig->n_log++] = now;
    }
    if (bell->act != NULL) bell->act(engine, bell);
}

static struct bell bell_of(uint32_t id, void (*act)(struct engine *, struct bell *))
{
    struct bell bell = {.act = act};
    owner_init(&bell.owner, id);
    return bell;
}

static bool rig_init(struct rig *rig, struct engine_options options)
{
    *rig = (struct rig){0};
    diag_init(&rig->diag);
    options.context = rig;
    running = rig;
    rig->engine = engine_create(&options);
    return CHECK(rig->engine != NULL);
}

/* Runs, and checks what is returned and the ids that fired, "3 1 2". */
static void run_and_expect(struct rig *rig, int code, const char *ids)
{
    char text[4096] = "";
    rig->n_log = 0;
    CHECK_EQ_INT(engine_run(rig->engine, &rig->diag), code);
    for (int i = 0, n = 0; i < rig->n_log && n < 4000; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, i > 0 ? " %u" : "%u", rig->log_ids[i]);
    CHECK_EQ_STR(text, ids);
}

/* Runs a test body once per kind of queue. */
static void with_each_queue(void (*body)(struct rig *rig), struct engine_options options)
{
    for (int kind = QUEUE_CALENDAR; kind <= QUEUE_HEAP; kind++) {
        struct rig rig;
        options.queue = (enum queue_kind)kind;
        if (!rig_init(&rig, options)) return;
        body(&rig);
        engine_destroy(rig.engine);
    }
}

static void order_body(struct rig *rig)
{
    struct bell bells[6];
    for (uint32_t i = 0; i < 6; i++) bells[i] = bell_of(i, NULL);
    engine_schedule(rig->engine, 20, 5, ring, &bells[1].owner);
    engine_schedule(rig->engine, 20, 1, ring, &bells[5].owner);
    engine_schedule(rig->engine, 20, 1, ring, &bells[4].owner);
    engine_schedule(rig->engine, 10, 255, ring, &bells[3].owner);
    engine_schedule(rig->engine, 20, 1, ring, &bells[4].owner);
    engine_schedule(rig->engine, 0, 0, ring, &bells[2].owner);
    engine_schedule(rig->engine, SIM_NS_MAX - 1, 0, ring, &bells[0].owner);
    run_and_expect(rig, 0, "2 3 4 4 5 1 0");
    CHECK_EQ_INT(rig->log_ns[0], 0);
    CHECK_EQ_INT(rig->log_ns[1], 10);
    CHECK_EQ_INT(rig->log_ns[6], SIM_NS_MAX - 1);
    CHECK_EQ_INT(engine_now(rig->engine), SIM_NS_MAX - 1);
    CHECK_EQ_INT(engine_stats(rig->engine).fired, 7);
    CHECK_EQ_INT(engine_stats(rig->engine).peak_records, 7);
    run_and_expect(rig, 0, "");
}

TEST(events_fire_by_time_priority_owner_and_counter)
{
    with_each_queue(order_body, (struct engine_options){0});
}

/* At now, from a handler: a later owner, an earlier owner, and a priority above that of the running event. */
static void schedule_at_now(struct engine *engine, struct bell *bell)
{
    if (bell->n_left-- <= 0) return;
    sim_ns now = engine_now(engine);
    engine_schedule(engine, now, 7, ring, &bell->owner);
    engine_schedule(engine, now, 7, ring, &bell->other[0].owner);
    engine_schedule(engine, now, 0, ring, &bell->other[1].owner);
}

static void zero_delay_body(struct rig *rig)
{
    struct bell others[2] = {bell_of(1, NULL), bell_of(9, NULL)}, bell = bell_of(5, schedule_at_now);
    bell.other = others;
    bell.n_left = 2;
    engine_schedule(rig->engine, 1000, 7, ring, &others[1].owner);
    engine_schedule(rig->engine, 1000, 7, ring, &bell.owner);
    engine_schedule(rig->engine, 1001, 0, ring, &others[0].owner);
    run_and_expect(rig, 0, "5 9 1 5 9 1 5 9 1");
    CHECK_EQ_INT(rig->log_ns[7], 1000);
    CHECK_EQ_INT(rig->log_ns[8], 1001);
}

TEST(events_at_now_fire_in_their_order)
{
    with_each_queue(zero_delay_body, (struct engine_options){0});
}

static void rearm_body(struct rig *rig)
{
    struct bell a = bell_of(1, NULL), b = bell_of(2, NULL);
    engine_arm(rig->engine, 50, 0, ring, &a.owner);
    engine_arm(rig->engine, 10, 0, ring, &a.owner);
    engine_arm(rig->engine, 20, 0, ring, &a.owner);
    engine_schedule(rig->engine, 15, 0, ring, &a.owner);
    engine_arm(rig->engine, 5, 0, ring, &b.owner);
    engine_disarm(rig->engine, &b.owner);
    engine_disarm(rig->engine, &b.owner);
    CHECK(a.owner.armed != 0);
    CHECK_EQ_INT(b.owner.armed, 0);
    run_and_expect(rig, 0, "1 1");
    CHECK_EQ_INT(rig->log_ns[0], 15);
    CHECK_EQ_INT(rig->log_ns[1], 20);
    CHECK_EQ_INT(a.owner.armed, 0);
    CHECK_EQ_INT(engine_now(rig->engine), 20);
    CHECK_EQ_INT(engine_stats(rig->engine).fired, 2);
    CHECK_EQ_INT(engine_stats(rig->engine).dropped, 3);
    CHECK_EQ_INT(engine_stats(rig->engine).peak_records, 5);
}

TEST(arming_again_replaces_and_disarming_drops)
{
    with_each_queue(rearm_body, (struct engine_options){0});
}

static void arm_again_later(struct engine *engine, struct bell *bell)
{
    CHECK_EQ_INT(bell->owner.armed, 0);
    if (bell->n_left-- > 0) engine_arm(engine, engine_now(engine) + 100, 3, ring, &bell->owner);
}

static void periodic_body(struct rig *rig)
{
    struct bell bell = bell_of(3, arm_again_later);
    bell.n_left = 4;
    engine_arm(rig->engine, 0, 3, ring, &bell.owner);
    run_and_expect(rig, 0, "3 3 3 3 3");
    CHECK_EQ_INT(engine_now(rig->engine), 400);
}

TEST(a_firing_event_is_no_longer_armed)
{
    with_each_queue(periodic_body, (struct engine_options){0});
}

static void until_body(struct rig *rig)
{
    struct bell bell = bell_of(3, arm_again_later);
    bell.n_left = 100;
    engine_arm(rig->engine, 0, 3, ring, &bell.owner);
    run_and_expect(rig, 0, "3 3 3");
    CHECK_EQ_INT(engine_now(rig->engine), 250);
    run_and_expect(rig, 0, "");
    engine_arm(rig->engine, 250, 3, ring, &bell.owner);
    run_and_expect(rig, 0, "3");
}

/* A dead record is not an event for which the clock would go on to `until`. */
static void dead_after_until_body(struct rig *rig)
{
    struct bell bell = bell_of(3, NULL);
    engine_schedule(rig->engine, 100, 0, ring, &bell.owner);
    engine_arm(rig->engine, 300, 0, ring, &bell.owner);
    engine_disarm(rig->engine, &bell.owner);
    run_and_expect(rig, 0, "3");
    CHECK_EQ_INT(engine_now(rig->engine), 100);
}

TEST(nothing_fires_after_until)
{
    with_each_queue(until_body, (struct engine_options){.until = 250});
    with_each_queue(dead_after_until_body, (struct engine_options){.until = 250});
}

static void stop_at_even(struct engine *engine, struct bell *bell)
{
    if (bell->owner.id % 2 == 0) engine_stop(engine);
}

static void stop_body(struct rig *rig)
{
    struct bell bells[6];
    for (uint32_t i = 0; i < 6; i++) {
        bells[i] = bell_of(i, stop_at_even);
        engine_schedule(rig->engine, 10 * (sim_ns)i, 0, ring, &bells[i].owner);
    }
    run_and_expect(rig, 0, "0");
    CHECK_EQ_INT(engine_now(rig->engine), 0);
    run_and_expect(rig, 0, "1 2");
    engine_schedule(rig->engine, 20, 0, ring, &bells[1].owner);
    run_and_expect(rig, 0, "1 3 4");
    run_and_expect(rig, 0, "5");
}

TEST(a_stopped_run_goes_on)
{
    with_each_queue(stop_body, (struct engine_options){0});
}

static void fail_twice(struct engine *engine, struct bell *bell)
{
    (void)bell;
    engine_fail(engine, SIM_E_POLICY);
    engine_fail(engine, SIM_E_DATA);
}

static void fail_body(struct rig *rig)
{
    struct bell bell = bell_of(1, fail_twice);
    engine_schedule(rig->engine, 1, 0, ring, &bell.owner);
    engine_schedule(rig->engine, 2, 0, ring, &bell.owner);
    run_and_expect(rig, SIM_E_POLICY, "1");
    run_and_expect(rig, SIM_E_POLICY, "");
}

TEST(the_first_failure_ends_the_run)
{
    with_each_queue(fail_body, (struct engine_options){0});
}

static volatile sig_atomic_t interrupt;

static void interrupt_at_third(struct engine *engine, struct bell *bell)
{
    engine_arm(engine, engine_now(engine) + 1, 0, ring, &bell->owner);
    if (++bell->n_left == 3) interrupt = 1;
}

static void interrupt_body(struct rig *rig)
{
    struct bell bell = bell_of(8, interrupt_at_third);
    engine_arm(rig->engine, 1000000000, 0, ring, &bell.owner);
    run_and_expect(rig, SIM_E_INTERRUPTED, "8 8 8");
    CHECK_EQ_STR(rig->diag.items[0].text, "interrupted at 1.000000002 s");
    interrupt = 0;
    bell.act = NULL;
    run_and_expect(rig, 0, "8");
}

TEST(an_interrupted_run_goes_on)
{
    with_each_queue(interrupt_body, (struct engine_options){.interrupt = &interrupt});
}

static void spin(struct engine *engine, struct bell *bell)
{
    if (bell->n_left > 0 && bell->n_left-- % 50 == 0) engine_progress(engine);
    engine_schedule(engine, engine_now(engine), 0, ring, &bell->owner);
}

static void stall_body(struct rig *rig)
{
    struct bell bell = bell_of(77, spin);
    bell.n_left = 1000;
    engine_schedule(rig->engine, 1500000000, 0, ring, &bell.owner);
    CHECK_EQ_INT(engine_run(rig->engine, &rig->diag), SIM_E_STALLED);
    CHECK_EQ_STR(rig->diag.items[0].text, "no progress in 100 events up to 1.5 s; the last one was of owner 77");
    CHECK_EQ_INT(engine_stats(rig->engine).fired, 951 + 100);
}

TEST(the_watchdog_counts_events_without_progress)
{
    with_each_queue(stall_body, (struct engine_options){.stall_events = 100});
}

static void look(void *context, sim_ns now, uint64_t events)
{
    struct rig *rig = context;
    rig->n_looks++;
    CHECK_EQ_INT(events % 65536, 0);
    CHECK_EQ_INT(now, (sim_ns)events - 1);
}

static void tick_until_done(struct engine *engine, struct bell *bell)
{
    if (--bell->n_left > 0) engine_schedule(engine, engine_now(engine) + 1, 0, ring, &bell->owner);
}

static void look_body(struct rig *rig)
{
    struct bell bell = bell_of(1, tick_until_done);
    bell.n_left = 200000;
    engine_schedule(rig->engine, 0, 0, ring, &bell.owner);
    CHECK_EQ_INT(engine_run(rig->engine, &rig->diag), 0);
    CHECK_EQ_INT(rig->n_looks, 3);
}

TEST(the_look_comes_every_65536_events)
{
    with_each_queue(look_body, (struct engine_options){.look = look});
}

/* A timeout that stays armed while its owner's counter goes round must neither fire early nor twice. */
static void wrap_body(struct rig *rig)
{
    struct bell bell = bell_of(4, NULL);
    bell.owner.issued = COUNTER_MAX - 2;
    engine_arm(rig->engine, 900, 0, ring, &bell.owner); /* dead as soon as it is armed again: COUNTER_MAX - 1 */
    engine_arm(rig->engine, 800, 0, ring, &bell.owner); /* COUNTER_MAX */
    engine_schedule(rig->engine, 100, 0, ring, &bell.owner);
    CHECK_EQ_INT(bell.owner.issued, 1);
    CHECK_EQ_INT(bell.owner.armed, COUNTER_MAX);
    CHECK_EQ_INT(engine_stats(rig->engine).dropped, 1);
    engine_disarm(rig->engine, &bell.owner); /* of the round before: removed at once */
    CHECK_EQ_INT(engine_stats(rig->engine).dropped, 2);
    bell.owner.issued = COUNTER_MAX - 2;
    engine_arm(rig->engine, 300, 0, ring, &bell.owner); /* the numbers that the dead records had */
    run_and_expect(rig, 0, "4 4");
    CHECK_EQ_INT(rig->log_ns[1], 300);
}

TEST(counters_go_round)
{
    with_each_queue(wrap_body, (struct engine_options){0});
}

/* Owners that share an id keep their order, also where the next id begins and at the end of all; so do those of two
 * kinds. */
static void passing_body(struct rig *rig)
{
    enum { FIRST_ID = 3 << PASSING_ID_BITS, PER_ID = 1 << OWNERS_PER_ID_BITS };
    static const uint64_t serials[] = {0, 1, PER_ID - 1, PER_ID, PER_ID + 1, (UINT64_C(1) << 46) - 1};
    struct bell bells[6], before = bell_of(FIRST_ID - 1, NULL);
    for (int i = 5; i >= 0; i--) { /* they would ring in the opposite order by when they were armed */
        bells[i] = bell_of(0, NULL);
        owner_init_passing(&bells[i].owner, FIRST_ID, serials[i]);
        engine_arm(rig->engine, 50, 0, ring, &bells[i].owner);
        engine_schedule(rig->engine, 60, 0, ring, &bells[i].owner);
        engine_arm(rig->engine, 40 - i, 0, ring, &bells[i].owner); /* the first one is dead */
    }
    engine_schedule(rig->engine, 60, 0, ring, &before.owner);
    run_and_expect(rig, 0,
                   "268435455 201326593 201326593 201326592 201326592 201326592 "
                   "201326591 201326592 201326592 201326592 201326593 201326593 268435455");
    CHECK_EQ_INT(engine_stats(rig->engine).dropped, 6);
}

TEST(passing_owners_fire_in_the_order_of_their_numbers)
{
    with_each_queue(passing_body, (struct engine_options){0});
}

/* The few counters of an owner that passes go round, many times, beside those of its neighbours. */
static void passing_wrap_body(struct rig *rig)
{
    struct bell bells[3];
    for (uint32_t i = 0; i < 3; i++) {
        bells[i] = bell_of(0, NULL);
        owner_init_passing(&bells[i].owner, 9, (1 << OWNERS_PER_ID_BITS) - 2 + i);
        engine_arm(rig->engine, 500 - i, 0, ring, &bells[i].owner);
    }
    for (int i = 1; i <= 1000; i++) engine_arm(rig->engine, 2000 - i, 0, ring, &bells[1].owner);
    CHECK_EQ_INT(bells[1].owner.issued >> PASSING_COUNTER_BITS, (1 << OWNERS_PER_ID_BITS) - 1);
    CHECK_EQ_INT(bells[1].owner.issued & bells[1].owner.span, 1001 % 255);
    run_and_expect(rig, 0, "10 9 9");
    CHECK_EQ_INT(rig->log_ns[0], 498);
    CHECK_EQ_INT(rig->log_ns[1], 500);
    CHECK_EQ_INT(rig->log_ns[2], 1000);
    CHECK_EQ_INT(engine_stats(rig->engine).dropped, 1000);
}

TEST(counters_of_passing_owners_go_round)
{
    with_each_queue(passing_wrap_body, (struct engine_options){0});
}

/* Jobs from a pool arm their finish, are preempted, finish and make room for others in the same memory. */
static void recycle_body(struct rig *rig)
{
    struct pool pool;
    pool_init(&pool, sizeof(struct bell));
    for (uint32_t id = 1; id <= 500; id++) {
        struct bell *bell = pool_take(&pool);
        MUST(bell != NULL);
        *bell = bell_of(id, NULL);
        engine_arm(rig->engine, 1000 + id, 0, ring, &bell->owner);
        if (id % 5 == 0) engine_arm(rig->engine, 5000 - id, 0, ring, &bell->owner);
        if (id % 5 != 0) {
            engine_disarm(rig->engine, &bell->owner);
            pool_give(&pool, bell);
        }
    }
    CHECK_EQ_INT(pool.n_live, 100);
    CHECK_EQ_INT(engine_run(rig->engine, &rig->diag), 0);
    CHECK_EQ_INT(rig->n_log, 100);
    for (int i = 0; i < rig->n_log; i++) CHECK_EQ_INT(rig->log_ids[i], 500 - 5 * i);
    CHECK_EQ_INT(engine_stats(rig->engine).dropped, 500);
    pool_fini(&pool);
}

TEST(recycled_owners_do_not_revive_dead_events)
{
    with_each_queue(recycle_body, (struct engine_options){0});
}

static void out_of_memory_body(struct rig *rig)
{
    struct bell bell = bell_of(1, NULL);
    mem_fail_after(0);
    for (int i = 0; i < 1000; i++) engine_schedule(rig->engine, i, 0, ring, &bell.owner);
    CHECK_EQ_INT(engine_run(rig->engine, &rig->diag), SIM_E_NOMEM);
    mem_fail_never();
    CHECK_EQ_INT(rig->diag.code, SIM_E_NOMEM);
    CHECK_EQ_INT(rig->n_log, 0);
}

TEST(running_out_of_memory_is_reported)
{
    with_each_queue(out_of_memory_body, (struct engine_options){0});
    for (int kind = QUEUE_CALENDAR; kind <= QUEUE_HEAP; kind++) {
        mem_fail_after(0);
        CHECK(engine_create(&(struct engine_options){.queue = (enum queue_kind)kind}) == NULL);
        mem_fail_never();
    }
    mem_fail_after(1);
    CHECK(engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR}) == NULL);
    mem_fail_never();
    engine_destroy(NULL);
}

/* Notes the times at which it is called, as an owner of number 7, and wants to be called again two later. */
static sim_ns watch(void *context, sim_ns next_ns)
{
    struct rig *rig = context;
    rig->log_ids[rig->n_log] = 7;
    rig->log_ns[rig->n_log++] = next_ns;
    return next_ns + 2;
}

static void watch_body(struct rig *rig)
{
    struct bell bell = bell_of(1, NULL);
    for (sim_ns t = 0; t < 10; t++) engine_schedule(rig->engine, t / 2 * 2, 0, ring, &bell.owner);
    engine_watch(rig->engine, 1, watch);
    run_and_expect(rig, 0, "1 1 7 1 1 1 1 7 1 1 1 1");
    CHECK_EQ_INT(rig->log_ns[2], 2);
    CHECK_EQ_INT(rig->log_ns[7], 6);
    CHECK_EQ_INT(engine_stats(rig->engine).fired, 10);
    CHECK_EQ_INT(engine_now(rig->engine), 8);
}

TEST(a_watcher_sees_what_each_moment_has_left)
{
    with_each_queue(watch_body, (struct engine_options){0});
}

static void schedule_in_the_background(struct engine *engine, struct bell *bell)
{
    engine_schedule_background(engine, engine_now(engine) + 10, 0, ring, &bell->owner);
}

static void background_body(struct rig *rig)
{
    struct bell tick = bell_of(1, schedule_in_the_background), work = bell_of(2, NULL), dead = bell_of(3, NULL);
    engine_schedule_background(rig->engine, 0, 0, ring, &tick.owner);
    run_and_expect(rig, 0, "");
    engine_schedule(rig->engine, 25, 0, ring, &work.owner);
    engine_arm(rig->engine, 95, 0, ring, &dead.owner);
    engine_disarm(rig->engine, &dead.owner);
    run_and_expect(rig, 0, "1 1 1 2");
    CHECK_EQ_INT(engine_now(rig->engine), 25);
    engine_schedule(rig->engine, 30, 0, ring, &work.owner);
    run_and_expect(rig, 0, "1 2"); /* what was left over fires before it */
}

TEST(events_in_the_background_keep_no_run_going)
{
    with_each_queue(background_body, (struct engine_options){0});
}

static void never_body(struct rig *rig)
{
    struct bell work = bell_of(1, NULL), never = bell_of(2, NULL);
    engine_schedule(rig->engine, 20, 0, ring, &work.owner);
    engine_schedule(rig->engine, SIM_NS_MAX, 0, ring, &never.owner);
    run_and_expect(rig, 0, "1");
    CHECK_EQ_INT(engine_now(rig->engine), 20);
    engine_arm(rig->engine, SIM_NS_MAX, 0, ring, &work.owner);
    run_and_expect(rig, 0, "");
    engine_arm(rig->engine, 30, 0, ring, &work.owner);
    run_and_expect(rig, 0, "1");
    engine_arm(rig->engine, SIM_NS_MAX, 0, ring, &work.owner);
    engine_schedule_background(rig->engine, 40, 0, ring, &never.owner);
    run_and_expect(rig, 0, "");
    CHECK_EQ_INT(engine_now(rig->engine), 30);
}

TEST(the_end_of_time_is_never)
{
    with_each_queue(never_body, (struct engine_options){0});
}

static void never_before_until_body(struct rig *rig)
{
    struct bell never = bell_of(1, NULL), reading = bell_of(2, NULL);
    engine_arm(rig->engine, SIM_NS_MAX, 0, ring, &never.owner);
    engine_schedule_background(rig->engine, 100, 0, ring, &reading.owner);
    run_and_expect(rig, 0, "2");
    CHECK_EQ_INT(engine_now(rig->engine), 250);
    engine_disarm(rig->engine, &never.owner);
    engine_schedule_background(rig->engine, 250, 0, ring, &reading.owner);
    run_and_expect(rig, 0, "");
}

TEST(what_never_comes_is_awaited_until_the_end)
{
    with_each_queue(never_before_until_body, (struct engine_options){.until = 250});
}
