#include "sim/cli/options.h"
#include "tests/support/harness.h"

/* --- Options --- */

struct values {
    struct option_texts settings;
    const char *output;
    int queue;
    int form;
    bool json, quiet;
};

static const char *const forms[] = {"text", "markdown", "csv", NULL};

static const char *const queues[] = {"calendar", "heap", NULL};

#define AT(name) offsetof(struct values, name)
static const struct option table[] = {
    {"First", "set", 's', OPTION_TEXTS, AT(settings), "K=V", NULL, "a setting"},
    {NULL, "output", 'o', OPTION_TEXT, AT(output), "FILE", NULL, "a file"},
    {"Second", "queue", 0, OPTION_CHOICE, AT(queue), "Q", queues, "a queue"},
    {NULL, "json", 'j', OPTION_FLAG, AT(json), NULL, NULL, "a flag"},
    {NULL, "markdown", 0, OPTION_WORD, AT(form), NULL, forms, "one of two words"},
    {NULL, "csv", 'c', OPTION_WORD, AT(form), NULL, forms, "the other"},
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
    parsed.n = options_parse(table, NULL, argc, parsed.words, &parsed.values, &parsed.diag);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

TEST(options_and_arguments_mix)
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

TEST(absent_options_are_zero)
{
    PARSE("a");
    CHECK_EQ_INT(parsed.n, 1);
    CHECK(parsed.values.settings.n == 0 && parsed.values.output == NULL && parsed.values.queue == 0);
    CHECK(!parsed.values.json && !parsed.values.quiet);
}

TEST(words_of_one_value_exclude_each_other)
{
    PARSE("-cc");
    CHECK_EQ_INT(parsed.n, 0);
    CHECK_EQ_STR(forms[parsed.values.form], "csv");
    PARSE("--csv", "--markdown");
    CHECK_EQ_INT(parsed.n, SIM_E_USAGE);
    CHECK_EQ_STR(parsed.diag.items[0].text, "--csv and --markdown exclude each other");
    PARSE("--csv=1");
    CHECK_EQ_STR(parsed.diag.items[0].text, "option '--csv' takes no value");
}

TEST(every_wrong_option_is_reported)
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

TEST(texts_have_an_end)
{
    static char word[] = "-sk=v";
    char *argv[OPTION_MAX_TEXTS + 1];
    for (int i = 0; i <= OPTION_MAX_TEXTS; i++) argv[i] = word;
    diag_init(&parsed.diag);
    memset(&parsed.values, 0, sizeof parsed.values);
    CHECK_EQ_INT(options_parse(table, NULL, OPTION_MAX_TEXTS, argv, &parsed.values, &parsed.diag), 0);
    CHECK_EQ_INT(parsed.values.settings.n, OPTION_MAX_TEXTS);
    for (int i = 0; i <= OPTION_MAX_TEXTS; i++) argv[i] = word;
    memset(&parsed.values, 0, sizeof parsed.values);
    CHECK_EQ_INT(options_parse(table, NULL, OPTION_MAX_TEXTS + 1, argv, &parsed.values, &parsed.diag), SIM_E_USAGE);
    CHECK_EQ_STR(parsed.diag.items[0].text, "more than 256 options '--set'");
}

TEST(help_has_the_groups_of_the_table)
{
    SCOPED(text) help = {0};
    options_help(table, &help);
    CHECK_EQ_STR(help.chars, "\nFirst:\n"
                             "  -s, --set K=V               a setting\n"
                             "  -o, --output FILE           a file\n"
                             "\nSecond:\n"
                             "      --queue Q               a queue\n"
                             "  -j, --json                  a flag\n"
                             "      --markdown              one of two words\n"
                             "  -c, --csv                   the other\n"
                             "  -q, --quiet                 another flag\n");
}
