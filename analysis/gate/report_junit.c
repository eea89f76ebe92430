/* JUnit XML, the shape that CI servers read: testsuites > testsuite > testcase > failure | error. No times: the same results
 * give the same bytes. */
#include "analysis/gate/gate.h"

#include <string.h>

/* Text or attribute; what XML 1.0 cannot hold becomes a question mark. */
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

/* The description, of which the first line is the message. */
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
    if (result->verdict == GATE_SAME) {
        text_add(xml, "/>\n");
        return;
    }
    text_add(xml, ">\n");
    if (result->verdict != GATE_TOLERATED) {
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
