#include "sim/cli/trace/trace_cache.h"

#include "sim/core/number.h"

#include <stdio.h>
#include <string.h>

static const char form[] =
    "write POLICY=BLOCKS,BLOCKS,... with parameters as POLICY:KEY=VALUE=BLOCKS; 'inf' is no limit";

enum { MAX_NAMES = 64 };

/* The state of reading an option's text. */
struct reading {
    const char *text;
    const struct config_families *families;
    struct trace_caches *caches;
    struct diag *diag;
};

__attribute__((format(printf, 2, 3))) static int fail(const struct reading *reading, const char *format, ...)
{
    char problem[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return diag_error(reading->diag, SIM_E_USAGE, "--prefix-cache", form, "'%s': %s", reading->text, problem);
}

/* A copy of the characters from `from` up to `end`; NULL when out of memory. */
static char *cut(struct arena *arena, const char *from, const char *end)
{
    return arena_printf(arena, "%.*s", (int)(end - from), from);
}

static int find_policy(const struct reading *reading, const char *name, struct config_alternative *found)
{
    const struct config_families *families = reading->families;
    const char *names[MAX_NAMES];
    size_t n = 0;
    for (size_t i = 0; families->alternative(families->context, "eviction", i, found); i++) {
        if (strcmp(found->name, name) == 0) return 0;
        if (n < MAX_NAMES) names[n++] = found->name;
    }
    const char *nearest = text_nearest(name, names, n);
    char hint[128] = "'orrery list policies' shows all";
    if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    return diag_error(reading->diag, SIM_E_USAGE, "--prefix-cache", hint, "unknown eviction policy '%s'", name);
}

/* Sets the policy's parameters from "KEY=VALUE" texts between colons. */
static int set_params(const struct reading *reading, char *settings, struct config *config)
{
    int code = 0;
    for (char *setting = settings, *next; setting != NULL && code == 0; setting = next) {
        next = strchr(setting, ':');
        if (next != NULL) *next++ = 0;
        code = config_set_in(config, setting, ".", "--prefix-cache", reading->diag);
    }
    return code;
}

static int bind_params(const struct reading *reading, const struct config_alternative *policy, char *settings,
                       void **params)
{
    if (settings != NULL && policy->fields == NULL) return fail(reading, "policy '%s' has no parameters", policy->name);
    if (policy->fields == NULL) return 0;
    struct arena *arena = &reading->caches->arena;
    struct config *config = NULL;
    int code = config_parse("the parameters", ".", "{}", 2, &config, reading->diag);
    if (code == 0) code = set_params(reading, settings, config);
    *params = arena_alloc(arena, policy->params_bytes);
    if (code == 0 && *params == NULL) code = SIM_E_NOMEM;
    if (code == 0)
        code = config_bind(config, policy->fields, reading->families, arena, *params, policy->params_bytes,
                           reading->diag);
    config_destroy(config);
    return code;
}

static int read_capacity(const struct reading *reading, const char *chars, size_t n_chars, int64_t *capacity)
{
    *capacity = INT64_MAX;
    if (n_chars == 3 && memcmp(chars, "inf", 3) == 0) return 0;
    if (number_i64(chars, n_chars, capacity) == NUMBER_OK && *capacity >= 1) return 0;
    return fail(reading, "a capacity must be a whole number of blocks from 1, or 'inf', got '%.*s'",
                (int)(n_chars < 40 ? n_chars : 40), chars);
}

/* Adds `made` with each of the capacities. */
static int add_capacities(const struct reading *reading, const char *list, const struct trace_cache *made)
{
    struct trace_caches *caches = reading->caches;
    int code = 0;
    for (const char *at = list; at != NULL && code == 0;) {
        size_t n_chars = strcspn(at, ",");
        struct trace_cache *cache = &caches->items[caches->n++];
        *cache = *made;
        code = read_capacity(reading, at, n_chars, &cache->setting.capacity_blocks);
        at = at[n_chars] == ',' ? at + n_chars + 1 : NULL;
    }
    return code;
}

/* Reads one option: the capacities follow the last '='. */
static int read_text(const struct reading *reading, uint64_t seed)
{
    struct arena *arena = &reading->caches->arena;
    const char *list = strrchr(reading->text, '=');
    if (list == NULL || list == reading->text) return fail(reading, "no capacities");
    struct trace_cache made = {.policy = cut(arena, reading->text, list), .setting = {.seed = seed}};
    char *name = cut(arena, reading->text, list);
    if (made.policy == NULL || name == NULL) return SIM_E_NOMEM;
    char *settings = strchr(name, ':');
    if (settings != NULL) *settings++ = 0;
    struct config_alternative policy;
    void *params = NULL;
    int code = find_policy(reading, name, &policy);
    if (code == 0) code = bind_params(reading, &policy, settings, &params);
    made.setting.evictor = policy.entry;
    made.setting.params = params;
    return code == 0 ? add_capacities(reading, list + 1, &made) : code;
}

static size_t count_capacities(const struct option_texts *texts)
{
    size_t n = texts->n;
    for (size_t i = 0; i < texts->n; i++)
        for (const char *at = texts->items[i]; *at != 0; at++) n += *at == ',';
    return n;
}

int trace_caches_read(const struct option_texts *texts, const struct config_families *families, uint64_t seed,
                      struct trace_caches *caches, struct diag *diag)
{
    *caches = (struct trace_caches){0};
    arena_init(&caches->arena);
    caches->items = arena_alloc(&caches->arena, (count_capacities(texts) + 1) * sizeof *caches->items);
    if (caches->items == NULL) return SIM_E_NOMEM;
    int code = 0;
    for (size_t i = 0; i < texts->n && code == 0; i++) {
        struct reading reading = {texts->items[i], families, caches, diag};
        code = read_text(&reading, seed);
    }
    return code;
}

void trace_caches_fini(struct trace_caches *caches)
{
    arena_fini(&caches->arena);
}

int trace_caches_run(struct trace_caches *caches, struct block_log *log, struct diag *diag)
{
    struct cache_future future;
    if (caches->n == 0) return 0;
    if (log->n_blocks == 0)
        return diag_error(diag, SIM_E_DATA, "--prefix-cache", "the format 'mooncake' has them",
                          "the trace does not name the blocks of its prompts");
    bool predicted = false;
    for (size_t i = 0; i < caches->n; i++) predicted |= (caches->items[i].setting.evictor->oracle & ORACLE_FUTURE) != 0;
    int code = predicted ? block_log_future(log, &future) : 0;
    for (size_t i = 0; i < caches->n && code == 0; i++) {
        struct trace_cache *cache = &caches->items[i];
        code = cache_stat_run(log, predicted ? &future : NULL, &cache->setting, &cache->found, diag);
    }
    return code;
}
