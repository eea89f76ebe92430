/* The answer to a study's question: what a search found, what no other configuration beats, or which value is best. */
#include "analysis/report/study.h"

#include "analysis/report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FOUND = 8 }; /* configurations in the answer; the table has all */

/* --- What a search or a Pareto study found ---
 *
 * The answer has one row per outcome and axis of its point. */

enum { AT_OUTCOME, AT_KEY, AT_VALUE, AT_NOTE, AT_AXIS, AT_AXIS_VALUE };

static const char *text_at(const struct query_answer *answer, size_t column, size_t row)
{
    const char *const *texts = answer->columns[column].texts;
    return texts != NULL && texts[row] != NULL ? texts[row] : "";
}

/* The short name of an axis. */
static const char *name_of_axis(const struct study *study, const char *key)
{
    for (size_t i = 0; i < study->n_axes; i++)
        if (strcmp(study->axes[i].key, key) == 0) return study->axes[i].name;
    return key;
}

static bool is_same_outcome(const struct query_answer *answer, size_t a, size_t b)
{
    return answer->columns[AT_OUTCOME].numbers[a] == answer->columns[AT_OUTCOME].numbers[b];
}

/* Adds "replicas=2, rate=5/s" of the outcome at `row`. Returns the row after it. */
static size_t say_point(const struct study *study, const struct query_answer *answer, size_t row, struct text *text)
{
    size_t next = row;
    for (; next < answer->n_rows && is_same_outcome(answer, row, next); next++) {
        const char *key = text_at(answer, AT_AXIS, next);
        if (key[0] == 0) continue;
        text_printf(text, "%s%.60s=%.60s", next > row ? ", " : "", name_of_axis(study, key),
                    text_at(answer, AT_AXIS_VALUE, next));
    }
    return next;
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
        const bool is_most = text_at(where, 1, i)[0] != 0;
        text_printf(text, "%s%s %s %.40s", i == 0 ? " with " : " and ", words_metric(text_at(where, 0, i), words),
                    is_most ? "at most" : "at least", text_at(where, is_most ? 1 : 2, i));
    }
}

/* "Largest rate with TTFT p99 at most 0.5s: 3.85/s with replicas=1, 9/s with replicas=2." */
static void say_found(const struct study *study, const struct query_answer *outcomes, const struct query_answer *where,
                      const char *goal, struct text *text)
{
    size_t n = 0;
    const char *key = text_at(outcomes, AT_KEY, 0);
    text_printf(text, "%s %.60s", goal, name_of_axis(study, key));
    say_conditions(where, text);
    for (size_t row = 0; row < outcomes->n_rows; n++) {
        size_t next = row;
        while (next < outcomes->n_rows && is_same_outcome(outcomes, row, next)) next++;
        if (n < MOST_FOUND) {
            const char *value = text_at(outcomes, AT_VALUE, row);
            text_add(text, n == 0 ? ": " : "; ");
            if (value[0] != 0)
                say_value(value, text);
            else
                text_printf(text, "none (%.80s)", text_at(outcomes, AT_NOTE, row));
            if (text_at(outcomes, AT_AXIS, row)[0] != 0) text_add(text, " with ");
            say_point(study, outcomes, row, text);
        }
        row = next;
    }
    if (n > MOST_FOUND) text_printf(text, "; and %zu more, in the table", n - MOST_FOUND);
    text_add(text, ". ");
}

/* "Not beaten in JCT mean and cluster.gpus: scheduler=srtf, nodes=1; scheduler=srtf, nodes=2." */
static void say_front(const struct study *study, const struct query_answer *outcomes,
                      const struct query_answer *metrics, struct text *text)
{
    size_t n = 0;
    text_add(text, "No other configuration beats these");
    for (size_t i = 0; i < metrics->n_rows; i++) {
        char words[WORDS_CHARS];
        text_printf(text, "%s%s", i == 0 ? " in " : " and ", words_metric(text_at(metrics, 0, i), words));
    }
    for (size_t row = 0; row < outcomes->n_rows; n++) {
        size_t next = row;
        while (next < outcomes->n_rows && is_same_outcome(outcomes, row, next)) next++;
        if (n < MOST_FOUND) {
            text_add(text, n == 0 ? ": " : "; ");
            say_point(study, outcomes, row, text);
        }
        row = next;
    }
    if (n > MOST_FOUND) text_printf(text, "; and %zu more, in the table", n - MOST_FOUND);
    text_add(text, ". ");
}

static int read_text(const struct report_source *source, const char *sql, struct query_answer *answer)
{
    return source_query(source, &(struct page_query){.sql = sql}, "read the study", answer);
}

/* Sets *has if the study has outcomes, and adds them. */
static int say_outcomes(const struct report_source *source, const struct study *study, bool *has, struct text *text)
{
    struct query_answer outcomes, goal, where, metrics;
    int code = read_text(
        source,
        "SELECT outcome.rowid, outcome.key, outcome.value, outcome.note, axis.key,\n"
        "       CAST(axis.value AS TEXT)\n"
        "FROM outcome LEFT JOIN json_each(CASE WHEN json_valid(point) THEN point ELSE '{}' END) AS axis\n"
        "ORDER BY outcome.rowid, axis.id",
        &outcomes);
    *has = code == 0 && outcomes.n_rows > 0;
    if (!*has) return code;
    if (strcmp(text_at(&outcomes, AT_KEY, 0), "pareto") == 0) {
        code = read_text(source,
                         "SELECT metric.value FROM study, json_each(definition, '$.pareto') AS metric\n"
                         "WHERE json_valid(definition)",
                         &metrics);
        if (code == 0) say_front(study, &outcomes, &metrics, text);
        return code;
    }
    code = read_text(source,
                     "SELECT CASE WHEN definition ->> '$.search.smallest' NOT NULL THEN 'Smallest' ELSE 'Largest' END\n"
                     "FROM study WHERE json_valid(definition)",
                     &goal);
    if (code == 0)
        code = read_text(
            source,
            "SELECT bound.value ->> '$.metric', bound.value ->> '$.at_most', bound.value ->> '$.at_least'\n"
            "FROM study, json_each(definition, '$.search.where') AS bound WHERE json_valid(definition)",
            &where);
    if (code == 0) say_found(study, &outcomes, &where, goal.n_rows > 0 ? text_at(&goal, 0, 0) : "Found", text);
    return code;
}

/* --- Which value of an axis of words is best --- */

static int say_winner(const struct study *study, size_t a, size_t metric, struct arena *arena, struct text *text)
{
    char words[WORDS_CHARS];
    struct study_winner winner;
    const struct study_axis *axis = &study->axes[a];
    if (study_winner(study, a, metric, arena, &winner) != 0) return SIM_E_NOMEM;
    if (winner.n == 0) return 0;
    const char *name = words_metric(study->metrics[metric].name, words);
    const char *best = axis->values[winner.level];
    if (winner.n_best == 0)
        text_printf(text, "No %.60s is best alone by %s. ", axis->name, name);
    else if (2 * winner.n_best <= winner.n || (winner.has_seeds && winner.n_clear == 0))
        text_printf(text, "No %.60s is clearly best by %s; %.60s wins %zu of %zu comparisons with all else equal. ",
                    axis->name, name, best, winner.n_best, winner.n);
    else
        text_printf(text, "Best %.60s by %s: %.60s, in %zu of %zu comparisons with all else equal. ", axis->name, name,
                    best, winner.n_best, winner.n);
    return 0;
}

int study_answer(const struct report_source *source, const struct study *study, bool *says_best, struct text *text)
{
    bool has_outcomes;
    size_t metric = 0;
    int code = say_outcomes(source, study, &has_outcomes, text);
    while (metric < study->n_metrics && study->metrics[metric].direction == REPORT_NEUTRAL) metric++;
    for (size_t a = 0; code == 0 && !has_outcomes && metric < study->n_metrics && a < study->n_axes; a++)
        if (study->axes[a].numbers == NULL && study->axes[a].n > 1)
            code = say_winner(study, a, metric, source->arena, text);
    *says_best = code == 0 && text->length == 0 && metric < study->n_metrics;
    if (*says_best) code = study_say_best(study, metric, source->arena, text);
    while (text->length > 0 && text->chars[text->length - 1] == ' ') text->chars[--text->length] = 0;
    return code;
}
