/* Studies whose seeds replicate a trace (traces/replicate.h), and what their recorded trace says: the run of the whole
 * trace, which stands once per point in the table metric_recorded.
 *
 * Blocks and windows end what lasts longer than they: an overload of weeks is in no replicate. If the recorded value
 * lies outside of the interval over the seeds, that interval is not one of traces like the recorded one. */
#ifndef ORRERY_ANALYSIS_REPLICATES_H
#define ORRERY_ANALYSIS_REPLICATES_H

#include "analysis/stats/stats.h"
#include "sim/core/database.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>

enum replicates_method { REPLICATES_NONE, REPLICATES_BLOCKS, REPLICATES_WINDOWS };

enum { REPLICATES_CHARS = 40 };

struct replicates {
    enum replicates_method method; /* blocks if traces have both */
    bool has_recorded;             /* some point has the values of the recorded trace */
    char length[REPLICATES_CHARS]; /* of a block or window, "7 d"; "" if runs differ in it */
};

/* Reads how the runs of a file replicate traces. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int replicates_read(const struct database *database, struct arena *arena, struct replicates *replicates,
                    struct diag *diag);

/* "blocks of 7 d", "windows". */
const char *replicates_parts(const struct replicates *replicates, char text[REPLICATES_CHARS]);

/* The interval of the mean of n values, one per seed, which it may reorder: the spread of block bootstraps, Student's t
 * over windows; NANs without replicates. */
struct interval replicates_interval(const struct replicates *replicates, double *values, size_t n, double level);

/* Whether the recorded value of a metric may be compared with those of the replicates. One window is shorter than the
 * trace: it has fewer jobs and less of all that adds up, and a smaller maximum. */
bool replicates_compares(const struct replicates *replicates, const char *metric);

/* By how many widths of the interval a recorded value lies outside of it; 0 inside, and without interval or value. */
double replicates_beyond(const struct interval *interval, double recorded);

/* Windows weigh alike. Their arrivals differ too much if the least has less than a tenth of their mean. `arrivals`: of
 * the n seeds in order. Returns the index of the least, or n if none has too few. */
size_t replicates_sparse(const double *arrivals, size_t n);

/* The window of the runs of a file with too few arrivals. */
struct replicates_sparse_window {
    bool is_found;
    int64_t seed;
    double arrivals, mean; /* mean: of all windows; requests or, without services, jobs */
};

/* Looks for it; none is found without windows. Returns 0, SIM_E_STORE or SIM_E_NOMEM. */
int replicates_find_sparse(const struct database *database, const struct replicates *replicates, struct arena *arena,
                           struct replicates_sparse_window *sparse, struct diag *diag);

#endif
