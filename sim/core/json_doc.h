/* JSON documents whose every value knows where it stands.
 *
 * Strict JSON plus // comments. Errors, with file:line:col: whatever breaks the grammar, duplicate keys, text after the
 * document, invalid UTF-8, numbers beyond a double, nesting over 64 levels. Columns count characters. cJSON makes the
 * values; json_scan finds their places, which cJSON does not keep. Nodes and texts live in the caller's arena. */
#ifndef ORRERY_CORE_JSON_DOC_H
#define ORRERY_CORE_JSON_DOC_H

#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>

/* What a text is called in messages, and where its relative paths start. */
struct json_source {
    const char *name;      /* "exp.json", "--set a.b" */
    const char *directory; /* "." for the current one */
    bool has_lines;        /* false: messages give the name alone */
    bool has_infinity;     /* numbers may be infinite, and spelled Infinity as Python's json module spells them */
    struct hash_sum bytes; /* of the file, if it was loaded from one */
};

/* The first three are words; as such they are spelled without quotes. */
enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_OBJECT };

struct json_place {
    int line, column; /* from 1 */
};

struct json_node {
    enum json_kind kind;
    const struct json_source *source;
    struct json_place place, key_place;
    const char *key;  /* members of objects; else NULL */
    const char *text; /* STRING: its characters; NULL, BOOL, NUMBER: as spelled; OBJECT: NULL, or see config_merge */
    double number;    /* NUMBER; BOOL: 0 or 1 */
    bool removes;     /* NULL: it was merged over another value */
    size_t n;         /* LIST, OBJECT: children, linked by `next` in document order */
    struct json_node *first, *last, *next;
};

/* Parses a text of `bytes` bytes (a byte order mark is skipped). `source` must outlive the nodes. Returns 0,
 * SIM_E_CONFIG or SIM_E_NOMEM. */
int json_parse(struct arena *arena, const struct json_source *source, const char *text, size_t bytes,
               struct json_node **root, struct diag *diag);

/* Reads a whole file, of at most 64 MiB, into a terminated text, to be freed with mem_free. Returns 0, SIM_E_NOMEM, or
 * SIM_E_IO with errno set and nothing reported: the caller knows who asked for the file. */
int json_read_file(const char *path, char **text, size_t *bytes);

/* Reads and parses a file; its directory is where its relative paths start. */
int json_load(struct arena *arena, const char *path, struct json_node **root, struct diag *diag);

/* As json_load, of a file that Python's json module wrote: numbers may be Infinity or -Infinity. */
int json_load_python(struct arena *arena, const char *path, struct json_node **root, struct diag *diag);

/* The member of that name, or NULL; `object` may be NULL or of another kind. */
struct json_node *json_member(const struct json_node *object, const char *key);

/* Adds a child at the end. */
void json_append(struct json_node *parent, struct json_node *child);

/* "file:line:col" of a value or of its key; texts that do not fit are cut. Returns `buffer`. */
const char *json_where(const struct json_node *node, char *buffer, size_t buffer_bytes);
const char *json_key_where(const struct json_node *node, char *buffer, size_t buffer_bytes);

/* How a message shows a value: 80, "fast", true, null, an object, a list. Long strings are cut. Returns `buffer`. */
const char *json_show(const struct json_node *node, char *buffer, size_t buffer_bytes);

/* How a table shows a value given as JSON or as a word. An object becomes its name and members: "sarathi
 * token_budget=512" for {"policy": "sarathi", "token_budget": 512}, "nodes=2 network.bandwidth=50GB/s" for one without
 * a name. All else stays as it is. In the arena; NULL when out of memory. */
const char *json_brief(const char *value, struct arena *arena);

/* The member that names an object: its policy, format, process, kind or distribution; NULL: none. */
const struct json_node *json_name_member(const struct json_node *object);

#endif
