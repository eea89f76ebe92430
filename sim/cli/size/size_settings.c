/* What --set may not say to 'orrery size', and what an unknown option of it stands for. */
#include "sim/cli/key_names.h"
#include "sim/cli/size/size.h"
#include "sim/core/json_doc.h"

#include <stdio.h>
#include <string.h>

/* The scenario of the search has one service, "llm", and no jobs. */
static int check_sections(const char *setting, struct diag *diag)
{
    static const char services[] = "services.", own[] = "services.llm";
    const char *name = setting + sizeof services - 1;
    char hint[DIAG_TEXT_CHARS];
    const size_t n_key = strcspn(setting, "=");
    if (strncmp(setting, services, sizeof services - 1) != 0) return 0;
    const size_t n = strcspn(name, ".=");
    if (n == 3 && strncmp(name, "llm", n) == 0) return 0;
    snprintf(hint, sizeof hint, "write --set %s%.160s", own, name + n);
    return diag_error(diag, SIM_E_USAGE, "--set", hint, "the service that 'size' searches is '%s', got '%.*s'", own,
                      (int)(n_key < 80 ? n_key : 80), setting);
}

/* The value of the setting, if it is JSON; else NULL. */
static int read_value(const char *setting, struct arena *arena, struct json_node **value, struct diag *diag)
{
    static const struct json_source source = {.name = "--set", .directory = "."};
    const char *text = strchr(setting, '=');
    char *copy = text != NULL ? arena_strdup(arena, text + 1) : NULL;
    *value = NULL;
    if (text == NULL) return 0;
    const int code = copy != NULL ? json_parse(arena, &source, copy, strlen(copy), value, NULL) : SIM_E_NOMEM;
    if (code != 0) *value = NULL;
    return code == SIM_E_NOMEM ? diag_nomem(diag) : 0;
}

/* Whether the value has what lies at the end of the dotted path. */
static bool has_member(const struct json_node *value, const char *path)
{
    char key[64];
    while (value != NULL && *path != '\0') {
        const size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        value = json_member(value, key);
        path += n + (path[n] == '.');
    }
    return value != NULL;
}

/* Whether the setting is of the key, or of a section above it with an object that has the key; with `within`, also
 * of a key in the section that the key is. */
static bool sets_key(const char *setting, const struct json_node *value, const char *key, bool within)
{
    const size_t n = strcspn(setting, "="), n_key = strlen(key);
    if (within && n > n_key && strncmp(setting, key, n_key) == 0 && setting[n_key] == '.') return true;
    if (strncmp(setting, key, n) != 0) return false;
    return key[n] == '\0' || (key[n] == '.' && value != NULL && has_member(value, key + n + 1));
}

/* A key that --set may not have. */
struct refused_key {
    const char *key;
    bool within; /* nor any key in this section */
    const char *hint;
};

/* Refuses a setting of one of the keys; `why` follows its name. */
static int refuse(const char *setting, const struct json_node *value, const struct refused_key *keys, size_t n_keys,
                  const char *why, struct diag *diag)
{
    for (size_t i = 0; i < n_keys; i++)
        if (sets_key(setting, value, keys[i].key, keys[i].within))
            return diag_error(diag, SIM_E_USAGE, "--set", keys[i].hint, "%s %s", keys[i].key, why);
    return 0;
}

/* What the search chooses itself, and prints: a setting of it would make the answer another one's. */
static int check_searched(const char *setting, const struct json_node *value, struct diag *diag)
{
    static const char of_engine[] =
        "--set services.llm.cost.engine=sglang-0.5 tries those of that engine; for others, 'orrery sweep'";
    static const char of_size[] = "--max-gpus limits it; 'orrery sweep' varies a scenario";
    static const char of_node[] = "its nodes have 8 GPUs; 'orrery sweep' varies a scenario";
    static const struct refused_key searched[] = {
        {"services.llm.batching", false, of_engine},
        {"services.llm.batching.policy", false, of_engine},
        {"services.llm.batching.token_budget", false, of_engine},
        {"services.llm.batching.chunked_prefill_tokens", false, of_engine},
        {"services.llm.replicas", false, of_size},
        {"services.llm.tensor_parallel", false, of_size},
        {"services.llm.pipeline_parallel", false, of_size},
        {"services.llm.data_parallel", false, of_size},
        {"services.llm.scaling", true, of_size},
        {"services.llm.pools", true, "--disaggregated tries pools"},
        {"cluster.gpu", false, "name GPUs with --gpu"},
        {"cluster.mig", false, "name slices with --gpu, such as h100-sxm:1g.10gb"},
        {"cluster.nodes", false, of_size},
        {"cluster.gpus_per_node", false, of_node},
        {"cluster.node_types", true, of_node},
        {"cluster.nodes_file", true, of_node},
        {"cluster.unlimited", false, of_size},
    };
    return refuse(setting, value, searched, sizeof searched / sizeof *searched, "is what 'size' searches", diag);
}

/* What an option or argument of 'size' says, and the answer names, or what no answer of it depends on. */
static int check_asked(const char *setting, const struct json_node *value, struct diag *diag)
{
    static const char of_price[] = "--gpu 'NAME=$2.50/h' or --prices LIST prices GPUs";
    static const char of_end[] =
        "--requests N, or --set services.llm.trace.window=0s:60s, shortens the load; a request "
        "that never ends exceeds every limit";
    static const char of_runs[] =
        "'size' stores no runs: --study FILE writes a study, whose runs 'orrery sweep' stores";
    static const struct refused_key asked[] = {
        {"services.llm.llm", false, "the LLM is the argument: orrery size LLM"},
        {"services.llm.slo", true, "give limits with --slo, such as --slo ttft.p99=1s"},
        {"services.llm.trace.arrival.rate", false, "give it with --rate, such as --rate 5/s"},
        {"services.llm.trace.count", false, "give it with --requests"},
        {"services.llm.trace.format", false, "--trace FILE names a trace, --format its format"},
        {"services.llm.trace.path", false, "give it with --trace"},
        {"cluster.gpu_price", false, of_price},
        {"market", true, of_price},
        {"until", false, of_end},
        {"keep", false, of_runs},
        {"name", false, of_runs},
    };
    return refuse(setting, value, asked, sizeof asked / sizeof *asked, "has no place in 'size'", diag);
}

int size_check_settings(const struct option_texts *settings, struct arena *arena, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < settings->n; i++) {
        struct json_node *value;
        code = check_sections(settings->items[i], diag);
        if (code == 0) code = read_value(settings->items[i], arena, &value, diag);
        if (code == 0) code = check_searched(settings->items[i], value, diag);
        if (code == 0) code = check_asked(settings->items[i], value, diag);
    }
    return code;
}

/* Names of options that other programs have share a meaning; all else may be a key of the service. */
enum option_hint size_explain_option(const char *name, char *hint, size_t hint_bytes)
{
    static const char count[] = "--max-gpus N limits their number, --gpu NAME their kind";
    static const char searched[] = "'size' searches it; --max-gpus N limits the GPUs";
    static const char batching[] =
        "'size' searches it; --set services.llm.cost.engine=sglang-0.5 tries the policies of that engine";
    static const char rate[] = "such as --rate 5/s";
    static const char ttft[] = "such as --slo ttft.p99=1s";
    static const char tpot[] = "such as --slo tpot.p99=50ms";
    static const char e2e[] = "such as --slo e2e.p99=1s";
    static const char llm[] = "the LLM stands alone: orrery size llama-3.1-8b --rate 5/s --slo ttft.p99=1s";
    static const char length[] = "--requests N behind --rate; of a trace, --set services.llm.trace.window=0s:60s";
    static const char *const known[][2] = {
        {"gpus", count}, {"num-gpus", count},
        {"budget", "--max-gpus N limits their number, --gpu NAME=$N/h prices them"},
        {"rps", rate}, {"qps", rate}, {"request-rate", rate},
        {"ttft", ttft}, {"ttft-p99", ttft}, {"p99-ttft", ttft},
        {"tpot", tpot}, {"tpot-p99", tpot}, {"p99-tpot", tpot}, {"itl", tpot}, {"tbt", tpot},
        {"latency", e2e}, {"e2e", e2e}, {"e2e-p99", e2e}, {"p99-e2e", e2e},
        {"llm", llm}, {"model", llm},
        {"tp", searched}, {"tensor-parallel", searched}, {"tensor-parallel-size", searched}, {"tp-size", searched},
        {"pp", searched}, {"pipeline-parallel", searched}, {"pipeline-parallel-size", searched},
        {"dp", searched}, {"data-parallel", searched}, {"data-parallel-size", searched},
        {"replicas", searched}, {"num-replicas", searched}, {"max-replicas", searched}, {"min-replicas", searched},
        {"batching", batching}, {"token-budget", batching}, {"max-num-batched-tokens", batching},
        {"chunked-prefill-size", batching}, {"chunk-size", batching},
        {"duration", length}, {"until", length}, {"horizon", length}, {"time-limit", length}, {"num-prompts", length},
        {"num-requests", length}, {"request-count", length}, {"count", length},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i][0], name) != 0) continue;
        snprintf(hint, hint_bytes, "%s", known[i][1]);
        return OPTION_MEANT;
    }
    const enum option_hint found = key_explain_option(name, hint, hint_bytes);
    char *of_service = found != OPTION_UNKNOWN ? strstr(hint, "services.NAME") : NULL;
    if (of_service != NULL) { /* the search has one service */
        char *service = of_service + strlen("services.");
        memcpy(service, "llm", 3);
        memmove(service + 3, service + 4, strlen(service + 4) + 1);
    }
    return found;
}
