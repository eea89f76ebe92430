/* gnuplot draws what plot_gnuplot writes, of every kind, and says nothing meanwhile; texts cannot break out of it. */
#include "tests/support/harness.h"
#include "tests/support/plot_fixture.h"

#include <unistd.h>

static void write_file(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    if (file == NULL) return;
    CHECK(fwrite(text->chars, 1, text->length, file) == text->length);
    CHECK_EQ_INT(fclose(file), 0);
}

static size_t count_in_file(const char *path, const char *word)
{
    char line[65536];
    size_t n = 0;
    FILE *file = fopen(path, "rb");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) n += strstr(line, word) != NULL;
    if (file != NULL) fclose(file);
    return n;
}

/* Runs gnuplot on a chart, in the directory. Returns the number of drawn lines and shapes, -1 when gnuplot
 * complains. */
static long draw(const char *directory, const char *name, const struct plot_chart *chart)
{
    char path[512], command[2048], data_name[128];
    struct text script, data;
    text_init(&script);
    text_init(&data);
    snprintf(data_name, sizeof data_name, "%s.dat", name);
    plot_gnuplot(chart, data_name, &script, &data);
    CHECK(!script.failed && !data.failed);
    snprintf(path, sizeof path, "%s/%s.gp", directory, name);
    write_file(path, &script);
    snprintf(path, sizeof path, "%s/%s.dat", directory, name);
    write_file(path, &data);
    snprintf(command, sizeof command, "cd '%s' && gnuplot '%s.gp' >'%s.err' 2>&1 && ! test -s '%s.err'", directory,
             name, name, name);
    const int status = system(command);
    if (status != 0) fprintf(stderr, "gnuplot complains about %s/%s.gp\n", directory, name);
    snprintf(path, sizeof path, "%s/%s.svg", directory, name);
    const long n = (long)(count_in_file(path, "<path") + count_in_file(path, "<use") + count_in_file(path, "<polygon"));
    text_fini(&script);
    text_fini(&data);
    return status == 0 ? n : -1;
}

static bool has_gnuplot(void)
{
    if (system("command -v gnuplot >/dev/null") == 0) return true;
    test_skip("needs gnuplot");
    return false;
}

static void draw_one(const char *name, const struct plot_chart *chart, void *context)
{
    struct plot_chart empty = *chart;
    char empty_name[64];
    empty.n_series = 0;
    snprintf(empty_name, sizeof empty_name, "%s-empty", name);
    const long n = draw(context, name, chart), n_empty = draw(context, empty_name, &empty);
    CHECK(n >= 0 && n_empty >= 0);
    CHECK(n > n_empty); /* there is more than the frame */
}

TEST(gnuplot_draws_every_kind)
{
    if (!has_gnuplot()) return;
    char directory[256];
    snprintf(directory, sizeof directory, "%s", test_tmpdir());
    plot_fixture_each(draw_one, directory);
}

TEST(texts_stay_texts)
{
    static const double x[] = {1, 2, (double)NAN, 4}, y[] = {1, (double)INFINITY, 3, 2};
    static const char nasty[] = "it's `touch broken` \"$(touch broken)\" \\ \n system('touch broken') {/b} _x^2 %d";
    const struct plot_series series[] = {{.name = "it's `touch broken`", .n = 4, .x = x, .y = y}};
    const struct plot_chart chart = {.kind = PLOT_LINE, .title = nasty, .subtitle = nasty, .x = {.title = nasty},
                                     .y = {.title = nasty}, .n_series = 1, .series = series};
    char directory[256], path[512];
    if (!has_gnuplot()) return;
    snprintf(directory, sizeof directory, "%s", test_tmpdir());
    CHECK(draw(directory, "nasty", &chart) > 0);
    snprintf(path, sizeof path, "%s/broken", directory);
    CHECK(access(path, F_OK) != 0);
}

static void write_without_memory(const char *name, const struct plot_chart *chart, void *context)
{
    (void)name;
    (void)context;
    for (long n = 0;; n++) {
        struct text script, data;
        text_init(&script);
        text_init(&data);
        mem_fail_after(n);
        plot_gnuplot(chart, "chart.dat", &script, &data);
        mem_fail_never();
        const bool failed = script.failed || data.failed;
        text_fini(&script);
        text_fini(&data);
        if (!CHECK(failed || n > 0) || !failed) break;
    }
}

TEST(exhausted_memory_is_reported)
{
    plot_fixture_each(write_without_memory, NULL);
}
