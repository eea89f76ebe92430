#include "sim/cli/trace/replay.h"

#include "sim/cli/run/simulate.h"
#include "sim/world/rows/tee.h"
#include "sim/world/world.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- The log --- */

static int read_log(struct replay *replay, struct diag *diag)
{
    const char *format = replay->request.format;
    int code = format == NULL ? engine_log_guess(replay->request.log, &format, diag) : 0;
    if (code != 0) return code;
    if (!engine_log_is(format))
        return diag_error(diag, SIM_E_USAGE, NULL, "take vllm-log, request-log, vllm-bench or sglang-bench",
                          "the format '%s' has no measured times", format);
    if (replay->request.allow_bad_rows > 0 && !engine_log_has_rows(format))
        return diag_error(diag, SIM_E_USAGE, NULL, "leave --allow-bad-rows out",
                          "a file of format '%s' has no rows that could be left out", format);
    code = engine_log_read(replay->request.log, format, replay->request.allow_bad_rows, &replay->arena, &replay->log,
                           diag);
    return code == 0 && replay_times_take(&replay->log, &replay->arena, replay->measured) != 0 ? diag_nomem(diag)
                                                                                               : code;
}

/* --- The service --- */

static int add_setting(struct option_texts *all, const char *setting, struct diag *diag)
{
    if (setting == NULL) return diag_nomem(diag);
    if (all->n == OPTION_MAX_TEXTS)
        return diag_error(diag, SIM_E_USAGE, NULL, NULL, "too many values are set: at most %d", OPTION_MAX_TEXTS - 8);
    all->items[all->n++] = setting;
    return 0;
}

static int load(const struct replay *replay, const struct option_texts *settings, struct catalog_memory *memory,
                struct setup *setup, struct diag *diag)
{
    const struct setup_options options = {.settings = settings, .seed = replay->request.seed,
                                          .plugins = replay->plugins, .memory = memory};
    return setup_load(setup, replay->request.scenario, &options, diag);
}

/* Sets *found to the service of this name (NULL: the only one). */
static int pick_service(const struct scenario *scenario, const char *name, const struct service_config **found,
                        struct diag *diag)
{
    const size_t n = scenario->services.n;
    if (n == 0)
        return diag_error(diag, SIM_E_USAGE, NULL, "name a scenario with \"services\"",
                          "the scenario has no service that the log's requests could go to");
    if (name == NULL && n != 1)
        return diag_error(diag, SIM_E_USAGE, NULL, "name it with --service",
                          "the scenario has %zu services, but the log belongs to one", n);
    for (size_t i = 0; i < n; i++) {
        *found = scenario_service(scenario, i);
        if (name == NULL || strcmp((*found)->name, name) == 0) return 0;
    }
    return diag_error(diag, SIM_E_USAGE, NULL, NULL, "the scenario has no service '%s'", name);
}

/* Settings without those of the traces of services, which are for the log that will be such a trace. */
static struct option_texts without_traces(const struct option_texts *settings)
{
    struct option_texts others = {0};
    for (size_t i = 0; settings != NULL && i < settings->n; i++) {
        const char *item = settings->items[i], *trace = strstr(item, ".trace.");
        const bool is_of_trace = strncmp(item, "services.", strlen("services.")) == 0 && trace != NULL &&
                                 trace < item + strcspn(item, "=");
        if (!is_of_trace) others.items[others.n++] = item;
    }
    return others;
}

static int find_service(struct replay *replay, struct diag *diag)
{
    const struct service_config *service = NULL;
    const struct option_texts settings = without_traces(replay->request.settings);
    struct setup setup;
    int code = load(replay, &settings, NULL, &setup, diag);
    if (code == 0) code = pick_service(&setup.scenario, replay->request.service, &service, diag);
    if (code == 0) {
        replay->service = arena_strdup(&replay->arena, service->name);
        replay->has_overhead = strcmp(service->cost.name, "operators") == 0;
        if (replay->service == NULL) code = diag_nomem(diag);
    }
    setup_fini(&setup);
    return code;
}

int replay_open(struct replay *replay, const struct replay_request *request, const struct plugins *plugins,
                struct diag *diag)
{
    *replay = (struct replay){.request = *request, .plugins = plugins};
    arena_init(&replay->arena);
    catalog_memory_init(&replay->memory);
    const int code = read_log(replay, diag);
    return code == 0 ? find_service(replay, diag) : code;
}

void replay_close(struct replay *replay)
{
    catalog_memory_fini(&replay->memory);
    arena_fini(&replay->arena);
}

/* Replaces the service's trace by the log; --set may change it further. */
static int set_trace(const struct replay *replay, struct arena *arena, struct option_texts *all, struct diag *diag)
{
    struct text trace;
    text_init(&trace);
    text_printf(&trace, "services.%s.trace={\"format\": \"%s\", \"path\": ", replay->service, replay->log.format);
    text_json_string(&trace, replay->request.log);
    if (engine_log_has_rows(replay->log.format))
        text_printf(&trace, ", \"allow_bad_rows\": %" PRId64, replay->request.allow_bad_rows);
    text_add(&trace, "}");
    int code = add_setting(all, arena_printf(arena, "services.%s.trace=null", replay->service), diag);
    if (code == 0) code = add_setting(all, trace.failed ? NULL : arena_strdup(arena, trace.chars), diag);
    text_fini(&trace);
    for (size_t i = 0; code == 0 && replay->request.settings != NULL && i < replay->request.settings->n; i++)
        code = add_setting(all, replay->request.settings->items[i], diag);
    return code;
}

static int set_overhead(const struct replay *replay, const struct replay_overhead *overhead, struct arena *arena,
                        struct option_texts *all, struct diag *diag)
{
    const struct {
        const char *key;
        double seconds;
    } parts[] = {{"iteration", overhead->iteration_s},
                 {"sequence", overhead->sequence_s},
                 {"prompt", overhead->prompt_s}};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof parts / sizeof *parts; i++)
        if (!isnan(parts[i].seconds))
            code = add_setting(all,
                               arena_printf(arena, "services.%s.cost.overhead.%s=\"%.17gs\"", replay->service,
                                            parts[i].key, parts[i].seconds),
                               diag);
    return code;
}

int replay_setup(struct replay *replay, const struct replay_overhead *overhead, struct setup *setup, struct diag *diag)
{
    struct option_texts all = {0};
    struct arena arena;
    memset(setup, 0, sizeof *setup);
    arena_init(&arena);
    int code = set_trace(replay, &arena, &all, diag);
    if (code == 0 && overhead != NULL) code = set_overhead(replay, overhead, &arena, &all, diag);
    if (code == 0) code = load(replay, &all, &replay->memory, setup, diag);
    arena_fini(&arena);
    return code;
}

/* --- The run --- */

struct catcher {
    const struct replay *replay;
    struct replay_outcome *outcome;
    struct diag *diag;
};

/* The index of the log's entry with this id, or log.n. Ids are row numbers, so they rise. */
static size_t find_entry(const struct engine_log *log, int64_t id)
{
    size_t low = 0, high = log->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (log->entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < log->n && log->entries[low].id == id ? low : log->n;
}

static int catch_request(void *context, const struct request_row *row)
{
    const struct catcher *catcher = context;
    struct replay_outcome *outcome = catcher->outcome;
    if (strcmp(row->service, catcher->replay->service) != 0) return 0;
    const size_t at = find_entry(&catcher->replay->log, row->id);
    if (at == catcher->replay->log.n) return 0;
    const bool finished = strcmp(row->status, "finished") == 0;
    outcome->absent--;
    if (finished)
        outcome->finished++;
    else if (strcmp(row->status, "rejected") == 0)
        outcome->rejected++;
    else
        outcome->unfinished++;
    outcome->simulated[REPLAY_QUEUE][at] = row->queue_s;
    outcome->simulated[REPLAY_TTFT][at] = row->ttft_s;
    outcome->simulated[REPLAY_TPOT][at] = row->tpot_s;
    outcome->simulated[REPLAY_E2E][at] = row->e2e_s;
    outcome->finish_s[at] = row->arrival_s + row->e2e_s;
    replay_times_note_arrival(&outcome->arrivals, row->arrival_s, &catcher->replay->log.entries[at]);
    return 0;
}

static int catch_warning(void *context, const struct warning_row *row)
{
    const struct catcher *catcher = context;
    if (strcmp(row->code, "unpriced") == 0) return 0; /* a replay is about times */
    diag_warning(catcher->diag, NULL, NULL, "%s", row->text);
    return 0;
}

static int outcome_init(struct replay_outcome *outcome, const struct engine_log *log)
{
    const size_t n = log->n;
    *outcome = (struct replay_outcome){.absent = (int64_t)n};
    replay_times_begin_arrivals(&outcome->arrivals, log);
    arena_init(&outcome->arena);
    for (int time = 0; time < REPLAY_TIMES; time++)
        if ((outcome->simulated[time] = replay_times_none(&outcome->arena, n)) == NULL) return SIM_E_NOMEM;
    outcome->finish_s = replay_times_none(&outcome->arena, n);
    return outcome->finish_s != NULL ? 0 : SIM_E_NOMEM;
}

void replay_outcome_fini(struct replay_outcome *outcome)
{
    arena_fini(&outcome->arena);
}

int replay_run(const struct replay *replay, const struct setup *setup, const struct sink *also,
               const volatile sig_atomic_t *interrupt, struct replay_outcome *outcome, struct world_result *result,
               struct diag *diag)
{
    struct catcher catcher = {.replay = replay, .outcome = outcome, .diag = diag};
    const struct world_options options = {.interrupt = interrupt};
    struct tee tee = {0};
    if (outcome_init(outcome, &replay->log) != 0) return diag_nomem(diag);
    tee_add(&tee, (struct sink){.context = &catcher, .request = catch_request, .warning = catch_warning});
    if (also != NULL) tee_add(&tee, *also);
    const struct sink sink = tee_sink(&tee);
    return simulate_rows(setup, &options, &sink, result, diag);
}
