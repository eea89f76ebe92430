#include "sim/core/csv.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#include <zlib.h>

enum { MAX_TEXT = 4096 };

/* All rows of a text, as "[a|b][c|d]", then the first finding. */
static const char *rows_of(const struct csv_options *options, const char *bytes, size_t n_bytes)
{
    static char out[MAX_TEXT];
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    out[0] = 0;
    if (input_open_memory("t.csv", bytes, n_bytes, &input, &diag) != 0) return "no input";
    if (csv_create(input, options, &csv, &diag) != 0) return "no csv";
    int code;
    while ((code = csv_next(csv, &diag)) == 1 || code == SIM_E_DATA) {
        if (code == SIM_E_DATA) continue;
        size_t used = strlen(out);
        for (size_t i = 0; i < csv_n_fields(csv); i++) {
            const struct csv_field *field = &csv_fields(csv)[i];
            used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s", i == 0 ? "[" : "|", (int)field->n_chars,
                                     field->chars);
        }
        snprintf(out + used, sizeof out - used, "]");
    }
    if (diag.n_items > 0) diag_format(&diag.items[0], out + strlen(out), sizeof out - strlen(out));
    csv_destroy(csv);
    return out;
}

static const char *rows(const char *text)
{
    return rows_of(&(struct csv_options){0}, text, strlen(text));
}

TEST(rows_come_in_every_public_form)
{
    CHECK_EQ_STR(rows("a,b\n1,2\n"), "[a|b][1|2]");
    CHECK_EQ_STR(rows("a,b\r\n1,2\r\n"), "[a|b][1|2]");
    CHECK_EQ_STR(rows("a,b\n1,2"), "[a|b][1|2]");
    CHECK_EQ_STR(rows("\xEF\xBB\xBF"
                      "a,b\n1,2\n"),
                 "[a|b][1|2]");
    CHECK_EQ_STR(rows("a,,c\n,,\n"), "[a||c][||]");
    CHECK_EQ_STR(rows("\n\r\n a , b\t,c d \n  \n1,2\n\n"), "[a|b|c d][1|2]");
    CHECK_EQ_STR(rows(""), "");
    CHECK_EQ_STR(rows("\n\n"), "");
    CHECK_EQ_STR(rows("x"), "[x]");
}

TEST(the_first_row_shows_its_delimiter)
{
    static const char *const names[] = {"a,b,c", "a;b;c", "a\tb\tc", "a|b|c", "a b  c"};
    const struct csv_options options = {.comment = '#', .guess_delimiter = true};
    char text[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *row = names[i];
        snprintf(text, sizeof text, "\xEF\xBB\xBF# x;y;z;,\n \n\n%s\n# more\n%s\n", row, row);
        CHECK_EQ_STR(rows_of(&options, text, strlen(text)), "[a|b|c][a|b|c]");
    }
    CHECK_EQ_STR(rows_of(&options, "\"a,b,c\";d\n1,5;2\n", 16), "[a,b,c|d][1,5|2]");
    CHECK_EQ_STR(rows_of(&options, "a,b;c\n", 6), "[a|b;c]"); /* of equals, the first */
    CHECK_EQ_STR(rows_of(&options, "# only\n", 7), "");
    CHECK_EQ_STR(rows_of(&options, "", 0), "");
}

TEST(quoted_fields_may_hold_anything)
{
    CHECK_EQ_STR(rows("\"a,b\",c\n"), "[a,b|c]");
    CHECK_EQ_STR(rows("\"say \"\"hi\"\"\",2\r\n3,4"), "[say \"hi\"|2][3|4]");
    CHECK_EQ_STR(rows("1,\"two\nlines\",3\n4,5,6\n"), "[1|two\nlines|3][4|5|6]");
    CHECK_EQ_STR(rows("1,\"two\r\n\r\nlines\"\r\n4,5\r\n"), "[1|two\n\nlines][4|5]");
    CHECK_EQ_STR(rows("\"\",\" a \", \"b\" \n"), "[| a |b]");
    CHECK_EQ_STR(rows("1,\"last\""), "[1|last]");
}

TEST(malformed_quotes_name_their_place)
{
    const char *hint = "; a field with quotes is quoted as a whole, with \"\" for each quote in it";
    char expected[512];
    snprintf(expected, sizeof expected, "[1|2][3|4]t.csv:2:4: error: quote in the wrong place%s", hint);
    CHECK_EQ_STR(rows("1,2\n5,6\"7\n3,4\n"), expected);
    snprintf(expected, sizeof expected, "[1|2][3|4]t.csv:2:6: error: quote in the wrong place%s", hint);
    CHECK_EQ_STR(rows("1,2\n\"abc\"d,7\n3,4\n"), expected);
}

TEST(a_quote_that_is_not_closed_costs_its_own_line)
{
    const char *close = "; close it with a quote";
    char expected[512];
    snprintf(expected, sizeof expected, "[1|2][3|4][5|6]t.csv:2:1: error: quoted field has no end%s", close);
    CHECK_EQ_STR(rows("1,2\n\"abc\n3,4\n5,6\n"), expected);
    snprintf(expected, sizeof expected,
             "[1|2][5|6,7]t.csv:2:3: error: quoted field runs into a quote in the wrong place "
             "at 3:4%s, in the same line if it holds no line break",
             close);
    CHECK_EQ_STR(rows("1,2\n3,\"4\n5,\"6,7\"\n"), expected);
    CHECK_EQ_STR(rows("\"\n\"\n\"a\nb\"\n"), "[\n][a\nb]");
}

/* However many lines follow, and however many stray quotes are among them: every other row arrives. */
TEST(stray_quotes_lose_no_other_row)
{
    enum { ROWS = 100000, EVERY = 997 };
    char *text = malloc(ROWS * 16);
    size_t n = 0;
    int64_t n_stray = 0, n_rows = 0, n_bad = 0;
    for (int i = 0; i < ROWS; i++) {
        bool stray = i % EVERY == 7;
        n_stray += stray;
        n += (size_t)snprintf(text + n, 16, stray ? "%d,\"x\n" : i % 3 == 0 ? "%d,\"a,b\"\n" : "%d,2\n", i);
    }
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    MUST(input_open_memory("t.csv", text, n, &input, &diag) == 0);
    MUST(csv_create(input, &(struct csv_options){0}, &csv, &diag) == 0);
    bool whole = true;
    for (int code, i = 0; (code = csv_next(csv, &diag)) == 1 || code == SIM_E_DATA; i++) {
        whole &= csv_line(csv) == i + 1 && csv_n_lines(csv) == 1 && (code == 1) == (i % EVERY != 7);
        n_rows += code == 1;
        n_bad += code != 1;
    }
    CHECK(whole);
    CHECK_EQ_INT(n_bad, n_stray);
    CHECK_EQ_INT(n_rows, ROWS - n_stray);
    csv_destroy(csv);
    free(text);
}

TEST(other_dialects)
{
    CHECK_EQ_STR(rows_of(&(struct csv_options){.delimiter = '\t'}, "a\t\tb c\n", 7), "[a||b c]");
    CHECK_EQ_STR(rows_of(&(struct csv_options){.delimiter = ';', .comment = '#'}, "# x\na;b,c\n", 10), "[a|b,c]");
    struct csv_options blanks = {.dialect = CSV_DIALECT_BLANKS, .comment = ';'};
    const char *swf = "; Version: 2\n  1   0  -1\t 5 \n\n2 9 \"x\" 1\n";
    CHECK_EQ_STR(rows_of(&blanks, swf, strlen(swf)), "[1|0|-1|5][2|9|\"x\"|1]");
    struct csv_options lines = {.dialect = CSV_DIALECT_LINES};
    const char *json = "{\"a\": 1, \"b\": 2}\n\n{}\n";
    CHECK_EQ_STR(rows_of(&lines, json, strlen(json)), "[{\"a\": 1, \"b\": 2}][{}]");
}

TEST(rows_longer_than_the_buffer_arrive_whole)
{
    enum { FIELDS = 400000 };
    char *text = malloc(2 * FIELDS + 16);
    size_t n = 0;
    text[n++] = 'x';
    text[n++] = '\n';
    for (int i = 0; i < FIELDS; i++) {
        text[n++] = (char)('0' + i % 10);
        text[n++] = i + 1 < FIELDS ? ',' : '\n';
    }
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    MUST(input_open_memory("t.csv", text, n, &input, &diag) == 0);
    MUST(csv_create(input, &(struct csv_options){0}, &csv, &diag) == 0);
    CHECK_EQ_INT(csv_next(csv, &diag), 1);
    CHECK_EQ_INT(csv_next(csv, &diag), 1);
    CHECK_EQ_INT(csv_n_fields(csv), FIELDS);
    CHECK_EQ_INT(*csv_fields(csv)[FIELDS - 1].chars, '0' + (FIELDS - 1) % 10);
    CHECK_EQ_INT(csv_next(csv, &diag), 0);
    CHECK_NEAR(csv_done_frac(csv), 1, 0);
    csv_destroy(csv);
    free(text);
}

TEST(a_line_without_end_is_refused)
{
    size_t n = 17 * 1024 * 1024;
    char *text = malloc(n);
    memset(text, 'x', n);
    memcpy(text, "a\n", 2);
    CHECK_EQ_STR(rows_of(&(struct csv_options){0}, text, n),
                 "[a]t.csv:2:1: error: line is longer than 16 MiB; is this a text file?");
    free(text);
}

TEST(lines_behind_one_that_is_too_long_are_read)
{
    size_t n = 0, n_long = 17 * 1024 * 1024;
    char *text = malloc(n_long + 64);
    n += (size_t)sprintf(text, "1,2\n\"");
    memset(text + n, 'x', n_long);
    n += n_long;
    n += (size_t)sprintf(text + n, "\n3,4\n\"5\n6\",7");
    CHECK_EQ_STR(rows_of(&(struct csv_options){0}, text, n),
                 "[1|2][3|4][5\n6|7]t.csv:2:1: error: line is longer than 16 MiB; is this a text file?");
    free(text);
}

/* A quote that is open for more than a row may have, in lines that are short. */
TEST(a_row_without_end_is_given_up)
{
    enum { WIDTH = 4096, LINES = 17 * 1024 * 1024 / WIDTH };
    char *text = malloc(LINES * WIDTH + 2);
    text[0] = '"';
    for (size_t i = 0; i < LINES; i++) {
        memset(text + 1 + i * WIDTH, 'x', WIDTH - 1);
        text[WIDTH + i * WIDTH] = '\n';
    }
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    MUST(input_open_memory("t.csv", text, 1 + (size_t)LINES * WIDTH, &input, &diag) == 0);
    MUST(csv_create(input, &(struct csv_options){0}, &csv, &diag) == 0);
    CHECK_EQ_INT(csv_next(csv, &diag), SIM_E_DATA);
    CHECK_EQ_STR(diag.items[0].where, "t.csv:1:1");
    int64_t n_rows = 0;
    while (csv_next(csv, &diag) == 1) n_rows += csv_line(csv) == n_rows + 2;
    CHECK_EQ_INT(n_rows, LINES - 1);
    csv_destroy(csv);
    free(text);
}

static const char *header_finding(const char *text, const struct csv_column *columns, size_t n, int *positions)
{
    static char out[1024];
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    if (input_open_memory("t.csv", text, strlen(text), &input, &diag) != 0) return "no input";
    if (csv_create(input, &(struct csv_options){0}, &csv, &diag) != 0) return "no csv";
    csv_read_header(csv, columns, n, positions, &diag);
    csv_destroy(csv);
    out[0] = 0;
    if (diag.n_items > 0) diag_format(&diag.items[0], out, sizeof out);
    return out;
}

TEST(without_memory_a_missing_column_leaves_nothing)
{
    int positions[1];
    const long live = mem_live_blocks();
    const struct csv_column time[] = {{.name = "TIMESTAMP"}};
    for (long n = 0; n < 40; n++) {
        mem_fail_after(n);
        header_finding("TIMESTMAP,b\n", time, 1, positions);
        mem_fail_never();
        CHECK_EQ_INT(mem_live_blocks(), live);
    }
}

TEST(columns_are_found_by_name)
{
    const struct csv_column columns[] = {{.name = "b"}, {.name = "c", .optional = true}, {.name = "a"}};
    int positions[3];
    CHECK_EQ_STR(header_finding("a,x,\"b\"\n", columns, 3, positions), "");
    CHECK_EQ_INT(positions[0], 2);
    CHECK_EQ_INT(positions[1], -1);
    CHECK_EQ_INT(positions[2], 0);
    const struct csv_column time[] = {{.name = "TIMESTAMP"}};
    CHECK_EQ_STR(header_finding("TIMESTMAP,b\n", time, 1, positions),
                 "t.csv:1:1: error: no column 'TIMESTAMP' in the header; did you mean 'TIMESTMAP'?");
    CHECK_EQ_STR(header_finding("\n17,b\n", time, 1, positions),
                 "t.csv:2:1: error: no column 'TIMESTAMP' in the header; the columns are 17,b");
    CHECK_EQ_STR(header_finding("b,TIMESTAMP,TIMESTAMP\n", time, 1, positions),
                 "t.csv:1:13: error: column 'TIMESTAMP' appears twice; rename one of them");
    CHECK_EQ_STR(header_finding("", time, 1, positions),
                 "t.csv: error: file is empty; expected a header with the column names");
}

/* --- files --- */

static const char *file_finding(const char *path)
{
    static char out[1024];
    struct diag diag = {0};
    struct input *input;
    struct csv *csv;
    int code = input_open(path, &input, &diag);
    if (code == 0) code = csv_create(input, &(struct csv_options){0}, &csv, &diag);
    if (code == 0) {
        while ((code = csv_next(csv, &diag)) == 1) {
        }
        csv_destroy(csv);
    }
    CHECK_EQ_INT(code, diag.code);
    out[0] = 0;
    if (diag.n_items > 0) diag_format(&diag.items[0], out, sizeof out);
    return out;
}

static size_t compress_rows(unsigned char *out, size_t n_out, size_t n_rows)
{
    char *text = malloc(n_rows * 32);
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) n += (size_t)snprintf(text + n, 32, "%zu,%zu\n", i * 7919 % 10007, i);
    z_stream z = {
        .next_in = (unsigned char *)text, .avail_in = (unsigned)n, .next_out = out, .avail_out = (unsigned)n_out};
    deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    deflate(&z, Z_FINISH);
    size_t n_compressed = z.total_out;
    deflateEnd(&z);
    free(text);
    return n_compressed;
}

TEST(compressed_files_read_alike_and_damage_is_found)
{
    enum { ROWS = 20000, BYTES = 1 << 20 };
    unsigned char *bytes = malloc(BYTES);
    char expected[1024];
    size_t n = compress_rows(bytes, BYTES, ROWS);
    CHECK_EQ_STR(file_finding(trace_source_file_bytes("whole.csv.gz", bytes, n)), "");
    const char *path = trace_source_file_bytes("cut.csv.gz", bytes, n / 2);
    snprintf(expected, sizeof expected, "%s: error: compressed data end too early; copy or download the file again",
             path);
    CHECK_EQ_STR(file_finding(path), expected);
    bytes[n - 6] ^= 0x55; /* the checksum */
    path = trace_source_file_bytes("bad.csv.gz", bytes, n);
    snprintf(expected, sizeof expected,
             "%s: error: compressed data are damaged: incorrect data check; copy or download the file again", path);
    CHECK_EQ_STR(file_finding(path), expected);
    free(bytes);
}

TEST(files_that_cannot_be_opened_say_why)
{
    char expected[1024];
    const char *directory = test_tmpdir();
    snprintf(expected, sizeof expected, "%s: error: cannot read: Is a directory", directory);
    CHECK_EQ_STR(file_finding(directory), expected);
    CHECK_EQ_STR(file_finding("no/such/file.csv"), "no/such/file.csv: error: cannot open: No such file or directory");
}

TEST(running_out_of_memory_is_an_error_not_a_leak)
{
    const char *text = "a,b,c\n1,\"x,y\",3\n";
    for (long n = 0; n < 40; n++) {
        mem_fail_after(n);
        const char *found = rows(text);
        mem_fail_never();
        if (strcmp(found, "[a|b|c][1|x,y|3]") == 0) return;
    }
    CHECK_EQ_STR(rows(text), "read after 40 allocations");
}
