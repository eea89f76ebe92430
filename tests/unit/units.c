#include "tests/harness.h"

#include "sim/core/err.h"
#include "sim/core/units.h"

static void examples_are_read(void)
{
    static const struct {
        const char *text;
        enum unit_dim dim;
        double si;
    } known[] = {
        {"0.9", UNIT_NONE, 0.9},
        {"15ms", UNIT_TIME, 0.015},
        {"80GiB", UNIT_BYTES, 85899345920.0},
        {"2.04TB/s", UNIT_BYTES_PER_S, 2.04e12},
        {"312TFLOP/s", UNIT_FLOP_PER_S, 312e12},
        {"700W", UNIT_POWER, 700},
        {"3.6MJ", UNIT_ENERGY, 3.6e6},
        {"$1.50", UNIT_MONEY, 1.5},
        {"$2.49/h", UNIT_MONEY_PER_H, 2.49},
        {"1.41GHz", UNIT_FREQUENCY, 1.41e9},
        {"5.5/s", UNIT_RATE, 5.5},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double si = -1;
        const char *why;
        CHECK_EQ_INT(unit_parse(known[i].text, known[i].dim, &si, &why), 0);
        CHECK(si == known[i].si);
    }
}

TEST_SUITE(units)
{
    TEST(examples_are_read);
}
