/* Electric power of one GPU as a function of its achieved load and its clock.
 *
 *     P = context + v^2 f active busy + v^2 (compute u_c + widening u_w) + memory u_m + attention u_a,
 *
 * at most the power limit. u_c and u_m are the achieved shares of the peak FLOP/s and of the peak memory bandwidth.
 * busy is the share of time in which kernels run, f the SM clock over the highest one, v the core's voltage over that
 * of the highest clock. u_a is the part of u_m that reads keys and values: kernels of attention process them in tiles
 * of which few rows are queries. u_w is the rate at which weights become numbers of the wider format that is
 * multiplied, in bytes of that format over the peak memory bandwidth. GPUs whose tensor cores lack the weights' format,
 * or its scales by block, widen weights with other instructions.
 *
 * Every term is the dynamic power of CMOS, a C V^2 f (Chandrakasan et al., IEEE JSSC 1992), per component, weighted by
 * the component's utilisation as in Guerreiro et al., "GPGPU Power Modeling for Multi-Domain Voltage-Frequency Scaling"
 * (HPCA 2018). What is achieved per second has f in it already. Memory has a clock and a voltage of its own, which do
 * not follow the core's. Attention counts as memory. An idle GPU draws `context` with a process on it, which keeps its
 * clocks up, and gpu_spec.idle_w without one.
 *
 * Voltage falls with the clock in a straight line down to a knee, below which it stays:
 *
 *     v(f) = floor + (1 - floor) max(0, (f - knee) / (1 - knee))
 *
 * A lower clock f stretches the share s of the time that waits for the core: speed = 1 / (1 - s + s / f) (Splitwise,
 * ISCA 2024, and POLCA, ASPLOS 2024: prompts follow the clock, decoding hardly does). A power limit below the demand
 * lowers the clock until the demand meets it.
 *
 * Leaves out temperature (leakage), the values that numbers have (zeros take half the power of random ones), fans, and
 * all of the server but its GPUs: CPUs, NICs, power supplies. Power is that of milliseconds and longer: excursions
 * beyond the limit, which regulation takes time to end, are none of it. */
#ifndef ORRERY_MODELS_POWER_H
#define ORRERY_MODELS_POWER_H

/* Watts of one GPU at its highest clock. NAN if unknown. */
struct power_model {
    double context_w; /* with a process and idle */
    double limit_w;   /* the board's */
    double active_w;  /* in addition to context_w, while kernels run */
    double compute_w; /* in addition, at peak FLOP/s */
    double memory_w;  /* in addition, at peak memory bandwidth */
    double voltage_floor, voltage_knee; /* of v(f): 0 < floor <= 1, 0 <= knee < 1 */
    double attention_w; /* in addition to memory_w, where all of the bandwidth reads keys and values */
    double widening_w;  /* in addition, where the widened weights per second would fill the bandwidth */
};

/* Achieved load of a GPU, averaged over some time. */
struct power_load {
    double busy_frac, compute_frac, memory_frac;
    double attention_frac; /* the part of memory_frac that reads keys and values */
    double widening_frac;  /* bytes of widened weights per second, over the peak memory bandwidth */
};

/* Effects of a clock, as shares of the highest clock and of the speed at it. */
struct power_state {
    double clock_frac, speed_frac, power_w;
};

/* The slowest clock, as a share of the highest one: 210 of 1410 MHz on an A100. */
#define POWER_LEAST_CLOCK_FRAC 0.15

/* Watts at the highest clock without power limit. */
double power_demand_w(const struct power_model *model, const struct power_load *load);

/* Watts at the highest clock, at most the limit. */
double power_draw_w(const struct power_model *model, const struct power_load *load);

/* v(f). */
double power_voltage_frac(const struct power_model *model, double clock_frac);

/* At a clock of 0 < clock_frac <= 1, no limit in the way. `load` is that at the highest clock, of work of which
 * `clock_share` of the time waits for the core. */
struct power_state power_at_clock(const struct power_model *model, const struct power_load *load, double clock_share,
                                  double clock_frac);

/* At the highest clock whose power is within `cap_w` and the limit; if there is none, at the slowest clock, above the
 * cap. */
struct power_state power_under_cap(const struct power_model *model, const struct power_load *load, double clock_share,
                                   double cap_w);

/* A part of work that repeats itself: seconds at the highest clock, and the load of the GPU in them. A load beyond the
 * limit is scaled down to it: times are measured under that limit. */
struct power_stage {
    double time_s;
    struct power_load load;
    double clock_share;
};

/* Of n phases, one after another, at a clock and under a cap: each phase runs at the clock, or at the highest one below
 * it whose power is within the cap. clock_frac is the lowest of them; speed_frac and power_w are of all phases
 * together, by their times. All times 0: no speed is lost, and the power is context_w. */
struct power_state power_of_phases(const struct power_model *model, const struct power_stage *phases, int n,
                                   double clock_frac, double cap_w);

/* A job that alternates between kernels, which draw context_w + active_w + memory_w, and idling, and so draws `mean_w`
 * in the long run without a cap (at most the kernels' power; a job that draws more has kernels that draw more): under a
 * cap the kernels run at a lower clock, the idling lasts as long. speed_frac and power_w are of the whole job. */
struct power_state power_job_under_cap(const struct power_model *model, double clock_share, double mean_w,
                                       double cap_w);

#endif
