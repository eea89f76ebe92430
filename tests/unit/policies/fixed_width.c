/* Renting by fixed widths: what each job rents where every class states its width, and where the optimum decides. */
#include "policies/declared.h"
#include "policies/rental/widths.h"
#include "tests/support/harness.h"
#include "tests/support/policy_params.h"

enum { TYPES = 3, OFFERS = 2 };

static const struct market_offer offers[OFFERS] = {{.name = "small", .usd_per_h = 1}, {.name = "large", .usd_per_h = 3}};

/* The first type runs on the first offer alone, the second on the second, the last on both. */
static const double speeds[TYPES][OFFERS] = {{1, 0}, {0, 1}, {1, 2}};
static const struct market_job_type types[TYPES] = {
    {.name = "a", .speeds = speeds[0]}, {.name = "b", .speeds = speeds[1]}, {.name = "c", .speeds = speeds[2]}};

static void *make(const char *params, const struct market_view *view, int expected, struct arena *arena)
{
    const struct renter *renter = &rental_fixed_width;
    struct diag diag = {0};
    void *state = mem_zalloc(1, renter->policy.state_bytes);
    const void *given = policy_params(&renter->policy, params, arena);
    if (!CHECK(state != NULL && given != NULL)) return NULL;
    memcpy(state, given, renter->policy.params_bytes);
    CHECK_EQ_INT(renter->prepare(state, view, &diag), expected);
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
                       &view, 0, &arena);
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
    void *state = make("{\"classes\": {\"a\": {\"rate\": \"1/s\", \"size\": \"1s\", \"width\": 3}}}", &view, 0, &arena);
    MUST(state != NULL);
    rent(state, &view, "a", 4);
    CHECK(rng_uniform(&rng) == rng_uniform(&untouched));
    rental_fixed_width.policy.fini(state);
    mem_free(state);
}

/* Widths are those of the problem set up by hand: each type with the offers that it runs on, and one without a class
 * at the common price. */
TEST(widths_are_the_optimum_of_the_types_and_offers)
{
    enum { ONE = 1, BOTH = 2 };
    static const int n_options[TYPES] = {ONE, ONE, BOTH}, offer_of[TYPES][OFFERS] = {{0}, {1}, {0, 1}};
    struct market_job_type curved[TYPES];
    struct width_option options[TYPES][OFFERS];
    struct width_class classes[TYPES];
    struct width_choice choices[TYPES];
    struct widths_plan plan;
    struct rng rng = test_rng(1, "fixed width", 0);
    const struct speedup speedup = {.law = SPEEDUP_AMDAHL, .parallel_frac = 0.9};
    for (int i = 0; i < TYPES; i++) {
        curved[i] = types[i];
        curved[i].speedup = speedup;
        for (int k = 0; k < n_options[i]; k++)
            options[i][k] = (struct width_option){speedup, speeds[i][offer_of[i][k]], 1.0, 0.0, false};
        classes[i] = (struct width_class){i == 1 ? 0.0 : 0.2 + i, i == 1 ? 1.0 : 30.0, 1.0, 1e6,
                                          n_options[i],           options[i]};
    }
    const struct widths_problem problem = {.n = TYPES, .classes = classes, .budget = 100};
    const struct market_view view = {.n_offers = OFFERS, .n_job_types = TYPES, .offers = offers, .job_types = curved,
                                     .random = &rng};
    SCOPED(arena) arena;
    arena_init(&arena);
    void *state = make("{\"budget_gpus\": 100, \"classes\": {\"a\": {\"rate\": \"0.2/s\", \"size\": \"30s\"},"
                       " \"c\": {\"rate\": \"2.2/s\", \"size\": \"30s\"}}}",
                       &view, 0, &arena);
    MUST(state != NULL && widths_solve(&problem, choices, &plan));
    CHECK_EQ_INT(choices[2].low.option, 1); /* twice as fast at the same price */
    for (int i = 0; i < TYPES; i++) {
        const struct rental rental = rent(state, &view, types[i].name, 4);
        CHECK_EQ_INT(rental.offer, offer_of[i][choices[i].low.option]);
        CHECK_NEAR(rental.gpus, choices[i].low.gpus, 1e-12);
    }
    rental_fixed_width.policy.fini(state);
    mem_free(state);
}

/* A class that no jobs can be of is refused, wherever it stands. */
TEST(every_class_is_a_type_of_jobs)
{
    static const char *const orders[] = {"abc", "zabc", "abzc", "abcz"};
    const struct market_view view = {.n_offers = OFFERS, .n_job_types = TYPES, .offers = offers, .job_types = types};
    for (int i = 0; i < 4; i++) {
        SCOPED(arena) arena;
        SCOPED(text) params = {0};
        arena_init(&arena);
        for (const char *name = orders[i]; *name != '\0'; name++)
            text_printf(&params, "%s\"%c\": {\"rate\": \"1/s\", \"size\": \"1s\", \"width\": 3}",
                        name == orders[i] ? "{\"classes\": {" : ", ", *name);
        text_printf(&params, "}}");
        void *state = make(params.chars, &view, i == 0 ? 0 : SIM_E_CONFIG, &arena);
        MUST(state != NULL);
        rental_fixed_width.policy.fini(state);
        mem_free(state);
    }
}
