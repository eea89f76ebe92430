/* The section "market" of a scenario: which GPUs can be rented, on what terms, and by which policy. */
#ifndef ORRERY_WORLD_MARKET_MARKET_CONFIG_H
#define ORRERY_WORLD_MARKET_MARKET_CONFIG_H

#include "sim/core/config/config.h"
#include "sim/core/units.h"

#include <stdbool.h>
#include <stdint.h>

enum spot_law { SPOT_EXPONENTIAL, SPOT_WEIBULL };

/* When the market withdraws GPUs of an offer. */
struct spot_config {
    const char *availability;  /* file of how many instances there are over time; NULL: none */
    int format;                /* enum availability_format */
    int64_t gpus_per_instance;
    int law;                   /* enum spot_law */
    double mean_life_s, shape; /* of each lease, at random; NAN: as long as wanted */
    sim_ns notice_ns;          /* from the word to the end */
};

/* An entry of "price_changes". */
struct offer_price {
    sim_ns at_ns;
    double usd_per_h;
};

/* An entry of "offers". */
struct offer_config {
    const char *name; /* its key */
    const char *gpu;  /* in the hardware catalog; NULL: the cluster's */
    int kind;         /* enum offer_kind */
    double usd_per_h; /* of one GPU; NAN: what the price list says, or else the cluster or the hardware catalog */
    struct config_list changes; /* struct offer_price */
    double limit_gpus; /* NAN: no limit */
    sim_ns start_up_ns;
    bool pays_start_up;
    sim_ns quantum_ns, minimum_ns; /* of billing */
    struct spot_config spot;
};

struct market_config {
    const char *prices;         /* price list of the catalog; NULL: none */
    struct config_list offers;  /* struct offer_config; none: one on demand per type of GPU at the site */
    struct config_variant renting; /* its entry is a struct renter; NULL: nothing is rented and nothing billed */
};

extern const struct config_field market_config_fields[];

#endif
