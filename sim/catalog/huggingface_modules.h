/* Which modules of a checkpoint the lists in a config.json mean. For huggingface_formats.c.
 *
 * A pattern is the name of a module ("lm_head", "model.layers.0.self_attn"), part of one between its dots ("gate"), a
 * name with wildcards ("model.layers.0*"), or a regular expression that begins with "re:" and holds at the begin of a
 * name (compressed-tensors). A pattern that means a module means all modules inside it. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_MODULES_H
#define ORRERY_CATALOG_HUGGINGFACE_MODULES_H

#include "models/transformer.h"
#include "sim/core/json_doc.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct module_pattern {
    const char *text; /* without "re:" */
    bool is_regex;
    regex_t regex;
};

struct module_patterns {
    struct module_pattern *at;
    size_t n, capacity;
};

/* Adds a pattern. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG for a regular expression that is none, or that POSIX does
 * not know. */
int module_patterns_add(struct module_patterns *patterns, const char *text);
void module_patterns_fini(struct module_patterns *patterns);

/* A matrix of a decoder, by the name that most checkpoints give it, and by those of other checkpoints. */
struct module_name {
    char text[3][96]; /* unused ones are empty */
};

/* Whether a pattern means the module, by any of its names, with any prefix of multimodal checkpoints. */
bool module_patterns_mean(const struct module_patterns *patterns, const struct module_name *name);

/* Number of matrices of a part, over all layers; of experts the first and the last one of a layer stand for all. */
int64_t module_count(const struct llm_spec *llm, enum llm_part part);

/* The name of one of them, by its number. */
void module_name_of(const struct llm_spec *llm, enum llm_part part, int64_t number, struct module_name *name);

#endif
