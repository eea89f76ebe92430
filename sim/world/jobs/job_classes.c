#include "sim/world/jobs/job_classes.h"

#include <stdbool.h>
#include <string.h>

static const char *const size_names[JOB_SIZE_CLASSES] = {"1 GPU", "2-8 GPUs", "9-64 GPUs", "65 GPUs or more"};

static size_t size_class(int32_t gpus)
{
    static const int32_t most[] = {1, 8, 64};
    size_t i = 0;
    while (i + 1 < JOB_SIZE_CLASSES && gpus > most[i]) i++;
    return i;
}

void job_classes_fini(struct job_classes *classes)
{
    for (size_t i = 0; i < JOB_SIZE_CLASSES; i++) distribution_fini(&classes->size_queue_s[i]);
    for (size_t i = 0; i < classes->n_types; i++) {
        distribution_fini(&classes->types[i].jct_s);
        distribution_fini(&classes->types[i].queue_s);
    }
}

static int add(struct distribution *distribution, double value)
{
    if (distribution->tally.count == 0) {
        int code = distribution_init(distribution);
        if (code < 0) return code;
    }
    return distribution_add(distribution, value);
}

/* NULL: jobs of that type are not told apart. */
static struct job_type_stats *find_type(struct job_classes *classes, const char *name)
{
    size_t i = 0;
    while (i < classes->n_types && classes->types[i].name != name && strcmp(classes->types[i].name, name) != 0) i++;
    if (i == JOB_TYPES_MAX) return NULL;
    if (i == classes->n_types) classes->types[classes->n_types++].name = name;
    return &classes->types[i];
}

int job_classes_add(struct job_classes *classes, int32_t gpus, const char *type, double jct_s, double queue_s)
{
    int code = gpus == 0 ? 0 : add(&classes->size_queue_s[size_class(gpus)], queue_s);
    struct job_type_stats *of_type = code < 0 || *type == 0 ? NULL : find_type(classes, type);
    if (of_type == NULL) return code;
    code = add(&of_type->jct_s, jct_s);
    return code < 0 ? code : add(&of_type->queue_s, queue_s);
}

static bool has_sizes(const struct job_classes *classes)
{
    int n = 0;
    for (size_t i = 0; i < JOB_SIZE_CLASSES; i++) n += classes->size_queue_s[i].tally.count > 0;
    return n > 1;
}

int job_classes_emit(const struct job_classes *classes, const struct sink *sink)
{
    int code = 0;
    for (size_t i = 0; code == 0 && has_sizes(classes) && i < JOB_SIZE_CLASSES; i++)
        code = metric_emit_distribution(sink, "job.queue_s", size_names[i], &classes->size_queue_s[i]);
    for (size_t i = 0; code == 0 && i < classes->n_types; i++) {
        const struct job_type_stats *type = &classes->types[i];
        code = metric_emit_distribution(sink, "job.jct_s", type->name, &type->jct_s);
        if (code == 0) code = metric_emit_distribution(sink, "job.queue_s", type->name, &type->queue_s);
    }
    return code;
}
