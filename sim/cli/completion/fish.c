/* Completion for fish: one `complete` command for each verb, option and list of words. */
#include "sim/cli/completion/completion.h"

#include <string.h>

/* Writes a text between single quotes. */
static void add_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text != 0; text++) {
        if (*text == '\'' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void add_value(FILE *out, const struct option *option)
{
    switch (completion_value(option)) {
    case COMPLETION_NONE: break;
    case COMPLETION_CHOICES:
        fputs(" -x -a '", out);
        for (int i = 0; option->choices[i] != NULL; i++) fprintf(out, "%s%s", i > 0 ? " " : "", option->choices[i]);
        fputc('\'', out);
        break;
    case COMPLETION_GPU: fputs(" -x -a '(__orrery_list gpus)'", out); break;
    case COMPLETION_SETTING: fputs(" -x -a '(__orrery_set)'", out); break;
    case COMPLETION_FILE: fputs(" -r", out); break;
    }
}

static void add_option(FILE *out, const struct verb *verb, const struct option *option)
{
    fprintf(out, "complete -c orrery -n '__orrery_verb %s'", verb->name);
    if (option->letter != 0) fprintf(out, " -s %c", option->letter);
    fprintf(out, " -l %s", option->name);
    add_value(out, option);
    fputs(" -d ", out);
    add_quoted(out, option->help);
    fputc('\n', out);
}

static void add_verb(FILE *out, const struct verb *verb, const struct option *table)
{
    fprintf(out, "\ncomplete -c orrery -n '__orrery_verb' -f -a %s -d ", verb->name);
    add_quoted(out, verb->summary);
    fprintf(out, "\ncomplete -c orrery -n '__orrery_verb %s' -a '", verb->name);
    completion_words(out, verb);
    if (completion_takes(verb, "SCENARIO")) fputs("(__orrery_list scenarios) ", out);
    if (completion_takes(verb, "POLICY")) fputs("(__orrery_policies)", out);
    fprintf(out, "'\ncomplete -c orrery -n '__orrery_verb %s' -l help -d 'print all options'\n", verb->name);
    for (const struct option *option = table; option->name != NULL; option++) add_option(out, verb, option);
}

static void add_keys(FILE *out)
{
    for (const struct completion_key *key = completion_keys; key->pattern != NULL; key++) {
        fprintf(out, "        case '%s'\n", key->pattern);
        if (strcmp(key->listing, "policies") == 0)
            fputs("            set values (__orrery_policies (string replace -r '.*\\.' '' $key))\n", out);
        else
            fprintf(out, "            set values (__orrery_list %s)\n", key->listing);
    }
    fprintf(out, "        case keep\n            set values %s\n", completion_keep);
}

static const char head[] =
    "# Completion of orrery for fish, made by 'orrery help --fish'.\n"
    "function __orrery_list\n"
    "    orrery list $argv[1] 2>/dev/null | awk 'NR > 1 { print $1 }'\n"
    "end\n"
    "\n"
    "function __orrery_policies\n"
    "    orrery list policies 2>/dev/null |\n"
    "        awk -v family=\"$argv[1]\" 'NR > 1 && (family == \"\" || $1 == family) { print $2 }'\n"
    "end\n"
    "\n"
    "# Whether the verb is this one; without an argument, whether there is no verb yet.\n"
    "function __orrery_verb\n"
    "    set -l words (commandline -opc)\n"
    "    test \"$words[2]\" = \"$argv[1]\"\n"
    "end\n"
    "\n"
    "# KEY=VALUE, by the key.\n"
    "function __orrery_set\n"
    "    set -l key (string match -r '^[^=]*(?==)' -- (string replace -r '^--set=' '' -- (commandline -ct)))\n"
    "    or return\n"
    "    set -l values\n"
    "    switch $key\n";

void completion_fish(FILE *out)
{
    fputs(head, out);
    add_keys(out);
    fputs("    end\n"
          "    for value in $values\n"
          "        echo $key=$value\n"
          "    end\n"
          "end\n\n"
          "complete -c orrery -n '__orrery_verb' -l help -d 'print all verbs'\n"
          "complete -c orrery -n '__orrery_verb' -l version -d 'print the version'\n",
          out);
    completion_each(out, add_verb);
}
