#include "traces/arrivals.h"

#include <string.h>

static const double MOST_OF_RATE = 0.1, LEAST_OF_SPAN = 0.05, RATE_OF_RISE = 0.5;

void arrivals_init(struct arrivals *arrivals)
{
    *arrivals = (struct arrivals){.width_ns = 1000};
}

/* Joins neighbours, so that the bins have twice the width. */
static void widen(struct arrivals *arrivals)
{
    for (size_t i = 0; i < ARRIVALS_BINS / 2; i++)
        arrivals->counts[i] = arrivals->counts[2 * i] + arrivals->counts[2 * i + 1];
    memset(arrivals->counts + ARRIVALS_BINS / 2, 0, ARRIVALS_BINS / 2 * sizeof *arrivals->counts);
    arrivals->width_ns *= 2;
    arrivals->n_bins = (arrivals->n_bins + 1) / 2;
}

void arrivals_add(struct arrivals *arrivals, sim_ns since_first_ns)
{
    while (since_first_ns / arrivals->width_ns >= ARRIVALS_BINS) widen(arrivals);
    const size_t bin = (size_t)(since_first_ns / arrivals->width_ns);
    arrivals->counts[bin]++;
    arrivals->n++;
    if (bin + 1 > arrivals->n_bins) arrivals->n_bins = bin + 1;
}

/* The sparse part at the beginning, or at the end of the bins taken from the last one. */
static struct arrivals_sparse find_sparse(const struct arrivals *arrivals, double span_s, bool from_end)
{
    const double n = (double)arrivals->n, n_bins = (double)arrivals->n_bins;
    struct arrivals_sparse found = {0};
    double most = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < arrivals->n_bins; i++) {
        sum += arrivals->counts[from_end ? arrivals->n_bins - 1 - i : i];
        const double time_share = (double)(i + 1) / n_bins, share = (double)sum / n;
        const double lead = RATE_OF_RISE * time_share - share;
        if (lead <= most) continue;
        most = lead;
        found = (struct arrivals_sparse){0};
        if (share <= MOST_OF_RATE * time_share && time_share >= LEAST_OF_SPAN)
            found = (struct arrivals_sparse){.length_s = time_share * span_s, .n = sum};
    }
    return found;
}

void arrivals_find(const struct arrivals *arrivals, double span_s, struct arrivals_found *found)
{
    *found = (struct arrivals_found){0};
    for (size_t i = 0; i < arrivals->n_bins; i++)
        found->parts[i * ARRIVALS_PARTS / arrivals->n_bins] += arrivals->counts[i];
    if (arrivals->n < ARRIVALS_PARTS) return;
    found->begin = find_sparse(arrivals, span_s, false);
    found->end = find_sparse(arrivals, span_s, true);
}
