#include "sim/core/config/config_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const config_sures[] = {"datasheet", "measured", "derived", "paper", "memory", "guess", NULL};

bool config_is_scalar(enum config_kind kind)
{
    return kind != CONFIG_SECTION && kind != CONFIG_MAP && kind != CONFIG_LIST && kind != CONFIG_VARIANT;
}

const void *config_value_at(const struct config_field *field, const void *base)
{
    return (const char *)base + field->offset;
}

/* Whether a scalar holds what stands for its absence. */
static bool is_clear(const struct config_field *field, const void *value)
{
    switch (field->kind) {
    case CONFIG_BOOL: return !*(const bool *)value;
    case CONFIG_INT:
    case CONFIG_TIME: return *(const int64_t *)value == 0;
    case CONFIG_REAL:
    case CONFIG_QUANTITY: return isnan(*(const double *)value);
    case CONFIG_TEXT:
    case CONFIG_PATH: return *(const char *const *)value == NULL;
    case CONFIG_CHOICE: return *(const int *)value == 0;
    default: return false;
    }
}

static bool is_zero(const struct config_field *field, const void *value)
{
    static const double zero;
    switch (field->kind) {
    case CONFIG_SECTION:
        for (const struct config_field *inner = field->fields; inner->name != NULL; inner++)
            if (!is_zero(inner, config_value_at(inner, value))) return false;
        return true;
    case CONFIG_MAP:
    case CONFIG_LIST: return ((const struct config_list *)value)->n == 0;
    case CONFIG_VARIANT: return ((const struct config_variant *)value)->name == NULL;
    case CONFIG_REAL:
    case CONFIG_QUANTITY: return memcmp(value, &zero, sizeof zero) == 0;
    default: return is_clear(field, value);
    }
}

bool config_is_absent(const struct config_field *field, const void *value)
{
    if ((field->flags & CONFIG_REQUIRED) || field->value != NULL) return false;
    if (config_is_scalar(field->kind)) return is_clear(field, value);
    if (field->kind == CONFIG_SECTION && !(field->flags & CONFIG_OPTIONAL)) return false;
    return is_zero(field, value);
}

bool config_find_alternative(const struct config_families *families, const char *family, const char *name,
                             struct config_alternative *found)
{
    for (size_t i = 0; families != NULL && families->alternative(families->context, family, i, found); i++)
        if (strcmp(found->name, name) == 0) return true;
    return false;
}

size_t config_count_alternatives(const struct config_families *families, const char *family)
{
    struct config_alternative alternative;
    size_t n = 0;
    while (families != NULL && families->alternative(families->context, family, n, &alternative)) n++;
    return n;
}

/* Writes the names from `top` (not included) down to `trail`. */
static void append_names(const struct config_trail *top, const struct config_trail *trail, char *buffer, size_t bytes)
{
    if (trail == top || trail->outer == NULL) return;
    append_names(top, trail->outer, buffer, bytes);
    size_t used = strlen(buffer);
    const char *dot = used > 0 ? "." : "";
    if (trail->key != NULL)
        snprintf(buffer + used, bytes - used, "%s%s", dot, trail->key);
    else
        snprintf(buffer + used, bytes - used, "%s%zu", dot, trail->index);
}

const char *config_trail_path(const struct config_trail *trail, char *buffer, size_t buffer_bytes)
{
    buffer[0] = 0;
    append_names(NULL, trail, buffer, buffer_bytes);
    return buffer;
}

const char *config_trail_name(const struct config_trail *trail, char *buffer, size_t buffer_bytes)
{
    const struct config_trail *top = trail->outer;
    while (top != NULL && top->outer != NULL && trail->key == NULL && top->key == NULL) top = top->outer;
    if (top != NULL && trail->key == NULL) top = top->outer;
    buffer[0] = 0;
    append_names(top, trail, buffer, buffer_bytes);
    return buffer;
}

const struct json_node *config_trail_node(const struct config_trail *trail)
{
    while (trail->node == NULL) trail = trail->outer;
    return trail->node;
}
