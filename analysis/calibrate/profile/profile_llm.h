/* Profiles of the layers of a named LLM: which LLM, how it is split, and which kernel call each of its operators is.
 *
 * Calls come from models/operators/layer.h, so that what was measured and what an iteration is made of cannot differ. */
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

#endif
