#include "analysis/export/openmetrics.h"
#include "sim/world/rows/metric.h"
#include "tests/support/harness.h"

#include <ctype.h>

enum { MAX_NAMES = 1024 };

static bool is_valid(const char *name)
{
    if (strncmp(name, "orrery_", strlen("orrery_")) != 0 || strstr(name, "__") != NULL) return false;
    for (; *name != 0; name++)
        if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) && *name != '_') return false;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct text *)a)->chars, ((const struct text *)b)->chars);
}

TEST(every_metric_has_a_valid_openmetrics_name_of_its_own)
{
    static struct text names[MAX_NAMES];
    size_t n = 0;
    for (const struct metric_def *metric = metric_dictionary; metric->name != NULL && n < MAX_NAMES; metric++, n++) {
        text_init(&names[n]);
        const char *unit = openmetrics_name(metric->name, metric->unit, &names[n]);
        const size_t n_name = names[n].length, n_unit = strlen(unit);
        CHECK(is_valid(names[n].chars));
        CHECK(n_unit == 0 || (n_name > n_unit && names[n].chars[n_name - n_unit - 1] == '_'));
        CHECK_EQ_STR(names[n].chars + n_name - n_unit, unit);
        if (strcmp(metric->unit, "1") != 0) CHECK(n_unit > 0);
    }
    CHECK(n > 100 && n < MAX_NAMES);
    qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 1; i < n; i++) CHECK(strcmp(names[i - 1].chars, names[i].chars) != 0);
    for (size_t i = 0; i < n; i++) text_fini(&names[i]);
}

static const char *name_of(const char *name, const char *unit)
{
    static char buffer[128];
    struct text text;
    text_init(&text);
    openmetrics_name(name, unit, &text);
    snprintf(buffer, sizeof buffer, "%s", text.chars);
    text_fini(&text);
    return buffer;
}

TEST(the_unit_in_words_ends_a_name_once)
{
    CHECK_EQ_STR(name_of("request.ttft_s.p99[chat/batch.1]", "s"), "orrery_request_ttft_p99_seconds");
    CHECK_EQ_STR(name_of("energy.j", "J"), "orrery_energy_joules");
    CHECK_EQ_STR(name_of("cluster.gpus", "GPU"), "orrery_cluster_gpus");
    CHECK_EQ_STR(name_of("slo.attained_frac", "1"), "orrery_slo_attained_ratio");
    CHECK_EQ_STR(name_of("slo.goodput_tokens_per_s", "token/s"), "orrery_slo_goodput_tokens_per_second");
    CHECK_EQ_STR(name_of("request.finished", "1"), "orrery_request_finished");
    CHECK_EQ_STR(name_of("a new-metric.gauss", "gauss"), "orrery_a_new_metric_gauss");
}
