/* One line per value of a bound struct: what it is, where it came from, what it is for. The table, the struct and the
 * document are walked together; for lines twice, first for the widths of the columns. */
#include "sim/core/check.h"
#include "sim/core/config/config_scalar.h"
#include "sim/core/config/config_table.h"
#include "sim/core/config/config_tree.h"

#include <stdio.h>
#include <string.h>

enum { PATH_CHARS = 256, COLUMNS = 3, MAX_WIDTH = 56 };

struct explaining {
    const struct config_families *families;
    struct text value;   /* of the row in work */
    struct text written; /* the same, as it was read; empty: the same */
    struct arena scratch;
    config_explained_fn *visit;
    void *context;
};

static void explain_value(struct explaining *explaining, const struct config_field *field,
                          const struct config_trail *trail, const void *value);

/* The node that the value was read from, in {"value": ...} too, and what that says of its origin. */
static const struct json_node *open_sourced(const struct config_field *field, const struct json_node *node,
                                            struct config_origin *origin)
{
    *origin = (struct config_origin){0};
    if (node == NULL || node->kind != JSON_OBJECT || !config_is_scalar(field->kind)) return node;
    const struct json_node *source = json_member(node, "source"), *sure = json_member(node, "sure");
    if (source != NULL && source->kind == JSON_STRING) origin->source = source->text;
    if (sure != NULL && sure->kind == JSON_STRING) origin->sure = sure->text;
    return json_member(node, "value");
}

/* Writes a scalar without the quotes of a text. */
static void write_plain(const struct config_field *field, const void *scalar, struct text *value)
{
    value->length = 0;
    config_write_scalar(field, scalar, value);
    if (value->failed || value->length <= 2 || value->chars[0] != '"') return;
    value->length -= 2;
    memmove(value->chars, value->chars + 1, value->length);
    value->chars[value->length] = 0;
}

/* Reads the value of the row once more, as it may have been changed since. Of defaults, whole numbers only. */
static void write_as_read(struct explaining *explaining, const struct config_field *field, const struct json_node *node)
{
    union {
        int64_t integer;
        double real;
        const char *text;
        bool boolean;
        int choice;
        char room[64];
    } read = {0};
    struct diag diag;
    struct text *written = &explaining->written;
    struct config_origin origin;
    written->length = 0;
    if (node == NULL && field->kind == CONFIG_INT && field->value != NULL) text_add(written, field->value);
    node = open_sourced(field, node, &origin);
    if (node != NULL && node->kind != JSON_NULL) {
        diag_init(&diag);
        struct config_reading reading = {.arena = &explaining->scratch, .diag = &diag};
        config_read_scalar(&reading, field, field->name != NULL ? field->name : "", node, &read);
        if (reading.code == 0) write_plain(field, &read, written);
    }
    if (written->length == 0 || written->failed || explaining->value.failed) return;
    if (strcmp(written->chars, explaining->value.chars) == 0) written->length = 0;
}

/* The value of the row stands in explaining->value. */
static void add_row(struct explaining *explaining, const struct config_field *field, const struct config_trail *trail)
{
    char path[PATH_CHARS], where[DIAG_WHERE_CHARS] = "default";
    struct config_origin origin;
    const struct json_node *node = open_sourced(field, trail->node, &origin);
    const bool is_tag = field->kind == CONFIG_VARIANT && field->value == NULL && trail->key == field->tag;
    if (is_tag) snprintf(where, sizeof where, "guessed from 'path'");
    if (node != NULL && node->kind != JSON_NULL) json_where(node, where, sizeof where);
    const struct config_explained explained = {.path = config_trail_path(trail, path, sizeof path),
                                               .value = explaining->value.failed ? "" : explaining->value.chars,
                                               .written = explaining->written.length > 0 ? explaining->written.chars
                                                                                         : NULL,
                                               .where = where, .help = field->help, .origin = origin};
    explaining->visit(explaining->context, &explained);
}

/* A row whose value is a word of ours. */
static void explain_word(struct explaining *explaining, const struct config_field *field,
                         const struct config_trail *trail, const char *word)
{
    explaining->value.length = explaining->written.length = 0;
    text_add(&explaining->value, word);
    add_row(explaining, field, trail);
}

static void explain_scalar(struct explaining *explaining, const struct config_field *field,
                           const struct config_trail *trail, const void *scalar)
{
    write_plain(field, scalar, &explaining->value);
    write_as_read(explaining, field, trail->node);
    add_row(explaining, field, trail);
}

static void explain_members(struct explaining *explaining, const struct config_field *fields,
                            const struct config_trail *section, const void *base)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++) {
        const void *value = config_value_at(field, base);
        struct config_trail trail = {section, field->name, 0, json_member(section->node, field->name)};
        bool is_given = trail.node != NULL && trail.node->kind != JSON_NULL;
        if (!is_given && config_is_absent(field, value))
            explain_word(explaining, field, &trail, "-");
        else
            explain_value(explaining, field, &trail, value);
    }
}

/* One element of a list or map. */
static void explain_element(struct explaining *explaining, const struct config_field *fields,
                            const struct config_trail *trail, const void *element)
{
    if (fields->name == NULL)
        explain_value(explaining, fields, trail, config_value_at(fields, element));
    else
        explain_members(explaining, fields, trail, element);
}

static void explain_elements(struct explaining *explaining, const struct config_field *field,
                             const struct config_trail *trail, const struct config_list *list)
{
    const char *element = list->items;
    bool is_map = field->kind == CONFIG_MAP;
    const struct json_node *item = trail->node != NULL && trail->node->kind == JSON_LIST ? trail->node->first : NULL;
    if (list->n == 0) explain_word(explaining, field, trail, is_map ? "{}" : "[]");
    for (size_t i = 0; i < list->n; i++, element += field->elem_bytes, item = item != NULL ? item->next : NULL) {
        struct config_trail inner = {trail, NULL, i, item};
        if (is_map) {
            inner.key = *(const char *const *)(const void *)element;
            inner.node = json_member(trail->node, inner.key);
        }
        explain_element(explaining, field->fields, &inner, element);
    }
}

static void explain_variant(struct explaining *explaining, const struct config_field *field,
                            const struct config_trail *trail, const struct config_variant *variant)
{
    struct config_alternative alternative;
    SIM_REQUIRE(config_find_alternative(explaining->families, field->family, variant->name, &alternative));
    bool is_short = trail->node != NULL && trail->node->kind == JSON_STRING;
    struct config_trail tag = {trail, field->tag, 0, is_short ? trail->node : json_member(trail->node, field->tag)};
    explain_word(explaining, field, &tag, variant->name);
    explain_members(explaining, alternative.fields, trail, variant->params);
}

static void explain_value(struct explaining *explaining, const struct config_field *field,
                          const struct config_trail *trail, const void *value)
{
    switch (field->kind) {
    case CONFIG_SECTION: explain_members(explaining, field->fields, trail, value); break;
    case CONFIG_MAP:
    case CONFIG_LIST: explain_elements(explaining, field, trail, value); break;
    case CONFIG_VARIANT: explain_variant(explaining, field, trail, value); break;
    default: explain_scalar(explaining, field, trail, value);
    }
}

int config_explain_each(const struct config *config, const struct config_field *fields,
                        const struct config_families *families, const void *bound, config_explained_fn *visit,
                        void *context)
{
    struct explaining explaining = {.families = families, .visit = visit, .context = context};
    const struct config_trail top = {.node = config->root};
    text_init(&explaining.value);
    text_init(&explaining.written);
    arena_init(&explaining.scratch);
    explain_members(&explaining, fields, &top, bound);
    const bool failed = explaining.value.failed || explaining.written.failed;
    arena_fini(&explaining.scratch);
    text_fini(&explaining.written);
    text_fini(&explaining.value);
    return failed ? SIM_E_NOMEM : 0;
}

/* --- Lines --- */

struct explained_lines {
    struct text *lines;
    size_t width[COLUMNS]; /* path, value, where */
};

static size_t count_chars(const char *utf8)
{
    size_t n = 0;
    for (; *utf8 != 0; utf8++) n += ((unsigned char)*utf8 & 0xc0) != 0x80;
    return n;
}

static void measure(void *context, const struct config_explained *explained)
{
    struct explained_lines *to = context;
    const char *const cells[COLUMNS] = {explained->path, explained->value, explained->where};
    for (int i = 0; i < COLUMNS; i++) {
        const size_t chars = count_chars(cells[i]);
        if (chars > to->width[i] && chars <= MAX_WIDTH) to->width[i] = chars;
    }
}

static void add_line(void *context, const struct config_explained *explained)
{
    const struct explained_lines *to = context;
    const char *const cells[COLUMNS] = {explained->path, explained->value, explained->where};
    const char *source = explained->origin.source, *sure = explained->origin.sure;
    struct text *lines = to->lines;
    for (int i = 0; i < COLUMNS; i++) {
        const size_t chars = count_chars(cells[i]);
        text_printf(lines, "%s%*s", cells[i], (int)(chars < to->width[i] ? to->width[i] - chars : 0) + 2, "");
    }
    if (explained->written != NULL) text_printf(lines, "(written: %s) ", explained->written);
    if (explained->help != NULL) text_add(lines, explained->help);
    if (source != NULL || sure != NULL)
        text_printf(lines, "%s[%s%s%s]", explained->help != NULL ? " " : "", sure != NULL ? sure : "",
                    sure != NULL && source != NULL ? ": " : "", source != NULL ? source : "");
    while (lines->length > 0 && lines->chars[lines->length - 1] == ' ') lines->chars[--lines->length] = 0;
    text_add(lines, "\n");
}

int config_explain(const struct config *config, const struct config_field *fields,
                   const struct config_families *families, const void *bound, struct text *lines)
{
    struct explained_lines to = {.lines = lines};
    int code = config_explain_each(config, fields, families, bound, measure, &to);
    if (code == 0) code = config_explain_each(config, fields, families, bound, add_line, &to);
    return code == 0 && lines->failed ? SIM_E_NOMEM : code;
}
