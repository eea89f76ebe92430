/* Synthetic requests: an arrival process, and prompt and output lengths drawn independently. Whatever is not given
 * comes from a named mix. Prompt, output and arrivals draw from three random streams of their own.
 *
 * With classes each has lengths of its own, and arrivals of its own or a share of the common ones: each of these is of
 * a class drawn at random. Streams of a class are named after it, so they do not depend on the other classes. */
#include "traces/generate/arrival.h"
#include "traces/generate/end.h"
#include "traces/generate/request_kind.h"
#include "traces/registry.h"
#include "traces/transform.h"

#include "sim/core/mem.h"

#include <math.h>
#include <stdio.h>

struct generate_params {
    struct trace_transform transform;
    struct generate_end end;
    int mix;
    struct config_variant arrival, prompt, output;
    struct session_params sessions;
    struct config_list classes; /* of struct request_class_params */
};

/* An arrival process, and whose requests it brings. */
struct flow {
    struct arrivals *arrivals;
    struct request_kind *kind; /* NULL: of all classes that have a share */
    bool is_drawn;             /* its next arrival, at arrivals->now_ns, is still to come */
};

struct generator {
    struct stream stream;
    const struct generate_params *params;
    const char *where;
    size_t n_kinds, n_flows;
    struct request_kind *kinds; /* [n_kinds], of the classes in their order */
    double *share_ends;         /* [n_kinds]: sums of the shares */
    struct flow *flows;         /* [n_flows]: the common one, if any, is the first */
    struct rng class_rng;       /* stream "NAME.class" */
    sim_ns now_ns;              /* of the latest arrival */
    int64_t n;
};

/* --- Drawing --- */

static struct request_kind *draw_kind(struct generator *generator)
{
    if (generator->n_kinds == 1) return generator->kinds;
    const double whole = generator->share_ends[generator->n_kinds - 1];
    const double at = rng_uniform(&generator->class_rng) * whole;
    size_t i = 0;
    while (at >= generator->share_ends[i] && generator->share_ends[i] < whole) i++;
    return &generator->kinds[i];
}

static int give(struct generator *generator, const struct flow *flow, sim_ns arrival_ns, union trace_record *record,
                struct diag *diag)
{
    if (generate_end_reached(&generator->params->end, generator->n, arrival_ns)) return 0;
    if (arrival_ns == SIM_NS_MAX) return arrivals_out_of_time(generator->where, diag);
    record->request = (struct request_record){.id = generator->n++, .arrival_ns = arrival_ns};
    struct request_kind *kind = flow->kind != NULL ? flow->kind : draw_kind(generator);
    int code = request_kind_draw(kind, &record->request, diag);
    return code != 0 ? code : 1;
}

/* The flow whose arrival comes first; of several the first one. NULL: all have ended. */
static struct flow *next_flow(struct generator *generator)
{
    struct flow *found = NULL;
    for (size_t i = 0; i < generator->n_flows; i++) {
        struct flow *flow = &generator->flows[i];
        if (!flow->is_drawn) arrivals_next(flow->arrivals);
        flow->is_drawn = true;
        if (flow->arrivals->ended) continue;
        if (found == NULL || flow->arrivals->now_ns < found->arrivals->now_ns) found = flow;
    }
    return found;
}

static int generator_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    struct flow *flow = next_flow(generator);
    if (flow == NULL) return 0;
    flow->is_drawn = false;
    generator->now_ns = flow->arrivals->now_ns;
    return give(generator, flow, generator->now_ns, record, diag);
}

static int generator_follow(struct stream *stream, int64_t ended_id, sim_ns now_ns, union trace_record *record,
                            struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    const struct flow *flow = generator->flows;
    sim_ns think_ns = flow->arrivals->process->think(flow->arrivals, ended_id);
    return give(generator, flow, sim_ns_add(now_ns, think_ns), record, diag);
}

static struct source_place generator_place(const struct stream *stream)
{
    const struct generator *generator = (const struct generator *)stream;
    return generate_end_place(&generator->params->end, generator->n, generator->now_ns);
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
    for (size_t i = 0; i < generator->n_flows; i++) arrivals_destroy(generator->flows[i].arrivals);
    for (size_t i = 0; i < generator->n_kinds; i++) request_kind_fini(&generator->kinds[i]);
    mem_free(generator->flows);
    mem_free(generator->kinds);
    mem_free(generator->share_ends);
    mem_free(generator);
}

static const struct stream_ops open_ops = {
    .next = generator_next, .place = generator_place, .note = generator_note, .close = generator_close};
static const struct stream_ops closed_ops = {.next = generator_next,
                                             .follow = generator_follow,
                                             .place = generator_place,
                                             .note = generator_note,
                                             .close = generator_close};

/* --- Opening --- */

static int open_flow(struct generator *generator, const struct config_variant *given, struct request_kind *kind,
                     const struct source_options *options, struct diag *diag)
{
    struct flow *flow = &generator->flows[generator->n_flows];
    const struct request_mix *mix = &request_mixes[generator->params->mix];
    const bool is_given = given->entry != NULL;
    int code = arrivals_create(is_given ? given->entry : &arrival_modulated, is_given ? given->params : &mix->arrival,
                               options, &flow->arrivals, diag);
    if (code != 0) return code;
    flow->kind = kind;
    generator->n_flows++;
    return 0;
}

/* Requests of one kind, which has no name. */
static int open_single(struct generator *generator, const struct source_options *options, struct diag *diag)
{
    const struct generate_params *params = generator->params;
    generator->n_kinds = 1;
    return request_kind_init(generator->kinds, &params->prompt, &params->output, &request_mixes[params->mix],
                             &params->sessions, 0, options, diag);
}

static const struct config_variant *first_given(const struct config_variant *own, bool has_mix,
                                                const struct config_variant *common)
{
    return own->entry != NULL || has_mix ? own : common;
}

static int open_class(struct generator *generator, const struct request_class_params *class,
                      const struct source_options *options, struct diag *diag)
{
    const struct generate_params *params = generator->params;
    const bool has_mix = class->mix > 0;
    char stream[STREAM_NAME_CHARS];
    struct source_options own = *options;
    snprintf(stream, sizeof stream, "%s.%s", options->stream, class->name);
    own.stream = stream;
    const size_t index = generator->n_kinds++;
    struct request_kind *kind = &generator->kinds[index];
    kind->name = class->name;
    generator->share_ends[index] = (index > 0 ? generator->share_ends[index - 1] : 0) + fmax(class->share, 0);
    int code = request_kind_init(kind, first_given(&class->prompt, has_mix, &params->prompt),
                                 first_given(&class->output, has_mix, &params->output),
                                 &request_mixes[has_mix ? class->mix - 1 : params->mix], &params->sessions, index, &own,
                                 diag);
    return code != 0 || class->arrival.entry == NULL ? code : open_flow(generator, &class->arrival, kind, &own, diag);
}

static bool is_closed(const struct config_variant *arrival)
{
    const struct arrival_process *process = arrival->entry;
    return process != NULL && process->think != NULL;
}

/* What ranges cannot say of classes. */
static int check_class(const struct generate_params *params, const struct request_class_params *class,
                       const char *where, struct diag *diag)
{
    const bool has_share = class->share > 0, has_arrival = class->arrival.entry != NULL;
    if (has_share == has_arrival)
        return diag_error(
            diag, SIM_E_CONFIG, where, "give it a \"share\" of the common arrivals, or an \"arrival\" of its own",
            "class '%s' has %s", class->name, has_share ? "both a share and arrivals of its own" : "no arrivals");
    if (!has_arrival || !(is_closed(&class->arrival) || is_closed(&params->arrival))) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "let all classes of a closed loop have a share of it",
                      "class '%s' has arrivals of its own beside or in a closed loop", class->name);
}

static int open_classes(struct generator *generator, const struct source_options *options, struct diag *diag)
{
    const struct generate_params *params = generator->params;
    const struct request_class_params *classes = params->classes.items;
    bool shared = false;
    int code = 0;
    for (size_t i = 0; i < params->classes.n && code == 0; i++) {
        code = check_class(params, &classes[i], options->where, diag);
        shared |= classes[i].share > 0;
    }
    if (code == 0 && !shared && params->arrival.entry != NULL)
        code = diag_error(diag, SIM_E_CONFIG, options->where, "leave out \"arrival\", or give a class a \"share\"",
                          "no class has a share of the common arrivals");
    if (code == 0 && shared) code = open_flow(generator, &params->arrival, NULL, options, diag);
    for (size_t i = 0; i < params->classes.n && code == 0; i++)
        code = open_class(generator, &classes[i], options, diag);
    return code;
}

static int open_generator(struct generator *generator, const struct source_options *options, struct diag *diag)
{
    const struct generate_params *params = generator->params;
    const size_t n = params->classes.n > 0 ? params->classes.n : 1;
    generator->kinds = mem_zalloc(n, sizeof *generator->kinds);
    generator->share_ends = mem_zalloc(n, sizeof *generator->share_ends);
    generator->flows = mem_zalloc(n + 1, sizeof *generator->flows);
    if (generator->kinds == NULL || generator->share_ends == NULL || generator->flows == NULL) return diag_nomem(diag);
    int code = generate_end_check(&params->end, options->where, diag);
    if (code != 0) return code;
    if (params->classes.n > 0) {
        char name[STREAM_NAME_CHARS];
        snprintf(name, sizeof name, "%s.class", options->stream);
        rng_init(&generator->class_rng, options->seed, options->run, name, 0);
        return open_classes(generator, options, diag);
    }
    code = open_single(generator, options, diag);
    return code != 0 ? code : open_flow(generator, &params->arrival, generator->kinds, options, diag);
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const struct generate_params *generate = params;
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_nomem(diag);
    generator->params = generate;
    generator->where = options->where;
    int code = open_generator(generator, options, diag);
    if (code != 0) {
        generator_close(&generator->stream);
        return code;
    }
    generator->stream.ops = generator->flows->arrivals->process->think != NULL ? &closed_ops : &open_ops;
    struct stream *stream = &generator->stream;
    code = transform_open(&generate->transform, options, true, stream, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}

#define LENGTH_PARAM(member, help_)                                                                                    \
    {                                                                                                                  \
        .name = #member, .kind = CONFIG_VARIANT, .flags = CONFIG_OPTIONAL,                                             \
        .offset = offsetof(struct generate_params, member), .family = "length", .tag = "distribution", .help = help_   \
    }

#define ROW_OF struct generate_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    GENERATE_END_PARAMS(struct generate_params),
    ROW_CHOICE("mix", mix, DEFAULT("azure-conversation"), request_mix_names,
               "public trace whose statistics are the defaults"),
    ROW_VARIANT("arrival", arrival, OPTIONAL, "arrival", "process", "when requests come"),
    LENGTH_PARAM(prompt, "prompt lengths"),
    LENGTH_PARAM(output, "output lengths"),
    ROW_SECTION("sessions", sessions, FILLED, session_fields, "prefixes that prompts share"),
    ROW_MAP("classes", classes, OPTIONAL, WITHIN(0, 256), struct request_class_params, request_class_fields,
            "classes of requests, by name; otherwise all requests are of one kind"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate = {.name = "generate",
                                            .summary = "requests from an arrival process and length distributions",
                                            .source = "",
                                            .params = params,
                                            .params_bytes = sizeof(struct generate_params),
                                            .open_requests = open_requests};
