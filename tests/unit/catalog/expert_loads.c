/* Loads of experts from a file, or by Zipf's law: what the busiest GPU has over the mean. */
#include "sim/catalog/expert_loads.h"

#include "tests/support/harness.h"

static double imbalance(struct expert_loads loads, const char *text)
{
    struct diag diag;
    double found = 0.0;
    diag_init(&diag);
    if (text) loads.path = test_file("loads.csv", "%s", text);
    CHECK_EQ_INT(expert_loads_imbalance(&loads, &found, &diag), 0);
    return found;
}

TEST(layers_count_by_their_busiest_gpu)
{
    const struct expert_loads two = {.layers = 2, .experts = 4, .gpus = 2};
    CHECK_NEAR(imbalance(two, "5,5,5,5\n"), 1.0, 1e-12);
    CHECK_NEAR(imbalance(two, "9,1,1,1\n"), 10.0 / 6.0, 1e-12);          /* 9 and 1 against 1 and 1 */
    CHECK_NEAR(imbalance(two, "4,3,2,1\n"), 1.0, 1e-12);                 /* 4 and 1 against 3 and 2 */
    CHECK_NEAR(imbalance(two, "9,1,1,1\n4,3,2,1\n"), 8.0 / 6.0, 1e-12);  /* the mean of both layers */
    CHECK_NEAR(imbalance(two, "0,0,0,0\n"), 1.0, 1e-12);
    const struct expert_loads copied = {.experts = 4, .copies = 2, .gpus = 2};
    CHECK_NEAR(imbalance(copied, "9,1,1,1\n"), 7.0 / 6.0, 1e-12); /* 3, 3 and 1 against 3, 1 and 1 */
}

TEST(zipf_loads_need_no_file)
{
    CHECK_NEAR(imbalance((struct expert_loads){.skew = 0.0, .experts = 8, .gpus = 4}, NULL), 1.0, 1e-12);
    const double loads[] = {1.0, 1.0 / 2, 1.0 / 3, 1.0 / 4};
    const double sum = loads[0] + loads[1] + loads[2] + loads[3];
    CHECK_NEAR(imbalance((struct expert_loads){.skew = 1.0, .experts = 4, .gpus = 2}, NULL),
               2.0 * (loads[0] + loads[3]) / sum, 1e-12);
}

static void check_refused(const char *text, const char *message)
{
    struct diag diag;
    double found;
    diag_init(&diag);
    const struct expert_loads loads = {.path = test_file("loads.csv", "%s", text), .layers = 3, .experts = 4,
                                       .gpus = 2};
    CHECK(expert_loads_imbalance(&loads, &found, &diag) < 0);
    if (!CHECK(diag.n_items == 1 && strstr(diag.items[0].text, message) != NULL) && diag.n_items > 0)
        printf("\n  %s", diag.items[0].text);
    if (message[0] != 't') CHECK(strstr(diag.items[0].where, "loads.csv:") != NULL);
}

TEST(wrong_files_are_refused)
{
    check_refused("1,2,3\n", "3 loads in this row, but the LLM has 4 experts");
    check_refused("1,2,3,4,5\n", "5 loads in this row");
    check_refused("1,2,x,4\n", "a load must be a number from 0 to 1e15, got 'x'");
    check_refused("1,2,1e16,4\n", "a load must be a number from 0 to 1e15, got '1e16'");
    check_refused("1,2,3,4\n1,2,3,4\n", "2 rows, but the LLM has 3 layers with experts");
    check_refused("1,2,3,4\n1,2,3,4\n1,2,3,4\n1,2,3,4\n", "4 rows, but the LLM has 3 layers");
    check_refused("1,2,-3,4\n", "a load must be a number");
    check_refused("", "the file has no rows");
}
