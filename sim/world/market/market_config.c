#include "sim/world/market/market_config.h"

#include "sim/catalog/availability.h"

#include <float.h>

static const char *const kind_names[] = {"on-demand", "reserved", "spot", NULL};
static const char *const law_names[] = {"exponential", "weibull", NULL};

#define ROW_OF struct spot_config
static const struct config_field spot_fields[] = {
    ROW_PATH("availability", availability, OPTIONAL,
             "file of available instances over time; leases beyond them are interrupted, youngest first"),
    ROW_CHOICE("format", format, DEFAULT("skypilot"), availability_format_names, "format of that file"),
    ROW_INT("gpus_per_instance", gpus_per_instance, DEFAULT("1"), WITHIN(1, 64), "GPUs of each instance in that file"),
    ROW_CHOICE("law", law, DEFAULT("exponential"), law_names,
               "distribution of the time until a lease is interrupted, with 'mean_life'"),
    ROW_QUANTITY("mean_life", mean_life_s, UNIT_TIME, OPTIONAL, POSITIVE,
                 "mean time until a lease is interrupted; default: no random interruptions"),
    ROW_REAL("shape", shape, DEFAULT("1"), WITHIN(0.05, 50),
             "Weibull shape: below 1 old leases are safer, above 1 young ones"),
    ROW_TIME("notice", notice_ns, DEFAULT("0s"), WITHIN(0, 1e6),
             "notice before an interruption: \"2min\" at Amazon, \"30s\" at Google; a checkpoint that ends within it counts"),
    {0}};
#undef ROW_OF

#define ROW_OF struct offer_price
static const struct config_field price_fields[] = {
    ROW_TIME("at", at_ns, REQUIRED, WITHIN(0, 9e9), "time since the start of the run"),
    ROW_QUANTITY("price", usd_per_h, UNIT_MONEY_PER_H, REQUIRED, WITHIN(0, 1e6), "price of one GPU from then on"),
    {0}};
#undef ROW_OF

#define ROW_OF struct offer_config
static const struct config_field offer_fields[] = {
    ROW_NAME_OR_PATH("gpu", gpu, OPTIONAL, ANY,
                     "GPU type, that of the cluster or of one of its node_types; default: that of the cluster"),
    ROW_CHOICE("kind", kind, DEFAULT("on-demand"), kind_names,
               "terms, and column of the price list; spot GPUs may be interrupted"),
    ROW_QUANTITY("price", usd_per_h, UNIT_MONEY_PER_H, OPTIONAL, WITHIN(0, 1e6),
                 "price of one GPU, as \"$2.49/h\"; default: that of 'prices', else cluster.gpu_price, else of the GPU's file"),
    ROW_LIST(
        "price_changes", changes, OPTIONAL, ANY, struct offer_price, price_fields,
        "later prices, by rising times; a lease keeps the price of its start, a spot lease pays the price at the start of each quantum"),
    ROW_REAL("limit", limit_gpus, OPTIONAL, WITHIN(0, 1e9), "most GPUs rented at once; further requests wait; default: none"),
    ROW_TIME("start_up", start_up_ns, DEFAULT("0s"), WITHIN(0, 1e6), "time from renting to first use"),
    ROW_BOOL("pays_start_up", pays_start_up, DEFAULT("true"),
             "true: the bill begins with renting; false: with first use"),
    ROW_TIME("billing", quantum_ns, DEFAULT("1s"), WITHIN(1e-9, 1e7),
             "quantum of billing: \"1s\", \"1h\"; a lease pays for whole ones"),
    ROW_TIME("minimum", minimum_ns, DEFAULT("0s"), WITHIN(0, 1e8), "least time that a lease pays for"),
    ROW_SECTION("spot", spot, FILLED, spot_fields, "interruptions of spot GPUs"),
    {0}};
#undef ROW_OF

#define ROW_OF struct market_config
const struct config_field market_config_fields[] = {
    ROW_NAME_OR_PATH("prices", prices, OPTIONAL, ANY, "dated price list: orrery list prices"),
    ROW_MAP("offers", offers, OPTIONAL, ANY, struct offer_config, offer_fields,
            "offers of GPUs, by name; default: GPUs of the site, on demand, billed by the second"),
    ROW_SHORT_VARIANT("renting", renting, DEFAULT("fixed-fleet"), "rental", "policy", "policy that rents GPUs"),
    {0}};
#undef ROW_OF
