/* A serving engine under a fixed number of users, each of whom sends a request when the previous answer is complete.
 * Public tables of TTFT and TPOT are measured in this way. All requests are equal. If their keys and values fit into
 * memory `at_once` at a time, the other users wait.
 *
 * Requests arrive one by one, in the order of the last answers: one at the start of each iteration. Client, network and
 * tokenizer pass them on one after another, so that users whose answers end together do not stay in step. Out of step
 * every answer sees one prompt of each other user; in step it would see none. An iteration of prompts alone
 * (prompts_first) takes long: all requests on the way arrive during it, and their users stay in step.
 *
 * Iterations follow one another without a pause. Prompts are taken in order of arrival, whole or in chunks, up to the
 * tokens of a batch, beside the decoding sequences or before them. The composition of iterations does not depend on
 * their durations, so its mean gives the effect of any cost per iteration, sequence or prompt. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_CLOSED_LOOP_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_CLOSED_LOOP_H

#include "models/iteration.h"

#include <stdbool.h>

struct closed_loop {
    int64_t users, prompt_tokens, output_tokens; /* output_tokens >= 2: a lone token has no time per output token */
    int64_t batch_tokens;  /* of an iteration */
    bool chunked;          /* prompts may be cut; else a prompt longer than batch_tokens has its own iteration */
    int64_t at_once;       /* most requests with keys and values in memory; 0: all */
    bool prompts_first;    /* sequences do not decode while prompts wait */
    bool decode_only;      /* other GPUs process the prompts: all users decode, at contexts of any age; no TTFT */
};

/* Means over all requests but the first of each user. */
struct closed_loop_times {
    double ttft_s;     /* from arriving to the first token */
    double tpot_s;     /* per token after the first */
    double iterations; /* per token after the first: 1, plus iterations in which prompts_first delays it */
    double sequences, prompts; /* in these iterations; a chunk counts as a prompt */
    double ttft_iterations, ttft_sequences, ttft_prompts; /* from arriving to the first token */
};

/* The duration of an iteration with this work, in seconds. */
typedef double (*closed_loop_cost)(const void *context, const struct iteration_work *work);

/* Returns 0 or SIM_E_NOMEM. */
int closed_loop_run(const struct closed_loop *loop, closed_loop_cost cost, const void *context,
                    struct closed_loop_times *times);

#endif
