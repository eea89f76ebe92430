/* Files of spot availability: what each format says, and the public ones as they are. */
#include "sim/catalog/availability.h"
#include "tests/support/harness.h"

static bool read(struct availability *availability, const char *path, enum availability_format format)
{
    struct diag diag = {0};
    const bool ok = availability_read(path, format, availability, &diag) == 0;
    if (!ok) printf("%s: %s\n", diag.items[0].where, diag.items[0].text);
    return CHECK(ok);
}

static void check_steps(const char *text, enum availability_format format, const int64_t (*expected)[2], size_t n,
                        int64_t end_s)
{
    struct availability availability;
    MUST(read(&availability, test_file("spot", "%s", text), format));
    CHECK_EQ_INT(availability.n, n);
    for (size_t i = 0; i < n && i < availability.n; i++) {
        CHECK_EQ_INT(availability.steps[i].time_ns, expected[i][0] * SIM_NS_PER_S);
        CHECK_EQ_INT(availability.steps[i].instances, expected[i][1]);
    }
    CHECK_EQ_INT(availability.end_ns, end_s * SIM_NS_PER_S);
    availability_fini(&availability);
}

TEST(every_format)
{
    static const int64_t ticks[][2] = {{0, 4}, {600, 3}, {1200, 0}};
    static const int64_t counts[][2] = {{0, 3}, {60, 2}};
    static const int64_t events[][2] = {{0, 2}, {60, 1}, {120, 2}};
    static const int64_t dated[][2] = {{0, 80}, {60, 30}, {100, 35}};
    check_steps("{\"metadata\": {\"gap_seconds\": 300}, \"data\": [4, 4, 3, 3, 0]}", AVAILABILITY_SKYPILOT, ticks, 3,
                1500);
    check_steps("5000,1\n5000,2\n5000,3\n65000,2\n", AVAILABILITY_COUNTS, counts, 2, 60);
    check_steps("0,add,a\n0,add,b\n60000,remove,a\n120000,add,c\n", AVAILABILITY_EVENTS, events, 3, 120);
    /* a line that is earlier than the one before it */
    check_steps(
        "2030-01-02, 03:01:11, 80\n2030-01-02, 03:02:11, 30\n2030-01-02, 03:02:51, 30\n2030-01-02, 03:01:51, 35\n",
        AVAILABILITY_DATED, dated, 3, 100);
}

static void check_finding(const char *text, enum availability_format format, int code, const char *where,
                          const char *says)
{
    struct availability availability;
    struct diag diag = {0};
    CHECK_EQ_INT(availability_read(test_file("spot", "%s", text), format, &availability, &diag), code);
    CHECK(diag.n_items == 1);
    CHECK(strstr(diag.items[0].where, where) != NULL && strstr(diag.items[0].text, says) != NULL);
    availability_fini(&availability);
}

static void check_refused(const char *text, enum availability_format format, const char *where, const char *says)
{
    check_finding(text, format, SIM_E_DATA, where, says);
}

/* Clocks of a minute's difference are in a public file; more is a file that is not sorted. */
TEST(decreasing_times_are_reported)
{
    check_finding("0,1\n90000,2\n30000,3\n80000,4\n", AVAILABILITY_COUNTS, 0, "spot:3:1",
                  "2 lines are up to a minute earlier");
    check_refused("0,1\n90000,2\n29999,3\n", AVAILABILITY_COUNTS, "spot:3:1", "60.001 s earlier");
    check_refused("0,add,a\n90000,add,b\n100,remove,a\n", AVAILABILITY_EVENTS, "spot:3:1", "earlier");
}

TEST(ticks_beyond_all_time_are_refused)
{
    check_refused("{\"metadata\": {\"gap_seconds\": 4e9}, \"data\": [1, 2, 3]}", AVAILABILITY_SKYPILOT, "spot:1:30",
                  "292 years");
    check_refused("{\"metadata\": {\"gap_seconds\": 1e300}, \"data\": [1, 2]}", AVAILABILITY_SKYPILOT, "spot:1:30",
                  "292 years");
    check_refused("{\"metadata\": {\"gap_seconds\": 1e-10}, \"data\": [1, 2]}", AVAILABILITY_SKYPILOT, "spot:1:30",
                  "at least 1 ns");
}

TEST(malformed_files_are_refused)
{
    check_refused("{\"data\": [1]}", AVAILABILITY_SKYPILOT, "spot:1:1", "gap_seconds");
    check_refused("{\"metadata\": {\"gap_seconds\": 1}, \"data\": [1, -2]}", AVAILABILITY_SKYPILOT, "spot:1:46",
                  "instances");
    check_refused("", AVAILABILITY_COUNTS, "spot", "no row");
    check_refused("0,1\n5,x\n", AVAILABILITY_COUNTS, "spot:2:3", "instances");
    check_refused("a,1\n", AVAILABILITY_COUNTS, "spot:1:1", "milliseconds");
    check_refused("0,remove,a\n", AVAILABILITY_EVENTS, "spot:1:3", "nothing is left");
    check_refused("0,join,a\n", AVAILABILITY_EVENTS, "spot:1:3", "'add' or 'remove'");
    check_refused("yesterday, noon, 3\n", AVAILABILITY_DATED, "spot:1:1", "a date");
}

static int64_t most(const struct availability *availability)
{
    int64_t instances = 0;
    for (size_t i = 0; i < availability->n; i++)
        if (availability->steps[i].instances > instances) instances = availability->steps[i].instances;
    return instances;
}

TEST(public_ticks)
{
    const char *path = test_shared(
        "rental/skypilot_spot/availability__16-node__aws-08-27-2023__us-west-2a_v100_1.json");
    struct availability availability;
    if (path == NULL) return;
    MUST(read(&availability, path, AVAILABILITY_SKYPILOT));
    CHECK_EQ_INT(availability.end_ns, 4736 * INT64_C(300) * SIM_NS_PER_S);
    CHECK_EQ_INT(most(&availability), 16);
    availability_fini(&availability);
}

/* Parcae's counts were made of Bamboo's events. */
TEST(public_events_are_public_counts)
{
    char events[512];
    const char *path = test_shared("rental/bamboo_aws_p3_v100_node_events.csv");
    if (path == NULL) return;
    snprintf(events, sizeof events, "%s", path);
    const char *counts = test_shared("rental/parcae_aws_p3_available_nodes.csv");
    if (counts == NULL) return;
    struct availability of_events, of_counts;
    MUST(read(&of_events, events, AVAILABILITY_EVENTS));
    MUST(read(&of_counts, counts, AVAILABILITY_COUNTS));
    CHECK_EQ_INT(of_events.n, of_counts.n);
    CHECK_EQ_INT(of_events.end_ns, of_counts.end_ns);
    for (size_t i = 0; i < of_events.n && i < of_counts.n; i++) {
        CHECK_EQ_INT(of_events.steps[i].time_ns, of_counts.steps[i].time_ns);
        CHECK_EQ_INT(of_events.steps[i].instances, of_counts.steps[i].instances);
    }
    availability_fini(&of_events);
    availability_fini(&of_counts);
}

TEST(public_dated_counts)
{
    const char *path = test_shared("rental/bamboo_gcp_v100x1_us-east1-c_node_count.csv");
    struct availability availability;
    if (path == NULL) return;
    MUST(read(&availability, path, AVAILABILITY_DATED));
    CHECK_EQ_INT(availability.steps[0].instances, 80);
    CHECK_EQ_INT(most(&availability), 80);
    CHECK(availability.end_ns > 23 * INT64_C(3600) * SIM_NS_PER_S &&
          availability.end_ns < 25 * INT64_C(3600) * SIM_NS_PER_S);
    availability_fini(&availability);
}
