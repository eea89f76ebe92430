#include "tests/support/huggingface_fixture.h"

#include "sim/catalog/huggingface.h"
#include "sim/core/json_doc.h"
#include "sim/core/mem.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

int huggingface_text(const char *quoted, struct llm_spec *llm, char *messages, size_t bytes)
{
    static const struct json_source source = {.name = "config.json", .directory = ".", .has_lines = true};
    const char *text = test_json("%s", quoted);
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct json_node *root;
    int code = json_parse(&arena, &source, text, strlen(text), &root, &diag);
    if (code == 0) code = huggingface_recognises(root) ? huggingface_read(root, NULL, llm, &diag) : SIM_E_USAGE;
    messages[0] = 0;
    for (int i = 0; i < diag.n_items; i++) {
        const size_t used = strlen(messages);
        char line[DIAG_LINE_CHARS];
        diag_format(&diag.items[i], line, sizeof line);
        snprintf(messages + used, bytes - used, "%s%s", i > 0 ? "\n" : "", line);
    }
    return code;
}
