#include "sim/cli/manual.h"

#include "sim/cli/version.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* --- The manual page --- */

/* Escapes a text for roff: dashes, backslashes, and requests at the start of a line. */
static void roff(FILE *out, const char *text, size_t n)
{
    bool at_start = true;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (at_start && (c == '.' || c == '\'')) fputs("\\&", out);
        at_start = c == '\n';
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
    }
}

static void roff_text(FILE *out, const char *text)
{
    roff(out, text, strlen(text));
}

static void page_usage(FILE *out, const struct verb *verb)
{
    for (const char *line = verb->usage; *line != 0;) {
        size_t n = strcspn(line, "\n");
        fprintf(out, ".B orrery %s\n", verb->name);
        if (n > 0) {
            roff(out, line, n);
            fputc('\n', out);
        }
        line += n + (line[n] == '\n');
        if (*line != 0) fputs(".br\n", out);
    }
}

static void page_option(FILE *out, const struct option *option)
{
    fputs(".TP\n", out);
    if (option->letter != 0) fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    roff_text(out, option->name);
    fputs("\\fR", out);
    if (option->argument != NULL) {
        fputs(" \\fI", out);
        roff_text(out, option->argument);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    roff_text(out, option->help);
    fputc('\n', out);
}

static void page_verb(FILE *out, const struct verb *verb)
{
    struct option table[VERB_MAX_OPTIONS];
    verb_options(verb, table);
    fprintf(out, ".SS orrery %s\n", verb->name);
    page_usage(out, verb);
    fputs(".PP\n", out);
    roff_text(out, verb->summary);
    fputc('\n', out);
    for (const struct option *option = table; option->name != NULL; option++) page_option(out, option);
    if (verb->notes == NULL) return;
    fputs(".PP\n.nf\n", out);
    roff_text(out, verb->notes);
    fputs(".fi\n", out);
}

void manual_page(FILE *out)
{
    fprintf(out, ".TH ORRERY 1 \"\" \"orrery %s\" \"User Commands\"\n.SH NAME\n", version_text());
    fputs(
        "orrery \\- simulate GPU datacenters and the LLM work that runs in them\n"
        ".SH SYNOPSIS\n.B orrery\n.I VERB\n[\\fIargument\\fR ...] [\\fIoption\\fR ...]\n"
        ".SH DESCRIPTION\nOrrery replays traces of requests and jobs against policies of batching, routing, scheduling and\n"
        "placement on calibrated cost models, and writes what happened to a SQLite database. Standard output is the\n"
        "result: the same run prints the same bytes. Progress and findings go to standard error.\n.SH VERBS\n",
        out);
    size_t n;
    const struct verb *const *verbs = cli_verbs(&n);
    for (size_t i = 0; i < n; i++) page_verb(out, verbs[i]);
    fputs(".SH EXIT STATUS\n", out);
    roff_text(out, cli_exit_text());
    fputs(
        ".SH ENVIRONMENT\n.TP\n.B ORRERY_DATA\nthe directory that holds configs and traces, instead of the installed one\n"
        ".SH SEE ALSO\n.BR sqlite3 (1)\n",
        out);
}

/* --- Completion --- */

/* The words that may follow the verb, from its usage: "gpus|llms", "config SCENARIO". Names in capitals stand for
 * other words. */
static void first_words(FILE *out, const struct verb *verb)
{
    for (const char *line = verb->usage; *line != 0;) {
        size_t n = strcspn(line, "\n"), n_word = strcspn(line, " \n");
        bool is_word = islower((unsigned char)line[0]) && memchr(line, '.', n_word) == NULL;
        for (size_t i = 0; is_word && i < n_word; i++) fputc(line[i] == '|' ? ' ' : line[i], out);
        if (is_word) fputc(' ', out);
        line += n + (line[n] == '\n');
    }
}

static bool takes(const struct verb *verb, const char *what)
{
    return strstr(verb->usage, what) != NULL;
}

static bool is_gpu(const struct option *option)
{
    return option->argument != NULL && strcmp(option->argument, "GPU") == 0;
}

static void bash_choices(FILE *out, const struct verb *verb, const struct option *table)
{
    for (const struct option *option = table; option->name != NULL; option++) {
        if (is_gpu(option)) fprintf(out, "        %s:--%s) words=$(_orrery_list gpus) ;;\n", verb->name, option->name);
        if (option->kind != OPTION_CHOICE) continue;
        fprintf(out, "        %s:--%s) words='", verb->name, option->name);
        for (int i = 0; option->choices[i] != NULL; i++) fprintf(out, "%s%s", i > 0 ? " " : "", option->choices[i]);
        fputs("' ;;\n", out);
    }
}

/* Options that take a file name or any text: the shell completes a file name. */
static void bash_values(FILE *out, const struct verb *verb, const struct option *table)
{
    bool any = false;
    for (const struct option *option = table; option->name != NULL; option++) {
        if (option->kind != OPTION_TEXT && option->kind != OPTION_TEXTS) continue;
        if (strcmp(option->name, "set") == 0 || is_gpu(option)) continue;
        fprintf(out, any ? "|%s:--%s" : "        %s:--%s", verb->name, option->name);
        if (option->letter != 0) fprintf(out, "|%s:-%c", verb->name, option->letter);
        any = true;
    }
    if (any) fputs(") _orrery_files; return ;;\n", out);
}

static void bash_verb(FILE *out, const struct verb *verb, const struct option *table)
{
    fprintf(out, "        %s)\n            options='--help", verb->name);
    for (const struct option *option = table; option->name != NULL; option++) fprintf(out, " --%s", option->name);
    fputs("'\n            words='", out);
    first_words(out, verb);
    fputs("'\n", out);
    if (takes(verb, "SCENARIO")) fputs("            words=\"$words $(_orrery_list scenarios)\"\n", out);
    if (takes(verb, "POLICY")) fputs("            words=\"$words $(_orrery_policies '')\"\n", out);
    fputs("            ;;\n", out);
}

static void bash_each(FILE *out, void (*write)(FILE *, const struct verb *, const struct option *))
{
    size_t n;
    const struct verb *const *verbs = cli_verbs(&n);
    for (size_t i = 0; i < n; i++) {
        struct option table[VERB_MAX_OPTIONS];
        verb_options(verbs[i], table);
        write(out, verbs[i], table);
    }
}

static const char bash_head[] =
    "# Completion of orrery for bash, made by 'orrery help --bash'.\n"
    "_orrery_list() { orrery list \"$1\" 2>/dev/null | awk 'NR > 1 { print $1 }'; }\n"
    "_orrery_policies() { orrery list policies 2>/dev/null | awk -v family=\"$1\" 'NR > 1 && (family == \"\" || $1 == family) { print $2 }'; }\n"
    "\n"
    "# Offer words and files that begin like the word under the cursor; one per line, since names may\n"
    "# hold blanks. What is under the cursor is still quoted as it was typed.\n"
    "_orrery_offer() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "_orrery_files() {\n"
    "    local word=${cur#[\\\"\\']}\n"
    "    mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"${word//\\\\/}\")\n"
    "}\n"
    "\n"
    "# What a value of --set may be, by its key.\n"
    "_orrery_set() {\n"
    "    case $1 in\n"
    "    cluster.gpu) _orrery_list gpus ;;\n"
    "    *.llm) _orrery_list llms ;;\n"
    "    *.engine) _orrery_list engines ;;\n"
    "    *.batching | *.routing | *.scheduler | *.placement) _orrery_policies \"${1##*.}\" ;;\n"
    "    keep) echo rows metrics decisions ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_orrery() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev= verb=${COMP_WORDS[1]} options= words= i\n"
    "    ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n";

static const char bash_set[] = "    # The shell takes KEY=VALUE apart at the '='.\n"
                               "    if [[ $cur == = ]]; then\n"
                               "        cur=\n"
                               "        _orrery_offer \"$(_orrery_set \"$prev\")\"\n"
                               "        return\n"
                               "    elif [[ $prev == = ]]; then\n"
                               "        _orrery_offer \"$(_orrery_set \"${COMP_WORDS[COMP_CWORD - 2]}\")\"\n"
                               "        return\n"
                               "    elif [[ $prev == --set || $prev == -s ]]; then\n"
                               "        return\n"
                               "    fi\n"
                               "    case $verb:$prev in\n";

static const char bash_tail[] = "    esac\n"
                                "    if [[ $cur == -* ]]; then\n"
                                "        _orrery_offer \"$options\"\n"
                                "    else\n"
                                "        _orrery_offer \"$words\"\n"
                                "        _orrery_files\n"
                                "    fi\n"
                                "}\n"
                                "complete -o filenames -F _orrery orrery\n";

void manual_bash(FILE *out)
{
    size_t n;
    const struct verb *const *verbs = cli_verbs(&n);
    fputs(bash_head, out);
    fputs("        _orrery_offer '", out);
    for (size_t i = 0; i < n; i++) fprintf(out, "%s ", verbs[i]->name);
    fputs("--help --version'\n        return\n    fi\n", out);
    fputs(bash_set, out);
    bash_each(out, bash_choices);
    bash_each(out, bash_values);
    fputs("    esac\n    if [[ -n $words ]]; then\n        _orrery_offer \"$words\"\n        return\n    fi\n"
          "    case $verb in\n",
          out);
    bash_each(out, bash_verb);
    fputs(bash_tail, out);
}
