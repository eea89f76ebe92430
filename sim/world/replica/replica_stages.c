/* Pipelines whose stages batch independently (struct batcher, pass), each with its own queue, like simdistserve's
 * workers (Zhong et al., OSDI 2024). A batch moves to the next stage when it has passed one, and the first stage takes
 * the next batch at once, however many are in the pipeline. Batches with prompts stay together and go before decoding
 * sequences. Decoding sequences that wait for a free stage pass it together, as many as the batcher allows, whatever
 * batch they came in. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/replica/inside.h"

struct stage {
    struct flight *now; /* on this stage, or NULL */
    sim_ns start_ns, end_ns;
    struct flight *head, *tail; /* queue of batches with prompts */
    struct running_batch *decoding;    /* waiting sequences; NULL on the first stage, where they are ready */
};

struct stage_line {
    struct flight *spares;
    sim_ns passed_ns; /* mean stage time of decoding that has not completed */
    struct stage stages[]; /* [view.stages] */
};

/* --- Lifetime --- */

int replica_stages_init(struct replica *replica)
{
    int64_t n = replica->view.stages;
    if (replica->env->batcher->pass == NULL || n == 1) return 0;
    replica->line = mem_zalloc(1, sizeof *replica->line + (size_t)n * sizeof(struct stage));
    if (replica->line == NULL) return SIM_E_NOMEM;
    for (int64_t i = 1; i < n; i++)
        if ((replica->line->stages[i].decoding = flight_take_running(replica)) == NULL) return SIM_E_NOMEM;
    return 0;
}

static void free_flights(struct flight *flight)
{
    while (flight != NULL) {
        struct flight *next = flight->next;
        flight_fini(flight);
        mem_free(flight);
        flight = next;
    }
}

void replica_stages_fini(struct replica *replica)
{
    if (replica->line == NULL) return;
    for (int64_t i = 0; i < replica->view.stages; i++) {
        struct stage *stage = &replica->line->stages[i];
        free_flights(stage->now);
        free_flights(stage->head);
        flight_free_running(stage->decoding);
    }
    free_flights(replica->line->spares);
    mem_free(replica->line);
}

static struct flight *take_flight(struct stage_line *line)
{
    struct flight *flight = line->spares;
    if (flight == NULL) return mem_zalloc(1, sizeof *flight);
    line->spares = flight->next;
    flight->next = NULL;
    return flight;
}

static void give_flight(struct stage_line *line, struct flight *flight)
{
    flight->next = line->spares;
    line->spares = flight;
}

bool replica_first_stage_is_free(const struct replica *replica)
{
    return replica->line->stages[0].now == NULL;
}

int64_t replica_first_stage_prompts(const struct replica *replica)
{
    const struct flight *now = replica->line->stages[0].now;
    return now != NULL ? now->n_chunks : 0;
}

/* --- Leaving a stage --- */

static void wait_with_prompts(struct stage *stage, struct flight *flight)
{
    flight->next = NULL;
    if (stage->head == NULL)
        stage->head = flight;
    else
        stage->tail->next = flight;
    stage->tail = flight;
}

/* Appends the sequences to those that wait already. */
static int wait_decoding(struct replica *replica, struct stage *stage, struct flight *flight)
{
    struct running_batch *running = flight->decoding;
    int code = 0;
    if (stage->decoding->members.n == 0) {
        struct running_batch *empty = stage->decoding;
        stage->decoding = running;
        running = empty;
    } else {
        code = running_merge(stage->decoding, running, BATCH_AS_THEY_COME);
    }
    flight->decoding = NULL;
    flight_give_running(replica, running);
    give_flight(replica->line, flight);
    return code;
}

static int leave_last(struct replica *replica, struct flight *flight, sim_ns now)
{
    struct stage_line *line = replica->line;
    if (flight->n_chunks == 0) {
        flight->busy_ns = line->passed_ns;
        line->passed_ns = 0;
    }
    int code = flight_land(replica, flight, now);
    give_flight(line, flight);
    return code;
}

static int leave(struct replica *replica, int64_t index, sim_ns now)
{
    struct stage *stage = &replica->line->stages[index];
    struct flight *flight = stage->now;
    if (flight == NULL || stage->end_ns > now) return 0;
    stage->now = NULL;
    if (flight->n_chunks == 0) replica->line->passed_ns += (stage->end_ns - stage->start_ns) / replica->view.stages;
    if (index + 1 == replica->view.stages) return leave_last(replica, flight, now);
    if (flight->n_chunks == 0) return wait_decoding(replica, stage + 1, flight);
    wait_with_prompts(stage + 1, flight);
    return 0;
}

/* --- Entering a stage --- */

static void enter(struct stage *stage, struct flight *flight, sim_ns lasts_ns, sim_ns now)
{
    stage->now = flight;
    stage->start_ns = now;
    stage->end_ns = sim_ns_add(now, lasts_ns);
}

/* Asks the batcher, repeatedly after plans that only remove requests. Returns 1 if a batch starts, 0, or a negative
 * code. */
static int plan_batch(struct replica *replica, sim_ns now)
{
    int code = replica_join_arrived(replica);
    while (code == 0 && replica_has_work(replica)) {
        code = replica_plan(replica, now);
        if (code == 0 && replica_plan_starts(replica)) return 1;
        if (code == 0 && !replica_plan_departs(replica)) return 0;
    }
    return code;
}

static int enter_first(struct replica *replica, sim_ns now)
{
    int code = plan_batch(replica, now);
    if (code <= 0) return code;
    struct flight *flight = take_flight(replica->line);
    if (flight == NULL) return SIM_E_NOMEM;
    enter(&replica->line->stages[0], flight, 0, now);
    code = flight_board(replica, flight, now);
    if (code == 0) code = flight_price(replica, flight);
    flight->start_ns = now;
    enter(&replica->line->stages[0], flight, flight->entry_ns, now);
    return code;
}

/* Sequences that wait for a later stage pass it, priced anew. */
static int enter_decoding(struct replica *replica, struct stage *stage, sim_ns now)
{
    struct flight *flight = take_flight(replica->line);
    if (flight == NULL) return SIM_E_NOMEM;
    flight->n_chunks = 0;
    flight->prefilling = (struct request_list){0};
    enter(stage, flight, 0, now);
    int code = flight_board_decoding(replica, flight, &stage->decoding,
                                     replica_plan_pass(replica, stage->decoding, now));
    if (code != 0) return code;
    flight->start_ns = now;
    flight->work = (struct iteration_work){.decode_sequences = flight->decoding->members.n,
                                           .decode_context_tokens = flight->decoding->context_tokens,
                                           .decode_longest_tokens = running_longest_tokens(flight->decoding)};
    code = flight_price(replica, flight);
    enter(stage, flight, flight->stage_ns, now);
    return code;
}

static int enter_next(struct replica *replica, struct stage *stage, sim_ns now)
{
    struct flight *flight = stage->head;
    if (flight == NULL) return stage->decoding->members.n > 0 ? enter_decoding(replica, stage, now) : 0;
    stage->head = flight->next;
    flight->next = NULL;
    enter(stage, flight, flight->stage_ns, now);
    return 0;
}

static void arm(struct replica *replica)
{
    sim_ns end_ns = SIM_NS_MAX;
    bool flies = false;
    for (int64_t i = 0; i < replica->view.stages; i++) {
        const struct stage *stage = &replica->line->stages[i];
        if (stage->now == NULL) continue;
        flies = true;
        if (stage->end_ns < end_ns) end_ns = stage->end_ns;
    }
    replica->state = flies ? REPLICA_FLYING : REPLICA_IDLE;
    if (flies && !replica->is_woken) replica_arm(replica, end_ns);
}

int replica_stages_step(struct replica *replica, sim_ns now)
{
    struct stage *stages = replica->line->stages;
    int code = 0;
    for (int64_t i = replica->view.stages - 1; i >= 0 && code == 0; i--) code = leave(replica, i, now);
    for (int64_t i = 1; i < replica->view.stages && code == 0; i++)
        if (stages[i].now == NULL) code = enter_next(replica, &stages[i], now);
    if (code == 0 && stages[0].now == NULL) code = enter_first(replica, now);
    if (code == 0) arm(replica);
    return code;
}

static void drop(struct replica *replica, struct flight *flight)
{
    if (flight == NULL) return;
    flight_drop(replica, flight);
    give_flight(replica->line, flight);
}

void replica_stages_drop(struct replica *replica)
{
    for (int64_t i = 0; i < replica->view.stages; i++) {
        struct stage *stage = &replica->line->stages[i];
        drop(replica, stage->now);
        for (struct flight *flight = stage->head, *next; flight != NULL; flight = next) {
            next = flight->next;
            drop(replica, flight);
        }
        stage->now = stage->head = stage->tail = NULL;
    }
    replica->line->passed_ns = 0;
}

/* --- Observing --- */

sim_ns replica_stages_busy_ns(const struct replica *replica, sim_ns at)
{
    sim_ns busy_ns = replica->line->passed_ns;
    for (int64_t i = 0; i < replica->view.stages; i++) {
        const struct stage *stage = &replica->line->stages[i];
        if (stage->now != NULL && stage->start_ns < at) busy_ns += (at - stage->start_ns) / replica->view.stages;
    }
    return busy_ns;
}

int replica_stages_settle(struct replica *replica, sim_ns now)
{
    int code = 0;
    for (int64_t i = 0; i < replica->view.stages && code == 0; i++) {
        const struct stage *stage = &replica->line->stages[i];
        if (stage->now != NULL && stage->start_ns < now) code = flight_tell(replica, stage->now, 0, now);
    }
    replica->counts.busy_ns += replica_stages_busy_ns(replica, now);
    return code;
}

static void visit_flight(const struct flight *flight, void (*visit)(void *context, struct request *request),
                         void *context)
{
    if (flight == NULL) return;
    request_list_each(&flight->prefilling, visit, context);
    if (flight->decoding != NULL) request_list_each(&flight->decoding->members, visit, context);
}

void replica_stages_each(const struct replica *replica, void (*visit)(void *context, struct request *request),
                         void *context)
{
    for (int64_t i = 0; i < replica->view.stages; i++) {
        const struct stage *stage = &replica->line->stages[i];
        visit_flight(stage->now, visit, context);
        for (const struct flight *flight = stage->head; flight != NULL; flight = flight->next)
            visit_flight(flight, visit, context);
        if (stage->decoding != NULL) request_list_each(&stage->decoding->members, visit, context);
    }
}
