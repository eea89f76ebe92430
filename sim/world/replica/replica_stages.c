/* Pipelines whose stages batch independently (struct batcher, pass), each with its own queue, like simdistserve's
 * workers (Zhong et al., OSDI 2024). A batch moves to the next stage when it has passed one, and the first stage takes
 * the next batch at once, however many are in the pipeline. Batches with prompts stay together and go before decoding
 * sequences. Decoding sequences that wait for a free stage pass it together, as many as the batcher allows, whatever
 * batch they came in. */
#include "sim/core/check.h"
#include "sim/core/mem.h"
#include "sim/world/replica/inside.h"

struct stage {
    struct inflight_batch *now; /* on this stage, or NULL */
    sim_ns start_ns, end_ns;
    struct inflight_batch *head, *tail; /* queue of batches with prompts */
    struct running_batch *decoding;    /* waiting sequences; NULL on the first stage, where they are ready */
};

struct pipeline {
    struct inflight_batch *spares;
    sim_ns passed_ns; /* mean stage time of decoding that has not completed */
    struct stage stages[]; /* [view.stages] */
};

/* --- Lifetime --- */

int replica_stages_init(struct replica *replica)
{
    int64_t n = replica->view.stages;
    if (replica->env->batcher->compose_stage == NULL || n == 1) return 0;
    replica->pipeline = mem_zalloc(1, sizeof *replica->pipeline + (size_t)n * sizeof(struct stage));
    if (replica->pipeline == NULL) return SIM_E_NOMEM;
    for (int64_t i = 1; i < n; i++)
        if ((replica->pipeline->stages[i].decoding = replica_take_spare_batch(replica)) == NULL) return SIM_E_NOMEM;
    return 0;
}

static void free_batches(struct inflight_batch *inflight)
{
    while (inflight != NULL) {
        struct inflight_batch *next = inflight->next;
        inflight_fini(inflight);
        mem_free(inflight);
        inflight = next;
    }
}

void replica_stages_fini(struct replica *replica)
{
    if (replica->pipeline == NULL) return;
    for (int64_t i = 0; i < replica->view.stages; i++) {
        struct stage *stage = &replica->pipeline->stages[i];
        free_batches(stage->now);
        free_batches(stage->head);
        running_free(stage->decoding);
    }
    free_batches(replica->pipeline->spares);
    mem_free(replica->pipeline);
}

static struct inflight_batch *take_batch(struct pipeline *pipeline)
{
    struct inflight_batch *inflight = pipeline->spares;
    if (inflight == NULL) return mem_zalloc(1, sizeof *inflight);
    pipeline->spares = inflight->next;
    inflight->next = NULL;
    return inflight;
}

static void give_batch(struct pipeline *pipeline, struct inflight_batch *inflight)
{
    inflight->next = pipeline->spares;
    pipeline->spares = inflight;
}

bool replica_first_stage_is_free(const struct replica *replica)
{
    return replica->pipeline->stages[0].now == NULL;
}

int64_t replica_first_stage_prompts(const struct replica *replica)
{
    const struct inflight_batch *now = replica->pipeline->stages[0].now;
    return now != NULL ? now->n_chunks : 0;
}

/* --- Leaving a stage --- */

static void wait_with_prompts(struct stage *stage, struct inflight_batch *inflight)
{
    inflight->next = NULL;
    if (stage->head == NULL)
        stage->head = inflight;
    else
        stage->tail->next = inflight;
    stage->tail = inflight;
}

/* Appends the sequences to those that wait already. */
static int wait_decoding(struct replica *replica, struct stage *stage, struct inflight_batch *inflight)
{
    struct running_batch *running = inflight->decoding;
    int code = 0;
    if (stage->decoding->members.n == 0) {
        struct running_batch *empty = stage->decoding;
        stage->decoding = running;
        running = empty;
    } else {
        code = running_merge(stage->decoding, running, BATCH_BY_RETURN);
    }
    inflight->decoding = NULL;
    replica_give_spare_batch(replica, running);
    give_batch(replica->pipeline, inflight);
    return code;
}

static int leave_last(struct replica *replica, struct inflight_batch *inflight, sim_ns now)
{
    struct pipeline *pipeline = replica->pipeline;
    if (inflight->n_chunks == 0) {
        inflight->busy_ns = pipeline->passed_ns;
        pipeline->passed_ns = 0;
    }
    int code = inflight_complete(replica, inflight, now);
    give_batch(pipeline, inflight);
    return code;
}

static int leave(struct replica *replica, int64_t index, sim_ns now)
{
    struct stage *stage = &replica->pipeline->stages[index];
    struct inflight_batch *inflight = stage->now;
    if (inflight == NULL || stage->end_ns > now) return 0;
    stage->now = NULL;
    if (inflight->n_chunks == 0)
        replica->pipeline->passed_ns += (stage->end_ns - stage->start_ns) / replica->view.stages;
    if (index + 1 == replica->view.stages) return leave_last(replica, inflight, now);
    if (inflight->n_chunks == 0) return wait_decoding(replica, stage + 1, inflight);
    wait_with_prompts(stage + 1, inflight);
    return 0;
}

/* --- Entering a stage --- */

static void enter(struct stage *stage, struct inflight_batch *inflight, sim_ns lasts_ns, sim_ns now)
{
    stage->now = inflight;
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
    struct inflight_batch *inflight = take_batch(replica->pipeline);
    if (inflight == NULL) return SIM_E_NOMEM;
    enter(&replica->pipeline->stages[0], inflight, 0, now);
    code = inflight_fill(replica, inflight, now);
    if (code == 0) code = inflight_set_times(replica, inflight);
    inflight->start_ns = now;
    enter(&replica->pipeline->stages[0], inflight, inflight->entry_ns, now);
    return code;
}

/* Sequences that wait for a later stage pass it, priced anew. */
static int enter_decoding(struct replica *replica, struct stage *stage, sim_ns now)
{
    struct inflight_batch *inflight = take_batch(replica->pipeline);
    if (inflight == NULL) return SIM_E_NOMEM;
    inflight->n_chunks = 0;
    inflight->prefilling = (struct request_list){0};
    enter(stage, inflight, 0, now);
    int code = inflight_fill_decoding(replica, inflight, &stage->decoding,
                                      replica_plan_stage(replica, stage->decoding, now));
    if (code != 0) return code;
    inflight->start_ns = now;
    inflight->work = (struct iteration_work){.decode_sequences = inflight->decoding->members.n,
                                             .decode_context_tokens = inflight->decoding->context_tokens,
                                             .decode_longest_tokens = running_longest_tokens(inflight->decoding)};
    code = inflight_set_times(replica, inflight);
    enter(stage, inflight, inflight->stage_ns, now);
    return code;
}

static int enter_next(struct replica *replica, struct stage *stage, sim_ns now)
{
    struct inflight_batch *inflight = stage->head;
    if (inflight == NULL) return stage->decoding->members.n > 0 ? enter_decoding(replica, stage, now) : 0;
    stage->head = inflight->next;
    inflight->next = NULL;
    enter(stage, inflight, inflight->stage_ns, now);
    return 0;
}

static void arm(struct replica *replica)
{
    sim_ns end_ns = SIM_NS_MAX;
    bool is_busy = false;
    for (int64_t i = 0; i < replica->view.stages; i++) {
        const struct stage *stage = &replica->pipeline->stages[i];
        if (stage->now == NULL) continue;
        is_busy = true;
        if (stage->end_ns < end_ns) end_ns = stage->end_ns;
    }
    replica->state = is_busy ? REPLICA_IN_FLIGHT : REPLICA_IDLE;
    if (is_busy && !replica->is_woken) replica_arm(replica, end_ns);
}

int replica_stages_step(struct replica *replica, sim_ns now)
{
    struct stage *stages = replica->pipeline->stages;
    int code = 0;
    for (int64_t i = replica->view.stages - 1; i >= 0 && code == 0; i--) code = leave(replica, i, now);
    for (int64_t i = 1; i < replica->view.stages && code == 0; i++)
        if (stages[i].now == NULL) code = enter_next(replica, &stages[i], now);
    if (code == 0 && stages[0].now == NULL) code = enter_first(replica, now);
    if (code == 0) arm(replica);
    return code;
}

static void drop(struct replica *replica, struct inflight_batch *inflight)
{
    if (inflight == NULL) return;
    inflight_drop(replica, inflight);
    give_batch(replica->pipeline, inflight);
}

void replica_stages_drop(struct replica *replica)
{
    for (int64_t i = 0; i < replica->view.stages; i++) {
        struct stage *stage = &replica->pipeline->stages[i];
        drop(replica, stage->now);
        for (struct inflight_batch *inflight = stage->head, *next; inflight != NULL; inflight = next) {
            next = inflight->next;
            drop(replica, inflight);
        }
        stage->now = stage->head = stage->tail = NULL;
    }
    replica->pipeline->passed_ns = 0;
}

/* --- Observing --- */

sim_ns replica_stages_busy_ns(const struct replica *replica, sim_ns at)
{
    sim_ns busy_ns = replica->pipeline->passed_ns;
    for (int64_t i = 0; i < replica->view.stages; i++) {
        const struct stage *stage = &replica->pipeline->stages[i];
        if (stage->now != NULL && stage->start_ns < at) busy_ns += (at - stage->start_ns) / replica->view.stages;
    }
    return busy_ns;
}

int replica_stages_settle(struct replica *replica, sim_ns now)
{
    int code = 0;
    for (int64_t i = 0; i < replica->view.stages && code == 0; i++) {
        const struct stage *stage = &replica->pipeline->stages[i];
        if (stage->now != NULL && stage->start_ns < now) code = inflight_report(replica, stage->now, 0, now);
    }
    replica->counts.busy_ns += replica_stages_busy_ns(replica, now);
    return code;
}

int64_t replica_stages_held_tokens(const struct replica *replica)
{
    int64_t tokens = 0;
    for (int64_t i = 0; i < replica->view.stages; i++) {
        const struct stage *stage = &replica->pipeline->stages[i];
        if (stage->now != NULL) tokens += inflight_held_tokens(stage->now);
        for (const struct inflight_batch *inflight = stage->head; inflight != NULL; inflight = inflight->next)
            tokens += inflight_held_tokens(inflight);
        if (stage->decoding != NULL) tokens += stage->decoding->context_tokens - stage->decoding->members.n;
    }
    return tokens;
}

static void visit_batch(const struct inflight_batch *inflight, void (*visit)(void *context, struct request *request),
                        void *context)
{
    if (inflight == NULL) return;
    request_list_each(&inflight->prefilling, visit, context);
    if (inflight->decoding != NULL) request_list_each(&inflight->decoding->members, visit, context);
}

void replica_stages_each(const struct replica *replica, void (*visit)(void *context, struct request *request),
                         void *context)
{
    for (int64_t i = 0; i < replica->view.stages; i++) {
        const struct stage *stage = &replica->pipeline->stages[i];
        visit_batch(stage->now, visit, context);
        for (const struct inflight_batch *inflight = stage->head; inflight != NULL; inflight = inflight->next)
            visit_batch(inflight, visit, context);
        if (stage->decoding != NULL) request_list_each(&stage->decoding->members, visit, context);
    }
}
