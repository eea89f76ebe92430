#include "analysis/export/openmetrics.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FLUSH_BYTES = 1 << 16 };

/* --- Names --- */

/* A unit of the dictionary of metrics, how parts of names spell it, and its words in OpenMetrics. Without a spelling,
 * the name keeps all its parts. Of the rows of a unit the first that the name spells counts, else the last. */
struct unit_word {
    const char *unit, *spelling, *word;
};

static const struct unit_word unit_words[] = {{"s", "s", "seconds"},
                                              {"B", "bytes", "bytes"},
                                              {"J", "j_per_job", "joules_per_job"},
                                              {"J", "j_per_request", "joules_per_request"},
                                              {"J", "j", "joules"},
                                              {"W", "w", "watts"},
                                              {"GPU", "gpus", "gpus"},
                                              {"GPU s", "gpu_s", "gpu_seconds"},
                                              {"token", "tokens", "tokens"},
                                              {"step", NULL, "steps"},
                                              {"1/s", "per_s", "per_second"},
                                              {"token/s", "tokens_per_s", "tokens_per_second"},
                                              {"token/GPU s", "tokens_per_gpu_s", "tokens_per_gpu_second"},
                                              {"J/token", "j_per_output_token", "joules_per_token"},
                                              {"token/J", "tokens_per_j", "tokens_per_joule"},
                                              {"token/$", "tokens_per_usd", "tokens_per_usd"},
                                              {"$", "usd", "usd"},
                                              {"$/h", "usd_per_h", "usd_per_hour"},
                                              {"$/job", "usd_per_job", "usd_per_job"},
                                              {"$/request", "usd_per_met_request", "usd_per_met_request"},
                                              {"$/token", "usd_per_output_token", "usd_per_token"},
                                              {0}};

static const struct unit_word share = {"1", "frac", "ratio"};

/* Whether a part of the name, from `part` up to `end`, is the spelling or ends in '_' and it. */
static bool ends_in(const char *part, const char *end, const char *spelling)
{
    const size_t n = (size_t)(end - part), n_spelling = strlen(spelling);
    if (n < n_spelling || strncmp(end - n_spelling, spelling, n_spelling) != 0) return false;
    return n == n_spelling || end[-(ptrdiff_t)n_spelling - 1] == '_';
}

static size_t part_length(const char *part)
{
    return strcspn(part, ".[");
}

/* The first part of the name that spells the unit; NULL: none does. */
static const char *find_spelling(const char *name, const char *spelling)
{
    for (const char *part = name; spelling != NULL; part++) {
        const char *end = part + part_length(part);
        if (ends_in(part, end, spelling)) return part;
        part = end;
        if (*part != '.') break;
    }
    return NULL;
}

static const struct unit_word *find_unit(const char *name, const char *unit)
{
    const struct unit_word *last = NULL;
    for (const struct unit_word *word = unit_words; word->unit != NULL; word++) {
        if (strcmp(word->unit, unit) != 0) continue;
        if (find_spelling(name, word->spelling) != NULL) return word;
        last = word;
    }
    if (last != NULL) return last;
    return strcmp(unit, "1") == 0 && find_spelling(name, share.spelling) != NULL ? &share : NULL;
}

static void add_name_bytes(struct text *text, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) text_add_bytes(text, isalnum((unsigned char)bytes[i]) ? &bytes[i] : "_", 1);
}

const char *openmetrics_name(const char *name, const char *unit, struct text *text)
{
    const struct unit_word *word = find_unit(name, unit);
    const char *spelled = word != NULL ? find_spelling(name, word->spelling) : NULL;
    text_add(text, "orrery");
    for (const char *part = name; *part != 0 && *part != '[';) {
        const size_t n = part_length(part);
        size_t kept = n;
        if (part == spelled) kept -= strlen(word->spelling);
        if (kept > 0 && kept < n) kept--; /* the '_' before the unit */
        if (kept > 0) text_add(text, "_");
        add_name_bytes(text, part, kept);
        part += n + (part[n] == '.');
    }
    if (word == NULL) return "";
    text_printf(text, "_%s", word->word);
    return word->word;
}

/* --- Text --- */

/* Escapes a text for a line of HELP or a value of a label. */
static void add_escaped(struct text *text, const char *chars)
{
    for (; *chars != 0; chars++) {
        if (*chars == '\n')
            text_add(text, "\\n");
        else if (*chars == '\\' || *chars == '"')
            text_printf(text, "\\%c", *chars);
        else
            text_add_bytes(text, chars, 1);
    }
}

static void add_label(struct text *text, const char *name, const char *value)
{
    text_printf(text, ",%s=\"", name);
    add_escaped(text, value);
    text_add(text, "\"");
}

static void add_value(struct text *text, double value)
{
    if (isinf(value))
        text_add(text, value > 0 ? "+Inf" : "-Inf");
    else
        text_json_number(text, value);
}

static const char *column_text(sqlite3_stmt *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query, column);
    return text != NULL ? text : "";
}

static void add_run(struct text *text, sqlite3_stmt *query)
{
    static const char *const labels[] = {"name", "version", "commit", "seed", "status", "result_hash"};
    text_printf(text, "orrery_run_info{run=\"%" PRId64 "\"", (int64_t)sqlite3_column_int64(query, 0));
    for (int i = 0; i < (int)(sizeof labels / sizeof *labels); i++)
        add_label(text, labels[i], column_text(query, i + 1));
    text_add(text, "} 1\n");
}

/* The lines above the samples of a family. */
static void add_family(struct text *text, const char *family, const char *unit, const char *name,
                       const char *definition)
{
    text_printf(text, "# TYPE %s gauge\n", family);
    if (*unit != 0) text_printf(text, "# UNIT %s %s\n", family, unit);
    text_printf(text, "# HELP %s %.*s", family, (int)strcspn(name, "["), name);
    if (definition != NULL) {
        text_add(text, ": ");
        add_escaped(text, definition);
    }
    text_add(text, "\n");
}

static void add_sample(struct text *text, const char *family, const char *name, sqlite3_stmt *query)
{
    text_printf(text, "%s{run=\"%" PRId64 "\"", family, (int64_t)sqlite3_column_int64(query, 0));
    add_label(text, "name", column_text(query, 1));
    const char *bracket = strchr(name, '[');
    if (bracket != NULL) {
        const size_t n = strcspn(bracket + 1, "]");
        struct text entity;
        text_init(&entity);
        text_add_bytes(&entity, bracket + 1, n);
        add_label(text, "entity", entity.chars);
        text->failed |= entity.failed;
        text_fini(&entity);
    }
    text_add(text, "} ");
    add_value(text, sqlite3_column_double(query, 4));
    text_add(text, "\n");
}

/* --- Rows --- */

/* The family that is being written. */
struct exposition {
    struct text *text;
    struct text family;
    openmetrics_help_fn help;
};

/* Metrics come in the order of their names: a family is complete before the next one begins. */
static void add_metric(struct exposition *exposition, sqlite3_stmt *query)
{
    const char *name = column_text(query, 2);
    struct text family;
    text_init(&family);
    const char *unit = openmetrics_name(name, column_text(query, 3), &family);
    exposition->text->failed |= family.failed;
    if (exposition->text->failed) {
        text_fini(&family);
        return;
    }
    if (exposition->family.chars == NULL || strcmp(exposition->family.chars, family.chars) != 0)
        add_family(exposition->text, family.chars, unit, name, exposition->help(name));
    add_sample(exposition->text, family.chars, name, query);
    text_fini(&exposition->family);
    exposition->family = family;
}

typedef void (*add_fn)(struct exposition *exposition, sqlite3_stmt *query);

static void add_run_row(struct exposition *exposition, sqlite3_stmt *query)
{
    add_run(exposition->text, query);
}

/* Adds each row of the query, which has the run's number as its only parameter. */
static int add_rows(const struct database *database, const char *sql, int64_t run_id, add_fn add,
                    struct exposition *exposition, const struct export_target *target, struct diag *diag)
{
    sqlite3_stmt *query;
    int step = SQLITE_DONE, code = database_prepare(database, sql, &query, "read results", diag);
    if (code != 0) return code;
    sqlite3_bind_int64(query, 1, run_id);
    while (code == 0 && (step = sqlite3_step(query)) == SQLITE_ROW) {
        add(exposition, query);
        if (exposition->text->failed) code = diag_nomem_at(diag, database->path);
        if (code == 0 && exposition->text->length >= FLUSH_BYTES)
            code = target->write(target->context, exposition->text);
    }
    if (code == 0 && step != SQLITE_DONE) code = database_error(database, "read results", diag);
    sqlite3_finalize(query);
    return code;
}

int export_openmetrics(const struct database *database, int64_t run_id, openmetrics_help_fn help,
                       const struct export_target *target, struct diag *diag)
{
    static const char runs[] =
        "SELECT id, name, version, git_commit, seed, status, result_hash FROM run WHERE ?1 IN (0, id) ORDER BY id";
    static const char metrics[] =
        "SELECT r.id, r.name, m.name, m.unit, m.value FROM metric AS m JOIN run AS r ON r.id = m.run_id "
        "WHERE ?1 IN (0, r.id) AND m.value NOT NULL "
        "ORDER BY substr(m.name, 1, instr(m.name || '[', '[') - 1), m.unit, r.id, m.name";
    struct text text;
    struct exposition exposition = {.text = &text, .help = help};
    text_init(&text);
    text_init(&exposition.family);
    text_add(&text, "# TYPE orrery_run info\n# HELP orrery_run runs of the results database\n");
    int code = add_rows(database, runs, run_id, add_run_row, &exposition, target, diag);
    if (code == 0) code = add_rows(database, metrics, run_id, add_metric, &exposition, target, diag);
    text_add(&text, "# EOF\n");
    if (code == 0) code = text.failed ? diag_nomem_at(diag, database->path) : target->write(target->context, &text);
    text_fini(&exposition.family);
    text_fini(&text);
    return code;
}
