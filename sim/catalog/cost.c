#include "sim/catalog/cost.h"

#include "sim/catalog/cost_kind.h"

static const struct cost_kind *const kinds[] = {&cost_operators, &cost_roofline, &cost_affine, &cost_table};

bool cost_alternative(size_t index, struct config_alternative *alternative)
{
    if (index >= sizeof kinds / sizeof *kinds) return false;
    const struct cost_kind *kind = kinds[index];
    *alternative = (struct config_alternative){
        .name = kind->name,
        .summary = kind->summary,
        .fields = kind->fields,
        .params_bytes = kind->params_bytes,
        .entry = kind,
    };
    return true;
}

static int check_split(const struct cost_request *request)
{
    const struct llm_spec *llm = request->llm;
    const char *problem = llm_parallel_problem(llm, request->tensor_parallel, request->pipeline_parallel);
    if (problem == NULL) return 0;
    const bool is_tensor = llm_parallel_problem(llm, request->tensor_parallel, 1) != NULL;
    const char *where = is_tensor ? request->tensor_where : request->pipeline_where;
    return diag_error(request->diag, SIM_E_CONFIG, where != NULL ? where : request->where, NULL,
                      "cannot split %s over %lld x %lld GPUs: %s", llm->name, (long long)request->tensor_parallel,
                      (long long)request->pipeline_parallel, problem);
}

int cost_build(const struct config_variant *cost, const struct cost_request *request, struct iteration_model *model)
{
    const int split = check_split(request);
    if (split != 0) return split;
    const struct cost_kind *kind = cost->entry;
    *model = (struct iteration_model){.kind = kind->name};
    const int code = kind->build(cost->params, request, model);
    if (code == SIM_E_NOMEM) return diag_nomem_at(request->diag, request->where);
    return code;
}
