#include "analysis/compare/policy_params.h"

#include "analysis/query.h"

#include <stdbool.h>
#include <string.h>

enum { MOST_RUNS = 64, MOST_NOTES = 8 };

/* A parameter of a policy at a place of the scenario. */
struct value {
    const char *path, *policy, *member, *value;
    bool is_given; /* by the study, in every run with this policy */
    bool varies;   /* under this policy */
    bool is_noted;
};

struct values {
    size_t n, capacity;
    struct value *items;
    struct arena *arena;
};

/* --- Reading --- */

static const char sql_of_run[] =
    "WITH policy AS (SELECT replace(substr(tree.fullkey, 3), '\"', '') AS place, tree.value AS params\n"
    "  FROM run, json_tree(CASE WHEN json_valid(run.scenario) THEN run.scenario ELSE '{}' END) AS tree\n"
    "  WHERE run.id = ?1 AND tree.type = 'object' AND json_type(tree.value, '$.policy') = 'text')\n"
    "SELECT place, params ->> '$.policy', member.key, CAST(member.value AS TEXT), CAST(EXISTS (\n"
    "  SELECT 1 FROM param WHERE run_id = ?1 AND (param.key = place || '.' || member.key OR (param.key = place AND\n"
    "    json_valid(param.value) AND json_type(param.value, '$.' || member.key) NOT NULL))) AS TEXT)\n"
    "FROM policy, json_each(policy.params) AS member\n"
    "WHERE member.key <> 'policy' AND member.type NOT IN ('object', 'array', 'null') ORDER BY place, member.id";

static int add(struct values *values, const struct value *value)
{
    for (size_t i = 0; i < values->n; i++) {
        struct value *known = &values->items[i];
        if (strcmp(known->path, value->path) != 0 || strcmp(known->member, value->member) != 0 ||
            strcmp(known->policy, value->policy) != 0)
            continue;
        known->varies |= strcmp(known->value, value->value) != 0;
        known->is_given = known->is_given && value->is_given;
        return 0;
    }
    if (values->n == values->capacity) {
        struct value *grown = arena_alloc(values->arena, (2 * values->capacity + 32) * sizeof *grown);
        if (grown == NULL) return SIM_E_NOMEM;
        if (values->n > 0) memcpy(grown, values->items, values->n * sizeof *grown);
        values->items = grown;
        values->capacity = 2 * values->capacity + 32;
    }
    values->items[values->n++] = *value;
    return 0;
}

static int read_run(const struct policy_run *run, struct values *values, struct diag *diag)
{
    struct query_answer answer;
    int code = query_run(run->database, sql_of_run, &run->id, 1, "read policies", values->arena, &answer, diag);
    for (size_t i = 0; code == 0 && i < answer.n_rows; i++) {
        const char *texts[5];
        for (size_t k = 0; k < 5; k++) texts[k] = answer.columns[k].texts != NULL ? answer.columns[k].texts[i] : NULL;
        if (texts[0] == NULL || texts[1] == NULL || texts[2] == NULL || texts[3] == NULL || texts[4] == NULL) continue;
        code = add(values, &(struct value){.path = texts[0], .policy = texts[1], .member = texts[2],
                                           .value = texts[3], .is_given = strcmp(texts[4], "1") == 0});
    }
    return code;
}

/* --- Comparing --- */

static bool is_same_parameter(const struct value *a, const struct value *b)
{
    return strcmp(a->path, b->path) == 0 && strcmp(a->member, b->member) == 0;
}

/* Whether the policies from value `first` on differ in it, not by the will of the study. */
static bool is_worth_a_note(const struct values *values, size_t first)
{
    const struct value *one = &values->items[first];
    bool differs = false, all_given = true;
    for (size_t i = first; i < values->n; i++) {
        const struct value *other = &values->items[i];
        if (!is_same_parameter(one, other)) continue;
        if (other->varies) return false;
        differs |= strcmp(one->value, other->value) != 0;
        all_given = all_given && other->is_given;
    }
    return differs && !all_given;
}

/* "sarathi has token_budget 512, vllm-v1 2048". NULL when out of memory. */
static const char *describe(struct values *values, size_t first)
{
    const struct value *one = &values->items[first];
    const char *text = arena_printf(values->arena, "%s has %s %s", one->policy, one->member, one->value);
    for (size_t i = first + 1; text != NULL && i < values->n; i++) {
        struct value *other = &values->items[i];
        if (!is_same_parameter(one, other)) continue;
        text = arena_printf(values->arena, "%s, %s %s", text, other->policy, other->value);
        other->is_noted = true;
    }
    return text;
}

int policy_notes(const struct policy_run *runs, size_t n, struct arena *arena, struct policy_notes *notes,
                 struct diag *diag)
{
    struct values values = {.arena = arena};
    int code = 0;
    *notes = (struct policy_notes){.texts = arena_alloc(arena, MOST_NOTES * sizeof *notes->texts)};
    if (notes->texts == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; code == 0 && i < n; i++) code = read_run(&runs[i], &values, diag);
    for (size_t i = 0; code == 0 && i < values.n && notes->n < MOST_NOTES; i++) {
        if (values.items[i].is_noted || !is_worth_a_note(&values, i)) continue;
        const char *text = describe(&values, i);
        if (text == NULL) return SIM_E_NOMEM;
        notes->texts[notes->n++] = text;
    }
    return code;
}

int policy_notes_of_study(const struct database *database, struct arena *arena, struct policy_notes *notes,
                          struct diag *diag)
{
    /* The first run of each value: there, all other axes have their first values. */
    static const char sql[] = "SELECT min(run_id) FROM param JOIN run ON run.id = run_id\n"
                              "WHERE status = 'done' AND value NOT GLOB '[0-9.+-]*' GROUP BY key, value\n"
                              "ORDER BY min(run_id) LIMIT 64";
    struct policy_run runs[MOST_RUNS];
    struct query_answer answer;
    size_t n = 0;
    const int code = query_run(database, sql, NULL, 0, "read policies", arena, &answer, diag);
    if (code != 0) return code;
    for (; n < answer.n_rows && n < MOST_RUNS; n++)
        runs[n] = (struct policy_run){database, (int64_t)answer.columns[0].numbers[n]};
    return policy_notes(runs, n, arena, notes, diag);
}
