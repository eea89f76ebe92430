#include "sim/cli/study/sweep_view.h"

#include "analysis/compare/policy_params.h"
#include "sim/core/json_doc.h"
#include "sim/study/axes.h"

#include <math.h>
#include <string.h>

void sweep_add_column(struct sweep_columns *columns, const char *title, enum column_align align)
{
    columns->columns[columns->n++] = (struct table_column){.title = title, .align = align};
}

static size_t count_keys(const struct study *study)
{
    const size_t n = axes_keys(study->axes);
    return n < SWEEP_MAX_KEYS ? n : SWEEP_MAX_KEYS;
}

/* Whether a text of members between spaces has this one, of n characters. */
static bool has_member(const char *members, const char *member, size_t n)
{
    for (const char *at = strstr(members, " "); at != NULL; at = strstr(at + 1, " "))
        if (strncmp(at + 1, member, n) == 0 && (at[1 + n] == ' ' || at[1 + n] == 0)) return true;
    return false;
}

/* The members of a brief text that another one has, or has not: " a=1 b=2 ". A first word without '=' is a name and
 * stays. NULL when out of memory. */
static const char *select_members(const char *brief, const char *others, bool common, struct arena *arena)
{
    struct text text;
    text_init(&text);
    text_add(&text, " ");
    for (const char *at = brief; *at != 0;) {
        const size_t n = strcspn(at, " "), n_key = strcspn(at, "= ");
        const bool is_member = n_key < n;
        if ((is_member && has_member(others, at, n)) == common) text_printf(&text, "%.*s ", (int)n, at);
        at += n + (at[n] == ' ');
    }
    const char *selected = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return selected;
}

/* The members that all values of an object have; NULL: none, or values of other kinds. */
static const char *find_common(const struct study *study, size_t key, struct arena *arena)
{
    const char *common = NULL;
    for (size_t point = 0; point < study->n_points && point < SWEEP_MAX_ROWS; point++) {
        const char *value = axes_param(study->axes, point, key).value, *brief = json_brief(value, arena);
        if (brief == NULL || value[0] != '{') return NULL;
        const char *spaced = arena_printf(arena, " %s ", brief);
        if (spaced == NULL) return NULL;
        common = select_members(common != NULL ? common + 1 : brief, spaced, true, arena);
        if (common == NULL || strcmp(common, " ") == 0) return NULL;
    }
    return common;
}

/* The members that another one implies, of values that are objects. Nothing is left out where memory is short. */
static void find_implied(struct sweep_columns *columns, const struct study *study, size_t key, struct arena *arena)
{
    const size_t n = study->n_points < SWEEP_MAX_ROWS ? study->n_points : SWEEP_MAX_ROWS;
    const char **texts = arena_alloc(arena, n * sizeof *texts);
    for (size_t point = 0; texts != NULL && point < n; point++) {
        const char *value = axes_param(study->axes, point, key).value, *brief = json_brief(value, arena);
        if (brief == NULL || value[0] != '{') return;
        texts[point] = columns->common[key] != NULL ? select_members(brief, columns->common[key], false, arena) : brief;
        if (texts[point] == NULL) return;
    }
    if (texts != NULL) sweep_find_implied(texts, n, arena, &columns->implied[key], &columns->implications[key]);
}

void sweep_add_keys(struct sweep_columns *columns, const struct study *study, struct arena *arena)
{
    for (size_t i = 0; i < count_keys(study); i++) {
        sweep_add_column(columns, axes_name(study->axes, i), COLUMN_LEFT);
        if (study->n_points < 2) continue;
        columns->common[i] = find_common(study, i, arena);
        find_implied(columns, study, i, arena);
    }
}

/* "batching=vllm-v1 token_budget=512" for "batching=vllm-v1 batching.token_budget=512": a parameter after its owner. */
static const char *shorten(const char *members, struct arena *arena)
{
    struct text text;
    text_init(&text);
    text_add(&text, "");
    for (const char *at = members, *before = ""; *at != 0;) {
        const size_t n = strcspn(at, " "), n_owner = strcspn(before, "= ");
        const bool is_owned = n_owner > 0 && strncmp(at, before, n_owner) == 0 && at[n_owner] == '.';
        const size_t skipped = is_owned ? n_owner + 1 : 0;
        if (n > 0) text_printf(&text, "%s%.*s", text.length > 0 ? " " : "", (int)(n - skipped), at + skipped);
        if (!is_owned) before = at;
        at += n + (at[n] == ' ');
    }
    const char *short_text = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return short_text;
}

void sweep_add_values(const struct sweep_columns *columns, struct answer_table *table, const struct study *study,
                      size_t point, struct arena *arena)
{
    for (size_t i = 0; i < count_keys(study); i++) {
        const char *value = axes_param(study->axes, point, i).value, *brief = json_brief(value, arena);
        if (brief != NULL && columns->common[i] != NULL)
            brief = select_members(brief, columns->common[i], false, arena);
        if (brief != NULL && columns->implied[i] != NULL)
            brief = select_members(brief, columns->implied[i], false, arena);
        if (brief != NULL && value[0] == '{') brief = shorten(brief, arena);
        table->failed |= brief == NULL;
        table_text(table, brief);
    }
}

void sweep_say_common(const struct sweep_columns *columns, const struct study *study, struct answer *answer)
{
    size_t n = 0;
    for (size_t i = 0; i < count_keys(study); i++) {
        const char *common = columns->common[i];
        if (common == NULL) continue;
        answer_say(answer, "%s%s%.*s", n++ == 0 ? "at all points: " : "; ", axes_name(study->axes, i),
                   (int)strlen(common) - 1, common);
    }
    if (n > 0) answer_say(answer, "\n");
    for (size_t i = 0; i < count_keys(study); i++)
        if (columns->implications[i] != NULL) answer_say(answer, "%s", columns->implications[i]);
}

void sweep_say_left_out(const struct study *study, size_t n_metrics, struct answer *answer)
{
    const size_t n_keys = axes_keys(study->axes) - count_keys(study);
    if (n_keys > 0) answer_say(answer, "... and %zu more keys of the axes: --json has all\n", n_keys);
    if (n_metrics > 0) answer_say(answer, "... and %zu more metrics: --json has all\n", n_metrics);
}

const char *sweep_name_point(const struct study *study, size_t point, struct arena *arena)
{
    const struct study_axes *axes = study->axes;
    struct text text;
    text_init(&text);
    text_add(&text, "");
    for (size_t i = 0; i < axes_keys(axes); i++) {
        const char *value = json_brief(axes_param(axes, point, i).value, arena);
        text_printf(&text, "%s%s %s", i > 0 ? ", " : "", axes_name(axes, i), value != NULL ? value : "");
    }
    const char *name = text.failed ? NULL : arena_strdup(arena, text.chars);
    text_fini(&text);
    return name != NULL ? name : "";
}

int sweep_add_mean(const struct sweep_view *view, int64_t run_id, const char *metric, struct answer_table *table)
{
    double mean = (double)NAN;
    const int code = outcome_mean(&view->merge, view->study, run_id, metric, &mean, view->diag);
    if (isnan(mean))
        table_undefined(table);
    else
        table_number(table, mean);
    return code;
}

size_t sweep_count_shown(const struct sweep_view *view)
{
    return view->n_metrics < SWEEP_MAX_METRICS ? view->n_metrics : SWEEP_MAX_METRICS;
}

int sweep_write_means(const struct sweep_view *view, int64_t run_id, struct answer *answer)
{
    int code = 0;
    answer_open_row(answer, "metrics", '{');
    for (size_t i = 0; code == 0 && i < view->n_metrics; i++) {
        double mean = (double)NAN;
        code = outcome_mean(&view->merge, view->study, run_id, view->metrics[i], &mean, view->diag);
        answer_number(answer, view->metrics[i], mean);
    }
    answer_close(answer, '}');
    return code;
}

int sweep_say_unfit(const struct sweep_view *view, struct answer *answer)
{
    static const char sql[] = "SELECT text, count(*) FROM warning WHERE code = 'unfit' GROUP BY text "
                              "ORDER BY min(run_id)";
    static const char what[] = "read why runs do not fit";
    const struct database *database = &view->merge.inputs[0];
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, what, view->diag), step;
    if (code != 0) return code;
    while ((step = sqlite3_step(select)) == SQLITE_ROW) {
        const int n = sqlite3_column_int(select, 1);
        answer_say(answer, "does not fit (%d run%s): %s\n", n, n == 1 ? "" : "s",
                   (const char *)sqlite3_column_text(select, 0));
    }
    if (step != SQLITE_DONE) code = database_error(database, what, view->diag);
    sqlite3_finalize(select);
    return code;
}

int sweep_say_policies(struct sweep_view *view, struct answer *answer)
{
    struct policy_notes notes;
    const int code = policy_notes_of_study(&view->merge.inputs[0], &view->arena, &notes, view->diag);
    if (code != 0) return code;
    answer_open(answer, "notes", '[');
    for (size_t i = 0; i < notes.n; i++) {
        answer_text(answer, NULL, notes.texts[i]);
        answer_say(answer, "note: %s\n", notes.texts[i]);
    }
    answer_close(answer, ']');
    return 0;
}
