#include "models/engine.h"

struct piece engine_iteration(const struct engine_params *params, double layers, const struct iteration_work *work,
                              struct piece gpu)
{
    const int64_t tokens = work->prefill_tokens + work->decode_sequences;
    const double prompts = (double)work->prefill_sequences, sequences = prompts + (double)work->decode_sequences;
    const double launch_s = tokens > params->graph_tokens ? layers * params->layer_launch_s : 0.0;
    const double waiting_s = params->iteration_s + sequences * params->sequence_s + prompts * params->prompt_s;
    return piece_add(piece_max(gpu, piece_line(launch_s, 0.0)), piece_line(waiting_s, 0.0));
}
