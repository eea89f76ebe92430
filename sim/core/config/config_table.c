#include "sim/core/config/config_table.h"

#include <math.h>
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
