/* aiconfigurator's matrix products (ai-dynamo/aiconfigurator, systems/data/.../gemm_perf): isolated kernels of one GPU
 * by type and m, n, k, in milliseconds. Of the types, bfloat16 and fp8 with a scale per row are read; fp8 with a scale
 * per block is another kernel, a third to two times slower. */
#include "analysis/calibrate/profile/profile_format.h"

#include <math.h>

static bool recognise(const struct profile_reader *reader)
{
    static const char *const columns[] = {"gemm_dtype", "m", "n", "k", "latency", NULL};
    return profile_has_columns(reader, columns);
}

struct gemm_columns {
    int dtype, m, n, k, latency;
};

/* The class of a type; KERNEL_CLASS_COUNT for one that is not read. */
static enum kernel_class class_of(const struct profile_reader *reader, int dtype)
{
    if (profile_text_is(reader, dtype, "bfloat16") || profile_text_is(reader, dtype, "float16")) return KERNEL_GEMM;
    if (profile_text_is(reader, dtype, "fp8")) return KERNEL_GEMM_FP8;
    return KERNEL_CLASS_COUNT;
}

static int read_row(struct profile_reader *reader, const struct gemm_columns *columns)
{
    const enum kernel_class class = class_of(reader, columns->dtype);
    if (class == KERNEL_CLASS_COUNT) {
        profile_drop(reader->profile, "type of numbers not read", 1);
        return 0;
    }
    const enum number_format format = class == KERNEL_GEMM ? FORMAT_BF16 : FORMAT_FP8;
    struct gemm_shape shape = {.weights = format, .compute = format};
    double milliseconds = (double)NAN;
    int status = profile_number(reader, columns->m, 1.0, &shape.m);
    if (status == 0) status = profile_number(reader, columns->n, 1.0, &shape.n);
    if (status == 0) status = profile_number(reader, columns->k, 1.0, &shape.k);
    if (status == 0) status = profile_number(reader, columns->latency, 0.0, &milliseconds);
    struct profile_row row = {.call = {.class = class, .shape.gemm = shape},
                              .op = OP_UP,
                              .measured_s = milliseconds * 1e-3,
                              .tokens = shape.m};
    if (status == 0) status = profile_group(reader, &row.group, "n%g k%g", shape.n, shape.k);
    return status == 0 ? profile_add(reader, &row) : status;
}

static int read(struct profile_reader *reader)
{
    reader->profile->set = "isolated";
    reader->profile->grouped_by = "shape";
    const struct gemm_columns columns = {profile_column(reader, "gemm_dtype"), profile_column(reader, "m"),
                                         profile_column(reader, "n"), profile_column(reader, "k"),
                                         profile_column(reader, "latency")};
    int status;
    while ((status = profile_next(reader)) > 0) {
        status = read_row(reader, &columns);
        if (status < 0) break;
    }
    return status;
}

const struct profile_format profile_aiconfigurator_gemm = {"aiconfigurator-gemm", recognise, read};
