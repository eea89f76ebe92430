/* Finds the verb, reads its options, runs it and prints its findings. */
#include "sim/cli/cli.h"

#include "sim/cli/apart.h"
#include "sim/cli/completion/completion.h"
#include "sim/cli/file_kind.h"
#include "sim/cli/manual.h"
#include "sim/cli/paths.h"
#include "sim/cli/version.h"
#include "sim/core/mem.h"

#include <string.h>

#define VERB_POINTER(name) &verb_##name,
static const struct verb *const verbs[] = {CLI_VERBS(VERB_POINTER)};
#undef VERB_POINTER
enum { N_VERBS = sizeof verbs / sizeof *verbs };

const struct verb *const *cli_verbs(size_t *n)
{
    *n = N_VERBS;
    return verbs;
}

const char *cli_exit_text(void)
{
    return "0 ok, 1 gate not met, 2 usage or config, 3 input data or results file, 4 policy fault,\n"
           "5 no progress, 70 internal error, 130 interrupted.\n";
}

static void print_help(FILE *out)
{
    fprintf(out, "Orrery simulates GPU datacenters and the LLM work that runs in them.\n\nusage: orrery VERB ...\n\n");
    for (int i = 0; i < N_VERBS; i++) fprintf(out, "  %-10s%s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(out,
            "\n'orrery VERB --help' or 'orrery help VERB' explains a verb, 'orrery --version' prints the version.\n"
            "Exit status: %s",
            cli_exit_text());
}

/* Prints each line of `usage` behind "orrery VERB". */
static void print_usage(const struct verb *verb, FILE *out)
{
    const char *line = verb->usage;
    for (const char *head = "usage:"; *line != 0; head = "      ") {
        int n = (int)strcspn(line, "\n");
        fprintf(out, "%s orrery %s %.*s\n", head, verb->name, n, line);
        line += n + (line[n] == '\n');
    }
}

static int print_verb_help(const struct verb *verb, FILE *out)
{
    print_usage(verb, out);
    fprintf(out, "\n%s\n", verb->summary);
    struct text help;
    text_init(&help);
    struct option table[VERB_MAX_OPTIONS];
    verb_options(verb, table);
    options_help(table, &help);
    if (help.length > 0) fputs(help.chars, out);
    if (verb->notes != NULL) fprintf(out, "\n%s", verb->notes);
    if (verb->print_more != NULL) verb->print_more(out);
    int code = help.failed ? SIM_E_NOMEM : 0;
    text_fini(&help);
    return code;
}

static void print_findings(const struct diag *diag, FILE *err)
{
    for (int i = 0; i < diag->n_items; i++) {
        char line[DIAG_LINE_CHARS];
        diag_format(&diag->items[i], line, sizeof line);
        fprintf(err, "%s\n", line);
    }
    int more = diag->n_errors + diag->n_warnings - diag->n_items;
    if (more > 0) fprintf(err, "and %d more\n", more);
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    return false;
}

/* Writes the words that may follow the verb, "config|cost|links". Returns false if a line of its usage begins with
 * something else, such as SCENARIO or an option. */
static bool list_words(const struct verb *verb, char *words, size_t bytes)
{
    size_t n = 0, n_lines = 0;
    for (const char *line = verb->usage; *line != 0 && n < bytes; n_lines++) {
        const int n_word = (int)strcspn(line, " \n");
        if (line[strspn(line, "abcdefghijklmnopqrstuvwxyz|")] != line[n_word]) return false;
        n += (size_t)snprintf(words + n, bytes - n, "%s%.*s", n > 0 ? "|" : "", n_word, line);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return n_lines > 1 && n < bytes;
}

static bool takes_settings(const struct verb *verb)
{
    const struct option *option = verb->options;
    while (option->name != NULL && strcmp(option->name, "set") != 0) option++;
    return option->name != NULL;
}

static int check_count(struct cli *cli, const struct verb *verb, const struct cli_call *call)
{
    if (call->n_arguments >= verb->min_arguments && call->n_arguments <= verb->max_arguments) return 0;
    char words[DIAG_TEXT_CHARS / 2], hint[DIAG_TEXT_CHARS];
    if (call->n_arguments < verb->min_arguments && list_words(verb, words, sizeof words))
        snprintf(hint, sizeof hint, "usage: orrery %s %s ...; '--help' has the rest", verb->name, words);
    else
        snprintf(hint, sizeof hint, "usage: orrery %s %.*s", verb->name, (int)strcspn(verb->usage, "\n"), verb->usage);
    const char *extra = call->n_arguments > verb->max_arguments ? call->arguments[verb->max_arguments] : "";
    if (strchr(extra, '=') != NULL && takes_settings(verb))
        snprintf(hint, sizeof hint,
                 strlen(extra) > 1 ? "a setting goes behind --set: --set %.200s"
                                   : "a setting has no blanks: --set KEY%sVALUE",
                 extra);
    if (call->n_arguments > verb->max_arguments)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "unexpected argument '%s'",
                          call->arguments[verb->max_arguments]);
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "'orrery %s' needs an argument", verb->name);
}

/* Options that verbs share are stored behind the verb's own struct of options. */
static size_t shared_offset(const struct verb *verb)
{
    size_t align = _Alignof(struct option_texts);
    return (verb->options_bytes + align - 1) / align * align;
}

void verb_options(const struct verb *verb, struct option table[VERB_MAX_OPTIONS])
{
    size_t n = 0;
    for (; verb->options[n].name != NULL && n + 2 < VERB_MAX_OPTIONS; n++) table[n] = verb->options[n];
    if (verb->takes_plugins)
        table[n++] = (struct option){
            "Policies of your own", "plugin",  0,    OPTION_TEXTS,
            shared_offset(verb),    "FILE.so", NULL, "load a shared object's policies (see policies/README.md)"};
    table[n] = (struct option){0};
}

/* Loads the plug-ins and runs the verb, in a child process. Constructors and destructors of all of them run here. */
static int call_with_plugins(struct cli *cli, const struct verb *verb, const struct cli_call *call,
                             const struct option_texts *paths)
{
    struct apart *apart = cli->apart;
    char all[PLUGINS_CHARS];
    struct plugins *plugins = mem_zalloc(1, sizeof *plugins);
    if (plugins == NULL) return SIM_E_NOMEM;
    memcpy(all, apart->at_fault, sizeof all);
    plugins->at_fault = apart->at_fault;
    int code = plugins_load(paths, plugins, &cli->diag);
    plugins_blame(plugins, NULL);
    apart->is_loaded = true;
    cli->plugins = plugins;
    if (code == 0) code = verb->run(cli, call);
    cli->plugins = NULL;
    fflush(cli->out);
    apart->is_loaded = false;
    memcpy(apart->at_fault, all, sizeof all);
    plugins_close(plugins);
    plugins_blame(plugins, NULL);
    mem_free(plugins);
    return code;
}

static int call_verb(struct cli *cli, const struct verb *verb, const struct cli_call *call,
                     const struct option_texts *plugin_paths)
{
    struct option_texts argument = {.n = 1};
    if (verb->is_plugin != NULL && verb->is_plugin(call->arguments[0])) {
        if (plugin_paths->n > 0)
            return diag_error(&cli->diag, SIM_E_USAGE, NULL, "name a policy, or leave out --plugin",
                              "'orrery %s' takes one plug-in at a time", verb->name);
        argument.items[0] = call->arguments[0];
        plugin_paths = &argument;
    }
    if (!verb->takes_plugins || plugin_paths->n == 0) return verb->run(cli, call);
    int code = apart_begin(cli, plugin_paths);
    return code <= 0 ? code : call_with_plugins(cli, verb, call, plugin_paths);
}

static int run_verb(struct cli *cli, const struct verb *verb, int argc, char **argv)
{
    if (asks_for_help(argc, argv)) return print_verb_help(verb, cli->out);
    struct option table[VERB_MAX_OPTIONS];
    verb_options(verb, table);
    char *options = mem_zalloc(1, shared_offset(verb) + sizeof(struct option_texts));
    if (options == NULL) return SIM_E_NOMEM;
    int n = options_parse(table, verb->explain_key, argc, argv, options, &cli->diag);
    int code = n;
    if (n >= 0) {
        argv[n] = NULL;
        struct cli_call call = {.options = options, .n_arguments = n, .arguments = argv};
        code = 0;
        for (int i = 0; code == 0 && i < n && i < verb->results_arguments; i++)
            code = file_kind_check_results(argv[i], &cli->diag);
        if (code == 0) code = check_count(cli, verb, &call);
        if (code == 0) code = call_verb(cli, verb, &call, (const void *)(options + shared_offset(verb)));
    }
    mem_free(options);
    return code;
}

int cli_pick(struct cli *cli, const char *what, const char *word, const char *const *words)
{
    size_t n = 0;
    for (; words[n] != NULL; n++)
        if (strcmp(words[n], word) == 0) return (int)n;
    const char *nearest = text_nearest(word, words, n);
    struct text hint;
    text_init(&hint);
    if (nearest != NULL) text_printf(&hint, "did you mean '%s'?", nearest);
    for (size_t i = 0; nearest == NULL && i < n; i++) text_printf(&hint, "%s%s", i ? ", " : "known: ", words[i]);
    diag_error(&cli->diag, SIM_E_USAGE, NULL, hint.chars, "unknown %s '%s'", what, word);
    text_fini(&hint);
    return -1;
}

/* Writes what `orrery help FORM` generates for the installation. Returns whether the form exists. */
static bool write_generated(struct cli *cli, const char *form)
{
    static const struct {
        const char *form;
        void (*write)(FILE *out);
    } forms[] = {{"--man", manual_page}, {"--bash", completion_bash}, {"--zsh", completion_zsh},
                 {"--fish", completion_fish}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i].form, form) != 0) continue;
        forms[i].write(cli->out);
        return true;
    }
    return false;
}

/* The call that a word stands for which is no verb, by its meaning; NULL: it is not known. */
static const char *verb_meant(const char *word)
{
    static const char *const known[][2] = {
        {"simulate", "run"},   {"sim", "run"},       {"start", "run"},       {"exec", "run"},       {"execute", "run"},
        {"serve", "run"},      {"replay", "trace replay"}, {"benchmark", "run"}, {"bench", "run"},  {"resume", "sweep --resume"},
        {"graph", "plot"},     {"chart", "plot"},    {"draw", "plot"},       {"diff", "compare"},   {"cmp", "compare"},
        {"view", "show"},      {"open", "show"},     {"print", "show"},      {"stats", "show"},     {"summary", "show"},
        {"inspect", "show"},   {"results", "runs"},  {"history", "runs"},    {"html", "report"},    {"dashboard", "report"},
        {"sizing", "size"},    {"scale", "size"},    {"capacity", "size"},   {"optimize", "size"},  {"tune", "size"},
        {"train", "plan"},     {"training", "plan"}, {"study", "sweep"},     {"grid", "sweep"},     {"search", "sweep"},
        {"lint", "validate"},  {"verify", "check"},  {"test", "check"},      {"gate", "check"},     {"cost", "explain cost"},
        {"links", "explain links"}, {"schema", "explain schema"}, {"config", "explain config"}, {"ls", "list"},
        {"describe", "explain"}, {"clusters", "list clusters"}, {"gpus", "list gpus"}, {"llms", "list llms"}, {"models", "list llms"}, {"policies", "list policies"},
        {"metrics", "list metrics"}, {"keys", "list keys"}, {"scenarios", "list scenarios"}, {"studies", "list studies"},
        {"traces", "list traces"}, {"generate", "trace generate"}, {"convert", "trace convert"}, {"stat", "trace stat"},
        {"init", "list scenarios"}, {"new", "list scenarios"}, {"examples", "list scenarios"}, {"csv", "export"},
        {"dump", "export"},    {"query", "export"},  {"explain-cost", "explain cost"}, {"version", "--version"},
        {"debug", "why"},      {"trace-request", "why"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i][0], word) == 0) return known[i][1];
    return NULL;
}

/* Whether the word is one that `run` takes: a JSON file, or a scenario that comes with the program. */
static bool names_scenario(const char *word)
{
    const size_t n = strlen(word);
    struct arena arena;
    arena_init(&arena);
    const bool is_file = n > 5 && strcmp(word + n - 5, ".json") == 0 && paths_is_file(word);
    const bool is_scenario = is_file || paths_shipped(&arena, "scenarios", word) != NULL;
    arena_fini(&arena);
    return is_scenario;
}

/* The verb with this name; NULL after an error. */
static const struct verb *find_verb(struct cli *cli, const char *word)
{
    static const char *const options[] = {"--help", "--version"};
    const char *names[N_VERBS + 1] = {NULL};
    for (int i = 0; i < N_VERBS; i++) names[i] = verbs[i]->name;
    if (word[0] == '-') {
        const char *nearest = text_nearest(word, options, sizeof options / sizeof *options);
        diag_error(&cli->diag, SIM_E_USAGE, NULL,
                   nearest != NULL
                       ? strcmp(nearest, "--help") == 0 ? "did you mean '--help'?" : "did you mean '--version'?"
                       : "options follow a verb: orrery VERB [options]; 'orrery --help' lists the verbs",
                   "unknown option '%s'", word);
        return NULL;
    }
    const char *meant = verb_meant(word);
    char hint[64];
    if (meant != NULL) {
        snprintf(hint, sizeof hint, "it is 'orrery %s'", meant);
        diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "unknown verb '%s'", word);
        return NULL;
    }
    if (names_scenario(word)) {
        char run[DIAG_TEXT_CHARS];
        snprintf(run, sizeof run, "it is 'orrery run %.200s'", word);
        diag_error(&cli->diag, SIM_E_USAGE, NULL, run, "'%s' is no verb, but a scenario", word);
        return NULL;
    }
    const int found = cli_pick(cli, "verb", word, names);
    return found < 0 ? NULL : verbs[found];
}

static int help_verb(struct cli *cli, const char *word)
{
    const struct verb *verb = find_verb(cli, word);
    return verb == NULL ? SIM_E_USAGE : print_verb_help(verb, cli->out);
}

static int dispatch(struct cli *cli, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "help") == 0 && argc > 2 && write_generated(cli, argv[2])) return 0;
    if (strcmp(word, "help") == 0 && argc > 2) return help_verb(cli, argv[2]);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_help(cli->out);
        return 0;
    }
    if (strcmp(word, "--version") == 0) {
        fprintf(cli->out, "orrery %s (%s)\n", version_text(), version_commit());
        return 0;
    }
    if (argc < 2) {
        print_help(cli->err);
        return SIM_E_USAGE;
    }
    const struct verb *verb = find_verb(cli, word);
    return verb == NULL ? SIM_E_USAGE : run_verb(cli, verb, argc - 2, argv + 2);
}

int cli_main(struct cli *cli, int argc, char **argv)
{
    int code = dispatch(cli, argc, argv);
    if (cli->child_status != 0) return cli->child_status;
    if ((fflush(cli->out) != 0 || ferror(cli->out)) && code == 0)
        code = diag_error(&cli->diag, SIM_E_IO, NULL, NULL, "cannot write the result to standard output");
    print_findings(&cli->diag, cli->err);
    if (code < 0 && cli->diag.n_errors == 0 && argc > 1) fprintf(cli->err, "error: %s\n", sim_err_text(code));
    if (cli->apart != NULL) cli->apart->has_ended = true;
    return sim_err_exit_status(code);
}
