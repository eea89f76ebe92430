/* Any bytes as a document, followed by settings: each after a 0 byte. Either there is a finding for the error, or what
 * was bound can be dumped, and the dump binds to what dumps the same. */
#include "tests/fuzz/fuzz.h"
#include "tests/support/config_table.h"

#include "sim/core/config/config.h"

#include <string.h>

struct attempt {
    struct config *config;
    struct arena arena;
    struct diag diag;
    struct site site;
    struct text dump;
};

static void attempt_fini(struct attempt *attempt)
{
    config_destroy(attempt->config);
    arena_fini(&attempt->arena);
    text_fini(&attempt->dump);
}

/* Settings are those that stand behind the document, up to `end`. */
static int attempt_bind(struct attempt *attempt, const char *text, size_t bytes, const char *end)
{
    *attempt = (struct attempt){0};
    int code = config_parse("fuzz", ".", text, bytes, &attempt->config, &attempt->diag);
    for (const char *setting = text + bytes + 1; code == 0 && setting < end; setting += strlen(setting) + 1)
        code = config_set(attempt->config, setting, &attempt->diag);
    if (code == 0)
        code = config_bind(attempt->config, site_fields, &site_families, &attempt->arena, &attempt->site,
                           sizeof attempt->site, &attempt->diag);
    if (code == 0) code = config_dump(site_fields, &site_families, &attempt->site, &attempt->dump);
    return code;
}

static bool dump_dumps_alike(const struct attempt *first)
{
    struct attempt second;
    const char *dump = first->dump.chars;
    bool alike = attempt_bind(&second, dump, strlen(dump), dump) == 0 && strcmp(second.dump.chars, dump) == 0;
    attempt_fini(&second);
    return alike;
}

/* Whether the bytes may name other files to extend: those are better not read. */
static bool names_files(const char *text, size_t bytes)
{
    static const char word[] = "xtends";
    for (size_t i = 0; i + sizeof word - 1 <= bytes; i++)
        if (memcmp(text + i, word, sizeof word - 1) == 0) return true;
    return false;
}

FUZZ_TARGET(config)
{
    struct attempt attempt;
    char *text = malloc(bytes + 1);
    if (text == NULL) return true;
    if (bytes > 0) memcpy(text, data, bytes);
    text[bytes] = 0;
    bool holds = true;
    if (!names_files(text, bytes)) {
        int code = attempt_bind(&attempt, text, strlen(text), text + bytes);
        holds = code == 0 ? dump_dumps_alike(&attempt) : code == attempt.diag.code && attempt.diag.n_errors > 0;
        attempt_fini(&attempt);
    }
    free(text);
    return holds;
}
