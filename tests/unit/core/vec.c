#include "sim/core/vec.h"
#include "tests/support/harness.h"

struct pair {
    int a, b;
};

TEST(items_stay_in_order_while_the_array_grows)
{
    struct pair *pairs = NULL;
    size_t n = 0, capacity = 0;
    for (int i = 0; i < 1000; i++) MUST(vec_push(&pairs, &n, &capacity, (struct pair){i, -i}) == 0);
    CHECK_EQ_INT(n, 1000);
    CHECK(capacity >= n);
    for (int i = 0; i < 1000; i++) CHECK(pairs[i].a == i && pairs[i].b == -i);
    mem_free(pairs);
}

TEST(capacities_may_be_int32)
{
    const char **names = NULL;
    int32_t n = 0, capacity = 0;
    for (int i = 0; i < 40; i++) MUST(vec_push(&names, &n, &capacity, "name") == 0);
    CHECK_EQ_INT(n, 40);
    CHECK_EQ_INT(vec_reserve(&names, &capacity, 20), 0);
    CHECK_EQ_INT(vec_reserve(&names, &capacity, 500), 0);
    CHECK(capacity >= 500);
    mem_free(names);
}

TEST(a_failure_leaves_the_array_as_it_was)
{
    double *values = NULL;
    size_t n = 0, capacity = 0;
    MUST(vec_push(&values, &n, &capacity, 0.5) == 0);
    const size_t before = capacity;
    CHECK_EQ_INT(vec_reserve(&values, &capacity, SIZE_MAX / 4), SIM_E_NOMEM); /* more bytes than a size_t counts */
    mem_fail_after(0);
    CHECK_EQ_INT(vec_reserve(&values, &capacity, before + 1), SIM_E_NOMEM);
    mem_fail_never();
    CHECK_EQ_INT(capacity, before);
    CHECK_EQ_INT(n, 1);
    CHECK(values[0] == 0.5);
    mem_free(values);
}

TEST(int32_capacities_end_at_their_largest_value)
{
    char *bytes = NULL;
    int32_t capacity = 0;
    CHECK_EQ_INT(vec_reserve(&bytes, &capacity, (size_t)INT32_MAX + 1), SIM_E_NOMEM);
    CHECK(bytes == NULL && capacity == 0);
}
