#include "tests/support/worlds/laws.h"

#include "sim/world/rows/metric.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void breach(struct laws *laws, const char *format, ...)
{
    if (laws->is_broken) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(laws->text, sizeof laws->text, format, arguments);
    va_end(arguments);
    laws->is_broken = true;
}

/* Whether the dictionary defines a metric, whose entity stands in brackets, as a share. */
static bool is_share(const char *name)
{
    const size_t n = strcspn(name, "[");
    for (const struct metric_def *def = metric_dictionary; def->name != NULL; def++)
        if (strncmp(def->name, name, n) == 0 && def->name[n] == 0) return strncmp(def->definition, "share of", 8) == 0;
    return false;
}

static int on_metric(void *context, const struct metric_row *row)
{
    const double rounding = 1e-9;
    if (isinf(row->value)) breach(context, "metric %s is infinite", row->name);
    if ((row->value < -rounding || row->value > 1 + rounding) && is_share(row->name))
        breach(context, "share %s is %.17g", row->name, row->value);
    return 0;
}

/* Times that follow each other; one that is missing (NaN) is passed over. */
static void check_order(struct laws *laws, const char *what, int64_t id, const double *times_s, int n)
{
    double last_s = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(times_s[i])) continue;
        if (times_s[i] < last_s || times_s[i] > laws->latest_s)
            breach(laws, "%s %lld: time %d of its row is %.17g s, after %.17g s, before %.17g s", what, (long long)id,
                   i, times_s[i], last_s, laws->latest_s);
        last_s = times_s[i];
    }
}

static int on_job(void *context, const struct job_row *row)
{
    const double times_s[] = {row->submit_s, row->start_s, row->end_s};
    check_order(context, "job", row->id, times_s, 3);
    if (row->gpu_s < 0 || row->lost_gpu_s < 0) breach(context, "job %lld: negative GPU-seconds", (long long)row->id);
    return 0;
}

static int on_request(void *context, const struct request_row *row)
{
    const double times_s[] = {row->arrival_s, row->arrival_s + row->ttft_s, row->arrival_s + row->e2e_s};
    const double rounding = 1e-9;
    struct laws *laws = context;
    if (row->e2e_s < row->ttft_s - rounding || row->ttft_s < row->queue_s - rounding || row->queue_s < 0)
        breach(laws, "request %lld: queue %.17g s, first token %.17g s, end %.17g s", (long long)row->id, row->queue_s,
               row->ttft_s, row->e2e_s);
    if (times_s[2] > laws->latest_s * (1 + rounding) || row->cached_tokens > row->prompt_tokens)
        breach(laws, "request %lld: ends at %.17g s, %lld of %lld tokens cached", (long long)row->id, times_s[2],
               (long long)row->cached_tokens, (long long)row->prompt_tokens);
    return 0;
}

struct sink laws_sink(struct laws *laws, double until_s)
{
    const double longest_s = 9.2e9; /* where sim_ns ends: a time that saturated is no end */
    *laws = (struct laws){.latest_s = until_s > 0 ? until_s : longest_s};
    return (struct sink){.context = laws, .metric = on_metric, .job = on_job, .request = on_request};
}
