/* What stands in a figure's file. */
#include "analysis/figure/claim_kind.h"
#include "analysis/figure/fields.h"
#include "analysis/figure/figure.h"

#include <string.h>

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct config_field text_item[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 4096}, {0}};

#define TAG(type, member)                                                                                              \
    {.name = "tag", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(type, member), .min = 1, .max = 64,              \
     .help = "where it was read: src, src2, derived or memory, maybe with a key: src:KEY"}

static const struct config_field fact_fields[] = {
    {.name = "says", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fact, says), .min = 1, .max = 4096,
     .help = "what the paper states about its set-up"},
    TAG(figure_fact, tag),
    {0}};

static const struct config_field study_item[] = {{.kind = CONFIG_PATH, AT(figure_study, path)}, {0}};

static const struct config_field point_fields[] = {
    {.name = "x", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED, AT(figure_point, x), .help = "as on the axis"},
    {.name = "y", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED, AT(figure_point, y), .help = "as on the axis"},
    {.name = "low", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_point, low), .help = "end of its interval"},
    {.name = "high", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_point, high),
     .help = "end of its interval"},
    {0}};

static const struct config_field curve_fields[] = {
    {.name = "tag", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_curve, tag), .min = 1, .max = 64,
     .help = "where it was read"},
    {.name = "points", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, AT(figure_curve, points), .fields = point_fields,
     .elem_bytes = sizeof(struct figure_point), .help = "the paper's points"},
    {.name = "sql", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_curve, sql), .min = 1, .max = 65536,
     .help = "query that gives x and y by the paper's formula, in place of points"},
    {0}};

static const struct config_field series_fields[] = {
    {.name = "name", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_series, name), .min = 1, .max = 200,
     .help = "in the legend"},
    {.name = "study", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_series, study), .min = 1, .max = 200,
     .help = "whose results are asked; not needed when there is one"},
    {.name = "sql", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_series, sql), .min = 1, .max = 65536,
     .help = "query that gives columns x and y, maybe low and high"},
    {.name = "interval", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_series, interval), .min = 0.5,
     .max = 0.9999, .help = "rows of one x are replications: draw their mean and its t interval at this level"},
    {.name = "paper", .kind = CONFIG_SECTION, AT(figure_series, paper), .fields = curve_fields,
     .help = "what the paper has here"},
    {0}};

static const char *const scales[] = {"linear", "log", NULL};

static const struct config_field axis_fields[] = {
    {.name = "title", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_axis, title), .min = 1, .max = 200,
     .help = "with its unit"},
    {.name = "scale", .kind = CONFIG_CHOICE, AT(figure_axis, scale), .value = "linear", .choices = scales,
     .help = "of the axis"},
    {0}};

static const struct config_field chart_fields[] = {
    {.name = "title", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_chart, title), .min = 1, .max = 200,
     .help = "above the chart"},
    {.name = "subtitle", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_chart, subtitle), .max = 300,
     .help = "below the title"},
    {.name = "x", .kind = CONFIG_SECTION, AT(figure_chart, x), .fields = axis_fields, .help = "across"},
    {.name = "y", .kind = CONFIG_SECTION, AT(figure_chart, y), .fields = axis_fields, .help = "up"},
    {.name = "series", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, AT(figure_chart, series), .min = 1, .max = 100,
     .fields = series_fields, .elem_bytes = sizeof(struct figure_series), .help = "what is drawn"},
    {0}};

static const struct config_field span_fields[] = {
    {.name = "series", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_span, series), .min = 1, .max = 200,
     .help = "of the figure"},
    {.name = "from", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_span, from), .help = "smallest x"},
    {.name = "to", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_span, to), .help = "largest x"},
    {0}};

static const struct config_field claim_fields[] = {
    {.name = "says", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_claim, says), .min = 1, .max = 1024,
     .help = "the claim, as a sentence"},
    {.name = "value", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_claim, value),
     .help = "what the paper says"},
    {.name = "unit", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_claim, unit), .max = 64,
     .help = "of the value"},
    TAG(figure_claim, tag),
    {.name = "up_to", .kind = CONFIG_BOOL, AT(figure_claim, up_to), .value = "false",
     .help = "the paper states it as a maximum ('up to'): it is only reported"},
    {.name = "tolerance", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(figure_claim, tolerance_frac), .min = 0,
     .max = 1, .help = "share of the paper's value that ours may differ by; of a curve, what nine in ten points keep"},
    {.name = "test", .kind = CONFIG_VARIANT, .flags = CONFIG_OPTIONAL, AT(figure_claim, test), .family = "claim",
     .tag = "kind", .help = "how our number is taken; left out where the simulator does not cover it"},
    {.name = "rests_on", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, AT(figure_claim, rests_on),
     .fields = span_fields, .elem_bytes = sizeof(struct figure_span),
     .help = "which of the paper's points a claim by query stands for"},
    {.name = "reported_because", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_claim, reported_because),
     .min = 1, .max = 2048, .help = "why it is only reported, though its tag would let it pass or fail"},
    {.name = "known_to_fail", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_claim, known_to_fail),
     .min = 1, .max = 2048, .help = "why it fails: it is counted apart and does not set the exit status"},
    {0}};

static const struct config_field fit_fields[] = {
    {.name = "parameter", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fit, parameter), .min = 1,
     .max = 500, .help = "what was chosen, and where it stands"},
    {.name = "value", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fit, value), .min = 1, .max = 200,
     .help = "what it was set to"},
    {.name = "why", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, AT(figure_fit, why), .min = 1, .max = 2048,
     .help = "why it had to be chosen"},
    {.name = "points", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, AT(figure_fit, points), .fields = span_fields,
     .elem_bytes = sizeof(struct figure_span), .help = "the points of this figure that it was chosen on"},
    {.name = "elsewhere", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(figure_fit, elsewhere), .min = 1,
     .max = 1024, .help = "further points that it was chosen on, which the figure does not show"},
    {0}};

#define FIELD(member) AT(figure, member)
const struct config_field figure_fields[] = {
    {.name = "title", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, FIELD(title), .min = 1, .max = 200,
     .help = "what the figure shows"},
    {.name = "paper", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, FIELD(citation), .min = 1, .max = 500,
     .help = "authors, title, venue"},
    {.name = "place", .kind = CONFIG_TEXT, .flags = CONFIG_REQUIRED, FIELD(place), .min = 1, .max = 300,
     .help = "section, figure or table of the paper"},
    {.name = "setup", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(setup), .fields = fact_fields,
     .elem_bytes = sizeof(struct figure_fact), .min = 1, .max = 100, .help = "what the paper states about its set-up"},
    {.name = "studies", .kind = CONFIG_MAP, .flags = CONFIG_REQUIRED, FIELD(studies), .fields = study_item,
     .elem_bytes = sizeof(struct figure_study), .min = 1, .max = 20, .help = "files of studies, by name"},
    {.name = "views", .kind = CONFIG_PATH, .flags = CONFIG_OPTIONAL, FIELD(views), .min = 1, .max = 4096,
     .help = "file of CREATE TEMP VIEW statements, whose views the queries may use"},
    {.name = "charts", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(charts), .fields = chart_fields,
     .elem_bytes = sizeof(struct figure_chart), .min = 1, .max = 20, .help = "what is drawn"},
    {.name = "claims", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(claims), .fields = claim_fields,
     .elem_bytes = sizeof(struct figure_claim), .min = 1, .max = 200, .help = "what the paper claims"},
    {.name = "fitted", .kind = CONFIG_LIST, .flags = CONFIG_REQUIRED, FIELD(fitted), .fields = fit_fields,
     .elem_bytes = sizeof(struct figure_fit), .help = "every parameter that was chosen to match; [] when none was"},
    {.name = "notes", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, FIELD(notes), .fields = text_item,
     .elem_bytes = sizeof(char *), .help = "what a reader should know"},
    {0}};

static bool claim_alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    if (strcmp(family, "claim") != 0 || claim_kinds[index] == NULL) return false;
    const struct claim_kind *kind = claim_kinds[index];
    *out = (struct config_alternative){kind->name, kind->summary, kind->fields, kind->params_bytes, kind};
    return true;
}

const struct config_families figure_families = {claim_alternative, NULL};
