#include "sim/world/market/ledger.h"

#include "sim/core/err.h"

int ledger_init(struct ledger *ledger, int32_t n_accounts)
{
    *ledger = (struct ledger){.n_accounts = n_accounts};
    pool_init(&ledger->pool, sizeof(struct lease));
    level_init(&ledger->micro_gpus, 0, 0);
    ledger->accounts = mem_zalloc((size_t)n_accounts + 1, sizeof *ledger->accounts);
    return ledger->accounts != NULL ? 0 : SIM_E_NOMEM;
}

void ledger_fini(struct ledger *ledger)
{
    pool_fini(&ledger->pool);
    mem_free(ledger->accounts);
}

struct lease *ledger_open(struct ledger *ledger, const struct lease *as, sim_ns now)
{
    struct lease *lease = pool_take(&ledger->pool);
    if (lease == NULL) return NULL;
    *lease = *as;
    lease->id = ledger->n_leases++;
    lease->prev = ledger->youngest;
    lease->next = NULL;
    *(lease->prev != NULL ? &lease->prev->next : &ledger->oldest) = lease;
    ledger->youngest = lease;
    ledger->accounts[lease->offer].n_leases++;
    ledger->accounts[lease->offer].micro_gpus += lease->micro_gpus;
    level_set(&ledger->micro_gpus, now, ledger->micro_gpus.value + lease->micro_gpus);
    return lease;
}

static sim_ns held_ns(const struct lease *lease, sim_ns now)
{
    return now > lease->start_ns ? now - lease->start_ns : 0;
}

int64_t ledger_lease_uusd(const struct ledger *ledger, const struct lease *lease, sim_ns now)
{
    if (now < lease->start_ns) return 0;
    return price_lease_from_uusd(&ledger->accounts[lease->offer].billing, lease->micro_gpus, lease->start_ns,
                                 held_ns(lease, now));
}

/* As in price_lease_from_uusd. Nothing is billed before the start. */
static tally_int128 billed_gpu_ns(const struct ledger *ledger, const struct lease *lease, sim_ns now)
{
    if (now < lease->start_ns) return 0;
    const struct billing *billing = &ledger->accounts[lease->offer].billing;
    return (tally_int128)lease->micro_gpus * price_billed_ns(billing, held_ns(lease, now));
}

int64_t ledger_close(struct ledger *ledger, struct lease *lease, sim_ns now)
{
    struct ledger_account *account = &ledger->accounts[lease->offer];
    const int64_t uusd = ledger_lease_uusd(ledger, lease, now);
    account->closed_uusd += uusd;
    account->closed_gpu_ns += (tally_int128)lease->micro_gpus * held_ns(lease, now);
    account->closed_billed_gpu_ns += billed_gpu_ns(ledger, lease, now);
    account->micro_gpus -= lease->micro_gpus;
    ledger->closed_uusd[lease->use] += uusd;
    level_set(&ledger->micro_gpus, now, ledger->micro_gpus.value - lease->micro_gpus);
    *(lease->prev != NULL ? &lease->prev->next : &ledger->oldest) = lease->next;
    *(lease->next != NULL ? &lease->next->prev : &ledger->youngest) = lease->prev;
    pool_give(&ledger->pool, lease);
    return uusd;
}

int64_t ledger_uusd(const struct ledger *ledger, sim_ns now)
{
    int64_t sum = 0;
    for (int use = 0; use < LEASE_USES; use++) sum += ledger->closed_uusd[use];
    for (const struct lease *lease = ledger->oldest; lease != NULL; lease = lease->next)
        sum += ledger_lease_uusd(ledger, lease, now);
    return sum;
}

int64_t ledger_use_uusd(const struct ledger *ledger, enum lease_use use, sim_ns now)
{
    int64_t sum = ledger->closed_uusd[use];
    for (const struct lease *lease = ledger->oldest; lease != NULL; lease = lease->next)
        if (lease->use == use) sum += ledger_lease_uusd(ledger, lease, now);
    return sum;
}

int64_t ledger_account_uusd(const struct ledger *ledger, int32_t offer, sim_ns now)
{
    int64_t sum = ledger->accounts[offer].closed_uusd;
    for (const struct lease *lease = ledger->oldest; lease != NULL; lease = lease->next)
        if (lease->offer == offer) sum += ledger_lease_uusd(ledger, lease, now);
    return sum;
}

double ledger_account_gpu_s(const struct ledger *ledger, int32_t offer, sim_ns now)
{
    tally_int128 sum = ledger->accounts[offer].closed_gpu_ns;
    for (const struct lease *lease = ledger->oldest; lease != NULL; lease = lease->next)
        if (lease->offer == offer) sum += (tally_int128)lease->micro_gpus * held_ns(lease, now);
    return (double)sum / 1e9 / PRICE_MICRO;
}

double ledger_account_billed_gpu_s(const struct ledger *ledger, int32_t offer, sim_ns now)
{
    tally_int128 sum = ledger->accounts[offer].closed_billed_gpu_ns;
    for (const struct lease *lease = ledger->oldest; lease != NULL; lease = lease->next)
        if (lease->offer == offer) sum += billed_gpu_ns(ledger, lease, now);
    return (double)sum / 1e9 / PRICE_MICRO;
}

struct ledger_sums ledger_add_up(const struct ledger *ledger, sim_ns now)
{
    struct ledger_sums sums = {0};
    for (const struct lease *lease = ledger->oldest; lease != NULL; lease = lease->next)
        sums.lease_micro_gpus += lease->micro_gpus;
    for (int32_t i = 0; i < ledger->n_accounts; i++) {
        sums.account_micro_gpus += ledger->accounts[i].micro_gpus;
        sums.account_uusd += ledger_account_uusd(ledger, i, now);
    }
    return sums;
}
