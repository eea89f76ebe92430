/* Binding: walks the table and the document together, and reports all problems on the way. Members are taken in the
 * order of the document, so that findings come in the order of its lines; then come the fields it leaves out. */
#include "sim/core/config/config_elsewhere.h"
#include "sim/core/config/config_scalar.h"
#include "sim/core/config/config_table.h"
#include "sim/core/config/config_tree.h"
#include "sim/core/path.h"

#include <stdio.h>
#include <string.h>

enum { PATH_CHARS = 160 };

struct binding {
    struct config_reading reading;
    struct arena scratch; /* for what is needed only while binding */
};

static const struct json_source default_source = {.name = "default", .directory = "."};

static void bind_value(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                       void *out);
static void bind_absent(struct binding *binding, const struct config_field *field, const struct config_trail *outer,
                        const struct json_node *null, void *out);

static void *field_at(const struct config_field *field, void *base)
{
    return (char *)base + field->offset;
}

static bool is_set(const struct json_node *node)
{
    return node != NULL && node->kind != JSON_NULL;
}

static size_t count_fields(const struct config_field *fields)
{
    size_t n = 0;
    while (fields != NULL && fields[n].name != NULL) n++;
    return n;
}

static const struct config_field *find_field(const struct config_field *fields, const char *key)
{
    for (; fields != NULL && fields->name != NULL; fields++)
        if (strcmp(fields->name, key) == 0) return fields;
    return NULL;
}

/* Reports a key of a variant whose alternative was named elsewhere: it was meant for the one that stood here before.
 * Returns false when that is not the case. */
static bool report_left_over(struct binding *binding, const char *tag, const struct config_trail *section,
                             const struct json_node *member)
{
    const struct json_node *named = json_member(section->node, tag);
    if (!is_set(named) || named->source == member->source) return false;
    char path[PATH_CHARS], where[DIAG_WHERE_CHARS], hint[DIAG_TEXT_CHARS];
    struct json_node key = *member;
    key.place = member->key_place;
    json_where(named, where, sizeof where);
    config_trail_path(section, path, sizeof path);
    if (member->source->has_lines)
        snprintf(hint, sizeof hint, "write --set %.100s.%.40s=null, as the %s was changed by %.120s", path, member->key,
                 tag, where);
    else /* --set comes last */
        snprintf(hint, sizeof hint, "the %s was chosen by %.120s; --set %.100s.%s=NAME takes another one", tag, where,
                 path, tag);
    config_report(&binding->reading, &key, hint, "unknown key '%s' in '%s' with %s '%s'", member->key, path, tag,
                  named->text);
    return true;
}

/* Writes where a key belongs, of this name or of that which it has in other programs. Returns false when that is not
 * known. */
static bool find_belonging(const struct binding *binding, const struct config_field *fields, const char *key,
                           const char *section, char *hint, size_t hint_bytes)
{
    char path[PATH_CHARS];
    const struct config_families *families = binding->reading.families;
    const bool has_synonyms = families != NULL && families->synonym != NULL;
    const char *usual = has_synonyms ? families->synonym(key, 0) : NULL, *dot = section[0] != 0 ? "." : "", *name;
    for (size_t i = 0; has_synonyms && (name = families->synonym(key, i)) != NULL; i++) {
        if (find_field(fields, name) == NULL) continue;
        snprintf(hint, hint_bytes, "here it is '%s'", name);
        return true;
    }
    const char *advice = families != NULL && families->advice != NULL ? families->advice(section, key) : NULL;
    if (strpbrk(key, "/[]") != NULL) advice = "dots join the parts of a key: services.NAME.replicas";
    if (advice != NULL) {
        snprintf(hint, hint_bytes, "%s", advice);
        return true;
    }
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++)
        if (text_distance(field->name, key) == 1) return false; /* a slip */
    if (config_find_elsewhere(fields, families, usual != NULL ? usual : key, path, sizeof path)) {
        snprintf(hint, hint_bytes, "it is '%s%s%s'", section, dot, path);
        return true;
    }
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++)
        if (text_distance(field->name, key) <= strlen(key) / 3) return false; /* slips */
    if (!config_find_slip(fields, families, key, path, sizeof path)) return false;
    snprintf(hint, hint_bytes, "did you mean '%s%s%s'?", section, dot, path);
    return true;
}

/* Writes that the key is the name of a member of a map beside it: 'services.chat' for 'chat'. Returns false if it is
 * none. */
static bool find_named(const struct config_field *fields, const struct json_node *node, const struct json_node *member,
                       char *hint, size_t hint_bytes)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++) {
        const struct json_node *map = field->kind == CONFIG_MAP ? json_member(node, field->name) : NULL;
        if (map == NULL || json_member(map, member->key) == NULL) continue;
        const bool has_inner = member->kind == JSON_OBJECT && member->first != NULL;
        snprintf(hint, hint_bytes, "it is '%s.%s%s%s'", field->name, member->key, has_inner ? "." : "",
                 has_inner ? member->first->key : "");
        return true;
    }
    return false;
}

/* `tag` is known as well, when it is not NULL. */
static void report_unknown_key(struct binding *binding, const struct config_field *fields, const char *tag,
                               const struct config_trail *section, const struct json_node *member)
{
    size_t n = count_fields(fields);
    const char **known = arena_alloc(&binding->scratch, (n + 1) * sizeof *known);
    if (known == NULL) {
        config_report_nomem(&binding->reading);
        return;
    }
    for (size_t i = 0; i < n; i++) known[i] = fields[i].name;
    if (tag != NULL) known[n++] = tag;
    char where[DIAG_WHERE_CHARS], path[PATH_CHARS], after[PATH_CHARS + 8] = "", hint[2 * PATH_CHARS + 16];
    if (*config_trail_path(section, path, sizeof path) != 0) snprintf(after, sizeof after, " in '%s'", path);
    json_key_where(member, where, sizeof where);
    const struct json_node *named = tag != NULL ? json_member(section->node, tag) : NULL;
    const bool is_set_anew = is_set(named) && !named->source->has_lines && member->source->has_lines; /* by --set */
    if (is_set_anew && report_left_over(binding, tag, section, member)) return;
    if (find_named(fields, section->node, member, hint, sizeof hint) ||
        find_belonging(binding, fields, member->key, path, hint, sizeof hint)) {
        struct json_node key = *member;
        key.place = member->key_place;
        config_report(&binding->reading, &key, hint, "unknown key '%s'%s", member->key, after);
        return;
    }
    if (tag == NULL || text_nearest(member->key, known, n) != NULL || !report_left_over(binding, tag, section, member))
        config_report_unknown(&binding->reading, where, "key", member->key, after, known, n);
}

/* Fills the struct at `base` from the members of the trail's node; all are absent when that is NULL. `tag` is a member
 * that was read before, or NULL. */
static void bind_members(struct binding *binding, const struct config_field *fields, const char *tag,
                         const struct config_trail *section, void *base)
{
    const struct json_node *first = section->node != NULL ? section->node->first : NULL;
    for (const struct json_node *member = first; member != NULL; member = member->next) {
        if (tag != NULL && strcmp(member->key, tag) == 0) continue;
        const struct config_field *field = find_field(fields, member->key);
        struct config_trail trail = {section, member->key, 0, member};
        if (field == NULL && !member->removes)
            report_unknown_key(binding, fields, tag, section, member);
        else if (is_set(member))
            bind_value(binding, field, &trail, field_at(field, base));
    }
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++) {
        const struct json_node *member = json_member(section->node, field->name);
        if (!is_set(member)) bind_absent(binding, field, section, member, field_at(field, base));
    }
}

/* The node of a default: JSON for what is not a string there. NULL after a report. */
static struct json_node *parse_default(struct binding *binding, const struct config_field *field)
{
    bool is_json = field->kind == CONFIG_BOOL || field->kind == CONFIG_INT || field->kind == CONFIG_REAL ||
                   (field->kind == CONFIG_QUANTITY && field->dim == UNIT_NONE) ||
                   (!config_is_scalar(field->kind) && field->kind != CONFIG_VARIANT);
    struct json_node *node = NULL;
    if (is_json) {
        struct diag *diag = binding->reading.code != SIM_E_NOMEM ? binding->reading.diag : NULL;
        int code = json_parse(&binding->scratch, &default_source, field->value, strlen(field->value), &node, diag);
        if (code != 0) binding->reading.code = code;
        return code == 0 ? node : NULL;
    }
    node = arena_alloc(&binding->scratch, sizeof *node);
    if (node == NULL)
        config_report_nomem(&binding->reading);
    else
        *node = (struct json_node){.kind = JSON_STRING, .source = &default_source, .text = field->value};
    return node;
}

static void report_missing(struct binding *binding, const struct config_field *field, const struct config_trail *outer,
                           const struct json_node *null)
{
    char path[PATH_CHARS], expected[DIAG_TEXT_CHARS / 2], hint[DIAG_TEXT_CHARS], after[PATH_CHARS + 8] = "";
    snprintf(hint, sizeof hint, "expected %s", config_expected(field, expected, sizeof expected));
    if (field->family != NULL && strstr(field->family, "-trace") != NULL)
        snprintf(hint, sizeof hint, "expected an object, such as {\"path\": \"trace.csv\"}");
    if (*config_trail_path(outer, path, sizeof path) != 0) snprintf(after, sizeof after, " in '%s'", path);
    config_report(&binding->reading, null != NULL ? null : config_trail_node(outer), hint, "missing '%s'%s",
                  field->name, after);
}

/* `null` is the null that the document says so with, or NULL. */
static void bind_absent(struct binding *binding, const struct config_field *field, const struct config_trail *outer,
                        const struct json_node *null, void *out)
{
    struct config_trail trail = {outer, field->name, 0, NULL};
    if (field->flags & CONFIG_REQUIRED) {
        report_missing(binding, field, outer, null);
    } else if (field->value != NULL) {
        trail.node = parse_default(binding, field);
        if (trail.node != NULL) bind_value(binding, field, &trail, out);
    } else if (field->kind == CONFIG_SECTION && !(field->flags & CONFIG_OPTIONAL)) {
        bind_members(binding, field->fields, NULL, &trail, out);
    } else if (config_is_scalar(field->kind)) {
        config_clear_scalar(field, out);
    }
}

/* One element of a list or map: a section, or the value of the table's single nameless field. */
static void bind_element(struct binding *binding, const struct config_field *fields, const struct config_trail *trail,
                         void *element)
{
    if (fields->name == NULL)
        bind_value(binding, fields, trail, field_at(fields, element));
    else if (trail->node->kind == JSON_OBJECT)
        bind_members(binding, fields, NULL, trail, element);
    else {
        char name[PATH_CHARS];
        const struct config_field section = {.kind = CONFIG_SECTION};
        config_report_type(&binding->reading, &section, config_trail_name(trail, name, sizeof name), trail->node, NULL);
    }
}

/* A GPU may be a MIG slice. */
static bool is_name(const char *key, bool may_be_slice)
{
    static const char name_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    const size_t n = strspn(key, name_chars);
    if (n > 0 && key[n] == ':' && may_be_slice) return is_name(key + n + 1, false);
    return n > 0 && key[n] == 0;
}

static void report_name(struct binding *binding, const struct config_field *map, const struct json_node *member)
{
    struct json_node key = *member;
    key.place = member->key_place;
    config_report(&binding->reading, &key, (map->flags & CONFIG_GPUS) != 0 ? "a MIG slice is GPU:PROFILE" : NULL,
                  "the name '%s' may hold only letters, digits, '_', '.' and '-'", member->key);
}

/* Takes room for the elements of a list or map whose number has been counted. */
static char *make_elements(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                           struct config_list *list)
{
    char name[PATH_CHARS];
    config_check_range(&binding->reading, field, config_trail_name(trail, name, sizeof name), trail->node,
                       (double)list->n, "items");
    if (list->n == 0) return NULL;
    list->items = arena_alloc(binding->reading.arena, list->n * field->elem_bytes);
    if (list->items == NULL) {
        config_report_nomem(&binding->reading);
        list->n = 0;
    }
    return list->items;
}

/* The name that --set meant by one that is near to it: a member that --set alone made and that lacks what members
 * require. NULL: it is no such member, or out of memory. */
static const char *meant_name(struct binding *binding, const struct config_field *fields, const struct json_node *map,
                              const struct json_node *member)
{
    const struct config_field *field = fields;
    if (member->source->has_lines || member->kind != JSON_OBJECT) return NULL;
    while (field->name != NULL && (!(field->flags & CONFIG_REQUIRED) || is_set(json_member(member, field->name))))
        field++;
    const char **names = arena_alloc(&binding->scratch, map->n * sizeof *names);
    size_t n = 0;
    if (field->name == NULL || names == NULL) return NULL;
    for (const struct json_node *other = map->first; other != NULL; other = other->next)
        if (other != member && is_set(other)) names[n++] = other->key;
    return text_nearest(member->key, names, n);
}

static void report_meant_name(struct binding *binding, const struct config_trail *trail, const struct json_node *member,
                              const char *meant)
{
    char path[PATH_CHARS], hint[PATH_CHARS];
    snprintf(hint, sizeof hint, "did you mean '%s'?", meant);
    config_report(&binding->reading, member, hint, "no '%s' in '%s'", member->key,
                  config_trail_path(trail, path, sizeof path));
}

static void bind_map(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                     struct config_list *map)
{
    for (const struct json_node *member = trail->node->first; member != NULL; member = member->next)
        map->n += is_set(member);
    char *element = make_elements(binding, field, trail, map);
    if (element == NULL) return;
    for (const struct json_node *member = trail->node->first; member != NULL; member = member->next) {
        if (!is_set(member)) continue;
        struct config_trail inner = {trail, member->key, 0, member};
        if (!is_name(member->key, (field->flags & CONFIG_GPUS) != 0)) report_name(binding, field, member);
        char *name = arena_strdup(binding->reading.arena, member->key);
        if (name == NULL) config_report_nomem(&binding->reading);
        *(const char **)(void *)element = name;
        const char *meant = meant_name(binding, field->fields, trail->node, member);
        if (meant != NULL)
            report_meant_name(binding, trail, member, meant);
        else
            bind_element(binding, field->fields, &inner, element);
        element += field->elem_bytes;
    }
}

static void bind_list(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                      struct config_list *list)
{
    list->n = trail->node->n;
    char *element = make_elements(binding, field, trail, list);
    struct config_trail inner = {.outer = trail, .node = trail->node->first};
    for (; inner.index < list->n; inner.index++, inner.node = inner.node->next, element += field->elem_bytes)
        bind_element(binding, field->fields, &inner, element);
}

static void bind_stretch(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                         struct config_list *list)
{
    char name[PATH_CHARS];
    sim_ns *ends = arena_alloc(binding->reading.arena, 2 * sizeof *ends);
    if (ends == NULL) {
        config_report_nomem(&binding->reading);
        return;
    }
    *list = (struct config_list){.n = 2, .items = ends};
    config_read_stretch(&binding->reading, field->fields, config_trail_name(trail, name, sizeof name), trail->node,
                        ends);
}

/* The names of a family's alternatives. NULL after a report. */
static const char **list_alternatives(struct binding *binding, const char *family, size_t *n)
{
    const struct config_families *families = binding->reading.families;
    struct config_alternative alternative;
    *n = config_count_alternatives(families, family);
    const char **names = arena_alloc(&binding->scratch, (*n + 1) * sizeof *names);
    if (names == NULL) config_report_nomem(&binding->reading);
    for (size_t i = 0; names != NULL && i < *n; i++) {
        families->alternative(families->context, family, i, &alternative);
        names[i] = alternative.name;
    }
    return names;
}

/* Writes the names of a family's alternatives. Returns false after a report. */
static bool show_alternatives(struct binding *binding, const struct config_field *field, const char *before, char *hint,
                              size_t hint_bytes)
{
    const struct config_families *families = binding->reading.families;
    const bool is_listed = families != NULL && families->listing != NULL;
    char what[PATH_CHARS];
    size_t n;
    const char **known = list_alternatives(binding, field->family, &n);
    if (known == NULL) return false;
    snprintf(what, sizeof what, "%s %s", field->family, field->tag);
    config_words(hint, hint_bytes, before, known, n, is_listed ? families->listing(what) : NULL);
    return true;
}

/* The name of an alternative that the section's file tells, or NULL after a report. */
static const char *guess_tag(struct binding *binding, const struct config_field *field, const char *name,
                             const struct config_trail *trail)
{
    const struct json_node *section = trail->node;
    const struct config_families *families = binding->reading.families;
    const struct json_node *file = json_member(section, "path");
    char problem[DIAG_TEXT_CHARS] = "", hint[DIAG_TEXT_CHARS], key[PATH_CHARS];
    const char *guessed = NULL;
    if (families != NULL && families->guess != NULL && is_set(file) && file->kind == JSON_STRING && *file->text != 0) {
        const char *path = path_join_data(&binding->scratch, file->source->directory, file->text, families->data);
        if (path == NULL) {
            config_report_nomem(&binding->reading);
            return NULL;
        }
        guessed = families->guess(families->context, field->family, config_trail_path(trail, key, sizeof key), path,
                                  problem, hint);
    }
    if (guessed != NULL) return guessed;
    if (problem[0] != 0) {
        config_report(&binding->reading, file, hint, "%s", problem);
        return NULL;
    }
    if (show_alternatives(binding, field, "it is one of ", hint, sizeof hint))
        config_report(&binding->reading, section, hint, "missing '%s' in '%s'", field->tag, name);
    return NULL;
}

/* Whether an alternative of the family reads the file at its key "path". */
static bool reads_file(const struct binding *binding, const char *family)
{
    const struct config_families *families = binding->reading.families;
    struct config_alternative alternative;
    for (size_t i = 0; families != NULL && families->alternative(families->context, family, i, &alternative); i++) {
        const struct config_field *field = find_field(alternative.fields, "path");
        if (field != NULL && field->kind == CONFIG_PATH) return true;
    }
    return false;
}

/* A value that is neither an object nor the name of an alternative that may stand for one. */
static void report_no_variant(struct binding *binding, const struct config_field *field,
                              const struct config_trail *trail)
{
    char name[PATH_CHARS], path[PATH_CHARS], hint[DIAG_TEXT_CHARS] = "";
    struct config_alternative alternative;
    const bool is_text = trail->node->kind == JSON_STRING;
    config_trail_path(trail, path, sizeof path);
    if (is_text && config_find_alternative(binding->reading.families, field->family, trail->node->text, &alternative)) {
        snprintf(hint, sizeof hint, "set '%s.%s'", path, field->tag);
    } else if (is_text && reads_file(binding, field->family)) {
        snprintf(hint, sizeof hint, "a file is named by '%s.path'", path);
    } else {
        char before[2 * PATH_CHARS];
        snprintf(before, sizeof before, "'%s.%s' is one of ", path, field->tag);
        if (!show_alternatives(binding, field, field->flags & CONFIG_SHORT ? "a name will do: " : before, hint,
                               sizeof hint))
            return;
    }
    config_report_type(&binding->reading, field, config_trail_name(trail, name, sizeof name), trail->node, hint);
}

/* The node that names the alternative: the section's tag, or the string that stands for all of it. NULL after a
 * report. */
static const struct json_node *find_tag(struct binding *binding, const struct config_field *field,
                                        const struct config_trail *trail, struct json_node *room)
{
    const struct json_node *node = trail->node, *tag = json_member(node, field->tag);
    bool may_be_short = (field->flags & CONFIG_SHORT) || node->source == &default_source;
    if (node->kind == JSON_STRING && may_be_short) return node;
    char name[PATH_CHARS];
    config_trail_name(trail, name, sizeof name);
    if (node->kind != JSON_OBJECT) {
        report_no_variant(binding, field, trail);
        return NULL;
    }
    if (is_set(tag)) {
        const struct config_field text = {.kind = CONFIG_TEXT};
        if (tag->kind == JSON_STRING) return tag;
        config_report_type(&binding->reading, &text, field->tag, tag, NULL);
        return NULL;
    }
    *room = *node;
    room->text = node->text != NULL ? node->text : field->value;
    if (room->text == NULL) room->text = guess_tag(binding, field, name, trail);
    return room->text != NULL ? room : NULL;
}

static void report_unknown_alternative(struct binding *binding, const struct config_field *field,
                                       const struct json_node *tag)
{
    const struct config_families *families = binding->reading.families;
    size_t n;
    const char **known = list_alternatives(binding, field->family, &n);
    if (known == NULL) return;
    char where[DIAG_WHERE_CHARS], what[PATH_CHARS], hint[DIAG_TEXT_CHARS];
    const char *alias = families != NULL && families->alias != NULL ? families->alias(field->family, tag->text) : NULL;
    if (alias != NULL) {
        snprintf(hint, sizeof hint, "did you mean '%s'?", alias);
        config_report(&binding->reading, tag, hint, "unknown %s %s '%s'", field->family, field->tag, tag->text);
        return;
    }
    const char *stray = families != NULL && families->stray != NULL ? families->stray(field->family, tag->text) : NULL;
    if (stray != NULL) {
        config_report(&binding->reading, tag, stray, "unknown %s %s '%s'", field->family, field->tag, tag->text);
        return;
    }
    const bool has_remedy = families != NULL && families->remedy != NULL && strcmp(field->tag, "policy") == 0;
    const char *after = has_remedy ? families->remedy : "";
    snprintf(what, sizeof what, "%s %s", field->family, field->tag);
    config_report_unknown(&binding->reading, json_where(tag, where, sizeof where), what, tag->text, after, known, n);
}

static void bind_variant(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                         struct config_variant *variant)
{
    struct json_node room;
    struct config_alternative alternative = {0};
    const bool has_families = binding->reading.families != NULL; /* else nothing says what parameters there are */
    const struct json_node *tag = find_tag(binding, field, trail, &room);
    if (tag == NULL) return;
    if (has_families && !config_find_alternative(binding->reading.families, field->family, tag->text, &alternative)) {
        report_unknown_alternative(binding, field, tag);
        return;
    }
    variant->name = arena_strdup(binding->reading.arena, tag->text);
    variant->entry = alternative.entry;
    size_t bytes = alternative.params_bytes;
    variant->params = bytes > 0 ? arena_alloc(binding->reading.arena, bytes) : NULL;
    if (variant->name == NULL || (bytes > 0 && variant->params == NULL))
        config_report_nomem(&binding->reading);
    else if (has_families)
        bind_members(binding, alternative.fields, field->tag, trail, variant->params);
}

/* Takes {"value": V, "source": ..., "sure": ...} apart. Returns the node of the value, NULL after a report. */
static const struct json_node *open_sourced(struct binding *binding, const struct config_trail *trail)
{
    static const struct config_field fields[] = {
        {.name = "value", .kind = CONFIG_TEXT},
        {.name = "source", .kind = CONFIG_TEXT, .offset = offsetof(struct config_origin, source)},
        {.name = "sure", .kind = CONFIG_CHOICE, .choices = config_sures},
        {0},
    };
    const struct json_node *value = NULL;
    for (const struct json_node *member = trail->node->first; member != NULL; member = member->next) {
        const struct config_field *field = find_field(fields, member->key);
        union {
            const char *text;
            int choice;
        } checked;
        if (field == NULL)
            report_unknown_key(binding, fields, NULL, trail, member);
        else if (field == fields)
            value = member;
        else if (is_set(member))
            config_read_scalar(&binding->reading, field, field->name, member, &checked);
    }
    if (is_set(value)) return value;
    char name[PATH_CHARS];
    config_report(&binding->reading, trail->node, NULL, "missing 'value' in '%s'",
                  config_trail_path(trail, name, sizeof name));
    return NULL;
}

static void bind_scalar(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                        void *out)
{
    char name[PATH_CHARS];
    const struct json_node *node = trail->node;
    if ((field->flags & CONFIG_SOURCED) && node->kind == JSON_OBJECT) node = open_sourced(binding, trail);
    if (node != NULL)
        config_read_scalar(&binding->reading, field, config_trail_name(trail, name, sizeof name), node, out);
}

/* A value in place of a list, a map or a section, whose keys are shown for a value that one of them may take. */
static void report_no_section(struct binding *binding, const struct config_field *field,
                              const struct config_trail *trail)
{
    char name[PATH_CHARS], path[PATH_CHARS], before[2 * PATH_CHARS], hint[DIAG_TEXT_CHARS] = "";
    const bool is_scalar = trail->node->kind != JSON_LIST && trail->node->kind != JSON_OBJECT;
    const bool is_map = field->kind == CONFIG_MAP;
    const size_t n = is_scalar && (is_map || field->kind == CONFIG_SECTION) ? count_fields(field->fields) : 0;
    const char **known = arena_alloc(&binding->scratch, (n + 1) * sizeof *known);
    if (known == NULL) {
        config_report_nomem(&binding->reading);
        return;
    }
    for (size_t i = 0; i < n; i++) known[i] = field->fields[i].name;
    snprintf(before, sizeof before, "set a key of '%.160s%s': ", config_trail_path(trail, path, sizeof path),
             is_map ? ".NAME" : "");
    if (n > 0) config_words(hint, sizeof hint, before, known, n, NULL);
    config_report_type(&binding->reading, field, config_trail_name(trail, name, sizeof name), trail->node, hint);
}

/* The trail's node is there and no null, except for items of lists, where a null is a wrong type. */
static void bind_value(struct binding *binding, const struct config_field *field, const struct config_trail *trail,
                       void *out)
{
    enum json_kind wanted = field->kind == CONFIG_LIST ? JSON_LIST : JSON_OBJECT;
    if (config_is_scalar(field->kind)) {
        bind_scalar(binding, field, trail, out);
    } else if (field->kind == CONFIG_VARIANT) {
        bind_variant(binding, field, trail, out);
    } else if ((field->flags & CONFIG_STRETCH) && trail->node->kind == JSON_STRING) {
        bind_stretch(binding, field, trail, out);
    } else if (trail->node->kind != wanted) {
        report_no_section(binding, field, trail);
    } else if (field->kind == CONFIG_LIST) {
        bind_list(binding, field, trail, out);
    } else if (field->kind == CONFIG_MAP) {
        bind_map(binding, field, trail, out);
    } else {
        bind_members(binding, field->fields, NULL, trail, out);
    }
}

int config_bind(const struct config *config, const struct config_field *fields, const struct config_families *families,
                struct arena *arena, void *out, size_t bytes, struct diag *diag)
{
    memset(out, 0, bytes);
    struct binding binding = {.reading = {.arena = arena, .diag = diag, .families = families}};
    const struct config_trail top = {.node = config->root};
    arena_init(&binding.scratch);
    bind_members(&binding, fields, NULL, &top, out);
    arena_fini(&binding.scratch);
    return binding.reading.code;
}
