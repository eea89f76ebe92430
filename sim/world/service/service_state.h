/* The inside of a service. */
#ifndef ORRERY_WORLD_SERVICE_SERVICE_STATE_H
#define ORRERY_WORLD_SERVICE_SERVICE_STATE_H

#include "models/transformer.h"
#include "sim/core/key_map.h"
#include "sim/core/mem.h"
#include "sim/core/tally.h"
#include "sim/world/replica/replica.h"
#include "sim/world/service/fleet.h"
#include "sim/world/service/service.h"
#include "sim/world/service/service_stats.h"

struct service_scaling;

/* A request that has been read from the trace and will arrive later. */
struct awaited {
    /* without prefix_blocks and chunks: they are the source's until it gives its next record */
    struct request_record record;
    struct prefix_chain *prefix; /* the keys of these blocks; NULL: there are none, or nothing caches them */
    struct chunk_prompt *chunks; /* NULL: there are none, or nothing reuses them */
};

/* Requests whose KV moves from the replica of their prompt to the one that decodes (service_handover.c). */
struct handing_over {
    struct handover *first, *last;
    struct request_list undecided; /* their prompts are processed, and no replica that decodes is up */
};

/* Requests that a feeder releases. */
struct feed {
    struct service_feeder *feeder; /* NULL: requests arrive at the times of the trace */
    int64_t n_due, samples;        /* released, to arrive at the next event of the owner; of each prompt */
    int64_t weights;               /* their version, of the latest release; 0: those of the start */
    int64_t n_prompts;             /* so far */
    int32_t prompt_tokens, n_prefix_blocks, prefix_block_tokens; /* of the latest prompt */
    uint64_t *prefix_blocks;
    size_t capacity;
    struct prompt_chunk *chunks; /* [n_chunks] */
    int32_t n_chunks, chunk_capacity;
};

/* Prompts that begin like earlier ones, of a service without a prefix cache (service_hints.c). */
struct prompt_repeats {
    struct key_map blocks; /* seen so far, by their keys */
    int64_t n_prompts, tokens, repeated_tokens;
    bool is_full; /* it looks at no further prompts */
};

struct service {
    struct owner owner; /* of the next arrival */
    const struct service_config *config;
    struct service_env env;
    struct tenant tenant;
    struct llm_spec llm;
    struct fleet fleet;
    struct service_scaling *scaling; /* NULL: the number of replicas is constant */
    struct source_options source_options;
    struct request_source *source;
    struct awaited next;
    struct feed feed;
    struct pool requests, follow_ups, kv_moves, handovers;
    struct handing_over handing_over;
    struct sequence_group *groups; /* of requests that have become several sequences */
    struct prefix_pool prefixes; /* of the requests in the system */
    uint64_t n_own_prefixes;
    struct prompt_repeats repeats;
    struct chunk_prompt *chunk_prompts; /* of the requests in the system */
    int64_t n_with_chunks;              /* requests of the trace that name chunks */
    bool has_sessions;                  /* a request was of a session */
    int32_t trace_block_tokens; /* length of the trace's prefix blocks; 0: it has none */
    struct level in_system;      /* requests */
    tally_int128 stay_ns;       /* of requests that have left */
    int64_t n_too_long;          /* rejected on arrival: beyond the LLM's context or the KV cache */
    int64_t n_refused;           /* rejected by the batching policy */
    int64_t n_cut;               /* requests that end with the limit of their output, not with that of the trace */
    int64_t n_host_full;         /* preempted sequences that did not fit into host memory */
    const char *first_refusal, *first_refuser; /* the reason, and the policy's name */
    bool dry;                    /* the trace has ended */
    struct service_stats stats;
    struct service_classes classes;
};

/* A request in a closed loop, sent after its user has read the last answer and thought. */
struct follow_up {
    struct owner owner;
    struct service *service;
    struct awaited awaited;
};

/* Whether the request arrived after the warm-up and so counts in the metrics. */
static inline bool service_counts(const struct service *service, const struct request *request)
{
    return request->view.arrival_ns >= service->env.site->warmup_ns;
}

/* Asks the router for a replica and enqueues the request there. */
int service_route(struct service *service, struct request *request, sim_ns now);

/* A request arrives now. Returns 0 or a negative code. */
int service_admit(struct service *service, const struct awaited *awaited);

/* Copies the keys of the prompt's blocks, if prefixes are cached. Returns 0 or SIM_E_NOMEM. */
int service_keep_prefix(struct service *service, struct awaited *awaited);

/* Counts what a prompt repeats of earlier ones; emits a warning if that is much (service_hints.c). Return 0,
 * SIM_E_NOMEM or the sink's code. */
int service_see_prompt(struct service *service, const struct request_record *record);
int service_emit_repeats(const struct service *service);

/* Callback of replica_env (service_feed.c). */
int service_on_halted(struct replica *replica, sim_ns now);

/* Callbacks of replica_env. */
int service_on_batch(const struct replica *replica, const struct replica_batch *batch);
int service_on_compose(const struct replica *replica, sim_ns now); /* service_seen.c */
int service_on_queue(const struct replica *replica, const struct request_view *request, sim_ns now,
                     enum admission_step step);

/* Hand-over (service_handover.c): callbacks of replica_env. */
int service_on_prefilled(struct replica *replica, struct request *request, sim_ns now);
int service_on_handover(struct replica *replica, struct request *request, sim_ns now);
int service_on_move_kv(struct kv_move *move, sim_ns now);
int service_on_prefill(const struct replica *replica, const struct batch_prefill *prefill, int64_t free_blocks,
                       sim_ns now);
size_t service_handover_bytes(void); /* of a record in the pool */

/* Sends the KV of undecided requests while a replica that decodes is up. Returns 0 or a negative code. */
int service_send_undecided(struct service *service, sim_ns now);

/* Ends the hand-overs from and to a replica that fails, but for those that no longer need it. Requests of its own stay
 * there; others go to `lost`, to start anew. */
void service_lose_handovers(struct service *service, int32_t index, struct request_list *lost, sim_ns now);

/* Requests that decode as several sequences (service_sequences.c). The first three are callbacks of replica_env. */
int service_begin_group(struct replica *replica, struct request *request);
struct request *service_fork(struct replica *replica, const struct request *request, int32_t slot,
                             int32_t output_tokens);
void service_drop(struct replica *replica, struct request *sequence);
void service_free_groups(struct service *service);

/* A sequence has ended. Returns true if others of its request go on: it is freed. Otherwise it stands for the request,
 * with the sums of all sequences. */
bool service_end_sequence(struct replica *replica, struct request *sequence);

/* Of unfinished sequences in order of id, with their generated_tokens and max_gap, keeps the first of each request,
 * with the sums of all. Returns how many are left. */
size_t service_join_unfinished(const struct service *service, struct request **left, size_t n);

/* Time in the system, by `now`, that sequences in it count beyond the first one of each request. */
int64_t service_extra_stays_ns(const struct service *service, sim_ns now);

/* Emits sampling.*: of all services together from `all`, and of each if several decode so. */
int services_emit_sampling(struct service *const *services, size_t n, const struct service_stats *all,
                           const struct sink *sink);

/* Rows of the decision table about single requests (service_detail.c): only if the sink wants them. Return 0 or the
 * sink's code. service_detail_start sets the callbacks of the replicas; the sink must be set by then. */
static inline bool service_has_detail(const struct service *service)
{
    return service->env.site->sink->detail != NULL;
}

void service_detail_start(struct service *service);
int service_detail_route(const struct service *service, const struct request *request, sim_ns now);
int service_detail_too_long(const struct service *service, const struct request *request, sim_ns now);
int service_detail_prefill(const struct replica *replica, const struct batch_prefill *prefill, int64_t free_blocks,
                           sim_ns now);
int service_detail_handover(const struct service *service, const struct request *request, int32_t from, int64_t bytes,
                            sim_ns now);
int service_detail_arrived(const struct service *service, const struct request *request, sim_ns processed_ns,
                           sim_ns now);
int service_detail_finish(const struct replica *replica, const struct request *request, sim_ns now);

/* The service among the tenants of the site, and the failure of a node of its replica (service_failures.c). The replica
 * loses its KV and releases all its GPUs. Its requests go to other replicas or wait for one. Services whose failures
 * are not simulated do nothing. */
extern const struct tenant_ops service_tenant_ops;
int service_strike(struct holder *holder, struct holder_strike *strike, sim_ns now);

/* Whether failures affect the service and requests are still in it or to come. */
bool service_may_fail(const struct service *service);

/* Emits a warning about the whole run, unless the count is 0 (service_warnings.c). Returns 0 or the sink's code. */
int service_emit_warning(const struct service *service, const char *code, int64_t count, const char *text);

/* Emits all warnings about the whole run (service_warnings.c). Returns 0 or the sink's code. */
int service_emit_warnings(const struct service *service);

/* Checks that the batchers of all pools that may decode end requests at the same limit. Which of them serves a request
 * is known only after it arrives. Returns 0, or SIM_E_CONFIG with a finding that names two pools (service_hints.c). */
int service_check_outputs(const struct service *service);

/* Output tokens of a request that would make so many: at most those at which the batchers of the pools that may decode
 * end requests. Counts those that it cuts (service_hints.c). */
int32_t service_output_of(struct service *service, int32_t output_tokens);

/* Emits warnings of defaults that decide the result (service_hints.c). Returns 0 or the sink's code. */
int service_emit_hints(const struct service *service);

/* Emits warnings of what a service that has drafted takes for granted: how often drafts are right, that they cost
 * nothing, or a layer of the LLM that makes them (service_hints.c). Returns 0 or the sink's code. */
int service_emit_assumed_drafts(const struct service *service);

/* The node that holds all of at least two replicas, where the site has others; -1: none does (service_hints.c). */
int32_t service_only_node(const struct service *service);

/* Emits warnings about the models of pools (service_hints.c): of time and price, of memory, of power. Return 0 or the
 * sink's code. */
int service_emit_models(const struct service *service);
int service_emit_memory(const struct service *service);
int service_emit_power(const struct service *service);

/* Energy (service_energy.c). The latter two write to `text` why a pool has no energy, or what its power model is based
 * on, and return it; NULL: no such text. */
int services_emit_energy(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);
const char *service_energy_problem(const struct fleet_pool *pool, char *text, size_t text_bytes);
const char *service_energy_caveat(const struct service *service, const struct fleet_pool *pool, char *text,
                                  size_t text_bytes);

/* Copies the chunks of a record, if anything reuses chunks; frees them. Returns 0 or SIM_E_NOMEM (fleet_chunks.c). */
int service_keep_chunks(struct service *service, const struct request_record *record, struct chunk_prompt **chunks);
void service_free_chunks(struct service *service, struct chunk_prompt *chunks); /* NULL is allowed */

/* Metrics of chunk stores (fleet_chunks.c). Returns 0 or the sink's code. */
int services_emit_chunks(struct service *const *services, size_t n, const struct sink *sink);

/* Metrics of prefix stores (fleet_store.c). Returns 0 or the sink's code. */
int services_emit_stores(struct service *const *services, size_t n, const struct sink *sink, sim_ns now);

/* Writes the request's row, with its state at `now`. */
int service_emit_row(struct service *service, const struct request *request, const char *status, sim_ns now);

/* Transfers of swapped KV between a replica's GPUs and the memory of their host. Each GPU moves its own share over its
 * own links, in competition with other transfers. Host memory is reserved when a sequence is to leave, and released
 * when it has returned.
 *
 * Reserves host memory for a sequence. Returns 1; 0, reserving none, if the host is full; or SIM_E_NOMEM. */
int kv_transport_take_room(struct replica *replica, int64_t bytes, sim_ns now);

/* Releases the host memory of a sequence that is lost. Returns 0 or SIM_E_NOMEM. */
int kv_transport_give_room(struct replica *replica, int64_t bytes, sim_ns now);

/* As in struct component. */
void service_check(void *self, sim_ns now);
int service_series(void *self, struct sampler_series *series);
void service_sample(void *self, sim_ns at, double *values);
int service_finish(void *self, sim_ns now);

#endif
