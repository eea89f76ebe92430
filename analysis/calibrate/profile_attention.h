/* What readers of measured attention share: rows of prompt chunks that are alike, and of sequences that decode. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_PROFILE_ATTENTION_H
#define ORRERY_ANALYSIS_CALIBRATE_PROFILE_ATTENTION_H

#include "analysis/calibrate/profile_format.h"

/* Heads on one GPU. */
struct profile_heads {
    double query, kv, dim;
    enum number_format kv_format, compute;
};

/* Why a decode row is dropped whose keys and values would have been read faster than the data sheet's memory bandwidth:
 * they came from the cache, or sequences shared them. */
extern const char profile_faster_than_memory[];

/* Adds a row of `chunks` chunks of `tokens` tokens each, on top of `past` each, which writes the cache as well or does
 * not; or of `sequences` sequences that make a token, of `context` each, the new one included. Rows are grouped by
 * their pair of heads. Returns 0 or SIM_E_NOMEM. */
int profile_add_prefill(struct profile_reader *reader, const struct profile_heads *heads, double chunks, double tokens,
                        double past, bool writes_kv, double seconds);
int profile_add_decode(struct profile_reader *reader, const struct profile_heads *heads, double sequences,
                       double context, double seconds);

#endif
