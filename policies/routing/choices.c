#include "policies/routing/choices.h"

#include "sim/core/rng.h"

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
