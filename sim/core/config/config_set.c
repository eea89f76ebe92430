/* Dotted paths into the merged document: --set, and where a value came from. */
#include "sim/core/config/config_tree.h"
#include "sim/core/json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An assignment being applied: its path, and how messages call it. */
struct setting {
    struct config *config;
    struct diag *diag;
    const struct json_source *source; /* "--set a.b" */
};

/* The member whose key is the longest that `path` starts with, followed by a dot or the end. */
static struct json_node *find_member(const struct json_node *object, const char *path, size_t *used)
{
    struct json_node *found = NULL;
    *used = 0;
    for (struct json_node *member = object->first; member != NULL; member = member->next) {
        size_t n = strlen(member->key);
        if (n <= *used || strncmp(member->key, path, n) != 0 || (path[n] != '.' && path[n] != 0)) continue;
        found = member;
        *used = n;
    }
    return found;
}

static struct json_node *find_item(const struct json_node *list, const char *path, size_t *used)
{
    *used = strspn(path, "0123456789");
    if (*used == 0 || *used > 9 || (path[*used] != '.' && path[*used] != 0)) return NULL;
    struct json_node *item = list->first;
    for (long left = strtol(path, NULL, 10); left > 0 && item != NULL; left--) item = item->next;
    return item;
}

struct json_node *config_find(const struct config *config, const char *dotted_path, const char **rest)
{
    struct json_node *node = config->root;
    while (*dotted_path != 0) {
        size_t used = 0;
        struct json_node *child = NULL;
        if (node->kind == JSON_OBJECT) child = find_member(node, dotted_path, &used);
        if (node->kind == JSON_LIST) child = find_item(node, dotted_path, &used);
        if (child == NULL) break;
        node = child;
        dotted_path += used + (dotted_path[used] == '.');
    }
    *rest = dotted_path;
    return node;
}

static struct json_node *make_node(struct setting *setting, enum json_kind kind, const char *text)
{
    struct json_node *node = arena_alloc(&setting->config->arena, sizeof *node);
    if (node == NULL) return NULL;
    *node = (struct json_node){.kind = kind, .source = setting->source, .text = text};
    return node;
}

/* The value is JSON where it reads as such. A bare word, number or not, that JSON would spell otherwise is a
 * string. */
static int parse_value(struct setting *setting, const char *text, struct json_node **value)
{
    const char *start = text + strspn(text, " \t");
    bool opens_json = *start == '{' || *start == '[' || *start == '"';
    int code = json_parse(&setting->config->arena, setting->source, text, strlen(text), value,
                          opens_json ? setting->diag : NULL);
    if (opens_json) return code;
    if (code == SIM_E_NOMEM) return diag_nomem(setting->diag);
    bool is_word = code == 0 && (*value)->kind <= JSON_NUMBER;
    if (is_word && strcmp((*value)->text, text) == 0) return 0;
    const char *word = arena_strdup(&setting->config->arena, text);
    *value = word != NULL ? make_node(setting, JSON_STRING, word) : NULL;
    return *value != NULL ? 0 : diag_nomem(setting->diag);
}

/* Wraps the value in objects so that it stands at `path`: "b.c" and 1 become {"b": {"c": 1}}, of which the member is
 * returned. NULL when out of memory. */
static struct json_node *wrap_member(struct setting *setting, const char *path, struct json_node *value)
{
    size_t n = strcspn(path, ".");
    if (path[n] == '.') {
        struct json_node *inner = wrap_member(setting, path + n + 1, value);
        value = inner != NULL ? make_node(setting, JSON_OBJECT, NULL) : NULL;
        if (value != NULL) json_append(value, inner);
    }
    if (value != NULL) value->key = arena_printf(&setting->config->arena, "%.*s", (int)n, path);
    return value != NULL && value->key != NULL ? value : NULL;
}

static int fail_index(struct setting *setting, const struct json_node *list, const char *rest)
{
    return diag_error(setting->diag, SIM_E_CONFIG, setting->source->name, "items count from 0",
                      "no item '%.*s' in a list of %zu", (int)strcspn(rest, "."), rest, list->n);
}

static int apply(struct setting *setting, const char *path, const char *value_text)
{
    struct json_node *value;
    int code = parse_value(setting, value_text, &value);
    if (code != 0) return code;
    const char *rest;
    struct json_node *node = config_find(setting->config, path, &rest);
    if (*rest == 0) {
        config_merge(node, value);
        return 0;
    }
    if (node->kind == JSON_LIST) return fail_index(setting, node, rest);
    struct json_node *member = wrap_member(setting, rest, value);
    if (member == NULL) return diag_nomem(setting->diag);
    if (node->kind != JSON_OBJECT) {
        struct json_node *object = make_node(setting, JSON_OBJECT, NULL);
        if (object == NULL) return diag_nomem(setting->diag);
        config_merge(node, object);
    }
    json_append(node, member);
    return 0;
}

/* At least one name, none of them empty, not deeper than a document may be. */
static bool is_path(const char *path)
{
    int depth = 0;
    for (; depth < JSON_MAX_DEPTH && *path != '.' && *path != 0; depth++) {
        path += strcspn(path, ".");
        if (*path == 0) return true;
        path++;
    }
    return false;
}

static bool is_utf8(const char *text)
{
    size_t left = strlen(text), n = 1;
    for (; left > 0 && n > 0; text += n, left -= n) n = text_utf8_length(text, left);
    return n > 0;
}

int config_set_in(struct config *config, const char *assignment, const char *directory, const char *where,
                  struct diag *diag)
{
    size_t n = strcspn(assignment, "=");
    char *path = arena_printf(&config->arena, "%.*s", (int)n, assignment);
    struct json_source *source = arena_alloc(&config->arena, sizeof *source);
    if (path == NULL || source == NULL) return diag_nomem(diag);
    *source = (struct json_source){.name = where != NULL ? arena_strdup(&config->arena, where)
                                                         : arena_printf(&config->arena, "--set %s", path),
                                   .directory = arena_strdup(&config->arena, directory)};
    if (source->name == NULL || source->directory == NULL) return diag_nomem(diag);
    if (!is_utf8(assignment))
        return diag_error(diag, SIM_E_CONFIG, where != NULL ? where : "--set", NULL, "invalid UTF-8");
    if (assignment[n] == 0 || !is_path(path))
        return diag_error(diag, SIM_E_CONFIG, source->name, "write a.b=value", "not an assignment");
    struct setting setting = {config, diag, source};
    return apply(&setting, path, assignment + n + 1);
}

int config_set(struct config *config, const char *assignment, struct diag *diag)
{
    return config_set_in(config, assignment, ".", NULL, diag);
}

const char *config_where(const struct config *config, const char *dotted_path)
{
    const char *rest;
    char where[DIAG_WHERE_CHARS];
    if (config == NULL) return dotted_path;
    const struct json_node *node = config_find(config, dotted_path, &rest);
    /* The text is kept with the document, whose contents it does not change. */
    const char *kept = arena_strdup((struct arena *)&config->arena, json_where(node, where, sizeof where));
    return kept != NULL ? kept : node->source->name;
}

bool config_is_given(const struct config *config, const char *dotted_path)
{
    const char *rest;
    if (config == NULL) return false;
    const struct json_node *node = config_find(config, dotted_path, &rest);
    return *rest == 0 && node->kind != JSON_NULL;
}

void config_warn_idle(const struct config *config, const char *dotted_path, const char *name, const char *why,
                      const char *hint, struct diag *diag)
{
    if (config_is_given(config, dotted_path))
        diag_warning(diag, config_where(config, dotted_path), hint, "'%s' has no effect: %s", name, why);
}

const char *config_member(const struct config *config, const char *dotted_path, size_t index)
{
    const char *rest;
    const struct json_node *node = config_find(config, dotted_path, &rest);
    if (*rest != 0 || node->kind != JSON_OBJECT) return NULL;
    const struct json_node *member = node->first;
    for (; member != NULL && index > 0; index--) member = member->next;
    return member != NULL ? member->key : NULL;
}

const char *config_text(const struct config *config, const char *dotted_path)
{
    const char *rest;
    const struct json_node *node = config_find(config, dotted_path, &rest);
    return *rest == 0 && (node->kind == JSON_STRING || node->kind == JSON_OBJECT) ? node->text : NULL;
}

const char *config_directory(const struct config *config, const char *dotted_path)
{
    const char *rest;
    return config_find(config, dotted_path, &rest)->source->directory;
}

static const struct json_source *copy_source(struct arena *arena, const struct json_source *source)
{
    struct json_source *copy = arena_alloc(arena, sizeof *copy);
    if (copy == NULL) return NULL;
    *copy = *source;
    copy->name = arena_strdup(arena, source->name);
    copy->directory = arena_strdup(arena, source->directory);
    return copy->name != NULL && copy->directory != NULL ? copy : NULL;
}

/* NULL when out of memory. */
static struct json_node *copy_node(struct arena *arena, const struct json_node *node)
{
    struct json_node *copy = arena_alloc(arena, sizeof *copy);
    if (copy == NULL || (copy->source = copy_source(arena, node->source)) == NULL) return NULL;
    const struct json_source *source = copy->source;
    *copy = *node;
    copy->source = source;
    copy->key = node->key != NULL ? arena_strdup(arena, node->key) : NULL;
    copy->text = node->text != NULL ? arena_strdup(arena, node->text) : NULL;
    if ((node->key != NULL && copy->key == NULL) || (node->text != NULL && copy->text == NULL)) return NULL;
    copy->first = copy->last = copy->next = NULL;
    copy->n = 0;
    for (const struct json_node *child = node->first; child != NULL; child = child->next) {
        struct json_node *inner = copy_node(arena, child);
        if (inner == NULL) return NULL;
        json_append(copy, inner);
    }
    return copy;
}

int config_lay_under(struct config *config, const char *dotted_path, const struct config *below, const char *below_path)
{
    const char *rest, *below_rest;
    struct json_node *node = config_find(config, dotted_path, &rest);
    const struct json_node *found = config_find(below, below_path, &below_rest);
    const bool is_given = *rest == 0 && node->kind != JSON_NULL;
    if (*below_rest != 0 || found->kind == JSON_NULL || (is_given && node->kind != JSON_OBJECT)) return 0;
    struct json_node *under = copy_node(&config->arena, found);
    if (under == NULL) return SIM_E_NOMEM;
    under->key = *rest == 0 ? node->key : arena_strdup(&config->arena, rest);
    if (under->key == NULL) return SIM_E_NOMEM;
    if (*rest != 0) {
        json_append(node, under);
        return 0;
    }
    struct json_node *next = node->next, over = *node;
    if (is_given) config_merge(under, &over);
    *node = *under;
    node->next = next;
    return 0;
}

bool config_origin(const struct config *config, const char *dotted_path, struct config_origin *origin)
{
    const char *rest;
    const struct json_node *node = config_find(config, dotted_path, &rest);
    const struct json_node *source = json_member(node, "source"), *sure = json_member(node, "sure");
    *origin = (struct config_origin){0};
    if (*rest != 0 || json_member(node, "value") == NULL) return false;
    if (source != NULL && source->kind == JSON_STRING) origin->source = source->text;
    if (sure != NULL && sure->kind == JSON_STRING) origin->sure = sure->text;
    return true;
}
