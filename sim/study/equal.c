#include "sim/study/equal.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/text.h"
#include "sim/core/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- The canonical text of a value: values mean the same if and only if their texts are equal --- */

bool equal_is_whole(const struct json_node *node)
{
    return node->kind == JSON_NUMBER && strpbrk(node->text, ".eE") == NULL;
}

/* -0 as 0. */
static double unsigned_zero(double value)
{
    return value == 0.0 ? 0.0 : value;
}

static void add_number(struct text *text, const struct json_node *node)
{
    const double value = unsigned_zero(node->number);
    if (equal_is_whole(node))
        text_printf(text, "i%s;", value == 0.0 ? "0" : node->text);
    else if (fabs(value) < 0x1p53 && value == floor(value))
        text_printf(text, "i%.0f;", value);
    else
        text_printf(text, "r%.17g;", value);
}

/* The dimension of a text that is a quantity, and its value in SI; UNIT_NONE: it is none. Each unit has one
 * dimension. */
static enum unit_dim quantity_of(const char *text, double *si)
{
    const char *why, *start = text + strspn(text, " \t");
    if (*start == 0 || strchr("0123456789.+-$", *start) == NULL) return UNIT_NONE;
    for (int dim = UNIT_NONE + 1; dim < UNIT_DIM_COUNT; dim++)
        if (unit_parse(text, (enum unit_dim)dim, si, &why) == 0) return (enum unit_dim)dim;
    return UNIT_NONE;
}

/* Quantities have 15 digits, which the rounding of their units leaves as they are. The length of other texts, and of
 * keys, keeps neighbours apart. */
static void add_string(struct text *text, const char *chars)
{
    double si;
    const enum unit_dim dim = quantity_of(chars, &si);
    if (dim != UNIT_NONE)
        text_printf(text, "q%d:%.15g;", (int)dim, unsigned_zero(si));
    else
        text_printf(text, "s%zu:%s;", strlen(chars), chars);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp((*(const struct json_node *const *)a)->key, (*(const struct json_node *const *)b)->key);
}

static void add_value(struct text *text, const struct json_node *node);

/* The order of an object's members does not matter. */
static void add_object(struct text *text, const struct json_node *object)
{
    const struct json_node **members = mem_alloc((object->n + 1) * sizeof *members);
    size_t n = 0;
    if (members == NULL) text->failed = true;
    for (const struct json_node *member = object->first; members != NULL && member != NULL; member = member->next)
        members[n++] = member;
    if (n > 0) qsort(members, n, sizeof *members, compare_keys);
    text_add(text, "{");
    for (size_t i = 0; i < n; i++) {
        text_printf(text, "%zu:%s", strlen(members[i]->key), members[i]->key);
        add_value(text, members[i]);
    }
    text_add(text, "}");
    mem_free(members);
}

static void add_list(struct text *text, const struct json_node *list)
{
    text_add(text, "[");
    for (const struct json_node *item = list->first; item != NULL; item = item->next) add_value(text, item);
    text_add(text, "]");
}

static void add_value(struct text *text, const struct json_node *node)
{
    switch (node->kind) {
    case JSON_NUMBER: add_number(text, node); return;
    case JSON_BOOL: text_add(text, node->number != 0.0 ? "t" : "f"); return;
    case JSON_STRING: add_string(text, node->text); return;
    case JSON_OBJECT: add_object(text, node); return;
    case JSON_LIST: add_list(text, node); return;
    case JSON_NULL: break;
    }
    text_add(text, "n");
}

/* --- The rows --- */

struct row {
    struct text text; /* of its items, one after the other */
    size_t number;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int by_text = strcmp(x->text.chars, y->text.chars);
    return by_text != 0 ? by_text : (x->number > y->number) - (x->number < y->number);
}

static int find_repeat(struct row *rows, size_t n, size_t found[2])
{
    int has = 0;
    qsort(rows, n, sizeof *rows, compare_rows);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(rows[i - 1].text.chars, rows[i].text.chars) != 0 || (has && rows[i].number > found[1])) continue;
        has = 1;
        found[0] = rows[i - 1].number;
        found[1] = rows[i].number;
    }
    return has;
}

int equal_find_rows(const struct json_node *const *items, size_t n, size_t n_columns, size_t found[2])
{
    struct row *rows = mem_zalloc(n + 1, sizeof *rows);
    int code = rows == NULL ? SIM_E_NOMEM : 0;
    for (size_t i = 0; i < n && code == 0; i++) {
        rows[i].number = i;
        for (size_t c = 0; c < n_columns; c++) add_value(&rows[i].text, items[i * n_columns + c]);
        if (rows[i].text.failed || rows[i].text.chars == NULL) code = SIM_E_NOMEM;
    }
    if (code == 0) code = find_repeat(rows, n, found);
    for (size_t i = 0; i < n && rows != NULL; i++) text_fini(&rows[i].text);
    mem_free(rows);
    return code;
}
