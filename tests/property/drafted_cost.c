/* Batches that verify drafts, priced in rows (models/operators/drafted_cost.c), where the range of a kernel class
 * ends: as each batch alone. */
#include "models/operators/operators.h"
#include "tests/support/calibration_fixture.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

enum { START = 303, END = 777 };

/* A model whose decode attention is fitted on contexts from START to END. */
static void make_narrow(struct cost_fixture *fixture, struct kernel_set *set)
{
    char path[256], document[400];
    snprintf(path, sizeof path, "%s/calibration.json", test_tmpdir());
    calibration_fixture_write_all(path, "a100-80-sxm", 1e9);
    snprintf(document, sizeof document, "{'cost': {'kind': 'operators', 'calibration': '%s', 'engine': 'none'}}", path);
    MUST(cost_fixture_init(fixture, document, "a100-80-sxm", "llama-3.1-8b", 1, 1) == 0);
    struct operators_parts parts = ((const struct operators *)fixture->model.model)->parts;
    *set = *parts.kernels;
    set->ranges[KERNEL_DECODE_ATTENTION].low[1] = START;
    set->ranges[KERNEL_DECODE_ATTENTION].high[1] = END;
    parts.kernels = set;
    struct operators *narrow = arena_alloc(&fixture->arena, sizeof *narrow);
    MUST(narrow != NULL);
    operators_init(narrow, &parts);
    fixture->model.model = narrow;
}

/* Contexts on both ends lie in the range. */
TEST(a_row_knows_where_ranges_end)
{
    SCOPED(cost_fixture) fixture = {0};
    struct kernel_set set;
    make_narrow(&fixture, &set);
    const struct iteration_model *model = &fixture.model;
    void *memo = mem_zalloc(1, model->memo_bytes);
    MUST(memo != NULL);
    for (int i = 0; i < 14; i++) {
        const int64_t context = i / 2 - 3 + (i % 2 == 0 ? START : END);
        const struct iteration_work deep = {.decode_sequences = 2, .decode_context_tokens = 2 * context,
                                            .decode_drafts = 3};
        struct iteration_cost alone, row;
        model->cost(model->model, &deep, &alone);
        model->cost_row(model->model, memo, &deep, 1, &row);
        CHECK(row.first_s == alone.first_s && row.extrapolated_frac == alone.extrapolated_frac);
        CHECK((row.extrapolated_frac > 0.0) == (context < START || context > END));
    }
    mem_free(memo);
}
