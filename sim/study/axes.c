#include "sim/study/axes.h"

#include "sim/study/equal.h"
#include "sim/study/nest.h"
#include "sim/study/range.h"
#include "sim/study/read.h"

#include <stdio.h>
#include <string.h>

/* Allocates an axis of n_rows x n_keys; NULL when out of memory. */
static const char **make_table(struct config_reading *reading, struct axis *axis, size_t n_rows, size_t n_keys)
{
    const char **values = read_alloc(reading, n_rows * n_keys, sizeof *values);
    const char **places = read_alloc(reading, n_rows * n_keys, sizeof *places);
    *axis = (struct axis){.n_rows = n_rows, .n_keys = n_keys, .values = values, .places = places};
    for (size_t i = 0; places != NULL && i < n_rows * n_keys; i++) places[i] = "";
    return places != NULL ? values : NULL;
}

/* Notes the places of a column's values: items of a list, or one range for all. */
static void note_places(struct config_reading *reading, const struct json_node *node, const struct axis *axis,
                        size_t column)
{
    const char **places = (const char **)axis->places;
    const struct json_node *item = node->kind == JSON_LIST && node->n == axis->n_rows ? node->first : NULL;
    char where[DIAG_WHERE_CHARS];
    const char *place = NULL;
    for (size_t row = 0; row < axis->n_rows; row++) {
        if (place == NULL || item != NULL)
            place = arena_strdup(reading->arena, json_where(item != NULL ? item : node, where, sizeof where));
        if (place == NULL) {
            config_report_nomem(reading);
            return;
        }
        places[row * axis->n_keys + column] = place;
        if (item != NULL) item = item->next;
    }
}

static void note_all_places(struct config_reading *reading, const struct json_node *columns, const struct axis *axis)
{
    size_t column = 0;
    for (const struct json_node *node = columns->first; node != NULL; node = node->next)
        note_places(reading, node, axis, column++);
}

static bool is_key(struct config_reading *reading, const struct json_node *at, const char *key)
{
    if (nest_is_key(key)) return true;
    config_report(reading, at, "such as services.chat.replicas", "'%s' is not a key of a scenario", key);
    return false;
}

static void add_axis(struct config_reading *reading, struct study_axes *axes, const struct axis *axis)
{
    struct axis *grown = read_alloc(reading, axes->n + 1, sizeof *grown);
    if (grown == NULL) return;
    if (axes->n > 0) memcpy(grown, axes->axes, axes->n * sizeof *grown);
    grown[axes->n++] = *axis;
    axes->axes = grown;
}

/* Copies the keys of an object's members. */
static const char **read_key_names(struct config_reading *reading, const struct json_node *object)
{
    const char **keys = read_alloc(reading, object->n, sizeof *keys);
    size_t i = 0;
    for (const struct json_node *member = object->first; keys != NULL && member != NULL; member = member->next) {
        is_key(reading, member, member->key);
        keys[i] = arena_strdup(reading->arena, member->key);
        if (keys[i++] == NULL) config_report_nomem(reading);
    }
    return keys;
}

static bool is_filled_list(struct config_reading *reading, const struct json_node *node, const char *key)
{
    char shown[DIAG_TEXT_CHARS / 2];
    if (node->kind == JSON_LIST && node->n > 0) return true;
    config_report(reading, node, NULL, "'%s' must be a list of at least one value, got %s", key,
                  node->kind == JSON_LIST ? "an empty one" : json_show(node, shown, sizeof shown));
    return false;
}

/* Fills a column of an axis with the items of a list. */
static void read_column(struct config_reading *reading, const struct json_node *list, size_t n_keys,
                        const char **values)
{
    size_t row = 0;
    for (const struct json_node *item = list->first; item != NULL; item = item->next)
        values[n_keys * row++] = read_setting_value(reading, item);
}

/* The items of a list, to be compared; NULL when out of memory. */
static const struct json_node **list_items(struct config_reading *reading, const struct json_node *list)
{
    const struct json_node **items = read_alloc(reading, list->n, sizeof *items);
    size_t i = 0;
    for (const struct json_node *item = list->first; items != NULL && item != NULL; item = item->next)
        items[i++] = item;
    return items;
}

static bool has_repeat(struct config_reading *reading, const struct json_node *const *items, const struct axis *axis,
                       size_t rows[2])
{
    const int found = equal_find_rows(items, axis->n_rows, axis->n_keys, rows);
    if (found < 0) config_report_nomem(reading);
    return found == 1;
}

/* 8 and 8.0 have equal runs, as have "10min" and "600s". */
static void report_repeats(struct config_reading *reading, const struct json_node *list, const struct axis *axis)
{
    const struct json_node **items = list_items(reading, list);
    size_t rows[2];
    if (items == NULL || !has_repeat(reading, items, axis, rows)) return;
    const char *first = axis->values[rows[0]], *again = axis->values[rows[1]];
    if (strcmp(first, again) == 0)
        config_report(reading, list, NULL, "the value %s comes more than once", again);
    else
        config_report(reading, items[rows[1]], "leave one of them out", "the values %s and %s are equal", first, again);
}

/* In a range, only neighbours can be equal, and all values have one unit. */
static void report_range_repeats(struct config_reading *reading, const struct json_node *at, const struct axis *axis)
{
    for (size_t i = 1; i < axis->n_rows && reading->code == 0; i++)
        if (strcmp(axis->values[i], axis->values[i - 1]) == 0)
            config_report(reading, at, "write the ends with a decimal point where fractions are meant",
                          "the value %s comes more than once", axis->values[i]);
}

/* The rows of a zip are equal if all their columns are. */
static void report_equal_rows(struct config_reading *reading, const struct json_node *zip, const struct axis *axis)
{
    const struct json_node **items = read_alloc(reading, axis->n_rows * axis->n_keys, sizeof *items);
    size_t column = 0, rows[2];
    if (items == NULL) return;
    for (const struct json_node *list = zip->first; list != NULL; list = list->next, column++) {
        size_t row = 0;
        for (const struct json_node *item = list->first; item != NULL; item = item->next)
            items[axis->n_keys * row++ + column] = item;
    }
    if (reading->code == 0 && has_repeat(reading, items, axis, rows))
        config_report(reading, zip, NULL, "items %zu and %zu of the lists are the same point", rows[0] + 1,
                      rows[1] + 1);
}

/* {"key": ..., "values": [...]} */
static void read_list_axis(struct config_reading *reading, const struct json_node *node, struct axis *axis)
{
    const struct json_node *list = read_member(reading, node, "values", "an axis with a 'key'");
    if (list == NULL || !is_filled_list(reading, list, "values")) return;
    const char **values = make_table(reading, axis, list->n, 1);
    if (values == NULL) return;
    read_column(reading, list, 1, values);
    note_places(reading, list, axis, 0);
    if (reading->code == 0) report_repeats(reading, list, axis);
}

/* {"key": ..., "linear": {"from": ..., "to": ..., "n": ...}} */
static void read_range_axis(struct config_reading *reading, const struct json_node *node, bool is_log,
                            struct axis *axis)
{
    static const char *const known[] = {"from", "to", "n", NULL};
    struct range range;
    if (!read_object(reading, node, "a range")) return;
    read_keys(reading, node, "a range", known);
    const struct json_node *from = read_member(reading, node, "from", "a range");
    const struct json_node *to = read_member(reading, node, "to", "a range");
    read_member(reading, node, "n", "a range");
    size_t n = (size_t)read_integer(reading, node, "n", 2, 1e6, 2);
    if (from == NULL || to == NULL || !range_read(reading, from, to, is_log, &range)) return;
    const char **values = make_table(reading, axis, n, 1);
    for (size_t i = 0; values != NULL && i < n; i++) {
        values[i] = range_show(&range, range_at(&range, (double)i / (double)(n - 1)), reading->arena);
        if (values[i] == NULL) config_report_nomem(reading);
    }
    if (values != NULL) note_places(reading, node, axis, 0);
    if (reading->code == 0) report_range_repeats(reading, node, axis);
}

static void read_keyed_axis(struct config_reading *reading, const struct json_node *node, struct study_axes *axes)
{
    static const char *const known[] = {"key", "values", "linear", "log", NULL};
    const struct json_node *linear = json_member(node, "linear"), *log = json_member(node, "log");
    const char **keys = read_alloc(reading, 1, sizeof *keys);
    struct axis axis = {0};
    read_keys(reading, node, "an axis", known);
    if (keys == NULL) return;
    keys[0] = read_text(reading, node, "key", NULL);
    if (keys[0] == NULL || !is_key(reading, json_member(node, "key"), keys[0])) return;
    if ((json_member(node, "values") != NULL) + (linear != NULL) + (log != NULL) > 1)
        config_report(reading, node, NULL, "an axis has one of 'values', 'linear' and 'log'");
    else if (linear != NULL || log != NULL)
        read_range_axis(reading, linear != NULL ? linear : log, log != NULL, &axis);
    else
        read_list_axis(reading, node, &axis);
    axis.keys = keys;
    if (axis.n_rows > 0) add_axis(reading, axes, &axis);
}

static bool is_filled_object(struct config_reading *reading, const struct json_node *node, const char *what)
{
    if (!read_object(reading, node, what)) return false;
    if (node->n == 0) config_report(reading, node, NULL, "%s must have at least one key", what);
    return node->n > 0;
}

/* {"grid": {"a.b": [...], ...}} */
static void read_grid(struct config_reading *reading, const struct json_node *node, struct study_axes *axes)
{
    static const char *const known[] = {"grid", NULL};
    const struct json_node *grid = json_member(node, "grid");
    read_keys(reading, node, "a grid", known);
    if (!is_filled_object(reading, grid, "'grid'")) return;
    for (const struct json_node *list = grid->first; list != NULL; list = list->next) {
        struct axis axis;
        if (!is_key(reading, list, list->key) || !is_filled_list(reading, list, list->key)) continue;
        const char **keys = read_alloc(reading, 1, sizeof *keys), **values = make_table(reading, &axis, list->n, 1);
        if (keys == NULL || values == NULL || (keys[0] = arena_strdup(reading->arena, list->key)) == NULL) return;
        axis.keys = keys;
        read_column(reading, list, 1, values);
        note_places(reading, list, &axis, 0);
        if (reading->code == 0) report_repeats(reading, list, &axis);
        add_axis(reading, axes, &axis);
    }
}

/* {"zip": {"a.b": [...], ...}} */
static void read_zip(struct config_reading *reading, const struct json_node *node, struct study_axes *axes)
{
    static const char *const known[] = {"zip", NULL};
    const struct json_node *zip = json_member(node, "zip");
    struct axis axis;
    read_keys(reading, node, "a zip", known);
    if (!is_filled_object(reading, zip, "'zip'")) return;
    size_t n = zip->first->n, column = 0;
    for (const struct json_node *list = zip->first; list != NULL; list = list->next) {
        if (!is_filled_list(reading, list, list->key)) return;
        if (list->n == n) continue;
        config_report(reading, list, "a zip takes one item of each list at a time",
                      "'%s' has %zu values, but '%s' has %zu", list->key, list->n, zip->first->key, n);
        return;
    }
    const char **values = make_table(reading, &axis, n, zip->n);
    axis.keys = read_key_names(reading, zip);
    if (values == NULL || axis.keys == NULL) return;
    for (const struct json_node *list = zip->first; list != NULL; list = list->next)
        read_column(reading, list, zip->n, values + column++);
    note_all_places(reading, zip, &axis);
    if (reading->code == 0) report_equal_rows(reading, zip, &axis);
    add_axis(reading, axes, &axis);
}

/* {"sample": ..., "n": ..., "seed": ..., "ranges": {...}} */
static void read_sample(struct config_reading *reading, const struct json_node *node, struct study_axes *axes)
{
    static const char *const known[] = {"sample", "n", "seed", "ranges", NULL};
    static const char *const kinds[] = {"random", "sobol", NULL};
    struct axis axis;
    read_keys(reading, node, "a sample", known);
    read_member(reading, node, "n", "a sample");
    const struct json_node *ranges = read_member(reading, node, "ranges", "a sample");
    struct sampling sampling = {.is_sobol = read_choice(reading, node, "sample", kinds) == 1,
                                .n = (size_t)read_integer(reading, node, "n", 1, 1e6, 1),
                                .seed = read_integer(reading, node, "seed", 0, 9e15, 1), .axis = axes->n};
    if (ranges == NULL || !is_filled_object(reading, ranges, "'ranges'")) return;
    const char **values = make_table(reading, &axis, sampling.n, ranges->n);
    axis.keys = read_key_names(reading, ranges);
    if (values == NULL || axis.keys == NULL) return;
    sample_fill(reading, &sampling, ranges, values);
    note_all_places(reading, ranges, &axis);
    add_axis(reading, axes, &axis);
}

static void read_axis(struct config_reading *reading, const struct json_node *node, struct study_axes *axes)
{
    static const struct {
        const char *key;
        void (*read)(struct config_reading *reading, const struct json_node *node, struct study_axes *axes);
    } forms[] = {{"key", read_keyed_axis}, {"grid", read_grid}, {"zip", read_zip}, {"sample", read_sample}};
    if (!read_object(reading, node, "an axis")) return;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (json_member(node, forms[i].key) == NULL) continue;
        forms[i].read(reading, node, axes);
        return;
    }
    config_report(reading, node, NULL, "an axis has one of 'key', 'grid', 'zip' and 'sample'");
}

/* The number of a key within its axis; sets *axis. */
static size_t find_column(const struct study_axes *axes, size_t i, const struct axis **axis)
{
    size_t a = 0;
    for (; i >= axes->axes[a].n_keys; a++) i -= axes->axes[a].n_keys;
    *axis = &axes->axes[a];
    return i;
}

static const char *key_at(const struct study_axes *axes, size_t i)
{
    const struct axis *axis;
    size_t column = find_column(axes, i, &axis);
    return axis->keys[column];
}

/* A key must be set once, and not within another key's value. */
static void check_keys(struct config_reading *reading, const struct json_node *list, const struct study_axes *axes)
{
    size_t n = axes_keys(axes);
    for (size_t i = 0; i < n && reading->code == 0; i++) {
        const char *key = key_at(axes, i), *outer = axes_overrule(axes, key, false, reading->arena);
        for (size_t j = 0; j < i && reading->code == 0; j++)
            if (strcmp(key, key_at(axes, j)) == 0)
                config_report(reading, list, NULL, "'%s' is varied by more than one axis", key);
        if (outer != NULL)
            config_report(reading, list, "leave it out of those values",
                          "'%s' is varied, but values of '%s' set it too", key, outer);
    }
}

/* Orders keys: a key precedes all keys within it, else the order of the axes. */
static void order_keys(struct config_reading *reading, struct study_axes *axes)
{
    size_t n = axes_keys(axes), *order = read_alloc(reading, n, sizeof *order);
    for (size_t i = 0; order != NULL && i < n; i++) {
        size_t place = 0;
        while (place < i && !nest_within(key_at(axes, i), key_at(axes, order[place]))) place++;
        memmove(&order[place + 1], &order[place], (i - place) * sizeof *order);
        order[place] = i;
    }
    axes->order = order;
}

void axes_read(struct config_reading *reading, const struct json_node *list, struct study_axes *axes)
{
    char shown[DIAG_TEXT_CHARS / 2];
    *axes = (struct study_axes){0};
    if (list == NULL || list->kind == JSON_NULL) return;
    if (list->kind != JSON_LIST) {
        config_report(reading, list, "\"axes\": [ {...}, ... ]", "'axes' must be a list, got %s",
                      json_show(list, shown, sizeof shown));
        return;
    }
    for (const struct json_node *node = list->first; node != NULL; node = node->next) read_axis(reading, node, axes);
    if (reading->code == 0) check_keys(reading, list, axes);
    if (reading->code == 0) order_keys(reading, axes);
}

size_t axes_points(const struct study_axes *axes)
{
    size_t n = 1;
    for (size_t i = 0; i < axes->n; i++) {
        if (n > STUDY_MAX_RUNS / axes->axes[i].n_rows) return STUDY_MAX_RUNS + 1;
        n *= axes->axes[i].n_rows;
    }
    return n;
}

size_t axes_keys(const struct study_axes *axes)
{
    size_t n = 0;
    for (size_t i = 0; i < axes->n; i++) n += axes->axes[i].n_keys;
    return n;
}

/* The index of key `i` at a point, in the tables of its axis. */
static size_t find_cell(const struct study_axes *axes, size_t point, size_t i, const struct axis **axis)
{
    size_t n_faster = 1, column = find_column(axes, i, axis);
    for (const struct axis *b = *axis + 1; b < axes->axes + axes->n; b++) n_faster *= b->n_rows;
    return point / n_faster % (*axis)->n_rows * (*axis)->n_keys + column;
}

struct run_param axes_param(const struct study_axes *axes, size_t point, size_t i)
{
    const struct axis *axis;
    size_t cell = find_cell(axes, point, i, &axis);
    return (struct run_param){.key = axis->keys[cell % axis->n_keys], .value = axis->values[cell]};
}

const char *axes_place(const struct study_axes *axes, size_t point, size_t i)
{
    const struct axis *axis;
    size_t cell = find_cell(axes, point, i, &axis);
    return axis->places[cell];
}

/* Whether `key` is, or ends with ".end". */
static bool ends_with(const char *key, const char *end)
{
    const size_t n = strlen(key), n_end = strlen(end);
    return n >= n_end && strcmp(key + n - n_end, end) == 0 && (n == n_end || key[n - n_end - 1] == '.');
}

const char *axes_name(const struct study_axes *axes, size_t i)
{
    const char *key = key_at(axes, i);
    if (axes->names != NULL && axes->names[i] != NULL) return axes->names[i];
    for (const char *start = key + strlen(key); start > key;) {
        while (start > key && start[-1] != '.') start--;
        bool is_alone = true;
        for (size_t other = 0; other < axes_keys(axes); other++)
            is_alone = is_alone && (other == i || !ends_with(key_at(axes, other), start));
        if (is_alone) return start;
        if (start > key) start--;
    }
    return key;
}

/* A name stands in tables and in AXIS=VALUE: it must be a word, and neither another axis nor a column may have it. */
static const char *problem_of(const struct study_axes *axes, size_t at, const char *name)
{
    static const char *const columns[] = {"run", "name", "seed", "seeds", "status", "started", "note"};
    if (name[0] == 0 || name[strcspn(name, "=,. \t\n")] != 0) return "is no word";
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strcmp(name, columns[i]) == 0) return "is a column of its own";
    for (size_t i = 0; i < axes_keys(axes); i++)
        if (i != at && strcmp(axes_name(axes, i), name) == 0) return "is the name of another axis";
    return NULL;
}

/* The index of a key, or their number. */
static size_t find_key(const struct study_axes *axes, const char *key)
{
    size_t i = 0;
    while (i < axes_keys(axes) && strcmp(key_at(axes, i), key) != 0) i++;
    return i;
}

void axes_read_names(struct config_reading *reading, const struct json_node *names, struct study_axes *axes)
{
    if (names == NULL || names->kind == JSON_NULL || !read_object(reading, names, "'names'")) return;
    const char **read = read_alloc(reading, axes_keys(axes) + 1, sizeof *read);
    if (read == NULL) return;
    axes->names = read;
    for (const struct json_node *node = names->first; node != NULL; node = node->next) {
        const size_t i = find_key(axes, node->key);
        if (i < axes_keys(axes))
            read[i] = read_text(reading, names, node->key, "");
        else
            config_report(reading, node, "name keys of \"axes\"", "no axis varies '%s'", node->key);
    }
    for (const struct json_node *node = names->first; node != NULL; node = node->next) {
        const size_t i = find_key(axes, node->key);
        const char *problem = i < axes_keys(axes) ? problem_of(axes, i, read[i]) : NULL;
        if (problem != NULL)
            config_report(reading, node, "such as \"router\"", "'%s', the name of '%s', %s", read[i], node->key,
                          problem);
    }
}

bool axes_vary(const struct study_axes *axes, const char *key)
{
    for (size_t i = 0; i < axes_keys(axes); i++)
        if (strcmp(key_at(axes, i), key) == 0) return true;
    return false;
}

const char *axes_overrule(const struct study_axes *axes, const char *key, bool or_replaces, struct arena *arena)
{
    for (size_t i = 0; i < axes_keys(axes); i++) {
        const struct axis *axis;
        size_t column = find_column(axes, i, &axis);
        const char *outer = axis->keys[column];
        if (!nest_within(outer, key)) continue;
        for (size_t row = 0; row < axis->n_rows; row++) {
            const char *value = axis->values[row * axis->n_keys + column];
            if (nest_has(value, key + strlen(outer) + 1, arena) || (or_replaces && nest_replaces(value, arena)))
                return outer;
        }
    }
    return NULL;
}

const char *axes_within(const struct study_axes *axes, const char *key)
{
    for (size_t i = 0; i < axes_keys(axes); i++)
        if (nest_within(key, key_at(axes, i))) return key_at(axes, i);
    return NULL;
}

size_t axes_rows(const struct study_axes *axes)
{
    size_t n = 1;
    for (size_t i = 0; i < axes->n; i++) n += axes->axes[i].n_rows;
    return n;
}

bool axes_mark(const struct study_axes *axes, size_t point, bool *seen)
{
    bool is_new = axes->n == 0 && !seen[0];
    seen[0] = seen[0] || axes->n == 0;
    size_t n_faster = axes_points(axes), first = 0;
    for (size_t i = 0; i < axes->n; i++) {
        n_faster /= axes->axes[i].n_rows;
        bool *row = &seen[first + point / n_faster % axes->axes[i].n_rows];
        is_new = is_new || !*row;
        *row = true;
        first += axes->axes[i].n_rows;
    }
    return is_new;
}
