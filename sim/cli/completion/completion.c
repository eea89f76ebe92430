/* What the completion scripts of all shells take from the tables of verbs and options. */
#include "sim/cli/completion/completion.h"

#include <ctype.h>
#include <string.h>

const struct completion_key completion_keys[] = {
    {"*.gpu", "gpus"},         {"*.llm", "llms"},           {"*.engine", "engines"},     {"*.batching", "policies"},
    {"*.routing", "policies"}, {"*.scheduler", "policies"}, {"*.placement", "policies"}, {0}};

const char completion_keep[] = "rows metrics decisions";

enum completion_value completion_value(const struct option *option)
{
    if (option->kind == OPTION_FLAG || option->kind == OPTION_WORD) return COMPLETION_NONE;
    if (option->kind == OPTION_CHOICE) return COMPLETION_CHOICES;
    if (strcmp(option->argument, "GPU") == 0) return COMPLETION_GPU;
    return strcmp(option->name, "set") == 0 ? COMPLETION_SETTING : COMPLETION_FILE;
}

void completion_words(FILE *out, const struct verb *verb)
{
    for (const char *line = verb->usage; *line != 0;) {
        size_t n = strcspn(line, "\n"), n_word = strcspn(line, " \n");
        bool is_word = islower((unsigned char)line[0]) && memchr(line, '.', n_word) == NULL;
        for (size_t i = 0; is_word && i < n_word; i++) fputc(line[i] == '|' ? ' ' : line[i], out);
        if (is_word) fputc(' ', out);
        line += n + (line[n] == '\n');
    }
}

bool completion_takes(const struct verb *verb, const char *what)
{
    return strstr(verb->usage, what) != NULL;
}

void completion_verbs(FILE *out)
{
    size_t n;
    const struct verb *const *verbs = cli_verbs(&n);
    for (size_t i = 0; i < n; i++) fprintf(out, "%s ", verbs[i]->name);
}

void completion_each(FILE *out, void (*write)(FILE *out, const struct verb *verb, const struct option *table))
{
    size_t n;
    const struct verb *const *verbs = cli_verbs(&n);
    for (size_t i = 0; i < n; i++) {
        struct option table[VERB_MAX_OPTIONS];
        verb_options(verbs[i], table);
        write(out, verbs[i], table);
    }
}
