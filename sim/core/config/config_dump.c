/* Writes a bound struct back as the document that binds to it. */
#include "sim/core/check.h"
#include "sim/core/config/config_scalar.h"
#include "sim/core/config/config_table.h"
#include "sim/core/json_write.h"

struct dumping {
    struct json_writer writer;
    const struct config_families *families;
};

static void dump_value(struct dumping *dumping, const char *key, const struct config_field *field, const void *value);

static void dump_members(struct dumping *dumping, const struct config_field *fields, const void *base)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++) {
        const void *value = config_value_at(field, base);
        if (!config_is_absent(field, value)) dump_value(dumping, field->name, field, value);
    }
}

/* The elements of a list, or of a map, which begin with their keys. */
static void dump_elements(struct dumping *dumping, const struct config_field *field, const struct config_list *list)
{
    const char *element = list->items;
    for (size_t i = 0; i < list->n; i++, element += field->elem_bytes) {
        const char *key = field->kind == CONFIG_MAP ? *(const char *const *)(const void *)element : NULL;
        if (field->fields->name == NULL) {
            dump_value(dumping, key, field->fields, config_value_at(field->fields, element));
            continue;
        }
        json_write_open(&dumping->writer, key, '{');
        dump_members(dumping, field->fields, element);
        json_write_close(&dumping->writer, '}');
    }
}

static void dump_variant(struct dumping *dumping, const char *key, const struct config_field *field,
                         const struct config_variant *variant)
{
    struct config_alternative alternative;
    SIM_REQUIRE(config_find_alternative(dumping->families, field->family, variant->name, &alternative));
    json_write_open(&dumping->writer, key, '{');
    json_write_string(&dumping->writer, field->tag, variant->name);
    dump_members(dumping, alternative.fields, variant->params);
    json_write_close(&dumping->writer, '}');
}

static void dump_value(struct dumping *dumping, const char *key, const struct config_field *field, const void *value)
{
    struct json_writer *writer = &dumping->writer;
    switch (field->kind) {
    case CONFIG_SECTION:
        json_write_open(writer, key, '{');
        dump_members(dumping, field->fields, value);
        json_write_close(writer, '}');
        break;
    case CONFIG_MAP:
        json_write_open(writer, key, '{');
        dump_elements(dumping, field, value);
        json_write_close(writer, '}');
        break;
    case CONFIG_LIST:
        if (field->fields->name == NULL && config_is_scalar(field->fields->kind))
            json_write_open_row(writer, key, '[');
        else
            json_write_open(writer, key, '[');
        dump_elements(dumping, field, value);
        json_write_close(writer, ']');
        break;
    case CONFIG_VARIANT: dump_variant(dumping, key, field, value); break;
    default:
        json_write_key(writer, key);
        config_write_scalar(field, value, writer->text);
    }
}

int config_dump(const struct config_field *fields, const struct config_families *families, const void *bound,
                struct text *json)
{
    struct dumping dumping = {.families = families};
    json_writer_init(&dumping.writer, json);
    json_write_open(&dumping.writer, NULL, '{');
    dump_members(&dumping, fields, bound);
    json_write_close(&dumping.writer, '}');
    text_add(json, "\n");
    return json->failed ? SIM_E_NOMEM : 0;
}
