/* Writes the table as a JSON Schema, for editors and other tools. An alternative of a family stands once, under
 * "$defs", where every field of that family refers to it: so a family may contain itself. */
#include "sim/core/config/config_table.h"
#include "sim/core/json_write.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A family that a field has referred to. */
struct family_use {
    const char *family, *tag;
    struct family_use *next;
};

struct schema {
    struct json_writer writer;
    const struct config_families *families;
    struct arena arena;
    struct family_use *first_use, **last_use; /* in the order in which they came up */
};

static void write_schema(struct schema *schema, const char *key, const struct config_field *field);

/* The default as JSON: strings are quoted, the rest stands in the table as it is. */
static void write_default(struct json_writer *writer, const struct config_field *field)
{
    bool is_text = field->kind == CONFIG_TEXT || field->kind == CONFIG_PATH || field->kind == CONFIG_CHOICE ||
                   field->kind == CONFIG_TIME || (field->kind == CONFIG_QUANTITY && field->dim != UNIT_NONE);
    if (field->value == NULL) return;
    if (field->kind == CONFIG_VARIANT) {
        json_write_open_row(writer, "default", '{');
        json_write_string(writer, field->tag, field->value);
        json_write_close(writer, '}');
    } else if (is_text) {
        json_write_string(writer, "default", field->value);
    } else {
        json_write_key(writer, "default");
        text_add(writer->text, field->value);
    }
}

static void write_limits(struct json_writer *writer, const struct config_field *field, const char *min, const char *max)
{
    if (field->min == 0 && field->max == 0) return;
    if (field->min == DBL_MIN)
        json_write_number(writer, "exclusiveMinimum", 0);
    else if (!isinf(field->min))
        json_write_number(writer, min, field->min);
    if (field->max >= field->min && !isinf(field->max)) json_write_number(writer, max, field->max);
}

static void write_quantity(struct json_writer *writer, enum unit_dim dim)
{
    json_write_string(writer, "type", "string");
    json_write_open_row(writer, "examples", '[');
    json_write_string(writer, NULL, unit_example(dim));
    json_write_close(writer, ']');
}

static void write_choices(struct json_writer *writer, const char *const *choices)
{
    json_write_open_row(writer, "enum", '[');
    for (; *choices != NULL; choices++) json_write_string(writer, NULL, *choices);
    json_write_close(writer, ']');
}

/* Whole numbers beyond 2^53 stand as strings of digits. */
static void write_int(struct json_writer *writer, const struct config_field *field)
{
    json_write_open_row(writer, "type", '[');
    json_write_string(writer, NULL, "integer");
    json_write_string(writer, NULL, "string");
    json_write_close(writer, ']');
    json_write_string(writer, "pattern", "^-?[0-9]+$");
    write_limits(writer, field, "minimum", "maximum");
}

static void write_scalar(struct json_writer *writer, const struct config_field *field)
{
    switch (field->kind) {
    case CONFIG_BOOL: json_write_string(writer, "type", "boolean"); break;
    case CONFIG_INT: write_int(writer, field); break;
    case CONFIG_TIME: write_quantity(writer, UNIT_TIME); break;
    case CONFIG_CHOICE: write_choices(writer, field->choices); break;
    case CONFIG_PATH:
        json_write_string(writer, "type", "string");
        json_write_number(writer, "minLength", 1);
        break;
    case CONFIG_TEXT:
        json_write_string(writer, "type", "string");
        write_limits(writer, field, "minLength", "maxLength");
        break;
    default:
        if (field->kind == CONFIG_QUANTITY && field->dim != UNIT_NONE) {
            write_quantity(writer, field->dim);
            break;
        }
        json_write_string(writer, "type", "number");
        write_limits(writer, field, "minimum", "maximum");
    }
}

/* A scalar that may come with its origin: as such, or as the "value" of an object. */
static void write_sourced(struct json_writer *writer, const struct config_field *field)
{
    json_write_open(writer, "anyOf", '[');
    json_write_open(writer, NULL, '{');
    write_scalar(writer, field);
    json_write_close(writer, '}');
    json_write_open(writer, NULL, '{');
    json_write_string(writer, "type", "object");
    json_write_open(writer, "properties", '{');
    json_write_open(writer, "value", '{');
    write_scalar(writer, field);
    json_write_close(writer, '}');
    json_write_open_row(writer, "source", '{');
    json_write_string(writer, "type", "string");
    json_write_close(writer, '}');
    json_write_open(writer, "sure", '{');
    write_choices(writer, config_sures);
    json_write_close(writer, '}');
    json_write_close(writer, '}');
    json_write_open_row(writer, "required", '[');
    json_write_string(writer, NULL, "value");
    json_write_close(writer, ']');
    json_write_bool(writer, "additionalProperties", false);
    json_write_close(writer, '}');
    json_write_close(writer, ']');
}

/* Writes "required" and closes an object whose properties were written. */
static void write_required(struct json_writer *writer, const struct config_field *fields)
{
    bool any = false;
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++)
        any |= (field->flags & CONFIG_REQUIRED) != 0;
    if (any) {
        json_write_open_row(writer, "required", '[');
        for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++)
            if (field->flags & CONFIG_REQUIRED) json_write_string(writer, NULL, field->name);
        json_write_close(writer, ']');
    }
    json_write_bool(writer, "additionalProperties", false);
}

static void write_properties(struct schema *schema, const struct config_field *fields)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++)
        write_schema(schema, field->name, field);
}

static void write_section(struct schema *schema, const struct config_field *fields)
{
    json_write_string(&schema->writer, "type", "object");
    json_write_open(&schema->writer, "properties", '{');
    write_properties(schema, fields);
    json_write_close(&schema->writer, '}');
    write_required(&schema->writer, fields);
}

/* What the elements of a list or map are. */
static void write_elements(struct schema *schema, const char *key, const struct config_field *fields)
{
    const struct config_field section = {.kind = CONFIG_SECTION, .fields = fields};
    write_schema(schema, key, fields->name == NULL ? fields : &section);
}

/* Notes that "$defs" needs a family. The fields of a family all have the same tag. */
static void use_family(struct schema *schema, const struct config_field *field)
{
    for (const struct family_use *use = schema->first_use; use != NULL; use = use->next)
        if (strcmp(use->family, field->family) == 0) return;
    struct family_use *use = arena_alloc(&schema->arena, sizeof *use);
    if (use == NULL) {
        schema->writer.text->failed = true;
        return;
    }
    *use = (struct family_use){.family = field->family, .tag = field->tag};
    *schema->last_use = use;
    schema->last_use = &use->next;
}

/* The default alternative may leave its tag out. */
static void write_reference(struct schema *schema, const struct config_field *field, const char *alternative)
{
    struct json_writer *writer = &schema->writer;
    char reference[256];
    snprintf(reference, sizeof reference, "#/$defs/%s.%s", field->family, alternative);
    json_write_open_row(writer, NULL, '{');
    json_write_string(writer, "$ref", reference);
    if (field->value == NULL || strcmp(field->value, alternative) != 0) {
        json_write_open(writer, "required", '[');
        json_write_string(writer, NULL, field->tag);
        json_write_close(writer, ']');
    }
    json_write_close(writer, '}');
}

static void write_variant(struct schema *schema, const struct config_field *field)
{
    struct json_writer *writer = &schema->writer;
    struct config_alternative alternative;
    size_t n = config_count_alternatives(schema->families, field->family);
    use_family(schema, field);
    json_write_open(writer, "oneOf", '[');
    for (size_t i = 0; i < n; i++) {
        schema->families->alternative(schema->families->context, field->family, i, &alternative);
        write_reference(schema, field, alternative.name);
    }
    if (field->flags & CONFIG_SHORT) {
        json_write_open(writer, NULL, '{');
        json_write_open_row(writer, "enum", '[');
        for (size_t i = 0; i < n; i++) {
            schema->families->alternative(schema->families->context, field->family, i, &alternative);
            json_write_string(writer, NULL, alternative.name);
        }
        json_write_close(writer, ']');
        json_write_close(writer, '}');
    }
    json_write_close(writer, ']');
}

static void write_alternative(struct schema *schema, const struct family_use *use,
                              const struct config_alternative *alternative)
{
    struct json_writer *writer = &schema->writer;
    char name[256];
    snprintf(name, sizeof name, "%s.%s", use->family, alternative->name);
    json_write_open(writer, name, '{');
    if (alternative->summary != NULL) json_write_string(writer, "description", alternative->summary);
    json_write_string(writer, "type", "object");
    json_write_open(writer, "properties", '{');
    json_write_open_row(writer, use->tag, '{');
    json_write_string(writer, "const", alternative->name);
    json_write_close(writer, '}');
    write_properties(schema, alternative->fields);
    json_write_close(writer, '}');
    write_required(writer, alternative->fields);
    json_write_close(writer, '}');
}

/* Every family that is referred to, with those that come up on the way. */
static void write_defs(struct schema *schema)
{
    struct json_writer *writer = &schema->writer;
    struct config_alternative alternative;
    json_write_open(writer, "$defs", '{');
    for (const struct family_use *use = schema->first_use; use != NULL && !writer->text->failed; use = use->next) {
        size_t n = config_count_alternatives(schema->families, use->family);
        for (size_t i = 0; i < n; i++) {
            schema->families->alternative(schema->families->context, use->family, i, &alternative);
            write_alternative(schema, use, &alternative);
        }
    }
    json_write_close(writer, '}');
}

static void write_schema(struct schema *schema, const char *key, const struct config_field *field)
{
    struct json_writer *writer = &schema->writer;
    json_write_open(writer, key, '{');
    if (field->help != NULL) json_write_string(writer, "description", field->help);
    switch (field->kind) {
    case CONFIG_SECTION: write_section(schema, field->fields); break;
    case CONFIG_MAP:
        json_write_string(writer, "type", "object");
        json_write_open_row(writer, "propertyNames", '{');
        json_write_string(writer, "pattern",
                          field->flags & CONFIG_GPUS ? "^[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+)?$" : "^[A-Za-z0-9_.-]+$");
        json_write_close(writer, '}');
        write_elements(schema, "additionalProperties", field->fields);
        write_limits(writer, field, "minProperties", "maxProperties");
        break;
    case CONFIG_LIST:
        if (field->flags & CONFIG_STRETCH) {
            json_write_open_row(writer, "type", '[');
            json_write_string(writer, NULL, "array");
            json_write_string(writer, NULL, "string");
            json_write_close(writer, ']');
        } else {
            json_write_string(writer, "type", "array");
        }
        write_elements(schema, "items", field->fields);
        write_limits(writer, field, "minItems", "maxItems");
        break;
    case CONFIG_VARIANT: write_variant(schema, field); break;
    default:
        if (field->flags & CONFIG_SOURCED)
            write_sourced(writer, field);
        else
            write_scalar(writer, field);
    }
    write_default(writer, field);
    json_write_close(writer, '}');
}

/* "extends" names a file or several. */
static void write_extends(struct json_writer *writer)
{
    json_write_open(writer, "extends", '{');
    json_write_string(writer, "description", "files below this one, relative to it; later ones go over earlier");
    json_write_open_row(writer, "type", '[');
    json_write_string(writer, NULL, "string");
    json_write_string(writer, NULL, "array");
    json_write_close(writer, ']');
    json_write_open_row(writer, "items", '{');
    json_write_string(writer, "type", "string");
    json_write_close(writer, '}');
    json_write_close(writer, '}');
}

int config_schema(const struct config_field *fields, const struct config_families *families, struct text *json)
{
    struct schema schema = {.families = families};
    struct json_writer *writer = &schema.writer;
    schema.last_use = &schema.first_use;
    arena_init(&schema.arena);
    json_writer_init(writer, json);
    json_write_open(writer, NULL, '{');
    json_write_string(writer, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_write_string(writer, "type", "object");
    json_write_open(writer, "properties", '{');
    json_write_open_row(writer, "$schema", '{');
    json_write_string(writer, "type", "string");
    json_write_close(writer, '}');
    write_extends(writer);
    write_properties(&schema, fields);
    json_write_close(writer, '}');
    write_required(writer, fields);
    write_defs(&schema);
    json_write_close(writer, '}');
    text_add(json, "\n");
    arena_fini(&schema.arena);
    return json->failed ? SIM_E_NOMEM : 0;
}
