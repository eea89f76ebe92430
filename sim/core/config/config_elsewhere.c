#include "sim/core/config/config_elsewhere.h"

#include "sim/core/text.h"

#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 3 };

static bool find_within(const struct config_field *fields, const struct config_families *families, const char *name,
                        size_t n_slips, int n_steps, char *path, size_t path_bytes);

/* Below a section, a member of a map, or one of the alternatives of a variant. */
static bool find_below(const struct config_field *field, const struct config_families *families, const char *name,
                       size_t n_slips, int n_steps, char *path, size_t path_bytes)
{
    struct config_alternative alternative;
    if (field->kind == CONFIG_SECTION)
        return find_within(field->fields, families, name, n_slips, n_steps, path, path_bytes);
    if (field->kind == CONFIG_MAP && path_bytes > sizeof "NAME.") {
        memcpy(path, "NAME.", sizeof "NAME." - 1);
        path += sizeof "NAME." - 1;
        return find_within(field->fields, families, name, n_slips, n_steps, path, path_bytes - (sizeof "NAME." - 1));
    }
    if (field->kind != CONFIG_VARIANT || families == NULL) return false;
    for (size_t i = 0; families->alternative(families->context, field->family, i, &alternative); i++)
        if (find_within(alternative.fields, families, name, n_slips, n_steps, path, path_bytes)) return true;
    return false;
}

/* Exactly `n_steps` below this table. */
static bool find_within(const struct config_field *fields, const struct config_families *families, const char *name,
                        size_t n_slips, int n_steps, char *path, size_t path_bytes)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++) {
        if (n_steps == 0) {
            if (n_slips == 0 ? strcmp(field->name, name) != 0 : text_distance(field->name, name) > n_slips) continue;
            snprintf(path, path_bytes, "%s", field->name);
            return true;
        }
        const size_t n = strlen(field->name) + 1;
        if (n >= path_bytes || !find_below(field, families, name, n_slips, n_steps - 1, path + n, path_bytes - n))
            continue;
        memcpy(path, field->name, n - 1);
        path[n - 1] = '.';
        return true;
    }
    return false;
}

static bool find(const struct config_field *fields, const struct config_families *families, const char *name,
                 size_t n_slips, char *path, size_t path_bytes)
{
    for (int n_steps = 1; n_steps <= MOST_STEPS; n_steps++)
        if (find_within(fields, families, name, n_slips, n_steps, path, path_bytes)) return true;
    return false;
}

bool config_find_elsewhere(const struct config_field *fields, const struct config_families *families, const char *name,
                           char *path, size_t path_bytes)
{
    return find(fields, families, name, 0, path, path_bytes);
}

bool config_find_slip(const struct config_field *fields, const struct config_families *families, const char *name,
                      char *path, size_t path_bytes)
{
    enum { LEAST_LETTERS = 6 };
    return strlen(name) >= LEAST_LETTERS && find(fields, families, name, 1, path, path_bytes);
}
