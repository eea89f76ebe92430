#include "policies/scheduler/sharing/packed_kinds.h"

#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <math.h>
#include <string.h>

void packed_kinds_fini(struct packed_kinds *kinds)
{
    mem_free(kinds->jobs);
    mem_free(kinds->first);
    mem_free(kinds->count);
    mem_free(kinds->need);
    mem_free(kinds->of);
}

int packed_kinds_add(struct packed_kinds *kinds, struct packed_job *job)
{
    return vec_push(&kinds->jobs, &kinds->n, &kinds->capacity, job);
}

void packed_kinds_remove(struct packed_kinds *kinds, const struct packed_job *job)
{
    size_t low = 0, high = kinds->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (kinds->jobs[middle]->view->sequence < job->view->sequence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == kinds->n || kinds->jobs[low] != job) return; /* there was no memory for it */
    memmove(&kinds->jobs[low], &kinds->jobs[low + 1], (--kinds->n - low) * sizeof(struct packed_job *));
}

static bool is_alike(const struct packed_job *a, const struct packed_job *b, const struct cluster_view *view)
{
    if (a->is_own_kind || b->is_own_kind || a->view->gpus != b->view->gpus || a->view->request != b->view->request ||
        strcmp(a->view->type, b->view->type) != 0)
        return false;
    for (; view != NULL; view = view->next_type)
        if (job_view_speed_on(view, a->view, a->view->gpus) != job_view_speed_on(view, b->view, b->view->gpus))
            return false;
    return true;
}

static int kind_of(const struct packed_kinds *kinds, const struct packed_job *job, const struct cluster_view *view)
{
    int k = 0;
    while (k < kinds->kinds && !is_alike(kinds->first[k], job, view)) k++;
    return k;
}

static int add_kind(struct packed_kinds *kinds, struct packed_job *job)
{
    const size_t n = (size_t)kinds->kinds + 1;
    if (vec_reserve(&kinds->first, &kinds->kinds_capacity, n) != 0 ||
        vec_reserve(&kinds->count, &kinds->count_capacity, n) != 0 ||
        vec_reserve(&kinds->need, &kinds->need_capacity, n) != 0)
        return SIM_E_NOMEM;
    kinds->first[kinds->kinds] = job;
    kinds->count[kinds->kinds++] = 0;
    return 0;
}

static int add_combination(struct packed_kinds *kinds, const struct combination *of)
{
    const size_t n = (size_t)kinds->combinations + 1;
    if (vec_reserve(&kinds->of, &kinds->of_capacity, n) != 0) return SIM_E_NOMEM;
    kinds->of[kinds->combinations++] = *of;
    return 0;
}

static int add_single(struct packed_kinds *kinds, const struct cluster_view *view, int kind)
{
    const struct job_view *job = kinds->first[kind]->view;
    struct combination of = {.first = kind, .second = -1, .gpus = job->gpus};
    bool runs = false;
    for (int j = 0; view != NULL && j < PACKED_TYPES; view = view->next_type, j++) {
        of.speed_first[j] = job_view_speed_on(view, job, job->gpus);
        runs = runs || of.speed_first[j] > 0;
    }
    return runs ? add_combination(kinds, &of) : 0;
}

static int add_pair(struct packed_kinds *kinds, const struct cluster_view *view, int first, int second)
{
    const struct job_view *jobs[] = {kinds->first[first]->view, kinds->first[second]->view};
    struct combination of = {.first = first, .second = second, .gpus = jobs[0]->gpus};
    bool gains = false;
    for (int j = 0; view != NULL && j < PACKED_TYPES; view = view->next_type, j++) {
        const double a = job_view_shared_speed(view, jobs, 2, 0), b = job_view_shared_speed(view, jobs, 2, 1);
        if (!(a > 0 && b > 0)) continue;
        of.speed_first[j] = a;
        of.speed_second[j] = b;
        gains = gains || a / job_view_speed_on(view, jobs[0], jobs[0]->gpus) +
                                 b / job_view_speed_on(view, jobs[1], jobs[1]->gpus) >
                             1;
    }
    return gains ? add_combination(kinds, &of) : 0;
}

int packed_kinds_find(struct packed_kinds *kinds, const struct cluster_view *view, bool shares)
{
    int code = 0;
    kinds->kinds = kinds->combinations = 0;
    for (size_t i = 0; code == 0 && i < packed_kinds_n(kinds); i++) {
        struct packed_job *job = kinds->jobs[i];
        const int kind = kind_of(kinds, job, view);
        job->kind = kind < PACKED_MOST_KINDS ? kind : -1;
        if (job->kind == kinds->kinds) code = add_kind(kinds, job);
        if (code == 0 && job->kind >= 0) kinds->count[job->kind]++;
    }
    for (int k = 0; code == 0 && k < kinds->kinds; k++) code = add_single(kinds, view, k);
    for (int k = 0; code == 0 && shares && k < kinds->kinds; k++)
        for (int l = k; code == 0 && l < kinds->kinds; l++)
            if ((l > k || kinds->count[k] > 1) && kinds->first[k]->view->gpus == kinds->first[l]->view->gpus)
                code = add_pair(kinds, view, k, l);
    return code;
}
