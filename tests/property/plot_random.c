/* Charts of random numbers, good and bad: the drawing is XML, says no NAN, and every coordinate lies on the paper. */
#include "analysis/plot/draw.h"
#include "analysis/plot/plot.h"
#include "tests/support/harness.h"

#include <ctype.h>

enum { MOST_POINTS = 900, MOST_SERIES = 4, MOST_CATEGORIES = 40, MOST_LINES = 3, DEPTH = 16 };

/* --- a check of XML: tags nest, attributes are quoted, no stray '<' or '&' --- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == ':' || c == '_';
}

static const char *skip_entity(const char *at)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;"};
    for (int i = 0; i < 3; i++)
        if (strncmp(at, entities[i], strlen(entities[i])) == 0) return at + strlen(entities[i]);
    return NULL;
}

/* The place after a tag's attributes, NULL when they are wrong. */
static const char *skip_attributes(const char *at)
{
    while (*at == ' ') {
        const char *name = ++at;
        while (is_name(*at)) at++;
        if (at == name || at[0] != '=' || at[1] != '"') return NULL;
        for (at += 2; *at != '"'; at++)
            if (*at == 0 || *at == '<' || *at == '&') return NULL;
        at++;
    }
    return at;
}

static bool is_xml(const char *at)
{
    const char *open[DEPTH];
    size_t lengths[DEPTH], depth = 0;
    while (*at != 0) {
        if (*at == '&' && (at = skip_entity(at)) == NULL) return false;
        if (*at != '<') {
            if (*at != '&' && *at != 0) at++;
            continue;
        }
        const bool closes = at[1] == '/';
        const char *name = at + 1 + closes;
        for (at = name; is_name(*at);) at++;
        const size_t length = (size_t)(at - name);
        if (closes) {
            if (depth == 0 || *at++ != '>' || lengths[depth - 1] != length) return false;
            if (memcmp(open[--depth], name, length) != 0) return false;
            continue;
        }
        if ((at = skip_attributes(at)) == NULL || length == 0) return false;
        const bool is_empty = *at == '/';
        if (is_empty) at++;
        if (*at++ != '>') return false;
        if (is_empty) continue;
        if (depth == DEPTH) return false;
        open[depth] = name;
        lengths[depth++] = length;
    }
    return depth == 0;
}

/* --- coordinates --- */

struct paper {
    double width, height;
    bool is_ok;
};

static void check_place(struct paper *paper, double x, double y)
{
    if (!(x >= -0.051 && x <= paper->width + 0.051 && y >= -0.051 && y <= paper->height + 0.051)) paper->is_ok = false;
}

/* Follows a path: M, L (repeated without their letter), H, V, h0, arcs and z. */
static void check_path(struct paper *paper, const char *at)
{
    double x = 0.0, y = 0.0;
    char letter = 0;
    while (*at != '"') {
        if (isalpha((unsigned char)*at)) letter = *at++;
        if (letter == 'z' || *at == '"') continue;
        char *end;
        double numbers[7];
        const int n = letter == 'a' ? 7 : strchr("MLl", letter) != NULL ? 2 : 1;
        for (int i = 0; i < n; i++) {
            numbers[i] = strtod(at, &end);
            if (end == at) {
                paper->is_ok = false;
                return;
            }
            at = end;
        }
        while (*at == ' ') at++;
        if (letter == 'M' || letter == 'L') x = numbers[0], y = numbers[1];
        if (letter == 'H') x = numbers[0];
        if (letter == 'V') y = numbers[0];
        if (letter == 'h') x += numbers[0];
        if (letter == 'a') x += numbers[5], y += numbers[6];
        check_place(paper, x, y);
    }
}

static double attribute(const char *tag, const char *name)
{
    char word[32];
    snprintf(word, sizeof word, " %s=\"", name);
    const char *end = strchr(tag, '>'), *at = strstr(tag, word);
    return at != NULL && at < end ? strtod(at + strlen(word), NULL) : 0.0;
}

static bool draws_on_paper(const char *svg)
{
    struct paper paper = {attribute(svg, "width"), attribute(svg, "height"), true};
    for (const char *at = svg; (at = strstr(at, " d=\"")) != NULL; at += 4) check_path(&paper, at + 4);
    for (const char *at = svg; (at = strstr(at, "<rect")) != NULL; at += 5) {
        const double x = attribute(at, "x"), y = attribute(at, "y");
        const double width = attribute(at, "width"), height = attribute(at, "height");
        check_place(&paper, x, y);
        check_place(&paper, x + width, y + height);
        if (!(width >= 0.0 && height >= 0.0)) paper.is_ok = false;
    }
    int turned = 0; /* texts within a turned group have places of their own */
    for (const char *at = svg; (at = strchr(at, '<')) != NULL; at++) {
        if (strncmp(at, "<g transform=\"translate(", 24) == 0) {
            char *end;
            const double x = strtod(at + 24, &end);
            check_place(&paper, x, strtod(end, NULL));
            turned = 1;
        } else if (strncmp(at, "</g>", 4) == 0) {
            turned = 0;
        } else if (strncmp(at, "<text", 5) == 0 && !turned) {
            check_place(&paper, attribute(at, "x"), attribute(at, "y"));
        }
    }
    return paper.is_ok;
}

/* Words of bad numbers as they would be printed, outside of the texts that the chart was given. */
static bool says_no_nan(const char *svg)
{
    return strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL && strstr(svg, "NAN") == NULL;
}

/* --- random charts --- */

struct sample {
    double x[MOST_POINTS], y[MOST_POINTS], low[MOST_POINTS], high[MOST_POINTS], x_end[MOST_POINTS];
    size_t row[MOST_POINTS];
    bool on_front[MOST_POINTS];
    const char *labels[MOST_POINTS];
};

static const char *const texts[] = {"requests",
                                    "",
                                    "a < b & \"c\" > d",
                                    "\x01\xff\xfe control",
                                    "caf\xc3\xa9 \xe6\xbc\xa2\xe5\xad\x97",
                                    "a-very/long_name of something that does not fit anywhere at all, ever, on paper",
                                    NULL,
                                    "\xef\xbf\xbe"};
enum { N_TEXTS = sizeof texts / sizeof texts[0] };

static const char *random_text(struct rng *rng)
{
    return texts[rng_below(rng, N_TEXTS)];
}

static double random_number(struct rng *rng, int taste)
{
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0, 1e308, -1.7e308, 5e-324,
                                 1e-300, -1e-9, 1e300, -1e300, 1e16, 4503599627370497.0};
    const bool is_bad = taste == 0 ? rng_below(rng, 2) == 0 : taste == 1 && rng_below(rng, 20) == 0;
    if (is_bad) return bad[rng_below(rng, sizeof bad / sizeof bad[0])];
    if (taste == 2) return pow(10.0, 600.0 * rng_uniform(rng) - 300.0);
    if (taste == 3) return 1e9 + 1e-6 * rng_uniform(rng);
    if (taste == 4) return 7.0;
    return 200.0 * rng_uniform(rng) - 20.0;
}

static void fill(struct sample *sample, struct rng *rng, size_t n_categories)
{
    const int x_taste = (int)rng_below(rng, 6), y_taste = (int)rng_below(rng, 6);
    const bool is_sorted = rng_below(rng, 2) == 0;
    for (size_t i = 0; i < MOST_POINTS; i++) {
        sample->x[i] = is_sorted ? (double)i : random_number(rng, x_taste);
        sample->y[i] = random_number(rng, y_taste);
        sample->low[i] = sample->y[i] - fabs(random_number(rng, y_taste));
        sample->high[i] = sample->y[i] + fabs(random_number(rng, y_taste));
        sample->x_end[i] = sample->x[i] + random_number(rng, x_taste);
        sample->row[i] = rng_below(rng, n_categories + 2);
        sample->on_front[i] = rng_below(rng, 5) == 0;
        sample->labels[i] = random_text(rng);
    }
}

static struct plot_axis random_axis(struct rng *rng)
{
    struct plot_axis axis = {.title = random_text(rng), .scale = (enum plot_scale)rng_below(rng, 3)};
    if (rng_below(rng, 3) == 0) {
        axis.low = random_number(rng, (int)rng_below(rng, 6));
        axis.high = random_number(rng, (int)rng_below(rng, 6));
    }
    return axis;
}

static struct plot_series random_series(struct rng *rng, const struct sample *sample)
{
    static const size_t counts[] = {0, 1, 2, 30, MOST_POINTS};
    return (struct plot_series){
        .name = random_text(rng), .is_reference = rng_below(rng, 4) == 0, .colour = (unsigned)rng_below(rng, 20),
        .n = counts[rng_below(rng, 5)], .x = rng_below(rng, 9) == 0 ? NULL : sample->x,
        .y = rng_below(rng, 9) == 0 ? NULL : sample->y, .low = rng_below(rng, 2) == 0 ? NULL : sample->low,
        .high = rng_below(rng, 2) == 0 ? NULL : sample->high, .x_end = rng_below(rng, 9) == 0 ? NULL : sample->x_end,
        .row = rng_below(rng, 9) == 0 ? NULL : sample->row, .on_front = rng_below(rng, 2) == 0 ? NULL : sample->on_front,
        .labels = rng_below(rng, 2) == 0 ? NULL : sample->labels};
}

static void draw_random(uint64_t index)
{
    static const double sizes[] = {0, 0, 640, 1, 333.3, 1e9, -5, (double)NAN};
    static struct sample sample;
    struct plot_series series[MOST_SERIES];
    struct plot_line lines[MOST_LINES];
    const char *categories[MOST_CATEGORIES];
    struct rng rng = test_rng(3, "plot-random", index);
    const size_t n_categories = rng_below(&rng, 3) == 0 ? 0 : rng_below(&rng, MOST_CATEGORIES);
    fill(&sample, &rng, n_categories);
    for (size_t i = 0; i < MOST_SERIES; i++) series[i] = random_series(&rng, &sample);
    for (size_t i = 0; i < MOST_LINES; i++) {
        lines[i] = (struct plot_line){.value = random_number(&rng, (int)rng_below(&rng, 6)), .name = random_text(&rng)};
        lines[i].kind = (unsigned)rng_below(&rng, 3);
    }
    for (size_t i = 0; i < MOST_CATEGORIES; i++) categories[i] = random_text(&rng);
    const struct plot_chart chart = {
        .kind = (enum plot_kind)(index % (PLOT_GANTT + 1)), .title = random_text(&rng), .subtitle = random_text(&rng),
        .x = random_axis(&rng), .y = random_axis(&rng), .z = random_axis(&rng), .is_square = rng_below(&rng, 5) == 0,
        .n_categories = n_categories, .categories = rng_below(&rng, 9) == 0 ? NULL : categories,
        .n_series = rng_below(&rng, MOST_SERIES + 1), .series = series,
        .n_lines = rng_below(&rng, MOST_LINES + 1), .lines = lines,
        .width = sizes[rng_below(&rng, 8)], .height = sizes[rng_below(&rng, 8)]};
    struct text svg, script, data;
    text_init(&svg);
    text_init(&script);
    text_init(&data);
    plot_svg(&chart, &svg);
    plot_gnuplot(&chart, "x", &script, &data);
    const bool ok = CHECK(!svg.failed && !script.failed && !data.failed) && CHECK(is_xml(svg.chars)) &&
                    CHECK(says_no_nan(svg.chars)) && CHECK(draws_on_paper(svg.chars));
    if (!ok) fprintf(stderr, "chart %llu\n%s", (unsigned long long)index, svg.chars);
    text_fini(&svg);
    text_fini(&script);
    text_fini(&data);
}

TEST(random_charts_stay_on_paper)
{
    for (uint64_t i = 0; i < 800; i++) draw_random(i);
}

TEST(the_checks_can_fail)
{
    CHECK(is_xml("<a b=\"c\"><d/>e &amp; f</a>"));
    CHECK(!is_xml("<a><b></a></b>") && !is_xml("<a b=c/>") && !is_xml("<a>&</a>") && !is_xml("<a>"));
    CHECK(draws_on_paper("<svg width=\"10\" height=\"10\"><path d=\"M0 0L10 10 5 5z\"/></svg>"));
    CHECK(!draws_on_paper("<svg width=\"10\" height=\"10\"><path d=\"M0 0L10 10 5 11z\"/></svg>"));
    CHECK(!draws_on_paper("<svg width=\"10\" height=\"10\"><rect x=\"1\" y=\"1\" width=\"10\" height=\"1\"/></svg>"));
    CHECK(!says_no_nan("<path d=\"M0 nan\"/>"));
}

/* --- thinning --- */

/* Of every column of pixels, the ends of what is drawn are those of all points in it. */
TEST(thinning_keeps_extremes)
{
    enum { N = 20000, COLUMNS = 100 };
    const struct px_rect all = {0.0, 0.0, COLUMNS, 1000.0};
    double low[COLUMNS], high[COLUMNS], drawn_low[COLUMNS], drawn_high[COLUMNS];
    SCOPED(text) svg = {0};
    struct pen pen;
    struct thinner thinner;
    struct rng rng = test_rng(5, "thinning", 0);
    pen_init(&pen, &svg, &all);
    thinner_init(&thinner, &pen);
    for (int i = 0; i < COLUMNS; i++) low[i] = drawn_low[i] = 2000.0, high[i] = drawn_high[i] = -1.0;
    for (int i = 0; i < N; i++) {
        const double x = rint(10.0 * COLUMNS * ((double)i + 0.5) / N - 0.5) / 10.0;
        const double y = rint(10000.0 * pow(rng_uniform(&rng), 3.0)) / 10.0;
        const int column = (int)floor(x);
        low[column] = fmin(low[column], y);
        high[column] = fmax(high[column], y);
        thinner_to(&thinner, x, y);
    }
    thinner_end(&thinner);
    double x = 0.0, y = 0.0;
    size_t n_drawn = 0;
    for (char *at = svg.chars; *at != 0;) {
        const char letter = *at++;
        if (letter != 'V') x = letter == 'h' ? x + strtod(at, &at) : strtod(at, &at);
        if (letter == 'V' || letter == 'M' || letter == 'L') y = strtod(at, &at);
        drawn_low[(int)floor(x)] = fmin(drawn_low[(int)floor(x)], y);
        drawn_high[(int)floor(x)] = fmax(drawn_high[(int)floor(x)], y);
        n_drawn++;
    }
    CHECK(n_drawn <= 4 * COLUMNS + 1);
    for (int i = 0; i < COLUMNS; i++) {
        CHECK_NEAR(drawn_low[i], low[i], 1e-9);
        CHECK_NEAR(drawn_high[i], high[i], 1e-9);
    }
}

/* A line that leaves the frame is cut where it crosses its border. */
TEST(lines_are_cut_at_the_frame)
{
    const struct px_rect clip = {0.0, 0.0, 10.0, 10.0};
    SCOPED(text) svg = {0};
    struct pen pen;
    pen_init(&pen, &svg, &clip);
    pen_to(&pen, 5.0, 5.0);
    pen_to(&pen, 5.0, 25.0);
    pen_to(&pen, 7.0, 25.0);
    pen_to(&pen, 7.0, -5.0);
    pen_to(&pen, 12.0, 0.0);
    pen_to(&pen, 8.0, 4.0);
    CHECK_EQ_STR(svg.chars, "M5 5h0V10M7 10h0V0M10 2h0L8 4");
}
