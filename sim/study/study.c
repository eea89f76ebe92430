#include "sim/study/study.h"

#include "sim/core/config/config_tree.h"
#include "sim/core/json_write.h"
#include "sim/core/path.h"
#include "sim/study/axes.h"
#include "sim/study/nest.h"
#include "sim/study/read.h"
#include "sim/study/search.h"
#include "sim/world/rows/metric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SEEDS = 1000 * 1000 };

/* The parts the definition is written from. */
struct study_source {
    const char *scenario; /* as written */
    const char *axes, *names, *search, *where; /* JSON; NULL: absent */
    const char *search_where;
};

static const char *const known_keys[] = {"name",   "question", "scenario", "set",       "axes",
                                         "names",  "seeds",    "keep",     "show",      "pareto",
                                         "search", "where",    "recorded", "intervals", NULL};
static const char *const keeps[] = {"metrics", "curves", "rows", "decisions", NULL};

/* --- Reading --- */

/* The directory of the file a value stands in, which differs in an extended study. */
static const char *directory_of(struct config_reading *reading, const struct json_node *node)
{
    const char *directory = arena_strdup(reading->arena, node->source->directory);
    if (directory == NULL) config_report_nomem(reading);
    return directory;
}

/* The place of a value: "study.json:3:9". */
static const char *place_of(struct config_reading *reading, const struct json_node *node)
{
    char where[DIAG_WHERE_CHARS];
    const char *place = arena_strdup(reading->arena, json_where(node, where, sizeof where));
    if (place == NULL) config_report_nomem(reading);
    return place;
}

static const char *assign(struct arena *arena, const char *key, const char *value)
{
    return arena_printf(arena, "%s=%s", key, value);
}

/* Adds a setting written at a node of the study's file (NULL: by the program). */
static void add_setting(struct config_reading *reading, struct study_setting *settings, size_t *n, const char *key,
                        const char *value, const struct json_node *node)
{
    settings[*n] = (struct study_setting){.assignment = assign(reading->arena, key, value), .directory = "."};
    if (node != NULL) settings[*n].directory = directory_of(reading, node);
    if (node != NULL) settings[*n].where = place_of(reading, node);
    if (settings[(*n)++].assignment == NULL) config_report_nomem(reading);
}

/* The scenario's path: beside the study that names it, if it exists there. */
static const char *find_scenario(struct config_reading *reading, const struct json_node *root, const char *name)
{
    const struct json_node *node = json_member(root, "scenario");
    if (node == NULL) return name;
    const char *path = path_join(reading->arena, node->source->directory, name);
    if (path == NULL) config_report_nomem(reading);
    return path != NULL && (access(path, F_OK) == 0 || path_is_json(name)) ? path : name;
}

/* "keep" and the members of "set". */
static void read_settings(struct config_reading *reading, const struct json_node *root, struct study *study)
{
    const struct json_node *set = read_member(reading, root, "set", NULL);
    size_t n = set != NULL ? set->n : 0;
    struct study_setting *settings = read_alloc(reading, 2 * n + 1, sizeof *settings);
    if (settings == NULL || (set != NULL && !read_object(reading, set, "'set'"))) return;
    study->settings = settings;
    add_setting(reading, settings, &study->n_settings, "keep", study->keep, NULL);
    for (const struct json_node *node = n > 0 ? set->first : NULL; node != NULL; node = node->next) {
        const char *value = read_setting_value(reading, node);
        if (value == NULL) return;
        if (nest_is_variant(node)) add_setting(reading, settings, &study->n_settings, node->key, "null", node);
        add_setting(reading, settings, &study->n_settings, node->key, value, node);
    }
}

static bool read_bool(struct config_reading *reading, const struct json_node *root, const char *key, bool value)
{
    const struct json_node *node = read_member(reading, root, key, NULL);
    if (node == NULL) return value;
    if (node->kind != JSON_BOOL) config_report(reading, node, NULL, "'%s' must be true or false", key);
    return node->kind == JSON_BOOL ? node->number != 0 : value;
}

static int compare_seeds(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void read_seed_list(struct config_reading *reading, const struct json_node *list, struct study *study)
{
    int64_t *seeds = read_alloc(reading, list->n, sizeof *seeds),
            *sorted = read_alloc(reading, list->n, sizeof *sorted);
    if (seeds == NULL || sorted == NULL) return;
    for (const struct json_node *node = list->first; node != NULL; node = node->next)
        seeds[study->n_seeds++] = read_integer_value(reading, node, "seeds", 0, 9e15);
    memcpy(sorted, seeds, list->n * sizeof *sorted);
    qsort(sorted, list->n, sizeof *sorted, compare_seeds);
    for (size_t i = 1; i < list->n; i++)
        if (sorted[i] == sorted[i - 1])
            config_report(reading, list, NULL, "the seed %" PRId64 " comes more than once", sorted[i]);
    if (list->n == 0) config_report(reading, list, NULL, "'seeds' must be a number, or a list of at least one seed");
    study->seeds = seeds;
}

static int64_t *count_seeds(struct arena *arena, size_t n)
{
    int64_t *seeds = arena_alloc(arena, (n + 1) * sizeof *seeds);
    for (size_t i = 0; seeds != NULL && i < n; i++) seeds[i] = (int64_t)i + 1;
    return seeds;
}

static void read_seeds(struct config_reading *reading, const struct json_node *root, struct study *study)
{
    const struct json_node *node = read_member(reading, root, "seeds", NULL);
    if (node != NULL && node->kind == JSON_LIST) {
        read_seed_list(reading, node, study);
        return;
    }
    study->n_seeds = (size_t)read_integer(reading, root, "seeds", 1, MAX_SEEDS, 1);
    study->seeds = count_seeds(reading->arena, study->n_seeds);
    if (study->seeds == NULL) config_report_nomem(reading);
}

static void read_metrics(struct config_reading *reading, const struct json_node *root, const char *key, size_t *n,
                         const char *const **names)
{
    const struct json_node *list = read_member(reading, root, key, NULL);
    if (list == NULL) return;
    const char **read = read_alloc(reading, list->n, sizeof *read);
    if (list->kind != JSON_LIST) config_report(reading, list, NULL, "'%s' must be a list of metrics", key);
    if (list->kind != JSON_LIST || read == NULL) return;
    for (const struct json_node *node = list->first; node != NULL; node = node->next) {
        if (search_find_metric(reading, node, &read[*n]) != NULL) ++*n;
    }
    *names = read;
}

/* "where" of a Pareto front. */
static void read_where(struct config_reading *reading, const struct json_node *root, struct study *study)
{
    const struct json_node *list = read_member(reading, root, "where", NULL);
    if (list == NULL) return;
    study->conditions = search_read_conditions(reading, list, &study->n_conditions);
    if (study->n_pareto == 0)
        config_report(reading, list,
                      study->search != NULL ? "write it into 'search'" : "add \"pareto\", with its metrics",
                      "'where' says which points may be on a Pareto front, and the study has none");
}

static const char *json_of(struct config_reading *reading, const struct json_node *node)
{
    if (node == NULL || node->kind == JSON_NULL) return NULL;
    struct text text;
    text_init(&text);
    read_write_json(node, &text);
    return read_keep(reading, &text);
}

/* Why --set cannot set a key that the study itself has (seed, keep). NULL: it can. */
static const char *hint_of_own(const char *key)
{
    if (strcmp(key, "seed") == 0) return "write \"seeds\": 5, or a list";
    return strcmp(key, "keep") == 0 ? "write \"keep\": \"rows\" in the study itself" : NULL;
}

/* The key set before `node` that `node` overwrites; NULL: none. */
static const char *find_taken_back(struct config_reading *reading, const struct json_node *set,
                                   const struct json_node *node)
{
    const char *value = read_setting_value(reading, node);
    for (const struct json_node *before = set->first; value != NULL && before != node; before = before->next) {
        if (!nest_within(node->key, before->key)) continue;
        const char *rest = before->key + strlen(node->key) + 1;
        if (nest_replaces(value, reading->arena) || nest_has(value, rest, reading->arena)) return before->key;
    }
    return NULL;
}

/* Every setting must have an effect. */
static void check_set(struct config_reading *reading, const struct json_node *node, const struct study *study)
{
    const char *key = node->key, *outer = axes_overrule(study->axes, key, true, reading->arena);
    const char *searched = study->search != NULL ? study->search->key : "";
    if (!nest_is_key(key))
        config_report(reading, node, "such as services.chat.replicas", "'%s' is not a key of a scenario", key);
    if (hint_of_own(key) != NULL)
        config_report(reading, node, hint_of_own(key), "'%s' cannot be set: the study has its own", key);
    if (axes_vary(study->axes, key))
        config_report(reading, node, NULL, "'%s' is set and varied by an axis", key);
    else if (strcmp(key, searched) == 0)
        config_report(reading, node, NULL, "'%s' is set and searched for", key);
    else if (outer != NULL)
        config_report(reading, node, "write it into the values of the axis",
                      "'%s' is set, but values of the axis '%s' take its place", key, outer);
}

static void check_search(struct config_reading *reading, const struct json_node *at, const struct study *study)
{
    const char *key = study->search->key, *inner = axes_within(study->axes, key);
    const char *outer = axes_overrule(study->axes, key, false, reading->arena);
    if (!nest_is_key(key))
        config_report(reading, at, "such as services.chat.replicas", "'%s' is not a key of a scenario", key);
    if (axes_vary(study->axes, key))
        config_report(reading, at, NULL, "'%s' is searched for and varied by an axis", key);
    else if (inner != NULL || outer != NULL)
        config_report(reading, at, NULL, "'%s' is searched for, and the axis '%s' sets it too", key,
                      inner != NULL ? inner : outer);
}

/* The axes and the search alone set their keys, and the study sets seed and keep. */
static void check_varied(struct config_reading *reading, const struct json_node *root, const struct study *study)
{
    static const char *const own[] = {"seed", "keep"};
    for (size_t i = 0; i < 2; i++)
        if (axes_vary(study->axes, own[i]))
            config_report(reading, json_member(root, "axes"), hint_of_own(own[i]),
                          "'%s' cannot be an axis: the study has its own", own[i]);
    if (study->search != NULL) check_search(reading, json_member(root, "search"), study);
    if (study->search != NULL && study->has_intervals)
        config_report(
            reading, json_member(root, "intervals"),
            "leave it out; 'orrery run' with the value found has the interval, and 'orrery size --sure' sizes "
            "by its slow end",
            "a search has no intervals: it bisects by predicted times");
    if (study->search != NULL && study->n_pareto > 0)
        config_report(reading, json_member(root, "pareto"), NULL, "a study has either 'search' or 'pareto'");
    const struct json_node *set = json_member(root, "set");
    for (const struct json_node *node = set != NULL ? set->first : NULL; node != NULL; node = node->next) {
        check_set(reading, node, study);
        const char *before = find_taken_back(reading, set, node);
        if (before != NULL)
            config_report(reading, node, "write the inner one behind it", "'%s' takes the place of '%s', set before it",
                          node->key, before);
    }
}

static void read_study(struct config_reading *reading, const struct json_node *root, struct study *study)
{
    struct study_source *source = read_alloc(reading, 1, sizeof *source);
    struct study_axes *axes = read_alloc(reading, 1, sizeof *axes);
    if (source == NULL || axes == NULL) return;
    read_keys(reading, root, "a study", known_keys);
    read_member(reading, root, "scenario", "a study");
    source->scenario = read_text(reading, root, "scenario", "");
    source->axes = json_of(reading, json_member(root, "axes"));
    source->names = json_of(reading, json_member(root, "names"));
    source->search = json_of(reading, json_member(root, "search"));
    source->where = json_of(reading, json_member(root, "where"));
    if (source->search != NULL) source->search_where = place_of(reading, json_member(root, "search"));
    study->source = source;
    study->name = read_text(reading, root, "name", NULL);
    if (study->name != NULL && study->name[0] == 0)
        config_report(reading, json_member(root, "name"), "leave it out: the file's name will do", "'name' is empty");
    study->question = read_text(reading, root, "question", "");
    study->skips_recorded = !read_bool(reading, root, "recorded", true);
    study->has_intervals = read_bool(reading, root, "intervals", false);
    study->keep = keeps[read_choice(reading, root, "keep", keeps)];
    study->scenario = find_scenario(reading, root, source->scenario);
    study->directory = directory_of(reading, json_member(root, "axes") != NULL ? json_member(root, "axes") : root);
    study->axes = axes;
    read_settings(reading, root, study);
    read_seeds(reading, root, study);
    axes_read(reading, json_member(root, "axes"), axes);
    if (reading->code == 0) axes_read_names(reading, json_member(root, "names"), axes);
    read_metrics(reading, root, "show", &study->n_show, &study->show);
    read_metrics(reading, root, "pareto", &study->n_pareto, &study->pareto);
    study->search = search_read(reading, json_member(root, "search"));
    read_where(reading, root, study);
    if (reading->code == 0) check_varied(reading, root, study);
    study->n_points = axes_points(axes);
    study->n_runs = study->n_points * study->n_seeds;
    if (reading->code == 0 && (study->n_points > STUDY_MAX_RUNS || study->n_runs > STUDY_MAX_RUNS))
        config_report(reading, root, NULL, "a study has at most %d runs", STUDY_MAX_RUNS);
}

/* --- The definition --- */

static void write_names(struct json_writer *writer, const char *key, const char *const *names, size_t n)
{
    if (n == 0) return;
    json_write_open_row(writer, key, '[');
    for (size_t i = 0; i < n; i++) json_write_string(writer, NULL, names[i]);
    json_write_close(writer, ']');
}

static void write_json(struct json_writer *writer, const char *key, const char *json)
{
    if (json == NULL) return;
    json_write_key(writer, key);
    text_add(writer->text, json);
}

/* The settings without nulls that only make room, and with the last of repeated keys. */
static bool is_written(const struct study *study, size_t i)
{
    const char *assignment = study->settings[i].assignment;
    size_t n = strcspn(assignment, "=") + 1;
    for (size_t j = i + 1; j < study->n_settings; j++)
        if (strncmp(assignment, study->settings[j].assignment, n) == 0) return false;
    return true;
}

static void write_settings(struct json_writer *writer, const struct study *study, struct arena *arena)
{
    json_write_open(writer, "set", '{');
    for (size_t i = 1; i < study->n_settings; i++) { /* the first one is "keep" */
        const char *assignment = study->settings[i].assignment, *value = assignment + strcspn(assignment, "=") + 1;
        const char *key = arena_printf(arena, "%.*s", (int)(value - assignment - 1), assignment);
        if (key == NULL) writer->text->failed = true;
        if (!is_written(study, i) || key == NULL) continue;
        if (read_is_json(arena, value))
            write_json(writer, key, value);
        else
            json_write_string(writer, key, value);
    }
    json_write_close(writer, '}');
}

static void write_definition(const struct study *study, struct arena *arena, struct text *text)
{
    struct json_writer writer;
    json_writer_init(&writer, text);
    json_write_open(&writer, NULL, '{');
    json_write_string(&writer, "name", study->name);
    json_write_string(&writer, "question", study->question);
    json_write_string(&writer, "scenario", study->source->scenario);
    if (study->n_settings > 1) write_settings(&writer, study, arena);
    write_json(&writer, "axes", study->source->axes);
    write_json(&writer, "names", study->source->names);
    json_write_open_row(&writer, "seeds", '[');
    for (size_t i = 0; i < study->n_seeds; i++) {
        json_write_key(&writer, NULL);
        text_printf(text, "%" PRId64, study->seeds[i]);
    }
    json_write_close(&writer, ']');
    json_write_string(&writer, "keep", study->keep);
    if (study->skips_recorded) write_json(&writer, "recorded", "false");
    if (study->has_intervals) write_json(&writer, "intervals", "true");
    write_names(&writer, "show", study->show, study->n_show);
    write_names(&writer, "pareto", study->pareto, study->n_pareto);
    write_json(&writer, "where", study->source->where);
    write_json(&writer, "search", study->source->search);
    json_write_close(&writer, '}');
    text_add(text, "\n");
}

static int define(struct study *study, struct arena *arena, struct diag *diag)
{
    struct config_reading reading = {.arena = arena, .diag = diag};
    struct text text;
    struct hash *hash = hash_create();
    if (hash == NULL) config_report_nomem(&reading);
    text_init(&text);
    write_definition(study, arena, &text);
    study->definition = read_keep(&reading, &text);
    if (hash != NULL && study->definition != NULL) {
        hash_text(hash, study->definition);
        hash_hex(hash, study->hash);
    }
    hash_destroy(hash);
    return reading.code;
}

/* --- Loading --- */

/* "routing" of "configs/studies/routing.json" */
static const char *name_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    return arena_printf(arena, "%.*s", (int)strcspn(base, "."), base);
}

static int read_config(const struct config *config, const char *path, struct arena *arena, struct study *study,
                       struct diag *diag)
{
    struct config_reading reading = {.arena = arena, .diag = diag};
    *study = (struct study){0};
    read_study(&reading, config->root, study);
    if (reading.code == 0 && study->name == NULL) study->name = name_of(arena, path);
    if (reading.code == 0 && study->name == NULL) config_report_nomem(&reading);
    return reading.code == 0 ? define(study, arena, diag) : reading.code;
}

int study_load(const char *path, struct arena *arena, struct study *study, struct diag *diag)
{
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code != 0) return code;
    code = read_config(config, path, arena, study, diag);
    config_destroy(config);
    return code;
}

int study_parse(const char *name, const char *directory, const char *json, struct arena *arena, struct study *study,
                struct diag *diag)
{
    struct config *config;
    int code = config_parse(name, directory, json, strlen(json), &config, diag);
    if (code != 0) return code;
    code = read_config(config, name, arena, study, diag);
    config_destroy(config);
    return code;
}

/* Whether --set may set this key. */
static int check_laid(const struct study *study, const char *key, struct config_reading *reading)
{
    struct diag *diag = reading->diag;
    const char *outer = axes_overrule(study->axes, key, true, reading->arena);
    if (axes_vary(study->axes, key) || (study->search != NULL && strcmp(study->search->key, key) == 0))
        return diag_error(diag, SIM_E_USAGE, "--set",
                          "copy the study's file and change its axis, or simulate one point with 'orrery run'",
                          "the study varies '%s'", key);
    if (outer != NULL)
        return diag_error(diag, SIM_E_USAGE, "--set", "change the study",
                          "'%s' would have no effect: the study varies '%s'", key, outer);
    if (strcmp(key, "seed") == 0)
        return diag_error(diag, SIM_E_USAGE, "--set", "give --seeds", "the study has its own seeds");
    if (strcmp(key, "keep") == 0)
        return diag_error(diag, SIM_E_USAGE, "--set", "give --keep", "the study itself sets what its runs keep");
    return 0;
}

static int lay_settings(struct study *study, const struct study_overlay *overlay, struct config_reading *reading)
{
    struct study_setting *settings = read_alloc(reading, study->n_settings + overlay->n_settings, sizeof *settings);
    if (settings == NULL) return reading->code;
    memcpy(settings, study->settings, study->n_settings * sizeof *settings);
    for (size_t i = 0; i < overlay->n_settings; i++) {
        const char *assignment = overlay->settings[i], *key;
        key = arena_printf(reading->arena, "%.*s", (int)strcspn(assignment, "="), assignment);
        if (key == NULL) config_report_nomem(reading);
        if (key == NULL) return reading->code;
        if (strchr(assignment, '=') == NULL)
            return diag_error(reading->diag, SIM_E_USAGE, "--set", "write a.b=value", "'%s' is not an assignment", key);
        int code = check_laid(study, key, reading);
        if (code != 0) return code;
        const char *copy = arena_strdup(reading->arena, assignment);
        settings[study->n_settings++] = (struct study_setting){.assignment = copy, .directory = "."};
    }
    study->settings = settings;
    return reading->code;
}

/* What the runs keep is the first setting. */
static int lay_keep(struct study *study, const char *keep, struct config_reading *reading)
{
    struct study_setting *settings = read_alloc(reading, study->n_settings, sizeof *settings);
    if (settings == NULL) return reading->code;
    memcpy(settings, study->settings, study->n_settings * sizeof *settings);
    settings[0].assignment = arena_printf(reading->arena, "keep=%s", keep);
    if (settings[0].assignment == NULL) config_report_nomem(reading);
    study->settings = settings;
    study->keep = keep;
    return reading->code;
}

int study_lay(struct study *study, const struct study_overlay *overlay, struct arena *arena, struct diag *diag)
{
    struct config_reading reading = {.arena = arena, .diag = diag};
    int code = overlay->keep != NULL ? lay_keep(study, overlay->keep, &reading) : 0;
    if (code != 0) return code;
    if (overlay->n_settings > 0) code = lay_settings(study, overlay, &reading);
    if (code != 0) return code;
    if (overlay->n_seeds > MAX_SEEDS || (size_t)overlay->n_seeds > STUDY_MAX_RUNS / study->n_points)
        return diag_error(diag, SIM_E_USAGE, "--seeds", NULL, "a study has at most %d runs", STUDY_MAX_RUNS);
    if (overlay->n_seeds > 0) {
        study->n_seeds = (size_t)overlay->n_seeds;
        study->seeds = count_seeds(arena, study->n_seeds);
        study->n_runs = study->n_points * study->n_seeds;
    }
    if (overlay->name != NULL && overlay->name[0] == 0)
        return diag_error(diag, SIM_E_USAGE, "--name", NULL, "the name is empty");
    if (overlay->name != NULL) study->name = arena_strdup(arena, overlay->name);
    if (study->seeds == NULL || study->name == NULL) return diag_nomem(diag);
    return define(study, arena, diag);
}

/* --- Runs --- */

/* A variant replaces the scenario's value. */
static int add_value(const struct study *study, struct study_run *run, struct study_setting *settings,
                     struct run_param param, const char *where, struct arena *arena)
{
    struct study_setting setting = {.directory = study->directory, .where = where};
    if (param.value[0] == '{' && nest_replaces(param.value, arena)) {
        setting.assignment = assign(arena, param.key, "null");
        settings[run->n_settings++] = setting;
        if (setting.assignment == NULL) return SIM_E_NOMEM;
    }
    setting.assignment = assign(arena, param.key, param.value);
    settings[run->n_settings++] = setting;
    return setting.assignment != NULL ? 0 : SIM_E_NOMEM;
}

int study_run_with(const struct study *study, size_t point, size_t seed, const char *key, const char *value,
                   struct arena *arena, struct study_run *run)
{
    size_t n = axes_keys(study->axes);
    struct run_param *params = arena_alloc(arena, (n + 1) * sizeof *params);
    struct study_setting *settings = arena_alloc(arena, (study->n_settings + 2 * n + 2) * sizeof *settings);
    *run = (struct study_run){.seed = study->seeds[seed], .params = params, .settings = settings};
    if (params == NULL || settings == NULL) return SIM_E_NOMEM;
    memcpy(settings, study->settings, study->n_settings * sizeof *settings);
    run->n_settings = study->n_settings;
    int code = 0;
    for (size_t i = 0; i < n; i++) params[run->n_params++] = axes_param(study->axes, point, i);
    for (size_t i = 0; code == 0 && i < n; i++) {
        size_t next = study->axes->order[i];
        code = add_value(study, run, settings, params[next], axes_place(study->axes, point, next), arena);
    }
    if (code != 0 || key == NULL) return code;
    params[run->n_params++] = (struct run_param){key, value};
    return add_value(study, run, settings, params[n], study->source->search_where, arena);
}
