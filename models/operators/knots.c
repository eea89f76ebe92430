#include "models/operators/knots.h"

void knots_add(struct knots *knots, int64_t at)
{
    size_t place = knots->n;
    while (place > 0 && knots->at[place - 1] > at) place--;
    const int is_known = place > 0 && knots->at[place - 1] == at;
    if (at < 1 || is_known || knots->n == KNOTS_MAX) return;
    for (size_t i = knots->n++; i > place; i--) knots->at[i] = knots->at[i - 1];
    knots->at[place] = at;
}
