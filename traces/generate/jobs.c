/* Jobs made up with the statistics of a public cluster: arrivals, run times and GPUs. Run times are whole seconds;
 * jobs are not told apart by user, and their group is the name of the mix. Arrivals and jobs draw from two random
 * streams. */
#include "traces/generate/arrival.h"
#include "traces/generate/end.h"
#include "traces/generate/job_mix.h"
#include "traces/notes.h"
#include "traces/registry.h"
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

struct generator {
    struct stream stream;
    const struct generate_jobs_params *params;
    const struct job_mix *mix;
    const char *where;
    struct arrivals *arrivals;
    struct rng rng; /* stream "NAME.jobs" */
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

static void draw_job(struct generator *generator, struct job_record *job)
{
    const struct job_mix *mix = generator->mix;
    struct rng *rng = &generator->rng;
    double gpus_score = normal_draw(rng), other = normal_draw(rng), share_frac = rng_uniform(rng);
    double run_score = mix->correlation * gpus_score + sqrt(1 - mix->correlation * mix->correlation) * other;
    double run_s = ceil(cdf_quantile(mix->durations, mix->n_durations, CDF_LOG, normal_cdf(run_score)));
    int32_t gpus = (int32_t)cdf_quantile(mix->gpus, mix->n_gpus, CDF_STEPS, normal_cdf(gpus_score));
    bool shared = gpus == 1 && mix->n_shares > 0;
    job->gpus = limit_gpus(generator, gpus);
    job->gpu_milli = shared ? (int32_t)cdf_quantile(mix->shares, mix->n_shares, CDF_STEPS, share_frac) : 1000;
    job->duration_ns = job->estimate_ns = sim_ns_from_s(run_s);
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

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    const struct generate_jobs_params *generate = params;
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.jobs", options->stream);
    generator->stream.ops = &generator_ops;
    generator->params = generate;
    generator->mix = &job_mixes[generate->mix];
    generator->where = options->where;
    rng_init(&generator->rng, options->seed, options->run, name, 0);
    int code = generate_end_check(&generate->end, options->where, diag);
    if (code == 0) code = open_arrivals(generate, options, &generator->arrivals, diag);
    if (code != 0) {
        mem_free(generator);
        return code;
    }
    struct stream *stream = &generator->stream;
    code = transform_open(&generate->transform, options, false, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

static const struct config_field params[] = {TRACE_TIME_PARAMS,
                                             GENERATE_END_PARAMS(struct generate_jobs_params),
                                             {.name = "mix",
                                              .kind = CONFIG_CHOICE,
                                              .flags = CONFIG_REQUIRED,
                                              .offset = offsetof(struct generate_jobs_params, mix),
                                              .choices = job_mix_names,
                                              .help = "cluster whose statistics the jobs have"},
                                             TRACE_PARAM(struct generate_jobs_params, max_gpus, "max_gpus", CONFIG_INT,
                                                         "0", 0, INT32_MAX,
                                                         "larger jobs are made so large; 0: no limit"),
                                             {.name = "arrival",
                                              .kind = CONFIG_VARIANT,
                                              .flags = CONFIG_OPTIONAL,
                                              .offset = offsetof(struct generate_jobs_params, arrival),
                                              .family = "arrival",
                                              .tag = "process",
                                              .help = "when jobs are submitted, instead of as in the cluster"},
                                             {0}};

const struct trace_format trace_generate_jobs = {
    .name = "generate-jobs",
    .summary = "jobs with the run times, GPUs and arrivals of a public cluster",
    .source = "Hu et al., Characterization of LLM Development in the Datacenter, NSDI 2024",
    .params = params,
    .params_bytes = sizeof(struct generate_jobs_params),
    .open_jobs = open_jobs};
