/* CPU overhead that a serving engine adds to the GPU time of an iteration.
 *
 *     iteration = max(GPU, launch) + iteration_s + sequences sequence_s + prompts prompt_s
 *     launch = layers layer_launch_s, or 0 when the batch replays a captured CUDA graph
 *
 * With `overlapped` the host schedules an iteration while the GPU works on the one before, and the slower counts:
 *
 *     iteration = max(GPU, launch, iteration_s + sequences sequence_s + prompts prompt_s)
 *
 * A host that launches kernels one by one runs ahead of a slow GPU and limits a fast one: the slower of both counts.
 * Scheduling, preparing inputs, messages to the workers of the other GPUs and sampling wait for the GPU and are added,
 * unless overlapped. Left out: presets of engines that overlap, and were fitted without saying so, have a small
 * iteration_s; stalls of the memory allocator (see configs/engines/vllm-0.2.json). */
#ifndef ORRERY_MODELS_ENGINE_H
#define ORRERY_MODELS_ENGINE_H

#include "models/iteration.h"
#include "models/piece.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct engine_params {
    double layer_launch_s; /* launching the kernels of one layer, one by one */
    double iteration_s;    /* every iteration */
    double sequence_s;     /* each sequence of the batch: its prompt, or its token */
    double prompt_s;       /* each prompt, or chunk of one, on top of that */
    bool overlapped;       /* iteration_s, sequence_s and prompt_s pass while the GPU works */
    int64_t graph_tokens;  /* batches of at most this many tokens, prompts included, replay a CUDA graph; 0: none */
};

/* What the host takes of an iteration, whatever the GPU does: beside the GPU; and what waits for it. */
struct engine_seconds {
    double launch_s, waiting_s;
};

/* CPU overhead of so many iterations, sequences and prompts in them; means, if they are not whole. */
static inline double engine_host_s(const struct engine_params *params, double iterations, double sequences,
                                   double prompts)
{
    return iterations * params->iteration_s + sequences * params->sequence_s + prompts * params->prompt_s;
}

/* Seconds of these iterations, which keep the GPU, or launching for it, busy for busy_s. If overlapped, and the longer
 * of both is not the same in all of them, this is too little. */
static inline double engine_sum_s(const struct engine_params *params, double busy_s, double iterations,
                                  double sequences, double prompts)
{
    if (params->overlapped) return fmax(busy_s, engine_host_s(params, iterations, sequences, prompts));
    return busy_s + iterations * params->iteration_s + sequences * params->sequence_s + prompts * params->prompt_s;
}

/* Of an iteration of `layers` layers (of one pipeline stage). Contexts of sequences do not matter. */
static inline struct engine_seconds engine_seconds(const struct engine_params *params, double layers,
                                                   const struct iteration_work *work)
{
    const int64_t tokens = work->prefill_tokens + iteration_decode_tokens(work);
    const double prompts = (double)work->prefill_sequences, sequences = prompts + (double)work->decode_sequences;
    const double launch_s = tokens > params->graph_tokens ? layers * params->layer_launch_s : 0.0;
    const double host_s = engine_host_s(params, 1.0, sequences, prompts);
    return (struct engine_seconds){.launch_s = params->overlapped ? fmax(launch_s, host_s) : launch_s,
                                   .waiting_s = params->overlapped ? 0.0 : host_s};
}

/* Seconds of that iteration along a run whose GPU time is `gpu`. */
static inline struct piece engine_iteration(const struct engine_params *params, double layers,
                                            const struct iteration_work *work, struct piece gpu)
{
    const struct engine_seconds host = engine_seconds(params, layers, work);
    return piece_add(piece_max(gpu, piece_line(host.launch_s, 0.0)), piece_line(host.waiting_s, 0.0));
}

#endif
