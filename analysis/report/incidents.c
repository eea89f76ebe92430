/* Incidents, from the decisions, placements and leases of a run that kept its rows:
 *
 *   power brakes   decisions "brake" of a capping policy
 *   failures       decisions "fail" of a replica; ends of placements of restarted jobs that no decision tells of
 *   yields         such ends at which the job yields to a service: by the reason of its decision "interrupt", if the
 *                  run kept these. Otherwise, if the run counts yields and no stop by a failure, all of them. If it
 *                  counts both, those at which a replica starts, but for jobs on a node that fails then
 *   spot losses    leases that ended as 'lost'
 *   scaling        decisions "start" and "drain" about a replica
 *   preemptions    decisions "preempt" about a job or a request: evictions from a batch, and jobs that lose their
 *                  GPUs to others
 *
 * The numbers in the names count brakes and failures by moments, as one failure stops many, the others one by one. Of
 * the ticks, those closer than a thousandth of the run are one. */
#include "analysis/report/incidents.h"

#include "analysis/report/source.h"
#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>

static const char incidents_sql[] =
    "WITH at(run_id, end_s) AS (SELECT %" PRId64 ", %.9g),\n"
    "lost(job, t_s) AS (SELECT job, end_s FROM lease WHERE run_id = (SELECT run_id FROM at) AND fate = 'lost'),\n"
    "told(t_s, service, policy, action, subject, reason) AS (\n"
    "  SELECT t_s, service, policy, action, subject, reason FROM decision WHERE run_id = (SELECT run_id FROM at)\n"
    "  AND action IN ('brake', 'fail', 'start', 'drain', 'preempt', 'resize', 'migrate')),\n"
    "counted(yields, stops) AS (\n"
    "  SELECT total(value) FILTER (WHERE name = 'scaling.yielded_jobs.sum'),\n"
    "         total(value) FILTER (WHERE name = 'failure.interrupts')\n"
    "  FROM metric WHERE run_id = (SELECT run_id FROM at)),\n"
    "reasoned(job, t_s, yields) AS (SELECT subject, t_s, reason LIKE 'yields to a service%%' FROM decision\n"
    "  WHERE run_id = (SELECT run_id FROM at) AND action = 'interrupt' AND service = ''),\n"
    "failed(t_s, node) AS (SELECT t_s, cast(substr(reason, instr(reason, ' on node ') + 9) AS integer) FROM told\n"
    "  WHERE action = 'fail' AND policy = 'failures'),\n"
    "stopped(job, t_s) AS (\n"
    "  SELECT DISTINCT j.id, p.end_s FROM job AS j JOIN placement AS p ON p.run_id = j.run_id AND p.job = j.id\n"
    "  WHERE j.run_id = (SELECT run_id FROM at) AND j.restarts > 0 AND p.end_s IS NOT j.end_s\n"
    "  AND p.end_s < (SELECT end_s FROM at) AND (j.id, p.end_s) NOT IN (SELECT job, t_s FROM lost)\n"
    "  AND (j.id, p.end_s) NOT IN (SELECT subject, t_s FROM told WHERE service = ''))\n"
    "SELECT kind, t_s, CASE WHEN kind < 2 THEN 1 ELSE count(*) END FROM (\n"
    "  SELECT CASE action WHEN 'brake' THEN 0 WHEN 'fail' THEN 1 WHEN 'preempt' THEN 4 ELSE 3 END AS kind, t_s\n"
    "  FROM told WHERE action IN ('brake', 'preempt') OR (action = 'fail' AND policy = 'failures')\n"
    "  OR (action IN ('start', 'drain') AND service <> '' AND subject = -1)\n"
    "  UNION ALL SELECT CASE WHEN coalesce((SELECT max(r.yields) FROM reasoned AS r WHERE r.job = s.job AND r.t_s = s.t_s),\n"
    "    c.yields > 0 AND (c.stops = 0 OR (s.t_s IN (SELECT t_s FROM told WHERE action = 'start' AND service <> '' AND\n"
    "    subject = -1) AND NOT EXISTS (SELECT 1 FROM failed AS f JOIN placement AS p ON p.node = f.node WHERE p.run_id =\n"
    "    (SELECT run_id FROM at) AND p.job = s.job AND p.end_s = s.t_s AND f.t_s = s.t_s)))) THEN 5 ELSE 1 END, s.t_s\n"
    "    FROM stopped AS s, counted AS c\n"
    "  UNION ALL SELECT 2, t_s FROM lost)\n"
    "WHERE t_s NOT NULL GROUP BY kind, t_s ORDER BY kind, t_s";

static const char *const names[INCIDENT_KINDS] = {"power brake", "failure",    "spot loss",
                                                  "scaling",     "preemption", "yield"};

enum { MOST_MOMENTS = 1000 };

/* The moments of one kind, and how often it happened at each. */
struct moments {
    size_t n;
    const double *t_s, *counts;
};

/* Adds the moments as one kind. */
static int add_kind(const struct report_source *source, int kind, const struct moments *moments,
                    struct incidents *incidents)
{
    char words[WORDS_CHARS];
    double total = 0, *x = arena_alloc(source->arena, moments->n * sizeof *x);
    size_t n_kept = 0;
    for (size_t i = 0; i < moments->n; i++) total += moments->counts[i];
    const char *name = arena_printf(source->arena, "%s (%s)", names[kind], words_number(total, words));
    if (x == NULL || name == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < moments->n; i++)
        if (n_kept == 0 || moments->t_s[i] - x[n_kept - 1] > source->end_s / MOST_MOMENTS) x[n_kept++] = moments->t_s[i];
    incidents->events[incidents->n_events++] =
        (struct plot_events){.name = name, .colour = (unsigned)kind, .n = n_kept, .x = x};
    return 0;
}

int incidents_read(const struct report_source *source, struct incidents *incidents)
{
    struct query_answer answer;
    *incidents = (struct incidents){0};
    incidents->query.sql = arena_printf(source->arena, incidents_sql, source->run.id,
                                        isnan(source->end_s) ? 1e300 : source->end_s);
    int code = source_query(source, &incidents->query, "read incidents", &answer);
    for (size_t from = 0, to; code == 0 && from < answer.n_rows; from = to) {
        const double *kinds = answer.columns[0].numbers;
        for (to = from; to < answer.n_rows && kinds[to] == kinds[from];) to++;
        const struct moments moments = {.n = to - from,
                                        .t_s = answer.columns[1].numbers + from,
                                        .counts = answer.columns[2].numbers + from};
        code = add_kind(source, (int)kinds[from], &moments, incidents);
    }
    return code;
}
