/* The fields of a configuration: what a table says of each value that a scenario may set. Policies declare their parameters
 * with it:
 *
 *     static const struct config_field params[] = {
 *         {.name = "aging", .kind = CONFIG_TIME, .offset = offsetof(struct my_params, aging_ns), .value = "10min",
 *          .min = 0, .max = -1, .help = "after so long in the queue a job goes before all others"},
 *         {0}};
 */
#ifndef ORRERY_CORE_CONFIG_CONFIG_FIELD_H
#define ORRERY_CORE_CONFIG_CONFIG_FIELD_H

#include "sim/core/units.h"

#include <stddef.h>

enum config_kind {
    CONFIG_BOOL,     /* bool */
    CONFIG_INT,      /* int64_t; a number without fraction; beyond 2^53, which other tools round, also as a string */
    CONFIG_REAL,     /* double, a bare number */
    CONFIG_QUANTITY, /* double in the SI unit of `dim`; a string with a unit, a bare number is an error with a hint */
    CONFIG_TIME,     /* sim_ns; like CONFIG_QUANTITY of UNIT_TIME */
    CONFIG_TEXT,     /* const char * */
    CONFIG_PATH,     /* const char *, made relative to the current directory; existence is not checked here */
    CONFIG_CHOICE,   /* int, index into `choices` */
    CONFIG_SECTION,  /* struct embedded at `offset`, by `fields` */
    CONFIG_MAP,      /* struct config_list of sections, each {const char *name; ...}: the first member gets the key */
    CONFIG_LIST,     /* struct config_list of sections by `fields`, or of scalars by the single field in `fields` with
                        name NULL; elem_bytes each */
    CONFIG_VARIANT   /* struct config_variant: a section whose `tag` key ("policy", "format", "kind") names an
                        alternative of `family`, which brings its own fields */
};

enum config_flags {
    CONFIG_REQUIRED = 1, /* no default: absence is an error */
    CONFIG_OPTIONAL = 2, /* no default: absence leaves zero, NULL or NAN (REAL, QUANTITY), and is not dumped. Holds for
                            every scalar and VARIANT without `value` that is not required; a SECTION without it gets
                            the defaults of its fields, a LIST or MAP is empty */
    CONFIG_SOURCED = 4,  /* may be written {"value": V, "source": "...", "sure": "datasheet|measured|derived|paper|
                            memory|guess"}; the scalar's origin is kept for `explain` and the catalog's listings */
    CONFIG_SHORT = 8,    /* VARIANT only: a bare string "fifo" stands for {"policy": "fifo"}, and parameters may be
                            laid over it by a later document or --set */
    CONFIG_NAME_OR_PATH = 16 /* TEXT only: what ends in ".json" is a path, treated like CONFIG_PATH; the rest a name */
};

struct config_field {
    const char *name;
    enum config_kind kind;
    unsigned flags;
    size_t offset;
    enum unit_dim dim;         /* QUANTITY */
    const char *value;         /* default, as it stands in JSON, strings without quotes ("10min", "true", "[1]") */
    double min, max;           /* inclusive, SI; both 0: no limit; max below min: no upper limit; DBL_MIN: above 0. Of
                                  the length for TEXT, of the number of items for LIST and MAP */
    const char *const *choices; /* CHOICE: NULL-terminated */
    const struct config_field *fields; /* SECTION, MAP, LIST; tables end with a zero field; MAP of scalars as LIST */
    size_t elem_bytes;         /* MAP, LIST */
    const char *family, *tag;  /* VARIANT: for example "batching", "policy" */
    const char *help;          /* one line; for explain, schema and docs */
};

struct config_list {
    size_t n;
    void *items; /* n * elem_bytes, in the arena of the binding, in document order */
};

#endif
