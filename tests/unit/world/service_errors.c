/* Errors of a service's times and power: each basis and each system is listed once, whatever stands before it. */
#include "sim/world/service/service_state.h"
#include "tests/support/harness.h"

struct pool_case {
    const char *gpu, *engine, *basis; /* basis NULL: no error is known */
};

/* Lists pools of one service, twice, as "bases|systems|unknown systems". */
static const char *errors_of(const char *llm, const struct pool_case *pools, size_t n)
{
    static char result[1024];
    struct text basis, systems, unknown, why;
    struct time_errors errors = {.basis = &basis, .systems = &systems, .unknown = &unknown, .why = &why};
    struct fleet_pool all[4] = {{.first = 0}};
    static struct service service;
    text_init(&basis);
    text_init(&systems);
    text_init(&unknown);
    text_init(&why);
    service = (struct service){.fleet = {.pools = all, .n_pools = n}};
    service.llm.name = llm;
    for (size_t i = 0; i < n; i++) {
        all[i].gpu.name = pools[i].gpu;
        all[i].time_error.engine = pools[i].engine;
        all[i].time_error.basis = pools[i].basis;
        all[i].time_error.why = pools[i].basis == NULL ? "no run" : NULL;
        all[i].env.model.kind = "affine";
    }
    service_say_time_errors(&service, &errors);
    service_say_time_errors(&service, &errors);
    snprintf(result, sizeof result, "%s|%s|%s", basis.length > 0 ? basis.chars : "",
             systems.length > 0 ? systems.chars : "", unknown.length > 0 ? unknown.chars : "");
    CHECK_EQ_STR(why.length > 0 ? why.chars : "", unknown.length > 0 ? "no run" : "");
    text_fini(&basis);
    text_fini(&systems);
    text_fini(&unknown);
    text_fini(&why);
    return result;
}

TEST(each_system_is_listed_once)
{
    const struct pool_case pools[] = {{"h100", "vllm", "runs"}, {"a100", "vllm", "kernels"}, {"a40", NULL, NULL},
                                      {"l4", "sglang", NULL}};
    CHECK_EQ_STR(errors_of("m", pools, 4),
                 "runs; kernels|m on h100, vllm; m on a100, vllm|m on a40, affine; m on l4, sglang");
    CHECK_EQ_STR(errors_of("m", pools, 1), "runs|m on h100, vllm|");
    CHECK_EQ_STR(errors_of("m", pools + 2, 1), "||m on a40, affine");
}

/* A text that another one begins with, or ends with, is listed beside it. */
TEST(parts_of_other_texts_are_listed)
{
    const struct pool_case pools[] = {{"g", "v", "all runs"}, {"g", "v2", "runs"}, {"g", "v", "all"}, {"g", "v2", "runs"}};
    CHECK_EQ_STR(errors_of("m", pools, 4), "all runs; runs; all|m on g, v; m on g, v2|");
    const struct pool_case turned[] = {{"g", "v2", "all"}, {"g", "v", "all runs"}, {"g", "v2", "runs"}};
    CHECK_EQ_STR(errors_of("m", turned, 3), "all; all runs; runs|m on g, v2; m on g, v|");
}

/* The power of a service is as sure as that of its least sure pool. */
TEST(the_largest_error_of_power_counts)
{
    static const struct {
        double errors[3], most;
    } cases[] = {{{0.1, 0.3, 0.2}, 0.3}, {{0.3, 0.2, 0.1}, 0.3}, {{0.1, 0.2, 0.3}, 0.3}, {{0.0, 0.0, 0.0}, 0.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fleet_pool pools[3] = {{.first = 0}};
        static struct service service;
        for (int k = 0; k < 3; k++) pools[k].power.p90_error = cases[i].errors[k];
        service = (struct service){.fleet = {.pools = pools, .n_pools = 3}};
        CHECK_NEAR(service_power_error(&service), cases[i].most, 0.0);
        pools[i % 3].power.p90_error = (double)NAN;
        CHECK(isnan(service_power_error(&service)));
    }
}
