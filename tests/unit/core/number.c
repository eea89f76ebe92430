#include "sim/core/number.h"
#include "tests/support/harness.h"

static enum number_status i64(const char *text, int64_t *value)
{
    return number_i64(text, strlen(text), value);
}

static enum number_status f64(const char *text, double *value)
{
    return number_f64(text, strlen(text), value);
}

static enum number_status ns(const char *text, sim_ns unit_ns, sim_ns *value)
{
    return number_ns(text, strlen(text), unit_ns, value);
}

static sim_ns timestamp(const char *text)
{
    sim_ns value = -1;
    CHECK_EQ_INT(number_timestamp(text, strlen(text), &value), NUMBER_OK);
    return value;
}

TEST(whole_numbers_are_exact)
{
    static const struct {
        const char *text;
        enum number_status status;
        int64_t value;
    } cases[] = {{"0", NUMBER_OK, 0},
                 {"-17", NUMBER_OK, -17},
                 {"007", NUMBER_OK, 7},
                 {"8.0", NUMBER_OK, 8},
                 {"8.", NUMBER_OK, 8},
                 {"9223372036854775807", NUMBER_OK, INT64_MAX},
                 {"-9223372036854775808", NUMBER_OK, INT64_MIN},
                 {"9223372036854775808", NUMBER_RANGE, 0},
                 {"-9223372036854775809", NUMBER_RANGE, 0},
                 {"99999999999999999999999", NUMBER_RANGE, 0},
                 {"", NUMBER_BAD, 0},
                 {"-", NUMBER_BAD, 0},
                 {"+1", NUMBER_BAD, 0},
                 {"8.5", NUMBER_BAD, 0},
                 {"1e3", NUMBER_BAD, 0},
                 {"12a", NUMBER_BAD, 0},
                 {" 1", NUMBER_BAD, 0},
                 {".0", NUMBER_BAD, 0},
                 {"0x10", NUMBER_BAD, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = 0;
        CHECK_EQ_INT(i64(cases[i].text, &value), cases[i].status);
        if (cases[i].status == NUMBER_OK) CHECK_EQ_INT(value, cases[i].value);
    }
}

TEST(text_that_is_no_decimal_is_refused)
{
    static const char *const bad[] = {"",    "-",   ".",     "-.",  "e5", "1e",  "1e+", "1e5.5",
                                      "inf", "nan", "0x1p3", "1,5", "1 ", "--1", "1..2"};
    double value;
    sim_ns time;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_EQ_INT(f64(bad[i], &value), NUMBER_BAD);
        CHECK_EQ_INT(ns(bad[i], 1, &time), NUMBER_BAD);
    }
    CHECK_EQ_INT(f64("1e999", &value), NUMBER_RANGE);
    CHECK_EQ_INT(f64("1e-999", &value), NUMBER_OK);
    CHECK(value == 0);
}

/* Against strtod, which glibc rounds correctly: shortest and longest forms, halfway cases, exponents at the limits. */
TEST(decimals_are_correctly_rounded)
{
    static const char *const hard[] = {"9007199254740993",
                                       "9007199254740992.5",
                                       "1e22",
                                       "1e23",
                                       "1.7976931348623157e308",
                                       "2.2250738585072014e-308",
                                       "4.9e-324",
                                       "0.1",
                                       "0.30000000000000004",
                                       "123456789012345678901234567890",
                                       "0.000000000000000000000000000012345",
                                       "179769313486231570793e288",
                                       "-0.5",
                                       "5e-1",
                                       "00012.500"};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        double value = -1;
        CHECK_EQ_INT(f64(hard[i], &value), NUMBER_OK);
        CHECK(value == strtod(hard[i], NULL));
    }
    struct rng rng = test_rng(7, "number", 0);
    for (int i = 0; i < 200000; i++) {
        char text[64];
        uint64_t bits = rng_u64(&rng);
        double exact, value;
        memcpy(&exact, &bits, sizeof exact);
        if (!isfinite(exact)) continue;
        if (i % 2 == 0) exact = (double)(int64_t)(bits % 2000000000) / 1000;
        snprintf(text, sizeof text, "%.*g", 1 + i % 20, exact);
        if (f64(text, &value) != NUMBER_OK || value != strtod(text, NULL)) {
            CHECK_EQ_STR(text, "a decimal that reads as by strtod");
            return;
        }
    }
}

TEST(times_are_exact_to_the_nanosecond)
{
    static const struct {
        const char *text;
        sim_ns unit_ns, value;
    } cases[] = {{"0.209966", SIM_NS_PER_S, 209966000},
                 {"51.29", SIM_NS_PER_S, 51290000000},
                 {"66.0", SIM_NS_PER_S, 66000000000},
                 {"3000", 1000000, 3000000000},
                 {"1.5", 3600 * SIM_NS_PER_S, 5400 * SIM_NS_PER_S},
                 {"0.5", 1, 0},
                 {"1.5", 1, 2},
                 {"2.5", 1, 2},
                 {"2.500000000000000000000001", 1, 3},
                 {"-2.5", 1, -2},
                 {"0.49999999999999999999999", 1, 0},
                 {"1e-9", SIM_NS_PER_S, 1},
                 {"1.5e-05", SIM_NS_PER_S, 15000},
                 {"1.2E2", SIM_NS_PER_S, 120 * SIM_NS_PER_S},
                 {"9223372036.854775807", SIM_NS_PER_S, INT64_MAX},
                 {"1700000000.123456789", SIM_NS_PER_S, 1700000000123456789},
                 {"0.1234567890123456789", SIM_NS_PER_S, 123456789},
                 {"0e99", SIM_NS_PER_S, 0},
                 {"5e-99999", SIM_NS_PER_S, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sim_ns value = -1;
        CHECK_EQ_INT(ns(cases[i].text, cases[i].unit_ns, &value), NUMBER_OK);
        CHECK_EQ_INT(value, cases[i].value);
    }
    sim_ns value;
    CHECK_EQ_INT(ns("9223372036.854775808", SIM_NS_PER_S, &value), NUMBER_RANGE);
    CHECK_EQ_INT(ns("1e300", 1, &value), NUMBER_RANGE);
    CHECK_EQ_INT(ns("99999999999999999999", 1, &value), NUMBER_RANGE);
}

TEST(calendar_times_count_from_1970)
{
    CHECK_EQ_INT(timestamp("1970-01-01 00:00:00"), 0);
    CHECK_EQ_INT(timestamp("2023-11-16 18:15:46.6805900"), 1700158546680590000);
    CHECK_EQ_INT(timestamp("2023-11-16T18:15:46.680590Z"), 1700158546680590000);
    CHECK_EQ_INT(timestamp("2023-11-16 18:15:46.680590+00:00"), 1700158546680590000);
    CHECK_EQ_INT(timestamp("2023-11-16 18:15:46.680590 UTC"), 1700158546680590000);
    CHECK_EQ_INT(timestamp("2023-11-17 02:15:46.68059+08:00"), 1700158546680590000);
    CHECK_EQ_INT(timestamp("2023-11-16T12:45:46.680590-0530"), 1700158546680590000);
    CHECK_EQ_INT(timestamp("2023-11-16T20:15:46.680590+02"), 1700158546680590000);
    CHECK_EQ_INT(timestamp("2023-11-16 18:15:46.1234567899"), 1700158546123456789);
    CHECK_EQ_INT(timestamp("2000-02-29"), 951782400 * SIM_NS_PER_S);
    CHECK_EQ_INT(timestamp("1969-12-31 23:59:59"), -SIM_NS_PER_S);
    CHECK_EQ_INT(timestamp("2016-12-31 23:59:60"), timestamp("2017-01-01 00:00:00"));
    sim_ns value;
    CHECK_EQ_INT(number_timestamp("0000-02-29", 10, &value), NUMBER_RANGE); /* a leap year, long before all times */
}

TEST(every_day_of_three_centuries_follows_the_one_before)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t expected_s = -292LL * 365 * 86400;
    for (int year = 1678; year < 1970; year++)
        expected_s -= year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 86400 : 0;
    for (int year = 1678; year <= 2261; year++) {
        bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        for (int month = 1; month <= 12; month++) {
            for (int day = 1; day <= days[month - 1] + (month == 2 && leap); day++, expected_s += 86400) {
                char text[32];
                sim_ns value;
                snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
                if (number_timestamp(text, strlen(text), &value) != NUMBER_OK || value / SIM_NS_PER_S != expected_s) {
                    CHECK_EQ_STR(text, "a day after the one before");
                    return;
                }
            }
        }
    }
}

TEST(forms_of_iso_8601_are_one_time)
{
    static const char *const same[] = {
        "2023-11-16T18:15:00Z",  "2023-11-16T18:15:00",     "2023-11-16 18:15",          "2023-11-16T18:15Z",
        "2023-11-16t18:15:00z",  "2023-11-16T18:15:00.000", "2023-11-16T18:15:00,0Z",    "2023-11-16T18:15:00 UTC",
        "20231116T181500Z",      "20231116T1815",           "2023-11-17T02:15:00+08:00", "2023-11-17 02:15:00 +0800",
        "2023-11-16T12:45-0530", "20231116T101500-08"};
    const int64_t expected_s = 1700158500;
    sim_ns value;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        CHECK_EQ_INT(number_timestamp(same[i], strlen(same[i]), &value), NUMBER_OK);
        CHECK_EQ_INT(value, expected_s * SIM_NS_PER_S);
    }
    const char comma[] = "2023-11-16T18:15:00,25+00:00";
    CHECK_EQ_INT(number_timestamp(comma, sizeof comma - 1, &value), NUMBER_OK);
    CHECK_EQ_INT(value, expected_s * SIM_NS_PER_S + 250000000);
}

TEST(impossible_calendar_times_are_refused)
{
    static const char *const bad[] = {"",
                                      "2023",
                                      "2023-11-16 ",
                                      "2023-13-01",
                                      "2023-02-29",
                                      "1900-02-29",
                                      "2023-04-31",
                                      "2023-00-10",
                                      "2023-11-16 24:00:00",
                                      "2023-11-16 18:60:00",
                                      "2023-11-16 18:15:61",
                                      "2023-11-16 18",
                                      "2023-11-16 1815",
                                      "2023-11-16 18:15:",
                                      "2023-11-16 18:15.5",
                                      "20231116",
                                      "20231116 181546",
                                      "20231116T18:15:46",
                                      "20231301T181546",
                                      "2023-1116T181546",
                                      "2023-11-16T18:15:46,",
                                      "2023-11-16T18:15:46 Z",
                                      "2023-11-16 18:15:46.",
                                      "2023/11/16 18:15:46",
                                      "2023-11-16 18:15:46+",
                                      "2023-11-16 18:15:46+1",
                                      "2023-11-16 18:15:46 CET",
                                      "2023-11-16 18:15:46+25:00",
                                      "16-11-2023 18:15:46",
                                      "2023-11-16x18:15:46"};
    sim_ns value;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_EQ_INT(number_timestamp(bad[i], strlen(bad[i]), &value), NUMBER_BAD);
    }
    CHECK_EQ_INT(number_timestamp("2300-01-01", 10, &value), NUMBER_RANGE);
}

/* The shortest text of a time, which reads back as the same. */
TEST(calendar_times_are_shown_as_they_are_read)
{
    static const struct {
        sim_ns ns;
        const char *text;
    } cases[] = {{0, "1970-01-01T00:00:00Z"},
                 {1700158546680590000, "2023-11-16T18:15:46.68059Z"},
                 {1700158546000000000, "2023-11-16T18:15:46Z"},
                 {1700158546000000001, "2023-11-16T18:15:46.000000001Z"},
                 {SIM_NS_MAX, "2262-04-11T23:47:16.854775807Z"}};
    struct rng rng = test_rng(1, "timestamps", 0);
    char shown[TIMESTAMP_CHARS];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        timestamp_show(cases[i].ns, shown);
        CHECK_EQ_STR(shown, cases[i].text);
    }
    for (int i = 0; i < 2000; i++) {
        const sim_ns ns = (sim_ns)(rng_below(&rng, INT64_MAX) >> (i % 40));
        timestamp_show(ns, shown);
        CHECK_EQ_INT(timestamp(shown), ns);
    }
}
