/* Published bandwidths of DeepEP's kernels, each beside the predicted one.
 *
 * A file NAME.exchanges.json has the shape that all rows share, and the rows:
 *
 *     { "source": "...", "hidden": 7168, "chosen": 8, "experts": 256, "gpus_per_node": 8,
 *       "rows": [{"version": 1, "gpu": "h800-sxm", "nodes": 2, "tokens": 4096, "token_nodes": 4, "sms": 24,
 *                 "network": "50GB/s", "dispatch": "43GB/s", "combine": "43GB/s"}] }
 *
 * Rows without `sms` are of low-latency kernels. Each kernel is predicted by the law and the constants that scenarios
 * use (models/operators/exchange.h); rows of version 2 also by the rates that its authors state. Dispatches send 8
 * bits, combines 16. Bytes are counted as DeepEP's benchmarks do (deepseek-ai/DeepEP @ dd758caf,
 * tests/legacy/test_internode.py, test_low_latency.py, tests/elastic/test_ep.py): of low-latency kernels all choices,
 * else copies to GPUs inside a node, and copies to nodes beyond it, the sender's own included. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_EXCHANGES_EXCHANGES_H
#define ORRERY_ANALYSIS_CALIBRATE_EXCHANGES_EXCHANGES_H

#include "models/operators/exchange.h"
#include "sim/catalog/catalog.h"
#include "sim/core/config/config.h"
#include "sim/core/hash.h"

struct exchanges_row {
    const char *gpu; /* of the catalog */
    int64_t version;
    double nodes, tokens; /* tokens of each GPU */
    double token_nodes;   /* most nodes with experts of a token; 0: all */
    double sms;           /* 0: low-latency kernels */
    double network_bytes_per_s; /* adapter of a GPU, per direction */
    double dispatch_bytes_per_s, combine_bytes_per_s; /* published */
};

struct exchanges_file {
    const char *path, *source;
    double hidden, chosen, experts, gpus_per_node;
    struct config_list rows; /* struct exchanges_row */
    char hash[HASH_HEX_CHARS];
};

enum exchanges_law { EXCHANGES_SCENARIOS, EXCHANGES_STATED, N_EXCHANGES_LAWS };

/* Returns 0, SIM_E_CONFIG, SIM_E_IO or SIM_E_NOMEM. */
int exchanges_load(const char *path, struct arena *arena, struct exchanges_file *file, struct diag *diag);

/* The predicted bandwidth in B/s of a row's dispatch or combine. Stated rates are those of version 2. Returns 0,
 * SIM_E_CONFIG or SIM_E_NOMEM, if the GPU is unknown or has no calibration. */
int exchanges_predict(const struct exchanges_file *file, const struct exchanges_row *row, bool combines,
                      enum exchanges_law law, const struct catalog *catalog, struct arena *arena, double *bytes_per_s,
                      struct diag *diag);

/* Predicts all rows, and writes the table `exchange` of a new SQLite file. Returns 0 or a negative code. */
int exchanges_write(const struct exchanges_file *file, const struct catalog *catalog, struct arena *arena,
                    const char *path, struct diag *diag);

#endif
