/* Number formats of a checkpoint, from the quantization_config in its config.json.
 *
 * Read are the methods awq, gptq, fp8, fbgemm_fp8, mxfp4, compressed-tensors and modelopt. The modules that they leave
 * in 16 bits, and the schemes that they give to some modules, become formats of the parts of an LLM. A part of which
 * only some matrices are in a format, and a format that no kernel here has, are errors. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_FORMATS_H
#define ORRERY_CATALOG_HUGGINGFACE_FORMATS_H

#include "sim/catalog/huggingface_fields.h"

#include "models/transformer.h"

/* Sets the formats of the weights and the KV cache of an LLM whose shape and format of computing are known.
 * `reading->root` has the quantization_config, if there is one. Without it `beside` counts, the hf_quant_config.json
 * of the checkpoint, or NULL. Errors set reading->failed. */
void huggingface_read_formats(struct reading *reading, const struct json_node *beside, struct llm_spec *llm);

#endif
