/* Profiles of an LLM's layers: which LLM, how it is split, which kernel call each operator is, and rows of attention.
 *
 * Calls of a named LLM come from models/operators/layer.h, so that measured kernels and those of an iteration cannot
 * differ. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_LLM_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_LLM_H

#include "analysis/calibrate/profile/profile_format.h"

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
