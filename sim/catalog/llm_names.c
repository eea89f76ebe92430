#include "sim/catalog/llm_names.h"

#include "sim/core/json_doc.h"
#include "sim/core/path.h"
#include "sim/core/text.h"
#include "sim/core/vec.h"

#include <string.h>
#include <strings.h>

/* All names that an LLM may be called by. */
struct names {
    const char **names, **entries; /* parallel: a name, and the entry that it stands for */
    size_t n, capacity, entry_capacity;
};

static int add_name(struct names *names, const char *name, const char *entry)
{
    if (vec_reserve(&names->entries, &names->entry_capacity, names->n + 1) != 0) return SIM_E_NOMEM;
    names->entries[names->n] = entry;
    return vec_push(&names->names, &names->n, &names->capacity, name);
}

/* Adds an entry and its aliases. A file that cannot be read has none: its error is for who names it. */
static int add_entry(const struct catalog *catalog, const struct shelf *shelf, const char *entry, struct arena *arena,
                     struct names *names)
{
    struct json_node *root;
    struct diag ignored = {0};
    const char *path = arena_printf(arena, "%s/%s/%s.json", catalog->root, shelf->folder, entry);
    if (path == NULL || add_name(names, entry, entry) != 0) return SIM_E_NOMEM;
    int code = json_load(arena, path, &root, &ignored);
    if (code != 0) return code == SIM_E_NOMEM ? code : 0;
    const struct json_node *aliases = json_member(root, "aliases");
    for (const struct json_node *alias = aliases != NULL ? aliases->first : NULL; alias != NULL; alias = alias->next)
        if (alias->kind == JSON_STRING && add_name(names, alias->text, entry) != 0) return SIM_E_NOMEM;
    return 0;
}

static int report_unknown(const struct shelf *shelf, const struct names *names, const char *name, const char *where,
                          struct arena *arena, struct diag *diag)
{
    const char *nearest = text_nearest_name(name, names->names, names->n);
    const char *hint =
        nearest != NULL
            ? arena_printf(arena,
                           "did you mean '%s'? '%s' shows all; the path of a Hugging Face config.json will do, too",
                           nearest, shelf->list_command)
            : arena_printf(arena, "'%s' shows what there is; the path of a Hugging Face config.json will do, too",
                           shelf->list_command);
    if (hint == NULL) return diag_nomem(diag);
    return diag_error(diag, SIM_E_CONFIG, where, hint, "unknown %s '%s'", shelf->noun, name);
}

/* Whether people call `id`, the id of a checkpoint, by this name: without its owner, or as the model card of an
 * instruction-tuned one does. "owner/Llama-3.3-70B-Instruct" is Llama-3.3-70B. */
static bool is_short_for(const char *name, const char *id)
{
    const char *slash = strchr(id, '/');
    const size_t n = strlen(name);
    if (slash == NULL || strncasecmp(slash + 1, name, n) != 0) return false;
    return slash[1 + n] == '\0' || strcasecmp(slash + 1 + n, "-Instruct") == 0;
}

/* Resolves the name among all entries and aliases. */
static int find(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
                struct arena *arena, const struct names *names, const char **path, struct diag *diag)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcasecmp(names->names[i], name) == 0)
            return shelf_find(catalog, shelf, names->entries[i], where, arena, path, diag);
    for (size_t i = 0; i < names->n; i++)
        if (is_short_for(name, names->names[i]))
            return shelf_find(catalog, shelf, names->entries[i], where, arena, path, diag);
    return report_unknown(shelf, names, name, where, arena, diag);
}

int llm_names_find(const struct catalog *catalog, const struct shelf *shelf, const char *name, const char *where,
                   struct arena *arena, const char **path, struct diag *diag)
{
    struct catalog_names entries;
    struct names names = {0};
    if (path_is_json(name) || shelf_has(catalog, shelf, name, arena))
        return shelf_find(catalog, shelf, name, where, arena, path, diag);
    int code = shelf_list(catalog, shelf, arena, &entries, diag);
    if (code != 0) return code;
    for (size_t i = 0; i < entries.n && code == 0; i++)
        code = add_entry(catalog, shelf, entries.names[i], arena, &names);
    if (code != 0)
        code = diag_nomem(diag);
    else
        code = find(catalog, shelf, name, where, arena, &names, path, diag);
    mem_free(names.names);
    mem_free(names.entries);
    return code;
}
