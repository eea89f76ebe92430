#include "analysis/calibrate/folds.h"

#include <math.h>
#include <string.h>

enum { MAX_LEFT_OUT_ONCE = 12, HASHED_FOLDS = 5, PRODUCTS_OF_A_LAYER = 4 };

/* A cross-validation in progress. */
struct folding {
    struct arena *arena;
    struct diag *diag;
    struct fold_report *report;
    struct profile_row *rows; /* rows and folds of the report, writable */
    struct fold *folds;
};

/* --- errors by cut --- */

const char *fit_cut_name(enum fit_cut cut)
{
#define FIT_CUT_NAME(id, name) name,
    static const char *const names[] = {FIT_CUTS(FIT_CUT_NAME)};
#undef FIT_CUT_NAME
    return names[cut];
}

static bool is_product(const struct profile_row *row)
{
    return row->call.class <= KERNEL_GEMM_INT4;
}

static bool in_cut(const struct profile_row *row, enum fit_cut cut)
{
    switch (cut) {
    case CUT_1_16: return row->tokens >= 1.0 && row->tokens <= 16.0;
    case CUT_17_256: return row->tokens > 16.0 && row->tokens <= 256.0;
    case CUT_257_4096: return row->tokens > 256.0 && row->tokens <= 4096.0;
    case CUT_4097: return row->tokens > 4096.0;
    case CUT_LARGE: return is_product(row) && row->call.shape.gemm.n >= 512.0 && row->call.shape.gemm.k >= 512.0;
    case CUT_ALL:
    case FIT_CUT_COUNT: break;
    }
    return true;
}

int fit_cuts_of(const struct profile_row *rows, const double *predicted_s, size_t n, struct fit_cuts *cuts)
{
    double *errors = mem_alloc((n + 1) * sizeof *errors);
    if (errors == NULL) return SIM_E_NOMEM;
    for (int cut = 0; cut < FIT_CUT_COUNT; cut++) {
        size_t n_errors = 0;
        for (size_t i = 0; i < n; i++)
            if (in_cut(&rows[i], (enum fit_cut)cut)) errors[n_errors++] = predicted_s[i] / rows[i].measured_s - 1.0;
        cuts->cuts[cut] = fit_error_of(errors, n_errors);
    }
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++) {
        size_t n_errors = 0;
        for (size_t i = 0; i < n; i++)
            if (rows[i].op == (enum llm_operator)op) errors[n_errors++] = predicted_s[i] / rows[i].measured_s - 1.0;
        cuts->ops[op] = fit_error_of(errors, n_errors);
    }
    mem_free(errors);
    return 0;
}

/* --- The roofline with a hard maximum --- */

/* t = start_s + max(flop / (a P), bytes / (b W)), with P the peak of fp16 products and W the memory bandwidth (Williams
 * et al. 2009, with a launch time). */
enum { START, COMPUTE, BANDWIDTH, PARAMS };

static const struct kernel_param params_table[PARAMS] = {
    [START] = {"start", "launch, ramp and drain of a kernel", PARAM_SECONDS, PARAM_FITTED, 4e-6, 1e-8, 1e-3},
    [COMPUTE] = {"compute_efficiency", "share of the peak of fp16", PARAM_PLAIN, PARAM_FITTED, 0.6, 0.01, 4.0},
    [BANDWIDTH] = {"bandwidth_efficiency", "share of the memory bandwidth", PARAM_PLAIN, PARAM_FITTED, 0.7, 0.01, 10.0},
};

/* FLOP and bytes of a call; they do not depend on the parameters. */
static struct kernel_time work_of(const struct profile_row *row)
{
    const struct fit_model model = fit_model_of(row->call.class);
    const union kernel_params params = fit_model_initial(&model);
    return kernel_call_time(&params, row->gpu, &row->call);
}

static double seconds(const union kernel_params *params, const struct profile_row *row)
{
    const struct kernel_time work = work_of(row);
    const double peak_flop_per_s = gpu_peak_flop_per_s(row->gpu, FORMAT_FP16);
    const double compute_s = work.flop / (params->values[COMPUTE] * peak_flop_per_s);
    const double memory_s = work.bytes / (params->values[BANDWIDTH] * row->gpu->memory_bytes_per_s);
    return params->values[START] + (compute_s > memory_s ? compute_s : memory_s);
}

/* Whether rows both compute and move bytes. */
static bool has_roofline(const struct profile_row *rows, size_t n)
{
    if (n == 0) return false;
    const struct kernel_time work = work_of(&rows[0]);
    return work.flop > 0.0 && work.bytes > 0.0;
}

/* --- the fold that holds a row out --- */

static int copy_rows(struct folding *folding, const struct profile *profile)
{
    struct fold_report *report = folding->report;
    for (size_t i = 0; i < profile->n; i++) report->n_rows += profile->rows[i].call.class == report->class;
    folding->rows = arena_alloc(folding->arena, (report->n_rows + 1) * sizeof *folding->rows);
    if (folding->rows == NULL) return diag_nomem(folding->diag);
    size_t n = 0;
    for (size_t i = 0; i < profile->n; i++)
        if (profile->rows[i].call.class == report->class) folding->rows[n++] = profile->rows[i];
    report->rows = folding->rows;
    return 0;
}

/* The name that determines a row's fold. */
static const char *row_name(const struct profile *profile, const struct profile_row *row, enum fold_by by)
{
    return by == FOLD_BY_GPU ? row->gpu->name : profile->groups[row->group];
}

/* Fills names[limit] with the distinct names of the rows, by first occurrence. Returns their number, or limit + 1 when
 * there are more. */
static size_t number_names(struct folding *folding, const struct profile *profile, enum fold_by by, const char **names,
                           size_t limit)
{
    size_t n_names = 0;
    for (size_t i = 0; i < folding->report->n_rows; i++) {
        const char *name = row_name(profile, &folding->rows[i], by);
        size_t at = 0;
        while (at < n_names && strcmp(names[at], name) != 0) at++;
        if (at == limit) return limit + 1;
        if (at == n_names) names[n_names++] = name;
    }
    return n_names;
}

static size_t hashed_fold(const char *name)
{
    struct hash_sum sum = {0};
    hash_sum_add(&sum, name, strlen(name));
    return (size_t)(sum.low % HASHED_FOLDS);
}

/* Sets every row's group to its fold and names the folds. */
static int assign_folds(struct folding *folding, const struct profile *profile, enum fold_by by)
{
    struct fold_report *report = folding->report;
    const char *names[MAX_LEFT_OUT_ONCE];
    const size_t n_names = number_names(folding, profile, by, names, MAX_LEFT_OUT_ONCE);
    const bool hashed = n_names > MAX_LEFT_OUT_ONCE;
    report->n_folds = hashed ? HASHED_FOLDS : n_names > 1 ? n_names : 0;
    struct fold *folds = arena_alloc(folding->arena, (report->n_folds + 1) * sizeof *folds);
    if (folds == NULL) return diag_nomem(folding->diag);
    for (size_t i = 0; i < report->n_folds; i++) {
        folds[i].name = hashed ? arena_printf(folding->arena, "fold-%zu", i + 1) : names[i];
        if (folds[i].name == NULL) return diag_nomem(folding->diag);
    }
    for (size_t i = 0; i < report->n_rows; i++) {
        const char *name = row_name(profile, &folding->rows[i], by);
        size_t fold = 0;
        if (hashed) fold = hashed_fold(name);
        while (!hashed && fold + 1 < n_names && strcmp(names[fold], name) != 0) fold++;
        folding->rows[i].group = (uint32_t)fold;
    }
    report->folds = folding->folds = folds;
    return 0;
}

/* --- fits --- */

/* Predicts the rows of one fold, or all of them (fold < 0). */
static void predict(const struct fold_report *report, const struct fit_model *model, const union kernel_params *params,
                    long fold, double *predicted_s)
{
    for (size_t i = 0; i < report->n_rows; i++)
        if (fold < 0 || report->rows[i].group == (uint32_t)fold)
            predicted_s[i] = model->seconds(params, &report->rows[i]);
}

/* Fits a model once per fold to the rows outside it. Sets params[n_folds] and predicted_s[n_rows], each row being
 * predicted by the fold that holds it out. */
static int cross_validate(struct folding *folding, const struct fit_model *model, double *predicted_s,
                          union kernel_params *params)
{
    const struct fold_report *report = folding->report;
    bool held_out[MAX_LEFT_OUT_ONCE] = {false};
    for (size_t i = 0; i < report->n_folds; i++) {
        held_out[i] = true;
        params[i] = fit_model_initial(model);
        const int status = fit_model_to(model, report->rows, report->n_rows, held_out, &params[i], folding->diag);
        if (status < 0) return status;
        predict(report, model, &params[i], (long)i, predicted_s);
        held_out[i] = false;
    }
    return 0;
}

static int fit_all(struct folding *folding, const struct fit_model *model)
{
    struct fold_report *report = folding->report;
    double *predicted_s = arena_alloc(folding->arena, (report->n_rows + 1) * sizeof *predicted_s);
    if (predicted_s == NULL) return diag_nomem(folding->diag);
    report->params = fit_model_initial(model);
    const int status = fit_model_to(model, report->rows, report->n_rows, NULL, &report->params, folding->diag);
    if (status < 0) return status;
    predict(report, model, &report->params, -1, predicted_s);
    report->fitted_s = predicted_s;
    report->range = fit_range(report->class, report->rows, report->n_rows);
    return fit_cuts_of(report->rows, predicted_s, report->n_rows, &report->fit) < 0 ? diag_nomem(folding->diag) : 0;
}

/* --- errors of held-out rows --- */

/* The errors of each fold. scratch_rows and scratch_s have room for n_rows. */
static int measure_folds(struct folding *folding, struct profile_row *scratch_rows, double *scratch_s)
{
    const struct fold_report *report = folding->report;
    for (size_t fold = 0; fold < report->n_folds; fold++) {
        size_t n = 0;
        for (size_t i = 0; i < report->n_rows; i++) {
            if (report->rows[i].group != fold) continue;
            scratch_rows[n] = report->rows[i];
            scratch_s[n++] = report->held_out_s[i];
        }
        if (fit_cuts_of(scratch_rows, scratch_s, n, &folding->folds[fold].errors) < 0) return diag_nomem(folding->diag);
    }
    return 0;
}

/* The errors of sums over the products of a layer, which are rows of one line of a profile. */
static int measure_layers(struct folding *folding, struct profile_row *sums, double *sums_s)
{
    struct fold_report *report = folding->report;
    size_t n = 0, length;
    for (size_t i = 0; i < report->n_rows; i += length) {
        sums[n] = report->rows[i];
        sums_s[n] = report->held_out_s[i];
        for (length = 1; i + length < report->n_rows; length++) {
            const struct profile_row *next = &report->rows[i + length];
            if (next->line != sums[n].line || next->group != sums[n].group || next->gpu != sums[n].gpu) break;
            sums[n].measured_s += next->measured_s;
            sums_s[n] += report->held_out_s[i + length];
        }
        if (length == PRODUCTS_OF_A_LAYER && is_product(&sums[n])) n++;
    }
    return fit_cuts_of(sums, sums_s, n, &report->layer_sum) < 0 ? diag_nomem(folding->diag) : 0;
}

static int measure_held_out(struct folding *folding)
{
    struct fold_report *report = folding->report;
    struct profile_row *rows = mem_alloc((report->n_rows + 1) * sizeof *rows);
    double *seconds = mem_alloc((report->n_rows + 1) * sizeof *seconds);
    int status = rows != NULL && seconds != NULL ? 0 : diag_nomem(folding->diag);
    if (status == 0 && fit_cuts_of(report->rows, report->held_out_s, report->n_rows, &report->held_out) < 0)
        status = diag_nomem(folding->diag);
    if (status == 0) status = measure_folds(folding, rows, seconds);
    if (status == 0) status = measure_layers(folding, rows, seconds);
    mem_free(rows);
    mem_free(seconds);
    return status;
}

static int hold_out(struct folding *folding, const struct fit_model *model)
{
    struct fold_report *report = folding->report;
    union kernel_params params[MAX_LEFT_OUT_ONCE];
    double *predicted_s = arena_alloc(folding->arena, (report->n_rows + 1) * sizeof *predicted_s);
    if (predicted_s == NULL) return diag_nomem(folding->diag);
    const int status = cross_validate(folding, model, predicted_s, params);
    if (status < 0) return status;
    for (size_t i = 0; i < report->n_folds; i++) folding->folds[i].params = params[i];
    report->held_out_s = predicted_s;
    return measure_held_out(folding);
}

static int compare_roofline(struct folding *folding)
{
    struct fold_report *report = folding->report;
    const struct fit_model roofline = {.class = report->class, .name = "roofline", .params = params_table,
                                       .n_params = PARAMS, .seconds = seconds};
    union kernel_params params[MAX_LEFT_OUT_ONCE];
    double *predicted_s = mem_alloc((report->n_rows + 1) * sizeof *predicted_s);
    if (predicted_s == NULL) return diag_nomem(folding->diag);
    int status = cross_validate(folding, &roofline, predicted_s, params);
    if (status == 0 && fit_cuts_of(report->rows, predicted_s, report->n_rows, &report->roofline) < 0)
        status = diag_nomem(folding->diag);
    mem_free(predicted_s);
    return status;
}

int folds_run(enum kernel_class class, const struct profile *profile, enum fold_by by, struct arena *arena,
              struct fold_report *report, struct diag *diag)
{
    *report = (struct fold_report){.class = class};
    struct folding folding = {.arena = arena, .diag = diag, .report = report};
    const struct fit_model model = fit_model_in(class, profile->set);
    int status = copy_rows(&folding, profile);
    if (status == 0) status = assign_folds(&folding, profile, by);
    if (status == 0) status = fit_all(&folding, &model);
    if (status < 0 || report->n_folds == 0) return status;
    status = hold_out(&folding, &model);
    if (status == 0 && has_roofline(report->rows, report->n_rows)) status = compare_roofline(&folding);
    return status;
}
