/* Warnings about the models of a service's pools: how their iterations are timed, what their GPUs draw and cost. Pools
 * often share one model. So a text that is true of several pools is told once, and names them: the service, if it is
 * true of all. */
#include "sim/world/service/service_state.h"

#include <math.h>
#include <string.h>

/* What is told of a pool. `say` adds a text without the names of service and pool, or nothing. */
struct remark {
    const char *code;
    void (*say)(const struct service *service, const struct fleet_pool *pool, struct text *text);
};

/* --- Whom a text is about --- */

/* Whether the same is told of a pool. */
static bool is_true_of(const struct service *service, const struct remark *remark, const struct fleet_pool *pool,
                       const struct text *told)
{
    struct text text;
    text_init(&text);
    remark->say(service, pool, &text);
    const bool is_same = text.length == told->length && strcmp(text.chars, told->chars) == 0;
    text_fini(&text);
    return is_same;
}

/* "service 'chat'" if the text is true of all pools, else "service 'chat', pools 'decode', 'mixed'". */
static void name_pools(const struct service *service, const struct remark *remark, const struct text *told,
                       struct text *line)
{
    const struct fleet *fleet = &service->fleet;
    struct text names;
    size_t n = 0;
    text_init(&names);
    for (size_t i = 0; i < fleet->n_pools; i++) {
        if (!is_true_of(service, remark, &fleet->pools[i], told)) continue;
        text_printf(&names, "%s'%s'", n > 0 ? ", " : "", fleet->pools[i].config.name);
        n++;
    }
    text_printf(line, "service '%s'", service->config->name);
    if (n < fleet->n_pools) text_printf(line, ", pool%s %s", n > 1 ? "s" : "", names.length > 0 ? names.chars : "");
    line->failed = line->failed || names.failed;
    text_fini(&names);
}

/* Names whom a remark on pool number `i` is about, in `line`, and writes the remark to `told`. Nothing if there is none,
 * or an earlier pool has it. */
static void begin_line(const struct service *service, const struct remark *remark, size_t i, struct text *told,
                       struct text *line)
{
    const struct fleet_pool *pools = service->fleet.pools;
    text_init(told);
    text_init(line);
    remark->say(service, &pools[i], told);
    bool is_new = told->length > 0;
    for (size_t k = 0; k < i && is_new; k++) is_new = !is_true_of(service, remark, &pools[k], told);
    if (is_new) name_pools(service, remark, told, line);
    line->failed = line->failed || told->failed;
}

static int emit_of(const struct service *service, const struct remark *remark, size_t i)
{
    struct text told, line;
    begin_line(service, remark, i, &told, &line);
    if (line.length > 0) text_printf(&line, ": %s", told.chars);
    int code = line.failed ? SIM_E_NOMEM : 0;
    if (code == 0 && line.length > 0) code = service_emit_warning(service, remark->code, 1, line.chars);
    text_fini(&told);
    text_fini(&line);
    return code;
}

static int emit(const struct service *service, const struct remark *remarks, size_t n)
{
    int code = 0;
    for (size_t i = 0; i < service->fleet.n_pools; i++)
        for (size_t k = 0; k < n && code == 0; k++) code = emit_of(service, &remarks[k], i);
    return code;
}

/* --- Time and price --- */

static void say_caveat(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    (void)service;
    if (pool->env.model.caveat != NULL) text_add(text, pool->env.model.caveat);
}

/* Weights in nvfp4 on a GPU without units for it, such as those before Blackwell: they are widened before each product
 * (weight_kernels). vLLM does so: vllm/model_executor/layers/quantization/utils/marlin_utils_fp4.py. */
static void say_emulation(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    if (service->llm.weights != FORMAT_NVFP4 || pool->gpu.peak_flop_per_s[FORMAT_NVFP4] > 0.0) return;
    text_printf(text, "%s has no units for products in nvfp4: weights are widened first, which not every engine can do",
                pool->gpu.name);
}

static void say_kernels(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    const struct iteration_model *model = &pool->env.model;
    (void)service;
    if (model->other_kernels == NULL) return;
    text_add(text, model->other_kernels);
    if (model->fitting_kernels != NULL) text_printf(text, "; %s", model->fitting_kernels);
}

static void say_uncalibrated(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    if (pool->env.model.calibrated) return;
    text_printf(text, "the %s cost of %s on %s is not calibrated%s", pool->env.model.kind, service->llm.name,
                pool->gpu.name, gpu_vendor_caveat(&pool->gpu));
}

static void say_unpriced(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    (void)service;
    if (isnan(pool->gpu.usd_per_h))
        text_printf(text, "the price of %s is unknown, so cost.* is absent; set cluster.gpu_price", pool->gpu.name);
}

static const struct remark kernels = {"kernels", say_kernels};

int service_emit_models(const struct service *service)
{
    const struct remark remarks[] = {{"engine", say_caveat},
                                     {"emulated", say_emulation},
                                     kernels,
                                     {"uncalibrated", say_uncalibrated},
                                     {"unpriced", say_unpriced}};
    return emit(service, remarks, sizeof remarks / sizeof *remarks);
}

int service_warn_kernels(const struct service *service, const char *where, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < service->fleet.n_pools; i++) {
        const struct iteration_model *model = &service->fleet.pools[i].env.model;
        const char *fitting = model->fitting_kernels;
        struct text told, line, hint;
        begin_line(service, &kernels, i, &told, &line);
        text_init(&hint);
        text_printf(&hint, "%s%s'orrery list kernels' shows what was measured", fitting != NULL ? fitting : "",
                    fitting != NULL ? "; " : "");
        if (line.failed || hint.failed)
            code = diag_nomem(diag);
        else if (line.length > 0)
            diag_warning(diag, where, hint.chars, "%s: %s", line.chars, model->other_kernels);
        text_fini(&hint);
        text_fini(&line);
        text_fini(&told);
    }
    return code;
}

/* --- Memory --- */

static void say_out_of_memory(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    (void)service;
    if (pool->offload.problem[0] != '\0')
        text_printf(text, "kv_offload policy '%s' serves no request: %s", pool->offload.policy->policy.name,
                    pool->offload.problem);
}

/* Stated KV blocks that even all memory of the GPUs could not hold beside the weights. */
static void say_beyond_memory(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    struct pool_config most = pool->config;
    most.kv.usable_frac = 1;
    most.kv.reserve_bytes = 0;
    most.kv.activation_tokens = most.kv.activation_sequences = 0;
    const int64_t stated = pool->config.kv.blocks;
    const int64_t fit = most.data_parallel * pool_kv_capacity(&most, &pool->gpu, &service->llm).blocks;
    if (stated > fit && !offload_in_use(&pool->offload))
        text_printf(text, "kv.blocks is %lld, but beside the weights %lld fit in the memory of a replica (%s)",
                    (long long)stated, (long long)fit, pool->gpu.name);
}

int service_emit_memory(const struct service *service)
{
    static const struct remark remarks[] = {{"out-of-memory", say_out_of_memory}, {"kv-beyond-memory", say_beyond_memory}};
    return emit(service, remarks, sizeof remarks / sizeof *remarks);
}

/* --- Energy --- */

static void say_no_energy(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    char problem[512];
    if (service_energy_problem(pool, problem, sizeof problem) != NULL) text_add(text, problem);
    (void)service;
}

static void say_power(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    char caveat[512];
    if (service_energy_caveat(service, pool, caveat, sizeof caveat) != NULL) text_add(text, caveat);
}

int service_emit_power(const struct service *service)
{
    static const struct remark remarks[] = {{"no-energy", say_no_energy}, {"power", say_power}};
    return emit(service, remarks, sizeof remarks / sizeof *remarks);
}
