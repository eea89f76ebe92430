/* What a table of fields says about a struct bound by it, and the trail to a value. Shared by the parts of config. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_TABLE_H
#define ORRERY_CORE_CONFIG_CONFIG_TABLE_H

#include "sim/core/config/config.h"
#include "sim/core/json_doc.h"

/* How sure a CONFIG_SOURCED value may be said to be; ends with NULL. */
extern const char *const config_sures[];

bool config_is_scalar(enum config_kind kind);

/* Where the field lies in the struct at `base`. */
const void *config_value_at(const struct config_field *field, const void *base);

/* Whether the field may be left out and holds what is there when it is: then leaving it out of a document binds to the
 * same bytes again. */
bool config_is_absent(const struct config_field *field, const void *value);

/* Looks for an alternative by its name. `families` may be NULL: then there is none. */
bool config_find_alternative(const struct config_families *families, const char *family, const char *name,
                             struct config_alternative *found);
size_t config_count_alternatives(const struct config_families *families, const char *family);

/* The way from the top of a document to a value, kept on the stack while tables are walked. */
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
