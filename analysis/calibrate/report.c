#include "analysis/calibrate/report.h"

#include "analysis/plot/plot.h"

#include <math.h>
#include <stdio.h>

enum { TITLE_CHARS = 160 };

static const double us = 1e6;
static const double guide_share = 0.2; /* relative distance of the guide lines from the diagonal */

static void make_title(char title[TITLE_CHARS], const char *gpu, const char *set, const char *what)
{
    snprintf(title, TITLE_CHARS, "%s, %s: %s", gpu, set, what);
}

/* --- Predicted over measured --- */

/* Points in microseconds, ordered by operator. */
struct scatter {
    double *measured, *predicted;
    struct plot_series series[LLM_OPERATOR_COUNT];
    size_t n_series;
};

/* Uses held-out predictions where there are folds, else those of the fit. Returns 0, or -1 when out of memory. */
static int scatter_init(struct scatter *scatter, const struct fold_report *report)
{
    const double *predicted_s = report->n_folds > 0 ? report->held_out_s : report->fitted_s;
    size_t n = 0;
    *scatter = (struct scatter){.measured = mem_zalloc(report->n_rows + 1, sizeof *scatter->measured),
                                .predicted = mem_zalloc(report->n_rows + 1, sizeof *scatter->predicted)};
    if (scatter->measured == NULL || scatter->predicted == NULL) return -1;
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++) {
        const size_t first = n;
        for (size_t i = 0; i < report->n_rows; i++) {
            if (report->rows[i].op != (enum llm_operator)op) continue;
            scatter->measured[n] = us * report->rows[i].measured_s;
            scatter->predicted[n++] = us * predicted_s[i];
        }
        if (n == first) continue;
        scatter->series[scatter->n_series++] =
            (struct plot_series){.name = llm_operator_name((enum llm_operator)op), .n = n - first,
                                 .x = scatter->measured + first, .y = scatter->predicted + first};
    }
    return 0;
}

static void describe_error(const struct calibrated_class *class, char subtitle[TITLE_CHARS])
{
    const struct fold_report *report = &class->report;
    const bool is_held_out = report->n_folds > 0;
    const struct fit_error *error = is_held_out ? &report->held_out.cuts[CUT_ALL] : &report->fit.cuts[CUT_ALL];
    snprintf(subtitle, TITLE_CHARS, "%zu rows, %s%s: error median %.1f %%, p90 %.1f %%", report->n_rows,
             is_held_out ? "held out by " : "fitted", is_held_out ? class->held_out_by : "", 100.0 * error->median,
             100.0 * error->p90);
}

void report_scatter(const char *gpu, const struct calibrated_set *set, enum kernel_class class, struct text *svg)
{
    static const struct plot_line guides[] = {{PLOT_RATIO, 1.0, "equal", false},
                                              {PLOT_RATIO, 1.0 + guide_share, "20 % off", true},
                                              {PLOT_RATIO, 1.0 - guide_share, NULL, true}};
    const struct calibrated_class *found = set->classes[class];
    struct scatter scatter;
    char title[TITLE_CHARS], subtitle[TITLE_CHARS];
    make_title(title, gpu, set->name, kernel_class_info(class)->name);
    describe_error(found, subtitle);
    if (scatter_init(&scatter, &found->report) == 0) {
        const struct plot_chart chart = {
            .kind = PLOT_SCATTER, .title = title, .subtitle = subtitle, .is_square = true, .width = 600.0,
            .x = {.title = "measured (us)", .scale = PLOT_LOG}, .y = {.title = "predicted (us)", .scale = PLOT_LOG},
            .n_series = scatter.n_series, .series = scatter.series,
            .n_lines = sizeof guides / sizeof guides[0], .lines = guides};
        plot_svg(&chart, svg);
    } else {
        svg->failed = true;
    }
    mem_free(scatter.measured);
    mem_free(scatter.predicted);
}

/* --- Error by band --- */

enum { BANDS = CUT_LARGE - CUT_1_16 };

static const struct fit_error *band_error(const struct fit_cuts *cuts, int band)
{
    return &cuts->cuts[CUT_1_16 + band];
}

static bool has_bands(const struct calibrated_class *class)
{
    for (int band = 0; class != NULL && band < BANDS; band++)
        if (band_error(&class->report.fit, band)->rows > 0) return true;
    return false;
}

/* Median and p90 of every band, in percent; NAN without rows. */
struct band_errors {
    double median[BANDS], p90[BANDS];
    char name[TITLE_CHARS];
};

static void find_errors(const struct fit_cuts *cuts, struct band_errors *errors)
{
    for (int band = 0; band < BANDS; band++) {
        const struct fit_error *error = band_error(cuts, band);
        errors->median[band] = error->rows > 0 ? 100.0 * error->median : (double)NAN;
        errors->p90[band] = error->rows > 0 ? 100.0 * error->p90 : (double)NAN;
    }
}

static struct plot_series error_series(const struct band_errors *errors, unsigned colour, bool is_held_out)
{
    return (struct plot_series){.name = errors->name, .is_reference = is_held_out, .colour = colour, .n = BANDS,
                                .y = errors->median, .low = errors->median, .high = errors->p90};
}

/* Two series per class in one colour: errors of the fit, and of held-out rows. Returns their number. */
static size_t find_series(const struct calibrated_set *set, struct band_errors errors[2 * KERNEL_CLASS_COUNT],
                          struct plot_series series[2 * KERNEL_CLASS_COUNT])
{
    size_t n = 0;
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (!has_bands(set->classes[c])) continue;
        const struct fold_report *report = &set->classes[c]->report;
        const char *name = kernel_class_info((enum kernel_class)c)->name;
        const unsigned colour = 1 + (unsigned)(n / 2) % PLOT_COLOURS;
        find_errors(&report->fit, &errors[n]);
        snprintf(errors[n].name, TITLE_CHARS, "%s", name);
        series[n] = error_series(&errors[n], colour, false);
        n++;
        find_errors(&report->held_out, &errors[n]);
        snprintf(errors[n].name, TITLE_CHARS, "%s, held out", name);
        series[n] = error_series(&errors[n], colour, true);
        n++;
    }
    return n;
}

void report_bands(const char *gpu, const struct calibrated_set *set, struct text *svg)
{
    struct band_errors errors[2 * KERNEL_CLASS_COUNT];
    struct plot_series series[2 * KERNEL_CLASS_COUNT];
    const char *bands[BANDS];
    char title[TITLE_CHARS];
    make_title(title, gpu, set->name, "error by tokens per call");
    for (int band = 0; band < BANDS; band++) bands[band] = fit_cut_name((enum fit_cut)(CUT_1_16 + band));
    const struct plot_chart chart = {
        .kind = PLOT_DOTS, .title = title, .subtitle = "dot: median, whisker: up to the 90th percentile",
        .x = {.title = "tokens per call"}, .y = {.title = "|predicted / measured - 1| (%)"},
        .n_categories = BANDS, .categories = bands, .n_series = find_series(set, errors, series), .series = series,
        .width = 860.0, .height = 460.0};
    plot_svg(&chart, svg);
}
