/* Vidur's collectives (microsoft/vidur, data/profiling/network/TOPOLOGY/{all_reduce,send_recv}.csv): one row per rank,
 * size in bytes, GPUs and GPUs of a node, in milliseconds, of few repetitions started by the host. All ranks of an
 * operation end together: rank 0 is read.
 *
 * The links of bridged pairs (a100_pairwise_nvlink) and between the pairs are those of the GPU's data sheet. Of the
 * network between nodes only its speed is known: eight GPUs of two A100 machines with a switch reach 22 GB/s, so these
 * are taken to have one adapter each, of 200 Gb/s, and those with H100 one of 400 Gb/s, which their GPUs share. Rows of
 * fewer than four GPUs of a node, which do not fill it, and those between nodes of other machines are left out. The name
 * of the file tells the topology ("network__a100_dgx__all_reduce.csv"), its folders do not. */
#include "analysis/calibrate/profile/profile_format.h"

#include <math.h>
#include <string.h>

static const double min_gpus_at_adapter = 4.0;

struct network_columns {
    int collective, rank, workers, per_node, size, median;
};

static struct network_columns find_columns(const struct profile_reader *reader)
{
    struct network_columns columns = {
        .collective = profile_column(reader, "collective"),
        .rank = profile_column(reader, "rank"),
        .workers = profile_column(reader, "num_workers"),
        .per_node = profile_column(reader, "devices_per_node"),
        .size = profile_column(reader, "size"),
        .median = profile_column(reader, "time_stats.all_reduce.median"),
    };
    if (columns.median < 0) columns.median = profile_column(reader, "time_stats.send_recv.median");
    return columns;
}

static bool recognise(const struct profile_reader *reader)
{
    const struct network_columns columns = find_columns(reader);
    return columns.collective >= 0 && columns.workers >= 0 && columns.per_node >= 0 && columns.size >= 0 &&
           columns.median >= 0;
}

/* Of the adapter of a node, by the topology in the file's name; 0 where it is not known. */
static double adapter_bytes_per_s(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    if (strstr(name, "a100_dgx") != NULL) return 25e9;
    return strstr(name, "h100_dgx") != NULL ? 50e9 : 0.0;
}

static const char *reason_to_drop(const struct profile_reader *reader, const struct network_columns *columns,
                                  const struct profile_row *row)
{
    const struct collective_shape *shape = &row->call.shape.collective;
    if (columns->rank >= 0 && !profile_text_is(reader, columns->rank, "0")) return "another rank of the same operation";
    if (!(shape->nodes > 1.0)) return NULL;
    if (!(shape->network_bytes_per_s > 0.0))
        return "between nodes, whose network the file's name (a100_dgx, h100_dgx) does not tell";
    if (row->call.class == KERNEL_SEND || shape->gpus / shape->nodes >= min_gpus_at_adapter) return NULL;
    return "too few GPUs of a node to fill its adapter";
}

static void set_links(const struct profile_reader *reader, double per_node, struct collective_shape *shape)
{
    const struct gpu_spec *gpu = reader->options->gpu;
    const int64_t gpus = (int64_t)(shape->gpus < per_node ? shape->gpus : per_node);
    shape->nodes = ceil(shape->gpus / per_node);
    shape->link_bytes_per_s = gpu_link_bytes_per_s(gpu, gpus);
    shape->network_bytes_per_s = adapter_bytes_per_s(reader->profile->path) / per_node;
    shape->switch_adds = gpu_switch_adds(gpu, gpus);
}

static int read_row(struct profile_reader *reader, const struct network_columns *columns)
{
    const bool send = profile_text_is(reader, columns->collective, "send_recv");
    struct profile_row row = {.call.class = send ? KERNEL_SEND : KERNEL_ALL_REDUCE,
                              .op = send ? OP_SEND : OP_ALL_REDUCE};
    struct collective_shape *shape = &row.call.shape.collective;
    double per_node = (double)NAN, milliseconds = (double)NAN;
    shape->nodes = (double)NAN;
    int status = profile_number(reader, columns->size, 1.0, &shape->bytes);
    if (status == 0) status = profile_number(reader, columns->workers, 1.0, &shape->gpus);
    if (status == 0) status = profile_number(reader, columns->per_node, 1.0, &per_node);
    if (status == 0) status = profile_number(reader, columns->median, 0.0, &milliseconds);
    if (status == 0) status = profile_group(reader, &row.group, "%.0f bytes", shape->bytes);
    if (status < 0) return status;
    if (shape->gpus >= 1.0 && per_node >= 1.0) set_links(reader, per_node, shape);
    row.measured_s = milliseconds * 1e-3;
    const char *reason = reason_to_drop(reader, columns, &row);
    if (reason != NULL) {
        profile_drop(reader->profile, reason, 1);
        return 0;
    }
    return profile_add(reader, &row);
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "in-model";
    reader->profile->grouped_by = "size";
    const struct network_columns columns = find_columns(reader);
    int status;
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader, &columns);
        if (status < 0) break;
    }
    return status;
}

const struct profile_format profile_vidur_network = {"vidur-network", recognise, read};
