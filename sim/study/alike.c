#include "sim/study/alike.h"

#include "sim/core/config/config_tree.h"
#include "sim/study/axes.h"
#include "sim/study/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all runs of a group must share. */
struct fact {
    char group[HASH_HEX_CHARS], value[HASH_HEX_CHARS];
    size_t run; /* index in the merge */
};

enum subject { SCENARIO, INPUTS, INPUTS_OF_POINT, SUBJECT_COUNT };

struct comparison {
    const struct merge *merge;
    const struct study *study;
    size_t n; /* runs that did not fail */
    struct fact *facts[SUBJECT_COUNT];
    struct diag *diag;
};

/* --- The scenario without the study's varied keys --- */

static bool is_left_out(const struct json_node *node, const struct json_node *const *left_out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (left_out[i] == node) return true;
    return false;
}

/* Paths may differ from machine to machine. */
static const char *without_directory(const struct json_node *node)
{
    const char *text = node->text != NULL ? node->text : "", *slash = strrchr(text, '/');
    bool is_path = node->kind == JSON_STRING && slash != NULL &&
                   (text[0] == '/' || strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0 ||
                    (node->key != NULL && strcmp(node->key, "path") == 0));
    return is_path ? slash + 1 : text;
}

static void hash_node(struct hash *hash, const struct json_node *node, const struct json_node *const *left_out,
                      size_t n)
{
    if (is_left_out(node, left_out, n)) return;
    hash_i64(hash, (int64_t)node->kind);
    hash_text(hash, node->key != NULL ? node->key : "");
    if (node->kind != JSON_OBJECT && node->kind != JSON_LIST) hash_text(hash, without_directory(node));
    for (const struct json_node *child = node->first; child != NULL; child = child->next)
        hash_node(hash, child, left_out, n);
    hash_text(hash, "end");
}

/* The i-th key whose value differs between runs. */
static const char *varied_key(const struct study *study, size_t i)
{
    size_t n = axes_keys(study->axes);
    if (i < n) return axes_param(study->axes, 0, i).key;
    return i == n && study->search != NULL ? study->search->key : "seed";
}

static int hash_scenario(const struct comparison *comparison, const char *json, char hex[HASH_HEX_CHARS])
{
    size_t n_keys = axes_keys(comparison->study->axes) + (comparison->study->search != NULL) + 1, n = 0;
    const struct json_node **left_out = mem_zalloc(n_keys + 1, sizeof *left_out);
    struct hash *hash = hash_create();
    struct config *config = NULL;
    int code = left_out == NULL || hash == NULL ? diag_nomem(comparison->diag) : 0;
    if (code == 0) code = config_parse("scenario", ".", json, strlen(json), &config, comparison->diag);
    for (size_t i = 0; code == 0 && i < n_keys; i++) {
        const char *rest;
        const struct json_node *node = config_find(config, varied_key(comparison->study, i), &rest);
        if (*rest == 0) left_out[n++] = node;
    }
    if (code == 0) {
        hash_node(hash, config->root, left_out, n);
        hash_hex(hash, hex);
    }
    if (config != NULL) config_destroy(config);
    hash_destroy(hash);
    mem_free(left_out);
    return code;
}

/* --- Groups --- */

/* Whether the value is a number, a quantity, a boolean, or the name of a policy. */
static bool names_no_file(const char *key, const char *value)
{
    static const char *const families[] = {"routing", "batching", "scheduler", "placement", "policy"};
    const char *dot = strrchr(key, '.'), *name = dot != NULL ? dot + 1 : key;
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) return true;
    if (strpbrk(value, "{[") == NULL && strspn(value, "+-.0123456789") > 0) return true;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(name, families[i]) == 0) return strpbrk(value, "{[/\"") == NULL;
    return false;
}

/* Values of a run, and among them those that may name a file. */
static int hash_params(const struct comparison *comparison, const struct merge_run *run, char all[HASH_HEX_CHARS],
                       char naming[HASH_HEX_CHARS])
{
    static const char what[] = "read a run's values";
    const struct database *database = &comparison->merge->inputs[run->input];
    sqlite3_stmt *select;
    struct hash *hashes[2] = {hash_create(), hash_create()};
    int code = hashes[0] == NULL || hashes[1] == NULL ? diag_nomem(comparison->diag) : 0, step = SQLITE_DONE;
    if (code == 0)
        code = database_prepare(database, "SELECT key, value FROM param WHERE run_id = ? ORDER BY key", &select, what,
                                comparison->diag);
    if (code == 0) {
        sqlite3_bind_int64(select, 1, run->id);
        while ((step = sqlite3_step(select)) == SQLITE_ROW) {
            const char *key = (const char *)sqlite3_column_text(select, 0);
            const char *value = (const char *)sqlite3_column_text(select, 1);
            hash_text(hashes[0], value);
            if (!names_no_file(key, value)) hash_text(hashes[1], value);
        }
        if (step != SQLITE_DONE) code = database_error(database, what, comparison->diag);
        sqlite3_finalize(select);
    }
    if (code == 0) {
        hash_hex(hashes[0], all);
        hash_hex(hashes[1], naming);
    }
    hash_destroy(hashes[0]);
    hash_destroy(hashes[1]);
    return code;
}

static int read_facts(struct comparison *comparison, size_t i)
{
    static const char sql[] = "SELECT scenario, coalesce(trace_hash, '') FROM run WHERE id = ?", what[] = "read a run";
    const struct merge_run *run = &comparison->merge->runs[i];
    const struct database *database = &comparison->merge->inputs[run->input];
    struct fact scenario = {.run = i}, inputs = {.run = i}, of_point = {.run = i};
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, what, comparison->diag);
    if (code != 0) return code;
    sqlite3_bind_int64(select, 1, run->id);
    if (sqlite3_step(select) != SQLITE_ROW) code = database_error(database, what, comparison->diag);
    if (code == 0) code = hash_scenario(comparison, (const char *)sqlite3_column_text(select, 0), scenario.value);
    if (code == 0) {
        snprintf(inputs.value, sizeof inputs.value, "%s", (const char *)sqlite3_column_text(select, 1));
        memcpy(of_point.value, inputs.value, sizeof of_point.value);
        code = hash_params(comparison, run, of_point.group, inputs.group);
    }
    sqlite3_finalize(select);
    comparison->facts[SCENARIO][comparison->n] = scenario;
    comparison->facts[INPUTS][comparison->n] = inputs;
    comparison->facts[INPUTS_OF_POINT][comparison->n++] = of_point;
    return code;
}

/* --- Comparing --- */

static int compare_facts(const void *left, const void *right)
{
    const struct fact *a = left, *b = right;
    int order = strcmp(a->group, b->group);
    return order != 0 ? order : (a->run > b->run) - (a->run < b->run);
}

static int report(const struct comparison *comparison, enum subject subject, const struct fact *one,
                  const struct fact *other)
{
    const struct merge *merge = comparison->merge;
    const struct merge_run *a = &merge->runs[one->run], *b = &merge->runs[other->run];
    return diag_error(comparison->diag, SIM_E_USAGE, merge->inputs[b->input].path,
                      "do all runs of a study from the same files",
                      "run %" PRId64 " was made from %s than run %" PRId64 " in %s", b->id,
                      subject == SCENARIO ? "another scenario" : "other input files (traces, catalog files)", a->id,
                      merge->inputs[a->input].path);
}

/* Compares one group. A property that differs within one file, written by one process, depends on what the study
 * varies. */
static int compare_group(const struct comparison *comparison, enum subject subject, const struct fact *facts, size_t n)
{
    const struct fact *other = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t input = comparison->merge->runs[facts[i].run].input;
        for (size_t before = i; before-- > 0;) { /* the last run of the same file */
            if (comparison->merge->runs[facts[before].run].input != input) continue;
            if (strcmp(facts[before].value, facts[i].value) != 0) return 0;
            break;
        }
        if (other == NULL && strcmp(facts[i].value, facts[0].value) != 0) other = &facts[i];
    }
    return other != NULL ? report(comparison, subject, facts, other) : 0;
}

static int compare_subject(const struct comparison *comparison, enum subject subject)
{
    struct fact *facts = comparison->facts[subject];
    int code = 0;
    if (comparison->n > 0) qsort(facts, comparison->n, sizeof *facts, compare_facts);
    for (size_t from = 0, to; code == 0 && from < comparison->n; from = to) {
        for (to = from; to < comparison->n && strcmp(facts[to].group, facts[from].group) == 0;) to++;
        code = compare_group(comparison, subject, &facts[from], to - from);
    }
    return code;
}

static int compare_worlds(const struct merge *merge, const struct study *study, struct diag *diag)
{
    struct comparison comparison = {.merge = merge, .study = study, .diag = diag};
    int code = 0;
    for (int i = 0; i < SUBJECT_COUNT; i++) {
        comparison.facts[i] = mem_zalloc(merge->n_runs + 1, sizeof *comparison.facts[i]);
        if (comparison.facts[i] == NULL && code == 0) code = diag_nomem(diag);
    }
    for (size_t i = 0; code == 0 && i < merge->n_runs; i++)
        if (!merge->runs[i].failed && !merge->runs[i].unfit) code = read_facts(&comparison, i);
    for (int i = 0; code == 0 && i < SUBJECT_COUNT; i++) code = compare_subject(&comparison, (enum subject)i);
    for (int i = 0; i < SUBJECT_COUNT; i++) mem_free(comparison.facts[i]);
    return code;
}

/* --- Programs --- */

enum { MAX_PLUGINS = 64, PLUGIN_CHARS = 64 + HASH_HEX_CHARS };

/* The program and plug-ins that made the runs compared so far. */
struct makers {
    char version[128];
    size_t n;
    char plugins[MAX_PLUGINS][PLUGIN_CHARS]; /* "name=hash" */
};

static int compare_plugin(struct makers *makers, const char *plugin, const struct database *input, int64_t run_id,
                          struct diag *diag)
{
    size_t name_chars = strcspn(plugin, "=") + 1, i = 0;
    while (i < makers->n && strncmp(makers->plugins[i], plugin, name_chars) != 0) i++;
    if (i < makers->n && strcmp(makers->plugins[i], plugin) != 0)
        return diag_error(diag, SIM_E_USAGE, input->path, "do all runs of a study with one build of each plug-in",
                          "run %" PRId64
                          " had another build of the plug-in '%.*s' than others: their hashes are %s and %s",
                          run_id, (int)name_chars - 1, plugin, plugin + name_chars, makers->plugins[i] + name_chars);
    if (i == makers->n && makers->n < MAX_PLUGINS) snprintf(makers->plugins[makers->n++], PLUGIN_CHARS, "%s", plugin);
    return 0;
}

/* Adds the plug-ins that a run names, each as " plugin.NAME=HASH". */
static int compare_plugins(struct makers *makers, const char *policies, const struct database *input, int64_t run_id,
                           struct diag *diag)
{
    static const char mark[] = " plugin.";
    char plugin[PLUGIN_CHARS];
    int code = 0;
    for (const char *at = policies; code == 0 && (at = strstr(at, mark)) != NULL;) {
        at += strlen(mark);
        snprintf(plugin, sizeof plugin, "%.*s", (int)strcspn(at, " "), at);
        code = compare_plugin(makers, plugin, input, run_id, diag);
    }
    return code;
}

static int compare_run(struct makers *makers, const struct merge *merge, const struct merge_run *run, struct diag *diag)
{
    static const char sql[] = "SELECT version || ' ' || git_commit, policies FROM run WHERE id = ?";
    const struct database *input = &merge->inputs[run->input];
    sqlite3_stmt *select;
    int code = database_prepare(input, sql, &select, "read a run", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(select, 1, run->id);
    if (sqlite3_step(select) != SQLITE_ROW) code = database_error(input, "read a run", diag);
    const char *version = code == 0 ? (const char *)sqlite3_column_text(select, 0) : "";
    if (makers->version[0] == 0) snprintf(makers->version, sizeof makers->version, "%s", version);
    if (code == 0 && strcmp(version, makers->version) != 0)
        code = diag_error(diag, SIM_E_USAGE, input->path, "do all runs of a study with one version",
                          "run %" PRId64 " was made by orrery %s, others by %s", run->id, version, makers->version);
    if (code == 0) code = compare_plugins(makers, (const char *)sqlite3_column_text(select, 1), input, run->id, diag);
    sqlite3_finalize(select);
    return code;
}

static int compare_makers(struct makers *makers, const struct merge *merge, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < merge->n_runs; i++) code = compare_run(makers, merge, &merge->runs[i], diag);
    return code;
}

int alike_check_program(const struct merge *merge, const struct sweep_runner *runner, struct diag *diag)
{
    struct makers makers = {0};
    snprintf(makers.version, sizeof makers.version, "%s %s", runner->version, runner->git_commit);
    int code = compare_makers(&makers, merge, diag);
    for (size_t i = 0; code == 0 && i < makers.n; i++) {
        const char *hash = strchr(makers.plugins[i], '=');
        if (hash != NULL && strstr(runner->program, hash + 1) == NULL)
            code = diag_error(diag, SIM_E_USAGE, merge->n_inputs > 0 ? merge->inputs[0].path : NULL,
                              "load the file that they had with --plugin, or name another file with -o",
                              "runs had the plug-in '%.*s', which is not loaded, or of which this is another build",
                              (int)(hash - makers.plugins[i]), makers.plugins[i]);
    }
    return code;
}

int alike_check(const struct merge *merge, const struct study *study, struct diag *diag)
{
    struct makers makers = {0};
    int code = compare_makers(&makers, merge, diag);
    return code == 0 ? compare_worlds(merge, study, diag) : code;
}
