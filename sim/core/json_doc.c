#include "sim/core/json_doc.h"

#include "sim/core/input.h"
#include "sim/core/json_scan.h"
#include "sim/core/path.h"
#include "sim/core/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOWN_CHARS = 40, FIRST_READ_BYTES = 16 << 10, MAX_FILE_BYTES = 64 << 20 };

/* The state of joining cJSON's values with the marks of the scan: both are in document order. */
struct reading {
    struct arena *arena;
    const struct json_source *source;
    struct diag *diag;
    int code; /* of the first error */
    const char *text;
    const size_t *marks; /* the next one */
    size_t at;           /* the offset up to which the place is known */
    struct json_place place;
};

/* Moves the place forward to an offset. Bytes that continue a UTF-8 character take no column. */
static struct json_place place_at(struct reading *reading, size_t offset)
{
    for (; reading->at < offset; reading->at++) {
        unsigned char c = (unsigned char)reading->text[reading->at];
        if (c == '\n') {
            reading->place.line++;
            reading->place.column = 1;
        } else if ((c & 0xc0) != 0x80) {
            reading->place.column++;
        }
    }
    return reading->place;
}

__attribute__((format(printf, 4, 5))) static void report(struct reading *reading, const char *where, const char *hint,
                                                         const char *format, ...)
{
    char text[DIAG_TEXT_CHARS];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diag_error(reading->diag, SIM_E_CONFIG, where, hint, "%s", text);
    if (reading->code == 0) reading->code = SIM_E_CONFIG;
}

static int compare_keys(const void *a, const void *b)
{
    const struct json_node *x = *(struct json_node *const *)a, *y = *(struct json_node *const *)b;
    int order = strcmp(x->key, y->key);
    if (order != 0) return order;
    if (x->key_place.line != y->key_place.line) return x->key_place.line < y->key_place.line ? -1 : 1;
    return x->key_place.column < y->key_place.column ? -1 : 1;
}

/* Compares each member with all before it: most objects are small. */
static bool has_duplicates(const struct json_node *object)
{
    for (const struct json_node *member = object->first; member != NULL; member = member->next)
        for (const struct json_node *before = object->first; before != member; before = before->next)
            if (strcmp(before->key, member->key) == 0) return true;
    return false;
}

static int report_duplicates(struct reading *reading, const struct json_node *object)
{
    enum { FEW = 16 };
    if (object->n < 2 || (object->n <= FEW && !has_duplicates(object))) return 0;
    const struct json_node **members = mem_zalloc(object->n, sizeof(*members));
    if (members == NULL) return SIM_E_NOMEM;
    size_t n = 0;
    for (const struct json_node *member = object->first; member != NULL; member = member->next) members[n++] = member;
    qsort(members, n, sizeof(*members), compare_keys);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(members[i - 1]->key, members[i]->key) != 0) continue;
        char where[DIAG_WHERE_CHARS], first[DIAG_WHERE_CHARS], hint[DIAG_TEXT_CHARS];
        snprintf(hint, sizeof hint, "the one before is at %s", json_key_where(members[i - 1], first, sizeof first));
        report(reading, json_key_where(members[i], where, sizeof where), hint, "duplicate key '%s'", members[i]->key);
    }
    mem_free(members);
    return 0;
}

static enum json_kind kind_of(const cJSON *value)
{
    if (cJSON_IsObject(value)) return JSON_OBJECT;
    if (cJSON_IsArray(value)) return JSON_LIST;
    if (cJSON_IsString(value)) return JSON_STRING;
    if (cJSON_IsNumber(value)) return JSON_NUMBER;
    return cJSON_IsBool(value) ? JSON_BOOL : JSON_NULL;
}

/* Copies the spelling of a number or word at an offset. */
static const char *copy_spelling(struct reading *reading, size_t offset)
{
    const char *chars = reading->text + offset;
    const size_t n = strcspn(chars, ",]} \t\r\n");
    char *copy = arena_alloc(reading->arena, n + 1);
    return copy != NULL ? memcpy(copy, chars, n) : NULL;
}

static int read_value(struct reading *reading, const cJSON *value, struct json_node **out);

static int read_children(struct reading *reading, const cJSON *value, struct json_node *node)
{
    const cJSON *child;
    cJSON_ArrayForEach(child, value)
    {
        struct json_place key_place = {0};
        if (node->kind == JSON_OBJECT) key_place = place_at(reading, *reading->marks++);
        struct json_node *child_node;
        int code = read_value(reading, child, &child_node);
        if (code != 0) return code;
        if (node->kind == JSON_OBJECT) {
            child_node->key_place = key_place;
            child_node->key = arena_strdup(reading->arena, child->string);
            if (child_node->key == NULL) return SIM_E_NOMEM;
        }
        json_append(node, child_node);
    }
    return node->kind == JSON_OBJECT ? report_duplicates(reading, node) : 0;
}

static int read_value(struct reading *reading, const cJSON *value, struct json_node **out)
{
    struct json_node *node = *out = arena_alloc(reading->arena, sizeof *node);
    if (node == NULL) return SIM_E_NOMEM;
    size_t offset = *reading->marks++;
    node->kind = kind_of(value);
    node->source = reading->source;
    node->place = place_at(reading, offset);
    if (node->kind == JSON_LIST || node->kind == JSON_OBJECT) return read_children(reading, value, node);

    if (node->kind == JSON_STRING)
        node->text = arena_strdup(reading->arena, value->valuestring);
    else
        node->text = copy_spelling(reading, offset);
    if (node->text == NULL) return SIM_E_NOMEM;
    if (node->kind == JSON_BOOL) node->number = cJSON_IsTrue(value);
    if (node->kind == JSON_NUMBER) node->number = value->valuedouble;
    if (!isfinite(node->number) && reading->source->has_infinity)
        node->text = node->number > 0.0 ? "Infinity" : "-Infinity";
    if (!isfinite(node->number) && !reading->source->has_infinity) {
        char where[DIAG_WHERE_CHARS];
        report(reading, json_where(node, where, sizeof where), NULL, "the number %s is too large", node->text);
    }
    return 0;
}

static int report_scan(struct reading *reading, const struct json_scan *scan)
{
    struct json_node here = {.source = reading->source, .place = place_at(reading, scan->error_at)};
    char where[DIAG_WHERE_CHARS];
    report(reading, json_where(&here, where, sizeof where), scan->hint, "%s", scan->error);
    return reading->code;
}

/* `text` is terminated and free of comments. */
static int parse_blanked(struct reading *reading, size_t bytes, struct json_node **root)
{
    struct json_scan scan;
    int code = json_scan(&scan, reading->text, bytes);
    cJSON *tree = NULL;
    if (code == SIM_E_CONFIG) report_scan(reading, &scan);
    if (code == 0) {
        tree = cJSON_ParseWithLengthOpts(reading->text, bytes + 1, NULL, 1);
        if (tree == NULL) code = SIM_E_NOMEM; /* the scan has passed, so nothing else is left */
    }
    if (code == 0) {
        reading->marks = scan.marks.offsets;
        code = read_value(reading, tree, root);
    }
    cJSON_Delete(tree);
    json_scan_fini(&scan);
    return code != 0 ? code : reading->code;
}

int json_parse(struct arena *arena, const struct json_source *source, const char *text, size_t bytes,
               struct json_node **root, struct diag *diag)
{
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        bytes -= 3;
    }
    char *blanked = mem_alloc(bytes + 1);
    if (blanked == NULL) return diag_nomem_at(diag, source->name);
    memcpy(blanked, text, bytes);
    blanked[bytes] = 0;
    json_blank_comments(blanked, bytes);
    if (source->has_infinity) json_spell_infinity(blanked, bytes);

    struct reading reading = {
        .arena = arena, .source = source, .diag = diag, .text = blanked, .place = {.line = 1, .column = 1}};
    int code = parse_blanked(&reading, bytes, root);
    mem_free(blanked);
    if (code == SIM_E_NOMEM) diag_nomem_at(diag, source->name);
    return code;
}

/* Reads to the end of the file. Returns 0, SIM_E_NOMEM, or SIM_E_IO with errno set. */
static int read_all(FILE *file, char **chars, size_t *n)
{
    for (size_t capacity = FIRST_READ_BYTES; capacity <= MAX_FILE_BYTES; capacity *= 2) {
        char *grown = mem_realloc(*chars, capacity);
        if (grown == NULL) return SIM_E_NOMEM;
        *chars = grown;
        *n += fread(grown + *n, 1, capacity - 1 - *n, file);
        if (*n == capacity - 1) continue;
        grown[*n] = 0;
        return ferror(file) ? SIM_E_IO : 0;
    }
    errno = EFBIG;
    return SIM_E_IO;
}

int json_read_file(const char *path, char **text, size_t *bytes)
{
    *text = NULL;
    *bytes = 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return SIM_E_IO;
    int code = read_all(file, text, bytes), saved = errno;
    fclose(file);
    errno = saved;
    if (code == 0) return 0;
    mem_free(*text);
    *text = NULL;
    return code;
}

/* Where relative paths of the document start: its own directory; of a pipe or the standard input the current one. */
static char *directory_of(struct arena *arena, const char *path)
{
    struct stat status;
    const bool is_input = strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0;
    const bool is_pipe = stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    return is_input || is_pipe ? arena_strdup(arena, ".") : path_directory(arena, path);
}

/* What the name of a file says it is written in, of the languages that people take for JSON; NULL: none of them. */
static const char *other_language(const char *path)
{
    static const char *const languages[][2] = {{".yaml", "YAML"}, {".yml", "YAML"}, {".toml", "TOML"}};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (path_ends_in(path, languages[i][0])) return languages[i][1];
    return NULL;
}

static int load(struct arena *arena, const char *path, bool has_infinity, struct json_node **root, struct diag *diag)
{
    char *text;
    size_t bytes;
    int code = json_read_file(path, &text, &bytes);
    if (code == SIM_E_IO)
        return diag_error(diag, code, path, errno == EISDIR ? "name a file in it" : NULL, "cannot read the file: %s",
                          strerror(errno));
    if (code != 0) return diag_nomem_at(diag, path);
    const char *binary = input_binary_kind(text, bytes);
    if (binary != NULL) {
        mem_free(text);
        return diag_error(diag, SIM_E_CONFIG, path, "unpack or convert it first", "is %s; expected JSON", binary);
    }
    const char *language = other_language(path);
    if (language != NULL && text[strspn(text, " \t\r\n")] != '{') {
        mem_free(text);
        return diag_error(diag, SIM_E_CONFIG, path, "write it as JSON, which here may have // comments",
                          "this is %s, not JSON", language);
    }

    struct json_source *source = arena_alloc(arena, sizeof *source);
    if (source != NULL)
        *source = (struct json_source){arena_strdup(arena, path), directory_of(arena, path), .has_lines = true,
                                       .has_infinity = has_infinity};
    if (source == NULL || source->name == NULL || source->directory == NULL)
        code = diag_nomem_at(diag, path);
    else
        code = json_parse(arena, source, text, bytes, root, diag);
    if (code == 0) hash_sum_add(&source->bytes, text, bytes);
    mem_free(text);
    return code;
}

int json_load(struct arena *arena, const char *path, struct json_node **root, struct diag *diag)
{
    return load(arena, path, false, root, diag);
}

int json_load_python(struct arena *arena, const char *path, struct json_node **root, struct diag *diag)
{
    return load(arena, path, true, root, diag);
}

struct json_node *json_member(const struct json_node *object, const char *key)
{
    if (object == NULL || object->kind != JSON_OBJECT) return NULL;
    for (struct json_node *member = object->first; member != NULL; member = member->next)
        if (strcmp(member->key, key) == 0) return member;
    return NULL;
}

void json_append(struct json_node *parent, struct json_node *child)
{
    child->next = NULL;
    if (parent->last != NULL)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->n++;
}

static const char *show_place(const struct json_source *source, struct json_place place, char *buffer, size_t bytes)
{
    if (source->has_lines) return diag_place(buffer, bytes, source->name, place.line, place.column);
    snprintf(buffer, bytes, "%s", source->name);
    return buffer;
}

const char *json_where(const struct json_node *node, char *buffer, size_t buffer_bytes)
{
    return show_place(node->source, node->place, buffer, buffer_bytes);
}

const char *json_key_where(const struct json_node *node, char *buffer, size_t buffer_bytes)
{
    return show_place(node->source, node->key_place, buffer, buffer_bytes);
}

const char *json_show(const struct json_node *node, char *buffer, size_t buffer_bytes)
{
    switch (node->kind) {
    case JSON_NULL: snprintf(buffer, buffer_bytes, "null"); break;
    case JSON_LIST: snprintf(buffer, buffer_bytes, "a list"); break;
    case JSON_OBJECT: snprintf(buffer, buffer_bytes, "an object"); break;
    case JSON_BOOL:
    case JSON_NUMBER: snprintf(buffer, buffer_bytes, "%s", node->text); break;
    case JSON_STRING: {
        size_t shown = 0, length = strlen(node->text);
        while (shown < length && shown < SHOWN_CHARS) {
            size_t n = text_utf8_length(node->text + shown, length - shown);
            shown += n > 0 ? n : 1;
        }
        snprintf(buffer, buffer_bytes, "\"%.*s%s\"", (int)shown, node->text, shown < length ? "..." : "");
    }
    }
    return buffer;
}

/* --- Values in tables --- */

const struct json_node *json_name_member(const struct json_node *object)
{
    static const char *const tags[] = {"policy", "format", "process", "kind", "distribution"};
    for (size_t i = 0; object->kind == JSON_OBJECT && i < sizeof tags / sizeof *tags; i++) {
        const struct json_node *member = json_member(object, tags[i]);
        if (member != NULL) return member;
    }
    return NULL;
}

static void add_items(const struct json_node *list, struct text *text);

/* Adds "a.b=value" for each member of an object, behind a space; `path` ends in '.', or is empty. */
static void add_members(const struct json_node *object, const char *path, struct arena *arena, struct text *text)
{
    const struct json_node *name = json_name_member(object);
    for (const struct json_node *node = object->first; node != NULL; node = node->next) {
        const struct json_node *own = json_name_member(node);
        const char *space = text->length > 0 ? " " : "", *shown = own != NULL ? own->text : node->text;
        if (node == name) continue;
        if (node->kind != JSON_OBJECT || shown != NULL) text_printf(text, "%s%s%s=", space, path, node->key);
        if (node->kind == JSON_LIST)
            add_items(node, text);
        else if (shown != NULL)
            text_add(text, shown);
        if (node->kind != JSON_OBJECT) continue;
        const char *inner = arena_printf(arena, "%s%s.", path, node->key);
        if (inner == NULL) text->failed = true;
        if (inner != NULL) add_members(node, inner, arena, text);
    }
}

static void add_items(const struct json_node *list, struct text *text)
{
    text_add(text, "[");
    for (const struct json_node *item = list->first; item != NULL; item = item->next) {
        const struct json_node *name = json_name_member(item);
        if (item != list->first) text_add(text, ", ");
        text_add(text, item->text != NULL ? item->text : name != NULL && name->text != NULL ? name->text : "...");
    }
    text_add(text, "]");
}

const char *json_brief(const char *value, struct arena *arena)
{
    static const struct json_source source = {.name = "", .directory = "."};
    struct json_node *node;
    struct text text;
    if (value[0] != '{') return value;
    const int code = json_parse(arena, &source, value, strlen(value), &node, NULL);
    if (code != 0 || node->kind != JSON_OBJECT || node->n == 0) return code == SIM_E_NOMEM ? NULL : value;
    text_init(&text);
    const struct json_node *name = json_name_member(node);
    if (name != NULL && name->text != NULL) text_add(&text, name->text);
    add_members(node, "", arena, &text);
    const char *brief = text.failed ? NULL : arena_strdup(arena, text.chars != NULL ? text.chars : value);
    text_fini(&text);
    return brief;
}
