#include "sim/world/power/power_config.h"

#include <float.h>

#define FIELD(name) offsetof(struct server_power_config, name)
const struct config_field server_power_config_fields[] = {
    {.name = "idle", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, .dim = UNIT_POWER,
     .offset = FIELD(idle_w), .min = 0, .max = 1e6, .help = "power of a server without its GPUs, when these idle"},
    {.name = "per_gpu_watt", .kind = CONFIG_REAL, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, .offset = FIELD(per_gpu_w),
     .min = 0, .max = 10, .help = "watts more for each watt of its GPUs: fans, losses of power supplies, busy CPUs"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct power_telemetry_config, name)
static const struct config_field telemetry_fields[] = {
    {.name = "period", .kind = CONFIG_TIME, .offset = FIELD(period_ns), .value = "2s", .min = 1e-3, .max = 9e9,
     .help = "time between two readings"},
    {.name = "window", .kind = CONFIG_TIME, .offset = FIELD(window_ns), .value = "0s", .min = 0, .max = 9e9,
     .help = "time over which a reading is the mean; 0s: the period"},
    {.name = "delay", .kind = CONFIG_TIME, .offset = FIELD(delay_ns), .value = "0s", .min = 0, .max = 9e9,
     .help = "from the end of the window until policies see the reading"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct power_commands_config, name)
static const char *const path_names[] = {"out-of-band", "in-band", NULL};

static const struct config_field commands_fields[] = {
    {.name = "path", .kind = CONFIG_CHOICE, .offset = FIELD(path), .value = "out-of-band", .choices = path_names,
     .help = "by the server's management controller, or by the driver on the host"},
    {.name = "out_of_band", .kind = CONFIG_TIME, .offset = FIELD(out_of_band_ns), .value = "40s", .min = 0, .max = 9e9,
     .help = "time until a command takes effect on that path (POLCA, ASPLOS 2024)"},
    {.name = "in_band", .kind = CONFIG_TIME, .offset = FIELD(in_band_ns), .value = "100ms", .min = 0, .max = 9e9,
     .help = "time until a command takes effect in band; an assumption"},
    {.name = "brake", .kind = CONFIG_TIME, .offset = FIELD(brake_ns), .value = "5s", .min = 0, .max = 9e9,
     .help = "time until the power brake is on, or off (POLCA)"},
    {.name = "brake_clock", .kind = CONFIG_QUANTITY, .dim = UNIT_FREQUENCY, .offset = FIELD(brake_hz), .value = "288MHz",
     .min = DBL_MIN, .max = 0, .help = "SM clock under the brake (POLCA, preprint)"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct power_breaker_config, name)
static const struct config_field breaker_fields[] = {
    {.name = "rating", .kind = CONFIG_REAL, .offset = FIELD(rating_frac), .value = "1", .min = 0.01, .max = 100,
     .help = "power that it carries without end, as a fraction of the budget"},
    {.name = "overload", .kind = CONFIG_REAL, .offset = FIELD(overload_frac), .value = "1.33", .min = 1.001, .max = 100,
     .help = "an overload, as a fraction of the rating, that trips it after the time below"},
    {.name = "after", .kind = CONFIG_TIME, .offset = FIELD(after_ns), .value = "10s", .min = 1e-3, .max = 9e9,
     .help = "time until this overload trips it; other overloads: by the square of the current"},
    {.name = "outage", .kind = CONFIG_TIME, .offset = FIELD(outage_ns), .value = "0s", .min = 0, .max = 9e9,
     .help = "time for which the domain of a tripped breaker is dark; 0s: trips are only counted"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct power_config, name)
static const char *const level_names[] = {"server", "rack", "row", "site", NULL};

const struct config_field power_config_fields[] = {
    {.name = "budget", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED, .dim = UNIT_POWER, .offset = FIELD(budget_w),
     .min = DBL_MIN, .max = 0, .help = "power that each domain of the level is provisioned with"},
    {.name = "level", .kind = CONFIG_CHOICE, .offset = FIELD(level), .value = "row", .choices = level_names,
     .help = "domains that have a budget, telemetry and a capping policy of their own"},
    {.name = "servers_per_rack", .kind = CONFIG_INT, .offset = FIELD(servers_per_rack), .value = "4", .min = 1,
     .max = 1e6, .help = "in the order of their numbers"},
    {.name = "racks_per_row", .kind = CONFIG_INT, .offset = FIELD(racks_per_row), .value = "10", .min = 1, .max = 1e6,
     .help = "in the order of their numbers"},
    {.name = "clock_like", .kind = CONFIG_TEXT, .offset = FIELD(clock_like), .value = "v100-32-pcie", .min = 1, .max = 256,
     .help = "a GPU whose voltage by clock stands in for GPUs whose power limit was not swept"},
    {.name = "clock_share", .kind = CONFIG_SECTION, .offset = FIELD(clock_share), .fields = clock_share_config_fields,
     .help = "share of iterations' time that waits for the SM clock"},
    {.name = "telemetry", .kind = CONFIG_SECTION, .offset = FIELD(telemetry), .fields = telemetry_fields,
     .help = "how the power of a domain is read"},
    {.name = "commands", .kind = CONFIG_SECTION, .offset = FIELD(commands), .fields = commands_fields,
     .help = "latency of commands"},
    {.name = "breaker", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, .offset = FIELD(breaker),
     .fields = breaker_fields, .help = "of each domain; else none trips"},
    {.name = "capping", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(capping), .family = "power_cap",
     .tag = "policy", .value = "none", .help = "limits of GPUs when power runs short"},
    {0}};
#undef FIELD

const char *power_level_name(int level)
{
    return level_names[level];
}
