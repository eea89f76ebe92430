#include "tests/support/worlds/kept.h"

#include "sim/cli/plugins.h"
#include "sim/cli/run/setup.h"
#include "sim/cli/run/simulate.h"
#include "sim/core/text.h"
#include "sim/store/record.h"
#include "sim/world/rows/tee.h"
#include "tests/support/worlds/draw.h"

#include <inttypes.h>
#include <string.h>

/* What is kept is neither too small to tell something nor too long to be read. */
enum { STALL_EVENTS = 100000, LEAST_EVENTS = 20, MOST_EVENTS = 10000, MOST_CHARS = 2000 };

/* --- One world --- */

static void watch_events(void *context, const struct world_progress *progress)
{
    volatile sig_atomic_t *has_enough = context;
    *has_enough = progress->events >= MOST_EVENTS;
}

static int count_warning(void *context, const struct warning_row *row)
{
    (void)row;
    ++*(int *)context;
    return 0;
}

/* The first error among the findings. */
static void note_error(const struct diag *diag, char error[KEPT_ERROR_CHARS])
{
    for (int i = 0; i < diag->n_items && error[0] == 0; i++) {
        struct diag_item item = diag->items[i];
        item.hint[0] = 0;
        if (item.level == DIAG_ERROR) diag_format(&item, error, KEPT_ERROR_CHARS);
    }
}

/* Sends metrics to one hash, and other rows but warnings to the other. */
static int run(const struct setup *setup, struct hash_sink *rows, struct hash_sink *metrics,
               struct kept_results *results)
{
    volatile sig_atomic_t has_enough = 0;
    const struct world_options options = {.stall_events = STALL_EVENTS, .interrupt = &has_enough,
                                          .progress = watch_events, .progress_context = (void *)&has_enough};
    struct sink of_rows = hash_sink(rows), of_metrics = hash_sink(metrics);
    struct tee tee = {0};
    struct diag diag;
    struct world_result result;
    diag_init(&diag);
    of_rows.warning = NULL;
    of_rows.metric = NULL;
    tee_add(&tee, of_rows);
    tee_add(&tee, (struct sink){.context = of_metrics.context, .metric = of_metrics.metric});
    tee_add(&tee, (struct sink){.context = &results->n_warnings, .warning = count_warning});
    const struct sink sink = tee_sink(&tee);
    int code = simulate_rows(setup, &options, &sink, &result, &diag);
    results->n_events = code == 0 ? result.engine.fired : 0;
    results->n_warnings += diag.n_warnings;
    note_error(&diag, results->error);
    if (code == 0) code = hash_sink_hex(rows, results->rows);
    if (code == 0) code = hash_sink_hex(metrics, results->metrics);
    return code;
}

int kept_run(const char *json, struct catalog_memory *memory, struct kept_results *results)
{
    struct setup setup;
    struct hash_sink rows = {0}, metrics = {0};
    struct diag diag;
    diag_init(&diag);
    *results = (struct kept_results){0};
    int code = setup_load_json(&setup, "world", json, &(struct setup_options){0}, &diag);
    results->n_warnings = diag.n_warnings;
    note_error(&diag, results->error);
    setup.catalog.memory = memory;
    if (code == 0) code = hash_sink_init(&rows, KEEP_DECISIONS);
    if (code == 0) code = hash_sink_init(&metrics, KEEP_METRICS);
    if (code == 0) code = run(&setup, &rows, &metrics, results);
    hash_sink_fini(&rows);
    hash_sink_fini(&metrics);
    setup_fini(&setup);
    return code;
}

/* --- The file --- */

void kept_write(FILE *out, const struct kept_results *results, const char *json)
{
    if (results->error[0] != 0) {
        char text[KEPT_MOST_WRITTEN];
        snprintf(text, sizeof text, "%.*s", KEPT_MOST_WRITTEN - 1, results->error);
        cJSON *error = cJSON_CreateString(text);
        char *quoted = cJSON_PrintUnformatted(error);
        fprintf(out, "{\"error\":%s,\"scenario\":%s}\n", quoted != NULL ? quoted : "\"\"", json);
        cJSON_free(quoted);
        cJSON_Delete(error);
        return;
    }
    fprintf(out, "{\"events\":%" PRIu64 ",\"warnings\":%d,\"rows\":\"%s\",\"metrics\":\"%s\",\"scenario\":%s}\n",
            results->n_events, results->n_warnings, results->rows, results->metrics, json);
}

int kept_read(FILE *in, struct kept_results *results, char **json)
{
    char line[MOST_CHARS + 512];
    if (fgets(line, sizeof line, in) == NULL) return 0;
    cJSON *tree = cJSON_Parse(line);
    const char *rows = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "rows"));
    const char *metrics = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "metrics"));
    const char *error = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "error"));
    const cJSON *scenario = cJSON_GetObjectItem(tree, "scenario");
    const bool is_whole = scenario != NULL && (error != NULL || (rows != NULL && metrics != NULL));
    *results = (struct kept_results){0};
    if (is_whole) *json = cJSON_PrintUnformatted(scenario);
    if (is_whole && error != NULL) {
        snprintf(results->error, sizeof results->error, "%s", error);
    } else if (is_whole) {
        results->n_events = (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(tree, "events"));
        results->n_warnings = (int)cJSON_GetNumberValue(cJSON_GetObjectItem(tree, "warnings"));
        snprintf(results->rows, sizeof results->rows, "%s", rows);
        snprintf(results->metrics, sizeof results->metrics, "%s", metrics);
    }
    cJSON_Delete(tree);
    return is_whole && *json != NULL ? 1 : SIM_E_DATA;
}

int kept_repeat(FILE *in, FILE *out)
{
    struct catalog_memory memory;
    struct kept_results before, results;
    char *json;
    int code;
    catalog_memory_init(&memory);
    while ((code = kept_read(in, &before, &json)) > 0) {
        code = kept_run(json, &memory, &results);
        if (code == 0 || (before.error[0] != 0 && results.error[0] != 0))
            kept_write(out, &results, json);
        else
            fprintf(stderr, "left out, as it does not run any more: %s\n", json);
        cJSON_free(json);
    }
    catalog_memory_fini(&memory);
    return code;
}

int kept_draw(uint64_t seed, uint64_t first, uint64_t n, FILE *out)
{
    const struct config_families families = cli_families(NULL);
    struct reach_world *reached = calloc(1, sizeof *reached);
    struct catalog_memory memory;
    struct words words;
    struct kept_results results;
    catalog_memory_init(&memory);
    const int code = reached != NULL ? words_load(&words) : SIM_E_NOMEM;
    for (uint64_t world = first; code == 0 && world < first + n; world++) {
        cJSON *drawn = draw_world(seed, world, &families, &words, reached);
        char *json = cJSON_PrintUnformatted(drawn);
        if (strlen(json) <= MOST_CHARS && kept_run(json, &memory, &results) == 0 && results.n_events >= LEAST_EVENTS)
            kept_write(out, &results, json);
        cJSON_free(json);
        cJSON_Delete(drawn);
    }
    words_fini(&words);
    catalog_memory_fini(&memory);
    free(reached);
    return code;
}
