/* The rental bill of a run: every lease of GPUs and its cost, exact to the micro-dollar. The cost of a lease follows
 * from models/price.h, rounded once when the lease ends. The bill is the sum of these integers, so it does not drift
 * with their number. Open leases are billed up to now on demand. */
#ifndef ORRERY_WORLD_MARKET_LEDGER_H
#define ORRERY_WORLD_MARKET_LEDGER_H

#include "models/price.h"
#include "sim/core/mem.h"
#include "sim/core/tally.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stdint.h>

struct renting_job;

enum lease_use { LEASE_SERVICES, LEASE_JOBS, LEASE_SITE, LEASE_USES }; /* site: services and jobs share its GPUs */

struct lease {
    int64_t id;    /* from 0, in the order in which they began */
    int32_t offer; /* whose GPUs */
    struct renting_job *job; /* the job it is for; NULL: for the whole run */
    enum lease_use use;
    int64_t micro_gpus;
    int64_t node;      /* number in the site of the node its job runs on; -1: several, or none in particular */
    sim_ns start_ns;   /* start of its bill */
    sim_ns ready_ns;   /* start of the use of its GPUs */
    sim_ns expires_ns; /* time of its interruption; SIM_NS_MAX: never */
    struct lease *prev, *next; /* of those that are open, by id */
};

/* Totals of the leases of one offer. */
struct ledger_account {
    struct billing billing;
    int64_t n_leases, closed_uusd;
    tally_int128 closed_gpu_ns; /* micro-GPU nanoseconds that were held */
    tally_int128 closed_billed_gpu_ns; /* the same as billed: in whole quanta, and at least for the minimum */
    int64_t micro_gpus;         /* of open leases */
};

struct ledger {
    int32_t n_accounts;
    struct ledger_account *accounts; /* by offer */
    int64_t n_leases;
    int64_t closed_uusd[LEASE_USES]; /* of the leases that ended */
    struct level micro_gpus;         /* leased, all offers together */
    struct lease *oldest, *youngest;
    struct pool pool;
};

int ledger_init(struct ledger *ledger, int32_t n_accounts); /* with zero accounts; 0 or SIM_E_NOMEM */
void ledger_fini(struct ledger *ledger);

/* Opens a lease with the offer, job, use, GPUs and times of `as`; start_ns >= now. NULL when out of memory. */
struct lease *ledger_open(struct ledger *ledger, const struct lease *as, sim_ns now);

/* Cost of a lease by now, in micro-dollars; 0 before its start_ns. */
int64_t ledger_lease_uusd(const struct ledger *ledger, const struct lease *lease, sim_ns now);

/* Ends and forgets a lease. Returns its cost. */
int64_t ledger_close(struct ledger *ledger, struct lease *lease, sim_ns now);

/* The bill by now, in micro-dollars: of all leases, and of those for one use. */
int64_t ledger_uusd(const struct ledger *ledger, sim_ns now);
int64_t ledger_use_uusd(const struct ledger *ledger, enum lease_use use, sim_ns now);

/* The bill of one offer, its leased GPU-seconds before rounding to quanta, and those that are billed. Where prices do
 * not change, the bill is the latter times the price, but for the rounding of each lease to a micro-dollar. */
int64_t ledger_account_uusd(const struct ledger *ledger, int32_t offer, sim_ns now);
double ledger_account_gpu_s(const struct ledger *ledger, int32_t offer, sim_ns now);
double ledger_account_billed_gpu_s(const struct ledger *ledger, int32_t offer, sim_ns now);

/* The sums over accounts and open leases, for INV-12: GPUs and micro-dollars. */
struct ledger_sums {
    int64_t account_micro_gpus, lease_micro_gpus, account_uusd;
};

struct ledger_sums ledger_add_up(const struct ledger *ledger, sim_ns now);

#endif
