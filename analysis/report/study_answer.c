/* The answer to a study's question: what a search found, what no other configuration beats, or which value is best. */
#include "analysis/report/study.h"

#include "analysis/report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOUND = 8 }; /* configurations in the answer; the table has all */

enum { MOST_METRICS = 3 };      /* of each */

/* --- What a search or a Pareto study found --- */

/* Adds "replicas=2, rate=5/s". */
static void say_point(const struct study *study, const struct study_outcome *outcome, struct text *text)
{
    bool is_first = true;
    for (size_t a = 0; a < study->n_axes; a++) {
        if (outcome->at[a] == NULL) continue;
        text_printf(text, "%s%.60s=%.60s", is_first ? "" : ", ", study->axes[a].name, outcome->at[a]);
        is_first = false;
    }
}

/* Adds " (TTFT p99 440 ms, TPOT p99 31 ms)". */
static void say_metrics(const struct study_outcomes *outcomes, const struct study_outcome *outcome, struct text *text)
{
    size_t n = 0;
    for (size_t k = 0; k < outcomes->n_metrics && n < MOST_METRICS; k++) {
        char name[WORDS_CHARS], value[WORDS_CHARS];
        if (isnan(outcome->metrics[k])) continue;
        text_printf(text, "%s%s %s", n++ == 0 ? " (" : ", ", words_metric(outcomes->metrics[k].name, name),
                    words_value(outcome->metrics[k], outcomes->metrics[k].unit, value));
    }
    if (n > 0) text_add(text, ")");
}

/* A text such as 3.84705382498/s with at most four digits of its number. */
static void say_value(const char *value, struct text *text)
{
    char words[WORDS_CHARS], *end;
    const double number = strtod(value, &end);
    if (end == value)
        text_printf(text, "%.100s", value);
    else
        text_printf(text, "%s%.40s", words_number(number, words), end);
}

/* "TTFT p99 at most 0.5s and TPOT p99 at most 40ms" */
static void say_conditions(const struct query_answer *where, struct text *text)
{
    for (size_t i = 0; i < where->n_rows; i++) {
        char words[WORDS_CHARS];
        const bool is_most = query_text(where, 1, i)[0] != 0;
        text_printf(text, "%s%s %s %.40s", i == 0 ? " with " : " and ", words_metric(query_text(where, 0, i), words),
                    is_most ? "at most" : "at least", query_text(where, is_most ? 1 : 2, i));
    }
}

static void say_more(const struct study_outcomes *outcomes, struct text *text)
{
    if (outcomes->n > MOST_FOUND) text_printf(text, "; and %zu more, in the table", outcomes->n - MOST_FOUND);
    text_add(text, ". ");
}

/* "Largest rate with TTFT p99 at most 0.5s: 3.85/s with replicas=1, 9/s with replicas=2." */
static void say_found(const struct study *study, const struct study_outcomes *outcomes,
                      const struct query_answer *where, const char *goal, struct text *text)
{
    text_printf(text, "%s %.60s", goal, study_axis_name(study, outcomes->key));
    say_conditions(where, text);
    for (size_t i = 0; i < outcomes->n && i < MOST_FOUND; i++) {
        const struct study_outcome *outcome = &outcomes->items[i];
        text_add(text, i == 0 ? ": " : "; ");
        if (outcome->value[0] != 0)
            say_value(outcome->value, text);
        else
            text_printf(text, "none (%.80s)", outcome->note);
        if (outcomes->axes != 0) text_add(text, " with ");
        say_point(study, outcome, text);
        say_metrics(outcomes, outcome, text);
    }
    say_more(outcomes, text);
}

/* "JCT mean and cluster.gpus" */
static void say_goals(const struct query_answer *metrics, struct text *text)
{
    for (size_t i = 0; i < metrics->n_rows; i++) {
        char words[WORDS_CHARS];
        text_printf(text, "%s%s", i == 0 ? "" : " and ", words_metric(query_text(metrics, 0, i), words));
    }
}

/* "No other configuration beats these in JCT mean and cluster.gpus: scheduler=srtf, nodes=1 (JCT mean 20 h)." */
static void say_front(const struct study *study, const struct study_outcomes *outcomes,
                      const struct query_answer *metrics, const struct query_answer *where, struct text *text)
{
    text_add(text, "No other configuration");
    say_conditions(where, text);
    text_add(text, " beats these");
    if (metrics->n_rows > 0) text_add(text, " in ");
    say_goals(metrics, text);
    for (size_t i = 0; i < outcomes->n && i < MOST_FOUND; i++) {
        text_add(text, i == 0 ? ": " : "; ");
        say_point(study, &outcomes->items[i], text);
        say_metrics(outcomes, &outcomes->items[i], text);
    }
    say_more(outcomes, text);
}

static int read_text(const struct report_source *source, const char *sql, struct query_answer *answer)
{
    return source_query(source, &(struct page_query){.sql = sql}, "read the study", answer);
}

/* The conditions of a search, or of a front. */
static int read_conditions(const struct report_source *source, bool is_front, struct query_answer *where)
{
    static const char *const sql[] = {
        "SELECT bound.value ->> '$.metric', CAST(bound.value ->> '$.at_most' AS TEXT),\n"
        "       CAST(bound.value ->> '$.at_least' AS TEXT)\n"
        "FROM study, json_each(definition, '$.search.where') AS bound WHERE json_valid(definition)",
        "SELECT bound.value ->> '$.metric', CAST(bound.value ->> '$.at_most' AS TEXT),\n"
        "       CAST(bound.value ->> '$.at_least' AS TEXT)\n"
        "FROM study, json_each(definition, '$.where') AS bound WHERE json_valid(definition)"};
    return read_text(source, sql[is_front], where);
}

static int read_goals(const struct report_source *source, struct query_answer *metrics)
{
    return read_text(source,
                     "SELECT metric.value FROM study, json_each(definition, '$.pareto') AS metric\n"
                     "WHERE json_valid(definition)",
                     metrics);
}

/* Adds what was found. */
static int say_outcomes(const struct report_source *source, const struct study *study,
                        const struct study_outcomes *outcomes, struct text *text)
{
    struct query_answer goal, where, metrics;
    int code = read_conditions(source, outcomes->is_front, &where);
    if (code == 0 && outcomes->is_front) {
        code = read_goals(source, &metrics);
        if (code == 0) say_front(study, outcomes, &metrics, &where, text);
    } else if (code == 0) {
        code = read_text(
            source,
            "SELECT CASE WHEN definition ->> '$.search.smallest' NOT NULL THEN 'Smallest' ELSE 'Largest' END\n"
            "FROM study WHERE json_valid(definition)",
            &goal);
        if (code == 0) say_found(study, outcomes, &where, goal.n_rows > 0 ? query_text(&goal, 0, 0) : "Found", text);
    }
    return code;
}

/* Adds that no point meets the conditions of a front that is empty. */
static int say_no_front(const struct report_source *source, const struct study *study, struct text *text)
{
    struct query_answer where, metrics;
    int code = read_goals(source, &metrics);
    if (code == 0) code = read_conditions(source, true, &where);
    if (code != 0 || metrics.n_rows == 0 || where.n_rows == 0 || study->n_done + study->n_unfit < study->n_runs)
        return code;
    text_add(text, "No configuration was found");
    say_conditions(&where, text);
    text_add(text, ". ");
    return 0;
}

/* --- Which value of an axis of words is best --- */

/* The value null leaves a key out. */
static const char *name_level(const char *value)
{
    return strcmp(value, "null") == 0 ? "'none' (null)" : value;
}

static int say_winner(const struct study *study, size_t a, size_t metric, struct arena *arena, struct text *text)
{
    char words[WORDS_CHARS];
    struct study_winner winner;
    const struct study_axis *axis = &study->axes[a];
    if (study_winner(study, a, metric, arena, &winner) != 0) return SIM_E_NOMEM;
    if (winner.n == 0) return 0;
    const char *name = words_metric(study->metrics[metric].name, words);
    const char *best = name_level(axis->values[winner.level]);
    if (winner.n_best == 0)
        text_printf(text, "No value of '%.60s' is best alone by %s. ", axis->name, name);
    else if (2 * winner.n_best <= winner.n || (winner.has_seeds && winner.n_clear == 0))
        text_printf(
            text, "No value of '%.60s' is clearly best by %s; %.60s wins %zu of %zu comparisons with all else equal. ",
            axis->name, name, best, winner.n_best, winner.n);
    else
        text_printf(text, "Best %.60s by %s: %.60s, in %zu of %zu comparisons with all else equal. ", axis->name, name,
                    best, winner.n_best, winner.n);
    return 0;
}

int study_answer(const struct report_source *source, const struct study *study, const struct study_outcomes *outcomes,
                 bool *says_best, struct text *text)
{
    size_t metric = 0;
    int code = outcomes->n > 0 ? say_outcomes(source, study, outcomes, text) : say_no_front(source, study, text);
    const bool is_answered = text->length > 0;
    while (metric < study->n_metrics && study->metrics[metric].direction == REPORT_NEUTRAL) metric++;
    for (size_t a = 0; code == 0 && !is_answered && metric < study->n_metrics && a < study->n_axes; a++)
        if (study->axes[a].numbers == NULL && study->axes[a].n > 1)
            code = say_winner(study, a, metric, source->arena, text);
    *says_best = code == 0 && text->length == 0 && metric < study->n_metrics;
    if (*says_best) code = study_say_best(study, metric, source->arena, text);
    while (text->length > 0 && text->chars[text->length - 1] == ' ') text->chars[--text->length] = 0;
    return code;
}
