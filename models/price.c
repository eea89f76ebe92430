#include "models/price.h"

#include <math.h>

__extension__ typedef __int128 wide;

static const int64_t NS_PER_H = INT64_C(3600000000000);

int64_t price_uusd_from_usd(double usd)
{
    const double uusd = nearbyint(usd * (double)PRICE_MICRO);
    return uusd < 9.2e18 ? (int64_t)uusd : INT64_MAX;
}

int64_t price_billed_ns(const struct billing *billing, int64_t held_ns)
{
    const int64_t least_ns = held_ns > billing->minimum_ns ? held_ns : billing->minimum_ns;
    const int64_t quanta = least_ns / billing->quantum_ns + (least_ns % billing->quantum_ns > 0);
    return quanta > INT64_MAX / billing->quantum_ns ? INT64_MAX : quanta * billing->quantum_ns;
}

static wide divide_half_even(wide dividend, wide divisor)
{
    const wide quotient = dividend / divisor, twice = 2 * (dividend % divisor);
    return quotient + (twice > divisor || (twice == divisor && quotient % 2 != 0));
}

int64_t price_lease_uusd(const struct billing *billing, int64_t micro_gpus, int64_t held_ns)
{
    const int64_t billed_ns = price_billed_ns(billing, held_ns);
    const double about = (double)billing->uusd_per_gpu_h * ((double)micro_gpus / PRICE_MICRO) *
                         ((double)billed_ns / (double)NS_PER_H);
    if (about > 9.2e18) return INT64_MAX;
    const wide gpu_ns = (wide)micro_gpus * billed_ns, gpu_h = (wide)NS_PER_H * PRICE_MICRO;
    const wide hours = gpu_ns / gpu_h, rest = gpu_ns % gpu_h;
    return (int64_t)(hours * billing->uusd_per_gpu_h + divide_half_even(rest * billing->uusd_per_gpu_h, gpu_h));
}
