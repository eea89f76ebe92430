#include "traces/guess.h"

#include "sim/core/csv.h"
#include "sim/core/mem.h"
#include "traces/formats/json_stream.h"
#include "traces/registry.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD_BYTES = 1 << 18, MAX_WORDS = 256, MAX_FITS = 16, MAX_ROW_CHARS = 4096, MAX_SHOWN_CHARS = 200 };

/* What a file begins with. */
struct head {
    char *bytes;
    size_t n_bytes;
    bool is_json;
    char row[MAX_ROW_CHARS]; /* the first line that is no comment */
    size_t n_words;
    char *words[MAX_WORDS]; /* columns of the header, or keys of the first object; in the arena */
    struct arena arena;
};

/* --- Reading the head --- */

static int read_head(const char *path, struct head *head, struct diag *diag)
{
    struct input *input;
    struct stat status;
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return diag_error(diag, SIM_E_IO, path, "name a file in it", "is a directory");
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return diag_error(diag, SIM_E_DATA, path, "name its format",
                          "the format of what is no regular file cannot be guessed");
    int code = input_open(path, &input, diag);
    if (code != 0) return code;
    head->bytes = mem_alloc(HEAD_BYTES);
    if (head->bytes == NULL) code = diag_nomem(diag);
    for (size_t n = 1; code == 0 && n > 0 && head->n_bytes < HEAD_BYTES; head->n_bytes += n)
        code = input_read(input, head->bytes + head->n_bytes, HEAD_BYTES - head->n_bytes, &n, diag);
    input_close(input);
    if (code == 0 && head->n_bytes == 0) code = diag_error(diag, SIM_E_DATA, path, NULL, "file is empty");
    return code;
}

static int add_word(struct head *head, const char *chars, size_t n_chars)
{
    if (head->n_words == MAX_WORDS) return 0;
    char *word = arena_printf(&head->arena, "%.*s", (int)(n_chars < MAX_ROW_CHARS ? n_chars : MAX_ROW_CHARS), chars);
    if (word == NULL) return SIM_E_NOMEM;
    head->words[head->n_words++] = word;
    return 0;
}

/* Keys of the first object, as far as the head has them. */
static int read_members(struct head *head, struct input *input)
{
    struct json_stream stream;
    int code = json_stream_open(input, "", &stream, NULL);
    if (code == 0 && json_stream_peek(&stream) == '[' && json_stream_enter(&stream, '[')) json_stream_element(&stream);
    if (code == 0 && json_stream_enter(&stream, '{')) {
        while (code == 0 && json_stream_member(&stream)) {
            code = add_word(head, stream.text, strlen(stream.text));
            json_stream_skip(&stream);
        }
    }
    json_stream_close(&stream);
    return code;
}

/* The first line that is no comment, '#' of tables or ';' of the Standard Workload Format. */
static void find_row(struct head *head)
{
    const char *at = head->bytes, *end = at + head->n_bytes;
    for (size_t n; at < end; at += n + 1) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        n = (size_t)((line_end != NULL ? line_end : end) - at);
        if (n == 0 || *at == '#' || *at == ';' || *at == '\r') continue;
        const size_t n_kept = n - (at[n - 1] == '\r');
        snprintf(head->row, sizeof head->row, "%.*s", (int)(n_kept < sizeof head->row ? n_kept : 0), at);
        return;
    }
}

/* Fields of the first row, whatever its delimiter. */
static int read_header(struct head *head, struct input *input)
{
    const struct csv_options options = {.comment = '#', .guess_delimiter = true};
    struct diag ignored = {0};
    struct csv *csv;
    int code = csv_create(input, &options, &csv, &ignored);
    if (code != 0) return code;
    const bool has_row = csv_next(csv, &ignored) == 1;
    for (size_t i = 0; code == 0 && has_row && i < csv_n_fields(csv); i++)
        code = add_word(head, csv_fields(csv)[i].chars, csv_fields(csv)[i].n_chars);
    csv_destroy(csv);
    find_row(head);
    return code;
}

static bool begins_as_json(const char *bytes, size_t n_bytes)
{
    size_t i = n_bytes >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (i < n_bytes && strchr(" \t\r\n", bytes[i]) != NULL && bytes[i] != 0) i++;
    return i < n_bytes && (bytes[i] == '{' || bytes[i] == '[');
}

bool trace_is_json(const char *path)
{
    char bytes[256];
    size_t n_bytes = 0;
    struct input *input;
    struct stat status;
    struct diag ignored = {0};
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || input_open(path, &input, &ignored) != 0) return false;
    const int code = input_read(input, bytes, sizeof bytes, &n_bytes, &ignored);
    input_close(input);
    return code == 0 && begins_as_json(bytes, n_bytes);
}

static int parse_head(const char *path, struct head *head, struct diag *diag)
{
    struct input *input;
    head->is_json = begins_as_json(head->bytes, head->n_bytes);
    int code = input_open_memory(path, head->bytes, head->n_bytes, &input, diag);
    if (code == 0) code = head->is_json ? read_members(head, input) : read_header(head, input);
    return code == 0 ? 0 : diag_nomem(diag);
}

/* --- Formats that fit --- */

/* Steps to the next word of "a,b". */
static bool next_word(const char **list, const char **word, size_t *n_chars)
{
    if (**list == 0) return false;
    *word = *list;
    *n_chars = strcspn(*list, ",");
    *list += *n_chars + ((*list)[*n_chars] == ',');
    return true;
}

static bool head_has(const struct head *head, const char *word, size_t n_chars)
{
    for (size_t i = 0; i < head->n_words; i++)
        if (strlen(head->words[i]) == n_chars && memcmp(head->words[i], word, n_chars) == 0) return true;
    return false;
}

static bool matches(const char *row, const char *expression)
{
    regex_t regex;
    if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB) != 0) return false;
    const bool found = regexec(&regex, row, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static const char *words_of(const struct trace_format *format, bool is_json)
{
    return is_json ? format->members : format->header;
}

static bool fits(const struct trace_format *format, const struct head *head)
{
    const char *list = words_of(format, head->is_json), *word;
    size_t n_chars;
    if (list == NULL) return !head->is_json && format->first_row != NULL && matches(head->row, format->first_row);
    while (next_word(&list, &word, &n_chars))
        if (!head_has(head, word, n_chars)) return false;
    return true;
}

/* Whether `format` asks for all that `other` asks for, and more. */
static bool asks_for_more(const struct trace_format *format, const struct trace_format *other, bool is_json)
{
    const char *list = words_of(other, is_json), *mine = words_of(format, is_json), *word;
    size_t n_chars, n_others = 0, n_mine = 0;
    if (list == NULL || mine == NULL) return false;
    for (; next_word(&list, &word, &n_chars); n_others++) {
        const char *rest = mine, *candidate;
        size_t n;
        bool found = false;
        while (!found && next_word(&rest, &candidate, &n)) found = n == n_chars && memcmp(candidate, word, n) == 0;
        if (!found) return false;
    }
    while (next_word(&mine, &word, &n_chars)) n_mine++;
    return n_mine > n_others;
}

/* Finds the formats of these kinds that fit and give way to none. Returns their number. */
static size_t find_fits(const struct head *head, enum trace_kinds kinds, const struct trace_format *found[MAX_FITS])
{
    size_t n = 0, n_best = 0;
    for (size_t i = 0; i < trace_format_count() && n < MAX_FITS; i++) {
        const struct trace_format *format = trace_format_at(i);
        const enum trace_kinds kind = format->open_requests != NULL ? TRACE_REQUESTS : TRACE_JOBS;
        if ((kinds & kind) != 0 && fits(format, head)) found[n++] = format;
    }
    for (size_t i = 0; i < n; i++) {
        bool best = true;
        for (size_t j = 0; j < n; j++) best &= !asks_for_more(found[j], found[i], head->is_json);
        if (best) found[n_best++] = found[i];
    }
    return n_best > 0 ? n_best : n;
}

/* --- What is said --- */

static int report_several(const char *path, const struct trace_format *const *found, size_t n, const char *hint,
                          struct diag *diag)
{
    char names[DIAG_TEXT_CHARS] = "";
    for (size_t i = 0; i < n; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", found[i]->name);
    }
    return diag_error(diag, SIM_E_DATA, path, hint, "several formats fit: %s", names);
}

/* Counts the words of a format that the head has, and those that it lacks, of which `missing` is the last. */
static void count_words(const struct trace_format *format, const struct head *head, size_t *n_has, size_t *n_missing,
                        const char **missing, size_t *missing_chars)
{
    const char *list = words_of(format, head->is_json), *word;
    size_t n_chars;
    *n_has = *n_missing = 0;
    while (list != NULL && next_word(&list, &word, &n_chars)) {
        if (head_has(head, word, n_chars)) {
            ++*n_has;
            continue;
        }
        ++*n_missing;
        *missing = word;
        *missing_chars = n_chars;
    }
}

/* Writes the first format of these kinds that fits but for one word: " (azure-llm also needs 'GeneratedTokens')"; "":
 * there is none. */
static void show_nearest(const struct head *head, enum trace_kinds kinds, char *text, size_t bytes)
{
    text[0] = 0;
    for (size_t i = 0; i < trace_format_count() && text[0] == 0; i++) {
        const struct trace_format *format = trace_format_at(i);
        const enum trace_kinds kind = format->open_requests != NULL ? TRACE_REQUESTS : TRACE_JOBS;
        size_t n_has, n_missing, n_chars = 0;
        const char *missing = "";
        count_words(format, head, &n_has, &n_missing, &missing, &n_chars);
        if ((kinds & kind) != 0 && n_has > 1 && n_missing == 1)
            snprintf(text, bytes, " (%s also needs '%.*s')", format->name, (int)n_chars, missing);
    }
}

/* Shows what was found, or that it belongs to a trace of the other kind. */
static int report_none(const char *path, const struct head *head, enum trace_kinds kinds, const char *hint,
                       struct diag *diag)
{
    const struct trace_format *found[MAX_FITS];
    char keys[DIAG_TEXT_CHARS] = "", nearest[DIAG_TEXT_CHARS / 2];
    if (kinds != TRACE_BOTH && find_fits(head, TRACE_BOTH, found) > 0) {
        const bool jobs = kinds == TRACE_JOBS;
        return diag_error(diag, SIM_E_DATA, path, NULL, "this is a trace of %s, format %s; expected %s",
                          jobs ? "requests" : "jobs", found[0]->name, jobs ? "jobs" : "requests");
    }
    for (size_t i = 0; head->is_json && i < head->n_words; i++) {
        const size_t used = strlen(keys);
        snprintf(keys + used, sizeof keys - used, "%s%s", i > 0 ? "," : "", head->words[i]);
    }
    show_nearest(head, kinds, nearest, sizeof nearest);
    return diag_error(diag, SIM_E_DATA, path, hint, "no format fits%s: the %s '%.*s%s'", nearest,
                      head->is_json ? "first object has the keys" : "first row is", MAX_SHOWN_CHARS,
                      head->is_json ? keys : head->row,
                      strlen(head->is_json ? keys : head->row) > MAX_SHOWN_CHARS ? "..." : "");
}

/* Sets the format, from the head of the file. */
static int guess(const char *path, enum trace_kinds kinds, const char *hint, struct head *head,
                 const struct trace_format **format, struct diag *diag)
{
    const struct trace_format *found[MAX_FITS] = {NULL};
    int code = read_head(path, head, diag);
    if (code == 0) code = parse_head(path, head, diag);
    if (code != 0) return code;
    const size_t n = find_fits(head, kinds, found);
    if (n == 0) return report_none(path, head, kinds, hint, diag);
    if (n > 1) return report_several(path, found, n, hint, diag);
    *format = found[0];
    return 0;
}

int trace_guess(const char *path, enum trace_kinds kinds, const char *hint, const struct trace_format **format,
                struct diag *diag)
{
    struct head *head = mem_zalloc(1, sizeof *head);
    if (head == NULL) return diag_nomem(diag);
    arena_init(&head->arena);
    const int code = guess(path, kinds, hint, head, format, diag);
    arena_fini(&head->arena);
    mem_free(head->bytes);
    mem_free(head);
    return code;
}

const char *trace_guess_alternative(const void *context, const char *family, const char *key, const char *path,
                                    char problem[DIAG_TEXT_CHARS], char hint[DIAG_TEXT_CHARS])
{
    const bool jobs = strcmp(family, "job-trace") == 0;
    const struct trace_format *format;
    struct diag diag = {0};
    char advice[DIAG_TEXT_CHARS];
    (void)context;
    problem[0] = 0;
    if (!jobs && strcmp(family, "request-trace") != 0) return NULL;
    const bool is_jsonl = !jobs && trace_is_json(path);
    snprintf(advice, sizeof advice,
             "name it: --set %.160s%sformat=NAME; \"%s\" reads any %s whose \"columns\" are named", key,
             key[0] != 0 ? "." : "",
             is_jsonl ? "jsonl"
             : jobs   ? "csv-jobs"
                      : "csv",
             is_jsonl ? "JSON Lines" : "table");
    if (trace_guess(path, jobs ? TRACE_JOBS : TRACE_REQUESTS, advice, &format, &diag) == 0) return format->name;
    snprintf(problem, DIAG_TEXT_CHARS, "%.*s: %.*s", MAX_SHOWN_CHARS / 2, path, MAX_SHOWN_CHARS, diag.items[0].text);
    snprintf(hint, DIAG_TEXT_CHARS, "%s", diag.items[0].hint);
    return NULL;
}
