#include "sim/study/conform.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/study/conform_cache.h"
#include "sim/study/conform_watch.h"
#include "sim/study/guard.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STALL_EVENTS = 200000 };

/* A scenario with one partner, bound. */
struct bound {
    const struct conform_suite *suite;
    const struct policy *policy;
    const struct conform_case *wanted;
    int partner;
    struct arena arena;
    struct config *config;
    struct scenario scenario;
    struct conform_cache caches; /* evictors only */
    struct config_variant *variant, plain; /* the policy under test in the scenario, and its value without a guard */
};

/* How a run differs from the plain one. */
struct manner {
    enum conform_check of; /* the check that needs the run; CONFORM_ENDS: the plain one */
    enum queue_kind queue;
    bool single_step, check, ask_twice;
    int64_t interrupt_at;
};

/* The outcome of a run. */
struct outcome {
    int code;
    char finding[DIAG_TEXT_CHARS]; /* the first error of a failed run */
    struct conform_watch watch;
    struct guard guard;
    struct conform_trail trail; /* what the policy did last */
};

const char *conform_check_name(enum conform_check check)
{
    static const char *const names[] = {
#define CONFORM_NAME(id, name, text) [id] = name,
        CONFORM_CHECKS(CONFORM_NAME)
#undef CONFORM_NAME
    };
    return names[check];
}

/* --- Binding --- */

static bool is_of_caches(const struct policy *policy)
{
    return conform_is_of_caches(policy->family);
}

static int lay_settings(const struct conform_suite *suite, const struct policy *policy, struct config *config,
                        struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < suite->n_settings; i++) {
        struct text setting;
        text_init(&setting);
        text_printf(&setting, "%s.%s", policy_family_key(policy->family), suite->settings[i]);
        code = setting.failed ? SIM_E_NOMEM : config_set(config, setting.chars, diag);
        text_fini(&setting);
    }
    return code;
}

/* The variant at a path of section members and map keys, below `base`; NULL: there is none. */
static struct config_variant *find_variant(const struct config_field *fields, void *base, const char *path)
{
    const size_t n = strcspn(path, ".");
    while (fields->name != NULL && (strncmp(fields->name, path, n) != 0 || fields->name[n] != 0)) fields++;
    if (fields->name == NULL) return NULL;
    void *at = (char *)base + fields->offset;
    const char *rest = path + n + (path[n] == '.');
    if (fields->kind == CONFIG_VARIANT) return at;
    if (fields->kind == CONFIG_SECTION) return find_variant(fields->fields, at, rest);
    const struct config_list *list = at;
    const size_t n_key = strcspn(rest, ".");
    for (size_t i = 0; fields->kind == CONFIG_MAP && i < list->n; i++) {
        char *element = (char *)list->items + i * fields->elem_bytes;
        const char *key = *(const char **)(void *)element;
        if (strncmp(key, rest, n_key) == 0 && key[n_key] == 0)
            return find_variant(fields->fields, element, rest + n_key + (rest[n_key] == '.'));
    }
    return NULL;
}

static int bind(struct bound *bound, int partner, struct diag *diag)
{
    const struct policy *policy = bound->policy;
    struct text json;
    bound->partner = partner;
    text_init(&json);
    conform_case_json(bound->wanted, policy->family, policy->name, policy_family_partners(policy->family)[partner],
                      &json);
    int code = json.failed ? SIM_E_NOMEM
                           : config_parse(bound->wanted->name, ".", json.chars, json.length, &bound->config, diag);
    text_fini(&json);
    if (code == 0) code = lay_settings(bound->suite, policy, bound->config, diag);
    const struct config_families *families = &bound->suite->families;
    const bool of_caches = is_of_caches(policy);
    if (code == 0)
        code = of_caches ? config_bind(bound->config, conform_cache_fields, families, &bound->arena, &bound->caches,
                                       sizeof bound->caches, diag)
                         : scenario_bind(bound->config, families, bound->suite->catalog, &bound->arena,
                                         &bound->scenario, diag);
    if (code != 0) return code;
    bound->variant = find_variant(of_caches ? conform_cache_fields : scenario_fields,
                                  of_caches ? (void *)&bound->caches : &bound->scenario,
                                  policy_family_key(policy->family));
    SIM_REQUIRE(bound->variant != NULL && bound->variant->entry == policy);
    bound->plain = *bound->variant;
    return 0;
}

static void bound_init(struct bound *bound, const struct conform_suite *suite, const struct policy *policy,
                       const struct conform_case *wanted)
{
    *bound = (struct bound){.suite = suite, .policy = policy, .wanted = wanted};
    arena_init(&bound->arena);
}

static void bound_fini(struct bound *bound)
{
    config_destroy(bound->config);
    arena_fini(&bound->arena);
}

int conform_json(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                 int partner, struct text *json, struct diag *diag)
{
    if (suite->n_settings == 0) {
        conform_case_json(wanted, policy->family, policy->name, policy_family_partners(policy->family)[partner], json);
        return json->failed ? SIM_E_NOMEM : 0;
    }
    struct bound bound;
    bound_init(&bound, suite, policy, wanted);
    int code = bind(&bound, partner, diag);
    const void *made = is_of_caches(policy) ? (const void *)&bound.caches : &bound.scenario;
    const struct config_field *fields = is_of_caches(policy) ? conform_cache_fields : scenario_fields;
    if (code == 0) code = config_dump(fields, &suite->families, made, json);
    bound_fini(&bound);
    return code;
}

/* --- One run --- */

/* Context of the run inside another one. */
struct interruption {
    const struct bound *bound;
    struct outcome *outcome;
};

static void run(const struct bound *bound, const struct manner *manner, struct outcome *outcome, struct outcome *inner);

static void run_in_the_middle(void *context)
{
    struct interruption *interruption = context;
    run(interruption->bound, &(struct manner){.of = CONFORM_STATE}, interruption->outcome, NULL);
}

static void look(void *context, const struct world_progress *progress)
{
    ((struct conform_trail *)context)->events = progress->events;
}

static int run_world(const struct bound *bound, const struct manner *manner, struct outcome *outcome, struct diag *diag)
{
    struct world_options options = {
        .config = bound->config, .catalog = bound->suite->catalog, .queue = manner->queue,
        .single_step = manner->single_step, .stall_events = STALL_EVENTS, .check = manner->check,
        .progress = look, .progress_context = guard_trail(&outcome->guard)};
    struct world *world;
    struct world_result result;
    int code = world_create(&bound->scenario, &options, &world, diag);
    if (code != 0) return code;
    struct sink sink = conform_watch_sink(&outcome->watch);
    code = world_run(world, &sink, &result);
    world_destroy(world);
    return code == 0 ? conform_watch_end(&outcome->watch) : code;
}

static int run_caches(const struct bound *bound, struct outcome *outcome, struct diag *diag)
{
    struct sink sink = conform_watch_sink(&outcome->watch);
    int code = conform_cache_run(bound->wanted, &bound->caches, &sink, diag);
    return code == 0 ? conform_watch_end(&outcome->watch) : code;
}

/* The first error. */
static void tell_error(const struct diag *diag, struct outcome *outcome)
{
    for (int i = 0; i < diag->n_items; i++) {
        if (diag->items[i].level != DIAG_ERROR) continue;
        snprintf(outcome->finding, sizeof outcome->finding, "%s", diag->items[i].text);
        return;
    }
}

/* Runs the scenario. `inner` receives the outcome of a run inside it; NULL: there is none. */
static void run(const struct bound *bound, const struct manner *manner, struct outcome *outcome, struct outcome *inner)
{
    *outcome = (struct outcome){0};
    struct interruption interruption = {.bound = bound, .outcome = inner};
    const bool of_caches = is_of_caches(bound->policy);
    const struct config_variant outer = *bound->variant; /* the guard of the run around this one */
    *bound->variant = bound->plain;
    guard_lay(&outcome->guard, bound->variant);
    outcome->guard.trail = bound->suite->trail;
    trail_begin(guard_trail(&outcome->guard), bound->partner, (int)manner->of);
    outcome->guard.ask_twice = manner->ask_twice;
    outcome->guard.interrupt_at = manner->interrupt_at;
    outcome->guard.interrupt = run_in_the_middle;
    outcome->guard.context = &interruption;
    struct diag diag;
    diag_init(&diag);
    outcome->code = conform_watch_init(&outcome->watch, of_caches ? 0 : bound->wanted->n);
    outcome->watch.grants_others = &outcome->guard.grants_others;
    if (outcome->code == 0)
        outcome->code = of_caches ? run_caches(bound, outcome, &diag) : run_world(bound, manner, outcome, &diag);
    *bound->variant = outer;
    outcome->trail = *guard_trail(&outcome->guard);
    tell_error(&diag, outcome);
}

static void outcome_fini(struct outcome *outcome)
{
    conform_watch_fini(&outcome->watch);
}

/* --- Verdicts --- */

/* Verdicts being found for one partner. */
struct finding {
    struct conform_result *result;
    int partner;
};

/* Notes the result of a check, and the text of the first failure. Returns `passed`. */
__attribute__((format(printf, 5, 6))) static bool judge(struct finding *finding, enum conform_check check, bool passed,
                                                        double t_s, const char *format, ...)
{
    struct conform_result *result = finding->result;
    if (passed) {
        if (result->verdicts[check] == CONFORM_NOT_CHECKED) result->verdicts[check] = CONFORM_PASSED;
        return true;
    }
    result->verdicts[check] = CONFORM_FAILED;
    if (result->code != 0) return false;
    result->code = SIM_E_GATE;
    result->partner = finding->partner;
    result->t_s = t_s;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->text, sizeof result->text, format, arguments);
    va_end(arguments);
    return false;
}

/* Why a run failed, and what the policy did last. */
static const char *tell_failure(const struct outcome *outcome, char *text, size_t text_bytes)
{
    char told[CONFORM_TOLD_CHARS];
    trail_tell(&outcome->trail, told, sizeof told);
    snprintf(text, text_bytes, "%s%s%s", outcome->finding[0] != 0 ? outcome->finding : sim_err_text(outcome->code),
             told[0] != 0 ? "; " : "", told);
    return text;
}

/* A run failed. When is not known, but when the policy was last called. */
static void judge_failed(struct finding *finding, enum conform_check check, const struct outcome *outcome,
                         const char *before)
{
    char text[CONFORM_TEXT_CHARS];
    if (finding->result->code == 0) finding->result->is_last_call = true;
    judge(finding, check, false, trail_time_s(&outcome->trail), "%s%s", before,
          tell_failure(outcome, text, sizeof text));
}

/* Whether the run ended without a failure. */
static bool judge_end(struct finding *finding, const struct outcome *outcome)
{
    const int code = outcome->code;
    if (code == 0) return judge(finding, CONFORM_ENDS, true, (double)NAN, "%s", "");
    judge_failed(finding, CONFORM_ENDS, outcome, "");
    if (code != SIM_E_STALLED) finding->result->code = code;
    return false;
}

static void judge_guard(struct finding *finding, const struct outcome *outcome)
{
    const struct guard *guard = &outcome->guard;
    double t_s = sim_s_from_ns(guard->breach_ns);
    judge(finding, CONFORM_LAWS, guard->breach != GUARD_LAWS, t_s, "%s", guard->text);
    judge(finding, CONFORM_VIEW, guard->breach != GUARD_VIEW, t_s, "%s", guard->text);
}

static void judge_rows(struct finding *finding, const struct bound *bound, const struct outcome *outcome)
{
    char text[160];
    double t_s = (double)NAN;
    bool passed = conform_watch_rows(&outcome->watch, bound->wanted, conform_may_reject(bound->policy), &t_s, text,
                                     sizeof text);
    judge(finding, CONFORM_ROWS, passed, t_s, "%s", text);
}

/* Whether another run of the scenario gave equal results. */
static bool judge_same(struct finding *finding, enum conform_check check, const struct outcome *base,
                       const struct outcome *other)
{
    char text[CONFORM_TEXT_CHARS];
    if (other->code != 0) {
        judge_failed(finding, check, other, "this run fails: ");
        return false;
    }
    double t_s = (double)NAN;
    bool same = conform_watch_same(&base->watch, &other->watch, &t_s, text, sizeof text);
    return judge(finding, check, same, t_s, "%s", text);
}

/* Runs the scenario in another manner and compares. */
static void compare(struct finding *finding, const struct bound *bound, const struct manner *manner,
                    const struct outcome *base)
{
    const enum conform_check check = manner->of;
    struct outcome other;
    run(bound, manner, &other, NULL);
    if (!manner->ask_twice || judge(finding, check, other.guard.breach != GUARD_RESTLESS,
                                    sim_s_from_ns(other.guard.breach_ns), "%s", other.guard.text))
        judge_same(finding, check, base, &other);
    outcome_fini(&other);
}

/* One run begins and ends in the middle of another. */
static void compare_interrupted(struct finding *finding, const struct bound *bound, const struct outcome *base)
{
    if (base->guard.n_calls == 0) return;
    struct outcome outer, inner = {0};
    run(bound, &(struct manner){.of = CONFORM_STATE, .interrupt_at = (base->guard.n_calls + 1) / 2}, &outer, &inner);
    if (judge_same(finding, CONFORM_STATE, base, &outer)) judge_same(finding, CONFORM_STATE, base, &inner);
    outcome_fini(&outer);
    outcome_fini(&inner);
}

/* The second run, and the memory that it leaves allocated. */
static void compare_again(struct finding *finding, const struct bound *bound, const struct outcome *base)
{
    long blocks = mem_live_blocks();
    compare(finding, bound, &(struct manner){.of = CONFORM_REPEATS}, base);
    long left = mem_live_blocks() - blocks;
    judge(finding, CONFORM_MEMORY, left == 0, (double)NAN, "%ld blocks are %s", left > 0 ? left : -left,
          left > 0 ? "never freed" : "freed twice");
}

static void compare_all(struct finding *finding, const struct bound *bound, const struct outcome *base)
{
    bool of_caches = is_of_caches(bound->policy), of_jobs = bound->scenario.jobs.trace.entry != NULL;
    if (!of_caches) compare(finding, bound, &(struct manner){.of = CONFORM_QUEUE, .queue = QUEUE_HEAP}, base);
    if (!of_caches && !of_jobs) compare(finding, bound, &(struct manner){.of = CONFORM_STEPS, .single_step = true}, base);
    compare_interrupted(finding, bound, base);
    if (base->guard.can_ask_twice)
        compare(finding, bound, &(struct manner){.of = CONFORM_STABLE, .ask_twice = true}, base);
}

/* Judges one partner: all checks with the first one, fewer with the others. */
static void run_partner(struct finding *finding, const struct bound *bound)
{
    struct outcome base;
    run(bound, &(struct manner){.check = bound->wanted->n < 1000}, &base, NULL);
    if (judge_end(finding, &base)) {
        judge_guard(finding, &base);
        if (!is_of_caches(bound->policy)) judge_rows(finding, bound, &base);
        if (!bound->suite->brief) compare_again(finding, bound, &base);
        if (!bound->suite->brief && (finding->partner == 0 || bound->wanted->large)) compare_all(finding, bound, &base);
    }
    outcome_fini(&base);
}

/* Each family has at least one. */
static int count_partners(enum policy_family family)
{
    int n = 1;
    while (policy_family_partners(family)[n] != NULL) n++;
    return n;
}

static bool has_verdict(int code)
{
    return code == 0 || code == SIM_E_GATE || code == SIM_E_POLICY;
}

int conform_run(const struct conform_suite *suite, const struct policy *policy, const struct conform_case *wanted,
                struct conform_result *result, struct diag *diag)
{
    *result = (struct conform_result){.t_s = (double)NAN};
    int n_partners = wanted->large ? 1 : count_partners(policy->family);
    const int first = suite->brief ? suite->turn % n_partners : 0;
    if (suite->brief) n_partners = first + 1;
    for (int i = first; i < n_partners && has_verdict(result->code); i++) {
        struct bound bound;
        struct finding finding = {.result = result, .partner = i};
        bound_init(&bound, suite, policy, wanted);
        int code = bind(&bound, i, diag);
        if (code == 0)
            run_partner(&finding, &bound);
        else
            result->code = code;
        bound_fini(&bound);
    }
    if (!has_verdict(result->code) && diag->n_errors == 0)
        diag_error(diag, result->code, wanted->name, NULL, "%s", result->text);
    return result->code;
}
