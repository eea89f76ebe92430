#include "tests/support/worlds/kept_files.h"

#include "sim/core/err.h"
#include "sim/study/study.h"
#include "tests/support/worlds/kept.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_LINES = 80, MOST_NUMBERS = 6, MOST_CHARS = 1 << 16, PATH_CHARS = 600 };

/* Texts that take the place of a number. */
static const char *const others[] = {"-1", "0", "x", "1.5", "3e9", "1"};
enum { N_OTHERS = sizeof others / sizeof *others };

struct work {
    const char *directory, *path; /* of variants; of the file */
    const char *scenario;         /* JSON with "FILE"; NULL: the file is a study */
    char *lines[MOST_LINES];
    int n_lines, n_variants;
    char *variant; /* MOST_CHARS */
    size_t n_chars;
    struct catalog_memory memory;
    kept_files_fn each;
    void *context;
};

static void append(struct work *work, const char *text, size_t n)
{
    if (work->n_chars + n >= MOST_CHARS) abort();
    memcpy(work->variant + work->n_chars, text, n);
    work->n_chars += n;
}

/* A copy of a text with each `old` replaced, which free releases. */
static char *replaced(const char *text, const char *old, const char *new)
{
    const size_t n_old = strlen(old), n_new = strlen(new);
    char *copy = calloc(1, (strlen(text) + 1) * (n_new + 1)), *out = copy;
    if (copy == NULL) abort();
    while (*text != 0) {
        if (strncmp(text, old, n_old) == 0) {
            memcpy(out, new, n_new);
            text += n_old;
            out += n_new;
        } else {
            *out++ = *text++;
        }
    }
    return copy;
}

/* A study is only read: its runs follow from its definition. */
static void judge_study(struct work *work, int line, const char *change)
{
    const char *base = strrchr(work->path, '/') + 1;
    char said[KEPT_FILES_LINE_CHARS];
    struct study study = {0};
    struct arena arena;
    struct diag diag;
    diag_init(&diag);
    arena_init(&arena);
    append(work, "", 1);
    if (study_parse("FILE", ".", work->variant, &arena, &study, &diag) == 0)
        snprintf(said, sizeof said, "%s %d %s: %zu points, %zu runs, %.8s", base, line + 1, change, study.n_points,
                 study.n_runs, study.hash);
    else
        snprintf(said, sizeof said, "%s %d %s: %.40s: %.60s", base, line + 1, change, diag.items[0].where,
                 diag.items[0].text);
    work->each(work->context, said);
    arena_fini(&arena);
}

/* Runs the scenario with the variant, and reports what it comes to. */
static void judge(struct work *work, int line, const char *change)
{
    const char *base = strrchr(work->path, '/') + 1;
    char name[32], path[PATH_CHARS], said[KEPT_FILES_LINE_CHARS];
    struct kept_results results;
    snprintf(name, sizeof name, "variant%d", work->n_variants++);
    snprintf(path, sizeof path, "%s/%s%s", work->directory, name, strrchr(base, '.'));
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(work->variant, 1, work->n_chars, file) != work->n_chars) abort();
    fclose(file);
    char *json = replaced(work->scenario, "FILE", path);
    const int code = kept_run(json, &work->memory, &results);
    /* The error does not depend on the directory: without columns of the scenario, and with another name. */
    char *with_name = replaced(results.error, path, "FILE"), *error = replaced(with_name, name, "NAME");
    const char *text = strncmp(error, "world:", 6) == 0 ? strstr(error, "error") : error;
    if (error[0] != 0)
        snprintf(said, sizeof said, "%s %d %s: %.60s", base, line + 1, change, text);
    else
        snprintf(said, sizeof said, "%s %d %s: code %d, %d warnings, %.8s %.8s", base, line + 1, change, code,
                 results.n_warnings, results.rows, results.metrics);
    work->each(work->context, said);
    free(with_name);
    free(error);
    free(json);
    unlink(path);
}

/* The file with a line that is replaced by a text, which may have none, one or several lines. */
static void judge_line(struct work *work, int line, const char *change, const char *text, size_t n)
{
    work->n_chars = 0;
    for (int i = 0; i < work->n_lines; i++) {
        if (i == line)
            append(work, text, n);
        else
            append(work, work->lines[i], strlen(work->lines[i]));
    }
    if (work->scenario != NULL)
        judge(work, line, change);
    else
        judge_study(work, line, change);
}

static void judge_numbers(struct work *work, int line)
{
    const char *text = work->lines[line];
    int n_numbers = 0;
    for (const char *at = text; *at != 0 && n_numbers < MOST_NUMBERS; at++) {
        const size_t n = strspn(at, "0123456789.");
        if (n == 0) continue;
        for (int i = 0; i < N_OTHERS; i++) {
            char change[40], whole[MOST_CHARS / 16];
            snprintf(change, sizeof change, "number %d '%s'", n_numbers + 1, others[i]);
            snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - text), text, others[i], at + n);
            judge_line(work, line, change, whole, strlen(whole));
        }
        n_numbers++;
        at += n - 1;
    }
}

static void judge_variants(struct work *work)
{
    for (int line = 0; line < work->n_lines; line++) {
        const char *text = work->lines[line];
        const size_t n = strlen(text);
        char twice[MOST_CHARS / 16];
        judge_line(work, line, "lost", "", 0);
        judge_line(work, line, "cut", text, n / 2);
        snprintf(twice, sizeof twice, "%s%s", text, text);
        judge_line(work, line, "twice", twice, 2 * n);
        snprintf(twice, sizeof twice, "\n\t%s", text);
        judge_line(work, line, "indented", twice, n + 2);
        judge_numbers(work, line);
    }
}

/* Splits the file into its lines. Returns 0 or SIM_E_IO. */
static int read_lines(struct work *work, char *text)
{
    FILE *file = fopen(work->path, "r");
    if (file == NULL) return SIM_E_IO;
    const size_t n = fread(text, 1, MOST_CHARS - 1, file);
    text[n] = 0;
    fclose(file);
    work->n_lines = 0;
    for (char *at = text; *at != 0 && work->n_lines < MOST_LINES;) {
        const size_t length = strcspn(at, "\n") + (strchr(at, '\n') != NULL);
        work->lines[work->n_lines++] = strndup(at, length);
        at += length;
    }
    return 0;
}

int kept_files(const char *directory, kept_files_fn each, void *context)
{
    static char text[MOST_CHARS], variant[MOST_CHARS], row[8192];
    struct work work = {.directory = directory, .variant = variant, .each = each, .context = context};
    int code = 0;
    FILE *list = fopen("tests/golden/files.jsonl", "r");
    if (list == NULL) return SIM_E_IO;
    catalog_memory_init(&work.memory);
    while (code == 0 && fgets(row, sizeof row, list) != NULL) {
        cJSON *tree = cJSON_Parse(row), *item = cJSON_GetObjectItem(tree, "scenario");
        char *scenario = item != NULL ? cJSON_PrintUnformatted(item) : NULL;
        work.path = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "file"));
        work.scenario = scenario;
        code = work.path == NULL ? SIM_E_DATA : read_lines(&work, text);
        if (code == 0) judge_variants(&work);
        while (work.n_lines > 0) free(work.lines[--work.n_lines]);
        cJSON_free(scenario);
        cJSON_Delete(tree);
    }
    catalog_memory_fini(&work.memory);
    fclose(list);
    return code;
}

static void write_line(void *context, const char *line)
{
    fprintf(context, "%s\n", line);
}

int kept_files_write(const char *directory, FILE *out)
{
    return kept_files(directory, write_line, out);
}
