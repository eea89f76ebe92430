/* Finds the request, job or stretch of time that `orrery why` is asked for. */
#include "sim/cli/explain/why_find.h"

#include "analysis/report/words.h"
#include "sim/cli/explain/why_time.h"
#include "sim/core/number.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

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

/* Several services have the request: the call that names one. Nothing names one of several jobs with an id. */
static int fail_ambiguous(struct asking *asking, const char *const *services, size_t n)
{
    struct text hint;
    if (asking->subject.is_job)
        return diag_error(
            &asking->cli->diag, SIM_E_USAGE, asking->path,
            "give each job of the trace a number of its own; without a column of ids it is that of its row",
            "%zu jobs of run %" PRId64 " have the number %" PRId64, n, asking->record.id, asking->subject.id);
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
int why_check_service(struct asking *asking)
{
    const char *service = asking->options->service;
    struct query_answer found = {0};
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
int why_find_subject(struct asking *asking)
{
    struct query_answer found = {0};
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

/* Whether one of the service that is asked for is stored at all, be it of the warm-up. */
static int find_any(struct asking *asking, const struct pick *search, bool *has_rows)
{
    const char *service = asking->options->service;
    struct query_answer found = {0};
    const int code = search_rows(asking, search, 0, &found);
    *has_rows = false;
    for (size_t i = 0; code == 0 && i < found.n_rows; i++)
        *has_rows |= service == NULL || strcmp(found.columns[1].texts[i], service) == 0;
    return code;
}

/* Takes the id, or finds that of the request or job that took or waited longest. */
int why_find_id(struct asking *asking, const char *text)
{
    const char *service = asking->options->service;
    const struct pick *search = searches, *end = searches + sizeof searches / sizeof *searches;
    struct query_answer found = {0};
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
    bool has_rows = false;
    if (from_s > 0) code = find_any(asking, search, &has_rows);
    if (code != 0) return code;
    return diag_error(&asking->cli->diag, SIM_E_USAGE, asking->path,
                      has_rows ? "--with-warmup also takes what came during the warm-up"
                               : "repeat the run with --keep rows, or name an id",
                      "run %" PRId64 " stored no %s that finished%s%s", asking->record.id,
                      asking->subject.is_job ? "job" : "request", service != NULL ? " in service " : "",
                      service != NULL ? service : "");
}

/* The share of the run's jobs, or of the service's requests, with no larger value. Rejected ones wait for nothing. */
#define RANKS                                                                                                          \
    "SELECT name, own, 100.0 * avg(v <= own) AS percentile, sum(v IS NULL) AS n_without FROM value "                   \
    "WHERE own NOT NULL GROUP BY name"

int why_read_ranks(struct asking *asking)
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

/* The stretch of time of the call, of a run whose end is stored. */
int why_find_stretch(struct asking *asking, const char *text)
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
bool why_is_subject(const char *word)
{
    return strspn(word, "0123456789") == strlen(word) || strcmp(word, "slowest") == 0 ||
           strcmp(word, "longest-wait") == 0 || strcmp(word, "longest-ttft") == 0;
}

/* The call names too little: the forms that there are, and one that the run has an answer to. */
int why_fail_incomplete(struct asking *asking, const char *kind, const char *subject)
{
    struct query_answer jobs;
    const int code = query(asking,
                           "SELECT (SELECT count(*) FROM job WHERE run_id = ?1) > 0 AND "
                           "(SELECT count(*) FROM request WHERE run_id = ?1) = 0 AS only",
                           0, &jobs);
    if (code != 0) return code;
    const bool is_ttft = subject != NULL && strcmp(subject, "longest-ttft") == 0;
    const bool is_job = kind != NULL ? strcmp(kind, "job") == 0 : !is_ttft && jobs.columns[0].numbers[0] > 0;
    const bool is_time = kind != NULL && strcmp(kind, "time") == 0;
    const char *hint = arena_printf(asking->arena,
                                    "such as: orrery why %s %s%s; there are (request|job) (ID|slowest|longest-wait), "
                                    "request longest-ttft, and time FROM:TO",
                                    asking->results,
                                    is_time  ? "time "
                                    : is_job ? "job "
                                             : "request ",
                                    is_time           ? "0s:10s"
                                    : subject != NULL ? subject
                                    : is_job          ? "longest-wait"
                                                      : "slowest");
    if (kind == NULL)
        return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL, hint, "'orrery why' needs what to explain");
    return diag_error(&asking->cli->diag, SIM_E_USAGE, NULL, hint, "'%s' needs %s", kind,
                      is_time ? "a stretch of time" : "an id");
}
