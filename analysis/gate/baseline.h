/* The baseline of a gate: a JSON file of scenarios, each with its expected result hash and metrics and how far these
 * may move, and beside it FILE.decisions.csv.gz with every decision that led to them.
 *
 *   { "about": "what this gate is for",
 *     "made_by": {"version": "0.1.0", "commit": "...", "platform": "..."}, // this and the rest are written by --update
 *     "decision_log": "hash of the log's text",
 *     "tolerances": {"request.*.p99": "2%", "job.jct_s.mean": 0.5},        // for every scenario; other metrics: exact
 *     "scenarios": [ { "name": "chat", "scenario": "chat.json", "set": ["services.chat.replicas=4"], "seed": 7,
 *                      "tolerances": {}, "hash": "...", "scenario_hash": "...", "inputs": "...", "decisions": 812,
 *                      "resolved": {"seed": 7}, "metrics": {"NAME": 1.5} } ] }
 *
 * An entry written by another program than the others (--update --only) has a "made_by" of its own. "scenario_hash" is
 * that of the resolved scenario, "inputs" that of the files it names. "resolved" is the resolved scenario itself, in
 * which $ORRERY_DATA stands for the directory of the program's data; a baseline of an older version has none.
 *
 * A scenario is a path relative to the file, or a name of `orrery list scenarios`. An entry added manually ends
 * with "tolerances". Patterns of tolerances are those of the shell. Of several matching patterns the last one counts;
 * a scenario's own come after those of all. "2%" is relative to the baseline's value; a number is in the metric's
 * unit. */
#ifndef ORRERY_ANALYSIS_GATE_BASELINE_H
#define ORRERY_ANALYSIS_GATE_BASELINE_H

#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/json_doc.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stdbool.h>
#include <stddef.h>

/* The program that wrote results, and its platform; empty: unknown. */
struct maker {
    const char *version, *commit, *platform;
};

struct tolerance {
    const char *pattern; /* of metric names; NULL: none was given */
    double amount;       /* 0: exact; percent when relative */
    bool is_relative;    /* to the baseline's value; else in the metric's unit */
    const char *where;   /* "baseline.json:4:6"; NULL: in no file */
};

struct tolerance_list {
    size_t n;
    struct tolerance *items;
};

struct gate_metric {
    const char *name, *unit; /* no unit in a baseline */
    double value;            /* NAN: null */
    int direction;           /* -1: lower is better, 1: higher is, 0: neither */
};

/* Lines of a decision log (decision_log.h). */
struct decision_lines {
    size_t n;
    const char *chars; /* not terminated */
    size_t n_chars;
};

struct baseline_entry {
    const char *name;     /* unique */
    const char *scenario; /* relative to the baseline, or of the catalog */
    const char *json;     /* the scenario itself, resolved; NULL, as in every entry of a file: that of `scenario` */
    size_t n_settings;
    const char **settings; /* as in --set; paths in them are relative to the baseline */
    const char *seed;      /* NULL: the scenario's */
    struct tolerance_list tolerances;
    char hash[HASH_HEX_CHARS]; /* empty: the entry has no results yet */
    char scenario_hash[HASH_HEX_CHARS], inputs[HASH_HEX_CHARS]; /* empty: not known */
    const struct json_node *files;    /* hashes of the files of `inputs` and of plug-ins, by name; NULL: not known */
    const struct json_node *resolved; /* NULL: not known */
    struct maker maker;
    size_t n_metrics;
    struct gate_metric *metrics;
    struct decision_lines decisions;
};

/* All texts live in the arena it was loaded into. */
struct baseline {
    const char *path, *directory, *log_path;
    const char *about;  /* empty when the file has none */
    struct maker maker; /* of entries without a `made_by` of their own */
    struct tolerance_list tolerances;
    size_t n_entries, capacity;
    struct baseline_entry *entries;
};

/* Initialises an empty baseline, to be saved at `path`. Returns 0 or SIM_E_NOMEM. */
int baseline_init(struct baseline *baseline, const char *path, struct arena *arena);

/* Reads a baseline and its log, and checks that they belong together. `without_log`: leaves the log unread, for a
 * baseline that is rewritten as a whole. Returns 0, SIM_E_IO, SIM_E_CONFIG (the file), SIM_E_DATA (the log), or
 * SIM_E_NOMEM. */
int baseline_load(struct baseline *baseline, const char *path, bool without_log, struct arena *arena,
                  struct diag *diag);

/* The default name of an entry: its scenario's file name and its settings. In the arena; NULL: out of memory. */
const char *baseline_default_name(const struct baseline_entry *entry, struct arena *arena);

/* A new entry at the end, for the caller to fill; NULL when out of memory. */
struct baseline_entry *baseline_add(struct baseline *baseline, struct arena *arena);

bool baseline_same_maker(const struct maker *a, const struct maker *b);

/* Writes log and baseline. Each replaces the old file only as a whole. If the process dies between the two, the next
 * baseline_load reports that they do not belong together. Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int baseline_save(const struct baseline *baseline, struct diag *diag);

#endif
