/* The rental bill of a run: every lease of GPUs, and what they cost together, exact to the micro-dollar. A lease costs what
 * models/price.h says, rounded once when it ends; the bill is the sum of these whole numbers, so that nothing is lost however many
 * there are. Leases that are open are billed up to now whenever somebody looks. */
#ifndef ORRERY_WORLD_MARKET_LEDGER_H
#define ORRERY_WORLD_MARKET_LEDGER_H

#include "models/price.h"
#include "sim/core/mem.h"
#include "sim/core/tally.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stdint.h>

struct renting_job;

struct lease {
    int64_t id;    /* from 0, in the order in which they began */
    int32_t offer; /* whose GPUs */
    struct renting_job *job; /* that they are for; NULL: for the whole run */
    bool is_for_jobs;        /* else for services */
    int64_t micro_gpus;
    int64_t node;      /* of the site, where its job runs; -1: on several, or on none in particular */
    sim_ns start_ns;   /* from here on it is billed */
    sim_ns ready_ns;   /* from here on its GPUs can be used */
    sim_ns expires_ns; /* it will be interrupted then; SIM_NS_MAX: never */
    struct lease *prev, *next; /* of those that are open, by id */
};

/* What the leases of one offer came to. */
struct ledger_account {
    struct billing billing;
    int64_t n_leases, closed_uusd;
    tally_int128 closed_gpu_ns; /* micro-GPU nanoseconds that were held */
    int64_t micro_gpus;         /* of open leases */
};

struct ledger {
    int32_t n_accounts;
    struct ledger_account *accounts; /* by offer */
    int64_t n_leases;
    int64_t closed_uusd, closed_jobs_uusd; /* of all leases that ended, and of those that were for jobs */
    struct level micro_gpus;         /* leased, all offers together */
    struct lease *oldest, *youngest;
    struct pool pool;
};

int ledger_init(struct ledger *ledger, int32_t n_accounts); /* with zero accounts; 0 or SIM_E_NOMEM */
void ledger_fini(struct ledger *ledger);

/* Begins a lease of what `as` says: offer, job, is_for_jobs, GPUs and times, from start_ns >= now on. NULL when out of memory. */
struct lease *ledger_open(struct ledger *ledger, const struct lease *as, sim_ns now);

/* Micro-dollars that a lease has cost by now: nothing before it is billed. */
int64_t ledger_lease_uusd(const struct ledger *ledger, const struct lease *lease, sim_ns now);

/* Ends it, and forgets it. Returns what it cost. */
int64_t ledger_close(struct ledger *ledger, struct lease *lease, sim_ns now);

/* The bill by now, in micro-dollars: of all leases, and of those for jobs. */
int64_t ledger_uusd(const struct ledger *ledger, sim_ns now);
int64_t ledger_jobs_uusd(const struct ledger *ledger, sim_ns now);

/* Of one offer, and the GPU-seconds that it was leased for, before rounding to quanta. */
int64_t ledger_account_uusd(const struct ledger *ledger, int32_t offer, sim_ns now);
double ledger_account_gpu_s(const struct ledger *ledger, int32_t offer, sim_ns now);

/* What the accounts and the open leases add up to, to be set against the sums that are kept: GPUs and micro-dollars. */
struct ledger_sums {
    int64_t account_micro_gpus, lease_micro_gpus, account_uusd;
};

struct ledger_sums ledger_add_up(const struct ledger *ledger, sim_ns now);

#endif
