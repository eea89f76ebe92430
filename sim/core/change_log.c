#include "sim/core/change_log.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

int change_log_init(struct change_log *log, int32_t n)
{
    *log = (struct change_log){.capacity = 1};
    while (log->capacity < (uint64_t)n) log->capacity *= 2;
    log->things = mem_zalloc(log->capacity, sizeof *log->things);
    return log->things != NULL ? 0 : SIM_E_NOMEM;
}

void change_log_fini(struct change_log *log)
{
    mem_free(log->things);
    *log = (struct change_log){0};
}
