#include "sim/cli/calibrate/calibrate_files.h"

#include "analysis/calibrate/report.h"
#include "analysis/calibrate/write.h"
#include "sim/cli/paths.h"
#include "sim/core/output.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

int calibrate_write(struct cli *cli, const char *path, const struct text *text)
{
    struct output *output = NULL;
    if (text->failed) return SIM_E_NOMEM;
    int code = output_open(path, &output, &cli->diag);
    if (code != 0) return code;
    text_add_bytes(output_text(output), text->chars, text->length);
    code = output_close(output, false, &cli->diag);
    if (code == 0) fprintf(cli->err, "%s\n", path);
    return code;
}

int calibrate_save(struct cli *cli, const char *path, const char *gpu, const struct calibrated_set *sets, size_t n_sets)
{
    struct text json;
    text_init(&json);
    int code = calibration_write(gpu, sets, n_sets, path, &json, &cli->diag);
    if (code == 0) code = calibrate_write(cli, path, &json);
    text_fini(&json);
    return code;
}

static int draw_class(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *set,
                      enum kernel_class class)
{
    char path[PATH_MAX];
    struct text svg;
    text_init(&svg);
    snprintf(path, sizeof path, "%s/%s-%s.svg", directory, set->name, kernel_class_info(class)->name);
    report_scatter(gpu, set, class, &svg);
    const int code = calibrate_write(cli, path, &svg);
    text_fini(&svg);
    return code;
}

static int draw_bands(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *set)
{
    char path[PATH_MAX];
    struct text svg;
    text_init(&svg);
    snprintf(path, sizeof path, "%s/%s-error-by-band.svg", directory, set->name);
    report_bands(gpu, set, &svg);
    const int code = calibrate_write(cli, path, &svg);
    text_fini(&svg);
    return code;
}

int calibrate_make_directory(struct cli *cli, const char *directory)
{
    if (paths_is_directory(directory) || mkdir(directory, 0777) == 0) return 0;
    return diag_system_error(&cli->diag, directory, "cannot make the directory", errno);
}

int calibrate_draw(struct cli *cli, const char *directory, const char *gpu, const struct calibrated_set *sets,
                   size_t n_sets)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < n_sets; i++) {
        for (int c = 0; code == 0 && c < KERNEL_CLASS_COUNT; c++)
            if (sets[i].classes[c] != NULL) code = draw_class(cli, directory, gpu, &sets[i], (enum kernel_class)c);
        if (code == 0) code = draw_bands(cli, directory, gpu, &sets[i]);
    }
    return code;
}
