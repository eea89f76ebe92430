#include "sim/core/path.h"

#include <stdbool.h>
#include <string.h>

/* Drops the last name of a path of `length` characters, unless it has none or the name is a kept "..". */
static bool drop_last(const char *path, size_t *length, bool absolute)
{
    if (*length == 0) return absolute;
    size_t start = *length;
    while (start > 0 && path[start - 1] != '/') start--;
    if (*length - start == 2 && memcmp(path + start, "..", 2) == 0) return false;
    *length = start > 0 ? start - 1 : 0;
    return true;
}

char *path_normalise(struct arena *arena, const char *path)
{
    bool absolute = path[0] == '/';
    char *out = arena_alloc(arena, strlen(path) + 2);
    if (out == NULL) return NULL;
    char *names = out + absolute; /* the path without its leading slash */
    size_t length = 0;
    while (*path != 0) {
        size_t n = strcspn(path, "/");
        bool here = n == 0 || (n == 1 && path[0] == '.'), up = n == 2 && memcmp(path, "..", 2) == 0;
        if (!here && !(up && drop_last(names, &length, absolute))) {
            if (length > 0) names[length++] = '/';
            memmove(names + length, path, n);
            length += n;
        }
        path += n + (path[n] == '/');
    }
    names[length] = 0;
    if (absolute) out[0] = '/';
    if (!absolute && length == 0) memcpy(out, ".", sizeof ".");
    return out;
}

char *path_join(struct arena *arena, const char *directory, const char *path)
{
    if (path[0] == '/') return path_normalise(arena, path);
    char *joined = arena_printf(arena, "%s/%s", directory[0] != 0 ? directory : ".", path);
    return joined != NULL ? path_normalise(arena, joined) : NULL;
}

static const char public_folder[] = "shared/data/";

bool path_is_public(const char *path)
{
    const char *at = strstr(path, public_folder);
    return at != NULL && (at == path || at[-1] == '/');
}

char *path_join_data(struct arena *arena, const char *directory, const char *path, const char *data)
{
    const char *rest = path;
    while (strncmp(rest, "../", 3) == 0) rest += 3;
    const bool is_public = data != NULL && rest != path && strncmp(rest, public_folder, sizeof public_folder - 1) == 0;
    return is_public ? path_join(arena, data, rest + sizeof public_folder - 1) : path_join(arena, directory, path);
}

char *path_directory(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return arena_strdup(arena, ".");
    if (slash == path) return arena_strdup(arena, "/");
    return arena_printf(arena, "%.*s", (int)(slash - path), path);
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool path_ends_in(const char *path, const char *end)
{
    const size_t n = strlen(path), n_end = strlen(end);
    return n > n_end && strcmp(path + n - n_end, end) == 0;
}

bool path_is_json(const char *path)
{
    return path_ends_in(path, ".json");
}
