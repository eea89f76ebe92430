/* Parameters of Gavel that its objective does not read, and those of job types that no job has. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <string.h>

/* Two types of nodes with a GPU each, and a job of type a and one of b. */
static struct bed_rows *run(const char *params)
{
    return bed_ok(BED(.quiet = true),
                  "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'h100-sxm', 'node_types': {'old': {'nodes': 1,"
                  " 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}}}, 'jobs': {'scheduler': {'policy': 'gavel', %s},"
                  " 'types': {'a': {'speeds': {'h100-sxm': 1, 'a100-80-sxm': 0.5}}, 'b': {'speeds': {'h100-sxm': 1,"
                  " 'a100-80-sxm': 0.8}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'type': 'a', 'duration': '1h'},"
                  " {'type': 'b', 'duration': '1h'}]}}}",
                  params);
}

#define PRICES "'prices': {'h100-sxm': '$2/h', 'a100-80-sxm': '$1/h'}"

/* Each parameter under each objective: read without a word, or said to have no effect. */
TEST(parameters_that_an_objective_does_not_read_are_told)
{
    static const struct {
        const char *key, *params, *readers; /* objectives that read it */
    } cases[] = {{"slo", "'slo': 3", "cost"},
                 {"prices", PRICES, "cost"},
                 {"rates", "'rates': {'a': 2, 'b': 3}", "cost throughput"},
                 {"raw", "'raw': true", "cost throughput"},
                 {"weights", "'weights': {'a': 2}", "las"}};
    static const char *const objectives[] = {"las", "makespan", "ftf", "fifo", "throughput", "cost"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof objectives / sizeof *objectives; k++) {
            const bool has_prices = strcmp(objectives[k], "cost") == 0 && strcmp(cases[i].key, "prices") != 0;
            const struct bed_rows *rows = run(
                test_json("'objective': '%s', %s%s", objectives[k], cases[i].params, has_prices ? ", " PRICES : ""));
            const bool is_read = strstr(cases[i].readers, objectives[k]) != NULL;
            const char *text = rows->diag.n_items > 0 ? rows->diag.items[0].text : "";
            const bool is_told = rows->diag.n_warnings == 1 && strncmp(text, "has no effect: ", 15) == 0;
            if (!CHECK(is_read ? rows->diag.n_warnings == 0 : is_told)) printf("%s: %s\n", objectives[k], cases[i].key);
        }
}

/* The first type that no job has is named, whatever lists stand beside. */
TEST(types_that_no_job_has_are_told)
{
    static const struct {
        const char *params, *code, *text;
    } cases[] = {
        {"'weights': {'a': 2, 'c': 3, 'd': 1}", "gavel-weights", "weights of types that no job had, 'c' first"},
        {"'weights': {'a': 2, 'b': 1}", "gavel-weights", NULL},
        {"'objective': 'throughput', 'rates': {'a': 2, 'c': 3, 'd': 1}", "gavel-rates",
         "rates of types that no job had, 'c' first"},
        {"'objective': 'throughput', 'rates': {'a': 2, 'b': 1}", "gavel-rates", NULL},
        {"'objective': 'throughput', 'weights': {'c': 2}, 'rates': {'d': 3, 'a': 2, 'e': 1}", "gavel-rates",
         "rates of types that no job had, 'd' first"},
        {"'objective': 'throughput', 'weights': {'c': 2, 'd': 1}, 'rates': {'a': 2, 'b': 1}", "gavel-rates", NULL},
        {"'objective': 'throughput', 'weights': {'c': 2}", "gavel-weights", NULL},
        {"'rates': {'c': 2}", "gavel-rates", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = bed_warning(run(cases[i].params), cases[i].code);
        CHECK_EQ_STR(text != NULL ? text : "none", cases[i].text != NULL ? cases[i].text : "none");
    }
}

/* A price counts for a GPU that the cluster names alike. Of one that it lacks, such as a mistyped slice, the run
 * warns. */
TEST(prices_of_gpus_that_the_cluster_lacks_are_told)
{
    static const char *const others[] = {"nogpu", "h100-sxm:9g.9gb", "h100-sxm:1g.10gb"};
    CHECK_EQ_INT(run("'objective': 'cost', " PRICES)->diag.n_warnings, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const struct bed_rows *rows = run(test_json(
            "'objective': 'cost', 'prices': {'h100-sxm': '$2/h', 'a100-80-sxm': '$1/h', '%s': '$1/h'}", others[i]));
        MUST(rows->diag.n_warnings == 1);
        CHECK(strstr(rows->diag.items[0].text, others[i]) != NULL);
        CHECK(strstr(rows->diag.items[0].text, "the cluster has no such GPU") != NULL);
    }
}
