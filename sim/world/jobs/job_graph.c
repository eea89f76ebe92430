#include "sim/world/jobs/job_graph.h"

#include "sim/core/check.h"
#include "sim/core/vec.h"
#include "sim/world/jobs/job.h"
#include "sim/world/policy/cluster_view.h"

#include <math.h>

/* What `ids` holds of a rejected job; no pointer has this value. */
enum { IS_REJECTED = 0 };

void job_graph_init(struct job_graph *graph)
{
    *graph = (struct job_graph){0};
    pool_init(&graph->links, sizeof(struct job_link));
    pool_init(&graph->places, sizeof(struct job_place));
}

void job_graph_fini(struct job_graph *graph)
{
    key_map_fini(&graph->ids);
    mem_free(graph->rejected);
    pool_fini(&graph->links);
    pool_fini(&graph->places);
}

/* --- Entering --- */

static int take_place(struct job_graph *graph, struct job *job)
{
    job->place = pool_take(&graph->places);
    if (job->place == NULL) return SIM_E_NOMEM;
    *job->place = (struct job_place){0};
    return 0;
}

static int remember(struct job_graph *graph, const struct job *job)
{
    return key_map_set(&graph->ids, (uint64_t)job->view.id, (int64_t)(intptr_t)job);
}

/* Runs without needs keep only the ids of rejected jobs; the first need makes up for that. */
static int begin(struct jobs *jobs, const struct job *first)
{
    struct job_graph *graph = &jobs->graph;
    int code = 0;
    graph->is_used = true;
    for (size_t i = 0; i < graph->n_rejected && code == 0; i++)
        code = key_map_set(&graph->ids, (uint64_t)graph->rejected[i], IS_REJECTED);
    for (struct job *job = jobs->oldest; job != first && code == 0; job = job->next) {
        code = take_place(graph, job);
        if (code == 0) code = remember(graph, job);
    }
    return code;
}

static void lengthen(struct job *job);

static int add_need(struct job *job, const struct job_need *need)
{
    struct job_graph *graph = &job->jobs->graph;
    const int64_t found = key_map_find(&graph->ids, (uint64_t)need->job);
    if (found <= IS_REJECTED) return 0;
    struct job *from = (struct job *)(intptr_t)found; // NOLINT(performance-no-int-to-ptr)
    struct job_link *link = pool_take(&graph->links);
    if (link == NULL) return SIM_E_NOMEM;
    *link = (struct job_link){.from = from, .to = job, .next_need = job->place->needs, .next_user = from->place->users,
                              .delay_ns = need->delay_ns, .keeper = need->keeps_gpus ? from : NULL, .node = -1};
    from->place->n_keeps_for += need->keeps_gpus;
    job->place->needs = from->place->users = link;
    job->place->n_awaited++;
    return 0;
}

int job_graph_enter(struct job *job, const struct job_record *record)
{
    struct job_graph *graph = &job->jobs->graph;
    int code = graph->is_used ? 0 : begin(job->jobs, job);
    if (code == 0) code = take_place(graph, job);
    if (code < 0) return code;
    for (int32_t i = 0; i < record->n_needs && code == 0; i++) code = add_need(job, &record->needs[i]);
    if (record->n_enough > 0) {
        job->place->n_awaited -= record->n_needs - record->n_enough;
        if (job->place->n_awaited < 0) job->place->n_awaited = 0;
    }
    if (code == 0) code = remember(graph, job);
    if (code == 0 && graph->is_fresh) lengthen(job);
    graph->n_held += job_is_held(job);
    return code;
}

bool job_graph_is_void(const struct jobs *jobs, const struct job_record *record)
{
    for (int32_t i = 0; i < record->n_needs; i++)
        if (key_map_find(&jobs->graph.ids, (uint64_t)record->needs[i].job) == IS_REJECTED) return true;
    return false;
}

/* --- Ending --- */

static int64_t first_node(const struct job *job)
{
    const struct allocation *held = job->holder.held;
    return held == NULL ? -1 : jobs_cluster_of(job->jobs, job->view.node_type)->first_node + held->node;
}

static void refresh(struct jobs *jobs);
static sim_ns own_ns(const struct job *job);

/* The list has the youngest first. */
static void reverse_users(struct job *job)
{
    struct job_link *reversed = NULL;
    for (struct job_link *link = job->place->users, *next; link != NULL; link = next) {
        next = link->next_user;
        link->next_user = reversed;
        reversed = link;
    }
    job->place->users = reversed;
}

int job_graph_end(struct job *job, sim_ns now)
{
    struct job_graph *graph = &job->jobs->graph;
    int code = 0;
    if (job->place->users == NULL) return 0;
    if (graph->is_asked) refresh(job->jobs);
    reverse_users(job);
    const sim_ns head_ns = graph->is_asked ? sim_ns_add(job->place->head_ns, own_ns(job)) : 0;
    while (job->place->users != NULL && code == 0) {
        struct job_link *link = job->place->users;
        struct job *to = link->to;
        job->place->users = link->next_user;
        link->from = NULL;
        link->ended_ns = now;
        link->node = first_node(job);
        link->node_type = job->view.node_type;
        link->head_ns = sim_ns_add(head_ns, link->delay_ns);
        if (to->place->n_awaited == 0 || --to->place->n_awaited > 0) continue;
        graph->n_held--;
        graph->n_released++;
        graph->held_s += sim_s_from_ns(now - to->view.submit_ns);
        code = jobs_admit(to, now);
    }
    return code;
}

/* Takes the link out of the list of those that need `from`. */
static void unlink_user(struct job_link *link)
{
    struct job_link **at = &link->from->place->users;
    while (*at != link) at = &(*at)->next_user;
    *at = link->next_user;
}

/* A job that leaves without having kept its GPUs (it has none, or shares them) keeps them for no one. */
static void forget_keeper(struct job *keeper)
{
    for (struct job *job = keeper->jobs->oldest; job != NULL; job = job->next)
        for (struct job_link *link = job->place != NULL ? job->place->needs : NULL; link != NULL;
             link = link->next_need)
            if (link->keeper == keeper) link->keeper = NULL;
}

void job_graph_leave(struct job *job)
{
    struct job_graph *graph = &job->jobs->graph;
    if (job->place->n_keeps_for > 0) forget_keeper(job);
    graph->n_held -= job_is_held(job);
    for (struct job_link *link = job->place->needs, *next; link != NULL; link = next) {
        next = link->next_need;
        if (link->from != NULL) unlink_user(link);
        job_let_go(link);
        pool_give(&graph->links, link);
    }
    if (key_map_find(&graph->ids, (uint64_t)job->view.id) == (int64_t)(intptr_t)job)
        key_map_remove(&graph->ids, (uint64_t)job->view.id);
    pool_give(&graph->places, job->place);
    job->place = NULL;
}

void job_graph_start(struct job *job)
{
    for (struct job_link *link = job->place->needs; link != NULL; link = link->next_need) job_let_go(link);
}

/* Puts the jobs that need this one into the list, each once. */
static void list_users(struct job *job, struct job **due)
{
    while (job->place->users != NULL) {
        struct job_link *link = job->place->users;
        struct job *to = link->to;
        unlink_user(link);
        link->from = NULL;
        if (to->place->n_awaited == 0) continue;
        job->jobs->graph.n_held--;
        to->place->n_awaited = 0;
        to->place->next_due = *due;
        *due = to;
    }
}

int job_graph_reject(struct job *job, sim_ns now)
{
    struct jobs *jobs = job->jobs;
    struct job *due = NULL;
    int code = 0;
    if (!jobs->graph.is_used)
        return vec_push(&jobs->graph.rejected, &jobs->graph.n_rejected, &jobs->graph.rejected_capacity, job->view.id);
    jobs->graph.is_fresh = false;
    code = key_map_set(&jobs->graph.ids, (uint64_t)job->view.id, IS_REJECTED);
    list_users(job, &due);
    while (due != NULL && code == 0) {
        struct job *next = due;
        due = next->place->next_due;
        list_users(next, &due);
        code = key_map_set(&jobs->graph.ids, (uint64_t)next->view.id, IS_REJECTED);
        if (code == 0) code = jobs_reject_held(next, now);
    }
    return code;
}

/* --- Data --- */

static bool is_on_node(const struct job *job, int64_t node)
{
    const int64_t first = jobs_cluster_of(job->jobs, job->view.node_type)->first_node;
    for (const struct allocation *part = job->holder.held; part != NULL; part = part->next)
        if (first + part->node == node) return true;
    return false;
}

sim_ns job_graph_wait_ns(const struct job *job, sim_ns now)
{
    sim_ns until_ns = now;
    for (const struct job_link *link = job->place->needs; link != NULL; link = link->next_need) {
        if (link->from != NULL || link->delay_ns == 0 || (link->node >= 0 && is_on_node(job, link->node))) continue;
        const sim_ns there_ns = sim_ns_add(link->ended_ns, link->delay_ns);
        if (there_ns > until_ns) until_ns = there_ns;
    }
    return until_ns - now;
}

/* --- Paths --- */

/* The estimated run time, mean over the node types on which the job can run. */
static sim_ns own_ns(const struct job *job)
{
    double sum = 0;
    int32_t n = 0;
    for (int32_t i = 0; i < job->jobs->n_node_types && job->type != NULL; i++) {
        const double speed = job_speed_on(job, jobs_view_of(job->jobs, i), job->view.gpus);
        if (!(speed > 0)) continue;
        sum += 1 / speed;
        n++;
    }
    return n > 0 ? sim_ns_from_s(sim_s_from_ns(job->view.estimate_ns) * sum / n) : job->view.estimate_ns;
}

static void set_head(struct job *job)
{
    job->place->head_ns = 0;
    for (const struct job_link *link = job->place->needs; link != NULL; link = link->next_need) {
        const struct job *from = link->from;
        const sim_ns end_ns = from != NULL ? sim_ns_add(from->place->head_ns, own_ns(from)) : 0;
        const sim_ns head_ns = from != NULL ? sim_ns_add(end_ns, link->delay_ns) : link->head_ns;
        if (head_ns > job->place->head_ns) job->place->head_ns = head_ns;
    }
}

static void set_tail(struct job *job)
{
    struct job_place *place = job->place;
    sim_ns longest_ns = 0;
    place->tail_jobs = 1;
    for (const struct job_link *link = place->users; link != NULL; link = link->next_user) {
        const struct job_place *user = link->to->place;
        const sim_ns tail_ns = sim_ns_add(link->delay_ns, user->tail_ns);
        if (tail_ns > longest_ns) longest_ns = tail_ns;
        if (user->tail_jobs >= place->tail_jobs) place->tail_jobs = user->tail_jobs + 1;
    }
    place->tail_ns = sim_ns_add(own_ns(job), longest_ns);
}

/* The paths of a job that enters, which nobody needs yet, and of those that have become longer by it. */
static void lengthen(struct job *job)
{
    struct job *due = job;
    set_head(job);
    while (due != NULL) {
        struct job *at = due;
        const struct job_place before = *at->place;
        due = at->place->next_due;
        at->place->is_due = false;
        set_tail(at);
        if (at->place->tail_ns == before.tail_ns && at->place->tail_jobs == before.tail_jobs) continue;
        for (const struct job_link *link = at->place->needs; link != NULL; link = link->next_need) {
            if (link->from == NULL || link->from->place->is_due) continue;
            link->from->place->is_due = true;
            link->from->place->next_due = due;
            due = link->from;
        }
    }
}

/* Needs are older than the jobs that need them. */
static void refresh(struct jobs *jobs)
{
    if (jobs->graph.is_fresh || !jobs->graph.is_used) return;
    for (struct job *job = jobs->oldest; job != NULL; job = job->next) set_head(job);
    for (struct job *job = jobs->youngest; job != NULL; job = job->prev) set_tail(job);
    jobs->graph.is_fresh = true;
}

struct job_path job_view_path(const struct cluster_view *view, const struct job_view *job)
{
    struct job *of = job_of(job);
    const sim_ns own = own_ns(of);
    (void)view;
    of->jobs->graph.is_asked = true;
    if (!of->jobs->graph.is_used) return (struct job_path){.own_ns = own, .tail_ns = own, .tail_jobs = 1};
    refresh(of->jobs);
    return (struct job_path){.head_ns = of->place->head_ns, .own_ns = own, .tail_ns = of->place->tail_ns,
                             .tail_jobs = of->place->tail_jobs};
}

/* --- What schedulers see of the graph --- */

const struct job_view *job_view_oldest(const struct cluster_view *view, const struct job_view *job)
{
    (void)view;
    return &job_of(job)->jobs->oldest->view;
}

const struct job_view *job_view_next(const struct cluster_view *view, const struct job_view *job)
{
    const struct job *next = job_of(job)->next;
    (void)view;
    return next != NULL ? &next->view : NULL;
}

bool job_view_need(const struct cluster_view *view, const struct job_view *job, int32_t index, struct job_edge *edge)
{
    struct jobs *jobs = job_of(job)->jobs;
    (void)view;
    if (job_of(job)->place == NULL) return false;
    const struct job_link *link = job_of(job)->place->needs;
    const bool is_held = job_is_held(job_of(job));
    for (; link != NULL; link = link->next_need) {
        if (link->from != NULL && !is_held) continue; /* enough others have ended */
        if (index-- == 0) break;
    }
    if (link == NULL) return false;
    *edge = (struct job_edge){.from = link->from != NULL ? &link->from->view : NULL, .delay_ns = link->delay_ns};
    if (link->from != NULL) return true;
    edge->ended_ns = link->ended_ns;
    edge->on = link->node >= 0 ? jobs_view_of(jobs, link->node_type) : NULL;
    return true;
}
