#include "policies/scheduler/sharing/matching.h"

#include "policies/lp.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

/* Groups of one kind, and how often two kinds are joined. */
struct matching {
    size_t n;                    /* groups */
    int *kind_of;                /* [n] */
    int kinds;
    const struct sharing_group **first; /* [kinds] */
    double *count, *weight, *joins;     /* [kinds], [kinds][kinds] for a <= b, likewise */
};

/* The weight of a group; 0: its jobs cannot share. */
static double weight_of(const struct cluster_view *view, const struct sharing_group *group)
{
    const struct job_view *views[SHARING_MOST];
    double sum = 0;
    for (int32_t i = 0; i < group->n; i++) views[i] = group->jobs[i]->view;
    for (int32_t i = 0; i < group->n; i++) {
        const double alone = job_view_speed_on(view, views[i], views[i]->gpus);
        const double shared = group->n > 1 ? job_view_shared_speed(view, views, group->n, i) : alone;
        if (!(shared > 0)) return 0;
        sum += shared / alone;
    }
    return sum;
}

/* Number of jobs of a type in a group. */
static int32_t count_type(const struct sharing_group *group, const char *type)
{
    int32_t n = 0;
    for (int32_t i = 0; i < group->n; i++) n += strcmp(group->jobs[i]->view->type, type) == 0;
    return n;
}

static bool is_alike(const struct sharing_group *a, const struct sharing_group *b)
{
    if (a->n != b->n) return false;
    for (int32_t i = 0; i < a->n; i++) {
        const char *type = a->jobs[i]->view->type;
        if (count_type(a, type) != count_type(b, type)) return false;
    }
    return true;
}

static struct sharing_group joined(const struct sharing_group *a, const struct sharing_group *b)
{
    struct sharing_group group = *a;
    for (int32_t i = 0; i < b->n; i++) group.jobs[group.n++] = b->jobs[i];
    return group;
}

static void matching_fini(struct matching *matching)
{
    mem_free(matching->kind_of);
    mem_free(matching->first);
    mem_free(matching->count);
}

static int matching_init(struct matching *matching, const struct sharing_group *groups, size_t n)
{
    *matching = (struct matching){.n = n};
    matching->kind_of = mem_zalloc(n + 1, sizeof *matching->kind_of);
    matching->first = mem_zalloc(n + 1, sizeof *matching->first);
    if (matching->kind_of == NULL || matching->first == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        int k = 0;
        while (k < matching->kinds && !is_alike(matching->first[k], &groups[i])) k++;
        if (k == matching->kinds) matching->first[matching->kinds++] = &groups[i];
        matching->kind_of[i] = k;
    }
    const size_t kinds = (size_t)matching->kinds;
    matching->count = mem_zalloc(kinds + 2 * kinds * kinds + 1, sizeof *matching->count);
    if (matching->count == NULL) return SIM_E_NOMEM;
    matching->weight = matching->count + kinds;
    matching->joins = matching->weight + kinds * kinds;
    for (size_t i = 0; i < n; i++) matching->count[matching->kind_of[i]]++;
    return 0;
}

static void weigh(struct matching *matching, const struct cluster_view *view, int32_t most)
{
    for (int a = 0; a < matching->kinds; a++)
        for (int b = a; b < matching->kinds; b++) {
            if (matching->first[a]->n + matching->first[b]->n > most || (a == b && matching->count[a] < 2)) continue;
            const struct sharing_group group = joined(matching->first[a], matching->first[b]);
            matching->weight[a * matching->kinds + b] = weight_of(view, &group);
        }
}

/* --- Two ways to match --- */

enum { MOST_NODES = 200 };

/* Columns are pairs of kinds that can share, heavier ones first by nothing but their order; rows are kinds. */
static int solve(struct matching *matching)
{
    const int kinds = matching->kinds, most = kinds * (kinds + 1) / 2;
    double *numbers = mem_zalloc((size_t)(most * (4 + kinds) + 2 * kinds + 1), sizeof *numbers);
    bool *integer = mem_zalloc((size_t)most + 1, sizeof *integer);
    int *pair = mem_zalloc((size_t)most + 1, sizeof *pair);
    int columns = 0, found = numbers == NULL || integer == NULL || pair == NULL ? SIM_E_NOMEM : 0;
    for (int i = 0; found == 0 && i < kinds * kinds; i++)
        if (matching->weight[i] > 0) pair[columns++] = i;
    if (found == 0 && columns > 0) {
        double *cost = numbers, *lower = cost + columns, *upper = lower + columns, *x = upper + columns;
        double *row_lower = x + columns, *row_upper = row_lower + kinds, *matrix = row_upper + kinds;
        for (int k = 0; k < kinds; k++) row_lower[k] = -(double)INFINITY;
        memcpy(row_upper, matching->count, (size_t)kinds * sizeof *row_upper);
        for (int c = 0; c < columns; c++) {
            const int a = pair[c] / kinds, b = pair[c] % kinds;
            cost[c] = -matching->weight[pair[c]];
            upper[c] = floor(a == b ? matching->count[a] / 2 : fmin(matching->count[a], matching->count[b]));
            integer[c] = true;
            matrix[a * columns + c] += 1;
            matrix[b * columns + c] += 1;
        }
        const struct lp lp = {.columns = columns, .rows = kinds, .cost = cost, .lower = lower, .upper = upper,
                              .matrix = matrix, .row_lower = row_lower, .row_upper = row_upper, .integer = integer};
        const enum lp_outcome outcome = lp_solve_integer(&lp, MOST_NODES, x);
        found = outcome == LP_OPTIMAL ? 1 : outcome == LP_NO_MEMORY ? SIM_E_NOMEM : 0;
        for (int c = 0; found == 1 && c < columns; c++) matching->joins[pair[c]] = x[c];
    } else if (found == 0) {
        found = 1;
    }
    mem_free(numbers);
    mem_free(integer);
    mem_free(pair);
    return found;
}

/* The heaviest pair first, as often as there are groups of both kinds. */
static void take_heaviest(struct matching *matching)
{
    const int kinds = matching->kinds;
    for (;;) {
        int best = -1;
        for (int i = 0; i < kinds * kinds; i++)
            if (matching->weight[i] > 0 && (best < 0 || matching->weight[i] > matching->weight[best])) best = i;
        if (best < 0) return;
        double *a = &matching->count[best / kinds], *b = &matching->count[best % kinds];
        const double n = a == b ? floor(*a / 2) : fmin(*a, *b);
        matching->joins[best] = n;
        *a -= n;
        *b -= n;
        matching->weight[best] = 0;
    }
}

/* --- Joining --- */

/* The first group of a kind that has not been joined, at or after `from`; n: none. */
static size_t next_of(const struct matching *matching, int kind, size_t from)
{
    while (from < matching->n && matching->kind_of[from] != kind) from++;
    return from;
}

static size_t join(struct matching *matching, struct sharing_group *groups)
{
    const int kinds = matching->kinds;
    size_t kept = 0;
    for (int i = 0; i < kinds * kinds; i++)
        for (double times = matching->joins[i]; times >= 0.5; times--) {
            const size_t a = next_of(matching, i / kinds, 0);
            if (a == matching->n) break;
            matching->kind_of[a] = -1;
            const size_t b = next_of(matching, i % kinds, 0);
            if (b == matching->n) break;
            groups[a] = joined(&groups[a], &groups[b]);
            matching->kind_of[b] = -2; /* it is part of another */
        }
    for (size_t i = 0; i < matching->n; i++)
        if (matching->kind_of[i] != -2) groups[kept++] = groups[i];
    return kept;
}

int matching_pair(const struct cluster_view *view, struct sharing_group *groups, size_t *n, int32_t most)
{
    struct matching matching;
    int code = matching_init(&matching, groups, *n), found = 0;
    if (code == 0) {
        weigh(&matching, view, most);
        found = matching.kinds <= MATCHING_KINDS ? solve(&matching) : 0;
        if (found == 0) take_heaviest(&matching);
        if (found >= 0) *n = join(&matching, groups);
    }
    matching_fini(&matching);
    return code < 0 ? code : found;
}
