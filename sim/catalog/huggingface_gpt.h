/* Readers of LLMs with learned positions or LayerNorm, from GPT-2 to Falcon. For huggingface.c. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_GPT_H
#define ORRERY_CATALOG_HUGGINGFACE_GPT_H

#include "models/transformer.h"
#include "sim/catalog/huggingface_fields.h"

/* What the decoders of the GPT line share: plain feed-forward of four times the width, LayerNorm, biases. */
void huggingface_set_gpt(struct llm_spec *llm, bool bias);

/* Each reads the shape of one type from its config.json. */
void huggingface_opt(struct reading *reading, struct llm_spec *llm);
void huggingface_falcon(struct reading *reading, struct llm_spec *llm);
void huggingface_bloom(struct reading *reading, struct llm_spec *llm);
void huggingface_gpt2(struct reading *reading, struct llm_spec *llm);
void huggingface_gpt_bigcode(struct reading *reading, struct llm_spec *llm);
void huggingface_gptj(struct reading *reading, struct llm_spec *llm);
void huggingface_mpt(struct reading *reading, struct llm_spec *llm);

#endif
