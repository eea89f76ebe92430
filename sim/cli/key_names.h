/* Keys, policies and choices by the names that people know from other programs, for hints. */
#ifndef ORRERY_CLI_KEY_NAMES_H
#define ORRERY_CLI_KEY_NAMES_H

#include "sim/cli/options.h"
#include "sim/core/config/config_field.h"

#include <stddef.h>

/* The index-th key that a serving engine calls `key`, the usual one first; NULL past the last one. The tokens of an
 * iteration have two names here: those of a budget that prompts and decoding share, and those of prompts alone. */
const char *key_synonym(const char *key, size_t index);

/* The policy of a family ("routing"), or the choice of a key ("weights"), that people also call `word`: "p2c" is
 * "power-of-two", "awq" is "int4". NULL: none is known. */
const char *value_alias(const char *family_or_key, const char *word);

/* What a format of traces is that the family ("job-trace") lacks; NULL: it is none. */
const char *value_stray(const char *family, const char *word);

/* The command that lists what a message calls "key", "scheduler policy", "job-trace format"; NULL: none. */
const char *value_listing(const char *what);

/* What to set instead of a key that the section ("services.chat"; the top: "") lacks, where no single key of the same
 * meaning exists. NULL: nothing is known. */
const char *key_advice(const char *section, const char *key);

/* The same for the parameters of a trace that stands alone, with the arrivals of a generator. */
const char *key_advice_of_trace(const char *section, const char *key);

/* A callback for struct verb: where a scenario has the key of an unknown option: "replicas", "max-num-seqs". */
enum option_hint key_explain_option(const char *name, char *hint, size_t hint_bytes);

/* The same for keys of other documents: the key of the table that has the name of an option, or a name that other
 * programs have for it. */
enum option_hint key_explain_field(const struct config_field *fields, const char *name, char *hint, size_t hint_bytes);

#endif
