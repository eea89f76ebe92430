#include "sim/study/read.h"

#include "sim/core/config/config_scalar.h"
#include "sim/core/json_scan.h"

#include <stdio.h>
#include <string.h>

bool read_object(struct config_reading *reading, const struct json_node *node, const char *what)
{
    char shown[DIAG_TEXT_CHARS / 2];
    if (node->kind == JSON_OBJECT) return true;
    config_report(reading, node, NULL, "%s must be an object, got %s", what, json_show(node, shown, sizeof shown));
    return false;
}

void read_keys(struct config_reading *reading, const struct json_node *object, const char *what,
               const char *const *known)
{
    char where[DIAG_WHERE_CHARS], after[64];
    size_t n = 0;
    while (known[n] != NULL) n++;
    snprintf(after, sizeof after, " in %s", what);
    for (const struct json_node *member = object->first; member != NULL; member = member->next) {
        size_t i = 0;
        while (i < n && strcmp(known[i], member->key) != 0) i++;
        if (i == n)
            config_report_unknown(reading, json_key_where(member, where, sizeof where), "key", member->key, after,
                                  known, n);
    }
}

const struct json_node *read_member(struct config_reading *reading, const struct json_node *object, const char *key,
                                    const char *what)
{
    const struct json_node *member = json_member(object, key);
    if (member != NULL && member->kind != JSON_NULL) return member;
    if (what != NULL) config_report(reading, object, NULL, "%s needs '%s'", what, key);
    return NULL;
}

static bool read_scalar(struct config_reading *reading, const struct json_node *object,
                        const struct config_field *field, void *out)
{
    const struct json_node *member = read_member(reading, object, field->name, NULL);
    struct config_reading here = {.arena = reading->arena, .diag = reading->diag};
    if (member == NULL) return false;
    config_read_scalar(&here, field, field->name, member, out);
    if (reading->code == 0 || here.code == SIM_E_NOMEM) reading->code = here.code;
    return here.code == 0;
}

const char *read_text(struct config_reading *reading, const struct json_node *object, const char *key,
                      const char *value)
{
    const struct config_field field = {.name = key, .kind = CONFIG_TEXT};
    const char *text = NULL;
    return read_scalar(reading, object, &field, &text) && text != NULL ? text : value;
}

int64_t read_integer(struct config_reading *reading, const struct json_node *object, const char *key, double min,
                     double max, int64_t value)
{
    const struct config_field field = {.name = key, .kind = CONFIG_INT, .min = min, .max = max};
    int64_t number = value;
    return read_scalar(reading, object, &field, &number) ? number : value;
}

int64_t read_integer_value(struct config_reading *reading, const struct json_node *node, const char *name, double min,
                           double max)
{
    const struct config_field field = {.name = name, .kind = CONFIG_INT, .min = min, .max = max};
    int64_t number = 0;
    config_read_scalar(reading, &field, name, node, &number);
    return number;
}

double read_real(struct config_reading *reading, const struct json_node *object, const char *key, double min,
                 double max, double value)
{
    const struct config_field field = {.name = key, .kind = CONFIG_REAL, .min = min, .max = max};
    double number = value;
    return read_scalar(reading, object, &field, &number) ? number : value;
}

int read_choice(struct config_reading *reading, const struct json_node *object, const char *key,
                const char *const *choices)
{
    const struct config_field field = {.name = key, .kind = CONFIG_CHOICE, .choices = choices};
    int chosen = 0;
    return read_scalar(reading, object, &field, &chosen) ? chosen : 0;
}

void *read_alloc(struct config_reading *reading, size_t count, size_t bytes_each)
{
    void *block = count <= SIZE_MAX / 2 / (bytes_each + 1) ? arena_alloc(reading->arena, (count + 1) * bytes_each)
                                                           : NULL;
    if (block == NULL) config_report_nomem(reading);
    return block;
}

const char *read_keep(struct config_reading *reading, struct text *text)
{
    const char *kept = text->failed ? NULL : arena_strdup(reading->arena, text->chars != NULL ? text->chars : "");
    if (kept == NULL) config_report_nomem(reading);
    text_fini(text);
    return kept;
}

void read_write_json(const struct json_node *node, struct text *text)
{
    bool is_object = node->kind == JSON_OBJECT;
    if (node->kind == JSON_STRING) {
        text_json_string(text, node->text);
    } else if (is_object || node->kind == JSON_LIST) {
        text_add(text, is_object ? "{" : "[");
        for (const struct json_node *child = node->first; child != NULL; child = child->next) {
            if (child != node->first) text_add(text, ", ");
            if (is_object) {
                text_json_string(text, child->key);
                text_add(text, ": ");
            }
            read_write_json(child, text);
        }
        text_add(text, is_object ? "}" : "]");
    } else {
        text_add(text, node->text);
    }
}

bool read_is_json(struct arena *arena, const char *text)
{
    const struct json_source source = {.name = "", .directory = "."};
    struct json_node *node;
    return json_parse(arena, &source, text, strlen(text), &node, NULL) == 0;
}

/* Whether --set takes the text as that string. */
static bool is_bare_word(struct arena *arena, const char *text)
{
    const char *start = text + strspn(text, " \t");
    return *start != 0 && *start != '{' && *start != '[' && *start != '"' && !read_is_json(arena, text);
}

const char *read_setting_value(struct config_reading *reading, const struct json_node *node)
{
    if (node->kind == JSON_STRING && is_bare_word(reading->arena, node->text)) {
        const char *copy = arena_strdup(reading->arena, node->text);
        if (copy == NULL) config_report_nomem(reading);
        return copy;
    }
    struct text text;
    text_init(&text);
    read_write_json(node, &text);
    return read_keep(reading, &text);
}
