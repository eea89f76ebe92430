#include "traces/registry.h"

#include "traces/formats/job_profiles.h"
#include "traces/generate/arrival.h"
#include "traces/generate/distribution.h"

#include <string.h>

static const struct trace_format *const formats[] = {
#define TRACE_FORMAT(symbol) &symbol,
#include "traces/list.h"
#undef TRACE_FORMAT
};

size_t trace_format_count(void)
{
    return sizeof formats / sizeof *formats;
}

const struct trace_format *trace_format_at(size_t index)
{
    return formats[index];
}

const struct trace_format *trace_format_find(const char *name)
{
    for (size_t i = 0; i < trace_format_count(); i++) {
        if (strcmp(formats[i]->name, name) == 0) return formats[i];
    }
    return NULL;
}

static bool format_alternative(bool requests, size_t index, struct config_alternative *out)
{
    for (size_t i = 0; i < trace_format_count(); i++) {
        const struct trace_format *format = formats[i];
        if ((format->open_requests != NULL) != requests || index-- > 0) continue;
        *out = (struct config_alternative){.name = format->name,
                                           .summary = format->summary,
                                           .fields = format->params,
                                           .params_bytes = format->params_bytes,
                                           .entry = format};
        return true;
    }
    return false;
}

static bool arrival_alternative(size_t index, struct config_alternative *out)
{
    for (size_t i = 0; arrival_processes[i] != NULL; i++) {
        const struct arrival_process *process = arrival_processes[i];
        if (i != index) continue;
        *out = (struct config_alternative){.name = process->name,
                                           .summary = process->summary,
                                           .fields = process->params,
                                           .params_bytes = process->params_bytes,
                                           .entry = process};
        return true;
    }
    return false;
}

static bool length_alternative(size_t index, struct config_alternative *out)
{
    for (size_t i = 0; length_distributions[i] != NULL; i++) {
        const struct length_distribution *distribution = length_distributions[i];
        if (i != index) continue;
        *out = (struct config_alternative){.name = distribution->name,
                                           .summary = distribution->summary,
                                           .fields = distribution->params,
                                           .params_bytes = distribution->params_bytes,
                                           .entry = distribution};
        return true;
    }
    return false;
}

static bool profile_alternative(size_t index, struct config_alternative *out)
{
    static const struct job_profile_format *const profiles[] = {&job_profile_gavel, &job_profile_muri,
                                                                &job_profile_shockwave};
    if (index >= sizeof profiles / sizeof *profiles) return false;
    const struct job_profile_format *format = profiles[index];
    *out = (struct config_alternative){.name = format->name,
                                       .summary = format->summary,
                                       .fields = format->params,
                                       .params_bytes = format->params_bytes,
                                       .entry = format};
    return true;
}

bool trace_alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    if (strcmp(family, "request-trace") == 0) return format_alternative(true, index, out);
    if (strcmp(family, "job-trace") == 0) return format_alternative(false, index, out);
    if (strcmp(family, "job-profile") == 0) return profile_alternative(index, out);
    if (strcmp(family, "arrival") == 0) return arrival_alternative(index, out);
    return strcmp(family, "length") == 0 && length_alternative(index, out);
}
