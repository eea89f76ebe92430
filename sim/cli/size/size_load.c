/* The requests of a question's trace, for closed forms and for knowing early that an objective is missed. */
#include "sim/cli/size/size.h"
#include "sim/core/vec.h"
#include "sim/world/rows/source.h"

#include <stdlib.h>
#include <string.h>

/* The objectives that count a request. One token has no time per further token. */
static uint32_t find_objectives(const struct size_question *question, const struct request_record *record)
{
    uint32_t found = 0;
    for (size_t i = 0; i < question->n_objectives; i++) {
        const struct size_objective *objective = &question->objectives[i];
        if (objective->time == SIZE_TPOT && record->output_tokens < 2) continue;
        const bool is_its = objective->class_name == NULL ||
                            (record->class_name != NULL && strcmp(objective->class_name, record->class_name) == 0);
        if (is_its) found |= 1u << i;
    }
    return found;
}

static int add(const struct size_question *question, const struct request_record *record,
               struct size_requests *requests)
{
    const struct size_request request = {record->id, record->prompt_tokens, record->output_tokens,
                                         find_objectives(question, record), record->n_prefix_blocks > 0};
    for (size_t i = 0; i < question->n_objectives; i++) requests->counted[i] += request.objectives >> i & 1;
    return vec_push(&requests->items, &requests->n, &requests->capacity, request);
}

static int compare_ids(const void *a, const void *b)
{
    const struct size_request *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

const struct size_request *size_requests_find(const struct size_requests *requests, int64_t id)
{
    if (id >= 0 && (size_t)id < requests->n && requests->items[id].id == id) return &requests->items[id];
    const struct size_request wanted = {.id = id};
    return bsearch(&wanted, requests->items, requests->n, sizeof wanted, compare_ids);
}

int size_requests_read(const struct size_question *question, const struct setup *setup,
                       const volatile sig_atomic_t *interrupt, struct size_requests *requests, struct diag *diag)
{
    const struct service_config *service = setup->scenario.services.items;
    const struct trace_format *format = service->trace.entry;
    const struct source_options options = {.seed = (uint64_t)setup->scenario.seed, .stream = service->name,
                                           .where = "--trace", .interrupt = interrupt};
    struct request_source *source;
    struct request_record record;
    sim_ns first_ns = 0, last_ns = 0;
    *requests = (struct size_requests){0};
    int code = format->open_requests(service->trace.params, &options, &source, diag);
    if (code != 0) return code;
    requests->is_closed = source->follow != NULL;
    while ((code = source->next(source, &record, diag)) == 1) {
        if (requests->n == 0) first_ns = record.arrival_ns;
        last_ns = record.arrival_ns;
        code = add(question, &record, requests);
        if (code != 0) break;
    }
    source->close(source);
    if (requests->n > 0) qsort(requests->items, requests->n, sizeof *requests->items, compare_ids);
    requests->span_s = sim_s_from_ns(last_ns - first_ns);
    if (code == SIM_E_NOMEM) return diag_nomem(diag);
    if (code == 0 && requests->n == 0)
        code = diag_error(diag, SIM_E_DATA, "--trace", NULL, "the trace has no requests");
    for (size_t i = 0; code == 0 && i < question->n_objectives; i++)
        if (requests->counted[i] == 0 && !requests->is_closed)
            code = diag_error(diag, SIM_E_USAGE, "--slo", NULL, "no request of the trace counts for '%s'",
                              question->objectives[i].name);
    return code;
}

void size_requests_fini(struct size_requests *requests)
{
    mem_free(requests->items);
}
