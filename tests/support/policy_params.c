#include "tests/support/policy_params.h"

#include "sim/cli/plugins.h"
#include "tests/support/harness.h"

const void *policy_params(const struct policy *policy, const char *json, struct arena *arena)
{
    if (policy->params == NULL) return NULL;
    struct config_families families = cli_families(NULL);
    struct config *config = NULL;
    struct diag diag = {0};
    json = test_json("%s", json != NULL ? json : "{}");
    void *params = arena_alloc(arena, policy->params_bytes);
    int code = config_parse("params", ".", json, strlen(json), &config, &diag);
    if (code == 0) code = config_bind(config, policy->params, &families, arena, params, policy->params_bytes, &diag);
    CHECK_EQ_INT(code, 0);
    config_destroy(config);
    return params;
}
