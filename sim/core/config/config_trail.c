#include "sim/core/config/config_trail.h"

#include <stdio.h>
#include <string.h>

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
