#include "models/gradient_code.h"

#include <math.h>

double gradient_code_load(const struct gradient_code *code)
{
    const double n = code->workers, b = code->burst, w = code->window, l = code->different;
    switch (code->scheme) {
    case GRADIENT_PLAIN: break;
    case GRADIENT_GC: return (code->stragglers + 1.0) / n;
    case GRADIENT_SR_SGC: return (ceil(b * l / (w - 1.0 + b)) + 1.0) / n;
    case GRADIENT_M_SGC:
        if (code->different == code->workers) return (w - 1.0 + b) / (n * (w - 1.0));
        return (l + 1.0) * (w - 1.0 + b) / (n * (b + (w - 1.0) * (l + 1.0)));
    }
    return 1.0 / n;
}

int32_t gradient_code_delay(const struct gradient_code *code)
{
    if (code->scheme == GRADIENT_SR_SGC) return code->burst;
    return code->scheme == GRADIENT_M_SGC ? code->window - 2 + code->burst : 0;
}

static int32_t count_late(const struct gradient_code *code, const bool *late, int32_t round)
{
    int32_t n = 0;
    for (int32_t i = 0; i < code->workers; i++) n += late[(int64_t)round * code->workers + i];
    return n;
}

/* Of the W rounds that end with `round`: at most lambda workers are late in any, and the rounds in which each is late
 * span at most B. */
static bool is_bursty(const struct gradient_code *code, const bool *late, int32_t round)
{
    const int32_t first = round - code->window + 1 > 0 ? round - code->window + 1 : 0;
    int32_t different = 0;
    for (int32_t i = 0; i < code->workers; i++) {
        int32_t begin = -1, end = -1;
        for (int32_t r = first; r <= round; r++) {
            if (!late[(int64_t)r * code->workers + i]) continue;
            if (begin < 0) begin = r;
            end = r;
        }
        different += begin >= 0;
        if (begin >= 0 && end - begin + 1 > code->burst) return false;
    }
    return different <= code->different;
}

bool gradient_code_tolerates(const struct gradient_code *code, const bool *late, int32_t round)
{
    switch (code->scheme) {
    case GRADIENT_PLAIN: break;
    case GRADIENT_GC: return count_late(code, late, round) <= code->stragglers;
    case GRADIENT_SR_SGC:
    case GRADIENT_M_SGC: return is_bursty(code, late, round);
    }
    return count_late(code, late, round) == 0;
}

double gradient_code_run_s(const struct gradient_code *code, const double *delay_s, double slope_s, double patience,
                           int32_t steps, bool *late)
{
    const double work_s = slope_s * gradient_code_load(code);
    const int32_t n = code->workers;
    double sum_s = 0.0;
    for (int32_t round = 0; round < steps + gradient_code_delay(code); round++) {
        const double *of_round = &delay_s[(int64_t)round * n];
        double fastest_s = (double)INFINITY, slowest_s = 0.0;
        for (int32_t i = 0; i < n; i++) {
            fastest_s = fmin(fastest_s, of_round[i] + work_s);
            slowest_s = fmax(slowest_s, of_round[i] + work_s);
        }
        const double limit_s = (1.0 + patience) * fastest_s;
        for (int32_t i = 0; i < n; i++) late[(int64_t)round * n + i] = of_round[i] + work_s > limit_s;
        const bool waits = !gradient_code_tolerates(code, late, round);
        for (int32_t i = 0; i < n && waits; i++) late[(int64_t)round * n + i] = false;
        sum_s += waits ? slowest_s : fmin(limit_s, slowest_s);
    }
    return sum_s;
}
