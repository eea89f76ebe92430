/* Zeus' sweeps of the power limit (You et al., NSDI 2023): time per epoch and mean power of training jobs. A job is a data set,
 * a network, a batch size and an optimiser; rows of one job under one limit are averaged. */
#include "analysis/calibrate/power/power_format.h"

#include <string.h>

enum { DATASET, NETWORK, BATCH, OPTIMIZER, LIMIT, TIME, POWER, COLUMNS };

static const char *const columns[COLUMNS] = {"dataset",     "network",        "batch_size",   "optimizer",
                                             "power_limit", "time_per_epoch", "average_power"};

enum { MAX_MEANS = 4096 };

/* One job under one limit. */
struct mean {
    const char *job;
    double limit_w, time_s, power_w, n;
};

struct means {
    struct mean items[MAX_MEANS];
    size_t n;
};

static struct mean *mean_of(struct means *means, const char *job, double limit_w)
{
    for (size_t i = 0; i < means->n; i++)
        if (means->items[i].limit_w == limit_w && strcmp(means->items[i].job, job) == 0) return &means->items[i];
    if (means->n == MAX_MEANS) return NULL;
    means->items[means->n] = (struct mean){.job = job, .limit_w = limit_w};
    return &means->items[means->n++];
}

static int read_row(struct power_reader *reader)
{
    double limit_w, time_s, power_w;
    if (reader->state == NULL) reader->state = arena_alloc(reader->arena, sizeof(struct means));
    if (reader->state == NULL) return SIM_E_NOMEM;
    int code = power_number(reader, LIMIT, 1.0, &limit_w);
    if (code == 0) code = power_number(reader, TIME, 1e-9, &time_s);
    if (code == 0) code = power_number(reader, POWER, 1e-9, &power_w);
    if (code != 0) return code;
    const char *job = arena_printf(reader->arena, "%s/%s/%s/%s", power_text(reader, DATASET),
                                   power_text(reader, NETWORK), power_text(reader, BATCH),
                                   power_text(reader, OPTIMIZER));
    if (job == NULL) return SIM_E_NOMEM;
    if (time_s == 0.0 || power_w == 0.0) return power_drop(reader, "no time, or no power");
    struct mean *mean = mean_of(reader->state, job, limit_w);
    if (mean == NULL) return power_drop(reader, "more jobs and limits than are read");
    mean->n++;
    mean->time_s += (time_s - mean->time_s) / mean->n;
    mean->power_w += (power_w - mean->power_w) / mean->n;
    return 0;
}

/* The job's mean under its highest limit. */
static const struct mean *uncapped(const struct means *means, const char *job)
{
    const struct mean *best = NULL;
    for (size_t i = 0; i < means->n; i++)
        if (strcmp(means->items[i].job, job) == 0 && (best == NULL || means->items[i].limit_w > best->limit_w))
            best = &means->items[i];
    return best;
}

static bool is_first(const struct means *means, size_t i)
{
    size_t first = 0;
    while (strcmp(means->items[first].job, means->items[i].job) != 0) first++;
    return first == i;
}

static int add_job(struct power_reader *reader, const struct means *means, const char *job)
{
    const struct mean *whole = uncapped(means, job);
    int code = 0;
    for (size_t i = 0; i < means->n && code == 0; i++) {
        const struct mean *mean = &means->items[i];
        if (mean == whole || strcmp(mean->job, job) != 0) continue;
        code = power_add_cap(reader, &(struct power_cap_row){.job = reader->data->n_jobs, .cap_w = mean->limit_w,
                                                             .slowdown = mean->time_s / whole->time_s,
                                                             .measured_w = mean->power_w, .uncapped_w = whole->power_w});
    }
    reader->data->n_jobs++;
    return code;
}

static int finish(struct power_reader *reader)
{
    const struct means *means = reader->state;
    int code = 0;
    for (size_t i = 0; means != NULL && i < means->n && code == 0; i++)
        if (is_first(means, i)) code = add_job(reader, means, means->items[i].job);
    return code;
}

const struct power_format power_zeus = {"zeus", columns, COLUMNS, read_row, finish};
