#include "tests/support/calibration_fixture.h"

#include "tests/support/harness.h"

static void write_parameters(FILE *file, const struct kernel_class_info *info, double start_s)
{
    for (size_t i = 0; i < info->n_params; i++) {
        const bool is_time = info->params[i].unit == PARAM_SECONDS;
        fprintf(file, is_time ? "%s\"%s\": \"%.17gs\"" : "%s\"%s\": %.17g", i > 0 ? ", " : "", info->params[i].name,
                i > 0 ? info->params[i].initial : start_s);
    }
}

static void write_range(FILE *file, const struct kernel_class_info *info, double high)
{
    fputs(",\n      \"range\": {", file);
    for (size_t i = 0; i < info->n_axes; i++)
        fprintf(file, "%s\"%s\": [0, %.17g]", i > 0 ? ", " : "", info->axes[i], high);
    fputs("}", file);
}

/* Every pair of formats. */
static void write_formats(FILE *file, const struct kernel_class_info *info)
{
#define FORMAT_NAME(id, name, bytes) name,
    static const char *const names[] = {NUMBER_FORMATS(FORMAT_NAME)};
#undef FORMAT_NAME
    fputs(",\n      \"formats\": [", file);
    for (size_t i = 0; i < (size_t)FORMAT_COUNT * FORMAT_COUNT; i++)
        fprintf(file, "%s{\"%s\": \"%s\", \"compute\": \"%s\"}", i > 0 ? ", " : "", info->stored,
                names[i / FORMAT_COUNT], names[i % FORMAT_COUNT]);
    fputs("]", file);
}

static void write_part(FILE *file, const struct calibration_part *part)
{
    const struct kernel_class_info *info = kernel_class_info(part->class);
    fprintf(file, "    \"%s\": {\"parameters\": {", info->name);
    write_parameters(file, info, part->start_s);
    fputs("}, \"rows\": 7", file);
    if (part->high > 0.0) write_range(file, info, part->high);
    if (part->high > 0.0 && info->stored) write_formats(file, info);
    for (const char *c = part->key; c != NULL && *c != 0; c++) fputc(*c == '\'' ? '"' : *c, file);
    fputs("}", file);
}

static void write_file(const char *path, const char *gpu, const struct calibration_part *parts, size_t n)
{
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fprintf(file, "{\"gpu\": \"%s\", \"sets\": {\n", gpu);
    for (size_t i = 0; i < n; i++) {
        const bool first = i == 0 || parts[i].set != parts[i - 1].set;
        if (first) fprintf(file, "%s  \"%s\": {\n", i > 0 ? "},\n" : "", parts[i].set);
        if (!first) fputs(",\n", file);
        write_part(file, &parts[i]);
    }
    fputs("}}}\n", file);
    CHECK(fclose(file) == 0);
}

void calibration_fixture_write(const char *path, const struct calibration_part *parts, size_t n)
{
    write_file(path, "made-up", parts, n);
}

void calibration_fixture_write_all(const char *path, const char *gpu, double high)
{
    struct calibration_part parts[KERNEL_CLASS_COUNT];
    for (int i = 0; i < KERNEL_CLASS_COUNT; i++)
        parts[i] = (struct calibration_part){.set = "in-model", .class = (enum kernel_class)i, .high = high,
                                             .start_s = kernel_class_info((enum kernel_class)i)->params[0].initial};
    write_file(path, gpu, parts, KERNEL_CLASS_COUNT);
}
