/* What readers of measured attention share: rows of prompt chunks that are alike, and of sequences that decode. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_ATTENTION_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_PROFILE_ATTENTION_H

#include "analysis/calibrate/profile/profile_format.h"

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
