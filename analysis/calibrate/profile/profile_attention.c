#include "analysis/calibrate/profile/profile_attention.h"

const char profile_faster_than_memory[] = "faster than the memory";

static int find_group(struct profile_reader *reader, const struct profile_heads *heads, uint32_t *group)
{
    return profile_group(reader, group, "%g/%g heads", heads->query, heads->kv);
}

int profile_add_prefill(struct profile_reader *reader, const struct profile_heads *heads,
                        const struct profile_chunks *chunks, double seconds)
{
    const struct prefill_shape shape = {
        .sequences = chunks->n,
        .tokens = chunks->n * chunks->tokens,
        .past = chunks->n * chunks->past,
        .pairs = chunks->n * chunks->tokens * (chunks->tokens + 2.0 * chunks->past),
        .decodes = chunks->decodes.n,
        .decode_context = chunks->decodes.context,
        .decode_longest = chunks->decodes.longest,
        .q_heads = heads->query,
        .kv_heads = heads->kv,
        .key_dim = heads->dim,
        .value_dim = heads->dim,
        .kv = heads->kv_format,
        .compute = heads->compute,
        .full = chunks->full,
        .writes_kv = heads->writes_kv,
    };
    struct profile_row row = {.call = {.class = KERNEL_PREFILL_ATTENTION, .shape.prefill = shape},
                              .op = chunks->decodes.n > 0.0 ? OP_MIXED_ATTENTION : OP_PREFILL_ATTENTION,
                              .measured_s = seconds,
                              .tokens = shape.tokens};
    const int status = find_group(reader, heads, &row.group);
    return status == 0 ? profile_add(reader, &row) : status;
}

int profile_add_decode(struct profile_reader *reader, const struct profile_heads *heads,
                       const struct profile_decodes *decodes, double seconds)
{
    const struct decode_shape shape = {
        .sequences = decodes->n,
        .context = decodes->context,
        .longest = decodes->longest,
        .q_heads = heads->query,
        .kv_heads = heads->kv,
        .key_dim = heads->dim,
        .value_dim = heads->dim,
        .kv = heads->kv_format,
        .compute = heads->compute,
        .writes_kv = heads->writes_kv,
    };
    struct profile_row row = {.call = {.class = KERNEL_DECODE_ATTENTION, .shape.decode = shape},
                              .op = OP_DECODE_ATTENTION,
                              .measured_s = seconds,
                              .tokens = decodes->n};
    const double kv_bytes = 2.0 * decodes->n * decodes->context * heads->kv * heads->dim *
                            number_format_bytes(heads->kv_format);
    if (seconds > 0.0 && kv_bytes > seconds * reader->options->gpu->memory_bytes_per_s) {
        profile_drop(reader->profile, profile_faster_than_memory, 1);
        return 0;
    }
    const int status = find_group(reader, heads, &row.group);
    return status == 0 ? profile_add(reader, &row) : status;
}
