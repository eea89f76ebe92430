/* Attention over the prompts of a batch. No table holds it, since it depends on three numbers or, with decoding
 * sequences, on six. What follows from all else is kept: the row of its kernel, and whether the range of its class has
 * its heads and formats. */
#include "models/operators/operators.h"

/* Axes of a range that a batch changes, with the members of a call there. */
enum { AXIS_SEQUENCES = 0, AXIS_TOKENS = 1, AXIS_PAST = 2, AXIS_DECODES = 8, AXIS_DECODE_CONTEXT = 9 };

/* The range of the call's class, if it has a batch with the other axes and the formats of the call: it is a box. */
static const struct kernel_range *range_of(const struct kernel_set *kernels, struct kernel_call call)
{
    const struct kernel_range *range = &kernels->ranges[call.class];
    call.shape.prefill.sequences = range->low[AXIS_SEQUENCES];
    call.shape.prefill.tokens = range->low[AXIS_TOKENS];
    call.shape.prefill.past = range->low[AXIS_PAST];
    call.shape.prefill.decodes = range->low[AXIS_DECODES];
    call.shape.prefill.decode_context = range->low[AXIS_DECODE_CONTEXT];
    return kernel_in_range(kernels, &call) ? range : NULL;
}

static bool lies_within(const struct kernel_range *range, int axis, double x)
{
    return x >= range->low[axis] && x <= range->high[axis];
}

static bool is_in_range(const struct kernel_range *range, const struct prefill_shape *shape)
{
    return range != NULL && lies_within(range, AXIS_SEQUENCES, shape->sequences) &&
           lies_within(range, AXIS_TOKENS, shape->tokens) && lies_within(range, AXIS_PAST, shape->past) &&
           lies_within(range, AXIS_DECODES, shape->decodes) &&
           lies_within(range, AXIS_DECODE_CONTEXT, shape->decode_context);
}

void operators_prompts_init(struct operators_prompts *prompts, const struct operators_parts *parts,
                            const struct operators_uses *list)
{
    *prompts = (struct operators_prompts){.n = list->n, .mix = list->n > 0 && list->uses[0].mixes};
    for (size_t i = 0; i < list->n; i++) {
        struct operators_prompt *prompt = &prompts->kernels[i];
        const enum kernel_class class = list->uses[i].call.class;
        prompt->use = list->uses[i];
        prompt->is_tabled = parts->kernels->tables[class] != NULL || kernel_is_scan(class);
        if (kernel_is_scan(class)) continue;
        prompt->range = range_of(parts->kernels, prompt->use.call);
        struct prefill_shape shape = prompt->use.call.shape.prefill;
        shape.expanded = class == KERNEL_LATENT_PREFILL;
        prefill_row_init(&prompt->row, &parts->kernels->params[class].prefill, parts->gpu, &shape);
    }
}

static struct operators_time tabled_time(const struct operators_prompt *prompt, const struct operators_parts *parts,
                                         const struct iteration_work *work)
{
    struct kernel_use use = prompt->use;
    kernel_use_rebatch(&use, work);
    return operators_use_time(parts, &use);
}

struct operators_time operators_prompts_time(const struct operators_prompts *prompts,
                                             const struct operators_parts *parts, const struct iteration_work *work)
{
    struct operators_time time = {0.0, 0.0};
    for (size_t i = 0; work->prefill_tokens > 0 && i < prompts->n; i++) {
        const struct operators_prompt *prompt = &prompts->kernels[i];
        if (prompt->is_tabled) {
            time = operators_add(time, tabled_time(prompt, parts, work));
            continue;
        }
        struct prefill_shape shape = prompt->use.call.shape.prefill;
        prefill_shape_rebatch(&shape, work, prompts->mix);
        const double seconds = prompt->use.count * prefill_row_seconds(&prompt->row, &shape);
        const double outside_s = is_in_range(prompt->range, &shape) ? 0.0 : seconds;
        time = operators_add(time, (struct operators_time){seconds, outside_s});
    }
    return time;
}
