/* Renting by fixed widths where every class states its width: what each job rents follows by hand. */
#include "policies/declared.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

enum { TYPES = 3, OFFERS = 2 };

static const struct market_offer offers[OFFERS] = {{.name = "small", .usd_per_h = 1}, {.name = "large", .usd_per_h = 3}};

/* The first type runs on the first offer alone, the second on the second, the last on both. */
static const double speeds[TYPES][OFFERS] = {{1, 0}, {0, 1}, {1, 2}};
static const struct market_job_type types[TYPES] = {
    {.name = "a", .speeds = speeds[0]}, {.name = "b", .speeds = speeds[1]}, {.name = "c", .speeds = speeds[2]}};

static void *make(const char *params, const struct market_view *view, struct arena *arena)
{
    const struct renter *renter = &rental_fixed_width;
    struct diag diag = {0};
    void *state = mem_zalloc(1, renter->policy.state_bytes);
    const void *given = policy_params(&renter->policy, params, arena);
    if (!CHECK(state != NULL && given != NULL)) return NULL;
    memcpy(state, given, renter->policy.params_bytes);
    CHECK_EQ_INT(renter->prepare(state, view, &diag), 0);
    return state;
}

static struct rental rent(void *state, const struct market_view *view, const char *type, int32_t gpus)
{
    const struct job_view job = {.type = type, .gpus = gpus};
    struct rental rental = {.offer = 7, .gpus = -1};
    CHECK_EQ_INT(rental_fixed_width.rent(state, view, &job, &rental), 0);
    return rental;
}

/* A job rents the width of its class at an offer that it can run on. One of a type that the market does not know rents
 * the GPUs that it requests, at the first offer. */
TEST(jobs_rent_the_width_of_their_class_where_they_run)
{
    SCOPED(arena) arena;
    struct rng rng = test_rng(1, "fixed width", 0);
    const struct market_view view = {.n_offers = OFFERS, .n_job_types = TYPES, .offers = offers, .job_types = types,
                                     .random = &rng};
    arena_init(&arena);
    void *state = make("{\"classes\": {\"a\": {\"rate\": \"1/s\", \"size\": \"1s\", \"width\": 3},"
                       " \"b\": {\"rate\": \"1/s\", \"size\": \"1s\", \"width\": 5},"
                       " \"c\": {\"rate\": \"1/s\", \"size\": \"1s\", \"width\": 0.5}}}",
                       &view, &arena);
    MUST(state != NULL);
    static const struct rental expected[] = {{0, 3}, {1, 5}, {0, 0.5}, {0, 4}};
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        const struct rental rental = rent(state, &view, names[i], 4);
        CHECK_EQ_INT(rental.offer, expected[i].offer);
        CHECK(rental.gpus == expected[i].gpus);
    }
    rental_fixed_width.policy.fini(state);
    mem_free(state);
}

/* One width leaves nothing to chance: such a job draws no number. */
TEST(a_class_of_one_width_draws_nothing)
{
    SCOPED(arena) arena;
    struct rng rng = test_rng(1, "fixed width", 0), untouched = rng;
    const struct market_view view = {.n_offers = OFFERS, .n_job_types = 1, .offers = offers, .job_types = types,
                                     .random = &rng};
    arena_init(&arena);
    void *state = make("{\"classes\": {\"a\": {\"rate\": \"1/s\", \"size\": \"1s\", \"width\": 3}}}", &view, &arena);
    MUST(state != NULL);
    rent(state, &view, "a", 4);
    CHECK(rng_uniform(&rng) == rng_uniform(&untouched));
    rental_fixed_width.policy.fini(state);
    mem_free(state);
}
