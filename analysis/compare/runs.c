#include "analysis/compare/runs.h"

#include "analysis/query.h"
#include "sim/core/json_doc.h"
#include "sim/core/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Reading --- */

static const char *text_at(const struct query_answer *answer, const char *column, size_t row)
{
    const struct query_column *found = query_column(answer, column);
    const char *text = found != NULL && found->texts != NULL ? found->texts[row] : NULL;
    return text != NULL ? text : "";
}

static double number_at(const struct query_answer *answer, const char *column, size_t row)
{
    return query_column(answer, column)->numbers[row];
}

/* Parameters and runs both come in order of run id; parameters of one run in order of their keys. */
static int read_params(const struct database *database, struct arena *arena, struct compare_group *all,
                       struct diag *diag)
{
    struct query_answer answer;
    int code = query_run(database, "SELECT run_id, key, value FROM param ORDER BY run_id, key", NULL, 0,
                         "read parameters", arena, &answer, diag);
    if (code != 0 || answer.n_rows == 0) return code;
    struct compare_param *params = arena_alloc(arena, answer.n_rows * sizeof *params);
    if (params == NULL) return SIM_E_NOMEM;
    for (size_t row = 0, run = 0; row < answer.n_rows; row++) {
        const int64_t id = (int64_t)number_at(&answer, "run_id", row);
        params[row] = (struct compare_param){text_at(&answer, "key", row), text_at(&answer, "value", row)};
        while (run < all->n && all->runs[run].id < id) run++;
        if (run == all->n || all->runs[run].id != id) continue;
        if (all->runs[run].n_params++ == 0) all->runs[run].params = &params[row];
    }
    return 0;
}

int runs_read(const struct database *database, struct arena *arena, struct compare_group *all, struct diag *diag)
{
    static const char sql[] = "SELECT id, seed, name, policies, trace_hash, scenario_hash, status, result_hash, "
                              "json_extract(scenario, '$.warmup') AS warmup, " QUERY_IS_BOOTSTRAP
                              " AS is_bootstrap FROM run ORDER BY id";
    struct query_answer answer;
    int code = query_run(database, sql, NULL, 0, "read runs", arena, &answer, diag);
    *all = (struct compare_group){.label = database->path};
    if (code != 0) return code;
    all->n = answer.n_rows;
    all->runs = arena_alloc(arena, (all->n + 1) * sizeof *all->runs);
    if (all->runs == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < all->n; i++)
        all->runs[i] = (struct compare_run){.database = database, .id = (int64_t)number_at(&answer, "id", i),
                                            .seed = (int64_t)number_at(&answer, "seed", i),
                                            .name = text_at(&answer, "name", i),
                                            .policies = text_at(&answer, "policies", i),
                                            .trace_hash = text_at(&answer, "trace_hash", i),
                                            .scenario_hash = text_at(&answer, "scenario_hash", i),
                                            .status = text_at(&answer, "status", i),
                                            .result_hash = text_at(&answer, "result_hash", i),
                                            .warmup = text_at(&answer, "warmup", i),
                                            .is_bootstrap = number_at(&answer, "is_bootstrap", i) > 0};
    return read_params(database, arena, all, diag);
}

static bool is_selected(const struct selection_keys *keys, const char *key)
{
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->items[i], key) == 0) return true;
    return false;
}

int runs_set_points(struct compare_group *group, const struct selection_keys *keys, struct arena *arena)
{
    struct text point;
    text_init(&point);
    for (size_t i = 0; i < group->n; i++) {
        struct compare_run *run = &group->runs[i];
        point.length = 0;
        text_add(&point, "");
        for (size_t k = 0; k < run->n_params; k++) {
            if (is_selected(keys, run->params[k].key)) continue;
            text_printf(&point, "%s%s=%s", point.length > 0 ? ", " : "", run->params[k].key, run->params[k].value);
        }
        if (run->n_params == 0 && keys->n == 0) text_add(&point, run->name);
        run->point = point.failed ? NULL : arena_strdup(arena, point.length > 0 ? point.chars : "");
        if (run->point == NULL) break;
    }
    const bool failed = point.failed || (group->n > 0 && group->runs[group->n - 1].point == NULL);
    text_fini(&point);
    return failed ? SIM_E_NOMEM : 0;
}

/* --- Selecting --- */

struct term {
    const char *key, *value;
    const char *param;  /* the study's parameter that the term names, or NULL */
    const char *member; /* else a scenario member, maybe of no run; NULL: seed, run, name, policies */
};

static const char not_a_selection[] = "write key=value, or key=value,key=value";

/* A comma starts a new term only before "key=": values may contain commas. */
static char *next_term(char *text)
{
    for (char *comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
        const size_t key = strcspn(comma + 1, ",=[{\"");
        if (key == 0 || comma[1 + key] != '=') continue;
        *comma = 0;
        return comma + 1;
    }
    return NULL;
}

static int split_terms(const char *selection, struct arena *arena, struct term *terms, size_t *n, struct diag *diag)
{
    char *text = arena_strdup(arena, selection);
    if (text == NULL) return SIM_E_NOMEM;
    for (*n = 0; text != NULL; (*n)++) {
        char *next = next_term(text), *equals = strchr(text, '=');
        if (equals == NULL || equals == text || *n == SELECTION_MAX_KEYS)
            return diag_error(diag, SIM_E_USAGE, NULL, not_a_selection, "'%s' chooses no runs", selection);
        *equals = 0;
        terms[*n] = (struct term){.key = text, .value = equals + 1};
        text = next;
    }
    return 0;
}

/* The parameter that `key` selects: itself, or the only one that ends in ".key"; NULL: none. */
static const char *param_key(const struct compare_group *all, const char *key)
{
    const char *found = NULL;
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->runs[i].n_params; k++) {
            const char *param = all->runs[i].params[k].key;
            const size_t whole = strlen(param), part = strlen(key);
            if (strcmp(param, key) == 0) return param;
            if (whole <= part || param[whole - part - 1] != '.' || strcmp(param + whole - part, key) != 0) continue;
            if (found != NULL && strcmp(found, param) != 0) return NULL;
            found = param;
        }
    return found;
}

/* A name that the study gives an axis, its member "names". */
struct axis_name {
    const char *name, *key; /* key: in the arena; NULL: no axis has this name */
    struct arena *arena;
};

static int visit_name(void *context, sqlite3_stmt *statement)
{
    struct axis_name *axis = context;
    const char *key = (const char *)sqlite3_column_text(statement, 0);
    const char *name = (const char *)sqlite3_column_text(statement, 1);
    if (key == NULL || name == NULL || strcmp(name, axis->name) != 0) return 0;
    axis->key = arena_strdup(axis->arena, key);
    return axis->key != NULL ? 0 : SIM_E_NOMEM;
}

/* The parameter that `name` selects: itself in full, the one that the study calls so, or as param_key; NULL: none. */
static int find_param(const struct compare_group *all, const char *name, struct arena *arena, const char **key,
                      struct diag *diag)
{
    static const char sql[] =
        "SELECT names.key, names.value FROM study, json_each(study.definition, '$.names') AS names "
        "WHERE json_valid(study.definition)";
    struct axis_name axis = {.name = name, .arena = arena};
    *key = param_key(all, name);
    if (all->n == 0 || (*key != NULL && strcmp(*key, name) == 0)) return 0;
    const int code = query_each(all->runs[0].database, sql, NULL, 0, "read the study", visit_name, &axis, diag);
    if (axis.key != NULL) *key = param_key(all, axis.key);
    return code;
}

/* "did you mean 'scheduler'?", or all parameters of the study; else what a key may be. In the arena. */
static const char *hint_keys(const struct compare_group *all, const char *key, struct arena *arena)
{
    enum { MOST = 64 };
    const char *keys[MOST];
    size_t n = 0;
    struct text text;
    for (size_t i = 0; i < all->n; i++)
        for (size_t k = 0; k < all->runs[i].n_params && n < MOST; k++) {
            bool is_new = true;
            for (size_t j = 0; j < n; j++) is_new = is_new && strcmp(keys[j], all->runs[i].params[k].key) != 0;
            if (is_new) keys[n++] = all->runs[i].params[k].key;
        }
    const char *nearest = n > 0 ? text_nearest_end(key, keys, n, NULL) : NULL;
    text_init(&text);
    if (nearest != NULL && strcmp(nearest, key) != 0) text_printf(&text, "did you mean '%s'? ", nearest);
    text_add(&text, "a key is a parameter of the study (");
    for (size_t j = 0; j < n; j++) text_printf(&text, "%s%s", j > 0 ? ", " : "", keys[j]);
    text_add(&text, n == 0 ? "none here)" : ")");
    text_add(&text, ", seed, name, run, policies, or a member of the scenario");
    const char *hint = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return hint;
}

/* Values are equal as texts, as texts without quotes, or as numbers. */
static bool equal_values(const char *found, const char *wanted)
{
    const size_t n = strlen(found);
    if (strcmp(found, wanted) == 0) return true;
    if (n >= 2 && found[0] == '"' && found[n - 1] == '"' && strlen(wanted) == n - 2 &&
        memcmp(found + 1, wanted, n - 2) == 0)
        return true;
    char *end_found, *end_wanted;
    const double a = strtod(found, &end_found), b = strtod(wanted, &end_wanted);
    return *found != 0 && *wanted != 0 && *end_found == 0 && *end_wanted == 0 && a <= b && a >= b;
}

/* Whether a parameter has a value: as above, or an object as JSON in any spelling, or as tables show it. */
static int equal_params(const char *found, const char *wanted, struct arena *arena, bool *equal)
{
    *equal = equal_values(found, wanted);
    if (*equal || found[0] != '{') return 0;
    const char *brief = json_brief(found, arena), *wanted_brief = json_brief(wanted, arena);
    if (brief == NULL || wanted_brief == NULL) return SIM_E_NOMEM;
    *equal = strcmp(brief, wanted_brief) == 0;
    return 0;
}

/* '$."services"."chat"."routing"' */
static int json_path(const char *key, struct text *path)
{
    text_add(path, "$");
    while (*key != 0) {
        const size_t n = strcspn(key, ".");
        text_printf(path, ".\"%.*s\"", (int)n, key);
        key += n + (key[n] == '.');
    }
    return path->failed ? SIM_E_NOMEM : 0;
}

/* Compares the member of the resolved scenario as text; a policy by its name. */
static int matches_scenario(const struct compare_run *run, const struct term *term, bool *matches, struct diag *diag)
{
    static const char sql[] = "SELECT iif(json_type(scenario, ?2) = 'object', json_extract(scenario, ?2 || '.policy'), "
                              "iif(json_type(scenario, ?2) IN ('true', 'false'), json_type(scenario, ?2), "
                              "json_extract(scenario, ?2))) FROM run WHERE id = ?1";
    struct text path;
    sqlite3_stmt *statement;
    text_init(&path);
    int code = json_path(term->member, &path);
    if (code == 0) code = database_prepare(run->database, sql, &statement, "read scenarios", diag);
    if (code == 0) {
        sqlite3_bind_int64(statement, 1, run->id);
        sqlite3_bind_text(statement, 2, path.chars, -1, SQLITE_STATIC);
        const int step = sqlite3_step(statement);
        const char *found = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        *matches = found != NULL && equal_values(found, term->value);
        if (step != SQLITE_ROW) code = database_error(run->database, "read scenarios", diag);
        sqlite3_finalize(statement);
    }
    text_fini(&path);
    return code;
}

/* Looks in "services.chat.routing=jsq jobs.scheduler=fifo" for an entry, or for a policy's name. */
static bool has_policy(const char *policies, const char *wanted)
{
    const size_t n = strlen(wanted);
    for (const char *at = strstr(policies, wanted); at != NULL && n > 0; at = strstr(at + 1, wanted))
        if ((at == policies || at[-1] == ' ' || at[-1] == '=') && (at[n] == 0 || at[n] == ' ')) return true;
    return false;
}

static const char *param_value(const struct compare_run *run, const char *key)
{
    for (size_t i = 0; i < run->n_params; i++)
        if (strcmp(run->params[i].key, key) == 0) return run->params[i].value;
    return NULL;
}

static int matches_term(const struct compare_run *run, const struct term *term, struct arena *arena, bool *matches,
                        struct diag *diag)
{
    *matches = false;
    if (term->param != NULL) {
        const char *found = param_value(run, term->param);
        return found != NULL ? equal_params(found, term->value, arena, matches) : 0;
    }
    if (term->member != NULL) return matches_scenario(run, term, matches, diag);
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, strcmp(term->key, "run") == 0 ? run->id : run->seed);
    if (strcmp(term->key, "name") == 0)
        *matches = strcmp(run->name, term->value) == 0;
    else if (strcmp(term->key, "policies") == 0)
        *matches = has_policy(run->policies, term->value);
    else
        *matches = strcmp(number, term->value) == 0;
    return 0;
}

/* "jobs.scheduler is fifo or sarathi token_budget=512", as tables show the values; NULL: some run has the value that
 * the term names. In the arena. */
static const char *hint_values(const struct compare_group *all, const struct term *term, struct arena *arena)
{
    enum { MOST = 12 };
    const char *values[MOST];
    size_t n = 0, n_more = 0;
    for (size_t i = 0; i < all->n; i++) {
        const char *value = param_value(&all->runs[i], term->param);
        bool matches = false, is_new = value != NULL;
        if (value != NULL && equal_params(value, term->value, arena, &matches) == 0 && matches) return NULL;
        for (size_t k = 0; k < n && is_new; k++) is_new = strcmp(values[k], value) != 0;
        if (is_new && n < MOST)
            values[n++] = value;
        else
            n_more += is_new;
    }
    struct text text;
    text_init(&text);
    text_printf(&text, "%s is ", term->param);
    for (size_t i = 0; i < n; i++) {
        const char *brief = json_brief(values[i], arena);
        text_printf(&text, "%s%s", i == 0 ? "" : i + 1 == n && n_more == 0 ? " or " : ", ", brief != NULL ? brief : "");
    }
    if (n_more > 0) text_add(&text, ", ...");
    const char *hint = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return hint;
}

/* The values of the first parameter that no run has as wanted; else what keys there are. */
static const char *hint_terms(const struct compare_group *all, const struct term *terms, size_t n, struct arena *arena)
{
    const char *hint = NULL;
    for (size_t i = 0; i < n && hint == NULL; i++)
        if (terms[i].param != NULL) hint = hint_values(all, &terms[i], arena);
    return hint != NULL ? hint : hint_keys(all, n > 0 ? terms[0].key : "", arena);
}

/* --- What a key means --- */

/* The scenario members that match a key. */
struct members {
    const char *key;
    struct arena *arena;
    const char *found[2]; /* the first two that end in ".key" */
    bool is_exact;
};

/* "$.services.\"gpt-4\".routing", without the quotes and the start. */
static int visit_member(void *context, sqlite3_stmt *statement)
{
    struct members *members = context;
    const char *path = (const char *)sqlite3_column_text(statement, 0);
    char *name = arena_strdup(members->arena, path != NULL ? path : "");
    if (name == NULL) return SIM_E_NOMEM;
    size_t n = 0;
    for (const char *at = name; *at != 0; at++)
        if (*at != '"') name[n++] = *at;
    name[n] = 0;
    const size_t part = strlen(members->key);
    if (strncmp(name, "$.", 2) != 0 || strchr(name, '[') != NULL) return 0;
    name += 2, n -= 2;
    members->is_exact |= strcmp(name, members->key) == 0;
    if (n <= part || name[n - part - 1] != '.' || strcmp(name + n - part, members->key) != 0) return 0;
    const size_t next = members->found[0] != NULL;
    if (members->found[1] == NULL && (next == 0 || strcmp(members->found[0], name) != 0)) members->found[next] = name;
    return 0;
}

/* Resolves a key to a scenario member: itself, or the only one that ends in ".key"; if there is none, the key as it
 * stands. */
static int find_member(const struct compare_group *all, struct term *term, struct arena *arena, struct diag *diag)
{
    static const char sql[] = "SELECT DISTINCT fullkey FROM (SELECT DISTINCT scenario FROM run) AS run, "
                              "json_tree(run.scenario) ORDER BY fullkey";
    struct members members = {.key = term->key, .arena = arena};
    term->member = term->key;
    int code = all->n == 0
                   ? 0
                   : query_each(all->runs[0].database, sql, NULL, 0, "read scenarios", visit_member, &members, diag);
    if (code != 0 || members.is_exact || members.found[0] == NULL) return code;
    term->member = members.found[0];
    if (members.found[1] == NULL) return 0;
    return diag_error(diag, SIM_E_USAGE, all->label, "write a longer part", "'%s' may be %s or %s", term->key,
                      members.found[0], members.found[1]);
}

static bool is_of_run(const char *key)
{
    return strcmp(key, "seed") == 0 || strcmp(key, "run") == 0 || strcmp(key, "name") == 0 ||
           strcmp(key, "policies") == 0;
}

static int resolve_keys(const struct compare_group *all, struct term *terms, size_t n, struct arena *arena,
                        struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i++) {
        code = find_param(all, terms[i].key, arena, &terms[i].param, diag);
        if (code == 0 && terms[i].param == NULL && !is_of_run(terms[i].key))
            code = find_member(all, &terms[i], arena, diag);
    }
    return code;
}

static void note_keys(struct selection_keys *keys, const struct term *terms, size_t n)
{
    for (size_t i = 0; i < n && keys->n < SELECTION_MAX_KEYS; i++)
        keys->items[keys->n++] = terms[i].param != NULL ? terms[i].param : terms[i].key;
}

int runs_select(const struct compare_group *all, const char *selection, struct arena *arena,
                struct selection_keys *keys, struct compare_group *group, struct diag *diag)
{
    struct term terms[SELECTION_MAX_KEYS];
    size_t n_terms = 0;
    *group = (struct compare_group){.label = selection};
    int code = split_terms(selection, arena, terms, &n_terms, diag);
    if (code == 0) {
        group->runs = arena_alloc(arena, (all->n + 1) * sizeof *group->runs);
        code = group->runs != NULL ? 0 : SIM_E_NOMEM;
    }
    if (code == 0) {
        code = resolve_keys(all, terms, n_terms, arena, diag);
        note_keys(keys, terms, n_terms);
    }
    for (size_t i = 0; code == 0 && i < all->n; i++) {
        bool matches = true;
        for (size_t k = 0; code == 0 && matches && k < n_terms; k++)
            code = matches_term(&all->runs[i], &terms[k], arena, &matches, diag);
        if (code == 0 && matches) group->runs[group->n++] = all->runs[i];
    }
    if (code == 0 && group->n == 0)
        return diag_error(diag, SIM_E_USAGE, all->label, hint_terms(all, terms, n_terms, arena), "no run has %s",
                          selection);
    return code;
}
