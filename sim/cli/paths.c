#include "sim/cli/paths.h"

#include "sim/catalog/catalog.h"
#include "sim/cli/cli.h"
#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef ORRERY_PREFIX
#define ORRERY_PREFIX "/usr/local"
#endif

bool paths_is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

bool paths_is_stream(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

bool paths_is_database(const char *path)
{
    static const char head[] = "SQLite format 3";
    char found[sizeof head] = "";
    FILE *file = paths_is_file(path) && !paths_is_stream(path) ? fopen(path, "rb") : NULL;
    if (file == NULL) return false;
    const bool is_database = fread(found, 1, sizeof found, file) == sizeof found &&
                             memcmp(found, head, sizeof head) == 0;
    fclose(file);
    return is_database;
}

bool paths_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A folder "configs" alone proves nothing: other programs have one. */
static bool has_configs(struct arena *arena, const char *directory)
{
    const char *shelf = directory != NULL ? path_join(arena, directory, "configs/hardware") : NULL;
    return shelf != NULL && paths_is_directory(shelf);
}

/* A directory relative to the executable, with links followed. NULL if unknown. */
static const char *beside_executable(struct arena *arena, const char *relative)
{
    char executable[4096];
    ssize_t n = readlink("/proc/self/exe", executable, sizeof executable - 1);
    if (n <= 0) return NULL;
    executable[n] = 0;
    const char *directory = path_directory(arena, executable);
    return directory != NULL ? path_join(arena, directory, relative) : NULL;
}

const char *paths_data(struct arena *arena)
{
    const char *data = getenv("ORRERY_DATA");
    if (data != NULL && *data != 0) return path_normalise(arena, data);
    if (has_configs(arena, ".")) return ".";
    static const char *const relatives[] = {"../../", "../share/orrery"}; /* build/release/orrery, PREFIX/bin/orrery */
    for (size_t i = 0; i < sizeof relatives / sizeof *relatives; i++) {
        const char *directory = beside_executable(arena, relatives[i]);
        if (has_configs(arena, directory)) return directory;
    }
    return ORRERY_PREFIX "/share/orrery";
}

const char *paths_catalog(struct arena *arena)
{
    const char *data = paths_data(arena);
    return data != NULL ? path_join(arena, data, "configs") : NULL;
}

const char *paths_data_hint(struct arena *arena)
{
    const char *data = paths_data(arena);
    if (data == NULL || has_configs(arena, data)) return NULL;
    return arena_printf(arena, CATALOG_ROOT_HINT "; '%s' has none", data);
}

int paths_take_data(struct cli *cli, const char *folder)
{
    cli->data = folder;
    if (folder == NULL || paths_is_directory(folder)) return 0;
    return diag_error(&cli->diag, SIM_E_USAGE, "--data", "name the folder that has job_traces, llm_end_to_end ...",
                      "'%s' is no folder", folder);
}

static const char extension[] = ".json";

static bool has_ending(const char *name, const char *const *endings)
{
    const size_t n = strlen(name);
    for (; *endings != NULL; endings++)
        if (n > strlen(*endings) && strcmp(name + n - strlen(*endings), *endings) == 0) return true;
    return false;
}

int paths_list_files(struct arena *arena, const char *directory, const char *const *endings, struct file_names *names)
{
    *names = (struct file_names){0};
    struct dirent **entries;
    int n = scandir(directory, &entries, NULL, alphasort);
    if (n < 0) return errno == ENOMEM ? SIM_E_NOMEM : SIM_E_IO;
    names->names = arena_alloc(arena, ((size_t)n + 1) * sizeof *names->names);
    int code = names->names != NULL ? 0 : SIM_E_NOMEM;
    for (int i = 0; i < n; i++) {
        const char *file = entries[i]->d_name;
        const bool is_listed = code == 0 && file[0] != '.' && has_ending(file, endings);
        char *name = is_listed ? arena_strdup(arena, file) : NULL;
        if (is_listed && name == NULL) code = SIM_E_NOMEM;
        if (name != NULL) names->names[names->n++] = name;
        free(entries[i]);
    }
    free(entries);
    return code;
}

int paths_list_scenarios(struct arena *arena, const char *root, struct file_names *names)
{
    static const char *const endings[] = {extension, NULL};
    const char *directory = path_join(arena, root, "scenarios");
    int code = directory != NULL ? paths_list_files(arena, directory, endings, names) : SIM_E_NOMEM;
    for (size_t i = 0; code == 0 && i < names->n; i++) {
        const char *file = names->names[i];
        names->names[i] = arena_printf(arena, "%.*s", (int)(strlen(file) - sizeof extension + 1), file);
        if (names->names[i] == NULL) code = SIM_E_NOMEM;
    }
    return code;
}

const char *paths_shipped(struct arena *arena, const char *folder, const char *word)
{
    const size_t n = strlen(word), n_end = sizeof extension - 1;
    const bool has_end = n > n_end && strcmp(word + n - n_end, extension) == 0;
    const char *name = arena_printf(arena, "%.*s", (int)(has_end ? n - n_end : n), word);
    const char *data = paths_data(arena);
    if (name == NULL || data == NULL || strpbrk(name, "/.") != NULL || paths_is_file(word)) return NULL;
    const char *path = arena_printf(arena, "%s/configs/%s/%s%s", data, folder, name, extension);
    return path != NULL && paths_is_file(path) ? name : NULL;
}

int paths_hash_file(const char *path, struct hash *hash, struct diag *diag)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return diag_error(diag, SIM_E_IO, path, NULL, "cannot read the file: %s", strerror(errno));
    char bytes[16384];
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, file)) > 0;) hash_bytes(hash, bytes, n);
    int code = ferror(file) ? diag_error(diag, SIM_E_IO, path, NULL, "cannot read the file") : 0;
    fclose(file);
    return code;
}

/* --- Outputs --- */

static bool is_same_node(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Splits a path into the status of its directory and the file name. */
static bool split(const char *path, struct stat *directory, const char **name)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    if (slash == NULL) return stat(".", directory) == 0;
    const int n = snprintf(parent, sizeof parent, "%.*s", (int)(slash - path) + 1, path);
    return n > 0 && (size_t)n < sizeof parent && stat(parent, directory) == 0;
}

/* Whether two paths of files that do not exist yet name the same file. */
static bool would_be_same(const char *a, const char *b)
{
    struct stat directory_a, directory_b;
    const char *name_a, *name_b;
    return split(a, &directory_a, &name_a) && split(b, &directory_b, &name_b) &&
           is_same_node(&directory_a, &directory_b) && strcmp(name_a, name_b) == 0;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat status_a, status_b;
    const bool is_a = stat(a, &status_a) == 0, is_b = stat(b, &status_b) == 0;
    if (is_a != is_b) return false;
    if (!is_a) return would_be_same(a, b);
    return S_ISREG(status_a.st_mode) && is_same_node(&status_a, &status_b);
}

int outputs_add(struct outputs *outputs, const char *option, const char *path)
{
    if (path == NULL) return 0;
    if (path[0] == 0)
        return diag_error(outputs->diag, SIM_E_USAGE, option, "name a file", "the name of the file is empty");
    for (size_t i = 0; i < outputs->n; i++)
        if (is_same_file(outputs->items[i].path, path))
            return diag_error(outputs->diag, SIM_E_USAGE, path, "name another file", "%s and %s would be the same file",
                              outputs->items[i].option, option);
    SIM_REQUIRE(outputs->n < OUTPUTS_MAX);
    outputs->items[outputs->n].option = option;
    outputs->items[outputs->n++].path = path;
    return 0;
}

/* Whether a list of words, with blanks between them, has this one. */
static bool has_word(const char *words, const char *word, size_t n)
{
    for (size_t n_word; *words != '\0'; words += n_word + (words[n_word] == ' ')) {
        n_word = strcspn(words, " ");
        if (n_word == n && strncasecmp(words, word, n) == 0) return true;
    }
    return false;
}

int outputs_check_form(const struct outputs *outputs, const char *option, const char *path, const char *form,
                       const char *endings)
{
    static const char forms[] = "arrow csv db docx feather htm html jpeg jpg json jsonl md ods parquet pdf png prom "
                                "sqlite sqlite3 svg tex txt xls xlsx";
    if (path == NULL) return 0;
    const size_t n_all = strlen(path), n = n_all > 3 && strcmp(path + n_all - 3, ".gz") == 0 ? n_all - 3 : n_all;
    size_t dot = n;
    while (dot > 0 && path[dot - 1] != '.' && path[dot - 1] != '/') dot--;
    if (dot == 0 || path[dot - 1] != '.' || !has_word(forms, path + dot, n - dot) ||
        has_word(endings, path + dot, n - dot))
        return 0;
    char hint[80];
    snprintf(hint, sizeof hint, "name a file that ends in .%.*s", (int)strcspn(endings, " "), endings);
    return diag_error(outputs->diag, SIM_E_USAGE, option, hint, "what is written is %s, not .%.*s", form,
                      (int)(n - dot), path + dot);
}

int outputs_add_form(struct outputs *outputs, const char *option, const char *path, const char *form,
                     const char *endings)
{
    const int code = outputs_add(outputs, option, path);
    return code == 0 ? outputs_check_form(outputs, option, path, form, endings) : code;
}

int outputs_check_results(const struct outputs *outputs, const char *option, const char *path)
{
    const char *colon = path != NULL ? strrchr(path, ':') : NULL;
    const char *digits = colon != NULL ? colon + 1 : "";
    char database[512];
    snprintf(database, sizeof database, "%.*s", colon != NULL ? (int)(colon - path) : 0, path != NULL ? path : "");
    if (*digits != '\0' && digits[strspn(digits, "0123456789")] == '\0' && paths_is_file(database) &&
        !paths_is_file(path))
        return diag_error(outputs->diag, SIM_E_USAGE, option, "name the database alone; the new run gets a number",
                          "'%s' names a run of '%s'", path, database);
    return outputs_check_form(outputs, option, path, "a SQLite database", "db sqlite sqlite3");
}

int outputs_check(const struct outputs *outputs, const char *path)
{
    for (size_t i = 0; path != NULL && i < outputs->n; i++)
        if (is_same_file(outputs->items[i].path, path))
            return diag_error(outputs->diag, SIM_E_USAGE, outputs->items[i].path, "name another file",
                              "%s would replace what is read from '%s'", outputs->items[i].option, path);
    return 0;
}

int outputs_check_plugins(const struct outputs *outputs, const struct plugins *plugins)
{
    int code = 0;
    for (size_t i = 0; code == 0 && plugins != NULL && i < plugins->n; i++)
        code = outputs_check(outputs, plugins->items[i].path);
    return code;
}
