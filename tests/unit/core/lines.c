#include "sim/core/lines.h"

#include "tests/support/harness.h"

#include <string.h>

enum { TEXTS = 60, MOST_BYTES = 900 * 1024 };

static void open_text(struct lines *lines, const char *text, size_t n)
{
    struct diag diag = {0};
    struct input *input;
    CHECK_EQ_INT(input_open_memory("t", text, n, &input, &diag), 0);
    CHECK_EQ_INT(lines_init(lines, input, &diag), 0);
}

/* Short and long lines, some of which end with CR; half of the texts end with LF. */
static size_t draw_text(uint64_t index, char *text)
{
    struct rng rng = test_rng(6, "lines", index);
    const uint64_t longest = rng_below(&rng, 3) == 0 ? 400 * 1024 : 1 + rng_below(&rng, 9);
    const size_t n = (size_t)rng_below(&rng, longest > 10 ? MOST_BYTES : 200);
    for (size_t at = 0; at < n; at++) text[at] = (char)('a' + at % 23);
    for (size_t at = 0; at < n; at += 1 + (size_t)rng_below(&rng, longest)) {
        text[at] = '\n';
        if (at > 1 && rng_below(&rng, 4) == 0) text[at - 1] = '\r';
    }
    if (n > 0 && index % 2 == 0) text[n - 1] = '\n';
    return n;
}

/* The line that begins at *at, which moves behind it; false at the end. */
static bool next_by_hand(const char *text, size_t n, size_t *at, const char **chars, size_t *n_chars)
{
    if (*at == n) return false;
    size_t end = *at;
    while (end < n && text[end] != '\n') end++;
    *chars = text + *at;
    *n_chars = end - *at;
    if (*n_chars > 0 && text[end - 1] == '\r') --*n_chars;
    *at = end < n ? end + 1 : end;
    return true;
}

/* Reads on as a reader that looks ahead: it marks at random, and goes back to some of the marks. */
static void read_text(uint64_t index, const char *text, size_t n)
{
    struct rng rng = test_rng(7, "lines", index);
    struct lines lines;
    struct diag diag = {0};
    const char *chars, *expected;
    size_t n_chars, n_expected, at = 0, mark = 0;
    int64_t number = 0, mark_number = 0;
    open_text(&lines, text, n);
    for (int steps_marked = -1;;) {
        const int code = lines_next(&lines, &chars, &n_chars, &diag);
        const bool is_more = next_by_hand(text, n, &at, &expected, &n_expected);
        number += is_more;
        MUST(CHECK_EQ_INT(code, is_more) && CHECK_EQ_INT(lines.number, number));
        if (is_more) MUST(CHECK_EQ_INT(n_chars, n_expected) && CHECK(memcmp(chars, expected, n_chars) == 0));
        steps_marked += steps_marked >= 0;
        if (steps_marked > 3 || (steps_marked > 0 && !is_more)) {
            if (rng_below(&rng, 3) == 0) {
                lines_release(&lines);
            } else {
                lines_rewind(&lines);
                at = mark;
                number = mark_number;
            }
            steps_marked = -1;
        } else if (!is_more) {
            break;
        } else if (steps_marked < 0 && rng_below(&rng, 40) == 0) {
            lines_mark(&lines);
            mark = at;
            mark_number = number;
            steps_marked = 0;
        }
    }
    CHECK_EQ_INT(lines_next(&lines, &chars, &n_chars, &diag), 0);
    lines_fini(&lines);
}

TEST(lines_are_those_between_the_line_ends)
{
    char *text = test_own(malloc(MOST_BYTES), free);
    for (uint64_t i = 0; i < TEXTS; i++) {
        const unsigned before = CU_get_number_of_failures();
        read_text(i, text, draw_text(i, text));
        if (CU_get_number_of_failures() > before) printf("\n  text %d", (int)i);
    }
}

static void check_first_line(const char *text, const char *expected)
{
    struct lines lines;
    struct diag diag = {0};
    const char *chars;
    size_t n_chars;
    open_text(&lines, text, strlen(text));
    CHECK_EQ_INT(lines_next(&lines, &chars, &n_chars, &diag), 1);
    CHECK(n_chars == strlen(expected) && memcmp(chars, expected, n_chars) == 0);
    lines_fini(&lines);
}

TEST(a_byte_order_mark_is_left_out_once)
{
    check_first_line("\xEF\xBB\xBFx\n", "x");
    check_first_line("\xEF\xBB\xBF\n", "");
    check_first_line("\xEF\xBB\xBF", "");
    check_first_line("\xEF\xBB\xBF\xEF\xBB\xBF", "\xEF\xBB\xBF");
    check_first_line("\xEF\xBB\n", "\xEF\xBB");
    check_first_line("\r\n", "");
    check_first_line("x\r\r\n", "x\r");
}

TEST(a_second_end_does_nothing)
{
    struct lines lines;
    open_text(&lines, "x\n", 2);
    lines_fini(&lines);
    lines_fini(&lines);
    CHECK(lines.buffer == NULL && lines.input == NULL);
}

/* A file whose compressed end is lost: an error, once. */
TEST(behind_an_error_there_is_no_line)
{
    static const unsigned char cut[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x4b,
                                        0x4c, 0xe2, 0x4a, 0x4e, 0xe1, 0x02, 0x00, 0xd1, 0x8b, 0xf0};
    struct lines lines;
    struct diag diag = {0};
    const char *chars;
    size_t n_chars;
    int code;
    const char *path = test_file("cut.gz", "%s", "");
    FILE *file = fopen(path, "w");
    MUST(file != NULL && fwrite(cut, 1, sizeof cut, file) == sizeof cut && fclose(file) == 0);
    struct input *input;
    MUST(input_open(path, &input, &diag) == 0 && lines_init(&lines, input, &diag) == 0);
    while ((code = lines_next(&lines, &chars, &n_chars, &diag)) == 1) {
    }
    CHECK_EQ_INT(code, SIM_E_IO);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(lines_next(&lines, &chars, &n_chars, &diag), 0);
    CHECK_EQ_INT(diag.n_errors, 1);
    lines_fini(&lines);
}

/* The share of a file that has been read grows from nothing to all of it. */
TEST(the_share_read_grows)
{
    enum { N = 3000000 };
    const char *path = test_file("long", "%s", "");
    char *text = test_own(calloc(1, N), free), *buffer = test_own(malloc(N), free);
    struct input *input;
    struct diag diag = {0};
    double last = 0;
    FILE *file = fopen(path, "w");
    memset(text, 'x', N);
    MUST(file != NULL && fwrite(text, 1, N, file) == N && fclose(file) == 0);
    MUST(input_open(path, &input, &diag) == 0);
    for (int i = 1; i <= 3; i++) {
        size_t n_read;
        CHECK_EQ_INT(input_read(input, buffer, N / 3, &n_read, &diag), 0);
        CHECK_EQ_INT(n_read, N / 3);
        const double frac = input_done_frac(input);
        CHECK(frac > last && (i == 3 ? frac == 1.0 : frac > i / 3.0 - 0.01 && frac < i / 3.0 + 0.05));
        last = frac;
    }
    input_close(input);
}
