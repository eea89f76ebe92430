/* A serving engine under a fixed number of users, each of whom sends the next request when the last answer is complete:
 * how public tables of TTFT and TPOT are measured. All requests are alike, none waits for memory.
 *
 * Iterations follow one another without a pause. Prompts are taken in order of arrival, whole or in chunks, as far as
 * the tokens of a batch allow, beside the sequences that decode or before them. Which iterations there are does not
 * depend on how long they take, so their mean composition tells what any cost per iteration, sequence or prompt adds. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_CLOSED_LOOP_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_CLOSED_LOOP_H

#include "models/iteration.h"

#include <stdbool.h>

struct closed_loop {
    int64_t users, prompt_tokens, output_tokens; /* output_tokens >= 2: a lone token has no time per output token */
    int64_t batch_tokens;  /* of an iteration */
    bool chunked;          /* prompts may be cut; else one that is too long for the batch has an iteration of its own */
    bool prompts_first;    /* sequences do not decode while there are prompts */
};

/* Means over the requests that start after each user has had one. */
struct closed_loop_times {
    double ttft_s;     /* from sending to the first token */
    double tpot_s;     /* per token after the first */
    double iterations; /* per token after the first: 1, and the iterations of prompts_first that let it wait */
    double sequences, prompts; /* served in these iterations, a chunk of a prompt like a whole one */
};

/* The duration of an iteration with this work. */
typedef double (*closed_loop_cost)(const void *context, const struct iteration_work *work);

/* Returns 0 or SIM_E_NOMEM. */
int closed_loop_run(const struct closed_loop *loop, closed_loop_cost cost, const void *context,
                    struct closed_loop_times *times);

#endif
