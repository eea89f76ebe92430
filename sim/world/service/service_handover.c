/* Hand-over: a request whose prompt one replica has processed decodes at another one, and its KV moves there.
 *
 * In serial mode all KV moves after the prompt. In layer-wise mode all layers but the last move from the start of the
 * iteration that ends the prompt. The last layer follows when the prompt is processed and they have arrived (Splitwise,
 * ISCA 2024, section IV-C). A pulled transfer starts when the decoding replica has room and takes the request
 * (DistServe, OSDI 2024). A pushed or layer-wise one starts at once, and its KV waits there to be taken. In either case
 * the first replica holds the blocks until the KV has arrived and has been taken. Requests are taken in order of
 * arrival, at boundaries between iterations (in DistServe's engine also within them). If its KV has already arrived, a
 * request is in the iteration that begins; otherwise in one that begins after its KV has arrived. If `decode_routing`
 * chooses the decoding replica, it is asked when the transfer may begin; while none is up, the KV stays where it is.
 *
 * A failure of either replica loses the KV, unless all of it has left the failed one: the request starts anew.
 *
 * Leaves out: what a layer-wise transfer costs the prompt's computation, and the timing of its bytes if a prompt comes
 * in pieces: all pieces move with the last one. A request whose first token is its last is not handed over. A batch
 * that already waits for KV gets it, even if its sender fails. KV that was to go to a failed replica is not sent to
 * another one. */
#include "sim/core/check.h"
#include "sim/world/rows/priority.h"
#include "sim/world/service/scaling_state.h"
#include "sim/world/service/service_state.h"

/* --- Swapped KV --- */

static int find_host(struct replica *replica, struct tier **host)
{
    return topology_tier(&replica->placement, TIER_DRAM, host);
}

int kv_transport_give_room(struct replica *replica, int64_t bytes, sim_ns now)
{
    struct tier *host;
    const int code = find_host(replica, &host);
    if (code == 0) tier_give(host, now, bytes);
    return code;
}

static int has_arrived(struct kv_move *move, sim_ns now)
{
    const int code = move->direction == KV_IN ? kv_transport_give_room(move->replica, move->bytes, now) : 0;
    return code != 0 ? code : replica_kv_moved(move, now);
}

static void on_arrival(struct transfer *transfer, sim_ns now)
{
    struct kv_move *move = TRANSFER_ENTITY(transfer, struct kv_move, transfer);
    struct engine *engine = move->replica->env->engine;
    int code = has_arrived(move, now);
    if (code != 0) engine_fail(engine, code);
}

int kv_transport_take_room(struct replica *replica, int64_t bytes, sim_ns now)
{
    struct tier *host;
    int code = find_host(replica, &host);
    return code != 0 ? code : tier_take(host, now, bytes);
}

/* Starts a move between GPUs and host memory; the bytes of an outgoing one are reserved. Returns 0 or SIM_E_NOMEM. */
static int kv_transport_move(struct kv_move *move)
{
    struct topology_placement *placement = &move->replica->placement;
    struct topology_end gpus = {placement, NULL}, host = {placement, NULL};
    SIM_REQUIRE(!move->request->is_remote);
    int code = find_host(move->replica, &host.tier);
    if (code != 0) return code;
    bool out = move->direction == KV_OUT;
    return topology_move(placement->topology, out ? gpus : host, out ? host : gpus, move->bytes, &move->transfer,
                         on_arrival);
}

/* --- Hand-over --- */

enum part_state { PART_HELD, PART_MOVING, PART_MOVED };

/* A part of the bytes, moved in one transfer. */
struct part {
    struct owner owner; /* of its latency, and of its end if no links are used */
    struct handover *handover;
    enum part_state state;
    int64_t bytes;
    sim_ns start_ns, moved_ns;   /* with the latency */
    struct transfer_alone alone; /* only if the sink wants rows of hand-overs */
    struct transfer transfer;
};

struct handover {
    struct service *service;
    struct handover *prev, *next; /* in order of their beginning */
    struct request *request;
    int32_t from; /* replica of the prompt; -1: lost, and no longer needed */
    int32_t sender; /* the same, also when it is lost */
    int32_t from_group, to_group; /* attention groups of both replicas, in turn */
    sim_ns processed_ns; /* TIME_UNSET: not yet */
    struct part early, rest;
    struct kv_move *move; /* that waits for it; NULL: the request has not been taken yet */
};

size_t service_handover_bytes(void)
{
    return sizeof(struct handover);
}

static int advance(struct handover *handover, sim_ns now);

/* `service`: read before the step that gave `code`, which may have ended the hand-over. */
static void check(const struct service *service, int code)
{
    if (code != 0) engine_fail(service->env.site->engine, code);
}

/* --- Rows --- */

static struct handover_part row_of_part(const struct part *part)
{
    const sim_ns latency_ns = part->handover->service->config->kv_transfer.latency_ns;
    return (struct handover_part){.bytes = part->bytes,
                                  .start_s = sim_s_from_ns(part->start_ns),
                                  .moved_s = sim_s_from_ns(part->moved_ns),
                                  .alone_s = part->alone.seconds + sim_s_from_ns(latency_ns),
                                  .link = part->alone.link,
                                  .last = part->alone.last,
                                  .link_bytes_per_s = part->alone.link_bytes_per_s};
}

/* Reports a step of the hand-over, if the sink wants to know. */
static int report(const struct handover *handover, enum handover_step step, sim_ns now)
{
    const struct service *service = handover->service;
    const struct sink *sink = service->env.site->sink;
    const struct request *request = handover->request;
    const struct kv_move *move = handover->move;
    if (sink->handover == NULL) return 0;
    struct handover_row row = {.t_s = sim_s_from_ns(now), .step = step, .service = service->config->name,
                               .request = request->view.id, .from = handover->sender, .to = request->decode_replica};
    if (step == HANDOVER_TAKEN) {
        row.blocks = request->held_blocks;
        row.free_blocks = move->replica->kv.free_blocks + row.blocks; /* before it took them */
    }
    if (step == HANDOVER_ARRIVED) {
        row.parts[0] = row_of_part(&handover->early);
        row.parts[1] = row_of_part(&handover->rest);
    }
    return sink->handover(sink->context, &row);
}

/* --- Moving a part --- */

static void part_arrived(struct part *part, sim_ns now)
{
    struct service *service = part->handover->service;
    part->state = PART_MOVED;
    part->moved_ns = now;
    service->stats.kv_transfer_bytes += part->bytes;
    check(service, advance(part->handover, now));
}

static void transfer_arrived(struct transfer *transfer, sim_ns now)
{
    part_arrived(TRANSFER_ENTITY(transfer, struct part, transfer), now);
}

static void timer_arrived(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    part_arrived(OWNER_ENTITY(owner, struct part, owner), now);
}

static int put_on_its_way(struct part *part, sim_ns now)
{
    const struct handover *handover = part->handover;
    struct service *service = handover->service;
    double bytes_per_s = service->config->kv_transfer.bytes_per_s;
    if (bytes_per_s > 0) {
        sim_ns took_ns = sim_ns_from_s((double)part->bytes / bytes_per_s);
        part->alone = (struct transfer_alone){.seconds = sim_s_from_ns(took_ns), .link_bytes_per_s = bytes_per_s};
        engine_arm(service->env.site->engine, sim_ns_add(now, took_ns), PRIORITY_LINK, timer_arrived, &part->owner);
        return 0;
    }
    const struct replica *replicas = service->fleet.replicas;
    const struct replica *sender = &replicas[handover->from], *taker = &replicas[handover->request->decode_replica];
    struct topology_end from = {fleet_kv_placement(sender, handover->from_group), NULL};
    struct topology_end to = {fleet_kv_placement(taker, handover->to_group), NULL};
    const int code = topology_move(service->env.topology, from, to, part->bytes, &part->transfer, transfer_arrived);
    if (code == 0 && service->env.site->sink->handover != NULL) part->alone = transfer_alone(&part->transfer);
    return code;
}

static void latency_over(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct part *part = OWNER_ENTITY(owner, struct part, owner);
    const struct service *service = part->handover->service;
    check(service, put_on_its_way(part, now));
}

static int part_start(struct part *part, sim_ns now)
{
    const struct service *service = part->handover->service;
    sim_ns latency_ns = service->config->kv_transfer.latency_ns;
    part->state = PART_MOVING;
    part->start_ns = now;
    if (latency_ns == 0) return put_on_its_way(part, now);
    engine_arm(service->env.site->engine, sim_ns_add(now, latency_ns), PRIORITY_LINK, latency_over, &part->owner);
    return 0;
}

/* --- The hand-over of a request --- */

static bool is_pushed(const struct handover *handover)
{
    const struct kv_transfer_config *config = &handover->service->config->kv_transfer;
    return config->start == KV_TRANSFER_PUSH || handover->early.bytes > 0;
}

/* The replica of the prompt gives up the KV. An undecided request still counts there. */
static void release_sender(struct handover *handover, sim_ns now)
{
    struct service *service = handover->service;
    const struct request *request = handover->request;
    if (handover->from < 0) return;
    replica_release_kv(&service->fleet.replicas[handover->from], handover->request, now);
    if (request->decode_replica >= 0) fleet_handed_over(&service->fleet, request, handover->from);
    if (service->scaling != NULL) scaling_on_release(service->scaling, handover->from, now);
    handover->from = -1;
}

static void forget(struct handover *handover)
{
    struct service *service = handover->service;
    *(handover->prev != NULL ? &handover->prev->next : &service->handing_over.first) = handover->next;
    *(handover->next != NULL ? &handover->next->prev : &service->handing_over.last) = handover->prev;
    handover->request->handover = NULL;
    handover->request->kv_is_pushed = false;
    pool_give(&service->handovers, handover);
}

/* Ends a hand-over: the KV is at the decoding replica, and has been taken. */
static int end(struct handover *handover, sim_ns now)
{
    struct service *service = handover->service;
    struct request *request = handover->request;
    struct kv_move *move = handover->move;
    release_sender(handover, now);
    request->is_remote = false;
    int code = report(handover, HANDOVER_ARRIVED, now);
    if (code == 0 && service_has_detail(service))
        code = service_detail_arrived(service, request, handover->processed_ns, now);
    if (code == 0 && service_counts(service, request))
        code = distribution_add(&service->stats.kv_transfer_s, sim_s_from_ns(now - handover->processed_ns));
    forget(handover);
    return code != 0 ? code : replica_kv_moved(move, now);
}

/* Takes the next possible step of the hand-over. */
static int advance(struct handover *handover, sim_ns now)
{
    if (handover->processed_ns == TIME_UNSET || handover->early.state == PART_MOVING) return 0;
    if (handover->rest.state == PART_HELD && (handover->move != NULL || is_pushed(handover)))
        return part_start(&handover->rest, now);
    handover->request->kv_is_pushed = handover->rest.state == PART_MOVED;
    return handover->request->kv_is_pushed && handover->move != NULL ? end(handover, now) : 0;
}

static void part_init(struct part *part, struct handover *handover)
{
    *part = (struct part){.handover = handover};
    owner_init_passing(&part->owner, OWNER_ID_SERVICES, handover->service->env.site->next_serial++);
}

/* The attention group of a replica that has the sequence; 0 without groups. */
static int32_t take_group(struct replica *replica)
{
    const int32_t group = replica->next_group;
    if (replica->n_groups > 1) replica->next_group = (group + 1) % replica->n_groups;
    return group;
}

/* Chooses the replica that decodes, if one is up. Returns 0 or a negative code. */
static int choose_taker(struct handover *handover, sim_ns now)
{
    struct fleet *fleet = &handover->service->fleet;
    struct request *request = handover->request;
    int code = 0;
    if (request->decode_replica < 0 && fleet_may_decode(fleet)) code = fleet_route_decode(fleet, request, now);
    if (code == 0 && request->decode_replica >= 0)
        handover->to_group = take_group(&fleet->replicas[request->decode_replica]);
    return code;
}

static int begin(struct service *service, struct request *request, int32_t from, sim_ns now)
{
    struct handover *handover = pool_take(&service->handovers), *last = service->handing_over.last;
    if (handover == NULL) return SIM_E_NOMEM;
    *handover = (struct handover){.service = service,
                                  .prev = last,
                                  .request = request,
                                  .from = from,
                                  .sender = from,
                                  .from_group = take_group(&service->fleet.replicas[from]),
                                  .processed_ns = TIME_UNSET};
    part_init(&handover->early, handover);
    part_init(&handover->rest, handover);
    *(last != NULL ? &last->next : &service->handing_over.first) = handover;
    service->handing_over.last = handover;
    request->handover = handover;
    return choose_taker(handover, now);
}

/* Keys and values of so many tokens. */
static int64_t kv_bytes(const struct service *service, double tokens)
{
    return llround(llm_kv_bytes_per_token(&service->llm) * tokens);
}

/* --- Callbacks --- */

/* Starts the transfer of all layers but the last while the prompt is processed. */
static int begin_layer_wise(struct service *service, const struct replica *replica, const struct batch_prefill *prefill,
                            sim_ns now)
{
    const struct kv_transfer_config *config = &service->config->kv_transfer;
    struct request *request = request_of(prefill->request);
    bool ends = request->view.prefilled_tokens + prefill->tokens == request->view.prompt_tokens;
    bool stays = request->decode_replica == replica->index || request->generated_tokens + 1 >= request->output_tokens;
    if (config->mode != KV_TRANSFER_LAYER_WISE || !ends || stays ||
        request->view.prompt_tokens < config->layer_wise_from_tokens ||
        (request->decode_replica < 0 && !fleet_may_decode(&service->fleet)))
        return 0;
    int code = begin(service, request, replica->index, now);
    if (code != 0) return code;
    struct part *early = &request->handover->early;
    double last_layer_tokens = (double)prefill->tokens / (double)service->llm.layers;
    early->bytes = kv_bytes(service, (double)request->view.prompt_tokens - last_layer_tokens);
    return early->bytes > 0 ? part_start(early, now) : 0;
}

int service_on_prefill(const struct replica *replica, const struct batch_prefill *prefill, int64_t free_blocks,
                       sim_ns now)
{
    struct service *service = replica->env->owner;
    const int code = service_has_detail(service) ? service_detail_prefill(replica, prefill, free_blocks, now) : 0;
    return code != 0 ? code : begin_layer_wise(service, replica, prefill, now);
}

int service_on_prefilled(struct replica *replica, struct request *request, sim_ns now)
{
    (void)now;
    return request->decode_replica != replica->index;
}

/* The replica that decodes is known, and the prompt processed. */
static int send(struct handover *handover, sim_ns now)
{
    struct service *service = handover->service;
    struct request *request = handover->request;
    const int64_t bytes = handover->early.bytes + handover->rest.bytes;
    int code = 0;
    if (service_has_detail(service)) code = service_detail_handover(service, request, handover->from, bytes, now);
    if (code != 0) return code;
    replica_enqueue_remote(&service->fleet.replicas[request->decode_replica], request, now);
    return advance(handover, now);
}

int service_on_handover(struct replica *replica, struct request *request, sim_ns now)
{
    struct service *service = replica->env->owner;
    int code = request->handover == NULL ? begin(service, request, replica->index, now) : 0;
    if (code != 0) return code;
    struct handover *handover = request->handover;
    handover->processed_ns = now;
    handover->rest.bytes = kv_bytes(service, request->view.prompt_tokens) + llround(llm_state_bytes(&service->llm, 1)) -
                           handover->early.bytes;
    if ((code = report(handover, HANDOVER_PROCESSED, now)) != 0) return code;
    if (request->decode_replica >= 0) return send(handover, now);
    request_list_push_back(&service->handing_over.undecided, request);
    return 0;
}

int service_send_undecided(struct service *service, sim_ns now)
{
    struct request_list *undecided = &service->handing_over.undecided;
    int code = 0;
    while (code == 0 && undecided->n > 0 && fleet_may_decode(&service->fleet)) {
        struct handover *handover = undecided->head->handover;
        request_list_remove(undecided, undecided->head);
        code = choose_taker(handover, now);
        if (code == 0) code = send(handover, now);
    }
    return code;
}

/* The KV has already arrived; the batch learns of it in an event of its own. */
static void taken(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct handover *handover = OWNER_ENTITY(owner, struct part, owner)->handover;
    const struct service *service = handover->service;
    check(service, advance(handover, now));
}

int service_on_move_kv(struct kv_move *move, sim_ns now)
{
    struct handover *handover = move->request->handover;
    if (handover == NULL) return kv_transport_move(move); /* to the host, or back */
    SIM_REQUIRE(handover->move == NULL);
    handover->move = move;
    const int code = report(handover, HANDOVER_TAKEN, now);
    if (code != 0) return code;
    if (handover->rest.state != PART_MOVED || move->wait) return advance(handover, now);
    engine_arm(handover->service->env.site->engine, now, PRIORITY_LINK, taken, &handover->rest.owner);
    return 0;
}

/* --- Failures --- */

static void stop_part(struct part *part)
{
    engine_disarm(part->handover->service->env.site->engine, &part->owner);
    transfer_cancel(&part->transfer);
}

/* Ends a hand-over whose KV is lost. Its request is, or will be, in no replica but the failed one. */
static void cancel(struct handover *handover, sim_ns now)
{
    stop_part(&handover->early);
    stop_part(&handover->rest);
    release_sender(handover, now);
    forget(handover);
}

/* The KV counts as arrived: a batch waits for it. */
static void arrive_at_once(struct handover *handover, sim_ns now)
{
    stop_part(&handover->early);
    stop_part(&handover->rest);
    handover->early.state = handover->rest.state = PART_MOVED;
    handover->rest.moved_ns = now;
    engine_arm(handover->service->env.site->engine, now, PRIORITY_LINK, taken, &handover->rest.owner);
}

/* The replica of the prompt fails after it has processed the prompt. */
static void lose_sender(struct handover *handover, struct request_list *lost, sim_ns now)
{
    struct service *service = handover->service;
    struct request *request = handover->request;
    const bool is_undecided = request->decode_replica < 0, is_there = handover->rest.state == PART_MOVED;
    const bool is_awaited = handover->move != NULL && handover->move->wait;
    if (is_there || is_awaited) {
        if (!is_there) arrive_at_once(handover, now);
        release_sender(handover, now);
        return;
    }
    struct replica *sender = &service->fleet.replicas[handover->from];
    struct replica *taker = is_undecided ? NULL : &service->fleet.replicas[request->decode_replica];
    if (is_undecided) request_list_remove(&service->handing_over.undecided, request);
    cancel(handover, now);
    if (is_undecided)
        replica_restart_request(sender, request);
    else
        replica_drop_remote(taker, request, now);
    request_list_push_back(lost, request);
}

void service_lose_handovers(struct service *service, int32_t index, struct request_list *lost, sim_ns now)
{
    for (struct handover *handover = service->handing_over.first, *next; handover != NULL; handover = next) {
        struct request *request = handover->request;
        const bool is_processed = handover->processed_ns != TIME_UNSET, is_sender = handover->from == index;
        next = handover->next;
        if (!is_sender && request->decode_replica != index) continue;
        if (is_processed && is_sender) {
            lose_sender(handover, lost, now);
        } else if (is_processed) {
            cancel(handover, now);
        } else { /* the prompt is being processed */
            stop_part(&handover->early);
            forget(handover);
            if (!is_sender) fleet_unassign_decode(&service->fleet, request);
        }
    }
}
