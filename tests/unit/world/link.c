#include "sim/core/engine.h"
#include "sim/world/links/link.h"
#include "sim/world/rows/priority.h"
#include "tests/support/harness.h"

enum { N_MOVES = 8, N_LINKS = 4, N_DEEDS = 8, N_NOTIFIED = 8 };

/* A flow or claim under test, and what came of it. */
struct move {
    struct link_flow flow;
    sim_ns ended_ns; /* -1: not yet */
    int n_ended;
    int n_notified;
    struct {
        sim_ns at_ns;
        double bytes_per_s;
    } notified[N_NOTIFIED];
};

/* What is done to a move at a time. */
struct deed {
    struct owner owner;
    struct link_bed *bed;
    struct move *move;
    void (*act)(struct link_bed *bed, struct move *move, double x);
    double x;
};

struct link_bed {
    struct engine *engine;
    struct link_net *net;
    struct link *links[N_LINKS];
    struct link_path path; /* of what deeds start */
    struct move moves[N_MOVES];
    struct deed deeds[N_DEEDS];
    int n_deeds, n_ended;
    int order[N_MOVES]; /* of ends */
    int64_t seen;
};

static struct link_bed *bed_create(int n_links, const double *bytes_per_s)
{
    static struct link_bed bed;
    bed = (struct link_bed){.engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR})};
    bed.net = link_net_create(bed.engine, 1);
    for (int i = 0; i < n_links; i++) bed.links[i] = link_net_add(bed.net, "a link", bytes_per_s[i], 0);
    for (int i = 0; i < N_MOVES; i++) bed.moves[i].ended_ns = -1;
    return &bed;
}

static void bed_destroy(struct link_bed *bed)
{
    engine_destroy(bed->engine);
    link_net_destroy(bed->net);
}

static struct link_bed *only_bed;                /* of the running test */
static unsigned priority = PRIORITY_REPLICA; /* of deeds */

static void note_end(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    struct move *move = LINK_FLOW_ENTITY(flow, struct move, flow);
    (void)net;
    move->ended_ns = now;
    move->n_ended++;
    if (only_bed != NULL) only_bed->order[only_bed->n_ended++] = (int)(move - only_bed->moves);
}

static void note_grant(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    struct move *move = LINK_FLOW_ENTITY(claim, struct move, flow);
    (void)net;
    if (move->n_notified < N_NOTIFIED) {
        move->notified[move->n_notified].at_ns = now;
        move->notified[move->n_notified].bytes_per_s = link_flow_bytes_per_s(claim);
    }
    move->n_notified++;
}

static struct link_path path_of(const struct link_bed *bed, int n, const int *links)
{
    struct link_path path = {0};
    for (int i = 0; i < n; i++) link_path_add(&path, bed->links[links[i]]);
    return path;
}

#define PATH(bed, ...) path_of(bed, sizeof((int[]){__VA_ARGS__}) / sizeof(int), (int[]){__VA_ARGS__})

static void start(struct link_bed *bed, int i, struct link_path path, int64_t bytes, double cap)
{
    CHECK_EQ_INT(link_flow_start(bed->net, &bed->moves[i].flow, &path, bytes, cap, note_end), 0);
}

static double claim(struct link_bed *bed, int i, struct link_path path, double demand)
{
    double granted = 0;
    CHECK_EQ_INT(link_claim_start(bed->net, &bed->moves[i].flow, &path, demand, note_grant, &granted), 0);
    return granted;
}

static double rate(struct link_bed *bed, int i)
{
    return link_flow_bytes_per_s(&bed->moves[i].flow);
}

static void do_deed(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct deed *deed = OWNER_ENTITY(owner, struct deed, owner);
    (void)engine;
    (void)now;
    deed->act(deed->bed, deed->move, deed->x);
}

static void at(struct link_bed *bed, sim_ns ns, void (*act)(struct link_bed *, struct move *, double), int i, double x)
{
    struct deed *deed = &bed->deeds[bed->n_deeds++];
    *deed = (struct deed){.bed = bed, .move = &bed->moves[i], .act = act, .x = x};
    owner_init(&deed->owner, (uint32_t)(10 + bed->n_deeds));
    engine_schedule(bed->engine, ns, priority, do_deed, &deed->owner);
}

static void act_start(struct link_bed *bed, struct move *move, double bytes)
{
    CHECK_EQ_INT(link_flow_start(bed->net, &move->flow, &bed->path, (int64_t)bytes, HUGE_VAL, note_end), 0);
}

static void act_cancel(struct link_bed *bed, struct move *move, double bytes)
{
    (void)bed;
    CHECK_EQ_INT(link_flow_cancel(&move->flow), (int64_t)bytes);
}

static void act_demand(struct link_bed *bed, struct move *move, double granted)
{
    (void)bed;
    CHECK_NEAR(link_claim_demand(&move->flow, 7e9), granted, 1);
}

static void act_look(struct link_bed *bed, struct move *move, double bytes)
{
    CHECK_EQ_INT(link_flow_moved_bytes(&move->flow, engine_now(bed->engine)), (int64_t)bytes);
}

static void run(struct link_bed *bed)
{
    only_bed = bed;
    CHECK_EQ_INT(engine_run(bed->engine, NULL), 0);
}

/* --- Flows --- */

TEST(two_flows_halve_a_pipe)
{
    struct link_bed *bed = bed_create(1, (double[]){1e9});
    start(bed, 0, PATH(bed, 0), 1000000000, HUGE_VAL);
    start(bed, 1, PATH(bed, 0), 500000000, HUGE_VAL);
    CHECK_NEAR(rate(bed, 0), 5e8, 1e-3);
    at(bed, 500000000, act_look, 0, 250000000);
    at(bed, 1250000000, act_look, 0, 750000000);
    run(bed);
    CHECK_EQ_INT(bed->moves[1].ended_ns, SIM_NS_PER_S);
    CHECK_EQ_INT(bed->moves[0].ended_ns, SIM_NS_PER_S * 3 / 2);
    CHECK_EQ_INT(bed->moves[0].n_ended, 1);
    CHECK_EQ_INT(link_bytes(bed->links[0], engine_now(bed->engine)), 1500000000);
    bed_destroy(bed);
}

/* The narrowest link first; what its flows leave on the others goes to those that can use it. */
TEST(shares_are_max_min_fair)
{
    struct link_bed *bed = bed_create(3, (double[]){10e9, 4e9, 8e9});
    start(bed, 0, PATH(bed, 0), 1000000000, HUGE_VAL);
    start(bed, 1, PATH(bed, 0, 1), 1000000000, HUGE_VAL);
    start(bed, 2, PATH(bed, 1, 2), 1000000000, HUGE_VAL);
    start(bed, 3, PATH(bed, 2), 1000000000, HUGE_VAL);
    const double shares[] = {8e9, 2e9, 2e9, 6e9};
    for (int i = 0; i < 4; i++) CHECK_NEAR(rate(bed, i), shares[i], 1e-3);
    run(bed);
    /* 1 GB at 8 GB/s; at 6; then 2 and 3 in 1/2 s, since only link 1 held these back. */
    const sim_ns ends_ns[] = {125000000, 500000000, 500000000, 166666667};
    for (int i = 0; i < 4; i++) CHECK_EQ_INT(bed->moves[i].ended_ns, ends_ns[i]);
    CHECK_EQ_INT(bed->order[2], 1);
    CHECK_EQ_INT(bed->order[3], 2);
    bed_destroy(bed);
}

/* And the short ones get what it leaves, until another long one comes. */
TEST(a_flow_over_all_links_takes_the_least_share)
{
    struct link_bed *bed = bed_create(3, (double[]){3e9, 3e9, 3e9});
    start(bed, 0, PATH(bed, 0, 1, 2), 3000000000, HUGE_VAL);
    start(bed, 1, PATH(bed, 0), 3000000000, HUGE_VAL);
    start(bed, 2, PATH(bed, 0), 3000000000, HUGE_VAL);
    start(bed, 3, PATH(bed, 1), 3000000000, HUGE_VAL);
    const double shares[] = {1e9, 1e9, 1e9, 2e9};
    for (int i = 0; i < 4; i++) CHECK_NEAR(rate(bed, i), shares[i], 1e-3);
    start(bed, 4, PATH(bed, 1, 2), 3000000000, HUGE_VAL);
    const double after[] = {1e9, 1e9, 1e9, 1e9, 1e9};
    for (int i = 0; i < 5; i++) CHECK_NEAR(rate(bed, i), after[i], 1e-3);
    bed_destroy(bed);
}

TEST(ceilings_leave_their_rest_to_others)
{
    struct link_bed *bed = bed_create(1, (double[]){9e9});
    start(bed, 0, PATH(bed, 0), 1000000000, 1e9);
    start(bed, 1, PATH(bed, 0), 8000000000, 3.5e9);
    start(bed, 2, PATH(bed, 0), 9000000000, HUGE_VAL);
    CHECK(rate(bed, 0) == 1e9);
    CHECK(rate(bed, 1) == 3.5e9);
    CHECK_NEAR(rate(bed, 2), 4.5e9, 1e-3);
    run(bed);
    CHECK_EQ_INT(bed->moves[0].ended_ns, SIM_NS_PER_S);
    CHECK_EQ_INT(bed->moves[2].ended_ns, 1000000000 + llrint(4.5e9 / 5.5)); /* 5.5 GB/s once the first is gone */
    bed_destroy(bed);
}

TEST(ends_round_half_to_even)
{
    const int64_t bytes[] = {1, 3, 5, 7, 1000000001}, ends_ns[] = {0, 2, 2, 4, 500000000};
    for (int i = 0; i < 5; i++) {
        struct link_bed *bed = bed_create(1, (double[]){2e9});
        start(bed, 0, PATH(bed, 0), bytes[i], HUGE_VAL);
        run(bed);
        CHECK_EQ_INT(bed->moves[0].ended_ns, ends_ns[i]);
        CHECK_EQ_INT(link_bytes(bed->links[0], 500000001), bytes[i]);
        bed_destroy(bed);
    }
}

TEST(a_path_may_cross_a_link_twice)
{
    struct link_bed *bed = bed_create(2, (double[]){3e9, 9e9});
    start(bed, 0, PATH(bed, 0, 1, 0), 1000000000, HUGE_VAL);
    CHECK_NEAR(rate(bed, 0), 1.5e9, 1e-3);
    start(bed, 1, PATH(bed, 0), 1000000000, HUGE_VAL);
    CHECK_NEAR(rate(bed, 0), 1e9, 1e-3);
    CHECK_NEAR(rate(bed, 1), 1e9, 1e-3);
    run(bed);
    CHECK_EQ_INT(link_bytes(bed->links[0], engine_now(bed->engine)), 3000000000);
    CHECK_EQ_INT(link_bytes(bed->links[1], engine_now(bed->engine)), 1000000000);
    bed_destroy(bed);
}

TEST(latency_comes_before_the_bytes)
{
    struct link_bed *bed = bed_create(1, (double[]){1e9});
    struct link *far = link_net_add(bed->net, "far", 2e9, 5000), *near = link_net_add(bed->net, "near", 2e9, 700);
    bed->links[1] = far;
    bed->links[2] = near;
    start(bed, 0, PATH(bed, 0, 1, 2), 1000, HUGE_VAL);
    start(bed, 1, PATH(bed, 0), 2000, HUGE_VAL); /* has the link to itself as long as the other one only waits */
    start(bed, 2, PATH(bed, 0, 1), 0, HUGE_VAL);
    start(bed, 3, PATH(bed, 0), 0, HUGE_VAL);
    CHECK_EQ_INT(bed->moves[3].ended_ns, -1); /* no callback from within a start */
    CHECK(rate(bed, 0) == 0);
    CHECK_NEAR(rate(bed, 1), 1e9, 1e-3);
    run(bed);
    CHECK_EQ_INT(bed->moves[0].ended_ns, 6700);
    CHECK_EQ_INT(bed->moves[1].ended_ns, 2000);
    CHECK_EQ_INT(bed->moves[2].ended_ns, 5000);
    CHECK_EQ_INT(bed->moves[3].ended_ns, 0);
    bed_destroy(bed);
}

TEST(a_cancelled_flow_leaves_what_it_moved)
{
    struct link_bed *bed = bed_create(1, (double[]){1e9});
    start(bed, 0, PATH(bed, 0), 1000, HUGE_VAL);
    start(bed, 1, PATH(bed, 0), 1000, HUGE_VAL);
    at(bed, 401, act_cancel, 1, 200); /* of 200.5 bytes, whole ones */
    at(bed, 900, act_cancel, 1, 200); /* idle: nothing more to end */
    run(bed);
    CHECK_EQ_INT(bed->moves[1].n_ended, 0);
    CHECK_EQ_INT(bed->moves[0].ended_ns, 401 + 800); /* 799.5 bytes left: half to even */
    CHECK_EQ_INT(link_bytes(bed->links[0], 1201), 1200);
    start(bed, 1, PATH(bed, 0), 10, HUGE_VAL); /* and it may start again */
    CHECK_EQ_INT(link_flow_cancel(&bed->moves[1].flow), 0);
    CHECK_EQ_INT(link_bytes(bed->links[0], 1201), 1200);
    bed_destroy(bed);
}

TEST(a_latent_flow_can_be_cancelled)
{
    struct link_bed *bed = bed_create(1, (double[]){1e9});
    bed->links[1] = link_net_add(bed->net, "far", 1e9, 1000);
    start(bed, 0, PATH(bed, 1), 1000, HUGE_VAL);
    at(bed, 500, act_cancel, 0, 0);
    run(bed);
    CHECK_EQ_INT(bed->moves[0].n_ended, 0);
    CHECK_EQ_INT(link_bytes(bed->links[1], 500), 0);
    bed_destroy(bed);
}

/* What ends at a moment has ended by it, even if somebody else begins first in that moment. */
TEST(a_beginning_does_not_delay_an_end_of_its_moment)
{
    for (int first = 0; first < 2; first++) {
        struct link_bed *bed = bed_create(1, (double[]){3e9});
        start(bed, 0, PATH(bed, 0), 100, HUGE_VAL); /* 33.3 ns */
        bed->path = PATH(bed, 0);
        priority = first ? PRIORITY_ARRIVAL : PRIORITY_REPLICA;
        at(bed, 33, act_start, 1, 100);
        run(bed);
        CHECK_EQ_INT(bed->moves[0].ended_ns, 33);
        CHECK_EQ_INT(bed->moves[1].ended_ns, 66);
        priority = PRIORITY_REPLICA;
        bed_destroy(bed);
    }
}

/* --- Claims --- */

TEST(claims_learn_what_they_are_granted)
{
    struct link_bed *bed = bed_create(1, (double[]){10e9});
    CHECK(claim(bed, 0, PATH(bed, 0), 6e9) == 6e9);
    bed->path = PATH(bed, 0);
    at(bed, 1000000000, act_start, 1, 5e9);            /* 5 GB/s each: for a second */
    at(bed, 3000000000, act_demand, 0, 7e9);
    at(bed, 4000000000, act_cancel, 0, 6e9 + 5e9 + 6e9 + 7e9);
    run(bed);
    const struct move *move = &bed->moves[0];
    CHECK_EQ_INT(bed->moves[1].ended_ns, 2000000000);
    CHECK_EQ_INT(move->n_notified, 2); /* not of its own demand */
    CHECK_EQ_INT(move->notified[0].at_ns, 1000000000);
    CHECK_NEAR(move->notified[0].bytes_per_s, 5e9, 1e-3);
    CHECK_EQ_INT(move->notified[1].at_ns, 2000000000);
    CHECK(move->notified[1].bytes_per_s == 6e9);
    CHECK_EQ_INT(link_bytes(bed->links[0], 4000000000), 29000000000);
    bed_destroy(bed);
}

/* A sensor gets what a bounded claim leaves, and next to nothing beside flows that take all. It carries no bytes, and
 * is notified of every change. */
TEST(a_sensor_tells_and_takes_nothing)
{
    struct link_bed *bed = bed_create(1, (double[]){10e9});
    claim(bed, 0, PATH(bed, 0), 4e9);
    claim(bed, 1, PATH(bed, 0), 8e9);
    link_claim_sense(&bed->moves[1].flow);
    link_claim_ask(&bed->moves[0].flow, 3e9);
    CHECK_NEAR(link_claim_grant(&bed->moves[1].flow), 7e9, 1);
    CHECK(link_claim_grant(&bed->moves[0].flow) == 3e9);
    CHECK_NEAR(link_used_bytes_per_s(bed->links[0]), 3e9, 1);
    bed->path = PATH(bed, 0);
    at(bed, 1000000000, act_start, 2, 7e9); /* 7 GB/s, but for 2^-24 of that: for a second */
    at(bed, 3000000000, act_cancel, 0, 9e9);
    run(bed);
    const struct move *sensor = &bed->moves[1];
    CHECK_NEAR((double)bed->moves[2].ended_ns, 2e9, 2e9 * 0x1p-23);
    CHECK_EQ_INT(sensor->n_notified, 3);
    CHECK(sensor->notified[0].bytes_per_s < 7e9 * 0x1p-23);
    CHECK_NEAR(sensor->notified[1].bytes_per_s, 7e9, 1);
    CHECK_NEAR(sensor->notified[2].bytes_per_s, 8e9, 1);
    CHECK_EQ_INT(link_flow_moved_bytes(&sensor->flow, 3000000000), 0);
    bed_destroy(bed);
}

/* What is tried is what asking would give, and until then everything stays as it is. */
TEST(a_demand_that_is_tried_changes_nothing)
{
    struct link_bed *bed = bed_create(1, (double[]){10e9});
    struct link_flow *small = &bed->moves[0].flow, *large = &bed->moves[1].flow;
    claim(bed, 0, PATH(bed, 0), 2e9);
    claim(bed, 1, PATH(bed, 0), 9e9);
    CHECK_NEAR(link_claim_grant(large), 8e9, 1);
    MUST(link_net_is_settled(bed->net));
    link_claim_try(small, 7e9);
    const double tried = link_claim_tried(small, 7e9);
    link_claim_end_try(small);
    CHECK(link_net_is_settled(bed->net));
    CHECK_NEAR(tried, 5e9, 1);
    CHECK(link_flow_bytes_per_s(small) == 2e9);
    CHECK_NEAR(link_flow_bytes_per_s(large), 8e9, 1);
    CHECK(link_claim_demand(small, 7e9) == tried);
    CHECK_NEAR(link_flow_bytes_per_s(large), 5e9, 1);
    bed_destroy(bed);
}

/* The link need not be short of bandwidth for its used rate to follow the demand of a claim. */
TEST(a_link_is_used_as_its_claim_asks)
{
    for (int leaves_idle = 0; leaves_idle < 2; leaves_idle++) {
        struct link_bed *bed = bed_create(1, (double[]){10e9});
        claim(bed, 0, PATH(bed, 0), 6e9);
        if (leaves_idle) link_claim_leave_idle(&bed->moves[0].flow);
        link_claim_ask(&bed->moves[0].flow, 2e9);
        CHECK_NEAR(link_used_bytes_per_s(bed->links[0]), 2e9, 1);
        bed_destroy(bed);
    }
}

TEST(a_claim_is_notified_once_per_moment)
{
    struct link_bed *bed = bed_create(1, (double[]){12e9});
    CHECK(claim(bed, 0, PATH(bed, 0), 12e9) == 12e9);
    bed->path = PATH(bed, 0);
    for (int i = 1; i <= 3; i++) at(bed, 1000, act_start, i, 3e9);
    run(bed);
    CHECK_EQ_INT(bed->moves[0].n_notified, 2);
    CHECK_NEAR(bed->moves[0].notified[0].bytes_per_s, 3e9, 1e-3);
    CHECK_EQ_INT(bed->moves[0].notified[1].at_ns, 1000001000);
    bed_destroy(bed);
}

/* A flow that begins and ends beside a claim tells it two grants, which take one event each. */
TEST(a_moment_of_news_takes_one_event)
{
    uint64_t events[2];
    for (int n_claims = 0; n_claims < 2; n_claims++) {
        struct link_bed *bed = bed_create(1, (double[]){12e9});
        if (n_claims > 0) CHECK(claim(bed, 0, PATH(bed, 0), 12e9) == 12e9);
        bed->path = PATH(bed, 0);
        at(bed, 1000, act_start, 1, 12e9);
        run(bed);
        CHECK_EQ_INT(bed->moves[0].n_notified, 2 * n_claims);
        events[n_claims] = engine_stats(bed->engine).fired;
        bed_destroy(bed);
    }
    CHECK_EQ_INT(events[1], events[0] + 2);
}

TEST(a_new_claim_sees_those_of_the_same_moment)
{
    struct link_bed *bed = bed_create(1, (double[]){12e9});
    CHECK(claim(bed, 0, PATH(bed, 0), 9e9) == 9e9);
    CHECK_NEAR(claim(bed, 1, PATH(bed, 0), 9e9), 6e9, 1e-3);
    CHECK_NEAR(claim(bed, 2, PATH(bed, 0), 2e9), 2e9, 0);
    run(bed);
    CHECK_EQ_INT(bed->moves[0].n_notified, 1);
    CHECK_NEAR(bed->moves[0].notified[0].bytes_per_s, 5e9, 1e-3);
    CHECK_EQ_INT(bed->moves[1].n_notified, 1);
    CHECK_EQ_INT(bed->moves[2].n_notified, 0);
    bed_destroy(bed);
}

static void end_other(struct link_net *net, struct link_flow *claim, sim_ns now)
{
    (void)net;
    (void)now;
    note_grant(net, claim, now);
    link_flow_cancel(&only_bed->moves[1].flow);
}

TEST(a_claim_may_end_another_before_its_notification)
{
    struct link_bed *bed = bed_create(1, (double[]){10e9});
    struct link_path path = PATH(bed, 0);
    double granted;
    CHECK_EQ_INT(link_claim_start(bed->net, &bed->moves[0].flow, &path, 5e9, end_other, &granted), 0);
    CHECK(claim(bed, 1, path, 5e9) == 5e9);
    CHECK_NEAR(claim(bed, 2, path, 5e9), 10e9 / 3, 1e-3);
    run(bed);
    CHECK_EQ_INT(bed->moves[1].n_notified, 0);
    CHECK_EQ_INT(bed->moves[0].n_notified, 2); /* a third, then its demand again */
    CHECK(bed->moves[0].notified[1].bytes_per_s == 5e9);
    CHECK_EQ_INT(bed->moves[2].n_notified, 1);
    bed_destroy(bed);
}

/* --- Statistics and our own work --- */

static void act_busy(struct link_bed *bed, struct move *move, double busy_frac)
{
    (void)move;
    CHECK_NEAR(link_stats(bed->links[0], engine_now(bed->engine)).busy_frac, busy_frac, 1e-12);
}

TEST(links_count_bytes_and_time)
{
    struct link_bed *bed = bed_create(1, (double[]){2e9});
    start(bed, 0, PATH(bed, 0), 1000, HUGE_VAL);
    start(bed, 1, PATH(bed, 0), 2000, HUGE_VAL);
    bed->path = PATH(bed, 0);
    at(bed, 3000, act_start, 2, 2000);
    at(bed, 3500, act_busy, 0, 2000.0 / 3500); /* while it is busy */
    run(bed);
    CHECK_EQ_INT(engine_now(bed->engine), 4000);
    struct link_stats stats = link_stats(bed->links[0], 4000);
    CHECK_EQ_INT(stats.bytes, 5000);
    CHECK_NEAR(stats.busy_frac, 2500.0 / 4000, 1e-12);
    CHECK_NEAR(stats.used_frac, 5000.0 / 8000, 1e-12);
    CHECK_EQ_STR(link_name(bed->links[0]), "a link");
    CHECK_EQ_INT(link_net_count(bed->net), 1);
    CHECK(link_net_at(bed->net, 0) == bed->links[0]);
    bed_destroy(bed);
}

/* A claim that leaves its link idle is on it for 4000 ns, and a flow for the first 1000 and the last 500 of them. */
TEST(a_claim_may_leave_its_link_idle)
{
    struct link_bed *bed = bed_create(1, (double[]){2e9});
    struct link_flow claim = {0};
    double granted;
    start(bed, 0, PATH(bed, 0), 1000, 1e9);
    at(bed, 3500, act_start, 2, 500);
    at(bed, 3000, act_busy, 0, 1000.0 / 3000);
    bed->path = PATH(bed, 0);
    CHECK_EQ_INT(link_claim_start(bed->net, &claim, &bed->path, 1e9, NULL, &granted), 0);
    link_claim_leave_idle(&claim);
    run(bed);
    CHECK_NEAR(link_stats(bed->links[0], 4000).busy_frac, 1500.0 / 4000, 1e-12);
    link_flow_cancel(&claim);
    CHECK_NEAR(link_stats(bed->links[0], 4000).busy_frac, 1500.0 / 4000, 1e-12);
    bed_destroy(bed);
}

/* A switch that all nodes share, and that they cannot fill, costs nothing; one that they can ties them together. */
TEST(only_short_links_tie_flows_together)
{
    enum { N = 2000 };
    static struct link_flow flows[N];
    for (int is_short = 0; is_short < 2; is_short++) {
        struct link_bed *bed = bed_create(1, (double[]){(is_short ? 0.5 : 1.0) * N * 1e9});
        for (int i = 0; i < N; i++) {
            flows[i] = (struct link_flow){0};
            struct link_path path = PATH(bed, 0);
            link_path_add(&path, link_net_add(bed->net, "port", 1e9, 0));
            CHECK_EQ_INT(link_flow_start(bed->net, &flows[i], &path, 1000 + i, HUGE_VAL, NULL), 0);
        }
        uint64_t n_filled = is_short ? N : 0;
        CHECK_NEAR(link_flow_bytes_per_s(&flows[0]), is_short ? 5e8 : 1e9, 1);
        CHECK_EQ_INT(link_net_work(bed->net).fillings, is_short);
        CHECK_EQ_INT(link_net_work(bed->net).filled_flows, n_filled);
        for (int i = 0; i < N; i++) link_flow_cancel(&flows[i]);
        bed_destroy(bed);
    }
}

/* Flows over one path are shared out as one: what a change costs does not grow with their number. */
TEST(flows_over_one_path_cost_alike)
{
    enum { N = 2000 };
    static struct move moves[N];
    struct link_bed *bed = bed_create(2, (double[]){1e9, 0.5e9});
    only_bed = NULL;
    struct link_path path = PATH(bed, 0);
    link_path_add(&path, bed->links[1]);
    for (int i = 0; i < N; i++) {
        moves[i] = (struct move){.ended_ns = -1};
        CHECK_EQ_INT(link_flow_start(bed->net, &moves[i].flow, &path, 1000 + i * 7919 % N, HUGE_VAL, note_end), 0);
    }
    CHECK_EQ_INT(engine_run(bed->engine, NULL), 0);
    const struct link_net_work work = link_net_work(bed->net);
    CHECK_EQ_INT(work.filled_classes, work.fillings);
    CHECK(work.filled_flows > (uint64_t)N * N / 4);
    for (int i = 0; i < N; i++)
        CHECK_EQ_INT(link_flow_moved_bytes(&moves[i].flow, moves[i].ended_ns), 1000 + i * 7919 % N);
    CHECK_NEAR((double)engine_now(bed->engine), 2.0 * (1000.0 * N + N * (N - 1) / 2.0), 1.0);
    bed_destroy(bed);
}

static int run_short_of_memory(long n)
{
    static struct move moves[200];
    struct engine *engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR});
    if (engine == NULL) return SIM_E_NOMEM;
    int code = SIM_E_NOMEM;
    mem_fail_after(n);
    struct link_net *net = link_net_create(engine, 1);
    struct link *link = net != NULL ? link_net_add(net, "a link", 1e9, 0) : NULL;
    if (link != NULL) code = 0;
    struct link_path path = {.n = 1, .links = {link}};
    for (int i = 0; i < 200 && code == 0; i++) {
        moves[i] = (struct move){.ended_ns = -1};
        code = link_flow_start(net, &moves[i].flow, &path, 1000, HUGE_VAL, note_end);
        if (code != 0) CHECK(moves[i].flow.state == LINK_FLOW_IDLE);
    }
    if (code == 0) code = engine_run(engine, NULL);
    mem_fail_never();
    if (code == 0) CHECK_EQ_INT(moves[199].ended_ns, 200000);
    engine_destroy(engine);
    link_net_destroy(net);
    return code;
}

TEST(exhausted_memory_is_reported)
{
    only_bed = NULL; /* nobody asks for the order */
    int n = 0, code = SIM_E_NOMEM;
    for (; code != 0 && n < 100; n++) {
        code = run_short_of_memory(n);
        CHECK(code == 0 || code == SIM_E_NOMEM);
    }
    CHECK_EQ_INT(code, 0);
    CHECK(n > 10);
}
