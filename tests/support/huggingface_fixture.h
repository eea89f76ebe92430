/* Texts of config.json as LLMs. */
#ifndef ORRERY_TESTS_SUPPORT_HUGGINGFACE_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_HUGGINGFACE_FIXTURE_H

#include "models/transformer.h"

#include <stddef.h>

/* Reads a document in which ' stands for "; all findings, one per line, in `messages`. Returns what huggingface_read
 * does, or SIM_E_USAGE for a document that it does not recognise. */
int huggingface_text(const char *quoted, struct llm_spec *llm, char *messages, size_t bytes);

#endif
