/* orrery why: the life of one request or job, or a stretch of time. No database stores what replicas did, so the run
 * is simulated again from its stored scenario, and must reach the same result hash. */
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/explain/story.h"
#include "sim/cli/explain/why_events.h"
#include "sim/cli/explain/why_find.h"
#include "sim/cli/explain/why_jobs.h"
#include "sim/cli/explain/why_spent.h"
#include "sim/cli/explain/why_time.h"
#include "sim/cli/plugins.h"
#include "sim/cli/run/simulate.h"
#include "sim/store/readback.h"
#include "sim/world/policy/policy.h"
#include "sim/world/rows/tee.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT(name) offsetof(struct why_options, name)
static const struct option why_options[] = {
    {NULL, "service", 0, OPTION_TEXT, AT(service), "NAME", NULL, "the request's service, if several have the id"},
    {NULL, "all", 0, OPTION_FLAG, AT(all), NULL, NULL, "show each clock and node of a job, and each piece of a prompt"},
    {NULL, "with-warmup", 0, OPTION_FLAG, AT(with_warmup), NULL, NULL,
     "slowest, longest-ttft and longest-wait also take what came during the warm-up"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the events as CSV"},
    {0}};
#undef AT

static int check_hash(struct asking *asking, const char *hash)
{
    const struct run_record *record = &asking->record;
    if (record->result_hash[0] == 0 || strcmp(record->result_hash, hash) == 0) return 0;
    return diag_error(&asking->cli->diag, SIM_E_GATE, asking->path,
                      "the program, a trace or a catalog file has changed since; 'orrery run --from' shows more",
                      "run %" PRId64 " does not repeat: its result hash is %s, now it is %s", record->id,
                      record->result_hash, hash);
}

/* Simulates the run again for a sink that wants live rows. */
static int simulate_again(struct asking *asking, const struct setup *setup, struct sink live)
{
    static const enum results_keep keeps[] = {[SCENARIO_KEEP_ROWS] = KEEP_ROWS,
                                              [SCENARIO_KEEP_METRICS] = KEEP_METRICS,
                                              [SCENARIO_KEEP_DECISIONS] = KEEP_DECISIONS};
    struct hash_sink hashing;
    struct tee tee = {0};
    struct world_result result;
    char hash[HASH_HEX_CHARS];
    if (hash_sink_init(&hashing, keeps[setup->scenario.keep]) != 0) return SIM_E_NOMEM;
    tee_add(&tee, hash_sink(&hashing));
    tee_add(&tee, live);
    struct sink sink = tee_sink(&tee);
    struct world_options how = {.interrupt = asking->cli->interrupt};
    int code = simulate_rows(setup, &how, &sink, &result, &asking->cli->diag);
    if (code == 0) code = hash_sink_hex(&hashing, hash);
    hash_sink_fini(&hashing);
    return code == 0 ? check_hash(asking, hash) : code;
}

/* --- Telling it --- */

static void say_head(const struct asking *asking, const struct story *story, struct answer *answer)
{
    const struct request_row *request = &story->request;
    const struct job_row *job = &story->job;
    if (asking->subject.is_job)
        answer_say(answer, "job %" PRId64 ": GPUs %" PRId64 ", submitted at %.6f s, %s\n", job->id, job->gpus,
                   job->submit_s, job->status);
    else
        answer_say(answer,
                   "request %" PRId64 " of %s%s%s: %" PRId64 " prompt tokens, %" PRId64
                   " output tokens, arrives at %.6f s, %s\n",
                   request->id, request->service, request->class[0] != '\0' ? ", class " : "", request->class,
                   request->prompt_tokens, request->output_tokens, request->arrival_s, request->status);
}

/* "waited 54 s in all so far, in 4 parts: 0 s before its first start, 54 s after 4 stops; longest 20 s, from ..." */
static void say_waits(const struct story *story, struct answer *answer)
{
    const struct story_waits *waits = &story->waits;
    if (!story->subject.is_job || waits->n == 0) return;
    answer_say(answer, "waited %.6g s in all%s, in %" PRId64 " part%s: %.6g s before its first start", waits->total_s,
               strcmp(story->job.status, "unfinished") == 0 ? " so far" : "", waits->n, waits->n == 1 ? "" : "s",
               waits->before_start_s);
    if (waits->n_stops > 0)
        answer_say(answer, ", %.6g s after %" PRId64 " stop%s", waits->total_s - waits->before_start_s, waits->n_stops,
                   waits->n_stops == 1 ? "" : "s");
    answer_say(answer, "; longest %.6g s, from %.6f s on\n", waits->longest_s, waits->longest_from_s);
}

/* "lower clocks for 186 s: runs at 66.7 % of its full speed then". */
static void say_slowed(const struct story *story, struct answer *answer)
{
    const struct story_slowed *slowed = &story->slowed;
    if (!(slowed->total_s > 0)) return;
    answer_say(answer, "lower clocks for %.6g s: ", slowed->total_s);
    why_say_speeds(slowed->least_frac, slowed->most_frac, answer);
    answer_say(answer, " then\n");
}

/* The gap of the row, to the nanosecond. */
static void say_gap(const struct story *story, struct answer *answer)
{
    if (isnan(story->gap_s)) return;
    answer_say(answer, "longest wait for a token%s: %.9f s, from %.9f s on\n",
               story->sequences.n > 0 ? " of one of its sequences" : "", story->gap_s, story->gap_from_s);
}

/* What a story lacks. */
static const char *left_out(const struct story *story)
{
    if (story->subject.is_job || !story->subject.has_stages) return NULL;
    return "its decoding beside others: batches of pipeline stages overlap, and no row tells which one is its own";
}

/* "queue_s 51: 100.0 % of the requests to chat are no larger". A time that some lack is compared among the others. */
static void say_ranks(const struct asking *asking, struct answer *answer)
{
    const struct query_answer *ranks = &asking->ranks;
    const bool is_job = asking->subject.is_job;
    for (size_t i = 0; i < ranks->n_rows; i++)
        answer_say(answer, "%s %.6g: %.1f %% of the %s%s%s are no larger\n", ranks->columns[0].texts[i],
                   ranks->columns[1].numbers[i], ranks->columns[2].numbers[i], is_job ? "run's jobs" : "requests to ",
                   is_job ? "" : asking->subject.service, ranks->columns[3].numbers[i] > 0 ? " that have one" : "");
}

static void say_story(const struct asking *asking, const struct story *story, struct answer *answer)
{
    say_head(asking, story, answer);
    if (asking->found_by != NULL) answer_say(answer, "%s\n", asking->found_by);
    say_waits(story, answer);
    say_slowed(story, answer);
    if (story->subject.is_job) why_say_spent(story, answer);
    why_say_events(story, asking->options->all, answer);
    if (!story->subject.is_job) why_say_blocked(story, answer);
    say_ranks(asking, answer);
    if (!story->subject.is_job) say_gap(story, answer);
    if (left_out(story) != NULL) answer_say(answer, "left out: %s\n", left_out(story));
}

static void write_story(const struct asking *asking, const struct story *story, struct answer *answer)
{
    const bool is_job = asking->subject.is_job;
    answer_text(answer, "kind", is_job ? "job" : "request");
    if (asking->found_by != NULL) answer_text(answer, "chosen", asking->found_by);
    answer_number(answer, "id", (double)asking->subject.id);
    if (!is_job) answer_text(answer, "service", asking->subject.service);
    if (!is_job && story->request.class[0] != '\0') answer_text(answer, "class", story->request.class);
    answer_text(answer, "status", is_job ? story->job.status : story->request.status);
    why_write_events(story, answer);
    if (!is_job) why_write_blocked(story, answer);
    if (is_job) answer_number(answer, "waited_s", story->waits.total_s);
    if (is_job) why_write_spent(story, answer);
    if (!is_job && !isnan(story->gap_s)) {
        answer_number(answer, "max_gap_s", story->gap_s);
        answer_number(answer, "max_gap_from_s", story->gap_from_s);
    }
    if (left_out(story) != NULL) answer_text(answer, "left_out", left_out(story));
    answer_open(answer, "percentiles", '{');
    for (size_t i = 0; i < asking->ranks.n_rows; i++)
        answer_number(answer, asking->ranks.columns[0].texts[i], asking->ranks.columns[2].numbers[i]);
    answer_close(answer, '}');
}

static int end_answer(const struct asking *asking, struct answer *answer)
{
    const enum answer_form form = answer->form;
    const int code = answer_end(answer, 0, asking->cli->out, &asking->cli->diag);
    if (code == 0 && !answer_is_data(form))
        fprintf(asking->cli->err,
                "simulated once more from the scenario of run %" PRId64 "; the result hash is the same\n",
                asking->record.id);
    return code;
}

static int print_story(const struct asking *asking, const struct story *story)
{
    const enum answer_form form = (enum answer_form)asking->options->form;
    struct answer answer;
    answer_init(&answer, form, "events");
    (answer_is_data(form) ? write_story : say_story)(asking, story, &answer);
    return end_answer(asking, &answer);
}

/* The service of this name, or NULL. */
static const struct service_config *service_of(const struct setup *setup, const char *name)
{
    for (size_t i = 0; i < setup->scenario.services.n; i++) {
        const struct service_config *config = scenario_service(&setup->scenario, i);
        if (strcmp(config->name, name) == 0) return config;
    }
    return NULL;
}

/* Whether replicas of the service, or of one of its pools, have several pipeline stages. */
static bool has_stages(const struct service_config *config)
{
    for (size_t i = 0; i < service_n_pools(config); i++)
        if (service_pool(config, i).pipeline_parallel > 1) return true;
    return false;
}

/* What the rows of a service's batches cannot tell, as they name neither drafts nor sequences nor requests. */
static void forget_unknown(const struct setup *setup, struct stretch_service *service)
{
    const struct service_config *config = service_of(setup, service->name);
    if (config == NULL) return;
    if (config->speculation.entry != NULL || config->sampling.sequences > 1) stretch_forget_tokens(service);
    if (has_stages(config)) stretch_forget_busy(service);
}

static int tell_story(struct asking *asking, const struct setup *setup)
{
    struct story story;
    const struct service_config *config = asking->subject.is_job ? NULL : service_of(setup, asking->subject.service);
    asking->subject.drafts = config != NULL && config->speculation.entry != NULL;
    asking->subject.has_stages = config != NULL && has_stages(config);
    story_init(&story, &asking->subject, asking->arena);
    int code = simulate_again(asking, setup, story_sink(&story));
    if (code == 0) code = story_end(&story);
    if (code == 0) code = why_read_ranks(asking);
    if (code == 0 && asking->subject.is_job)
        code = why_tell_others(asking->path, asking->record.id, asking->row, asking->arena, &story, &asking->cli->diag);
    if (code == 0) why_sort_events(&story);
    if (code == 0) code = print_story(asking, &story);
    story_fini(&story);
    return code;
}

static int tell_stretch(struct asking *asking, const struct setup *setup)
{
    struct stretch stretch;
    struct answer answer;
    stretch_init(&stretch, asking->from_s, asking->to_s, asking->arena);
    int code = simulate_again(asking, setup, stretch_sink(&stretch));
    for (size_t i = 0; i < stretch.n_services; i++) forget_unknown(setup, &stretch.services[i]);
    if (code == 0) code = stretch_end(&stretch);
    if (code == 0) {
        why_sort_events(&stretch.story);
        answer_init(&answer, (enum answer_form)asking->options->form, "events");
        why_tell_stretch(&stretch, &answer);
        code = end_answer(asking, &answer);
    }
    stretch_fini(&stretch);
    return code;
}

static int look_up(struct asking *asking, const struct cli_call *call)
{
    static const char *const kinds[] = {"request", "job", "time", NULL};
    struct cli *cli = asking->cli;
    struct setup setup;
    int64_t run_id;
    const int n = call->n_arguments;
    const bool has_no_kind = n == 1 || (n == 2 && why_is_subject(call->arguments[1]));
    const int kind = !has_no_kind ? cli_pick(cli, "kind", call->arguments[1], kinds) : KIND_REQUEST;
    if (kind < 0) return SIM_E_USAGE;
    const char *subject = call->arguments[n > 2 ? 2 : 0], *word = n == 2 ? call->arguments[1] : NULL;
    asking->results = call->arguments[0];
    asking->subject.is_job = kind == KIND_JOB;
    int code = results_split_name(call->arguments[0], asking->arena, &asking->path, &run_id);
    if (code == 0) code = results_read_run(asking->path, run_id, asking->arena, &asking->record, &cli->diag);
    if (code == 0 && n < 3)
        code = why_fail_incomplete(asking, has_no_kind ? NULL : kinds[kind], has_no_kind ? word : NULL);
    if (code == 0) code = results_check_run(asking->path, &asking->record, &cli->diag);
    if (code == 0 && kind != KIND_TIME) code = why_check_service(asking);
    if (code == 0 && kind != KIND_TIME) code = why_find_id(asking, subject);
    if (code == 0) code = kind == KIND_TIME ? why_find_stretch(asking, subject) : why_find_subject(asking);
    if (code == 0) code = plugins_check(cli->plugins, asking->record.policies, call->arguments[0], &cli->diag);
    if (code != 0) return code;
    const struct stored_scenario stored = {asking->record.scenario, asking->record.trace_hash};
    code = setup_load_stored(&setup, asking->path, call->arguments[0], &stored, cli->plugins, &cli->diag);
    if (code == 0) code = kind == KIND_TIME ? tell_stretch(asking, &setup) : tell_story(asking, &setup);
    setup_fini(&setup);
    return code;
}

static int why(struct cli *cli, const struct cli_call *call)
{
    struct arena arena;
    arena_init(&arena);
    struct asking asking = {.cli = cli, .options = call->options, .arena = &arena};
    int code = look_up(&asking, call);
    arena_fini(&arena);
    return code;
}

const struct verb verb_why = {
    .takes_plugins = true,
    .name = "why",
    .summary = "the life of one request or job, or a stretch of time: what happened, and why",
    .usage = "RESULTS[:RUN] (request|job) (ID|slowest|longest-wait), request longest-ttft, or time FROM:TO [options]",
    .notes = "The run is simulated once more from its stored scenario, and must come to the same result hash.\n",
    .options = why_options,
    .options_bytes = sizeof(struct why_options),
    .min_arguments = 1,
    .max_arguments = 3,
    .results_arguments = 1,
    .run = why,
};
