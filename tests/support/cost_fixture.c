#include "tests/support/cost_fixture.h"

#include "sim/catalog/catalog.h"
#include "sim/catalog/cost.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct holder {
    struct config_variant cost;
};

static const struct config_field holder_fields[] = {
    {.name = "cost", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = offsetof(struct holder, cost),
     .value = "operators", .family = "cost", .tag = "kind"},
    {0},
};

static bool alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    return strcmp(family, "cost") == 0 && cost_alternative(index, out);
}

static int make(struct cost_fixture *fixture, struct config *config, const char *gpu, const char *llm,
                const struct cost_shape *shape)
{
    static const struct config_families families = {.alternative = alternative};
    const struct catalog catalog = {.root = "configs", .memory = fixture->memory};
    struct holder holder;
    int code = config_bind(config, holder_fields, &families, &fixture->arena, &holder, sizeof holder, &fixture->diag);
    if (code == 0) code = catalog_gpu(&catalog, gpu, "t", &fixture->arena, &fixture->gpu, &fixture->diag);
    if (code == 0) code = catalog_llm(&catalog, llm, "t", &fixture->arena, &fixture->llm, &fixture->diag);
    if (code != 0) return code;
    const struct cost_request request = {.catalog = &catalog, .gpu = &fixture->gpu, .llm = &fixture->llm,
                                         .tensor_parallel = shape->tensor_parallel,
                                         .pipeline_parallel = shape->pipeline_parallel,
                                         .data_parallel = shape->data_parallel, .nodes = shape->nodes,
                                         .where = "t.json:1:2", .arena = &fixture->arena, .diag = &fixture->diag};
    code = cost_build(&holder.cost, &request, &fixture->model);
    return code == 0 ? cost_time_error(&holder.cost, &request, &fixture->model, &fixture->error) : code;
}

int cost_fixture_init(struct cost_fixture *fixture, const char *document, const char *gpu, const char *llm,
                      int64_t tensor_parallel, int64_t pipeline_parallel)
{
    const struct cost_shape shape = {.tensor_parallel = tensor_parallel, .pipeline_parallel = pipeline_parallel};
    return cost_fixture_init_on(fixture, NULL, document, gpu, llm, &shape);
}

int cost_fixture_init_on(struct cost_fixture *fixture, struct catalog_memory *memory, const char *document,
                         const char *gpu, const char *llm, const struct cost_shape *shape)
{
    fixture->memory = memory;
    const char *text = test_json("%s", document);
    fixture->error = (struct time_error){.fast_frac = 0.0};
    arena_init(&fixture->arena);
    diag_init(&fixture->diag);
    struct config *config;
    int code = config_parse("t.json", ".", text, strlen(text), &config, &fixture->diag);
    if (code == 0) code = make(fixture, config, gpu, llm, shape);
    config_destroy(config);
    fixture->message[0] = 0;
    if (fixture->diag.n_items > 0) diag_format(&fixture->diag.items[0], fixture->message, sizeof fixture->message);
    return code;
}

void cost_fixture_fini(struct cost_fixture *fixture)
{
    arena_fini(&fixture->arena);
}

double cost_fixture_s(const struct cost_fixture *fixture, struct iteration_work work)
{
    struct iteration_cost cost;
    fixture->model.cost(fixture->model.model, &work, &cost);
    return cost.first_s;
}
