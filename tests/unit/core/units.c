#include "sim/core/units.h"

#include "sim/core/mem.h"
#include "tests/support/harness.h"

#include <string.h>

TEST(seconds_round_half_to_even)
{
    static const struct {
        double seconds;
        sim_ns ns;
    } known[] = {
        {0, 0},          {-0.0, 0},        {1, SIM_NS_PER_S}, {1.5e-9, 2},       {2.5e-9, 2},
        {0.5e-9, 0},     {-0.5e-9, 0},     {-1.5e-9, -2},     {-2.5e-9, -2},     {0.7e-9, 1},
        {1e-300, 0},     {86400.000000001, INT64_C(86400000000001)},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        CHECK_EQ_INT(sim_ns_from_s(known[i].seconds), known[i].ns);
}

TEST(seconds_saturate)
{
    CHECK_EQ_INT(sim_ns_from_s(9223372036.0), INT64_C(9223372036000000000));
    CHECK_EQ_INT(sim_ns_from_s(9223372037.0), SIM_NS_MAX);
    CHECK_EQ_INT(sim_ns_from_s(-9223372037.0), -SIM_NS_MAX);
    CHECK_EQ_INT(sim_ns_from_s(1e300), SIM_NS_MAX);
    CHECK_EQ_INT(sim_ns_from_s((double)INFINITY), SIM_NS_MAX);
    CHECK_EQ_INT(sim_ns_from_s(-(double)INFINITY), -SIM_NS_MAX);
    CHECK_EQ_INT(sim_ns_from_s((double)NAN), SIM_NS_MAX);
}

TEST(whole_nanoseconds_survive_a_trip_through_seconds)
{
    struct rng rng = test_rng(1, "units", 0);
    for (int i = 0; i < 20000; i++) { /* 2^51 ns are 26 days */
        uint64_t below_ns = UINT64_C(1) << (1 + rng_below(&rng, 51));
        sim_ns ns = (sim_ns)rng_below(&rng, below_ns);
        CHECK_EQ_INT(sim_ns_from_s(sim_s_from_ns(ns)), ns);
        CHECK_EQ_INT(sim_ns_from_s(sim_s_from_ns(-ns)), -ns);
    }
}

/* A quantity with a power of ten must be the double that C reads for the same decimal number. */
TEST(every_unit_is_read)
{
    static const struct {
        const char *text;
        enum unit_dim dim;
        double si;
    } known[] = {
        {"0.9", UNIT_NONE, 0.9},
        {"-3", UNIT_NONE, -3},
        {"2e9", UNIT_NONE, 2e9},
        {"7ns", UNIT_TIME, 7e-9},
        {"0.1us", UNIT_TIME, 0.1e-6},
        {"15ms", UNIT_TIME, 15e-3},
        {"0.3ms", UNIT_TIME, 0.3e-3},
        {"2s", UNIT_TIME, 2},
        {"1.5min", UNIT_TIME, 90},
        {"2h", UNIT_TIME, 7200},
        {"1d", UNIT_TIME, 86400},
        {"1B", UNIT_BYTES, 1},
        {"2kB", UNIT_BYTES, 2e3},
        {"3MB", UNIT_BYTES, 3e6},
        {"4GB", UNIT_BYTES, 4e9},
        {"5.1TB", UNIT_BYTES, 5.1e12},
        {"6PB", UNIT_BYTES, 6e15},
        {"1KiB", UNIT_BYTES, 1024},
        {"1.5MiB", UNIT_BYTES, 1572864},
        {"80GiB", UNIT_BYTES, 85899345920.0},
        {"1TiB", UNIT_BYTES, 1099511627776.0},
        {"1PiB", UNIT_BYTES, 1125899906842624.0},
        {"25GB/s", UNIT_BYTES_PER_S, 25e9},
        {"2.04TB/s", UNIT_BYTES_PER_S, 2.04e12},
        {"1KiB/s", UNIT_BYTES_PER_S, 1024},
        {"312TFLOP/s", UNIT_FLOP_PER_S, 312e12},
        {"19.5TFLOPS", UNIT_FLOP_PER_S, 19.5e12},
        {"1.1EFLOP/s", UNIT_FLOP_PER_S, 1.1e18},
        {"9e2EFLOP/s", UNIT_FLOP_PER_S, 9e20},
        {"700W", UNIT_POWER, 700},
        {"20kW", UNIT_POWER, 20e3},
        {"1.3MW", UNIT_POWER, 1.3e6},
        {"3.6MJ", UNIT_ENERGY, 3.6e6},
        {"1GJ", UNIT_ENERGY, 1e9},
        {"1Wh", UNIT_ENERGY, 3600},
        {"1kWh", UNIT_ENERGY, 3.6e6},
        {"$1.50", UNIT_MONEY, 1.5},
        {"-$2", UNIT_MONEY, -2},
        {"$2.49/h", UNIT_MONEY_PER_H, 2.49},
        {"$ 2.49 /h", UNIT_MONEY_PER_H, 2.49},
        {"60Hz", UNIT_FREQUENCY, 60},
        {"1.41GHz", UNIT_FREQUENCY, 1.41e9},
        {"5.5/s", UNIT_RATE, 5.5},
        {"30/min", UNIT_RATE, 0.5},
        {"1800/h", UNIT_RATE, 0.5},
        {"80 GiB", UNIT_BYTES, 85899345920.0},
        {"1.5E-3s", UNIT_TIME, 1.5e-3},
        {"1e+3s", UNIT_TIME, 1e3},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double si = -1;
        const char *why = NULL;
        CHECK_EQ_INT(unit_parse(known[i].text, known[i].dim, &si, &why), 0);
        if (!CHECK(si == known[i].si)) CHECK_EQ_STR(known[i].text, "read as above");
    }
}

TEST(wrong_texts_say_why)
{
    static const struct {
        const char *text;
        enum unit_dim dim;
        const char *why;
    } known[] = {
        {"80", UNIT_BYTES, "needs a unit"},
        {"0", UNIT_TIME, "needs a unit"},
        {"2.49", UNIT_MONEY_PER_H, "needs a unit"},
        {"80gb", UNIT_BYTES, "has a unit in the wrong case"},
        {"5MS", UNIT_TIME, "has a unit in the wrong case"},
        {"80ms", UNIT_BYTES, "has a unit of another kind"},
        {"$80", UNIT_BYTES, "has a unit of another kind"},
        {"80GB", UNIT_BYTES_PER_S, "has a unit of another kind"},
        {"$2.49", UNIT_MONEY_PER_H, "has a unit of another kind"},
        {"80 parsecs", UNIT_BYTES, "has an unknown unit"},
        {"5EB", UNIT_BYTES, "has an unknown unit"},
        {"0x10B", UNIT_BYTES, "has an unknown unit"},
        {"2h30min", UNIT_TIME, "has an unknown unit"},
        {"1 2B", UNIT_BYTES, "has an unknown unit"},
        {"5s ", UNIT_TIME, "has an unknown unit"},
        {"2.49$/h", UNIT_MONEY_PER_H, "has an unknown unit"},
        {"5s", UNIT_NONE, "takes no unit"},
        {"$5", UNIT_NONE, "takes no unit"},
        {"", UNIT_NONE, "is not a number"},
        {"", UNIT_BYTES, "is not a number"},
        {"GB", UNIT_BYTES, "is not a number"},
        {"nan", UNIT_NONE, "is not a number"},
        {"inf", UNIT_NONE, "is not a number"},
        {"-inf s", UNIT_TIME, "is not a number"},
        {"infs", UNIT_TIME, "is not a number"},
        {".5s", UNIT_TIME, "is not a number"},
        {"5.s", UNIT_TIME, "is not a number"},
        {"+5s", UNIT_TIME, "is not a number"},
        {"--5s", UNIT_TIME, "is not a number"},
        {"$-5", UNIT_MONEY, "is not a number"},
        {" 5s", UNIT_TIME, "is not a number"},
        {"1e999s", UNIT_TIME, "is out of range"},
        {"1e99999999999999999999s", UNIT_TIME, "is out of range"},
        {"1e308kB", UNIT_BYTES, "is out of range"},
        {"1e308d", UNIT_TIME, "is out of range"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double si = -7;
        const char *why = NULL;
        CHECK_EQ_INT(unit_parse(known[i].text, known[i].dim, &si, &why), SIM_E_CONFIG);
        if (!CHECK_EQ_STR(why, known[i].why)) CHECK_EQ_STR(known[i].text, "refused as above");
        CHECK(si == -7);
    }
}

TEST(a_number_of_any_length_is_read_or_refused)
{
    char text[400];
    for (size_t digits = 1; digits < sizeof text - 2; digits++) {
        memset(text, '9', digits);
        memcpy(text + digits, "s", 2);
        double si = 0;
        const char *why;
        if (unit_parse(text, UNIT_TIME, &si, &why) == 0)
            CHECK_NEAR(si / pow(10, (double)digits), 1, 0.11);
        else
            MUST(digits > 100 && strcmp(why, "has too many digits") == 0);
    }
}

TEST(texts_are_short_and_readable)
{
    static const struct {
        double si;
        enum unit_dim dim;
        const char *text;
    } known[] = {
        {0.9, UNIT_NONE, "0.9"},
        {0, UNIT_TIME, "0s"},
        {0.015, UNIT_TIME, "15ms"},
        {0.3e-3, UNIT_TIME, "300us"},
        {90, UNIT_TIME, "90s"},
        {3600, UNIT_TIME, "1h"},
        {-86400, UNIT_TIME, "-1d"},
        {85899345920.0, UNIT_BYTES, "80GiB"},
        {80e9, UNIT_BYTES, "80GB"},
        {1, UNIT_BYTES, "1B"},
        {2.04e12, UNIT_BYTES_PER_S, "2.04TB/s"},
        {312e12, UNIT_FLOP_PER_S, "312TFLOP/s"},
        {700, UNIT_POWER, "700W"},
        {3.6e6, UNIT_ENERGY, "1kWh"},
        {1.5, UNIT_MONEY, "$1.5"},
        {-2.49, UNIT_MONEY_PER_H, "-$2.49/h"},
        {1.41e9, UNIT_FREQUENCY, "1.41GHz"},
        {5.5, UNIT_RATE, "5.5/s"},
        {1e300, UNIT_NONE, "1e300"},
        {1.25e-7, UNIT_NONE, "1.25e-7"},
        {(double)INFINITY, UNIT_TIME, "inf"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char text[64];
        int n = unit_format(known[i].si, known[i].dim, text, sizeof text);
        CHECK_EQ_STR(text, known[i].text);
        CHECK_EQ_INT(n, strlen(known[i].text));
    }
}

TEST(the_examples_are_read_and_every_dimension_has_a_name)
{
    for (int dim = 0; dim < UNIT_DIM_COUNT; dim++) {
        double si;
        const char *why;
        CHECK_EQ_INT(unit_parse(unit_example((enum unit_dim)dim), (enum unit_dim)dim, &si, &why), 0);
    }
    CHECK_EQ_STR(unit_si_name(UNIT_BYTES_PER_S), "B/s");
    CHECK_EQ_STR(unit_si_name(UNIT_NONE), "");
}

static void check_round_trip(double si, enum unit_dim dim)
{
    char text[64];
    const char *why = "";
    double back = 0;
    int n = unit_format(si, dim, text, sizeof text);
    CHECK(n > 0 && (size_t)n < sizeof text);
    bool same = unit_parse(text, dim, &back, &why) == 0 && memcmp(&back, &si, sizeof si) == 0;
    if (!CHECK(same)) CHECK_EQ_STR(text, "comes back as it was");
}

/* Doubles of any exponent, round decimals of quantities people write, and whole numbers of some unit. */
TEST(what_is_written_reads_back_bit_by_bit)
{
    struct rng rng = test_rng(2, "units", 0);
    for (int i = 0; i < 300; i++) {
        for (int d = 0; d < UNIT_DIM_COUNT; d++) {
            enum unit_dim dim = (enum unit_dim)d;
            uint64_t bits = rng_u64(&rng);
            double any;
            memcpy(&any, &bits, sizeof any);
            if (isfinite(any)) check_round_trip(any, dim);
            double whole = (double)rng_below(&rng, 100000);
            check_round_trip(whole * pow(10, (double)rng_below(&rng, 30) - 15), dim);
            check_round_trip(whole * 3600, dim);
            check_round_trip(ldexp(whole, (int)rng_below(&rng, 60)), dim);
            check_round_trip(-rng_uniform(&rng), dim);
        }
    }
    static const double edges[] = {0.0, -0.0, 0x1p-1074, 0x1.fffffffffffffp-1023, 0x1p-1022, 0x1.fffffffffffffp1023};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        for (int d = 0; d < UNIT_DIM_COUNT; d++) check_round_trip(edges[i], (enum unit_dim)d);
    }
}

TEST(a_short_buffer_is_filled_and_ended)
{
    char text[4];
    CHECK_EQ_INT(unit_format(85899345920.0, UNIT_BYTES, text, sizeof text), 5);
    CHECK_EQ_STR(text, "80G");
}

/* A whole number of the largest unit; else the shortest text. */
TEST(times_are_written_as_people_write_them)
{
    static const struct {
        double s;
        const char *text;
    } cases[] = {{1800, "30min"}, {600, "10min"},   {86400, "1d"},   {129600, "36h"},  {5400, "90min"}, {45, "45s"},
                 {0.015, "15ms"}, {0.0015, "1.5ms"}, {1.5, "1.5s"}, {1e-9, "1ns"}, {-60, "-1min"},  {0, "0s"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        double back;
        const char *why;
        unit_format_time(cases[i].s, text, sizeof text);
        CHECK_EQ_STR(text, cases[i].text);
        CHECK(unit_parse(text, UNIT_TIME, &back, &why) == 0 && fabs(back - cases[i].s) <= 1e-12 * fabs(cases[i].s));
    }
}

/* What people write instead of a quantity: the advice is taken, and means the same. */
TEST(foreign_notations_are_rewritten)
{
    static const struct {
        const char *text;
        enum unit_dim dim;
        const char *rewritten, *why;
        double si;
    } known[] = {
        {"400Gb/s", UNIT_BYTES_PER_S, "50GB/s", "is in bits", 50e9},
        {"400Gbps", UNIT_BYTES_PER_S, "50GB/s", "is in bits", 50e9},
        {"0.4 Tbit/s", UNIT_BYTES_PER_S, "50GB/s", "is in bits", 50e9},
        {"8b/s", UNIT_BYTES_PER_S, "1B/s", "is in bits", 1},
        {"50GBps", UNIT_BYTES_PER_S, "50GB/s", "has an unknown unit", 50e9},
        {"2h10min", UNIT_TIME, "130min", "has several units", 7800},
        {"1d 2h 30s", UNIT_TIME, "93630s", "has several units", 93630},
        {"1s5ms", UNIT_TIME, "1005ms", "has several units", 1.005},
        {"5 minutes", UNIT_TIME, "5min", "has an unknown unit", 300},
        {"10m", UNIT_TIME, "10min", "has an unknown unit", 600},
        {"2hrs", UNIT_TIME, "2h", "has an unknown unit", 7200},
        {"1.5 Weeks", UNIT_TIME, "10.5d", "has an unknown unit", 907200},
        {"-5 usec", UNIT_TIME, "-5us", "has an unknown unit", -5e-6},
        {"3D", UNIT_TIME, "3d", "has a unit in the wrong case", 259200},
        {"80gb", UNIT_BYTES, "80GB", "has a unit in the wrong case", 80e9},
        {"$2/H", UNIT_MONEY_PER_H, "$2/h", "has a unit in the wrong case", 2},
        {"80G", UNIT_BYTES, "80GB", "has an unknown unit", 80e9},
        {"50GB", UNIT_BYTES_PER_S, "50GB/s", "has a unit of another kind", 50e9},
        {"400Gbit", UNIT_BYTES_PER_S, "50GB/s", "is in bits", 50e9},
        {"400gbps", UNIT_BYTES_PER_S, "50GB/s", "is in bits", 50e9},
        {"2.49/h", UNIT_MONEY_PER_H, "$2.49/h", "has a unit of another kind", 2.49},
        {"4rps", UNIT_RATE, "4/s", "has an unknown unit", 4},
        {"60 /minute", UNIT_RATE, "60/min", "has an unknown unit", 1},
        {"90%", UNIT_NONE, "0.9", "is a share and takes no '%'", 0.9},
        {"-5 %", UNIT_NONE, "-0.05", "is a share and takes no '%'", -0.05},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char text[64] = "";
        const char *why = "";
        double si = 0;
        CHECK(unit_parse(known[i].text, known[i].dim, &si, &why) != 0);
        CHECK(unit_rewrite(known[i].text, known[i].dim, text, sizeof text, &why));
        CHECK_EQ_STR(text, known[i].rewritten);
        CHECK_EQ_STR(why, known[i].why);
        CHECK_EQ_INT(unit_parse(text, known[i].dim, &si, &why), 0);
        CHECK_NEAR(si, known[i].si, 1e-15 * fabs(known[i].si));
    }
    static const struct {
        const char *text;
        enum unit_dim dim;
    } others[] = {{"", UNIT_TIME},       {"2h", UNIT_TIME},      {"2hourss", UNIT_TIME},      {"2h10", UNIT_TIME},
                  {"h2", UNIT_TIME},     {"2h10kB", UNIT_TIME},  {"400Gb", UNIT_BYTES_PER_S}, {"5%", UNIT_TIME},
                  {"b/s", UNIT_BYTES_PER_S}, {"4xb/s", UNIT_BYTES_PER_S}, {"five", UNIT_NONE},    {"5%%", UNIT_NONE},
                  {"400Gb/s", UNIT_BYTES}, {"5ms", UNIT_BYTES}, {"5mss", UNIT_TIME}, {"5", UNIT_TIME},
                  {"s", UNIT_TIME}, {"-8b/s", UNIT_BYTES_PER_S}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[64] = "unchanged";
        const char *why = "unchanged";
        CHECK(!unit_rewrite(others[i].text, others[i].dim, text, sizeof text, &why));
        CHECK_EQ_STR(text, "unchanged");
        CHECK_EQ_STR(why, "unchanged");
    }
}

/* Nothing behind the end of a text is read: the sanitizers see it where a text fills its block. */
TEST(a_bare_number_is_not_read_beyond_its_end)
{
    char text[64] = "unchanged", *number = mem_alloc(4);
    const char *why = "unchanged";
    CHECK(number != NULL);
    memcpy(number, "400", 4);
    CHECK(!unit_rewrite(number, UNIT_BYTES_PER_S, text, sizeof text, &why));
    CHECK_EQ_STR(text, "unchanged");
    mem_free(number);
}

/* Its parts may have 63 characters each, and what lies before the text does not count. */
TEST(a_stretch_ends_where_its_text_ends)
{
    const char text[] = "0000000000000000000000000000000000000000000000000000000000002h:3h";
    double from_s = 0, to_s = 0;
    CHECK(unit_parse_stretch(text, &from_s, &to_s) == NULL);
    CHECK(from_s == 7200 && to_s == 10800);
}

TEST(a_quantity_is_written_in_the_unit_of_another)
{
    char text[64];
    unit_format_like(22.360679775, UNIT_RATE, "1/s", text, sizeof text);
    CHECK_EQ_STR(text, "22.360679775/s");
    unit_format_like(22.360679775, UNIT_RATE, "1/h", text, sizeof text);
    CHECK_EQ_STR(text, "80498.44719/h");
    unit_format_like(0.015, UNIT_TIME, "2s", text, sizeof text);
    CHECK_EQ_STR(text, "0.015s");
    unit_format_like(1.0, UNIT_TIME, "1h", text, sizeof text); /* no twelve digits of hours are one second */
    CHECK_EQ_STR(text, "1s");
}
