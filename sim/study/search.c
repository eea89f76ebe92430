#include "sim/study/search.h"

#include "sim/study/read.h"
#include "sim/world/rows/metric.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Reading --- */

const struct metric_def *search_find_metric(struct config_reading *reading, const struct json_node *node,
                                            const char **name)
{
    char where[DIAG_WHERE_CHARS], shown[DIAG_TEXT_CHARS / 2];
    size_t n = 0;
    if (node->kind != JSON_STRING) {
        config_report(reading, node, NULL, "a metric must be a string, got %s", json_show(node, shown, sizeof shown));
        return NULL;
    }
    const struct metric_def *found = metric_find(node->text);
    *name = found != NULL ? arena_strdup(reading->arena, node->text) : NULL;
    if (*name != NULL) return found;
    if (found != NULL) {
        config_report_nomem(reading);
        return NULL;
    }
    while (metric_dictionary[n].name != NULL) n++;
    const char **names = read_alloc(reading, n, sizeof *names);
    for (size_t i = 0; names != NULL && i < n; i++) names[i] = metric_dictionary[i].name;
    if (names != NULL)
        config_report_unknown(reading, json_where(node, where, sizeof where), "metric", node->text,
                              ", see 'orrery list metrics'", names, n);
    return NULL;
}

/* The unit of a limit. */
static enum unit_dim dim_of(const struct metric_def *metric)
{
    for (int i = UNIT_NONE + 1; i < UNIT_DIM_COUNT; i++)
        if (strcmp(unit_si_name((enum unit_dim)i), metric->unit) == 0) return (enum unit_dim)i;
    return UNIT_NONE;
}

static void read_limit(struct config_reading *reading, const struct json_node *node, const struct metric_def *metric,
                       double *limit)
{
    char shown[DIAG_TEXT_CHARS / 2], hint[DIAG_TEXT_CHARS];
    const char *why;
    enum unit_dim dim = dim_of(metric);
    *limit = node->number;
    if (dim == UNIT_NONE ? node->kind == JSON_NUMBER
                         : node->kind == JSON_STRING && unit_parse(node->text, dim, limit, &why) == 0)
        return;
    snprintf(hint, sizeof hint, "such as %s%s%s", dim == UNIT_NONE ? "" : "\"", unit_example(dim),
             dim == UNIT_NONE ? "" : "\"");
    config_report(reading, node, hint, "the limit of '%s' is in %s, got %s", metric->name, metric->unit,
                  json_show(node, shown, sizeof shown));
}

static void read_condition(struct config_reading *reading, const struct json_node *node,
                           struct search_condition *condition)
{
    static const char *const known[] = {"metric", "at_most", "at_least", NULL};
    if (!read_object(reading, node, "a condition")) return;
    read_keys(reading, node, "a condition", known);
    const struct json_node *name = read_member(reading, node, "metric", "a condition");
    const struct json_node *most = json_member(node, "at_most"), *least = json_member(node, "at_least");
    if ((most != NULL) == (least != NULL))
        config_report(reading, node, NULL, "a condition has either 'at_most' or 'at_least'");
    const struct metric_def *metric = name != NULL ? search_find_metric(reading, name, &condition->metric) : NULL;
    if (metric == NULL || (most == NULL && least == NULL)) return;
    condition->is_at_most = most != NULL;
    read_limit(reading, most != NULL ? most : least, metric, &condition->limit);
}

const struct search_condition *search_read_conditions(struct config_reading *reading, const struct json_node *list,
                                                      size_t *n)
{
    *n = 0;
    if (list->kind != JSON_LIST || list->n == 0) {
        config_report(reading, list, "\"where\": [ {\"metric\": \"request.ttft_s.p99\", \"at_most\": \"2s\"} ]",
                      "'where' must be a list of at least one condition");
        return NULL;
    }
    struct search_condition *conditions = read_alloc(reading, list->n, sizeof *conditions);
    for (const struct json_node *item = conditions != NULL ? list->first : NULL; item != NULL; item = item->next)
        read_condition(reading, item, &conditions[(*n)++]);
    return conditions;
}

static void read_bracket(struct config_reading *reading, const struct json_node *node, struct study_search *search)
{
    static const char *const scales[] = {"linear", "log", NULL};
    const struct json_node *from = read_member(reading, node, "from", "a search");
    const struct json_node *to = read_member(reading, node, "to", "a search");
    bool is_log = read_choice(reading, node, "scale", scales) == 1;
    if (from == NULL || to == NULL || !range_read(reading, from, to, is_log, &search->range)) return;
    search->range.like = from->kind == JSON_STRING ? arena_strdup(reading->arena, from->text) : NULL;
    if (!(search->range.from < search->range.to))
        config_report(reading, to, NULL, "the bracket must end above where it starts");
}

const struct study_search *search_read(struct config_reading *reading, const struct json_node *node)
{
    static const char *const known[] = {"largest", "smallest", "from", "to", "scale", "tolerance", "where", "over", NULL};
    static const char *const overs[] = {"mean", "every", NULL};
    if (node == NULL || node->kind == JSON_NULL || !read_object(reading, node, "'search'")) return NULL;
    struct study_search *search = read_alloc(reading, 1, sizeof *search);
    if (search == NULL) return NULL;
    read_keys(reading, node, "a search", known);
    const char *largest = read_text(reading, node, "largest", NULL), *smallest;
    smallest = read_text(reading, node, "smallest", NULL);
    if ((largest != NULL) == (smallest != NULL))
        config_report(reading, node, NULL, "a search has either 'largest' or 'smallest', which name a key");
    search->is_largest = largest != NULL;
    search->key = largest != NULL ? largest : smallest;
    search->is_every_seed = read_choice(reading, node, "over", overs) == 1;
    search->tolerance = read_real(reading, node, "tolerance", 1e-9, 1, 0.01);
    read_bracket(reading, node, search);
    const struct json_node *where = read_member(reading, node, "where", "a search");
    if (where != NULL) search->conditions = search_read_conditions(reading, where, &search->n_conditions);
    return search;
}

/* --- Bisection --- */

static bool is_close(const struct study_search *search, double a, double b)
{
    double low = fmin(a, b), high = fmax(a, b);
    return search->range.is_whole ? high - low <= 1 : high - low <= search->tolerance * fmax(fabs(low), fabs(high));
}

static double middle(const struct study_search *search, double a, double b)
{
    double low = fmin(a, b), high = fmax(a, b);
    struct range half = search->range;
    half.from = low;
    half.to = high;
    double value = range_at(&half, 0.5);
    if (!search->range.is_whole) return value;
    return fmin(fmax(value, low + 1), high - 1);
}

size_t search_max_steps(const struct study_search *search)
{
    size_t n_most = 2;
    for (int way = 0; way < 2; way++) { /* always up, always down: these paths give the widest and narrowest brackets */
        double low = search->range.from, high = search->range.to;
        size_t n = 2;
        for (; n < 128 && !is_close(search, low, high); n++) {
            double value = middle(search, low, high);
            if (!(value > low && value < high)) break;
            *(way == 0 ? &low : &high) = value;
        }
        if (n > n_most) n_most = n;
    }
    return n_most;
}

void search_start(const struct study_search *search, struct bisection *state)
{
    *state = (struct bisection){.good = (double)NAN, .bad = (double)NAN,
                                .next = search->is_largest ? search->range.from : search->range.to};
}

void search_advance(const struct study_search *search, struct bisection *state, bool holds)
{
    *(holds ? &state->good : &state->bad) = state->next;
    if (holds) state->good_step = state->step;
    state->step++;
    if (state->step == 1) {
        state->is_done = !holds;
        state->next = search->is_largest ? search->range.to : search->range.from;
        return;
    }
    if (state->step == 2 && holds) {
        state->is_done = true;
        return;
    }
    state->is_done = state->step >= search_max_steps(search) || is_close(search, state->good, state->bad);
    if (state->is_done) return;
    state->next = middle(search, state->good, state->bad);
    state->is_done = state->next == state->good || state->next == state->bad;
}

const char *search_note(const struct study_search *search, const struct bisection *state)
{
    if (state->bad_failed && !(state->good == state->good))
        return search->is_largest ? "runs failed at the lower end of the bracket"
                                  : "runs failed at the upper end of the bracket";
    if (state->bad_failed) return "no limit: runs failed at the next value";
    if (state->bad_unfit && !(state->good == state->good))
        return search->is_largest ? "does not fit at the lower end of the bracket"
                                  : "does not fit at the upper end of the bracket";
    if (state->bad_unfit) return "the next value does not fit";
    if (!(state->good == state->good))
        return search->is_largest ? "not met at the lower end of the bracket"
                                  : "not met at the upper end of the bracket";
    if (!(state->bad == state->bad))
        return search->is_largest ? "met at the upper end of the bracket too"
                                  : "met at the lower end of the bracket too";
    return "";
}

/* --- What was found --- */

/* Significant digits: 3 at a tolerance of 0.05, 0.02 and 0.01, 4 at 0.001. */
static int digits_of(double tolerance)
{
    const int digits = 1 + (int)ceil(-log10(tolerance) - 1e-9);
    return digits < 2 ? 2 : digits > 12 ? 12 : digits;
}

/* A value whose 12 digits are those of a round one is that: 0.3 for 0.1 + 0.2. */
static double round_to(double value, int digits, bool up)
{
    const int last = digits - 1 - (int)floor(log10(fabs(value)));
    const double scale = pow(10, abs(last)), scaled = last >= 0 ? value * scale : value / scale, near = round(scaled);
    const bool is_round = fabs(scaled - near) <= 1e-9 * fabs(scaled);
    const double rounded = is_round ? near : up ? ceil(scaled) : floor(scaled);
    return last >= 0 ? rounded / scale : rounded * scale;
}

/* In the unit of range->like, of which `one` is one in SI: "60min". */
static const char *show_in(const struct range *range, double value, double one, int digits, bool up,
                           struct arena *arena)
{
    char number[32], *unit;
    const size_t n_before = strcspn(range->like, "0123456789.-");
    strtod(range->like + n_before, &unit);
    snprintf(number, sizeof number, "%.12g", round_to(value / one, digits, up));
    return arena_printf(arena, "%.*s%s%s", (int)n_before, range->like, number, unit);
}

/* One of the unit in which values are shown, in SI: 60 for "10min"; 0: it has none of its own. */
static double unit_of(const struct range *range)
{
    char one[DIAG_TEXT_CHARS], *unit;
    double value;
    const char *why;
    if (range->dim == UNIT_NONE || range->like == NULL) return 0;
    const size_t n_before = strcspn(range->like, "0123456789.-");
    strtod(range->like + n_before, &unit);
    snprintf(one, sizeof one, "%.*s1%s", (int)n_before, range->like, unit);
    return unit_parse(one, range->dim, &value, &why) == 0 ? value : 0;
}

static const char *show(const struct study_search *search, double value, bool up, struct arena *arena)
{
    const struct range *range = &search->range;
    const int digits = digits_of(search->tolerance);
    if (isnan(value)) return "-";
    if (range->is_whole || value == 0 || value == range->from || value == range->to)
        return range_show(range, value, arena);
    const double rounded = round_to(value, digits, up), one = unit_of(range);
    if (rounded <= range->from || rounded >= range->to || !(one > 0))
        return range_show(range, fmin(fmax(rounded, range->from), range->to), arena);
    return show_in(range, value, one, digits, up, arena);
}

const char *search_show_good(const struct study_search *search, const struct bisection *state, struct arena *arena)
{
    return show(search, state->good, !search->is_largest, arena);
}

const char *search_show_bad(const struct study_search *search, const struct bisection *state, struct arena *arena)
{
    return show(search, state->bad, search->is_largest, arena);
}

/* --- Conditions --- */

bool search_meets(const struct search_condition *condition, double value)
{
    return condition->is_at_most ? value <= condition->limit : value >= condition->limit; /* NAN: no */
}

bool search_holds(const struct study_search *search, const double *values, size_t n_seeds)
{
    size_t n = search->n_conditions;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t seed = 0; seed < n_seeds; seed++) {
            double value = values[seed * n + i];
            if (search->is_every_seed && !search_meets(&search->conditions[i], value)) return false;
            sum += value;
        }
        if (!search_meets(&search->conditions[i], sum / (double)n_seeds)) return false;
    }
    return true;
}
