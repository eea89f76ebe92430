/* Prompts that repeat earlier ones, of a service that caches no prefixes. Engines do, so a run without a cache computes
 * tokens that a site would not: it says how many. It looks at the leading blocks of each prompt, by the keys that the
 * trace gives them. Turns of sessions are not looked at: the report tells of them from metrics of their own, unless a
 * log only names its sessions.
 *
 * Left out: what comes after the first MOST_BLOCKS distinct blocks, so that memory stays small. */
#include "sim/world/service/service_state.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_BLOCKS = 1 << 18 };

static const double least_repeated_frac = 0.05;

static bool is_looked_at(const struct service *service, const struct request_record *record)
{
    const bool is_turn = record->session_id > 0 && !record->session_is_logged;
    return record->n_prefix_blocks > 0 && !is_turn && !service->repeats.is_full &&
           !fleet_reuses_chunks(&service->fleet);
}

int service_see_prompt(struct service *service, const struct request_record *record)
{
    struct prompt_repeats *repeats = &service->repeats;
    if (!is_looked_at(service, record)) return 0;
    const int32_t n = prefix_blocks_full(record->prompt_tokens, record->prefix_block_tokens, record->n_prefix_blocks);
    int32_t n_repeated = 0;
    while (n_repeated < n && key_map_find(&repeats->blocks, record->prefix_blocks[n_repeated]) >= 0) n_repeated++;
    for (int32_t i = n_repeated; i < n; i++)
        if (key_map_set(&repeats->blocks, record->prefix_blocks[i], 0) != 0) return SIM_E_NOMEM;
    repeats->n_prompts++;
    repeats->tokens += record->prompt_tokens;
    repeats->repeated_tokens += (int64_t)n_repeated * record->prefix_block_tokens;
    repeats->is_full = repeats->blocks.n >= MOST_BLOCKS;
    return 0;
}

int service_emit_repeats(const struct service *service)
{
    char text[512], first[64] = "";
    const struct prompt_repeats *repeats = &service->repeats;
    const double repeated_frac = repeats->tokens > 0 ? (double)repeats->repeated_tokens / (double)repeats->tokens : 0.0;
    if (repeats->is_full) snprintf(first, sizeof first, " of the first %" PRId64 " prompts", repeats->n_prompts);
    snprintf(text, sizeof text,
             "service '%s': %.3g %% of the prompt tokens%s repeat the beginnings of earlier prompts and are computed "
             "again, for it has no prefix cache: \"kv\": {\"prefix_cache\": \"lru\"} keeps them",
             service->config->name, 100.0 * repeated_frac, first);
    return service_emit_warning(service, "no-prefix-cache", repeated_frac >= least_repeated_frac, text);
}
