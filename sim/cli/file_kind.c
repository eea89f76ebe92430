#include "sim/cli/file_kind.h"

#include "sim/cli/paths.h"
#include "sim/core/config/config_tree.h"
#include "sim/core/input.h"
#include "sim/core/json_doc.h"
#include "sim/core/path.h"
#include "sim/store/readback.h"
#include "traces/engine_log.h"
#include "traces/guess.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEYS = 3 };

/* A document with all of `keys` is such a file. The first rows are in the order of enum file_kind. */
struct known_file {
    const char *what, *hint;
    const char *keys[MAX_KEYS];
    const char *verb; /* that makes results of it, or NULL */
};

#define SCENARIO(key)                                                                                                  \
    {                                                                                                                  \
        "a scenario", "'orrery run' simulates it; a study names it as its 'scenario'", {key}, "run"                    \
    }

static const struct known_file known[] = {
    SCENARIO("services"),
    {"a study", "'orrery sweep' runs it", {"scenario"}, "sweep"},
    {"a figure", "'orrery figure run' simulates it", {"studies", "claims"}, NULL},
    {"an LLM", "a service has its name as \"llm\"", {"layers", "hidden"}, NULL},
    {"a baseline", "'orrery check --baseline' reads it", {"made_by", "scenarios"}, NULL},
    SCENARIO("jobs"),
    {"a study", "'orrery sweep' runs it", {"axes"}, "sweep"},
    {"a config.json of Hugging Face", "a service names it as its \"llm\"", {"model_type"}, NULL},
    {"a config.json of Hugging Face", "a service names it as its \"llm\"", {"architectures", "hidden_size"}, NULL},
    {"a GPU of the catalog", "a cluster has its name as \"gpu\"", {"peak", "memory_bandwidth"}, NULL},
};

static const char trace_hint[] = "a scenario names it as the \"path\" of a \"trace\"; 'orrery trace stat' describes it";
static const char results_hint[] = "name a file that a run with -o wrote";

static const char *name_expected(enum file_kind expected)
{
    return expected == FILE_TRACE ? "a trace" : expected == FILE_RESULTS ? "results" : known[expected].what;
}

/* Whether the document has the key with a value of the right kind. Those of sizes are numbers, the others are not. */
static bool has_key(const struct config *config, const char *key)
{
    const char *rest;
    if (!config_is_given(config, key)) return false;
    const enum json_kind kind = config_find(config, key, &rest)->kind;
    const bool is_size = strcmp(key, "layers") == 0 || strncmp(key, "hidden", strlen("hidden")) == 0;
    return is_size ? kind == JSON_NUMBER : kind >= JSON_STRING;
}

static bool has_keys(const struct config *config, const struct known_file *file)
{
    for (size_t i = 0; i < MAX_KEYS && file->keys[i] != NULL; i++)
        if (!has_key(config, file->keys[i])) return false;
    return true;
}

static bool is_expected(const struct config *config, enum file_kind expected)
{
    if (expected == FILE_LLM && (config_is_given(config, "model_type") || config_is_given(config, "extends")))
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].what, known[expected].what) == 0 && has_keys(config, &known[i])) return true;
    return false;
}

/* A document that some verb turns into results says how to get them, where these are expected. */
static int refuse(const struct known_file *file, const char *path, enum file_kind expected, struct diag *diag)
{
    char hint[DIAG_TEXT_CHARS];
    const bool makes_results = expected == FILE_RESULTS && file->verb != NULL;
    if (makes_results) snprintf(hint, sizeof hint, "first: orrery %s %s -o results.db", file->verb, path);
    return diag_error(diag, SIM_E_USAGE, path, makes_results ? hint : file->hint, "this is %s, not %s", file->what,
                      name_expected(expected));
}

/* Whether the file is a trace: the finding says so. */
static int refuse_trace(const char *path, enum file_kind expected, struct diag *diag)
{
    static const char log_hint[] =
        "a scenario names it as the \"path\" of a \"trace\"; 'orrery trace replay' compares its "
        "measured times with simulated ones";
    const struct trace_format *format;
    if (trace_guess(path, TRACE_BOTH, NULL, &format, NULL) != 0) return 0;
    return diag_error(diag, SIM_E_USAGE, path, engine_log_is(format->name) ? log_hint : trace_hint,
                      "this looks like a trace of format %s, not %s", format->name, name_expected(expected));
}

int file_kind_check(const struct config *config, const char *path, enum file_kind expected, struct diag *diag)
{
    if (expected < FILE_TRACE && is_expected(config, expected)) return 0;
    const int code = refuse_trace(path, expected, diag);
    for (size_t i = 0; code == 0 && i < sizeof known / sizeof *known; i++)
        if (has_keys(config, &known[i])) return refuse(&known[i], path, expected, diag);
    return code;
}

int file_kind_check_python(const char *path, enum file_kind expected, struct diag *diag)
{
    struct arena arena;
    struct json_node *root;
    struct diag unheard;
    if (expected == FILE_LLM || paths_is_stream(path)) return 0;
    arena_init(&arena);
    diag_init(&unheard);
    const bool is_python = json_load(&arena, path, &root, &unheard) != 0 &&
                           json_load_python(&arena, path, &root, &unheard) == 0;
    int code = 0;
    for (size_t i = 0; is_python && code == 0 && i < sizeof known / sizeof *known; i++) {
        const char *const *keys = known[i].keys;
        const bool is_llm = strcmp(keys[0], "model_type") == 0 || strcmp(keys[0], "architectures") == 0;
        if (is_llm && json_member(root, keys[0]) != NULL && (keys[1] == NULL || json_member(root, keys[1]) != NULL))
            code = refuse(&known[i], path, expected, diag);
    }
    arena_fini(&arena);
    return code;
}

/* What text that is no JSON is: a trace, or a table. */
static int check_text(const char *path, enum file_kind expected, struct diag *diag)
{
    const int code = refuse_trace(path, expected, diag);
    if (code != 0 || !path_ends_in(path, ".csv")) return code;
    return diag_error(diag, SIM_E_USAGE, path, expected == FILE_RESULTS ? results_hint : trace_hint,
                      "this is a table, not %s", name_expected(expected));
}

int file_kind_check_path(const char *path, enum file_kind expected, struct diag *diag)
{
    struct config *config;
    if (paths_is_stream(path)) return 0;
    int code = 0;
    if (config_load(path, &config, NULL) != 0) {
        code = file_kind_check_python(path, expected, diag);
        return code == 0 && expected < FILE_LLM ? check_text(path, expected, diag) : code;
    }
    code = file_kind_check(config, path, expected, diag);
    config_destroy(config);
    return code;
}

/* JSON that is no log: what its syntax or its keys say. */
static int refuse_json(const char *path, struct diag *diag)
{
    struct arena arena;
    struct json_node *root;
    struct diag why;
    arena_init(&arena);
    diag_init(&why);
    int code = json_load(&arena, path, &root, &why);
    const char *text = why.n_items > 0 ? why.items[0].text : "";
    if (code == 0 && file_kind_check_path(path, FILE_RESULTS, diag) != 0)
        code = SIM_E_DATA;
    else if (code != 0 && file_kind_check_python(path, FILE_RESULTS, diag) != 0)
        code = SIM_E_DATA;
    else if (code == 0)
        code = diag_error(diag, SIM_E_DATA, path, results_hint,
                          "this is JSON, neither results nor the measured times of a benchmark");
    else if (strstr(text, "the end of the text") != NULL)
        code = diag_error(diag, SIM_E_DATA, path, "copy it again", "this is JSON that is cut off: %s", text);
    else
        code = diag_error(diag, SIM_E_DATA, path, NULL, "this is JSON that cannot be read: %s", text);
    arena_fini(&arena);
    return code;
}

/* A name that is no file, but that of a document which comes with the program. */
static int check_name(const char *name, enum file_kind expected, struct diag *diag)
{
    static const struct {
        const char *folder;
        enum file_kind kind;
    } folders[] = {{"scenarios", FILE_SCENARIO}, {"studies", FILE_STUDY}};
    struct arena arena;
    int code = 0;
    arena_init(&arena);
    for (size_t i = 0; code == 0 && i < sizeof folders / sizeof *folders; i++)
        if (paths_shipped(&arena, folders[i].folder, name) != NULL)
            code = refuse(&known[folders[i].kind], name, expected, diag);
    arena_fini(&arena);
    return code;
}

static int check_stored_file(const char *path, struct diag *diag)
{
    char head[INPUT_HEAD_BYTES];
    if (paths_is_directory(path))
        return diag_error(diag, SIM_E_USAGE, path, results_hint, "this is a directory, not results");
    FILE *file = paths_is_stream(path) ? NULL : fopen(path, "rb");
    if (file == NULL) return check_name(path, FILE_RESULTS, diag);
    const size_t n = fread(head, 1, sizeof head, file);
    fclose(file);
    const char *kind = input_binary_kind(head, n);
    size_t at = 0;
    if (n == 0) return diag_error(diag, SIM_E_DATA, path, results_hint, "this file is empty");
    if (kind != NULL && strstr(kind, "SQLite") != NULL) return 0;
    if (kind != NULL)
        return diag_error(diag, SIM_E_DATA, path, "unpack or convert it first, or name a file that a run with -o wrote",
                          "is %s, neither results nor the measured times of a benchmark", kind);
    while (at < n && strchr(" \t\r\n", head[at]) != NULL && head[at] != 0) at++;
    if (at < n && strchr("{[/", head[at]) != NULL) return refuse_json(path, diag);
    return check_text(path, FILE_RESULTS, diag) == 0 ? 0 : SIM_E_DATA;
}

int file_kind_check_results(const char *argument, struct diag *diag)
{
    struct arena arena;
    const char *path = argument;
    int64_t run_id;
    arena_init(&arena);
    int code = paths_is_file(argument) ? 0 : results_split_name(argument, &arena, &path, &run_id);
    if (code == 0) code = check_stored_file(path, diag);
    arena_fini(&arena);
    return code;
}

/* `takes` goes behind the hint: what is expected instead. */
static int check_argument(const char *argument, enum file_kind expected, const char *takes, struct diag *diag)
{
    char hint[DIAG_TEXT_CHARS];
    struct diag found;
    diag_init(&found);
    int code = check_name(argument, expected, &found);
    if (code == 0 && paths_is_database(argument))
        code = diag_error(&found, SIM_E_USAGE, argument, "'orrery show' and 'orrery report' read it",
                          "this is a database of results, not %s", name_expected(expected));
    if (code == 0 && path_is_json(argument)) code = file_kind_check_path(argument, expected, &found);
    if (code == 0 && paths_is_file(argument) && !path_is_json(argument)) code = check_text(argument, expected, &found);
    if (code == 0) return 0;
    const char *first = found.items[0].hint; /* to the first semicolon */
    snprintf(hint, sizeof hint, "%.*s; %s", (int)strcspn(first, ";"), first, takes);
    return diag_error(diag, SIM_E_USAGE, argument, hint, "%s", found.items[0].text);
}

int file_kind_check_llm(const char *argument, const char *verb, struct diag *diag)
{
    char takes[80];
    const struct trace_format *format;
    if (strcmp(verb, "size") == 0 && paths_is_file(argument) &&
        trace_guess(argument, TRACE_BOTH, NULL, &format, NULL) == 0)
        return diag_error(diag, SIM_E_USAGE, argument, "the LLM comes first: orrery size LLM --trace FILE --slo LIMIT",
                          "this looks like a trace of format %s, not an LLM", format->name);
    snprintf(takes, sizeof takes, "'orrery %s' takes an LLM, one of 'orrery list llms'", verb);
    return check_argument(argument, FILE_LLM, takes, diag);
}

int file_kind_check_baseline(const char *path, struct diag *diag)
{
    return check_argument(path, FILE_BASELINE, "'orrery check -b FILE.json --update SCENARIO' writes a baseline", diag);
}

int file_kind_check_log(const char *path, struct diag *diag)
{
    const struct trace_format *format;
    if (paths_is_database(path))
        return diag_error(diag, SIM_E_USAGE, path, "'orrery compare RESULTS LOG' compares it with a log",
                          "this is a database of results, not a log");
    const bool may_be_document = !paths_is_stream(path) && path_is_json(path);
    if (!may_be_document || trace_guess(path, TRACE_BOTH, NULL, &format, NULL) == 0) return 0;
    return file_kind_check_path(path, FILE_TRACE, diag);
}
