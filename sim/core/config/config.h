/* Configuration: JSON documents bound to C structs by tables of fields.
 *
 * One table of `struct config_field` gives parsing, defaults, ranges, --set, did-you-mean, --dump-config, `explain` and
 * the schema. Documents are strict JSON plus // comments; every value knows file:line:col. `"extends": ["a.json", ...]`
 * merges other documents below this one (objects merge key by key, everything else is replaced); paths are relative to
 * the file they stand in, in --set to the current directory. Order: defaults < extends < file < --set.
 *
 * All problems of a document are reported in one pass, into the caller's diag. */
#ifndef ORRERY_CORE_CONFIG_CONFIG_H
#define ORRERY_CORE_CONFIG_CONFIG_H

#include "sim/core/config/config_field.h"
#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stddef.h>

/* An alternative of a family: a policy, a trace format, a cost model. */
struct config_alternative {
    const char *name, *summary;
    const struct config_field *fields; /* of its parameters; may be NULL */
    size_t params_bytes;
    const void *entry; /* what the user of the binding wants back: the policy, the reader ... */
};

struct config_variant {
    const char *name;
    const void *entry;  /* of the alternative */
    void *params;       /* params_bytes, bound by its fields; in the arena */
};

/* Where the alternatives come from: the roof fills it in, so core never names a policy. */
struct config_families {
    /* The index-th alternative of a family, in listing order. Returns false past the last one. */
    bool (*alternative)(const void *context, const char *family, size_t index, struct config_alternative *out);

    /* The name of the alternative of a section without its tag, from the contents of the file at its key "path". NULL
     * with a problem and a hint when the file does not tell, without a problem in families that are not of files.
     * `key` is the path of the section ("services.chat.trace"), for the hint. May be NULL. */
    const char *(*guess)(const void *context, const char *family, const char *key, const char *path,
                         char problem[DIAG_TEXT_CHARS], char hint[DIAG_TEXT_CHARS]);
    const void *context;

    /* The index-th name of what other programs, or other alternatives, call `key`, for hints, the usual one first;
     * NULL past the last one. May be NULL. */
    const char *(*synonym)(const char *key, size_t index);
    /* The alternative of a family, or the choice of a key, that people also call `word`, for hints; NULL: none is
     * known. May be NULL. */
    const char *(*alias)(const char *family_or_key, const char *word);
    /* What to do about a key that a section, named by its path, lacks; NULL: nothing is known. May be NULL. */
    const char *(*advice)(const char *section, const char *key);
    /* What an alternative that a family lacks is instead, for hints: "it is a format of jobs"; NULL: nothing is known.
     * May be NULL. */
    const char *(*stray)(const char *family, const char *word);
    /* The command that lists all of what ("key", "scheduler policy"), for lists that are cut; NULL: none does. May be
     * NULL. */
    const char *(*listing)(const char *what);
    const char *data; /* the folder of public data (path_join_data); NULL: where the files that name it say */
    const char *remedy; /* follows "unknown routing policy 'x'" whose name is no alias; NULL: nothing */
};

/* A merged document. */
struct config;

/* Loads a document and everything it extends. Returns 0, SIM_E_IO, SIM_E_CONFIG or SIM_E_NOMEM; *config is NULL after
 * an error. A "$schema" member at the top is left to editors. */
int config_load(const char *path, struct config **config, struct diag *diag);

/* The same, looking for relative files, those of "extends" too, also in `roots`: directories up to a NULL. What stands
 * beside the document goes first. home: the directory that a document may be a copy from, looked at for hints about
 * files that are not found; NULL: none. */
int config_load_within(const char *path, const char *const *roots, const char *home, struct config **config,
                       struct diag *diag);

/* The same from memory; `name` stands for the file in messages, `directory` is what its relative paths start from. */
int config_parse(const char *name, const char *directory, const char *text, size_t bytes, struct config **config,
                 struct diag *diag);
void config_destroy(struct config *config);

/* The hash of the bytes of all files that a document was loaded from, those that it extends included. */
struct hash_sum config_files(const struct config *config);

/* The path of the index-th of these files; NULL past the last one. */
const char *config_path(const struct config *config, size_t index);

/* Applies one "a.b.c=value" (list items by index: "a.0.b"), as a document laid over this one would: objects merge,
 * null removes. The value is JSON; what is not JSON is taken as a string, unless it begins with a brace, bracket or
 * quote. Intermediate objects are made. Whether the path exists is found out by config_bind. Returns 0, SIM_E_CONFIG
 * or SIM_E_NOMEM. */
int config_set(struct config *config, const char *assignment, struct diag *diag);

/* The same for what was not said by --set: relative paths start from a directory, and findings name `where`
 * ("study.json:3:9"; NULL: "--set a.b.c"). */
int config_set_in(struct config *config, const char *assignment, const char *directory, const char *where,
                  struct diag *diag);

/* Fills `out` (zeroed first by this function, `bytes` long) from the document. Text and lists go to `arena`. Without
 * `families` a variant gets its name alone, and nothing in it is checked. Unknown keys, wrong types, missing units,
 * values out of range, missing required fields: all reported, with did-you-mean. A null counts as absent. Returns 0,
 * SIM_E_CONFIG or SIM_E_NOMEM. */
int config_bind(const struct config *config, const struct config_field *fields, const struct config_families *families,
                struct arena *arena, void *out, size_t bytes, struct diag *diag);

/* "file:line:col" (or "--set a.b") of the value at a dotted path, for findings made after binding; the nearest parent
 * that is in the document when the value is a default; never NULL. Without a config, the path itself. Lives as long as
 * the config, which it may grow: not for several threads at once. */
const char *config_where(const struct config *config, const char *dotted_path);

/* Whether a file or config_set says what stands there, rather than its default. No, if config is NULL. */
bool config_is_given(const struct config *config, const char *dotted_path);

/* Warns, where a value is given, that it has no effect, and why. `name` stands for it; hint: what to do. */
void config_warn_idle(const struct config *config, const char *dotted_path, const char *name, const char *why,
                      const char *hint, struct diag *diag);

/* What a CONFIG_SOURCED value says about itself; NULL where it does not. */
struct config_origin {
    const char *source, *sure; /* "NVIDIA A100 datasheet, 2021", "datasheet" */
};

/* The name of the index-th member of the object at a dotted path; NULL past the last one, or where no object is. */
const char *config_member(const struct config *config, const char *dotted_path, size_t index);

/* The string at a dotted path, also the short form of a variant on which an object was laid; NULL: there is none. */
const char *config_text(const struct config *config, const char *dotted_path);

/* The directory that relative paths in the value at a dotted path start from. */
const char *config_directory(const struct config *config, const char *dotted_path);

/* Lays a copy of the value at `below_path` of another document under the value at `dotted_path`, as if this document
 * extended it there: objects merge, all else stays. Each value keeps the place where it was written. The object around
 * `dotted_path` must exist. Returns 0 or SIM_E_NOMEM. */
int config_lay_under(struct config *config, const char *dotted_path, const struct config *below,
                     const char *below_path);

/* The origin of the value at a dotted path. Returns false when it was not written with one. */
bool config_origin(const struct config *config, const char *dotted_path, struct config_origin *origin);

/* Appends an item of `item_bytes` to a list in the arena: its capacity doubles, and old items stay there unused.
 * Returns 0 or SIM_E_NOMEM. */
int config_list_append(struct config_list *list, struct arena *arena, const void *item, size_t item_bytes);

/* Writes the bound struct as a complete JSON document: parsing it with directory "." binds to the same struct, bit for
 * bit. Returns 0 or SIM_E_NOMEM, like all writers here. */
int config_dump(const struct config_field *fields, const struct config_families *families, const void *bound,
                struct text *json);

/* A value of a bound struct: its path, the value with its unit, where it came from (file:line:col, --set, default),
 * its help, and the origin of a sourced one. help: NULL: none. written: the value as read, where it has changed
 * since, such as GPUs that MIG cuts; NULL: the same. */
struct config_explained {
    const char *path, *value, *where, *help, *written;
    struct config_origin origin;
};

/* Calls `visit` with each value, in the order of the table. Returns 0 or SIM_E_NOMEM. */
typedef void config_explained_fn(void *context, const struct config_explained *explained);
int config_explain_each(const struct config *config, const struct config_field *fields,
                        const struct config_families *families, const void *bound, config_explained_fn *visit,
                        void *context);

/* Writes one line per value, in columns. */
int config_explain(const struct config *config, const struct config_field *fields,
                   const struct config_families *families, const void *bound, struct text *lines);

/* Calls `visit` with each key below `fields`, sections before their members: "cluster.power.budget"; "NAME" stands for
 * the name of a member of a map, "[]" for an item of a list. Alternatives of a variant are not entered: their own
 * tables hold their keys. Returns 0, what `visit` returned first, or SIM_E_NOMEM. */
typedef int config_key_fn(void *context, const char *path, const struct config_field *field);
int config_each_key(const struct config_field *fields, config_key_fn *visit, void *context);

/* What may stand at a key: "a whole number, at least 1", "a time such as \"15ms\"", "\"policy\" of family routing".
 * Returns `buffer`. */
enum { CONFIG_RANGE_CHARS = 200, CONFIG_VALUE_CHARS = 512 };
const char *config_value_text(const struct config_field *field, char *buffer, size_t buffer_bytes);

/* Writes the JSON Schema (draft 2020-12) of a table, for a document that stands alone: one that extends another may
 * leave out what the schema requires. */
int config_schema(const struct config_field *fields, const struct config_families *families, struct text *json);

#endif
