#include "sim/core/ranking.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

/* Of matches 2k and 2k + 1. */
static int32_t winner_of(const struct ranking *ranking, int32_t k)
{
    const int32_t n = ranking->n;
    const int32_t a = 2 * k < n ? ranking->winners[2 * k] : 2 * k - n;
    const int32_t b = 2 * k + 1 < n ? ranking->winners[2 * k + 1] : 2 * k + 1 - n;
    const double of_a = ranking->values[a], of_b = ranking->values[b];
    return of_a > of_b || (of_a == of_b && a < b) ? a : b;
}

int ranking_init(struct ranking *ranking, int32_t n)
{
    *ranking = (struct ranking){.n = n};
    ranking->values = mem_zalloc((size_t)n, sizeof *ranking->values);
    ranking->winners = mem_zalloc((size_t)n, sizeof *ranking->winners);
    if (ranking->values == NULL || ranking->winners == NULL) {
        ranking_fini(ranking);
        return SIM_E_NOMEM;
    }
    for (int32_t k = n - 1; k >= 1; k--) ranking->winners[k] = winner_of(ranking, k);
    return 0;
}

void ranking_fini(struct ranking *ranking)
{
    mem_free(ranking->values);
    mem_free(ranking->winners);
    *ranking = (struct ranking){0};
}

void ranking_set(struct ranking *ranking, int32_t index, double value)
{
    ranking->values[index] = value;
    for (int32_t k = (ranking->n + index) / 2; k >= 1; k /= 2) {
        const int32_t winner = winner_of(ranking, k);
        if (winner == ranking->winners[k] && winner != index) return;
        ranking->winners[k] = winner;
    }
}
