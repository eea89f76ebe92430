/* A quantity along a run of decode iterations: now + i * slope for iteration i, as long as i < until. The unit is its
 * maker's: tokens of context become seconds by scaling.
 *
 * Cost models are sums, maxima and minima of such pieces. Where the winner of a maximum changes, the piece ends, so a
 * run of iterations priced by one piece is exact. */
#ifndef ORRERY_MODELS_PIECE_H
#define ORRERY_MODELS_PIECE_H

#include <stdint.h>

struct piece {
    double now, slope;
    int64_t until; /* >= 1; INT64_MAX: for ever */
};

static inline struct piece piece_line(double now, double slope)
{
    return (struct piece){now, slope, INT64_MAX};
}

/* For how many iterations a lead of `gap` >= 0 lasts when it shrinks by `closing` per iteration. */
static inline int64_t piece_lead(double gap, double closing)
{
    if (closing <= 0.0) return INT64_MAX;
    const double last = gap / closing;
    return last < 0x1p62 ? (int64_t)last + 1 : INT64_MAX;
}

static inline int64_t piece_sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline struct piece piece_add(struct piece a, struct piece b)
{
    return (struct piece){a.now + b.now, a.slope + b.slope, piece_sooner(a.until, b.until)};
}

/* factor >= 0. */
static inline struct piece piece_scale(struct piece a, double factor)
{
    return (struct piece){a.now * factor, a.slope * factor, a.until};
}

/* The larger one; of equals the one that grows faster. */
static inline struct piece piece_max(struct piece a, struct piece b)
{
    const int a_leads = a.now != b.now ? a.now > b.now : a.slope >= b.slope;
    struct piece leader = a_leads ? a : b;
    const struct piece other = a_leads ? b : a;
    const int64_t lead = piece_lead(leader.now - other.now, other.slope - leader.slope);
    leader.until = piece_sooner(lead, piece_sooner(a.until, b.until));
    return leader;
}

/* The smaller one; of equals the one that grows slower. */
static inline struct piece piece_min(struct piece a, struct piece b)
{
    const int a_leads = a.now != b.now ? a.now < b.now : a.slope <= b.slope;
    struct piece leader = a_leads ? a : b;
    const struct piece other = a_leads ? b : a;
    const int64_t lead = piece_lead(other.now - leader.now, leader.slope - other.slope);
    leader.until = piece_sooner(lead, piece_sooner(a.until, b.until));
    return leader;
}

#endif
