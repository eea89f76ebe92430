/* Synthetic requests: an arrival process, and prompt and output lengths drawn independently. Defaults
 * come from a named mix. Prompt, output and arrivals draw from three separate random streams.
 *
 * Each class has its own lengths, and its own arrivals or a share of the common ones, whose classes are drawn at
 * random. Streams of a class are named after it, so they do not depend on the other classes. */
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "traces/generate/arrival.h"
#include "traces/generate/request_mix.h"
#include "traces/registry.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* --- Sessions --- */

/* Prefix blocks of synthetic prompts: in a session of several turns each prompt contains the one before it.
 *
 * With a given probability a request continues a recent session whose last prompt is shorter than the new one.
 * Otherwise it begins a session. Every prompt begins with the same system prompt. The rest of a prompt, the answer to
 * the last turn included, is new text with new ids. */
struct session_params {
    double continue_frac; /* 0: requests have no prefix blocks */
    int64_t block_tokens, system_blocks, max_sessions;
};

struct sessions {
    const struct session_params *params;
    struct rng rng; /* stream "NAME.sessions" */
    struct session {
        int64_t prompt_tokens; /* of its last turn */
        size_t capacity;
        uint64_t *ids;
    } * ring; /* [max_sessions], the latest ones */
    uint64_t n_begun, next_id;
    int64_t n_wanted, n_continued; /* requests that were to continue a session, and that did */
};

enum { MAX_TRIES = 16, LEAST_WANTED = 10 };

#define ROW_OF struct session_params
static const struct config_field session_fields[] = {
    ROW_REAL("continue", continue_frac, DEFAULT("0"), WITHIN(0, 1),
             "share of the requests that continue a session; 0: prompts have no prefix blocks"),
    ROW_INT("block_tokens", block_tokens, DEFAULT("512"), WITHIN(1, 1e6), "tokens per block"),
    ROW_INT("system_blocks", system_blocks, DEFAULT("1"), WITHIN(0, 1e6), "blocks with which every prompt begins"),
    ROW_INT("max_sessions", max_sessions, DEFAULT("1000"), WITHIN(1, 1e6),
            "number of recent sessions that may be continued"),
    {0}};
#undef ROW_OF

static int sessions_init(struct sessions *sessions, const struct session_params *params,
                         const struct source_options *options, struct diag *diag)
{
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.sessions", options->stream);
    *sessions = (struct sessions){.params = params, .next_id = (uint64_t)params->system_blocks};
    rng_init(&sessions->rng, options->seed, options->run, name, 0);
    if (params->continue_frac == 0) return 0;
    sessions->ring = mem_zalloc((size_t)params->max_sessions, sizeof *sessions->ring);
    return sessions->ring != NULL ? 0 : diag_nomem(diag);
}

static void sessions_fini(struct sessions *sessions)
{
    for (int64_t i = 0; sessions->ring != NULL && i < sessions->params->max_sessions; i++) {
        mem_free(sessions->ring[i].ids);
    }
    mem_free(sessions->ring);
}

/* A random recent session whose last prompt is shorter than this one, or NULL. */
static struct session *find_session(struct sessions *sessions, int64_t prompt_tokens)
{
    uint64_t most = (uint64_t)sessions->params->max_sessions;
    uint64_t n = sessions->n_begun < most ? sessions->n_begun : most;
    for (int i = 0; n > 0 && i < MAX_TRIES; i++) {
        struct session *session = &sessions->ring[rng_below(&sessions->rng, n)];
        if (session->prompt_tokens < prompt_tokens) return session;
    }
    return NULL;
}

static struct session *begin_session(struct sessions *sessions)
{
    struct session *session = &sessions->ring[sessions->n_begun++ % (uint64_t)sessions->params->max_sessions];
    session->prompt_tokens = 0;
    return session;
}

/* Gives the request its blocks, ceil(prompt / block) of them, valid until the next call. Returns 0 or SIM_E_NOMEM. */
static int sessions_next(struct sessions *sessions, struct request_record *request, struct diag *diag)
{
    const struct session_params *params = sessions->params;
    if (params->continue_frac == 0) return 0;
    bool wanted = rng_uniform(&sessions->rng) < params->continue_frac;
    struct session *session = wanted ? find_session(sessions, request->prompt_tokens) : NULL;
    sessions->n_wanted += wanted;
    sessions->n_continued += session != NULL;
    if (session == NULL) session = begin_session(sessions);
    size_t n = (size_t)((request->prompt_tokens + params->block_tokens - 1) / params->block_tokens);
    if (vec_reserve(&session->ids, &session->capacity, n) != 0) return diag_nomem(diag);
    for (size_t i = (size_t)(session->prompt_tokens / params->block_tokens); i < n; i++) {
        session->ids[i] = i < (size_t)params->system_blocks ? i : sessions->next_id++;
    }
    session->prompt_tokens = request->prompt_tokens;
    request->n_prefix_blocks = (int32_t)n;
    request->prefix_block_tokens = (int32_t)params->block_tokens;
    request->prefix_blocks = session->ids;
    return 0;
}

/* --- The requests of one class --- */

/* A section of "classes". */
struct request_class_params {
    const char *name; /* its key */
    double share;     /* weight of the class among the common arrivals; NAN: it has arrivals of its own */
    int mix;          /* in request_class_mix_names */
    struct config_variant arrival, prompt, output; /* no entry: the common ones, or those of the mix */
};

struct length_source {
    const struct length_distribution *distribution;
    const void *params;
    struct rng rng;
};

struct request_kind {
    const char *name; /* of its class; NULL: there are no classes */
    struct length_source prompt, output;
    struct sessions sessions;
};

enum { SESSION_ID_BITS = 32 }; /* of the block ids that a kind has for itself */

static int init_length(const struct config_variant *given, const struct empirical_params *of_mix, const char *what,
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

/* Takes lengths from `prompt` and `output`, or from the mix where they have no entry. `options->stream` names the
 * random streams of the kind, `index` keeps its block ids apart from those of other kinds. Returns 0, SIM_E_CONFIG or
 * SIM_E_NOMEM. Call request_kind_fini also after failure. */
static int request_kind_init(struct request_kind *kind, const struct config_variant *prompt,
                             const struct config_variant *output, const struct request_mix *mix,
                             const struct session_params *sessions, size_t index, const struct source_options *options,
                             struct diag *diag)
{
    int code = init_length(prompt, &mix->prompt, "prompt", options, &kind->prompt, diag);
    if (code == 0) code = init_length(output, &mix->output, "output", options, &kind->output, diag);
    if (code == 0) code = sessions_init(&kind->sessions, sessions, options, diag);
    kind->sessions.next_id += (uint64_t)index << SESSION_ID_BITS;
    return code;
}

static void request_kind_fini(struct request_kind *kind)
{
    sessions_fini(&kind->sessions);
}

/* Fills all of a record except id and time. Returns 0 or SIM_E_NOMEM. */
static int request_kind_draw(struct request_kind *kind, struct request_record *request, struct diag *diag)
{
    struct length_source *prompt = &kind->prompt, *output = &kind->output;
    request->prompt_tokens = length_draw(prompt->distribution, prompt->params, &prompt->rng);
    request->output_tokens = length_draw(output->distribution, output->params, &output->rng);
    request->class_name = kind->name;
    return sessions_next(&kind->sessions, request, diag);
}

#define ROW_OF struct request_class_params
static const struct config_field request_class_fields[] = {
    ROW_REAL("share", share, OPTIONAL, WITHIN(DBL_MIN, 1e9),
             "weight of this class among the common arrivals"),
    ROW_VARIANT("arrival", arrival, OPTIONAL, "arrival", "process", "separate arrivals instead of a share"),
    ROW_CHOICE("mix", mix, OPTIONAL, request_class_mix_names,
               "public trace whose lengths are the defaults of this class; common: of all classes"),
    ROW_VARIANT("prompt", prompt, OPTIONAL, "length", "distribution", "prompt lengths"),
    ROW_VARIANT("output", output, OPTIONAL, "length", "distribution", "output lengths"),
    {0}};
#undef ROW_OF

/* --- The generator --- */

struct generate_params {
    struct trace_transform transform;
    struct generate_end end;
    int mix;
    struct config_variant arrival, prompt, output;
    struct session_params sessions;
    struct config_list classes; /* of struct request_class_params */
};

/* An arrival process, and the kind of its requests. */
struct flow {
    struct arrivals *arrivals;
    struct request_kind *kind; /* NULL: of all classes that have a share */
    bool is_drawn;             /* its next arrival is drawn: arrivals->now_ns */
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

/* The flow with the earliest arrival, the first among equals. NULL: all have ended. */
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

static int generator_follow(struct stream *stream, const struct request_end *end, union trace_record *record,
                            struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    const struct flow *flow = generator->flows;
    sim_ns think_ns = flow->arrivals->process->think(flow->arrivals, end->id);
    return give(generator, flow, sim_ns_add(end->now_ns, think_ns), record, diag);
}

static struct source_place generator_place(const struct stream *stream)
{
    const struct generator *generator = (const struct generator *)stream;
    return generate_end_place(&generator->params->end, generator->n, generator->now_ns);
}

/* Where prompts are alike, hardly any is longer than an earlier one. */
static bool generator_note(const struct stream *stream, size_t index, struct source_note *note)
{
    const struct generator *generator = (const struct generator *)stream;
    int64_t n_wanted = 0, n_continued = 0;
    for (size_t i = 0; i < generator->n_kinds; i++) {
        n_wanted += generator->kinds[i].sessions.n_wanted;
        n_continued += generator->kinds[i].sessions.n_continued;
    }
    if (index > 0 || n_wanted < LEAST_WANTED || 2 * n_continued >= n_wanted) return false;
    *note = (struct source_note){.code = "not-continued",
                                 .text = "requests that were to continue a session began one, as no recent session has a "
                                         "shorter prompt; the trace format 'generate-sessions' has turns that grow",
                                 .count = n_wanted - n_continued};
    return true;
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

/* Checks of classes beyond ranges. */
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

#define ROW_OF struct generate_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    GENERATE_END_PARAMS,
    ROW_CHOICE("mix", mix, DEFAULT("azure-conversation"), request_mix_names,
               "public trace whose statistics are the defaults"),
    ROW_VARIANT("arrival", arrival, OPTIONAL, "arrival", "process", "arrival process"),
    ROW_VARIANT("prompt", prompt, OPTIONAL, "length", "distribution", "prompt lengths"),
    ROW_VARIANT("output", output, OPTIONAL, "length", "distribution", "output lengths"),
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
