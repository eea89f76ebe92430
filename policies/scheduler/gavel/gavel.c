/* Gavel (Narayanan et al., OSDI 2020): a linear program decides which share of its time each job spends on which GPU
 * type, and rounds turn shares into running jobs. All objectives use the jobs' speeds on each node type:
 *
 *     las       maximise the least normalised rate, relative to `weights`: least attained service, max-min fairness
 *     entities  as las, among entities and within each: water filling (gavel_entities.h). An entity is a job's group
 *     makespan  minimise the time at which the last job finishes
 *     ftf       minimise the worst finish time relative to that on one nth of the cluster: finish time fairness
 *     fifo      maximise the sum of rates, where earlier jobs count more
 *     throughput  maximise the sum of rates, each relative to the job's fastest type and times its GPUs
 *     cost      maximise work per dollar, each job's rate relative to its fastest type; with `slo` or `slos` each job
 *               is fast enough to finish within that many times its estimated run time, as long as all jobs can
 *
 * With `rates` or `raw` the last two are those of the released code: the sum of raw rates, for cost each over its
 * price. With `raw` they are the steps per second of the jobs' types, which change with the batch size.
 *
 * If the jobs cannot meet their slo together, that allocation ignores it. A job past its own slo has none any more. If
 * the LP solver fails, the allocation falls back to equal shares. The run warns of all three.
 *
 * With "aware": false all speeds count as 1, as for a scheduler that knows no GPU types; node types then choose in
 * turn.
 *
 * Under `las` equal jobs are one kind in the program, under `entities` those of an entity that is fair within. Under
 * the other objectives each job is a kind of its own. The program of 1,000 new jobs then takes 20 to 71 million
 * instructions, up to 2 times those of 500 jobs. `ftf` solves
 * one program after another, at most 400, until the worst ratio no longer falls. Their number varies, so a round may
 * grow by more than 2.4 when the jobs double. Under `entities` each job of an entity in order is a kind, and one
 * program after another makes a job as fast as it can be. Twice the jobs take 2.4 to 8 times as long: 400 on 96 GPUs
 * 0.3 s, 800 on 384 GPUs 8 s. `depth` bounds the kinds.
 *
 * Remaining work follows from the users' estimates. Packing and estimated speeds are left out. */
#include "policies/declared.h"
#include "policies/scheduler/gavel/gavel_entities.h"
#include "policies/scheduler/gavel/gavel_lp.h"
#include "policies/scheduler/gavel/gavel_program.h"
#include "policies/scheduler/gavel/gavel_rounds.h"

#include "sim/core/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)GAVEL_TYPES <= (int)GAVEL_PROGRAM_TYPES, "the programs hold all node types");

enum objective_kind {
    OBJECTIVE_LAS,
    OBJECTIVE_MAKESPAN,
    OBJECTIVE_FTF,
    OBJECTIVE_FIFO,
    OBJECTIVE_COST,
    OBJECTIVE_THROUGHPUT,
    OBJECTIVE_ENTITIES,
};

struct gpu_price {
    const char *gpu;
    double usd_per_h;
};

struct type_weight {
    const char *type;
    double weight;
};

enum within { WITHIN_FAIR, WITHIN_FIFO };

struct entity_config {
    const char *group;
    double weight;
    int within;
};

struct lp_params {
    struct gavel_params rounds;
    int objective;
    bool aware, raw;
    double slo;
    struct config_list prices;  /* struct gpu_price */
    struct config_list weights; /* struct type_weight */
    struct config_list rates;   /* struct type_weight: raw rates; none, and not `raw`: relative ones count */
    struct config_list entities; /* struct entity_config */
    struct config_list slos;    /* struct type_weight: deadlines as multiples of the estimated run time */
};

static bool weighs_jobs(const struct lp_params *params)
{
    return params->objective == OBJECTIVE_LAS || params->objective == OBJECTIVE_ENTITIES;
}

static bool has_slo(const struct lp_params *params)
{
    return params->slo > 0 || params->slos.n > 0;
}

/* The objectives that may count raw rates. */
static bool sums_rates(const struct lp_params *params)
{
    return params->objective == OBJECTIVE_COST || params->objective == OBJECTIVE_THROUGHPUT;
}

static bool is_raw(const struct lp_params *params)
{
    return sums_rates(params) && (params->raw || params->rates.n > 0);
}

struct gavel {
    struct gavel_rounds rounds;
    struct lp_params params;
    double price[GAVEL_TYPES];
    bool *has_arrived; /* [weights + rates + slos + entities]: whether a job of that type, or group, has arrived */
    char unread[4][256]; /* texts of the warnings at the end of the run, in that order */
};

/* The jobs by kinds, as input of a linear program. */
struct table {
    struct gavel_jobs jobs;
    struct gavel_job **first; /* [kinds]: the oldest job of each */
    int *kind_of;             /* [n]: kind of each job; -1: it can run nowhere */
    double *count, *width, *weight, *speed, *need, *left, *age, *alone, *x;
    int *entity;              /* [kinds]: index in entities */
    struct gavel_entity *entities;
    const char **groups;      /* [n_entities]: name of each */
    int n_entities;
};

static void table_fini(struct table *table)
{
    mem_free(table->first);
    mem_free(table->kind_of);
    mem_free(table->count);
    mem_free(table->entity);
    mem_free(table->entities);
    mem_free(table->groups);
}

static int table_init(struct table *table, struct gavel *gavel)
{
    const size_t n = gavel->rounds.n, types = (size_t)gavel->rounds.types;
    *table = (struct table){.first = mem_zalloc(n + 1, sizeof(struct gavel_job *)),
                            .kind_of = mem_zalloc(n + 1, sizeof(int)),
                            .count = mem_zalloc((n + 1) * (7 + 2 * types), sizeof(double)),
                            .entity = mem_zalloc(n + 1, sizeof(int)),
                            .entities = mem_zalloc(n + 1, sizeof(struct gavel_entity)),
                            .groups = mem_zalloc(n + 1, sizeof(const char *))};
    if (table->first == NULL || table->kind_of == NULL || table->count == NULL || table->entity == NULL ||
        table->entities == NULL || table->groups == NULL)
        return SIM_E_NOMEM;
    table->width = table->count + n;
    table->weight = table->width + n;
    table->need = table->weight + n;
    table->left = table->need + n;
    table->age = table->left + n;
    table->alone = table->age + n;
    table->speed = table->alone + n;
    table->x = table->speed + n * types;
    table->jobs = (struct gavel_jobs){.types = (int)types, .gpus = gavel->rounds.gpus, .count = table->count,
                                      .width = table->width, .speed = table->speed};
    return 0;
}

/* What the list says of the job's type; `other`: nothing. */
static double stated_for(const struct config_list *list, const struct gavel_job *job, double other)
{
    const struct type_weight *weight = list->items;
    for (size_t i = 0; i < list->n; i++, weight++)
        if (strcmp(weight->type, job->view->type) == 0) return weight->weight;
    return other;
}

/* The entity of a job. One that is not configured has the weight 1 and is fair within. */
static int entity_of(struct table *table, const struct lp_params *params, const struct gavel_job *job)
{
    const char *group = job->view->group;
    const struct entity_config *config = params->entities.items;
    int entity = 0;
    while (entity < table->n_entities && strcmp(table->groups[entity], group) != 0) entity++;
    if (entity < table->n_entities) return entity;
    table->groups[table->n_entities++] = group;
    table->entities[entity] = (struct gavel_entity){.weight = 1};
    for (size_t i = 0; i < params->entities.n; i++, config++)
        if (strcmp(config->group, group) == 0)
            table->entities[entity] = (struct gavel_entity){config->weight, config->within == WITHIN_FIFO};
    return entity;
}

/* The kind of a job of this entity, width, weight and these speeds; table->jobs.kinds: none yet. */
static int find_kind(const struct table *table, int entity, double width, double weight, const double *speed)
{
    const size_t bytes = (size_t)table->jobs.types * sizeof *speed;
    int kind = 0;
    for (; kind < table->jobs.kinds; kind++)
        if (table->entity[kind] == entity && table->width[kind] == width && table->weight[kind] == weight &&
            memcmp(&table->speed[kind * table->jobs.types], speed, bytes) == 0)
            break;
    return kind;
}

/* Jobs that are alike form one kind for least attained service. For other objectives each job is a kind of its own. */
static void add_job(struct table *table, const struct gavel *gavel, size_t at)
{
    const struct gavel_rounds *rounds = &gavel->rounds;
    struct gavel_job *job = rounds->jobs[at];
    const double width = job->view->gpus, weight = stated_for(&gavel->params.weights, job, 1);
    double speed[GAVEL_TYPES], most = 0;
    for (int j = 0; j < rounds->types; j++) {
        speed[j] = width <= rounds->gpus[j] ? gavel_speed_on(rounds, job, j, width) : 0;
        if (!gavel->params.aware && speed[j] > 0) speed[j] = 1;
        most = fmax(most, speed[j]);
    }
    int kind = table->jobs.kinds;
    const bool has_entity = gavel->params.objective == OBJECTIVE_ENTITIES;
    const int entity = has_entity ? entity_of(table, &gavel->params, job) : 0;
    if (gavel->params.objective == OBJECTIVE_LAS || (has_entity && !table->entities[entity].is_in_order))
        kind = find_kind(table, entity, width, weight, speed);
    table->kind_of[at] = most > 0 ? kind : -1;
    if (most <= 0) return;
    table->count[kind]++;
    if (kind < table->jobs.kinds) return;
    table->jobs.kinds++;
    table->first[kind] = job;
    table->entity[kind] = entity;
    table->width[kind] = width;
    table->weight[kind] = weight;
    memcpy(&table->speed[kind * rounds->types], speed, (size_t)rounds->types * sizeof *speed);
}

static double left_s(const struct gavel *gavel, const struct cluster_view *view, const struct gavel_job *job)
{
    const double left = sim_s_from_ns(job_view_estimated_remaining_ns(view, job->view));
    const double work = job->view->state == JOB_RUNNING ? left * job->view->speed : left;
    return fmax(work, sim_s_from_ns(gavel->rounds.params.round_ns)); /* a job past its estimate ends in this round */
}

/* Steps per second at speed 1: as `rates` states, or with `raw` those of the job's type; 1: neither does. */
static double raw_rate(const struct gavel *gavel, const struct cluster_view *view, const struct gavel_job *job)
{
    const double of_type = gavel->params.raw ? job_view_steps_per_s(view, job->view) : 1;
    const double steps_per_s = stated_for(&gavel->params.rates, job, of_type);
    if (steps_per_s > 0) return steps_per_s;
    job_plan_warn(gavel->rounds.plan, "gavel-raw",
                  "times that a job counted as one step per second, as none are stated");
    return 1;
}

/* Inputs of the objectives, for kinds of one job each. */
static void describe(struct table *table, const struct gavel *gavel, const struct cluster_view *view)
{
    gavel_isolated(&table->jobs, table->x);
    for (int k = 0; k < table->jobs.kinds; k++) {
        struct gavel_job *job = table->first[k];
        table->left[k] = left_s(gavel, view, job);
        table->age[k] = sim_s_from_ns(view->now_ns - job->view->submit_ns);
        if (is_raw(&gavel->params)) table->weight[k] = raw_rate(gavel, view, job);
        if (job->left_rate > 0) job->alone_s += fmax(job->left_s - table->left[k], 0) / job->left_rate;
        job->left_s = table->left[k];
        job->left_rate = gavel_rate(&table->jobs, table->x, k);
        table->alone[k] = job->alone_s;
    }
}

static enum lp_outcome optimise_las(struct table *table)
{
    double level;
    gavel_equal_share(&table->jobs, table->weight, table->need);
    return gavel_max_min(&table->jobs, table->need, table->x, &level);
}

static enum lp_outcome optimise_entities(struct table *table)
{
    const struct gavel_entities entities = {table->entities, table->entity, table->weight};
    return gavel_fill(&table->jobs, &entities, table->x);
}

static enum lp_outcome optimise_fifo(struct table *table)
{
    for (int k = 0; k < table->jobs.kinds; k++) table->need[k] = (double)(table->jobs.kinds - k) / table->jobs.kinds;
    return gavel_max_sum(&table->jobs, table->need, NULL, table->x);
}

static enum lp_outcome optimise_throughput(struct table *table, const struct gavel *gavel)
{
    if (is_raw(&gavel->params)) return gavel_max_raw(&table->jobs, table->weight, NULL, NULL, table->x);
    for (int k = 0; k < table->jobs.kinds; k++) table->need[k] = 1;
    return gavel_max_sum(&table->jobs, table->need, NULL, table->x);
}

static enum lp_outcome optimise_per_cost(struct table *table, const struct gavel *gavel, const double *at_least)
{
    double ratio;
    if (is_raw(&gavel->params)) return gavel_max_raw(&table->jobs, table->weight, gavel->price, at_least, table->x);
    return gavel_max_per_cost(&table->jobs, gavel->price, at_least, table->x, &ratio);
}

static enum lp_outcome optimise_cost(struct table *table, const struct gavel *gavel)
{
    bool is_late = false;
    for (int k = 0; k < table->jobs.kinds; k++) {
        const double slo = stated_for(&gavel->params.slos, table->first[k], gavel->params.slo);
        const double within_s = slo * sim_s_from_ns(table->first[k]->view->estimate_ns) - table->age[k];
        table->need[k] = slo > 0 && within_s > 0 ? table->left[k] / within_s : 0;
        is_late = is_late || (slo > 0 && within_s <= 0);
    }
    if (is_late)
        job_plan_warn(gavel->rounds.plan, "gavel-slo-late",
                      "allocations with jobs past their slo, which no longer counts for them");
    const enum lp_outcome outcome = optimise_per_cost(table, gavel, table->need);
    if (outcome != LP_INFEASIBLE) return outcome;
    job_plan_warn(gavel->rounds.plan, "gavel-slo",
                  "allocations without the slo, as no allocation meets it for all jobs");
    return optimise_per_cost(table, gavel, NULL);
}

static enum lp_outcome optimise(struct table *table, const struct gavel *gavel)
{
    const struct gavel_finish finish = {.left = table->left, .age = table->age, .alone = table->alone};
    double found;
    switch ((enum objective_kind)gavel->params.objective) {
    case OBJECTIVE_LAS: return optimise_las(table);
    case OBJECTIVE_MAKESPAN: return gavel_max_min(&table->jobs, table->left, table->x, &found);
    case OBJECTIVE_FTF: return gavel_min_finish(&table->jobs, &finish, table->x, &found);
    case OBJECTIVE_FIFO: return optimise_fifo(table);
    case OBJECTIVE_COST: return optimise_cost(table, gavel);
    case OBJECTIVE_THROUGHPUT: return optimise_throughput(table, gavel);
    case OBJECTIVE_ENTITIES: return optimise_entities(table);
    }
    return LP_FAILED;
}

/* Smaller shares are rounding errors. So are differences below the step, which would decide between equal jobs. */
static const double LEAST_SHARE = 1e-6, SHARE_STEP = 1e-9;

static void share(const struct table *table, struct gavel_rounds *rounds)
{
    for (size_t i = 0; i < rounds->n; i++) {
        const int kind = table->kind_of[i];
        if (kind < 0) continue;
        for (int j = 0; j < rounds->types; j++) {
            const double x = table->x[kind * rounds->types + j];
            rounds->jobs[i]->alone.share[j] = x > LEAST_SHARE ? nearbyint(x / SHARE_STEP) * SHARE_STEP : 0;
        }
    }
}

static int set_shares(struct table *table, struct gavel *gavel, const struct cluster_view *view)
{
    describe(table, gavel, view);
    const enum lp_outcome outcome = optimise(table, gavel);
    if (outcome == LP_NO_MEMORY) return SIM_E_NOMEM;
    if (outcome != LP_OPTIMAL) {
        job_plan_warn(gavel->rounds.plan, "gavel-lp",
                      "allocations of equal shares, as the linear program was not solved");
        gavel_isolated(&table->jobs, table->x);
    }
    share(table, &gavel->rounds);
    return 0;
}

static int allocate(struct gavel_rounds *rounds, const struct cluster_view *view)
{
    struct gavel *gavel = (struct gavel *)rounds;
    struct table table;
    int code = table_init(&table, gavel);
    for (size_t i = 0; code == 0 && i < rounds->n; i++) add_job(&table, gavel, i);
    if (code == 0 && table.jobs.kinds > 0) code = set_shares(&table, gavel, view);
    table_fini(&table);
    return code;
}

static const struct gavel_rule aware = {.allocate = allocate}, unaware = {.allocate = allocate, .rotates = true},
                               thrifty = {.allocate = allocate, .is_strict = true, .is_exact = true};

static int gavel_init(void *state, const void *params, struct diag *diag)
{
    (void)diag;
    struct gavel *gavel = state;
    gavel->params = *(const struct lp_params *)params;
    const size_t n = gavel->params.weights.n + gavel->params.rates.n + gavel->params.slos.n + gavel->params.entities.n;
    gavel->has_arrived = mem_zalloc(n + 1, sizeof *gavel->has_arrived);
    if (gavel->has_arrived == NULL) return SIM_E_NOMEM;
    const bool saves = gavel->params.objective == OBJECTIVE_COST;
    gavel_rounds_init(&gavel->rounds,
                      saves                 ? &thrifty
                      : gavel->params.aware ? &aware
                                            : &unaware,
                      &gavel->params.rounds);
    return 0;
}

static const struct gpu_price *find_price(const struct config_list *prices, const char *gpu)
{
    const struct gpu_price *price = prices->items;
    for (size_t i = 0; gpu != NULL && i < prices->n; i++, price++)
        if (strcmp(price->gpu, gpu) == 0) return price;
    return NULL;
}

/* With one type of GPU, its price does not matter. */
static int set_prices(struct gavel *gavel, const struct cluster_view *view, struct diag *diag)
{
    const bool is_mixed = view->next_type != NULL;
    for (int j = 0; view != NULL && j < GAVEL_TYPES; view = view->next_type, j++) {
        const struct gpu_price *price = find_price(&gavel->params.prices, view->gpu);
        if (price == NULL && is_mixed)
            return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.prices", "name each type of GPU with its $/h",
                              "objective 'cost' needs the price of '%s'", view->gpu == NULL ? "a GPU" : view->gpu);
        gavel->price[j] = price == NULL ? 1 : price->usd_per_h;
    }
    return 0;
}

static void warn_of_prices(const struct config_list *prices, const struct cluster_view *first, struct diag *diag)
{
    const struct gpu_price *price = prices->items;
    for (size_t i = 0; i < prices->n; i++, price++) {
        const struct cluster_view *view = first;
        while (view != NULL && (view->gpu == NULL || strcmp(view->gpu, price->gpu) != 0)) view = view->next_type;
        if (view == NULL)
            diag_warning(diag, "jobs.scheduler.prices", "name GPUs as the cluster does, slices with their profile",
                         "the price of '%s' has no effect: the cluster has no such GPU", price->gpu);
    }
}

/* Warns of a parameter of another objective. */
static void warn_if(bool is_unread, const char *key, const char *objective, struct diag *diag)
{
    if (is_unread) diag_warning(diag, key, "leave it out", "has no effect: the objective is %s", objective);
}

static void warn_of_unused(const struct lp_params *params, struct diag *diag)
{
    static const char no_sum[] = "neither 'cost' nor 'throughput'";
    const bool saves = params->objective == OBJECTIVE_COST, fills = params->objective == OBJECTIVE_ENTITIES;
    warn_if(!saves && params->slo > 0, "jobs.scheduler.slo", "not 'cost'", diag);
    warn_if(!saves && params->slos.n > 0, "jobs.scheduler.slos", "not 'cost'", diag);
    warn_if(!saves && params->prices.n > 0, "jobs.scheduler.prices", "not 'cost'", diag);
    warn_if(!sums_rates(params) && params->rates.n > 0, "jobs.scheduler.rates", no_sum, diag);
    warn_if(!sums_rates(params) && params->raw, "jobs.scheduler.raw", no_sum, diag);
    warn_if(!fills && params->entities.n > 0, "jobs.scheduler.entities", "not 'entities'", diag);
    warn_if(!weighs_jobs(params) && params->weights.n > 0, "jobs.scheduler.weights", "neither 'las' nor 'entities'",
            diag);
}

static int gavel_prepare(void *state, const struct cluster_view *view, struct diag *diag)
{
    struct gavel *gavel = state;
    const int code = gavel_check_types(state, view, diag);
    if (code != 0) return code;
    warn_of_unused(&gavel->params, diag);
    if (gavel->params.objective != OBJECTIVE_COST) return 0;
    warn_of_prices(&gavel->params.prices, view, diag);
    return set_prices(gavel, view, diag);
}

/* The lists whose names should be those of some job: of its type, or of its group. */
enum { NAMED_WEIGHTS, NAMED_RATES, NAMED_SLOS, NAMED_ENTITIES, N_NAMED };

struct named {
    const char *names, *code; /* of the warning */
    bool counts;              /* under this objective */
    bool is_of_group;
    const struct config_list *list;
    size_t bytes;             /* of an item, which begins with its name */
};

static void list_named(const struct lp_params *params, struct named named[N_NAMED])
{
    const size_t bytes = sizeof(struct type_weight);
    named[NAMED_WEIGHTS] = (struct named){
        "weights of types", "gavel-weights", weighs_jobs(params), false, &params->weights, bytes};
    named[NAMED_RATES] =
        (struct named){"rates of types", "gavel-rates", sums_rates(params), false, &params->rates, bytes};
    named[NAMED_SLOS] = (struct named){
        "slos of types", "gavel-slos", params->objective == OBJECTIVE_COST, false, &params->slos, bytes};
    named[NAMED_ENTITIES] = (struct named){"entities of groups", "gavel-entities",
                                           params->objective == OBJECTIVE_ENTITIES, true, &params->entities,
                                           sizeof(struct entity_config)};
}

static const char *name_at(const struct named *named, size_t i)
{
    return *(const char *const *)((const char *)named->list->items + i * named->bytes);
}

static void lp_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct gavel *gavel = state;
    struct named named[N_NAMED];
    bool *has_arrived = gavel->has_arrived;
    if (note->event == JOB_EVENT_SUBMIT) {
        list_named(&gavel->params, named);
        for (int list = 0; list < N_NAMED; has_arrived += named[list++].list->n)
            for (size_t i = 0; i < named[list].list->n; i++)
                if (strcmp(name_at(&named[list], i), named[list].is_of_group ? note->job->group : note->job->type) == 0)
                    has_arrived[i] = true;
    }
    gavel_notify(state, view, note);
}

/* Warns of names that no job had; the text names the first. */
static void gavel_finish(void *state, struct job_plan *plan)
{
    struct gavel *gavel = state;
    struct named named[N_NAMED];
    const bool *has_arrived = gavel->has_arrived;
    list_named(&gavel->params, named);
    for (int list = 0; list < N_NAMED; has_arrived += named[list++].list->n)
        for (size_t i = 0; i < named[list].list->n; i++) {
            char *text = gavel->unread[list];
            if (has_arrived[i] || !named[list].counts) continue;
            if (text[0] == '\0')
                snprintf(text, sizeof gavel->unread[list], "%s that no job had, '%.200s' first", named[list].names,
                         name_at(&named[list], i));
            job_plan_warn(plan, named[list].code, text);
        }
}

/* The other objectives look at rates alone. */
static bool gavel_reads_estimates(const void *state)
{
    const struct lp_params *params = &((const struct gavel *)state)->params;
    return params->objective == OBJECTIVE_MAKESPAN || params->objective == OBJECTIVE_FTF ||
           (params->objective == OBJECTIVE_COST && has_slo(params));
}

static void gavel_fini(void *state)
{
    mem_free(((struct gavel *)state)->has_arrived);
    gavel_rounds_fini(state);
}

static const char *const objectives[] = {"las", "makespan", "ftf", "fifo", "cost", "throughput", "entities", NULL};
static const char *const within_names[] = {"fair", "fifo", NULL};
static const struct config_field price_fields[] = {
    {.kind = CONFIG_QUANTITY, .offset = offsetof(struct gpu_price, usd_per_h), .dim = UNIT_MONEY_PER_H, .min = 1e-9,
     .max = -1, .help = "price of one GPU"},
    {0}};
static const struct config_field weight_fields[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct type_weight, weight), .min = 1e-3, .max = 1e3, .help = "above 0"},
    {0}};
static const struct config_field rate_fields[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct type_weight, weight), .min = 1e-9, .max = 1e9, .help = "above 0"},
    {0}};
static const struct config_field slo_fields[] = {
    {.kind = CONFIG_REAL, .offset = offsetof(struct type_weight, weight), .max = 1e9, .help = "0: none"}, {0}};
#define ROW_OF struct entity_config
static const struct config_field entity_fields[] = {
    ROW_REAL("weight", weight, DEFAULT("1"), WITHIN(1e-3, 1e3), "part of the cluster relative to other entities"),
    ROW_CHOICE("within", within, DEFAULT("fair"), within_names,
               "among its jobs, fair: max-min fair rates; fifo: order of arrival"),
    {0}};
#undef ROW_OF
#define ROW_OF struct lp_params
static const struct config_field gavel_fields[] = {
    GAVEL_ROWS(rounds., "false"),
    ROW_CHOICE("objective", objective, DEFAULT("las"), objectives,
               "las: max-min fair rates; makespan: earliest last finish; ftf: fair finish times; fifo: order of "
               "arrival; cost: work per dollar; throughput: most work; entities: fair among groups of jobs"),
    ROW_BOOL("aware", aware, DEFAULT("true"),
             "uses the speed of each job on each GPU type; false: takes all speeds as 1"),
    ROW_REAL("slo", slo, DEFAULT("0"), WITHIN(0, 1e9),
             "for cost: deadline of a job as a multiple of its estimated run time; 0: none"),
    ROW_MAP("slos", slos, OPTIONAL, ANY, struct type_weight, slo_fields,
            "for cost: slo by job type, in place of slo; 0: none"),
    ROW_GPUS("prices", prices, FILLED, ANY, struct gpu_price, price_fields, "for cost: price of a GPU, by its type"),
    ROW_MAP("weights", weights, FILLED, ANY, struct type_weight, weight_fields,
            "for las and entities: a job's share relative to others, by its type; 1 where not named"),
    ROW_MAP("entities", entities, OPTIONAL, ANY, struct entity_config, entity_fields,
            "for entities: those that are not of weight 1 and fair within, by the group of their jobs"),
    ROW_MAP(
        "rates", rates, OPTIONAL, ANY, struct type_weight, rate_fields,
        "for cost and throughput, as in the released code: steps per second at speed 1 by job type; 1 where not named"),
    ROW_BOOL("raw", raw, DEFAULT("false"), "steps per second of regimes of job types, for types not in rates"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_gavel = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "gavel",
               .summary = "in rounds over all jobs, time shares on each GPU type by a linear program: fair rates, "
                          "makespan, finish times, cost",
               .source = "Narayanan et al., Gavel (OSDI 2020)",
               .oracle = ORACLE_SPEEDS,
               .params = gavel_fields,
               .params_bytes = sizeof(struct lp_params),
               .state_bytes = sizeof(struct gavel),
               .init = gavel_init,
               .fini = gavel_fini},
    .job_bytes = sizeof(struct gavel_job),
    .notify = lp_notify,
    .decide = gavel_decide,
    .uses_node_types = true,
    .prepare = gavel_prepare,
    .finish = gavel_finish,
    .reads_estimates = gavel_reads_estimates,
};
