/* Gavel's hierarchy of entities: the paper's example, shares by closed forms, progressive filling on one GPU type, and
 * on several types what max-min fairness means: nothing can rise alone, and all rise to the level of one program. */
#include "policies/scheduler/gavel/gavel_entities.h"
#include "sim/core/rng.h"
#include "tests/support/harness.h"

enum { MOST_KINDS = 12, MOST_TYPES = 3, MOST_ENTITIES = 4, MOST_X = MOST_KINDS * MOST_TYPES };

struct fixture {
    struct gavel_jobs jobs;
    struct gavel_entities entities;
    struct gavel_entity entity[MOST_ENTITIES];
    int of[MOST_KINDS], n_entities;
    double gpus[MOST_TYPES], count[MOST_KINDS], width[MOST_KINDS], speed[MOST_X], weight[MOST_KINDS], x[MOST_X];
};

/* One job of one GPU, weight 1 and speed 1 in each kind, all of one entity that is fair. */
static void fixture_init(struct fixture *f, int kinds, int types)
{
    *f = (struct fixture){.jobs = {.types = types, .kinds = kinds, .gpus = f->gpus, .count = f->count,
                                   .width = f->width, .speed = f->speed},
                          .entities = {f->entity, f->of, f->weight}, .n_entities = 1};
    for (int i = 0; i < MOST_ENTITIES; i++) f->entity[i].weight = 1;
    for (int j = 0; j < types; j++) f->gpus[j] = 1;
    for (int k = 0; k < kinds; k++) f->count[k] = f->width[k] = f->weight[k] = 1;
    for (int i = 0; i < kinds * types; i++) f->speed[i] = 1;
}

static double rate(const struct fixture *f, int kind)
{
    return gavel_rate(&f->jobs, f->x, kind);
}

/* Section 4.3: the first of four jobs has the weight 3, and the others have a third of a GPU in the first iteration.
 * In the end each has one of the four GPUs. */
TEST(who_cannot_use_its_weight_leaves_it_to_others)
{
    struct fixture f;
    fixture_init(&f, 4, 1);
    f.gpus[0] = 4;
    f.weight[0] = 3;
    MUST(gavel_fill(&f.jobs, &f.entities, f.x) == LP_OPTIMAL);
    for (int k = 0; k < 4; k++) CHECK_NEAR(rate(&f, k), 1, 1e-6);
}

/* Entities of weights 1 and 2 have 2 and 4 of 6 GPUs, however many jobs they have. */
TEST(entities_share_by_their_weights)
{
    struct fixture f;
    fixture_init(&f, 3, 1);
    f.gpus[0] = 6;
    f.count[0] = 10;
    f.count[1] = f.count[2] = 4;
    f.of[1] = f.of[2] = 1;
    f.entity[1].weight = 2;
    f.weight[2] = 3;
    MUST(gavel_fill(&f.jobs, &f.entities, f.x) == LP_OPTIMAL);
    CHECK_NEAR(rate(&f, 0), 0.2, 1e-6);
    CHECK_NEAR(rate(&f, 1), 0.25, 1e-6);
    CHECK_NEAR(rate(&f, 2), 0.75, 1e-6);
}

/* In order, the first job of an entity has all of its part, as far as it can use it, and the next one the rest. */
TEST(the_first_of_an_entity_in_order_has_its_part)
{
    struct fixture f;
    fixture_init(&f, 6, 1);
    f.gpus[0] = 3;
    f.entity[0].is_in_order = true;
    for (int k = 3; k < 6; k++) f.of[k] = 1;
    MUST(gavel_fill(&f.jobs, &f.entities, f.x) == LP_OPTIMAL);
    static const double expected[] = {1, 0.5, 0, 0.5, 0.5, 0.5};
    for (int k = 0; k < 6; k++) CHECK_NEAR(rate(&f, k), expected[k], 1e-6);
}

/* --- Random entities --- */

static void draw(struct fixture *f, int types, struct rng *rng)
{
    fixture_init(f, 1 + (int)rng_below(rng, MOST_KINDS), types);
    f->n_entities = 1 + (int)rng_below(rng, MOST_ENTITIES);
    for (int j = 0; j < types; j++) f->gpus[j] = 1 + (double)rng_below(rng, 8);
    for (int i = 0; i < f->n_entities; i++)
        f->entity[i] = (struct gavel_entity){1 + (double)rng_below(rng, 4), rng_below(rng, 2) == 0};
    for (int k = 0; k < f->jobs.kinds; k++) {
        f->of[k] = (int)rng_below(rng, (uint64_t)f->n_entities);
        f->count[k] = f->entity[f->of[k]].is_in_order ? 1 : 1 + (double)rng_below(rng, 3);
        f->width[k] = types > 1 ? 1 + (double)rng_below(rng, 2) : 1;
        f->weight[k] = 1 + (double)rng_below(rng, 3);
        for (int j = 0; j < types; j++) f->speed[k * types + j] = 0.25 + rng_uniform(rng) * 2;
    }
}

/* The weight of each job of a kind, by the definition. */
static double weight_by_definition(const struct fixture *f, const bool *is_done, int kind)
{
    const struct gavel_entity *entity = &f->entity[f->of[kind]];
    double sum = 0;
    for (int k = 0; k < f->jobs.kinds; k++)
        if (f->of[k] == f->of[kind] && !is_done[k]) {
            if (entity->is_in_order) return k == kind ? entity->weight : 0;
            sum += f->count[k] * f->weight[k];
        }
    return is_done[kind] ? 0 : entity->weight * f->weight[kind] / sum;
}

/* On GPUs of one type, jobs of one GPU fill up as water does: from event to event. Writes the time on GPUs of each. */
static void fill_by_hand(const struct fixture *f, double *time)
{
    bool is_done[MOST_KINDS] = {false};
    double left = f->gpus[0];
    memset(time, 0, MOST_KINDS * sizeof *time);
    while (left > 1e-12) {
        double weight[MOST_KINDS], in_all = 0, step = INFINITY;
        for (int k = 0; k < f->jobs.kinds; k++) {
            weight[k] = weight_by_definition(f, is_done, k);
            in_all += f->count[k] * weight[k];
            if (weight[k] > 0) step = fmin(step, (1 - time[k]) / weight[k]);
        }
        if (!(in_all > 0)) break;
        step = fmin(step, left / in_all);
        for (int k = 0; k < f->jobs.kinds; k++) {
            time[k] += step * weight[k];
            is_done[k] = is_done[k] || time[k] > 1 - 1e-12;
        }
        left -= step * in_all;
    }
}

TEST(one_type_of_gpus_fills_up_as_water_does)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct fixture f;
        struct rng rng;
        double time[MOST_KINDS];
        rng_init(&rng, seed, 0, "entities", 0);
        draw(&f, 1, &rng);
        MUST(gavel_fill(&f.jobs, &f.entities, f.x) == LP_OPTIMAL);
        fill_by_hand(&f, time);
        for (int k = 0; k < f.jobs.kinds; k++) CHECK_NEAR(f.x[k], time[k], 3e-6);
    }
}

/* No time and no GPUs beyond what there is. */
static void check_fits(const struct fixture *f)
{
    for (int k = 0; k < f->jobs.kinds; k++) {
        double time = 0;
        for (int j = 0; j < f->jobs.types; j++) time += f->x[k * f->jobs.types + j];
        CHECK(time <= 1 + 1e-6);
    }
    for (int j = 0; j < f->jobs.types; j++) {
        double gpus = 0;
        for (int k = 0; k < f->jobs.kinds; k++) gpus += f->count[k] * f->width[k] * f->x[k * f->jobs.types + j];
        CHECK(gpus <= f->gpus[j] * (1 + 1e-6));
    }
}

/* Each rate alone, with all others kept, cannot rise by more than a millionth or so. */
TEST(no_rate_can_rise_alone)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct fixture f;
        struct rng rng;
        double rates[MOST_KINDS], x[MOST_X];
        rng_init(&rng, seed, 0, "entities", 1);
        draw(&f, 1 + (int)rng_below(&rng, MOST_TYPES), &rng);
        MUST(gavel_fill(&f.jobs, &f.entities, f.x) == LP_OPTIMAL);
        check_fits(&f);
        for (int k = 0; k < f.jobs.kinds; k++) rates[k] = rate(&f, k) * (1 - 1e-9);
        for (int k = 0; k < f.jobs.kinds; k++) {
            double value[MOST_KINDS] = {0};
            value[k] = 1;
            MUST(gavel_max_sum(&f.jobs, value, rates, x) == LP_OPTIMAL);
            CHECK(gavel_rate(&f.jobs, x, k) <= rates[k] + 1e-4);
        }
    }
}

/* Where all entities are fair, no job is below the level of least attained service with the jobs' weights. */
TEST(the_lowest_level_is_that_of_one_program)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct fixture f;
        struct rng rng;
        const bool none[MOST_KINDS] = {false};
        double weight[MOST_KINDS], need[MOST_KINDS], x[MOST_X], level, least = INFINITY;
        rng_init(&rng, seed, 0, "entities", 2);
        draw(&f, 1 + (int)rng_below(&rng, MOST_TYPES), &rng);
        for (int i = 0; i < f.n_entities; i++) f.entity[i].is_in_order = false;
        for (int k = 0; k < f.jobs.kinds; k++) weight[k] = weight_by_definition(&f, none, k);
        gavel_equal_share(&f.jobs, weight, need);
        MUST(gavel_max_min(&f.jobs, need, x, &level) == LP_OPTIMAL);
        MUST(gavel_fill(&f.jobs, &f.entities, f.x) == LP_OPTIMAL);
        for (int k = 0; k < f.jobs.kinds; k++) least = fmin(least, rate(&f, k) / need[k]);
        CHECK_NEAR(least / level, 1, 1e-6);
    }
}
