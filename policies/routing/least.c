#include "policies/routing/least.h"

#include "sim/core/change_log.h"
#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/tournament.h"

#include <string.h>

/* Inserts `number`, unless it is among them. Returns whether it was inserted. */
static bool insert(struct choices *choices, int32_t number)
{
    int32_t at = choices->n;
    while (at > 0 && choices->drawn[at - 1] > number) at--;
    if (at > 0 && choices->drawn[at - 1] == number) return false;
    memmove(&choices->drawn[at + 1], &choices->drawn[at], (size_t)(choices->n - at) * sizeof choices->drawn[0]);
    choices->drawn[at] = number;
    choices->n++;
    return true;
}

void choices_draw(struct choices *choices, const struct fleet_view *view, int64_t most)
{
    choices->are_all = most == 0 || most >= view->n_replicas;
    choices->n = choices->are_all ? view->n_replicas : 0;
    if (choices->are_all) return;
    /* Floyd's algorithm: the j-th number enters when the one drawn up to it is there already. */
    for (int32_t j = view->n_replicas - (int32_t)most; j < view->n_replicas; j++)
        if (!insert(choices, (int32_t)rng_below(view->random, (uint64_t)j + 1))) insert(choices, j);
}

int32_t least_by_pass(const struct fleet_view *view, int64_t most, least_fn amount, const void *state)
{
    struct choices choices;
    choices_draw(&choices, view, most);
    int32_t best = choices_at(&choices, 0);
    double least = amount(state, view, best);
    for (int32_t k = 1; k < choices.n && least > 0; k++) {
        const int32_t i = choices_at(&choices, k);
        const double of = amount(state, view, i);
        if (of >= least) continue;
        best = i;
        least = of;
    }
    return best;
}

/* For n candidates; not yet filled. Returns 0 or SIM_E_NOMEM. */
static int make_tournament(struct least *least, int32_t n)
{
    least_fini(least);
    least->tournament = mem_zalloc(1, sizeof *least->tournament);
    return least->tournament != NULL ? tournament_init(least->tournament, n) : SIM_E_NOMEM;
}

int least_find(struct least *least, const struct fleet_view *view, least_fn amount, const void *state)
{
    const struct change_log *changed = view->changed_loads;
    if (changed == NULL) return least_by_pass(view, 0, amount, state);
    const bool is_new = least->tournament == NULL || least->tournament->n != view->n_replicas;
    if (is_new && make_tournament(least, view->n_replicas) != 0) return SIM_E_NOMEM;
    if (is_new || !change_log_reaches(changed, least->n_seen))
        for (int32_t i = 0; i < view->n_replicas; i++) tournament_set(least->tournament, i, -amount(state, view, i));
    else
        for (uint64_t i = least->n_seen; i < changed->n; i++) {
            const int32_t replica = change_log_get(changed, i) - view->first;
            if (replica < 0 || replica >= view->n_replicas) continue;
            tournament_set(least->tournament, replica, -amount(state, view, replica));
        }
    least->n_seen = changed->n;
    SIM_ASSERT(tournament_first(least->tournament) == least_by_pass(view, 0, amount, state));
    return tournament_first(least->tournament);
}

void least_fini(struct least *least)
{
    if (least->tournament == NULL) return;
    tournament_fini(least->tournament);
    mem_free(least->tournament);
    least->tournament = NULL;
}
