/* Dispatch rules of job shops: an idle machine takes the waiting job that a rule puts first. Machines are node types,
 * visited in order; a job that cannot run on one, or finds no room, is passed over. No preemption, and no machine idles
 * for a job to come (non-delay schedules).
 *
 * With the paths of job_view_path (p: own run time, R: tail, F: head + p, n: jobs of the tail, W: head + R) and
 * d = submission + due W, a smaller key goes first, then the earlier submission and id:
 *
 *     fifo  time at which its needs had ended     lopnr  n               edd    d
 *     spt   p              mwkr  -R               mopnr  -n              slack  d - t - R
 *     lpt   -p             lwkr  R                fdd-mwkr  F / R        cr     (d - t) / R       s-opn  slack / n
 *
 * Jobs before may keep their GPUs for a job. It takes them if no others are free; with `swap` a cycle of jobs that wait
 * for one another's GPUs exchanges them.
 *
 * Source: the rules of job-shop scheduling, as listed by Blackstone, Phillips and Hogg, Int. J. Prod. Res. 20(1), 1982.
 * Keys that do not change with time are those of the graph as known at the first decision that looks at the job. */
#include "policies/declared.h"
#include "policies/scheduler/graphs/line.h"

enum rule { FIFO, SPT, LPT, MWKR, LWKR, MOPNR, LOPNR, FDD_MWKR, EDD, SLACK, CR, S_OPN };

static const char *const rule_names[] = {"fifo",     "spt", "lpt",   "mwkr", "lwkr",  "mopnr", "lopnr",
                                         "fdd-mwkr", "edd", "slack", "cr",   "s-opn", NULL};

struct dispatch_params {
    int rule;
    double due;
    bool swap;
};

struct dispatch {
    struct dispatch_params params; /* first */
    struct line line;
};

static double key_of(const void *state, const struct cluster_view *view, const struct job_view *job)
{
    const struct dispatch *dispatch = state;
    const struct line_job *line_job = job_view_slot(job);
    const struct job_path path = job_view_path(view, job);
    const double p = (double)path.own_ns, tail = (double)path.tail_ns, n = path.tail_jobs;
    const double before_and_own = (double)path.head_ns + p;
    const double due = (double)job->submit_ns + dispatch->params.due * ((double)path.head_ns + tail);
    const double slack = due - (double)view->now_ns - tail;
    switch ((enum rule)dispatch->params.rule) {
    case FIFO: break;
    case SPT: return p;
    case LPT: return -p;
    case MWKR: return -tail;
    case LWKR: return tail;
    case MOPNR: return -n;
    case LOPNR: return n;
    case FDD_MWKR: return tail > 0 ? before_and_own / tail : 0.0;
    case EDD: return due;
    case SLACK: return slack;
    case CR: return tail > 0 ? (due - (double)view->now_ns) / tail : 0.0;
    case S_OPN: return slack / n;
    }
    return (double)line_job->ready_ns;
}

static void dispatch_notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct dispatch *dispatch = state;
    line_notify(&dispatch->line, view, note);
}

static int dispatch_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct dispatch *dispatch = state;
    const enum rule rule = (enum rule)dispatch->params.rule;
    const bool is_fixed = rule != SLACK && rule != CR && rule != S_OPN;
    const int code = line_start(&dispatch->line, view, plan, key_of, dispatch, is_fixed, rule_names[rule]);
    if (code == 0) job_plan_exchange(plan, dispatch->params.swap);
    return code;
}

static void dispatch_fini(void *state)
{
    struct dispatch *dispatch = state;
    line_fini(&dispatch->line);
}

#define ROW_OF struct dispatch_params
static const struct config_field dispatch_fields[] = {
    ROW_CHOICE("rule", rule, DEFAULT("fifo"), rule_names, "which waiting job an idle machine takes"),
    ROW_REAL("due", due, DEFAULT("1.5"), WITHIN(0, 1e6),
             "edd, slack, cr, s-opn: due time after submission, in lengths of the longest path through the job"),
    ROW_BOOL("swap", swap, DEFAULT("true"),
             "jobs that wait for GPUs kept for one another exchange them; false: they wait forever"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_dispatch = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "dispatch",
               .summary = "job-shop dispatch rules over node types; looks at all waiting jobs",
               .source = "Blackstone, Phillips and Hogg, IJPR 20(1), 1982",
               .oracle = ORACLE_SPEEDS, /* paths are means over node types */
               .params = dispatch_fields,
               .params_bytes = sizeof(struct dispatch_params),
               .state_bytes = sizeof(struct dispatch),
               .fini = dispatch_fini},
    .job_bytes = sizeof(struct line_job),
    .notify = dispatch_notify,
    .decide = dispatch_decide,
    .uses_node_types = true,
};
