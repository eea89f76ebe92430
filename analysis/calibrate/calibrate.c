#include "analysis/calibrate/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A fit is bad when its median error exceeds poor_median, or when it exceeds beaten_median and that of a plain roofline
 * by beaten_factor. */
static const double poor_median = 0.5, beaten_median = 0.1, beaten_factor = 2.0;

static int64_t count_rows(const struct profile *profile, enum kernel_class class)
{
    int64_t n = 0;
    for (size_t i = 0; i < profile->n; i++) n += profile->rows[i].call.class == class;
    return n;
}

bool profile_has_class(const struct profile *profile, enum kernel_class class)
{
    return count_rows(profile, class) > 0;
}

/* The grouping of a class's rows: that of the first profile with such rows. */
static const char *find_grouping(const struct calibrated_set *set, enum kernel_class class)
{
    if (set->is_pooled) return "gpu";
    size_t i = 0;
    while (i < set->n_profiles && !profile_has_class(&set->profiles[i], class)) i++;
    return set->profiles[i].grouped_by;
}

/* A calibration contains finite numbers only. */
static int check_errors(const char *class, const struct fold_report *report, struct diag *diag)
{
    const double worst[] = {report->fit.cuts[CUT_ALL].worst, report->held_out.cuts[CUT_ALL].worst,
                            report->roofline.cuts[CUT_ALL].worst, report->layer_sum.cuts[CUT_ALL].worst};
    for (size_t i = 0; i < sizeof worst / sizeof *worst; i++)
        if (!isfinite(worst[i]))
            return diag_error(diag, SIM_E_DATA, NULL, NULL, "the error of '%s' is not finite", class);
    return 0;
}

/* Such a misfit means that the rows are not those of this GPU. */
static void warn_of_misfit(const char *class, const struct fold_report *report, struct diag *diag)
{
    static const char hint[] = "wrong GPU, LLM or unit of time?";
    const double median = report->fit.cuts[CUT_ALL].median, held_out = report->held_out.cuts[CUT_ALL].median;
    const struct fit_error *roofline = &report->roofline.cuts[CUT_ALL];
    if (median > poor_median)
        diag_warning(diag, NULL, hint, "'%s' is fitted badly: its median error is %.0f %%", class, 100.0 * median);
    else if (roofline->rows > 0 && held_out > beaten_median && held_out > beaten_factor * roofline->median)
        diag_warning(diag, NULL, hint,
                     "'%s' is fitted badly: its median error is %.0f %%, held out, that of a roofline "
                     "%.0f %%",
                     class, 100.0 * held_out, 100.0 * roofline->median);
}

static int fit_one(struct calibrated_set *set, enum kernel_class class, struct arena *arena, struct diag *diag)
{
    const struct kernel_class_info *info = kernel_class_info(class);
    const int64_t rows = count_rows(&set->rows, class);
    if (rows == 0) return 0;
    if (rows < (int64_t)info->n_params)
        diag_warning(diag, NULL, "measure more shapes", "'%s' is %s: %" PRId64 " rows for %zu parameters", info->name,
                     rows < 2 ? "not fitted" : "fitted in part", rows, info->n_params);
    if (rows < 2) return 0;
    struct calibrated_class *found = arena_alloc(arena, sizeof *found);
    if (found == NULL) return SIM_E_NOMEM;
    *found = (struct calibrated_class){.held_out_by = find_grouping(set, class)};
    set->classes[class] = found;
    const int code = folds_run(class, &set->rows, set->is_pooled ? FOLD_BY_GPU : FOLD_BY_GROUP, arena, &found->report,
                               diag);
    if (code != 0) return code;
    warn_of_misfit(info->name, &found->report, diag);
    return check_errors(info->name, &found->report, diag);
}

int calibrate_set(const char *name, const struct profile *profiles, size_t n_profiles, bool is_pooled,
                  struct arena *arena, struct calibrated_set *set, struct diag *diag)
{
    *set = (struct calibrated_set){
        .name = name, .n_profiles = n_profiles, .profiles = profiles, .is_pooled = is_pooled};
    int code = profile_join(profiles, n_profiles, arena, &set->rows, diag);
    size_t n_fitted = 0;
    for (int c = 0; code == 0 && c < KERNEL_CLASS_COUNT; c++) {
        code = fit_one(set, (enum kernel_class)c, arena, diag);
        n_fitted += set->classes[c] != NULL;
    }
    if (code == 0 && n_fitted == 0)
        code = diag_error(diag, SIM_E_DATA, n_profiles > 0 ? profiles[0].path : NULL, NULL,
                          "set '%s' has no rows to fit", name);
    return code;
}

/* Copies the profiles of the set `name` to `chosen`, in their order. Returns their number. */
static size_t collect_set(const struct profile *profiles, size_t n, const char *name, struct profile *chosen)
{
    size_t n_chosen = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(profiles[i].set, name) == 0) chosen[n_chosen++] = profiles[i];
    return n_chosen;
}

static bool is_first_of_set(const struct profile *profiles, size_t profile)
{
    size_t i = 0;
    while (strcmp(profiles[i].set, profiles[profile].set) != 0) i++;
    return i == profile;
}

int calibrate_sets(const struct profile *profiles, size_t n, bool is_pooled, struct arena *arena,
                   struct calibrated_set *sets, size_t *n_sets, struct diag *diag)
{
    int code = 0;
    *n_sets = 0;
    for (size_t i = 0; code == 0 && i < n; i++) {
        if (!is_first_of_set(profiles, i)) continue;
        struct profile *chosen = arena_alloc(arena, n * sizeof *chosen);
        if (chosen == NULL) return SIM_E_NOMEM;
        const size_t n_chosen = collect_set(profiles, n, profiles[i].set, chosen);
        code = calibrate_set(profiles[i].set, chosen, n_chosen, is_pooled, arena, &sets[(*n_sets)++], diag);
    }
    return code;
}

/* Above this share of rows faster than the peak, outliers alone do not explain them. */
static const double max_too_fast_frac = 0.05;

static int64_t count_too_fast(const struct profile *profile)
{
    for (size_t i = 0; i < profile->n_dropped; i++)
        if (strcmp(profile->dropped[i].reason, profile_faster_than_peak) == 0) return profile->dropped[i].rows;
    return 0;
}

void calibrate_check_profile(const struct profile *profile, const struct gpu_spec *gpu, struct diag *diag)
{
    const int64_t too_fast = count_too_fast(profile), rows = too_fast + (int64_t)profile->n;
    if ((double)too_fast > max_too_fast_frac * (double)rows)
        diag_warning(diag, profile->path, "wrong GPU, LLM or unit of time?",
                     "%" PRId64 " of %" PRId64 " rows are faster than the peak of '%s', and are left out", too_fast,
                     rows, gpu->name);
}

/* Gives a class the law of `laws` and the errors of that law. Nothing is fitted or held out. */
static int keep_law(struct calibrated_class *class, const struct calibration *laws, struct arena *arena)
{
    struct fold_report *report = &class->report;
    double *predicted_s = arena_alloc(arena, report->n_rows * sizeof *predicted_s);
    if (predicted_s == NULL) return SIM_E_NOMEM;
    class->law = laws->origin[report->class];
    class->law_writes_kv = laws->writes_kv[report->class];
    *report = (struct fold_report){.class = report->class, .n_rows = report->n_rows, .rows = report->rows,
                                   .params = laws->kernels.params[report->class],
                                   .range = laws->kernels.ranges[report->class], .fitted_s = predicted_s};
    for (size_t i = 0; i < report->n_rows; i++)
        predicted_s[i] = kernel_call_time(&report->params, report->rows[i].gpu, &report->rows[i].call).seconds;
    return fit_cuts_of(report->rows, predicted_s, report->n_rows, &report->fit);
}

int calibrate_keep_laws(struct calibrated_set *set, const struct calibration *laws, struct arena *arena,
                        struct diag *diag)
{
    enum { SOUND_ROWS = 4 }; /* per parameter */
    int code = 0;
    for (int c = 0; code == 0 && c < KERNEL_CLASS_COUNT; c++) {
        const struct kernel_class_info *info = kernel_class_info((enum kernel_class)c);
        if (set->classes[c] == NULL || set->classes[c]->report.n_rows >= SOUND_ROWS * info->n_params) continue;
        struct calibrated_class *kept = arena_alloc(arena, sizeof *kept);
        if (kept == NULL) return SIM_E_NOMEM;
        *kept = *set->classes[c];
        code = keep_law(kept, laws, arena);
        set->classes[c] = kept;
        diag_warning(diag, NULL, "measure more shapes for a fit of your own",
                     "'%s' keeps the fit of '%s' beside its table: %zu rows for %zu parameters", info->name, kept->law,
                     kept->report.n_rows, info->n_params);
    }
    return code;
}

int predict_profile(const struct calibration *calibration, const char *set, const struct profile *profile,
                    struct prediction *prediction, struct diag *diag)
{
    *prediction = (struct prediction){.set = set, .in_range_frac = (double)NAN, .table_frac = (double)NAN};
    if (profile->n == 0) return diag_error(diag, SIM_E_DATA, profile->path, NULL, "there are no rows to predict");
    double *predicted_s = mem_zalloc(profile->n, sizeof *predicted_s);
    if (predicted_s == NULL) return SIM_E_NOMEM;
    size_t n_inside = 0, n_measured = 0;
    bool is_finite = true;
    for (size_t i = 0; i < profile->n; i++) {
        const struct profile_row *row = &profile->rows[i];
        enum kernel_basis basis;
        predicted_s[i] = kernel_set_time(&calibration->kernels, row->gpu, &row->call, &basis).seconds;
        is_finite &= isfinite(predicted_s[i]) != 0;
        n_inside += basis != KERNEL_EXTRAPOLATED;
        n_measured += basis == KERNEL_MEASURED;
        prediction->origins[row->call.class] = calibration->origin[row->call.class];
        prediction->is_default |= !calibration->kernels.ranges[row->call.class].fitted;
    }
    prediction->in_range_frac = (double)n_inside / (double)profile->n;
    prediction->table_frac = (double)n_measured / (double)profile->n;
    const int code = is_finite
                         ? fit_cuts_of(profile->rows, predicted_s, profile->n, &prediction->errors)
                         : diag_error(diag, SIM_E_DATA, profile->path, NULL, "a row's predicted time is not finite");
    mem_free(predicted_s);
    return code;
}
