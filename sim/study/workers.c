#define _GNU_SOURCE /* sched_getaffinity, pipe2 */

#include "sim/study/workers.h"

#include "sim/study/crash.h"
#include "sim/study/search.h"
#include "sim/study/size_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 200 };

/* A worker. The parent receives it with the worker's report. */
struct place {
    pid_t process;         /* 0: none */
    atomic_size_t current; /* number of its run, from 1; 0: none */
    int code;
    struct diag diag;
};

/* Memory shared by parent and workers. */
struct common {
    atomic_size_t next, n_done, n_failed;
    atomic_size_t bytes; /* that the ended runs have added to the files */
    struct place places[];
};

struct crew {
    const struct work *work;
    struct common *common;
    size_t n_workers;
    pid_t parent;
    struct pollfd *ends; /* a pipe per worker, without data: it closes when the worker ends */
    size_t *crashed; /* runs that killed their workers, with the cause */
    int *deaths;
    size_t n_crashed;
    bool is_stopping;
};

static bool is_interrupted(const struct work *work)
{
    return work->options->interrupt != NULL && *work->options->interrupt != 0;
}

/* --- One run --- */

/* What is stored of a run that ended as `status` says, "failed" or "unfit". */
static int record_failure(const struct work *work, const struct study_run *run, struct results *results,
                          const char *status, const struct warning_row *why, struct diag *diag)
{
    const struct sweep_runner *runner = work->runner;
    struct run_info info = {
        .name = work->study->name, .version = runner->version, .git_commit = runner->git_commit, .scenario = "{}",
        .scenario_hash = "", .seed = run->seed, .policies = "", .oracle = "", .platform = runner->platform,
        .keep = KEEP_METRICS, .run_id = run->run_id, .n_params = run->n_params, .params = run->params};
    struct run_end end = {.status = status, .extrapolated_frac = (double)NAN, .cost = {.started_utc = ""}};
    char hash[HASH_HEX_CHARS];
    int64_t run_id;
    int code = results_begin_run(results, &info, &run_id, diag);
    if (code != 0) return code;
    struct sink sink = results_sink(results);
    sink.warning(sink.context, why);
    return results_end_run(results, &end, hash, diag);
}

int workers_describe(const struct study *study, const struct task *task, struct arena *arena, struct study_run *run)
{
    const char *key = task->value[0] != 0 ? study->search->key : NULL;
    int code = study_run_with(study, task->point, task->seed, key, task->value, arena, run);
    run->run_id = task->run_id;
    return code;
}

static int do_run(const struct work *work, const struct study_run *run, struct results *results, bool *failed,
                  struct diag *diag)
{
    struct diag findings;
    diag_init(&findings);
    int code = work->runner->run(work->runner->context, work->study, run, results, &findings);
    *failed = code != 0 && code != SIM_E_UNFIT;
    if (code == 0) return 0;
    if (code == SIM_E_INTERRUPTED || code == SIM_E_STORE || code == SIM_E_NOMEM) {
        *diag = findings;
        return code;
    }
    char line[DIAG_LINE_CHARS] = "";
    int first = 0;
    while (first < findings.n_items && findings.items[first].level != DIAG_ERROR) first++;
    const struct diag_item *item = first < findings.n_items ? &findings.items[first] : NULL;
    if (code == SIM_E_UNFIT) {
        const struct warning_row unfit = {.code = "unfit", .text = item != NULL ? item->text : line, .count = 1};
        return record_failure(work, run, results, "unfit", &unfit, diag);
    }
    const struct warning_row why = {.code = sim_err_name(code), .text = line, .count = findings.n_errors};
    if (item != NULL) diag_quote(item, line, sizeof line);
    return record_failure(work, run, results, "failed", &why, diag);
}

static int do_task(const struct work *work, const struct task *task, struct results *results, bool *failed,
                   struct diag *diag)
{
    struct arena arena;
    struct study_run run;
    arena_init(&arena);
    int code = workers_describe(work->study, task, &arena, &run);
    code = code == 0 ? do_run(work, &run, results, failed, diag) : diag_nomem(diag);
    arena_fini(&arena);
    return code;
}

/* --- Workers --- */

/* Counts what an ended run has added to the worker's file. */
static void count_bytes(const struct work *work, struct common *common, size_t shard, double *before_bytes)
{
    const double bytes = shards_bytes_of(work->shards, shard);
    if (bytes > *before_bytes) atomic_fetch_add(&common->bytes, (size_t)(bytes - *before_bytes));
    *before_bytes = bytes;
}

static int work_on(const struct work *work, struct common *common, size_t i_worker, struct results *results)
{
    struct place *place = &common->places[i_worker];
    const size_t shard = work->first_shard + i_worker;
    double bytes = shards_bytes_of(work->shards, shard);
    int code = 0;
    while (code == 0 && !is_interrupted(work)) {
        bool failed;
        size_t i = atomic_fetch_add(&common->next, 1);
        if (i >= work->n_tasks) return 0;
        atomic_store(&place->current, i + 1);
        code = do_task(work, &work->tasks[i], results, &failed, &place->diag);
        if (code == 0) atomic_fetch_add(failed ? &common->n_failed : &common->n_done, 1);
        if (code == 0) count_bytes(work, common, shard, &bytes);
        atomic_store(&place->current, 0);
        if (code == 0 && work->runner->apart) return 0;
    }
    return code != 0 ? code : SIM_E_INTERRUPTED;
}

/* The main function of a worker, which dies with its parent. */
static void live(struct crew *crew, size_t i)
{
    struct place *place = &crew->common->places[i];
    struct results *results;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != crew->parent) _exit(0);
    diag_init(&place->diag);
    const struct work *work = crew->work;
    int code = shards_open_results(work->shards, work->study, work->first_shard + i, &results, &place->diag);
    if (code == 0) {
        code = work_on(work, crew->common, i, results);
        results_close(results);
    }
    place->code = code;
    _exit(code == 0 ? 0 : 1);
}

static int start_worker(struct crew *crew, size_t i, struct diag *diag)
{
    struct place *place = &crew->common->places[i];
    int alive[2];
    atomic_store(&place->current, 0);
    place->code = 0;
    place->process = 0;
    pid_t process = pipe2(alive, O_CLOEXEC) == 0 ? fork() : -1;
    if (process == 0) live(crew, i);
    if (process < 0)
        return diag_error(diag, SIM_E_NOMEM, NULL, "take fewer with -j", "cannot start a worker: %s", strerror(errno));
    close(alive[1]);
    place->process = process;
    crew->ends[i] = (struct pollfd){.fd = alive[0], .events = POLLIN};
    return 0;
}

/* --- The parent --- */

static bool has_more(const struct crew *crew)
{
    bool stops = crew->is_stopping || is_interrupted(crew->work);
    return !stops && atomic_load(&crew->common->next) < crew->work->n_tasks;
}

/* Handles the end of a worker. An end in the middle of a run is a crash, whatever its status. Returns the code of
 * what stops the sweep. */
static int take_end(struct crew *crew, size_t i, int status, struct diag *diag)
{
    struct place *place = &crew->common->places[i];
    size_t current = atomic_load(&place->current);
    place->process = 0;
    close(crew->ends[i].fd);
    crew->ends[i] = (struct pollfd){.fd = -1};
    if (current == 0 && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || place->code != 0)) {
        if (place->code != 0 && place->code != SIM_E_INTERRUPTED && diag->n_errors == 0) *diag = place->diag;
        return place->code == 0 && has_more(crew) ? start_worker(crew, i, diag) : place->code;
    }
    if (is_interrupted(crew->work)) return SIM_E_INTERRUPTED;
    if (current == 0) return diag_error(diag, SIM_E_STORE, NULL, NULL, "a worker died before its first run");
    crew->crashed[crew->n_crashed] = current - 1;
    crew->deaths[crew->n_crashed++] = status;
    atomic_fetch_add(&crew->common->n_failed, 1);
    return has_more(crew) ? start_worker(crew, i, diag) : 0;
}

/* Reports the progress. Returns 0, or SIM_E_STORE if the results exceed the limit. */
static int take_stock(const struct crew *crew, struct diag *diag)
{
    const struct work *work = crew->work;
    struct sweep_progress progress = work->progress;
    progress.n_done += atomic_load(&crew->common->n_done);
    progress.n_failed += atomic_load(&crew->common->n_failed);
    progress.bytes += (double)atomic_load(&crew->common->bytes);
    if (work->options->on_progress != NULL) work->options->on_progress(work->options->progress_context, &progress);
    return crew->is_stopping ? 0 : size_limit_check(work->options, work->study, work->shards, &progress, diag);
}

static void stop_workers(const struct crew *crew, int signal_number)
{
    for (size_t i = 0; i < crew->n_workers; i++)
        if (crew->common->places[i].process > 0) kill(crew->common->places[i].process, signal_number);
}

/* Waits until all workers have ended. A stop of one worker stops all. */
static int supervise(struct crew *crew, struct diag *diag)
{
    int code = 0;
    for (size_t n_left = crew->n_workers; n_left > 0;) {
        poll(crew->ends, crew->n_workers, LOOK_MS);
        n_left = 0;
        for (size_t i = 0; i < crew->n_workers; i++) {
            struct place *place = &crew->common->places[i];
            int status, end_code = 0, wait = crew->ends[i].revents & POLLHUP ? 0 : WNOHANG;
            if (place->process > 0 && waitpid(place->process, &status, wait) > 0)
                end_code = take_end(crew, i, status, diag);
            if (end_code != 0 && (code == 0 || code == SIM_E_INTERRUPTED)) code = end_code;
            n_left += place->process > 0;
        }
        const int size_code = take_stock(crew, diag);
        if (code == 0) code = size_code;
        if ((code != 0 || is_interrupted(crew->work)) && !crew->is_stopping) {
            stop_workers(crew, SIGTERM);
            crew->is_stopping = true;
        }
    }
    return code;
}

/* A policy of a plug-in is at fault if the process ended by its own code. */
static void describe_death(const struct work *work, const struct study_run *run, int status, char *line,
                           struct warning_row *why)
{
    struct diag_item item = {.level = DIAG_ERROR};
    if (work->runner->apart && crash_is_own(status))
        work->runner->name_plugins(work->runner->context, work->study, run, item.where, sizeof item.where);
    if (item.where[0] != 0) {
        crash_describe("the plug-in", status, item.text, sizeof item.text);
        diag_quote(&item, line, DIAG_LINE_CHARS);
        why->code = sim_err_name(SIM_E_POLICY);
    } else if (WIFSIGNALED(status)) {
        snprintf(line, DIAG_LINE_CHARS, "the worker died of signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(line, DIAG_LINE_CHARS, "the worker ended in the middle of the run, with status %d",
                 WEXITSTATUS(status));
    }
}

static int record_crash(const struct crew *crew, size_t i, const struct merge *merge, struct results *results,
                        struct diag *diag)
{
    char line[DIAG_LINE_CHARS];
    struct warning_row why = {.code = "crash", .text = line, .count = 1};
    const struct task *task = &crew->work->tasks[crew->crashed[i]];
    struct study_run run;
    struct arena arena;
    if (merge_find(merge, task->run_id) != NULL) return 0; /* already complete */
    arena_init(&arena);
    int code = workers_describe(crew->work->study, task, &arena, &run);
    if (code == 0) describe_death(crew->work, &run, crew->deaths[i], line, &why);
    code = code == 0 ? record_failure(crew->work, &run, results, "failed", &why, diag) : diag_nomem(diag);
    arena_fini(&arena);
    return code;
}

/* Writes the failures of runs that killed their workers to a shard of the parent. */
static int record_crashes(const struct crew *crew, struct diag *diag)
{
    const struct work *work = crew->work;
    struct results *results;
    struct merge merge;
    if (crew->n_crashed == 0) return 0;
    int code = shards_read_some(work->shards, work->study, work->first_shard, crew->n_workers, &merge, diag);
    if (code == 0) code = shards_open_results(work->shards, work->study, work->failures_shard, &results, diag);
    if (code == 0) {
        for (size_t i = 0; code == 0 && i < crew->n_crashed; i++) code = record_crash(crew, i, &merge, results, diag);
        results_close(results);
    }
    merge_close(&merge);
    return code;
}

static int start_all(struct crew *crew, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; i < crew->n_workers; i++) crew->ends[i].fd = -1;
    for (size_t i = 0; code == 0 && i < crew->n_workers; i++) code = start_worker(crew, i, diag);
    return code;
}

/* The number of cores this process may use. */
static int count_cores(void)
{
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

static size_t count_workers(const struct work *work)
{
    size_t n = (size_t)(work->options->workers > 0 ? work->options->workers : count_cores());
    return n < work->n_tasks ? n : work->n_tasks;
}

int workers_run(const struct work *work, struct diag *diag)
{
    struct crew crew = {.work = work, .n_workers = count_workers(work), .parent = getpid()};
    if (work->n_tasks == 0) return 0;
    size_t bytes = sizeof *crew.common + crew.n_workers * sizeof *crew.common->places;
    crew.common = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crew.common == MAP_FAILED) return diag_nomem(diag);
    crew.crashed = mem_zalloc(work->n_tasks, sizeof *crew.crashed);
    crew.deaths = mem_zalloc(work->n_tasks, sizeof *crew.deaths);
    crew.ends = mem_zalloc(crew.n_workers, sizeof *crew.ends);
    int code = crew.crashed == NULL || crew.deaths == NULL || crew.ends == NULL ? diag_nomem(diag) : 0;
    if (code == 0) {
        code = start_all(&crew, diag);
        if (code != 0) stop_workers(&crew, SIGTERM);
        int end_code = supervise(&crew, diag);
        if (code == 0) code = end_code;
        int record_code = record_crashes(&crew, diag);
        if (code == 0) code = record_code;
    }
    mem_free(crew.crashed);
    mem_free(crew.deaths);
    mem_free(crew.ends);
    munmap(crew.common, bytes);
    return code;
}

/* --- One thing apart --- */

struct apart {
    int code;
    bool has_ended;
    struct diag diag;
};

static int fail_apart(int status, struct diag *diag)
{
    char text[128];
    crash_describe("the plug-in", status, text, sizeof text);
    return diag_error(diag, SIM_E_POLICY, NULL, NULL, "while a run's world was built, %s", text);
}

int workers_apart(int (*act)(void *context, struct diag *diag), void *context, struct diag *diag)
{
    struct apart *apart = mmap(NULL, sizeof *apart, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (apart == MAP_FAILED) return diag_nomem(diag);
    diag_init(&apart->diag);
    pid_t process = fork();
    if (process == 0) {
        apart->code = act(context, &apart->diag);
        apart->has_ended = true;
        _exit(0);
    }
    int status = 0;
    while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    int code = apart->code;
    if (process < 0)
        code = diag_nomem(diag);
    else if (!apart->has_ended)
        code = fail_apart(status, diag);
    else if (code != 0)
        *diag = apart->diag;
    munmap(apart, sizeof *apart);
    return code;
}
