#include "sim/catalog/availability.h"

#include "sim/core/csv.h"
#include "sim/core/input.h"
#include "sim/core/json_doc.h"
#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <math.h>
#include <string.h>

const char *const availability_format_names[] = {
    [AVAILABILITY_SKYPILOT] = "skypilot",
    [AVAILABILITY_COUNTS] = "instance-counts",
    [AVAILABILITY_EVENTS] = "instance-events",
    [AVAILABILITY_DATED] = "dated-counts",
    [AVAILABILITY_FORMATS] = NULL,
};

enum { MOST_INSTANCES = 1000000 };

/* Clocks that disagree by no more are put up with. */
static const sim_ns MOST_BACK_NS = 60 * SIM_NS_PER_S;

struct reading {
    struct availability *out;
    size_t capacity;
    sim_ns first_ns; /* time of the first row; below 0: none yet */
    int64_t instances;
    struct csv *csv;
    struct diag *diag;
    int64_t n_back; /* lines that are earlier than one before them */
    char first_back[DIAG_WHERE_CHARS];
};

/* A line that is earlier than one before it, by so much. */
static int go_back(struct reading *reading, sim_ns back_ns)
{
    char where[DIAG_WHERE_CHARS];
    csv_where(reading->csv, 0, 0, where);
    if (back_ns > MOST_BACK_NS)
        return diag_error(reading->diag, SIM_E_DATA, where, "sort the lines by time",
                          "this line is %.6g s earlier than one before it", sim_s_from_ns(back_ns));
    if (reading->n_back++ == 0) memcpy(reading->first_back, where, sizeof where);
    return 0;
}

static void warn_of_back(const struct reading *reading)
{
    if (reading->n_back == 0) return;
    diag_warning(reading->diag, reading->first_back, "sort the lines by time",
                 "%lld line%s up to a minute earlier than one before, and counted from that one's time on",
                 (long long)reading->n_back, reading->n_back == 1 ? " is" : "s are");
}

/* Adds a step: `instances` from time `at_ns` of the file on. */
static int add(struct reading *reading, sim_ns at_ns, int64_t instances)
{
    struct availability *out = reading->out;
    if (reading->first_ns < 0) reading->first_ns = at_ns;
    const sim_ns relative_ns = at_ns - reading->first_ns;
    if (relative_ns < out->end_ns) {
        const int code = go_back(reading, out->end_ns - relative_ns);
        if (code != 0) return code;
    } else {
        out->end_ns = relative_ns;
    }
    if (out->n > 0 && out->steps[out->n - 1].time_ns == out->end_ns) out->n--;
    if (out->n > 0 && out->steps[out->n - 1].instances == instances) return 0;
    return vec_push(&out->steps, &out->n, &reading->capacity, (struct availability_step){out->end_ns, instances});
}

/* --- JSON --- */

static int bad_node(const struct json_node *node, const char *what, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    return diag_error(diag, SIM_E_DATA, json_where(node, where, sizeof where), NULL, "%s", what);
}

static int read_ticks(struct reading *reading, const struct json_node *root)
{
    const struct json_node *gap = json_member(json_member(root, "metadata"), "gap_seconds");
    const struct json_node *data = json_member(root, "data");
    if (gap == NULL || gap->kind != JSON_NUMBER || !(gap->number > 0) || data == NULL || data->kind != JSON_LIST ||
        data->n == 0)
        return bad_node(root, "expected {\"metadata\": {\"gap_seconds\": S}, \"data\": [instances, ...]}",
                        reading->diag);
    const sim_ns gap_ns = sim_ns_from_s(gap->number);
    if (gap_ns == 0 || gap_ns > SIM_NS_MAX / ((int64_t)data->n + 1))
        return bad_node(gap,
                        "the length of all ticks is out of range: a tick is at least 1 ns, all of "
                        "them at most 292 years",
                        reading->diag);
    int64_t tick = 0;
    int code = 0;
    for (const struct json_node *node = data->first; node != NULL && code == 0; node = node->next, tick++) {
        const double n = node->number;
        if (node->kind != JSON_NUMBER || n < 0 || n > MOST_INSTANCES || n != floor(n))
            return bad_node(node, "expected a number of instances", reading->diag);
        code = add(reading, tick * gap_ns, (int64_t)n);
    }
    reading->out->end_ns = tick * gap_ns;
    return code;
}

static int read_json(struct reading *reading, const char *path)
{
    struct arena arena;
    struct json_node *root;
    arena_init(&arena);
    int code = json_load(&arena, path, &root, reading->diag);
    if (code == 0) code = read_ticks(reading, root);
    arena_fini(&arena);
    return code;
}

/* --- Rows --- */

static int bad_field(const struct reading *reading, size_t field, const char *expected)
{
    char where[DIAG_WHERE_CHARS];
    csv_where(reading->csv, field, 0, where);
    return diag_error(reading->diag, SIM_E_DATA, where, NULL, "expected %s", expected);
}

static int read_count(const struct reading *reading, size_t field, int64_t *instances)
{
    const struct csv_field *fields = csv_fields(reading->csv);
    const bool is_there = csv_n_fields(reading->csv) > field;
    if (is_there && number_i64(fields[field].chars, fields[field].n_chars, instances) == NUMBER_OK && *instances >= 0 &&
        *instances <= MOST_INSTANCES)
        return 0;
    return bad_field(reading, field, "a number of instances");
}

static int read_ms(const struct reading *reading, sim_ns *at_ns)
{
    const struct csv_field field = csv_fields(reading->csv)[0];
    const enum number_status status = number_ns(field.chars, field.n_chars, SIM_NS_PER_S / 1000, at_ns);
    return status == NUMBER_OK && *at_ns >= 0 ? 0 : bad_field(reading, 0, "a time in milliseconds");
}

static int counts_row(struct reading *reading)
{
    sim_ns at_ns;
    int64_t instances = 0;
    int code = read_ms(reading, &at_ns);
    if (code == 0) code = read_count(reading, 1, &instances);
    return code != 0 ? code : add(reading, at_ns, instances);
}

static bool is_word(const struct csv_field *field, const char *word)
{
    return field->n_chars == strlen(word) && memcmp(field->chars, word, field->n_chars) == 0;
}

static int events_row(struct reading *reading)
{
    sim_ns at_ns;
    const int code = read_ms(reading, &at_ns);
    if (code != 0) return code;
    const struct csv_field *fields = csv_fields(reading->csv);
    const bool adds = csv_n_fields(reading->csv) > 1 && is_word(&fields[1], "add");
    if (!adds && (csv_n_fields(reading->csv) < 2 || !is_word(&fields[1], "remove")))
        return bad_field(reading, 1, "'add' or 'remove'");
    if (!adds && reading->instances == 0) return bad_field(reading, 1, "no removal where nothing is left");
    reading->instances += adds ? 1 : -1;
    return add(reading, at_ns, reading->instances);
}

static int dated_row(struct reading *reading)
{
    char text[64];
    sim_ns at_ns;
    int64_t instances = 0;
    const struct csv_field *fields = csv_fields(reading->csv);
    if (csv_n_fields(reading->csv) < 3 || fields[0].n_chars + fields[1].n_chars + 2 > sizeof text)
        return bad_field(reading, 0, "a date, a time and a number of instances");
    memcpy(text, fields[0].chars, fields[0].n_chars);
    text[fields[0].n_chars] = ' ';
    memcpy(text + fields[0].n_chars + 1, fields[1].chars, fields[1].n_chars);
    if (number_timestamp(text, fields[0].n_chars + 1 + fields[1].n_chars, &at_ns) != NUMBER_OK || at_ns < 0)
        return bad_field(reading, 0, "a date and a time");
    const int code = read_count(reading, 2, &instances);
    return code != 0 ? code : add(reading, at_ns, instances);
}

static int read_rows(struct reading *reading, const char *path, int (*row)(struct reading *))
{
    struct input *input;
    const struct csv_options options = {.dialect = CSV_DIALECT_DELIMITED};
    int code = input_open(path, &input, reading->diag);
    if (code == 0) code = csv_create(input, &options, &reading->csv, reading->diag);
    if (code != 0) return code;
    while (code == 0 && (code = csv_next(reading->csv, reading->diag)) == 1) code = row(reading);
    if (code == 0 && reading->out->n == 0)
        code = diag_error(reading->diag, SIM_E_DATA, path, NULL, "no row gives a number of instances");
    if (code == 0) warn_of_back(reading);
    csv_destroy(reading->csv);
    return code;
}

int availability_read(const char *path, enum availability_format format, struct availability *availability,
                      struct diag *diag)
{
    static int (*const rows[])(struct reading *) = {
        [AVAILABILITY_COUNTS] = counts_row, [AVAILABILITY_EVENTS] = events_row, [AVAILABILITY_DATED] = dated_row};
    *availability = (struct availability){0};
    struct reading reading = {.out = availability, .first_ns = -1, .diag = diag};
    return format == AVAILABILITY_SKYPILOT ? read_json(&reading, path) : read_rows(&reading, path, rows[format]);
}

void availability_fini(struct availability *availability)
{
    mem_free(availability->steps);
    *availability = (struct availability){0};
}
