#include "sim/cli/families.h"

#include "policies/registry.h"
#include "sim/catalog/cost.h"
#include "traces/registry.h"

#include <string.h>

static bool alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    if (strcmp(family, "cost") == 0) return cost_alternative(index, out);
    return policy_alternative(context, family, index, out) || trace_alternative(context, family, index, out);
}

struct config_families cli_families(void)
{
    return (struct config_families){.alternative = alternative};
}
