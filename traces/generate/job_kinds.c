#include "traces/generate/job_kinds.h"

#include "sim/core/mem.h"

#include <math.h>

enum { MAX_ROUNDS = 200 };

static const double CLOSE_ENOUGH = 1e-9; /* of a share of all jobs */

/* The jobs of one number of GPUs: their run times, and the shares of all jobs that are of a step and a kind. */
struct size_law {
    struct cdf_point durations[JOB_KIND_STEPS];
    double cells[JOB_KIND_STEPS][JOB_KINDS_MAX];
};

struct job_law {
    const struct job_kinds *kinds;
    struct size_law *sizes; /* [kinds->n_gpus] */
};

static double step_end_s(const struct job_kinds *kinds, size_t step)
{
    return fmin(exp2((double)step), kinds->longest_s);
}

static double duration_tilt(const struct job_kinds *kinds, double gpus)
{
    const struct gpus_tilt *tilts = kinds->tilts;
    size_t i = 1;
    while (i + 1 < kinds->n_tilts && tilts[i].gpus < gpus) i++;
    const double share = log2(gpus / tilts[i - 1].gpus) / log2(tilts[i].gpus / tilts[i - 1].gpus);
    return tilts[i - 1].duration_tilt + share * (tilts[i].duration_tilt - tilts[i - 1].duration_tilt);
}

/* The measure that the marginals are imposed on. */
static void set_tilts(const struct job_kinds *kinds, double gpus, struct size_law *size)
{
    const double x = log2(gpus), tilt = duration_tilt(kinds, gpus);
    for (size_t step = 0; step < JOB_KIND_STEPS; step++) {
        const double y = (double)step, lost = gpus * exp2(y) / kinds->failure_gpu_s;
        for (size_t k = 0; k < kinds->n; k++)
            size->cells[step][k] = exp(kinds->kinds[k].gpus_tilt * x + tilt * y - lost);
    }
}

/* --- Iterative proportional fitting --- */

/* What to multiply shares by that add up to `sum`. */
static double factor(double to, double sum)
{
    return sum > 0 ? to / sum : 0;
}

static void scale_step(struct job_law *law, size_t kind, size_t step, double to)
{
    double sum = 0;
    for (size_t i = 0; i < law->kinds->n_gpus; i++) sum += law->sizes[i].cells[step][kind];
    const double by = factor(to, sum);
    for (size_t i = 0; i < law->kinds->n_gpus; i++) law->sizes[i].cells[step][kind] *= by;
}

/* Gives every step of every kind its share. */
static void scale_kinds(struct job_law *law)
{
    const struct job_kinds *kinds = law->kinds;
    double all = 0;
    for (size_t k = 0; k < kinds->n; k++) all += kinds->kinds[k].jobs_frac;
    for (size_t k = 0; k < kinds->n; k++) {
        const double frac = kinds->kinds[k].jobs_frac / all, *pct = kinds->kinds[k].durations_pct;
        for (size_t step = 0; step < JOB_KIND_STEPS; step++)
            scale_step(law, k, step, frac * (pct[step] - (step > 0 ? pct[step - 1] : 0)) / 100);
    }
}

/* Gives the jobs of one number of GPUs their share; returns how far it was off. */
static double scale_size(const struct job_kinds *kinds, struct size_law *size, double to)
{
    double sum = 0;
    for (size_t step = 0; step < JOB_KIND_STEPS; step++)
        for (size_t k = 0; k < kinds->n; k++) sum += size->cells[step][k];
    const double by = factor(to, sum);
    for (size_t step = 0; step < JOB_KIND_STEPS; step++)
        for (size_t k = 0; k < kinds->n; k++) size->cells[step][k] *= by;
    return fabs(sum - to);
}

static void impose_marginals(struct job_law *law)
{
    const struct cdf_point *gpus = law->kinds->gpus;
    double off = 1;
    for (int round = 0; round < MAX_ROUNDS && off > CLOSE_ENOUGH; round++) {
        off = 0;
        scale_kinds(law);
        for (size_t i = 0; i < law->kinds->n_gpus; i++) {
            const double to = gpus[i].cdf_frac - (i > 0 ? gpus[i - 1].cdf_frac : 0);
            off = fmax(off, scale_size(law->kinds, &law->sizes[i], to));
        }
    }
}

/* --- From cells to draws --- */

static double step_frac(const struct job_kinds *kinds, const struct size_law *size, size_t step)
{
    double sum = 0;
    for (size_t k = 0; k < kinds->n; k++) sum += size->cells[step][k];
    return sum;
}

static void set_durations(const struct job_kinds *kinds, struct size_law *size)
{
    double sum = 0;
    for (size_t step = 0; step < JOB_KIND_STEPS; step++) {
        sum += step_frac(kinds, size, step);
        size->durations[step] = (struct cdf_point){step_end_s(kinds, step), sum};
    }
    for (size_t step = 0; step < JOB_KIND_STEPS; step++) size->durations[step].cdf_frac /= sum;
}

struct job_law *job_law_create(const struct job_kinds *kinds)
{
    struct job_law *law = mem_zalloc(1, sizeof *law);
    struct size_law *sizes = mem_zalloc(kinds->n_gpus, sizeof *sizes);
    if (law == NULL || sizes == NULL) {
        mem_free(law);
        mem_free(sizes);
        return NULL;
    }
    *law = (struct job_law){.kinds = kinds, .sizes = sizes};
    for (size_t i = 0; i < kinds->n_gpus; i++) set_tilts(kinds, kinds->gpus[i].value, &sizes[i]);
    impose_marginals(law);
    for (size_t i = 0; i < kinds->n_gpus; i++) set_durations(kinds, &sizes[i]);
    return law;
}

void job_law_destroy(struct job_law *law)
{
    if (law != NULL) mem_free(law->sizes);
    mem_free(law);
}

static const char *kind_at(const struct job_kinds *kinds, const struct size_law *size, size_t step, double frac)
{
    double left = frac * step_frac(kinds, size, step);
    size_t k = 0;
    while (k + 1 < kinds->n && left > size->cells[step][k]) left -= size->cells[step][k++];
    return kinds->kinds[k].name;
}

struct job_draw job_law_at(const struct job_law *law, double size_frac, double kind_frac)
{
    const struct job_kinds *kinds = law->kinds;
    const size_t i = cdf_find(kinds->gpus, kinds->n_gpus, size_frac);
    const double below = i > 0 ? kinds->gpus[i - 1].cdf_frac : 0;
    const double run_frac = (size_frac - below) / (kinds->gpus[i].cdf_frac - below);
    const struct size_law *size = &law->sizes[i];
    const size_t step = cdf_find(size->durations, JOB_KIND_STEPS, run_frac);
    return (struct job_draw){.kind = kind_at(kinds, size, step, kind_frac),
                             .run_s = cdf_quantile(size->durations, JOB_KIND_STEPS, CDF_LOG, run_frac),
                             .gpus = kinds->gpus[i].value};
}
