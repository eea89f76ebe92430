/* Keys and policies by the names that people know from other programs, for hints. */
#ifndef ORRERY_CLI_KEY_NAMES_H
#define ORRERY_CLI_KEY_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The index-th key that a serving engine calls `key`, the usual one first; NULL past the last one. The tokens of an
 * iteration have two names here: those of a budget that prompts and decoding share, and those of prompts alone. */
const char *key_synonym(const char *key, size_t index);

/* The policy of a family ("routing") that people also call `word`: "p2c" is "power-of-two". NULL: none is known. */
const char *policy_alias(const char *family, const char *word);

/* What to set instead of a key that the section ("services.chat"; the top: "") lacks, where no single key of the same
 * meaning exists. NULL: nothing is known. */
const char *key_advice(const char *section, const char *key);

#endif
