/* The search of a study: at every point of its axes, the largest (or smallest) value of a key for which conditions on
 * metrics hold. All steps run with the same seeds, so they differ in the value alone (common random numbers).
 *
 *   "search": { "largest": "services.chat.trace.arrival.rate",   // or "smallest"
 *               "from": "1/s", "to": "64/s",                      // the bracket; whole numbers give whole numbers
 *               "scale": "log",                                   // where its middle is: "linear" by default
 *               "tolerance": 0.01,                                // relative; of whole numbers the exact one is found
 *               "where": [ { "metric": "request.ttft_s.p99", "at_most": "2s" },
 *                          { "metric": "request.finished", "at_least": 100 } ],
 *               "over": "mean" }                                  // of the seeds; "every": each seed must meet all
 *
 * The search assumes that a condition holds up to one value and not beyond (from one value on, for "smallest"). If the
 * ends do not bracket that value, the outcome notes it. A run without the metric, or a failed run, does not meet the
 * condition. A value where runs failed is no limit, and the outcome notes that. A value that does not fit is a
 * limit. */
#ifndef ORRERY_STUDY_SEARCH_H
#define ORRERY_STUDY_SEARCH_H

#include "sim/study/range.h"

struct metric_def;

struct search_condition {
    const char *metric;
    double limit; /* in the metric's unit */
    bool is_at_most;
};

struct study_search {
    const char *key;
    bool is_largest, is_every_seed;
    struct range range; /* from is the lower end */
    double tolerance;
    size_t n_conditions;
    const struct search_condition *conditions;
};

/* Reads the search; NULL if there is none or it is wrong, which is reported. */
const struct study_search *search_read(struct config_reading *reading, const struct json_node *node);

/* Reads "where": a list of at least one condition. Returns it, and its length in *n; NULL if it is wrong, which is
 * reported. */
const struct search_condition *search_read_conditions(struct config_reading *reading, const struct json_node *list,
                                                      size_t *n);

/* The metric that a value names. Its name, in the arena, may include a service or class
 * ("slo.attained_frac[chat/batch]"). NULL, with a finding, if unknown. */
const struct metric_def *search_find_metric(struct config_reading *reading, const struct json_node *node,
                                            const char **name);

/* The state of the bisection at one point. */
struct bisection {
    double good, bad;  /* values where the conditions hold and fail; NAN: unknown */
    double next;       /* the value to try */
    size_t step;       /* number of the step, from 0 */
    size_t good_step;  /* step of `good` */
    bool is_done;
    bool bad_failed;   /* runs failed at `bad`, so the conditions are unknown there; set by the caller */
    bool bad_unfit;    /* `bad` does not fit; set by the caller */
};

/* The largest number of steps. */
size_t search_max_steps(const struct study_search *search);

void search_start(const struct study_search *search, struct bisection *state);

/* Takes the answer for state->next and computes the next value, or ends. */
void search_advance(const struct study_search *search, struct bisection *state, bool holds);

/* "" for a value that is bracketed, else the reason. The value is state->good (NAN: none). */
const char *search_note(const struct study_search *search, const struct bisection *state);

/* A bound of what a search found, as text like range_show, to as many digits as the tolerance tells apart: a digit
 * more than its first. state->good is rounded away from state->bad, and that away from state->good, so the limit is
 * between the two texts. Whole numbers and the ends of the bracket stay as they are. "-" for NAN; NULL when out of
 * memory. */
const char *search_show_good(const struct study_search *search, const struct bisection *state, struct arena *arena);
const char *search_show_bad(const struct study_search *search, const struct bisection *state, struct arena *arena);

/* Whether the conditions hold for values[seed * n_conditions + condition] (NAN: the run has no such metric). */
bool search_holds(const struct study_search *search, const double *values, size_t n_seeds);

/* Whether a condition holds for a value; not for NAN. */
bool search_meets(const struct search_condition *condition, double value);

#endif
