#include "analysis/calibrate/profile/profile_library.h"

#include "sim/core/json_doc.h"
#include "sim/core/number.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

/* --- Of the repository's profiles --- */

/* A text of an entry; NULL if it has none. */
static const char *text_of(const struct json_node *entry, const char *key)
{
    const struct json_node *member = json_member(entry, key);
    return member != NULL && member->kind == JSON_STRING ? member->text : NULL;
}

static int take_entry(const struct json_node *entry, struct library_release *release, struct diag *diag)
{
    const struct json_node *year = json_member(entry, "year");
    char where[256];
    *release = (struct library_release){.library = text_of(entry, "library"), .version = text_of(entry, "version")};
    if (release->library != NULL && year != NULL && year->kind == JSON_NUMBER) {
        release->year = (int64_t)year->number;
        return 0;
    }
    release->library = NULL;
    return diag_error(diag, SIM_E_CONFIG, json_where(entry, where, sizeof where), "give both",
                      "an entry of 'libraries' lacks its 'library' or its 'year'");
}

int profile_library_find(const struct catalog *catalog, const char *path, struct arena *arena,
                         struct library_release *release, struct diag *diag)
{
    struct json_node *root;
    const char *sources = arena_printf(arena, "%s/calibration/sources.json", catalog->root);
    *release = (struct library_release){.library = NULL};
    if (sources == NULL) return diag_nomem(diag);
    if (access(sources, F_OK) != 0) return 0;
    const int code = json_load(arena, sources, &root, diag);
    if (code != 0) return code;
    const struct json_node *libraries = json_member(root, "libraries");
    for (const struct json_node *entry = libraries != NULL ? libraries->first : NULL; entry; entry = entry->next) {
        const char *part = text_of(entry, "path");
        if (part != NULL && strstr(path, part) != NULL) return take_entry(entry, release, diag);
    }
    return 0;
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
    if (blank == NULL || !isdigit((unsigned char)blank[1])) return 0;
    release->version = arena_strdup(arena, blank + 1);
    release->library = trim(release->library, blank, arena);
    return release->library != NULL && release->version != NULL ? 0 : diag_nomem(diag);
}
