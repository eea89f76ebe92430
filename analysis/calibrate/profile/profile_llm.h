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

/* Finds the LLM of the file being read: that of the options, else the one whose name in the catalog stands in the
 * file's name, whatever its case ("A6000__Llama-3.1-8B__tp1__layers.csv"); of several the longest. The tensor-parallel
 * degree is that of the options, else "tpN" in the file's name, else 1. Returns 0, SIM_E_CONFIG (unknown, impossible
 * split), SIM_E_IO or SIM_E_NOMEM. */
int profile_llm_find(struct profile_reader *reader, struct profile_llm *llm);

/* The same with another tensor-parallel degree, for files that state it in each row. Returns 0 or SIM_E_CONFIG. */
int profile_llm_split(struct profile_reader *reader, struct profile_llm *llm, int64_t tensor);

/* The call of operator `op` when one prompt of `tokens` tokens runs through the LLM; of the head and of decode
 * attention, when `tokens` sequences make a token each. False when the LLM has no such operator. */
bool profile_llm_call(const struct profile_llm *llm, enum llm_operator op, int64_t tokens, struct kernel_call *call);

/* --- Attention --- */

/* Heads on one GPU, and what their attention does. */
struct profile_heads {
    double query, kv, dim;
    enum number_format kv_format, compute;
    bool writes_kv; /* new keys and values are written into the cache as well */
};

/* Sequences that make a token, of `context` each on average, the new one included, and `longest` (0: all alike). */
struct profile_decodes {
    double n, context, longest;
};

/* Chunks of prompts that are alike, of `tokens` tokens on top of `past` each. */
struct profile_chunks {
    double n, tokens, past;
    bool full; /* queries see all keys of their chunk */
    struct profile_decodes decodes; /* in the same launch */
};

/* Why a decode row is dropped whose keys and values would have been read faster than the data sheet's memory bandwidth:
 * they came from the cache, or sequences shared them. */
extern const char profile_faster_than_memory[];

/* Adds a row of chunks, or of sequences. Rows are grouped by their pair of heads. Returns 0 or SIM_E_NOMEM. */
int profile_add_prefill(struct profile_reader *reader, const struct profile_heads *heads,
                        const struct profile_chunks *chunks, double seconds);
int profile_add_decode(struct profile_reader *reader, const struct profile_heads *heads,
                       const struct profile_decodes *decodes, double seconds);

#endif
