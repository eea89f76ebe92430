#include "sim/cli/study/figure_shelf.h"

#include "sim/catalog/catalog.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/paths.h"
#include "sim/core/path.h"
#include "sim/core/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Whether the name is "NAME.json", without another dot. */
static int is_figure(const struct dirent *entry)
{
    const char *dot = strchr(entry->d_name, '.');
    return dot != NULL && dot != entry->d_name && strcmp(dot, ".json") == 0;
}

/* Adds the file of this name below the directory `paper` of `root`. */
static int add_file(struct arena *arena, const char *directory, const char *paper, const char *name,
                    struct figure_file *file, struct diag *diag)
{
    file->id = arena_printf(arena, "%s/%.*s", paper, (int)strcspn(name, "."), name);
    file->path = path_join(arena, directory, name);
    return file->id != NULL && file->path != NULL ? 0 : diag_nomem(diag);
}

static int grow(struct arena *arena, struct figure_files *files, size_t n, struct diag *diag)
{
    struct figure_file *items = arena_alloc(arena, (files->n + n + 1) * sizeof *items);
    if (items == NULL) return diag_nomem(diag);
    if (files->n > 0) memcpy(items, files->items, files->n * sizeof *items);
    files->items = items;
    return 0;
}

static void free_entries(struct dirent **entries, int n)
{
    for (int i = 0; i < n; i++) free(entries[i]);
    free(entries);
}

static int list_paper(struct arena *arena, const char *root, const char *paper, struct figure_files *files,
                      struct diag *diag)
{
    struct dirent **entries;
    const char *directory = path_join(arena, root, paper);
    if (directory == NULL) return diag_nomem(diag);
    int n = scandir(directory, &entries, is_figure, alphasort);
    if (n < 0) return errno == ENOTDIR ? 0 : diag_system_error(diag, directory, "cannot list the figures", errno);
    int code = grow(arena, files, (size_t)n, diag);
    for (int i = 0; code == 0 && i < n; i++) {
        code = add_file(arena, directory, paper, entries[i]->d_name, &files->items[files->n], diag);
        files->n += code == 0;
    }
    free_entries(entries, n);
    return code;
}

int figure_file_compare(const void *a, const void *b)
{
    return strcmp(((const struct figure_file *)a)->id, ((const struct figure_file *)b)->id);
}

int figure_shelf_list(struct arena *arena, struct figure_files *files, struct diag *diag)
{
    *files = (struct figure_files){0};
    struct dirent **entries;
    const char *data = paths_data(arena);
    const char *root = data != NULL ? path_join(arena, data, "configs/figures") : NULL;
    if (root == NULL) return diag_nomem(diag);
    int n = scandir(root, &entries, is_visible, alphasort);
    if (n < 0) {
        const int first = diag->n_items, failed = diag_system_error(diag, root, "cannot list the figures", errno);
        diag_add_hint(diag, first, "%s", CATALOG_ROOT_HINT);
        return failed;
    }
    int code = 0;
    for (int i = 0; code == 0 && i < n; i++) code = list_paper(arena, root, entries[i]->d_name, files, diag);
    free_entries(entries, n);
    if (files->n > 0) qsort(files->items, files->n, sizeof *files->items, figure_file_compare);
    return code;
}

/* The id: the last part of the directory, and the name up to its first dot. */
static int find_own(struct arena *arena, const char *path, struct figure_file *file, struct diag *diag)
{
    const char *directory = path_directory(arena, path), *slash = strrchr(path, '/');
    if (directory == NULL) return diag_nomem(diag);
    const char *last = strrchr(directory, '/');
    last = last != NULL ? last + 1 : directory;
    bool has_paper = last[0] != 0 && last[0] != '.';
    return add_file(arena, directory, has_paper ? last : "own", slash != NULL ? slash + 1 : path, file, diag);
}

/* Whether the word is the paper or the figure of "vllm/serving". */
static bool is_part(const char *id, const char *word)
{
    const char *slash = strchr(id, '/');
    const size_t n = slash != NULL ? (size_t)(slash - id) : 0;
    return slash != NULL && ((strlen(word) == n && strncmp(id, word, n) == 0) || strcmp(slash + 1, word) == 0);
}

/* Whether the id is "NAME/NAME". */
static bool is_twice(const char *id, const char *name)
{
    const size_t n = strlen(name);
    return strlen(id) == 2 * n + 1 && strncmp(id, name, n) == 0 && id[n] == '/' && strcmp(id + n + 1, name) == 0;
}

static int fail_unknown(struct arena *arena, const struct figure_files *files, const char *name, struct diag *diag)
{
    const char **ids = arena_alloc(arena, (files->n + 1) * sizeof *ids);
    if (ids == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < files->n; i++) ids[i] = files->items[i].id;
    const char *nearest = text_nearest(name, ids, files->n);
    for (size_t i = 0; nearest == NULL && i < files->n; i++)
        if (is_part(ids[i], name)) nearest = ids[i];
    char hint[128];
    snprintf(hint, sizeof hint, "did you mean '%s'?", nearest != NULL ? nearest : "");
    const char *study = paths_shipped(arena, "studies", name);
    if (study != NULL) snprintf(hint, sizeof hint, "it is a study: orrery sweep %s", study);
    if (strcmp(name, "all") == 0) snprintf(hint, sizeof hint, "'orrery figure all' runs all of them");
    const bool has_hint = nearest != NULL || study != NULL || strcmp(name, "all") == 0;
    return diag_error(diag, SIM_E_USAGE, NULL, has_hint ? hint : "see 'orrery figure list', or name a file",
                      "no figure '%s'", name);
}

int figure_shelf_find(struct arena *arena, const char *name, struct figure_file *file, struct diag *diag)
{
    struct figure_files files;
    int code = path_is_json(name) ? file_kind_check_path(name, FILE_FIGURE, diag) : 0;
    if (path_is_json(name)) return code == 0 ? find_own(arena, name, file, diag) : code;
    code = figure_shelf_list(arena, &files, diag);
    for (size_t i = 0; code == 0 && i < files.n; i++) {
        if (strcmp(files.items[i].id, name) != 0 && !is_twice(files.items[i].id, name)) continue;
        *file = files.items[i];
        return 0;
    }
    return code != 0 ? code : fail_unknown(arena, &files, name, diag);
}
