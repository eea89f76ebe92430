/* What a Hugging Face config.json states that its model type does not read, and its number format. For huggingface.c. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_UNREAD_H
#define ORRERY_CATALOG_HUGGINGFACE_UNREAD_H

#include "sim/catalog/huggingface_fields.h"

/* Warns once of the keys that shape LLMs of some type and that this type has not taken. A value of null, false, 0 or an
 * empty list states nothing. `root`: the whole file; `model_type` names the type. */
void huggingface_warn_unread(struct reading *reading, const struct json_node *root, const char *model_type);

/* The number format in which engines compute: `torch_dtype`, else `dtype` of the part of a file. They load a checkpoint
 * of 32 bits, or one that does not say, in 16. Reports a name that PyTorch does not know, and a format that only weights
 * can have where no quantisation is stated. */
enum number_format huggingface_dtype(struct reading *reading, const struct json_node *part);

#endif
