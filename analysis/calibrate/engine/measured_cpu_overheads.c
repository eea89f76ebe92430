/* Vidur's CPU overheads (microsoft/vidur, data/profiling/GPU/cpu_overheads.csv): the host's steps of a decode iteration
 * of vLLM of early 2024, in milliseconds, by batch size and tensor parallelism. Scheduling, preparing inputs, sampling,
 * processing outputs and the messages to the Ray workers follow one another; launching the model's kernels is left out,
 * since it overlaps with the GPU. Only one-GPU runs have no workers to talk to. */
#include "analysis/calibrate/engine/measured_format.h"

enum { BATCH, TENSOR, SCHEDULE, PREPARE, SAMPLE, PROCESS, RAY, COLUMNS };

static const char *const columns[COLUMNS] = {
    "batch_size",         "tensor_parallel_degree",       "schedule_median",   "prepare_inputs_e2e_median",
    "sampler_e2e_median", "process_model_outputs_median", "ray_comm_time_mean"};

static int read_row(struct measured_reader *reader)
{
    double values[COLUMNS], milliseconds = 0.0;
    for (size_t i = 0; i < COLUMNS; i++) {
        const int status = measured_number(reader, i, i <= TENSOR ? 1.0 : 0.0, &values[i]);
        if (status < 0) return status;
        if (i > TENSOR) milliseconds += values[i];
    }
    const struct measured_row row = {.kind = MEASURED_HOST,
                                     .engine = "vllm-2024",
                                     .tensor_parallel = (int64_t)values[TENSOR],
                                     .work = {.decode_sequences = (int64_t)values[BATCH]},
                                     .measured_s = 1e-3 * milliseconds,
                                     .group = "host",
                                     .fit = true};
    return measured_add(reader, &row);
}

const struct measured_format measured_cpu_overheads = {"vidur-cpu-overheads", "all rows", columns, COLUMNS, read_row};
