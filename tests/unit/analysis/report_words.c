#include "analysis/report/page.h"
#include "analysis/report/words.h"
#include "tests/support/harness.h"

static char buffer[WORDS_CHARS];

TEST(numbers_have_four_digits_and_groups)
{
    CHECK_EQ_STR(words_number(0, buffer), "0");
    CHECK_EQ_STR(words_number(1000000, buffer), "1,000,000");
    CHECK_EQ_STR(words_number(-1234, buffer), "-1,234");
    CHECK_EQ_STR(words_number(999, buffer), "999");
    CHECK_EQ_STR(words_number(1234.6, buffer), "1,235");
    CHECK_EQ_STR(words_number(12.3456, buffer), "12.35");
    CHECK_EQ_STR(words_number(0.00012346, buffer), "0.0001235");
    CHECK_EQ_STR(words_number(1e-9, buffer), "1e-09");
    CHECK_EQ_STR(words_number(0.5, buffer), "0.5");
    CHECK_EQ_STR(words_number((double)NAN, buffer), "-");
    CHECK_EQ_STR(words_number((double)INFINITY, buffer), "inf");
    CHECK_EQ_STR(words_number(1e300, buffer), "1e+300");
}

TEST(times_have_a_unit_of_their_size)
{
    CHECK_EQ_STR(words_seconds(0, buffer), "0 s");
    CHECK_EQ_STR(words_seconds(2.5e-4, buffer), "250 us");
    CHECK_EQ_STR(words_seconds(0.0123, buffer), "12.3 ms");
    CHECK_EQ_STR(words_seconds(4.5, buffer), "4.5 s");
    CHECK_EQ_STR(words_seconds(119.96, buffer), "120 s");
    CHECK_EQ_STR(words_seconds(130.02, buffer), "2 min 10 s");
    CHECK_EQ_STR(words_seconds(180, buffer), "3 min");
    CHECK_EQ_STR(words_seconds(7199.7, buffer), "2 h");
    CHECK_EQ_STR(words_seconds(18360, buffer), "5 h 6 min");
    CHECK_EQ_STR(words_seconds(172790, buffer), "2 d");
    CHECK_EQ_STR(words_seconds(200000, buffer), "2 d 8 h");
    CHECK_EQ_STR(words_seconds(-200000, buffer), "-2 d 8 h");
    CHECK_EQ_STR(words_seconds(1e20, buffer), "1.16e+15 d");
    CHECK_EQ_STR(words_seconds(-90, buffer), "-90 s");
    CHECK_EQ_STR(words_seconds((double)NAN, buffer), "-");
}

TEST(what_is_not_all_is_not_called_all)
{
    CHECK_EQ_STR(words_percent(1, buffer), "100 %");
    CHECK_EQ_STR(words_percent(0.999999, buffer), "99.9 %");
    CHECK_EQ_STR(words_percent(0.123, buffer), "12.3 %");
    CHECK_EQ_STR(words_percent(0, buffer), "0 %");
    CHECK_EQ_STR(words_percent(0.00042, buffer), "0.042 %");
}

TEST(values_bring_their_unit)
{
    CHECK_EQ_STR(words_value(0.5, "s", buffer), "500 ms");
    CHECK_EQ_STR(words_value(5, "1", buffer), "5");
    CHECK_EQ_STR(words_value(5, "GPU", buffer), "5 GPU");
    CHECK_EQ_STR(words_value((double)NAN, "GPU", buffer), "-");
    CHECK_EQ_STR(words_usd(0.5, buffer), "$0.50");
    CHECK_EQ_STR(words_usd(-12.345, buffer), "-$12.35");
    CHECK_EQ_STR(words_usd(2e6, buffer), "$2,000,000");
    CHECK_EQ_STR(words_metric("request.ttft_s.p99", buffer), "TTFT p99");
    CHECK_EQ_STR(words_metric("service.requests_per_s", buffer), "requests per second");
    CHECK_EQ_STR(words_metric("my.own", buffer), "my.own");
}

static void check_escape(const char *chars, const char *expected)
{
    SCOPED(text) html = {0};
    page_escape(&html, chars);
    CHECK_EQ_STR(html.chars != NULL ? html.chars : "", expected);
}

TEST(escaping_leaves_nothing_that_html_reads)
{
    check_escape("<script>alert('a' & \"b\")</script>",
                 "&lt;script&gt;alert(&#39;a&#39; &amp; &quot;b&quot;)&lt;/script&gt;");
    check_escape("l'\xc3\xa9t\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x94\xad",
                 "l&#39;\xc3\xa9t\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x94\xad");
    check_escape("a\xff"
                 "b\xc3",
                 "a\xef\xbf\xbd"
                 "b\xef\xbf\xbd");
    check_escape("a\x01\x1b[31m\tb\n", "a[31m\tb\n");
    check_escape(NULL, "");
}

/* In a script element no text may end it, whatever the names are. */
TEST(data_cannot_end_its_element)
{
    const double x[] = {0, 1}, y[] = {(double)NAN, 2};
    const struct plot_series series = {.name = "</script><script>alert(1)</script><!--", .n = 2, .x = x, .y = y};
    const struct plot_chart chart = {.kind = PLOT_LINE, .title = "</script>", .x = {.title = "x"}, .y = {.title = "y"},
                                     .n_series = 1, .series = &series};
    const struct page_query query = {.sql = "SELECT '<'", .n_rows = 1};
    SCOPED(text) html = {0};
    page_figure(&html, &(struct page_figure){.chart = &chart, .queries = &query, .n_queries = 1, .group = "g"});
    const char *data = strstr(html.chars, "application/json");
    MUST(data != NULL);
    const char *end = strstr(data, "</script>");
    MUST(end != NULL);
    CHECK(strncmp(end, "</script>\n<figcaption>", 22) == 0);
    CHECK(strstr(data, "\"y\":[null,2]") != NULL);
    CHECK(strstr(html.chars, "<script>alert") == NULL);
}

/* All figures stay; those after the first `most`, small multiples being three, are in one fold. */
TEST(figures_beyond_the_first_are_folded)
{
    const double x[] = {0, 1}, y[] = {0, 1};
    const struct plot_series series = {.n = 2, .x = x, .y = y};
    const struct plot_chart chart = {.kind = PLOT_STEP, .title = "t", .n_series = 1, .series = &series};
    const struct page_figure figure = {.chart = &chart, .group = "time"};
    for (size_t most = 1; most <= 8; most++) {
        SCOPED(text) html = {0};
        page_figures(&html);
        for (int i = 0; i < 3; i++) page_figure(&html, &figure);
        page_multiples(&html, "several", &chart, 1, &figure);
        page_figure(&html, &figure);
        page_fold_figures(&html, 0, most);
        page_figures_end(&html);
        const char *fold = strstr(html.chars, "<details class=\"more\">");
        size_t n_before = 0, n = 0;
        for (const char *at = html.chars; (at = strstr(at, "<figure")) != NULL; at++) {
            n_before += fold == NULL || at < fold;
            n++;
        }
        CHECK_EQ_INT(n, 5);
        CHECK_EQ_INT(n_before, most < 6 ? (most < 3 ? most : 3) : most < 7 ? 4 : 5);
    }
}
