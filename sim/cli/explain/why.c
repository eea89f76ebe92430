/* orrery why: the life of one request or job, or a stretch of time. No database stores what replicas did, so the run is
 * simulated again from its stored scenario, and must reach the same result hash. */
#include "analysis/query.h"
#include "analysis/report/words.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/explain/story.h"
#include "sim/cli/explain/why_events.h"
#include "sim/cli/explain/why_jobs.h"
#include "sim/cli/explain/why_time.h"
#include "sim/cli/plugins.h"
#include "sim/cli/run/simulate.h"
#include "sim/core/number.h"
#include "sim/core/units.h"
#include "sim/store/readback.h"
#include "sim/store/record.h"
#include "sim/world/policy/policy.h"
#include "sim/world/rows/tee.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct why_options {
    const char *service;
    int form; /* enum answer_form */
    bool all, with_warmup;
};

#define AT(name) offsetof(struct why_options, name)
static const struct option why_options[] = {
    {NULL, "service", 0, OPTION_TEXT, AT(service), "NAME", NULL, "the request's service, if several have the id"},
    {NULL, "all", 0, OPTION_FLAG, AT(all), NULL, NULL, "show each clock of a job"},
    {NULL, "with-warmup", 0, OPTION_FLAG, AT(with_warmup), NULL, NULL,
     "slowest, longest-ttft and longest-wait also take what came during the warm-up"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print the events as CSV"},
    {0}};
#undef AT

enum { KIND_REQUEST, KIND_JOB, KIND_TIME };

/* The question, and what is read to answer it. */
struct asking {
    struct cli *cli;
    const struct why_options *options;
    struct arena *arena;
    const char *results, *path; /* as the call names them; their file */
    struct run_record record;
    struct story_subject subject;
    int64_t row;               /* rowid of the subject in its table */
    const char *found_of;      /* the service of the request, if the call does not give its id; else NULL */
    const char *found_by;      /* how that was chosen, in words, if the run has a warm-up; else NULL */
    struct query_answer ranks; /* name, value, percentile, peers without a value */
    double from_s, to_s;       /* the stretch of time */
};

/* Runs `sql` with ?1 the run and ?2 `number`. */
static int query(struct asking *asking, const char *sql, int64_t number, struct query_answer *answer)
{
    struct database database;
    const int64_t ids[] = {asking->record.id, number};
    int code = database_open_read(&database, asking->path, &asking->cli->diag);
    if (code != 0) return code;
    code = query_run(&database, sql, ids, 2, "read results", asking->arena, answer, &asking->cli->diag);
    database_close(&database, false);
    return code;
}

/* Ids that the run stored: "it has 0 to 785 of chat, 0 to 199 of draft". */
static int add_ids(struct asking *asking, struct text *hint)
{
    static const char of_jobs[] = "SELECT '' AS service, min(id) AS low, max(id) AS high FROM job WHERE run_id = ?1 "
                                  "HAVING count(*) > 0";
    static const char of_requests[] = "SELECT service, min(id) AS low, max(id) AS high FROM request WHERE run_id = ?1 "
                                      "GROUP BY service ORDER BY service";
    const char *service = asking->options->service;
    struct query_answer ids;
    const int code = query(asking, asking->subject.is_job ? of_jobs : of_requests, 0, &ids);
    for (size_t i = 0; code == 0 && i < ids.n_rows; i++) {
        if (service != NULL && strcmp(ids.columns[0].texts[i], service) != 0) continue;
        text_printf(hint, "%s %.0f to %.0f", hint->length > 0 ? "," : "it has", ids.columns[1].numbers[i],
                    ids.columns[2].numbers[i]);
        if (service == NULL && ids.n_rows > 1) text_printf(hint, " of %s", ids.columns[0].texts[i]);
    }
    return code;
}

/* Of a run without such rows: "it has only jobs". */
static int add_others(struct asking *asking, struct text *hint)
{
    const bool is_job = asking->subject.is_job;
    struct query_answer others;
    const int code = query(asking,
                           is_job ? "SELECT count(*) AS n FROM request WHERE run_id = ?1"
                                  : "SELECT count(*) AS n FROM job WHERE run_id = ?1",
                           0, &others);
    if (code != 0) return code;
    if (others.columns[0].numbers[0] > 0)
        text_printf(hint, "it has only %s", is_job ? "requests" : "jobs");
    else
        text_add(hint, "the run stored none: repeat it with --keep rows");
    return 0;
}

static int fail_unknown(struct asking *asking)
{
    const char *service = asking->options->service;
    struct text hint;
    text_init(&hint);
    int code = add_ids(asking, &hint);
    if (code == 0 && hint.length == 0) code = add_others(asking, &hint);
    if (code == 0)
        code = diag_error(&asking->cli->diag, SIM_E_USAGE, asking->path, hint.chars,
                          "run %" PRId64 " has no %s %" PRId64 "%s%s", asking->record.id,
                          asking->subject.is_job ? "job" : "request", asking->subject.id, service != NULL ? " of " : "",
                          service != NULL ? service : "");
    text_fini(&hint);
    return code;
}

/* Several services have the request: the call that names one. */
static int fail_ambiguous(struct asking *asking, const char *const *services, size_t n)
{
    struct text hint;
    text_init(&hint);
    text_add(&hint, "choose with --service:");
    for (size_t i = 0; i < n; i++) text_printf(&hint, " %s", services[i]);
    text_printf(&hint, "; as 'orrery why %s request %" PRId64 " --service %s'", asking->results, asking->subject.id,
                services[0]);
    const int code = diag_error(&asking->cli->diag, SIM_E_USAGE, asking->path, hint.chars,
                                "several services have a request %" PRId64, asking->subject.id);
    text_fini(&hint);
    return code;
}

/* Checks that the option names a service which has requests in a run that stored some. */
static int check_service(struct asking *asking)
{
    const char *service = asking->options->service;
    struct query_answer found;
    struct text hint;
    if (service == NULL) return 0;
    if (asking->subject.is_job)
        return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL, NULL, "'--service' is for requests");
    int code = query(asking, "SELECT DISTINCT service FROM request WHERE run_id = ?1 ORDER BY service", 0, &found);
    if (code != 0 || found.n_rows == 0) return code;
    for (size_t i = 0; i < found.n_rows; i++)
        if (strcmp(found.columns[0].texts[i], service) == 0) return 0;
    const char *near = text_nearest(service, found.columns[0].texts, found.n_rows);
    text_init(&hint);
    if (near != NULL) text_printf(&hint, "did you mean '%s'?", near);
    if (near == NULL) text_add(&hint, "its services:");
    for (size_t i = 0; near == NULL && i < found.n_rows; i++) text_printf(&hint, " %s", found.columns[0].texts[i]);
    code = diag_error(&asking->cli->diag, SIM_E_USAGE, asking->path, hint.chars,
                      "run %" PRId64 " has no requests to a service '%s'", asking->record.id, service);
    text_fini(&hint);
    return code;
}

/* Finds the request's service, or checks that the job exists. */
static int find_subject(struct asking *asking)
{
    struct query_answer found;
    bool is_job = asking->subject.is_job;
    int code = query(asking,
                     is_job ? "SELECT '' AS service, rowid FROM job WHERE run_id = ?1 AND id = ?2"
                            : "SELECT service, rowid FROM request WHERE run_id = ?1 AND id = ?2 ORDER BY service",
                     asking->subject.id, &found);
    if (code != 0) return code;
    if (found.n_rows == 0) return fail_unknown(asking);
    const char *const *services = found.columns[0].texts;
    const char *wanted = is_job ? NULL : asking->found_of != NULL ? asking->found_of : asking->options->service;
    for (size_t i = 0; i < found.n_rows; i++) {
        if (wanted != NULL ? strcmp(services[i], wanted) != 0 : found.n_rows > 1) continue;
        asking->subject.service = services[i];
        asking->row = (int64_t)found.columns[1].numbers[i];
        return 0;
    }
    return wanted != NULL ? fail_unknown(asking) : fail_ambiguous(asking, services, found.n_rows);
}

/* Jobs that are not rejected, with the time for which they live and that for which they wait for GPUs in all. Jobs that
 * have not ended do so up to the end of the run. */
#define PEERS_OF_JOBS                                                                                                  \
    "WITH stay AS (SELECT DISTINCT job, start_s, end_s FROM placement WHERE run_id = ?1), "                            \
    "ran AS (SELECT job, sum(end_s - start_s) AS ran_s FROM stay GROUP BY job), "                                      \
    "lived AS (SELECT job.rowid AS at, job.*, coalesce(jct_s, (SELECT value FROM metric WHERE run_id = ?1 AND "        \
    "name = 'sim.end_s') - submit_s) AS lived_s FROM job WHERE run_id = ?1 AND status <> 'rejected'), "                \
    "peer AS (SELECT lived.*, coalesce(start_s - submit_s, lived_s) AS queue_s, "                                      \
    "iif(ran_s IS NULL, coalesce(start_s - submit_s, lived_s), max(0.0, round(lived_s - ran_s, 6))) AS wait_s "        \
    "FROM lived LEFT JOIN ran ON lived.id = ran.job) "

/* Requests that are not rejected, with the time for which they wait to be scheduled. Those that have not been scheduled
 * wait up to the end of the run. */
#define PEERS_OF_REQUESTS                                                                                              \
    "WITH peer AS (SELECT request.rowid AS at, id, service, arrival_s, ttft_s, tpot_s, e2e_s, coalesce(queue_s, "                 \
    "(SELECT value FROM metric WHERE run_id = ?1 AND name = 'sim.end_s') - arrival_s) AS queue_s "                     \
    "FROM request WHERE run_id = ?1 AND status <> 'rejected') "

/* The largest value of one column is the one that is asked for. */
struct pick {
    const char *name;
    const char *of_requests, *of_jobs; /* columns; NULL: there is none */
};

static const struct pick searches[] = {
    {"slowest", "e2e_s", "jct_s"}, {"longest-ttft", "ttft_s", NULL}, {"longest-wait", "queue_s", "wait_s"}};

/* Finds what has the largest value of the column, of equals the first one; of those that come at `from_s` or later. */
static int search_rows(struct asking *asking, const struct pick *search, double from_s, struct query_answer *found)
{
    const bool is_job = asking->subject.is_job;
    const char *column = is_job ? search->of_jobs : search->of_requests;
    const char *sql = arena_printf(asking->arena,
                                   is_job ? PEERS_OF_JOBS "SELECT id, '' AS service FROM peer WHERE %s NOT NULL AND "
                                                          "submit_s >= %.17g ORDER BY %s DESC, id LIMIT 1"
                                          : PEERS_OF_REQUESTS "SELECT id, service FROM peer WHERE %s NOT NULL AND "
                                                              "arrival_s >= %.17g ORDER BY %s DESC, id, service",
                                   column, from_s, column);
    return sql != NULL ? query(asking, sql, 0, found) : diag_nomem(&asking->cli->diag);
}

/* The scenario's "warmup" in seconds; metrics leave out what came during it. 0: it has none. */
static int read_warmup(struct asking *asking, double *warmup_s)
{
    struct query_answer answer;
    const char *why;
    *warmup_s = 0;
    const int code = query(asking, "SELECT json_extract(scenario, '$.warmup') AS warmup FROM run WHERE id = ?1", 0,
                           &answer);
    if (code == 0 && answer.n_rows == 1 && answer.columns[0].texts != NULL && answer.columns[0].texts[0] != NULL &&
        unit_parse(answer.columns[0].texts[0], UNIT_TIME, warmup_s, &why) != 0)
        *warmup_s = 0;
    return code;
}

static int name_search(struct asking *asking, const char *name, double warmup_s)
{
    char words[WORDS_CHARS];
    if (!(warmup_s > 0)) return 0;
    asking->found_by = arena_printf(asking->arena,
                                    asking->options->with_warmup
                                        ? "%s of all %s, also of the warm-up of %s"
                                        : "%s of the %s that come after the warm-up of %s; --with-warmup takes all",
                                    name, asking->subject.is_job ? "jobs" : "requests", words_seconds(warmup_s, words));
    return asking->found_by != NULL ? 0 : diag_nomem(&asking->cli->diag);
}

/* Takes the id, or finds that of the request or job that took or waited longest. */
static int find_id(struct asking *asking, const char *text)
{
    const char *service = asking->options->service;
    const struct pick *search = searches, *end = searches + sizeof searches / sizeof *searches;
    struct query_answer found;
    double warmup_s;
    if (number_i64(text, strlen(text), &asking->subject.id) == NUMBER_OK) return 0;
    while (search < end && strcmp(search->name, text) != 0) search++;
    if (search < end && asking->subject.is_job && search->of_jobs == NULL)
        return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL, "'slowest' or 'longest-wait'", "'%s' is for requests",
                          text);
    if (search == end)
        return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL,
                          "give a number, 'slowest' for the one that took longest, 'longest-wait', or for a request "
                          "'longest-ttft'",
                          "'%s' is not an id", text);
    int code = read_warmup(asking, &warmup_s);
    const double from_s = asking->options->with_warmup ? 0 : warmup_s;
    if (code == 0) code = search_rows(asking, search, from_s, &found);
    if (code == 0) code = name_search(asking, search->name, warmup_s);
    if (code != 0) return code;
    for (size_t i = 0; i < found.n_rows; i++) {
        if (service != NULL && strcmp(found.columns[1].texts[i], service) != 0) continue;
        asking->subject.id = (int64_t)found.columns[0].numbers[i];
        asking->found_of = found.columns[1].texts[i];
        return 0;
    }
    return diag_error(&asking->cli->diag, SIM_E_USAGE, asking->path,
                      from_s > 0 ? "--with-warmup also takes what came during the warm-up"
                                 : "repeat the run with --keep rows, or name an id",
                      "run %" PRId64 " stored no %s that finished%s%s", asking->record.id,
                      asking->subject.is_job ? "job" : "request", service != NULL ? " in service " : "",
                      service != NULL ? service : "");
}

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

/* The share of the run's jobs, or of the service's requests, with no larger value. Rejected ones wait for nothing. */
#define RANKS                                                                                                          \
    "SELECT name, own, 100.0 * avg(v <= own) AS percentile, sum(v IS NULL) AS n_without FROM value "                   \
    "WHERE own NOT NULL GROUP BY name"

static int read_ranks(struct asking *asking)
{
    static const char of_requests[] = PEERS_OF_REQUESTS
        ", own AS (SELECT * FROM peer WHERE at = ?2), value(name, own, v) AS ("
        "SELECT 'queue_s', o.queue_s, r.queue_s FROM own o JOIN peer r ON o.service = r.service "
        "UNION ALL SELECT 'ttft_s', o.ttft_s, r.ttft_s FROM own o JOIN peer r ON o.service = r.service "
        "UNION ALL SELECT 'tpot_s', o.tpot_s, r.tpot_s FROM own o JOIN peer r ON o.service = r.service "
        "UNION ALL SELECT 'e2e_s', o.e2e_s, r.e2e_s FROM own o JOIN peer r ON o.service = r.service) " RANKS;
    static const char of_jobs[] = PEERS_OF_JOBS ", own AS (SELECT * FROM peer WHERE at = ?2), value(name, own, v) AS ("
                                                "SELECT 'wait_s', o.wait_s, j.wait_s FROM own o, peer j "
                                                "UNION ALL SELECT 'queue_s', o.queue_s, j.queue_s FROM own o, peer j "
                                                "UNION ALL SELECT 'jct_s', o.jct_s, j.jct_s FROM own o, peer j) " RANKS;
    return query(asking, asking->subject.is_job ? of_jobs : of_requests, asking->row, &asking->ranks);
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
    why_say_events(story, asking->options->all, answer);
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
    if (is_job) answer_number(answer, "waited_s", story->waits.total_s);
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
    if (code == 0) code = read_ranks(asking);
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

/* The stretch of time of the call, of a run whose end is stored. */
static int find_stretch(struct asking *asking, const char *text)
{
    struct query_answer end;
    int code = query(asking, "SELECT value FROM metric WHERE run_id = ?1 AND name = 'sim.end_s'", 0, &end);
    if (code != 0) return code;
    if (asking->options->service != NULL)
        return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL, NULL, "'--service' is for requests");
    const double end_s = end.n_rows > 0 ? end.columns[0].numbers[0] : (double)INFINITY;
    return why_read_stretch(text, end_s, &asking->from_s, &asking->to_s, &asking->cli->diag);
}

/* Whether the word stands behind a kind. */
static bool is_subject(const char *word)
{
    return strspn(word, "0123456789") == strlen(word) || strcmp(word, "slowest") == 0 ||
           strcmp(word, "longest-wait") == 0;
}

/* The call names too little: the forms that there are, and one that the run has an answer to. */
static int fail_incomplete(struct asking *asking, const char *kind)
{
    struct query_answer jobs;
    const int code = query(asking,
                           "SELECT (SELECT count(*) FROM job WHERE run_id = ?1) > 0 AND "
                           "(SELECT count(*) FROM request WHERE run_id = ?1) = 0 AS only",
                           0, &jobs);
    if (code != 0) return code;
    const bool is_job = kind != NULL ? strcmp(kind, "job") == 0 : jobs.columns[0].numbers[0] > 0;
    const bool is_time = kind != NULL && strcmp(kind, "time") == 0;
    const char *hint = arena_printf(asking->arena,
                                    "such as: orrery why %s %s; there are request|job ID|slowest|longest-wait, "
                                    "and time FROM:TO",
                                    asking->results,
                                    is_time  ? "time 0s:10s"
                                    : is_job ? "job longest-wait"
                                             : "request slowest");
    if (kind == NULL)
        return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL, hint, "'orrery why' needs what to explain");
    return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL, hint, "'%s' needs %s", kind,
                      is_time ? "a stretch of time" : "an id");
}

static int look_up(struct asking *asking, const struct cli_call *call)
{
    static const char *const kinds[] = {"request", "job", "time", NULL};
    struct cli *cli = asking->cli;
    struct setup setup;
    int64_t run_id;
    const int n = call->n_arguments;
    const bool has_no_kind = n == 1 || (n == 2 && is_subject(call->arguments[1]));
    const int kind = !has_no_kind ? cli_pick(cli, "kind", call->arguments[1], kinds) : KIND_REQUEST;
    if (kind < 0) return SIM_E_USAGE;
    const char *subject = call->arguments[n > 2 ? 2 : 0];
    asking->results = call->arguments[0];
    asking->subject.is_job = kind == KIND_JOB;
    int code = results_split_name(call->arguments[0], asking->arena, &asking->path, &run_id);
    if (code == 0) code = results_read_run(asking->path, run_id, asking->arena, &asking->record, &cli->diag);
    if (code == 0 && n < 3) code = fail_incomplete(asking, has_no_kind ? NULL : kinds[kind]);
    if (code == 0) code = results_check_run(asking->path, &asking->record, &cli->diag);
    if (code == 0 && kind != KIND_TIME) code = check_service(asking);
    if (code == 0 && kind != KIND_TIME) code = find_id(asking, subject);
    if (code == 0) code = kind == KIND_TIME ? find_stretch(asking, subject) : find_subject(asking);
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
    .usage = "RESULTS[:RUN] request|job ID|slowest|longest-wait, request longest-ttft, or time FROM:TO [options]",
    .notes = "The run is simulated once more from its stored scenario, and must come to the same result hash.\n",
    .options = why_options,
    .options_bytes = sizeof(struct why_options),
    .min_arguments = 1,
    .max_arguments = 3,
    .results_arguments = 1,
    .run = why,
};
