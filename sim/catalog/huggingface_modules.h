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
    bool is_regex, has_wildcards;
    bool is_of_expert;  /* module_names_expert */
    bool reads_numbers; /* its wildcards may mean the module of one expert or layer, and not that of another one */
    size_t head; /* characters before its first wildcard; 0 of regular expressions */
    regex_t regex;
};

struct module_patterns {
    struct module_pattern *at;
    size_t n, capacity;
};

/* Whether a text is the name of an expert or of a module in it, without wildcards; *number: which expert. */
bool module_names_expert(const char *text, long *number);

/* Adds a pattern. Returns 0, SIM_E_NOMEM, or SIM_E_CONFIG for a regular expression that is none, or that POSIX reads
 * otherwise than Python; then *why is what of it. */
int module_patterns_add(struct module_patterns *patterns, const char *text, const char **why);
void module_patterns_fini(struct module_patterns *patterns);

/* A matrix of a decoder, by the name that most checkpoints give it, and by those of other checkpoints. */
struct module_name {
    char text[3][96]; /* unused ones are empty */
};

/* Whether a pattern means the module, by any of its names, with any prefix of multimodal checkpoints. Unless
 * `by_number`, patterns that name an expert by its number are passed over. */
bool module_patterns_mean(const struct module_patterns *patterns, const struct module_name *name, bool by_number);

/* Whether wildcards of some pattern may mean some experts of a layer and others not. name: a matrix of one of them. */
bool module_patterns_tell_experts_apart(const struct module_patterns *patterns, const struct module_name *name);

/* Number of matrices of a part, over all layers; of experts the first and the last one of a layer stand for all. */
int64_t module_count(const struct llm_spec *llm, enum llm_part part);

/* Whether a layer has linear attention: those without it are spread evenly, each the last of its group. */
bool module_layer_is_linear(const struct llm_spec *llm, int64_t layer);

/* The name of one of them, by its number. */
void module_name_of(const struct llm_spec *llm, enum llm_part part, int64_t number, struct module_name *name);

/* The name of a matrix of an expert in a layer with experts. number: 0 to 2, or 1 without gate. */
void module_name_of_expert(const struct llm_spec *llm, int64_t layer, int64_t number, int64_t expert,
                           struct module_name *name);

#endif
