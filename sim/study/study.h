/* A study: one scenario, what is varied about it, and under which seeds. Read from JSON:
 *
 *   { "name": "routing", "question": "Which router keeps TTFT low near saturation?",
 *     "scenario": "quickstart.json",                  // a path relative to the study, or a name of `orrery list scenarios`
 *     "set":   { "services.chat.replicas": 4 },       // laid over the scenario for every run
 *     "axes":  [ { "key": "services.chat.routing", "values": ["round-robin", "least-outstanding"] },
 *                { "key": "services.chat.trace.rate", "linear": { "from": "1/s", "to": "9/s", "n": 5 } },
 *                { "zip": { "services.chat.llm": [...], "services.chat.tensor_parallel": [...] } },
 *                { "sample": "sobol", "n": 64, "ranges": { "a.b": { "from": 1, "to": 9, "scale": "log" } } } ],
 *     "seeds": 5,                                     // 1 .. 5, or a list
 *     "keep":  "metrics" }
 *
 * The runs are the product of the axes, the last axis fastest, and within each point the seeds. Run i (from 0) has run id
 * i + 1 in the results, on whatever worker, rank or shard it is done. */
#ifndef ORRERY_STUDY_STUDY_H
#define ORRERY_STUDY_STUDY_H

#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/store/results.h"

#include <stddef.h>
#include <stdint.h>

/* Texts live in the arena the study was loaded into. */
struct study {
    const char *name, *question;
    const char *scenario;   /* as it was found: a path, or the name of a scenario that comes with the program */
    const char *keep;       /* "metrics", "rows", "decisions" */
    const char *definition; /* the study's JSON, with "extends" resolved, in canonical form */
    char hash[HASH_HEX_CHARS];
    size_t n_points, n_seeds, n_runs; /* n_runs = n_points * n_seeds; a search adds its own as it goes */
    const int64_t *seeds;
    struct study_axes *axes; /* study_axes.h */
    struct study_search *search; /* NULL: none; study_search.h */
};

/* What one run lays over the scenario, in this order: the study's "set", the point's values. As "key=value" for --set. */
struct study_run {
    int64_t run_id;
    int64_t seed;
    size_t n_settings;
    const char *const *settings;    /* [n_settings] */
    size_t n_params;
    const struct run_param *params; /* the point's values alone: what the axes vary */
};

/* Reads and checks a study. Returns 0 or a negative code with findings. */
int study_load(const char *path, struct arena *arena, struct study *study, struct diag *diag);

/* The same from text, which `name` stands for in findings; relative paths start at `directory`. */
int study_parse(const char *name, const char *directory, const char *json, struct arena *arena, struct study *study,
                struct diag *diag);

/* Run i of n_runs, into the arena. Returns 0 or SIM_E_NOMEM. */
int study_run_at(const struct study *study, size_t i, struct arena *arena, struct study_run *run);

#endif
