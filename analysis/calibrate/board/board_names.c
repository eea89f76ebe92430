#include "analysis/calibrate/board/board_names.h"

#include "sim/core/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int board_names_init(struct board_names *names, const struct catalog *catalog, struct arena *arena,
                     const char *directory, struct diag *diag)
{
    *names = (struct board_names){.catalog = catalog, .arena = arena, .directory = directory};
    return catalog_list_engines(catalog, arena, &names->engines, diag);
}

bool board_format(const char *name, enum number_format *format)
{
    static const char *const formats[] = {
#define FORMAT_NAME(id, name, bytes) [id] = name,
        NUMBER_FORMATS(FORMAT_NAME)
#undef FORMAT_NAME
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(formats[i], name) != 0) continue;
        *format = (enum number_format)i;
        return true;
    }
    return false;
}

/* --- GPUs and LLMs --- */

/* The entry of the list with this name, or a new one at its front with *is_new. NULL when out of memory. */
static struct board_name *find_or_add(struct board_name **list, const char *name, struct arena *arena, bool *is_new)
{
    struct board_name *entry = *list;
    while (entry != NULL && strcmp(entry->name, name) != 0) entry = entry->next;
    *is_new = entry == NULL;
    if (entry != NULL) return entry;
    entry = arena_alloc(arena, sizeof *entry);
    if (entry == NULL) return NULL;
    *entry = (struct board_name){.next = *list, .name = name};
    *list = entry;
    return entry;
}

/* The findings about an entry that the catalog lacks are not the board's: its rows say so. */
int board_names_gpu(struct board_names *names, const char *name, const struct board_name **found)
{
    bool is_new;
    struct diag ignored = {0};
    struct board_name *entry = find_or_add(&names->gpus, name, names->arena, &is_new);
    *found = entry;
    if (entry == NULL) return SIM_E_NOMEM;
    if (!is_new) return 0;
    const int code = catalog_gpu(names->catalog, name, "board", names->arena, &entry->gpu, &ignored);
    entry->known = code == 0;
    return code == SIM_E_NOMEM ? code : 0;
}

int board_names_llm(struct board_names *names, const char *name, const struct board_name **found)
{
    bool is_new;
    struct diag ignored = {0};
    struct board_name *entry = find_or_add(&names->llms, name, names->arena, &is_new);
    *found = entry;
    if (entry == NULL) return SIM_E_NOMEM;
    if (!is_new) return 0;
    const int code = catalog_llm(names->catalog, name, "board", names->arena, &entry->llm, &ignored);
    entry->known = code == 0;
    return code == SIM_E_NOMEM ? code : 0;
}

/* --- Presets --- */

/* "0.12" of "0.12.0" as 0 * 1000 + 12. False for a text that does not begin so. */
static bool read_version(const char *text, double *version)
{
    char *end;
    const long major = strtol(text, &end, 10);
    if (end == text || *end != '.' || major < 0) return false;
    const char *rest = end + 1;
    const long minor = strtol(rest, &end, 10);
    *version = 1e3 * (double)major + (double)minor;
    return end != rest && minor >= 0;
}

/* The version of a preset "ENGINE-VERSION". */
static bool preset_version(const char *name, const char *engine, double *version)
{
    const size_t n = strlen(engine);
    return strncmp(name, engine, n) == 0 && name[n] == '-' && read_version(name + n + 1, version);
}

/* The name of the preset of the nearest version among those with an overhead; NULL: there is none. */
static int choose(const struct board_names *names, const char *engine, const char *version, const char **best,
                  struct diag *diag)
{
    double wanted, least = (double)INFINITY, best_version = 0.0;
    if (!read_version(version, &wanted)) wanted = (double)INFINITY;
    *best = NULL;
    for (size_t i = 0; i < names->engines.n; i++) {
        double offered;
        struct engine_preset preset;
        if (!preset_version(names->engines.names[i], engine, &offered)) continue;
        const int code = catalog_engine(names->catalog, names->engines.names[i], "board", names->arena, &preset, diag);
        if (code != 0) return code;
        const double distance = isinf(wanted) ? 1.0 / (1.0 + offered) : fabs(wanted - offered);
        if (preset.overheads.n == 0 || distance > least || (distance == least && offered < best_version)) continue;
        least = distance;
        best_version = offered;
        *best = names->engines.names[i];
    }
    return 0;
}

static const struct engine_recipe *find_recipe(const char *name)
{
    const struct engine_recipe *recipe;
    for (size_t i = 0; (recipe = engine_recipe_at(i)) != NULL; i++)
        if (strcmp(recipe->name, name) == 0) return recipe;
    return NULL;
}

/* Reads the files that the preset was fitted to. */
static int read_profiles(struct board_names *names, struct board_preset *entry, struct diag *diag)
{
    const struct calibration_profile *profiles = entry->preset.profiles.items;
    entry->files = arena_alloc(names->arena, (entry->preset.profiles.n + 1) * sizeof *entry->files);
    if (entry->files == NULL) return diag_nomem(diag);
    for (; entry->n_files < entry->preset.profiles.n; entry->n_files++) {
        const char *path = path_join(names->arena, names->directory, profiles[entry->n_files].file);
        if (path == NULL) return diag_nomem(diag);
        const int first = diag->n_items;
        const int code = measured_read(path, names->catalog, names->arena, &entry->files[entry->n_files], diag);
        if (code != 0)
            diag_add_hint(diag, first, "the rows that '%s' was fitted to tell which rows a fit has seen",
                          entry->preset.name);
        if (code != 0) return code;
    }
    return 0;
}

/* The preset of this name, read if no row has used it before. */
static int find_preset(struct board_names *names, const char *name, struct board_preset **found, struct diag *diag)
{
    struct board_preset *entry = names->presets;
    while (entry != NULL && strcmp(entry->preset.name, name) != 0) entry = entry->next;
    *found = entry;
    if (entry != NULL) return 0;
    *found = entry = arena_alloc(names->arena, sizeof *entry);
    if (entry == NULL) return diag_nomem(diag);
    *entry = (struct board_preset){.next = names->presets, .recipe = find_recipe(name)};
    names->presets = entry;
    const int code = catalog_engine(names->catalog, name, "board", names->arena, &entry->preset, diag);
    return code == 0 ? read_profiles(names, entry, diag) : code;
}

int board_names_preset(struct board_names *names, const char *engine, const char *version, struct board_preset **found,
                       struct diag *diag)
{
    const char *name;
    struct board_choice *choice = names->choices;
    while (choice != NULL && (strcmp(choice->engine, engine) != 0 || strcmp(choice->version, version) != 0))
        choice = choice->next;
    *found = choice != NULL ? choice->preset : NULL;
    if (choice != NULL) return 0;
    int code = choose(names, engine, version, &name, diag);
    if (code == 0 && name != NULL) code = find_preset(names, name, found, diag);
    if (code != 0) return code;
    choice = arena_alloc(names->arena, sizeof *choice);
    if (choice == NULL) return diag_nomem(diag);
    *choice = (struct board_choice){names->choices, engine, version, *found};
    names->choices = choice;
    return 0;
}
