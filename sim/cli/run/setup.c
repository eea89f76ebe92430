#include "sim/cli/run/setup.h"

#include "sim/cli/file_kind.h"
#include "sim/cli/paths.h"
#include "sim/cli/plugins.h"
#include "sim/core/input.h"
#include "sim/core/path.h"
#include "sim/world/world.h"
#include "traces/guess.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the directory that holds "configs", NULL when out of memory. */
static const char *setup_start(struct setup *setup, const struct setup_options *options)
{
    memset(setup, 0, sizeof *setup);
    arena_init(&setup->arena);
    catalog_memory_init(&setup->memory);
    setup->plugins = options->plugins;
    setup->families = cli_families(options->plugins);
    setup->catalog.memory = options->memory != NULL ? options->memory : &setup->memory;
    setup->catalog.files = &setup->files;
    const char *data = paths_data(&setup->arena);
    if (data != NULL) setup->catalog.root = path_join(&setup->arena, data, "configs");
    return setup->catalog.root != NULL ? data : NULL;
}

static int fail_unknown(struct setup *setup, const char *name, struct diag *diag)
{
    struct file_names names;
    const char *nearest = NULL, *study = paths_shipped(&setup->arena, "studies", name);
    const char *no_data = paths_data_hint(&setup->arena);
    if (paths_list_scenarios(&setup->arena, setup->catalog.root, &names) == 0)
        nearest = text_nearest(name, names.names, names.n);
    char hint[DIAG_TEXT_CHARS];
    if (no_data != NULL)
        snprintf(hint, sizeof hint, "%s", no_data);
    else if (study != NULL)
        snprintf(hint, sizeof hint, "it is a study: orrery sweep %s", study);
    else if (nearest != NULL)
        snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    else
        snprintf(hint, sizeof hint, "name a file, or one of 'orrery list scenarios'");
    if (paths_is_directory(name))
        return diag_error(diag, SIM_E_USAGE, NULL, "name a file in it, or one of 'orrery list scenarios'",
                          "'%s' is a directory, not a scenario", name);
    return diag_error(diag, SIM_E_USAGE, NULL, hint, "no scenario '%s'", name);
}

/* Whether a regular file begins as no document of JSON does. */
static bool is_no_document(const char *path)
{
    struct stat status;
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    if (file == NULL) return false;
    int first = fgetc(file);
    while (first == ' ' || first == '\t' || first == '\r' || first == '\n') first = fgetc(file);
    fclose(file);
    return (first != '{' && first != '/') || path_ends_in(path, ".jsonl");
}

/* What a file is that is no text, nor text in gzip; NULL: it may be text. */
static const char *binary_kind(const char *path)
{
    char head[INPUT_HEAD_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    const size_t n = fread(head, 1, sizeof head, file);
    fclose(file);
    const char *kind = n > 0 ? input_binary_kind(head, n) : NULL;
    return kind == NULL || strstr(kind, "gzip") != NULL ? NULL : kind;
}

/* Points to the right verb when the file is a trace: a table, or lines of JSON. */
static int check_is_no_trace(const char *path, struct diag *diag)
{
    static const char hint[] = "a scenario names it as the \"path\" of a \"trace\"; 'orrery trace stat' describes it";
    const struct trace_format *format;
    const char *binary = is_no_document(path) ? binary_kind(path) : NULL;
    if (!is_no_document(path)) return 0;
    if (binary != NULL)
        return diag_error(diag, SIM_E_USAGE, path, "a scenario is a file of JSON; 'orrery list scenarios' shows some",
                          "this is %s, not a scenario", binary);
    if (trace_guess(path, TRACE_BOTH, NULL, &format, NULL) == 0)
        return diag_error(diag, SIM_E_USAGE, path, hint, "this looks like a trace of format %s, not a scenario",
                          format->name);
    return path_ends_in(path, ".csv") ? diag_error(diag, SIM_E_USAGE, path, hint, "this is a table, not a scenario")
                                      : 0;
}

/* The name of an LLM, a GPU or an engine in place of a scenario, which would name it. */
static int check_is_no_part(struct setup *setup, const char *name, struct diag *diag)
{
    static const struct {
        const char *folder, *what, *key;
    } parts[] = {{"llms", "an LLM", "services.NAME.llm"},
                 {"hardware", "a GPU", "cluster.gpu"},
                 {"engines", "an engine", "services.NAME.cost.engine"},
                 {"clusters", "a cluster", NULL}};
    if (strchr(name, '/') != NULL || paths_is_file(name)) return 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *path = arena_printf(&setup->arena, "%s/%s/%s.json", setup->catalog.root, parts[i].folder, name);
        const char *hint =
            parts[i].key == NULL
                ? arena_printf(
                      &setup->arena,
                      "a scenario says \"extends\": [\"configs/clusters/%s.json\"]; 'orrery explain cluster %s'", name,
                      name)
                : arena_printf(&setup->arena, "name a scenario, and change it by --set %s=%s; such as quickstart",
                               parts[i].key, name);
        if (path == NULL || hint == NULL) return diag_nomem(diag);
        if (paths_is_file(path))
            return diag_error(diag, SIM_E_USAGE, name, hint, "this is %s, not a scenario", parts[i].what);
    }
    return 0;
}

/* A bare name that is no file is a scenario that comes with the program. */
static int find_scenario(struct setup *setup, const char *name, const char **path, struct diag *diag)
{
    *path = name;
    if (paths_is_database(name))
        return diag_error(diag, SIM_E_USAGE, name,
                          "'orrery report', 'compare' and 'why' read it, and 'run --from' repeats a run",
                          "this is a database of results, not a scenario");
    const char *shipped = paths_shipped(&setup->arena, "scenarios", name);
    if (shipped != NULL && strchr(name, '.') != NULL)
        return diag_error(diag, SIM_E_USAGE, name, arena_printf(&setup->arena, "did you mean '%s'?", shipped),
                          "no such file");
    const int code = check_is_no_part(setup, name, diag);
    if (code != 0) return code;
    if (strpbrk(name, "/.") != NULL || paths_is_file(name)) return check_is_no_trace(name, diag);
    *path = arena_printf(&setup->arena, "%s/scenarios/%s.json", setup->catalog.root, name);
    if (*path == NULL) return diag_nomem(diag);
    return paths_is_file(*path) ? 0 : fail_unknown(setup, name, diag);
}

/* Sets "key=value" in the document. `is_text` quotes the value, so that it is a string whatever it looks like. */
static int set_option(struct config *config, const char *key, const char *value, bool is_text, struct diag *diag)
{
    if (value == NULL) return 0;
    struct text assignment;
    text_init(&assignment);
    text_printf(&assignment, "%s=", key);
    if (is_text)
        text_json_string(&assignment, value);
    else
        text_add(&assignment, value);
    char option[32];
    snprintf(option, sizeof option, "--%s", key);
    int code = assignment.failed ? diag_nomem(diag) : config_set_in(config, assignment.chars, ".", option, diag);
    text_fini(&assignment);
    return code;
}

/* Applies the settings and the seed of a study's run. */
static int set_run(struct config *config, const struct study_run *run, struct diag *diag)
{
    char seed[32];
    int code = 0;
    for (size_t i = 0; i < run->n_settings; i++) {
        const struct study_setting *setting = &run->settings[i];
        int set_code = config_set_in(config, setting->assignment, setting->directory, setting->where, diag);
        if (code == 0) code = set_code;
    }
    snprintf(seed, sizeof seed, "%" PRId64, run->seed);
    return code == 0 ? set_option(config, "seed", seed, false, diag) : code;
}

static int set_options(struct config *config, const struct setup_options *options, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; options->settings != NULL && i < options->settings->n; i++) {
        int set_code = config_set(config, options->settings->items[i], diag);
        if (code == 0) code = set_code;
    }
    if (code == 0 && options->run != NULL) code = set_run(config, options->run, diag);
    if (code == 0) code = set_option(config, "seed", options->seed, false, diag);
    if (code == 0) code = set_option(config, "keep", options->keep, true, diag);
    if (code == 0) code = set_option(config, "name", options->name, true, diag);
    return code;
}

/* A scenario without a name takes that of its file. */
static int name_scenario(struct setup *setup, const char *path)
{
    if (setup->scenario.name[0] != 0) return 0;
    const char *base = strrchr(path, '/');
    base = base != NULL ? base + 1 : path;
    setup->scenario.name = arena_printf(&setup->arena, "%.*s", (int)strcspn(base, "."), base);
    return setup->scenario.name != NULL ? 0 : SIM_E_NOMEM;
}

static int bind(struct setup *setup, const char *path, struct diag *diag)
{
    int code = scenario_bind(setup->config, &setup->families, &setup->catalog, &setup->arena, &setup->scenario, diag);
    if (code == 0) plugins_blame(setup->plugins, &setup->scenario);
    return code == 0 ? name_scenario(setup, path) : code;
}

/* The path as seen from the root directory; itself where nothing is there. NULL when out of memory. */
static const char *absolute(struct arena *arena, const char *path)
{
    char found[PATH_MAX];
    return path != NULL && realpath(path, found) != NULL ? arena_strdup(arena, found) : path;
}

struct left_behind {
    struct setup *setup;
    const char *data;
    struct diag *diag;
};

/* A file that is absent, while the data that come with the program have it below the same folders. */
static int report_left_behind(void *context, const char *path)
{
    const struct left_behind *look = context;
    if (access(path, F_OK) == 0) return 0;
    const char *rest = path;
    while (strncmp(rest, "../", 3) == 0) rest += 3;
    for (rest += *rest == '/'; rest != NULL && strchr(rest, '/') != NULL; rest = strchr(rest, '/') + 1) {
        const char *there = path_join(&look->setup->arena, look->data, rest);
        if (there == NULL) return diag_nomem(look->diag);
        if (strcmp(there, path) == 0 || access(there, F_OK) != 0) continue;
        there = absolute(&look->setup->arena, there);
        const char *hint = arena_printf(&look->setup->arena,
                                        "paths start at the folder of the scenario: write \"%s\", or let a copy say "
                                        "\"extends\": [\"configs/scenarios/NAME.json\"]",
                                        there != NULL ? there : rest);
        return diag_error(look->diag, SIM_E_IO, path, hint, "cannot open: No such file or directory");
    }
    return 0;
}

/* A scenario that is the copy of a shipped one has left its traces behind. */
static int check_left_behind(struct setup *setup, const char *data, struct diag *diag)
{
    struct left_behind look = {setup, data, diag};
    return named_files_each(&setup->families, scenario_fields, &setup->scenario, report_left_behind, &look);
}

/* A document that is evidently no scenario gets that finding alone, in place of those of its syntax. */
static int load_scenario(struct setup *setup, const char *path, const char *const *roots, const char *home,
                         struct diag *diag)
{
    struct diag before;
    if (diag != NULL) before = *diag;
    const int code = config_load_within(path, roots, home, &setup->config, diag);
    if (code == 0) return file_kind_check(setup->config, path, FILE_SCENARIO, diag);
    if (diag == NULL || code != SIM_E_CONFIG) return code;
    const int kind = file_kind_check_python(path, FILE_SCENARIO, &before);
    if (kind != 0) *diag = before;
    return kind != 0 ? kind : code;
}

int setup_load(struct setup *setup, const char *scenario, const struct setup_options *options, struct diag *diag)
{
    const char *data = setup_start(setup, options);
    setup->families.data = options->data;
    if (data == NULL) return diag_nomem(diag);
    const char *const roots[] = {data, NULL};
    const char *path, *home = absolute(&setup->arena, path_join(&setup->arena, setup->catalog.root, "scenarios"));
    if (home == NULL) return diag_nomem(diag);
    int code = find_scenario(setup, scenario, &path, diag);
    if (code == 0) code = load_scenario(setup, path, roots, home, diag);
    if (code == 0) code = set_options(setup->config, options, diag);
    if (code == 0) code = bind(setup, path, diag);
    return code == 0 ? check_left_behind(setup, data, diag) : code;
}

/* A word that is no file, no cluster and no scenario. Returns 0 where it is one. */
static int check_is_site(struct setup *setup, const char *name, struct diag *diag)
{
    static const char *const endings[] = {".json", NULL};
    struct file_names names = {0};
    const char *folder = path_join(&setup->arena, setup->catalog.root, "clusters"), *hint = NULL;
    if (strpbrk(name, "/.") != NULL || paths_is_file(name)) return 0;
    if (paths_shipped(&setup->arena, "clusters", name) || paths_shipped(&setup->arena, "scenarios", name)) return 0;
    if (folder == NULL) return diag_nomem(diag);
    if (paths_list_files(&setup->arena, folder, endings, &names) == 0) hint = text_nearest(name, names.names, names.n);
    hint = hint != NULL ? arena_printf(&setup->arena, "did you mean '%.*s'?", (int)strcspn(hint, "."), hint)
                        : "name a file, or one of 'orrery list clusters'";
    return diag_error(diag, SIM_E_USAGE, NULL, hint, "no cluster or scenario '%s'", name);
}

int setup_load_site(struct setup *setup, const char *name, const struct setup_options *options, struct diag *diag)
{
    const char *data = setup_start(setup, options);
    setup->families.data = options->data;
    if (data == NULL) return diag_nomem(diag);
    const char *const roots[] = {data, NULL};
    const char *cluster = paths_shipped(&setup->arena, "clusters", name), *path = NULL;
    if (cluster != NULL) path = arena_printf(&setup->arena, "%s/clusters/%s.json", setup->catalog.root, cluster);
    int code = check_is_site(setup, name, diag);
    if (code == 0 && cluster == NULL) code = find_scenario(setup, name, &path, diag);
    if (code == 0 && path == NULL) code = diag_nomem(diag);
    if (code == 0) code = load_scenario(setup, path, roots, NULL, diag);
    if (code == 0) code = set_options(setup->config, options, diag);
    struct scenario *scenario = &setup->scenario;
    if (code == 0)
        code = config_bind(setup->config, scenario_fields, &setup->families, &setup->arena, scenario, sizeof *scenario,
                           diag);
    return code == 0
               ? cluster_config_load(&scenario->cluster.nodes, setup->config, &setup->catalog, &setup->arena, diag)
               : code;
}

/* The scenario in `json`, whose relative paths start at `directory`. */
static int load_from(struct setup *setup, const char *directory, const char *name, const char *json,
                     const struct setup_options *options, struct diag *diag)
{
    const char *data = setup_start(setup, options);
    if (data == NULL) return diag_nomem(diag);
    int code = config_parse(name, directory, json, strlen(json), &setup->config, diag);
    if (code == 0) code = set_options(setup->config, options, diag);
    return code == 0 ? bind(setup, name, diag) : code;
}

int setup_load_json(struct setup *setup, const char *name, const char *json, const struct setup_options *options,
                    struct diag *diag)
{
    return load_from(setup, ".", name, json, options, diag);
}

static int note_missing(void *context, const char *path)
{
    const char **missing = context;
    if (*missing == NULL && access(path, F_OK) != 0) *missing = path;
    return 0;
}

/* A directory at which the relative paths of a stored scenario may start. */
struct start {
    const char *directory;
    const char *missing;        /* the first file that is not there, in the arena; NULL: all are */
    char files[HASH_HEX_CHARS]; /* hash of the files that the scenario names, if all are there */
};

/* Looks which files of the scenario are at the directory. A wrong scenario is told later. */
static void look_from(struct start *start, const char *json, const struct setup_options *options, struct arena *arena)
{
    struct setup trial;
    struct diag unheard;
    diag_init(&unheard);
    if (load_from(&trial, start->directory, "", json, options, &unheard) == 0) {
        named_files_each(&trial.families, scenario_fields, &trial.scenario, note_missing, &start->missing);
        if (start->missing == NULL) setup_hash_files(&trial, start->files, &unheard);
    }
    if (start->missing != NULL) start->missing = arena_strdup(arena, start->missing);
    setup_fini(&trial);
}

/* Whether the run would read the very bytes there that it has read. Builds the world, since only that reads the
 * catalog's files. */
static bool has_inputs(const struct start *start, const char *json, const char *trace_hash,
                       const struct setup_options *options)
{
    struct setup trial;
    struct diag unheard;
    struct world *world;
    char hash[HASH_HEX_CHARS] = "";
    diag_init(&unheard);
    int code = load_from(&trial, start->directory, "", json, options, &unheard);
    if (code == 0) {
        const struct world_options how = {.config = trial.config, .catalog = &trial.catalog};
        code = world_create(&trial.scenario, &how, &world, &unheard);
        if (code == 0) {
            code = setup_hash_files(&trial, hash, &unheard);
            world_destroy(world);
        }
    }
    setup_fini(&trial);
    return code == 0 && strcmp(hash, trace_hash) == 0;
}

/* Of the directories that have all files, the first one, unless another one has those that the run has read. Sets
 * *is_other if files of these names differ, and none are those of the run. NULL: no directory has all files. */
static const struct start *choose_start(const struct start *starts, size_t n, const char *json, const char *trace_hash,
                                        const struct setup_options *options, bool *is_other)
{
    const struct start *first = NULL;
    bool differ = false;
    for (size_t i = 0; i < n; i++) {
        if (starts[i].missing != NULL) continue;
        if (first == NULL) first = &starts[i];
        differ |= strcmp(first->files, starts[i].files) != 0;
    }
    *is_other = false;
    if (!differ || trace_hash == NULL || trace_hash[0] == 0) return first;
    for (size_t i = 0; i < n; i++)
        if (starts[i].missing == NULL && has_inputs(&starts[i], json, trace_hash, options)) return &starts[i];
    *is_other = true;
    return first;
}

int setup_load_stored(struct setup *setup, const char *results, const char *name, const struct stored_scenario *stored,
                      const struct plugins *plugins, struct diag *diag)
{
    static const char hint[] = "relative paths start at the directory in which the run was made: go there";
    const struct setup_options options = {.plugins = plugins};
    struct arena arena;
    bool is_other;
    arena_init(&arena);
    struct start starts[] = {{.directory = "."}, {.directory = path_directory(&arena, results)},
                             {.directory = paths_data(&arena)}};
    const size_t n = sizeof starts / sizeof *starts;
    for (size_t i = 0; i < n; i++) {
        if (starts[i].directory != NULL)
            look_from(&starts[i], stored->json, &options, &arena);
        else
            starts[i].missing = "";
    }
    const struct start *start = choose_start(starts, n, stored->json, stored->trace_hash, &options, &is_other);
    int code = load_from(setup, start != NULL ? start->directory : ".", name, stored->json, &options, diag);
    if (code == 0 && start == NULL)
        code = diag_error(diag, SIM_E_IO, starts[0].missing, hint, "an input of the run is not here");
    if (code == 0 && is_other)
        diag_warning(diag, results, hint,
                     "the run's input files are in several directories, and in none with the bytes that it read; taken "
                     "are those at '%s'",
                     start->directory);
    arena_fini(&arena);
    return code;
}

void setup_fini(struct setup *setup)
{
    config_destroy(setup->config);
    catalog_memory_fini(&setup->memory);
    arena_fini(&setup->arena);
}

int setup_dump(const struct setup *setup, struct text *json)
{
    return config_dump(scenario_fields, &setup->families, &setup->scenario, json);
}

void setup_policies(const struct setup *setup, struct text *text)
{
    scenario_policies(&setup->scenario, text);
    plugins_describe(setup->plugins, &setup->scenario, text);
}

/* --- The input files --- */

struct walk {
    const struct config_families *families;
    named_file_fn visit;
    void *context;
};

static int walk_fields(const struct walk *walk, const struct config_field *fields, const char *bound);

static int walk_variant(const struct walk *walk, const struct config_field *field, const struct config_variant *variant)
{
    struct config_alternative alternative;
    for (size_t i = 0; variant->name != NULL; i++) {
        if (!walk->families->alternative(walk->families->context, field->family, i, &alternative)) return 0;
        if (strcmp(alternative.name, variant->name) != 0) continue;
        return alternative.fields != NULL ? walk_fields(walk, alternative.fields, variant->params) : 0;
    }
    return 0;
}

static int walk_list(const struct walk *walk, const struct config_field *field, const struct config_list *list)
{
    int code = 0;
    if (field->fields[0].name == NULL) return 0; /* a list of scalars */
    for (size_t i = 0; code == 0 && i < list->n; i++)
        code = walk_fields(walk, field->fields, (const char *)list->items + i * field->elem_bytes);
    return code;
}

static int walk_path(const struct walk *walk, const char *path)
{
    return path != NULL ? walk->visit(walk->context, path) : 0;
}

static int walk_fields(const struct walk *walk, const struct config_field *fields, const char *bound)
{
    int code = 0;
    for (const struct config_field *field = fields; code == 0 && field->name != NULL; field++) {
        const void *value = bound + field->offset;
        switch (field->kind) {
        case CONFIG_PATH: code = walk_path(walk, *(const char *const *)value); break;
        case CONFIG_SECTION: code = walk_fields(walk, field->fields, value); break;
        case CONFIG_MAP:
        case CONFIG_LIST: code = walk_list(walk, field, value); break;
        case CONFIG_VARIANT: code = walk_variant(walk, field, value); break;
        default: break;
        }
    }
    return code;
}

int named_files_each(const struct config_families *families, const struct config_field *fields, const void *bound,
                     named_file_fn visit, void *context)
{
    const struct walk walk = {families, visit, context};
    return walk_fields(&walk, fields, bound);
}

struct file_hash {
    struct hash *hash;
    struct diag *diag;
    int n_files;
    bool readable_once; /* a pipe or device is among them: hashing it would take its bytes from the run */
};

/* A pipe or a device. */
static bool is_readable_once(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static int add_file(void *context, const char *path)
{
    struct file_hash *files = context;
    if (is_readable_once(path)) {
        diag_warning(files->diag, path, "copy it to a file", "it can be read only once, so the inputs have no hash");
        files->readable_once = true;
        return 0;
    }
    files->n_files++;
    return paths_hash_file(path, files->hash, files->diag);
}

int setup_hash_files(const struct setup *setup, char hex[HASH_HEX_CHARS], struct diag *diag)
{
    struct file_hash files = {.hash = hash_create(), .diag = diag};
    if (files.hash == NULL) return diag_nomem(diag);
    int code = named_files_each(&setup->families, scenario_fields, &setup->scenario, add_file, &files);
    hash_i64(files.hash, (int64_t)setup->files.low);
    hash_i64(files.hash, (int64_t)setup->files.high);
    hash_hex(files.hash, hex);
    if ((files.n_files == 0 && setup->files.n == 0) || files.readable_once) hex[0] = 0;
    hash_destroy(files.hash);
    return code;
}

static int note_once(void *context, const char *path)
{
    *(bool *)context |= is_readable_once(path);
    return 0;
}

bool setup_reads_once(const struct setup *setup)
{
    bool is_once = false;
    named_files_each(&setup->families, scenario_fields, &setup->scenario, note_once, &is_once);
    return is_once;
}

static int check_file(void *context, const char *path)
{
    return outputs_check(context, path);
}

int setup_check_outputs(const struct setup *setup, struct outputs *outputs)
{
    const char *path;
    int code = 0;
    for (size_t i = 0; code == 0 && (path = config_path(setup->config, i)) != NULL; i++)
        code = outputs_check(outputs, path);
    if (code != 0) return code;
    code = named_files_each(&setup->families, scenario_fields, &setup->scenario, check_file, outputs);
    return code == 0 ? outputs_check_plugins(outputs, setup->plugins) : code;
}
