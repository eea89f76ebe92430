#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *put(char buffer[WORDS_CHARS], const char *text)
{
    snprintf(buffer, WORDS_CHARS, "%s", text);
    return buffer;
}

static const char *whole_number(int64_t value, char buffer[WORDS_CHARS])
{
    char digits[32];
    const int n = snprintf(digits, sizeof digits, "%" PRId64, value < 0 ? -value : value);
    size_t used = 0;
    if (value < 0) buffer[used++] = '-';
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = 0;
    return buffer;
}

/* Formats significant digits, without an exponent if four to seven places do. */
static void significant(double value, int digits, char buffer[WORDS_CHARS])
{
    const double size = fabs(value);
    if (size >= 1e7 || size < 1e-4) {
        snprintf(buffer, WORDS_CHARS, "%.*g", digits, value);
        return;
    }
    const int before = (int)floor(log10(size)) + 1; /* digits before the point */
    const int after = digits - before > 0 ? digits - before : 0;
    snprintf(buffer, WORDS_CHARS, "%.*f", after, value);
    char *end = buffer + strlen(buffer);
    if (after == 0) return;
    while (end[-1] == '0') *--end = 0;
    if (end[-1] == '.') end[-1] = 0;
}

const char *words_number(double value, char buffer[WORDS_CHARS])
{
    if (isnan(value)) return put(buffer, "-");
    if (fabs(value) < 1e15 && value == rint(value)) return whole_number((int64_t)value, buffer);
    if (fabs(value) < 1e15 && fabs(value) >= 1e3) return whole_number((int64_t)rint(value), buffer);
    significant(value, 4, buffer);
    return buffer;
}

const char *words_seconds(double seconds, char buffer[WORDS_CHARS])
{
    static const struct {
        double below_s, unit_s;
        const char *unit;
    } units[] = {{1e-3, 1e-6, "us"},  {1.0, 1e-3, "ms"},       {120.0, 1.0, "s"},
                 {7200.0, 60, "min"}, {172800.0, 3600.0, "h"}, {(double)INFINITY, 86400.0, "d"}};
    if (isnan(seconds)) return put(buffer, "-");
    if (seconds == 0.0) return put(buffer, "0 s");
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && fabs(seconds) >= units[i].below_s) i++;
    char number[WORDS_CHARS];
    significant(seconds / units[i].unit_s, 3, number);
    snprintf(buffer, WORDS_CHARS, "%.32s %s", number, units[i].unit);
    return buffer;
}

const char *words_percent(double share, char buffer[WORDS_CHARS])
{
    if (isnan(share)) return put(buffer, "-");
    if (share == 0.0) return put(buffer, "0 %");
    if (share < 1.0 && share > 0.999) return put(buffer, "99.9 %");
    char number[WORDS_CHARS];
    significant(100.0 * share, 3, number);
    snprintf(buffer, WORDS_CHARS, "%.32s %%", number);
    return buffer;
}

const char *words_value(double value, const char *unit, char buffer[WORDS_CHARS])
{
    if (strcmp(unit, "s") == 0) return words_seconds(value, buffer);
    char number[WORDS_CHARS];
    words_number(value, number);
    if (isnan(value) || strcmp(unit, "1") == 0 || unit[0] == 0) return put(buffer, number);
    snprintf(buffer, WORDS_CHARS, "%.28s %.16s", number, unit);
    return buffer;
}

const char *words_usd(double usd, char buffer[WORDS_CHARS])
{
    char number[WORDS_CHARS];
    if (isnan(usd)) return put(buffer, "-");
    if (fabs(usd) < 1e6)
        snprintf(buffer, WORDS_CHARS, "%s$%.2f", usd < 0.0 ? "-" : "", fabs(usd));
    else
        snprintf(buffer, WORDS_CHARS, "$%.40s", words_number(rint(usd), number));
    return buffer;
}

const char *words_metric(const char *name, char buffer[WORDS_CHARS])
{
    static const struct {
        const char *name, *words;
    } known[] = {{"request.ttft_s.", "TTFT"},
                 {"request.tpot_s.", "TPOT"},
                 {"request.e2e_s.", "end-to-end latency"},
                 {"request.queue_s.", "queueing time"},
                 {"job.jct_s.", "JCT"},
                 {"job.queue_s.", "job queueing time"},
                 {"job.slowdown.", "slowdown"},
                 {"job.bounded_slowdown.", "bounded slowdown"},
                 {"service.output_tokens_per_s", "output tokens per second"},
                 {"service.requests_per_s", "requests per second"},
                 {"job.makespan_s", "makespan"},
                 {"cluster.gpu_util", "GPU utilisation"},
                 {"cost.usd", "cost"},
                 {"energy.j", "energy"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t n = strlen(known[i].name);
        if (strncmp(known[i].name, name, n) != 0) continue;
        if (name[n] == 0) return known[i].words;
        if (known[i].name[n - 1] != '.') continue;
        snprintf(buffer, WORDS_CHARS, "%.24s %.16s", known[i].words, name + n);
        return buffer;
    }
    return name;
}

bool words_has_quantile(double n, double q)
{
    return q <= 0.5 || !(n * (1.0 - q) < 1.0 - 1e-9);
}
