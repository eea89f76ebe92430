/* Synthetic jobs of several types: each type has its own arrivals and distribution of run times, as in queueing models.
 * Each type draws from its own random streams, so types do not depend on each other. Among jobs submitted at one time,
 * those of the type named first go first. */
#include "traces/generate/arrival.h"
#include "traces/generate/run_time.h"
#include "traces/registry.h"
#include "traces/transform.h"

#include "sim/core/mem.h"

#include <stdio.h>

struct job_class_params {
    const char *name; /* its key, and the type of its jobs */
    struct config_variant arrival;
    struct run_params run;
    int64_t gpus;
};

struct job_classes_params {
    struct trace_transform transform;
    struct generate_end end;
    struct config_list types; /* struct job_class_params */
};

struct job_class {
    const struct job_class_params *params;
    struct arrivals *arrivals;
    struct rng rng; /* stream "NAME.TYPE.run" */
    sim_ns next_ns;
};

struct generator {
    struct stream stream;
    const struct job_classes_params *params;
    const char *where;
    struct job_class *classes;
    size_t n_classes;
    int64_t n;
    sim_ns now_ns;
};

static struct job_class *next_class(const struct generator *generator)
{
    struct job_class *first = generator->classes;
    for (size_t i = 1; i < generator->n_classes; i++)
        if (generator->classes[i].next_ns < first->next_ns) first = &generator->classes[i];
    return first;
}

static int generator_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    struct job_class *of = next_class(generator);
    generator->now_ns = of->next_ns;
    if (generate_end_reached(&generator->params->end, generator->n, of->next_ns)) return 0;
    const sim_ns run_ns = sim_ns_from_s(run_draw_s(&of->rng, &of->params->run));
    record->job = (struct job_record){.id = generator->n++, .submit_ns = of->next_ns, .duration_ns = run_ns,
                                      .estimate_ns = run_ns, .gpus = (int32_t)of->params->gpus, .gpu_milli = 1000,
                                      .group = of->params->name, .user = "", .type = of->params->name};
    const bool ends = of->next_ns < SIM_NS_MAX - run_ns;
    of->next_ns = arrivals_next(of->arrivals);
    return ends ? 1 : arrivals_out_of_time(generator->where, diag);
}

static struct source_place generator_place(const struct stream *stream)
{
    const struct generator *generator = (const struct generator *)stream;
    return generate_end_place(&generator->params->end, generator->n, generator->now_ns);
}

static bool generator_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream, (void)index, (void)note;
    return false;
}

static void generator_close(struct stream *stream)
{
    struct generator *generator = (struct generator *)stream;
    for (size_t i = 0; generator->classes != NULL && i < generator->n_classes; i++)
        arrivals_destroy(generator->classes[i].arrivals);
    mem_free(generator->classes);
    mem_free(generator);
}

static const struct stream_ops generator_ops = {
    .next = generator_next, .place = generator_place, .note = generator_note, .close = generator_close};

static int check_class(const struct job_class_params *params, const char *where, struct diag *diag)
{
    const struct arrival_process *process = params->arrival.entry;
    if (process->think != NULL)
        return diag_error(diag, SIM_E_CONFIG, where, "choose another process", "jobs cannot follow a closed loop");
    char what[STREAM_NAME_CHARS];
    snprintf(what, sizeof what, "jobs of type '%s'", params->name);
    return run_check(&params->run, what, where, diag);
}

static int open_class(struct generator *generator, size_t i, const struct source_options *options, struct diag *diag)
{
    const struct job_class_params *params = (const struct job_class_params *)generator->params->types.items + i;
    struct job_class *of = &generator->classes[i];
    char type[STREAM_NAME_CHARS], run[STREAM_NAME_CHARS + 8];
    snprintf(type, sizeof type, "%s.%s", options->stream, params->name);
    snprintf(run, sizeof run, "%s.run", type);
    struct source_options own = *options;
    own.stream = type;
    of->params = params;
    rng_init(&of->rng, options->seed, options->run, run, 0);
    int code = check_class(params, options->where, diag);
    if (code == 0) code = arrivals_create(params->arrival.entry, params->arrival.params, &own, &of->arrivals, diag);
    if (code == 0) of->next_ns = arrivals_next(of->arrivals);
    return code;
}

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    const struct job_classes_params *generate = params;
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_nomem(diag);
    generator->stream.ops = &generator_ops;
    generator->params = generate;
    generator->where = options->where;
    generator->n_classes = generate->types.n;
    generator->classes = mem_zalloc(generate->types.n, sizeof *generator->classes);
    int code = generator->classes != NULL ? generate_end_check(&generate->end, options->where, diag) : SIM_E_NOMEM;
    for (size_t i = 0; code == 0 && i < generator->n_classes; i++) code = open_class(generator, i, options, diag);
    struct stream *stream = &generator->stream;
    if (code != 0) {
        stream_close(stream);
        return code;
    }
    code = transform_open(&generate->transform, options, false, stream, &stream, diag);
    return code != 0 ? code : stream_to_jobs(stream, source, diag);
}

#define ROW_OF struct job_class_params
static const struct config_field class_fields[] = {
    ROW_VARIANT("arrival", arrival, REQUIRED, "arrival", "process", "arrival process of the jobs of this type"),
    ROW_SECTION("run_time", run, FILLED, run_fields, "run times"),
    ROW_INT("gpus", gpus, DEFAULT("1"), WITHIN(1, INT32_MAX), "GPUs that each job requests"),
    {0}};
#undef ROW_OF

#define ROW_OF struct job_classes_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    GENERATE_END_PARAMS,
    ROW_MAP("types", types, REQUIRED, WITHIN(1, 1000), struct job_class_params, class_fields, "types of jobs, by name"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_job_types = {
    .name = "generate-job-types",
    .summary = "jobs of several types, each with its arrivals and distribution of run times",
    .source = "",
    .params = params,
    .params_bytes = sizeof(struct job_classes_params),
    .open_jobs = open_jobs};
