/* One iteration taken apart: what each operator of an LLM does and takes, kernel by kernel, and what the engine's host
 * adds. The tables of operators.h stand for the same sum. */
#ifndef ORRERY_MODELS_OPERATORS_BREAKDOWN_H
#define ORRERY_MODELS_OPERATORS_BREAKDOWN_H

#include "models/operators/operators.h"

/* All launches of one operator together. */
struct operator_share {
    enum llm_operator op;
    enum kernel_class class; /* whose parameters it has */
    double launches;
    struct kernel_time time; /* sums */
    double ideal_s;          /* the least work at the peaks of the data sheet, whichever of them takes longest */
    double outside_s;        /* of the seconds: by calls outside the range that their class was fitted on, */
    double measured_s;       /* and by calls that a table holds */
};

struct iteration_breakdown {
    size_t n;
    struct operator_share operators[LLM_OPERATOR_COUNT]; /* in the order of the enum */
    double gpu_s, outside_s, host_s; /* all operators; what the iteration takes beyond them */
};

void iteration_breakdown(const struct operators_parts *parts, const struct iteration_work *work,
                         struct iteration_breakdown *breakdown);

#endif
