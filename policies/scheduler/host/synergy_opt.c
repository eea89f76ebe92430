#include "policies/scheduler/host/synergy_opt.h"

#include "policies/lp.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 13 };

/* Units of a program, near 1. */
static const double MILLI_OF_UNIT = 1e3, BYTES_OF_UNIT = 1e9;

/* A division that is better by less is the same one. */
static const double LEAST_GAIN = 1e-9;

struct level {
    double speed;
    struct job_host host;
};

void synergy_opt_fini(struct synergy_opt *opt)
{
    mem_free(opt->parents);
    mem_free(opt->row_of);
    mem_free(opt->jobs);
}

/* --- Jobs that share nodes --- */

static int32_t root_of(int32_t *parents, int32_t node)
{
    while (parents[node] != node) node = parents[node] = parents[parents[node]];
    return node;
}

static void join(const struct synergy_opt *opt, const struct opt_job *job)
{
    struct job_part first = {0};
    if (!job_view_next_part(job->view, &first)) return;
    for (struct job_part part = first; job_view_next_part(job->view, &part);) {
        const int32_t a = root_of(opt->parents, first.node), b = root_of(opt->parents, part.node);
        opt->parents[a > b ? a : b] = a > b ? b : a;
    }
}

static int compare_groups(const void *a, const void *b)
{
    const struct opt_job *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return x->view->sequence < y->view->sequence ? -1 : x->view->sequence > y->view->sequence;
}

static int group(struct synergy_opt *opt, const struct cluster_view *view)
{
    int code = vec_reserve(&opt->parents, &opt->parents_capacity, (size_t)view->n_nodes);
    if (code == 0) code = vec_reserve(&opt->row_of, &opt->row_of_capacity, (size_t)view->n_nodes);
    if (code != 0) return code;
    for (int32_t node = 0; node < view->n_nodes; node++) {
        opt->parents[node] = node;
        opt->row_of[node] = -1;
    }
    for (size_t i = 0; i < opt->n; i++) join(opt, &opt->jobs[i]);
    for (size_t i = 0; i < opt->n; i++) {
        struct job_part part = {0};
        opt->jobs[i].group = job_view_next_part(opt->jobs[i].view, &part) ? root_of(opt->parents, part.node) : -1;
    }
    qsort(opt->jobs, opt->n, sizeof *opt->jobs, compare_groups);
    return 0;
}

/* --- Levels --- */

/* The least CPUs, or bytes, between own and best with which the job reaches a speed. It has the best of the other. */
static int64_t least_for(const struct cluster_view *view, const struct opt_job *job, double speed, bool of_memory)
{
    int64_t low = of_memory ? job->own.memory_bytes : job->own.cpu_milli;
    int64_t high = of_memory ? job->best.memory_bytes : job->best.cpu_milli;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const struct job_host host = {of_memory ? job->best.cpu_milli : middle,
                                      of_memory ? middle : job->best.memory_bytes};
        if (job_view_host_speed(view, job->view, &host) >= speed)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int fill_levels(const struct cluster_view *view, const struct opt_job *job, struct level levels[LEVELS])
{
    const double least = job_view_host_speed(view, job->view, &job->own),
                 most = job_view_host_speed(view, job->view, &job->best);
    levels[0] = (struct level){least, job->own};
    if (!(most > least)) return 1;
    for (int k = 1; k < LEVELS - 1; k++) {
        const double speed = least + (most - least) * k / (LEVELS - 1);
        levels[k] = (struct level){speed, {least_for(view, job, speed, false), least_for(view, job, speed, true)}};
    }
    levels[LEVELS - 1] = (struct level){most, job->best};
    return LEVELS;
}

/* --- One program --- */

/* A node of a group. */
struct shared_node {
    struct job_host room; /* what the jobs hold there, and what is left */
    struct job_host lack; /* beyond the room, if all jobs have their best; negative: there is more */
};

/* Jobs and nodes of a group. */
struct program {
    const struct cluster_view *view;
    struct opt_job *jobs;
    int32_t *row_of; /* [nodes of the cluster]: index into `nodes`; -1: none */
    int n_jobs, n_nodes, n_columns, n_rows;
    struct shared_node *nodes; /* [n_nodes] */
    struct level *levels;      /* [n_columns] */
    int *first;                /* [n_jobs + 1]: the columns of each job */
    double *matrix, *cost, *lower, *upper, *row_lower, *row_upper, *x;
};

static void program_fini(struct program *program)
{
    mem_free(program->nodes);
    mem_free(program->levels);
    mem_free(program->first);
    mem_free(program->matrix);
    mem_free(program->cost);
}

static struct job_host on_part(const struct opt_job *job, const struct job_host *host, const struct job_part *part)
{
    return (struct job_host){resource_request_share(host->cpu_milli, part->gpus, job->view->gpus),
                             resource_request_share(host->memory_bytes, part->gpus, job->view->gpus)};
}

/* Numbers the nodes of the group. */
static void number_nodes(struct program *program)
{
    for (int j = 0; j < program->n_jobs; j++)
        for (struct job_part part = {0}; job_view_next_part(program->jobs[j].view, &part);)
            if (program->row_of[part.node] < 0) program->row_of[part.node] = program->n_nodes++;
}

/* Adds a part of a job to the room and the lack of its node. */
static void add_part(const struct program *program, const struct opt_job *job, const struct job_part *part)
{
    const struct node_view *at = &program->view->nodes[part->node];
    struct shared_node *node = &program->nodes[program->row_of[part->node]];
    const struct job_host best = on_part(job, &job->best, part);
    if (node->room.cpu_milli < 0) { /* the first one */
        node->room = (struct job_host){at->cpu_left_milli, at->memory_left_bytes};
        node->lack = (struct job_host){-at->cpu_left_milli, -at->memory_left_bytes};
    }
    if (at->cpu_milli < INT64_MAX) {
        node->room.cpu_milli += part->cpu_milli;
        node->lack.cpu_milli += best.cpu_milli - part->cpu_milli;
    }
    if (at->memory_bytes < INT64_MAX) {
        node->room.memory_bytes += part->memory_bytes;
        node->lack.memory_bytes += best.memory_bytes - part->memory_bytes;
    }
}

/* Lists nodes and their room, in the time of all parts. */
static int list_nodes(struct program *program)
{
    number_nodes(program);
    program->nodes = mem_alloc(((size_t)program->n_nodes + 1) * sizeof *program->nodes);
    if (program->nodes == NULL) return SIM_E_NOMEM;
    for (int i = 0; i < program->n_nodes; i++) program->nodes[i] = (struct shared_node){{-1, -1}, {0, 0}};
    for (int j = 0; j < program->n_jobs; j++)
        for (struct job_part part = {0}; job_view_next_part(program->jobs[j].view, &part);)
            add_part(program, &program->jobs[j], &part);
    return 0;
}

/* Whether the best of all jobs fits. */
static bool fits_best(const struct program *program)
{
    for (int i = 0; i < program->n_nodes; i++)
        if (program->nodes[i].lack.cpu_milli > 0 || program->nodes[i].lack.memory_bytes > 0) return false;
    return true;
}

static int reserve(struct program *program)
{
    const size_t columns = (size_t)program->n_columns, rows = (size_t)program->n_rows;
    program->matrix = mem_zalloc(rows * columns, sizeof *program->matrix);
    program->cost = mem_zalloc(4 * columns + 2 * rows, sizeof *program->cost);
    if (program->matrix == NULL || program->cost == NULL) return SIM_E_NOMEM;
    program->lower = program->cost + columns;
    program->upper = program->lower + columns;
    program->x = program->upper + columns;
    program->row_lower = program->x + columns;
    program->row_upper = program->row_lower + rows;
    return 0;
}

static void fill_column(const struct program *program, int j, int column)
{
    const struct opt_job *job = &program->jobs[j];
    const struct level *level = &program->levels[column];
    const size_t columns = (size_t)program->n_columns;
    program->cost[column] = -level->speed;
    program->upper[column] = 1.0;
    program->matrix[(size_t)j * columns + (size_t)column] = 1.0;
    for (struct job_part part = {0}; job_view_next_part(job->view, &part);) {
        const struct job_host host = on_part(job, &level->host, &part);
        const size_t row = (size_t)(program->n_jobs + 2 * program->row_of[part.node]);
        program->matrix[row * columns + (size_t)column] = (double)host.cpu_milli / MILLI_OF_UNIT;
        program->matrix[(row + 1) * columns + (size_t)column] = (double)host.memory_bytes / BYTES_OF_UNIT;
    }
}

static void fill(const struct program *program)
{
    for (int j = 0; j < program->n_jobs; j++) {
        program->row_lower[j] = program->row_upper[j] = 1.0;
        for (int column = program->first[j]; column < program->first[j + 1]; column++) fill_column(program, j, column);
    }
    for (int i = 0; i < program->n_nodes; i++) {
        const int row = program->n_jobs + 2 * i;
        const struct job_host room = program->nodes[i].room;
        program->row_lower[row] = program->row_lower[row + 1] = -(double)INFINITY;
        program->row_upper[row] = room.cpu_milli < INT64_MAX ? (double)room.cpu_milli / MILLI_OF_UNIT
                                                             : (double)INFINITY;
        program->row_upper[row + 1] = room.memory_bytes < INT64_MAX ? (double)room.memory_bytes / BYTES_OF_UNIT
                                                                    : (double)INFINITY;
    }
}

/* The mean of a job's levels, rounded down to equal amounts for its GPUs, and at least its own share. */
static int64_t mean(const struct program *program, int j, bool of_memory)
{
    const struct opt_job *job = &program->jobs[j];
    const int64_t own = of_memory ? job->own.memory_bytes : job->own.cpu_milli,
                  best = of_memory ? job->best.memory_bytes : job->best.cpu_milli;
    double sum = 0.0;
    for (int k = program->first[j]; k < program->first[j + 1]; k++)
        sum += program->x[k] *
               (double)(of_memory ? program->levels[k].host.memory_bytes : program->levels[k].host.cpu_milli);
    const int64_t each = (int64_t)floor(sum / job->view->gpus + 1e-6), all = each * job->view->gpus;
    return all < own ? own : all > best ? best : all;
}

/* Returns 0, 1 if the program was given up, or a negative code. */
static int solve(struct program *program)
{
    program->n_rows = program->n_jobs + 2 * program->n_nodes;
    if (program->n_rows > LP_MOST_ROWS) return 1;
    program->first = mem_alloc(((size_t)program->n_jobs + 1) * sizeof *program->first);
    program->levels = mem_alloc((size_t)program->n_jobs * LEVELS * sizeof *program->levels);
    if (program->first == NULL || program->levels == NULL) return SIM_E_NOMEM;
    for (int j = 0; j < program->n_jobs; j++) {
        program->first[j] = program->n_columns;
        program->n_columns += fill_levels(program->view, &program->jobs[j], &program->levels[program->n_columns]);
    }
    program->first[program->n_jobs] = program->n_columns;
    if (reserve(program) != 0) return SIM_E_NOMEM;
    fill(program);
    const struct lp lp = {.columns = program->n_columns, .rows = program->n_rows, .cost = program->cost,
                          .lower = program->lower, .upper = program->upper, .matrix = program->matrix,
                          .row_lower = program->row_lower, .row_upper = program->row_upper};
    const enum lp_outcome outcome = lp_solve(&lp, program->x);
    if (outcome == LP_NO_MEMORY) return SIM_E_NOMEM;
    if (outcome != LP_OPTIMAL) return 1;
    for (int j = 0; j < program->n_jobs; j++)
        program->jobs[j].target = (struct job_host){mean(program, j, false), mean(program, j, true)};
    return 0;
}

static double sum_of(const struct cluster_view *view, const struct opt_job *jobs, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += job_view_host_speed(view, jobs[i].view, &jobs[i].target);
    return sum;
}

static int solve_or_fit(struct program *program)
{
    int code = list_nodes(program);
    if (code != 0 || !fits_best(program)) return code != 0 ? code : solve(program);
    for (int j = 0; j < program->n_jobs; j++) program->jobs[j].target = program->jobs[j].best;
    return 0;
}

/* Where levels miss a bend of a table, the targets of before may be as good. */
static int solve_group(const struct synergy_opt *opt, const struct cluster_view *view, struct opt_job *jobs, size_t n)
{
    struct program program = {.view = view, .jobs = jobs, .row_of = opt->row_of, .n_jobs = (int)n};
    const double before = sum_of(view, jobs, n);
    for (size_t i = 0; i < n; i++) jobs[i].before = jobs[i].target;
    const int code = solve_or_fit(&program);
    if (code != 0 || !(sum_of(view, jobs, n) > before + LEAST_GAIN))
        for (size_t i = 0; i < n; i++) jobs[i].target = jobs[i].before;
    program_fini(&program);
    return code;
}

int synergy_opt_solve(struct synergy_opt *opt, const struct cluster_view *view)
{
    bool is_given_up = false;
    int code = group(opt, view);
    for (size_t i = 0, end = 0; code == 0 && i < opt->n; i = end) {
        while (end < opt->n && opt->jobs[end].group == opt->jobs[i].group) end++;
        const int solved = solve_group(opt, view, &opt->jobs[i], end - i);
        if (solved < 0) code = solved;
        is_given_up = is_given_up || solved > 0;
    }
    return code != 0 ? code : is_given_up;
}
