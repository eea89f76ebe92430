/* Completion for zsh: specifications of _arguments, one list per verb. */
#include "sim/cli/completion/completion.h"

#include <string.h>

/* Writes a text within a specification of _arguments or _describe, between single quotes. */
static void add_text(FILE *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\'') fputs("'\\'", out);
        if (strchr("[]:\\", *text) != NULL) fputc('\\', out);
        fputc(*text, out);
    }
}

/* What the option's value may be: an action of _arguments. */
static void add_value(FILE *out, const struct option *option)
{
    if (completion_value(option) == COMPLETION_NONE) return;
    fputc(':', out);
    add_text(out, option->argument);
    fputc(':', out);
    switch (completion_value(option)) {
    case COMPLETION_CHOICES:
        for (int i = 0; option->choices[i] != NULL; i++) fprintf(out, "%c%s", i > 0 ? ' ' : '(', option->choices[i]);
        fputc(')', out);
        break;
    case COMPLETION_GPU: fputs(" _orrery_list gpus", out); break; /* the blank: called without more arguments */
    case COMPLETION_SETTING: fputs("_orrery_set", out); break;
    default: fputs("_files", out);
    }
}

static void add_spec(FILE *out, const struct option *option, const char *prefix)
{
    const bool has_value = completion_value(option) != COMPLETION_NONE;
    fprintf(out, " \\\n            '%s", option->kind == OPTION_TEXTS ? "*" : "");
    fprintf(out, "%s%s[", prefix, has_value ? prefix[1] == '-' ? "=" : "+" : "");
    add_text(out, option->help);
    fputc(']', out);
    add_value(out, option);
    fputc('\'', out);
}

static void add_verb(FILE *out, const struct verb *verb, const struct option *table)
{
    char prefix[64];
    fprintf(out, "    %s)\n        _arguments -s '(- *)--help[print all options]'", verb->name);
    for (const struct option *option = table; option->name != NULL; option++) {
        snprintf(prefix, sizeof prefix, "--%s", option->name);
        add_spec(out, option, prefix);
        snprintf(prefix, sizeof prefix, "-%c", option->letter);
        if (option->letter != 0) add_spec(out, option, prefix);
    }
    fputs(" \\\n            '*: :->arguments' && found=0\n"
          "        [[ $state == arguments ]] || return found\n"
          "        compadd -- ",
          out);
    completion_words(out, verb);
    fputs("&& found=0\n", out);
    if (completion_takes(verb, "SCENARIO")) fputs("        _orrery_list scenarios && found=0\n", out);
    if (completion_takes(verb, "POLICY")) fputs("        _orrery_policies '' && found=0\n", out);
    fputs("        ;;\n", out);
}

static void add_summary(FILE *out, const struct verb *verb, const struct option *table)
{
    (void)table;
    fprintf(out, "        '%s:", verb->name);
    add_text(out, verb->summary);
    fputs("'\n", out);
}

static void add_keys(FILE *out)
{
    for (const struct completion_key *key = completion_keys; key->pattern != NULL; key++) {
        if (strcmp(key->listing, "policies") == 0)
            fprintf(out, "    %s) _orrery_policies \"${key##*.}\" ;;\n", key->pattern);
        else
            fprintf(out, "    %s) _orrery_list %s ;;\n", key->pattern, key->listing);
    }
    fprintf(out, "    keep) compadd -- %s ;;\n", completion_keep);
}

static const char head[] =
    "#compdef orrery\n"
    "# Completion of orrery for zsh, made by 'orrery help --zsh'.\n"
    "_orrery_list() { compadd -- ${(f)\"$(orrery list $1 2>/dev/null | awk 'NR > 1 { print $1 }')\"}; }\n"
    "_orrery_policies() {\n"
    "    compadd -- ${(f)\"$(orrery list policies 2>/dev/null |\n"
    "        awk -v family=\"$1\" 'NR > 1 && (family == \"\" || $1 == family) { print $2 }')\"}\n"
    "}\n"
    "\n"
    "# The value in KEY=VALUE, by its key.\n"
    "_orrery_set() {\n"
    "    compset -P 1 '*=' || return 1\n"
    "    local key=${${IPREFIX%=}##*=}\n"
    "    case $key in\n";

static const char body[] = "    *) return 1 ;;\n"
                           "    esac\n"
                           "}\n"
                           "\n"
                           "_orrery() {\n"
                           "    local curcontext=$curcontext state line found=1\n"
                           "    typeset -A opt_args\n"
                           "    local -a verbs=(\n";

static const char tail[] = "    esac\n"
                           "    [[ $state == arguments ]] && _files && found=0\n"
                           "    return found\n"
                           "}\n"
                           "\n"
                           "if [[ $funcstack[1] == _orrery ]]; then _orrery \"$@\"; else compdef _orrery orrery; fi\n";

void completion_zsh(FILE *out)
{
    fputs(head, out);
    add_keys(out);
    fputs(body, out);
    completion_each(out, add_summary);
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe verb verbs -- '(--help --version)'\n"
          "        return\n"
          "    fi\n"
          "    local verb=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $verb in\n",
          out);
    completion_each(out, add_verb);
    fputs(tail, out);
}
