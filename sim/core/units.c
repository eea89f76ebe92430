/* One table of units serves parsing and formatting. Powers of ten are applied to the decimal text, before it becomes a
 * double, so that "2.04TB/s" is exactly the double 2.04e12. */
#include "sim/core/units.h"

#include "sim/core/err.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

sim_ns sim_ns_from_s(double seconds)
{
    double ns = seconds * 1e9;
    if (!(ns < 0x1p63)) return SIM_NS_MAX;
    if (ns <= -0x1p63) return -SIM_NS_MAX;
    return llrint(ns);
}

const char *unit_si_name(enum unit_dim dim)
{
    static const char *const names[] = {
#define UNIT_SI(name, si, example) si,
        UNIT_DIMS(UNIT_SI)
#undef UNIT_SI
    };
    return names[dim];
}

const char *unit_example(enum unit_dim dim)
{
    static const char *const examples[] = {
#define UNIT_EXAMPLE(name, si, example) example,
        UNIT_DIMS(UNIT_EXAMPLE)
#undef UNIT_EXAMPLE
    };
    return examples[dim];
}

/* One unit is 10^exp10 * times / per in SI. */
struct unit {
    enum unit_dim dim;
    const char *before, *after; /* what stands before and after the number */
    int exp10;
    double times, per;
    bool written; /* else only read */
};

#define DECIMAL(dim, after, exp10) {dim, "", after, exp10, 1, 1, true}
#define TIMES(dim, after, times) {dim, "", after, 0, times, 1, true}
#define PER(dim, after, per) {dim, "", after, 0, 1, per, true}
#define DOLLAR(dim, after) {dim, "$", after, 0, 1, 1, true}
#define READ_ONLY(dim, after, exp10) {dim, "", after, exp10, 1, 1, false}

#define BYTE_UNITS(dim, tail)                                                                                          \
    DECIMAL(dim, "B" tail, 0), DECIMAL(dim, "kB" tail, 3), DECIMAL(dim, "MB" tail, 6), DECIMAL(dim, "GB" tail, 9),     \
        DECIMAL(dim, "TB" tail, 12), DECIMAL(dim, "PB" tail, 15), TIMES(dim, "KiB" tail, 0x1p10),                      \
        TIMES(dim, "MiB" tail, 0x1p20), TIMES(dim, "GiB" tail, 0x1p30), TIMES(dim, "TiB" tail, 0x1p40),                \
        TIMES(dim, "PiB" tail, 0x1p50)

#define FLOP_UNITS(row, flop)                                                                                          \
    row(UNIT_FLOP_PER_S, flop, 0), row(UNIT_FLOP_PER_S, "k" flop, 3), row(UNIT_FLOP_PER_S, "M" flop, 6),               \
        row(UNIT_FLOP_PER_S, "G" flop, 9), row(UNIT_FLOP_PER_S, "T" flop, 12), row(UNIT_FLOP_PER_S, "P" flop, 15),     \
        row(UNIT_FLOP_PER_S, "E" flop, 18)

/* The SI unit of a dimension comes first: of equally good texts the earlier unit's is written. */
static const struct unit units[] = {
    DECIMAL(UNIT_NONE, "", 0),
    DECIMAL(UNIT_TIME, "s", 0),
    DECIMAL(UNIT_TIME, "ms", -3),
    DECIMAL(UNIT_TIME, "us", -6),
    DECIMAL(UNIT_TIME, "ns", -9),
    TIMES(UNIT_TIME, "min", 60),
    TIMES(UNIT_TIME, "h", 3600),
    TIMES(UNIT_TIME, "d", 86400),
    BYTE_UNITS(UNIT_BYTES, ""),
    BYTE_UNITS(UNIT_BYTES_PER_S, "/s"),
    FLOP_UNITS(DECIMAL, "FLOP/s"),
    FLOP_UNITS(READ_ONLY, "FLOPS"),
    DECIMAL(UNIT_POWER, "W", 0),
    DECIMAL(UNIT_POWER, "kW", 3),
    DECIMAL(UNIT_POWER, "MW", 6),
    DECIMAL(UNIT_ENERGY, "J", 0),
    DECIMAL(UNIT_ENERGY, "kJ", 3),
    DECIMAL(UNIT_ENERGY, "MJ", 6),
    DECIMAL(UNIT_ENERGY, "GJ", 9),
    TIMES(UNIT_ENERGY, "Wh", 3600),
    TIMES(UNIT_ENERGY, "kWh", 3.6e6),
    DOLLAR(UNIT_MONEY, ""),
    DOLLAR(UNIT_MONEY_PER_H, "/h"),
    DECIMAL(UNIT_FREQUENCY, "Hz", 0),
    DECIMAL(UNIT_FREQUENCY, "kHz", 3),
    DECIMAL(UNIT_FREQUENCY, "MHz", 6),
    DECIMAL(UNIT_FREQUENCY, "GHz", 9),
    DECIMAL(UNIT_RATE, "/s", 0),
    PER(UNIT_RATE, "/min", 60),
    PER(UNIT_RATE, "/h", 3600),
};

enum { N_UNITS = sizeof units / sizeof units[0], NUMBER_CHARS = 128, MAX_EXP10 = 9999 };

/* A quantity taken apart: [-] [$] mantissa [e exponent] unit. */
struct quantity {
    bool negative;
    char before[2];
    char mantissa[NUMBER_CHARS];
    int exp10;
    const char *after;
};

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

/* Reads the exponent at `text`, if there is one ("e3", "E-12"; but "EFLOP/s" is a unit). Returns where it ends. */
static const char *read_exponent(const char *text, int *exp10)
{
    *exp10 = 0;
    if (*text != 'e' && *text != 'E') return text;
    const char *digits = text + 1 + (text[1] == '-' || text[1] == '+');
    const char *end = skip_digits(digits);
    if (end == digits) return text;
    for (const char *c = digits; c < end; c++) {
        if (*exp10 < MAX_EXP10) *exp10 = *exp10 * 10 + (*c - '0');
    }
    if (text[1] == '-') *exp10 = -*exp10;
    return end;
}

/* Returns NULL, or what is wrong with the number. */
static const char *take_apart(const char *text, struct quantity *quantity)
{
    *quantity = (struct quantity){.negative = *text == '-'};
    if (*text == '-') text++;
    if (*text == '$') {
        quantity->before[0] = *text;
        text = skip_blanks(text + 1);
    }
    const char *end = skip_digits(text);
    if (end == text) return "is not a number";
    if (*end == '.') {
        const char *point = end;
        end = skip_digits(point + 1);
        if (end == point + 1) return "is not a number";
    }
    size_t n = (size_t)(end - text);
    if (n >= sizeof quantity->mantissa) return "has too many digits";
    memcpy(quantity->mantissa, text, n);
    quantity->after = skip_blanks(read_exponent(end, &quantity->exp10));
    return NULL;
}

/* The one way from decimal text to SI, for parsing and for proving a text that was formatted. */
static double scale(const char *mantissa, int exp10, const struct unit *unit)
{
    char number[NUMBER_CHARS + 16];
    snprintf(number, sizeof number, "%se%d", mantissa, exp10 + unit->exp10);
    return strtod(number, NULL) * unit->times / unit->per;
}

static const char *explain_unit(const struct quantity *quantity, enum unit_dim dim)
{
    bool bare = quantity->before[0] == '\0' && quantity->after[0] == '\0';
    if (bare) return "needs a unit";
    if (dim == UNIT_NONE) return "takes no unit";
    for (size_t i = 0; i < N_UNITS; i++) {
        if (strcmp(units[i].before, quantity->before) != 0) continue;
        if (units[i].dim == dim && strcasecmp(units[i].after, quantity->after) == 0)
            return "has a unit in the wrong case";
        if (strcmp(units[i].after, quantity->after) == 0) return "has a unit of another kind";
    }
    return "has an unknown unit";
}

const char *unit_list(enum unit_dim dim, char *buffer, size_t buffer_bytes)
{
    size_t n = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < N_UNITS && n < buffer_bytes; i++) {
        if (units[i].dim != dim || !units[i].written) continue;
        n += (size_t)snprintf(buffer + n, buffer_bytes - n, "%s%s%s", n > 0 ? ", " : "", units[i].before,
                              units[i].after);
    }
    return buffer;
}

static const struct unit *find_unit(const struct quantity *quantity, enum unit_dim dim)
{
    for (size_t i = 0; i < N_UNITS; i++) {
        if (units[i].dim == dim && strcmp(units[i].before, quantity->before) == 0 &&
            strcmp(units[i].after, quantity->after) == 0)
            return &units[i];
    }
    return NULL;
}

int unit_parse(const char *text, enum unit_dim dim, double *value_si, const char **why)
{
    struct quantity quantity;
    *why = take_apart(text, &quantity);
    if (*why != NULL) return SIM_E_CONFIG;
    const struct unit *unit = find_unit(&quantity, dim);
    if (unit == NULL) {
        *why = explain_unit(&quantity, dim);
        return SIM_E_CONFIG;
    }
    double value = scale(quantity.mantissa, quantity.exp10, unit);
    if (!isfinite(value)) {
        *why = "is out of range";
        return SIM_E_CONFIG;
    }
    *value_si = quantity.negative ? -value : value;
    return 0;
}

/* Of the first `n` characters; none leave the time as it is. */
static const char *parse_time(const char *chars, size_t n, double *time_s)
{
    char text[64];
    const char *why = NULL;
    if (n == 0) return NULL;
    if (n >= sizeof text) return "is too long";
    memcpy(text, chars, n);
    text[n] = '\0';
    return unit_parse(text, UNIT_TIME, time_s, &why) != 0 ? why : NULL;
}

const char *unit_parse_stretch(const char *text, double *from_s, double *to_s)
{
    const size_t n = strcspn(text, ":");
    if (text[n] != ':') return "has no ':'";
    const char *why = parse_time(text, n, from_s);
    if (why == NULL) why = parse_time(text + n + 1, strlen(text + n + 1), to_s);
    return why == NULL && !(*from_s < *to_s) ? "ends before it begins" : why;
}

/* --- Notations that are understood, but not taken --- */

/* Reads "400Gb/s", "400Gbps", "400Gbit/s" and "50GBps" as a bandwidth. */
static bool read_bits(const struct quantity *quantity, double *bytes_per_s, const char **why)
{
    static const char prefixes[] = "kMGTP";
    static const char *const ends[] = {"bps", "b/s", "bit/s", "bits/s", "bit", "Bps"};
    if (quantity->after[0] == '\0') return false;
    const bool is_lower = strchr("mgtp", quantity->after[0]) != NULL && strcmp(quantity->after + 1, "bps") == 0;
    const char *prefix = strchr(prefixes, is_lower ? quantity->after[0] - 'a' + 'A' : quantity->after[0]),
               *end = quantity->after + (prefix != NULL);
    size_t i = 0;
    while (i < sizeof ends / sizeof *ends && strcmp(end, ends[i]) != 0) i++;
    if (quantity->before[0] != '\0' || i == sizeof ends / sizeof *ends) return false;
    const bool is_bits = *end == 'b';
    const struct unit unit = {.exp10 = prefix != NULL ? 3 * (int)(prefix - prefixes + 1) : 0, .times = 1,
                              .per = is_bits ? 8 : 1};
    *bytes_per_s = scale(quantity->mantissa, quantity->exp10, &unit);
    *why = !isfinite(*bytes_per_s) ? "is out of range" : is_bits ? "is in bits" : "has an unknown unit";
    return isfinite(*bytes_per_s);
}

/* Reads "2h10min" as a sum; `last` gets the unit of the last part. */
static bool read_sum(const char *text, enum unit_dim dim, double *sum_si, const struct unit **last)
{
    int n_parts = 0;
    *sum_si = 0;
    for (const char *next; *text != '\0'; text = next, n_parts++) {
        char part[NUMBER_CHARS];
        struct quantity quantity;
        next = text + strspn(text, "0123456789.");
        next += strcspn(next, "0123456789");
        const char *end = next;
        while (end > text && (end[-1] == ' ' || end[-1] == '\t')) end--;
        if ((size_t)(end - text) >= sizeof part) return false;
        snprintf(part, sizeof part, "%.*s", (int)(end - text), text);
        *last = take_apart(part, &quantity) == NULL ? find_unit(&quantity, dim) : NULL;
        if (*last == NULL) return false;
        *sum_si += scale(quantity.mantissa, quantity.exp10, *last);
    }
    return n_parts > 1;
}

/* Units as people write them, and the unit that is taken: "5 minutes" is "5min". */
static const struct {
    enum unit_dim dim;
    const char *word, *unit;
    double factor;
} words[] = {
    {UNIT_TIME, "sec", "s", 1},        {UNIT_TIME, "second", "s", 1},        {UNIT_TIME, "msec", "ms", 1},
    {UNIT_TIME, "millisecond", "ms", 1}, {UNIT_TIME, "usec", "us", 1},       {UNIT_TIME, "microsecond", "us", 1},
    {UNIT_TIME, "\302\265s", "us", 1},        {UNIT_TIME, "nanosecond", "ns", 1},   {UNIT_TIME, "m", "min", 1},
    {UNIT_TIME, "minute", "min", 1},   {UNIT_TIME, "hr", "h", 1},            {UNIT_TIME, "hour", "h", 1},
    {UNIT_TIME, "day", "d", 1},        {UNIT_TIME, "w", "d", 7},             {UNIT_TIME, "week", "d", 7},
    {UNIT_RATE, "rps", "/s", 1},       {UNIT_RATE, "qps", "/s", 1},          {UNIT_RATE, "req/s", "/s", 1},
    {UNIT_RATE, "hz", "/s", 1},        {UNIT_RATE, "rpm", "/min", 1},        {UNIT_RATE, "req/min", "/min", 1},
    {UNIT_RATE, "/sec", "/s", 1},      {UNIT_RATE, "/second", "/s", 1},      {UNIT_RATE, "/minute", "/min", 1},
    {UNIT_RATE, "/m", "/min", 1},      {UNIT_RATE, "/hr", "/h", 1},          {UNIT_RATE, "/hour", "/h", 1},
    {UNIT_BYTES, "k", "kB", 1},        {UNIT_BYTES, "m", "MB", 1},           {UNIT_BYTES, "g", "GB", 1},
    {UNIT_BYTES, "t", "TB", 1},        {UNIT_BYTES, "gig", "GB", 1},         {UNIT_BYTES, "gigabyte", "GB", 1},
    {UNIT_BYTES, "ki", "KiB", 1},      {UNIT_BYTES, "mi", "MiB", 1},         {UNIT_BYTES, "gi", "GiB", 1},
    {UNIT_BYTES, "ti", "TiB", 1},      {UNIT_POWER, "watt", "W", 1},         {UNIT_POWER, "kilowatt", "kW", 1},
    {UNIT_POWER, "megawatt", "MW", 1},
};

/* Whether the unit may mean two: milliwatts or megawatts, minutes or months, bits or bytes. */
static bool is_ambiguous(const char *unit, enum unit_dim dim)
{
    const bool is_bits = strlen(unit) == 2 && strchr("KMGT", unit[0]) != NULL && unit[1] == 'b';
    return (dim == UNIT_POWER && unit[0] == 'm' && strcasecmp(unit, "mw") == 0) ||
           (dim == UNIT_TIME && strcmp(unit, "M") == 0) || (dim == UNIT_BYTES && is_bits);
}

/* Reads a unit by such a word, also in the plural, in the wrong case, or without its "/s" or "$". */
static bool read_word(const struct quantity *quantity, enum unit_dim dim, char *buffer, size_t buffer_bytes,
                      const char **why)
{
    const char *unit = NULL;
    double factor = 1;
    *why = "has an ambiguous unit";
    if (is_ambiguous(quantity->after, dim)) return false;
    *why = "has a unit in the wrong case";
    const char *before = quantity->before;
    for (size_t i = 0; i < N_UNITS && unit == NULL; i++) {
        const size_t n = strlen(units[i].after), n_after = strlen(quantity->after);
        const bool lacks_time = dim == UNIT_BYTES_PER_S && n == n_after + 2 && n_after > 0 &&
                                strncmp(units[i].after, quantity->after, n_after) == 0; /* "50GB" */
        const bool lacks_sign = before[0] == '\0' && units[i].before[0] != '\0' && n > 0;   /* "2.49/h" */
        if (units[i].dim != dim || (strcmp(units[i].before, before) != 0 && !lacks_sign)) continue;
        const bool may_be_bits = dim == UNIT_BYTES_PER_S && strchr(quantity->after, 'b') != NULL;
        if (!lacks_time && (may_be_bits || strcasecmp(units[i].after, quantity->after) != 0)) continue;
        if (!lacks_sign && strcmp(units[i].after, quantity->after) == 0) return false; /* nothing is wrong with it */
        unit = units[i].after;
        before = units[i].before;
        if (lacks_time || lacks_sign) *why = "has a unit of another kind";
    }
    if (unit == NULL) *why = "has an unknown unit";
    for (size_t i = 0; i < sizeof words / sizeof *words && unit == NULL; i++) {
        const size_t n = strlen(words[i].word), n_more = strlen(quantity->after) - n;
        if (words[i].dim != dim || strncasecmp(quantity->after, words[i].word, n) != 0) continue;
        if (n_more > 1 || (n_more == 1 && (n < 2 || strchr("sS", quantity->after[n]) == NULL))) continue;
        unit = words[i].unit;
        factor = words[i].factor;
    }
    const struct unit plain = {.times = factor, .per = 1};
    const double number = scale(quantity->mantissa, quantity->exp10, &plain);
    if (unit == NULL || !isfinite(number)) return false;
    snprintf(buffer, buffer_bytes, "%s%s%.15g%s", quantity->negative ? "-" : "", before, number, unit);
    return true;
}

bool unit_rewrite(const char *text, enum unit_dim dim, char *buffer, size_t buffer_bytes, const char **why)
{
    struct quantity quantity;
    const struct unit *last;
    double value;
    if (take_apart(text, &quantity) != NULL) return false;
    if (dim == UNIT_NONE && strcmp(quantity.after, "%") == 0) {
        const struct unit percent = {.times = 1, .per = 100};
        *why = "is a share and takes no '%'";
        snprintf(buffer, buffer_bytes, "%s%.15g", quantity.negative ? "-" : "",
                 scale(quantity.mantissa, quantity.exp10, &percent));
        return true;
    }
    if (dim == UNIT_BYTES_PER_S && !quantity.negative && read_bits(&quantity, &value, why)) {
        unit_format(value, dim, buffer, buffer_bytes);
        return true;
    }
    const char *problem;
    if (dim != UNIT_NONE && read_word(&quantity, dim, buffer, buffer_bytes, &problem)) {
        *why = problem;
        return true;
    }
    if (dim == UNIT_NONE || !read_sum(text, dim, &value, &last)) return false;
    *why = "has several units";
    snprintf(buffer, buffer_bytes, "%s%.15g%s", last->before, value * last->per / (last->times * pow(10, last->exp10)),
             last->after);
    return true;
}

/* The fewest significant digits d.ddd and the exponent that give back exactly `si` when read in `unit`. Returns the
 * number of digits, or 0 when no 17 digits do. */
static int shortest_digits(double si, const struct unit *unit, char digits[32], int *exp10)
{
    struct unit plain = *unit; /* without its power of ten: that only moves the exponent */
    plain.exp10 = 0;
    for (int n = 1; n <= 17; n++) {
        char text[40];
        snprintf(text, sizeof text, "%.*e", n - 1, si * unit->per / unit->times);
        char *e = strchr(text, 'e');
        if (e == NULL) return 0;
        *exp10 = (int)strtol(e + 1, NULL, 10);
        *e = '\0';
        if (scale(text, *exp10, &plain) != si) continue;
        *exp10 -= unit->exp10;
        digits[0] = text[0];
        if (n > 1) memcpy(digits + 1, text + 2, (size_t)n - 1);
        digits[n] = '\0';
        return n;
    }
    return 0;
}

/* Writes the n digits d.ddd * 10^exp10 plainly where that is readable, else with an exponent. */
static void write_number(const char *digits, int n, int exp10, char *text, size_t text_bytes)
{
    enum { MAX_PLAIN = 15, MIN_PLAIN = -4 };
    if (exp10 > MAX_PLAIN || exp10 < MIN_PLAIN)
        snprintf(text, text_bytes, "%.1s%s%se%d", digits, n > 1 ? "." : "", digits + 1, exp10);
    else if (exp10 < 0)
        snprintf(text, text_bytes, "0.%.*s%s", -exp10 - 1, "000000", digits);
    else if (n <= exp10 + 1)
        snprintf(text, text_bytes, "%s%.*s", digits, exp10 + 1 - n, "0000000000000000");
    else
        snprintf(text, text_bytes, "%.*s.%s", exp10 + 1, digits, digits + exp10 + 1);
}

/* Plain numbers before exponents, short texts before long ones, 2.04TB/s before 2040GB/s. */
static int cost_of(int chars, const char *number, int exp10)
{
    enum { EXPONENT_COST = 1000 };
    bool one_to_999 = exp10 >= 0 && exp10 <= 2;
    return 2 * chars + (one_to_999 ? 0 : 1) + (strchr(number, 'e') != NULL ? EXPONENT_COST : 0);
}

int unit_format(double value_si, enum unit_dim dim, char *buffer, size_t buffer_bytes)
{
    if (!isfinite(value_si)) return snprintf(buffer, buffer_bytes, "%f", value_si);
    char best[64] = "";
    int best_cost = INT_MAX;
    for (size_t i = 0; i < N_UNITS; i++) {
        if (units[i].dim != dim || !units[i].written) continue;
        char digits[32], number[48], text[64];
        int exp10;
        int n = shortest_digits(fabs(value_si), &units[i], digits, &exp10);
        if (n == 0) continue;
        write_number(digits, n, exp10, number, sizeof number);
        const char *sign = signbit(value_si) ? "-" : "";
        int chars = snprintf(text, sizeof text, "%s%s%s%s", sign, units[i].before, number, units[i].after);
        int cost = cost_of(chars, number, exp10);
        if (cost >= best_cost) continue;
        best_cost = cost;
        memcpy(best, text, sizeof best);
    }
    return snprintf(buffer, buffer_bytes, "%s", best);
}

int unit_format_time(double seconds, char *buffer, size_t buffer_bytes)
{
    static const struct {
        double s;
        const char *name;
    } largest_first[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    static const double most = 1e6; /* of a unit: larger numbers read better in another form */
    for (size_t i = 0; i < sizeof largest_first / sizeof *largest_first; i++) {
        const double number = seconds / largest_first[i].s;
        if (fabs(number) < 1 || fabs(number) > most || number != round(number)) continue;
        return snprintf(buffer, buffer_bytes, "%.0f%s", number, largest_first[i].name);
    }
    return unit_format(seconds, UNIT_TIME, buffer, buffer_bytes);
}

int unit_format_like(double value_si, enum unit_dim dim, const char *like, char *buffer, size_t buffer_bytes)
{
    enum { MOST_DIGITS = 12 };
    char digits[32], number[48];
    struct quantity quantity;
    int exp10;
    const struct unit *unit = take_apart(like, &quantity) == NULL ? find_unit(&quantity, dim) : NULL;
    const int n = unit != NULL && isfinite(value_si) ? shortest_digits(fabs(value_si), unit, digits, &exp10) : 0;
    if (n == 0 || n > MOST_DIGITS) return unit_format(value_si, dim, buffer, buffer_bytes);
    write_number(digits, n, exp10, number, sizeof number);
    if (strchr(number, 'e') != NULL) return unit_format(value_si, dim, buffer, buffer_bytes);
    const char *sign = signbit(value_si) ? "-" : "";
    return snprintf(buffer, buffer_bytes, "%s%s%s%s", sign, unit->before, number, unit->after);
}
