#include "sim/catalog/time_error.h"

#include "sim/catalog/shelf.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* The error of one cost kind. */
struct kind_error {
    const char *name;
    int64_t rows, groups;
    double fast_frac, slow_frac;
};

struct no_fit_file {
    const char *source;
    double share;
    struct config_list kinds; /* struct kind_error */
};

#define ROW_OF struct kind_error
static const struct config_field kind_fields[] = {
    ROW_INT("rows", rows, REQUIRED, AT_LEAST(1), "measured rows"),
    ROW_INT("groups", groups, REQUIRED, AT_LEAST(1), "groups of them, each predicted by a fit without it"),
    ROW_REAL("fast", fast_frac, REQUIRED, WITHIN(DBL_MIN, 1.0), "lower end of measured over predicted times"),
    ROW_REAL("slow", slow_frac, REQUIRED, WITHIN(1.0, 1e3), "upper end of measured over predicted times"),
    {0},
};
#undef ROW_OF

#define ROW_OF struct no_fit_file
static const struct config_field no_fit_fields[] = {
    ROW_TEXT("source", source, REQUIRED, WITHIN(1, 512), "where the measured rows come from"),
    ROW_REAL("share", share, REQUIRED, WITHIN(TIME_ERROR_SHARE, TIME_ERROR_SHARE), "of the rows between the ends"),
    ROW_MAP("kinds", kinds, REQUIRED, ANY, struct kind_error, kind_fields, "errors by cost kind"),
    {0},
};
#undef ROW_OF

static const struct kind_error *find_kind(const struct no_fit_file *file, const char *kind, const char *ending)
{
    const struct kind_error *kinds = file->kinds.items;
    const size_t length = strlen(kind);
    for (size_t i = 0; i < file->kinds.n; i++)
        if (strncmp(kinds[i].name, kind, length) == 0 && strcmp(kinds[i].name + length, ending) == 0) return &kinds[i];
    return NULL;
}

int time_error_in_no_fit(const struct catalog *catalog, const char *kind, bool foreign, struct arena *arena,
                         struct time_error *error, struct diag *diag)
{
    *error = (struct time_error){0};
    const char *path = arena_printf(arena, "%s/calibration/releases/in_no_fit.json", catalog->root);
    if (path == NULL) return diag_nomem(diag);
    if (access(path, R_OK) != 0) return 0;
    struct no_fit_file file;
    const struct catalog unnoted = {.root = catalog->root, .memory = catalog->memory};
    const int code = shelf_bind(&unnoted, path, no_fit_fields, arena, &file, sizeof file, diag);
    if (code != 0) return code;
    const struct kind_error *found = foreign ? find_kind(&file, kind, TIME_ERROR_FOREIGN) : NULL;
    const char *where = found != NULL ? ", on GPUs that their engine was not measured with" : "";
    if (found == NULL) found = find_kind(&file, kind, "");
    if (found == NULL) return 0;
    const char *basis = arena_printf(arena, "%lld measured runs of %lld systems, each predicted without its group%s",
                                     (long long)found->rows, (long long)found->groups, where);
    *error = (struct time_error){.fast_frac = found->fast_frac, .slow_frac = found->slow_frac, .basis = basis};
    return basis != NULL ? 0 : diag_nomem(diag);
}

/* The error e is |predicted / measured - 1|, so a measured time is at least predicted / (1 + e) and at most
 * predicted / (1 - e). An error of 1 and more has no upper end: a prediction of nothing has it too. */
int time_error_of_preset(const struct engine_preset *preset, const char *gpu, const char *llm, struct arena *arena,
                         struct time_error *error, bool *found)
{
    const char *const *gpus = preset->measured_on.items;
    const struct calibration_error *groups = preset->held_out.items;
    size_t at_gpu = 0, at_llm = 0;
    while (at_gpu < preset->measured_on.n && strcmp(gpus[at_gpu], gpu) != 0) at_gpu++;
    while (at_llm < preset->held_out.n && strcmp(groups[at_llm].name, llm) != 0) at_llm++;
    *found = at_gpu < preset->measured_on.n && at_llm < preset->held_out.n && groups[at_llm].rows > 0 &&
             groups[at_llm].p90 < 1.0;
    if (!*found) return 0;
    const double p90 = groups[at_llm].p90;
    const char *basis = arena_printf(arena, "%lld measured runs of %s under %s that its fit left out",
                                     (long long)groups[at_llm].rows, llm, preset->name);
    *error = (struct time_error){.fast_frac = 1.0 / (1.0 + p90), .slow_frac = 1.0 / (1.0 - p90), .basis = basis};
    return basis != NULL ? 0 : SIM_E_NOMEM;
}
