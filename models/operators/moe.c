#include "models/operators/moe.h"

#include "models/operators/kernel_time.h"

#include <math.h>
#include <stdbool.h>

/* --- Loads of experts --- */

enum { WHOLE_POINTS = 32, OWN_POINTS = 16, HALVINGS = 20 };

/* A power law by its quantiles: the value at u in 0..1 is (offset + span u)^exponent. */
struct load_law {
    double offset, span, exponent;
    double scale; /* makes the mean that of the rows of an expert */
};

static double law_value(const struct load_law *law, double u)
{
    return law->scale * pow(law->offset + law->span * u, law->exponent);
}

/* value^power over an upper share of the law: what no share changes. */
struct law_power {
    const struct load_law *law;
    double exponent, to, scale; /* scale and to: raised */
};

static struct law_power raised_law(const struct load_law *law, double power)
{
    const double exponent = power * law->exponent + 1.0;
    return (struct law_power){law, exponent, pow(law->offset + law->span, exponent), pow(law->scale, power)};
}

/* Its mean over the upper `share`. */
static double mean_of(const struct law_power *raised, double share)
{
    const struct load_law *law = raised->law;
    const double from = law->offset + law->span * (1.0 - share), to = law->offset + law->span;
    const double near_zero = 1e-6; /* where the integral of x^(exponent - 1) is that of 1/x */
    if (fabs(raised->exponent) < near_zero) return raised->scale * log(to / from) / (law->span * share);
    return raised->scale * (raised->to - pow(from, raised->exponent)) / (law->span * raised->exponent * share);
}

static double law_moment(const struct load_law *law, double power, double share)
{
    const struct law_power raised = raised_law(law, power);
    return mean_of(&raised, share);
}

static struct load_law law_of(const struct expert_load_shape *shape, double mean_rows)
{
    const bool many = shape->tokens * shape->chosen > shape->experts;
    const double low = many ? 1.0 : 0.01, high = many ? fmax(0.8 * shape->tokens, 1.01) : 2.0;
    const double near_one = 1e-3; /* at an exponent of 1 the law is the limit of its neighbours */
    const double power = fabs(1.0 - shape->skew) < near_one ? -near_one : 1.0 - shape->skew;
    struct load_law law = {pow(low, power), pow(high, power) - pow(low, power), 1.0 / power, 1.0};
    law.scale = mean_rows / law_moment(&law, 1.0, 1.0);
    return law;
}

/* About the largest of n standard normal numbers (Blom 1958; Abramowitz and Stegun 26.2.23). */
static double largest_normal(double n)
{
    const double t = sqrt(-2.0 * log(0.625 / (n + 0.25)));
    return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

/* The upper share of the law that the experts of the busiest GPU come from. */
static double busiest_share(const struct load_law *law, const struct expert_load_shape *shape)
{
    if (shape->held >= shape->experts) return 1.0;
    const struct law_power plain = raised_law(law, 1.0);
    const double mean = mean_of(&plain, 1.0);
    const double variation = law_moment(law, 2.0, 1.0) / (mean * mean) - 1.0;
    const double sum_shape = shape->held / variation, z = largest_normal(shape->experts / shape->held);
    const double ratio = pow(fmax(1.0, 1.0 - 1.0 / (9.0 * sum_shape) + z / (3.0 * sqrt(sum_shape))), 3.0);
    double low = 1.0 / shape->experts, high = 1.0;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = 0.5 * (low + high);
        if (mean_of(&plain, middle) > ratio * mean)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Rows of experts at `n` quantiles of the upper `share` of the law, none above `most`; returns their mean. */
static double sample_law(const struct load_law *law, double share, double most, int n, double rows[WHOLE_POINTS])
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
        rows[i] = fmin(law_value(law, 1.0 - share * (1.0 - (i + 0.5) / n)), most);
        sum += rows[i];
    }
    return sum / n;
}

static int points(double experts, int most)
{
    return experts < most ? (int)fmax(experts, 1.0) : most;
}

/* Rows beyond the cap go to the other experts in proportion to their room. */
static void fill_up(double rows[WHOLE_POINTS], int n, double most, double missing_share)
{
    for (int i = 0; i < n; i++) rows[i] += missing_share * (most - rows[i]);
}

/* Load of the experts at n points, each standing for `weight` experts; less than half a row is none. */
static struct expert_load sum_points(const double rows[WHOLE_POINTS], int n, double weight, double tile_rows)
{
    struct expert_load load = {0.0, 0.0, 0.0};
    for (int i = 0; i < n; i++) {
        if (rows[i] < 0.5) continue;
        load.touched += weight;
        load.rows += weight * rows[i];
        load.tiles += weight * ceil(rows[i] / tile_rows);
    }
    return load;
}

static double mean_rounded(const double rows[WHOLE_POINTS], int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += round(rows[i]);
    return sum / n;
}

static struct expert_load power_law_load(const struct expert_load_shape *shape, double tile_rows)
{
    const double choices = shape->tokens * shape->chosen, mean = choices / shape->experts, most = shape->tokens;
    const bool all = shape->held >= shape->experts;
    const struct load_law law = law_of(shape, mean);
    double rows[WHOLE_POINTS];
    int n = points(shape->experts, WHOLE_POINTS);
    const double capped_mean = sample_law(&law, 1.0, most, n, rows);
    const double missing_share = most > capped_mean ? fmax(mean - capped_mean, 0.0) / (most - capped_mean) : 0.0;
    fill_up(rows, n, most, missing_share);
    const double lost = fmax(choices - shape->experts * mean_rounded(rows, n), 0.0);
    if (!all) {
        n = points(shape->held, OWN_POINTS);
        sample_law(&law, busiest_share(&law, shape), most, n, rows);
        fill_up(rows, n, most, missing_share);
    }
    struct expert_load load = sum_points(rows, n, shape->held / n, tile_rows);
    const double rounding = 1e-9;
    const double rest = shape->dealt ? ceil(lost * shape->held / shape->experts - rounding) : lost;
    const double left = fmin(rest, shape->held - load.touched);
    load.touched += left;
    load.tiles += left;
    load.rows = all ? choices : fmax(load.rows + left, load.touched);
    return load;
}

struct expert_load expert_load_of(const struct expert_load_shape *shape, double tile_rows)
{
    if (shape->skew > 0.0 && shape->tokens >= 1.0) return power_law_load(shape, tile_rows);
    struct expert_load load = {.rows = shape->tokens * shape->chosen * shape->held / shape->experts};
    if (!(load.rows > 0.0)) return load;
    if (shape->in_turn) {
        load.touched = fmin(shape->held, fmax(load.rows, 1.0));
        load.tiles = load.touched * ceil(load.rows / load.touched / tile_rows);
    } else {
        load.touched = shape->held * (1.0 - pow(1.0 - shape->chosen / shape->experts, shape->tokens));
        load.tiles = load.touched * fmax(1.0, load.rows / load.touched / tile_rows + 0.5);
    }
    return load;
}

/* --- The layer --- */

struct tile {
    double rows, columns;
};

static struct tile tile_of(const struct moe_shape *shape)
{
    return shape->tokens <= shape->held ? (struct tile){16.0, 32.0} : (struct tile){64.0, 64.0};
}

static struct expert_load load_of(const struct moe_shape *shape, double tile_rows)
{
    const struct expert_load_shape load = {.tokens = shape->tokens,
                                           .chosen = shape->chosen,
                                           .experts = shape->experts,
                                           .held = shape->held,
                                           .skew = shape->skew,
                                           .in_turn = shape->in_turn,
                                           .dealt = shape->dealt};
    return expert_load_of(&load, tile_rows);
}

/* Operations of one of the two products with `n` columns and sums of length `k`, counting idle SMs as busy. */
static double occupied_flop(const struct moe_params *params, const struct gpu_spec *gpu, struct tile tile,
                            double row_tiles, double n, double k)
{
    const double tiles = row_tiles * ceil(n / tile.columns), wanted = params->tiles_per_sm * (double)gpu->sm_count;
    if (!(tiles > 0.0)) return 0.0;
    return 2.0 * row_tiles * tile.rows * n * k * fmax(1.0, wanted / tiles);
}

static double compute_s(const struct moe_params *params, const struct gpu_spec *gpu, const struct moe_shape *shape,
                        struct tile tile, double row_tiles)
{
    const double up = (shape->matrices - 1.0) * shape->inner;
    const double flop = occupied_flop(params, gpu, tile, row_tiles, up, shape->hidden) +
                        occupied_flop(params, gpu, tile, row_tiles, shape->hidden, shape->inner);
    const double state_bytes = shape->tokens * shape->hidden * number_format_bytes(FORMAT_FP16);
    const double loss = gpu->l2_bytes > 0.0 ? params->cache_loss * log1p(state_bytes / gpu->l2_bytes) : 0.0;
    return flop * (1.0 + loss) / (params->flop_frac * gpu_peak_flop_per_s(gpu, shape->compute));
}

/* Choices of experts on other GPUs that this GPU walks along. */
static double choices_elsewhere(const struct moe_shape *shape, const struct expert_load *load)
{
    if (shape->dispatched && !shape->whole_tokens) return 0.0;
    const double missed_share = shape->dispatched ? pow(1.0 - shape->held / shape->experts, shape->chosen) : 0.0;
    return fmax(shape->tokens * (1.0 - missed_share) * shape->chosen - load->rows, 0.0);
}

/* The up projection is written and read, its activation written and read, the down projection written and read; 16 bits
 * wide whatever the weights are. */
static double pass_bytes(const struct moe_params *params, const struct moe_shape *shape, const struct expert_load *load)
{
    const double choices = load->rows + (1.0 - params->spared_frac) * choices_elsewhere(shape, load);
    return 2.0 * number_format_bytes(FORMAT_FP16) * choices * (shape->matrices * shape->inner + shape->hidden);
}

void moe_spread(struct moe_shape *shape)
{
    shape->load = load_of(shape, tile_of(shape).rows);
    shape->is_spread = true;
}

struct kernel_time moe_time(const struct moe_params *params, const struct gpu_spec *gpu, const struct moe_shape *shape)
{
    const struct tile tile = tile_of(shape);
    const struct expert_load load = shape->is_spread ? shape->load : load_of(shape, tile.rows);
    const double weights = shape->matrices * shape->hidden * shape->inner;
    const double weight_bytes = load.touched * weights * number_format_bytes(shape->weights);
    const double passed_bytes = pass_bytes(params, shape, &load);
    const double pass_s = passed_bytes / (params->pass_frac * gpu->memory_bytes_per_s);
    const double weight_s = weight_bytes / (params->bandwidth_frac * gpu->memory_bytes_per_s);
    struct kernel_time time = {
        .flop = 2.0 * load.rows * weights,
        .bytes = weight_bytes + passed_bytes,
        .overhead_s = params->start_s + shape->held * params->held_s + load.touched * params->expert_s,
        .compute_s = compute_s(params, gpu, shape, tile, load.tiles),
        .memory_s = weight_s + pass_s,
    };
    time.seconds = time.overhead_s + pass_s + soft_max(time.compute_s, weight_s, params->softness);
    return time;
}
