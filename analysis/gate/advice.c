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
    while (i < 2 && steps[i] * power < percent) i++;
    return steps[i] * power;
}

/* More in a tolerance lets too much pass: of all metrics, and of one. */
enum { MOST_PERCENT = 1, MOST_PERCENT_OF_ONE = 10 };

/* The moves beyond tolerance of all scenarios. */
struct beyond {
    /* Of those without a tolerance: the first that one of its own would cover, and the first that moved too far. */
    const struct gate_move *first, *far;
    double largest_percent;
    bool has_tolerance; /* any of them */
};

static bool is_whole(double value)
{
    return value == floor(value);
}

/* Whether it is a count without a better side, such as GPUs, in a run whose scenario has changed in some key: it moves
 * with the key, and a tolerance for noise is no answer. */
static bool follows_from_keys(const struct gate_result *result, const struct gate_move *move)
{
    return result->n_changes > 0 && move->better == 0 && is_whole(move->before) && is_whole(move->now);
}

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
            if (!isfinite(percent) || move->tolerance.pattern != NULL || follows_from_keys(result, move)) continue;
            const struct gate_move **kind = percent <= MOST_PERCENT_OF_ONE ? &beyond.first : &beyond.far;
            if (*kind == NULL) *kind = move;
        }
    }
    return beyond;
}

void gate_advise(const struct gate_report *report, struct text *text)
{
    if (gate_code(report) != SIM_E_GATE) return;
    const struct beyond beyond = list_beyond(report);
    text_add(text, report->counts[GATE_MOVED] > 0 ? "accept what is meant, an improvement too, with --update"
                                                  : "--update adds what is not in the baseline");
    const bool is_small = !beyond.has_tolerance && beyond.largest_percent <= MOST_PERCENT;
    if (beyond.first != NULL)
        text_printf(text, ", or give the baseline a tolerance%s \"tolerances\": {\"%s\": \"%.9g%%\"}",
                    is_small ? " that covers every move:" : ", such as", is_small ? "*" : beyond.first->name,
                    round_up(is_small ? beyond.largest_percent : percent_of(beyond.first)));
    if (beyond.far != NULL)
        text_printf(text,
                    "; %s moved by %.3g %%, more than a gate should tolerate (%d %%): if that is noise, the metric is "
                    "too noisy for a gate",
                    beyond.far->name, percent_of(beyond.far), MOST_PERCENT_OF_ONE);
}
