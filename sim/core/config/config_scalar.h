/* Values of a configuration that are not made of others: from a node of the document into the bound struct, and back
 * into JSON. Shared by the parts of config. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_SCALAR_H
#define ORRERY_CORE_CONFIG_CONFIG_SCALAR_H

#include "sim/core/config/config_report.h"

/* Reads a node that is not null into `out`, or reports what is wrong with it; `name` is what messages call it. */
void config_read_scalar(struct config_reading *reading, const struct config_field *field, const char *name,
                        const struct json_node *node, void *out);

/* Reads "2h:3h" as two times by the field of a list's items, or reports what is wrong with it: a CONFIG_STRETCH. */
void config_read_stretch(struct config_reading *reading, const struct config_field *item, const char *name,
                         const struct json_node *node, sim_ns ends[2]);

/* Puts into an optional field that was left out what stands for that: NAN, or the zero that is there already. */
void config_clear_scalar(const struct config_field *field, void *out);

/* The value as JSON that config_read_scalar turns into the same value. */
void config_write_scalar(const struct config_field *field, const void *value, struct text *json);

#endif
