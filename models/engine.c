#include "models/engine.h"

struct piece engine_iteration(const struct engine_params *params, double layers, const struct iteration_work *work,
                              struct piece gpu)
{
    const int64_t tokens = work->prefill_tokens + work->decode_sequences;
    const double sequences = (double)(work->prefill_sequences + work->decode_sequences);
    const double launch_s = tokens > params->graph_tokens ? layers * params->layer_launch_s : 0.0;
    const double waiting_s = params->iteration_s + sequences * params->sequence_s +
                             (work->prefill_tokens > 0 ? params->prompt_s : 0.0);
    return piece_add(piece_max(gpu, piece_line(launch_s, 0.0)), piece_line(waiting_s, 0.0));
}
