#include "sim/cli/named_files.h"

#include <string.h>

struct walk {
    const struct config_families *families;
    named_file_fn visit;
    void *context;
};

static int walk_fields(const struct walk *walk, const struct config_field *fields, const char *bound);

static int walk_variant(const struct walk *walk, const struct config_field *field, const struct config_variant *variant)
{
    struct config_alternative alternative;
    for (size_t i = 0; variant->name != NULL; i++) {
        if (!walk->families->alternative(walk->families->context, field->family, i, &alternative)) return 0;
        if (strcmp(alternative.name, variant->name) != 0) continue;
        return alternative.fields != NULL ? walk_fields(walk, alternative.fields, variant->params) : 0;
    }
    return 0;
}

static int walk_list(const struct walk *walk, const struct config_field *field, const struct config_list *list)
{
    int code = 0;
    if (field->fields[0].name == NULL) return 0; /* of scalars */
    for (size_t i = 0; code == 0 && i < list->n; i++)
        code = walk_fields(walk, field->fields, (const char *)list->items + i * field->elem_bytes);
    return code;
}

static int walk_path(const struct walk *walk, const char *path)
{
    return path != NULL ? walk->visit(walk->context, path) : 0;
}

static int walk_fields(const struct walk *walk, const struct config_field *fields, const char *bound)
{
    int code = 0;
    for (const struct config_field *field = fields; code == 0 && field->name != NULL; field++) {
        const void *value = bound + field->offset;
        switch (field->kind) {
        case CONFIG_PATH: code = walk_path(walk, *(const char *const *)value); break;
        case CONFIG_SECTION: code = walk_fields(walk, field->fields, value); break;
        case CONFIG_MAP:
        case CONFIG_LIST: code = walk_list(walk, field, value); break;
        case CONFIG_VARIANT: code = walk_variant(walk, field, value); break;
        default: break;
        }
    }
    return code;
}

int named_files_each(const struct config_families *families, const struct config_field *fields, const void *bound,
                     named_file_fn visit, void *context)
{
    const struct walk walk = {families, visit, context};
    return walk_fields(&walk, fields, bound);
}
