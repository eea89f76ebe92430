/* A study: a scenario, the axes along which it varies, and the seeds. Read from JSON:
 *
 *   { "name": "routing", "question": "Which router keeps TTFT low near saturation?",
 *     "scenario": "quickstart.json",                  // relative to the study, or of `orrery list scenarios`
 *     "set":   { "services.chat.replicas": 4 },       // laid over the scenario for every run
 *     "axes":  [ { "key": "services.chat.routing", "values": ["round-robin", "least-outstanding"] },
 *                { "key": "services.chat.trace.rate", "linear": { "from": "1/s", "to": "9/s", "n": 5 } },
 *                { "zip": { "services.chat.llm": [...], "services.chat.tensor_parallel": [...] } },
 *                { "sample": "sobol", "n": 64, "ranges": { "a.b": { "from": 1, "to": 9, "scale": "log" } } } ],
 *     "names": { "services.chat.routing": "router" }, // of axes, in tables and pages
 *     "seeds": 5,                                     // 1 .. 5, or a list; without it seed 1
 *     "intervals": false,                             // by the error of the cost models, of each point's first seed;
 *                                                     // not with a search
 *     "recorded": true,                               // replicated traces run once per point as they were recorded
 *     "keep":  "metrics",                             // or "curves", "rows", "decisions"
 *     "show":  ["request.ttft_s.p99"],                // in the tables at the end
 *     "pareto": ["request.ttft_s.p99", "cluster.gpus"],
 *     "where": [ { "metric": "request.tpot_s.p99", "at_most": "50ms" } ], // what points of the front must meet
 *     "search": { ... } }                             // search.h
 *
 * axes.h lists all forms of an axis. An object that names a policy, format, process, kind or distribution replaces the
 * scenario's value; any other object is merged into it. Relative paths in values start at the study's directory.
 *
 * The runs are the product of the axes, the last axis fastest, and the seeds within each point. Run i (from 0) has run
 * id i + 1 in the results, on every worker, rank or shard. */
#ifndef ORRERY_STUDY_STUDY_H
#define ORRERY_STUDY_STUDY_H

#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/store/results.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "key=value" as for --set, and the base directory of relative paths in the value. */
struct study_setting {
    const char *assignment, *directory;
    const char *where; /* place in the study, "study.json:3:9"; NULL: from --set */
};

/* Texts live in the arena of study_load. */
struct study {
    const char *name, *question;
    const char *scenario;   /* as found: a path, or the name of a scenario that comes with the program */
    const char *directory;  /* base of relative paths on the axes */
    bool has_intervals;     /* "intervals": true: the first seed of a point also runs with fast and with slow times */
    bool skips_recorded;    /* "recorded": false: no run of the trace that the seeds replicate, as it was recorded */
    const char *keep;       /* "metrics", "curves", "rows", "decisions" */
    const char *definition; /* the study as JSON with "extends" and overlays resolved; it parses to equal runs */
    char hash[HASH_HEX_CHARS];
    size_t n_points, n_seeds, n_runs; /* n_runs = n_points * n_seeds; a search adds runs as it proceeds */
    const int64_t *seeds;
    size_t n_settings; /* settings of every run */
    const struct study_setting *settings;
    size_t n_show, n_pareto; /* metrics */
    const char *const *show, *const *pareto;
    size_t n_conditions; /* of the Pareto front, on means over the seeds */
    const struct search_condition *conditions;
    const struct study_axes *axes;     /* axes.h */
    const struct study_search *search; /* NULL: none; search.h */
    const struct study_source *source;
};

/* The settings of one run, in order: the study's "set", then the point's values, where a key precedes keys within
 * it. */
struct study_run {
    int64_t run_id;
    int64_t seed;
    size_t n_settings;
    const struct study_setting *settings; /* [n_settings] */
    size_t n_params;
    const struct run_param *params; /* the point's values on the axes */
};

/* Reads and checks a study. Returns 0 or a negative code with findings. */
int study_load(const char *path, struct arena *arena, struct study *study, struct diag *diag);

/* Parses a text, which `name` stands for in findings; `directory` is the base of relative paths. Returns like
 * study_load. */
int study_parse(const char *name, const char *directory, const char *json, struct arena *arena, struct study *study,
                struct diag *diag);

/* Changes to a study from the command line. */
struct study_overlay {
    size_t n_settings;
    const char *const *settings; /* "key=value"; relative paths start at the current directory */
    int64_t n_seeds;             /* 0: as in the study */
    const char *name;            /* NULL: as in the study */
    const char *keep;            /* rows that runs keep, such as "rows"; NULL: as in the study. Outlives the study. */
};

/* Applies the changes, also to the definition and the hash. Keys that an axis varies or overrides cannot be set, nor
 * seed and keep. Texts are copied to `arena`, that of the study. Returns 0, SIM_E_USAGE or SIM_E_NOMEM. */
int study_lay(struct study *study, const struct study_overlay *overlay, struct arena *arena, struct diag *diag);

/* The run with seed number `seed` (from 0) at a point, into the arena. In a search, `key` is searched and has
 * `value`; else both are NULL. The caller sets `run_id`. Returns 0 or SIM_E_NOMEM. */
int study_run_with(const struct study *study, size_t point, size_t seed, const char *key, const char *value,
                   struct arena *arena, struct study_run *run);

#endif
