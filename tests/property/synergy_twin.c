/* Synergy against a naive twin, a scheduler that follows the rules of policies/scheduler/host/README.md. It keeps
 * nothing from one decision to the next and asks for each job anew. All jobs must start and end as under Synergy. */
#include "sim/core/text.h"
#include "sim/world/policy/scheduler.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdlib.h>

enum { MOST_JOBS = 64, MOST_NODES = 8 };
enum order { FIFO, SRTF, LAS, FTF };
enum division { PROPORTIONAL, GREEDY, TUNE };

static const char *const orders[] = {"fifo", "srtf", "las", "ftf"};
static const char *const divisions[] = {"proportional", "greedy", "tune"};

/* The twin of the present run. */
static struct {
    enum order order;
    enum division division;
    const struct job_view *jobs[MOST_JOBS]; /* [n] in the order of the latest decision */
    double keys[MOST_JOBS];
    bool is_chosen[MOST_JOBS], is_preempted[MOST_JOBS];
    int n, n_made; /* n_made: jobs that others made room for */
} twin;

static void twin_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    (void)state, (void)view;
    if (note->event == JOB_EVENT_SUBMIT && twin.n < MOST_JOBS) twin.jobs[twin.n++] = note->job;
    for (int i = 0; note->event == JOB_EVENT_FINISH && i < twin.n; i++)
        if (twin.jobs[i] == note->job) twin.jobs[i] = twin.jobs[--twin.n];
}

/* --- Amounts --- */

static struct job_host asked_by(const struct cluster_view *view, const struct job_view *job)
{
    const struct resource_request *request = &view->requests[job->request];
    return (struct job_host){request->cpu_milli, request->memory_bytes};
}

static struct job_host best_of(const struct cluster_view *view, const struct job_view *job)
{
    return twin.division == PROPORTIONAL ? asked_by(view, job) : job_view_host_best(view, job);
}

static struct job_host own_of(const struct cluster_view *view, const struct job_view *job)
{
    struct job_host own = asked_by(view, job);
    const struct job_host best = best_of(view, job);
    if (best.cpu_milli < own.cpu_milli) own.cpu_milli = best.cpu_milli;
    if (best.memory_bytes < own.memory_bytes) own.memory_bytes = best.memory_bytes;
    return own;
}

static struct job_host for_gpus(const struct job_host *host, int32_t gpus, int32_t of)
{
    return (struct job_host){resource_request_share(host->cpu_milli, gpus, of),
                             resource_request_share(host->memory_bytes, gpus, of)};
}

/* The most that is divided into the parts that the job holds, at most 1/1000 CPU and a byte less for each GPU. */
static struct job_host held_by(const struct job_view *job)
{
    struct job_host held = {0, 0};
    for (struct job_part part = {0}; job_view_next_part(job, &part);) {
        held.cpu_milli += part.cpu_milli;
        held.memory_bytes += part.memory_bytes;
    }
    for (struct job_part part = {0}; job_view_next_part(job, &part);) {
        while (for_gpus(&held, part.gpus, job->gpus).cpu_milli > part.cpu_milli) held.cpu_milli--;
        while (for_gpus(&held, part.gpus, job->gpus).memory_bytes > part.memory_bytes) held.memory_bytes--;
    }
    return held;
}

static int64_t at_least_0(int64_t x)
{
    return x > 0 ? x : 0;
}

/* INT64_MAX: not counted. */
static int64_t sum(int64_t a, int64_t b)
{
    return a == INT64_MAX ? a : a + b;
}

/* What a running job holds of a node beyond its own share; its GPUs there in *gpus, 0 if it is not there. */
static struct job_host excess_on(const struct cluster_view *view, const struct job_view *job, int32_t node,
                                 int32_t *gpus)
{
    struct job_part part = {0};
    *gpus = 0;
    while (job->gpus > 0 && job->state == JOB_RUNNING && job_view_next_part(job, &part)) {
        if (part.node != node) continue;
        const struct job_host all = own_of(view, job), own = for_gpus(&all, part.gpus, job->gpus);
        *gpus = part.gpus;
        return (struct job_host){at_least_0(part.cpu_milli - own.cpu_milli),
                                 at_least_0(part.memory_bytes - own.memory_bytes)};
    }
    return (struct job_host){0, 0};
}

/* --- Room --- */

/* The GPUs of each part of the job. Returns the number of parts. */
static int list_parts(const struct cluster_view *view, const struct job_view *job, int32_t parts[MOST_NODES])
{
    const int32_t per_node = view->gpus_per_node, least = (job->gpus + per_node - 1) / per_node;
    int n = 0;
    if (job->nodes > least)
        for (; n < job->nodes && n < job->gpus; n++) {
            const int32_t of = job->nodes < job->gpus ? job->nodes : job->gpus;
            parts[n] = job->gpus / of + (n < job->gpus % of);
        }
    else
        for (int32_t left = job->gpus; left > 0; left -= parts[n++]) parts[n] = left < per_node ? left : per_node;
    return n;
}

/* The fullest GPU of a node that a share still fits; -1: none. */
static int32_t gpu_of(const struct node_view *node, int32_t milli)
{
    int32_t gpu = -1;
    for (int32_t i = node->gpus; i-- > 0;)
        if (node->gpu_left_milli[i] >= milli && (gpu < 0 || node->gpu_left_milli[i] <= node->gpu_left_milli[gpu]))
            gpu = i;
    return gpu;
}

/* Whether a part of the job fits on the node once the jobs there hold their own shares. A whole job to which nothing is
 * missing was refused by the placer for another reason. */
static bool would_fit(const struct cluster_view *view, const struct job_view *job, int32_t node, int32_t gpus)
{
    const struct node_view *at = &view->nodes[node];
    const struct resource_request *request = &view->requests[job->request];
    const struct job_host all = own_of(view, job), own = for_gpus(&all, gpus, job->gpus);
    int64_t cpu_milli = at->cpu_left_milli, bytes = at->memory_left_bytes;
    if ((request->gpu_models & UINT64_C(1) << at->gpu_model) == 0) return false;
    if (request->gpu_milli < 1000 && gpu_of(at, request->gpu_milli) < 0) return false;
    if (request->gpu_milli == 1000 && at->free_gpus < gpus) return false;
    if (gpus == job->gpus && cpu_milli >= own.cpu_milli && bytes >= own.memory_bytes) return false;
    for (int i = 0; i < twin.n; i++) {
        int32_t there;
        const struct job_host excess = excess_on(view, twin.jobs[i], node, &there);
        cpu_milli = sum(cpu_milli, excess.cpu_milli);
        bytes = sum(bytes, excess.memory_bytes);
    }
    return cpu_milli >= own.cpu_milli && bytes >= own.memory_bytes;
}

/* The last jobs in the order give back what is missing on a node, in equal amounts for each of their GPUs. */
static void give_back(const struct cluster_view *view, int32_t node, const struct job_host *wanted,
                      struct job_plan *plan)
{
    const struct node_view *at = &view->nodes[node];
    for (int i = twin.n; i-- > 0;) {
        const struct job_view *job = twin.jobs[i];
        int32_t gpus;
        const struct job_host excess = excess_on(view, job, node, &gpus), own = own_of(view, job);
        struct job_host missing = {at_least_0(wanted->cpu_milli - at->cpu_left_milli),
                                   at_least_0(wanted->memory_bytes - at->memory_left_bytes)};
        if (missing.cpu_milli > excess.cpu_milli) missing.cpu_milli = excess.cpu_milli;
        if (missing.memory_bytes > excess.memory_bytes) missing.memory_bytes = excess.memory_bytes;
        if (gpus == 0 || (missing.cpu_milli == 0 && missing.memory_bytes == 0)) continue;
        struct job_host now = held_by(job);
        for (int64_t given = 0; given < missing.cpu_milli; given += gpus) now.cpu_milli -= job->gpus;
        now.memory_bytes -= (missing.memory_bytes / gpus + (missing.memory_bytes % gpus > 0)) * job->gpus;
        if (missing.cpu_milli > 0 && now.cpu_milli < own.cpu_milli) now.cpu_milli = own.cpu_milli;
        if (missing.memory_bytes > 0 && now.memory_bytes < own.memory_bytes) now.memory_bytes = own.memory_bytes;
        CHECK(job_plan_set_host(plan, job, &now, "gives back"));
    }
}

/* Each part goes to the node with the fewest free GPUs, the first of equals, where it would fit. */
static bool start_in_room(const struct cluster_view *view, const struct job_view *job, struct job_plan *plan)
{
    const struct job_host all = own_of(view, job);
    const int32_t gpu_milli = view->requests[job->request].gpu_milli;
    int32_t parts[MOST_NODES], nodes[MOST_NODES];
    bool is_taken[MOST_NODES] = {false};
    const int n = list_parts(view, job, parts);
    if (n > view->n_nodes) return false;
    for (int i = 0; i < n; i++) {
        nodes[i] = -1;
        for (int32_t node = view->n_nodes; node-- > 0;)
            if (!is_taken[node] && would_fit(view, job, node, parts[i]) &&
                (nodes[i] < 0 || view->nodes[node].free_gpus <= view->nodes[nodes[i]].free_gpus))
                nodes[i] = node;
        if (nodes[i] < 0) return false;
        is_taken[nodes[i]] = true;
    }
    for (int i = 0; i < n; i++) {
        const struct job_host own = for_gpus(&all, parts[i], job->gpus);
        give_back(view, nodes[i], &own, plan);
    }
    struct placement where = {.nodes = nodes, .gpus = parts, .n = n, .capacity = MOST_NODES, .gpu = -1};
    if (gpu_milli < 1000) where.gpu = gpu_of(&view->nodes[nodes[0]], gpu_milli);
    CHECK(job_plan_start_with(plan, job, &all, &where, "in the room of others"));
    twin.n_made++;
    return true;
}

/* --- A decision --- */

static double key_of(const struct cluster_view *view, const struct job_view *job)
{
    const double left_ns = (double)job_view_estimated_remaining_ns(view, job);
    if (twin.order == SRTF) return left_ns;
    if (twin.order == LAS) return (double)job_view_executed_ns(view, job) * job->gpus;
    if (twin.order == FTF) return -((double)(view->now_ns - job->submit_ns) + left_ns) / (double)job->estimate_ns;
    return 0;
}

static void sort_jobs(const struct cluster_view *view)
{
    for (int i = 0; i < twin.n; i++) {
        const struct job_view *job = twin.jobs[i];
        const double key = key_of(view, job);
        int at = i;
        for (; at > 0; at--) {
            const bool is_later = twin.keys[at - 1] > key ||
                                  (twin.keys[at - 1] == key && twin.jobs[at - 1]->sequence > job->sequence);
            if (!is_later) break;
            twin.jobs[at] = twin.jobs[at - 1];
            twin.keys[at] = twin.keys[at - 1];
        }
        twin.jobs[at] = job;
        twin.keys[at] = key;
    }
}

/* The first that fit by their GPUs alone run; others that run are preempted. */
static void choose(const struct cluster_view *view, struct job_plan *plan)
{
    int64_t left = view->total_gpus;
    for (int i = 0; i < twin.n; i++) {
        const struct job_view *job = twin.jobs[i];
        twin.is_chosen[i] = job->gpus <= left;
        if (twin.is_chosen[i]) left -= job->gpus;
    }
    for (int i = 0; i < twin.n; i++) {
        twin.is_preempted[i] = twin.jobs[i]->gpus > 0 && twin.jobs[i]->state == JOB_RUNNING && !twin.is_chosen[i];
        if (twin.is_preempted[i]) job_plan_preempt(plan, twin.jobs[i], "comes later");
    }
}

static void start(const struct cluster_view *view, int i, struct job_plan *plan)
{
    const struct job_view *job = twin.jobs[i];
    if (view->nodes == NULL || twin.is_preempted[i])
        if (job_plan_start(plan, job, "as it asked") || view->nodes == NULL) return;
    const struct job_host best = best_of(view, job), own = own_of(view, job);
    if (job_plan_start_with(plan, job, &best, NULL, "with its best")) return;
    if (twin.division == GREEDY && view->n_running > 0) return;
    if (job_plan_start_with(plan, job, &own, NULL, "with its own share")) return;
    if (twin.division == TUNE) start_in_room(view, job, plan);
}

/* A running job gets what is left on its nodes, in equal amounts for each GPU, if that makes it faster. */
static void grow(const struct cluster_view *view, const struct job_view *job, struct job_plan *plan)
{
    const struct job_host best = best_of(view, job), held = held_by(job);
    struct job_host more = best;
    for (struct job_part part = {0}; job_view_next_part(job, &part);) {
        const struct node_view *at = &view->nodes[part.node];
        const int64_t milli = sum(at->cpu_left_milli, part.cpu_milli) / part.gpus,
                      bytes = sum(at->memory_left_bytes, part.memory_bytes) / part.gpus;
        if (milli < more.cpu_milli / job->gpus) more.cpu_milli = milli * job->gpus;
        if (bytes < more.memory_bytes / job->gpus) more.memory_bytes = bytes * job->gpus;
    }
    if (more.cpu_milli < held.cpu_milli) more.cpu_milli = held.cpu_milli;
    if (more.memory_bytes < held.memory_bytes) more.memory_bytes = held.memory_bytes;
    if (job_view_host_speed(view, job, &more) > job_view_host_speed(view, job, &held))
        CHECK(job_plan_set_host(plan, job, &more, "more"));
}

enum { ROUND_S = 25 };

static int twin_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    (void)state;
    sort_jobs(view);
    choose(view, plan);
    for (int is_later = 0; is_later < 2; is_later++)
        for (int i = 0; i < twin.n; i++)
            if (twin.jobs[i]->gpus > 0 && twin.is_chosen[i] == !is_later && twin.jobs[i]->state == JOB_PENDING)
                start(view, i, plan);
    for (const struct job_view *job = twin.n > 0 ? job_view_oldest(view, twin.jobs[0]) : NULL; job != NULL;
         job = job_view_next(view, job))
        if (job->gpus == 0 && job->state == JOB_PENDING) job_plan_start(plan, job, "needs no GPUs");
    for (int i = 0; i < twin.n && twin.division == TUNE && view->nodes != NULL; i++)
        if (twin.jobs[i]->gpus > 0 && twin.jobs[i]->state == JOB_RUNNING) grow(view, twin.jobs[i], plan);
    if ((twin.order == LAS || twin.order == FTF) && view->n_pending > 0 && view->n_running > 0)
        job_plan_wake_at(plan, (view->now_ns / sim_ns_from_s(ROUND_S) + 1) * sim_ns_from_s(ROUND_S));
    return 0;
}

static const struct scheduler twin_policy = {.policy = {.abi = POLICY_ABI,
                                                        .size = sizeof(struct scheduler),
                                                        .family = POLICY_SCHEDULER,
                                                        .name = "twin",
                                                        .summary = "",
                                                        .source = "",
                                                        .oracle = ORACLE_SPEEDS},
                                             .notify = twin_notify,
                                             .decide = twin_decide};

/* --- Random lists --- */

#define CPU_TYPES                                                                                                      \
    "'image': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 6, 'speed': 1.7}, "                           \
    "{'per_gpu': 9, 'speed': 2}]}},"                                                                                   \
    "'language': {'host': {'cpus': [{'per_gpu': 0.5, 'speed': 1}]}},"                                                  \
    "'steep': {'host': {'cpus': [{'per_gpu': 2, 'speed': 1}, {'per_gpu': 5.3, 'speed': 2}]}}"
#define MEMORY_TYPES                                                                                                   \
    ", 'cached': {'host': {'cpus': [{'per_gpu': 4, 'speed': 3}], 'memory': [{'per_gpu': '0B', 'speed': 1},"            \
    " {'per_gpu': '100GB', 'speed': 2}, {'per_gpu': '250GB', 'speed': 3}]}},"                                          \
    "'hoard': {'host': {'memory': [{'per_gpu': '50GB', 'speed': 1}, {'per_gpu': '300GB', 'speed': 3}]}}"

/* What differs between the lists. */
struct setting {
    const char *cluster; /* if has_models, up to the path of its nodes_file */
    const char *placement;
    int most_gpus;
    bool has_shares, has_models, counts_memory;
};

static void draw_jobs(struct text *text, struct rng *rng, const struct setting *setting)
{
    static const char *const types[] = {"image", "language", "steep", "other", "cached", "hoard"};
    const uint64_t n_types = setting->counts_memory ? 6 : 4;
    double submit_s = 0;
    for (int i = 0; i < 40; i++) {
        submit_s += rng_below(rng, 3) == 0 ? 0 : (double)rng_below(rng, 25);
        const int gpus = rng_below(rng, 9) == 0 ? 0 : 1 + (int)rng_below(rng, (uint64_t)setting->most_gpus);
        text_printf(text, "%s{'submit': '%gs', 'duration': '%ds', 'gpus': %d, 'type': '%s'", i > 0 ? ", " : "",
                    submit_s, 1 + (int)rng_below(rng, 200), gpus, types[rng_below(rng, n_types)]);
        const bool is_share = gpus == 1 && setting->has_shares && rng_below(rng, 4) > 0;
        if (gpus == 0 || is_share || rng_below(rng, 3) == 0)
            text_printf(text, ", 'cpus': %g, 'memory': '%dGB'",
                        0.1 * (5 + (double)rng_below(rng, is_share ? 15 : 30 * (uint64_t)gpus + 20)),
                        1 + (int)rng_below(rng, 120));
        if (gpus > 1 && rng_below(rng, 3) == 0) text_printf(text, ", 'nodes': %d", 2 + (int)rng_below(rng, 2));
        if (is_share) text_printf(text, ", 'gpu_share': 0.%d", 2 + (int)rng_below(rng, 6));
        if (gpus == 1 && setting->has_models && rng_below(rng, 2) == 0)
            text_printf(text, ", 'gpu_models': '%s'", rng_below(rng, 2) == 0 ? "V100" : "T4");
        text_add(text, "}");
    }
}

static struct bed_rows *run_list(const struct setting *setting, const char *nodes, const char *jobs, bool is_twin)
{
    const char *types = setting->counts_memory ? MEMORY_TYPES : "";
    SCOPED(text) scheduler;
    text_init(&scheduler);
    text_printf(&scheduler, "{'policy': 'synergy', 'order': '%s', 'division': '%s'", orders[twin.order],
                divisions[twin.division]);
    if (twin.order >= LAS) text_printf(&scheduler, ", 'round': '%ds'", (int)ROUND_S);
    text_add(&scheduler, "}");
    twin.n = 0;
    return bed_ok(BED(.check = true, .policy = &twin_policy.policy),
                  "{'cluster': {%s%s%s}, 'jobs': {'scheduler': %s, 'types': {" CPU_TYPES "%s}, 'placement': '%s',"
                  " 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}}",
                  setting->cluster, setting->has_models ? nodes : "", setting->has_models ? "'}" : "",
                  is_twin ? "'twin'" : scheduler.chars, types, setting->placement, jobs);
}

#define NODES(n, gpus, rest) "'nodes': " #n ", 'gpus_per_node': " #gpus ", " rest

static const struct setting settings[] = {
    {NODES(3, 4, "'cpus_per_node': 14, 'memory_per_node': '500GB'"), "consolidated", 8, false, false, true},
    {NODES(4, 3, "'cpus_per_node': 11, 'memory_per_node': '301GB'"), "first-fit", 4, true, false, true},
    {"'nodes_file': {'path': '", "best-fit", 4, false, true, true},
    {NODES(3, 3, "'cpus_per_node': 13, 'memory_per_node': '500GB'"), "fgd", 2, true, false, true},
    {NODES(3, 4, "'cpus_per_node': 13"), "best-fit", 3, true, false, false},
    {"'nodes_file': {'path': '", "first-fit", 2, true, true, true},
};

TEST(jobs_start_and_end_as_under_a_naive_scheduler)
{
    enum { SETTINGS = sizeof settings / sizeof *settings, CASES = 30 * SETTINGS };
    const char *nodes = test_file("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,13000,450000,4,V100\n"
                                               "n1,7000,300000,2,T4\nn2,16000,250000,4,T4\nn3,11000,400000,3,V100\n");
    struct rng rng = test_rng(2022, "synergy_twin", 0);
    int n_made = 0, n_preempted = 0, n_finished = 0;
    for (int i = 0; i < CASES; i++) {
        const struct setting *setting = &settings[i % SETTINGS];
        SCOPED(text) jobs;
        text_init(&jobs);
        draw_jobs(&jobs, &rng, setting);
        twin.order = (enum order)rng_below(&rng, 4);
        twin.division = i % 5 < 3 ? TUNE : i % 5 == 3 ? GREEDY : PROPORTIONAL;
        twin.n_made = 0;
        struct bed_rows *rows = run_list(setting, nodes, jobs.chars, false),
                        *naive = run_list(setting, nodes, jobs.chars, true);
        MUST(rows->n_jobs == naive->n_jobs);
        for (size_t k = 0; k < rows->n_jobs; k++) {
            const struct job_row *of = bed_job(naive, (int64_t)k), *job = bed_job(rows, (int64_t)k);
            CHECK_EQ_STR(job->status, of->status);
            if (strcmp(of->status, "finished") != 0) continue;
            n_finished++;
            CHECK_NEAR(job->start_s, of->start_s, 0);
            CHECK_NEAR(job->end_s, of->end_s, 0);
            CHECK_EQ_INT(job->preemptions, of->preemptions);
            n_preempted += of->preemptions > 0;
        }
        n_made += twin.n_made;
        bed_free(rows);
        bed_free(naive);
    }
    CHECK(n_finished > 30 * CASES);
    CHECK(n_made > CASES);
    CHECK(n_preempted > CASES);
}
