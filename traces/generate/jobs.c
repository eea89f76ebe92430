/* Synthetic jobs with the statistics of a public cluster: arrivals, kinds, run times, GPUs and final status. Run times
 * are whole seconds. Jobs have no users; their group is the name of the mix. Arrivals, jobs and their fates draw from
 * three random streams; sizes of jobs with kinds, and fates, are spread evenly, so that a trace has the published
 * shares of GPU time although few jobs hold most of it. */
#include "traces/generate/arrival.h"
#include "traces/generate/end.h"
#include "traces/generate/job_mix.h"
#include "traces/registry.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include "sim/core/mem.h"

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

/* --- Numbers that are spread evenly --- */

enum { DECK_CARDS = 1 << 16 };

/* Of every DECK_CARDS numbers in a row, one lies in each of as many equal parts of (0, 1), in random order and at a
 * random place there (stratified sampling). Sums over them vary far less than over independent ones. */
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
    struct job_law *law;                /* NULL: of no kinds */
    struct deck deck;                   /* of sizes, with a law */
    struct rng rng;                     /* stream "NAME.jobs" */
    double fate_fracs[MAX_LOG2_GPU_S];  /* the latest, by log2 of the GPU-seconds; first of stream "NAME.fates" */
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

/* Even over the jobs of about the same GPU time, of which the largest few decide what share of it is whose: the
 * fractions of multiples of the golden ratio, from a random one on. */
static double fate_frac(struct generator *generator, double gpu_s)
{
    double *last = &generator->fate_fracs[ilogb(gpu_s)];
    *last += GOLDEN_FRAC;
    if (*last >= 1) *last -= 1;
    return *last;
}

static enum job_fate draw_fate(struct generator *generator, double gpu_s)
{
    const struct job_mix *mix = generator->mix;
    const double cancelled = mix->cancelled.at_1 * pow(gpu_s, mix->cancelled.power);
    const double failed = mix->failed.at_1 * pow(gpu_s, mix->failed.power);
    const double drawn = fate_frac(generator, gpu_s) * (1 + cancelled + failed);
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
    job->fate = draw_fate(generator, run_s * draw.gpus);
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

/* A generator of zero bytes is filled in. Returns 0 or a negative code, and may then be closed. */
static int generator_init(struct generator *generator, const struct generate_jobs_params *params,
                          const struct source_options *options, struct diag *diag)
{
    generator->stream.ops = &generator_ops;
    generator->params = params;
    generator->mix = &job_mixes[params->mix];
    generator->where = options->where;
    generator->rng = stream_of(options, "jobs");
    struct rng fates = stream_of(options, "fates");
    for (size_t i = 0; i < MAX_LOG2_GPU_S; i++) generator->fate_fracs[i] = rng_uniform(&fates);
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
    GENERATE_END_PARAMS(struct generate_jobs_params),
    ROW_CHOICE("mix", mix, REQUIRED, job_mix_names, "cluster whose statistics the jobs have"),
    TRACE_PARAM(struct generate_jobs_params, max_gpus, "max_gpus", CONFIG_INT, "0", 0, INT32_MAX,
                "larger jobs are reduced to this size; 0: no limit"),
    ROW_VARIANT("arrival", arrival, OPTIONAL, "arrival", "process",
                "when jobs are submitted, instead of as in the cluster"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_jobs = {
    .name = "generate-jobs",
    .summary = "jobs with the kinds, run times, GPUs, fates and arrivals of a public cluster",
    .source = "Hu et al., Characterization of LLM Development in the Datacenter, NSDI 2024",
    .params = params,
    .params_bytes = sizeof(struct generate_jobs_params),
    .open_jobs = open_jobs};
