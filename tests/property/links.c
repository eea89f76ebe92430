/* Random networks against a simulator of fluid flows that works everything out anew at every change, in long double:
 * the textbook's filling, level by level, over all links and flows. Ends must agree to the nanosecond, bytes must be
 * conserved as integers, and every share must be max-min fair: at its own ceiling, or the largest for its weight on a
 * link that is full. */
#include "sim/core/engine.h"
#include "sim/world/links/link.h"
#include "sim/world/rows/priority.h"
#include "tests/support/harness.h"

enum { MAX_LINKS = 10, MAX_FLOWS = 40, MAX_HOPS = 4, N_NETS = 400 };

/* One flow or claim of a random plan. */
struct plan {
    int n_hops, links[MAX_HOPS];
    bool endless;
    int64_t bytes;
    double cap, later_cap; /* of a claim: demand, from change_ns on another */
    double weight;         /* of a claim, at least 1/8; flows: 1 */
    sim_ns begin_ns, change_ns, cancel_ns; /* SIM_NS_MAX: never */
};

struct net_plan {
    int n_links, n_flows;
    bool equal; /* equal, round links: many ends lie midway between two ns and may round either way */
    double bytes_per_s[MAX_LINKS];
    sim_ns latency_ns[MAX_LINKS];
    struct plan flows[MAX_FLOWS];
};

/* What came of a flow. */
struct outcome {
    sim_ns end_ns; /* -1: cancelled or never ended */
    int64_t bytes;
};

/* --- Random plans --- */

static bool one_in(struct rng *rng, uint64_t n)
{
    return rng_below(rng, n) == 0;
}

static void draw_flow(struct rng *rng, const struct net_plan *net, sim_ns span_ns, struct plan *plan)
{
    plan->n_hops = 1 + (int)rng_below(rng, MAX_HOPS);
    for (int k = 0; k < plan->n_hops; k++) plan->links[k] = (int)rng_below(rng, (uint64_t)net->n_links);
    plan->endless = one_in(rng, 5);
    plan->bytes = one_in(rng, 20) ? 0 : (int64_t)rng_below(rng, 3000000);
    plan->cap = plan->endless || one_in(rng, 3) ? 1e8 + 5e9 * rng_uniform(rng) : HUGE_VAL;
    plan->weight = plan->endless && one_in(rng, 2) ? (double)((1 << 21) + rng_below(rng, 7 << 21)) * 0x1p-24 : 1;
    plan->later_cap = 1e8 + 5e9 * rng_uniform(rng);
    plan->begin_ns = one_in(rng, 4) ? 0 : (sim_ns)rng_below(rng, (uint64_t)span_ns);
    plan->change_ns = plan->cancel_ns = SIM_NS_MAX;
    if (plan->endless && one_in(rng, 2)) plan->change_ns = plan->begin_ns + 1 + (sim_ns)rng_below(rng, 500000);
    if (plan->endless || one_in(rng, 5))
        plan->cancel_ns = plan->begin_ns + 1 + (sim_ns)rng_below(rng, plan->endless ? 3000000 : 300000);
    if (plan->change_ns >= plan->cancel_ns) plan->change_ns = SIM_NS_MAX;
}

/* Takes the path and the ceiling of an earlier flow. */
static void follow(const struct plan *earlier, struct plan *plan)
{
    memcpy(plan->links, earlier->links, sizeof plan->links);
    plan->n_hops = earlier->n_hops;
    plan->cap = earlier->cap;
}

/* Ceilings and weights of few kinds: flows over unlike paths reach theirs at one level, or at one of a few in turn. */
static void level(struct rng *rng, struct plan *plan)
{
    static const double levels[] = {257182818.0, 531415926.0, 1041421356.0, 1557721566.0, 2069314718.0, 4271828182.0};
    if (plan->endless) plan->weight = ldexp(1, -(int)rng_below(rng, 3));
    plan->cap = plan->weight * levels[rng_below(rng, 6)];
    plan->later_cap = plan->weight * levels[rng_below(rng, 6)];
}

static void draw_net(uint64_t index, struct net_plan *net)
{
    struct rng rng = test_rng(1, "links", index);
    memset(net, 0, sizeof *net);
    net->n_links = 1 + (int)rng_below(&rng, MAX_LINKS);
    net->n_flows = 1 + (int)rng_below(&rng, MAX_FLOWS);
    net->equal = one_in(&rng, 4);
    for (int i = 0; i < net->n_links; i++) {
        net->bytes_per_s[i] = net->equal ? 2e9 : 5e8 + 8e9 * rng_uniform(&rng);
        net->latency_ns[i] = one_in(&rng, 3) ? (sim_ns)rng_below(&rng, 20000) : 0;
    }
    sim_ns span_ns = one_in(&rng, 2) ? 1000000 : 20000;
    const uint64_t alike = one_in(&rng, 2) ? 2 : UINT64_MAX;
    const bool is_levelled = one_in(&rng, 2);
    for (int i = 0; i < net->n_flows; i++) {
        draw_flow(&rng, net, span_ns, &net->flows[i]);
        if (is_levelled) level(&rng, &net->flows[i]);
        if (i > 0 && one_in(&rng, alike)) follow(&net->flows[rng_below(&rng, (uint64_t)i)], &net->flows[i]);
    }
}

/* --- The naive simulator --- */

struct naive_flow {
    bool moves, over;
    long double left, moved, cap, rate; /* bytes, bytes per ns */
    sim_ns enter_ns, end_ns;
};

struct naive {
    const struct net_plan *plan;
    struct naive_flow flows[MAX_FLOWS];
    sim_ns now;
};

/* Weights of the hops over a link that still rise. */
static long double naive_users(const struct naive *naive, const bool *stopped, int link)
{
    long double n = 0;
    for (int i = 0; i < naive->plan->n_flows; i++)
        for (int k = 0; k < naive->plan->flows[i].n_hops; k++)
            if (naive->flows[i].moves && !stopped[i] && naive->plan->flows[i].links[k] == link)
                n += (long double)naive->plan->flows[i].weight;
    return n;
}

/* Raises all rates together, each by its weight, until a link is full or a flow at its cap, stops these, and goes on
 * with the rest. */
static void naive_fill(struct naive *naive)
{
    const struct net_plan *plan = naive->plan;
    long double left[MAX_LINKS], level = 0;
    bool stopped[MAX_FLOWS] = {false};
    for (int i = 0; i < plan->n_links; i++) left[i] = (long double)plan->bytes_per_s[i] / 1e9L;
    for (;;) {
        long double step = (long double)HUGE_VAL;
        for (int i = 0; i < plan->n_links; i++) {
            const long double n = naive_users(naive, stopped, i);
            if (n > 0 && left[i] / n < step) step = left[i] / n;
        }
        for (int i = 0; i < plan->n_flows; i++)
            if (naive->flows[i].moves && !stopped[i] &&
                naive->flows[i].cap / (long double)plan->flows[i].weight - level < step)
                step = naive->flows[i].cap / (long double)plan->flows[i].weight - level;
        if (!(step < (long double)HUGE_VAL)) return;
        level += step;
        bool full[MAX_LINKS];
        for (int i = 0; i < plan->n_links; i++) {
            left[i] -= step * naive_users(naive, stopped, i);
            full[i] = left[i] < 1e-15L;
        }
        for (int i = 0; i < plan->n_flows; i++) {
            struct naive_flow *flow = &naive->flows[i];
            if (!flow->moves || stopped[i]) continue;
            flow->rate = level * (long double)plan->flows[i].weight;
            stopped[i] = flow->cap - flow->rate < 1e-15L;
            for (int k = 0; k < plan->flows[i].n_hops; k++) stopped[i] |= full[plan->flows[i].links[k]];
        }
    }
}

static sim_ns naive_next(const struct naive *naive)
{
    sim_ns next = SIM_NS_MAX;
    for (int i = 0; i < naive->plan->n_flows; i++) {
        const struct plan *plan = &naive->plan->flows[i];
        const struct naive_flow *flow = &naive->flows[i];
        const sim_ns times[] = {flow->enter_ns, plan->change_ns, plan->cancel_ns, flow->moves ? flow->end_ns : -1};
        for (int t = 0; t < 4 && !flow->over; t++)
            if (times[t] > naive->now && times[t] < next) next = times[t];
    }
    return next;
}

/* Brings one flow to now: its end, then its beginning, change or cancellation. */
static void naive_step(struct naive *naive, int i, sim_ns since, struct outcome *outcome)
{
    const struct plan *plan = &naive->plan->flows[i];
    struct naive_flow *flow = &naive->flows[i];
    sim_ns now = naive->now;
    if (flow->over) return;
    if (flow->moves) flow->moved += flow->rate * (long double)(now - since);
    if (now == flow->enter_ns) {
        flow->moves = true;
        flow->cap = (long double)plan->cap / 1e9L;
    }
    bool ends = flow->moves && !plan->endless && (flow->end_ns <= now || plan->bytes == 0);
    if (ends) *outcome = (struct outcome){now, plan->bytes};
    if (!ends && now == plan->cancel_ns) *outcome = (struct outcome){-1, (int64_t)floorl(flow->moved)};
    if (ends || now == plan->cancel_ns) {
        flow->over = true;
        flow->moves = false;
    }
    if (now == plan->change_ns) flow->cap = (long double)plan->later_cap / 1e9L;
}

static void run_naive(const struct net_plan *plan, struct outcome *outcomes)
{
    static struct naive naive;
    naive = (struct naive){.plan = plan, .now = -1};
    for (int i = 0; i < plan->n_flows; i++) {
        naive.flows[i].enter_ns = plan->flows[i].begin_ns;
        naive.flows[i].end_ns = SIM_NS_MAX;
        outcomes[i] = (struct outcome){-1, 0};
        for (int k = 0; k < plan->flows[i].n_hops && !plan->flows[i].endless; k++)
            naive.flows[i].enter_ns += plan->latency_ns[plan->flows[i].links[k]];
    }
    for (sim_ns since; naive_next(&naive) < SIM_NS_MAX;) {
        since = naive.now;
        naive.now = naive_next(&naive);
        bool again = true; /* what has no bytes left ends at once */
        while (again) {
            for (int i = 0; i < plan->n_flows; i++) naive_step(&naive, i, since, &outcomes[i]);
            since = naive.now;
            naive_fill(&naive);
            again = false;
            for (int i = 0; i < plan->n_flows; i++) {
                struct naive_flow *flow = &naive.flows[i];
                if (!flow->moves || plan->flows[i].endless) continue;
                flow->end_ns = naive.now + llrintl(((long double)plan->flows[i].bytes - flow->moved) / flow->rate);
                again |= flow->end_ns <= naive.now;
            }
        }
    }
}

/* --- The network --- */

struct mover {
    struct link_flow flow;
    struct owner begin, change, cancel;
    struct bed *bed;
    const struct plan *plan;
    struct outcome *outcome;
    double granted;
};

struct bed {
    struct engine *engine;
    struct link_net *net;
    const struct net_plan *plan;
    struct mover movers[MAX_FLOWS];
    uint64_t n_looks;
    bool ok; /* the laws held whenever they were looked at */
};

static struct mover *mover_of(struct link_flow *flow)
{
    return LINK_FLOW_ENTITY(flow, struct mover, flow);
}

static void on_done(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    (void)net;
    *mover_of(flow)->outcome = (struct outcome){now, link_flow_moved_bytes(flow, now)};
}

static void on_change(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    (void)net;
    (void)now;
    mover_of(flow)->granted = link_flow_bytes_per_s(flow);
}

/* Of the moving flows over each link, the rates added up and the highest rate over a weight. */
static void tell_links(const struct bed *bed, double *used, double *highest)
{
    for (int i = 0; i < bed->plan->n_links; i++) used[i] = highest[i] = 0;
    for (int i = 0; i < bed->plan->n_flows; i++) {
        struct link_flow *flow = (struct link_flow *)&bed->movers[i].flow;
        double rate = link_flow_bytes_per_s(flow);
        for (int k = 0; k < bed->plan->flows[i].n_hops && rate > 0; k++) {
            int link = bed->plan->flows[i].links[k];
            used[link] += rate;
            if (rate / bed->plan->flows[i].weight > highest[link]) highest[link] = rate / bed->plan->flows[i].weight;
        }
    }
}

/* Shares are rounded down by 1e-5 bytes per second for each hop at most. */
#define SLACK 1e-11

/* No link carries more than it can, and nobody could have more without taking from one who has no more. */
static bool is_fair(const struct bed *bed)
{
    double used[MAX_LINKS], highest[MAX_LINKS];
    bool ok = true;
    tell_links(bed, used, highest);
    for (int i = 0; i < bed->plan->n_links; i++) ok &= used[i] <= bed->plan->bytes_per_s[i] * (1 + 1e-12);
    for (int i = 0; i < bed->plan->n_flows; i++) {
        struct link_flow *flow = (struct link_flow *)&bed->movers[i].flow;
        if (flow->state != LINK_FLOW_MOVING) continue;
        double rate = link_flow_bytes_per_s(flow);
        bool held = rate == flow->cap_bytes_per_s;
        for (int k = 0; k < bed->plan->flows[i].n_hops; k++) {
            int link = bed->plan->flows[i].links[k];
            held |= used[link] >= bed->plan->bytes_per_s[link] * (1 - SLACK) &&
                    rate / bed->plan->flows[i].weight >= highest[link] * (1 - SLACK);
        }
        ok &= held;
    }
    return ok;
}

/* A link's bytes are those of the flows that went over it, ended or not. */
static bool is_conserved(const struct bed *bed, sim_ns at)
{
    int64_t bytes[MAX_LINKS] = {0};
    bool ok = true;
    for (int i = 0; i < bed->plan->n_flows; i++)
        for (int k = 0; k < bed->plan->flows[i].n_hops; k++)
            bytes[bed->plan->flows[i].links[k]] += link_flow_moved_bytes(&bed->movers[i].flow, at);
    for (int i = 0; i < bed->plan->n_links; i++) ok &= bytes[i] == link_bytes(link_net_at(bed->net, i), at);
    return ok;
}

static void look(void *context, sim_ns now, uint64_t events)
{
    struct bed *bed = context;
    (void)events;
    bed->n_looks++;
    bed->ok &= is_conserved(bed, now) && is_fair(bed);
}

static void begin(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct mover *mover = OWNER_ENTITY(owner, struct mover, begin);
    const struct plan *plan = mover->plan;
    struct link_path path = {0};
    (void)now;
    for (int k = 0; k < plan->n_hops; k++) link_path_add(&path, link_net_at(mover->bed->net, plan->links[k]));
    int code = plan->endless
                   ? link_claim_start(mover->bed->net, &mover->flow, &path, plan->cap, on_change, &mover->granted)
                   : link_flow_start(mover->bed->net, &mover->flow, &path, plan->bytes, plan->cap, on_done);
    if (code != 0) engine_fail(engine, code);
    if (code != 0 || !plan->endless || !(plan->weight < 1)) return;
    link_claim_weigh(&mover->flow, plan->weight);
    mover->granted = link_claim_grant(&mover->flow);
}

static void change(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct mover *mover = OWNER_ENTITY(owner, struct mover, change);
    (void)engine;
    (void)now;
    mover->granted = link_claim_demand(&mover->flow, mover->plan->later_cap);
}

static void cancel(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct mover *mover = OWNER_ENTITY(owner, struct mover, cancel);
    (void)engine;
    (void)now;
    if (mover->flow.state == LINK_FLOW_IDLE) return;
    if (mover->plan->endless) mover->bed->ok &= mover->granted == link_flow_bytes_per_s(&mover->flow);
    *mover->outcome = (struct outcome){-1, link_flow_cancel(&mover->flow)};
}

static int bed_fill(struct bed *bed, struct outcome *outcomes)
{
    const struct net_plan *plan = bed->plan;
    for (int i = 0; i < plan->n_links; i++)
        if (link_net_add(bed->net, "", plan->bytes_per_s[i], plan->latency_ns[i]) == NULL) return SIM_E_NOMEM;
    for (int i = 0; i < plan->n_flows; i++) {
        const struct plan *flow = &plan->flows[i];
        struct mover *mover = &bed->movers[i];
        *mover = (struct mover){.bed = bed, .plan = flow, .outcome = &outcomes[i]};
        outcomes[i] = (struct outcome){-1, 0};
        owner_init(&mover->begin, (uint32_t)(10 + 3 * i));
        owner_init(&mover->change, (uint32_t)(11 + 3 * i));
        owner_init(&mover->cancel, (uint32_t)(12 + 3 * i));
        unsigned priority = i % 2 == 0 ? PRIORITY_ARRIVAL : PRIORITY_REPLICA;
        engine_schedule(bed->engine, flow->begin_ns, priority, begin, &mover->begin);
        if (flow->change_ns < SIM_NS_MAX)
            engine_schedule(bed->engine, flow->change_ns, priority, change, &mover->change);
        if (flow->cancel_ns < SIM_NS_MAX)
            engine_schedule(bed->engine, flow->cancel_ns, PRIORITY_REPLICA, cancel, &mover->cancel);
    }
    return 0;
}

/* Runs the plan; `looks`: with a look after every event. Returns 0 or a negative code. */
static int run_net(const struct net_plan *plan, enum queue_kind queue, bool looks, struct outcome *outcomes)
{
    static struct bed bed;
    bed = (struct bed){.plan = plan, .ok = true};
    struct engine_options options = {.queue = queue, .context = &bed, .look = looks ? look : NULL, .look_every = 1};
    bed.engine = engine_create(&options);
    if (bed.engine == NULL) return SIM_E_NOMEM;
    int code = SIM_E_NOMEM;
    bed.net = link_net_create(bed.engine, 1);
    if (bed.net != NULL) code = bed_fill(&bed, outcomes);
    if (code == 0) code = engine_run(bed.engine, NULL);
    if (code == 0) {
        CHECK(bed.ok);
        CHECK(is_conserved(&bed, engine_now(bed.engine)));
        CHECK(!looks || bed.n_looks > 0);
    }
    engine_destroy(bed.engine);
    link_net_destroy(bed.net);
    return code;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* --- Laws --- */

TEST_SIZED(ends_agree_with_the_naive_simulator)
{
    static struct net_plan plan;
    static struct outcome naive[MAX_FLOWS], outcomes[MAX_FLOWS];
    int n_ended = 0;
    for (uint64_t index = 0; index < (uint64_t)test_part(N_NETS); index++) {
        draw_net(index, &plan);
        run_naive(&plan, naive);
        CHECK_EQ_INT(run_net(&plan, QUEUE_CALENDAR, false, outcomes), 0);
        for (int i = 0; i < plan.n_flows; i++) {
            n_ended += outcomes[i].end_ns >= 0;
            CHECK(distance(outcomes[i].end_ns, naive[i].end_ns) <= plan.equal);
            CHECK(distance(outcomes[i].bytes, naive[i].bytes) <= (outcomes[i].end_ns >= 0 ? 0 : 1 + 10 * plan.equal));
        }
    }
    CHECK_WHOLE(n_ended > 10 * N_NETS);
}

TEST(looks_and_queues_change_nothing)
{
    static struct net_plan plan;
    static struct outcome plain[MAX_FLOWS], looked_at[MAX_FLOWS], heap[MAX_FLOWS];
    for (uint64_t index = 0; index < N_NETS / 2; index++) {
        draw_net(index, &plan);
        CHECK_EQ_INT(run_net(&plan, QUEUE_CALENDAR, false, plain), 0);
        CHECK_EQ_INT(run_net(&plan, QUEUE_CALENDAR, true, looked_at), 0);
        CHECK_EQ_INT(run_net(&plan, QUEUE_HEAP, false, heap), 0);
        for (int i = 0; i < plan.n_flows; i++) {
            CHECK(plain[i].end_ns == looked_at[i].end_ns && plain[i].bytes == looked_at[i].bytes);
            CHECK(plain[i].end_ns == heap[i].end_ns && plain[i].bytes == heap[i].bytes);
        }
    }
}

TEST(running_out_of_memory_ends_the_run)
{
    static struct net_plan plan;
    static struct outcome outcomes[MAX_FLOWS];
    draw_net(3, &plan);
    int code = SIM_E_NOMEM, n = 0;
    for (; n < 200 && code != 0; n++) {
        mem_fail_after(n);
        code = run_net(&plan, QUEUE_CALENDAR, false, outcomes);
        mem_fail_never();
        CHECK(code == 0 || code == SIM_E_NOMEM);
    }
    CHECK_EQ_INT(code, 0);
    CHECK(n > 10);
}
