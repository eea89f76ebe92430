/* What the binding of a configuration reports, and where its texts go. Shared by the parts of config. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_REPORT_H
#define ORRERY_CORE_CONFIG_CONFIG_REPORT_H

#include "sim/core/config/config.h"
#include "sim/core/json_doc.h"

struct config_reading {
    struct arena *arena; /* of the bound struct */
    struct diag *diag;
    int code; /* of the first error, or SIM_E_NOMEM */
    const struct config_families *families; /* may be NULL */
};

/* Reports a wrong configuration at a value. `hint` may be NULL. */
void config_report(struct config_reading *reading, const struct json_node *at, const char *hint, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

/* Says once that memory ran out. */
void config_report_nomem(struct config_reading *reading);

/* "unknown key 'nods' in 'cluster'; did you mean 'nodes'?", or all known words when none is near. `what` goes before
 * the word, `after` behind it; `where` is the place. */
void config_report_unknown(struct config_reading *reading, const char *where, const char *what, const char *word,
                           const char *after, const char *const *known, size_t n_known);

/* Writes `before` and the words, as "known: 'a', 'b'", cut to whole words; then "... 'LISTING' has all". */
void config_words(char *buffer, size_t buffer_bytes, const char *before, const char *const *words, size_t n,
                  const char *listing);

/* "'nodes' must be a whole number, got \"four\"". `hint` may be NULL. */
void config_report_type(struct config_reading *reading, const struct config_field *field, const char *name,
                        const struct json_node *node, const char *hint);

/* What a field takes: "a whole number", "a quantity such as \"80GiB\"", "an object". Returns `buffer`. */
const char *config_expected(const struct config_field *field, char *buffer, size_t buffer_bytes);

/* Writes the limits of a field: "at least 1", "between \"1kW\" and \"20MW\"". Returns false when it has none. */
bool config_range(const struct config_field *field, char *buffer, size_t buffer_bytes);

/* Reports a value outside [min, max] of the field; with a `noun` in the plural, such as "items", a count of these.
 * Returns whether it did. */
bool config_check_range(struct config_reading *reading, const struct config_field *field, const char *name,
                        const struct json_node *node, double value, const char *noun);

#endif
