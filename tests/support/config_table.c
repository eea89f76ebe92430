#include "tests/support/config_table.h"

#include <float.h>
#include <string.h>

#define AT(type, member) .offset = offsetof(struct type, member)

static const char *const modes[] = {[SITE_MODE_FAST] = "fast", [SITE_MODE_EXACT] = "exact", NULL};

static const struct config_field power_fields[] = {
    {.name = "budget", .kind = CONFIG_QUANTITY, AT(site_power, budget_w), .dim = UNIT_POWER, .value = "20kW",
     .min = 1000, .max = 1e7, .help = "what the site may draw"},
    {.name = "idle", .kind = CONFIG_REAL, .flags = CONFIG_OPTIONAL, AT(site_power, idle_frac), .max = 1},
    {0},
};

static const struct config_field slo_fields[] = {
    {.name = "ttft", .kind = CONFIG_TIME, AT(site_slo, ttft_ns), .value = "2s", .min = DBL_MIN},
    {.name = "tpot", .kind = CONFIG_TIME, AT(site_slo, tpot_ns), .value = "100ms", .max = 10},
    {0},
};

static const struct config_field time_item[] = {{.kind = CONFIG_TIME}, {0}};
static const struct config_field text_item[] = {{.kind = CONFIG_TEXT, .min = 1, .max = 8}, {0}};
static const struct config_field real_item[] = {{.kind = CONFIG_REAL}, {0}};
static const struct config_field share_item[] = {{.kind = CONFIG_REAL, AT(site_share, share_frac), .max = 1}, {0}};

static const struct config_field service_fields[] = {
    {.name = "replicas", .kind = CONFIG_INT, AT(site_service, replicas), .value = "1", .min = 1, .max = 512},
    {.name = "batching", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT, AT(site_service, batching), .value = "vllm-v0",
     .family = "batching", .tag = "policy", .help = "which requests run together"},
    {.name = "slo", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, AT(site_service, slo), .fields = slo_fields},
    {.name = "window", .kind = CONFIG_LIST, .flags = CONFIG_OPTIONAL, AT(site_service, window), .min = 2, .max = 2,
     .fields = time_item, .elem_bytes = sizeof(sim_ns)},
    {0},
};

static const struct config_field rack_fields[] = {
    {.name = "height", .kind = CONFIG_INT, .flags = CONFIG_REQUIRED, AT(site_rack, height), .max = 48},
    {.name = "label", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(site_rack, label)},
    {.name = "nodes", .kind = CONFIG_LIST, AT(site_rack, nodes), .fields = text_item, .elem_bytes = sizeof(char *)},
    {0},
};

const struct config_field site_fields[] = {
    {.name = "title", .kind = CONFIG_TEXT, .flags = CONFIG_OPTIONAL, AT(site, title)},
    {.name = "strict", .kind = CONFIG_BOOL, AT(site, strict), .value = "true"},
    {.name = "nodes", .kind = CONFIG_INT, AT(site, nodes), .value = "4", .min = 1, .help = "machines of the cluster"},
    {.name = "seed", .kind = CONFIG_INT, .flags = CONFIG_OPTIONAL, AT(site, seed)},
    {.name = "load", .kind = CONFIG_REAL, AT(site, load), .value = "0.5"},
    {.name = "memory", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED | CONFIG_SOURCED, AT(site, memory_bytes),
     .dim = UNIT_BYTES, .help = "memory of one GPU"},
    {.name = "price", .kind = CONFIG_QUANTITY, .flags = CONFIG_OPTIONAL | CONFIG_SOURCED, AT(site, price_usd_per_h),
     .dim = UNIT_MONEY_PER_H},
    {.name = "scale", .kind = CONFIG_QUANTITY, AT(site, scale), .value = "1"},
    {.name = "until", .kind = CONFIG_TIME, AT(site, until_ns), .value = "1d"},
    {.name = "warmup", .kind = CONFIG_TIME, .flags = CONFIG_OPTIONAL, AT(site, warmup_ns)},
    {.name = "trace", .kind = CONFIG_PATH, .flags = CONFIG_OPTIONAL, AT(site, trace)},
    {.name = "mode", .kind = CONFIG_CHOICE, AT(site, mode), .value = "exact", .choices = modes},
    {.name = "power", .kind = CONFIG_SECTION, AT(site, power), .fields = power_fields},
    {.name = "slo", .kind = CONFIG_SECTION, .flags = CONFIG_OPTIONAL, AT(site, slo), .fields = slo_fields},
    {.name = "services", .kind = CONFIG_MAP, AT(site, services), .fields = service_fields,
     .elem_bytes = sizeof(struct site_service)},
    {.name = "racks", .kind = CONFIG_LIST, AT(site, racks), .fields = rack_fields,
     .elem_bytes = sizeof(struct site_rack)},
    {.name = "weights", .kind = CONFIG_LIST, AT(site, weights), .value = "[1, 2.5]", .fields = real_item,
     .elem_bytes = sizeof(double)},
    {.name = "shares", .kind = CONFIG_MAP, AT(site, shares), .fields = share_item,
     .elem_bytes = sizeof(struct site_share)},
    {.name = "renting", .kind = CONFIG_VARIANT, AT(site, renting), .value = "fixed-fleet", .family = "rental",
     .tag = "policy"},
    {.name = "probing", .kind = CONFIG_VARIANT, .flags = CONFIG_OPTIONAL | CONFIG_SHORT, AT(site, probing),
     .family = "batching", .tag = "policy"},
    {0},
};

static const struct config_field vllm_fields[] = {
    {.name = "max_sequences", .kind = CONFIG_INT, AT(site_vllm, max_sequences), .value = "256", .min = 1},
    {.name = "watermark", .kind = CONFIG_REAL, AT(site_vllm, watermark_frac), .value = "0.01", .max = 0.5},
    {0},
};

static const struct config_field spot_fields[] = {
    {.name = "bid", .kind = CONFIG_QUANTITY, .flags = CONFIG_REQUIRED, AT(site_spot, bid_usd_per_h),
     .dim = UNIT_MONEY_PER_H},
    {.name = "prices", .kind = CONFIG_PATH, AT(site_spot, prices), .value = "prices.csv"},
    {0},
};

static const struct {
    const char *family;
    struct config_alternative alternative;
} alternatives[] = {
    {"batching", {"vllm-v0", "prefill first", vllm_fields, sizeof(struct site_vllm), vllm_fields}},
    {"batching", {"static", "one batch at a time", NULL, 0, NULL}},
    {"rental", {"fixed-fleet", "never rents", NULL, 0, NULL}},
    {"rental", {"spot", "rents while the price is low", spot_fields, sizeof(struct site_spot), spot_fields}},
};

static bool site_alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives; i++) {
        if (strcmp(alternatives[i].family, family) != 0 || index-- > 0) continue;
        *out = alternatives[i].alternative;
        return true;
    }
    return false;
}

const struct config_families site_families = {.alternative = site_alternative};
