/* What a lease of GPUs costs, to the micro-dollar: a price per GPU and hour, for the time that is billed. Time is billed in whole
 * quanta (per second, per hour) and at least for a minimum. The product is rounded once, half to even. Leaves out taxes, egress,
 * discounts for volume, and prices that change while a lease lasts. */
#ifndef ORRERY_MODELS_PRICE_H
#define ORRERY_MODELS_PRICE_H

#include <stdint.h>

enum { PRICE_MICRO = 1000000 }; /* micro-dollars per dollar, and micro-GPUs per GPU */

struct billing {
    int64_t uusd_per_gpu_h; /* micro-dollars; not negative */
    int64_t quantum_ns;     /* above 0 */
    int64_t minimum_ns;     /* not negative */
};

/* Micro-dollars of a price in dollars, rounded half to even; INT64_MAX beyond. */
int64_t price_uusd_from_usd(double usd);

/* The time that a lease of held_ns >= 0 is billed for; INT64_MAX beyond. A lease that ends as it begins is billed for the minimum. */
int64_t price_billed_ns(const struct billing *billing, int64_t held_ns);

/* Micro-dollars of `micro_gpus` GPUs held for so long; INT64_MAX beyond. */
int64_t price_lease_uusd(const struct billing *billing, int64_t micro_gpus, int64_t held_ns);

#endif
