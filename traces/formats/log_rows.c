#include "traces/formats/log_rows.h"

#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) mem_alloc(bytes)
#define uthash_free(block, bytes) mem_free(block)
#include <uthash.h>

struct kept_row {
    int64_t id;
    const char *name;
    int64_t prompt_tokens, output_tokens;
    sim_ns times_ns[LOG_TIMES];
    double tpot_s;
};

struct known_name {
    UT_hash_handle hh;
    int64_t line;
};

struct log_rows {
    bool keep;
    int64_t n_taken;
    bool two_clocks; /* of all rows, as of the first one */
    struct kept_row *kept;
    size_t n, capacity;
    struct known_name *names;
    struct arena arena;
};

struct log_rows *log_rows_create(bool keep)
{
    struct log_rows *rows = mem_zalloc(1, sizeof *rows);
    if (rows == NULL) return NULL;
    rows->keep = keep;
    arena_init(&rows->arena);
    return rows;
}

void log_rows_destroy(void *state)
{
    struct log_rows *rows = state;
    if (rows == NULL) return;
    HASH_CLEAR(hh, rows->names);
    mem_free(rows->kept);
    arena_fini(&rows->arena);
    mem_free(rows);
}

/* --- Checks --- */

static bool is_far(sim_ns a, sim_ns b)
{
    return (a > b ? a - b : b - a) > LOG_CLOCKS_NS;
}

/* Times by one clock come in their order; those that are not logged are left out. */
static bool check_times(struct reader *reader, const struct log_row *row, bool two_clocks)
{
    int before = two_clocks ? LOG_QUEUED : LOG_ARRIVAL;
    for (int i = before + 1; i < LOG_TIMES; i++) {
        if (row->times_ns[i] == LOG_TIME_UNKNOWN) continue;
        const double back_s = sim_s_from_ns(row->times_ns[before]) - sim_s_from_ns(row->times_ns[i]);
        if (row->times_ns[i] < row->times_ns[before]) {
            reader_bad(reader, 0, NULL, "'%s' is %.9g s before '%s'", row->time_names[i], back_s,
                       row->time_names[before]);
            return false;
        }
        before = i;
    }
    return true;
}

static bool check_clocks(struct reader *reader, struct log_rows *rows, const struct log_row *row)
{
    const bool two_clocks = is_far(row->times_ns[LOG_ARRIVAL], row->times_ns[LOG_FIRST_TOKEN]);
    if (rows->n_taken++ == 0) rows->two_clocks = two_clocks;
    if (two_clocks != rows->two_clocks) {
        reader_bad(
            reader, 0, "a log has either one clock for all its times, or one for all arrivals and one for the rest",
            "'%s' and '%s' are %s a day apart, in the rows above they are %s", row->time_names[LOG_ARRIVAL],
            row->time_names[LOG_FIRST_TOKEN], two_clocks ? "more than" : "less than", two_clocks ? "less" : "more");
        return false;
    }
    if (!two_clocks || row->times_ns[LOG_QUEUED] != LOG_TIME_UNKNOWN) return true;
    reader_bad(reader, 0, NULL, "'%s' and '%s' are by two clocks, and '%s', which would set them, is missing",
               row->time_names[LOG_ARRIVAL], row->time_names[LOG_FIRST_TOKEN], row->time_names[LOG_QUEUED]);
    return false;
}

/* Whether the id was not in any row above. */
static bool check_name(struct reader *reader, struct log_rows *rows, const struct csv_field *name)
{
    struct known_name *known = NULL;
    HASH_FIND(hh, rows->names, name->chars, name->n_chars, known);
    if (known != NULL) {
        reader_bad(reader, 0, NULL, "request '%.*s' is also in line %" PRId64,
                   (int)(name->n_chars < 60 ? name->n_chars : 60), name->chars, known->line);
        return false;
    }
    known = arena_alloc(&rows->arena, sizeof *known);
    char *text = arena_alloc(&rows->arena, name->n_chars + 1);
    if (known == NULL || text == NULL) return reader_no_memory(reader);
    memcpy(text, name->chars, name->n_chars);
    known->line = csv_line(reader->csv);
    HASH_ADD_KEYPTR(hh, rows->names, text, name->n_chars, known);
    return HASH_COUNT(rows->names) > 0 && known->hh.tbl != NULL ? true : reader_no_memory(reader);
}

/* --- Rows --- */

static const char *name_of(struct log_rows *rows, const struct csv_field *name, int64_t id)
{
    if (name->n_chars == 0) return arena_printf(&rows->arena, "%" PRId64, id);
    return arena_printf(&rows->arena, "%.*s", (int)name->n_chars, name->chars);
}

static int keep(struct log_rows *rows, const struct log_row *row, int64_t id)
{
    if (vec_reserve(&rows->kept, &rows->capacity, rows->n + 1) != 0) return SIM_E_NOMEM;
    struct kept_row *kept = &rows->kept[rows->n];
    *kept = (struct kept_row){.id = id,
                              .name = name_of(rows, &row->name, id),
                              .prompt_tokens = row->prompt_tokens,
                              .output_tokens = row->output_tokens,
                              .tpot_s = row->tpot_s};
    memcpy(kept->times_ns, row->times_ns, sizeof kept->times_ns);
    rows->n += kept->name != NULL;
    return kept->name != NULL ? 0 : SIM_E_NOMEM;
}

enum row_result log_rows_take(struct reader *reader, const struct log_row *row, union trace_record *record)
{
    struct log_rows *rows = reader->format.state;
    if (!check_clocks(reader, rows, row) || !check_times(reader, row, rows->two_clocks)) return ROW_BAD;
    if (row->name.n_chars > 0 && !check_name(reader, rows, &row->name)) return ROW_BAD;
    const enum row_result result = reader_request(reader, record, row->times_ns[LOG_ARRIVAL], row->prompt_tokens,
                                                  row->output_tokens);
    if (result != ROW_KEPT || !rows->keep || keep(rows, row, record->any.id) == 0) return result;
    reader_no_memory(reader);
    return ROW_BAD;
}

/* --- Entries --- */

/* What has to be added to the time of an arrival to have it by the clock of the rest. */
static sim_ns clock_offset_ns(const struct log_rows *rows)
{
    sim_ns least_ns = INT64_MAX;
    if (!rows->two_clocks) return 0;
    for (size_t i = 0; i < rows->n; i++) {
        const sim_ns *times_ns = rows->kept[i].times_ns;
        const sim_ns wait_ns = times_ns[LOG_QUEUED] - times_ns[LOG_ARRIVAL];
        if (wait_ns < least_ns) least_ns = wait_ns;
    }
    return least_ns;
}

static struct log_entry entry_of(const struct kept_row *row, sim_ns offset_ns, sim_ns origin_ns)
{
    const sim_ns *times_ns = row->times_ns;
    const sim_ns arrival_ns = times_ns[LOG_ARRIVAL] + offset_ns;
    const bool decodes = row->output_tokens > 1;
    double tpot_s = row->tpot_s;
    if (isnan(tpot_s))
        tpot_s = sim_s_from_ns(times_ns[LOG_LAST_TOKEN] - times_ns[LOG_FIRST_TOKEN]) / (double)(row->output_tokens - 1);
    return (struct log_entry){
        .id = row->id,
        .name = row->name,
        .arrival_ns = times_ns[LOG_ARRIVAL] - origin_ns,
        .prompt_tokens = row->prompt_tokens,
        .output_tokens = row->output_tokens,
        .queue_s = times_ns[LOG_SCHEDULED] != LOG_TIME_UNKNOWN ? sim_s_from_ns(times_ns[LOG_SCHEDULED] - arrival_ns)
                                                               : (double)NAN,
        .ttft_s = sim_s_from_ns(times_ns[LOG_FIRST_TOKEN] - arrival_ns),
        .tpot_s = decodes ? tpot_s : (double)NAN,
        .e2e_s = sim_s_from_ns(times_ns[LOG_LAST_TOKEN] - arrival_ns),
    };
}

int log_rows_entries(const struct log_rows *rows, struct arena *arena, struct engine_log *log)
{
    const sim_ns offset_ns = clock_offset_ns(rows);
    sim_ns origin_ns = INT64_MAX;
    log->n = rows->n;
    log->entries = arena_alloc(arena, (rows->n + 1) * sizeof *log->entries);
    if (log->entries == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < rows->n; i++)
        if (rows->kept[i].times_ns[LOG_ARRIVAL] < origin_ns) origin_ns = rows->kept[i].times_ns[LOG_ARRIVAL];
    for (size_t i = 0; i < rows->n; i++) {
        log->entries[i] = entry_of(&rows->kept[i], offset_ns, origin_ns);
        log->entries[i].name = arena_strdup(arena, rows->kept[i].name);
        if (log->entries[i].name == NULL) return SIM_E_NOMEM;
    }
    return 0;
}
