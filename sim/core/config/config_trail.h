/* The way from the top of a document to a value, kept on the stack while tables are walked. Shared by the parts of
 * config. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_TRAIL_H
#define ORRERY_CORE_CONFIG_CONFIG_TRAIL_H

#include "sim/core/json_doc.h"

struct config_trail {
    const struct config_trail *outer; /* NULL at the top */
    const char *key;                  /* NULL at the top and for items of lists */
    size_t index;                     /* of an item */
    const struct json_node *node;     /* NULL where the document says nothing */
};

/* "services.chat.window.0", "" at the top. Texts that do not fit are cut at the end. Returns `buffer`. */
const char *config_trail_path(const struct config_trail *trail, char *buffer, size_t buffer_bytes);

/* What messages call the value: its key, "window.0" for an item. Returns `buffer`. */
const char *config_trail_name(const struct config_trail *trail, char *buffer, size_t buffer_bytes);

/* The node of the nearest place on the way that is in the document. */
const struct json_node *config_trail_node(const struct config_trail *trail);

#endif
