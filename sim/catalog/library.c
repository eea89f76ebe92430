#include "sim/catalog/library.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROW_OF struct library_release
const struct config_field library_release_fields[] = {
    ROW_TEXT("library", library, REQUIRED, WITHIN(1, 64), "library, or the profiler that does not state one"),
    ROW_TEXT("version", version, OPTIONAL, WITHIN(1, 64), "its version, such as 0.14.0"),
    ROW_INT("year", year, REQUIRED, WITHIN(1990, 2100), "of the release, else of the measurement"),
    {0},
};
#undef ROW_OF

/* Reads the next number of a version and moves behind it. False if no digit follows. */
static bool next_number(const char **version, unsigned long *number)
{
    char *end;
    if (**version == '.') (*version)++;
    if (!isdigit((unsigned char)**version)) return false;
    *number = strtoul(*version, &end, 10);
    *version = end;
    return true;
}

/* The version without a leading "v". */
static const char *skip_letter(const char *version)
{
    return *version == 'v' || *version == 'V' ? version + 1 : version;
}

bool library_is_version(const char *text)
{
    return isdigit((unsigned char)*skip_letter(text)) != 0;
}

int library_check(const struct config_list *releases, const char *where, struct diag *diag)
{
    const struct library_release *items = releases->items;
    int code = 0;
    for (size_t i = 0; i < releases->n; i++)
        if (items[i].version != NULL && !library_is_version(items[i].version))
            code = diag_error(diag, SIM_E_CONFIG, where, "write one like \"0.14.0\", or leave it out",
                              "the version '%s' of %s does not begin with a digit", items[i].version, items[i].library);
    return code;
}

int library_compare_versions(const char *a, const char *b)
{
    unsigned long left, right;
    a = skip_letter(a);
    b = skip_letter(b);
    while (next_number(&a, &left) && next_number(&b, &right))
        if (left != right) return left < right ? -1 : 1;
    return 0;
}

/* The release of a library in a list; NULL: none. */
static const struct library_release *find(const struct config_list *list, const char *library)
{
    const struct library_release *releases = list->items;
    for (size_t i = 0; i < list->n; i++)
        if (strcasecmp(releases[i].library, library) == 0) return &releases[i];
    return NULL;
}

enum library_relation library_relate(const struct library_release *kernel, const struct config_list *engine)
{
    if (engine->n == 0) return LIBRARY_FITS;
    const struct library_release *own = find(engine, kernel->library), *first = engine->items;
    if (own == NULL) return kernel->year < first->year ? LIBRARY_OLDER : LIBRARY_OTHER;
    const bool has_versions = own->version != NULL && kernel->version != NULL;
    const bool is_older = has_versions ? library_compare_versions(kernel->version, own->version) < 0
                                       : kernel->year < own->year;
    if (is_older) return LIBRARY_OLDER;
    return kernel->year - own->year >= LIBRARY_NEWER_YEARS ? LIBRARY_NEWER : LIBRARY_FITS;
}

static bool is_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool library_is_same(const struct library_release *a, const struct library_release *b)
{
    return strcasecmp(a->library, b->library) == 0 && is_equal(a->version, b->version) && a->year == b->year;
}

void library_say(const struct library_release *release, struct text *text)
{
    text_add(text, release->library);
    if (release->version != NULL) text_printf(text, " %s", release->version);
    text_printf(text, " (%lld)", (long long)release->year);
}

void library_say_all(const struct config_list *releases, struct text *text)
{
    const struct library_release *items = releases != NULL ? releases->items : NULL;
    for (size_t i = 0; items != NULL && i < releases->n; i++) {
        if (i > 0) text_add(text, ", ");
        library_say(&items[i], text);
    }
}
