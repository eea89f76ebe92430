/* aiconfigurator's collectives (ai-dynamo/aiconfigurator, systems/data/.../comm): isolated operations among the GPUs of
 * one node, in milliseconds.
 *
 * nccl_perf: NCCL's operations by name. custom_allreduce_perf: vLLM's own all-reduce, launched by a CUDA graph or by the
 * host; the rows of the host measure the host and are left out, as are messages that vLLM hands to NCCL. In both,
 * message_size counts numbers: rows of twice as many int8 as half take equally long. */
#include "analysis/calibrate/profile/profile_format.h"

#include <math.h>

static const double direct_max_bytes = 8 * 1024 * 1024;

struct collective_columns {
    int name, dtype, gpus, size, latency, backend;
};

static bool is_custom(const struct collective_columns *columns)
{
    return columns->name < 0;
}

static struct collective_columns find_columns(const struct profile_reader *reader)
{
    const struct collective_columns columns = {
        .name = profile_column(reader, "op_name"),
        .dtype = profile_column(reader, "nccl_dtype"),
        .gpus = profile_column(reader, "num_gpus"),
        .size = profile_column(reader, "message_size"),
        .latency = profile_column(reader, "latency"),
        .backend = profile_column(reader, "backend"),
    };
    return columns;
}

static bool recognise(const struct profile_reader *reader)
{
    const struct collective_columns columns = find_columns(reader);
    const bool nccl = columns.name >= 0 && columns.dtype >= 0;
    const bool custom = columns.backend >= 0 && profile_column(reader, "allreduce_dtype") >= 0;
    return columns.gpus >= 0 && columns.size >= 0 && columns.latency >= 0 && (nccl || custom);
}

/* Whether the row names an operation that is known; its class and operator. */
static bool find_class(const struct profile_reader *reader, const struct collective_columns *columns,
                       struct profile_row *row)
{
    static const struct {
        const char *name;
        enum kernel_class class;
        enum llm_operator op;
    } operations[] = {
        {"all_reduce", KERNEL_ALL_REDUCE, OP_ALL_REDUCE},
        {"all_gather", KERNEL_ALL_GATHER, OP_ALL_GATHER},
        {"reduce_scatter", KERNEL_REDUCE_SCATTER, OP_REDUCE_SCATTER},
        {"alltoall", KERNEL_ALL_TO_ALL, OP_ALL_TO_ALL},
    };
    row->call.class = KERNEL_DIRECT_ALL_REDUCE;
    row->op = OP_ALL_REDUCE;
    if (is_custom(columns)) return true;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!profile_text_is(reader, columns->name, operations[i].name)) continue;
        row->call.class = operations[i].class;
        row->op = operations[i].op;
        return true;
    }
    return false;
}

/* Why the row is left out, NULL when it is not. */
static const char *reason_to_drop(const struct profile_reader *reader, const struct collective_columns *columns,
                                  double bytes)
{
    if (!is_custom(columns)) return NULL;
    if (!profile_text_is(reader, columns->backend, "vllm_graph")) return "launched by the host";
    return bytes >= direct_max_bytes ? "not done by the custom kernel" : NULL;
}

static int read_row(struct profile_reader *reader, const struct collective_columns *columns)
{
    struct profile_row row = {.tokens = 0.0};
    if (!find_class(reader, columns, &row)) {
        profile_drop(reader->profile, "operation not read", 1);
        return 0;
    }
    const bool whole_numbers = profile_text_is(reader, columns->dtype, "int8");
    struct collective_shape *shape = &row.call.shape.collective;
    double numbers = (double)NAN, milliseconds = (double)NAN;
    int status = profile_number(reader, columns->size, 1.0, &numbers);
    if (status == 0) status = profile_number(reader, columns->gpus, 1.0, &shape->gpus);
    if (status == 0) status = profile_number(reader, columns->latency, 0.0, &milliseconds);
    if (status < 0) return status;
    if (!(shape->gpus >= 1.0)) {
        profile_drop(reader->profile, "no number of GPUs", 1);
        return 0;
    }
    shape->bytes = numbers * number_format_bytes(whole_numbers ? FORMAT_INT8 : FORMAT_FP16);
    shape->nodes = 1.0;
    shape->link_bytes_per_s = gpu_link_bytes_per_s(reader->options->gpu, (int64_t)shape->gpus);
    shape->switch_adds = !whole_numbers && gpu_switch_adds(reader->options->gpu, (int64_t)shape->gpus);
    row.measured_s = milliseconds * 1e-3;
    const char *reason = reason_to_drop(reader, columns, shape->bytes);
    if (reason != NULL) {
        profile_drop(reader->profile, reason, 1);
        return 0;
    }
    status = profile_group(reader, &row.group, "%.0f bytes", shape->bytes);
    return status == 0 ? profile_add(reader, &row) : status;
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "isolated";
    reader->profile->grouped_by = "size";
    const struct collective_columns columns = find_columns(reader);
    int status;
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader, &columns);
        if (status < 0) break;
    }
    return status;
}

const struct profile_format profile_nccl = {"aiconfigurator-collectives", recognise, read};
