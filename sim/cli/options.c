#include "sim/cli/options.h"

#include <stdio.h>
#include <string.h>

enum { MAX_OPTIONS = 64, HELP_COLUMN = 28 };

/* The state of reading a command line. */
struct reading {
    const struct option *table;
    option_key_fn *explain_key;
    int argc, at; /* at: index of the current word */
    char **argv;
    void *values;
    struct diag *diag;
    int code;
};

static const struct option *find_name(const struct option *table, const char *name, size_t n)
{
    for (const struct option *option = table; option->name != NULL; option++)
        if (strlen(option->name) == n && strncmp(option->name, name, n) == 0) return option;
    return NULL;
}

static const struct option *find_letter(const struct option *table, char letter)
{
    for (const struct option *option = table; option->name != NULL; option++)
        if (option->letter == letter) return option;
    return NULL;
}

static void fail_unknown(struct reading *reading, const char *word, size_t n)
{
    const char *names[MAX_OPTIONS];
    size_t n_names = 0;
    for (const struct option *option = reading->table; option->name != NULL && n_names < MAX_OPTIONS; option++)
        names[n_names++] = option->name;
    char name[64], hint[DIAG_TEXT_CHARS];
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    const char *nearest = text_nearest(name + strspn(name, "-"), names, n_names);
    const bool may_be_key = n > 3 && find_name(reading->table, "set", 3) != NULL;
    enum option_hint known = OPTION_UNKNOWN;
    if (may_be_key && reading->explain_key != NULL) known = reading->explain_key(name + 2, hint, sizeof hint);
    if (nearest != NULL && known != OPTION_MEANT)
        snprintf(hint, sizeof hint, "did you mean '--%s'?", nearest);
    else if (may_be_key && reading->explain_key == NULL)
        snprintf(hint, sizeof hint, "'--help' lists the options; for a key, use --set %s=VALUE", name + 2);
    else if (known == OPTION_UNKNOWN)
        snprintf(hint, sizeof hint, "'--help' lists the options");
    reading->code = diag_error(reading->diag, SIM_E_USAGE, NULL, hint, "unknown option '%s'", name);
}

static int find_choice(const struct option *option, const char *word)
{
    for (int i = 0; option->choices[i] != NULL; i++)
        if (strcmp(option->choices[i], word) == 0) return i;
    return -1;
}

static void set_choice(struct reading *reading, const struct option *option, const char *word)
{
    int choice = find_choice(option, word);
    if (choice >= 0) {
        *(int *)((char *)reading->values + option->offset) = choice;
        return;
    }
    struct text hint;
    text_init(&hint);
    for (int i = 0; option->choices[i] != NULL; i++)
        text_printf(&hint, "%s%s", i == 0 ? "it is one of " : ", ", option->choices[i]);
    reading->code = diag_error(reading->diag, SIM_E_USAGE, NULL, hint.chars, "option '--%s' does not take '%s'",
                               option->name, word);
    text_fini(&hint);
}

static void add_text(struct reading *reading, const struct option *option, const char *word)
{
    struct option_texts *texts = (struct option_texts *)(void *)((char *)reading->values + option->offset);
    if (texts->n == OPTION_MAX_TEXTS)
        reading->code = diag_error(reading->diag, SIM_E_USAGE, NULL, NULL, "more than %d options '--%s'",
                                   OPTION_MAX_TEXTS, option->name);
    else
        texts->items[texts->n++] = word;
}

static void set_word(struct reading *reading, const struct option *option)
{
    int *to = (int *)(void *)((char *)reading->values + option->offset);
    const int choice = find_choice(option, option->name);
    if (*to != 0 && *to != choice)
        reading->code = diag_error(reading->diag, SIM_E_USAGE, NULL, NULL, "--%s and --%s exclude each other",
                                   option->choices[*to], option->name);
    *to = choice;
}

static bool is_flag(const struct option *option)
{
    return option->kind == OPTION_FLAG || option->kind == OPTION_WORD;
}

/* Takes an option whose value is `value` if attached to it, else the next word. */
static void take(struct reading *reading, const struct option *option, const char *value)
{
    void *to = (char *)reading->values + option->offset;
    if (is_flag(option)) {
        if (option->kind == OPTION_FLAG) *(bool *)to = true;
        if (option->kind == OPTION_WORD) set_word(reading, option);
        if (value != NULL)
            reading->code = diag_error(reading->diag, SIM_E_USAGE, NULL, NULL, "option '--%s' takes no value",
                                       option->name);
        return;
    }
    if (value == NULL && reading->at + 1 < reading->argc) value = reading->argv[++reading->at];
    if (value == NULL) {
        reading->code = diag_error(reading->diag, SIM_E_USAGE, NULL, NULL, "option '--%s' needs %s", option->name,
                                   option->argument);
        return;
    }
    if (option->kind == OPTION_TEXT) *(const char **)to = value;
    if (option->kind == OPTION_TEXTS) add_text(reading, option, value);
    if (option->kind == OPTION_CHOICE) set_choice(reading, option, value);
}

/* Takes a word that begins with a dash: "--name", "--name=value", "-n", "-nvalue", or several flags, "-ab". */
static void take_word(struct reading *reading, const char *word)
{
    if (word[1] == '-') {
        size_t n = strcspn(word + 2, "=");
        const struct option *option = find_name(reading->table, word + 2, n);
        if (option == NULL)
            fail_unknown(reading, word, n + 2);
        else
            take(reading, option, word[2 + n] == '=' ? word + n + 3 : NULL);
        return;
    }
    const size_t n_name = strcspn(word + 1, "=");
    if (n_name > 2 && find_name(reading->table, word + 1, n_name) != NULL) { /* "-set" is no "-s et" */
        fail_unknown(reading, word, n_name + 1);
        return;
    }
    for (const char *letter = word + 1; *letter != 0; letter++) {
        const struct option *option = find_letter(reading->table, *letter);
        if (option == NULL) {
            fail_unknown(reading, word, strlen(word));
            return;
        }
        bool has_value = !is_flag(option) && letter[1] != 0;
        take(reading, option, has_value ? letter + 1 : NULL);
        if (!is_flag(option)) return;
    }
}

int options_parse(const struct option *table, option_key_fn *explain_key, int argc, char **argv, void *values,
                  struct diag *diag)
{
    struct reading reading = {.table = table, .explain_key = explain_key, .argc = argc, .argv = argv, .values = values,
                              .diag = diag};
    int n_others = 0;
    bool ended = false;
    for (; reading.at < argc; reading.at++) {
        char *word = argv[reading.at];
        if (ended || word[0] != '-' || word[1] == 0)
            argv[n_others++] = word;
        else if (strcmp(word, "--") == 0)
            ended = true;
        else
            take_word(&reading, word);
    }
    return reading.code != 0 ? reading.code : n_others;
}

void options_help(const struct option *table, struct text *help)
{
    for (const struct option *option = table; option->name != NULL; option++) {
        if (option->group != NULL) text_printf(help, "\n%s:\n", option->group);
        char shown[96], letter[8] = "    ";
        if (option->letter != 0) snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(shown, sizeof shown, "  %s--%s%s%s", letter, option->name, option->argument != NULL ? " " : "",
                 option->argument != NULL ? option->argument : "");
        text_printf(help, "%-*s  %s\n", HELP_COLUMN, shown, option->help);
    }
}
