#include "sim/cli/answer.h"
#include "tests/support/harness.h"

static const struct table_column columns[] = {LEFT("name"), RIGHT("n"), LEFT("note"), JSON_ONLY("more"),
                                              RIGHT_SHOWN("error")};

static void fill(struct answer_table *table)
{
    TABLE_INIT(table, columns);
    table_text(table, "µs");
    table_number(table, 12345);
    table_text(table, NULL);
    table_text(table, "a \"quote\"");
    table_undefined(table);
    table_text(table, "long name");
    table_number(table, (double)NAN);
    table_text(table, "x");
    table_text(table, "");
    table_shown(table, 0.125, "12.5 %");
}

static const char *csv_rows;

/* What answer_end prints for an answer that `make` has filled. */
static const char *printed(enum answer_form form, void (*make)(struct answer *))
{
    static char text[1024];
    struct answer answer;
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    if (out == NULL) return "";
    answer_init(&answer, form, csv_rows);
    make(&answer);
    CHECK_EQ_INT(answer_end(&answer, 0, out, NULL), 0);
    fclose(out);
    return text;
}

static void only_table(struct answer *answer)
{
    struct answer_table table;
    fill(&table);
    answer_add(answer, NULL, NULL, &table);
}

TEST(columns_are_aligned_by_characters)
{
    CHECK_EQ_STR(printed(ANSWER_TEXT, only_table), "name           n  note   error\n"
                                                   "µs         12345             -\n"
                                                   "long name         x     12.5 %\n");
}

TEST(markdown_has_the_columns_of_the_text)
{
    CHECK_EQ_STR(printed(ANSWER_MARKDOWN, only_table), "| name | n | note | error |\n|---|---:|---|---:|\n"
                                                       "| µs | 12345 |  | - |\n| long name |  | x | 12.5 % |\n");
}

static void bars(struct answer *answer)
{
    static const struct table_column names[] = {LEFT("name")};
    struct answer_table table;
    TABLE_INIT(&table, names);
    table_text(&table, "|a||b");
    table_text(&table, "c|");
    answer_add(answer, NULL, NULL, &table);
}

TEST(bars_do_not_end_cells_of_markdown)
{
    CHECK_EQ_STR(printed(ANSWER_MARKDOWN, bars), "| name |\n|---|\n| \\|a\\|\\|b |\n| c\\| |\n");
}

TEST(latex_has_the_columns_of_the_text)
{
    CHECK_EQ_STR(printed(ANSWER_LATEX, only_table), "\\begin{tabular}{lrlr}\n\\toprule\nname & n & note & error \\\\\n"
                                                    "\\midrule\nµs & 12345 &  & - \\\\\n"
                                                    "long name &  & x & 12.5 \\% \\\\\n\\bottomrule\n\\end{tabular}\n");
}

static void sentences_and_table(struct answer *answer)
{
    answer_say(answer, "100 %% of ");
    answer_say(answer, "it\n\nis ");
    answer_say(answer, "said\n");
    only_table(answer);
}

TEST(in_latex_all_but_tables_is_comments)
{
    const char *text = printed(ANSWER_LATEX, sentences_and_table);
    CHECK(strstr(text, "% 100 % of it\n\n% is said\n\n\\begin{tabular}") == text);
}

TEST(json_has_every_column_with_a_key)
{
    CHECK_EQ_STR(printed(ANSWER_JSON, only_table),
                 "[\n"
                 "  {\"name\": \"µs\", \"n\": 12345, \"note\": null, \"more\": \"a \\\"quote\\\"\"},\n"
                 "  {\"name\": \"long name\", \"n\": null, \"note\": \"x\", \"more\": \"\"}\n"
                 "]\n");
}

/* Values, a table of two columns and one of three as members, a list; and what people see instead. */
static void several_parts(struct answer *answer)
{
    static const struct table_column pair[] = {LEFT("statistic"), RIGHT("value"), LEFT_SHOWN("unit")};
    struct answer_table table;
    answer_say(answer, "%s was %s\n", "it", "measured");
    answer_text(answer, "who", NULL);
    TABLE_INIT(&table, pair);
    table_text(&table, "span");
    table_number(&table, 1.5);
    table_text(&table, "s");
    answer_members(answer, &table);
    TABLE_INIT(&table, columns);
    answer_add(answer, "none", "Not shown", &table);
    fill(&table);
    table.n_cells /= 2; /* one row */
    answer_add(answer, "rows", "Rows", &table);
    answer_open(answer, "notes", '[');
    answer_bool(answer, NULL, true);
    answer_json(answer, NULL, "{}");
    answer_close(answer, ']');
    fill(&table);
    table.n_cells /= 2;
    answer_open_row(answer, "by_name", '{');
    answer_members(answer, &table);
    answer_number(answer, "n", 2);
    answer_close(answer, '}');
}

TEST(text_has_blank_lines_between_its_parts)
{
    CHECK_EQ_STR(printed(ANSWER_TEXT, several_parts), "it was measured\n"
                                                      "\n"
                                                      "statistic  value  unit\n"
                                                      "span         1.5  s\n"
                                                      "\n"
                                                      "Rows\n"
                                                      "name      n  note  error\n"
                                                      "µs    12345            -\n"
                                                      "\n"
                                                      "name      n  note  error\n"
                                                      "µs    12345            -\n");
}

TEST(json_has_members_and_lists)
{
    CHECK_EQ_STR(printed(ANSWER_JSON, several_parts),
                 "{\n"
                 "  \"who\": null,\n"
                 "  \"span\": 1.5,\n"
                 "  \"none\": [],\n"
                 "  \"rows\": [\n"
                 "    {\"name\": \"µs\", \"n\": 12345, \"note\": null, \"more\": \"a \\\"quote\\\"\"}\n"
                 "  ],\n"
                 "  \"notes\": [\n"
                 "    true,\n"
                 "    {}\n"
                 "  ],\n"
                 "  \"by_name\": {\"µs\": {\"n\": 12345, \"note\": null, \"more\": \"a \\\"quote\\\"\"}, \"n\": 2}\n"
                 "}\n");
}

TEST(csv_has_the_keys_and_values_of_json)
{
    CHECK_EQ_STR(printed(ANSWER_CSV, only_table),
                 "name,n,note,more\r\nµs,12345,,\"a \"\"quote\"\"\"\r\nlong name,,x,\"\"\r\n");
}

TEST(csv_is_one_table_of_several)
{
    csv_rows = "rows";
    CHECK_EQ_STR(printed(ANSWER_CSV, several_parts), "name,n,note,more\r\nµs,12345,,\"a \"\"quote\"\"\"\r\n");
    csv_rows = "none";
    CHECK_EQ_STR(printed(ANSWER_CSV, several_parts), "name,n,note,more\r\n");
    csv_rows = "by_name";
    CHECK_EQ_STR(printed(ANSWER_CSV, several_parts),
                 "name,n,note,more,value\r\nµs,12345,,\"a \"\"quote\"\"\",\r\nn,,,,2\r\n");
    csv_rows = NULL;
}

/* Rows that differ in their members; objects, lists and blanks inside. */
static void uneven_rows(struct answer *answer)
{
    answer_open(answer, NULL, '[');
    answer_json(answer, NULL, "{\"b\": 0.1, \"o\": {\"x\": true, \"y\": {\"z\": \"line\\nbreak\"}}}");
    answer_json(answer, NULL, "{\"a\": \" \", \"o\": {\"x\": null}, \"list\": [1], \"b\": 1e-300}");
    answer_close(answer, ']');
}

TEST(members_of_objects_are_columns_of_csv)
{
    CHECK_EQ_STR(printed(ANSWER_CSV, uneven_rows),
                 "b,o.x,o.y.z,a\r\n0.1,true,\"line\nbreak\",\r\n1e-300,,,\" \"\r\n");
}

TEST(numbers_are_shown_with_five_digits)
{
    static const struct {
        double value;
        const char *shown;
    } cases[] = {{0, "0"},          {-0.0, "0"},         {7, "7"},           {-3, "-3"},
                 {2303146934, "2303146934"}, {0.5, "0.5"}, {1.0 / 3, "0.33333"}, {12.3456789, "12.346"},
                 {99999.4, "99999"}, {123456.7, "123457"}, {1e-7, "1e-07"},  {1.5e300, "1.5e+300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[64];
        CHECK_EQ_STR(text_show_number(cases[i].value, buffer, sizeof buffer), cases[i].shown);
    }
}

TEST(an_answer_without_memory_says_so)
{
    struct answer_table table;
    mem_fail_after(0);
    fill(&table);
    mem_fail_never();
    CHECK(table.failed);
    CHECK_EQ_INT(table_print(&table, 0, ANSWER_TEXT, stdout, NULL), SIM_E_NOMEM);
}

TEST(a_failed_verb_prints_nothing)
{
    struct answer_table table;
    fill(&table);
    CHECK_EQ_INT(table_print(&table, SIM_E_DATA, ANSWER_TEXT, NULL, NULL), SIM_E_DATA);
    CHECK(table.cells == NULL);
}

/* Names as they may stand in a database from elsewhere: escape, a C1 control character, a line break, no UTF-8. */
static void odd_names(struct answer *answer)
{
    static const struct table_column pair[] = {LEFT("name"), RIGHT("n")};
    struct answer_table table;
    answer_say(answer, "run \033]0;title\a of\t\"\xc2\x9b\"\n");
    TABLE_INIT(&table, pair);
    table_text(&table, "a\033[2J|\n\xff");
    table_number(&table, 1);
    answer_add(answer, "rows", NULL, &table);
}

TEST(people_see_control_characters_escaped)
{
    CHECK_EQ_STR(printed(ANSWER_TEXT, odd_names), "run \\x1b]0;title\\x07 of\t\"\\xc2\\x9b\"\n"
                                                  "\n"
                                                  "name               n\n"
                                                  "a\\x1b[2J|\\x0a\\xff  1\n");
    CHECK_EQ_STR(printed(ANSWER_MARKDOWN, odd_names), "run \\x1b]0;title\\x07 of\t\"\\xc2\\x9b\"\n"
                                                      "\n"
                                                      "| name | n |\n|---|---:|\n"
                                                      "| a\\x1b[2J\\|\\x0a\\xff | 1 |\n");
    csv_rows = "rows";
    CHECK_EQ_STR(printed(ANSWER_CSV, odd_names), "name,n\r\n\"a\033[2J|\n\xef\xbf\xbd\",1\r\n");
    csv_rows = NULL;
}

TEST(texts_of_lines_are_escaped)
{
    char text[64] = "";
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    MUST(out != NULL);
    answer_print(out, "%s: %d\n", "a\033b", 3);
    fclose(out);
    CHECK_EQ_STR(text, "a\\x1bb: 3\n");
}

TEST(csv_that_cannot_be_made_is_a_finding)
{
    static const char *const texts[] = {"{\"a\": \"\xff\"}", "{\"a\": 1, \"a\": 2}", "{"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct answer answer;
        struct diag diag = {0};
        answer_init(&answer, ANSWER_CSV, NULL);
        answer_json(&answer, NULL, texts[i]);
        CHECK_EQ_INT(answer_end(&answer, 0, NULL, &diag), SIM_E_CONFIG);
        CHECK_EQ_INT(diag.n_errors, 1);
        CHECK_EQ_STR(diag.items[0].where, "the answer as CSV");
    }
}
