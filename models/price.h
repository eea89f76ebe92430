/* The cost of a lease of GPUs in micro-dollars: a price per GPU and hour, for the time that is billed. Time is
 * billed in whole quanta (per second, per hour) and at least for a minimum. The product is rounded once, half to even.
 *
 * Where prices change, a lease keeps the price of its start, as a contract does, or follows them: each quantum costs
 * the price of the moment at which it begins, as Amazon billed spot instances by the hour until 2017. Leaves out taxes,
 * egress, discounts for volume. */
#ifndef ORRERY_MODELS_PRICE_H
#define ORRERY_MODELS_PRICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRICE_MICRO = 1000000 }; /* micro-dollars per dollar, and micro-GPUs per GPU */

/* The price of a GPU from at_ns on. */
struct price_change {
    int64_t at_ns, uusd_per_gpu_h;
};

struct billing {
    int64_t uusd_per_gpu_h; /* micro-dollars; not negative */
    int64_t quantum_ns;     /* above 0 */
    int64_t minimum_ns;     /* not negative */
    size_t n_changes;
    const struct price_change *changes; /* by rising times; before the first of them uusd_per_gpu_h */
    bool follows;           /* leases follow changes */
};

/* Micro-dollars of a price in dollars, rounded half to even; INT64_MAX beyond. */
int64_t price_uusd_from_usd(double usd);

/* Billed time of a lease of held_ns >= 0; INT64_MAX beyond. A lease that ends as it begins is billed for
 * the minimum. */
int64_t price_billed_ns(const struct billing *billing, int64_t held_ns);

/* The price per GPU and hour at a time; and micro-dollars of `micro_gpus` / 10^6 GPUs that are held for `held_ns` from
 * start_ns >= 0 on, which saturate at INT64_MAX. */
int64_t price_at(const struct billing *billing, int64_t at_ns);
int64_t price_lease_from_uusd(const struct billing *billing, int64_t micro_gpus, int64_t start_ns, int64_t held_ns);

#endif
