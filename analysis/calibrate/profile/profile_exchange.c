/* Tables of DeepEP's kernels inside a node of eight GPUs, in microseconds (ai-dynamo/aiconfigurator, systems/data,
 * wideep_deepep_normal_perf and wideep_deepep_ll_perf; collector/wideep). A row times a dispatch in 8 bits and a
 * combine in 16 bits. Each GPU has num_token tokens, which choose num_topk of num_experts experts at random. Of the
 * normal kernels, each number of SMs has a row; its chunk sizes are the best of sixteen. */
#include "analysis/calibrate/profile/profile_format.h"

static const double us = 1e-6;

enum {
    HIDDEN,
    TOKENS,
    CHOSEN,
    EXPERTS,
    REQUIRED,
    DISPATCH_SMS = REQUIRED, /* normal kernels */
    COMBINE_SMS,
    DISPATCH,
    COMBINE,
    LOW_DISPATCH, /* low-latency kernels */
    LOW_COMBINE,
    COLUMNS
};

static const struct sheet_column columns[] = {
    [HIDDEN] = {"hidden_size", 1.0},
    [TOKENS] = {"num_token", 1.0},
    [CHOSEN] = {"num_topk", 1.0},
    [EXPERTS] = {"num_experts", 1.0},
    [DISPATCH_SMS] = {"dispatch_sms", 1.0},
    [COMBINE_SMS] = {"combine_sms", 1.0},
    [DISPATCH] = {"dispatch_transmit_us", 0.0},
    [COMBINE] = {"combine_transmit_us", 0.0},
    [LOW_DISPATCH] = {"dispatch_avg_t_us", 0.0},
    [LOW_COMBINE] = {"combine_avg_t_us", 0.0},
};

static bool is_low_latency(const struct sheet *sheet)
{
    return sheet_has(sheet, LOW_DISPATCH) && sheet_has(sheet, LOW_COMBINE);
}

static bool recognise(const struct profile_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    const bool is_normal = sheet_has(sheet, DISPATCH_SMS) && sheet_has(sheet, COMBINE_SMS) &&
                           sheet_has(sheet, DISPATCH) && sheet_has(sheet, COMBINE);
    return is_normal || is_low_latency(sheet);
}

static int read_exchange(struct profile_reader *reader)
{
    enum { NODE_GPUS = 8 };
    const struct sheet *sheet = &reader->sheet;
    const bool is_low = is_low_latency(sheet);
    double values[COLUMNS] = {0.0};
    int status = sheet_numbers(&reader->sheet, HIDDEN, REQUIRED, values);
    if (status == 0 && !is_low) status = sheet_numbers(&reader->sheet, DISPATCH_SMS, LOW_DISPATCH, values);
    if (status == 0 && is_low) status = sheet_numbers(&reader->sheet, LOW_DISPATCH, COLUMNS, values);
    if (status < 0) return status;
    struct profile_row row = {.op = OP_DISPATCH,
                              .call = {.class = is_low ? KERNEL_LOW_DISPATCH : KERNEL_DISPATCH,
                                       .shape.exchange = {.tokens = values[TOKENS], .hidden = values[HIDDEN],
                                                          .chosen = values[CHOSEN], .experts = values[EXPERTS],
                                                          .gpus = NODE_GPUS, .nodes = 1.0,
                                                          .sms = values[DISPATCH_SMS], .low_latency = is_low,
                                                          .sent = FORMAT_FP8}},
                              .measured_s = us * values[is_low ? LOW_DISPATCH : DISPATCH],
                              .tokens = values[TOKENS]};
    row.call.shape.exchange.link_bytes_per_s = gpu_link_bytes_per_s(reader->options->gpu, NODE_GPUS);
    status = profile_group(reader, &row.group, "%g of %g experts of hidden %g", values[CHOSEN], values[EXPERTS],
                           values[HIDDEN]);
    if (status == 0) status = profile_add(reader, &row);
    row.op = OP_COMBINE;
    row.call.class = is_low ? KERNEL_LOW_COMBINE : KERNEL_COMBINE;
    row.call.shape.exchange.combines = true;
    row.call.shape.exchange.sms = values[COMBINE_SMS];
    row.call.shape.exchange.sent = FORMAT_BF16;
    row.measured_s = us * values[is_low ? LOW_COMBINE : COMBINE];
    return status == 0 ? profile_add(reader, &row) : status;
}

const struct profile_format profile_exchange = {
    .name = "aiconfigurator-deepep", .set = "isolated", .grouped_by = "shape", .columns = columns,
    .n_columns = COLUMNS, .n_required = REQUIRED, .recognise = recognise, .read_row = read_exchange};
