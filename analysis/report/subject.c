/* What ran, as the resolved scenario says it. The sentences leave out what is usual: one stage, no cost engine. */
#include "analysis/report/subject.h"

#include "analysis/report/source.h"
#include "analysis/report/words.h"
#include "sim/core/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A scenario that is no JSON counts as empty. */
#define SCENARIO "CASE WHEN json_valid(scenario) THEN scenario ELSE '{}' END"

/* --- Rows of texts --- */

struct row {
    const struct query_answer *answer;
    size_t row;
    const char *prefix; /* "services.chat", of the keys that a study may vary */
    const char *const *varied;
    size_t n_varied;
    struct arena *arena;
};

static const char *text_at(const struct row *row, const char *column)
{
    const struct query_column *of = query_column(row->answer, column);
    return of != NULL && of->texts != NULL && of->texts[row->row] != NULL ? of->texts[row->row] : "";
}

/* Whether a varied key is the key below the prefix, such as ".llm", or contains it. */
static bool is_varied(const struct row *row, const char *key)
{
    const char *full = arena_printf(row->arena, "%s%s", row->prefix, key);
    if (full == NULL) return false;
    for (size_t i = 0; i < row->n_varied; i++) {
        const size_t n = strlen(row->varied[i]);
        if (strncmp(full, row->varied[i], n) == 0 && (full[n] == '.' || full[n] == '\0')) return true;
    }
    return false;
}

/* The value, or "varied". `key`: its key below the prefix, ".llm". */
static const char *value_at(const struct row *row, const char *column, const char *key)
{
    return is_varied(row, key) ? "varied" : text_at(row, column);
}

/* Adds "before VALUE", unless there is no value. */
static void add_part(struct text *line, const char *before, const char *value)
{
    if (value[0] != 0) text_printf(line, "%s%.120s", before, value);
}

static const char *keep(struct text *line, struct arena *arena)
{
    const char *kept = line->failed ? NULL : arena_strdup(arena, line->chars != NULL ? line->chars : "");
    text_fini(line);
    return kept;
}

static int add_line(struct subject *subject, const char *name, const char *line)
{
    if (name == NULL || line == NULL) return SIM_E_NOMEM;
    subject->names[subject->n_lines] = name;
    subject->lines[subject->n_lines++] = line;
    return 0;
}

/* --- Services --- */

/* Lengths that are drawn: by a mix, or each by a distribution of its own. */
#define DRAWN(lengths)                                                                                                 \
    "coalesce(', " lengths "s ' || (service.value ->> '$.trace." lengths ".distribution') ||"                          \
    " coalesce(' of ' || (service.value ->> '$.trace." lengths ".tokens'), ''), '')"
#define GENERATED                                                                                                      \
    "iif(service.value -> '$.trace.prompt' NOT NULL AND service.value -> '$.trace.output' NOT NULL,\n"                  \
    "    'generated lengths', 'lengths of ' || (service.value ->> '$.trace.mix')) ||\n"                       \
    "    " DRAWN("prompt") " || " DRAWN("output")

static const char service_sql[] =
    "SELECT service.key AS name, service.value ->> '$.llm' AS llm,\n"
    "       coalesce(service.value ->> '$.gpu', scenario ->> '$.cluster.gpu') AS gpu,\n"
    "       CASE WHEN EXISTS (SELECT 1 FROM json_each(service.value, '$.pools') WHERE value ->> '$.tensor_parallel')\n"
    "            THEN '' ELSE CAST(service.value ->> '$.tensor_parallel' AS TEXT) END AS tp,\n"
    "       CAST(nullif(service.value ->> '$.pipeline_parallel', 1) AS TEXT) AS pp,\n"
    "       CAST(nullif(service.value ->> '$.data_parallel', 1) AS TEXT) AS dp,\n"
    "       CAST(service.value ->> '$.replicas' AS TEXT) AS replicas,\n"
    "       (SELECT group_concat(pool.key || ' ' || coalesce((pool.value ->> '$.scaling.min') || ' to ' ||\n"
    "               (pool.value ->> '$.scaling.max'), pool.value ->> '$.replicas', 1) ||\n"
    "               coalesce(' of TP ' || (pool.value ->> '$.tensor_parallel'), '') ||\n"
    "               coalesce(' on ' || (pool.value ->> '$.gpu'), '') ||\n"
    "               coalesce(' by ' || (pool.value ->> '$.scaling.policy.policy'), ''), ', ')\n"
    "        FROM json_each(service.value, '$.pools') AS pool) AS pools,\n"
    "       service.value ->> '$.scaling.policy.policy' AS scaler,\n"
    "       (service.value ->> '$.scaling.min') || ' to ' || (service.value ->> '$.scaling.max') AS range,\n"
    "       service.value ->> '$.batching.policy' AS batcher,\n"
    "       coalesce(service.value ->> '$.cost.engine', service.value ->> '$.cost.kind') AS engine,\n"
    "       service.value ->> '$.routing.policy' AS router,\n"
    "       coalesce('trace ' || (service.value ->> '$.trace.path'), " GENERATED ",\n"
    "                'trace ' || (service.value ->> '$.trace.format')) AS trace,\n"
    "       iif(service.key = (" SCENARIO ") ->> '$.rl.service', NULL, service.value ->> '$.trace.arrival.process')\n"
    "           AS process,\n"
    "       iif(service.key = (" SCENARIO ") ->> '$.rl.service', NULL, service.value ->> '$.trace.arrival.rate') AS rate\n"
    "FROM run, json_each(" SCENARIO ", '$.services') AS service WHERE run.id = ";

/* Its own GPU, or that of the site. */
static const char *service_gpu(const struct row *row)
{
    struct row site = *row;
    site.prefix = "cluster";
    return is_varied(&site, ".gpu") ? "varied" : value_at(row, "gpu", ".gpu");
}

static void say_replicas(const struct row *row, struct text *line)
{
    const char *pools = text_at(row, "pools"), *scaler = text_at(row, "scaler");
    const char *replicas = value_at(row, "replicas", ".replicas");
    if (pools[0] != 0)
        add_part(line, ", pools: ", is_varied(row, ".pools") ? "varied" : pools);
    else if (scaler[0] != 0)
        text_printf(line, ", %.60s replicas by %.60s", text_at(row, "range"),
                    value_at(row, "scaler", ".scaling.policy.policy"));
    else if (strcmp(replicas, "varied") == 0)
        text_add(line, ", replicas varied");
    else
        text_printf(line, ", %.20s replica%s", replicas, strcmp(replicas, "1") == 0 ? "" : "s");
}

/* Whether a study varies the limit of a service's SLO, or of that of a class of it (NULL: of none). */
static bool is_limit_varied(const struct row *row, const char *class, enum subject_limit limit)
{
    static const char *const keys[LIMIT_COUNT] = {"ttft", "tpot", "e2e"};
    char key[256];
    snprintf(key, sizeof key, ".slo%s%s.%s", class != NULL ? ".classes." : "", class != NULL ? class : "", keys[limit]);
    return is_varied(row, key);
}

/* "TTFT 2 s, TPOT 60 ms" of the service as a whole; "no SLO" if it has none. */
static void say_slo(const struct subject *subject, const struct row *row, const char *service, struct text *line)
{
    static const char *const words[LIMIT_COUNT] = {"TTFT", "TPOT", "end to end"};
    bool has_any = false;
    for (size_t i = 0; i < subject->n_slos; i++) {
        const struct subject_slo *slo = &subject->slos[i];
        const size_t n = strlen(service);
        if (strncmp(slo->name, service, n) != 0 || (slo->name[n] != 0 && slo->name[n] != '/')) continue;
        const char *class = slo->name[n] == '/' ? slo->name + n + 1 : NULL;
        bool is_first = true;
        for (int k = 0; k < LIMIT_COUNT; k++) {
            char time[WORDS_CHARS];
            if (isnan(slo->limit_s[k])) continue;
            const bool is_varied_here = is_limit_varied(row, class, (enum subject_limit)k);
            if (is_first) text_printf(line, "%s", !has_any ? "; SLO " : ", ");
            if (is_first && class != NULL) text_printf(line, "of %.60s ", class);
            text_printf(line, "%s%s %s", is_first ? "" : ", ", words[k],
                        is_varied_here ? "varied" : words_seconds(slo->limit_s[k], time));
            is_first = false;
            has_any = true;
        }
    }
    if (!has_any) text_add(line, "; no SLO");
}

static void say_rate(const struct row *row, struct text *line)
{
    if (is_varied(row, ".trace.arrival.rate"))
        text_add(line, " at varied rates");
    else
        add_part(line, " at ", text_at(row, "rate"));
}

/* Lengths of a mix are generated: no trace of that name is replayed. */
static void say_trace(const struct row *row, struct text *line)
{
    const bool is_any = is_varied(row, ".trace.path") || is_varied(row, ".trace.mix");
    add_part(line, "; ", is_any ? "trace varied" : text_at(row, "trace"));
}

static const char *describe_service(const struct subject *subject, const struct row *row)
{
    struct text line;
    text_init(&line);
    text_printf(&line, "%.120s", value_at(row, "llm", ".llm"));
    add_part(&line, " on ", service_gpu(row));
    add_part(&line, ", TP ", value_at(row, "tp", ".tensor_parallel"));
    add_part(&line, ", PP ", value_at(row, "pp", ".pipeline_parallel"));
    add_part(&line, ", DP ", value_at(row, "dp", ".data_parallel"));
    say_replicas(row, &line);
    add_part(&line, "; engine ", value_at(row, "engine", ".cost.engine"));
    add_part(&line, ", batcher ", value_at(row, "batcher", ".batching.policy"));
    add_part(&line, ", router ", value_at(row, "router", ".routing.policy"));
    say_trace(row, &line);
    add_part(&line, ", arrivals ", value_at(row, "process", ".trace.arrival.process"));
    say_rate(row, &line);
    say_slo(subject, row, text_at(row, "name"), &line);
    return keep(&line, row->arena);
}

static int read_services(const struct report_source *source, struct row row, int64_t run_id, struct subject *subject)
{
    struct query_answer answer;
    subject->queries[0].sql = arena_printf(source->arena, "%s%" PRId64, service_sql, run_id);
    int code = source_query(source, &subject->queries[0], "read the scenario", &answer);
    subject->n_services = answer.n_rows;
    for (size_t i = 0; code == 0 && i < answer.n_rows && i < SUBJECT_MAX_LINES; i++) {
        row.answer = &answer;
        row.row = i;
        row.prefix = arena_printf(source->arena, "services.%s", text_at(&row, "name"));
        if (row.prefix == NULL) return SIM_E_NOMEM;
        code = add_line(subject, text_at(&row, "name"), describe_service(subject, &row));
    }
    if (code == 0 && answer.n_rows > SUBJECT_MAX_LINES)
        code = add_line(subject, "further services",
                        arena_printf(source->arena, "%zu", answer.n_rows - SUBJECT_MAX_LINES));
    return code;
}

/* --- SLOs --- */

static double seconds_of(const char *text)
{
    double seconds;
    const char *why;
    return text[0] != 0 && unit_parse(text, UNIT_TIME, &seconds, &why) == 0 ? seconds : (double)NAN;
}

static int read_slos(const struct report_source *source, struct row row, int64_t run_id, struct subject *subject)
{
    struct query_answer answer;
    subject->queries[1].sql = arena_printf(
        source->arena,
        "WITH slo(name, value) AS (\n"
        "  SELECT service.key, service.value -> '$.slo' FROM run, json_each(" SCENARIO ", '$.services') AS service\n"
        "  WHERE run.id = %" PRId64 "),\n"
        "every(name, value) AS (SELECT name, value FROM slo UNION ALL\n"
        "  SELECT slo.name || '/' || class.key, class.value FROM slo, json_each(slo.value, '$.classes') AS class)\n"
        "SELECT name, value ->> '$.ttft' AS ttft, value ->> '$.tpot' AS tpot, value ->> '$.e2e' AS e2e FROM every\n"
        "WHERE coalesce(value ->> '$.ttft', value ->> '$.tpot', value ->> '$.e2e') NOT NULL ORDER BY name",
        run_id);
    int code = source_query(source, &subject->queries[1], "read the scenario", &answer);
    row.answer = &answer;
    for (row.row = 0; code == 0 && row.row < answer.n_rows && subject->n_slos < SUBJECT_MAX_SLOS; row.row++)
        subject->slos[subject->n_slos++] = (struct subject_slo){
            text_at(&row, "name"),
            {seconds_of(text_at(&row, "ttft")), seconds_of(text_at(&row, "tpot")), seconds_of(text_at(&row, "e2e"))}};
    return code;
}

/* Whether the limits are those of the service, or of one of its classes. */
static bool is_of(const struct subject_slo *slo, const char *service)
{
    const size_t n = strlen(service);
    return strncmp(slo->name, service, n) == 0 && (slo->name[n] == 0 || slo->name[n] == '/');
}

size_t subject_slo_lines(const struct subject *subject, const struct report_source *source, enum subject_limit limit,
                         const char *service, bool is_upright, struct plot_line *lines, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < subject->n_slos && n < most; i++) {
        const struct subject_slo *slo = &subject->slos[i];
        char time[WORDS_CHARS];
        if (isnan(slo->limit_s[limit]) || (service != NULL && !is_of(slo, service))) continue;
        words_seconds(slo->limit_s[limit], time);
        const bool is_only = (subject->n_services == 1 || service != NULL) && strchr(slo->name, '/') == NULL;
        lines[n++] = (struct plot_line){.kind = is_upright ? PLOT_AT_X : PLOT_AT_Y, .value = slo->limit_s[limit],
                                        .name = is_only ? arena_printf(source->arena, "SLO %s", time)
                                                        : arena_printf(source->arena, "SLO of %.60s %s", slo->name, time),
                                        .is_dashed = true};
    }
    return n;
}

/* --- Jobs and site --- */

static const char site_sql[] =
    "SELECT scenario ->> '$.jobs.scheduler.policy' AS scheduler, scenario ->> '$.jobs.placement.policy' AS placement,\n"
    "       coalesce('trace ' || (scenario ->> '$.jobs.trace.path'), 'jobs like ' || (scenario ->> '$.jobs.trace.mix'),\n"
    "                'trace ' || (scenario ->> '$.jobs.trace.format')) AS trace,\n"
    "       CAST(scenario ->> '$.cluster.nodes' AS TEXT) AS nodes,\n"
    "       CAST(scenario ->> '$.cluster.gpus_per_node' AS TEXT) AS gpus, scenario ->> '$.cluster.gpu' AS gpu,\n"
    "       CAST(nullif(scenario ->> '$.cluster.unlimited', 0) AS TEXT) AS unlimited,\n"
    "       (SELECT group_concat((type.value ->> '$.nodes') || ' x ' || (type.value ->> '$.gpus_per_node') || ' ' ||\n"
    "               coalesce(type.value ->> '$.gpu', type.key), ', ')\n"
    "        FROM json_each(scenario, '$.cluster.node_types') AS type) AS types,\n"
    "       scenario ->> '$.cluster.power.budget' AS budget, scenario ->> '$.cluster.power.level' AS level,\n"
    "       scenario ->> '$.cluster.power.capping.policy' AS capping,\n"
    "       scenario ->> '$.market.renting.policy' AS renting,\n"
    "       CAST(scenario ->> '$.market.renting.budget_gpus' AS TEXT) AS budget_gpus,\n"
    "       (SELECT group_concat(cause.key, ', ') FROM json_each(scenario, '$.failures.causes') AS cause) AS causes\n"
    "FROM (SELECT " SCENARIO " AS scenario FROM run WHERE id = ";

static const char *describe_jobs(struct row *row)
{
    struct text line;
    text_init(&line);
    row->prefix = "jobs";
    text_printf(&line, "scheduler %.60s", value_at(row, "scheduler", ".scheduler.policy"));
    add_part(&line, ", placement ", value_at(row, "placement", ".placement.policy"));
    say_trace(row, &line);
    return keep(&line, row->arena);
}

/* "8 nodes of 8 a100-80-sxm" */
static void say_nodes(const struct row *row, struct text *line)
{
    const char *gpu = value_at(row, "gpu", ".gpu"), *nodes = text_at(row, "nodes");
    if (is_varied(row, ".nodes"))
        text_add(line, "nodes, their number varied,");
    else
        text_printf(line, "%.20s node%s", nodes, strcmp(nodes, "1") == 0 ? "" : "s");
    text_printf(line, " of %.20s ", value_at(row, "gpus", ".gpus_per_node"));
    if (strcmp(gpu, "varied") == 0)
        text_add(line, "GPUs of varied types");
    else
        text_printf(line, "%.80s", gpu[0] != 0 ? gpu : "GPUs");
}

static const char *describe_site(struct row *row)
{
    struct text line;
    text_init(&line);
    row->prefix = "cluster";
    if (text_at(row, "unlimited")[0] != 0)
        text_add(&line, "as many GPUs as are asked for");
    else
        say_nodes(row, &line);
    add_part(&line, ", ", value_at(row, "types", ".node_types"));
    add_part(&line, "; power budget ", value_at(row, "budget", ".power.budget"));
    add_part(&line, strcmp(text_at(row, "level"), "site") == 0 ? " of the " : " of each ", text_at(row, "level"));
    add_part(&line, ", capping ", value_at(row, "capping", ".power.capping.policy"));
    row->prefix = "market";
    add_part(&line, "; renting ", value_at(row, "renting", ".renting.policy"));
    row->prefix = "failures";
    add_part(&line, "; failures of ", value_at(row, "causes", ".causes"));
    return keep(&line, row->arena);
}

static double number_of(const char *text, enum unit_dim dim)
{
    double value;
    const char *why;
    return text[0] != 0 && unit_parse(text, dim, &value, &why) == 0 ? value : (double)NAN;
}

static int read_site(const struct report_source *source, struct row row, int64_t run_id, struct subject *subject)
{
    struct query_answer answer;
    subject->queries[2].sql = arena_printf(source->arena, "%s%" PRId64 ")", site_sql, run_id);
    int code = source_query(source, &subject->queries[2], "read the scenario", &answer);
    if (code != 0 || answer.n_rows == 0) return code;
    row.answer = &answer;
    row.row = 0;
    subject->budget_w = number_of(text_at(&row, "budget"), UNIT_POWER);
    subject->budget_gpus = number_of(text_at(&row, "budget_gpus"), UNIT_NONE);
    subject->budget = text_at(&row, "budget");
    subject->power_level = text_at(&row, "level");
    if (text_at(&row, "scheduler")[0] != 0) {
        subject->job_line = subject->n_lines;
        code = add_line(subject, "jobs", describe_jobs(&row));
    }
    if (code != 0 || text_at(&row, "nodes")[0] == 0) return code;
    subject->site_line = subject->n_lines;
    return add_line(subject, "site", describe_site(&row));
}

/* --- All of it --- */

int subject_read(const struct report_source *source, int64_t run_id, const char *const *varied, size_t n_varied,
                 struct subject *subject)
{
    *subject = (struct subject){.budget_w = (double)NAN, .budget_gpus = (double)NAN, .power_level = "",
                                .job_line = SIZE_MAX, .site_line = SIZE_MAX};
    const struct row row = {.varied = varied, .n_varied = n_varied, .arena = source->arena};
    int code = read_slos(source, row, run_id, subject);
    if (code == 0) code = read_services(source, row, run_id, subject);
    return code == 0 ? read_site(source, row, run_id, subject) : code;
}

/* A database in memory with this run alone. */
static int hold_scenario(struct database *memory, const char *scenario, struct diag *diag)
{
    sqlite3_stmt *insert;
    if (sqlite3_open(":memory:", &memory->handle) != SQLITE_OK) return diag_nomem(diag);
    int code = database_run(memory, "CREATE TABLE run(id INTEGER PRIMARY KEY, scenario TEXT)", "hold the scenario",
                            diag);
    if (code == 0) code = database_prepare(memory, "INSERT INTO run VALUES(1, ?)", &insert, "hold the scenario", diag);
    if (code != 0) return code;
    sqlite3_bind_text(insert, 1, scenario, -1, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) code = database_error(memory, "hold the scenario", diag);
    sqlite3_finalize(insert);
    return code;
}

/* Which GPU prices the scenario gives: of all types of nodes, of some, or of none. */
static int read_prices(const struct database *memory, struct arena *arena, struct subject *subject, struct diag *diag)
{
    static const char sql[] =
        "SELECT (scenario ->> '$.cluster.gpu_price' IS NOT NULL) + n_given, n_types + 1 FROM run,\n"
        "(SELECT count(*) AS n_types, count(type.value ->> '$.gpu_price') AS n_given\n"
        " FROM run, json_each(scenario, '$.cluster.node_types') AS type)";
    struct query_answer answer;
    const int code = query_run(memory, sql, NULL, 0, "read the prices", arena, &answer, diag);
    if (code != 0 || answer.n_rows == 0) return code;
    const double n_given = answer.columns[0].numbers[0], n = answer.columns[1].numbers[0];
    subject->price = n_given == 0 ? "list price" : n_given == n ? "given price" : "price, given or listed,";
    return 0;
}

int subject_of(const char *scenario, const char *const *varied, size_t n_varied, struct arena *arena,
               struct subject *subject, struct diag *diag)
{
    char name[] = "the scenario";
    struct database memory = {.path = name, .reading = true};
    const struct report_source source = {.database = &memory, .arena = arena, .diag = diag};
    int code = hold_scenario(&memory, scenario, diag);
    if (code == 0) code = subject_read(&source, 1, varied, n_varied, subject);
    if (code == 0) code = read_prices(&memory, arena, subject, diag);
    sqlite3_close(memory.handle);
    return code;
}

/* --- Telling it --- */

void subject_say(const struct subject *subject, struct text *text)
{
    bool has_jobs = false;
    for (size_t i = 0; i < subject->n_lines; i++) {
        const bool is_jobs = i == subject->job_line, is_site = i == subject->site_line;
        has_jobs |= is_jobs;
        if (is_site && !has_jobs && strchr(subject->lines[i], ';') == NULL) continue; /* services name their GPUs */
        text_printf(text, is_site && has_jobs ? "; %.0s%s" : "%s: %s", subject->names[i], subject->lines[i]);
        if (!is_jobs || i + 1 != subject->site_line) text_add(text, "\n");
    }
}

void subject_draw(const struct subject *subject, struct text *html)
{
    if (subject->n_lines == 0) return;
    text_add(html, "<ul class=\"ran\" aria-label=\"What ran\">\n");
    for (size_t i = 0; i < subject->n_lines; i++) {
        text_add(html, "<li><strong>");
        page_escape(html, subject->names[i]);
        text_add(html, "</strong>: ");
        page_escape(html, subject->lines[i]);
        text_add(html, "</li>\n");
    }
    text_add(html, "</ul>\n");
}
