/* What tests of prefix stores share: sessions of the shipped sample, the sizes of their blocks, laws of tokens. */
#ifndef ORRERY_TESTS_SUPPORT_PREFIX_STORE_BED_H
#define ORRERY_TESTS_SUPPORT_PREFIX_STORE_BED_H

#include "tests/support/bed.h"

#define SESSIONS "'format': 'mooncake', 'path': 'traces/samples/sessions.jsonl', 'max_prompt_tokens': 8000"
#define BLOCK_TOKENS 512
#define BLOCK_BYTES (INT64_C(2) * 32 * 8 * 128 * 2 * BLOCK_TOKENS) /* Llama 3.1 8B, BF16 */

/* The metric store.METRIC[TIER]; 0 if there is no such tier. */
double store_of_tier(const struct bed_rows *rows, const char *metric, const char *tier);
/* Its sum over the tiers host, disk and pool. */
double store_of_tiers(const struct bed_rows *rows, const char *metric);

/* Checks that every token of a prompt is a hit, loaded or computed, and that blocks have their tokens and bytes. Holds
 * where nothing is preempted, so that each prompt is admitted once. */
void store_check_tokens(const struct bed_rows *rows);

#endif
