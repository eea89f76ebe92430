/* The fields of a configuration: what a table says of each value that a scenario may set. Policies declare their
 * parameters with it, most of them as rows (see below):
 *
 *     #define ROW_OF struct my_params
 *     static const struct config_field params[] = {
 *         ROW_TIME("aging", aging_ns, DEFAULT("10min"), AT_LEAST(0), "queueing time after which a job goes first"),
 *         ROW_CHOICE("order", order, DEFAULT("fifo"), order_names, "order of the jobs that wait"),
 *         {0}};
 *     #undef ROW_OF
 */
#ifndef ORRERY_CORE_CONFIG_CONFIG_FIELD_H
#define ORRERY_CORE_CONFIG_CONFIG_FIELD_H

#include "sim/core/units.h"

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    CONFIG_NAME_OR_PATH = 16, /* TEXT only: what ends in ".json" is a path, treated like CONFIG_PATH; the rest a name */
    CONFIG_CLASSES = 32, /* MAP only: its keys name classes of requests; a run warns of one without requests */
    CONFIG_GPUS = 128,   /* MAP only: its keys name GPUs, which may be MIG slices, "h100-sxm:1g.10gb" */
    CONFIG_STRETCH = 64 /* LIST of two TIMEs only: a text "2h:3h" stands for ["2h", "3h"]; "2h:" ends at the limit */
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

/* Rows of a table. Each names the key, the member of struct ROW_OF that gets the value (the compiler checks its type),
 * what its absence means, its limits and its help. What has no row is written with designated members.
 *   absence: REQUIRED, OPTIONAL or DEFAULT("text"); a section that is not OPTIONAL may be FILLED with the defaults of
 *            its fields; SOURCED_REQUIRED, SOURCED_OPTIONAL and SOURCED_DEFAULT("text") add CONFIG_SOURCED
 *   limits:  ANY, POSITIVE, AT_LEAST(least), WITHIN(least, most); of the length for texts, of the number of items for
 *            lists and maps */
#define ROW_BOOL(key, member, absence, help_)                                                                          \
    {.name = key, .kind = CONFIG_BOOL, CONFIG_ROW_AT(bool, member), CONFIG_ROW_ABSENT(absence, 0), .help = help_}
#define ROW_INT(key, member, absence, limits, help_)                                                                   \
    CONFIG_ROW(CONFIG_INT, int64_t, key, member, absence, limits, 0, help_)
#define ROW_REAL(key, member, absence, limits, help_)                                                                  \
    CONFIG_ROW(CONFIG_REAL, double, key, member, absence, limits, 0, help_)
#define ROW_TIME(key, member, absence, limits, help_)                                                                  \
    CONFIG_ROW(CONFIG_TIME, sim_ns, key, member, absence, limits, 0, help_)
#define ROW_TEXT(key, member, absence, limits, help_)                                                                  \
    CONFIG_ROW(CONFIG_TEXT, const char *, key, member, absence, limits, 0, help_)
#define ROW_NAME_OR_PATH(key, member, absence, limits, help_)                                                          \
    CONFIG_ROW(CONFIG_TEXT, const char *, key, member, absence, limits, CONFIG_NAME_OR_PATH, help_)
#define ROW_PATH(key, member, absence, help_)                                                                          \
    CONFIG_ROW(CONFIG_PATH, const char *, key, member, absence, ANY, 0, help_)
#define ROW_QUANTITY(key, member, unit, absence, limits, help_)                                                        \
    {.name = key, .kind = CONFIG_QUANTITY, CONFIG_ROW_AT(double, member), .dim = unit, CONFIG_ROW_ABSENT(absence, 0),  \
     CONFIG_ROW_LIMITS_##limits, .help = help_}
#define ROW_CHOICE(key, member, absence, names, help_)                                                                 \
    {.name = key, .kind = CONFIG_CHOICE, .choices = names, CONFIG_ROW_ABSENT(absence, 0), .help = help_,               \
     .offset = offsetof(ROW_OF, member) + 0 * sizeof(char[sizeof((ROW_OF *)0)->member == sizeof(int) ? 1 : -1])}
#define ROW_SECTION(key, member, absence, table, help_)                                                                \
    {.name = key, .kind = CONFIG_SECTION, .offset = offsetof(ROW_OF, member), CONFIG_ROW_ABSENT(absence, 0),           \
     .fields = table, .help = help_}
#define ROW_LIST(key, member, absence, limits, type, table, help_)                                                     \
    CONFIG_ROW_ITEMS(CONFIG_LIST, key, member, absence, limits, 0, type, table, help_)
#define ROW_MAP(key, member, absence, limits, type, table, help_)                                                      \
    CONFIG_ROW_ITEMS(CONFIG_MAP, key, member, absence, limits, 0, type, table, help_)
#define ROW_CLASSES(key, member, absence, limits, type, table, help_)                                                  \
    CONFIG_ROW_ITEMS(CONFIG_MAP, key, member, absence, limits, CONFIG_CLASSES, type, table, help_)
#define ROW_GPUS(key, member, absence, limits, type, table, help_)                                                     \
    CONFIG_ROW_ITEMS(CONFIG_MAP, key, member, absence, limits, CONFIG_GPUS, type, table, help_)
#define ROW_VARIANT(key, member, absence, family_, tag_, help_)                                                        \
    CONFIG_ROW_VARIANT(key, member, absence, 0, family_, tag_, help_)
#define ROW_SHORT_VARIANT(key, member, absence, family_, tag_, help_)                                                  \
    CONFIG_ROW_VARIANT(key, member, absence, CONFIG_SHORT, family_, tag_, help_)

/* What the rows are made of. */
#define CONFIG_ROW_AT(type, member)                                                                                    \
    .offset = offsetof(ROW_OF, member) + 0 * sizeof(char[_Generic(((ROW_OF *)0)->member, type: 1)])
#define CONFIG_ROW_ABSENT(absence, more)                                                                               \
    .flags = CONFIG_ROW_FLAGS_##absence | (more), .value = CONFIG_ROW_VALUE_##absence
#define CONFIG_ROW_FLAGS_REQUIRED CONFIG_REQUIRED
#define CONFIG_ROW_FLAGS_OPTIONAL CONFIG_OPTIONAL
#define CONFIG_ROW_FLAGS_FILLED 0
#define CONFIG_ROW_FLAGS_DEFAULT(text) 0
#define CONFIG_ROW_FLAGS_SOURCED_REQUIRED CONFIG_SOURCED | CONFIG_REQUIRED
#define CONFIG_ROW_FLAGS_SOURCED_OPTIONAL CONFIG_SOURCED | CONFIG_OPTIONAL
#define CONFIG_ROW_FLAGS_SOURCED_DEFAULT(text) CONFIG_SOURCED
#define CONFIG_ROW_VALUE_REQUIRED NULL
#define CONFIG_ROW_VALUE_OPTIONAL NULL
#define CONFIG_ROW_VALUE_FILLED NULL
#define CONFIG_ROW_VALUE_DEFAULT(text) text
#define CONFIG_ROW_VALUE_SOURCED_REQUIRED NULL
#define CONFIG_ROW_VALUE_SOURCED_OPTIONAL NULL
#define CONFIG_ROW_VALUE_SOURCED_DEFAULT(text) text
#define CONFIG_ROW_LIMITS_ANY .min = 0, .max = 0
#define CONFIG_ROW_LIMITS_POSITIVE .min = DBL_MIN, .max = 0
#define CONFIG_ROW_LIMITS_AT_LEAST(least) .min = least, .max = (least) - 1.0
#define CONFIG_ROW_LIMITS_WITHIN(least, most) .min = least, .max = most
#define CONFIG_ROW(kind_, type, key, member, absence, limits, more, help_)                                             \
    {.name = key, .kind = kind_, CONFIG_ROW_AT(type, member), CONFIG_ROW_ABSENT(absence, more),                        \
     CONFIG_ROW_LIMITS_##limits, .help = help_}
#define CONFIG_ROW_ITEMS(kind_, key, member, absence, limits, more, type, table, help_)                                \
    {.name = key, .kind = kind_, CONFIG_ROW_AT(struct config_list, member), CONFIG_ROW_ABSENT(absence, more),          \
     CONFIG_ROW_LIMITS_##limits, .fields = table, .elem_bytes = sizeof(type), .help = help_}
#define CONFIG_ROW_VARIANT(key, member, absence, more, family_, tag_, help_)                                           \
    {.name = key, .kind = CONFIG_VARIANT, CONFIG_ROW_AT(struct config_variant, member),                                \
     CONFIG_ROW_ABSENT(absence, more), .family = family_, .tag = tag_, .help = help_}

#endif
