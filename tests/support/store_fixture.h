/* Runs with made-up rows, for the tests of the store. */
#ifndef ORRERY_TESTS_SUPPORT_STORE_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_STORE_FIXTURE_H

#include "sim/core/rng.h"
#include "sim/store/results.h"

/* Writes `n` request rows with rows of every other table among them: random numbers, NANs, infinities, zeros of both
 * signs, texts with quotes, of other scripts, empty ones. The same seed gives the same rows. Members that are NULL are
 * passed over. Returns the first code that is not 0. */
int store_put_rows(const struct sink *sink, int n, uint64_t seed);

/* The row of `store_put_rows` at this place of the stream. */
struct request_row store_random_request(struct rng *rng, int64_t id);

extern const struct run_info store_run_info;
extern const struct run_end store_run_end;

/* Opens the file, writes one run of n requests and closes. The result hash may be NULL. */
int store_write_run(const char *path, const struct results_options *options, int n, uint64_t seed, char *result_hash,
                    struct diag *diag);

/* Runs a query on a file with a connection of its own and returns the first column of its first row as text, from a few
 * static buffers in turn; "error: ..." when SQLite finds one, "none" without a row. */
const char *store_query(const char *path, const char *sql);

#endif
