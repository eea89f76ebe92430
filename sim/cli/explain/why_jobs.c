/* The other jobs in the story of a job, from the tables job and placement. Parts of counted GPUs have no placements, so
 * their jobs are not named. */
#include "sim/cli/explain/why_jobs.h"

#include "analysis/query.h"
#include "sim/core/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { OTHERS_NAMED = 4 };

/* Each question returns t_s, job, gpus and until_s (NULL: not told), the most GPUs first. ?1: run, ?2: rowid. Some
 * return more: the GPU time that the job has had so far, and that of the job in question; the number of Tiresias' queue
 * that each belongs to (NULL: not known), and the number of queues. */
struct question {
    const char *what, *before; /* of the event: "before job 3 (8 GPUs), ... and 4 more" */
    const char *sql;
};

/* The stretches in which the job held GPUs (own_stay), its waits after them (own_wait), and what others held. */
#define STAYS                                                                                                          \
    "WITH own AS (SELECT * FROM job WHERE rowid = ?2), stay AS (SELECT job, start_s, end_s, sum(gpus) AS gpus "        \
    "FROM placement WHERE run_id = ?1 GROUP BY job, start_s, end_s), own_stay AS (SELECT s.* FROM stay AS s, "         \
    "own AS o WHERE s.job = o.id), own_wait AS (SELECT end_s AS from_s, coalesce(lead(start_s) OVER "                  \
    "(ORDER BY start_s), (SELECT end_s FROM own), (SELECT value FROM metric WHERE run_id = ?1 "                        \
    "AND name = 'sim.end_s')) AS to_s "                                                                                \
    "FROM own_stay) "

/* Tiresias' queue of jobs by the GPU time that they have had. Other limits and times are not followed: of service by
 * time alone, of checks at the times of the released simulator, and of jobs that return to the first queue. */
#define QUEUES                                                                                                         \
    ", tiresias AS (SELECT json_extract(scenario, '$.jobs.scheduler.limits') AS limits FROM run WHERE id = ?1 "        \
    "AND json_extract(scenario, '$.jobs.scheduler.policy') = 'tiresias' "                                              \
    "AND json_extract(scenario, '$.jobs.scheduler.service') = 'gpu-time' "                                             \
    "AND json_extract(scenario, '$.jobs.scheduler.looks') = 'exact' "                                                  \
    "AND json_extract(scenario, '$.jobs.scheduler.promote_knob') = 0) "
#define QUEUE_OF(gpu_s)                                                                                                \
    "(SELECT 1 + (SELECT count(*) FROM json_each(limits) AS l WHERE l.value <= " gpu_s " * (1 + 1e-12)) FROM tiresias)"

static const struct question questions[] = {
    {"holders", "GPUs were in use by",
     "WITH own AS (SELECT * FROM job WHERE rowid = ?2) "
     "SELECT o.submit_s AS t_s, p.job, sum(p.gpus) AS gpus, iif(max(p.end_s) = "
     "(SELECT value FROM metric WHERE run_id = ?1 AND name = 'sim.end_s') "
     "AND (SELECT j.end_s FROM job AS j WHERE j.run_id = ?1 AND j.id = p.job) IS NULL, NULL, max(p.end_s)) AS until_s "
     "FROM own AS o, placement AS p "
     "WHERE p.run_id = ?1 AND p.job <> o.id AND p.start_s <= o.submit_s AND p.end_s > o.submit_s "
     "AND o.gpus > 0 AND (o.start_s IS NULL OR o.start_s > o.submit_s) GROUP BY p.job ORDER BY gpus DESC, p.job"},
    {"passed", "submitted later, but started first:",
     "WITH own AS (SELECT * FROM job WHERE rowid = ?2) "
     "SELECT coalesce(o.start_s, max(j.start_s) OVER ()) AS t_s, j.id AS job, j.gpus, NULL AS until_s "
     "FROM own AS o, job AS j WHERE j.run_id = ?1 AND j.gpus > 0 AND o.gpus > 0 AND j.submit_s > o.submit_s "
     "AND j.start_s IS NOT NULL AND (o.start_s IS NULL OR j.start_s < o.start_s) ORDER BY j.gpus DESC, j.id"},
    {"passed", "in this wait others started:",
     STAYS "SELECT w.to_s AS t_s, s.job, max(s.gpus) AS gpus, NULL AS until_s FROM own_wait AS w, own AS o, stay AS s "
           "WHERE w.to_s > w.from_s AND s.job <> o.id AND s.start_s >= w.from_s AND s.start_s < w.to_s "
           "GROUP BY w.from_s, s.job ORDER BY w.from_s, gpus DESC, s.job"},
    {"ahead", "the scheduler starts at this moment",
     STAYS QUEUES ", ahead AS (SELECT d.t_s, s.job, s.gpus, NULL AS until_s, "
           "coalesce((SELECT sum(b.gpus * (b.end_s - b.start_s)) FROM stay AS b "
           "WHERE b.job = s.job AND b.end_s <= d.t_s), 0) AS had_gpu_s, "
           "(SELECT sum(b.gpus * (b.end_s - b.start_s)) FROM own_stay AS b WHERE b.end_s <= d.t_s) AS own_gpu_s "
           "FROM own AS o, decision AS d, stay AS s WHERE d.run_id = ?1 AND d.subject = o.id AND d.service = '' "
           "AND d.action = 'preempt' AND s.start_s = d.t_s AND s.job <> o.id ORDER BY d.t_s, s.gpus DESC, s.job) "
     "SELECT *, " QUEUE_OF("had_gpu_s") " AS queue, " QUEUE_OF("own_gpu_s") " AS own_queue, "
     "(SELECT 1 + json_array_length(limits) FROM tiresias) AS n_queues FROM ahead"},
    {"taken", "on its nodes, GPUs go to",
     "WITH own AS (SELECT * FROM job WHERE rowid = ?2), lost AS (SELECT DISTINCT p.node, p.end_s FROM own AS o, "
     "placement AS p WHERE p.run_id = ?1 AND p.job = o.id AND (o.end_s IS NULL OR p.end_s < o.end_s)) "
     "SELECT l.end_s AS t_s, p.job, sum(p.gpus) AS gpus, NULL AS until_s FROM own AS o, lost AS l, placement AS p "
     "WHERE p.run_id = ?1 AND p.start_s = l.end_s AND p.node = l.node AND p.job <> o.id "
     "GROUP BY l.end_s, p.job ORDER BY l.end_s, gpus DESC, p.job"}};

static void name_job(struct text *text, const struct query_answer *answer, size_t i, bool is_first)
{
    const double gpus = answer->columns[2].numbers[i], until_s = answer->columns[3].numbers[i];
    text_printf(text, "%s job %.0f (%.0f GPU%s", is_first ? "" : ",", answer->columns[1].numbers[i], gpus,
                gpus == 1 ? "" : "s");
    if (!isnan(until_s)) text_printf(text, " until %.6g s", until_s);
    if (answer->n_columns > 4) text_printf(text, ", after %.6g GPU-s", answer->columns[4].numbers[i]);
    if (answer->n_columns > 6 && !isnan(answer->columns[6].numbers[i]))
        text_printf(text, ", in queue %.0f", answer->columns[6].numbers[i]);
    text_add(text, ")");
}

/* The event of the rows [from, to), which have one time. */
static int tell_rows(struct story *story, const struct question *question, const struct query_answer *answer,
                     size_t from, size_t to)
{
    struct text text;
    double gpus = 0;
    text_init(&text);
    text_add(&text, question->before);
    if (answer->n_columns > 5) text_printf(&text, ", as this one has had %.6g GPU-s", answer->columns[5].numbers[from]);
    if (answer->n_columns > 8 && !isnan(answer->columns[7].numbers[from]))
        text_printf(&text, " and is in queue %.0f of %.0f", answer->columns[7].numbers[from],
                    answer->columns[8].numbers[from]);
    if (answer->n_columns > 5) text_add(&text, ":");
    for (size_t i = from; i < to && i < from + OTHERS_NAMED; i++) name_job(&text, answer, i, i == from);
    for (size_t i = from + OTHERS_NAMED; i < to; i++) gpus += answer->columns[2].numbers[i];
    if (to > from + OTHERS_NAMED)
        text_printf(&text, " and %zu more (%.0f GPU%s)", to - from - OTHERS_NAMED, gpus, gpus == 1 ? "" : "s");
    const int code = text.chars == NULL
                         ? SIM_E_NOMEM
                         : story_tell(story, answer->columns[0].numbers[from], question->what, "%s", text.chars);
    text_fini(&text);
    return code;
}

static int tell_answer(struct story *story, const struct question *question, const struct query_answer *answer)
{
    int code = 0;
    for (size_t from = 0, to; from < answer->n_rows && code == 0; from = to) {
        for (to = from + 1; to < answer->n_rows; to++)
            if (answer->columns[0].numbers[to] != answer->columns[0].numbers[from]) break;
        code = tell_rows(story, question, answer, from, to);
    }
    return code;
}

int why_tell_others(const char *path, int64_t run_id, int64_t row, struct arena *arena, struct story *story,
                    struct diag *diag)
{
    struct database database;
    const int64_t ids[] = {run_id, row};
    int code = database_open_read(&database, path, diag);
    if (code != 0) return code;
    for (size_t i = 0; i < sizeof questions / sizeof *questions && code == 0; i++) {
        struct query_answer answer;
        code = query_run(&database, questions[i].sql, ids, 2, "read results", arena, &answer, diag);
        if (code == 0) code = tell_answer(story, &questions[i], &answer);
    }
    database_close(&database, false);
    return code;
}
