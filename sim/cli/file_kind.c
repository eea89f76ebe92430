#include "sim/cli/file_kind.h"

#include "sim/cli/paths.h"
#include "sim/core/input.h"
#include "sim/core/json_doc.h"
#include "traces/engine_log.h"
#include "traces/guess.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEYS = 3 };

/* A document with all of `keys` is such a file. The first three rows are in the order of enum file_kind. */
struct known_file {
    const char *what, *hint;
    const char *keys[MAX_KEYS];
};

static const struct known_file known[] = {
    {"a scenario", "'orrery run' simulates it; a study names it as its 'scenario'", {"services"}},
    {"a study", "'orrery sweep' runs it", {"scenario"}},
    {"a figure", "'orrery figure run' simulates it", {"studies", "claims"}},
    {"a scenario", "'orrery run' simulates it; a study names it as its 'scenario'", {"jobs"}},
    {"a study", "'orrery sweep' runs it", {"axes"}},
    {"a config.json of Hugging Face", "a service names it as its \"llm\"", {"model_type"}},
    {"a config.json of Hugging Face", "a service names it as its \"llm\"", {"architectures", "hidden_size"}},
    {"a GPU of the catalog", "a cluster has its name as \"gpu\"", {"peak", "memory_bandwidth"}},
    {"an LLM of the catalog", "a service has its name as \"llm\"", {"layers", "hidden"}},
};

static bool has_keys(const struct config *config, const struct known_file *file)
{
    for (size_t i = 0; i < MAX_KEYS && file->keys[i] != NULL; i++)
        if (!config_is_given(config, file->keys[i])) return false;
    return true;
}

static bool is_expected(const struct config *config, enum file_kind expected)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].what, known[expected].what) == 0 && has_keys(config, &known[i])) return true;
    return false;
}

int file_kind_check(const struct config *config, const char *path, enum file_kind expected, struct diag *diag)
{
    static const char hint[] = "a scenario names it as the \"path\" of a \"trace\"; 'orrery trace stat' describes it";
    static const char log_hint[] =
        "a scenario names it as the \"path\" of a \"trace\"; 'orrery trace replay' compares its "
        "measured times with simulated ones";
    const struct trace_format *format;
    const char *wanted = expected < FILE_KINDS ? known[expected].what : expected == FILE_TRACE ? "a trace" : "results";
    if (expected < FILE_KINDS && is_expected(config, expected)) return 0;
    if (trace_guess(path, TRACE_BOTH, NULL, &format, NULL) == 0)
        return diag_error(diag, SIM_E_USAGE, path, engine_log_is(format->name) ? log_hint : hint,
                          "this looks like a trace of format %s, not %s", format->name, wanted);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has_keys(config, &known[i]))
            return diag_error(diag, SIM_E_USAGE, path, known[i].hint, "this is %s, not %s", known[i].what, wanted);
    return 0;
}

int file_kind_check_path(const char *path, enum file_kind expected, struct diag *diag)
{
    struct config *config;
    if (paths_is_stream(path) || config_load(path, &config, NULL) != 0) return 0;
    const int code = file_kind_check(config, path, expected, diag);
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
    if (code == 0 && file_kind_check_path(path, FILE_KINDS, diag) != 0)
        code = SIM_E_DATA;
    else if (code == 0)
        code = diag_error(diag, SIM_E_DATA, path, "name a file that a run with -o wrote",
                          "this is JSON, neither results nor the measured times of a benchmark");
    else if (strstr(text, "the end of the text") != NULL)
        code = diag_error(diag, SIM_E_DATA, path, "copy it again", "this is JSON that is cut off: %s", text);
    else
        code = diag_error(diag, SIM_E_DATA, path, NULL, "this is JSON that cannot be read: %s", text);
    arena_fini(&arena);
    return code;
}

int file_kind_check_results(const char *path, struct diag *diag)
{
    char head[INPUT_HEAD_BYTES];
    FILE *file = paths_is_stream(path) ? NULL : fopen(path, "rb");
    if (file == NULL) return 0;
    const size_t n = fread(head, 1, sizeof head, file);
    fclose(file);
    const char *kind = input_binary_kind(head, n);
    size_t at = 0;
    if (kind != NULL && strstr(kind, "SQLite") != NULL) return 0;
    if (kind != NULL)
        return diag_error(diag, SIM_E_DATA, path, "unpack or convert it first, or name a file that a run with -o wrote",
                          "is %s, neither results nor the measured times of a benchmark", kind);
    while (at < n && strchr(" \t\r\n", head[at]) != NULL && head[at] != 0) at++;
    return at < n && strchr("{[/", head[at]) != NULL ? refuse_json(path, diag) : 0;
}
