/* Gavel's first in, first out: jobs get a node type in order of submission and keep it until they finish. The type is
 * a random one of those with room. If no node type has room for the first job of the queue, no later job gets one.
 * gavel-fifo-perf instead assigns all types again at every allocation. The oldest job goes first, and each gets the
 * fastest type with room, so most jobs keep theirs.
 *
 * gavel-fifo-packed does the same. Then each job of the queue in turn joins the job that it gains most with: one of
 * equal width, on its node type, where the speeds of both beside each other, over those alone, add up to more than
 * `least_gain`. The first job that none suits ends this. The released code, which has 1.5 for `least_gain`, forgets the
 * job for which there was no room.
 *
 * gavel-fifo follows the released simulator in one more point. For each job that has finished since the last
 * allocation, in order of submission, the first job of the queue gets its node type. It must fit beside the jobs
 * submitted before the finished one; later ones do not count yet. So admitted jobs may need more GPUs than exist, and
 * run in turns. With several node types it follows the paper by default. `"types": "released"` does as the released
 * code, which the curves of the authors show. It draws among the listed types on which the job fits, but then takes the
 * last listed type by name, whether or not the job fits. At first all types with free GPUs are listed. When the taken
 * type has exactly no GPU left, the drawn type is struck off. So the fastest type gets most jobs, and more than fit. */
#include "policies/declared.h"
#include "policies/scheduler/gavel/gavel_rounds.h"

#include "sim/core/mem.h"
#include "sim/core/rng.h"
#include "sim/core/vec.h"

#include <math.h>
#include <string.h>

/* The node type of a job, kept after the job has finished until the next allocation. */
struct place {
    int64_t sequence;
    struct gavel_job *job; /* NULL: finished */
    int type;
    bool is_new; /* given since the last allocation */
};

struct fifo {
    struct gavel_rounds rounds;
    struct place *places; /* [n_places] by age of the jobs */
    size_t n_places, places_capacity;
    double free[GAVEL_TYPES];
    double least_gain; /* of a pair */
    bool is_released;  /* node types as in the released code */
};

struct fifo_params {
    struct gavel_params rounds;
    int types; /* of types_names */
};

struct fifo_packed_params {
    struct gavel_params rounds;
    double least_gain;
};

static size_t place_of(const struct fifo *fifo, int64_t sequence)
{
    size_t low = 0, high = fifo->n_places;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (fifo->places[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_place(const struct fifo *fifo, const struct gavel_job *job)
{
    const size_t at = place_of(fifo, job->view->sequence);
    return at < fifo->n_places && fifo->places[at].job == job;
}

/* The job is younger than all with a place, unless it was passed over before: as released, a job waits that the type
 * taken cannot run. */
static int give_place(struct fifo *fifo, struct gavel_job *job, int type)
{
    const struct place place = {.sequence = job->view->sequence, .job = job, .type = type, .is_new = true};
    const size_t at = place_of(fifo, place.sequence);
    if (vec_push(&fifo->places, &fifo->n_places, &fifo->places_capacity, place) != 0) return SIM_E_NOMEM;
    memmove(&fifo->places[at + 1], &fifo->places[at], (fifo->n_places - 1 - at) * sizeof *fifo->places);
    fifo->places[at] = place;
    fifo->free[type] -= job->view->gpus;
    return 0;
}

/* Index of the first queued job at or after `from`; rounds.n: none. */
static size_t next_queued(const struct fifo *fifo, size_t from)
{
    while (from < fifo->rounds.n && has_place(fifo, fifo->rounds.jobs[from])) from++;
    return from;
}

static bool has_room(const struct fifo *fifo, const struct gavel_job *job, int type)
{
    return fifo->free[type] >= job->view->gpus && gavel_speed_on(&fifo->rounds, job, type, job->view->gpus) > 0;
}

/* Gives the places of finished jobs to queued ones. Jobs that still run get GPUs when their turn comes. */
static int fill_vacated(struct fifo *fifo)
{
    int code = 0;
    size_t head = 0; /* the queue only moves on here: who has a place keeps it */
    const int64_t last = fifo->n_places == 0 ? -1 : fifo->places[fifo->n_places - 1].sequence;
    for (size_t i = 0; i < fifo->n_places && fifo->places[i].sequence <= last && code == 0;) {
        const struct place place = fifo->places[i];
        if (place.job != NULL) {
            if (!place.is_new) fifo->free[place.type] -= place.job->view->gpus;
            i++;
            continue;
        }
        memmove(&fifo->places[i], &fifo->places[i + 1], (--fifo->n_places - i) * sizeof *fifo->places);
        head = next_queued(fifo, head);
        if (head == fifo->rounds.n || !has_room(fifo, fifo->rounds.jobs[head], place.type)) continue;
        i += fifo->rounds.jobs[head]->view->sequence < place.sequence;
        code = give_place(fifo, fifo->rounds.jobs[head], place.type);
    }
    return code;
}

/* A random node type with room or, if random is NULL, the fastest one; -1: none has room. */
static int choose_type(struct fifo *fifo, const struct gavel_job *job, struct rng *random)
{
    int types[GAVEL_TYPES], n = 0, best = -1;
    for (int j = 0; j < fifo->rounds.types; j++) {
        if (!has_room(fifo, job, j)) continue;
        types[n++] = j;
        const double gpus = job->view->gpus;
        if (best < 0 || gavel_speed_on(&fifo->rounds, job, j, gpus) > gavel_speed_on(&fifo->rounds, job, best, gpus))
            best = j;
    }
    if (n == 0 || random == NULL) return best;
    return types[n == 1 ? 0 : rng_below(random, (uint64_t)n)];
}

static int serve_queue(struct fifo *fifo, struct rng *random)
{
    int code = 0;
    for (size_t head = 0; code == 0 && (head = next_queued(fifo, head)) < fifo->rounds.n;) {
        const int type = choose_type(fifo, fifo->rounds.jobs[head], random);
        if (type < 0) break;
        code = give_place(fifo, fifo->rounds.jobs[head], type);
    }
    return code;
}

/* The node types with free GPUs, by name. Returns their number. */
static int list_types(const struct fifo *fifo, int types[GAVEL_TYPES])
{
    int n = 0;
    for (int j = 0; j < fifo->rounds.types; j++) {
        const char *gpu = fifo->rounds.views[j]->gpu;
        int at = n;
        if (fifo->free[j] <= 0) continue;
        for (; at > 0 && gpu != NULL && strcmp(fifo->rounds.views[types[at - 1]]->gpu, gpu) > 0; at--)
            types[at] = types[at - 1];
        types[at] = j;
        n++;
    }
    return n;
}

/* Serves the queue as the released code does. */
static int serve_as_released(struct fifo *fifo, struct rng *random)
{
    int types[GAVEL_TYPES], n = list_types(fifo, types), code = 0;
    for (size_t head = 0; code == 0 && n > 0 && (head = next_queued(fifo, head)) < fifo->rounds.n; head++) {
        struct gavel_job *job = fifo->rounds.jobs[head];
        int fitting[GAVEL_TYPES], n_fitting = 0;
        for (int i = 0; i < n; i++)
            if (fifo->free[types[i]] >= job->view->gpus) fitting[n_fitting++] = i;
        if (n_fitting == 0) break;
        int struck = fitting[n_fitting == 1 ? 0 : rng_below(random, (uint64_t)n_fitting)];
        const int taken = types[n - 1];
        if (!(gavel_speed_on(&fifo->rounds, job, taken, job->view->gpus) > 0)) continue;
        code = give_place(fifo, job, taken);
        if (fifo->free[taken] != 0) continue;
        for (n--; struck < n; struck++) types[struck] = types[struck + 1];
    }
    return code;
}

static void share_places(struct fifo *fifo)
{
    for (size_t i = 0; i < fifo->n_places; i++) {
        fifo->places[i].job->alone.share[fifo->places[i].type] = 1;
        fifo->places[i].is_new = false;
    }
}

static int allocate_keeping(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    struct fifo *fifo = (struct fifo *)rounds;
    memcpy(fifo->free, rounds->gpus, sizeof fifo->free);
    int code = fill_vacated(fifo);
    if (code == 0) code = fifo->is_released ? serve_as_released(fifo, view->random) : serve_queue(fifo, view->random);
    if (code == 0) share_places(fifo);
    return code;
}

static int allocate_fastest(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    (void)view;
    struct fifo *fifo = (struct fifo *)rounds;
    memcpy(fifo->free, rounds->gpus, sizeof fifo->free);
    fifo->n_places = 0;
    const int code = serve_queue(fifo, NULL);
    if (code == 0) share_places(fifo);
    return code;
}

/* What a job beside the one at `place` gains: the sum of their speeds, each over that alone. */
static double packed_gain(const struct fifo *fifo, const struct gavel_job *job, const struct place *place)
{
    const struct gavel_job *with = place->job;
    const double gpus = job->view->gpus;
    if (with->partner != NULL || with->view->gpus != job->view->gpus ||
        !gavel_shares(&fifo->rounds, job, with, place->type))
        return 0;
    return gavel_packed_speed(&fifo->rounds, job, with, place->type) /
               gavel_speed_on(&fifo->rounds, job, place->type, gpus) +
           gavel_packed_speed(&fifo->rounds, with, job, place->type) /
               gavel_speed_on(&fifo->rounds, with, place->type, gpus);
}

/* Lets jobs of the queue join those that have a place. */
static void pack_queue(struct fifo *fifo)
{
    for (size_t head = 0; (head = next_queued(fifo, head)) < fifo->rounds.n; head++) {
        struct gavel_job *job = fifo->rounds.jobs[head];
        const struct place *best = NULL;
        double most = fifo->least_gain;
        for (size_t i = 0; i < fifo->n_places; i++) {
            const double gain = packed_gain(fifo, job, &fifo->places[i]);
            if (gain <= most) continue;
            best = &fifo->places[i];
            most = gain;
        }
        if (best == NULL) return;
        gavel_pair(best->job, job);
    }
}

/* The claim of a pair is that of its older job, which has the place. */
static void share_packed_places(const struct fifo *fifo)
{
    for (size_t i = 0; i < fifo->n_places; i++) {
        struct gavel_job *job = fifo->places[i].job;
        struct gavel_claim *claim = job->partner != NULL ? &job->paired : &job->alone;
        claim->share[fifo->places[i].type] = 1;
    }
}

static int allocate_packed(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    struct fifo *fifo = (struct fifo *)rounds;
    for (size_t i = 0; i < rounds->n; i++)
        if (rounds->jobs[i]->partner != NULL) gavel_split_pair(rounds->jobs[i]);
    memcpy(fifo->free, rounds->gpus, sizeof fifo->free);
    fifo->n_places = 0;
    const int code = serve_queue(fifo, NULL);
    if (code == 0 && view->n_nodes == 0) pack_queue(fifo);
    if (code == 0) share_packed_places(fifo);
    return code;
}

static const struct gavel_rule packed = {.allocate = allocate_packed, .is_strict = true};
static const struct gavel_rule keeping = {.allocate = allocate_keeping, .is_strict = true, .rotates = true};
static const struct gavel_rule fastest = {.allocate = allocate_fastest, .is_strict = true};

static void fifo_fini(void *state)
{
    mem_free(((struct fifo *)state)->places);
    gavel_rounds_fini(state);
}

static void fifo_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct fifo *fifo = state;
    if (note->event == JOB_EVENT_FINISH) {
        const size_t at = place_of(fifo, note->job->sequence);
        if (at < fifo->n_places && fifo->places[at].sequence == note->job->sequence) fifo->places[at].job = NULL;
    }
    gavel_notify(state, view, note);
}

static int keeping_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    const struct fifo_params *own = params;
    ((struct fifo *)state)->is_released = own->types == 1;
    gavel_rounds_init(state, &keeping, &own->rounds);
    return 0;
}

static const char *const types_names[] = {"drawn", "released", NULL};

#define ROW_OF struct fifo_params
static const struct config_field keeping_fields[] = {
    GAVEL_ROWS(rounds., "true"),
    ROW_CHOICE("types", types, DEFAULT("drawn"), types_names,
               "node type of a job: drawn from those with room, or as in Gavel's released simulator"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_gavel_fifo = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "gavel-fifo",
               .summary = "in rounds over all jobs, first in, first out on a random node type with room",
               .source = "Gavel (OSDI 2020) simulator, fifo",
               .params = keeping_fields,
               .params_bytes = sizeof(struct fifo_params),
               .state_bytes = sizeof(struct fifo),
               .init = keeping_init,
               .fini = fifo_fini},
    .job_bytes = sizeof(struct gavel_job),
    .notify = fifo_notify,
    .decide = gavel_decide,
    .prepare = gavel_check_types,
    .uses_node_types = true,
    .ignores_estimates = true,
};

GAVEL_SCHEDULER(scheduler_gavel_fifo_perf, fastest, struct fifo, fifo_notify, fifo_fini, .name = "gavel-fifo-perf",
                .summary = "in rounds over all jobs, first in, first out, each job on the fastest node type that older jobs leave",
                .source = "Gavel (OSDI 2020) simulator, fifo_perf", .oracle = ORACLE_SPEEDS);

static int packed_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    const struct fifo_packed_params *own = params;
    ((struct fifo *)state)->least_gain = own->least_gain;
    gavel_rounds_init(state, &packed, &own->rounds);
    return 0;
}

#define ROW_OF struct fifo_packed_params
static const struct config_field packed_fields[] = {
    GAVEL_ROWS(rounds., "true"),
    ROW_REAL("least_gain", least_gain, DEFAULT("1.5"), WITHIN(0, 2),
             "two jobs share GPUs if their speeds, each over that alone, add up to more than this"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_gavel_fifo_packed = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "gavel-fifo-packed",
               .summary = "as gavel-fifo-perf; then waiting jobs join running ones where both together do much more than one",
               .source = "Gavel (OSDI 2020) simulator, fifo_packed",
               .oracle = ORACLE_SPEEDS,
               .params = packed_fields,
               .params_bytes = sizeof(struct fifo_packed_params),
               .state_bytes = sizeof(struct fifo),
               .init = packed_init,
               .fini = fifo_fini},
    .job_bytes = sizeof(struct gavel_job),
    .notify = fifo_notify,
    .decide = gavel_decide,
    .prepare = gavel_check_types,
    .uses_node_types = true,
    .ignores_estimates = true,
    .shares_gpus = true,
};
