#include "analysis/gate/baseline.h"

#include "analysis/gate/decision_log.h"
#include "analysis/gate/scenario_change.h"
#include "sim/core/input.h"
#include "sim/core/json_doc.h"
#include "sim/core/json_write.h"
#include "sim/core/number.h"
#include "sim/core/output.h"
#include "sim/core/part.h"
#include "sim/core/path.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- Reading --- */

/* A baseline being read: the first error ends it. */
struct reading {
    struct baseline *baseline;
    struct arena *arena;
    struct diag *diag;
    char log_hash[HASH_HEX_CHARS];
};

static int fail(const struct reading *reading, const struct json_node *node, const char *wanted)
{
    char where[DIAG_WHERE_CHARS], shown[96];
    return diag_error(reading->diag, SIM_E_CONFIG, json_where(node, where, sizeof where), NULL, "expected %s, got %s",
                      wanted, json_show(node, shown, sizeof shown));
}

/* Whether every key of the object is one of `known`, ended by NULL. */
static int check_keys(const struct reading *reading, const struct json_node *object, const char *what,
                      const char *const *known)
{
    if (object->kind != JSON_OBJECT) return fail(reading, object, what);
    size_t n = 0;
    while (known[n] != NULL) n++;
    for (const struct json_node *member = object->first; member != NULL; member = member->next) {
        size_t i = 0;
        while (i < n && strcmp(known[i], member->key) != 0) i++;
        if (i < n) continue;
        char where[DIAG_WHERE_CHARS], hint[96] = "";
        const char *nearest = text_nearest(member->key, known, n);
        if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
        return diag_error(reading->diag, SIM_E_CONFIG, json_key_where(member, where, sizeof where), hint,
                          "unknown key '%s' in %s", member->key, what);
    }
    return 0;
}

/* Reads a text; leaves `*text` unchanged if it is absent. */
static int read_text(const struct reading *reading, const struct json_node *object, const char *key, const char **text)
{
    const struct json_node *node = json_member(object, key);
    if (node == NULL) return 0;
    if (node->kind != JSON_STRING) return fail(reading, node, "a text");
    *text = node->text;
    return 0;
}

static int read_hash(const struct reading *reading, const struct json_node *object, const char *key,
                     char hex[HASH_HEX_CHARS])
{
    const char *text = "";
    int code = read_text(reading, object, key, &text);
    if (code != 0) return code;
    size_t n = strlen(text);
    if (n != 0 && (n != HASH_HEX_CHARS - 1 || strspn(text, "0123456789abcdef") != n))
        return fail(reading, json_member(object, key), "a hash of 32 hexadecimal digits");
    memcpy(hex, text, n + 1);
    return 0;
}

/* --- Tolerances --- */

static int read_tolerance(const struct reading *reading, const struct json_node *node, struct tolerance *tolerance)
{
    static const char wanted[] = "a tolerance of at least 0: \"2%\", or a number in the metric's unit";
    char where[DIAG_WHERE_CHARS];
    *tolerance = (struct tolerance){.pattern = node->key, .amount = node->number};
    tolerance->where = arena_strdup(reading->arena, json_key_where(node, where, sizeof where));
    if (tolerance->where == NULL) return diag_nomem(reading->diag);
    if (node->kind == JSON_STRING) {
        size_t n = strlen(node->text);
        double percent;
        if (n < 2 || node->text[n - 1] != '%' || number_f64(node->text, n - 1, &percent) != NUMBER_OK)
            return fail(reading, node, wanted);
        tolerance->is_relative = true;
        tolerance->amount = percent;
    } else if (node->kind != JSON_NUMBER) {
        return fail(reading, node, wanted);
    }
    return tolerance->amount >= 0 ? 0 : fail(reading, node, wanted);
}

static int read_tolerances(const struct reading *reading, const struct json_node *object, struct tolerance_list *list)
{
    const struct json_node *node = json_member(object, "tolerances");
    if (node == NULL) return 0;
    if (node->kind != JSON_OBJECT) return fail(reading, node, "an object of patterns and tolerances");
    list->items = arena_alloc(reading->arena, (node->n + 1) * sizeof *list->items);
    if (list->items == NULL) return diag_nomem(reading->diag);
    int code = 0;
    for (const struct json_node *item = node->first; code == 0 && item != NULL; item = item->next)
        code = read_tolerance(reading, item, &list->items[list->n++]);
    return code;
}

/* --- Entries --- */

static int read_settings(const struct reading *reading, const struct json_node *object, struct baseline_entry *entry)
{
    const struct json_node *node = json_member(object, "set");
    if (node == NULL) return 0;
    if (node->kind != JSON_LIST) return fail(reading, node, "a list of \"key=value\"");
    entry->settings = arena_alloc(reading->arena, (node->n + 1) * sizeof *entry->settings);
    if (entry->settings == NULL) return diag_nomem(reading->diag);
    for (const struct json_node *item = node->first; item != NULL; item = item->next) {
        if (item->kind != JSON_STRING || strchr(item->text, '=') == NULL) return fail(reading, item, "\"key=value\"");
        entry->settings[entry->n_settings++] = item->text;
    }
    return 0;
}

static int read_metrics(const struct reading *reading, const struct json_node *object, struct baseline_entry *entry)
{
    const struct json_node *node = json_member(object, "metrics");
    if (node == NULL) return 0;
    if (node->kind != JSON_OBJECT) return fail(reading, node, "an object of metrics and numbers");
    entry->metrics = arena_alloc(reading->arena, (node->n + 1) * sizeof *entry->metrics);
    if (entry->metrics == NULL) return diag_nomem(reading->diag);
    for (const struct json_node *item = node->first; item != NULL; item = item->next) {
        if (item->kind != JSON_NUMBER && item->kind != JSON_NULL) return fail(reading, item, "a number");
        entry->metrics[entry->n_metrics++] = (struct gate_metric){
            .name = item->key, .unit = "", .value = item->kind == JSON_NUMBER ? item->number : (double)NAN};
    }
    return 0;
}

static int read_resolved(const struct reading *reading, const struct json_node *object, struct baseline_entry *entry)
{
    entry->resolved = json_member(object, "resolved");
    if (entry->resolved == NULL || entry->resolved->kind == JSON_OBJECT) return 0;
    return fail(reading, entry->resolved, "a resolved scenario");
}

static int read_files(const struct reading *reading, const struct json_node *object, struct baseline_entry *entry)
{
    entry->files = json_member(object, "files");
    if (entry->files == NULL) return 0;
    if (entry->files->kind != JSON_OBJECT) return fail(reading, entry->files, "an object of hashes by file");
    for (const struct json_node *file = entry->files->first; file != NULL; file = file->next)
        if (file->kind != JSON_STRING) return fail(reading, file, "a hash");
    return 0;
}

static int read_decisions(const struct reading *reading, const struct json_node *object, struct baseline_entry *entry)
{
    const struct json_node *node = json_member(object, "decisions");
    entry->decisions.chars = "";
    if (node == NULL) return 0;
    if (node->kind != JSON_NUMBER || node->number < 0 || node->number > 1e15 || node->number != floor(node->number))
        return fail(reading, node, "a number of decisions");
    entry->decisions.n = (size_t)node->number;
    return 0;
}

/* Checks that an entry has either all results or none. */
static int check_results(const struct reading *reading, const struct json_node *node,
                         const struct baseline_entry *entry)
{
    bool has_hash = entry->hash[0] != 0;
    const char *missing = NULL;
    if (has_hash != (entry->metrics != NULL))
        missing = has_hash ? "metrics" : "hash";
    else if (has_hash != (json_member(node, "decisions") != NULL))
        missing = has_hash ? "decisions" : "hash";
    if (missing == NULL) return 0;
    char where[DIAG_WHERE_CHARS];
    return diag_error(reading->diag, SIM_E_CONFIG, json_where(node, where, sizeof where),
                      "write the results anew with --update", "scenario '%s' has results without '%s'", entry->name,
                      missing);
}

static int check_name(const struct reading *reading, const struct json_node *node, const struct baseline_entry *entry)
{
    for (const struct baseline_entry *other = reading->baseline->entries; other != entry; other++) {
        if (strcmp(other->name, entry->name) != 0) continue;
        char where[DIAG_WHERE_CHARS];
        return diag_error(reading->diag, SIM_E_CONFIG, json_where(node, where, sizeof where),
                          "give one of them another name", "two scenarios are called '%s'", entry->name);
    }
    return 0;
}

const char *baseline_default_name(const struct baseline_entry *entry, struct arena *arena)
{
    const char *base = strrchr(entry->scenario, '/');
    base = base != NULL ? base + 1 : entry->scenario;
    const char *name = arena_printf(arena, "%.*s", (int)strcspn(base, "."), base);
    for (size_t i = 0; name != NULL && i < entry->n_settings; i++)
        name = arena_printf(arena, "%s %s", name, entry->settings[i]);
    return name != NULL && entry->seed != NULL ? arena_printf(arena, "%s seed=%s", name, entry->seed) : name;
}

static int read_maker(const struct reading *reading, const struct json_node *object, struct maker *maker)
{
    static const char *const known[] = {"version", "commit", "platform", NULL};
    const struct json_node *node = json_member(object, "made_by");
    if (node == NULL) return 0;
    int code = check_keys(reading, node, "'made_by'", known);
    if (code == 0) code = read_text(reading, node, "version", &maker->version);
    if (code == 0) code = read_text(reading, node, "commit", &maker->commit);
    return code == 0 ? read_text(reading, node, "platform", &maker->platform) : code;
}

static int read_results(const struct reading *reading, const struct json_node *node, struct baseline_entry *entry)
{
    entry->maker = reading->baseline->maker;
    int code = read_maker(reading, node, &entry->maker);
    if (code == 0) code = read_hash(reading, node, "hash", entry->hash);
    if (code == 0) code = read_hash(reading, node, "scenario_hash", entry->scenario_hash);
    if (code == 0) code = read_hash(reading, node, "inputs", entry->inputs);
    if (code == 0) code = read_files(reading, node, entry);
    if (code == 0) code = read_resolved(reading, node, entry);
    if (code == 0) code = read_metrics(reading, node, entry);
    if (code == 0) code = read_decisions(reading, node, entry);
    return code == 0 ? check_results(reading, node, entry) : code;
}

static int read_entry(const struct reading *reading, const struct json_node *node)
{
    static const char *const known[] = {"name",     "scenario", "set",           "seed",   "tolerances",
                                        "made_by",  "hash",     "scenario_hash", "inputs", "decisions",
                                        "resolved", "metrics",  "files",         NULL};
    struct baseline_entry *entry = baseline_add(reading->baseline, reading->arena);
    if (entry == NULL) return diag_nomem(reading->diag);
    int code = check_keys(reading, node, "a scenario of the baseline", known);
    if (code == 0) code = read_text(reading, node, "scenario", &entry->scenario);
    if (code == 0 && (entry->scenario == NULL || entry->scenario[0] == 0))
        code = fail(reading, node, "an object with the path of its 'scenario'");
    if (code == 0) code = read_settings(reading, node, entry);
    const struct json_node *seed = json_member(node, "seed");
    if (code == 0 && seed != NULL && seed->kind != JSON_NUMBER) code = fail(reading, seed, "a whole number");
    if (code != 0) return code;
    entry->seed = seed != NULL ? seed->text : NULL;
    entry->name = baseline_default_name(entry, reading->arena);
    if (entry->name == NULL) return diag_nomem(reading->diag);
    code = read_text(reading, node, "name", &entry->name);
    if (code == 0) code = check_name(reading, node, entry);
    if (code == 0) code = read_tolerances(reading, node, &entry->tolerances);
    return code == 0 ? read_results(reading, node, entry) : code;
}

static int read_document(struct reading *reading, const struct json_node *root)
{
    static const char *const known[] = {"about", "made_by", "decision_log", "tolerances", "scenarios", NULL};
    int code = check_keys(reading, root, "a baseline", known);
    if (code == 0) code = read_text(reading, root, "about", &reading->baseline->about);
    if (code == 0) code = read_maker(reading, root, &reading->baseline->maker);
    if (code == 0) code = read_hash(reading, root, "decision_log", reading->log_hash);
    if (code == 0) code = read_tolerances(reading, root, &reading->baseline->tolerances);
    if (code != 0) return code;
    const struct json_node *scenarios = json_member(root, "scenarios");
    if (scenarios == NULL) return fail(reading, root, "a baseline with a list of 'scenarios'");
    if (scenarios->kind != JSON_LIST) return fail(reading, scenarios, "a list of scenarios");
    for (const struct json_node *node = scenarios->first; code == 0 && node != NULL; node = node->next)
        code = read_entry(reading, node);
    return code;
}

/* --- The log --- */

static int read_whole(const char *path, struct text *text, struct diag *diag)
{
    struct input *input;
    int code = input_open(path, &input, diag);
    if (code != 0) return code;
    char bytes[16384];
    size_t n = 0;
    do {
        code = input_read(input, bytes, sizeof bytes, &n, diag);
        if (code == 0) text_add_bytes(text, bytes, n);
    } while (code == 0 && n > 0);
    input_close(input);
    return code == 0 && text->failed ? diag_nomem(diag) : code;
}

static int hash_chars(const char *chars, size_t n_chars, char hex[HASH_HEX_CHARS])
{
    struct hash *hash = hash_create();
    if (hash == NULL) return SIM_E_NOMEM;
    hash_bytes(hash, chars, n_chars);
    hash_hex(hash, hex);
    hash_destroy(hash);
    return 0;
}

static int fail_log(const struct reading *reading, const char *problem)
{
    return diag_error(reading->diag, SIM_E_DATA, reading->baseline->log_path,
                      "restore the file, or write baseline and log anew with --update", "%s", problem);
}

/* Assigns each entry its lines of the log. */
static int share_out(const struct reading *reading, const char *chars, size_t n_chars)
{
    for (size_t i = 0; i < reading->baseline->n_entries; i++) {
        struct baseline_entry *entry = &reading->baseline->entries[i];
        size_t n = entry->decisions.n;
        entry->decisions = decision_log_take(chars, n_chars, n);
        if (entry->decisions.n < n) return fail_log(reading, "the log has fewer decisions than the baseline");
        chars += entry->decisions.n_chars;
        n_chars -= entry->decisions.n_chars;
    }
    return n_chars == 0 ? 0 : fail_log(reading, "the log has more decisions than the baseline");
}

/* Gives the log its name if the process that wrote baseline and log died, or failed, before it. */
static void adopt_log(const struct reading *reading)
{
    char path[PATH_MAX], hash[HASH_HEX_CHARS];
    const char *log = reading->baseline->log_path;
    struct part part;
    if (realpath(log, path) != NULL) log = path;
    for (int number = 0; part_adopt(&part, log, &number); part_discard(&part)) {
        struct text text;
        text_init(&text);
        const bool is_read = read_whole(part.path, &text, NULL) == 0 && text.length > 0 &&
                             hash_chars(text.chars, text.length, hash) == 0;
        text_fini(&text);
        if (is_read && strcmp(hash, reading->log_hash) == 0) part_take_name(&part, true);
    }
}

static int read_log(const struct reading *reading)
{
    struct text text;
    char hash[HASH_HEX_CHARS];
    size_t head = strlen(decision_log_header);
    if (reading->log_hash[0] == 0) return 0; /* no entry has results yet */
    adopt_log(reading);
    text_init(&text);
    const int first = reading->diag != NULL ? reading->diag->n_items : 0;
    int code = read_whole(reading->baseline->log_path, &text, reading->diag);
    if (code == SIM_E_IO)
        diag_add_hint(reading->diag, first,
                      "it is the log of decisions that belongs to the baseline: restore it, or write "
                      "both anew with --update");
    if (code == 0) code = hash_chars(text.chars != NULL ? text.chars : "", text.length, hash);
    if (code == 0 && (strcmp(hash, reading->log_hash) != 0 || text.length < head))
        code = fail_log(reading, "the log of decisions is not the one that belongs to the baseline");
    if (code == 0 && memcmp(text.chars, decision_log_header, head) != 0)
        code = fail_log(reading, "the columns of the log of decisions differ from this version's");
    if (code == 0) {
        char *copy = arena_alloc(reading->arena, text.length - head + 1);
        if (copy == NULL)
            code = diag_nomem(reading->diag);
        else
            memcpy(copy, text.chars + head, text.length - head);
        if (code == 0) code = share_out(reading, copy, text.length - head);
    }
    text_fini(&text);
    return code;
}

int baseline_init(struct baseline *baseline, const char *path, struct arena *arena)
{
    *baseline = (struct baseline){.about = "", .maker = {.version = "", .commit = "", .platform = ""}};
    size_t n = strlen(path);
    if (path_is_json(path)) n -= strlen(".json");
    baseline->path = arena_strdup(arena, path);
    baseline->directory = path_directory(arena, path);
    baseline->log_path = arena_printf(arena, "%.*s.decisions.csv.gz", (int)n, path);
    return baseline->path != NULL && baseline->directory != NULL && baseline->log_path != NULL ? 0 : SIM_E_NOMEM;
}

int baseline_load(struct baseline *baseline, const char *path, bool without_log, struct arena *arena, struct diag *diag)
{
    struct reading reading = {.baseline = baseline, .arena = arena, .diag = diag};
    struct json_node *root;
    int code = baseline_init(baseline, path, arena);
    if (code != 0) return diag_nomem(diag);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return diag_error(diag, SIM_E_IO, path, "'--update SCENARIO' writes it",
                          "cannot read the file: No such file or directory");
    code = json_load(arena, path, &root, diag);
    if (code == 0) code = read_document(&reading, root);
    if (code == 0 && baseline->n_entries == 0)
        code = diag_error(diag, SIM_E_CONFIG, path, "name scenarios and add --update", "the baseline has no scenarios");
    return code == 0 && !without_log ? read_log(&reading) : code;
}

struct baseline_entry *baseline_add(struct baseline *baseline, struct arena *arena)
{
    if (baseline->n_entries == baseline->capacity) {
        size_t capacity = 2 * baseline->capacity + 16;
        struct baseline_entry *entries = arena_alloc(arena, capacity * sizeof *entries);
        if (entries == NULL) return NULL;
        if (baseline->n_entries > 0) memcpy(entries, baseline->entries, baseline->n_entries * sizeof *entries);
        baseline->entries = entries;
        baseline->capacity = capacity;
    }
    struct baseline_entry *entry = &baseline->entries[baseline->n_entries++];
    entry->decisions.chars = "";
    entry->maker = baseline->maker;
    return entry;
}

/* --- Writing --- */

static void write_tolerances(struct json_writer *writer, const struct tolerance_list *list)
{
    if (list->n == 0) return;
    json_write_open(writer, "tolerances", '{');
    for (size_t i = 0; i < list->n; i++) {
        const struct tolerance *tolerance = &list->items[i];
        json_write_key(writer, tolerance->pattern);
        if (tolerance->is_relative) text_add(writer->text, "\"");
        text_json_number(writer->text, tolerance->amount);
        if (tolerance->is_relative) text_add(writer->text, "%\"");
    }
    json_write_close(writer, '}');
}

bool baseline_same_maker(const struct maker *a, const struct maker *b)
{
    return strcmp(a->version, b->version) == 0 && strcmp(a->commit, b->commit) == 0 &&
           strcmp(a->platform, b->platform) == 0;
}

/* The maker of all results; if they have several, that of the baseline's first entry. */
static const struct maker *common_maker(const struct baseline *baseline)
{
    const struct maker *common = NULL;
    for (size_t i = 0; i < baseline->n_entries; i++) {
        const struct baseline_entry *entry = &baseline->entries[i];
        if (entry->hash[0] == 0) continue;
        if (common == NULL) common = &entry->maker;
        if (!baseline_same_maker(common, &entry->maker)) return &baseline->maker;
    }
    return common != NULL ? common : &baseline->maker;
}

static void write_maker(struct json_writer *writer, const struct maker *maker)
{
    json_write_open(writer, "made_by", '{');
    json_write_string(writer, "version", maker->version);
    json_write_string(writer, "commit", maker->commit);
    json_write_string(writer, "platform", maker->platform);
    json_write_close(writer, '}');
}

static void write_results(struct json_writer *writer, const struct baseline_entry *entry, const struct maker *common)
{
    if (!baseline_same_maker(&entry->maker, common)) write_maker(writer, &entry->maker);
    json_write_string(writer, "hash", entry->hash);
    if (entry->scenario_hash[0] != 0) json_write_string(writer, "scenario_hash", entry->scenario_hash);
    if (entry->inputs[0] != 0) json_write_string(writer, "inputs", entry->inputs);
    if (entry->files != NULL && entry->files->n > 0) {
        json_write_open(writer, "files", '{');
        for (const struct json_node *file = entry->files->first; file != NULL; file = file->next)
            json_write_string(writer, file->key, file->text);
        json_write_close(writer, '}');
    }
    json_write_number(writer, "decisions", (double)entry->decisions.n);
    if (entry->resolved != NULL) scenario_write(writer, "resolved", entry->resolved);
    json_write_open(writer, "metrics", '{');
    for (size_t i = 0; i < entry->n_metrics; i++)
        json_write_number(writer, entry->metrics[i].name, entry->metrics[i].value);
    json_write_close(writer, '}');
}

static void write_entry(struct json_writer *writer, const struct baseline_entry *entry, const struct maker *common)
{
    json_write_open(writer, NULL, '{');
    json_write_string(writer, "name", entry->name);
    json_write_string(writer, "scenario", entry->scenario);
    if (entry->n_settings > 0) {
        json_write_open(writer, "set", '[');
        for (size_t i = 0; i < entry->n_settings; i++) json_write_string(writer, NULL, entry->settings[i]);
        json_write_close(writer, ']');
    }
    if (entry->seed != NULL) {
        json_write_key(writer, "seed");
        text_add(writer->text, entry->seed);
    }
    write_tolerances(writer, &entry->tolerances);
    if (entry->hash[0] != 0) write_results(writer, entry, common);
    json_write_close(writer, '}');
}

static void write_document(struct text *text, const struct baseline *baseline, const char *log_hash)
{
    const struct maker *common = common_maker(baseline);
    struct json_writer writer;
    json_writer_init(&writer, text);
    json_write_open(&writer, NULL, '{');
    if (baseline->about[0] != 0) json_write_string(&writer, "about", baseline->about);
    write_maker(&writer, common);
    json_write_string(&writer, "decision_log", log_hash);
    write_tolerances(&writer, &baseline->tolerances);
    json_write_open(&writer, "scenarios", '[');
    for (size_t i = 0; i < baseline->n_entries; i++) write_entry(&writer, &baseline->entries[i], common);
    json_write_close(&writer, ']');
    json_write_close(&writer, '}');
    text_add(text, "\n");
}

static int write_log(const struct baseline *baseline, struct output *output, char log_hash[HASH_HEX_CHARS],
                     struct diag *diag)
{
    struct hash *hash = hash_create();
    if (hash == NULL) return diag_nomem(diag);
    int code = 0;
    text_add(output_text(output), decision_log_header);
    hash_bytes(hash, decision_log_header, strlen(decision_log_header));
    for (size_t i = 0; code == 0 && i < baseline->n_entries; i++) {
        const struct decision_lines *lines = &baseline->entries[i].decisions;
        text_add_bytes(output_text(output), lines->chars, lines->n_chars);
        hash_bytes(hash, lines->chars, lines->n_chars);
        code = output_flush(output, diag);
    }
    hash_hex(hash, log_hash);
    hash_destroy(hash);
    return code == 0 ? output_finish(output, diag) : code;
}

/* Both files are whole before the first gets its name. A process that dies between the two leaves the log for
 * adopt_log. */
int baseline_save(const struct baseline *baseline, struct diag *diag)
{
    char log_hash[HASH_HEX_CHARS];
    struct output *log, *output;
    int code = output_open(baseline->log_path, &log, diag);
    if (code != 0) return code;
    code = write_log(baseline, log, log_hash, diag);
    if (code == 0) code = output_open(baseline->path, &output, diag);
    if (code == 0) {
        write_document(output_text(output), baseline, log_hash);
        code = output_close(output, false, diag);
    }
    const int log_code = output_close(log, code != 0, diag);
    return code != 0 ? code : log_code;
}
