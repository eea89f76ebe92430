#include "sim/cli/explain/timeline_options.h"

#include "sim/core/number.h"
#include "sim/core/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A time of `n` characters; none of them leaves the default. Returns NULL, or what is wrong with it. */
static const char *parse_time(const char *chars, size_t n, double *time_s)
{
    char text[64];
    const char *why = NULL;
    if (n == 0) return NULL;
    if (n >= sizeof text) return "is too long";
    memcpy(text, chars, n);
    text[n] = 0;
    return unit_parse(text, UNIT_TIME, time_s, &why) != 0 ? why : NULL;
}

static int parse_window(const char *window, struct timeline_options *options, struct diag *diag)
{
    size_t n = strcspn(window, ":");
    const char *why = window[n] != ':' ? "has no ':'" : parse_time(window, n, &options->from_s);
    if (why == NULL) why = parse_time(window + n + 1, strlen(window + n + 1), &options->to_s);
    if (why == NULL && !(options->from_s < options->to_s)) why = "ends before it begins";
    if (why == NULL) return 0;
    return diag_error(diag, SIM_E_USAGE, "--timeline-window", "write \"10s:1min\", or \"10min:\" for all that follows",
                      "'%s' %s", window, why);
}

static int parse_sample(const char *sample, struct timeline_options *options, struct diag *diag)
{
    if (strncmp(sample, "1/", 2) == 0 && number_i64(sample + 2, strlen(sample + 2), &options->one_in) == NUMBER_OK &&
        options->one_in > 0)
        return 0;
    return diag_error(diag, SIM_E_USAGE, "--timeline-sample", "write \"1/100\" for one request of a hundred",
                      "'%s' is no such share", sample);
}

int timeline_options_parse(const char *window, const char *sample, struct timeline_options *options, struct diag *diag)
{
    *options = (struct timeline_options){.from_s = 0, .to_s = (double)INFINITY, .one_in = 1};
    int code = window != NULL ? parse_window(window, options, diag) : 0;
    int sample_code = sample != NULL ? parse_sample(sample, options, diag) : 0;
    return code != 0 ? code : sample_code;
}
