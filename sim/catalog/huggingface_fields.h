/* Values of a Hugging Face config.json, by their keys. For huggingface.c. */
#ifndef ORRERY_CATALOG_HUGGINGFACE_FIELDS_H
#define ORRERY_CATALOG_HUGGINGFACE_FIELDS_H

#include "models/transformer.h"
#include "sim/core/err.h"
#include "sim/core/json_doc.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MAX_TAKEN_KEYS = 256 };

/* Keys that the type of a file reads, or knows and may leave out. Some are there more than once. */
struct taken_keys {
    const char *keys[MAX_TAKEN_KEYS];
    size_t n;
};

/* A file being read. Findings are collected, so that all of them are reported. */
struct reading {
    const struct json_node *root;
    struct diag *diag;
    struct taken_keys *taken;
    bool failed;
    bool is_quantised; /* formats of modules are stated */
};

static inline void report(struct reading *reading, const struct json_node *node, const char *key, const char *problem)
{
    char where[DIAG_WHERE_CHARS];
    json_where(node ? node : reading->root, where, sizeof where);
    diag_error(reading->diag, SIM_E_CONFIG, where, NULL, "'%s' %s", key, problem);
    reading->failed = true;
}

/* The type knows the key: huggingface_warn_unread does not report it. */
static inline void take(const struct reading *reading, const char *key)
{
    struct taken_keys *taken = reading->taken;
    if (taken->n < MAX_TAKEN_KEYS) taken->keys[taken->n++] = key;
}

/* The value of a key; null counts as absent. */
static inline const struct json_node *find(const struct reading *reading, const char *key)
{
    take(reading, key);
    const struct json_node *node = json_member(reading->root, key);
    return node && node->kind != JSON_NULL ? node : NULL;
}

/* A whole number; `fallback` where the key is absent, and an error when that is negative. */
static inline int64_t read_count(struct reading *reading, const char *key, int64_t fallback)
{
    const struct json_node *node = find(reading, key);
    if (!node) {
        if (fallback < 0) report(reading, NULL, key, "is missing from the model's config.json");
        return fallback < 0 ? 1 : fallback;
    }
    const double number = node->kind == JSON_NUMBER ? node->number : -1.0;
    if (number >= 0.0 && number < 0x1p40 && number == floor(number)) return (int64_t)number;
    report(reading, node, key, "must be a whole number");
    return 1;
}

static inline int64_t read_required(struct reading *reading, const char *key)
{
    return read_count(reading, key, -1);
}

/* Either of two names for the same thing. */
static inline int64_t read_either(struct reading *reading, const char *key, const char *other)
{
    take(reading, key);
    return read_required(reading, find(reading, other) ? other : key);
}

static inline bool read_flag(struct reading *reading, const char *key, bool fallback)
{
    const struct json_node *node = find(reading, key);
    if (!node) return fallback;
    if (node->kind == JSON_BOOL) return node->number != 0.0;
    report(reading, node, key, "must be true or false");
    return fallback;
}

static inline bool is_given(const struct json_node *node, const char *key)
{
    const struct json_node *value = json_member(node, key);
    return value != NULL && value->kind != JSON_NULL;
}

static inline bool has_text(const struct json_node *node, const char *text)
{
    return node && node->kind == JSON_STRING && strcmp(node->text, text) == 0;
}

static inline bool is_infinite(const struct reading *reading, const char *key)
{
    const struct json_node *node = find(reading, key);
    return node && node->kind == JSON_NUMBER && isinf(node->number) && node->number > 0.0;
}

/* As read_count, the longest context; Infinity: as long as any. */
static inline int64_t read_context(struct reading *reading, const char *key, int64_t fallback)
{
    return is_infinite(reading, key) ? LLM_MAX_CONTEXT : read_count(reading, key, fallback);
}

/* As read_count, the length of a sliding window; Infinity and 0: none. */
static inline int64_t read_window_length(struct reading *reading, int64_t fallback)
{
    return is_infinite(reading, "sliding_window") ? 0 : read_count(reading, "sliding_window", fallback);
}

/* The length of a sliding window; null: none. */
static inline int64_t read_window(struct reading *reading, int64_t fallback)
{
    return json_member(reading->root, "sliding_window") ? read_window_length(reading, 0) : fallback;
}

static inline void refuse_zero(struct reading *reading, const char *key, int64_t count)
{
    if (count == 0) report(reading, find(reading, key), key, "must be above 0");
}

/* From the language model of a multimodal file on, keys are those of its `text_config`. Images are left out. */
static inline void read_text_config(struct reading *reading)
{
    const struct json_node *text = find(reading, "text_config");
    if (text && text->kind == JSON_OBJECT) reading->root = text;
}

static inline void refuse_dense_between(struct reading *reading)
{
    const struct json_node *dense = find(reading, "mlp_only_layers");
    if (read_count(reading, "decoder_sparse_step", 1) != 1)
        report(reading, find(reading, "decoder_sparse_step"), "decoder_sparse_step",
               "is not 1: dense layers between those with experts are not modelled");
    if (dense && dense->n > 0)
        report(reading, dense, "mlp_only_layers",
               "is not empty: dense layers between those with experts are not modelled");
}

#endif
