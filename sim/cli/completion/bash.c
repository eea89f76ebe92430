/* Completion for bash: a function that fills COMPREPLY. */
#include "sim/cli/completion/completion.h"

#include <string.h>

static void add_choices(FILE *out, const struct verb *verb, const struct option *table)
{
    for (const struct option *option = table; option->name != NULL; option++) {
        const enum completion_value value = completion_value(option);
        if (value == COMPLETION_GPU)
            fprintf(out, "        %s:--%s) words=$(_orrery_list gpus) ;;\n", verb->name, option->name);
        if (value != COMPLETION_CHOICES) continue;
        fprintf(out, "        %s:--%s) words='", verb->name, option->name);
        for (int i = 0; option->choices[i] != NULL; i++) fprintf(out, "%s%s", i > 0 ? " " : "", option->choices[i]);
        fputs("' ;;\n", out);
    }
}

/* Options that take a file name or any text: the shell completes a file name. */
static void add_values(FILE *out, const struct verb *verb, const struct option *table)
{
    bool any = false;
    for (const struct option *option = table; option->name != NULL; option++) {
        if (completion_value(option) != COMPLETION_FILE) continue;
        fprintf(out, any ? "|%s:--%s" : "        %s:--%s", verb->name, option->name);
        if (option->letter != 0) fprintf(out, "|%s:-%c", verb->name, option->letter);
        any = true;
    }
    if (any) fputs(") _orrery_files; return ;;\n", out);
}

static void add_verb(FILE *out, const struct verb *verb, const struct option *table)
{
    fprintf(out, "        %s)\n            options='--help", verb->name);
    for (const struct option *option = table; option->name != NULL; option++) fprintf(out, " --%s", option->name);
    fputs("'\n            words='", out);
    completion_words(out, verb);
    fputs("'\n", out);
    if (completion_takes(verb, "SCENARIO")) fputs("            words=\"$words $(_orrery_list scenarios)\"\n", out);
    if (completion_takes(verb, "POLICY")) fputs("            words=\"$words $(_orrery_policies '')\"\n", out);
    fputs("            ;;\n", out);
}

static void add_keys(FILE *out)
{
    for (const struct completion_key *key = completion_keys; key->pattern != NULL; key++) {
        if (strcmp(key->listing, "policies") == 0)
            fprintf(out, "    %s) _orrery_policies \"${1##*.}\" ;;\n", key->pattern);
        else
            fprintf(out, "    %s) _orrery_list %s ;;\n", key->pattern, key->listing);
    }
    fprintf(out, "    keep) echo %s ;;\n", completion_keep);
}

static const char head[] =
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
    "    case $1 in\n";

static const char body[] = "    esac\n"
                           "}\n"
                           "\n"
                           "_orrery() {\n"
                           "    local cur=${COMP_WORDS[COMP_CWORD]} prev= verb=${COMP_WORDS[1]} options= words= i\n"
                           "    ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                           "    COMPREPLY=()\n"
                           "    if ((COMP_CWORD == 1)); then\n";

static const char setting[] = "    # The shell takes KEY=VALUE apart at the '='.\n"
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

static const char tail[] = "    esac\n"
                           "    if [[ $cur == -* ]]; then\n"
                           "        _orrery_offer \"$options\"\n"
                           "    else\n"
                           "        _orrery_offer \"$words\"\n"
                           "        _orrery_files\n"
                           "    fi\n"
                           "}\n"
                           "complete -o filenames -F _orrery orrery\n";

void completion_bash(FILE *out)
{
    fputs(head, out);
    add_keys(out);
    fputs(body, out);
    fputs("        _orrery_offer '", out);
    completion_verbs(out);
    fputs("--help --version'\n        return\n    fi\n", out);
    fputs(setting, out);
    completion_each(out, add_choices);
    completion_each(out, add_values);
    fputs("    esac\n    if [[ -n $words ]]; then\n        _orrery_offer \"$words\"\n        return\n    fi\n"
          "    case $verb in\n",
          out);
    completion_each(out, add_verb);
    fputs(tail, out);
}
