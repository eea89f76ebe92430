/* Writing a baseline and its log of decisions. */
#include "analysis/gate/baseline.h"
#include "analysis/gate/decision_log.h"
#include "sim/core/json_write.h"
#include "sim/core/output.h"

#include <math.h>
#include <string.h>

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

/* Who made all results, or, when these are of several, who made the baseline's first. */
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
    json_write_number(writer, "decisions", (double)entry->decisions.n);
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

static int save_log(const struct baseline *baseline, char log_hash[HASH_HEX_CHARS], struct diag *diag)
{
    struct output *output;
    struct hash *hash = hash_create();
    if (hash == NULL) return diag_error(diag, SIM_E_NOMEM, NULL, NULL, "out of memory");
    int code = output_open(baseline->log_path, &output, diag);
    if (code == 0) {
        text_add(output_text(output), decision_log_header);
        hash_bytes(hash, decision_log_header, strlen(decision_log_header));
        for (size_t i = 0; code == 0 && i < baseline->n_entries; i++) {
            const struct decision_lines *lines = &baseline->entries[i].decisions;
            text_add_bytes(output_text(output), lines->chars, lines->n_chars);
            hash_bytes(hash, lines->chars, lines->n_chars);
            code = output_flush(output, diag);
        }
        int close_code = output_close(output, code != 0, diag);
        if (code == 0) code = close_code;
    }
    hash_hex(hash, log_hash);
    hash_destroy(hash);
    return code;
}

int baseline_save(const struct baseline *baseline, struct diag *diag)
{
    char log_hash[HASH_HEX_CHARS];
    struct output *output;
    int code = save_log(baseline, log_hash, diag);
    if (code == 0) code = output_open(baseline->path, &output, diag);
    if (code != 0) return code;
    write_document(output_text(output), baseline, log_hash);
    return output_close(output, false, diag);
}
