/* Charts of every kind: the bytes of each, which a change of style moves on purpose (ACCEPT=1 build/.../tests/run
 * plot). */
#include "tests/support/harness.h"
#include "tests/support/plot_fixture.h"

static void compare_with_file(const char *path, const struct text *svg)
{
    SCOPED(text) expected = {0};
    char chunk[4096];
    FILE *file = fopen(path, "rb");
    for (size_t n; file != NULL && (n = fread(chunk, 1, sizeof chunk, file)) > 0;) text_add_bytes(&expected, chunk, n);
    if (file != NULL) fclose(file);
    const bool same = expected.length == svg->length && memcmp(expected.chars, svg->chars, svg->length) == 0;
    if (!test_check(same, path, __FILE__, __LINE__)) fprintf(stderr, "%s: the drawing has moved\n", path);
}

static void draw_golden(const char *name, const struct plot_chart *chart, void *context)
{
    (void)context;
    char path[256];
    SCOPED(text) svg = {0};
    plot_svg(chart, &svg);
    snprintf(path, sizeof path, "tests/golden/plots/%s.svg", name);
    CHECK(!svg.failed);
    const char *accept = getenv("ACCEPT");
    FILE *file = accept != NULL && strcmp(accept, "1") == 0 ? fopen(path, "wb") : NULL;
    if (file != NULL) {
        CHECK(fwrite(svg.chars, 1, svg.length, file) == svg.length);
        fclose(file);
    }
    compare_with_file(path, &svg);
}

TEST(every_kind_has_its_bytes)
{
    plot_fixture_each(draw_golden, NULL);
}

static void draw_without_memory(const char *name, const struct plot_chart *chart, void *context)
{
    (void)name;
    bool *has_failed = context;
    for (long n = 0;; n++) {
        SCOPED(text) svg = {0};
        mem_fail_after(n);
        plot_svg(chart, &svg);
        mem_fail_never();
        const bool failed = svg.failed;
        *has_failed |= failed;
        if (!failed) break;
    }
}

TEST(exhausted_memory_is_reported)
{
    bool has_failed = false;
    plot_fixture_each(draw_without_memory, &has_failed);
    CHECK(has_failed);
}

/* A title along y that is longer than the axis has two lines, and nothing of it is cut. */
TEST(a_long_title_of_y_has_two_lines)
{
    const double x[] = {0, 10}, y[] = {1, 2};
    const struct plot_series series = {.n = 2, .x = x, .y = y};
    struct plot_chart chart = {.kind = PLOT_LINE, .width = 290, .height = 205, .n_series = 1, .series = &series,
                               .y = {.title = "change of mean JCT from tiresias (%)"}};
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        SCOPED(text) svg = {0}, tex = {0};
        chart.height = is_wide ? 600 : 205;
        plot_svg(&chart, &svg);
        plot_tikz(&chart, 8.5, is_wide ? 16 : 6, &tex);
        MUST(!svg.failed && !tex.failed);
        CHECK(
            strstr(svg.chars, is_wide ? ">change of mean JCT from tiresias (%)</text>" : ">change of mean JCT</text>"));
        CHECK(is_wide || strstr(svg.chars, ">from tiresias (%)</text>") != NULL);
        CHECK(strstr(svg.chars, "\xe2\x80\xa6") == NULL);
        CHECK(strstr(tex.chars, is_wide ? "JCT from tiresias" : "JCT\\\\from tiresias") != NULL);
    }
}

/* Events within the axis are ticks above the data, those a pixel apart are one; the legend names them. */
TEST(events_stand_above_the_data)
{
    SCOPED(text) svg = {0};
    const double x[] = {0, 10}, y[] = {1, 2}, at[] = {-1, 2, 2.000001, 5, 11};
    const struct plot_series series = {.n = 2, .x = x, .y = y};
    const struct plot_events events = {.name = "brakes <2>", .colour = 1, .n = 5, .x = at};
    const struct plot_chart chart = {.kind = PLOT_LINE, .title = "t", .x = {.low = 0, .high = 10}, .n_series = 1,
                                     .series = &series, .n_events = 1, .events = &events};
    plot_svg(&chart, &svg);
    MUST(!svg.failed);
    int n_ticks = 0, n_names = 0;
    for (const char *c = svg.chars; (c = strstr(c, "v7")) != NULL; c++) n_ticks++;
    for (const char *c = svg.chars; (c = strstr(c, "brakes &lt;2&gt;")) != NULL; c++) n_names++;
    CHECK_EQ_INT(n_ticks, 2);
    CHECK_EQ_INT(n_names, 2); /* in the legend, and as tooltip */
}
