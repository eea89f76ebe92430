#include "sim/cli/results/stored.h"

#include "sim/cli/dictionary.h"
#include "sim/store/readback.h"

#include <inttypes.h>
#include <string.h>

int stored_open(struct cli *cli, const char *name, struct stored *stored)
{
    int64_t run_id;
    *stored = (struct stored){0};
    arena_init(&stored->arena);
    stored->options.dictionary = dictionary_make(&stored->arena, &stored->options.n_dictionary);
    int code = stored->options.dictionary != NULL
                   ? results_split_name(name, &stored->arena, &stored->options.path, &run_id)
                   : SIM_E_NOMEM;
    if (code == 0 && run_id != 0)
        code = diag_error(&cli->diag, SIM_E_USAGE, NULL, "leave out the number", "'%s' names one run of the file",
                          name);
    if (code == 0) code = database_open_read(&stored->database, stored->options.path, &cli->diag);
    if (code != 0) arena_fini(&stored->arena);
    stored->source = (struct report_source){.database = &stored->database, .arena = &stored->arena,
                                            .diag = &cli->diag, .options = &stored->options};
    return code;
}

void stored_close(struct stored *stored)
{
    database_close(&stored->database, false);
    arena_fini(&stored->arena);
}

int stored_read(struct stored *stored, const char *const *metrics, size_t n_metrics)
{
    stored->options.metrics = metrics;
    stored->options.n_metrics = n_metrics;
    return study_read(&stored->source, &stored->study);
}

/* Whether a dotted name ends in the word, behind a dot. */
static bool ends_in(const char *name, const char *word)
{
    const size_t n = strlen(name), n_word = strlen(word);
    return n > n_word && name[n - n_word - 1] == '.' && strcmp(name + n - n_word, word) == 0;
}

/* The index of the name, or of the only one that ends in the word; -1: neither. */
static int find_name(const char *word, const char *const *names, size_t n)
{
    int found = -1, n_found = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], word) == 0) return (int)i;
        if (!ends_in(names[i], word)) continue;
        found = (int)i;
        n_found++;
    }
    return n_found == 1 ? found : -1;
}

static int fail_unknown(struct cli *cli, const char *what, const char *word, const char *nearest, const char *hint)
{
    char suggestion[DIAG_TEXT_CHARS];
    if (word[0] == 0) nearest = NULL;
    if (nearest != NULL) snprintf(suggestion, sizeof suggestion, "did you mean '%s'?", nearest);
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, nearest != NULL ? suggestion : hint, "no run has %s '%s'", what,
                      word);
}

const char *stored_metric(struct cli *cli, struct stored *stored, const char *word)
{
    struct query_answer answer;
    const int code = query_run(&stored->database, "SELECT DISTINCT name FROM metric ORDER BY name", NULL, 0,
                               "read the metrics", &stored->arena, &answer, &cli->diag);
    if (code != 0) return NULL;
    const char *const *names = answer.columns[0].texts;
    const int found = names != NULL ? find_name(word, names, answer.n_rows) : -1;
    if (found >= 0) return names[found];
    const char *nearest = names != NULL ? text_nearest_end(word, names, answer.n_rows, NULL) : NULL;
    fail_unknown(cli, "a metric", word, nearest, "'orrery list metrics' shows all");
    return NULL;
}

int stored_axis(struct cli *cli, const struct stored *stored, const char *word)
{
    const struct study *study = &stored->study;
    const char *keys[STUDY_MAX_AXES], *names[STUDY_MAX_AXES];
    struct text hint;
    for (size_t i = 0; i < study->n_axes; i++) {
        keys[i] = study->axes[i].key;
        names[i] = study->axes[i].name;
    }
    for (size_t i = 0; i < study->n_axes; i++)
        if (strcmp(names[i], word) == 0) return (int)i;
    const int found = find_name(word, keys, study->n_axes);
    if (found >= 0) return found;
    text_init(&hint);
    for (size_t i = 0; i < study->n_axes; i++) text_printf(&hint, "%s%s", i > 0 ? ", " : "its axes are ", names[i]);
    if (study->n_axes == 0) text_add(&hint, "this file has no study, which has axes; 'orrery report' draws a run");
    fail_unknown(cli, "an axis", word, text_nearest(word, names, study->n_axes), hint.chars);
    text_fini(&hint);
    return -1;
}
