/* A table of every kind of field, for the tests of config: a small site with services, racks and policies. */
#ifndef ORRERY_TESTS_SUPPORT_CONFIG_TABLE_H
#define ORRERY_TESTS_SUPPORT_CONFIG_TABLE_H

#include "sim/core/config/config.h"

enum site_mode { SITE_MODE_FAST, SITE_MODE_EXACT };

struct site_power {
    double budget_w, idle_frac;
};

struct site_slo {
    sim_ns ttft_ns, tpot_ns;
};

struct site_service {
    const char *name;
    int64_t replicas;
    struct config_variant batching;
    struct site_slo slo;
    struct config_list window; /* sim_ns */
};

struct site_rack {
    int64_t height;
    const char *label;
    struct config_list nodes; /* const char * */
};

struct site_share {
    const char *name;
    double share_frac;
};

struct site {
    const char *title;
    bool strict;
    int64_t nodes, seed;
    double load, memory_bytes, price_usd_per_h, scale;
    sim_ns until_ns, warmup_ns;
    const char *trace;
    int mode;
    struct site_power power;
    struct site_slo slo;
    struct config_list services; /* struct site_service */
    struct config_list racks;    /* struct site_rack */
    struct config_list weights;  /* double */
    struct config_list shares;   /* struct site_share */
    struct config_variant renting, probing;
};

struct site_vllm {
    int64_t max_sequences;
    double watermark_frac;
};

struct site_spot {
    double bid_usd_per_h;
    const char *prices;
};

extern const struct config_field site_fields[];
extern const struct config_families site_families;

#endif
