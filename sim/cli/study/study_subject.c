#include "sim/cli/study/study_subject.h"

#include "analysis/query.h"
#include "analysis/report/subject.h"
#include "sim/cli/answer.h"
#include "sim/core/database.h"

static int read_subject(const struct database *database, struct arena *arena, struct subject *subject,
                        struct diag *diag)
{
    static const char scenarios[] = "SELECT scenario FROM run WHERE status = 'done' ORDER BY id LIMIT 1";
    static const char keys[] = /* of a whole section, the members that differ between runs */
        "WITH section AS (SELECT run_id, key, value FROM param WHERE json_valid(value) AND json_type(value) = 'object'\n"
        "  AND (key IN ('cluster', 'jobs') OR (key LIKE 'services.%' AND key NOT LIKE 'services.%.%')))\n"
        "SELECT DISTINCT key FROM param WHERE key NOT IN (SELECT key FROM section) UNION\n"
        "SELECT s.key || '.' || m.key FROM section s, json_each(s.value) m GROUP BY s.key, m.key\n"
        "HAVING count(DISTINCT m.value) > 1 OR count(*) < (SELECT count(*) FROM section x WHERE x.key = s.key)\n"
        "ORDER BY 1";
    struct query_answer run, varied;
    *subject = (struct subject){0};
    int code = query_run(database, scenarios, NULL, 0, "read the scenario", arena, &run, diag);
    if (code == 0) code = query_run(database, keys, NULL, 0, "read the study", arena, &varied, diag);
    if (code != 0 || run.n_rows == 0 || run.columns[0].texts == NULL || run.columns[0].texts[0] == NULL) return code;
    const size_t n_varied = varied.n_rows > 0 && varied.columns[0].texts != NULL ? varied.n_rows : 0;
    return subject_of(run.columns[0].texts[0], n_varied > 0 ? varied.columns[0].texts : NULL, n_varied, arena, subject,
                      diag);
}

int study_subject_print(const char *path, FILE *out, struct diag *diag)
{
    struct database database;
    struct arena arena;
    struct subject subject;
    struct text text;
    int code = database_open_read(&database, path, diag);
    if (code != 0) return code;
    arena_init(&arena);
    text_init(&text);
    code = read_subject(&database, &arena, &subject, diag);
    if (code == 0) subject_say(&subject, &text);
    if (code == 0 && text.length > 0) answer_print(out, "%s", text.chars);
    text_fini(&text);
    arena_fini(&arena);
    database_close(&database, false);
    return code;
}
