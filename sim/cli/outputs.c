#include "sim/cli/outputs.h"

#include "sim/core/check.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
