#include "analysis/gate/decision_log.h"

#include "sim/core/csv.h"
#include "sim/core/input.h"

#include <inttypes.h>
#include <string.h>

enum { N_FIELDS = 7 };

const char decision_log_header[] = "scenario,t_s,service,policy,action,subject,reason\n";

static void add_field(struct text *lines, const char *field, char end)
{
    bool quoted = strpbrk(field, ",\" ") != NULL;
    if (quoted) text_add(lines, "\"");
    for (const char *at = field; *at != 0; at++) {
        char c = (unsigned char)*at < ' ' ? ' ' : *at;
        text_add_bytes(lines, &c, 1);
        if (c == '"') text_add_bytes(lines, &c, 1);
    }
    if (quoted) text_add(lines, "\"");
    text_add_bytes(lines, &end, 1);
}

void decision_log_add(struct text *lines, const char *scenario, const struct decision_made *row)
{
    add_field(lines, scenario, ',');
    text_json_number(lines, row->t_s);
    text_add(lines, ",");
    add_field(lines, row->service, ',');
    add_field(lines, row->policy, ',');
    add_field(lines, row->action, ',');
    text_printf(lines, "%" PRId64 ",", row->subject);
    add_field(lines, row->reason, '\n');
}

struct decision_lines decision_log_take(const char *chars, size_t n_chars, size_t n)
{
    struct decision_lines lines = {.chars = chars};
    while (lines.n < n && lines.n_chars < n_chars) {
        const char *end = memchr(chars + lines.n_chars, '\n', n_chars - lines.n_chars);
        if (end == NULL) break;
        lines.n_chars = (size_t)(end - chars) + 1;
        lines.n++;
    }
    return lines;
}

static int open_lines(const char *name, const struct decision_lines *lines, struct csv **csv, struct diag *diag)
{
    static const struct csv_options options;
    struct input *input;
    *csv = NULL;
    int code = input_open_memory(name, lines->chars, lines->n_chars, &input, diag);
    return code == 0 ? csv_create(input, &options, csv, diag) : code;
}

/* Reads the next row. Returns 1, or 0 at the end. */
static int next_row(struct csv *csv, struct diag *diag)
{
    int got = csv_next(csv, diag);
    if (got <= 0 || csv_n_fields(csv) == N_FIELDS) return got;
    char where[DIAG_WHERE_CHARS];
    csv_where(csv, 0, 0, where);
    return diag_error(diag, SIM_E_DATA, where, NULL, "a decision has %d fields, got %zu", N_FIELDS, csv_n_fields(csv));
}

static bool same_field(const struct csv_field *x, const struct csv_field *y)
{
    return x->n_chars == y->n_chars && memcmp(x->chars, y->chars, x->n_chars) == 0;
}

/* Whether two rows are equal from field `first` on. */
static bool same_row(const struct csv *a, const struct csv *b, size_t first)
{
    const struct csv_field *x = csv_fields(a), *y = csv_fields(b);
    for (size_t i = first; i < N_FIELDS; i++)
        if (!same_field(&x[i], &y[i])) return false;
    return true;
}

enum { FIELD_TIME = 1, FIELD_SERVICE, FIELD_POLICY, FIELD_ACTION, FIELD_REASON = N_FIELDS - 1 };

/* What the world says of an action, behind a policy's own reason; of other rows all. */
static struct csv_field outcome(const struct csv_field *reason)
{
    static const char *const marks[] = {": takes ", ": goes on ", ": gives back "};
    for (size_t at = 0; at < reason->n_chars; at++) {
        const size_t n_chars = reason->n_chars - at;
        for (size_t i = 0; reason->chars[at] == ':' && i < sizeof marks / sizeof *marks; i++)
            if (strlen(marks[i]) <= n_chars && memcmp(reason->chars + at, marks[i], strlen(marks[i])) == 0)
                return (struct csv_field){.chars = reason->chars + at, .n_chars = n_chars};
    }
    return *reason;
}

/* Whether the same is done to the same. Another policy may give another reason. */
static bool same_choice(const struct csv *a, const struct csv *b)
{
    const struct csv_field *x = csv_fields(a), *y = csv_fields(b);
    if (same_field(&x[FIELD_POLICY], &y[FIELD_POLICY])) return same_row(a, b, FIELD_SERVICE);
    const struct csv_field was = outcome(&x[FIELD_REASON]), is = outcome(&y[FIELD_REASON]);
    for (size_t i = FIELD_SERVICE; i < FIELD_REASON; i++)
        if (i != FIELD_POLICY && !same_field(&x[i], &y[i])) return false;
    return same_field(&was, &is);
}

static int copy_row(const struct csv *csv, struct arena *arena, struct decision_line *line)
{
    const char **const texts[] = {&line->t_s,    &line->service, &line->policy,
                                  &line->action, &line->subject, &line->reason};
    const struct csv_field *fields = csv_fields(csv);
    for (size_t i = 0; i + 1 < N_FIELDS; i++) {
        char *copy = arena_alloc(arena, fields[i + 1].n_chars + 1);
        if (copy == NULL) return SIM_E_NOMEM;
        memcpy(copy, fields[i + 1].chars, fields[i + 1].n_chars);
        *texts[i] = copy;
    }
    return 0;
}

/* Reads the rows just before the first difference: parses the log again up to there. */
static int read_context(const struct decision_lines *lines, struct arena *arena, struct divergence *divergence,
                        struct diag *diag)
{
    struct csv *csv;
    size_t n_equal = divergence->first.number - 1;
    int code = open_lines("decisions", lines, &csv, diag);
    for (size_t i = 0; code == 0 && i < n_equal; i++) {
        int got = next_row(csv, diag);
        if (got < 0) code = got;
        if (got > 0 && i + DIVERGENCE_CONTEXT >= n_equal)
            code = copy_row(csv, arena, &divergence->context[divergence->n_context++]);
    }
    csv_destroy(csv);
    return code;
}

/* Two logs, read side by side. */
struct pair {
    struct csv *before, *now;
    bool has_before, has_now;
    size_t number; /* of the current rows, from 1 */
};

static int next_pair(struct pair *pair, struct diag *diag)
{
    int got_before = next_row(pair->before, diag), got_now = next_row(pair->now, diag);
    if (got_before < 0 || got_now < 0) return got_before < 0 ? got_before : got_now;
    pair->has_before = got_before > 0;
    pair->has_now = got_now > 0;
    pair->number++;
    return 0;
}

static int note_parting(const struct pair *pair, struct arena *arena, struct parting *parting)
{
    *parting = (struct parting){.found = true, .number = pair->number, .has_before = pair->has_before,
                                .has_now = pair->has_now};
    int code = pair->has_before ? copy_row(pair->before, arena, &parting->before) : 0;
    return code == 0 && pair->has_now ? copy_row(pair->now, arena, &parting->now) : code;
}

static int find_partings(struct pair *pair, struct arena *arena, struct divergence *divergence, struct diag *diag)
{
    int code = 0;
    while (code == 0) {
        code = next_pair(pair, diag);
        if (code != 0 || (!pair->has_before && !pair->has_now)) return code;
        bool both = pair->has_before && pair->has_now;
        bool is_same = both && same_choice(pair->before, pair->now);
        if (is_same && (divergence->first.found || same_row(pair->before, pair->now, FIELD_TIME))) continue;
        bool is_first = !divergence->first.found;
        code = note_parting(pair, arena, is_first ? &divergence->first : &divergence->choice);
        if (is_first) divergence->is_same_choice = is_same;
        if (!is_same) return code;
    }
    return code;
}

int decision_log_compare(const struct decision_lines *before, const struct decision_lines *now, struct arena *arena,
                         struct divergence *divergence, struct diag *diag)
{
    *divergence = (struct divergence){.n_before = before->n, .n_now = now->n};
    struct pair pair = {0};
    int code = open_lines("decisions of the baseline", before, &pair.before, diag);
    if (code == 0) code = open_lines("decisions", now, &pair.now, diag);
    if (code == 0) code = find_partings(&pair, arena, divergence, diag);
    csv_destroy(pair.before);
    csv_destroy(pair.now);
    return code == 0 && divergence->first.found ? read_context(now, arena, divergence, diag) : code;
}
