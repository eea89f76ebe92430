/* The log of all decisions of a run, as lines of CSV (scenario,t_s,service,policy,action,subject,reason), and where
 * two logs diverge. */
#ifndef ORRERY_ANALYSIS_GATE_DECISION_LOG_H
#define ORRERY_ANALYSIS_GATE_DECISION_LOG_H

#include "analysis/gate/baseline.h"

/* A decision; `service` is empty for jobs. Texts are borrowed for the call. */
struct decision_made {
    double t_s;
    const char *service, *policy, *action;
    int64_t subject;
    const char *reason;
};

extern const char decision_log_header[];

/* Adds one line. Control characters become blanks, so that a row stays one line. */
void decision_log_add(struct text *lines, const char *scenario, const struct decision_made *row);

/* The first n lines from `chars` on, or as many as there are. */
struct decision_lines decision_log_take(const char *chars, size_t n_chars, size_t n);

struct decision_line {
    const char *t_s, *service, *policy, *action, *subject, *reason;
};

enum { DIVERGENCE_CONTEXT = 3 };

/* A place where two logs differ. */
struct parting {
    bool found;
    size_t number;            /* of the decision, from 1 */
    bool has_before, has_now; /* false: that log has ended */
    struct decision_line before, now;
};

/* Where a run's log diverges from its baseline's. */
struct divergence {
    size_t n_before, n_now;
    struct parting first;  /* not found: the logs are equal */
    bool is_same_choice;   /* the first difference is one of the time, or of the policy and its reason, only */
    struct parting choice; /* then: the first that differs in what is done */
    size_t n_context;     /* common decisions just before it, oldest first */
    struct decision_line context[DIVERGENCE_CONTEXT];
};

/* Compares two logs, ignoring the names of their scenarios. Texts go to the arena. Returns 0, SIM_E_DATA (a
 * malformed line) or SIM_E_NOMEM. */
int decision_log_compare(const struct decision_lines *before, const struct decision_lines *now, struct arena *arena,
                         struct divergence *divergence, struct diag *diag);

#endif
