/* What compare prints of a comparison that is made by hand: which rows stand where, and numbers at the ends of their
 * formats. */
#include "sim/cli/study/compare_print.h"
#include "tests/support/harness.h"

enum { MOST_ROWS = 24 };

struct bed {
    struct compare_row rows[MOST_ROWS];
    struct compare_options options;
    struct comparison comparison;
    struct compare_print print;
};

static void bed_init(struct bed *bed)
{
    *bed = (struct bed){.options = {.level = 0.9, .margin_frac = 0.02}};
    bed->comparison = (struct comparison){.base = "a.db:1", .changed = "a.db:2", .rows = bed->rows};
    bed->print = (struct compare_print){.comparison = &bed->comparison, .options = &bed->options};
}

/* A primary metric in seconds, lower is better, with an interval over three seeds. */
static struct compare_row *add(struct bed *bed, const char *metric, double base, double changed, double low,
                               double high)
{
    struct compare_row *row = &bed->rows[bed->comparison.n_rows++];
    *row = (struct compare_row){.metric = metric,
                                .unit = "s",
                                .direction = COMPARE_LOWER,
                                .is_primary = true,
                                .method = isnan(low) ? COMPARE_SINGLE : COMPARE_T_SEEDS,
                                .n = 3,
                                .base = base,
                                .changed = changed,
                                .base_run = (double)NAN,
                                .changed_run = (double)NAN,
                                .delta = {changed - base, low, high},
                                .ratio_low = (double)NAN,
                                .ratio_high = (double)NAN,
                                .p = (double)NAN,
                                .n_tests = 2,
                                .recorded_base = (double)NAN,
                                .recorded_changed = (double)NAN,
                                .worse_frac = (double)NAN};
    return row;
}

static struct compare_row *add_single(struct bed *bed, const char *metric, double base, double changed)
{
    return add(bed, metric, base, changed, (double)NAN, (double)NAN);
}

static void add_unmoved(struct bed *bed, const char *metric)
{
    add(bed, metric, 1, 1, 0, 0)->verdict = COMPARE_SAME;
}

static struct compare_row *add_hidden(struct bed *bed, const char *metric, enum compare_verdict verdict)
{
    struct compare_row *row = add(bed, metric, 1, 2, 0.5, 1.5);
    row->is_primary = false;
    row->verdict = verdict;
    row->n_tests = 9;
    return row;
}

static char *printed(const struct bed *bed, enum answer_form form)
{
    static char text[8192];
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    if (out == NULL) return text;
    CHECK_EQ_INT(compare_print(&bed->print, form, out, NULL), 0);
    fclose(out);
    return text;
}

static void check_holds(const struct bed *bed, const char *part)
{
    char *text = printed(bed, ANSWER_TEXT);
    if (!CHECK(strstr(text, part) != NULL)) test_quotes(text);
}

static void check_lacks(const struct bed *bed, const char *part)
{
    char *text = printed(bed, ANSWER_TEXT);
    if (!CHECK(strstr(text, part) == NULL)) test_quotes(text);
}

/* --- Cells --- */

/* One row's cells from its base on, its blanks as one. */
static const char *cells_of(const struct bed *bed)
{
    static char cells[256];
    size_t n = 0;
    const char *at = strstr(printed(bed, ANSWER_TEXT), "\nx  ");
    for (at = at != NULL ? at + 1 : ""; *at != 0 && *at != '\n' && n + 1 < sizeof cells; at++)
        if (*at != ' ' || n == 0 || cells[n - 1] != ' ') cells[n++] = *at;
    cells[n] = 0;
    return cells;
}

struct cells {
    double base, changed, low, high;
    const char *unit, *shown;
};

TEST(numbers_keep_to_their_formats)
{
    static const struct cells cases[] = {
        /* four digits, whole from 1e4 to below 1e9 */
        {9999.4, 9999.4 * 1.5, 1000, 2000, "s", "x s lower 9999 14999 +50.0 % +10.0 .. +20.0 % - t over seeds, n=3 unclear"},
        {54321.4, 5e7, 1, 2, "s", "x s lower 54321 50000000 920x 1 .. 1x - t over seeds, n=3 unclear"},
        {4e9, 5e9, -1e8, 1e8, "s", "x s lower 4e+09 5e+09 +25.0 % -2.50 .. +2.50 % - t over seeds, n=3 unclear"},
        /* no value is -0 */
        {1, -0.0, -1, -0.5, "s", "x s lower 1 0 -100 % -100 .. -50.0 % - t over seeds, n=3 unclear"},
        /* three digits of a percentage, also where it rounds up to one digit more */
        {1000, 1999.6, 99.96, 99.94, "s", "x s lower 1000 2000 +100 % +10.0 .. +9.99 % - t over seeds, n=3 unclear"},
        {1000, 1099.94, 999.4, 999.6, "s", "x s lower 1000 1100 +9.99 % +99.9 .. +100 % - t over seeds, n=3 unclear"},
        /* percentages are of the size of the base */
        {-2, -1, 0.5, 1.5, "s", "x s lower -2 -1 +50.0 % +25.0 .. +75.0 % - t over seeds, n=3 unclear"},
        /* nothing to relate to */
        {0, 3, 1, 5, "1", "x lower 0 3 3 1 .. 5 - t over seeds, n=3 unclear"},
        /* ratios beyond three times */
        {1, 4.2, 2.9, 3.5, "s", "x s lower 1 4.2 4.2x 3.9 .. 4.5x - t over seeds, n=3 unclear"},
        {1, 3, 1.5, 2.5, "s", "x s lower 1 3 +200 % +150 .. +250 % - t over seeds, n=3 unclear"},
        /* what falls below -100 % has the unit, where the values are never negative; to a billionth of a percent */
        {60, 10, -130, 30, "s", "x s lower 60 10 -50 s -130 .. 30 s - t over seeds, n=3 unclear"},
        {60, 10, -130, 30, "1", "x lower 60 10 -50 -130 .. 30 - t over seeds, n=3 unclear"},
        {60, 10, -60.0000000001, -1, "s", "x s lower 60 10 -83.3 % -100 .. -1.67 % - t over seeds, n=3 unclear"},
        {60, 0, -70, 0, "s", "x s lower 60 0 -60 s -70 .. 0 s - t over seeds, n=3 unclear"},
        {1, -1, -3, -1, "s", "x s lower 1 -1 -200 % -300 .. -100 % - t over seeds, n=3 unclear"},
        {-1, 1, -3, -1, "s", "x s lower -1 1 +200 % -300 .. -100 % - t over seeds, n=3 unclear"},
        /* one end at 0, and a mean of 0, have an interval still */
        {10, 12, 0, 4, "s", "x s lower 10 12 +20.0 % +0.00 .. +40.0 % - t over seeds, n=3 unclear"},
        {10, 8, -4, 0, "s", "x s lower 10 8 -20.0 % -40.0 .. +0.00 % - t over seeds, n=3 unclear"},
        {10, 10, -1, 1, "s", "x s lower 10 10 0 -10.0 .. +10.0 % - t over seeds, n=3 unclear"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed bed;
        bed_init(&bed);
        add(&bed, "x", cases[i].base, cases[i].changed, cases[i].low, cases[i].high)->unit = cases[i].unit;
        CHECK_EQ_STR(cells_of(&bed), cases[i].shown);
    }
}

TEST(a_row_has_its_method_share_and_note)
{
    struct bed bed;
    bed_init(&bed);
    struct compare_row *row = add(&bed, "x", 2, 3, -0.5, 2.5);
    row->direction = COMPARE_HIGHER;
    row->method = COMPARE_BOOTSTRAP;
    row->n = 40;
    row->worse_frac = 0.125;
    row->verdict = COMPARE_DIFFERS;
    row->note = "so";
    row->ratio_low = 1.1;
    row->ratio_high = 1.9; /* of the pairs: goes before the interval of the difference */
    CHECK_EQ_STR(cells_of(&bed), "x s higher 2 3 +50.0 % +10.0 .. +90.0 % 12.5 % bootstrap, n=40 differs: so");
    row->direction = COMPARE_NEUTRAL;
    row->note = NULL;
    CHECK_EQ_STR(cells_of(&bed), "x s - 2 3 +50.0 % +10.0 .. +90.0 % 12.5 % bootstrap, n=40 differs");
}

/* --- Totals --- */

TEST(totals_are_of_what_is_shown)
{
    struct bed bed;
    bed_init(&bed);
    check_holds(&bed, "\nno metric in common (intervals of 90 %, margin 2 %, Holm's correction for 0 tests)\n");
    add_hidden(&bed, "h", COMPARE_WORSE);
    add(&bed, "x", 1, 2, 0.5, 1.5)->verdict = COMPARE_WORSE;
    struct compare_row *at = add(&bed, "x", 1, 2, 0.5, 1.5);
    at->point = "k=1";
    at->verdict = COMPARE_WORSE;
    add(&bed, "y", 1, 2, 0.5, 1.5)->verdict = COMPARE_BETTER;
    add(&bed, "z", 1, 2, 0.5, 1.5)->verdict = COMPARE_BETTER;
    check_holds(&bed, "\n2 better, 1 worse (intervals of 90 %, margin 2 %, Holm's correction for 2 tests)\n");
    for (size_t i = 1; i < bed.comparison.n_rows; i++) bed.rows[i].n_tests = 1;
    check_holds(&bed, "correction for 1 test)\n");
    for (size_t i = 0; i < bed.comparison.n_rows; i++) bed.rows[i].n_tests = 0;
    check_holds(&bed, "\n2 better, 1 worse (margin 2 %; no metric could be tested)\n");
    for (size_t i = 0; i < bed.comparison.n_rows; i++) bed.rows[i].n = 1;
    check_holds(&bed, " (margin 2 %; one pair of runs gives neither intervals nor tests: take several seeds)\n");
    bed.rows[2].n = 2;
    check_holds(&bed, "no metric could be tested");
}

static const char *const hidden[] = {"h1", "h2", "h3", "h4", "h5", "h6", "h7"};

static void add_seven(struct bed *bed, int n_worse)
{
    for (int i = 0; i < 7; i++) add_hidden(bed, hidden[i], i < n_worse ? COMPARE_WORSE : COMPARE_BETTER);
}

TEST(hidden_metrics_are_counted_and_five_named)
{
    struct bed bed;
    bed_init(&bed);
    add(&bed, "x", 1, 2, 0.5, 1.5);
    add_seven(&bed, 7);
    add_hidden(&bed, "h7", COMPARE_WORSE)->point = "k=1";
    check_holds(&bed,
                "\n\n7 more metrics: --all shows them, -m NAME some\n7 of them are worse, corrected for all 9 tests:"
                " h1, h2, h3, h4, h5 and 2 more\n");
    check_lacks(&bed, "better, corr");
    bed_init(&bed);
    add_seven(&bed, 5);
    check_holds(&bed,
                "5 of them are worse, corrected for all 9 tests: h1, h2, h3, h4, h5\n2 of them are better, corrected"
                " for all 9 tests: h6, h7\n");
    bed_init(&bed);
    add_seven(&bed, 1);
    check_holds(&bed, "\n1 of them is worse, corrected for all 9 tests: h1\n6 of them are better, corrected for all 9"
                      " tests: h2, h3, h4, h5, h6 and 1 more\n");
    bed_init(&bed);
    add(&bed, "x", 1, 2, 0.5, 1.5);
    check_lacks(&bed, "more metrics");
}

/* --- Points --- */

TEST(points_are_shown_where_they_are_asked_for)
{
    struct bed bed;
    bed_init(&bed);
    add(&bed, "x", 1, 2, 0.5, 1.5)->verdict = COMPARE_WORSE;
    add(&bed, "x", 1, 2.5, 0.5, 1.5)->point = "k=1";
    struct compare_row *worse = add(&bed, "x", 1, 2.75, 0.5, 1.5);
    worse->point = "k=2";
    worse->verdict = COMPARE_WORSE;
    add(&bed, "y", 1, 2, 0.5, 1.5);
    add(&bed, "y", 1, 2, 0.5, 1.5)->point = "k=1";
    check_holds(&bed, "\n\nnote: --points shows each of the 2 configurations\n");
    check_lacks(&bed, "at k=");
    bed.print.worse_points = true;
    check_holds(&bed, "\n  at k=2 ");
    check_lacks(&bed, "at k=1");
    bed.print.points = true;
    check_holds(&bed, "\n  at k=1 ");
    check_lacks(&bed, "note:");
    bed.rows[2].note = "no verdict possible: 3 seeds";
    bed.rows[2].n_tests = 6;
    check_holds(&bed, "\nnote: each configuration is a test: 6 of them need 120 replicates. One alone, ");
    bed.print.points = false;
    check_lacks(&bed, "need 120");
}

/* --- Without an interval, and unmoved --- */

TEST(parts_stand_behind_their_whole)
{
    struct bed bed;
    bed_init(&bed);
    add(&bed, "job.queue_s.mean", 1, 2, 0.5, 1.5);
    add_single(&bed, "job.queue_s.mean[1 GPU]", 1, 1.1);
    check_holds(&bed, "\n\n1 change of parts without an interval, such as job.queue_s.mean[1 GPU]: --all shows them\n");
    add_single(&bed, "job.queue_s.mean[2 GPUs]", 1, 1.2);
    check_holds(&bed,
                "\n\n2 changes of parts without an interval, such as job.queue_s.mean[1 GPU]: --all shows them\n");
    check_lacks(&bed, "moved, without");
    add(&bed, "job.queue_s.mean[3 GPUs]", 1, 1.3, 0.1, 0.5);      /* has an interval */
    add_single(&bed, "job.queue_s[1 GPU]", 1, 1.4);               /* of no metric that is here */
    add_unmoved(&bed, "job.queue_s.mean[4 GPUs]");
    bed.rows[bed.comparison.n_rows - 1].method = COMPARE_SINGLE;
    check_holds(&bed, "\njob.queue_s.mean[3 GPUs]  s ");
    check_holds(&bed, "\nmoved, without an interval: unclear\nmetric              unit  better is  base  new   change\n"
                      "job.queue_s[1 GPU]  s     lower         1  1.4  +40.0 %\n");
    check_lacks(&bed, "unmoved:");
    bed.print.parts = true;
    check_holds(&bed, "\njob.queue_s.mean[2 GPUs]  s     lower         1  1.2  +20.0 %\n");
    check_holds(&bed, "\nunmoved: job.queue_s.mean[4 GPUs]\n");
    check_lacks(&bed, "changes of parts");
}

/* A line of 117 columns takes no more; one of 118 is full. */
TEST(unmoved_metrics_fill_lines)
{
    static const char *const of_20[] = {"aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb", "cccccccccccccccccccc",
                                        "dddddddddddddddddddd"};
    struct bed bed;
    bed_init(&bed);
    for (int i = 0; i < 4; i++) add_unmoved(&bed, of_20[i]);
    add_unmoved(&bed, "eeeeeeeeeeeeeeeeeeeeeeee");
    for (int i = 0; i < 4; i++) add_unmoved(&bed, of_20[i]);
    add_unmoved(&bed, "ffffffffffffffffffffffffffffffff");
    add_unmoved(&bed, "g");
    check_holds(&bed, "\n\nunmoved: aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc dddddddddddddddddddd"
                      " eeeeeeeeeeeeeeeeeeeeeeee\n"
                      "  aaaaaaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb cccccccccccccccccccc dddddddddddddddddddd\n"
                      "  ffffffffffffffffffffffffffffffff g\n");
    bed_init(&bed);
    add(&bed, "x", 1, 2, 0.5, 1.5);
    check_lacks(&bed, "unmoved");
}

/* --- The worst --- */

TEST(the_worst_are_of_whole_times_if_these_are_compared)
{
    struct compare_regression worst[] = {{"request.ttft_s", "chat", 7, 1, 3},  {"request.e2e_s", "chat", 8, 2, 6},
                                         {"request.e2e_s", "", 9, 2, 5},       {"job.queue_s", "", 4, 10, 30},
                                         {"job.slowdown", "", 5, 1, 2}};
    struct bed bed;
    bed_init(&bed);
    bed.comparison.worst = worst;
    bed.comparison.n_worst = 5;
    check_holds(&bed,
                "\nworst regressions in request.e2e_s\nservice  id  base  new  delta\n"
                "chat      8     2    6      4\n-         9     2    5      3\n"
                "\nworst regressions in job.queue_s\nservice  id  base  new  delta\n-         4    10   30     20\n");
    check_lacks(&bed, "job.slowdown");
    worst[4].metric = "job.jct_s";
    check_holds(&bed,
                "\nworst regressions in job.jct_s\nservice  id  base  new  delta\n-         5     1    2      1\n");
    bed.comparison.n_worst = 1;
    check_holds(&bed, "\nworst regressions in request.ttft_s\n");
    check_lacks(&bed, "job.");
}

/* --- Markdown and JSON --- */

TEST(markdown_has_what_moved)
{
    static const char *remarks[] = {"first", "second"};
    struct bed bed;
    bed_init(&bed);
    bed.comparison.remarks = remarks;
    bed.comparison.n_remarks = 2;
    add(&bed, "x", 1, 2, 0.5, 1.5)->verdict = COMPARE_WORSE;
    add_single(&bed, "x[1]", 1, 2);
    add_unmoved(&bed, "u");
    add_hidden(&bed, "h", COMPARE_BETTER);
    CHECK_EQ_STR(printed(&bed, ANSWER_MARKDOWN),
                 "**a.db:2** against **a.db:1**: 1 worse, 1 same, 1 unclear (intervals of 90 %, margin 2 %, Holm's correction"
                 " for 2 tests)\n\n"
                 "| metric | unit | better is | base | new | change | interval | worse | method | verdict |\n"
                 "|---|---|---|---:|---:|---:|---:|---:|---|---|\n"
                 "| x | s | lower | 1 | 2 | +100 % | +50.0 .. +150 % | - | t over seeds, n=3 | worse |\n"
                 "| x[1] | s | lower | 1 | 2 | +100 % | - | - | - | unclear |\n"
                 "\n- metrics that did not move at all are left out\n- 1 more metric: --all shows them, -m NAME some\n"
                 "- 1 of them is better, corrected for all 9 tests: h\n- first\n- second\n");
    check_holds(&bed, "\n\nnote: first\nnote: second\n");
}

TEST(programs_get_every_number_by_its_name)
{
    struct compare_regression worst[] = {{"request.e2e_s", "chat", 8, 2, 6}, {"job.jct_s", "", 9, 3, 5}};
    static const char *remarks[] = {"first"};
    struct bed bed;
    bed_init(&bed);
    bed.comparison = (struct comparison){.base = "b", .changed = "c", .n_pairs = 1, .n_unpaired = 2,
                                         .n_unfinished_runs = 3, .n_paired_rows = 4, .n_unpaired_rows = 5,
                                         .rejected_frac = {0.25, 0.5}, .n_rows = 2, .rows = bed.rows, .n_worst = 2,
                                         .worst = worst, .n_remarks = 1, .remarks = remarks};
    bed.rows[0] = (struct compare_row){.metric = "x", .unit = "s", .direction = COMPARE_HIGHER, .method = COMPARE_WELCH,
                                       .n = 6, .base = 7, .changed = 8, .base_run = 9, .changed_run = 10,
                                       .delta = {11, 12, 13}, .ratio_low = 14, .ratio_high = 15, .p = 16, .n_tests = 17,
                                       .recorded_base = 18, .recorded_changed = 19, .worse_frac = 20,
                                       .verdict = COMPARE_SAME, .note = "note"};
    bed.rows[1] = bed.rows[0];
    bed.rows[1].direction = COMPARE_NEUTRAL;
    bed.rows[1].point = "k=1";
    bed.rows[1].note = NULL;
    static const char numbers[] =
        "\"base\": 7, \"new\": 8, \"base_run\": 9, \"new_run\": 10, \"base_recorded\": 18, \"new_recorded\": 19,"
        " \"delta\": 11, \"low\": 12, \"high\": 13, \"ratio_low\": 14, \"ratio_high\": 15, \"p\": 16, \"tests\": 17,"
        " \"worse_frac\": 20, \"method\": \"Welch\", \"n\": 6, \"verdict\": \"same\"";
    SCOPED(text) text = {0};
    text_add(&text, "{\n  \"base\": \"b\",\n  \"new\": \"c\",\n  \"level\": 0.9,\n  \"margin_frac\": 0.02,\n  \"pairs\": 1,\n"
                    "  \"unpaired_runs\": 2,\n  \"unfinished_runs\": 3,\n  \"paired_rows\": 4,\n  \"unpaired_rows\": 5,\n"
                    "  \"base_rejected_frac\": 0.25,\n  \"new_rejected_frac\": 0.5,\n  \"metrics\": [\n");
    text_printf(&text, "    {\"metric\": \"x\", \"unit\": \"s\", \"point\": null, \"better_is\": \"higher\", %s,"
                       " \"note\": \"note\"},\n", numbers);
    text_printf(&text, "    {\"metric\": \"x\", \"unit\": \"s\", \"point\": \"k=1\", \"better_is\": null, %s,"
                       " \"note\": null}\n  ],\n", numbers);
    text_add(&text, "  \"worst\": [\n    {\"metric\": \"request.e2e_s\", \"service\": \"chat\", \"id\": 8, \"base\": 2,"
                    " \"new\": 6},\n    {\"metric\": \"job.jct_s\", \"service\": null, \"id\": 9, \"base\": 3, \"new\": 5}\n"
                    "  ],\n  \"remarks\": [\n    \"first\"\n  ]\n}\n");
    CHECK_EQ_STR(printed(&bed, ANSWER_JSON), text.chars);
}
