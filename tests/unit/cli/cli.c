#include "tests/support/harness.h"

#include "sim/cli/options.h"
#include "sim/cli/table.h"
#include "sim/core/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Options --- */

struct values {
    struct option_texts settings;
    const char *output;
    int queue;
    bool json, quiet;
};

static const char *const queues[] = {"calendar", "heap", NULL};

#define AT(name) offsetof(struct values, name)
static const struct option table[] = {
    {"First", "set", 's', OPTION_TEXTS, AT(settings), "K=V", NULL, "a setting"},
    {NULL, "output", 'o', OPTION_TEXT, AT(output), "FILE", NULL, "a file"},
    {"Second", "queue", 0, OPTION_CHOICE, AT(queue), "Q", queues, "a queue"},
    {NULL, "json", 'j', OPTION_FLAG, AT(json), NULL, NULL, "a flag"},
    {NULL, "quiet", 'q', OPTION_FLAG, AT(quiet), NULL, NULL, "another flag"},
    {0}};
#undef AT

/* Parses up to 15 words, ended by NULL; they are left in `words`. */
static struct {
    char *words[16];
    struct values values;
    struct diag diag;
    int n;
} parsed;

static void parse(const char *const *words)
{
    static char copies[16][64];
    int argc = 0;
    for (; words[argc] != NULL; argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", words[argc]);
        parsed.words[argc] = copies[argc];
    }
    memset(&parsed.values, 0, sizeof parsed.values);
    diag_init(&parsed.diag);
    parsed.n = options_parse(table, argc, parsed.words, &parsed.values, &parsed.diag);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void options_and_arguments_mix(void)
{
    PARSE("a", "-s", "x=1", "b", "--set=y=2", "-oout", "--queue", "heap", "-jq", "-", "--", "--json");
    CHECK_EQ_INT(parsed.n, 4);
    CHECK_EQ_STR(parsed.words[0], "a");
    CHECK_EQ_STR(parsed.words[1], "b");
    CHECK_EQ_STR(parsed.words[2], "-");
    CHECK_EQ_STR(parsed.words[3], "--json");
    CHECK_EQ_INT(parsed.values.settings.n, 2);
    CHECK_EQ_STR(parsed.values.settings.items[0], "x=1");
    CHECK_EQ_STR(parsed.values.settings.items[1], "y=2");
    CHECK_EQ_STR(parsed.values.output, "out");
    CHECK_EQ_INT(parsed.values.queue, 1);
    CHECK(parsed.values.json && parsed.values.quiet);
}

static void absent_options_are_zero(void)
{
    PARSE("a");
    CHECK_EQ_INT(parsed.n, 1);
    CHECK(parsed.values.settings.n == 0 && parsed.values.output == NULL && parsed.values.queue == 0);
    CHECK(!parsed.values.json && !parsed.values.quiet);
}

static void every_wrong_option_is_reported(void)
{
    PARSE("--sett", "--json=1", "-x", "--queue=list", "--output");
    CHECK_EQ_INT(parsed.n, SIM_E_USAGE);
    CHECK_EQ_INT(parsed.diag.n_errors, 5);
    CHECK_EQ_STR(parsed.diag.items[0].text, "unknown option '--sett'");
    CHECK_EQ_STR(parsed.diag.items[0].hint, "did you mean '--set'?");
    CHECK_EQ_STR(parsed.diag.items[1].text, "option '--json' takes no value");
    CHECK_EQ_STR(parsed.diag.items[2].text, "unknown option '-x'");
    CHECK_EQ_STR(parsed.diag.items[3].text, "option '--queue' does not take 'list'");
    CHECK_EQ_STR(parsed.diag.items[4].text, "option '--output' needs FILE");
}

static void texts_have_an_end(void)
{
    static char word[] = "-sk=v";
    char *argv[OPTION_MAX_TEXTS + 1];
    for (int i = 0; i <= OPTION_MAX_TEXTS; i++) argv[i] = word;
    diag_init(&parsed.diag);
    memset(&parsed.values, 0, sizeof parsed.values);
    CHECK_EQ_INT(options_parse(table, OPTION_MAX_TEXTS, argv, &parsed.values, &parsed.diag), 0);
    CHECK_EQ_INT(parsed.values.settings.n, OPTION_MAX_TEXTS);
    for (int i = 0; i <= OPTION_MAX_TEXTS; i++) argv[i] = word;
    memset(&parsed.values, 0, sizeof parsed.values);
    CHECK_EQ_INT(options_parse(table, OPTION_MAX_TEXTS + 1, argv, &parsed.values, &parsed.diag), SIM_E_USAGE);
    CHECK_EQ_STR(parsed.diag.items[0].text, "more than 256 options '--set'");
}

static void help_has_the_groups_of_the_table(void)
{
    struct text help;
    text_init(&help);
    options_help(table, &help);
    CHECK_EQ_STR(help.chars, "\nFirst:\n"
                             "  -s, --set K=V               a setting\n"
                             "  -o, --output FILE           a file\n"
                             "\nSecond:\n"
                             "      --queue Q               a queue\n"
                             "  -j, --json                  a flag\n"
                             "  -q, --quiet                 another flag\n");
    text_fini(&help);
}

/* --- Tables --- */

static const struct table_column columns[] = {
    {"name", COLUMN_LEFT, false}, {"n", COLUMN_RIGHT, false}, {"note", COLUMN_LEFT, false}, {"more", COLUMN_LEFT, true}};

static void fill(struct table *filled)
{
    table_init(filled, columns, sizeof columns / sizeof *columns);
    table_text(filled, "µs");
    table_number(filled, 12345);
    table_text(filled, NULL);
    table_text(filled, "a \"quote\"");
    table_text(filled, "long name");
    table_number(filled, (double)NAN);
    table_text(filled, "x");
    table_text(filled, NULL);
}

/* What table_write writes. */
static const char *written(const struct table *filled, bool as_json)
{
    static char text[1024];
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    if (out == NULL) return "";
    CHECK_EQ_INT(table_write(filled, as_json, out), 0);
    fclose(out);
    return text;
}

static void columns_are_aligned_by_characters(void)
{
    struct table filled;
    fill(&filled);
    CHECK_EQ_STR(written(&filled, false), "name           n  note\n"
                                          "µs         12345\n"
                                          "long name         x\n");
    table_fini(&filled);
}

static void json_has_every_column(void)
{
    struct table filled;
    fill(&filled);
    CHECK_EQ_STR(written(&filled, true),
                 "[\n"
                 "  {\"name\": \"µs\", \"n\": 12345, \"note\": null, \"more\": \"a \\\"quote\\\"\"},\n"
                 "  {\"name\": \"long name\", \"n\": null, \"note\": \"x\", \"more\": null}\n"
                 "]\n");
    table_fini(&filled);
}

static void numbers_are_shown_with_five_digits(void)
{
    static const struct {
        double value;
        const char *shown;
    } cases[] = {{0, "0"},          {-0.0, "0"},         {7, "7"},           {-3, "-3"},
                 {2303146934, "2303146934"}, {0.5, "0.5"}, {1.0 / 3, "0.33333"}, {12.3456789, "12.346"},
                 {99999.4, "99999"}, {123456.7, "123457"}, {1e-7, "1e-07"},  {1.5e300, "1.5e+300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[64];
        CHECK_EQ_STR(table_show_number(cases[i].value, buffer, sizeof buffer), cases[i].shown);
    }
}

static void a_table_without_memory_says_so(void)
{
    struct table filled;
    mem_fail_after(0);
    fill(&filled);
    mem_fail_never();
    CHECK(filled.failed);
    CHECK_EQ_INT(table_write(&filled, false, stdout), SIM_E_NOMEM);
    table_fini(&filled);
}

TEST_SUITE(cli)
{
    TEST(options_and_arguments_mix);
    TEST(absent_options_are_zero);
    TEST(every_wrong_option_is_reported);
    TEST(texts_have_an_end);
    TEST(help_has_the_groups_of_the_table);
    TEST(columns_are_aligned_by_characters);
    TEST(json_has_every_column);
    TEST(numbers_are_shown_with_five_digits);
    TEST(a_table_without_memory_says_so);
}
