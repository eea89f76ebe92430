#include "sim/cli/study/recorded.h"

#include "analysis/query.h"
#include "sim/cli/run/simulate.h"
#include "sim/core/config/config_tree.h"
#include "sim/core/vec.h"
#include "sim/study/outcome.h"

#include <string.h>

/* --- Where a scenario replicates its traces --- */

/* Found "replicate" sections. */
struct sections {
    struct arena *arena; /* NULL: only the methods are wanted */
    struct study_setting *settings; /* each removes one section */
    size_t n, capacity;
    enum recorded_method method;
    bool failed;
};

static void note_section(struct sections *sections, const char *path, const char *method)
{
    if (sections->method != RECORDED_BLOCKS)
        sections->method = strcmp(method, "windows") == 0 ? RECORDED_WINDOWS : RECORDED_BLOCKS;
    if (sections->arena == NULL) return;
    const struct study_setting setting = {.assignment = arena_printf(sections->arena, "%s=null", path),
                                          .directory = "."};
    sections->failed |= setting.assignment == NULL ||
                        vec_push(&sections->settings, &sections->n, &sections->capacity, setting) != 0;
}

/* Visits the objects below a node whose dotted path is given. */
static void find_sections(const struct json_node *node, const char *path, struct sections *sections)
{
    for (const struct json_node *child = node->kind == JSON_OBJECT ? node->first : NULL; child != NULL;
         child = child->next) {
        struct text below;
        if (child->kind != JSON_OBJECT) continue;
        text_init(&below);
        text_printf(&below, "%s%s%s", path, *path != 0 ? "." : "", child->key);
        const struct json_node *method = json_member(child, "method");
        if (below.failed)
            sections->failed = true;
        else if (strcmp(child->key, "replicate") == 0 && method != NULL && method->kind == JSON_STRING)
            note_section(sections, below.chars, method->text);
        else
            find_sections(child, below.chars, sections);
        text_fini(&below);
    }
}

enum recorded_method recorded_method_of(const struct setup *setup)
{
    struct sections sections = {0};
    if (setup->config != NULL) find_sections(setup->config->root, "", &sections);
    return sections.method;
}

/* --- The run --- */

static int collect(void *context, const struct metric_row *row)
{
    struct recorded *recorded = context;
    struct metric_row copy = *row;
    copy.name = arena_strdup(recorded->arena, row->name);
    copy.unit = arena_strdup(recorded->arena, row->unit);
    if (recorded->n == recorded->capacity) {
        const size_t capacity = 2 * recorded->capacity + 64;
        struct metric_row *rows = arena_alloc(recorded->arena, capacity * sizeof *rows);
        if (rows == NULL) return SIM_E_NOMEM;
        if (recorded->n > 0) memcpy(rows, recorded->rows, recorded->n * sizeof *rows);
        recorded->rows = rows;
        recorded->capacity = capacity;
    }
    if (copy.name == NULL || copy.unit == NULL) return SIM_E_NOMEM;
    recorded->rows[recorded->n++] = copy;
    return 0;
}

struct sink recorded_sink(struct recorded *recorded)
{
    return (struct sink){.context = recorded, .metric = collect};
}

/* A run that fails has no metrics; `why` gets the findings. */
static int run_without(const struct study *study, const struct study_run *run, const struct sections *sections,
                       const struct setup_options *over, const volatile sig_atomic_t *interrupt,
                       struct recorded *recorded, struct diag *why)
{
    const size_t n = run->n_settings + sections->n;
    struct study_setting *settings = arena_alloc(recorded->arena, (n + 1) * sizeof *settings);
    struct study_run without = *run;
    struct setup_options options = *over;
    struct world_result result;
    struct setup setup;
    if (settings == NULL) return SIM_E_NOMEM;
    memcpy(settings, run->settings, run->n_settings * sizeof *settings);
    memcpy(settings + run->n_settings, sections->settings, sections->n * sizeof *settings);
    without.n_settings = n;
    without.settings = settings;
    options.run = &without;
    int code = setup_load(&setup, study->scenario, &options, why);
    if (code == 0) {
        const struct world_options how = {.interrupt = interrupt};
        const struct sink sink = recorded_sink(recorded);
        code = simulate_rows(&setup, &how, &sink, &result, why);
    }
    setup_fini(&setup);
    if (code != 0) recorded->n = 0;
    return code == SIM_E_INTERRUPTED || code == SIM_E_NOMEM ? code : 0;
}

/* Whether the study runs recorded traces. */
static bool is_wanted(const struct study *study)
{
    return !study->skips_recorded && study->search == NULL && study->n_seeds > 1;
}

int recorded_find(const struct study *study, const struct study_run *run, const struct setup *setup,
                  struct catalog_memory *memory, const volatile sig_atomic_t *interrupt, struct arena *arena,
                  struct recorded *recorded)
{
    struct sections sections = {.arena = arena};
    *recorded = (struct recorded){.arena = arena};
    struct diag why; /* recorded_warn says what is wrong */
    diag_init(&why);
    if (!is_wanted(study) || run->seed != study->seeds[0]) return 0;
    find_sections(setup->config->root, "", &sections);
    const struct setup_options over = {.plugins = setup->plugins, .memory = memory};
    int code = sections.failed ? SIM_E_NOMEM : 0;
    if (code == 0 && sections.n > 0) code = run_without(study, run, &sections, &over, interrupt, recorded, &why);
    mem_free(sections.settings);
    return code;
}

/* --- What failed --- */

/* Counts the points whose first seed ran without a run of the recorded trace, and finds the first of them. A scenario
 * that replicates is one in which find_sections finds a section. */
static int find_missing(const struct study *study, const char *output, struct arena *arena, size_t *first, size_t *n,
                        struct diag *diag)
{
    static const char sql[] =
        "SELECT run.id FROM run WHERE status = 'done' AND instr(scenario, '\"replicate\"') > 0\n"
        "AND NOT EXISTS (SELECT 1 FROM metric_recorded WHERE run_id = run.id)\n"
        "AND EXISTS (SELECT 1 FROM json_tree(CASE WHEN json_valid(scenario) THEN scenario ELSE '{}' END) AS tree\n"
        "            WHERE tree.key = 'replicate' AND tree.type = 'object'\n"
        "            AND json_type(tree.value, '$.method') = 'text')\n"
        "ORDER BY run.id";
    struct query_answer found;
    struct database database;
    int code = database_open_read(&database, output, diag);
    if (code != 0) return code;
    code = query_run(&database, sql, NULL, 0, "read the study", arena, &found, diag);
    database_close(&database, false);
    *n = 0;
    for (size_t point = 0, row = 0; code == 0 && point < study->n_points; point++) {
        const double id = (double)outcome_run_id(study, point, 0, 0);
        while (row < found.n_rows && found.columns[0].numbers[row] < id) row++;
        if (row == found.n_rows || found.columns[0].numbers[row] != id) continue;
        if ((*n)++ == 0) *first = point;
    }
    return code;
}

/* Runs the recorded trace of a point again, for its findings. */
static int find_why(const struct study *study, size_t point, const struct plugins *plugins,
                    const volatile sig_atomic_t *interrupt, struct arena *arena, struct diag *why)
{
    struct recorded recorded = {.arena = arena};
    struct sections sections = {.arena = arena};
    struct study_run run;
    struct setup setup;
    int code = study_run_with(study, point, 0, NULL, NULL, arena, &run);
    if (code != 0) return code;
    const struct setup_options over = {.run = &run, .plugins = plugins};
    code = setup_load(&setup, study->scenario, &over, why);
    if (code == 0) find_sections(setup.config->root, "", &sections);
    if (sections.failed) code = SIM_E_NOMEM;
    if (code == 0 && sections.n > 0) code = run_without(study, &run, &sections, &over, interrupt, &recorded, why);
    mem_free(sections.settings);
    setup_fini(&setup);
    return code == SIM_E_INTERRUPTED || code == SIM_E_NOMEM ? code : 0;
}

int recorded_warn(const struct study *study, const char *output, const struct plugins *plugins,
                  const volatile sig_atomic_t *interrupt, struct diag *diag)
{
    struct arena arena;
    struct diag why;
    size_t first = 0, n = 0;
    if (!is_wanted(study)) return 0;
    arena_init(&arena);
    diag_init(&why);
    int code = find_missing(study, output, &arena, &first, &n, diag);
    if (code == 0 && n > 0) code = find_why(study, first, plugins, interrupt, &arena, &why);
    int at = 0;
    while (at < why.n_items && why.items[at].level != DIAG_ERROR) at++;
    if (code == 0 && n > 0 && at < why.n_items)
        diag_warning(
            diag, why.items[at].where, "\"recorded\": false in the study leaves that trace out",
            "the recorded trace, without \"replicate\", failed at %zu of %zu points, so no recorded values stand "
            "beside the replicates there: %s",
            n, study->n_points, why.items[at].text);
    arena_fini(&arena);
    return code;
}
