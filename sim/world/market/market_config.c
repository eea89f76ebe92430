#include "sim/world/market/market_config.h"

#include "sim/catalog/availability.h"

#include <float.h>

static const char *const kind_names[] = {"on-demand", "reserved", "spot", NULL};
static const char *const law_names[] = {"exponential", "weibull", NULL};

#define FIELD(name) offsetof(struct spot_config, name)
static const struct config_field spot_fields[] = {
    {.name = "availability", .kind = CONFIG_PATH, .flags = CONFIG_OPTIONAL, .offset = FIELD(availability),
     .help = "file of how many instances there are over time: beyond them the youngest leases are interrupted"},
    {.name = "format", .kind = CONFIG_CHOICE, .offset = FIELD(format), .value = "skypilot",
     .choices = availability_format_names, .help = "of that file"},
    {.name = "gpus_per_instance", .kind = CONFIG_INT, .offset = FIELD(gpus_per_instance), .value = "1", .min = 1, .max = 64,
     .help = "GPUs of each instance in it"},
    {.name = "law", .kind = CONFIG_CHOICE, .offset = FIELD(law), .value = "exponential", .choices = law_names,
     .help = "of the time until a lease is interrupted, with 'mean_life'"},
    {.name = "mean_life", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_TIME, .offset = FIELD(mean_life_s),
     .min = DBL_MIN, .max = 0, .help = "mean time until a lease is interrupted; none: never at random"},
    {.name = "shape", .kind = CONFIG_REAL, .offset = FIELD(shape), .value = "1", .min = 0.05, .max = 50,
     .help = "of the Weibull law: below 1 old leases are safer, above 1 young ones"},
    {.name = "notice", .kind = CONFIG_TIME, .offset = FIELD(notice_ns), .value = "0s", .min = 0, .max = 1e6,
     .help = "notice before an interruption: \"2min\" at Amazon, \"30s\" at Google; a checkpoint that ends within it counts"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct offer_price, name)
static const struct config_field price_fields[] = {
    {.name = "at", .kind = CONFIG_TIME, .flags = CONFIG_REQUIRED, .offset = FIELD(at_ns), .min = 0, .max = 9e9,
     .help = "time of the run"},
    {.name = "price", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED, .dim = UNIT_MONEY_PER_H, .offset = FIELD(usd_per_h),
     .min = 0, .max = 1e6, .help = "of one GPU from then on"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct offer_config, name)
static const struct config_field offer_fields[] = {
    {.name = "gpu", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL | CONFIG_NAME_OR_PATH, .offset = FIELD(gpu),
     .help = "type of the GPUs, of the cluster or one of its node_types; else the cluster's"},
    {.name = "kind", .kind = CONFIG_CHOICE, .offset = FIELD(kind), .value = "on-demand", .choices = kind_names,
     .help = "which price of the price list holds; spot may be interrupted"},
    {.name = "price", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL, .dim = UNIT_MONEY_PER_H, .offset = FIELD(usd_per_h),
     .min = 0, .max = 1e6, .help = "of one GPU, as \"$2.49/h\"; else that of 'prices', of the cluster, or of the GPU's file"},
    {.name = "price_changes", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, .offset = FIELD(changes), .fields = price_fields,
     .elem_bytes = sizeof(struct offer_price),
     .help = "later prices, by rising times: leases keep the price of their start, those of spot GPUs that of each quantum's"},
    {.name = "limit", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, .offset = FIELD(limit_gpus), .min = 0, .max = 1e9,
     .help = "GPUs that can be rented at once; who wants more waits"},
    {.name = "start_up", .kind = CONFIG_TIME, .offset = FIELD(start_up_ns), .value = "0s", .min = 0, .max = 1e6,
     .help = "from renting to first use"},
    {.name = "pays_start_up", .kind = CONFIG_BOOL, .offset = FIELD(pays_start_up), .value = "true",
     .help = "whether the bill begins with renting, or with first use"},
    {.name = "billing", .kind = CONFIG_TIME, .offset = FIELD(quantum_ns), .value = "1s", .min = 1e-9, .max = 1e7,
     .help = "quantum of billing: \"1s\", \"1h\"; a lease pays for whole ones"},
    {.name = "minimum", .kind = CONFIG_TIME, .offset = FIELD(minimum_ns), .value = "0s", .min = 0, .max = 1e8,
     .help = "least time that a lease pays for"},
    {.name = "spot", .kind = CONFIG_SECTION, .offset = FIELD(spot), .fields = spot_fields,
     .help = "when spot GPUs are taken away"},
    {0}};
#undef FIELD

#define FIELD(name) offsetof(struct market_config, name)
const struct config_field market_config_fields[] = {
    {.name = "prices", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL | CONFIG_NAME_OR_PATH, .offset = FIELD(prices),
     .help = "dated price list: orrery list prices"},
    {.name = "offers", .kind = CONFIG_MAP, .flags = CONFIG_OPTIONAL, .offset = FIELD(offers), .fields = offer_fields,
     .elem_bytes = sizeof(struct offer_config),
     .help = "GPUs that can be rented, by name; else those of the site, on demand, billed by the second"},
    {.name = "renting", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, .offset = FIELD(renting), .value = "fixed-fleet",
     .family = "rental", .tag = "policy", .help = "who rents how many GPUs"},
    {0}};
#undef FIELD
