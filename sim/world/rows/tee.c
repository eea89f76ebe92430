#include "sim/world/rows/tee.h"

#include "sim/core/check.h"

void tee_add(struct tee *tee, struct sink sink)
{
    SIM_REQUIRE(tee->n < TEE_MAX_SINKS);
    tee->sinks[tee->n++] = sink;
}

#define TEE_FUNCTION(name, row_struct)                                                                                 \
    static int tee_##name(void *context, const struct row_struct *row)                                                 \
    {                                                                                                                  \
        const struct tee *tee = context;                                                                               \
        int code = 0;                                                                                                  \
        for (size_t i = 0; code == 0 && i < tee->n; i++)                                                               \
            if (tee->sinks[i].name != NULL) code = tee->sinks[i].name(tee->sinks[i].context, row);                     \
        return code;                                                                                                   \
    }

SINK_ROWS(TEE_FUNCTION)

struct sink tee_sink(struct tee *tee)
{
    struct sink all = {.context = tee};
    if (tee->n == 1) return tee->sinks[0];
    for (size_t i = 0; i < tee->n; i++) {
#define TEE_MEMBER(name, row_struct)                                                                                   \
    if (tee->sinks[i].name != NULL) all.name = tee_##name;
        SINK_ROWS(TEE_MEMBER)
#undef TEE_MEMBER
    }
    return all;
}
