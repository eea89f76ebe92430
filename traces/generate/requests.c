/* Requests made up: an arrival process, and prompt and output lengths drawn independently. Whatever is not given comes
 * from a named mix. Prompt, output and arrivals draw from three random streams of their own. */
#include "traces/generate/arrival.h"
#include "traces/generate/end.h"
#include "traces/generate/length.h"
#include "traces/generate/request_mix.h"
#include "traces/generate/session.h"
#include "traces/registry.h"
#include "traces/transform.h"

#include "sim/core/mem.h"

#include <stdio.h>

struct generate_params {
    struct trace_transform transform;
    struct generate_end end;
    int mix;
    struct config_variant arrival, prompt, output;
    struct session_params sessions;
};

struct length_source {
    const struct length_distribution *distribution;
    const void *params;
    struct rng rng;
};

struct generator {
    struct stream stream;
    const struct generate_params *params;
    const char *where;
    struct arrivals *arrivals;
    struct length_source prompt, output;
    struct sessions sessions;
    int64_t n;
};

static int give(struct generator *generator, sim_ns arrival_ns, union trace_record *record, struct diag *diag)
{
    if (generate_end_reached(&generator->params->end, generator->n, arrival_ns)) return 0;
    if (arrival_ns == SIM_NS_MAX) return arrivals_out_of_time(generator->where, diag);
    struct length_source *prompt = &generator->prompt, *output = &generator->output;
    record->request = (struct request_record){
        .id = generator->n++,
        .arrival_ns = arrival_ns,
        .prompt_tokens = length_draw(prompt->distribution, prompt->params, &prompt->rng),
        .output_tokens = length_draw(output->distribution, output->params, &output->rng)};
    int code = sessions_next(&generator->sessions, &record->request, diag);
    return code != 0 ? code : 1;
}

static int generator_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    sim_ns arrival_ns = arrivals_next(generator->arrivals);
    return generator->arrivals->ended ? 0 : give(generator, arrival_ns, record, diag);
}

static int generator_follow(struct stream *stream, int64_t ended_id, sim_ns now_ns, union trace_record *record,
                            struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    sim_ns think_ns = generator->arrivals->process->think(generator->arrivals, ended_id);
    return give(generator, sim_ns_add(now_ns, think_ns), record, diag);
}

static struct source_place generator_place(const struct stream *stream)
{
    const struct generator *generator = (const struct generator *)stream;
    return generate_end_place(&generator->params->end, generator->n, generator->arrivals->now_ns);
}

static bool generator_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream;
    (void)index;
    (void)note;
    return false;
}

static void generator_close(struct stream *stream)
{
    struct generator *generator = (struct generator *)stream;
    arrivals_destroy(generator->arrivals);
    sessions_fini(&generator->sessions);
    mem_free(generator);
}

static const struct stream_ops open_ops = {
    .next = generator_next, .place = generator_place, .note = generator_note, .close = generator_close};
static const struct stream_ops closed_ops = {.next = generator_next,
                                             .follow = generator_follow,
                                             .place = generator_place,
                                             .note = generator_note,
                                             .close = generator_close};

/* What the user gave, else what the mix has. */
static int open_length(const struct config_variant *given, const struct empirical_params *of_mix, const char *what,
                       const struct source_options *options, struct length_source *length, struct diag *diag)
{
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.%s", options->stream, what);
    *length = (struct length_source){.distribution = given->entry, .params = given->params};
    if (given->entry == NULL) *length = (struct length_source){.distribution = &length_empirical, .params = of_mix};
    rng_init(&length->rng, options->seed, options->run, name, 0);
    int (*check)(const void *, const char *, struct diag *) = length->distribution->check;
    return check != NULL ? check(length->params, options->where, diag) : 0;
}

static int open_generator(const struct generate_params *params, const struct source_options *options,
                          struct generator *generator, struct diag *diag)
{
    const struct request_mix *mix = &request_mixes[params->mix];
    int code = generate_end_check(&params->end, options->where, diag);
    if (code == 0) code = open_length(&params->prompt, &mix->prompt, "prompt", options, &generator->prompt, diag);
    if (code == 0) code = open_length(&params->output, &mix->output, "output", options, &generator->output, diag);
    if (code == 0) code = sessions_init(&generator->sessions, &params->sessions, options, diag);
    if (code != 0) return code;
    bool given = params->arrival.entry != NULL;
    return arrivals_create(given ? params->arrival.entry : &arrival_modulated,
                           given ? params->arrival.params : &mix->arrival, options, &generator->arrivals, diag);
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const struct generate_params *generate = params;
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    generator->params = generate;
    generator->where = options->where;
    int code = open_generator(generate, options, generator, diag);
    if (code != 0) {
        generator_close(&generator->stream);
        return code;
    }
    generator->stream.ops = generator->arrivals->process->think != NULL ? &closed_ops : &open_ops;
    struct stream *stream = &generator->stream;
    code = transform_open(&generate->transform, options, true, stream, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}

#define LENGTH_PARAM(member, help_)                                                                                    \
    {                                                                                                                  \
        .name = #member, .kind = CONFIG_VARIANT, .flags = CONFIG_OPTIONAL,                                             \
        .offset = offsetof(struct generate_params, member), .family = "length", .tag = "distribution", .help = help_   \
    }

static const struct config_field params[] = {TRACE_TIME_PARAMS,
                                             TRACE_LENGTH_PARAMS,
                                             GENERATE_END_PARAMS(struct generate_params),
                                             {.name = "mix",
                                              .kind = CONFIG_CHOICE,
                                              .offset = offsetof(struct generate_params, mix),
                                              .value = "azure-conversation",
                                              .choices = request_mix_names,
                                              .help = "public trace whose statistics hold for what is not given here"},
                                             {.name = "arrival",
                                              .kind = CONFIG_VARIANT,
                                              .flags = CONFIG_OPTIONAL,
                                              .offset = offsetof(struct generate_params, arrival),
                                              .family = "arrival",
                                              .tag = "process",
                                              .help = "when requests come"},
                                             LENGTH_PARAM(prompt, "prompt lengths"),
                                             LENGTH_PARAM(output, "output lengths"),
                                             {.name = "sessions",
                                              .kind = CONFIG_SECTION,
                                              .offset = offsetof(struct generate_params, sessions),
                                              .fields = session_fields,
                                              .help = "prefixes that prompts share"},
                                             {0}};

const struct trace_format trace_generate = {.name = "generate",
                                            .summary = "requests from an arrival process and length distributions",
                                            .source = "",
                                            .params = params,
                                            .params_bytes = sizeof(struct generate_params),
                                            .open_requests = open_requests};
