/* Quantities and their units.
 *
 * Time in the simulator is `sim_ns`, whole nanoseconds since the start of the run (292 years of range). Models compute
 * in double seconds; the world rounds once, half to even. In a config every quantity with a dimension is a string with
 * a unit ("80GiB", "15ms", "$2.49/h", "2.04TB/s", "700W"); SI prefixes are powers of 10, IEC prefixes powers of 2. */
#ifndef ORRERY_CORE_UNITS_H
#define ORRERY_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int64_t sim_ns;

#define SIM_NS_PER_S INT64_C(1000000000)
#define SIM_NS_MAX INT64_MAX

/* Seconds to nanoseconds, rounded half to even; saturates at +-SIM_NS_MAX. NaN gives SIM_NS_MAX. */
sim_ns sim_ns_from_s(double seconds);
/* The sum of two times, at most SIM_NS_MAX. Neither may be negative. */
static inline sim_ns sim_ns_add(sim_ns a, sim_ns b)
{
    return a > SIM_NS_MAX - b ? SIM_NS_MAX : a + b;
}

static inline double sim_s_from_ns(sim_ns ns)
{
    return (double)ns / 1e9;
}

/* The dimension of a quantity, with the SI unit it is stored in. X(name, SI unit, example) */
#define UNIT_DIMS(X)                                                                                                   \
    X(UNIT_NONE, "", "0.9")                                                                                            \
    X(UNIT_TIME, "s", "15ms")                                                                                          \
    X(UNIT_BYTES, "B", "80GiB")                                                                                        \
    X(UNIT_BYTES_PER_S, "B/s", "2.04TB/s")                                                                             \
    X(UNIT_FLOP_PER_S, "FLOP/s", "312TFLOP/s")                                                                         \
    X(UNIT_POWER, "W", "700W")                                                                                         \
    X(UNIT_ENERGY, "J", "3.6MJ")                                                                                       \
    X(UNIT_MONEY, "$", "$1.50")                                                                                        \
    X(UNIT_MONEY_PER_H, "$/h", "$2.49/h")                                                                              \
    X(UNIT_FREQUENCY, "Hz", "1.41GHz")                                                                                 \
    X(UNIT_RATE, "1/s", "5.5/s")

enum unit_dim {
#define UNIT_DIM_ENUM(name, si, example) name,
    UNIT_DIMS(UNIT_DIM_ENUM)
#undef UNIT_DIM_ENUM
    UNIT_DIM_COUNT
};

const char *unit_si_name(enum unit_dim dim); /* "B/s" */
const char *unit_example(enum unit_dim dim); /* "2.04TB/s" */

/* Writes the units of a dimension, "s, ms, us, ns, min, h, d", to the buffer, cut to its size. Returns the buffer. */
const char *unit_list(enum unit_dim dim, char *buffer, size_t buffer_bytes);

/* Parses "<number><unit>" (blanks between are allowed) of the given dimension into SI units. UNIT_NONE takes a bare
 * number. Accepted: ns us ms s min h d; B kB MB GB TB PB KiB MiB GiB TiB PiB, each also "/s"; FLOP/s .. EFLOP/s (also
 * spelled FLOPS); W kW MW; J kJ MJ GJ Wh kWh; $N and $N/h; Hz kHz MHz GHz; N/s N/min N/h.
 * The number is decimal ("-1", "0.5", "2e9"; the sign stands before "$"), and the result is the double next to the
 * decimal value wherever the unit is a power of ten or two.
 * Returns 0, or SIM_E_CONFIG with a static text in *why that goes on a sentence: "needs a unit", "is not a number",
 * "has an unknown unit" ... */
int unit_parse(const char *text, enum unit_dim dim, double *value_si, const char **why);

/* Parses a stretch of time, "10s:1min", "10s:" or ":1min"; an end that is left out stays as it is. Returns NULL, or a
 * static text why not, as unit_parse does. It ends behind its beginning. */
const char *unit_parse_stretch(const char *text, double *from_s, double *to_s);

/* Writes a text that unit_parse refuses in the notation that it takes, for hints: "50GB/s" for the bits of "400Gb/s"
 * and "400Gbps", "130min" for the sum "2h10min", "5min" for "5 minutes" and "5m", "80GB" for "80gb", and "0.9" for the
 * plain number "90%". Sets *why as unit_parse does. Returns false, changing nothing, if the text is none of these. */
bool unit_rewrite(const char *text, enum unit_dim dim, char *buffer, size_t buffer_bytes, const char **why);

/* Writes a time as people write it: in the largest of d, h, min and s of which it is a whole number, "30min" for 1800 s
 * and "36h" for 129600 s; else as unit_format does. Returns its length, like snprintf. */
int unit_format_time(double seconds, char *buffer, size_t buffer_bytes);

/* Writes the shortest text that unit_parse reads back to the same double ("80GiB", "15ms"), without an exponent where
 * some unit allows. Returns its length, like snprintf. Infinities and NaN are written too; unit_parse takes neither. */
int unit_format(double value_si, enum unit_dim dim, char *buffer, size_t buffer_bytes);

/* As unit_format, but in the unit of `like`, a text that unit_parse takes, where twelve digits or fewer give back the
 * same double without an exponent. */
int unit_format_like(double value_si, enum unit_dim dim, const char *like, char *buffer, size_t buffer_bytes);

#endif
