/* Loads of our own, each held for some tenths of a second (tests/bench/gpu/power.py): what NVML says of the power at the time,
 * and what the kernels achieve. */
#include "analysis/calibrate/power/power_format.h"

#include <string.h>

enum { LOAD, BUSY, POWER, FLOP, BYTES, COLUMNS };

static const char *const columns[COLUMNS] = {"load", "busy_frac", "instant_w", "flop_per_s", "bytes_per_s"};

/* The first word, up to a comma. */
static const char *kind_of(const struct power_reader *reader, const char *load)
{
    return arena_printf(reader->arena, "%.*s", (int)strcspn(load, " ,"), load);
}

static int read_row(struct power_reader *reader)
{
    double numbers[COLUMNS] = {0};
    const char *load = power_text(reader, LOAD);
    if (load == NULL) return SIM_E_NOMEM;
    const enum number_format format = strstr(load, "fp8") != NULL ? FORMAT_FP8 : FORMAT_BF16;
    for (size_t i = BUSY; i < COLUMNS; i++) {
        const int status = power_number(reader, i, 0.0, &numbers[i]);
        if (status != 0) return status;
    }
    if (strcmp(load, "idle without context") == 0) return power_drop(reader, "no process on the GPU");
    if (strstr(load, "host") != NULL) return power_drop(reader, "a copy over PCIe, without kernels");
    if (strstr(load, "zeros") != NULL) return power_drop(reader, "numbers that are all zero");
    const struct power_row row = {.group = kind_of(reader, load), .part = "load", .measured_w = numbers[POWER],
                                  .n_phases = 1,
                                  .phases = {{1.0,
                                              {numbers[BUSY], numbers[FLOP] / gpu_peak_flop_per_s(reader->gpu, format),
                                               numbers[BYTES] / reader->gpu->memory_bytes_per_s}}}};
    return row.group != NULL ? power_add(reader, &row) : SIM_E_NOMEM;
}

const struct power_format power_loads = {"loads", columns, COLUMNS, read_row, NULL};
