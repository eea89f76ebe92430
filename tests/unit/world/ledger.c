/* What leases cost, to the micro-dollar: quanta and minima, rounding, and a bill that is the sum of its leases. */
#include "sim/world/market/ledger.h"
#include "tests/support/harness.h"

static const int64_t S = SIM_NS_PER_S, H = 3600 * SIM_NS_PER_S;

#define BILLING(uusd, quantum, minimum)                                                                                \
    {.uusd_per_gpu_h = uusd, .quantum_ns = quantum, .minimum_ns = minimum}

TEST(prices_saturate_at_the_largest_number)
{
    CHECK_EQ_INT(price_uusd_from_usd(9.1e12), INT64_C(9100000000000000000));
    CHECK_EQ_INT(price_uusd_from_usd(9.2e12), INT64_MAX);
    CHECK_EQ_INT(price_uusd_from_usd(1e300), INT64_MAX);
}

TEST(billed_time)
{
    const struct billing by_second = BILLING(0, S, 0), by_hour = BILLING(0, H, 0),
                         at_least_a_minute = BILLING(0, S, 60 * S);
    CHECK_EQ_INT(price_billed_ns(&by_second, 0), 0);
    CHECK_EQ_INT(price_billed_ns(&by_second, 1), S);
    CHECK_EQ_INT(price_billed_ns(&by_second, S), S);
    CHECK_EQ_INT(price_billed_ns(&by_second, S + 1), 2 * S);
    CHECK_EQ_INT(price_billed_ns(&by_hour, H), H);
    CHECK_EQ_INT(price_billed_ns(&by_hour, H + 1), 2 * H);
    CHECK_EQ_INT(price_billed_ns(&at_least_a_minute, 0), 60 * S);
    CHECK_EQ_INT(price_billed_ns(&at_least_a_minute, 61 * S - 1), 61 * S);
    CHECK_EQ_INT(price_billed_ns(&by_hour, INT64_MAX), INT64_MAX);
}

/* The cost of a lease from time 0 on. */
static int64_t cost_uusd(const struct billing *billing, int64_t micro_gpus, int64_t held_ns)
{
    return price_lease_from_uusd(billing, micro_gpus, 0, held_ns);
}

TEST(known_bills)
{
    const struct billing h100 = BILLING(price_uusd_from_usd(2.49), S, 0),
                         by_hour = BILLING(price_uusd_from_usd(2.49), H, 0);
    CHECK_EQ_INT(h100.uusd_per_gpu_h, 2490000);
    CHECK_EQ_INT(cost_uusd(&h100, 8 * PRICE_MICRO, H), 19920000);
    CHECK_EQ_INT(cost_uusd(&h100, 8 * PRICE_MICRO, 90 * S), 498000);
    CHECK_EQ_INT(cost_uusd(&by_hour, 8 * PRICE_MICRO, 90 * S), 19920000);
    CHECK_EQ_INT(cost_uusd(&h100, PRICE_MICRO / 2, H), 1245000);
    CHECK_EQ_INT(cost_uusd(&h100, PRICE_MICRO, 0), 0);
    /* a thousand GPUs for a century */
    CHECK_EQ_INT(cost_uusd(&h100, INT64_C(1000) * PRICE_MICRO, 876000 * H), INT64_C(2181240000000000));
    CHECK_EQ_INT(cost_uusd(&by_hour, INT64_MAX, INT64_MAX), INT64_MAX);
}

/* At $0.0018/h a second costs half a micro-dollar. */
TEST(half_a_micro_dollar_goes_to_the_even_one)
{
    const struct billing billing = BILLING(1800, S, 0);
    CHECK_EQ_INT(cost_uusd(&billing, PRICE_MICRO, 1 * S), 0);
    CHECK_EQ_INT(cost_uusd(&billing, PRICE_MICRO, 3 * S), 2);
    CHECK_EQ_INT(cost_uusd(&billing, PRICE_MICRO, 5 * S), 2);
    CHECK_EQ_INT(cost_uusd(&billing, PRICE_MICRO, 7 * S), 4);
    CHECK_EQ_INT(cost_uusd(&billing, PRICE_MICRO + 1, 1 * S), 1);
}

/* Quantum by quantum, each at the price of its begin. */
static int64_t naive_uusd(const struct billing *billing, int64_t gpus, int64_t start_ns, int64_t held_ns)
{
    int64_t uusd = 0;
    for (int64_t at = start_ns; at < start_ns + price_billed_ns(billing, held_ns); at += billing->quantum_ns)
        uusd += gpus * price_at(billing, at);
    return uusd;
}

/* Prices per hour are multiples of 3600, and a quantum is a second: nothing is rounded. */
TEST(prices_that_change)
{
    static const struct price_change changes[] = {{0, 7200}, {INT64_C(10000000000), 36000}, {INT64_C(15500000000), 3600}};
    struct billing billing = {.uusd_per_gpu_h = 1, .quantum_ns = S, .n_changes = 3, .changes = changes};
    CHECK_EQ_INT(price_at(&billing, 0), 7200);
    CHECK_EQ_INT(price_at(&billing, 10 * S - 1), 7200);
    CHECK_EQ_INT(price_at(&billing, 10 * S), 36000);
    CHECK_EQ_INT(price_lease_from_uusd(&billing, 3 * PRICE_MICRO, 9 * S, 20 * S), 3 * 20 * 2); /* as at its start */
    billing.follows = true;
    CHECK_EQ_INT(price_lease_from_uusd(&billing, 3 * PRICE_MICRO, 9 * S, 20 * S), 3 * (1 * 2 + 6 * 10 + 13 * 1));
    struct rng rng = test_rng(1, "price-changes", 0);
    for (int i = 0; i < 1000; i++) {
        const int64_t start_ns = (int64_t)rng_below(&rng, 20 * (uint64_t)S),
                      held_ns = (int64_t)rng_below(&rng, 20 * (uint64_t)S);
        billing.minimum_ns = (int64_t)rng_below(&rng, 3) * S;
        CHECK_EQ_INT(price_lease_from_uusd(&billing, 2 * PRICE_MICRO, start_ns, held_ns) * 3600,
                     naive_uusd(&billing, 2, start_ns, held_ns));
    }
}

enum { OFFERS = 3, STEPS = 3000, MOST_OPEN = 40 };

static const struct billing billings[OFFERS] = {BILLING(2490000, SIM_NS_PER_S, 0),
                                                BILLING(700001, INT64_C(3600000000000), 0),
                                                BILLING(987654, 1, INT64_C(60000000000))};

/* A lease as a stranger would keep it. */
struct mirror {
    struct lease *lease;
    struct lease as;
};

static int64_t cost_of(const struct lease *lease, sim_ns now)
{
    if (now < lease->start_ns) return 0;
    return cost_uusd(&billings[lease->offer], lease->micro_gpus, now - lease->start_ns);
}

static void check_books(const struct ledger *ledger, const struct mirror *open, int n_open, int64_t closed_uusd,
                        sim_ns now)
{
    int64_t uusd = closed_uusd, micro_gpus = 0;
    for (int i = 0; i < n_open; i++) {
        uusd += cost_of(&open[i].as, now);
        micro_gpus += open[i].as.micro_gpus;
    }
    const struct ledger_sums sums = ledger_add_up(ledger, now);
    CHECK_EQ_INT(ledger_uusd(ledger, now), uusd);
    CHECK_EQ_INT(sums.account_uusd, uusd);
    CHECK_EQ_INT(sums.lease_micro_gpus, micro_gpus);
    CHECK_EQ_INT(sums.account_micro_gpus, micro_gpus);
    CHECK_EQ_INT(ledger->micro_gpus.value, micro_gpus);
    for (int offer = 0; offer < OFFERS; offer++) {
        /* Each lease is rounded by at most half a micro-dollar. */
        const double billed_gpu_s = ledger_account_billed_gpu_s(ledger, offer, now);
        const double by_price_uusd = billed_gpu_s / 3600.0 * (double)billings[offer].uusd_per_gpu_h;
        const double off_uusd = 0.5 * (double)ledger->accounts[offer].n_leases + 1e-12 * by_price_uusd;
        CHECK_NEAR((double)ledger_account_uusd(ledger, offer, now), by_price_uusd, off_uusd);
        CHECK(billed_gpu_s >= ledger_account_gpu_s(ledger, offer, now));
    }
}

TEST(the_bill_is_the_sum_of_its_leases)
{
    struct ledger ledger;
    struct mirror open[MOST_OPEN];
    struct rng rng;
    int n_open = 0;
    int64_t closed_uusd = 0;
    sim_ns now = 0;
    rng_init(&rng, 1, 0, "ledger", 0);
    MUST(ledger_init(&ledger, OFFERS) == 0);
    for (int i = 0; i < OFFERS; i++) ledger.accounts[i].billing = billings[i];
    for (int step = 0; step < STEPS; step++) {
        now += (sim_ns)rng_below(&rng, 1000000000000);
        if (n_open == MOST_OPEN || (n_open > 0 && rng_below(&rng, 2) == 0)) {
            const int at = (int)rng_below(&rng, (uint64_t)n_open);
            const int64_t uusd = ledger_close(&ledger, open[at].lease, now);
            CHECK_EQ_INT(uusd, cost_of(&open[at].as, now));
            closed_uusd += uusd;
            open[at] = open[--n_open];
        } else {
            struct lease as = {.offer = (int32_t)rng_below(&rng, OFFERS), .micro_gpus = 1 + (int64_t)rng_below(&rng, 64000000),
                               .start_ns = now + (sim_ns)rng_below(&rng, 2) * 90 * S, .expires_ns = SIM_NS_MAX};
            as.ready_ns = as.start_ns;
            open[n_open] = (struct mirror){ledger_open(&ledger, &as, now), as};
            MUST(open[n_open++].lease != NULL);
        }
        if (step % 16 == 0) check_books(&ledger, open, n_open, closed_uusd, now);
    }
    CHECK(closed_uusd > INT64_C(1000000000));
    ledger_fini(&ledger);
}
