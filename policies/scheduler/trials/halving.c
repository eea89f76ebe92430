/* Trials of a search for hyper-parameters with early stopping. All jobs are trials of equal budget, in sweeps of
 * `trials` jobs in the order of submission. A trial pauses at rungs: with K rungs, rung k (0 .. K - 1) is reached when
 * eta^(k - K + 1) of the work is done. Its loss is measured there, and only good trials go on.
 *
 *     synchronous   n trials enter the first rung; when all have reached it, the best floor(n / eta) go on, and the
 *                   others are stopped (successive halving)
 *     asynchronous  whenever GPUs are free: of the highest rung that has one, the best trial among the floor(m / eta)
 *                   best of the m that have reached the rung, unless it has gone on already; if there is none, a new
 *                   trial (ASHA). A trial that can go on no more is stopped
 *     hyperband     brackets s = K - 1 .. 0 of successive halving that begin at rung K - 1 - s, each of
 *                   ceil(K / (s + 1) eta^s) trials; all at once, the first bracket first
 *
 * A trial that ends before its last rung (one of no work) has reached the rungs above as soon as it may go on to them.
 * Without `trials` each job is a sweep of one rung. Those of hyperband follow from eta and rungs. A trial keeps its
 * work while it pauses. It pays `jobs.restart` when it goes on. Ties of losses go to the older trial. Of trials that
 * can start, the first that finds no room stops all behind it.
 *
 * Sources: Jamieson and Talwalkar, AISTATS 2016 (successive halving); Li et al., Hyperband, JMLR 18, 2018; Li et al.,
 * A System for Massively Parallel Hyperparameter Tuning, MLSys 2020 (ASHA). */
#include "policies/declared.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "sim/world/policy/scheduler.h"

#include <math.h>
#include <stdio.h>

enum algorithm { SYNCHRONOUS, ASYNCHRONOUS, HYPERBAND };

static const char *const algorithm_names[] = {"synchronous", "asynchronous", "hyperband", NULL};

enum { MOST_RUNGS = 32 };

struct halving_params {
    int algorithm;
    int64_t eta, rungs, trials;
};

/* TRIAL_ENDED: before its last rung; it stands at a rung as one that pauses, and goes on to the last without GPUs. */
enum trial_state { TRIAL_NEW, TRIAL_READY, TRIAL_RUNS, TRIAL_PAUSES, TRIAL_ENDED, TRIAL_GONE };

struct trial {
    const struct job_view *job; /* NULL once it is gone */
    enum trial_state state;
    int64_t rung, bracket;      /* rung that it works for, or has reached */
    double losses[MOST_RUNGS];  /* of rungs that it has reached; else NAN */
};

struct trial_slot {
    size_t at; /* in trials */
};

struct halving {
    struct halving_params params; /* first */
    int64_t brackets[MOST_RUNGS]; /* [n_brackets] trials of each */
    int64_t n_brackets;
    bool has_trials;              /* else no loss matters */
    struct trial *trials;         /* [n], in the order of submission */
    size_t n, capacity, first;    /* first: of the oldest sweep that is not over */
    size_t started;               /* trials at and beyond it have never run */
    int code;
    char incomplete[128];         /* text of the warning */
};

/* --- The sweep --- */

/* With fewer trials none would get through all rungs. Zero: no limit, since no job is a trial. */
static int check_trials(const struct halving_params *params, struct diag *diag)
{
    int64_t least = 1;
    for (int64_t rung = 1; rung < params->rungs; rung++) least *= params->eta;
    if (params->algorithm == HYPERBAND || params->trials == 0 || params->trials >= least) return 0;
    char hint[128];
    snprintf(hint, sizeof hint, "take %lld trials or more, fewer rungs or a smaller eta", (long long)least);
    return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.trials", hint,
                      "expected at least eta^(rungs - 1) = %lld trials, found %lld: all would be stopped",
                      (long long)least, (long long)params->trials);
}

static int init(void *state, const void *params, struct diag *diag)
{
    struct halving *halving = state;
    halving->params = *(const struct halving_params *)params;
    struct halving_params *of = &halving->params;
    halving->has_trials = of->algorithm == HYPERBAND || of->trials > 0;
    if (!halving->has_trials) of->trials = of->rungs = 1;
    if (pow((double)of->eta, (double)of->rungs - 1) > 1e9)
        return diag_error(diag, SIM_E_CONFIG, "jobs.scheduler.rungs", "take fewer rungs, or a smaller eta",
                          "the first of %lld rungs would be less than 1e-9 of a trial's work", (long long)of->rungs);
    if (check_trials(of, diag) != 0) return SIM_E_CONFIG;
    halving->n_brackets = of->algorithm == HYPERBAND ? of->rungs : 1;
    if (of->algorithm != HYPERBAND) {
        halving->brackets[0] = of->trials;
        return 0;
    }
    of->trials = 0;
    for (int64_t i = 0; i < of->rungs; i++) {
        const double s = (double)(of->rungs - 1 - i);
        halving->brackets[i] = (int64_t)ceil((double)of->rungs / (s + 1) * pow((double)of->eta, s) - 1e-9);
        of->trials += halving->brackets[i];
    }
    return 0;
}

static void fini(void *state)
{
    struct halving *halving = state;
    mem_free(halving->trials);
}

static double share_of(const struct halving *halving, int64_t rung)
{
    return pow((double)halving->params.eta, (double)(rung - halving->params.rungs + 1));
}

/* The bracket of the trial of this number in its sweep; a bracket begins at the rung of its number. */
static int64_t bracket_of(const struct halving *halving, size_t number)
{
    int64_t bracket = 0, left = (int64_t)(number % (size_t)halving->params.trials);
    while (left >= halving->brackets[bracket]) left -= halving->brackets[bracket++];
    return bracket;
}

static struct trial *trial_of(struct halving *halving, const struct job_view *job)
{
    const struct trial_slot *slot = job_view_slot(job);
    return &halving->trials[slot->at];
}

static void add(struct halving *halving, const struct job_view *job)
{
    struct trial_slot *slot = job_view_slot(job);
    const int64_t bracket = bracket_of(halving, halving->n);
    struct trial trial = {.job = job, .state = TRIAL_NEW, .rung = bracket, .bracket = bracket};
    for (int i = 0; i < MOST_RUNGS; i++) trial.losses[i] = (double)NAN;
    slot->at = halving->n;
    if (vec_push(&halving->trials, &halving->n, &halving->capacity, trial) != 0) halving->code = SIM_E_NOMEM;
}

/* A stopped trial has a loss already, or none. */
static void end_trial(struct halving *halving, const struct cluster_view *view, struct trial *trial)
{
    const bool ends = trial->state == TRIAL_RUNS && halving->has_trials;
    if (ends) trial->losses[trial->rung] = job_view_loss(view, trial->job, 1);
    trial->state = ends && trial->rung + 1 < halving->params.rungs ? TRIAL_ENDED : TRIAL_GONE;
    trial->job = NULL;
}

static void notify(void *state, const struct cluster_view *view, const struct job_note *note)
{
    struct halving *halving = state;
    if (halving->code != 0) return;
    if (note->event == JOB_EVENT_SUBMIT) {
        add(halving, note->job);
        return;
    }
    struct trial *trial = trial_of(halving, note->job);
    if (note->event == JOB_EVENT_START) {
        const size_t at = (size_t)(trial - halving->trials);
        trial->state = TRIAL_RUNS;
        if (at >= halving->started) halving->started = at + 1;
    }
    if (note->event == JOB_EVENT_PREEMPT) trial->state = note->forced ? TRIAL_READY : TRIAL_PAUSES;
    if (note->event == JOB_EVENT_FINISH) end_trial(halving, view, trial);
}

static size_t sweep_end(const struct halving *halving, size_t first)
{
    const size_t end = first + (size_t)halving->params.trials;
    return end < halving->n ? end : halving->n;
}

static bool is_whole(const struct halving *halving, size_t first)
{
    return first + (size_t)halving->params.trials <= halving->n;
}

/* --- Rungs --- */

static void pause_those_at_rungs(struct halving *halving, const struct cluster_view *view, struct job_plan *plan)
{
    for (size_t i = halving->first; i < halving->started && halving->params.rungs > 1; i++) {
        struct trial *trial = &halving->trials[i];
        const double share = share_of(halving, trial->rung);
        if (trial->state != TRIAL_RUNS || trial->rung + 1 == halving->params.rungs) continue;
        if (!job_view_has_done(view, trial->job, share)) continue;
        trial->losses[trial->rung] = job_view_loss(view, trial->job, share);
        job_plan_preempt(plan, trial->job, "reaches a rung");
    }
}

static bool has_reached(const struct trial *trial, int64_t bracket, int64_t rung)
{
    return trial->bracket == bracket && !isnan(trial->losses[rung]);
}

/* Trials of the bracket that have reached the rung with a lower loss, or an equal one and an earlier submission. */
static int64_t rank_of(const struct halving *halving, size_t first, size_t at, int64_t rung)
{
    const struct trial *trial = &halving->trials[at];
    int64_t rank = 0;
    for (size_t i = first; i < sweep_end(halving, first); i++) {
        const struct trial *other = &halving->trials[i];
        if (i == at || !has_reached(other, trial->bracket, rung)) continue;
        rank += other->losses[rung] < trial->losses[rung] || (other->losses[rung] == trial->losses[rung] && i < at);
    }
    return rank;
}

static int64_t count_at(const struct halving *halving, size_t first, int64_t bracket, int64_t rung)
{
    int64_t n = 0;
    for (size_t i = first; i < sweep_end(halving, first); i++) n += has_reached(&halving->trials[i], bracket, rung);
    return n;
}

/* Trials that the bracket sends to the rung in the end. */
static int64_t entrants(const struct halving *halving, int64_t bracket, int64_t rung)
{
    int64_t n = halving->brackets[bracket];
    for (int64_t i = bracket; i < rung; i++) n /= halving->params.eta;
    return n;
}

/* The number of places of the next rung that are open to those at this one. */
static int64_t places_above(const struct halving *halving, size_t first, int64_t bracket, int64_t rung)
{
    const int64_t n = count_at(halving, first, bracket, rung);
    if (halving->params.algorithm == ASYNCHRONOUS || n == entrants(halving, bracket, rung))
        return n / halving->params.eta;
    return 0;
}

/* Of the trials that pause at a rung and may go on, the best; NULL: there is none. */
static struct trial *best_at(struct halving *halving, size_t first, int64_t bracket, int64_t rung)
{
    const int64_t places = places_above(halving, first, bracket, rung);
    size_t best = SIZE_MAX;
    for (size_t i = first; i < sweep_end(halving, first) && places > 0; i++) {
        const struct trial *trial = &halving->trials[i];
        if (trial->bracket != bracket || trial->rung != rung) continue;
        if (trial->state != TRIAL_PAUSES && trial->state != TRIAL_ENDED) continue;
        if (best == SIZE_MAX || trial->losses[rung] < halving->trials[best].losses[rung]) best = i;
    }
    return best != SIZE_MAX && rank_of(halving, first, best, rung) < places ? &halving->trials[best] : NULL;
}

static struct trial *first_in(struct halving *halving, size_t first, enum trial_state state)
{
    for (size_t i = first; i < sweep_end(halving, first); i++)
        if (halving->trials[i].state == state) return &halving->trials[i];
    return NULL;
}

/* The next trial of the sweep to run; NULL: none can. */
static struct trial *next_of(struct halving *halving, size_t first)
{
    struct trial *next = first_in(halving, first, TRIAL_READY);
    for (int64_t rung = halving->params.rungs - 2; rung >= 0 && next == NULL; rung--)
        for (int64_t bracket = 0; bracket < halving->n_brackets && bracket <= rung && next == NULL; bracket++)
            next = best_at(halving, first, bracket, rung);
    return next != NULL ? next : first_in(halving, first, TRIAL_NEW);
}

/* When all of a bracket have reached a rung, those that do not go on are stopped. ASHA stops those that pause when no
 * trial of a whole sweep runs or can. */
static void stop_losers(struct halving *halving, struct job_plan *plan, size_t first)
{
    const bool waits = halving->params.algorithm != ASYNCHRONOUS;
    const bool is_last = !waits && is_whole(halving, first) && first_in(halving, first, TRIAL_RUNS) == NULL &&
                         next_of(halving, first) == NULL;
    if (!waits && !is_last) return;
    for (size_t i = first; i < sweep_end(halving, first); i++) {
        const struct trial *trial = &halving->trials[i];
        if (trial->state != TRIAL_PAUSES) continue;
        const int64_t n = waits ? count_at(halving, first, trial->bracket, trial->rung) : 0;
        if (is_last || (n == entrants(halving, trial->bracket, trial->rung) &&
                        rank_of(halving, first, i, trial->rung) >= n / halving->params.eta))
            job_plan_stop(plan, trial->job, "others are better");
    }
}

static bool starts(struct trial *trial, struct job_plan *plan)
{
    if (trial->state == TRIAL_ENDED) {
        trial->rung++;
        trial->losses[trial->rung] = trial->losses[trial->rung - 1];
        return true;
    }
    const bool goes_on = trial->state == TRIAL_PAUSES;
    trial->rung += goes_on;
    if (job_plan_start(plan, trial->job, goes_on ? "goes on to the next rung" : "is the next trial")) return true;
    trial->rung -= goes_on;
    return false;
}

static void wake_at_rungs(const struct halving *halving, const struct cluster_view *view, struct job_plan *plan)
{
    for (size_t i = halving->first; i < halving->started && halving->params.rungs > 1; i++) {
        const struct trial *trial = &halving->trials[i];
        if (trial->state != TRIAL_RUNS || trial->rung + 1 == halving->params.rungs) continue;
        const sim_ns at_ns = job_view_reaches_ns(view, trial->job, share_of(halving, trial->rung));
        if (at_ns < SIM_NS_MAX) job_plan_wake_at(plan, at_ns > view->now_ns ? at_ns : view->now_ns + 1);
    }
}

static bool is_over(const struct halving *halving, size_t first)
{
    for (size_t i = first; i < sweep_end(halving, first); i++)
        if (halving->trials[i].state < TRIAL_ENDED) return false;
    return is_whole(halving, first);
}

static int decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    struct halving *halving = state;
    bool has_room = true;
    if (halving->code != 0) return halving->code;
    pause_those_at_rungs(halving, view, plan);
    for (size_t first = halving->first; first < halving->n && has_room; first += (size_t)halving->params.trials) {
        for (struct trial *next; has_room && (next = next_of(halving, first)) != NULL;) has_room = starts(next, plan);
        stop_losers(halving, plan, first);
    }
    while (halving->first < halving->n && is_over(halving, halving->first))
        halving->first += (size_t)halving->params.trials;
    wake_at_rungs(halving, view, plan);
    return 0;
}

/* Warns of trials that pause in a sweep of which not all have come. */
static void finish(void *state, struct job_plan *plan)
{
    struct halving *halving = state;
    const size_t trials = (size_t)halving->params.trials, last = halving->n / trials * trials;
    if (first_in(halving, last, TRIAL_PAUSES) == NULL) return;
    snprintf(halving->incomplete, sizeof halving->incomplete,
             "trials pause for the rest of their sweep, of which %zu of %zu have come", halving->n - last, trials);
    job_plan_warn(plan, "halving-sweep", halving->incomplete);
}

#define ROW_OF struct halving_params
static const struct config_field fields[] = {
    ROW_CHOICE("algorithm", algorithm, DEFAULT("asynchronous"), algorithm_names,
               "successive halving, with or without waiting for all trials at a rung, or brackets of it"),
    ROW_INT("eta", eta, DEFAULT("3"), WITHIN(2, 1000), "one of so many trials goes on at each rung"),
    ROW_INT("rungs", rungs, DEFAULT("4"), WITHIN(1, MOST_RUNGS), "rungs; the last one is the end of a trial"),
    ROW_INT("trials", trials, DEFAULT("0"), WITHIN(0, 1000000), "trials of a sweep; 0: none, all jobs run to their end; of hyperband they follow"),
    {0}};
#undef ROW_OF

const struct scheduler scheduler_halving = {
    .policy = {POLICY_HEAD(scheduler, POLICY_SCHEDULER),
               .name = "halving",
               .summary = "trials of hyper-parameters with early stopping: successive halving, ASHA, Hyperband",
               .source = "Li et al., MLSys 2020; Li et al., JMLR 18, 2018",
               .params = fields,
               .params_bytes = sizeof(struct halving_params),
               .state_bytes = sizeof(struct halving),
               .init = init,
               .fini = fini},
    .job_bytes = sizeof(struct trial_slot),
    .notify = notify,
    .decide = decide,
    .finish = finish,
    .ignores_estimates = true,
};
