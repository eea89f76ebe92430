/* Dispatch rules on larger job shops: ft10 and ft20 (Fisher and Thompson, 1963), and those of Taillard (European
 * Journal of Operational Research 64, 1993): ta01 to ta10 of 15 jobs, ta31 to ta40 of 30, on 15 machines. His
 * generator makes them from two published seeds each. Makespans, and gaps to the best makespans known, are those of
 * an independent program of non-delay schedules with ties to the lower job. It is not known which best makespans it
 * took for ta31 to ta40. Of several lists from memory, those here, of the early 2000s, give all twelve gaps; some
 * have been bettered since. */
#include "tests/support/shops.h"
#include "tests/support/harness.h"

static const char *const rules[] = {"fifo",  "spt",      "lpt", "mwkr",  "lwkr", "mopnr",
                                    "lopnr", "fdd-mwkr", "edd", "slack", "cr",   "s-opn"};
enum { RULES = sizeof rules / sizeof *rules, SHOPS = 10 };

static const struct shop shop_ft10 = {
    10,
    10,
    {{{0, 29}, {1, 78}, {2, 9}, {3, 36}, {4, 49}, {5, 11}, {6, 62}, {7, 56}, {8, 44}, {9, 21}},
     {{0, 43}, {2, 90}, {4, 75}, {9, 11}, {3, 69}, {1, 28}, {6, 46}, {5, 46}, {7, 72}, {8, 30}},
     {{1, 91}, {0, 85}, {3, 39}, {2, 74}, {8, 90}, {5, 10}, {7, 12}, {6, 89}, {9, 45}, {4, 33}},
     {{1, 81}, {2, 95}, {0, 71}, {4, 99}, {6, 9}, {8, 52}, {7, 85}, {3, 98}, {9, 22}, {5, 43}},
     {{2, 14}, {0, 6}, {1, 22}, {5, 61}, {3, 26}, {4, 69}, {8, 21}, {7, 49}, {9, 72}, {6, 53}},
     {{2, 84}, {1, 2}, {5, 52}, {3, 95}, {8, 48}, {9, 72}, {0, 47}, {6, 65}, {4, 6}, {7, 25}},
     {{1, 46}, {0, 37}, {3, 61}, {2, 13}, {6, 32}, {5, 21}, {9, 32}, {8, 89}, {7, 30}, {4, 55}},
     {{2, 31}, {0, 86}, {1, 46}, {5, 74}, {4, 32}, {6, 88}, {8, 19}, {9, 48}, {7, 36}, {3, 79}},
     {{0, 76}, {1, 69}, {3, 76}, {5, 51}, {2, 85}, {9, 11}, {6, 40}, {7, 89}, {4, 26}, {8, 74}},
     {{1, 85}, {0, 13}, {2, 61}, {6, 7}, {8, 64}, {9, 76}, {5, 47}, {3, 52}, {4, 90}, {7, 45}}}};

static const struct shop shop_ft20 = {
    20, 5,
    {{{0, 29}, {1, 9}, {2, 49}, {3, 62}, {4, 44}},
     {{0, 43}, {1, 75}, {3, 69}, {2, 46}, {4, 72}},
     {{1, 91}, {0, 39}, {2, 90}, {4, 12}, {3, 45}},
     {{1, 81}, {0, 71}, {4, 9}, {2, 85}, {3, 22}},
     {{2, 14}, {1, 22}, {0, 26}, {3, 21}, {4, 72}},
     {{2, 84}, {1, 52}, {4, 48}, {0, 47}, {3, 6}},
     {{1, 46}, {0, 61}, {2, 32}, {3, 32}, {4, 30}},
     {{2, 31}, {1, 46}, {0, 32}, {3, 19}, {4, 36}},
     {{0, 76}, {3, 76}, {2, 85}, {1, 40}, {4, 26}},
     {{1, 85}, {2, 61}, {0, 64}, {3, 47}, {4, 90}},
     {{1, 78}, {3, 36}, {0, 11}, {4, 56}, {2, 21}},
     {{2, 90}, {0, 11}, {1, 28}, {3, 46}, {4, 30}},
     {{0, 85}, {2, 74}, {1, 10}, {3, 89}, {4, 33}},
     {{2, 95}, {0, 99}, {1, 52}, {3, 98}, {4, 43}},
     {{0, 6}, {1, 61}, {4, 69}, {2, 49}, {3, 53}},
     {{1, 2}, {0, 95}, {3, 72}, {4, 65}, {2, 25}},
     {{0, 37}, {2, 13}, {1, 21}, {3, 89}, {4, 55}},
     {{0, 86}, {1, 74}, {4, 88}, {2, 48}, {3, 79}},
     {{1, 69}, {2, 51}, {0, 11}, {3, 89}, {4, 74}},
     {{0, 13}, {1, 7}, {2, 76}, {3, 52}, {4, 45}}}};

struct seeds {
    int32_t times, machines;
    int best_s;
};

/* The minimal standard generator of Lewis, Goodman and Miller, by Schrage's method; a number from low to high. */
static int draw(int32_t *seed, int low, int high)
{
    *seed = 16807 * (*seed % 127773) - 2836 * (*seed / 127773);
    if (*seed < 0) *seed += INT32_MAX;
    return low + (int)((double)*seed / INT32_MAX * (high - low + 1));
}

static struct shop make_shop(int jobs, struct seeds seeds)
{
    struct shop shop = {.jobs = jobs, .machines = 15};
    for (int j = 0; j < jobs; j++)
        for (int k = 0; k < shop.machines; k++) shop.tasks[j][k].time_s = draw(&seeds.times, 1, 99);
    for (int j = 0; j < jobs; j++) {
        int order[MOST_MACHINES];
        for (int k = 0; k < shop.machines; k++) order[k] = k;
        for (int k = 0; k < shop.machines; k++) {
            const int with = draw(&seeds.machines, k, shop.machines - 1), machine = order[k];
            order[k] = order[with];
            order[with] = machine;
        }
        for (int k = 0; k < shop.machines; k++) shop.tasks[j][k].machine = order[k];
    }
    return shop;
}

/* The mean makespan of the shops, and the mean of how much it is above the best, in percent. */
static void run_rule(const struct seeds *seeds, int jobs, const char *rule, double *mean_s, double *gap_percent)
{
    *mean_s = *gap_percent = 0;
    for (int i = 0; i < SHOPS; i++) {
        const struct shop shop = make_shop(jobs, seeds[i]);
        struct bed_rows *rows = shop_run(&shop, SHOP_CLASSIC, rule, false);
        const double makespan_s = bed_metric(rows, "job.makespan_s");
        CHECK_EQ_INT(rows->code, 0);
        *mean_s += makespan_s / SHOPS;
        *gap_percent += 100 * (makespan_s / seeds[i].best_s - 1) / SHOPS;
        bed_free(rows);
    }
}

TEST(rules_give_their_integers_on_ft10_and_ft20)
{
    static const double ft10_s[RULES] = {1184, 1074, 1295, 1108, 1334, 1163, 1352, 1097, 1262, 1175, 1215, 1181};
    static const double ft20_s[RULES] = {1645, 1267, 1631, 1501, 1392, 1601, 1487, 1480, 1309, 1348, 1521, 1485};
    for (int i = 0; i < RULES; i++) {
        CHECK_NEAR(bed_metric(shop_run(&shop_ft10, SHOP_CLASSIC, rules[i], false), "job.makespan_s"), ft10_s[i], 1e-9);
        CHECK_NEAR(bed_metric(shop_run(&shop_ft20, SHOP_CLASSIC, rules[i], false), "job.makespan_s"), ft20_s[i], 1e-9);
    }
}

TEST(the_first_shop_is_as_published)
{
    static const int times_s[] = {94, 66, 10, 53, 26, 15, 65, 82, 10, 27, 93, 92, 96, 70, 83},
                     machines[] = {6, 12, 4, 7, 3, 2, 10, 11, 8, 14, 9, 13, 5, 0, 1};
    const struct shop shop = make_shop(15, (struct seeds){840612802, 398197754, 1231});
    for (int k = 0; k < 15; k++) {
        CHECK_EQ_INT(shop.tasks[0][k].time_s, times_s[k]);
        CHECK_EQ_INT(shop.tasks[0][k].machine, machines[k]);
    }
}

TEST_OPTIMISED(rules_give_their_means_on_ta01_to_ta10)
{
    static const struct seeds seeds[SHOPS] = {
        {840612802, 398197754, 1231},   {1314640371, 386720536, 1244},  {1227221349, 316176388, 1218},
        {342269428, 1806358582, 1175},  {1603221416, 1501949241, 1224}, {1357584978, 1734077082, 1238},
        {44531661, 1374316395, 1227},   {302545136, 2092186050, 1217},  {1153780144, 1393392374, 1274},
        {73896786, 1544979948, 1241}};
    static const double means_s[RULES] = {1522.8, 1546.1, 1734.7, 1464.3, 1814.7, 1481.3,
                                          1732.8, 1447.0, 1735.0, 1578.7, 1614.3, 1612.9};
    static const double gaps_percent[RULES] = {23.94, 25.89, 41.22, 19.15, 47.68, 20.53,
                                               40.93, 17.74, 41.34, 28.44, 31.42, 31.23};
    for (int i = 0; i < RULES; i++) {
        double mean_s, gap_percent;
        run_rule(seeds, 15, rules[i], &mean_s, &gap_percent);
        CHECK_NEAR(mean_s, means_s[i], 1e-9);
        CHECK_NEAR(gap_percent, gaps_percent[i], 0.005);
    }
}

TEST_OPTIMISED(rules_give_their_gaps_on_ta31_to_ta40)
{
    static const struct seeds seeds[SHOPS] = {
        {98640593, 1981283465, 1764},   {1839268120, 248890888, 1796}, {573875290, 2081512253, 1793},
        {1670898570, 788294565, 1829},  {1118914567, 1074349202, 2007}, {178750207, 294279708, 1819},
        {1549372605, 596993084, 1778},  {798174738, 151685779, 1673},  {553410952, 1329272528, 1795},
        {1661531649, 1173386294, 1674}};
    static const double gaps_percent[RULES] = {31.01, 35.06, 48.90, 23.72, 49.70, 22.64,
                                               55.47, 21.47, 50.05, 29.23, 47.73, 46.44};
    for (int i = 0; i < RULES; i++) {
        double mean_s, gap_percent;
        run_rule(seeds, 30, rules[i], &mean_s, &gap_percent);
        CHECK_NEAR(gap_percent, gaps_percent[i], 0.005);
    }
}
