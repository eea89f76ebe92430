#include "policies/scheduler/goodput/knapsack.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

/* A gain below this part of the values is a rounding error. */
static const double TIE_FRAC = 1e-12;

static const struct knapsack_choice *choices_of(const struct knapsack *knapsack, size_t job, int32_t *n)
{
    *n = (int32_t)(knapsack->starts[job + 1] - knapsack->starts[job]);
    return &knapsack->choices[knapsack->starts[job]];
}

/* --- Exactly --- */

/* States are numbers whose digits are GPUs left of each type: digit j has the weight stride[j]. */
struct states {
    size_t n;
    size_t stride[KNAPSACK_TYPES];
    int64_t most[KNAPSACK_TYPES]; /* of each digit */
    double *best, *next;          /* [n]: of the jobs so far, and with the job that is added */
    int64_t *number;              /* [n]: as taken, of this job */
    int16_t *taken;               /* [jobs][n]: 1 + number of the choice; 0: none */
};

/* GPUs of a type that all jobs together may use. */
static int64_t usable(const struct knapsack *knapsack, int type)
{
    int64_t sum = 0;
    for (size_t i = 0; i < knapsack->n && sum < knapsack->gpus[type]; i++) {
        int32_t n, most = 0;
        const struct knapsack_choice *choices = choices_of(knapsack, i, &n);
        for (int32_t c = 0; c < n; c++)
            if (choices[c].type == type && choices[c].gpus > most) most = choices[c].gpus;
        sum += most;
    }
    return sum < knapsack->gpus[type] ? sum : knapsack->gpus[type];
}

/* Whether the exact solution is affordable. */
static bool count_states(const struct knapsack *knapsack, struct states *states)
{
    double n = 1;
    for (int j = 0; j < knapsack->types; j++) {
        states->most[j] = usable(knapsack, j);
        states->stride[j] = (size_t)n;
        n *= (double)states->most[j] + 1;
        if (n * (double)(knapsack->starts[knapsack->n] + knapsack->n) > KNAPSACK_WORK) return false;
    }
    states->n = (size_t)n;
    for (size_t i = 0; i < knapsack->n; i++)
        if (knapsack->starts[i + 1] - knapsack->starts[i] >= INT16_MAX) return false;
    return true;
}

/* What one choice of a job gains in n neighbouring states: `before` are the values without the job in the states that
 * the choice leaves. A state keeps what it has unless the choice is better by more than a rounding error. There is no
 * branch, so that a compiler can treat several states at once. */
static void improve(size_t n, const double *restrict before, double value, int64_t number, double *restrict best,
                    int64_t *restrict taken)
{
    for (size_t s = 0; s < n; s++) {
        const double sum = before[s] + value, had = best[s];
        const bool is_better = !(sum <= had + TIE_FRAC * fabs(had));
        best[s] = is_better ? sum : had;
        taken[s] = is_better ? number : taken[s];
    }
}

/* `best` becomes the values with this job. The states that have enough GPUs of a type are whole blocks. */
static void add_job(const struct knapsack *knapsack, struct states *states, size_t job)
{
    int32_t n;
    const struct knapsack_choice *choices = choices_of(knapsack, job, &n);
    double *before = states->best, *best = states->next;
    memcpy(best, before, states->n * sizeof *best);
    memset(states->number, 0, states->n * sizeof *states->number);
    for (int32_t c = 0; c < n; c++) {
        const size_t stride = states->stride[choices[c].type], gpus = (size_t)choices[c].gpus;
        const size_t block = stride * ((size_t)states->most[choices[c].type] + 1), first = gpus * stride;
        for (size_t at = 0; first < block && at < states->n; at += block)
            improve(block - first, &before[at], choices[c].value, c + 1, &best[at + first],
                    &states->number[at + first]);
    }
    for (size_t s = 0; s < states->n; s++) states->taken[job * states->n + s] = (int16_t)states->number[s];
    states->best = best;
    states->next = before;
}

static void read_back(const struct knapsack *knapsack, const struct states *states, int32_t *picked)
{
    size_t s = states->n - 1;
    for (size_t i = knapsack->n; i-- > 0;) {
        int32_t n;
        const struct knapsack_choice *choices = choices_of(knapsack, i, &n);
        picked[i] = states->taken[i * states->n + s] - 1;
        if (picked[i] >= 0) s -= (size_t)choices[picked[i]].gpus * states->stride[choices[picked[i]].type];
    }
}

/* --- By prices --- */

/* The best choice at these prices within `left` GPUs (NULL: any number), or -1. */
static int32_t best_at(const struct knapsack *knapsack, size_t job, const double *price, const int64_t *left)
{
    int32_t n, best = -1;
    double most = 0;
    const struct knapsack_choice *choices = choices_of(knapsack, job, &n);
    for (int32_t c = 0; c < n; c++) {
        const double net = choices[c].value - price[choices[c].type] * choices[c].gpus;
        if (net <= most || (left != NULL && choices[c].gpus > left[choices[c].type])) continue;
        most = net;
        best = c;
    }
    return best;
}

/* GPUs of each type that the jobs want at these prices. */
static void demand(const struct knapsack *knapsack, const double *price, int64_t wanted[KNAPSACK_TYPES])
{
    for (int j = 0; j < knapsack->types; j++) wanted[j] = 0;
    for (size_t i = 0; i < knapsack->n; i++) {
        const int32_t c = best_at(knapsack, i, price, NULL);
        if (c < 0) continue;
        const struct knapsack_choice *choice = &knapsack->choices[knapsack->starts[i] + (size_t)c];
        wanted[choice->type] += choice->gpus;
    }
}

enum { PRICE_STEPS = 100 };

/* Prices move by the ratio of demand to supply, in steps that grow smaller. */
static void find_prices(const struct knapsack *knapsack, double *price)
{
    double most = 0;
    int64_t wanted[KNAPSACK_TYPES];
    for (size_t c = 0; c < knapsack->starts[knapsack->n]; c++)
        most = fmax(most, knapsack->choices[c].value / knapsack->choices[c].gpus);
    for (int j = 0; j < knapsack->types; j++) price[j] = most / 4;
    for (int step = 0; step < PRICE_STEPS; step++) {
        demand(knapsack, price, wanted);
        for (int j = 0; j < knapsack->types; j++) {
            const double ratio = ((double)wanted[j] + 0.5) / ((double)knapsack->gpus[j] + 0.5);
            price[j] *= pow(fmin(fmax(ratio, 0.25), 4), 1 / (2 + step / 4.0));
        }
    }
}

static void move_gpus(const struct knapsack *knapsack, size_t job, int32_t choice, int sign, int64_t *left)
{
    if (choice < 0) return;
    const struct knapsack_choice *moved = &knapsack->choices[knapsack->starts[job] + (size_t)choice];
    left[moved->type] += sign * moved->gpus;
}

/* Gives the jobs, in order, what is best for them of the GPUs left at a part of the prices. */
static void offer(const struct knapsack *knapsack, const double *price, double part, int64_t *left, int32_t *picked)
{
    double reduced[KNAPSACK_TYPES];
    for (int j = 0; j < knapsack->types; j++) reduced[j] = price[j] * part;
    for (size_t i = 0; i < knapsack->n; i++) {
        move_gpus(knapsack, i, picked[i], 1, left);
        picked[i] = best_at(knapsack, i, reduced, left);
        move_gpus(knapsack, i, picked[i], -1, left);
    }
}

/* Parts of the prices at which GPUs are offered, one after another. */
static const double parts[] = {1, 1, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1, 0};

int knapsack_solve_by_prices(const struct knapsack *knapsack, int32_t *picked)
{
    double price[KNAPSACK_TYPES] = {0};
    int64_t left[KNAPSACK_TYPES];
    find_prices(knapsack, price);
    for (int j = 0; j < knapsack->types; j++) left[j] = knapsack->gpus[j];
    for (size_t i = 0; i < knapsack->n; i++) picked[i] = -1;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) offer(knapsack, price, parts[k], left, picked);
    return 0;
}

int knapsack_solve(const struct knapsack *knapsack, int32_t *picked)
{
    struct states states = {0};
    if (!count_states(knapsack, &states)) return knapsack_solve_by_prices(knapsack, picked);
    states.best = mem_zalloc(states.n, sizeof *states.best);
    states.next = mem_zalloc(states.n, sizeof *states.next);
    states.number = mem_zalloc(states.n, sizeof *states.number);
    states.taken = mem_zalloc(knapsack->n * states.n + 1, sizeof *states.taken);
    const bool has_memory = states.best != NULL && states.next != NULL && states.number != NULL && states.taken != NULL;
    for (size_t i = 0; has_memory && i < knapsack->n; i++) add_job(knapsack, &states, i);
    if (has_memory) read_back(knapsack, &states, picked);
    mem_free(states.best);
    mem_free(states.next);
    mem_free(states.number);
    mem_free(states.taken);
    return has_memory ? 1 : SIM_E_NOMEM;
}
