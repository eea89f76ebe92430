/* Reads a trace to its end, and reports all that is wrong with it. */
#include "traces/check.h"

#include "sim/core/key_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KINDS = 8, KIND_CHARS = 96 };

/* Findings that differ in the values of their rows. */
struct kind {
    struct diag_item first;
    int64_t n;
    char text[KIND_CHARS]; /* without the value */
};

/* Findings of a trace. Those of a row come to `row` first. */
struct checking {
    struct trace_check *check;
    struct diag *diag, row;
    int n_before, first_error; /* findings of `diag` before */
    int64_t last_row;          /* of the latest finding */
    size_t n_kinds;            /* above KINDS: too many to tell apart */
    struct kind kinds[KINDS];
};

static void begin(struct checking *checking, struct trace_check *check, struct diag *diag)
{
    *check = (struct trace_check){0};
    checking->check = check;
    checking->diag = diag;
    checking->n_before = diag->n_items;
    checking->first_error = 0;
    checking->last_row = 0;
    checking->n_kinds = 0;
    diag_init(&checking->row);
}

/* Counts a finding of a row by its kind. */
static void count_kind(struct checking *checking, const struct diag_item *item)
{
    char text[KIND_CHARS];
    const char *value = strstr(item->text, ", got ");
    size_t i = 0;
    snprintf(text, sizeof text, "%.*s", value != NULL ? (int)(value - item->text) : KIND_CHARS - 1, item->text);
    if (checking->n_kinds > KINDS) return;
    while (i < checking->n_kinds && strcmp(checking->kinds[i].text, text) != 0) i++;
    if (i == checking->n_kinds && ++checking->n_kinds > KINDS) return;
    struct kind *kind = &checking->kinds[i];
    if (i + 1 == checking->n_kinds && kind->n == 0) {
        kind->first = *item;
        snprintf(kind->text, sizeof kind->text, "%s", text);
    }
    kind->n++;
}

/* Findings of the latest row, or of the end of the trace, go to the diag. */
static void take_findings(struct checking *checking, int64_t row)
{
    for (int i = 0; i < checking->row.n_items; i++) {
        const struct diag_item *item = &checking->row.items[i];
        if (item->level == DIAG_WARNING) {
            diag_warning(checking->diag, item->where, item->hint, "%s", item->text);
            continue;
        }
        if (row > checking->last_row) count_kind(checking, item);
        diag_error(checking->diag, item->code, item->where, item->hint, "%s", item->text);
    }
    checking->last_row = row;
    diag_init(&checking->row);
}

/* Counts a code returned by `next`. Returns whether the source goes on. */
static bool count(struct checking *checking, int code, sim_ns time_ns, int64_t row)
{
    struct trace_check *check = checking->check;
    if (checking->row.n_items > 0) take_findings(checking, row);
    if (code == 1) {
        if (check->n_records++ == 0) check->first_ns = time_ns;
        check->last_ns = time_ns;
    } else if (code < 0) {
        check->n_bad_rows += code == SIM_E_DATA;
        if (checking->first_error == 0) checking->first_error = code;
    }
    return code == 1 || code == SIM_E_DATA;
}

/* A header or an end that is wrong is one more than the rows that were read. Where none was read, there are none. That
 * no row can be used is said once more at the end, and counts no further. */
static int64_t rows_of(struct trace_check *check, int64_t n_read, int64_t n_without_row)
{
    if (check->n_records == 0 && n_read > 0 && check->n_bad_rows > n_read) check->n_bad_rows = n_read;
    const int64_t n_reported = check->n_records - n_without_row + check->n_bad_rows;
    return n_read == 0 || n_read > n_reported ? n_read : n_reported;
}

/* All rows are wrong, as with a column of another kind: the first finding of each kind says how many are like it. */
static void say_kinds(const struct checking *checking)
{
    const struct trace_check *check = checking->check;
    struct diag *diag = checking->diag;
    const bool is_small = checking->n_kinds > 0 && checking->n_kinds <= KINDS;
    if (!is_small || check->n_records > 0 || check->n_bad_rows < check->n_rows) return;
    diag->n_items = diag->n_warnings = checking->n_before;
    diag->n_errors = 0;
    for (size_t i = 0; i < checking->n_kinds; i++) {
        const struct kind *kind = &checking->kinds[i];
        const struct diag_item *first = &kind->first;
        if (kind->n == 1)
            diag_error(diag, first->code, first->where, first->hint, "%s", first->text);
        else
            diag_error(diag, first->code, first->where, first->hint, "%s; %" PRId64 " rows are like this", first->text,
                       kind->n);
    }
}

int trace_check_requests(struct request_source *source, struct trace_check *check, struct diag *diag)
{
    struct checking checking = {0};
    struct request_record record;
    int64_t n_later = 0; /* requests of sessions beyond the first, which share its row */
    int code;
    begin(&checking, check, diag);
    do {
        code = source->next(source, &record, &checking.row);
        if (code == 1) {
            n_later += record.session_id > 0 && !record.starts_session && !record.session_is_logged;
            check->prompt_tokens += record.prompt_tokens;
            check->output_tokens += record.output_tokens;
        }
    } while (count(&checking, code, code == 1 ? record.arrival_ns : 0, code < 0 ? source->place(source).row : 0));
    check->n_rows = rows_of(check, source->place(source).row, n_later);
    say_kinds(&checking);
    return checking.first_error;
}

/* Returns 0 or SIM_E_NOMEM. */
static int see_id(struct key_map *ids, int64_t id, struct trace_check *check)
{
    if (key_map_find(ids, (uint64_t)id) < 0) return key_map_set(ids, (uint64_t)id, 0);
    if (check->n_same_ids++ == 0) check->first_same_id = id;
    return 0;
}

int trace_check_jobs(struct job_source *source, struct trace_check *check, struct diag *diag)
{
    struct checking checking = {0};
    struct key_map ids = {0};
    struct job_record record;
    int code;
    begin(&checking, check, diag);
    do {
        code = source->next(source, &record, &checking.row);
        if (code == 1 && see_id(&ids, record.id, check) != 0) code = diag_nomem(&checking.row);
    } while (count(&checking, code, code == 1 ? record.submit_ns : 0, code < 0 ? source->place(source).row : 0));
    key_map_fini(&ids);
    check->n_rows = rows_of(check, source->place(source).row, 0);
    say_kinds(&checking);
    return checking.first_error;
}
