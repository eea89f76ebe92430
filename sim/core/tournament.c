#include "sim/core/tournament.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

/* Of matches 2k and 2k + 1. */
static int32_t winner_of(const struct tournament *tournament, int32_t k)
{
    const int32_t n = tournament->n;
    const int32_t a = 2 * k < n ? tournament->winners[2 * k] : 2 * k - n;
    const int32_t b = 2 * k + 1 < n ? tournament->winners[2 * k + 1] : 2 * k + 1 - n;
    const double of_a = tournament->values[a], of_b = tournament->values[b];
    return of_a > of_b || (of_a == of_b && a < b) ? a : b;
}

int tournament_init(struct tournament *tournament, int32_t n)
{
    *tournament = (struct tournament){.n = n};
    tournament->values = mem_zalloc((size_t)n, sizeof *tournament->values);
    tournament->winners = mem_zalloc((size_t)n, sizeof *tournament->winners);
    if (tournament->values == NULL || tournament->winners == NULL) {
        tournament_fini(tournament);
        return SIM_E_NOMEM;
    }
    for (int32_t k = n - 1; k >= 1; k--) tournament->winners[k] = winner_of(tournament, k);
    return 0;
}

void tournament_fini(struct tournament *tournament)
{
    mem_free(tournament->values);
    mem_free(tournament->winners);
    *tournament = (struct tournament){0};
}

void tournament_set(struct tournament *tournament, int32_t index, double value)
{
    tournament->values[index] = value;
    for (int32_t k = (tournament->n + index) / 2; k >= 1; k /= 2) {
        const int32_t winner = winner_of(tournament, k);
        if (winner == tournament->winners[k] && winner != index) return;
        tournament->winners[k] = winner;
    }
}
