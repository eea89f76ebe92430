/* A study: one scenario, what is varied about it, and under which seeds. Read from JSON:
 *
 *   { "name": "routing", "question": "Which router keeps TTFT low near saturation?",
 *     "scenario": "quickstart.json",                  // a path relative to the study, or a name of `orrery list scenarios`
 *     "set":   { "services.chat.replicas": 4 },       // laid over the scenario for every run
 *     "axes":  [ { "key": "services.chat.routing", "values": ["round-robin", "least-outstanding"] },
 *                { "key": "services.chat.trace.rate", "linear": { "from": "1/s", "to": "9/s", "n": 5 } },
 *                { "zip": { "services.chat.llm": [...], "services.chat.tensor_parallel": [...] } },
 *                { "sample": "sobol", "n": 64, "ranges": { "a.b": { "from": 1, "to": 9, "scale": "log" } } } ],
 *     "seeds": 5,                                     // 1 .. 5, or a list; without it seed 1
 *     "keep":  "metrics",                             // or "curves", "rows", "decisions"
 *     "show":  ["request.ttft_s.p99"],                // in the table at the end
 *     "pareto": ["request.ttft_s.p99", "cluster.gpus"],
 *     "search": { ... } }                             // search.h
 *
 * All ways to write an axis are in axes.h. A value that is an object and names a policy, format, process, kind or
 * distribution takes the place of what the scenario has there; any other object is laid over it. Relative paths in values
 * start where the study is.
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

/* "key=value" as for --set, and the directory that relative paths in the value start from. */
struct study_setting {
    const char *assignment, *directory;
    const char *where; /* it is written, "study.json:3:9"; NULL: with --set */
};

/* Texts live in the arena the study was loaded into. */
struct study {
    const char *name, *question;
    const char *scenario;   /* as it was found: a path, or the name of a scenario that comes with the program */
    const char *directory;  /* that relative paths on the axes start from */
    const char *keep;       /* "metrics", "curves", "rows", "decisions" */
    const char *definition; /* the study as JSON, with "extends" resolved and overlays in it; it parses to the same runs */
    char hash[HASH_HEX_CHARS];
    size_t n_points, n_seeds, n_runs; /* n_runs = n_points * n_seeds; a search adds its own as it goes */
    const int64_t *seeds;
    size_t n_settings; /* of every run */
    const struct study_setting *settings;
    size_t n_show, n_pareto; /* metrics */
    const char *const *show, *const *pareto;
    const struct study_axes *axes;     /* axes.h */
    const struct study_search *search; /* NULL: none; search.h */
    const struct study_source *source;
};

/* What one run lays over the scenario, in this order: the study's "set", the point's values; of these a key comes before those
 * that lie within it. */
struct study_run {
    int64_t run_id;
    int64_t seed;
    size_t n_settings;
    const struct study_setting *settings; /* [n_settings] */
    size_t n_params;
    const struct run_param *params; /* the point's values alone: what the axes vary */
};

/* Reads and checks a study. Returns 0 or a negative code with findings. */
int study_load(const char *path, struct arena *arena, struct study *study, struct diag *diag);

/* The same from text, which `name` stands for in findings; relative paths start at `directory`. */
int study_parse(const char *name, const char *directory, const char *json, struct arena *arena, struct study *study,
                struct diag *diag);

/* What a command line lays over a study. */
struct study_overlay {
    size_t n_settings;
    const char *const *settings; /* "key=value"; paths start at the current directory */
    int64_t n_seeds;             /* 0: those of the study */
    const char *name;            /* NULL: that of the study */
};

/* Lays it over; the definition and the hash change with it. A key that an axis varies or overrules cannot be set, nor seed
 * and keep, which the study has of its own. Texts are copied to
 * the arena, that of the study. Returns 0, SIM_E_USAGE or SIM_E_NOMEM. */
int study_lay(struct study *study, const struct study_overlay *overlay, struct arena *arena, struct diag *diag);

/* The run with seed number `seed` (from 0) at a point, into the arena; in a search, with one value of the key that is searched
 * for (NULL: none). The caller sets `run_id`. Returns 0 or SIM_E_NOMEM. */
int study_run_with(const struct study *study, size_t point, size_t seed, const char *key, const char *value,
                   struct arena *arena, struct study_run *run);

#endif
