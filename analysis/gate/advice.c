/* What to do about a gate that is not met. */
#include "analysis/gate/gate.h"

#include <math.h>
#include <string.h>

/* The move in per cent of the baseline's value; INFINITY where no relative tolerance can cover it. */
static double percent_of(const struct gate_move *move)
{
    const double percent = 100 * fabs(move->now - move->before) / fabs(move->before);
    return move->presence == GATE_IN_BOTH && isfinite(percent) ? percent : (double)INFINITY;
}

/* A round tolerance that covers a move of so many per cent: 1, 2 or 5 times a power of ten, from 1e-6 on. */
static double round_up(double percent)
{
    static const double steps[] = {1, 2, 5};
    double power = 1e-6;
    while (5 * power < percent) power *= 10;
    size_t i = 0;
    while (steps[i] * power < percent) i++;
    return steps[i] * power;
}

/* The moves beyond tolerance of all scenarios. */
struct beyond {
    const struct gate_move *first; /* that a tolerance of its own would cover, of those that have none */
    double largest_percent;
    bool has_tolerance; /* any of them */
};

static struct beyond list_beyond(const struct gate_report *report)
{
    struct beyond beyond = {0};
    for (size_t i = 0; i < report->n_results; i++) {
        const struct gate_result *result = &report->results[i];
        for (size_t k = 0; k < result->n_moves; k++) {
            const struct gate_move *move = &result->moves[k];
            if (!move->is_beyond) continue;
            const double percent = percent_of(move);
            beyond.largest_percent = fmax(beyond.largest_percent, percent);
            beyond.has_tolerance = beyond.has_tolerance || move->tolerance.pattern != NULL;
            if (beyond.first == NULL && isfinite(percent) && move->tolerance.pattern == NULL) beyond.first = move;
        }
    }
    return beyond;
}

void gate_advise(const struct gate_report *report, struct text *text)
{
    enum { MOST_PERCENT = 1 }; /* of a tolerance for all metrics: above, the gate would let much pass */
    if (gate_code(report) != SIM_E_GATE) return;
    const struct beyond beyond = list_beyond(report);
    text_add(text, report->counts[GATE_MOVED] > 0 ? "accept what is meant, an improvement too, with --update"
                                                  : "--update adds what is not in the baseline");
    if (beyond.first == NULL) return;
    const bool is_small = !beyond.has_tolerance && beyond.largest_percent <= MOST_PERCENT;
    text_printf(text, ", or give the baseline a tolerance%s \"tolerances\": {\"%s\": \"%.9g%%\"}",
                is_small ? " that covers every move:" : ", such as", is_small ? "*" : beyond.first->name,
                round_up(is_small ? beyond.largest_percent : percent_of(beyond.first)));
}
