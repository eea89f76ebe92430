/* The sections "power" and "server_power" of a cluster: how its power is divided, read and limited. */
#ifndef ORRERY_WORLD_POWER_POWER_CONFIG_H
#define ORRERY_WORLD_POWER_POWER_CONFIG_H

#include "sim/core/config/config.h"
#include "sim/world/replica/gpu_clock.h"

/* Power of a server without its GPUs: idle_w for CPUs, memory, NICs and idle fans, and per_gpu_w watts per watt of its
 * GPUs for fans and losses of power supplies. */
struct server_power_config {
    double idle_w; /* NAN: not known */
    double per_gpu_w;
};

enum power_level { POWER_LEVEL_SERVER, POWER_LEVEL_RACK, POWER_LEVEL_ROW, POWER_LEVEL_SITE };
enum power_path { POWER_OUT_OF_BAND, POWER_IN_BAND };

struct power_telemetry_config {
    sim_ns period_ns, window_ns, delay_ns; /* window 0: the period */
};

struct power_commands_config {
    int path; /* enum power_path */
    sim_ns out_of_band_ns, in_band_ns, brake_ns;
    double brake_hz;
};

/* An overload of `overload_frac` trips the breaker `after_ns`; the time of another overload follows from the square of
 * the current above the rating. */
struct power_breaker_config {
    double rating_frac; /* of the budget */
    double overload_frac;
    sim_ns after_ns;  /* 0: there is no breaker */
    sim_ns outage_ns; /* until it is reset; 0: trips are only counted */
};

struct power_config {
    double budget_w; /* of each domain of the level */
    int level;       /* enum power_level */
    int64_t servers_per_rack, racks_per_row;
    const char *clock_like; /* the GPU whose voltage by clock replaces that of GPUs that were not swept */
    struct clock_share_config clock_share;
    struct power_telemetry_config telemetry;
    struct power_commands_config commands;
    struct power_breaker_config breaker;
    struct config_variant capping; /* no entry: the scenario has no section "power" */
};

extern const struct config_field server_power_config_fields[], power_config_fields[];

/* The name of the level with a budget: "row". */
const char *power_level_name(int level);

/* Latency of a command, and window of a reading. */
static inline sim_ns power_latency_ns(const struct power_config *config)
{
    return config->commands.path == POWER_IN_BAND ? config->commands.in_band_ns : config->commands.out_of_band_ns;
}

static inline sim_ns power_window_ns(const struct power_config *config)
{
    return config->telemetry.window_ns > 0 ? config->telemetry.window_ns : config->telemetry.period_ns;
}

#endif
