/* The report for programs. */
#include "analysis/gate/gate.h"

#include "sim/core/json_write.h"

#include <string.h>

/* --- JSON --- */

static void write_move(struct json_writer *writer, const struct gate_move *move)
{
    static const char *const words[] = {"worse", NULL, "better"};
    json_write_open_row(writer, NULL, '{');
    json_write_string(writer, "metric", move->name);
    json_write_string(writer, "unit", move->unit);
    json_write_number(writer, "baseline", move->before);
    json_write_number(writer, "now", move->now);
    json_write_number(writer, "tolerance", move->tolerance.amount);
    json_write_bool(writer, "tolerance_is_percent", move->tolerance.is_relative);
    json_write_bool(writer, "beyond", move->is_beyond);
    json_write_string(writer, "direction", words[move->better + 1]);
    json_write_close(writer, '}');
}

static void write_line(struct json_writer *writer, const char *key, bool is_there, const struct decision_line *line)
{
    if (!is_there) {
        json_write_string(writer, key, NULL);
        return;
    }
    json_write_open_row(writer, key, '{');
    json_write_key(writer, "t_s");
    text_add(writer->text, line->t_s);
    json_write_string(writer, "service", line->service);
    json_write_string(writer, "policy", line->policy);
    json_write_string(writer, "action", line->action);
    json_write_key(writer, "subject");
    text_add(writer->text, line->subject);
    json_write_string(writer, "reason", line->reason);
    json_write_close(writer, '}');
}

static void write_parting(struct json_writer *writer, const char *key, const struct parting *parting)
{
    if (!parting->found) return;
    json_write_open(writer, key, '{');
    json_write_number(writer, "number", (double)parting->number);
    write_line(writer, "baseline", parting->has_before, &parting->before);
    write_line(writer, "now", parting->has_now, &parting->now);
    json_write_close(writer, '}');
}

static void write_divergence(struct json_writer *writer, const struct divergence *divergence)
{
    json_write_number(writer, "decisions_in_baseline", (double)divergence->n_before);
    json_write_number(writer, "decisions_now", (double)divergence->n_now);
    json_write_open(writer, "decisions_before", '[');
    for (size_t i = 0; i < divergence->n_context; i++) write_line(writer, NULL, true, &divergence->context[i]);
    json_write_close(writer, ']');
    write_parting(writer, "first_diverging_decision", &divergence->first);
    write_parting(writer, "first_other_choice", &divergence->choice);
}

static void write_maker(struct json_writer *writer, const char *key, const struct maker *maker)
{
    json_write_open(writer, key, '{');
    json_write_string(writer, "version", maker->version);
    json_write_string(writer, "commit", maker->commit);
    json_write_string(writer, "platform", maker->platform);
    json_write_close(writer, '}');
}

static void write_change(struct json_writer *writer, const struct scenario_change *change)
{
    json_write_open_row(writer, NULL, '{');
    json_write_string(writer, "key", change->key);
    json_write_string(writer, "baseline", change->before);
    json_write_string(writer, "now", change->now);
    json_write_close(writer, '}');
}

static void write_result(struct json_writer *writer, const struct gate_result *result, const struct maker *common)
{
    json_write_open(writer, NULL, '{');
    json_write_string(writer, "name", result->entry->name);
    json_write_string(writer, "verdict", gate_verdict_text(result->verdict));
    if (!baseline_same_maker(&result->entry->maker, common)) write_maker(writer, "baseline", &result->entry->maker);
    if (result->verdict == GATE_FAILED) json_write_string(writer, "finding", result->finding);
    const bool has_moved = result->verdict == GATE_MOVED || result->verdict == GATE_TOLERATED;
    if (has_moved || gate_has_no_effect(result)) {
        json_write_bool(writer, "scenario_moved", result->scenario_moved);
        json_write_open(writer, "scenario_changes", '[');
        for (size_t i = 0; i < result->n_changes; i++) write_change(writer, &result->changes[i]);
        json_write_close(writer, ']');
        json_write_bool(writer, "inputs_moved", result->inputs_moved || result->n_files > 0);
        json_write_open(writer, "files_changed", '[');
        for (size_t i = 0; i < result->n_files; i++) json_write_string(writer, NULL, result->files[i]);
        json_write_close(writer, ']');
    }
    if (has_moved) {
        json_write_open(writer, "moves", '[');
        for (size_t i = 0; i < result->n_moves; i++) write_move(writer, &result->moves[i]);
        json_write_close(writer, ']');
        write_divergence(writer, &result->divergence);
        json_write_string(writer, "seen", result->seen[0] != 0 ? result->seen : NULL);
    }
    json_write_close(writer, '}');
}

void gate_json(const struct gate_report *report, struct json_writer *writer)
{
    const struct baseline *baseline = report->baseline;
    json_write_open(writer, NULL, '{');
    json_write_bool(writer, "passed", gate_code(report) == 0);
    json_write_bool(writer, "platform_differs", gate_platform_differs(report));
    write_maker(writer, "baseline", &baseline->maker);
    write_maker(writer, "now", &report->maker);
    json_write_open(writer, "scenarios", '[');
    for (size_t i = 0; i < report->n_results; i++) write_result(writer, &report->results[i], &baseline->maker);
    json_write_close(writer, ']');
    json_write_close(writer, '}');
}

/* --- JUnit XML --- */

/* Escapes text for elements and attributes; characters that XML 1.0 excludes become '?'. */
static void add_escaped(struct text *xml, const char *chars)
{
    size_t left = strlen(chars);
    while (left > 0) {
        size_t n = text_utf8_length(chars, left);
        bool is_control = (unsigned char)*chars < ' ' && *chars != '\n' && *chars != '\t';
        switch (n > 0 && !is_control ? *chars : '?') {
        case '&': text_add(xml, "&amp;"); break;
        case '<': text_add(xml, "&lt;"); break;
        case '>': text_add(xml, "&gt;"); break;
        case '"': text_add(xml, "&quot;"); break;
        case '?': text_add(xml, "?"); break;
        default: text_add_bytes(xml, chars, n); break;
        }
        if (n == 0) n = 1;
        chars += n;
        left -= n;
    }
}

static void add_attribute(struct text *xml, const char *name, const char *value)
{
    text_printf(xml, " %s=\"", name);
    add_escaped(xml, value);
    text_add(xml, "\"");
}

static void add_counts(struct text *xml, const struct gate_report *report)
{
    text_printf(xml, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", report->n_results,
                report->counts[GATE_MOVED] + report->counts[GATE_UNKNOWN], report->counts[GATE_FAILED]);
}

static void add_property(struct text *xml, const char *name, const char *value)
{
    text_add(xml, "      <property");
    add_attribute(xml, "name", name);
    add_attribute(xml, "value", value);
    text_add(xml, "/>\n");
}

/* Adds the description; its first line is the message. */
static void add_problem(struct text *xml, const struct gate_report *report, const struct gate_result *result)
{
    const char *element = result->verdict == GATE_FAILED ? "error" : "failure";
    struct text description, message;
    text_init(&description);
    text_init(&message);
    gate_describe(report, result, &description);
    const char *chars = description.chars != NULL ? description.chars : "";
    text_add_bytes(&message, chars, strcspn(chars, "\n"));
    text_printf(xml, "      <%s", element);
    add_attribute(xml, "type", gate_verdict_text(result->verdict));
    add_attribute(xml, "message", message.chars != NULL ? message.chars : "");
    text_add(xml, ">");
    add_escaped(xml, chars);
    text_printf(xml, "</%s>\n", element);
    if (description.failed || message.failed) xml->failed = true;
    text_fini(&description);
    text_fini(&message);
}

static void add_case(struct text *xml, const struct gate_report *report, const struct gate_result *result)
{
    text_add(xml, "    <testcase classname=\"orrery.check\"");
    add_attribute(xml, "name", result->entry->name);
    if (result->verdict == GATE_SAME && !gate_has_no_effect(result)) {
        text_add(xml, "/>\n");
        return;
    }
    text_add(xml, ">\n");
    if (result->verdict != GATE_TOLERATED && result->verdict != GATE_SAME) {
        add_problem(xml, report, result);
    } else {
        struct text description;
        text_init(&description);
        gate_describe(report, result, &description);
        text_add(xml, "      <system-out>");
        add_escaped(xml, description.chars != NULL ? description.chars : "");
        text_add(xml, "</system-out>\n");
        if (description.failed) xml->failed = true;
        text_fini(&description);
    }
    text_add(xml, "    </testcase>\n");
}

void gate_junit(const struct gate_report *report, struct text *xml)
{
    text_add(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"orrery check\"");
    add_counts(xml, report);
    text_add(xml, ">\n  <testsuite");
    add_attribute(xml, "name", report->baseline->path);
    add_counts(xml, report);
    text_add(xml, " skipped=\"0\">\n    <properties>\n");
    add_property(xml, "version", report->maker.version);
    add_property(xml, "commit", report->maker.commit);
    add_property(xml, "platform", report->maker.platform);
    text_add(xml, "    </properties>\n");
    for (size_t i = 0; i < report->n_results; i++) add_case(xml, report, &report->results[i]);
    text_add(xml, "  </testsuite>\n</testsuites>\n");
}
