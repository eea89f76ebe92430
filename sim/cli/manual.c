#include "sim/cli/manual.h"

#include "sim/cli/version.h"

#include <stdbool.h>
#include <string.h>

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
