/* Warnings of the run of the best fleet, each once: about the load, settings without effect, and the whole fleet.
 *
 * Left out are warnings that the answer has in its own words: where the engine was measured, and the share of the
 * kernels' time outside the measured range. A price that the hardware file lacks is given by --gpu or --prices. */
#include "sim/cli/answer.h"
#include "sim/cli/size/size.h"
#include "sim/world/rows/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_left_out(const char *code)
{
    static const char *const codes[] = {"engine", "extrapolated", "unpriced"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(code, codes[i]) == 0) return true;
    return false;
}

void size_warnings_take(struct size_warnings *warnings, const struct warning_row *row)
{
    if (is_left_out(row->code)) return;
    for (size_t i = 0; i < warnings->n; i++)
        if (strcmp(warnings->items[i].code, row->code) == 0 && strcmp(warnings->items[i].text, row->text) == 0) return;
    if (warnings->n == SIZE_MAX_WARNINGS) return;
    struct size_warning *kept = &warnings->items[warnings->n++];
    snprintf(kept->code, sizeof kept->code, "%s", row->code);
    snprintf(kept->text, sizeof kept->text, "%s", row->text);
    kept->count = row->count;
}

void size_warnings_take_notes(struct size_warnings *warnings, const struct request_source *source, const char *service)
{
    struct source_note note;
    for (size_t i = 0; source->note(source, i, &note); i++) {
        char text[sizeof warnings->items[0].text];
        snprintf(text, sizeof text, "service '%s': %s%s%s", service, note.text, note.where != NULL ? ", first at " : "",
                 source_note_place(&note));
        if (note.count > 0)
            size_warnings_take(warnings, &(struct warning_row){.code = note.code, .text = text, .count = note.count});
    }
}

void size_add_warning(const struct size_warning *warning, struct text *text)
{
    text_printf(text, "%s: %s", warning->code, warning->text);
    if (warning->count > 1) text_printf(text, " (%" PRId64 " times)", warning->count);
}

int size_warnings_add(const struct size_warnings *warnings, struct answer *answer)
{
    bool failed = false;
    if (warnings->n > 0) answer_say(answer, "\n");
    answer_open(answer, "warnings", '[');
    for (size_t i = 0; i < warnings->n; i++) {
        const struct size_warning *warning = &warnings->items[i];
        struct text line;
        text_init(&line);
        size_add_warning(warning, &line);
        failed |= line.failed;
        if (!line.failed) answer_say(answer, "warning: %s\n", line.chars);
        text_fini(&line);
        answer_open_row(answer, NULL, '{');
        answer_text(answer, "code", warning->code);
        answer_text(answer, "text", warning->text);
        answer_number(answer, "count", (double)warning->count);
        answer_close(answer, '}');
    }
    answer_close(answer, ']');
    return failed ? SIM_E_NOMEM : 0;
}
