#include "tests/support/worlds/worlds.h"

#include "sim/cli/plugins.h"
#include "sim/world/scenario.h"
#include "tests/support/worlds/batch.h"
#include "tests/support/worlds/draw.h"
#include "tests/support/worlds/shrink.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signatures that are shrunk and printed; worlds of one signature that are counted; workers. */
enum { MOST_FINDINGS = 64, MOST_WORKERS = 64, PROGRESS_EVERY = 5000 };

struct finding {
    uint64_t world, n; /* the first world, and how many there are */
    char signature[TRIAL_TEXT_CHARS];
    bool has_ended_process;
};

/* What all processes share. */
struct shared {
    uint64_t next, n_valid, n_cut, n_runs, n_findings;
    uint64_t present[MOST_WORKERS]; /* the world that a worker is at, from 1; 0: none */
    struct finding findings[MOST_FINDINGS];
    size_t n_signatures;
    struct reach reach;
};

struct crew {
    const struct worlds_options *options;
    struct config_families families;
    struct words words;
    struct catalog_memory memory;
    struct shared *shared;
    struct reach_world reached;
    struct batch batch; /* of this worker */
};

static void add(uint64_t *counter, uint64_t n)
{
    __atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* --- Workers --- */

/* Counts a finding. Two workers that meet a signature at the same time may both note it. */
static void note(struct shared *shared, uint64_t world, const char *signature, bool has_ended_process)
{
    add(&shared->n_findings, 1);
    const size_t n = __atomic_load_n(&shared->n_signatures, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < n && i < MOST_FINDINGS; i++) {
        if (strcmp(shared->findings[i].signature, signature) != 0) continue;
        add(&shared->findings[i].n, 1);
        return;
    }
    const size_t mine = __atomic_fetch_add(&shared->n_signatures, 1, __ATOMIC_ACQ_REL);
    if (mine >= MOST_FINDINGS) return;
    struct finding *finding = &shared->findings[mine];
    *finding = (struct finding){.world = world, .n = 1, .has_ended_process = has_ended_process};
    snprintf(finding->signature, sizeof finding->signature, "%s", signature);
}

static void note_of_batch(void *context, uint64_t world, const char *text)
{
    char signature[TRIAL_TEXT_CHARS];
    struct trial trial = {.verdict = TRIAL_FOUND};
    snprintf(trial.text, sizeof trial.text, "%s", text);
    trial_signature(&trial, signature);
    note(context, world, signature, false);
}

static void run_batch(struct crew *crew)
{
    add(&crew->shared->n_runs, crew->batch.n);
    batch_run(&crew->batch, note_of_batch, crew->shared);
}

static void try_world(struct crew *crew, uint64_t world)
{
    struct shared *shared = crew->shared;
    struct trial trial;
    cJSON *drawn = draw_world(crew->options->seed, world, &crew->families, &crew->words, &crew->reached);
    char *json = cJSON_PrintUnformatted(drawn);
    const struct trial_options options = {.most_events = crew->options->most_events, .memory = &crew->memory,
                                          .sweep = world % crew->options->sweep_every == 0};
    trial_run(json, &options, &trial);
    const bool is_valid = trial.verdict != TRIAL_INVALID;
    add(&shared->n_valid, is_valid);
    add(&shared->n_cut, trial.is_cut);
    add(&shared->n_runs, (uint64_t)trial.n_runs);
    reach_count(&shared->reach, &crew->reached, is_valid);
    if (!is_valid && crew->options->lists) fprintf(crew->options->out, "invalid %" PRIu64 ": %s\n", world, trial.text);
    if (trial.verdict == TRIAL_FOUND) {
        char signature[TRIAL_TEXT_CHARS];
        trial_signature(&trial, signature);
        note(shared, world, signature, false);
    } else if (trial.hash[0] != 0) {
        batch_add(&crew->batch, world, json, trial.hash);
    }
    if (crew->batch.n == BATCH_MOST) run_batch(crew);
    cJSON_free(json);
    cJSON_Delete(drawn);
}

static void print_progress(const struct crew *crew, uint64_t taken)
{
    struct rusage used;
    const struct shared *shared = crew->shared;
    getrusage(RUSAGE_SELF, &used);
    fprintf(crew->options->out,
            "%" PRIu64 " worlds, %" PRIu64 " valid, %" PRIu64 " findings, this worker's peak %ld MiB\n", taken,
            shared->n_valid, shared->n_findings, used.ru_maxrss / 1024);
    fflush(crew->options->out);
}

static void work(struct crew *crew, int worker)
{
    const struct itimerval limit = {.it_value = {.tv_sec = TRIAL_MOST_S}};
    const struct worlds_options *options = crew->options;
    if (freopen("/dev/null", "w", stderr) == NULL) _exit(1);
    while (options->stop == NULL || !*options->stop) {
        const uint64_t taken = __atomic_fetch_add(&crew->shared->next, 1, __ATOMIC_RELAXED);
        if (taken >= options->n) break;
        if (options->progress && taken > 0 && taken % PROGRESS_EVERY == 0) print_progress(crew, taken);
        crew->shared->present[worker] = options->first + taken + 1;
        setitimer(ITIMER_PROF, &limit, NULL);
        try_world(crew, options->first + taken);
        crew->shared->present[worker] = 0;
    }
    setitimer(ITIMER_PROF, &limit, NULL);
    if (crew->batch.n > 0) crew->shared->present[worker] = crew->batch.items[0].world + 1;
    run_batch(crew);
    crew->shared->present[worker] = 0;
    fflush(options->out);
    _exit(0);
}

static pid_t start_worker(struct crew *crew, int worker)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) work(crew, worker);
    return pid;
}

/* A worker has ended: early, its world is a finding, whose reason a trial in a child will show. */
static bool ended_early(struct crew *crew, int worker)
{
    char signature[TRIAL_TEXT_CHARS];
    struct trial trial;
    const uint64_t present = crew->shared->present[worker];
    crew->shared->present[worker] = 0;
    if (present == 0) return false;
    const uint64_t world = present - 1;
    cJSON *drawn = draw_world(crew->options->seed, world, &crew->families, &crew->words, &crew->reached);
    char *json = cJSON_PrintUnformatted(drawn);
    const struct trial_options options = {.most_events = crew->options->most_events,
                                          .sweep = world % crew->options->sweep_every == 0};
    trial_in_child(json, &options, &trial);
    if (trial.verdict != TRIAL_FOUND) snprintf(trial.text, sizeof trial.text, "ended its process, but not when alone");
    trial_signature(&trial, signature);
    add(&crew->shared->n_valid, 1);
    reach_count(&crew->shared->reach, &crew->reached, true);
    note(crew->shared, world, signature, true);
    cJSON_free(json);
    cJSON_Delete(drawn);
    return true;
}

static int run_workers(struct crew *crew, int n_workers)
{
    pid_t pids[MOST_WORKERS];
    for (int i = 0; i < n_workers; i++)
        if ((pids[i] = start_worker(crew, i)) < 0) return SIM_E_NOMEM;
    for (int n_left = n_workers; n_left > 0;) {
        int status, worker = 0;
        const pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0) return SIM_E_IO;
        while (worker < n_workers && pids[worker] != pid) worker++;
        if (worker == n_workers) continue;
        pids[worker] = ended_early(crew, worker) ? start_worker(crew, worker) : 0;
        if (pids[worker] < 0) return SIM_E_NOMEM;
        n_left -= pids[worker] == 0;
    }
    return 0;
}

/* --- The report --- */

static void report_finding(struct crew *crew, const struct finding *finding)
{
    const struct worlds_options *options = crew->options;
    struct trial trial;
    cJSON *world = draw_world(options->seed, finding->world, &crew->families, &crew->words, &crew->reached);
    char *json = cJSON_Print(world);
    const struct trial_options how = {.most_events = options->most_events,
                                      .sweep = strncmp(finding->signature, "sweep", 5) == 0};
    fprintf(options->out, "\nfinding in world %" PRIu64 " of seed %" PRIu64 ", %" PRIu64 " alike: %s\n", finding->world,
            options->seed, finding->n, finding->signature);
    trial_in_child(json, &how, &trial);
    cJSON_free(json);
    if (trial.verdict != TRIAL_FOUND) snprintf(trial.text, sizeof trial.text, "it is sound alone");
    const int n_trials = trial.verdict == TRIAL_FOUND ? shrink(world, &how, &trial) : 0;
    json = cJSON_Print(world);
    fprintf(options->out, "%s\nsmallest of %d trials: %s\n", trial.text, n_trials, json);
    fflush(options->out);
    cJSON_free(json);
    cJSON_Delete(world);
}

static void list_unreached(const struct worlds_options *options, const struct reach *reach)
{
    for (size_t i = 0; i < reach->n; i++)
        fprintf(options->out, "%s %s: %u drawn, %u valid\n", reach->items[i].is_alternative ? "choice" : "key",
                reach->items[i].label, reach->items[i].n_drawn, reach->items[i].n_valid);
}

static void summarise(const struct crew *crew, struct worlds_summary *summary)
{
    const struct shared *shared = crew->shared;
    const struct worlds_options *options = crew->options;
    const uint64_t n_draws = shared->next < options->n ? shared->next : options->n;
    *summary = (struct worlds_summary){.n_valid = shared->n_valid, .n_cut = shared->n_cut, .n_runs = shared->n_runs,
                                       .n_findings = shared->n_findings};
    reach_sum(&shared->reach, true, &summary->n_alternatives, &summary->n_alternatives_reached);
    reach_sum(&shared->reach, false, &summary->n_keys, &summary->n_keys_reached);
    fprintf(options->out,
            "seed %" PRIu64 ": %" PRIu64 " draws, %" PRIu64 " valid (%.0f %%), %" PRIu64 " of them cut, %" PRIu64
            " runs, %zu of %zu alternatives and %zu of %zu keys reached, %" PRIu64 " findings of %zu kinds\n",
            options->seed, n_draws, shared->n_valid, 100.0 * (double)shared->n_valid / (double)n_draws, shared->n_cut,
            shared->n_runs, summary->n_alternatives_reached, summary->n_alternatives, summary->n_keys_reached,
            summary->n_keys, shared->n_findings, shared->n_signatures);
}

static int run(struct crew *crew, struct worlds_summary *summary)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    int n_workers = crew->options->workers > 0 ? crew->options->workers : (int)n_cores;
    if (n_workers > MOST_WORKERS) n_workers = MOST_WORKERS;
    reach_init(&crew->shared->reach, scenario_fields, &crew->families);
    int code = run_workers(crew, n_workers);
    if (code != 0) return code;
    for (size_t i = 0; i < crew->shared->n_signatures && i < MOST_FINDINGS; i++)
        report_finding(crew, &crew->shared->findings[i]);
    if (crew->options->lists) list_unreached(crew->options, &crew->shared->reach);
    summarise(crew, summary);
    return 0;
}

int worlds_run(const struct worlds_options *options, struct worlds_summary *summary)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (crew == NULL) return SIM_E_NOMEM;
    *crew = (struct crew){.options = options, .families = cli_families(NULL)};
    crew->batch.memory = &crew->memory;
    crew->shared = mmap(NULL, sizeof *crew->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    catalog_memory_init(&crew->memory);
    int code = crew->shared != MAP_FAILED ? words_load(&crew->words) : SIM_E_NOMEM;
    if (code == 0) code = run(crew, summary);
    if (crew->shared != MAP_FAILED) munmap(crew->shared, sizeof *crew->shared);
    words_fini(&crew->words);
    catalog_memory_fini(&crew->memory);
    free(crew);
    return code;
}
