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

/* Micro-dollars that add up from times at different prices: whole GPU-hours, and the rest. */
struct sum {
    wide uusd, rest;
    double about; /* of both */
};

static const wide GPU_H = (wide)3600000000000 * PRICE_MICRO;

static void add(struct sum *sum, int64_t micro_gpus, int64_t billed_ns, int64_t uusd_per_gpu_h)
{
    const wide gpu_ns = (wide)micro_gpus * billed_ns;
    sum->about += (double)uusd_per_gpu_h * ((double)micro_gpus / PRICE_MICRO) * ((double)billed_ns / (double)NS_PER_H);
    if (sum->about > 9.2e18) return;
    sum->uusd += gpu_ns / GPU_H * uusd_per_gpu_h;
    sum->rest += gpu_ns % GPU_H * uusd_per_gpu_h;
}

static int64_t total_uusd(const struct sum *sum)
{
    return sum->about > 9.2e18 ? INT64_MAX : (int64_t)(sum->uusd + divide_half_even(sum->rest, GPU_H));
}

int64_t price_at(const struct billing *billing, int64_t at_ns)
{
    int64_t uusd_per_gpu_h = billing->uusd_per_gpu_h;
    for (size_t i = 0; i < billing->n_changes && billing->changes[i].at_ns <= at_ns; i++)
        uusd_per_gpu_h = billing->changes[i].uusd_per_gpu_h;
    return uusd_per_gpu_h;
}

/* The quanta of a lease that begin before a time. */
static int64_t quanta_before(const struct billing *billing, int64_t start_ns, int64_t quanta, int64_t at_ns)
{
    if (at_ns <= start_ns) return 0;
    const int64_t before = (at_ns - start_ns - 1) / billing->quantum_ns + 1;
    return before < quanta ? before : quanta;
}

int64_t price_lease_from_uusd(const struct billing *billing, int64_t micro_gpus, int64_t start_ns, int64_t held_ns)
{
    const int64_t quanta = price_billed_ns(billing, held_ns) / billing->quantum_ns;
    struct sum sum = {0};
    int64_t done = 0, uusd_per_gpu_h = billing->follows ? billing->uusd_per_gpu_h : price_at(billing, start_ns);
    for (size_t i = 0; i < billing->n_changes && billing->follows; i++) {
        const int64_t before = quanta_before(billing, start_ns, quanta, billing->changes[i].at_ns);
        add(&sum, micro_gpus, (before - done) * billing->quantum_ns, uusd_per_gpu_h);
        done = before;
        uusd_per_gpu_h = billing->changes[i].uusd_per_gpu_h;
    }
    add(&sum, micro_gpus, (quanta - done) * billing->quantum_ns, uusd_per_gpu_h);
    return total_uusd(&sum);
}
