/* Kept worlds: random worlds in a file, each with the hashes of its results. They tell that a result has moved.
 *
 * They were chosen among many for reaching code, or doing so a number of times, that none before had reached; for keys
 * and values that few have; and, of those with round numbers, for operands of comparisons that are equal or differ by
 * one. Some are written by hand: they read files of tests/fixtures/kept, which random worlds do not. Behind them are
 * scenarios of other tests with a few changes, chosen in the same way: random worlds meet few graphs, trials or RL.
 * The last 900 are kept worlds with a few values, keys and members of others: a refusal for each reason that none
 * had, and worlds chosen for code, counts and equal operands that none had reached.
 *
 * The file has one JSON object per line: {"events":..,"warnings":..,"rows":"..","metrics":"..","scenario":{..}}. As
 * the scenarios are kept, and not how they were drawn, a new key of the configuration moves nothing.
 *
 * A scenario that is refused has {"error":"..","scenario":{..}}, with the beginning of the error. These are wrong in
 * one place, and were chosen for the place and the error. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_KEPT_H
#define ORRERY_TESTS_SUPPORT_WORLDS_KEPT_H

#include "sim/catalog/catalog.h"
#include "sim/core/hash.h"

#include <cjson/cJSON.h>
#include <stdio.h>

enum { KEPT_ERROR_CHARS = 1024, KEPT_MOST_WRITTEN = 160 };

/* What a world comes to. Warnings are counted and are not among the rows: their words may change. */
struct kept_results {
    uint64_t n_events;
    int n_warnings;
    char rows[HASH_HEX_CHARS]; /* of requests, jobs, decisions and all other rows but metrics */
    char metrics[HASH_HEX_CHARS];
    char error[KEPT_ERROR_CHARS]; /* the first error, without its hint; empty: there is none */
};

/* Runs a scenario to its end. Returns 0; a negative code when it is invalid or does not end well, with `error`;
 * SIM_E_INTERRUPTED when it takes more than some ten thousand events. */
int kept_run(const char *json, struct catalog_memory *memory, struct kept_results *results);

/* Reads one line of the file: what the results were, and the scenario, to be released with cJSON_free. Returns 1, 0 at
 * the end of the file, or SIM_E_DATA. */
int kept_read(FILE *in, struct kept_results *results, char **json);

/* Writes a line of the file. Of an error it has the beginning, as long as KEPT_MOST_WRITTEN. */
void kept_write(FILE *out, const struct kept_results *results, const char *json);

/* Draws worlds first .. first + n - 1 of the seed, and writes those that are valid, and not too small or too long.
 * Returns 0 or a negative code. */
int kept_draw(uint64_t seed, uint64_t first, uint64_t n, FILE *out);

/* Copies a file with the results of today. Returns 0 or a negative code. */
int kept_repeat(FILE *in, FILE *out);

#endif
