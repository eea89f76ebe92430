/* Charts for papers: plot_pdf writes a file that readers can follow, plot_tikz balanced TeX with every number. */
#include "tests/support/harness.h"
#include "tests/support/plot_fixture.h"

static size_t count(const char *chars, const char *what)
{
    size_t n = 0;
    for (const char *at = strstr(chars, what); at != NULL; at = strstr(at + 1, what)) n++;
    return n;
}

/* The number behind the last place where `what` stands. */
static size_t number_behind(const char *chars, const char *what)
{
    const char *last = NULL;
    for (const char *at = strstr(chars, what); at != NULL; at = strstr(at + 1, what)) last = at;
    return last != NULL ? strtoul(last + strlen(what), NULL, 10) : 0;
}

/* Every entry of the table of objects is the place of that object. */
static void check_table(const struct text *pdf)
{
    MUST(!pdf->failed);
    CHECK(strncmp(pdf->chars, "%PDF-1.4\n", 9) == 0);
    const size_t table = number_behind(pdf->chars, "startxref\n");
    MUST(table < pdf->length && strncmp(pdf->chars + table, "xref\n0 7\n", 9) == 0);
    for (int i = 1; i <= 6; i++) {
        char head[16];
        const size_t at = strtoul(pdf->chars + table + 9 + 20 * (size_t)i, NULL, 10);
        snprintf(head, sizeof head, "%d 0 obj\n", i);
        CHECK(at < table && strncmp(pdf->chars + at, head, strlen(head)) == 0);
    }
}

/* The table of objects leads to them, the stream has the length that it states, and each
 * state of the drawing that is saved is restored. */
static void check_pdf(const char *name, const struct plot_chart *chart, void *context)
{
    size_t *n_texts = context;
    SCOPED(text) svg = {0};
    SCOPED(text) pdf = {0};
    plot_svg(chart, &svg);
    plot_pdf(&svg, "Helvetica", &pdf);
    check_table(&pdf);
    const char *from = strstr(pdf.chars, "stream\n") + 7, *to = strstr(pdf.chars, "endstream");
    CHECK_EQ_INT(to - from, number_behind(pdf.chars, "/Length "));
    const size_t n_saved = count(pdf.chars, "\nq ") + count(pdf.chars, "\nq\n");
    const size_t n_restored = count(pdf.chars, " Q\n") + count(pdf.chars, "\nQ\n");
    if (!test_check(n_saved == n_restored, name, __FILE__, __LINE__))
        fprintf(stderr, "%s: a state is left open\n", name);
    CHECK_EQ_INT(count(pdf.chars, "BT "), count(pdf.chars, " ET\n"));
    *n_texts += count(pdf.chars, "BT ");
}

TEST(a_pdf_is_whole)
{
    size_t n_texts = 0;
    plot_fixture_each(check_pdf, &n_texts);
    CHECK(n_texts > 100);
}

TEST(an_empty_image_makes_a_whole_pdf)
{
    SCOPED(text) svg = {0};
    SCOPED(text) pdf = {0};
    text_add(&svg, "");
    plot_pdf(&svg, "Times", &pdf);
    check_table(&pdf);
}

TEST(a_pdf_has_the_texts_of_the_image)
{
    SCOPED(text) svg = {0};
    SCOPED(text) pdf = {0};
    text_add(&svg,
             "<svg viewBox=\"0 0 200 100\" width=\"100\" height=\"50\">\n<text x=\"100\" y=\"10\" text-anchor=\"end\">"
             "a (b) &lt;c&gt; 2\xc3\x97"
             "10\xe2\x81\xbb\xe2\x81\xb5</text></svg>");
    plot_pdf(&svg, "Courier", &pdf);
    MUST(!pdf.failed);
    CHECK(strstr(pdf.chars, "/MediaBox [0 0 75.000 37.500]") != NULL);
    CHECK(strstr(pdf.chars, "/F1 13 Tf 0 Ts (a \\050b\\051 <c> 2\\32710) Tj /F1 8.45 Tf 4.94 Ts (-5) Tj") != NULL);
    /* 14 letters of 7.8 px and two raised ones end at 100. */
    CHECK(strstr(pdf.chars, " -19.34 10.00 Tm") != NULL);
}

/* What the standard fonts lack is a question mark: letters of four bytes, control characters, no letters at all. A
 * path may go on behind z. */
TEST(a_pdf_stands_odd_images)
{
    SCOPED(text) svg = {0};
    SCOPED(text) pdf = {0};
    text_add(&svg, "<svg viewBox=\"0 0 200 100\" width=\"100\" height=\"50\">\n"
                   "<path d=\"M1 2 L3 4 z 5 6 z\"/><path d=\"M1 2z M7 8 L9 9\"/>"
                   "<text x=\"1\" y=\"1\">a\xf0\x9f\x98\x80z\x01\x7f\xc2\x85\xf0\xc3\xa4</text></svg>");
    plot_pdf(&svg, "Courier", &pdf);
    MUST(!pdf.failed);
    CHECK(strstr(pdf.chars, "(a?z????\\344) Tj") != NULL);
    CHECK(strstr(pdf.chars, "1.00 2.00 m 3.00 4.00 l h 5.00 6.00 m h f") != NULL);
    CHECK(strstr(pdf.chars, "1.00 2.00 m h 7.00 8.00 m 9.00 9.00 l f") != NULL);
}

static void exhaust_memory(const char *name, const struct plot_chart *chart, void *context)
{
    (void)name;
    bool *has_failed = context;
    SCOPED(text) svg = {0};
    plot_svg(chart, &svg);
    for (long n = 0; n < 4; n++) {
        SCOPED(text) pdf = {0};
        mem_fail_after(n);
        plot_pdf(&svg, "Times", &pdf);
        mem_fail_never();
        *has_failed |= pdf.failed;
    }
}

TEST(exhausted_memory_of_a_pdf_is_reported)
{
    bool has_failed = false;
    plot_fixture_each(exhaust_memory, &has_failed);
    CHECK(has_failed);
}

TEST(tikz_has_the_numbers_and_escapes_names)
{
    SCOPED(text) tex = {0};
    const double x[] = {1, 2, 4}, y[] = {0.5, -1, 2}, low[] = {0.25, -2, (double)NAN}, high[] = {1, 1, (double)NAN};
    const struct plot_series series = {.name = "50 % & more_", .n = 3, .x = x, .y = y, .low = low, .high = high};
    struct plot_chart chart = {.kind = PLOT_LINE, .has_whiskers = true, .x = {.title = "rate"},
                               .y = {.scale = PLOT_LOG}, .n_series = 1, .series = &series};
    plot_tikz(&chart, 8.5, 6, &tex);
    MUST(!tex.failed);
    CHECK(strstr(tex.chars, "width=8.5cm, height=6cm") != NULL);
    CHECK(strstr(tex.chars, "(1,0.5) += (0,0.5) -= (0,0.25)") != NULL);
    CHECK(strstr(tex.chars, "(2,nan)") != NULL); /* -1 has no place on a logarithmic axis */
    CHECK(strstr(tex.chars, "(4,2) += (0,0) -= (0,0)") != NULL);
    CHECK(strstr(tex.chars, "\\addlegendentry{50 \\% \\& more\\_}") != NULL);
    CHECK_EQ_INT(count(tex.chars, "{"), count(tex.chars, "}"));
    text_fini(&tex);
    chart.has_whiskers = false;
    plot_tikz(&chart, 8.5, 6, &tex);
    MUST(!tex.failed);
    CHECK(strstr(tex.chars, "{ (1,1) (1,0.25)} -- cycle") != NULL); /* the band leaves out what has no place */
    text_fini(&tex);
    const double none[] = {0, -1, 0};
    const struct plot_series touching = {.n = 3, .x = x, .y = high, .low = none, .high = high};
    chart.series = &touching;
    plot_tikz(&chart, 8.5, 6, &tex);
    CHECK(!tex.failed && strstr(tex.chars, "cycle") == NULL);
    text_fini(&tex);
    chart.has_whiskers = true;
    plot_tikz(&chart, 8.5, 6, &tex);
    CHECK(!tex.failed && strstr(tex.chars, "(1,1) += (0,0) -= (0,0)") != NULL);
    text_fini(&tex);
    chart.kind = PLOT_SCATTER;
    plot_tikz(&chart, 8.5, 6, &tex);
    CHECK(!tex.failed && strstr(tex.chars, "only marks") != NULL && strstr(tex.chars, "solid, thick") == NULL);
}
