#include "sim/world/failures/failure_state.h"
#include "sim/world/rows/metric.h"

#include <string.h>

/* Shocks and lethal shocks of a domain count together, under its name. */
static bool is_further(const struct failures *failures, int32_t index)
{
    const struct failure_source *source = &failures->sources[index];
    return source->is_shock && index > 0 && source[-1].is_shock && strcmp(source[-1].name, source->name) == 0;
}

struct counts {
    double seen, unseen, interrupts, lost_gpu_s;
};

static void add(struct counts *counts, const struct failure_source *source)
{
    counts->seen += (double)source->n_seen;
    counts->unseen += (double)source->n_unseen;
    counts->interrupts += (double)source->n_interrupts;
    counts->lost_gpu_s += source->lost_gpu_s;
}

static int emit_counts(const struct failures *failures, const char *name, const struct counts *counts)
{
    const struct sink *sink = failures->site->sink;
    int code = metric_emit_of(sink, "failure.events", name, counts->seen);
    if (code == 0) code = metric_emit_of(sink, "failure.unseen", name, counts->unseen);
    if (code == 0) code = metric_emit_of(sink, "failure.interrupts", name, counts->interrupts);
    return code != 0 ? code : metric_emit_of(sink, "failure.lost_gpu_s", name, counts->lost_gpu_s);
}

static int emit_available(const struct failures *failures, sim_ns now)
{
    const struct sink *sink = failures->site->sink;
    double gpus = 0.0;
    for (const struct cluster *part = failures->cluster; part != NULL && part->n_nodes > 0; part = part->next)
        gpus += (double)(part->total_gpus - part->spare_gpus);
    int code = 0;
    if (gpus > 0.0)
        code = metric_emit(sink, "cluster.available_frac", 1.0 - level_mean(&failures->missing_gpus, now) / gpus);
    for (size_t i = 0; i < failures->n_quorums && code == 0; i++) {
        const struct failure_quorum *quorum = &failures->quorums[i];
        code = metric_emit_of(sink, "failure.available_frac", quorum->domain->name,
                              level_mean(&quorum->available, now) / quorum->n_groups);
    }
    return code;
}

int failures_finish(void *self, sim_ns now)
{
    const struct failures *failures = self;
    struct counts all = {0}, of_name = {0};
    int code = 0;
    for (int32_t i = 0; i < failures->n_sources && code == 0; i++) {
        if (!is_further(failures, i)) of_name = (struct counts){0};
        add(&of_name, &failures->sources[i]);
        add(&all, &failures->sources[i]);
        if (i + 1 == failures->n_sources || !is_further(failures, i + 1))
            code = emit_counts(failures, failures->sources[i].name, &of_name);
    }
    if (code == 0) code = emit_counts(failures, NULL, &all);
    return code != 0 ? code : emit_available(failures, now);
}
