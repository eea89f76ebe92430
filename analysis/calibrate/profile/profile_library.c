#include "analysis/calibrate/profile/profile_library.h"

#include "sim/core/json_doc.h"
#include "sim/core/number.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* --- Of the repository's profiles --- */

static int fail_entry(const struct json_node *node, const char *hint, const char *text, struct diag *diag)
{
    char where[256];
    return diag_error(diag, SIM_E_CONFIG, json_where(node, where, sizeof where), hint, "%s", text);
}

/* Takes a member of an entry: a text into *text, or the year. */
static int take_member(const struct json_node *member, const char **part, struct library_release *release,
                       struct diag *diag)
{
    const struct {
        const char *key, **text;
    } texts[] = {{"path", part}, {"library", &release->library}, {"version", &release->version}, {"source", NULL}};
    if (strcmp(member->key, "year") == 0) {
        if (member->kind != JSON_NUMBER || !(member->number >= 1990 && member->number <= 2100) ||
            member->number != floor(member->number))
            return fail_entry(member, "write one from 1990 to 2100", "'year' of an entry of 'libraries' is no year",
                              diag);
        release->year = (int64_t)member->number;
        return 0;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(member->key, texts[i].key) != 0) continue;
        if (member->kind != JSON_STRING || member->text[0] == '\0')
            return fail_entry(member, "put it between quotation marks", "a member of 'libraries' is no text", diag);
        if (texts[i].text != NULL) *texts[i].text = member->text;
        return 0;
    }
    return fail_entry(member, "an entry has 'path', 'library', 'version', 'year' and 'source'",
                      "an entry of 'libraries' has an unknown key", diag);
}

/* Reads an entry; *part: of the paths that it is about. */
static int take_entry(const struct json_node *entry, const char **part, struct library_release *release,
                      struct diag *diag)
{
    int code = 0;
    *part = NULL;
    *release = (struct library_release){.library = NULL};
    if (entry->kind != JSON_OBJECT)
        return fail_entry(entry, "write {\"path\": ..., \"library\": ..., \"year\": ...}",
                          "an entry of 'libraries' is no object", diag);
    for (const struct json_node *member = entry->first; code == 0 && member != NULL; member = member->next)
        code = take_member(member, part, release, diag);
    if (code != 0) return code;
    if (*part == NULL || release->library == NULL || release->year == 0)
        return fail_entry(entry, "give all three", "an entry of 'libraries' lacks its 'path', 'library' or 'year'",
                          diag);
    if (release->version != NULL && !library_is_version(release->version))
        return fail_entry(entry, "begin it with a digit", "the 'version' of an entry of 'libraries' is none", diag);
    return 0;
}

/* The listed path of a file: one of the texts below `node` that `path` ends in. NULL: the file is none of them. */
static const char *find_listed(const struct json_node *node, const char *path)
{
    const char *listed = NULL;
    if (node->kind == JSON_STRING) {
        const size_t n = strlen(node->text), n_path = strlen(path);
        const bool is_end = n > 0 && n <= n_path && strcmp(path + n_path - n, node->text) == 0;
        return is_end && (n == n_path || path[n_path - n - 1] == '/') ? node->text : NULL;
    }
    for (const struct json_node *child = node->first; child != NULL && listed == NULL; child = child->next)
        listed = find_listed(child, path);
    return listed;
}

int profile_library_find(const struct catalog *catalog, const char *path, struct arena *arena,
                         struct library_release *release, struct diag *diag)
{
    struct json_node *root;
    const char *sources = arena_printf(arena, "%s/calibration/sources.json", catalog->root);
    bool is_found = false;
    *release = (struct library_release){.library = NULL};
    if (sources == NULL) return diag_nomem(diag);
    if (access(sources, F_OK) != 0) return 0;
    int code = json_load(arena, sources, &root, diag);
    if (code != 0) return code;
    const struct json_node *libraries = json_member(root, "libraries"), *profiles = json_member(root, "calibration");
    const char *listed = profiles != NULL ? find_listed(profiles, path) : NULL;
    for (const struct json_node *entry = libraries != NULL ? libraries->first : NULL; entry; entry = entry->next) {
        const char *part;
        struct library_release read;
        code = take_entry(entry, &part, &read, diag);
        if (code != 0) break;
        if (!is_found && listed != NULL && strstr(listed, part) != NULL) {
            *release = read;
            is_found = true;
        }
    }
    if (code != 0) release->library = NULL;
    return code;
}

/* --- Of others --- */

static const char *trim(const char *from, const char *end, struct arena *arena)
{
    while (from < end && isspace((unsigned char)*from)) from++;
    while (end > from && isspace((unsigned char)end[-1])) end--;
    return arena_printf(arena, "%.*s", (int)(end - from), from);
}

int profile_library_parse(const char *text, struct arena *arena, struct library_release *release, struct diag *diag)
{
    const char *comma = strrchr(text, ',');
    const char *end = comma != NULL ? comma : text + strlen(text);
    *release = (struct library_release){.library = trim(text, end, arena)};
    const char *year = comma != NULL ? trim(comma + 1, text + strlen(text), arena) : "";
    if (release->library == NULL || year == NULL) return diag_nomem(diag);
    if (number_i64(year, strlen(year), &release->year) != NUMBER_OK || release->year < 1990 || release->year > 2100 ||
        release->library[0] == '\0')
        return diag_error(diag, SIM_E_USAGE, "--library", "write \"vLLM 0.14.0, 2026\": library, version and year",
                          "'%s' is not a library with a year", text);
    const char *blank = strrchr(release->library, ' ');
    if (blank == NULL || !library_is_version(blank + 1)) return 0;
    release->version = arena_strdup(arena, blank + 1);
    release->library = trim(release->library, blank, arena);
    return release->library != NULL && release->version != NULL ? 0 : diag_nomem(diag);
}
