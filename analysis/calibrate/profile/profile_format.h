/* For readers of one profile format: the sheet, and a list of rows.
 *
 * A format is a `const struct profile_format profile_NAME` in profile_SOURCE.c, and one line below. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_FORMAT_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_FORMAT_H

#include "analysis/calibrate/profile/profile.h"

/* X(name): profile_NAME; the first that recognises a header reads the file. */
#define PROFILE_FORMATS(X)                                                                                             \
    X(simple)                                                                                                          \
    X(vidur_dense)                                                                                                     \
    X(vidur_attention)                                                                                                 \
    X(aiconfigurator_gemm)                                                                                             \
    X(aiconfigurator_attention)                                                                                        \
    X(aiconfigurator_latent)                                                                                           \
    X(aiconfigurator_latent_prompts)                                                                                   \
    X(llmservingsim_layers)                                                                                            \
    X(llmservingsim_dense)                                                                                             \
    X(llmservingsim_skew)                                                                                              \
    X(llmservingsim_attention)                                                                                         \
    X(llmservingsim_attention_v0)                                                                                      \
    X(aiconfigurator_moe)                                                                                              \
    X(aiconfigurator_masked)                                                                                           \
    X(aiconfigurator_contiguous)                                                                                       \
    X(nccl)                                                                                                            \
    X(exchange)                                                                                                        \
    X(vidur_network)

struct profile_reader {
    struct sheet sheet;
    const struct profile_options *options;
    struct profile *profile;
    const char *kernel; /* the only one whose rows are read, by its name in the file; NULL: any */
    bool has_kernel;    /* whether some row was of it */
    size_t row_capacity, group_capacity;
    struct profile_group *group_index;
    void *state; /* of the format, between its rows; set by its begin */
};

struct profile_format {
    const char *name;                   /* "vidur-dense" */
    const char *set, *grouped_by;       /* as in struct profile; NULL: set by begin */
    const struct sheet_column *columns; /* [n_columns] */
    size_t n_columns, n_required;       /* the first n_required are in every file of the format */
    bool (*recognise)(const struct profile_reader *reader); /* NULL: the required columns suffice */
    int (*begin)(struct profile_reader *reader);            /* after the header; NULL: nothing to do */
    int (*read_row)(struct profile_reader *reader);         /* of the sheet's current row; 0 or a negative code */
    void (*finish)(struct profile *profile);                /* after the last row; NULL: nothing to do */
    bool names_kernels;                                     /* files tell the kernels of their rows apart */
};

#define PROFILE_FORMAT_DECLARE(name) extern const struct profile_format profile_##name;
PROFILE_FORMATS(PROFILE_FORMAT_DECLARE)
#undef PROFILE_FORMAT_DECLARE

/* The index of the group with this name, which is added when it is new. Returns 0 or SIM_E_NOMEM. */
int profile_group(struct profile_reader *reader, uint32_t *group, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a row with the GPU of the options and the line of the current row. A row without time or shape, or faster
 * than the peak of the data sheet, is dropped. Returns 0 or SIM_E_NOMEM. */
int profile_add(struct profile_reader *reader, const struct profile_row *row);

/* The reason for dropping a row that lacks a number of its call. */
extern const char profile_no_shape[];

/* Counts a row as left out; `reason` is a static text. Returns 0. */
int profile_drop(struct profile_reader *reader, const char *reason);

/* --- Profiles of an LLM's layers --- */

/* Calls of a named LLM come from models/operators/layer.h, so that measured kernels and those of an iteration cannot
 * differ. */
struct profile_llm {
    struct llm_spec spec;
    struct llm_split split; /* tensor parallel over one node */
    struct llm_shard shard;
    const struct gpu_spec *gpu;
};

/* Finds the LLM of the current file: that of the options, else the longest name of the catalog that the file's name
 * contains in any case ("A6000__Llama-3.1-8B__tp1__layers.csv"). The tensor-parallel degree is that of the options,
 * else "tpN" in the file's name, else 1. Returns 0, SIM_E_CONFIG (unknown LLM, impossible split), SIM_E_IO or
 * SIM_E_NOMEM. */
int profile_llm_find(struct profile_reader *reader, struct profile_llm *llm);

/* Sets another tensor-parallel degree, for files that state it in each row. Returns 0 or SIM_E_CONFIG. */
int profile_llm_split(struct profile_reader *reader, struct profile_llm *llm, int64_t tensor);

/* The call of operator `op` in an iteration over one prompt of `tokens` tokens; of the head, sampling and decode
 * attention in an iteration over `tokens` decoding sequences. False when the LLM lacks the operator. */
bool profile_llm_call(const struct profile_llm *llm, enum llm_operator op, int64_t tokens, struct kernel_call *call);

/* --- Attention --- */

/* Heads on one GPU, and the formats of their attention. */
struct profile_heads {
    double query, kv, dim;
    enum number_format kv_format, compute;
    bool writes_kv; /* the call also writes new keys and values into the cache */
};

/* n decoding sequences with a mean context of `context` tokens, the new one included; the longest has `longest` (0: all
 * are equal). */
struct profile_decodes {
    double n, context, longest;
    double window; /* tokens that a sequence looks back; 0: all */
};

/* n equal chunks of prompts: `tokens` tokens after `past` others. */
struct profile_chunks {
    double n, tokens, past;
    bool full; /* queries attend to all keys of their chunk, without a mask */
    struct profile_decodes decodes; /* in the same launch */
};

/* The reason for dropping a decode row whose keys and values would be read faster than the memory bandwidth of the data
 * sheet: they came from a cache, or sequences shared them. */
extern const char profile_faster_than_memory[];

/* Adds a row of chunks, or of sequences. Rows are grouped by their pair of heads. Returns 0 or SIM_E_NOMEM. */
int profile_add_prefill(struct profile_reader *reader, const struct profile_heads *heads,
                        const struct profile_chunks *chunks, double seconds);
int profile_add_decode(struct profile_reader *reader, const struct profile_heads *heads,
                       const struct profile_decodes *decodes, double seconds);

#endif
