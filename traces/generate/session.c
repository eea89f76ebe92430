#include "traces/generate/session.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <stdio.h>

enum { MAX_TRIES = 16 };

const struct config_field session_fields[] = {
    TRACE_PARAM(struct session_params, continue_frac, "continue", CONFIG_REAL, "0", 0, 1,
                "share of the requests that continue a session; 0: prompts have no prefix blocks"),
    TRACE_PARAM(struct session_params, block_tokens, "block_tokens", CONFIG_INT, "512", 1, 1e6, "tokens per block"),
    TRACE_PARAM(struct session_params, system_blocks, "system_blocks", CONFIG_INT, "1", 0, 1e6,
                "blocks with which every prompt begins"),
    TRACE_PARAM(struct session_params, max_sessions, "max_sessions", CONFIG_INT, "1000", 1, 1e6,
                "number of recent sessions that may be continued"),
    {0}};

int sessions_init(struct sessions *sessions, const struct session_params *params, const struct source_options *options,
                  struct diag *diag)
{
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.sessions", options->stream);
    *sessions = (struct sessions){.params = params, .next_id = (uint64_t)params->system_blocks};
    rng_init(&sessions->rng, options->seed, options->run, name, 0);
    if (params->continue_frac == 0) return 0;
    sessions->ring = mem_zalloc((size_t)params->max_sessions, sizeof *sessions->ring);
    return sessions->ring != NULL ? 0 : diag_nomem(diag);
}

void sessions_fini(struct sessions *sessions)
{
    for (int64_t i = 0; sessions->ring != NULL && i < sessions->params->max_sessions; i++) {
        mem_free(sessions->ring[i].ids);
    }
    mem_free(sessions->ring);
}

/* A session for a prompt of this length, one of the latest drawn at random, or NULL. */
static struct session *find_session(struct sessions *sessions, int64_t prompt_tokens)
{
    uint64_t most = (uint64_t)sessions->params->max_sessions;
    uint64_t n = sessions->n_begun < most ? sessions->n_begun : most;
    for (int i = 0; n > 0 && i < MAX_TRIES; i++) {
        struct session *session = &sessions->ring[rng_below(&sessions->rng, n)];
        if (session->prompt_tokens < prompt_tokens) return session;
    }
    return NULL;
}

static struct session *begin_session(struct sessions *sessions)
{
    struct session *session = &sessions->ring[sessions->n_begun++ % (uint64_t)sessions->params->max_sessions];
    session->prompt_tokens = 0;
    return session;
}

int sessions_next(struct sessions *sessions, struct request_record *request, struct diag *diag)
{
    const struct session_params *params = sessions->params;
    if (params->continue_frac == 0) return 0;
    bool wanted = rng_uniform(&sessions->rng) < params->continue_frac;
    struct session *session = wanted ? find_session(sessions, request->prompt_tokens) : NULL;
    if (session == NULL) session = begin_session(sessions);
    size_t n = (size_t)((request->prompt_tokens + params->block_tokens - 1) / params->block_tokens);
    if (vec_reserve(&session->ids, &session->capacity, n) != 0) return diag_nomem(diag);
    for (size_t i = (size_t)(session->prompt_tokens / params->block_tokens); i < n; i++) {
        session->ids[i] = i < (size_t)params->system_blocks ? i : sessions->next_id++;
    }
    session->prompt_tokens = request->prompt_tokens;
    request->n_prefix_blocks = (int32_t)n;
    request->prefix_block_tokens = (int32_t)params->block_tokens;
    request->prefix_blocks = session->ids;
    return 0;
}
