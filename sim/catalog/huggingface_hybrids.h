/* Readers of LLMs whose layers differ: linear attention in most, chunks, or windows (huggingface_windows.c). For
 * huggingface.c. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_HYBRIDS_H
#define ORRERY_CATALOG_HUGGINGFACE_HYBRIDS_H

#include "models/transformer.h"
#include "sim/catalog/huggingface_fields.h"

/* What all decoders of the Llama line share. `ffn`: the width where the file has none; -1: it must. */
void huggingface_decoder(struct reading *reading, struct llm_spec *llm, int64_t ffn);

/* Experts in every layer, and a gated shared one. */
void huggingface_gated_experts(struct reading *reading, struct llm_spec *llm);

/* Each reads the shape of one type from its config.json. */
void huggingface_qwen3_5(struct reading *reading, struct llm_spec *llm);
void huggingface_qwen3_next(struct reading *reading, struct llm_spec *llm);
void huggingface_llama4(struct reading *reading, struct llm_spec *llm);
void huggingface_gemma3(struct reading *reading, struct llm_spec *llm);
void huggingface_gemma4(struct reading *reading, struct llm_spec *llm);
void huggingface_mimo_v2_flash(struct reading *reading, struct llm_spec *llm);

#endif
