/* The reference of a table of fields: one key after the other, in the order of the table. */
#include "sim/core/config/config_report.h"

#include <stdio.h>
#include <string.h>

struct walk {
    config_key_fn *visit;
    void *context;
    struct text path;
};

static int walk_fields(struct walk *walk, const struct config_field *fields);

/* Goes on below the key at the end of the path: `suffix` stands for the name or index of an item. */
static int walk_below(struct walk *walk, const char *suffix, const struct config_field *fields)
{
    text_add(&walk->path, suffix);
    return walk_fields(walk, fields);
}

static int walk_field(struct walk *walk, const struct config_field *field)
{
    if (walk->path.failed) return SIM_E_NOMEM;
    const bool has_items = (field->kind == CONFIG_LIST || field->kind == CONFIG_MAP) && field->fields[0].name != NULL;
    int code = walk->visit(walk->context, walk->path.chars, field);
    if (code == 0 && field->kind == CONFIG_SECTION) code = walk_below(walk, ".", field->fields);
    if (code == 0 && has_items) code = walk_below(walk, field->kind == CONFIG_LIST ? "[]." : ".NAME.", field->fields);
    return code;
}

static int walk_fields(struct walk *walk, const struct config_field *fields)
{
    const size_t length = walk->path.length;
    int code = 0;
    for (const struct config_field *field = fields; field != NULL && field->name != NULL && code == 0; field++) {
        text_add(&walk->path, field->name);
        code = walk_field(walk, field);
        if (walk->path.failed) return SIM_E_NOMEM;
        walk->path.length = length;
        walk->path.chars[length] = 0;
    }
    return code;
}

int config_each_key(const struct config_field *fields, config_key_fn *visit, void *context)
{
    struct walk walk = {.visit = visit, .context = context};
    text_init(&walk.path);
    const int code = walk_fields(&walk, fields);
    text_fini(&walk.path);
    return code;
}

const char *config_value_text(const struct config_field *field, char *buffer, size_t buffer_bytes)
{
    char range[CONFIG_RANGE_CHARS], item[CONFIG_VALUE_CHARS];
    const bool is_list = field->kind == CONFIG_LIST || field->kind == CONFIG_MAP;
    if (field->kind == CONFIG_VARIANT) {
        snprintf(buffer, buffer_bytes, "\"%s\" of family %s", field->tag, field->family);
    } else if (is_list && field->fields[0].name == NULL) {
        snprintf(buffer, buffer_bytes, field->kind == CONFIG_LIST ? "list, each %s" : "object, each member %s",
                 config_expected(&field->fields[0], item, sizeof item));
    } else if (field->kind == CONFIG_MAP) {
        snprintf(buffer, buffer_bytes, "objects by name");
    } else if (field->kind == CONFIG_LIST) {
        snprintf(buffer, buffer_bytes, "list of objects");
    } else {
        const bool has_range = !is_list && field->kind != CONFIG_TEXT && config_range(field, range, sizeof range);
        snprintf(buffer, buffer_bytes, "%s%s%s", config_expected(field, item, sizeof item), has_range ? ", " : "",
                 has_range ? range : "");
    }
    return buffer;
}
