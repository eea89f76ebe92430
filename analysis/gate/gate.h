/* The verdict of a regression gate: the outcome of a run against its baseline.
 *
 * A scenario with the baseline's result hash is the same, and nothing else is compared. Otherwise every metric is held
 * against its tolerance. If a scenario has no tolerance at all, its hash must not move: it has then moved even if no
 * metric has. */
#ifndef ORRERY_ANALYSIS_GATE_GATE_H
#define ORRERY_ANALYSIS_GATE_GATE_H

#include "analysis/gate/baseline.h"
#include "analysis/gate/decision_log.h"
#include "analysis/gate/scenario_change.h"
#include "sim/core/json_write.h"

/* The outcome of one scenario. */
struct gate_outcome {
    int code;            /* 0, or why it did not run to its end */
    const char *finding; /* the finding, if code is not 0 */
    char hash[HASH_HEX_CHARS], scenario_hash[HASH_HEX_CHARS], inputs[HASH_HEX_CHARS];
    const struct json_node *files;    /* as of struct baseline_entry */
    const struct json_node *resolved; /* the resolved scenario; NULL: not known */
    size_t n_metrics;
    struct gate_metric *metrics; /* in order of emission */
    struct decision_lines decisions;
    const char *seen; /* what the policy saw at the first diverging decision; "": nothing */
};

enum gate_verdict {
    GATE_SAME,
    GATE_TOLERATED, /* another hash, every metric within its tolerance */
    GATE_MOVED,
    GATE_UNKNOWN, /* the baseline has no results of it */
    GATE_FAILED   /* it did not run to its end */
};
enum { GATE_VERDICTS = GATE_FAILED + 1 };

enum gate_presence { GATE_IN_BOTH, GATE_GONE, GATE_NEW };

/* Why a reader looks at a metric. Reports list moves in this order. */
enum gate_weight {
    GATE_NAMED,   /* a tolerance has its name, without wildcards */
    GATE_USUAL,   /* one of those that 'orrery compare' shows */
    GATE_MATCHED, /* a tolerance has a pattern for it, other than "*" */
    GATE_OTHER
};

/* A metric whose value differs from the baseline's. */
struct gate_move {
    const char *name, *unit;
    double before, now;
    enum gate_presence presence;
    int better;                /* -1: worse, 1: better, 0: neither, or not known */
    struct tolerance tolerance;
    bool is_beyond;
    enum gate_weight weight;
};

struct gate_result {
    const struct baseline_entry *entry;
    enum gate_verdict verdict;
    size_t n_metrics, n_moves, n_beyond;
    /* By weight; of equal weight those beyond their tolerance first, of these the largest relative move first. */
    struct gate_move *moves;
    bool scenario_moved;     /* the resolved scenario differs from the baseline's */
    size_t n_changes;        /* values of the scenario; 0 also where the baseline does not know its own */
    struct scenario_change *changes;
    bool inputs_moved;       /* traces or catalog files differ from the baseline's */
    size_t n_files;          /* files, "catalog" and plug-ins that differ; 0 also if the baseline does not have them */
    const char **files;
    struct divergence divergence;
    const char *seen;        /* what the policy saw at the first diverging choice, in the run now; "": not known */
    const char *finding;     /* of a run that failed */
    int code;                /* of the run */
    const struct json_node *resolved; /* of the run; NULL: not known */
};

/* Whether the results are the same although the scenario or its input files differ from the baseline's. */
static inline bool gate_has_no_effect(const struct gate_result *result)
{
    return result->verdict == GATE_SAME && (result->scenario_moved || result->inputs_moved);
}

/* All results of one check. */
struct gate_report {
    const struct baseline *baseline;
    struct maker maker; /* program that did the runs */
    size_t n_results;
    struct gate_result *results;
    size_t counts[GATE_VERDICTS];
};

/* The tolerance in force for a metric: pattern NULL and amount 0 if none is given. */
struct tolerance gate_tolerance(const struct baseline *baseline, const struct baseline_entry *entry,
                                const char *metric);

/* Judges one outcome. Texts and moves go to the arena. Returns 0, SIM_E_DATA (the log is damaged) or SIM_E_NOMEM. */
int gate_judge(const struct baseline *baseline, const struct baseline_entry *entry, const struct gate_outcome *outcome,
               struct arena *arena, struct gate_result *result, struct diag *diag);

/* Counts the verdicts of all results. */
void gate_count(struct gate_report *report);

/* 0 when every scenario is the same or tolerated; the code of the first run that failed; or SIM_E_GATE. */
int gate_code(const struct gate_report *report);

/* "same", "within tolerance", "moved", "not in the baseline", "failed". */
const char *gate_verdict_text(enum gate_verdict verdict);

/* Warns of tolerances whose pattern matches no metric of the baseline or of the outcomes (outcomes[i] belongs to
 * report->results[i]). Scenarios that never ran are skipped. */
void gate_check_patterns(const struct gate_report *report, const struct gate_outcome *outcomes, struct diag *diag);

/* Whether C library, compiler or CPU differ between the program and the baseline of any scenario. */
bool gate_platform_differs(const struct gate_report *report);

/* Write the report: for a terminal, in GitHub's Markdown, as JUnit XML (one test case per scenario; moved ones are
 * failures, those that did not run errors), and as JSON. */
void gate_text(const struct gate_report *report, struct text *text);
void gate_markdown(const struct gate_report *report, struct text *text);
void gate_junit(const struct gate_report *report, struct text *text);
void gate_json(const struct gate_report *report, struct json_writer *writer);

/* Says how to accept what is not met: by --update, or by a tolerance, with one that fits. Nothing if it is met. */
void gate_advise(const struct gate_report *report, struct text *text);

/* How a value is printed: six digits, and no exponent from 1e5 to 1e15. */
const char *gate_value_format(double value);

/* The unit as it is printed: "" for a plain number. */
const char *gate_unit(const struct gate_move *move);

/* Parts of these. */
void gate_describe(const struct gate_report *report, const struct gate_result *result, struct text *text);
void gate_moves(const struct gate_report *report, struct text *text); /* what moves or is new, of all scenarios */
void gate_summary(const struct gate_report *report, struct text *text); /* one line */
void gate_makers(const struct gate_report *report, struct text *text);  /* lists platforms or versions that differ */

#endif
