#include "tests/support/gavel_fixture.h"

#include "tests/support/harness.h"

/* Relative speeds with one type of speed 1. Where `alike`, most numbers are equal. */
static void draw_speeds(double *speed, int types, bool alike, struct rng *rng)
{
    for (int j = 0; j < types; j++) {
        speed[j] = rng_below(rng, 5) == 0 ? 0 : 0.05 + 0.95 * rng_uniform(rng);
        if (alike) speed[j] = floor(4 * speed[j]) / 4;
    }
    speed[rng_below(rng, (uint64_t)types)] = 1;
}

void gavel_draw(struct gavel_fixture *f, enum gavel_level level, struct rng *rng)
{
    const int kinds = 1 + (int)rng_below(rng, rng_below(rng, 20) == 0 ? GAVEL_MOST_KINDS : 30);
    const int types = 1 + (int)rng_below(rng, GAVEL_PROGRAM_TYPES);
    const bool alike = rng_below(rng, 2) == 0;
    double gpus[GAVEL_PROGRAM_TYPES];
    f->program = (struct gavel_program){.kinds = kinds, .types = types, .speed = f->speed, .load = f->load,
                                        .gain = f->gain, .need = level == GAVEL_WITHOUT_NEEDS ? NULL : f->need,
                                        .level_gain = level == GAVEL_FREE ? 1e4 * kinds : 0};
    for (int j = 0; j < types; j++) gpus[j] = (double)(1 + rng_below(rng, 1ULL << (1 + rng_below(rng, 6))));
    for (int k = 0; k < kinds; k++) {
        const double width = (double)(1ULL << rng_below(rng, 3)), value = alike ? 1 : rng_uniform(rng);
        draw_speeds(&f->speed[k * types], types, alike, rng);
        f->need[k] = alike ? (double)(1 + rng_below(rng, 3)) / 3 : pow(1e-3, rng_uniform(rng));
        if (level == GAVEL_WITH_RATES) f->need[k] *= rng_below(rng, 2) == 0 ? 1 : 0;
        for (int j = 0; j < types; j++) {
            f->load[k * types + j] = width / gpus[j];
            f->gain[k * types + j] = value * width * f->speed[k * types + j];
        }
    }
    if (level == GAVEL_FREE) f->need[0] = 1;
}

void gavel_draw_badly_scaled(struct gavel_fixture *f, bool has_needs, struct rng *rng)
{
    const int kinds = 2 + (int)rng_below(rng, 5), types = 2 + (int)rng_below(rng, 3);
    f->program = (struct gavel_program){.kinds = kinds, .types = types, .speed = f->speed, .load = f->load,
                                        .gain = f->gain, .need = has_needs ? f->need : NULL,
                                        .level_gain = has_needs ? 1e4 * kinds : 0};
    for (int k = 0; k < kinds; k++) f->need[k] = k == 0 ? 1 : pow(1e-10, rng_uniform(rng));
    for (int i = 0; i < kinds * types; i++) {
        f->speed[i] = rng_below(rng, 2) == 0 ? 1 : pow(1e-10, rng_uniform(rng));
        f->load[i] = pow(10, 10 * rng_uniform(rng) - 5);
        f->gain[i] = f->speed[i];
    }
}

double gavel_value_of(const struct gavel_fixture *f, const double *x, double level)
{
    double value = f->program.level_gain * level;
    for (int i = 0; i < f->program.kinds * f->program.types; i++) value += f->gain[i] * x[i];
    return value;
}

void gavel_check_rows(const struct gavel_fixture *f, const double *x, double level)
{
    double used[GAVEL_PROGRAM_TYPES] = {0};
    for (int k = 0; k < f->program.kinds; k++) {
        double time = 0, rate = 0;
        for (int i = k * f->program.types; i < (k + 1) * f->program.types; i++) {
            CHECK(x[i] >= 0 && (f->speed[i] > 0 || x[i] == 0));
            time += x[i];
            rate += f->speed[i] * x[i];
            used[i % f->program.types] += f->load[i] * x[i];
        }
        CHECK(time <= 1 + 1e-9);
        CHECK(f->program.need == NULL || rate >= f->need[k] * level - 1e-9);
    }
    for (int j = 0; j < f->program.types; j++) CHECK(used[j] <= 1 + 1e-9);
}

enum lp_outcome gavel_solve_alone(const struct gavel_program *program, double *x, double *level)
{
    struct gavel_simplex simplex;
    enum lp_outcome outcome = LP_NO_MEMORY;
    if (gavel_simplex_init(&simplex, program)) outcome = gavel_simplex_start(&simplex);
    if (outcome == LP_OPTIMAL) outcome = gavel_simplex_maximise(&simplex);
    gavel_simplex_shares(&simplex, x);
    *level = basis_level(&simplex.basis);
    gavel_simplex_fini(&simplex);
    return outcome;
}
