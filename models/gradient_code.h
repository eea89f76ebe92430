/* Gradient coding: workers compute some of the data more than once, so that a step can do without the results of
 * stragglers.
 *
 * n workers; the load is the share of the data that each computes per round, 1/n without coding.
 *
 *     GC        s: any s stragglers in each round. Load (s+1)/n, result at once (Tandon et al., ICML 2017)
 *     SR-SGC    B, W, lambda, B divides W-1: GC with s = ceil(B lambda / (W-1+B)), result B rounds later
 *     M-SGC     B, W, lambda: load (lambda+1)(W-1+B) / (n (B + (W-1)(lambda+1))), or (W-1+B) / (n (W-1)) if lambda = n;
 *               result W-2+B rounds later
 *
 * The last two (Krishnan et al., ICLR 2023, arXiv 2211.13802) tolerate stragglers of which in any W rounds at most
 * lambda differ, each in bursts of at most B rounds.
 *
 * A round: the master waits for (1 + patience) times the fastest worker. Workers that have not answered by then are
 * stragglers. If those of this and earlier rounds are tolerated, the round ends. Else it ends with the slowest worker,
 * and has no stragglers.
 *
 * The authors' released code checks SR-SGC by the same rule (selective_repeat_sgc.py, follows_straggler_model). That
 * is stricter than decoding: any n - s results of a step suffice (is_decodable). Its GC tolerates less than s
 * stragglers (gradient_coding.py), and here it is s at most, as in the paper of GC.
 *
 * Leaves out: decoding, which coefficients the code has, and what workers send. */
#ifndef ORRERY_MODELS_GRADIENT_CODE_H
#define ORRERY_MODELS_GRADIENT_CODE_H

#include <stdbool.h>
#include <stdint.h>

enum gradient_scheme { GRADIENT_PLAIN, GRADIENT_GC, GRADIENT_SR_SGC, GRADIENT_M_SGC };

struct gradient_code {
    enum gradient_scheme scheme;
    int32_t workers;
    int32_t stragglers;               /* s of GC */
    int32_t burst, window, different; /* B, W, lambda of the other two */
};

/* Share of the data that each worker computes per round. */
double gradient_code_load(const struct gradient_code *code);

/* Rounds between a step and its result. */
int32_t gradient_code_delay(const struct gradient_code *code);

/* Whether the stragglers of rounds 0 .. round are tolerated, if those up to the round before are. Worker i was late in
 * round r if late[r * workers + i]. */
bool gradient_code_tolerates(const struct gradient_code *code, const bool *late, int32_t round);

/* Time of so many steps, and the rounds after them in which the last results come. delay_s[r * workers + i]: what
 * worker i takes in round r beside slope_s times its load; [steps + delay][workers]. `late` has room for as many. */
double gradient_code_run_s(const struct gradient_code *code, const double *delay_s, double slope_s, double patience,
                           int32_t steps, bool *late);

#endif
