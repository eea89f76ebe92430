/* Trials of hyper-parameters with early stopping: closed forms of successive halving and Hyperband, a naive simulation
 * of ASHA (Li et al., MLSys 2020), conservation of GPU time, and the streams of losses. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum { MOST_TRIALS = 128, MOST_RUNGS = 8 };

struct trials {
    int n, gpus;
    double duration_s[MOST_TRIALS], loss[MOST_TRIALS];
};

/* Random losses, all different; durations from 1 h to `longest_h` h in whole 27ths of a second. */
static struct trials draw_trials(struct rng *rng, int n, int gpus, int longest_h)
{
    struct trials trials = {.n = n, .gpus = gpus};
    for (int i = 0; i < n; i++) {
        trials.loss[i] = rng_uniform(rng);
        trials.duration_s[i] = 3600 + (double)rng_below(rng, (uint64_t)(3600 * (longest_h - 1) + 1));
    }
    return trials;
}

static struct bed_rows *run(const struct trials *trials, const char *scheduler, const char *more)
{
    SCOPED(text) text;
    text_init(&text);
    text_printf(&text, "{'cluster': {'nodes': %d, 'gpus_per_node': 1, 'gpu': 'p100'}, 'jobs': {'scheduler': %s, %s",
                trials->gpus, scheduler, more);
    text_add(&text, "'trace': {'format': 'inline-jobs', 'jobs': [");
    for (int i = 0; i < trials->n; i++)
        text_printf(&text, "%s{'duration': '%.9fs', 'loss': %.17g}", i > 0 ? ", " : "", trials->duration_s[i],
                    trials->loss[i]);
    text_add(&text, "]}}}");
    return bed_run(BED(.check = true), "%s", text.chars);
}

static const struct job_row *row_of(const struct bed_rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].id == id) return &rows->jobs[i];
    CHECK(!"the job has a row");
    return &rows->jobs[0];
}

static int count(const struct bed_rows *rows, const char *status)
{
    int n = 0;
    for (size_t i = 0; i < rows->n_jobs; i++) n += strcmp(rows->jobs[i].status, status) == 0;
    return n;
}

static int best_of(const struct trials *trials)
{
    int best = 0;
    for (int i = 1; i < trials->n; i++)
        if (trials->loss[i] < trials->loss[best]) best = i;
    return best;
}

/* Every GPU second of a trial is work, and all of it is accounted for by finished and stopped trials. */
static void check_gpu_time(const struct bed_rows *rows)
{
    double finished_s = 0, stopped_s = 0;
    for (size_t i = 0; i < rows->n_jobs; i++)
        *(strcmp(rows->jobs[i].status, "stopped") == 0 ? &stopped_s : &finished_s) += rows->jobs[i].gpu_s;
    CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), finished_s + stopped_s, 1e-6);
    CHECK_NEAR(bed_metric(rows, "job.useful_gpu_s.sum"), finished_s + stopped_s, 1e-6);
    if (stopped_s > 0) CHECK_NEAR(bed_metric(rows, "job.stopped_gpu_s.sum"), stopped_s, 1e-6);
}

/* --- Closed forms --- */

/* Of 27 trials 27, 9, 3, 1 reach the rungs at 1/27, 1/9, 1/3 and 1 of the work: 3 trials' worth of GPU time in place of
 * 27. On 27 GPUs the sweep takes as long as one trial. */
TEST(successive_halving_sends_its_closed_form_to_each_rung)
{
    struct rng rng = test_rng(2016, "trials", 0);
    for (int gpus = 27; gpus >= 1; gpus -= 13) {
        struct trials trials = draw_trials(&rng, 27, gpus, 1);
        struct bed_rows *rows = run(
            &trials, "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 3, 'rungs': 4, 'trials': 27}", "");
        int reached[4] = {0};
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_INT(count(rows, "finished"), 1);
        CHECK_EQ_INT(count(rows, "stopped"), 26);
        CHECK_EQ_STR(row_of(rows, best_of(&trials))->status, "finished");
        for (size_t i = 0; i < rows->n_jobs; i++)
            for (int rung = 0; rung < 4; rung++) reached[rung] += rows->jobs[i].gpu_s > 3600 * pow(3, rung - 3) - 1e-6;
        CHECK_EQ_INT(reached[0], 27);
        CHECK_EQ_INT(reached[1], 9);
        CHECK_EQ_INT(reached[2], 3);
        CHECK_EQ_INT(reached[3], 1);
        CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), 3 * 3600, 1e-4);
        if (gpus == 27) CHECK_NEAR(bed_metric(rows, "job.makespan_s"), 3600, 1e-4);
        if (gpus == 1) CHECK_NEAR(bed_metric(rows, "job.makespan_s"), 3 * 3600, 1e-4);
        CHECK_NEAR(bed_metric(rows, "job.loss.min"), trials.loss[best_of(&trials)], 1e-12);
        check_gpu_time(rows);
        bed_free(rows);
    }
}

/* Brackets of ceil(4 / (s + 1) 3^s) = 27, 12, 6 and 4 trials; of these 1, 1, 2 and 4 end. */
TEST(hyperband_runs_its_brackets)
{
    static const int trials_of[] = {27, 12, 6, 4}, ends_of[] = {1, 1, 2, 4};
    struct rng rng = test_rng(2018, "trials", 0);
    struct trials trials = draw_trials(&rng, 49, 8, 1);
    const struct bed_rows *rows = run(&trials, "{'policy': 'halving', 'algorithm': 'hyperband', 'eta': 3, 'rungs': 4}",
                                      "");
    double work = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (int bracket = 0, first = 0; bracket < 4; first += trials_of[bracket++]) {
        int n_ends = 0;
        for (int i = first; i < first + trials_of[bracket]; i++)
            n_ends += strcmp(row_of(rows, i)->status, "finished") == 0;
        CHECK_EQ_INT(n_ends, ends_of[bracket]);
        int n = trials_of[bracket];
        double done = 0;
        for (int rung = bracket; rung < 4; rung++, n /= 3) {
            work += n * (pow(3, rung - 3) - done);
            done = pow(3, rung - 3);
        }
    }
    CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), 3600 * work, 1e-3);
    check_gpu_time(rows);
}

/* One rung is no early stopping at all. */
TEST(one_rung_stops_nothing)
{
    struct rng rng = test_rng(3, "trials", 0);
    struct trials trials = draw_trials(&rng, 10, 4, 3);
    struct bed_rows *rows = run(&trials, "{'policy': 'halving', 'rungs': 1, 'trials': 10}", "");
    struct bed_rows *fifo = run(&trials, "'fifo'", "");
    CHECK_EQ_INT(count(rows, "finished"), 10);
    for (int i = 0; i < 10; i++) CHECK_NEAR(row_of(rows, i)->end_s, row_of(fifo, i)->end_s, 1e-9);
    CHECK(isnan(bed_metric(rows, "job.stopped")));
    CHECK_NEAR(bed_metric(fifo, "job.loss.min"), bed_metric(rows, "job.loss.min"), 0);
    bed_free(rows);
    bed_free(fifo);
}

/* --- A naive simulation of ASHA, on as many workers as GPUs --- */

struct asha {
    const struct trials *trials;
    int eta, rungs;
    int rung[MOST_TRIALS];                    /* that the trial works for, or has reached; -1: new */
    bool has_gone_on[MOST_TRIALS][MOST_RUNGS], has_reached[MOST_TRIALS][MOST_RUNGS];
    double until_s[MOST_TRIALS];              /* it runs until then; 0: it does not */
    double busy_s[MOST_TRIALS], end_s[MOST_TRIALS];
};

static double work_s(const struct asha *asha, int trial, int rung)
{
    const double share = pow(asha->eta, rung - asha->rungs + 1);
    const double before = rung > 0 ? pow(asha->eta, rung - asha->rungs) : 0;
    return asha->trials->duration_s[trial] * (share - before);
}

/* get_job of the paper: a trial to promote, from the highest rung down, or a new one. -1: there is none. */
static int get_job(struct asha *asha)
{
    for (int rung = asha->rungs - 2; rung >= 0; rung--) {
        int order[MOST_TRIALS], n = 0;
        for (int i = 0; i < asha->trials->n; i++) {
            if (!asha->has_reached[i][rung]) continue;
            int at = n++;
            for (; at > 0 && asha->trials->loss[order[at - 1]] > asha->trials->loss[i]; at--) order[at] = order[at - 1];
            order[at] = i;
        }
        for (int k = 0; k < n / asha->eta; k++)
            if (!asha->has_gone_on[order[k]][rung]) {
                asha->has_gone_on[order[k]][rung] = true;
                return order[k];
            }
    }
    for (int i = 0; i < asha->trials->n; i++)
        if (asha->rung[i] < 0) return i;
    return -1;
}

static void naive_asha(struct asha *asha)
{
    double now_s = 0;
    for (int n_busy = 0, job;;) {
        while (n_busy < asha->trials->gpus && (job = get_job(asha)) >= 0) {
            const double takes_s = work_s(asha, job, ++asha->rung[job]);
            asha->until_s[job] = now_s + takes_s;
            asha->busy_s[job] += takes_s;
            n_busy++;
        }
        if (n_busy == 0) break;
        now_s = INFINITY;
        for (int i = 0; i < asha->trials->n; i++)
            if (asha->until_s[i] > 0) now_s = fmin(now_s, asha->until_s[i]);
        for (int i = 0; i < asha->trials->n; i++) {
            if (!(asha->until_s[i] > 0) || asha->until_s[i] > now_s + 1e-6) continue;
            asha->until_s[i] = 0;
            asha->has_reached[i][asha->rung[i]] = true;
            if (asha->rung[i] + 1 == asha->rungs) asha->end_s[i] = now_s;
            n_busy--;
        }
    }
    for (int i = 0; i < asha->trials->n; i++)
        if (asha->end_s[i] == 0) asha->end_s[i] = now_s;
}

TEST(asynchronous_halving_promotes_as_in_a_naive_simulation)
{
    enum { SWEEPS = 40 };
    struct rng rng = test_rng(2020, "trials", 0);
    int n_gone_on = 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        const int eta = 2 + (int)rng_below(&rng, 3), rungs = 2 + (int)rng_below(&rng, 3);
        const int least = (int)pow(eta, rungs - 1), n = least + (int)rng_below(&rng, 60);
        struct trials trials = draw_trials(&rng, n, 1 + (int)rng_below(&rng, 12), 4);
        struct asha asha = {.trials = &trials, .eta = eta, .rungs = rungs};
        char scheduler[128];
        for (int i = 0; i < trials.n; i++) asha.rung[i] = -1;
        naive_asha(&asha);
        snprintf(scheduler, sizeof scheduler, "{'policy': 'halving', 'eta': %d, 'rungs': %d, 'trials': %d}", eta, rungs,
                 trials.n);
        struct bed_rows *rows = run(&trials, scheduler, "");
        CHECK_EQ_INT(rows->code, 0);
        for (int i = 0; i < trials.n; i++) {
            const struct job_row *row = row_of(rows, i);
            const bool ends = asha.has_reached[i][rungs - 1];
            CHECK_EQ_STR(row->status, ends ? "finished" : "stopped");
            CHECK_NEAR(row->gpu_s, asha.busy_s[i], 1e-5);
            CHECK_NEAR(row->end_s, asha.end_s[i], 1e-5);
            n_gone_on += asha.rung[i] > 0;
        }
        check_gpu_time(rows);
        bed_free(rows);
    }
    CHECK(n_gone_on > 5 * SWEEPS);
}

/* --- Several sweeps, noise, restarts, failures --- */

/* The second sweep begins when GPUs of the first one are free. */
TEST(sweeps_come_one_after_another)
{
    struct rng rng = test_rng(4, "trials", 0);
    struct trials trials = draw_trials(&rng, 18, 3, 1);
    const struct bed_rows *rows = run(
        &trials, "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 3, 'rungs': 3, 'trials': 9}", "");
    int n_ends = 0;
    CHECK_EQ_INT(rows->code, 0);
    for (int i = 0; i < 9; i++) n_ends += strcmp(row_of(rows, i)->status, "finished") == 0;
    CHECK_EQ_INT(n_ends, 1);
    CHECK_EQ_INT(count(rows, "finished"), 2);
    check_gpu_time(rows);
}

/* With a GPU for each trial, two sweeps come to what each comes to alone. */
TEST(sweeps_with_gpus_for_all_do_not_meet)
{
    static const char *const sweeps[] = {
        "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 3, 'rungs': 3, 'trials': 9}",
        "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 2, 'rungs': 3, 'trials': 9}",
        "{'policy': 'halving', 'algorithm': 'asynchronous', 'eta': 3, 'rungs': 3, 'trials': 9}"};
    struct rng rng = test_rng(17, "trials", 0);
    for (int i = 0; i < 30; i++) {
        const struct trials both = draw_trials(&rng, 18, 18, 3);
        const struct bed_rows *rows = run(&both, sweeps[i % 3], "");
        for (int k = 0; k < 2; k++) {
            struct trials own = {.n = 9, .gpus = 9};
            memcpy(own.duration_s, both.duration_s + 9 * k, sizeof(double) * 9);
            memcpy(own.loss, both.loss + 9 * k, sizeof(double) * 9);
            const struct bed_rows *alone = run(&own, sweeps[i % 3], "");
            for (int t = 0; t < 9; t++) {
                const struct job_row *a = row_of(alone, t), *b = row_of(rows, 9 * k + t);
                CHECK_EQ_STR(b->status, a->status);
                CHECK_NEAR(b->gpu_s, a->gpu_s, 1e-6);
                CHECK_NEAR(b->end_s, a->end_s, 1e-6);
            }
        }
    }
}

/* Nine trials in three waves of 410 s; the first three go on and wait once more. At the next rung the best one goes on
 * at the moment at which it would pause, and so keeps its GPU. */
TEST(going_on_after_a_pause_costs_a_restart)
{
    struct trials trials = {.n = 9, .gpus = 3};
    for (int i = 0; i < trials.n; i++) {
        trials.duration_s[i] = 3600;
        trials.loss[i] = 0.1 * (1 + i);
    }
    const struct bed_rows *rows = run(
        &trials, "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 3, 'rungs': 3, 'trials': 9}",
        "'restart': {'start': '10s', 'resume': '60s'}, ");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "job.wait_gpu_s.sum"), 9 * 10 + 3 * 60, 1e-6);
    CHECK_NEAR(bed_metric(rows, "job.makespan_s"), 3 * 410 + 60 + 800 + 2400, 1e-4);
}

/* Losses depend on the seed and the trial alone. Noise at early rungs stops the best trial in some sweeps. */
TEST(losses_are_drawn_per_trial_and_noise_misleads)
{
    static const char *const schedulers[] = {
        "'fifo'", "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 3, 'rungs': 4, 'trials': 27}",
        "{'policy': 'halving', 'eta': 3, 'rungs': 4, 'trials': 27}"};
    int n_missed = 0;
    for (int seed = 1; seed <= 10; seed++) {
        double loss[3][2];
        for (int i = 0; i < 3; i++)
            for (int noise = 0; noise < 2; noise++) {
                struct bed_rows *rows = bed_run(
                    BED(.check = true),
                    "{'seed': %d, 'cluster': {'nodes': 4, 'gpus_per_node': 1, 'gpu': 'p100'}, 'jobs': {'loss_noise': %s,"
                    " 'scheduler': %s, 'trace': {'format': 'generate-job-types', 'count': 27, 'types': {'trial':"
                    " {'arrival': {'process': 'poisson', 'rate': '1000/h'}, 'run_time': {'mean': '1h'}}}}}}",
                    seed, noise ? "0.5" : "1e-9", schedulers[i]);
                CHECK_EQ_INT(rows->code, 0);
                loss[i][noise] = bed_metric(rows, "job.loss.min");
                bed_free(rows);
            }
        CHECK_NEAR(loss[0][0], loss[0][1], 0);
        CHECK_NEAR(loss[1][0], loss[0][0], 1e-12);
        CHECK(loss[1][1] >= loss[0][0] && loss[2][1] >= loss[0][0]);
        n_missed += loss[1][1] > loss[0][0];
    }
    CHECK(n_missed >= 3);
}

/* Failed trials run again from their saved work, and the sweep ends. */
TEST(sweeps_bear_failures)
{
    struct rng rng = test_rng(6, "trials", 0);
    struct trials trials = draw_trials(&rng, 27, 4, 2);
    for (int i = 0; i < 2; i++) {
        SCOPED(text) text;
        text_init(&text);
        text_printf(
            &text,
            "{'cluster': {'nodes': 4, 'gpus_per_node': 1, 'gpu': 'p100'}, 'failures': {'causes': {'gpu': {'scope':"
            " 'gpu', 'lifetime': {'mean': '2h'}, 'repair': {'mean': '10min'}}}}, 'jobs': {'scheduler': {'policy':"
            " 'halving', 'algorithm': '%s', 'trials': 27}, 'trace': {'format': 'inline-jobs', 'jobs': [",
            i == 0 ? "synchronous" : "asynchronous");
        for (int k = 0; k < trials.n; k++)
            text_printf(&text, "%s{'duration': '%.9fs', 'loss': %.17g}", k > 0 ? ", " : "", trials.duration_s[k],
                        trials.loss[k]);
        text_add(&text, "]}}}");
        const struct bed_rows *rows = bed_run(BED(.check = true), "%s", text.chars);
        CHECK_EQ_INT(rows->code, 0);
        CHECK(bed_metric(rows, "job.lost_gpu_s.sum") > 0);
        CHECK(count(rows, "finished") >= 1);
        CHECK_EQ_INT(count(rows, "finished") + count(rows, "stopped"), 27);
        CHECK_NEAR(bed_metric(rows, "job.loss.min"), trials.loss[best_of(&trials)], 1e-12);
    }
}

/* A trial of no work ends before its first rung, and stands there as one that pauses. Three others of 80 s have rungs
 * at 20, 40 and 80 s; two of the four go on to the second, and one to the last. */
TEST(a_trial_of_no_work_takes_its_place_at_the_rungs)
{
    static const struct {
        double loss, work_s;
        const char *second; /* status of the best of the others */
    } cases[] = {{0.1, 3 * 20 + 20, "stopped"},
                 {0.25, 3 * 20 + 20 + 40, "finished"},
                 {0.9, 3 * 20 + 2 * 20 + 40, "finished"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct trials trials = {
            .n = 4, .gpus = 4, .duration_s = {0, 80, 80, 80}, .loss = {cases[i].loss, 0.2, 0.3, 0.4}};
        struct bed_rows *rows = run(
            &trials, "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 2, 'rungs': 3, 'trials': 4}", "");
        CHECK_EQ_INT(rows->code, 0);
        CHECK_EQ_STR(row_of(rows, 0)->status, "finished");
        CHECK_EQ_STR(row_of(rows, 1)->status, cases[i].second);
        CHECK_NEAR(bed_metric(rows, "job.gpu_s.sum"), cases[i].work_s, 1e-6);
        check_gpu_time(rows);
        bed_free(rows);
    }
}

/* Work at a rung is whole nanoseconds, rounded up: a trial of two has two rungs at one, and is at the second as soon as
 * it goes on. */
TEST(trials_of_nanoseconds_come_to_their_ends)
{
    static const char *const algorithms[] = {"synchronous", "asynchronous", "hyperband"};
    for (int i = 0; i < 3; i++)
        for (int ns = 1; ns <= 6; ns++) {
            struct trials trials = {.n = i == 2 ? 17 : 9, .gpus = 1 + 2 * (ns % 3)};
            char scheduler[128];
            for (int k = 0; k < trials.n; k++) {
                trials.duration_s[k] = 1e-9 * ns;
                trials.loss[k] = 0.1 * (1 + (k + 4) % trials.n);
            }
            snprintf(scheduler, sizeof scheduler, "{'policy': 'halving', 'algorithm': '%s', 'rungs': 3, 'trials': %d}",
                     algorithms[i], trials.n);
            struct bed_rows *rows = run(&trials, scheduler, "");
            CHECK_EQ_INT(rows->code, 0);
            CHECK_EQ_INT(count(rows, "finished") + count(rows, "stopped"), trials.n);
            CHECK_EQ_STR(row_of(rows, best_of(&trials))->status, "finished");
            CHECK(bed_metric(rows, "job.gpu_s.sum") <= 1e-9 * (ns * trials.n + 0.5));
            check_gpu_time(rows);
            bed_free(rows);
        }
}

/* The speed rises as others stop and power is left: each trial still pauses at its rung, and the work is the closed
 * form, three trials' worth. */
TEST(trials_pause_at_rungs_also_when_their_speed_rises)
{
    const struct bed_rows *rows = bed_run(
        BED(.check = true),
        "{'extends': ['configs/clusters/dgx-a100-80.json'], 'cluster': {'nodes': 2, 'power': {'budget': '9kW',"
        " 'level': 'site', 'capping': {'policy': 'polca'}}}, 'jobs': {'scheduler': {'policy': 'halving', 'trials': 27,"
        " 'algorithm': 'synchronous'}, 'types': {'a': {'power': {'mean': '400W', 'clock_share': 1}}}, 'trace':"
        " {'format': 'generate-job-types', 'count': 27, 'types': {'a': {'arrival': {'process': 'poisson', 'rate':"
        " '100000/h'}, 'run_time': {'law': 'fixed', 'mean': '2h'}}}}}}");
    CHECK_EQ_INT(rows->code, 0);
    CHECK_NEAR(bed_metric(rows, "job.useful_gpu_s.sum"), 3 * 7200, 1e-3);
    CHECK(bed_metric(rows, "job.makespan_s") > 2 * 7200 * (1.0 / 27 + 1.0 / 27)); /* capped, or the test is void */
}

/* --- Jobs that come after trials, which keep their GPUs --- */

/* Job 3 comes after the first trial, which is stopped at 30 s and keeps no GPUs for it. The best trial ends at 90 s.
 * The second sweep, of jobs 3 to 5, goes on as it does where no GPUs are to be kept, to the end of its best trial. */
TEST(a_stopped_trial_keeps_its_gpus_for_no_one)
{
    const struct bed_rows *rows[2];
    for (int keeps = 0; keeps < 2; keeps++) {
        rows[keeps] = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 3}, 'jobs': {'scheduler': {'policy': 'halving', 'trials': 3,"
            " 'rungs': 2, 'algorithm': 'synchronous'}, 'trace': {'format': 'inline-jobs', 'jobs': ["
            "{'duration': '90s', 'loss': 0.3}, {'duration': '90s', 'loss': 0.2}, {'duration': '90s', 'loss': 0.1},"
            "{'submit': '10s', 'duration': '60s', 'gpus': 3, 'after': [{'job': 0, 'keeps_gpus': %s}], 'loss': 0.1},"
            "{'submit': '31s', 'duration': '500s', 'loss': 0.05},"
            "{'submit': '31s', 'duration': '500s', 'loss': 0.05}]}}}",
            keeps ? "true" : "false");
        check_gpu_time(rows[keeps]);
    }
    CHECK_EQ_INT(count(rows[1], "finished"), 2);
    CHECK_NEAR(row_of(rows[1], 0)->end_s, 30, 1e-9);
    CHECK_NEAR(row_of(rows[1], 2)->end_s, 90, 1e-9);
    CHECK_EQ_STR(row_of(rows[1], 4)->status, "finished");
    for (int i = 0; i < 6; i++) CHECK_NEAR(row_of(rows[1], i)->end_s, row_of(rows[0], i)->end_s, 0);
}

/* --- Refused, and without trials --- */

/* With fewer trials than eta^(rungs - 1), here 27, none would get to the last rung. Hyperband has its own number. */
TEST(sweeps_that_would_stop_all_trials_are_refused)
{
    static const char *const algorithms[] = {"synchronous", "asynchronous", "hyperband"};
    struct rng rng = test_rng(10, "trials", 0);
    for (int i = 0; i < 3; i++)
        for (int n = 26; n <= 27; n++) {
            const bool is_refused = n < 27 && i < 2;
            SCOPED(text) text;
            text_init(&text);
            text_printf(&text,
                        "{'cluster': {'nodes': 1, 'gpus_per_node': 8}, 'jobs': {'scheduler':"
                        " {'policy': 'halving', 'algorithm': '%s', 'trials': %d}, 'trace': {'format':"
                        " 'inline-jobs', 'jobs': [",
                        algorithms[i], n);
            for (int k = 0; k < (i == 2 ? 49 : n); k++)
                text_printf(&text, "%s{'duration': '1h', 'loss': %.17g}", k > 0 ? ", " : "", rng_uniform(&rng));
            text_add(&text, "]}}}");
            const struct bed_rows *rows = bed_run(BED(.quiet = true), "%s", text.chars);
            CHECK_EQ_INT(rows->code, is_refused ? SIM_E_CONFIG : 0);
            if (!is_refused) continue;
            CHECK(rows->diag.n_items > 0);
            CHECK_EQ_STR(rows->diag.items[0].where, "jobs.scheduler.trials");
            CHECK(strstr(rows->diag.items[0].text, "27 trials, found 26") != NULL);
        }
}

#define JOBS_OF_LOSS(scheduler, jobs)                                                                                  \
    "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'jobs': {'scheduler': " scheduler                                   \
    ", 'trace': {'format': 'inline-jobs', 'jobs': [" jobs "]}}}"

/* The lowest loss is that of trials which have done their work: not of jobs where none is a trial, nor of those without
 * GPUs, of which no scheduler learns. */
TEST(only_trials_have_losses)
{
    const struct bed_rows *none = bed_ok(BED(.check = true), JOBS_OF_LOSS("'halving'", "{'duration': '90s'}"));
    CHECK(isnan(bed_metric(none, "job.loss.min")));
    const struct bed_rows *one = bed_ok(BED(.check = true), JOBS_OF_LOSS("{'policy': 'halving', 'rungs': 1, 'trials': 1}",
                                                                         "{'duration': '90s'}"));
    const struct bed_rows *many = bed_ok(
        BED(.check = true), JOBS_OF_LOSS("{'policy': 'halving', 'rungs': 1, 'trials': 1}",
                                         "{'duration': '90s'}, {'duration': '90s', 'gpus': 0}, {'duration': '90s',"
                                         " 'gpus': 0}, {'duration': '90s', 'gpus': 0}, {'duration': '90s', 'gpus': 0},"
                                         " {'duration': '90s', 'gpus': 0}, {'duration': '90s', 'gpus': 0}"));
    CHECK(bed_metric(one, "job.loss.min") > 0);
    CHECK_NEAR(bed_metric(many, "job.loss.min"), bed_metric(one, "job.loss.min"), 0);
}

/* A stopped trial takes and gives back no GPUs when it pauses: its row has the reason alone. */
TEST(decisions_to_stop_say_why_and_no_more)
{
    struct rng rng = test_rng(11, "trials", 0);
    struct trials trials = draw_trials(&rng, 9, 3, 1);
    const struct bed_rows *rows = run(
        &trials, "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 3, 'rungs': 3, 'trials': 9}", "");
    MUST(bed_decisions(rows, "stop", -1) == 8);
    for (size_t i = 0; i < rows->n_decisions; i++)
        if (strcmp(rows->decisions[i].action, "stop") == 0)
            CHECK_EQ_STR(rows->decisions[i].reason, "others are better");
}

/* Four of nine trials wait at the first rung for the other five. All nine end or are stopped. */
TEST(a_sweep_that_is_not_complete_is_warned_of)
{
    static const char sweep[] = "{'policy': 'halving', 'algorithm': 'synchronous', 'eta': 3, 'rungs': 3, 'trials': 9}";
    struct rng rng = test_rng(12, "trials", 0);
    struct trials trials = draw_trials(&rng, 13, 3, 1);
    trials.n = 9;
    const struct bed_rows *whole = run(&trials, sweep, "");
    CHECK(bed_warning(whole, "halving-sweep") == NULL);
    trials.n = 4;
    const struct bed_rows *part = run(&trials, sweep, "");
    CHECK_EQ_INT(part->code, SIM_E_STALLED);
    CHECK_EQ_STR(bed_warning(part, "halving-sweep"),
                 "trials pause for the rest of their sweep, of which 4 of 9 have come");
    CHECK_EQ_INT(count(part, "unfinished"), 4);
    trials.n = 13;
    part = run(&trials, sweep, "");
    CHECK_EQ_STR(bed_warning(part, "halving-sweep"),
                 "trials pause for the rest of their sweep, of which 4 of 9 have come");
}

TEST(a_rung_of_next_to_no_work_is_refused)
{
    const struct bed_rows *rows = bed_run(
        BED(.quiet = true), "{'cluster': {'nodes': 1, 'gpus_per_node': 1}, 'jobs': {'scheduler': {'policy': 'halving',"
                            " 'eta': 1000, 'rungs': 5, 'trials': 3}, 'trace': {'format': 'inline-jobs', 'jobs':"
                            " [{'duration': '1s'}]}}}");
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
}

/* Without a number of trials no job is one, and the order is that of submission. */
TEST(jobs_that_are_no_trials_run_to_their_end)
{
    struct rng rng = test_rng(8, "trials", 0);
    struct trials trials = draw_trials(&rng, 20, 4, 3);
    struct bed_rows *rows = run(&trials, "'halving'", "");
    struct bed_rows *fifo = run(&trials, "'fifo'", "");
    CHECK_EQ_INT(count(rows, "finished"), 20);
    for (int i = 0; i < 20; i++) CHECK_NEAR(row_of(rows, i)->end_s, row_of(fifo, i)->end_s, 1e-9);
    bed_free(rows);
    bed_free(fifo);
}
