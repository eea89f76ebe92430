/* Synthetic sessions: conversations of users, and agents that call tools and start sub-agents. Each class has its own
 * shape. Everything about a session is drawn from its own random stream, so that no session depends on another.
 *
 * The number of turns is geometric. A turn follows the answer before it by a tool call, with a given probability, or by
 * a user who thinks. Both times are lognormal. Instead of the next turn, an answer may start sub-agents: branches that
 * share its context, work in parallel, and whose last answers are new input of the turn that joins them. The first turn
 * begins with the system prompt of its class.
 *
 * A session ends before its context would exceed `max_context`. Left out: users who give up, tools that fail, contexts
 * that are shortened, and sub-agents of sub-agents.
 *
 * The shape "conversation" has the mean lengths of ShareGPT's turns as vLLM reports them (Kwon et al., SOSP 2023,
 * figure 11: 161 and 338 tokens), and the 5.5 turns of FastSwitch's conversations (2411.18424). Its other values,
 * and all of "agent", are assumptions. */
#include "sim/core/mem.h"
#include "traces/generate/arrival.h"
#include "traces/generate/distribution.h"
#include "traces/registry.h"
#include "traces/session.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* --- Shapes --- */

struct pause {
    double mean_s, cv; /* NAN: those of the shape */
};

struct session_shape {
    double turns, branch_turns;        /* means */
    double input_tokens, output_tokens; /* means of lognormal lengths */
    double length_cv;
    double tool_share, branch_share;
    struct pause think, tool;
    double width; /* sub-agents */
    int32_t system_tokens;
};

/* A lognormal distribution by its mean, and by the normal distribution of its logarithm. */
struct lognormal {
    double mean, deviation, half_variance;
};

/* A class's shape, and what is drawn for each of its turns. */
struct session_class {
    struct session_shape shape;
    struct lognormal think_s, tool_s, input_tokens, output_tokens;
};

enum { SHAPE_CONVERSATION, SHAPE_AGENT };
static const char *const shape_names[] = {"conversation", "agent", NULL};
static const struct session_shape shapes[] = {
    [SHAPE_CONVERSATION] = {.turns = 5.5, .branch_turns = 1, .input_tokens = 161, .output_tokens = 338, .length_cv = 1,
                            .think = {30, 1}, .tool = {2, 1}, .width = 2, .system_tokens = 200},
    [SHAPE_AGENT] = {.turns = 20, .branch_turns = 4, .input_tokens = 600, .output_tokens = 150, .length_cv = 1.5,
                     .tool_share = 0.9, .branch_share = 0.05, .think = {60, 1}, .tool = {2, 2}, .width = 3,
                     .system_tokens = 4000}};

struct session_class_params {
    const char *name;
    double share;
    int shape;
    double turns, tool_share;
    struct config_variant first_input, input, output; /* no entry: lognormal, as in the shape */
    struct pause think, tool;
    struct branching {
        double share, width, turns;
    } branches;
    double system_tokens;
    int64_t max_turns, max_context;
};

static double given(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

/* The shape with what the class gives itself. */
static struct session_shape shape_of(const struct session_class_params *params)
{
    struct session_shape shape = shapes[params->shape];
    shape.turns = given(params->turns, shape.turns);
    shape.tool_share = given(params->tool_share, shape.tool_share);
    shape.branch_share = given(params->branches.share, shape.branch_share);
    shape.branch_turns = given(params->branches.turns, shape.branch_turns);
    shape.width = given(params->branches.width, shape.width);
    shape.think.mean_s = given(params->think.mean_s, shape.think.mean_s);
    shape.think.cv = given(params->think.cv, shape.think.cv);
    shape.tool.mean_s = given(params->tool.mean_s, shape.tool.mean_s);
    shape.tool.cv = given(params->tool.cv, shape.tool.cv);
    shape.system_tokens = (int32_t)given(params->system_tokens, shape.system_tokens);
    return shape;
}

static struct lognormal lognormal_of(double mean, double cv)
{
    const double variance = log1p(cv * cv);
    return (struct lognormal){mean, sqrt(variance), variance / 2};
}

static struct session_class class_of(const struct session_class_params *params)
{
    const struct session_shape shape = shape_of(params);
    return (struct session_class){.shape = shape,
                                  .think_s = lognormal_of(shape.think.mean_s, shape.think.cv),
                                  .tool_s = lognormal_of(shape.tool.mean_s, shape.tool.cv),
                                  .input_tokens = lognormal_of(shape.input_tokens, shape.length_cv),
                                  .output_tokens = lognormal_of(shape.output_tokens, shape.length_cv)};
}

/* --- Drawing --- */

static double draw_lognormal(struct rng *rng, const struct lognormal *of)
{
    return of->mean > 0 ? of->mean * exp(of->deviation * normal_draw(rng) - of->half_variance) : 0;
}

/* A whole number of at least 1. */
static int64_t draw_geometric(struct rng *rng, double mean)
{
    const double u = rng_uniform(rng);
    return mean > 1 ? 1 + (int64_t)(log(u) / log1p(-1 / mean)) : 1;
}

static int32_t draw_length(struct rng *rng, const struct config_variant *variant, const struct lognormal *otherwise)
{
    if (variant->entry != NULL) return length_draw(variant->entry, variant->params, rng);
    const double tokens = ceil(draw_lognormal(rng, otherwise));
    return tokens < 1 ? 1 : tokens > 1e9 ? 1000000000 : (int32_t)tokens;
}

struct drawing {
    const struct session_class_params *params;
    const struct session_class *class;
    struct rng *rng;
    struct session_plan *plan;
    int64_t end_tokens; /* of the context of the latest turn */
};

/* Draws a turn that continues `parent`, with `extra_tokens` more of input. Returns 1; 0, with nothing added, if it
 * would be too long; or SIM_E_NOMEM. */
static int draw_turn(struct drawing *drawing, int32_t parent, int64_t extra_tokens)
{
    const struct session_class_params *params = drawing->params;
    const struct session_class *class = drawing->class;
    const bool is_first = parent < 0;
    struct rng *rng = drawing->rng;
    const struct config_variant *input = is_first && params->first_input.entry != NULL ? &params->first_input
                                                                                       : &params->input;
    struct session_turn turn = {.parent = parent, .joined_by = -1};
    turn.is_tool = rng_uniform(rng) < class->shape.tool_share && !is_first;
    const double wait_s = draw_lognormal(rng, turn.is_tool ? &class->tool_s : &class->think_s);
    const int64_t input_tokens = draw_length(rng, input, &class->input_tokens) + extra_tokens;
    turn.output_tokens = draw_length(rng, &params->output, &class->output_tokens);
    turn.wait_ns = is_first ? 0 : sim_ns_from_s(wait_s);
    const int64_t end = drawing->end_tokens + input_tokens + turn.output_tokens;
    const bool fits = end <= params->max_context && drawing->plan->n_turns < (size_t)params->max_turns;
    if (!fits && !is_first) return 0;
    if (!fits && end > INT32_MAX) return 0;
    turn.input_tokens = (int32_t)input_tokens;
    drawing->end_tokens = end;
    return session_plan_add(drawing->plan, &turn) == 0 ? 1 : SIM_E_NOMEM;
}

static int64_t context_of(const struct session_plan *plan, const struct session_shape *shape, int32_t turn)
{
    int64_t tokens = shape->system_tokens;
    for (; turn >= 0; turn = plan->turns[turn].parent)
        tokens += plan->turns[turn].input_tokens + plan->turns[turn].output_tokens;
    return tokens;
}

/* One sub-agent: a chain of turns from `parent` on. Sets *last to its last turn, -1 if none fits. */
static int draw_branch(struct drawing *drawing, int32_t parent, int32_t *last)
{
    const int64_t n = draw_geometric(drawing->rng, drawing->class->shape.branch_turns);
    int code = 1;
    *last = -1;
    drawing->end_tokens = context_of(drawing->plan, &drawing->class->shape, parent);
    for (int64_t i = 0; code == 1 && i < n; i++) {
        code = draw_turn(drawing, *last < 0 ? parent : *last, 0);
        if (code == 1) *last = (int32_t)drawing->plan->n_turns - 1;
    }
    return code < 0 ? code : 0;
}

/* Sub-agents from `parent` on, and the turn that joins them. Returns as draw_turn; without room for the join, there is
 * nothing of it. */
static int draw_branches(struct drawing *drawing, int32_t parent)
{
    struct session_plan *plan = drawing->plan;
    const size_t before = plan->n_turns;
    const int64_t width = (int64_t)drawing->class->shape.width;
    int64_t answer_tokens = 0;
    for (int64_t i = 0; i < width; i++) {
        int32_t last;
        const int code = draw_branch(drawing, parent, &last);
        if (code < 0) return code;
        if (last < 0) continue;
        plan->turns[last].joined_by = INT32_MAX; /* until the join has its number */
        answer_tokens += plan->turns[last].output_tokens;
    }
    drawing->end_tokens = context_of(plan, &drawing->class->shape, parent);
    const int code = draw_turn(drawing, parent, answer_tokens);
    if (code == 0) plan->n_turns = before;
    for (size_t i = before; code == 1 && i < plan->n_turns; i++)
        if (plan->turns[i].joined_by == INT32_MAX) plan->turns[i].joined_by = (int32_t)plan->n_turns - 1;
    return code;
}

static int draw_turns(struct drawing *drawing)
{
    const int64_t n = draw_geometric(drawing->rng, drawing->class->shape.turns);
    drawing->end_tokens = drawing->class->shape.system_tokens;
    int code = draw_turn(drawing, -1, 0);
    for (int64_t i = 1; code == 1 && i < n; i++) {
        const int32_t latest = (int32_t)drawing->plan->n_turns - 1;
        code = rng_uniform(drawing->rng) < drawing->class->shape.branch_share ? draw_branches(drawing, latest)
                                                                              : draw_turn(drawing, latest, 0);
    }
    return code < 0 ? code : 0;
}

/* --- The generator --- */

struct generate_params {
    struct trace_transform transform;
    struct generate_end end;
    struct config_variant arrival;
    int64_t block_tokens;
    struct config_list classes; /* of struct session_class_params */
};

struct generator {
    struct session_maker maker;
    const struct generate_params *params;
    const struct source_options *options;
    char stream[STREAM_NAME_CHARS];
    struct arrivals *arrivals;
    struct session_class *classes; /* as in params */
    double shares;                 /* their sum */
    int64_t n;
};

static const struct session_class_params *class_at(const struct generator *generator, size_t i)
{
    return (const struct session_class_params *)generator->params->classes.items + i;
}

/* The index of a session's class. */
static size_t draw_class(const struct generator *generator, struct rng *rng)
{
    double at = rng_uniform(rng) * generator->shares;
    size_t i = 0;
    while (i + 1 < generator->params->classes.n && at >= class_at(generator, i)->share)
        at -= class_at(generator, i++)->share;
    return i;
}

static int make(struct session_maker *maker, struct session_plan *plan, struct diag *diag)
{
    struct generator *generator = (struct generator *)maker;
    const struct generate_params *params = generator->params;
    const sim_ns arrival_ns = arrivals_next(generator->arrivals);
    if (generate_end_reached(&params->end, generator->n, arrival_ns)) return 0;
    if (arrival_ns == SIM_NS_MAX) return arrivals_out_of_time(generator->options->where, diag);
    struct rng rng;
    rng_init(&rng, generator->options->seed, generator->options->run, generator->stream, (uint64_t)generator->n++);
    const size_t class = draw_class(generator, &rng);
    struct drawing drawing = {
        .params = class_at(generator, class), .class = &generator->classes[class], .rng = &rng, .plan = plan};
    plan->arrival_ns = arrival_ns;
    plan->class_name = plan->system = drawing.params->name;
    plan->system_tokens = drawing.class->shape.system_tokens;
    char problem[SESSION_PROBLEM_CHARS];
    if (draw_turns(&drawing) != 0) return diag_nomem(diag);
    if (session_plan_link(plan, problem)) return 1;
    return diag_error(diag, SIM_E_CONFIG, generator->options->where, "shorten its lengths", "a session's %s", problem);
}

static struct source_place place(const struct session_maker *maker)
{
    const struct generator *generator = (const struct generator *)maker;
    return generate_end_place(&generator->params->end, generator->n, generator->arrivals->now_ns);
}

static bool note(const struct session_maker *maker, size_t index, struct source_note *note)
{
    (void)maker, (void)index, (void)note;
    return false;
}

static void generator_close(struct session_maker *maker)
{
    struct generator *generator = (struct generator *)maker;
    arrivals_destroy(generator->arrivals);
    mem_free(generator->classes);
    mem_free(generator);
}

static const struct session_maker_ops maker_ops = {
    .make = make, .place = place, .note = note, .close = generator_close};

static int check_class(const struct session_class_params *class, const char *where, struct diag *diag)
{
    const struct session_shape shape = shape_of(class);
    const struct config_variant *lengths[] = {&class->first_input, &class->input, &class->output};
    int code = 0;
    if (fmod(given(class->system_tokens, 0), 1) > 0 || fmod(given(class->branches.width, 0), 1) > 0)
        return diag_error(diag, SIM_E_CONFIG, where, NULL,
                          "\"system_tokens\" and the \"width\" of branches of class '%s' must be whole numbers",
                          class->name);
    for (size_t i = 0; code == 0 && i < sizeof lengths / sizeof *lengths; i++) {
        const struct length_distribution *length = lengths[i]->entry;
        if (length != NULL && length->check != NULL) code = length->check(lengths[i]->params, where, diag);
    }
    if (code != 0 || shape.system_tokens < class->max_context) return code;
    return diag_error(diag, SIM_E_CONFIG, where, "raise \"max_context\"",
                      "the system prompt of class '%s' fills its longest context", class->name);
}

static int check(const struct generate_params *params, const struct source_options *options, struct diag *diag)
{
    const struct arrival_process *process = params->arrival.entry;
    int code = generate_end_check(&params->end, options->where, diag);
    for (size_t i = 0; code == 0 && i < params->classes.n; i++)
        code = check_class((const struct session_class_params *)params->classes.items + i, options->where, diag);
    if (code != 0 || process->think == NULL) return code;
    return diag_error(diag, SIM_E_CONFIG, options->where, "choose another process; the turns of a session are one",
                      "sessions cannot arrive in a closed loop");
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    const struct generate_params *generate = params;
    int code = check(generate, options, diag);
    if (code != 0) return code;
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_nomem(diag);
    *generator = (struct generator){.maker = {&maker_ops}, .params = generate, .options = options};
    snprintf(generator->stream, sizeof generator->stream, "%s.session", options->stream);
    generator->classes = mem_zalloc(generate->classes.n, sizeof *generator->classes);
    if (generator->classes == NULL) {
        generator_close(&generator->maker);
        return diag_nomem(diag);
    }
    for (size_t i = 0; i < generate->classes.n; i++) {
        generator->shares += class_at(generator, i)->share;
        generator->classes[i] = class_of(class_at(generator, i));
    }
    code = arrivals_create(generate->arrival.entry, generate->arrival.params, options, &generator->arrivals, diag);
    if (code != 0) {
        generator_close(&generator->maker);
        return code;
    }
    return session_requests_open(&generator->maker, generate->block_tokens, &generate->transform, options, source,
                                 diag);
}

/* --- Parameters --- */

#define ROW_OF struct pause
static const struct config_field pause_fields[] = {
    ROW_QUANTITY("mean", mean_s, UNIT_TIME, OPTIONAL, WITHIN(0, 1e8), "mean time; default: that of the shape"),
    ROW_REAL("cv", cv, OPTIONAL, WITHIN(0, 100), "standard deviation over the mean; default: that of the shape"),
    {0}};
#undef ROW_OF

#define ROW_OF struct branching
static const struct config_field branching_fields[] = {
    ROW_REAL("share", share, OPTIONAL, WITHIN(0, 1), "share of the answers that start sub-agents"),
    ROW_REAL("width", width, OPTIONAL, WITHIN(1, 1000), "sub-agents that work in parallel"),
    ROW_REAL("turns", turns, OPTIONAL, WITHIN(1, 1e5), "mean number of turns of a sub-agent"),
    {0}};
#undef ROW_OF

#define ROW_OF struct session_class_params
static const struct config_field class_fields[] = {
    ROW_REAL("share", share, DEFAULT("1"), WITHIN(DBL_MIN, 1e9), "weight of this class among the sessions"),
    ROW_CHOICE("shape", shape, DEFAULT("conversation"), shape_names, "where the defaults come from"),
    ROW_REAL("turns", turns, OPTIONAL, WITHIN(1, 1e5), "mean number of turns, which is geometric"),
    ROW_VARIANT("first_input", first_input, OPTIONAL, "length", "distribution",
                "new input tokens of the first turn, if they differ"),
    ROW_VARIANT("input", input, OPTIONAL, "length", "distribution", "new input tokens of a turn"),
    ROW_VARIANT("output", output, OPTIONAL, "length", "distribution", "output tokens of a turn"),
    ROW_SECTION("think", think, FILLED, pause_fields, "time that a user takes for the next turn"),
    ROW_REAL("tool_share", tool_share, OPTIONAL, WITHIN(0, 1), "share of the turns that follow from a tool call"),
    ROW_SECTION("tool", tool, FILLED, pause_fields, "time of a tool call"),
    ROW_SECTION("branches", branches, FILLED, branching_fields, "sub-agents that share the context"),
    ROW_REAL("system_tokens", system_tokens, OPTIONAL, WITHIN(0, 1e9), "system prompt of all sessions of the class"),
    ROW_INT("max_turns", max_turns, DEFAULT("1000"), WITHIN(1, SESSION_MAX_TURNS), "most turns of a session"),
    ROW_INT("max_context", max_context, DEFAULT("131072"), WITHIN(2, INT32_MAX),
            "a session ends before its context is longer, in tokens; its first turn stays"),
    {0}};
#undef ROW_OF

#define ROW_OF struct generate_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    ROW_INT("count", end.count, DEFAULT("0"), WITHIN(0, 1e15), "sessions; 0: no limit"),
    ROW_TIME("duration", end.duration_ns, DEFAULT("0s"), WITHIN(0, 9e9), "no sessions begin from then on, before rate_scale; 0s: no limit"),
    ROW_VARIANT("arrival", arrival, REQUIRED, "arrival", "process", "when sessions begin"),
    SESSION_BLOCK_PARAM,
    ROW_MAP("classes", classes, REQUIRED, WITHIN(1, 256), struct session_class_params, class_fields,
            "kinds of sessions, by name"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_sessions = {
    .name = "generate-sessions",
    .summary = "conversations and agents, whose prompts repeat the context so far",
    .source = "lengths of conversations: Kwon et al., SOSP 2023, figure 11; FastSwitch, 2411.18424",
    .params = params,
    .params_bytes = sizeof(struct generate_params),
    .open_requests = open_requests};
