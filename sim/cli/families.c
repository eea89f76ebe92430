#include "sim/cli/families.h"

#include "policies/registry.h"
#include "sim/catalog/cost.h"
#include "traces/registry.h"

#include <string.h>

static bool alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    if (strcmp(family, "cost") == 0) return cost_alternative(index, out);
    if (trace_alternative(NULL, family, index, out)) return true;
    size_t n = 0; /* built-in policies of the family */
    for (; policy_alternative(NULL, family, n, out); n++)
        if (n == index) return true;
    return plugins_alternative(context, family, index - n, out);
}

struct config_families cli_families(const struct plugins *plugins)
{
    return (struct config_families){.alternative = alternative, .context = plugins};
}
