/* What the files of this folder share that list the kernels of an iteration (layer.c, layer_attention.c). */
#ifndef ORRERY_MODELS_OPERATORS_INSIDE_H
#define ORRERY_MODELS_OPERATORS_INSIDE_H

#include "models/operators/layer.h"
#include "models/operators/weight_kernels.h"

/* The list being filled, and values that its calls share. */
struct listing {
    const struct llm_spec *llm;
    const struct llm_split *split;
    const struct gpu_spec *gpu;
    const struct iteration_work *work; /* of the fullest group */
    struct llm_shard shard;
    double groups, group_gpus;    /* with sequences of their own; GPUs of each: all, where there is one group */
    double all_tokens;            /* of all groups */
    double layers, dense, sparse; /* of the stage: all, those without experts where others have some, the rest */
    double attending, linear;     /* the same layers: those with softmax and with linear attention */
    double tokens, logits;        /* of that group's batch; rows of the head */
    double own_tokens;            /* that norms and residual sums work on: a share with sequence parallelism */
    double number_bytes;          /* of activations */
    struct kernel_use *uses;
    size_t n;
};

static inline void listing_add(struct listing *list, enum llm_operator op, enum kernel_driver driver, double count,
                               struct kernel_call call)
{
    if (count > 0.0) list->uses[list->n++] = (struct kernel_use){op, driver, call, false, count};
}

/* Adds a call in so many layers, of attention or for it, for the batch of the list. */
static inline void listing_add_batched(struct listing *list, enum llm_operator op, enum kernel_driver driver,
                                       double layers, bool mixes, struct kernel_call call)
{
    if (!(layers > 0.0)) return;
    listing_add(list, op, driver, layers, call);
    list->uses[list->n - 1].mixes = mixes;
    kernel_use_rebatch(&list->uses[list->n - 1], list->work);
}

static inline void listing_add_elementwise(struct listing *list, enum llm_operator op, enum kernel_class class,
                                           double count, double tokens, double width)
{
    const struct elementwise_shape shape = {tokens, width, list->number_bytes};
    listing_add(list, op, BY_TOKENS, count, (struct kernel_call){.class = class, .shape.elementwise = shape});
}

static inline struct weight_kernels listing_kernels(const struct listing *list, enum number_format weights)
{
    return weight_kernels(list->gpu, weights, list->llm->compute);
}

/* A product with weights of a part. */
static inline struct kernel_call listing_product(const struct listing *list, enum llm_part part, double m, double n,
                                                 double k)
{
    const enum number_format format = llm_format(list->llm, part);
    const struct weight_kernels kernels = listing_kernels(list, format);
    return (struct kernel_call){.class = kernels.product, .shape.gemm = {m, n, k, format, kernels.compute}};
}

/* Lists attention of all kinds, with what leads to it and from it. */
void listing_add_mixers(struct listing *list);

#endif
