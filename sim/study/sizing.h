/* The cheapest fleets that meet an objective, found with few runs.
 *
 * An option is a configuration without its number of replicas. More replicas are taken to meet whatever fewer meet, so
 * each option has a least number, which is bracketed: `bad` replicas do not suffice, `good` replicas do. A closed form
 * gives the first `bad`. An option costs at least (bad + 1) replicas. Once as many options as are wanted cost less, no
 * more of it is run.
 *
 * Tries are handed out in rounds of a fixed size, so the answer does not depend on how many run in parallel. */
#ifndef ORRERY_STUDY_SIZING_H
#define ORRERY_STUDY_SIZING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sizing_option {
    double replica_usd_per_h; /* > 0 */
    int64_t least, most;      /* replicas that a closed form allows, and that there may be; least > most: none */
    size_t group;             /* options of a group are alike: one's bracket is a guess for the others */
    int64_t bad, good;        /* found by the search; good 0: unknown */
    bool is_out;              /* it cannot run at all */
};

struct sizing_try {
    size_t option;
    int64_t replicas;
};

struct sizing {
    size_t n;
    struct sizing_option *options; /* [n], the caller's */
    size_t wanted;                 /* how many of the cheapest are to be exact */
    size_t n_tries;
};

void sizing_start(struct sizing *sizing, struct sizing_option *options, size_t n, size_t wanted);

/* Writes at most `most` tries, the options of the lowest cost first; of each option one. Returns their number; 0: the
 * search is over. */
size_t sizing_next(const struct sizing *sizing, struct sizing_try *tries, size_t most);

enum sizing_verdict { SIZING_FAILS, SIZING_MEETS, SIZING_CANNOT_RUN };

/* Takes the outcome of a try. */
void sizing_tell(struct sizing *sizing, const struct sizing_try *made, enum sizing_verdict verdict);

/* Whether the least number of replicas of the option is known. */
bool sizing_is_exact(const struct sizing_option *option);

/* Writes the options that meet the objective, the cheapest first; at most `most`. Returns their number. Those up to
 * sizing->wanted are exact once the search is over. */
size_t sizing_best(const struct sizing *sizing, size_t *options, size_t most);

#endif
