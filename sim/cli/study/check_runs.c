#include "sim/cli/study/check_runs.h"

#include "sim/cli/paths.h"
#include "sim/cli/run/setup.h"
#include "sim/cli/run/simulate.h"
#include "sim/core/json_doc.h"
#include "sim/core/json_write.h"
#include "sim/store/record.h"
#include "sim/study/crash.h"
#include "sim/world/rows/metric.h"
#include "sim/world/rows/tee.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- In the process of one scenario --- */

/* The output of a run: metrics as a list within one line of JSON, decisions as lines behind it. */
struct catching {
    const char *name;
    struct text metrics, decisions;
    struct json_writer writer;
    size_t n_decisions;
};

static int catch_metric(void *context, const struct metric_row *row)
{
    struct catching *catching = context;
    json_write_open_row(&catching->writer, NULL, '[');
    json_write_string(&catching->writer, NULL, row->name);
    json_write_string(&catching->writer, NULL, row->unit);
    json_write_number(&catching->writer, NULL, row->value);
    json_write_close(&catching->writer, ']');
    return catching->metrics.failed ? SIM_E_NOMEM : 0;
}

static int catch_decision(void *context, const struct decision_row *row)
{
    struct catching *catching = context;
    const struct decision_made made = {row->t_s, row->service, row->policy, row->action, row->subject, row->reason};
    decision_log_add(&catching->decisions, catching->name, &made);
    catching->n_decisions++;
    return catching->decisions.failed ? SIM_E_NOMEM : 0;
}

/* What the policy of one decision saw just before it; the run ends there. */
struct looking {
    size_t number, n_decisions; /* of the decision, from 1; met so far */
    struct text latest, found;  /* POLICY and what it saw last; what the policy of the decision saw */
    double latest_s;
};

static int look_at_view(void *context, const struct decision_row *row)
{
    struct looking *looking = context;
    looking->latest_s = row->t_s;
    text_fini(&looking->latest);
    text_printf(&looking->latest, "%s %s", row->policy, row->reason);
    return looking->latest.failed ? SIM_E_NOMEM : 0;
}

static int look_at_decision(void *context, const struct decision_row *row)
{
    struct looking *looking = context;
    const size_t n_policy = strlen(row->policy);
    if (++looking->n_decisions < looking->number) return 0;
    if (looking->latest.chars != NULL && looking->latest_s == row->t_s &&
        strncmp(looking->latest.chars, row->policy, n_policy) == 0 && looking->latest.chars[n_policy] == ' ')
        text_add(&looking->found, looking->latest.chars + n_policy + 1);
    return looking->found.failed ? SIM_E_NOMEM : SIM_E_GATE;
}

/* The child's result, and how the child writes it to the parent. */
struct report {
    struct catching caught;
    struct text seen; /* by the policy of the first choice that differs from the baseline's; empty: not known */
    char hash[HASH_HEX_CHARS], scenario_hash[HASH_HEX_CHARS], inputs[HASH_HEX_CHARS];
    struct text files;    /* members of a JSON object: hashes by the name of the file; empty: there are none */
    struct text resolved; /* JSON in one line; empty: the scenario was not loaded */
    int code;
    struct diag diag;
};

static int run_setup(const struct cli *cli, const struct setup *setup, struct report *report)
{
    struct hash_sink hashing;
    struct tee tee = {0};
    struct world_result result;
    struct world_options how = {.queue = QUEUE_CALENDAR, .interrupt = cli->interrupt};
    if (hash_sink_init(&hashing, KEEP_DECISIONS) != 0) return SIM_E_NOMEM;
    tee_add(&tee, hash_sink(&hashing));
    tee_add(&tee, (struct sink){.context = &report->caught, .metric = catch_metric, .decision = catch_decision,
                                .detail = catch_decision});
    struct sink sink = tee_sink(&tee);
    int code = simulate_rows(setup, &how, &sink, &result, &report->diag);
    if (code == 0) code = hash_sink_hex(&hashing, report->hash);
    if (code == 0) code = setup_hash_files(setup, report->inputs, &report->diag);
    hash_sink_fini(&hashing);
    return code;
}

/* If the run's decisions differ from the baseline's, runs it again up to the first other choice, for what its policy
 * saw. A log that cannot be read is the parent's to report. */
static int look_again(const struct cli *cli, const struct setup *setup, const struct baseline_entry *entry,
                      struct report *report)
{
    const struct catching *caught = &report->caught;
    if (entry->hash[0] == 0 || strcmp(entry->hash, report->hash) == 0 || entry->decisions.n_chars == 0) return 0;
    struct arena arena;
    struct diag unread;
    struct divergence divergence;
    arena_init(&arena);
    diag_init(&unread);
    const struct decision_lines now = decision_log_take(caught->decisions.chars != NULL ? caught->decisions.chars : "",
                                                        caught->decisions.length, caught->n_decisions);
    int code = decision_log_compare(&entry->decisions, &now, &arena, &divergence, &unread);
    const struct parting *parting = divergence.choice.found ? &divergence.choice : &divergence.first;
    if (code == 0 && parting->found && parting->has_now) {
        struct looking looking = {.number = parting->number};
        const struct sink sink = {.context = &looking, .decision = look_at_decision, .detail = look_at_decision,
                                  .seen = look_at_view};
        struct world_options how = {.queue = QUEUE_CALENDAR, .interrupt = cli->interrupt};
        struct world_result result;
        code = simulate_rows(setup, &how, &sink, &result, &report->diag);
        if (code == SIM_E_GATE && looking.n_decisions == looking.number) code = 0;
        if (code == 0) text_add(&report->seen, looking.found.chars != NULL ? looking.found.chars : "");
        text_fini(&looking.latest);
        text_fini(&looking.found);
    } else if (code == SIM_E_DATA) {
        code = 0;
    }
    arena_fini(&arena);
    return code;
}

/* The resolved scenario, the same wherever the program's own data lie. */
static int dump_scenario(const struct setup *setup, const char *data, struct text *resolved)
{
    struct text json;
    text_init(&json);
    int code = setup_dump(setup, &json);
    size_t n_data = strlen(data);
    for (const char *at = json.chars; code == 0 && at != NULL;) {
        const char *found = n_data > 1 ? strstr(at, data) : NULL;
        text_add_bytes(resolved, at, found != NULL ? (size_t)(found - at) : strlen(at));
        if (found != NULL) text_add(resolved, "$ORRERY_DATA");
        at = found != NULL ? found + n_data : NULL;
    }
    text_fini(&json);
    return code == 0 && resolved->failed ? SIM_E_NOMEM : code;
}

/* Adds "name": "hash" once. */
static void add_file(struct text *files, const char *name, const char *hash)
{
    struct text key;
    text_init(&key);
    text_json_string(&key, name);
    text_add(&key, ": ");
    if (key.failed) files->failed = true;
    if (!key.failed && (files->length == 0 || strstr(files->chars, key.chars) == NULL)) {
        text_printf(files, "%s%s", files->length > 0 ? ", " : "", key.chars);
        text_json_string(files, hash);
    }
    text_fini(&key);
}

struct file_listing {
    const char *data;
    struct text *files;
};

/* A pipe is left out: its bytes came once. */
static int list_file(void *context, const char *path)
{
    const struct file_listing *listing = context;
    const size_t n_data = strlen(listing->data);
    const bool is_data = strncmp(path, listing->data, n_data) == 0 && path[n_data] == '/';
    char hex[HASH_HEX_CHARS], name[PATH_MAX + 16];
    struct hash *hash = paths_is_stream(path) ? NULL : hash_create();
    if (hash == NULL) return paths_is_stream(path) ? 0 : SIM_E_NOMEM;
    const int code = paths_hash_file(path, hash, NULL);
    hash_hex(hash, hex);
    hash_destroy(hash);
    snprintf(name, sizeof name, "%s%s", is_data ? "$ORRERY_DATA" : "", path + (is_data ? n_data : 0));
    if (code == 0) add_file(listing->files, name, hex);
    return code;
}

/* Keeps the hashes of the files that the scenario names, of all files of the catalog, and of plug-ins in force. */
static int list_files(const struct setup *setup, const char *data, struct report *report)
{
    char hex[2 * HASH_HEX_CHARS];
    struct file_listing listing = {data, &report->files};
    struct text plugins;
    int code = named_files_each(&setup->families, scenario_fields, &setup->scenario, list_file, &listing);
    snprintf(hex, sizeof hex, "%016" PRIx64 "%016" PRIx64, setup->files.high, setup->files.low);
    if (setup->files.n > 0) add_file(&report->files, "catalog", hex);
    text_init(&plugins);
    plugins_describe(setup->plugins, &setup->scenario, &plugins);
    for (char *word = plugins.chars, *end; word != NULL && *word != '\0'; word = end) { /* " plugin.NAME=HASH" */
        end = word + 1 + strcspn(word + 1, " ");
        const bool is_last = *end == '\0';
        *end = '\0';
        char *equals = strrchr(word, '=');
        if (equals != NULL) *equals = '\0';
        if (equals != NULL) add_file(&report->files, word + 1, equals + 1);
        if (!is_last) *end = ' ';
    }
    if (code == 0 && (plugins.failed || report->files.failed)) code = SIM_E_NOMEM;
    text_fini(&plugins);
    return code;
}

/* Keeps the resolved scenario, in one line, and its hash. */
static int keep_scenario(const struct setup *setup, const char *data, struct report *report)
{
    int code = dump_scenario(setup, data, &report->resolved);
    struct hash *hash = code == 0 ? hash_create() : NULL;
    if (hash == NULL) return SIM_E_NOMEM;
    hash_bytes(hash, report->resolved.chars, report->resolved.length);
    hash_hex(hash, report->scenario_hash);
    hash_destroy(hash);
    for (char *at = report->resolved.chars; (at = strchr(at, '\n')) != NULL;) *at = ' ';
    return 0;
}

static const char plugins_head[] = "plugins ";

/* The first line of the report, written before the run begins: the plug-ins in force; none without a setup. */
static int write_plugins(const struct setup *setup, FILE *file)
{
    char files[PLUGINS_CHARS] = "";
    if (setup != NULL) plugins_in_force(setup->plugins, &setup->scenario, files);
    return fprintf(file, "%s%s\n", plugins_head, files) < 0 || fflush(file) != 0 ? SIM_E_IO : 0;
}

/* Loads the entry's own scenario, or that of its file. */
static int load_entry(const struct baseline_entry *entry, const char *data, const struct setup_options *over,
                      struct setup *setup, struct diag *diag)
{
    static const char place[] = "$ORRERY_DATA"; /* as dump_scenario writes it */
    struct text json;
    if (entry->json == NULL) return setup_load(setup, entry->scenario, over, diag);
    text_init(&json);
    for (const char *at = entry->json, *found; at != NULL; at = found != NULL ? found + sizeof place - 1 : NULL) {
        found = strstr(at, place);
        text_add_bytes(&json, at, found != NULL ? (size_t)(found - at) : strlen(at));
        if (found != NULL) text_add(&json, data);
    }
    const char *chars = json.failed || json.chars == NULL ? "" : json.chars;
    const int code = setup_load_json(setup, entry->scenario, chars, over, diag);
    text_fini(&json);
    return code;
}

static int run_entry(const struct cli *cli, const struct baseline_entry *entry, const char *data, FILE *file,
                     struct report *report)
{
    struct option_texts settings = {.n = entry->n_settings};
    struct setup setup;
    if (entry->n_settings > OPTION_MAX_TEXTS)
        return diag_error(&report->diag, SIM_E_CONFIG, NULL, NULL, "more than %d settings", OPTION_MAX_TEXTS);
    for (size_t i = 0; i < settings.n; i++) settings.items[i] = entry->settings[i];
    struct setup_options over = {.settings = &settings, .seed = entry->seed, .keep = "decisions",
                                 .plugins = cli->plugins};
    int code = load_entry(entry, data, &over, &setup, &report->diag);
    const int plugins_code = write_plugins(code == 0 ? &setup : NULL, file);
    if (code == 0) code = plugins_code;
    if (code == 0) code = keep_scenario(&setup, data, report);
    if (code == 0) code = run_setup(cli, &setup, report);
    if (code == 0) code = list_files(&setup, data, report);
    if (code == 0) code = look_again(cli, &setup, entry, report);
    setup_fini(&setup);
    return code;
}

/* Joins all errors, one per line. */
static void join_findings(const struct diag *diag, struct text *text)
{
    for (int i = 0; i < diag->n_items; i++) {
        char line[DIAG_LINE_CHARS];
        if (diag->items[i].level != DIAG_ERROR) continue;
        diag_quote(&diag->items[i], line, sizeof line);
        text_printf(text, "%s%s", text->length > 0 ? "\n  " : "", line);
    }
}

static void write_report(const struct report *report, FILE *file)
{
    struct text head, findings;
    struct json_writer writer;
    text_init(&head);
    text_init(&findings);
    join_findings(&report->diag, &findings);
    json_writer_init(&writer, &head);
    json_write_open_row(&writer, NULL, '{');
    json_write_number(&writer, "code", report->code);
    json_write_string(&writer, "finding", findings.chars != NULL ? findings.chars : sim_err_text(report->code));
    json_write_string(&writer, "hash", report->hash);
    json_write_string(&writer, "scenario_hash", report->scenario_hash);
    json_write_string(&writer, "inputs", report->inputs);
    json_write_string(&writer, "seen", report->seen.chars != NULL ? report->seen.chars : "");
    json_write_number(&writer, "decisions", (double)report->caught.n_decisions);
    json_write_key(&writer, "files");
    text_printf(&head, "{%s}", report->files.length > 0 ? report->files.chars : "");
    json_write_key(&writer, "resolved");
    text_add(&head, report->resolved.length > 0 ? report->resolved.chars : "null");
    json_write_key(&writer, "metrics");
    text_add(&head, report->caught.metrics.chars != NULL ? report->caught.metrics.chars : "[]");
    json_write_close(&writer, '}');
    if (head.failed || findings.failed) return; /* nothing is written, and the parent reports that */
    fprintf(file, "%s\n", head.chars);
    if (report->caught.decisions.chars != NULL) fputs(report->caught.decisions.chars, file);
}

__attribute__((noreturn)) static void be_child(const struct cli *cli, const struct baseline *baseline,
                                               const struct baseline_entry *entry, const char *data, FILE *file)
{
    static const struct report empty;
    struct report report = empty;
    report.caught.name = entry->name;
    diag_init(&report.diag);
    json_writer_init(&report.caught.writer, &report.caught.metrics);
    json_write_open_row(&report.caught.writer, NULL, '[');
    if (chdir(baseline->directory) != 0)
        report.code = diag_system_error(&report.diag, baseline->directory, "cannot enter", errno);
    else if (setenv("ORRERY_DATA", data, 1) != 0)
        report.code = SIM_E_NOMEM;
    else
        report.code = run_entry(cli, entry, data, file, &report);
    json_write_close(&report.caught.writer, ']');
    write_report(&report, file);
    _exit(fflush(file) == 0 && !ferror(file) ? 0 : 1);
}

/* --- In the process that checks --- */

static int read_metrics(const struct json_node *list, struct arena *arena, struct gate_outcome *outcome)
{
    outcome->metrics = arena_alloc(arena, (list->n + 1) * sizeof *outcome->metrics);
    if (outcome->metrics == NULL) return SIM_E_NOMEM;
    for (const struct json_node *row = list->first; row != NULL; row = row->next) {
        const struct json_node *unit = row->first->next, *value = row->last;
        const struct metric_def *def = metric_find(row->first->text);
        int direction = def == NULL || def->direction == METRIC_NEUTRAL ? 0 : def->direction == METRIC_HIGHER ? 1 : -1;
        outcome->metrics[outcome->n_metrics++] =
            (struct gate_metric){.name = row->first->text, .unit = unit->text,
                                 .value = value->kind == JSON_NUMBER ? value->number : (double)NAN,
                                 .direction = direction};
    }
    return 0;
}

/* Parses the child's report, whose shape is known once it is valid JSON. */
static int read_report(char *chars, size_t n_chars, struct arena *arena, struct gate_outcome *outcome)
{
    static const struct json_source source = {.name = "report", .directory = "."};
    struct json_node *root;
    const char *end = memchr(chars, '\n', n_chars);
    if (end == NULL) return SIM_E_IO;
    n_chars -= (size_t)(end + 1 - chars);
    chars += end + 1 - chars;
    end = memchr(chars, '\n', n_chars);
    if (end == NULL) return SIM_E_IO;
    size_t head = (size_t)(end - chars);
    int code = json_parse(arena, &source, chars, head, &root, NULL);
    if (code != 0) return code == SIM_E_NOMEM ? code : SIM_E_IO;
    outcome->code = (int)json_member(root, "code")->number;
    outcome->finding = json_member(root, "finding")->text;
    snprintf(outcome->hash, sizeof outcome->hash, "%s", json_member(root, "hash")->text);
    snprintf(outcome->scenario_hash, sizeof outcome->scenario_hash, "%s", json_member(root, "scenario_hash")->text);
    snprintf(outcome->inputs, sizeof outcome->inputs, "%s", json_member(root, "inputs")->text);
    outcome->seen = json_member(root, "seen")->text;
    size_t n = (size_t)json_member(root, "decisions")->number;
    outcome->decisions = decision_log_take(end + 1, n_chars - head - 1, n);
    if (outcome->decisions.n != n) return SIM_E_IO;
    outcome->files = json_member(root, "files");
    const struct json_node *resolved = json_member(root, "resolved");
    if (resolved->kind == JSON_OBJECT) outcome->resolved = resolved;
    return read_metrics(json_member(root, "metrics"), arena, outcome);
}

/* Notes a run without a report. The policies of plug-ins are at fault if the process ended by its own code. */
static void note_death(int status, const char *plugins, struct arena *arena, struct gate_outcome *outcome)
{
    char text[DIAG_TEXT_CHARS];
    const bool own = plugins[0] == 0 || !crash_is_own(status);
    crash_describe("the plug-in", status, text, sizeof text);
    const char *finding = !own ? arena_printf(arena, "%s: error: %s", plugins, text)
                          : WIFSIGNALED(status)
                              ? arena_printf(arena, "its process was ended by signal %d", WTERMSIG(status))
                              : arena_printf(arena, "its process ended with exit status %d and no result",
                                             WEXITSTATUS(status));
    *outcome = (struct gate_outcome){.code = own ? SIM_E_CRASH : SIM_E_POLICY,
                                     .finding = finding != NULL ? finding : "it died"};
}

/* Reads the child's output; an empty text if there is none. */
static int read_file(FILE *file, struct arena *arena, char **chars, size_t *n_chars)
{
    long n = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    *n_chars = n > 0 ? (size_t)n : 0;
    *chars = arena_alloc(arena, *n_chars + 1);
    if (*chars == NULL) return SIM_E_NOMEM;
    rewind(file);
    *n_chars = fread(*chars, 1, *n_chars, file);
    (*chars)[*n_chars] = 0;
    return 0;
}

static int collect(FILE *file, int status, struct arena *arena, struct gate_outcome *outcome)
{
    char *chars;
    size_t n_chars;
    int code = read_file(file, arena, &chars, &n_chars);
    if (code != 0) return code;
    *outcome = (struct gate_outcome){0};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        code = read_report(chars, n_chars, arena, outcome);
        if (code == 0 || code == SIM_E_NOMEM) return code;
    }
    const bool is_begun = strncmp(chars, plugins_head, strlen(plugins_head)) == 0;
    chars[strcspn(chars, "\n")] = 0;
    note_death(status, is_begun ? chars + strlen(plugins_head) : "", arena, outcome);
    return 0;
}

struct worker {
    pid_t pid; /* 0: idle */
    FILE *file;
    size_t at; /* index of the scenario */
};

struct crew {
    struct cli *cli;
    const struct baseline *baseline;
    const struct gate_result *results;
    const char *data;
    int n;
    struct worker *workers;
};

static int start(struct crew *crew, struct worker *worker, size_t at)
{
    worker->at = at;
    worker->file = tmpfile();
    if (worker->file == NULL) return diag_system_error(&crew->cli->diag, "a temporary file", "cannot create", errno);
    fflush(crew->cli->out);
    fflush(crew->cli->err);
    worker->pid = fork();
    if (worker->pid == 0) be_child(crew->cli, crew->baseline, crew->results[at].entry, crew->data, worker->file);
    if (worker->pid > 0) return 0;
    worker->pid = 0;
    return diag_system_error(&crew->cli->diag, "a process", "cannot start", errno);
}

static struct worker *find_worker(struct crew *crew, pid_t pid)
{
    for (int i = 0; i < crew->n; i++)
        if (crew->workers[i].pid == pid) return &crew->workers[i];
    return NULL;
}

/* Waits for the next worker to end. Returns 0, SIM_E_INTERRUPTED or a failure. */
static int wait_for_one(struct crew *crew, struct arena *arena, struct gate_outcome *outcomes)
{
    for (;;) {
        int status;
        pid_t pid = wait(&status);
        if (crew->cli->interrupt != NULL && *crew->cli->interrupt != 0) return SIM_E_INTERRUPTED;
        if (pid < 0 && errno == EINTR) continue;
        if (pid < 0) return diag_system_error(&crew->cli->diag, "a process", "cannot wait for", errno);
        struct worker *worker = find_worker(crew, pid);
        if (worker == NULL) continue;
        int code = collect(worker->file, status, arena, &outcomes[worker->at]);
        fclose(worker->file);
        *worker = (struct worker){0};
        return code;
    }
}

static void dismiss(struct crew *crew)
{
    for (int i = 0; i < crew->n; i++) {
        struct worker *worker = &crew->workers[i];
        if (worker->pid > 0) {
            kill(worker->pid, SIGKILL);
            waitpid(worker->pid, NULL, 0);
        }
        if (worker->file != NULL) fclose(worker->file);
    }
}

/* The absolute path of the directory with configs. */
static const char *absolute_data(struct arena *arena)
{
    char full[PATH_MAX];
    const char *data = paths_data(arena);
    return data != NULL && realpath(data, full) != NULL ? arena_strdup(arena, full) : data;
}

int check_run_all(struct cli *cli, const struct baseline *baseline, const struct gate_result *results, size_t n,
                  int workers, struct arena *arena, struct gate_outcome *outcomes)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (workers <= 0) workers = cores > 0 ? (int)cores : 1;
    if ((size_t)workers > n) workers = (int)n;
    struct crew crew = {.cli = cli, .baseline = baseline, .results = results, .data = absolute_data(arena),
                        .n = workers, .workers = arena_alloc(arena, (size_t)workers * sizeof *crew.workers)};
    if (crew.data == NULL || crew.workers == NULL) return SIM_E_NOMEM;
    size_t n_started = 0, n_done = 0;
    int code = 0;
    while (code == 0 && n_done < n) {
        struct worker *idle = n_started < n ? find_worker(&crew, 0) : NULL;
        if (idle != NULL) {
            code = start(&crew, idle, n_started++);
        } else {
            code = wait_for_one(&crew, arena, outcomes);
            n_done++;
        }
    }
    dismiss(&crew);
    return code;
}
