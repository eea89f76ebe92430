/* Reads the config.json that comes with a checkpoint on the Hugging Face hub into an LLM's shape.
 *
 * Understands the model types in the table `architectures` of huggingface.c, whose layers the operators of
 * models/operators express, and takes the defaults of their configuration classes for what may be absent. Weights of a
 * quantised checkpoint take its formats (huggingface_formats.h); computing stays in 16 bits. Of other types the error
 * names the operators that are missing, where they are known; nothing is guessed. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_H
#define ORRERY_CATALOG_HUGGINGFACE_H

#include "models/transformer.h"
#include "sim/core/err.h"
#include "sim/core/json_doc.h"

#include <stdbool.h>

/* Whether a document is such a file: it has "model_type" or "architectures". */
bool huggingface_recognises(const struct json_node *root);

/* Fills all of `llm` except its name. `beside`: the hf_quant_config.json of the checkpoint, or NULL. Does not check
 * the shape: llm_problem does. Reports all missing fields in one pass. Returns 0 or SIM_E_CONFIG. */
int huggingface_read(const struct json_node *root, const struct json_node *beside, struct llm_spec *llm,
                     struct diag *diag);

#endif
