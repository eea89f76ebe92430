#include "sim/study/equal.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/units.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Two values --- */

bool equal_is_whole(const struct json_node *node)
{
    return node->kind == JSON_NUMBER && strpbrk(node->text, ".eE") == NULL;
}

static bool are_numbers_equal(const struct json_node *a, const struct json_node *b)
{
    const bool is_whole = equal_is_whole(a);
    if (is_whole && equal_is_whole(b)) return strcmp(a->text, b->text) == 0;
    if (is_whole != equal_is_whole(b) && fabs(a->number) >= 0x1p53) return false;
    return a->number == b->number;
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

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 4 * DBL_EPSILON * fabs(a);
}

static bool are_texts_equal(const char *a, const char *b)
{
    double a_si, b_si;
    if (strcmp(a, b) == 0) return true;
    const enum unit_dim dim = quantity_of(a, &a_si);
    return dim != UNIT_NONE && quantity_of(b, &b_si) == dim && is_near(a_si, b_si);
}

/* The order of an object's members does not matter, that of a list's items does. */
static bool are_children_equal(const struct json_node *a, const struct json_node *b)
{
    const struct json_node *other = b->first;
    if (a->n != b->n) return false;
    for (const struct json_node *child = a->first; child != NULL; child = child->next) {
        const struct json_node *match = a->kind == JSON_OBJECT ? json_member(b, child->key) : other;
        if (match == NULL || !equal_values(child, match)) return false;
        other = other->next;
    }
    return true;
}

bool equal_values(const struct json_node *a, const struct json_node *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case JSON_NUMBER: return are_numbers_equal(a, b);
    case JSON_BOOL: return a->number == b->number;
    case JSON_STRING: return are_texts_equal(a->text, b->text);
    case JSON_OBJECT:
    case JSON_LIST: return are_children_equal(a, b);
    case JSON_NULL: break;
    }
    return true;
}

/* --- The items of a column --- */

struct item {
    const struct json_node *node;
    enum unit_dim dim; /* of a quantity */
    double value;
    bool is_whole;
    size_t row, class; /* class: the first row with an equal item */
};

static struct item make_item(const struct json_node *node, size_t row)
{
    struct item item = {.node = node, .dim = UNIT_NONE, .is_whole = equal_is_whole(node), .row = row, .class = row};
    if (node->kind == JSON_NUMBER || node->kind == JSON_BOOL) item.value = node->number;
    if (node->kind == JSON_STRING) item.dim = quantity_of(node->text, &item.value);
    if (item.dim == UNIT_NONE && node->kind == JSON_STRING) item.value = 0;
    return item;
}

static bool is_nested(const struct item *item)
{
    return item->node->kind == JSON_OBJECT || item->node->kind == JSON_LIST;
}

static int order(double a, double b)
{
    return (a > b) - (a < b);
}

/* Equal items, but for objects and lists, lie side by side. */
static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    const bool has_text = x->node->kind == JSON_NUMBER || x->node->kind == JSON_STRING;
    if (x->node->kind != y->node->kind) return x->node->kind < y->node->kind ? -1 : 1;
    if (x->dim != y->dim) return x->dim < y->dim ? -1 : 1;
    if (x->value != y->value) return order(x->value, y->value);
    if (x->is_whole != y->is_whole) return x->is_whole ? -1 : 1;
    const int by_text = has_text ? strcmp(x->node->text, y->node->text) : 0;
    return by_text != 0 ? by_text : (x->row > y->row) - (x->row < y->row);
}

static void class_nested(struct item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i && items[i].class == items[i].row; j++)
            if (items[j].class == items[j].row && equal_values(items[j].node, items[i].node))
                items[i].class = items[j].row;
}

static void class_sorted(struct item *items, size_t n)
{
    size_t end;
    for (size_t begin = 0; begin < n; begin = end) {
        size_t first = items[begin].row;
        end = begin + 1;
        while (end < n && (is_nested(&items[begin]) ? items[end].node->kind == items[begin].node->kind
                                                    : equal_values(items[end - 1].node, items[end].node))) {
            first = items[end].row < first ? items[end].row : first;
            end++;
        }
        if (is_nested(&items[begin])) class_nested(items + begin, end - begin);
        for (size_t i = begin; i < end && !is_nested(&items[begin]); i++) items[i].class = first;
    }
}

/* --- The rows --- */

struct row {
    const size_t *classes; /* [n_columns] */
    size_t n_columns, number;
};

static int compare_classes(const struct row *a, const struct row *b)
{
    for (size_t i = 0; i < a->n_columns; i++)
        if (a->classes[i] != b->classes[i]) return a->classes[i] < b->classes[i] ? -1 : 1;
    return 0;
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int by_class = compare_classes(x, y);
    return by_class != 0 ? by_class : (x->number > y->number) - (x->number < y->number);
}

static int find_repeat(struct row *rows, size_t n, size_t found[2])
{
    int has = 0;
    qsort(rows, n, sizeof *rows, compare_rows);
    for (size_t i = 1; i < n; i++) {
        if (compare_classes(&rows[i - 1], &rows[i]) != 0 || (has && rows[i].number > found[1])) continue;
        has = 1;
        found[0] = rows[i - 1].number;
        found[1] = rows[i].number;
    }
    return has;
}

int equal_find_rows(const struct json_node *const *items, size_t n, size_t n_columns, size_t found[2])
{
    struct item *column = mem_zalloc(n + 1, sizeof *column);
    struct row *rows = mem_zalloc(n + 1, sizeof *rows);
    size_t *classes = mem_zalloc(n * n_columns + 1, sizeof *classes);
    int code = column == NULL || rows == NULL || classes == NULL ? SIM_E_NOMEM : 0;
    for (size_t c = 0; c < n_columns && code == 0; c++) {
        for (size_t i = 0; i < n; i++) column[i] = make_item(items[i * n_columns + c], i);
        qsort(column, n, sizeof *column, compare_items);
        class_sorted(column, n);
        for (size_t i = 0; i < n; i++) classes[column[i].row * n_columns + c] = column[i].class;
    }
    for (size_t i = 0; i < n && code == 0; i++) rows[i] = (struct row){classes + i * n_columns, n_columns, i};
    if (code == 0) code = find_repeat(rows, n, found);
    mem_free(column);
    mem_free(rows);
    mem_free(classes);
    return code;
}
