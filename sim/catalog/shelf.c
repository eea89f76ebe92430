#include "sim/catalog/shelf.h"

#include "sim/catalog/gpu_name.h"
#include "sim/core/path.h"
#include "sim/core/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

char *shelf_entry_name(struct arena *arena, const char *path)
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

static bool is_entry(const struct shelf *shelf, const char *file)
{
    return file[0] != '.' && path_is_json(file) && (!shelf->no_entry || strcmp(file, shelf->no_entry) != 0);
}

/* Counts the entries of a shelf, and keeps the names of up to `max` of them when `names` is not NULL, in the order of
 * the directory. */
static int visit_shelf(DIR *directory, const struct shelf *shelf, struct arena *arena, const char **names, size_t max,
                       size_t *n)
{
    *n = 0;
    rewinddir(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (!is_entry(shelf, entry->d_name)) continue;
        if (names) {
            if (*n == max) break;
            names[*n] = shelf_entry_name(arena, entry->d_name);
            if (!names[*n]) return SIM_E_NOMEM;
        }
        ++*n;
    }
    return 0;
}

int shelf_list(const struct catalog *catalog, const struct shelf *shelf, struct arena *arena,
               struct catalog_names *names, struct diag *diag)
{
    *names = (struct catalog_names){0, NULL};
    const char *path = arena_printf(arena, "%s/%s", catalog->root, shelf->folder);
    if (!path) return diag_nomem(diag);
    DIR *directory = opendir(path);
    if (!directory)
        return diag_error(diag, SIM_E_IO, path, CATALOG_ROOT_HINT, "cannot list the %ss of the catalog: %s",
                          shelf->noun, strerror(errno));
    size_t n;
    visit_shelf(directory, shelf, arena, NULL, 0, &n);
    const char **list = arena_alloc(arena, (n + 1) * sizeof *list);
    const int code = list ? visit_shelf(directory, shelf, arena, list, n, &names->n) : SIM_E_NOMEM;
    closedir(directory);
    if (code != 0) return diag_nomem(diag);
    qsort(list, names->n, sizeof *list, compare_names);
    names->names = list;
    return 0;
}

/* Characters of the name that its variants share: all of "a100", as there is "a100-80-sxm"; those before the version
 * of "vllm-0.6". 0: it has no variants. */
static size_t stem_chars(const char *name, const struct catalog_names *names)
{
    const size_t n = strlen(name);
    const char *dash = strrchr(name, '-');
    for (size_t i = 0; i < names->n; i++)
        if (strncasecmp(names->names[i], name, n) == 0 && names->names[i][n] == '-') return n;
    return dash != NULL && dash[1] >= '0' && dash[1] <= '9' ? (size_t)(dash - name) : 0;
}

/* "a, b, c": all names, or those that begin with a stem and are not `but`. "" when there are none. */
static const char *join_names(struct arena *arena, const struct catalog_names *names, const char *stem, size_t n_stem,
                              const char *but)
{
    struct text text;
    text_init(&text);
    for (size_t i = 0; i < names->n; i++) {
        const char *name = names->names[i];
        if (name == but || (n_stem > 0 && (strncasecmp(name, stem, n_stem) != 0 || name[n_stem] != '-'))) continue;
        text_printf(&text, "%s%s", text.length > 0 ? ", " : "", name);
    }
    const char *joined = text.failed ? NULL : arena_strdup(arena, text.chars ? text.chars : "");
    text_fini(&text);
    return joined;
}

/* "did you mean 'a100-40-sxm'? There are also a100-80-pcie, a100-80-sxm; 'orrery list gpus' shows all" */
static const char *suggest(struct arena *arena, const struct shelf *shelf, const struct catalog_names *names,
                           const char *name, const char *nearest)
{
    const size_t n_stem = stem_chars(name, names);
    const char *others = n_stem > 0 ? join_names(arena, names, name, n_stem, nearest) : "";
    if (!others) return NULL;
    const bool has_others = *others && strlen(others) < DIAG_TEXT_CHARS / 2;
    return arena_printf(arena, "did you mean '%s'?%s%s%s '%s' shows all", nearest, has_others ? " There are also " : "",
                        has_others ? others : "", has_others ? ";" : "", shelf->list_command);
}

/* --- Versions --- */

/* A version behind the last dash, as in "vllm-0.12"; major -1: it is none, or a year. */
struct version {
    long major, minor;
};

enum { FIRST_YEAR = 1990 };

static struct version version_of(const char *name)
{
    const struct version none = {-1, 0};
    const char *dash = strrchr(name, '-');
    char *end;
    if (dash == NULL || dash[1] < '0' || dash[1] > '9') return none;
    struct version version = {.major = strtol(dash + 1, &end, 10)};
    if (*end != '.' || end[1] < '0' || end[1] > '9') return none;
    version.minor = strtol(end + 1, &end, 10);
    return *end == 0 && version.major < FIRST_YEAR ? version : none;
}

static bool is_older(struct version a, struct version b)
{
    return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

/* For a version that no name of the same stem has: the nearest older and newer ones; NULL: there is none. */
static void find_versions(const struct catalog_names *names, const char *name, const char **older, const char **newer)
{
    const struct version wanted = version_of(name);
    const size_t n_stem = wanted.major >= 0 ? (size_t)(strrchr(name, '-') - name) : 0;
    *older = *newer = NULL;
    for (size_t i = 0; i < names->n && n_stem > 0; i++) {
        const char *other = names->names[i];
        const struct version version = version_of(other);
        if (version.major < 0 || strncasecmp(other, name, n_stem + 1) != 0 || strrchr(other, '-') != other + n_stem)
            continue;
        const char **side = is_older(version, wanted) ? older : newer;
        if (*side == NULL || is_older(version, version_of(*side)) == (side == newer)) *side = other;
    }
}

/* "it lies between vllm-0.2 and vllm-0.12. There are also vllm-0.19, vllm-2024; ...", or of the only side the nearest
 * name, with its other names. NULL: out of memory. */
static const char *suggest_version(struct arena *arena, const struct shelf *shelf, const struct catalog_names *names,
                                   const char *name, const char *older, const char *newer)
{
    if (older == NULL || newer == NULL) return suggest(arena, shelf, names, name, older != NULL ? older : newer);
    return arena_printf(arena, "it lies between '%s' and '%s'; '%s' shows all", older, newer, shelf->list_command);
}

/* The name nearest to *name, else to one of its words, which then is *name: "NVIDIA A100 80GB" becomes "A100". */
static const char *nearest_to_words(const struct catalog_names *names, const char **name, struct arena *arena)
{
    enum { LEAST_CHARS = 2 };
    const char *nearest = text_nearest_name(*name, names->names, names->n);
    const char *at = strchr(*name, ' ') != NULL ? *name : "";
    for (size_t n; nearest == NULL && *at != 0; at += n + (at[n] == ' ')) {
        n = strcspn(at, " ");
        const char *word = n >= LEAST_CHARS ? arena_printf(arena, "%.*s", (int)n, at) : NULL;
        if (word != NULL) nearest = text_nearest_name(word, names->names, names->n);
        if (nearest != NULL) *name = word;
    }
    return nearest;
}

static bool begins_with_family(const char *name)
{
    return strcspn(name, "0123456789") > strcspn(name, "-");
}

/* As vendors write it: "NVIDIA A100-SXM4-80GB" for a100-80-sxm, "DGX-H100" for h100-sxm. The name of which most parts
 * are there; of several the shortest. Of a name that begins with a family, "rtx-4090", all parts must be there. *name
 * becomes its first part. NULL: none. */
static const char *nearest_by_parts(const struct catalog_names *names, const char **name, struct arena *arena)
{
    const char *found = NULL;
    int most = 0;
    if (gpu_name_parts(*name, "mig") > 0) return NULL; /* a part of a GPU is no GPU */
    for (size_t i = 0; i < names->n; i++) {
        const char *candidate = names->names[i];
        const int n = gpu_name_parts(*name, candidate);
        if (begins_with_family(candidate) && n < gpu_name_parts(candidate, candidate)) continue;
        if (n < most || n == 0 || (n == most && strlen(candidate) >= strlen(found))) continue;
        found = candidate;
        most = n;
    }
    if (found == NULL) return NULL;
    *name = arena_printf(arena, "%.*s", (int)strcspn(found, "-"), found);
    return *name != NULL ? found : NULL;
}

static int report_unknown(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
                          struct arena *arena, struct diag *diag)
{
    struct catalog_names names;
    const int code = shelf_list(catalog, shelf, arena, &names, diag);
    if (code != 0) return code;
    const char *older, *newer;
    find_versions(&names, name, &older, &newer);
    const char *word = name, *nearest = text_nearest_name(name, names.names, names.n);
    if (nearest == NULL && shelf->scope != NULL) nearest = nearest_by_parts(&names, &word, arena);
    if (nearest == NULL) nearest = nearest_to_words(&names, &word, arena);
    const char *known = join_names(arena, &names, "", 0, NULL);
    const char *scope = shelf->scope ? shelf->scope : "", *then = shelf->scope ? "; " : "";
    const bool fits = known != NULL && strlen(scope) + strlen(known) + sizeof "; known are " <= DIAG_TEXT_CHARS;
    const char *hint = older || newer ? suggest_version(arena, shelf, &names, name, older, newer)
                       : nearest      ? suggest(arena, shelf, &names, word, nearest)
                       : fits         ? arena_printf(arena, "%s%sknown are %s", scope, then, *known ? known : "none")
                              : arena_printf(arena, "%s%s'%s' shows what there is", scope, then, shelf->list_command);
    if (!hint || !known) return diag_nomem(diag);
    return diag_error(diag, SIM_E_CONFIG, where, hint, "unknown %s '%s'", shelf->noun, name);
}

static const char *entry_path(const struct catalog *catalog, const struct shelf *shelf, const char *name,
                              struct arena *arena)
{
    return arena_printf(arena, "%s/%s/%s.json", catalog->root, shelf->folder, name);
}

static bool has_file(const struct shelf *shelf, const char *name, const char *path)
{
    return strchr(name, '/') == NULL && is_entry(shelf, strrchr(path, '/') + 1) && access(path, R_OK) == 0;
}

bool shelf_has(const struct catalog *catalog, const struct shelf *shelf, const char *name, struct arena *arena)
{
    const char *path = entry_path(catalog, shelf, name, arena);
    return path != NULL && has_file(shelf, name, path);
}

int shelf_find(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
               struct arena *arena, const char **path, struct diag *diag)
{
    const bool is_path = path_is_json(name);
    *path = is_path ? arena_strdup(arena, name) : entry_path(catalog, shelf, name, arena);
    if (!*path) return diag_nomem(diag);
    if (is_path || has_file(shelf, name, *path)) return 0;
    return report_unknown(catalog, shelf, name, where, arena, diag);
}

void shelf_note(const struct catalog *catalog, const struct hash_sum *file)
{
    if (catalog->files) hash_sum_join(catalog->files, file);
}

/* Loads and binds a file; *files receives the bytes that were read. */
static int bind_anew(const char *path, const struct config_field *fields, struct arena *arena, void *out, size_t bytes,
                     struct hash_sum *files, struct diag *diag)
{
    struct config *config;
    int code = config_load(path, &config, diag);
    if (code != 0) return code;
    *files = config_files(config);
    code = config_bind(config, fields, NULL, arena, out, bytes, diag);
    config_destroy(config);
    return code;
}

/* A file in the memory of the catalog. */
struct shelf_kept {
    struct shelf_kept *next;
    const char *path;
    const struct config_field *fields;
    struct hash_sum files;
    void *bound;
};

/* Puts a file into the memory; *found is what is kept of it. */
static int keep(struct catalog_memory *memory, const char *path, const struct config_field *fields, size_t bytes,
                const struct shelf_kept **found, struct diag *diag)
{
    struct shelf_kept *kept = arena_alloc(&memory->arena, sizeof *kept);
    if (!kept) return diag_nomem(diag);
    *kept = (struct shelf_kept){.next = memory->bound, .path = arena_strdup(&memory->arena, path), .fields = fields,
                                .bound = arena_alloc(&memory->arena, bytes)};
    if (!kept->path || !kept->bound) return diag_nomem(diag);
    const int code = bind_anew(path, fields, &memory->arena, kept->bound, bytes, &kept->files, diag);
    if (code == 0) *found = memory->bound = kept;
    return code;
}

int shelf_bind(const struct catalog *catalog, const char *path, const struct config_field *fields, struct arena *arena,
               void *out, size_t bytes, struct diag *diag)
{
    struct hash_sum files = {0};
    int code = 0;
    if (!catalog->memory) {
        code = bind_anew(path, fields, arena, out, bytes, &files, diag);
    } else {
        const struct shelf_kept *kept = catalog->memory->bound;
        while (kept && (kept->fields != fields || strcmp(kept->path, path) != 0)) kept = kept->next;
        if (!kept) code = keep(catalog->memory, path, fields, bytes, &kept, diag);
        if (code == 0) memcpy(out, kept->bound, bytes);
        if (code == 0) files = kept->files;
    }
    if (code == 0) shelf_note(catalog, &files);
    return code;
}
