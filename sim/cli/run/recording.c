#include "sim/cli/run/recording.h"

#include "sim/cli/run/clock.h"
#include "sim/cli/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BUSY_MS = 10000 }; /* longest wait for another process that has locked the database */

static int begin(struct recording *recording, const struct recording_place *place, const struct run_info *info,
                 struct diag *diag)
{
    struct results_options options = {.resume = place->resume, .limit_bytes = place->limit_bytes,
                                      .writer_thread = true, .busy_ms = BUSY_MS};
    recording->results = place->results;
    recording->is_lent = place->results != NULL;
    recording->cpu_before_s = place->cpu_before_s;
    recording->n_recorded = place->n_recorded;
    recording->recorded = place->recorded;
    int code = place->path != NULL ? results_open(place->path, &options, &recording->results, diag) : 0;
    if (code == 0 && recording->results == NULL)
        return hash_sink_init(&recording->hash_sink, info->keep) == 0 ? 0 : diag_nomem(diag);
    return code == 0 ? results_begin_run(recording->results, info, &recording->run_id, diag) : code;
}

static void add_oracle(uint32_t oracle, struct text *text)
{
    char names[POLICY_ORACLE_CHARS];
    policy_oracle_names(oracle, names);
    text_add(text, names);
}

static int hash_chars(const struct text *text, char hex[HASH_HEX_CHARS])
{
    struct hash *hash = hash_create();
    if (hash == NULL) return SIM_E_NOMEM;
    hash_bytes(hash, text->chars, text->length);
    hash_hex(hash, hex);
    hash_destroy(hash);
    return 0;
}

/* The inputs of a run, as texts. */
struct provenance {
    struct text scenario, policies, oracle, platform;
    char scenario_hash[HASH_HEX_CHARS];
};

static int provenance_init(struct provenance *provenance, const struct setup *setup)
{
    text_init(&provenance->scenario);
    text_init(&provenance->policies);
    text_init(&provenance->oracle);
    text_init(&provenance->platform);
    setup_policies(setup, &provenance->policies);
    add_oracle(scenario_oracle(&setup->scenario), &provenance->oracle);
    version_platform(&provenance->platform);
    if (provenance->policies.failed || provenance->oracle.failed || provenance->platform.failed) return SIM_E_NOMEM;
    int code = setup_dump(setup, &provenance->scenario);
    return code == 0 ? hash_chars(&provenance->scenario, provenance->scenario_hash) : code;
}

static void provenance_fini(struct provenance *provenance)
{
    text_fini(&provenance->scenario);
    text_fini(&provenance->policies);
    text_fini(&provenance->oracle);
    text_fini(&provenance->platform);
}

static const char *chars_of(const struct text *text)
{
    return text->chars != NULL ? text->chars : "";
}

int recording_scenario_hash(const struct setup *setup, char hex[HASH_HEX_CHARS])
{
    struct text scenario;
    text_init(&scenario);
    int code = setup_dump(setup, &scenario);
    if (code == 0) code = hash_chars(&scenario, hex);
    text_fini(&scenario);
    return code;
}

/* Resets the peak of this process's memory by writing 5 to this file (proc(5)), so that each of many runs reports
 * its own. Returns whether that worked. */
static bool start_peak(void)
{
    FILE *clear = fopen("/proc/self/clear_refs", "we");
    if (clear == NULL) return false;
    bool is_written = fputs("5", clear) >= 0;
    return fclose(clear) == 0 && is_written;
}

static void note_start(struct recording *recording, bool many_runs)
{
    timestamp_show((sim_ns)time(NULL) * SIM_NS_PER_S, recording->started_utc);
    recording->started_s = clock_wall_s();
    recording->is_peak_known = !many_runs || start_peak();
}

static const enum results_keep keeps[] = {[SCENARIO_KEEP_METRICS] = KEEP_METRICS,
                                          [SCENARIO_KEEP_CURVES] = KEEP_CURVES,
                                          [SCENARIO_KEEP_ROWS] = KEEP_ROWS,
                                          [SCENARIO_KEEP_DECISIONS] = KEEP_DECISIONS};

int recording_begin(struct recording *recording, const struct recording_place *place, const struct setup *setup,
                    struct diag *diag)
{
    *recording = (struct recording){0};
    recording->oracle = scenario_oracle(&setup->scenario);
    note_start(recording, place->results != NULL);
    int code = setup_hash_files(setup, recording->input_hash, diag);
    if (code != 0) return code;
    struct provenance provenance;
    code = provenance_init(&provenance, setup);
    if (code == 0) {
        struct run_info info = {
            .name = setup->scenario.name,
            .version = version_text(),
            .git_commit = version_commit(),
            .scenario = chars_of(&provenance.scenario),
            .scenario_hash = provenance.scenario_hash,
            .seed = setup->scenario.seed,
            .policies = chars_of(&provenance.policies),
            .oracle = chars_of(&provenance.oracle),
            .platform = chars_of(&provenance.platform),
            .keep = keeps[setup->scenario.keep],
            .run_id = place->run_id,
            .n_params = place->n_params,
            .params = place->params,
        };
        code = begin(recording, place, &info, diag);
    } else {
        diag_nomem(diag);
    }
    provenance_fini(&provenance);
    if (code != 0) recording_close(recording);
    return code;
}

struct sink recording_sink(struct recording *recording)
{
    return recording->results != NULL ? results_sink(recording->results) : hash_sink(&recording->hash_sink);
}

/* Peak memory of this process since note_start; 0: unknown. */
static int64_t peak_rss_bytes(const struct recording *recording)
{
    static const char key[] = "VmHWM:";
    char line[256];
    int64_t bytes = 0;
    FILE *status = recording->is_peak_known ? fopen("/proc/self/status", "re") : NULL;
    while (status != NULL && bytes == 0 && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, key, sizeof key - 1) == 0) bytes = strtoll(line + sizeof key - 1, NULL, 10) * 1024;
    if (status != NULL) fclose(status);
    return bytes;
}

void recording_oracle(const struct recording *recording, const struct world_result *result,
                      char names[POLICY_ORACLE_CHARS])
{
    policy_oracle_names(recording->oracle | (result->has_exact_estimates ? ORACLE_ESTIMATES : 0), names);
}

int recording_end(struct recording *recording, const char *status, const struct world_result *result,
                  char result_hash[HASH_HEX_CHARS], struct diag *diag)
{
    char oracle[POLICY_ORACLE_CHARS];
    recording_oracle(recording, result, oracle);
    if (recording->results == NULL)
        return hash_sink_hex(&recording->hash_sink, result_hash) == 0 ? 0 : diag_nomem(diag);
    struct run_end end = {
        .status = status,
        .trace_hash = recording->input_hash[0] != 0 ? recording->input_hash : NULL,
        .oracle = oracle,
        .extrapolated_frac = result->extrapolated_frac,
        .cost = {.started_utc = recording->started_utc,
                 .wall_s = clock_wall_s() - recording->started_s,
                 .cpu_s = clock_cpu_s() - recording->cpu_before_s,
                 .events = (int64_t)result->engine.fired,
                 .peak_rss_bytes = peak_rss_bytes(recording)},
        .n_recorded = recording->n_recorded,
        .recorded = recording->recorded,
    };
    return results_end_run(recording->results, &end, result_hash, diag);
}

void recording_close(struct recording *recording)
{
    if (recording->is_lent)
        results_abandon_run(recording->results);
    else
        results_close(recording->results);
    hash_sink_fini(&recording->hash_sink);
    recording->results = NULL;
}
