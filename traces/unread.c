#include "traces/unread.h"

#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LISTED = 12, MAX_NAME_CHARS = 64 };

static bool is_read(int field, const int *positions, size_t n_columns)
{
    for (size_t i = 0; i < n_columns; i++)
        if (positions[i] == field) return true;
    return false;
}

/* The column without a place in the file that is nearest to `name`; NULL: none. `absent` has room for all. */
static const char *nearest_absent(const char *name, const struct csv_column *columns, size_t n_columns,
                                  const int *positions, const char **absent)
{
    size_t n = 0;
    for (size_t i = 0; i < n_columns; i++)
        if (positions[i] < 0 && columns[i].name[0] != '\0') absent[n++] = columns[i].name;
    return text_nearest(name, absent, n);
}

/* As the header writes it; "number 3" if its name is empty. */
static void name_of(const struct csv_field *field, int number, char name[MAX_NAME_CHARS])
{
    if (field->n_chars == 0)
        snprintf(name, MAX_NAME_CHARS, "number %d", number);
    else
        snprintf(name, MAX_NAME_CHARS, "%.*s", (int)(field->n_chars < MAX_NAME_CHARS ? field->n_chars : MAX_NAME_CHARS),
                 field->chars);
}

int unread_warn(const struct csv *csv, const struct csv_column *columns, size_t n_columns, const int *positions,
                struct diag *diag)
{
    const char **absent = mem_zalloc(n_columns, sizeof *absent);
    struct text names, hint;
    char name[MAX_NAME_CHARS], where[DIAG_WHERE_CHARS] = "";
    int n = 0;
    if (absent == NULL) return diag_nomem_at(diag, csv_name(csv));
    text_init(&names);
    text_init(&hint);
    for (int i = 0; i < (int)csv_n_fields(csv); i++) {
        if (is_read(i, positions, n_columns)) continue;
        name_of(&csv_fields(csv)[i], i + 1, name);
        if (n++ == 0) csv_where(csv, (size_t)i, 0, where);
        if (n <= MAX_LISTED) text_printf(&names, "%s%s", n > 1 ? ", " : "", name);
        const char *near = hint.length == 0 ? nearest_absent(name, columns, n_columns, positions, absent) : NULL;
        if (near != NULL) text_printf(&hint, "did you mean '%s' by '%s'? ", near, name);
    }
    if (n > MAX_LISTED) text_printf(&names, " and %d more", n - MAX_LISTED);
    text_add(&hint, "'columns' names what is read, as --set columns.KEY=NAME");
    const bool failed = names.failed || hint.failed;
    if (n > 0 && !failed)
        diag_warning(diag, where, hint.chars, n == 1 ? "nothing reads the column %s" : "nothing reads the columns %s",
                     names.chars);
    text_fini(&names);
    text_fini(&hint);
    mem_free(absent);
    return failed ? diag_nomem_at(diag, csv_name(csv)) : 0;
}
