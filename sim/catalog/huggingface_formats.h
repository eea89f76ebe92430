/* Number formats of a checkpoint, from the quantization_config in its config.json.
 *
 * Read are the methods awq, gptq, fp8, fbgemm_fp8, mxfp4, compressed-tensors and modelopt. The modules that they leave
 * in 16 bits, and the schemes that they give to some modules, become formats of the parts of an LLM. A part of which
 * only some matrices are in a format, and a format that no kernel here has, are errors.
 *
 * Also the format of computing, and what a file states that its model type does not read. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_FORMATS_H
#define ORRERY_CATALOG_HUGGINGFACE_FORMATS_H

#include "sim/catalog/huggingface_fields.h"

#include "models/transformer.h"

/* Sets the formats of the weights and the KV cache of an LLM whose shape and format of computing are known.
 * `reading->root` has the quantization_config, if there is one. Without it `beside` counts, the hf_quant_config.json
 * of the checkpoint, or NULL. Errors set reading->failed. */
void huggingface_read_formats(struct reading *reading, const struct json_node *beside, struct llm_spec *llm);

/* Warns once of the keys that shape LLMs of some type and that this type has not taken. A value of null, false, 0 or
 * an empty list states nothing. Counts those that the text has no room for. `root`: the whole file; `model_type`
 * names the type. */
void huggingface_warn_unread(struct reading *reading, const struct json_node *root, const char *model_type);

/* The number format in which engines compute: `torch_dtype`, else `dtype` of the part of a file. They load a
 * checkpoint of 32 or 64 bits, or one that does not say, in 16. A format of 8 bits is one that only weights or their
 * scales can have: warns of it where a quantisation is stated, and reports it elsewhere. Reports any other name. */
enum number_format huggingface_dtype(struct reading *reading, const struct json_node *part);

#endif
