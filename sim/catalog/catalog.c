#include "sim/catalog/catalog.h"

#include "sim/catalog/huggingface.h"
#include "sim/core/json_doc.h"
#include "sim/core/path.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A shelf of the catalog: its folder, and what messages call its entries. */
struct shelf {
    const char *folder, *noun, *list_command;
};

static const struct shelf gpus = {"hardware", "GPU", "orrery list gpus"};
static const struct shelf llms = {"llms", "LLM", "orrery list llms"};

static int fail_nomem(struct diag *diag)
{
    return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
}

/* "a100" of "hardware/a100.json", and "Yi-34B" of "models/Yi-34B/config.json": checkpoints call all their files alike. */
static char *entry_name(struct arena *arena, const char *path)
{
    char *copy = arena_strdup(arena, path);
    if (!copy) return NULL;
    copy[strlen(copy) - strlen(".json")] = 0;
    char *slash = strrchr(copy, '/');
    if (slash && strcmp(slash + 1, "config") == 0) {
        *slash = 0;
        slash = strrchr(copy, '/');
    }
    return slash ? slash + 1 : copy;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Counts the entries of a shelf, and keeps the names of up to `max` of them when `names` is not NULL, in the order of
 * the directory. */
static int visit_shelf(DIR *directory, struct arena *arena, const char **names, size_t max, size_t *n)
{
    *n = 0;
    rewinddir(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.' || !path_is_json(entry->d_name)) continue;
        if (names) {
            if (*n == max) break;
            names[*n] = entry_name(arena, entry->d_name);
            if (!names[*n]) return SIM_E_NOMEM;
        }
        ++*n;
    }
    return 0;
}

static int list_names(const struct catalog *catalog, const struct shelf *shelf, struct arena *arena,
                      struct catalog_names *names, struct diag *diag)
{
    *names = (struct catalog_names){0, NULL};
    const char *path = arena_printf(arena, "%s/%s", catalog->root, shelf->folder);
    if (!path) return fail_nomem(diag);
    DIR *directory = opendir(path);
    if (!directory)
        return diag_error(diag, SIM_E_IO, path, "set ORRERY_DATA to the directory that holds 'configs'",
                          "cannot list the %ss of the catalog: %s", shelf->noun, strerror(errno));
    size_t n;
    visit_shelf(directory, arena, NULL, 0, &n);
    const char **list = arena_alloc(arena, (n + 1) * sizeof *list);
    const int code = list ? visit_shelf(directory, arena, list, n, &names->n) : SIM_E_NOMEM;
    closedir(directory);
    if (code != 0) return fail_nomem(diag);
    qsort(list, names->n, sizeof *list, compare_names);
    names->names = list;
    return 0;
}

int catalog_list_gpus(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag)
{
    return list_names(catalog, &gpus, arena, names, diag);
}

int catalog_list_llms(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag)
{
    return list_names(catalog, &llms, arena, names, diag);
}

/* "a, b, c" */
static const char *join_names(struct arena *arena, const struct catalog_names *names)
{
    struct text text;
    text_init(&text);
    for (size_t i = 0; i < names->n; i++) text_printf(&text, "%s%s", i > 0 ? ", " : "", names->names[i]);
    const char *joined = text.failed ? NULL : arena_strdup(arena, text.chars ? text.chars : "none");
    text_fini(&text);
    return joined;
}

static int report_unknown(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
                          struct arena *arena, struct diag *diag)
{
    struct catalog_names names;
    const int code = list_names(catalog, shelf, arena, &names, diag);
    if (code != 0) return code;
    const char *nearest = text_nearest(name, names.names, names.n), *known = join_names(arena, &names);
    const char *hint = nearest ? arena_printf(arena, "did you mean '%s'? '%s' shows all", nearest, shelf->list_command)
                               : arena_printf(arena, "known are %s", known ? known : "");
    if (!hint || !known) return fail_nomem(diag);
    return diag_error(diag, SIM_E_CONFIG, where, hint, "unknown %s '%s'", shelf->noun, name);
}

/* Finds the file of an entry. Reports an unknown name; that a path leads nowhere is for its reader to say. */
static int find_file(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
                     struct arena *arena, const char **path, struct diag *diag)
{
    const bool is_path = path_is_json(name);
    *path = is_path ? arena_strdup(arena, name)
                    : arena_printf(arena, "%s/%s/%s.json", catalog->root, shelf->folder, name);
    if (!*path) return fail_nomem(diag);
    if (is_path || (strchr(name, '/') == NULL && access(*path, R_OK) == 0)) return 0;
    return report_unknown(catalog, shelf, name, where, arena, diag);
}

/* Loads and binds a file of ours. The texts that the struct keeps are in the arena. */
static int bind_file(const char *path, const struct config_field *fields, struct arena *arena, void *out, size_t bytes,
                     struct diag *diag)
{
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code != 0) return code;
    code = config_bind(config, fields, NULL, arena, out, bytes, diag);
    config_destroy(config);
    return code;
}

int catalog_gpu(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct gpu_spec *gpu, struct diag *diag)
{
    const char *path;
    int code = find_file(catalog, &gpus, name, where, arena, &path, diag);
    if (code == 0) code = bind_file(path, catalog_gpu_fields, arena, gpu, sizeof *gpu, diag);
    if (code != 0) return code;
    gpu->name = entry_name(arena, path);
    return gpu->name ? 0 : fail_nomem(diag);
}

static int check_shape(const struct json_node *root, const struct llm_spec *llm, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    const char *problem = llm_problem(llm);
    if (!problem) return 0;
    return diag_error(diag, SIM_E_CONFIG, json_where(root, where, sizeof where), NULL, "no LLM has this shape: %s",
                      problem);
}

int catalog_llm(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct llm_spec *llm, struct diag *diag)
{
    const char *path;
    int code = find_file(catalog, &llms, name, where, arena, &path, diag);
    if (code != 0) return code;
    struct json_node *root;
    code = json_load(arena, path, &root, diag);
    if (code != 0) return code;
    if (huggingface_recognises(root))
        code = huggingface_read(root, llm, diag);
    else
        code = bind_file(path, catalog_llm_fields, arena, llm, sizeof *llm, diag);
    if (code == 0) code = check_shape(root, llm, diag);
    if (code != 0) return code;
    llm->name = entry_name(arena, path);
    return llm->name ? 0 : fail_nomem(diag);
}
