/* The example of HEFT's paper (Topcuoglu, Hariri and Wu, IEEE TPDS 13(3), 2002): ten tasks, three processors. Makespans
 * of HEFT, CPOP and other list schedulers are exact integers, worked out by an independent program. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { TASKS = 10, PROCESSORS = 3, EDGES = 15 };

static const int times_s[TASKS][PROCESSORS] = {{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17}, {12, 13, 10},
                                               {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};

static const struct {
    int from, to, delay_s;
} edges[EDGES] = {{0, 1, 18}, {0, 2, 12}, {0, 3, 9},  {0, 4, 11}, {0, 5, 14}, {1, 7, 19}, {1, 8, 16}, {2, 6, 23},
                  {3, 7, 27}, {3, 8, 23}, {4, 8, 13}, {5, 7, 15}, {6, 9, 17}, {7, 9, 11}, {8, 9, 13}};

static const char *const processors[PROCESSORS] = {"p100", "t4", "k80"};

static void add_types(struct text *text)
{
    for (int i = 0; i < TASKS; i++) {
        text_printf(text, "%s'task%d': {'speeds': {", i > 0 ? ", " : "", i);
        for (int p = 0; p < PROCESSORS; p++)
            text_printf(text, "%s'%s': %.17g", p > 0 ? ", " : "", processors[p], 1.0 / times_s[i][p]);
        text_add(text, "}}");
    }
}

/* A task has a run time of 1 s at speed 1. */
static const struct bed_rows *schedule(const char *scheduler)
{
    SCOPED(text) text;
    text_init(&text);
    text_printf(&text,
                "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': '%s', 'node_types': {"
                "'p2': {'nodes': 1, 'gpus_per_node': 1, 'gpu': '%s'}, 'p3': {'nodes': 1, 'gpus_per_node': 1, 'gpu': "
                "'%s'}}}, 'jobs': {'types': {",
                processors[0], processors[1], processors[2]);
    add_types(&text);
    text_printf(&text, "}, 'scheduler': %s, 'trace': {'format': 'inline-jobs', 'jobs': [", scheduler);
    for (int i = 0; i < TASKS; i++) {
        text_printf(&text, "%s{'duration': '1s', 'type': 'task%d', 'after': [", i > 0 ? ", " : "", i);
        for (int e = 0, n = 0; e < EDGES; e++)
            if (edges[e].to == i)
                text_printf(&text, "%s{'job': %d, 'delay': '%ds'}", n++ > 0 ? ", " : "", edges[e].from,
                            edges[e].delay_s);
        text_add(&text, "]}");
    }
    text_add(&text, "]}}}");
    return bed_run(BED(.check = true), "%s", text.chars);
}

static double makespan_s(const char *scheduler)
{
    const struct bed_rows *rows = schedule(scheduler);
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_jobs, TASKS);
    return bed_metric(rows, "job.makespan_s");
}

TEST(heft_gives_the_schedule_of_its_paper)
{
    static const struct {
        int node;
        double start_s, end_s;
    } expected[TASKS] = {{2, 0, 9},   {0, 27, 40}, {2, 9, 28},  {1, 18, 26}, {2, 28, 38},
                         {1, 26, 42}, {2, 38, 49}, {0, 57, 62}, {1, 56, 68}, {1, 73, 80}};
    const struct bed_rows *rows = schedule("'heft'");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(rows->n_placements, TASKS);
    for (size_t i = 0; i < rows->n_placements; i++) {
        const struct placement_row *row = &rows->placements[i];
        CHECK_EQ_INT(row->node, expected[row->job].node);
        CHECK_NEAR(row->start_s, expected[row->job].start_s, 1e-6);
        CHECK_NEAR(row->end_s, expected[row->job].end_s, 1e-6);
    }
}

TEST(list_schedulers_give_their_integers)
{
    static const struct {
        const char *scheduler;
        double makespan_s;
    } cases[] = {
        {"{'policy': 'heft', 'insertion': false}", 80},
        {"{'policy': 'heft', 'order': 'critical-path'}", 86},
        {"{'policy': 'heft', 'order': 'submission'}", 88},
        {"{'policy': 'heft', 'order': 'submission', 'choice': 'time'}", 82},
        {"{'policy': 'heft', 'order': 'submission', 'choice': 'start'}", 99},
        {"{'policy': 'heft', 'order': 'least-start'}", 93},
        {"{'policy': 'heft', 'order': 'least-finish'}", 76},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_NEAR(makespan_s(cases[i].scheduler), cases[i].makespan_s, 1e-6);
}
