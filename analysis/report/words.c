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

/* "2 min 10 s", "2 h": two units, the second `small` of which make one of the first. */
static const char *in_two_units(double n, double small, const char *large_unit, const char *small_unit,
                                char buffer[WORDS_CHARS])
{
    const double size = fabs(n), large = floor(size / small), rest = size - large * small;
    const int used = snprintf(buffer, WORDS_CHARS, "%s%.0f %s", n < 0.0 ? "-" : "", large, large_unit);
    if (rest > 0.0) snprintf(buffer + used, WORDS_CHARS - (size_t)used, " %.0f %s", rest, small_unit);
    return buffer;
}

const char *words_seconds(double seconds, char buffer[WORDS_CHARS])
{
    const double size_s = fabs(seconds);
    char number[WORDS_CHARS];
    if (isnan(seconds)) return put(buffer, "-");
    if (seconds == 0.0) return put(buffer, "0 s");
    if (size_s < 1e15) { /* each rounded to its second unit before the unit is chosen */
        if (rint(size_s / 60.0) >= 2880.0) return in_two_units(rint(seconds / 3600.0), 24.0, "d", "h", buffer);
        if (rint(size_s) >= 7200.0) return in_two_units(rint(seconds / 60.0), 60.0, "h", "min", buffer);
        if (size_s >= 120.0) return in_two_units(rint(seconds), 60.0, "min", "s", buffer);
    }
    const double unit_s = size_s < 1e-3 ? 1e-6 : size_s < 1.0 ? 1e-3 : size_s < 120.0 ? 1.0 : 86400.0;
    significant(seconds / unit_s, 3, number);
    snprintf(buffer, WORDS_CHARS, "%.32s %s", number,
             size_s < 1e-3    ? "us"
             : size_s < 1.0   ? "ms"
             : size_s < 120.0 ? "s"
                              : "d");
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
                 {"job.wait_s.", "job waiting time"},
                 {"job.slowdown.", "slowdown"},
                 {"job.bounded_slowdown.", "bounded slowdown"},
                 {"service.output_tokens_per_s", "output tokens per second"},
                 {"service.requests_per_s", "requests per second"},
                 {"job.makespan_s", "makespan"},
                 {"cluster.gpu_util", "GPU utilisation"},
                 {"cost.usd", "bill"},
                 {"cost.usd_per_h", "price of the services' GPUs per hour"},
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

const char *words_code(const char *code)
{
    return strncmp(code, "SIM_E_", 6) == 0 ? "failed" : code;
}

bool words_has_quantile(double n, double q)
{
    return q <= 0.5 || !(n * (1.0 - q) < 1.0 - 1e-9);
}
