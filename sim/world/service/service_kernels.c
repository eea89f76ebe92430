/* What a service says of kernels that do not fit the engine of a pool. */
#include "sim/world/service/service_state.h"

/* "service 'chat', pool 'decode'". */
static void say_pool(const struct service *service, const struct fleet_pool *pool, struct text *text)
{
    text_printf(text, "service '%s'", service->config->name);
    if (pool->config.name != NULL) text_printf(text, ", pool '%s'", pool->config.name);
}

int service_emit_kernels(const struct service *service, const struct fleet_pool *pool)
{
    const struct iteration_model *model = &pool->env.model;
    struct text text;
    if (model->other_kernels == NULL) return 0;
    text_init(&text);
    say_pool(service, pool, &text);
    text_printf(&text, ": %s", model->other_kernels);
    if (model->fitting_kernels != NULL) text_printf(&text, "; %s", model->fitting_kernels);
    const int code = text.failed ? SIM_E_NOMEM : service_emit_warning(service, "kernels", 1, text.chars);
    text_fini(&text);
    return code;
}

int service_warn_kernels(const struct service *service, const char *where, struct diag *diag)
{
    static const char listed[] = "'orrery list kernels' shows what was measured";
    int code = 0;
    for (size_t i = 0; code == 0 && i < service->fleet.n_pools; i++) {
        const struct fleet_pool *pool = &service->fleet.pools[i];
        const struct iteration_model *model = &pool->env.model;
        struct text name, hint;
        if (model->other_kernels == NULL) continue;
        text_init(&name);
        text_init(&hint);
        say_pool(service, pool, &name);
        if (model->fitting_kernels != NULL) text_printf(&hint, "%s; ", model->fitting_kernels);
        text_add(&hint, listed);
        code = name.failed || hint.failed ? diag_nomem(diag) : 0;
        if (code == 0) diag_warning(diag, where, hint.chars, "%s: %s", name.chars, model->other_kernels);
        text_fini(&hint);
        text_fini(&name);
    }
    return code;
}
