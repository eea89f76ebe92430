/* Synthetic jobs with the statistics of a public cluster: arrivals, kinds, run times, GPUs and final status. Run times
 * are whole seconds. Jobs have no users; their group is the name of the mix. Arrivals, jobs and their fates draw from
 * three random streams; sizes of jobs with kinds, and fates, are spread evenly, so that a trace has the published
 * shares of GPU time although few jobs hold most of it. */
#include "sim/core/mem.h"
#include "traces/generate/arrival.h"
#include "traces/generate/job_mix.h"
#include "traces/registry.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <math.h>
#include <stdio.h>

struct generate_jobs_params {
    struct trace_transform transform;
    struct generate_end end;
    int mix;
    int64_t max_gpus;
    struct config_variant arrival;
};

enum { MAX_LOG2_GPU_S = 40 };

#define GOLDEN_FRAC 0.6180339887498949

/* --- The joint law of kind, run time and GPUs --- */

enum { MAX_ROUNDS = 200 };

static const double CLOSE_ENOUGH = 1e-9; /* of a share of all jobs */

struct job_draw {
    const char *kind;
    double run_s; /* above 0 */
    double gpus;
};

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

/* Sets the measure on which the marginals are imposed. */
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

/* Factor that scales shares from `sum` to `to`. */
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

/* Scales the jobs of one number of GPUs to their share. Returns the deviation before. */
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

/* The joint law in which every kind has its share of the jobs and its run times, and all jobs together have the GPUs
 * stated. Of the laws with these marginals it is the one nearest in relative entropy to
 *
 *     exp(gpus_tilt x + duration_tilt(x) y - GPUs run time / failure_gpu_s),  x = log2(GPUs), y = log2(run time),
 *
 * run times taken at the upper ends of their steps, by iterative proportional fitting (Deming and Stephan 1940). NULL
 * when memory ran out. */
static struct job_law *job_law_create(const struct job_kinds *kinds)
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

static void job_law_destroy(struct job_law *law)
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

/* The job at `size_frac` of all jobs in the order of GPUs and run time, of the kind at `kind_frac` of all such jobs;
 * both in (0, 1]. Between the ends of a step the logarithm of the run time is uniform. */
static struct job_draw job_law_at(const struct job_law *law, double size_frac, double kind_frac)
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

/* --- Numbers that are spread evenly --- */

enum { DECK_CARDS = 1 << 16 };

/* Stratified sampling: of DECK_CARDS consecutive numbers, one lies in each of DECK_CARDS equal parts of (0, 1), in
 * random order and at a random place there. Sums over them vary far less than over independent numbers. */
struct deck {
    uint32_t n_left;
    uint16_t cards[DECK_CARDS]; /* those left come first */
};

static void deck_init(struct deck *deck)
{
    deck->n_left = DECK_CARDS;
    for (uint32_t i = 0; i < DECK_CARDS; i++) deck->cards[i] = (uint16_t)i;
}

/* The next number, in (0, 1). */
static double deck_draw(struct deck *deck, struct rng *rng)
{
    if (deck->n_left == 0) deck->n_left = DECK_CARDS;
    const uint64_t i = rng_below(rng, deck->n_left--);
    const uint16_t card = deck->cards[i];
    deck->cards[i] = deck->cards[deck->n_left];
    deck->cards[deck->n_left] = card;
    return (card + rng_uniform(rng)) / DECK_CARDS;
}

/* --- The generator --- */

struct generator {
    struct stream stream;
    const struct generate_jobs_params *params;
    const struct job_mix *mix;
    const char *where;
    struct arrivals *arrivals;
    struct job_law *law;                  /* NULL: of no kinds */
    struct deck deck;                     /* of sizes, with a law */
    struct rng rng;                       /* stream "NAME.jobs" */
    double status_fracs[MAX_LOG2_GPU_S];  /* the latest, by log2 of the GPU-seconds; first of stream "NAME.fates" */
    struct notes notes;
    int64_t n;
};

static int32_t limit_gpus(struct generator *generator, int32_t gpus)
{
    int64_t most = generator->params->max_gpus;
    if (most == 0 || gpus <= most) return gpus;
    notes_count(&generator->notes, "clipped", "jobs of more GPUs made as large as \"max_gpus\"");
    return (int32_t)most;
}

static struct job_draw draw_of_curves(const struct job_mix *mix, struct rng *rng)
{
    const double gpus_score = normal_draw(rng), other = normal_draw(rng);
    const double run_score = mix->correlation * gpus_score + sqrt(1 - mix->correlation * mix->correlation) * other;
    return (struct job_draw){
        .kind = "",
        .run_s = cdf_quantile(mix->durations, mix->n_durations, CDF_LOG, normal_cdf(run_score)),
        .gpus = cdf_quantile(mix->gpus, mix->n_gpus, CDF_STEPS, normal_cdf(gpus_score))};
}

static struct job_draw draw_of_law(struct generator *generator)
{
    const double size_frac = deck_draw(&generator->deck, &generator->rng);
    return job_law_at(generator->law, size_frac, rng_uniform(&generator->rng));
}

/* Even over the jobs of about equal GPU time, since the few largest decide the shares of GPU time: fractional parts of
 * multiples of the golden ratio, with a random start. */
static double status_frac(struct generator *generator, double gpu_s)
{
    double *last = &generator->status_fracs[ilogb(gpu_s)];
    *last += GOLDEN_FRAC;
    if (*last >= 1) *last -= 1;
    return *last;
}

static enum job_status draw_status(struct generator *generator, double gpu_s)
{
    const struct job_mix *mix = generator->mix;
    const double cancelled = mix->cancelled.at_1 * pow(gpu_s, mix->cancelled.power);
    const double failed = mix->failed.at_1 * pow(gpu_s, mix->failed.power);
    const double drawn = status_frac(generator, gpu_s) * (1 + cancelled + failed);
    if (drawn < cancelled) return JOB_IS_CANCELLED;
    return drawn < cancelled + failed ? JOB_FAILS : JOB_COMPLETES;
}

static void draw_job(struct generator *generator, struct job_record *job)
{
    const struct job_mix *mix = generator->mix;
    struct rng *rng = &generator->rng;
    const struct job_draw draw = generator->law != NULL ? draw_of_law(generator) : draw_of_curves(mix, rng);
    const double run_s = ceil(draw.run_s), share_frac = generator->law != NULL ? 0 : rng_uniform(rng);
    const bool shared = draw.gpus == 1 && mix->n_shares > 0;
    job->type = draw.kind;
    job->gpus = limit_gpus(generator, (int32_t)draw.gpus);
    job->gpu_milli = shared ? (int32_t)cdf_quantile(mix->shares, mix->n_shares, CDF_STEPS, share_frac) : 1000;
    job->duration_ns = job->estimate_ns = sim_ns_from_s(run_s);
    job->status = draw_status(generator, run_s * draw.gpus);
}

static int generator_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    sim_ns submit_ns = arrivals_next(generator->arrivals);
    if (generate_end_reached(&generator->params->end, generator->n, submit_ns)) return 0;
    record->job = (struct job_record){
        .id = generator->n++, .submit_ns = submit_ns, .group = generator->mix->name, .user = ""};
    draw_job(generator, &record->job);
    bool ends = submit_ns < SIM_NS_MAX - record->job.duration_ns;
    return ends ? 1 : arrivals_out_of_time(generator->where, diag);
}

static struct source_place generator_place(const struct stream *stream)
{
    const struct generator *generator = (const struct generator *)stream;
    return generate_end_place(&generator->params->end, generator->n, generator->arrivals->now_ns);
}

static bool generator_note(const struct stream *stream, size_t index, struct source_note *note)
{
    return notes_get(&((const struct generator *)stream)->notes, index, note);
}

static void generator_close(struct stream *stream)
{
    struct generator *generator = (struct generator *)stream;
    arrivals_destroy(generator->arrivals);
    job_law_destroy(generator->law);
    mem_free(generator);
}

static const struct stream_ops generator_ops = {
    .next = generator_next, .place = generator_place, .note = generator_note, .close = generator_close};

static int open_arrivals(const struct generate_jobs_params *params, const struct source_options *options,
                         struct arrivals **arrivals, struct diag *diag)
{
    const struct arrival_process *process = params->arrival.entry;
    if (process == NULL) {
        return arrivals_create(&arrival_diurnal, &job_mixes[params->mix].arrival, options, arrivals, diag);
    }
    if (process->think != NULL) {
        return diag_error(diag, SIM_E_CONFIG, options->where, "choose another process",
                          "jobs cannot follow a closed loop");
    }
    return arrivals_create(process, params->arrival.params, options, arrivals, diag);
}

static struct rng stream_of(const struct source_options *options, const char *what)
{
    char name[STREAM_NAME_CHARS];
    struct rng rng;
    snprintf(name, sizeof name, "%s.%s", options->stream, what);
    rng_init(&rng, options->seed, options->run, name, 0);
    return rng;
}

/* Initialises a zeroed generator. Returns 0 or a negative code; the generator may then be closed. */
static int generator_init(struct generator *generator, const struct generate_jobs_params *params,
                          const struct source_options *options, struct diag *diag)
{
    generator->stream.ops = &generator_ops;
    generator->params = params;
    generator->mix = &job_mixes[params->mix];
    generator->where = options->where;
    generator->rng = stream_of(options, "jobs");
    struct rng statuses = stream_of(options, "fates");
    for (size_t i = 0; i < MAX_LOG2_GPU_S; i++) generator->status_fracs[i] = rng_uniform(&statuses);
    deck_init(&generator->deck);
    int code = generate_end_check(&params->end, options->where, diag);
    if (code == 0) code = open_arrivals(params, options, &generator->arrivals, diag);
    if (code != 0 || generator->mix->kinds == NULL) return code;
    generator->law = job_law_create(generator->mix->kinds);
    return generator->law != NULL ? 0 : diag_nomem(diag);
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    const struct generate_jobs_params *generate = params;
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_nomem(diag);
    struct stream *stream = &generator->stream;
    int code = generator_init(generator, generate, options, diag);
    if (code != 0) {
        generator_close(stream);
        return code;
    }
    code = transform_open(&generate->transform, options, false, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

#define ROW_OF struct generate_jobs_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    GENERATE_END_PARAMS,
    ROW_CHOICE("mix", mix, REQUIRED, job_mix_names, "cluster whose statistics the jobs have"),
    ROW_INT("max_gpus", max_gpus, DEFAULT("0"), WITHIN(0, INT32_MAX),
            "larger jobs are reduced to this size; 0: no limit"),
    ROW_VARIANT("arrival", arrival, OPTIONAL, "arrival", "process", "arrival process, instead of that of the cluster"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_jobs = {
    .name = "generate-jobs",
    .summary = "jobs with the kinds, run times, GPUs, final statuses and arrivals of a public cluster",
    .source = "Hu et al., Characterization of LLM Development in the Datacenter, NSDI 2024",
    .params = params,
    .params_bytes = sizeof(struct generate_jobs_params),
    .open_jobs = open_jobs};
