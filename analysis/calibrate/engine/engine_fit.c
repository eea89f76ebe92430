#include "analysis/calibrate/engine/engine_fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <string.h>

enum { MAX_ITERATIONS = 200 };

struct fit {
    const struct engine_recipe *recipe;
    const struct engine_point **points;
    size_t n_points;
    struct engine_preset *preset; /* with the launches and overheads to fit, and their current values */
    struct engine_overhead common; /* constants that are common to all degrees; fitted unless ENGINE_BY_HOST */
};

/* Initial values. A constant is its initial value times the square of an unbounded number, so it is never negative. */
static const double layer_unit_s = 2e-4, iteration_unit_s = 4e-3, sequence_unit_s = 4e-5, prompt_unit_s = 4e-3;

static bool fits_common(const struct fit *fit, enum engine_term term)
{
    return (fit->recipe->terms & term) != 0 && (fit->recipe->terms & ENGINE_BY_HOST) == 0;
}

static size_t count_constants(const struct fit *fit)
{
    const unsigned terms = fit->recipe->terms;
    const size_t per_degree = (terms & ENGINE_ITERATION ? 1 : 0) + (terms & ENGINE_SEQUENCE ? 1 : 0);
    const size_t common = (size_t)fits_common(fit, ENGINE_PROMPT) + (size_t)fits_common(fit, ENGINE_COMMON_SEQUENCE) +
                          (size_t)fits_common(fit, ENGINE_COMMON_ITERATION);
    return common + fit->preset->launches.n + per_degree * fit->preset->overheads.n;
}

/* unit_s u[*next]^2; advances *next. */
static double take_constant(const gsl_vector *u, size_t *next, double unit_s)
{
    const double value = gsl_vector_get(u, (*next)++);
    return unit_s * value * value;
}

static void set_constants(const struct fit *fit, const gsl_vector *u)
{
    struct engine_launch *launches = fit->preset->launches.items;
    struct engine_overhead *overheads = fit->preset->overheads.items;
    const unsigned terms = fit->recipe->terms;
    size_t next = 0;
    struct engine_overhead common = fit->common;
    if (fits_common(fit, ENGINE_PROMPT)) common.prompt_s = take_constant(u, &next, prompt_unit_s);
    if (fits_common(fit, ENGINE_COMMON_SEQUENCE)) common.sequence_s = take_constant(u, &next, sequence_unit_s);
    if (fits_common(fit, ENGINE_COMMON_ITERATION)) common.iteration_s = take_constant(u, &next, iteration_unit_s);
    for (size_t i = 0; i < fit->preset->launches.n; i++) launches[i].layer_s = take_constant(u, &next, layer_unit_s);
    for (size_t i = 0; i < fit->preset->overheads.n; i++) {
        overheads[i].iteration_s = terms & ENGINE_ITERATION ? take_constant(u, &next, iteration_unit_s)
                                                            : common.iteration_s;
        overheads[i].sequence_s = terms & ENGINE_SEQUENCE ? take_constant(u, &next, sequence_unit_s)
                                                          : common.sequence_s;
        overheads[i].prompt_s = common.prompt_s;
    }
}

static int residuals(const gsl_vector *u, void *context, gsl_vector *out)
{
    const struct fit *fit = context;
    set_constants(fit, u);
    for (size_t i = 0; i < fit->n_points; i++) {
        const struct engine_point *point = fit->points[i];
        const double log_ratio = log(engine_point_s(fit->preset, point) / point->row->measured_s);
        if (!isfinite(log_ratio)) return GSL_EDOM;
        gsl_vector_set(out, i, fit_soft_l1_root(log_ratio));
    }
    return GSL_SUCCESS;
}

/* Descends from u and replaces it by the end; *cost is infinite when u has no finite cost. Returns 0 or SIM_E_NOMEM. */
static int descend(struct fit *fit, gsl_vector *u, double *cost)
{
    const gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf function = {.f = residuals, .n = fit->n_points, .p = u->size, .params = fit};
    gsl_multifit_nlinear_workspace *work = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options,
                                                                      fit->n_points, u->size);
    int info;
    if (work == NULL) return SIM_E_NOMEM;
    *cost = (double)INFINITY;
    if (gsl_multifit_nlinear_init(u, &function, work) == GSL_SUCCESS) {
        gsl_multifit_nlinear_driver(MAX_ITERATIONS, 1e-8, 1e-8, 1e-8, NULL, NULL, &info, work);
        gsl_vector_memcpy(u, gsl_multifit_nlinear_position(work));
        const gsl_vector *left = gsl_multifit_nlinear_residual(work);
        gsl_blas_ddot(left, left, cost);
    }
    gsl_multifit_nlinear_free(work);
    return 0;
}

/* The best of three descents from starts of different size. */
static int search(struct fit *fit, gsl_vector *u, gsl_vector *best)
{
    static const double starts[] = {1.0, 0.5, 1.5};
    double least = (double)INFINITY, cost;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        gsl_vector_set_all(u, starts[i]);
        const int code = descend(fit, u, &cost);
        if (code != 0) return code;
        if (i > 0 && !(cost < least)) continue;
        least = cost;
        gsl_vector_memcpy(best, u);
    }
    set_constants(fit, best);
    return 0;
}

/* --- the GPUs and degrees that the preset needs constants for --- */

static void list_launch(struct engine_preset *preset, const char *gpu)
{
    struct engine_launch *launches = preset->launches.items;
    for (size_t i = 0; i < preset->launches.n; i++)
        if (strcmp(launches[i].gpu, gpu) == 0) return;
    launches[preset->launches.n++] = (struct engine_launch){.gpu = gpu};
}

static bool is_of(const struct engine_overhead *overhead, const char *gpu)
{
    return gpu == NULL || strcmp(overhead->gpu, gpu) == 0;
}

/* Adds an overhead for this degree on this host (NULL: on all), by host in the order of occurrence, then by degree. */
static void list_overhead(struct engine_preset *preset, const char *gpu, int64_t degree)
{
    struct engine_overhead *overheads = preset->overheads.items;
    size_t end = preset->overheads.n, at;
    while (end > 0 && !is_of(&overheads[end - 1], gpu)) end--;
    if (end == 0) end = preset->overheads.n;
    for (at = end; at > 0 && is_of(&overheads[at - 1], gpu) && overheads[at - 1].tensor_parallel >= degree; at--)
        if (overheads[at - 1].tensor_parallel == degree) return;
    memmove(&overheads[at + 1], &overheads[at], (preset->overheads.n - at) * sizeof *overheads);
    overheads[at] = (struct engine_overhead){.tensor_parallel = degree, .gpu = gpu};
    preset->overheads.n++;
}

static int list_constants(struct fit *fit, const struct engine_point *points, size_t n, struct arena *arena)
{
    struct engine_preset *preset = fit->preset;
    preset->launches = (struct config_list){.items = arena_alloc(arena, (n + 1) * sizeof(struct engine_launch))};
    preset->overheads = (struct config_list){.items = arena_alloc(arena, (n + 1) * sizeof(struct engine_overhead))};
    fit->points = arena_alloc(arena, (n + 1) * sizeof *fit->points);
    if (preset->launches.items == NULL || preset->overheads.items == NULL || fit->points == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!points[i].row->fit) continue;
        fit->points[fit->n_points++] = &points[i];
        list_overhead(preset, fit->recipe->terms & ENGINE_BY_HOST ? points[i].row->gpu : NULL,
                      points[i].row->tensor_parallel);
        if (fit->recipe->terms & ENGINE_LAUNCH) list_launch(preset, points[i].row->gpu);
    }
    return 0;
}

int engine_fit(const struct engine_recipe *recipe, const struct engine_point *points, size_t n, struct arena *arena,
               struct engine_preset *preset, struct diag *diag)
{
    struct fit fit = {.recipe = recipe, .preset = preset};
    if ((recipe->terms & ENGINE_BY_HOST) != 0 && preset->overheads.n > 0)
        fit.common = *(const struct engine_overhead *)preset->overheads.items;
    int code = list_constants(&fit, points, n, arena);
    if (code != 0) return diag_nomem(diag);
    const size_t n_constants = count_constants(&fit);
    if (recipe->terms == 0) return 0;
    if (fit.n_points < n_constants || n_constants == 0)
        return diag_error(diag, SIM_E_DATA, NULL, NULL, "engine '%s' has %zu constants, and %zu rows to fit them on",
                          recipe->name, n_constants, fit.n_points);
    gsl_vector *u = gsl_vector_alloc(n_constants), *best = gsl_vector_alloc(n_constants);
    code = u != NULL && best != NULL ? search(&fit, u, best) : SIM_E_NOMEM;
    if (u != NULL) gsl_vector_free(u);
    if (best != NULL) gsl_vector_free(best);
    return code == 0 ? 0 : diag_nomem(diag);
}

enum { GPUS_PER_NODE = 8 };

/* --- Replicas --- */

struct engine_replica {
    struct engine_replica *next;
    const char *engine, *gpu_name, *llm_name;
    enum number_format weights, kv;
    const char *experts;
    int64_t tensor_parallel, expert_parallel, data_parallel;
    enum llm_dispatch dispatch;
    struct gpu_spec gpu;
    struct llm_spec llm;
    struct calibration calibration;
    struct operators operators;
};

void engine_replicas_init(struct engine_replicas *replicas, const struct catalog *catalog, struct arena *arena)
{
    *replicas = (struct engine_replicas){.catalog = catalog, .arena = arena};
}

static bool matches(const struct engine_replica *replica, const struct engine_preset *preset,
                    const struct measured_row *row)
{
    const bool is_named = replica->experts != NULL && row->experts != NULL;
    if (is_named ? strcmp(replica->experts, row->experts) != 0 : replica->experts != row->experts) return false;
    return replica->weights == row->weights && replica->kv == row->kv &&
           replica->tensor_parallel == row->tensor_parallel && replica->expert_parallel == row->expert_parallel &&
           replica->data_parallel == row->data_parallel && replica->dispatch == row->dispatch &&
           strcmp(replica->gpu_name, row->gpu) == 0 && strcmp(replica->llm_name, row->llm) == 0 &&
           strcmp(replica->engine, preset->name) == 0;
}

static int read_parts(const struct engine_replicas *replicas, const struct engine_preset *preset,
                      struct engine_replica *replica, struct diag *diag)
{
    const struct catalog *catalog = replicas->catalog;
    struct arena *arena = replicas->arena;
    int code = catalog_gpu(catalog, replica->gpu_name, "measured rows", arena, &replica->gpu, diag);
    if (code == 0) code = catalog_llm(catalog, replica->llm_name, "measured rows", arena, &replica->llm, diag);
    struct engine_preset as_run = *preset;
    if (replica->experts != NULL) as_run.experts = replica->experts;
    if (code == 0)
        code = engine_preset_kernels(&as_run, catalog, replica->gpu_name, arena, &replica->calibration, diag);
    if (replica->llm.weights != replica->weights) llm_set_weights(&replica->llm, replica->weights);
    replica->llm.kv = replica->kv;
    return code;
}

static int make(struct engine_replicas *replicas, const struct engine_preset *preset, const struct measured_row *row,
                struct engine_replica **out, struct diag *diag)
{
    struct engine_replica *replica = arena_alloc(replicas->arena, sizeof *replica);
    *out = replica;
    if (replica == NULL) return diag_nomem(diag);
    replica->engine = preset->name;
    replica->gpu_name = row->gpu;
    replica->llm_name = row->llm;
    replica->weights = row->weights;
    replica->kv = row->kv;
    replica->experts = row->experts;
    replica->tensor_parallel = row->tensor_parallel;
    replica->expert_parallel = row->expert_parallel;
    replica->data_parallel = row->data_parallel;
    replica->dispatch = row->dispatch;
    const int code = read_parts(replicas, preset, replica, diag);
    if (code != 0) return code;
    const int64_t linked = replica->gpu.nvlink_gpus; /* racks of GPUs behind one switch count as a node */
    struct llm_split split = {
        .tensor = row->tensor_parallel, .pipeline = 1, .expert = row->expert_parallel > 0 ? row->expert_parallel : 1,
        .dispatch = row->dispatch, .data = row->data_parallel, .gpus_per_node = linked > GPUS_PER_NODE ? linked : GPUS_PER_NODE};
    engine_preset_split(preset, &split);
    split.attention_writes_kv = calibration_writes_kv(&replica->calibration);
    const char *problem = llm_split_problem(&replica->llm, &split);
    if (problem != NULL)
        return diag_error(diag, SIM_E_CONFIG, NULL, NULL, "cannot split %s over %lld GPUs: %s", row->llm,
                          (long long)split.tensor, problem);
    const struct operators_parts parts = {
        .gpu = &replica->gpu, .llm = &replica->llm, .kernels = &replica->calibration.kernels, .split = split};
    operators_init(&replica->operators, &parts);
    replica->next = replicas->first;
    replicas->first = replica;
    return 0;
}

int engine_replicas_find(struct engine_replicas *replicas, const struct engine_preset *preset,
                         const struct measured_row *row, const struct operators **operators, struct diag *diag)
{
    *operators = NULL;
    if (row->kind == MEASURED_HOST) return 0;
    struct engine_replica *replica = replicas->first;
    while (replica != NULL && !matches(replica, preset, row)) replica = replica->next;
    const int code = replica != NULL ? 0 : make(replicas, preset, row, &replica, diag);
    if (code == 0) *operators = &replica->operators;
    return code;
}

/* --- Points --- */

static double gpu_seconds(const void *context, const struct iteration_work *work)
{
    struct iteration_cost cost;
    operators_cost(context, work, &cost);
    return cost.first_s;
}

/* How many requests of a loop have room for their keys and values; at least one, and 0 for an LLM that does not fit by
 * this reckoning, since it ran. Shares of memory are the defaults of services (kv_capacity), or `memory_frac`. */
static int64_t requests_at_once(const struct closed_loop *loop, double memory_frac, const struct operators_parts *parts)
{
    const struct kv_params params = {.usable_frac = memory_frac > 0.0 ? memory_frac : 0.9,
                                     .reserve_bytes = 512.0 * 1024.0 * 1024.0,
                                     .batch_tokens = loop->batch_tokens, .batch_sequences = 256, .block_tokens = 16,
                                     .data_parallel = parts->split.data};
    const struct kv_capacity capacity = kv_capacity(parts->gpu, parts->llm, parts->split.tensor, 1, &params);
    const int64_t groups = llm_groups(parts->split.data);
    const int64_t each = loop->prompt_tokens + loop->output_tokens;
    const int64_t most = groups * (capacity.blocks * params.block_tokens / each);
    return capacity.blocks == 0 || most > 0 ? most : 1;
}

/* GPUs that a process of the engine drives: those of a group with sequences of its own. */
static int64_t group_gpus(const struct measured_row *row)
{
    return row->tensor_parallel / llm_groups(row->data_parallel);
}

static int set_point(struct engine_point *point, const struct operators *operators)
{
    const struct iteration_work *work = &point->row->work;
    if (point->row->kind == MEASURED_TPOT) {
        struct closed_loop_times times;
        struct closed_loop loop = point->row->loop;
        loop.at_once = requests_at_once(&loop, point->row->memory_frac, &operators->parts);
        const int code = closed_loop_run(&loop, gpu_seconds, operators, &times);
        if (code != 0) return code;
        point->gpu_s = times.tpot_s;
        const double groups = (double)llm_groups(point->row->data_parallel); /* each engine has its part of them */
        times.sequences /= groups, times.prompts /= groups;
        times.ttft_sequences /= groups, times.ttft_prompts /= groups;
        point->times = times;
        point->iterations = times.iterations;
        point->sequences = times.sequences;
        point->prompts = times.prompts;
        return 0;
    }
    point->gpu_s = operators != NULL ? gpu_seconds(operators, work) : 0.0;
    point->layers = operators != NULL ? operators->layers : 0.0;
    point->iterations = 1.0;
    point->sequences = (double)(work->prefill_sequences + work->decode_sequences);
    point->prompts = (double)work->prefill_sequences;
    return 0;
}

int engine_point_init(struct engine_replicas *replicas, const struct engine_preset *preset,
                      const struct measured_row *row, struct engine_point *point, struct diag *diag)
{
    const struct operators *operators;
    *point = (struct engine_point){.row = row};
    const int code = engine_replicas_find(replicas, preset, row, &operators, diag);
    if (code != 0) return code;
    return set_point(point, operators) == 0 ? 0 : diag_nomem(diag);
}

int engine_points(struct engine_replicas *replicas, const struct engine_preset *preset, const struct measured *measured,
                  size_t step, struct engine_point **points, size_t *n, struct diag *diag)
{
    *n = 0;
    *points = arena_alloc(replicas->arena, (measured->n + 1) * sizeof **points);
    if (*points == NULL) return diag_nomem_at(diag, measured->path);
    size_t met = 0;
    for (size_t i = 0; i < measured->n; i++) {
        if (strcmp(measured->rows[i].engine, preset->name) != 0 || met++ % step != 0) continue;
        const int code = engine_point_init(replicas, preset, &measured->rows[i], &(*points)[*n], diag);
        if (code != 0) return code;
        ++*n;
    }
    return 0;
}

double engine_point_s(const struct engine_preset *preset, const struct engine_point *point)
{
    struct engine_params params;
    engine_preset_params(preset, point->row->gpu, group_gpus(point->row), &params);
    const int64_t tokens = point->row->work.prefill_tokens + point->row->work.decode_sequences;
    const double launch_s = tokens > params.graph_tokens ? point->layers * params.layer_launch_s : 0.0;
    const double busy_s = point->gpu_s > launch_s ? point->gpu_s : launch_s;
    return engine_sum_s(&params, busy_s, point->iterations, point->sequences, point->prompts);
}

double engine_point_ttft_s(const struct engine_preset *preset, const struct engine_point *point)
{
    struct engine_params params;
    const struct closed_loop_times *times = &point->times;
    engine_preset_params(preset, point->row->gpu, group_gpus(point->row), &params);
    return engine_sum_s(&params, times->ttft_s, times->ttft_iterations, times->ttft_sequences, times->ttft_prompts);
}

static enum engine_use use_of(const struct measured_row *row)
{
    if (row->fit) return ENGINE_FIT;
    return row->kernels_fit ? ENGINE_KERNELS_FIT : ENGINE_HELD_OUT;
}

int engine_measure(const struct engine_preset *preset, const struct engine_point *points, size_t n, const char *group,
                   enum engine_use use, struct fit_error *error)
{
    double *errors = mem_alloc((n + 1) * sizeof *errors);
    size_t n_errors = 0;
    if (errors == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        if (use_of(points[i].row) == use && (group == NULL || strcmp(points[i].row->group, group) == 0))
            errors[n_errors++] = engine_point_s(preset, &points[i]) / points[i].row->measured_s - 1.0;
    *error = fit_error_of(errors, n_errors);
    mem_free(errors);
    return 0;
}
