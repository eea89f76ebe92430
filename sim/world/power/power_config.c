#include "sim/world/power/power_config.h"

#include <float.h>

#define ROW_OF struct server_power_config
const struct config_field server_power_config_fields[] = {
    ROW_QUANTITY("idle", idle_w, UNIT_POWER, SOURCED_REQUIRED, WITHIN(0, 1e6),
                 "power of a server without its GPUs, while they idle"),
    ROW_REAL("per_gpu_watt", per_gpu_w, SOURCED_REQUIRED, WITHIN(0, 10),
             "watts added for each watt of its GPUs: fans, losses of power supplies, busy CPUs"),
    {0}};
#undef ROW_OF

#define ROW_OF struct power_telemetry_config
static const struct config_field telemetry_fields[] = {
    ROW_TIME("period", period_ns, DEFAULT("2s"), WITHIN(1e-3, 9e9), "time between two readings"),
    ROW_TIME("window", window_ns, DEFAULT("0s"), WITHIN(0, 9e9),
             "averaging time of a reading; 0s: the period"),
    ROW_TIME("delay", delay_ns, DEFAULT("0s"), WITHIN(0, 9e9),
             "time from the end of the window until policies see the reading"),
    {0}};
#undef ROW_OF

static const char *const path_names[] = {"out-of-band", "in-band", NULL};

#define ROW_OF struct power_commands_config
static const struct config_field commands_fields[] = {
    ROW_CHOICE(
        "path", path, DEFAULT("out-of-band"), path_names,
        "path of commands: out-of-band by the server's management controller, in-band by the driver on the host"),
    ROW_TIME("out_of_band", out_of_band_ns, DEFAULT("40s"), WITHIN(0, 9e9),
             "time until a command takes effect out of band (POLCA, ASPLOS 2024)"),
    ROW_TIME("in_band", in_band_ns, DEFAULT("100ms"), WITHIN(0, 9e9),
             "time until a command takes effect in band; an assumption"),
    ROW_TIME("brake", brake_ns, DEFAULT("5s"), WITHIN(0, 9e9), "time until the power brake is on or off (POLCA)"),
    ROW_QUANTITY("brake_clock", brake_hz, UNIT_FREQUENCY, DEFAULT("288MHz"), POSITIVE,
                 "SM clock under the brake (POLCA, preprint); a GPU that cannot run as slow keeps its lowest clock"),
    {0}};
#undef ROW_OF

#define ROW_OF struct power_breaker_config
static const struct config_field breaker_fields[] = {
    ROW_REAL("rating", rating_frac, DEFAULT("1"), WITHIN(0.01, 100),
             "power that the breaker carries without a time limit, as a fraction of the budget"),
    ROW_REAL("overload", overload_frac, DEFAULT("1.33"), WITHIN(1.001, 100),
             "power, as a fraction of the rating, that trips the breaker in the time 'after'"),
    ROW_TIME("after", after_ns, DEFAULT("10s"), WITHIN(1e-3, 9e9),
             "time until the power 'overload' trips the breaker; other overloads by the square of the current"),
    ROW_TIME("outage", outage_ns, DEFAULT("0s"), WITHIN(0, 9e9),
             "time without power for the domain of a tripped breaker; 0s: trips are only counted"),
    {0}};
#undef ROW_OF

static const char *const level_names[] = {"server", "rack", "row", "site", NULL};

#define ROW_OF struct power_config
const struct config_field power_config_fields[] = {
    ROW_QUANTITY("budget", budget_w, UNIT_POWER, REQUIRED, AT_LEAST(1), "power budget of each domain"),
    ROW_CHOICE("level", level, DEFAULT("row"), level_names,
               "power domains: each has a budget, telemetry and a capping policy of its own"),
    ROW_INT("servers_per_rack", servers_per_rack, DEFAULT("4"), WITHIN(1, 1e6), "servers of each rack, neighbours by number"),
    ROW_INT("racks_per_row", racks_per_row, DEFAULT("10"), WITHIN(1, 1e6), "racks of each row, neighbours by number"),
    ROW_TEXT("clock_like", clock_like, DEFAULT("v100-32-pcie"), WITHIN(1, 256),
             "GPU whose measured curve of voltage over clock is used for GPUs without one of their own"),
    ROW_SECTION("clock_share", clock_share, FILLED, clock_share_config_fields,
                "share of the time of an iteration that scales with the SM clock"),
    ROW_SECTION("telemetry", telemetry, FILLED, telemetry_fields, "readings of the power of a domain"),
    ROW_SECTION("commands", commands, FILLED, commands_fields, "path and latency of commands"),
    ROW_SECTION("breaker", breaker, OPTIONAL, breaker_fields, "breaker of each domain; default: none"),
    ROW_SHORT_VARIANT("capping", capping, DEFAULT("none"), "power_cap", "policy",
                      "clocks and power limits of the GPUs of a domain"),
    {0}};
#undef ROW_OF

const char *power_level_name(int level)
{
    return level_names[level];
}
