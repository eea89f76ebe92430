/* orrery conform: the conformance suite on a policy, built-in or a plug-in's. */
#include "policies/registry.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/paths.h"
#include "sim/cli/plugins.h"
#include "sim/cli/study/conform_child.h"
#include "sim/core/config/config_report.h"
#include "sim/core/number.h"
#include "sim/core/output.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

struct conform_options {
    struct option_texts settings;
    const char *keep, *limit;
    int form; /* enum answer_form */
};

#define AT(name) offsetof(struct conform_options, name)
static const struct option conform_options[] = {
    {"Options", "set", 's', OPTION_TEXTS, AT(settings), "KEY=VALUE", NULL, "a parameter of the policy: patience=1h"},
    {NULL, "keep", 0, OPTION_TEXT, AT(keep), "DIR", NULL, "write failed scenarios to this folder, for 'orrery run'"},
    {NULL, "limit", 0, OPTION_TEXT, AT(limit), "SECONDS", NULL,
     "time limit for the runs of one scenario, in seconds; default: 60"},
    {NULL, "json", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print one JSON object"},
    {NULL, "csv", 0, OPTION_WORD, AT(form), NULL, answer_forms, "print a line of CSV per policy"},
    {0}};
#undef AT

/* Limit of the runs of one scenario: hundreds of times the time of the slowest built-in policy. */
enum { LIMIT_S = 60, MAX_LIMIT_S = 86400 };

enum { MAX_POLICIES = 64 };

/* Policies under test. */
struct conforming {
    struct cli *cli;
    const struct conform_options *options;
    const struct plugins *plugins;
    struct conform_suite suite;
    struct arena arena;
    struct catalog catalog;
    struct catalog_memory memory; /* each child process has its own copy */
    struct answer answer; /* for programs: text is printed while policies are tested */
    struct conform_patience patience;
    size_t n_skipped; /* scenarios of this policy not run, after one that did not end */
    int code;         /* the worst so far */
};

/* Whether the answer is for programs; else the text goes out while policies are tested. */
static bool prints_data(const struct conforming *all)
{
    return answer_is_data((enum answer_form)all->options->form);
}

/* A policy fault outweighs a failed check. */
static void note_code(struct conforming *all, int code)
{
    if (code == SIM_E_POLICY || all->code == 0) all->code = code;
}

/* --- Output --- */

static const char *verdict_word(unsigned char verdict)
{
    static const char *const words[] = {[CONFORM_NOT_CHECKED] = "-", [CONFORM_PASSED] = "ok", [CONFORM_FAILED] = "FAILED"};
    return words[verdict];
}

static void table_columns(struct table_column columns[CONFORM_N_CHECKS + 1])
{
    columns[0] = (struct table_column)LEFT("scenario");
    for (int i = 0; i < CONFORM_N_CHECKS; i++)
        columns[i + 1] = (struct table_column)LEFT(conform_check_name((enum conform_check)i));
}

static void print_failure(FILE *out, const struct conform_case *wanted, const struct policy *policy,
                          const struct conform_result *result)
{
    answer_print(out, "\n%s, with %s", wanted->name, policy_family_partners(policy->family)[result->partner]);
    if (!isnan(result->t_s)) fprintf(out, ", %s %.9g s", result->is_last_call ? "last called at" : "at", result->t_s);
    answer_print(out, ": %s\n", result->text);
}

static void write_case(struct answer *answer, const struct conform_case *wanted, const struct policy *policy,
                       const struct conform_result *result)
{
    answer_open_row(answer, NULL, '{');
    answer_text(answer, "scenario", wanted->name);
    for (int i = 0; i < CONFORM_N_CHECKS; i++)
        if (result->verdicts[i] == CONFORM_NOT_CHECKED)
            answer_text(answer, conform_check_name((enum conform_check)i), NULL);
        else
            answer_bool(answer, conform_check_name((enum conform_check)i), result->verdicts[i] == CONFORM_PASSED);
    if (result->code != 0) {
        answer_text(answer, "with", policy_family_partners(policy->family)[result->partner]);
        answer_number(answer, "t_s", result->t_s);
        answer_bool(answer, "is_last_call", result->is_last_call);
        answer_text(answer, "failure", result->text);
    }
    answer_close(answer, '}');
}

/* DIR/scheduler-smallest-area-all-at-once.json; blanks and commas become '-'. */
static const char *case_path(struct conforming *all, const struct policy *policy, const struct conform_case *wanted)
{
    char *path = arena_printf(&all->arena, "%s/%s-%s-%s.json", all->options->keep, policy_family_name(policy->family),
                              policy->name, wanted->name);
    size_t n_head = strlen(all->options->keep) + 1;
    for (char *c = path != NULL ? path + n_head : NULL; c != NULL && *c != 0; c++)
        if (*c == ' ' || *c == ',') *c = '-';
    return path;
}

/* Writes the failed scenario, and prints how to repeat it. Evictors have no scenario. */
static int keep_case(struct conforming *all, const struct policy *policy, const struct conform_case *wanted,
                     const struct conform_result *result)
{
    struct diag *diag = &all->cli->diag;
    if (all->options->keep == NULL || conform_is_of_caches(policy->family)) return 0;
    if (mkdir(all->options->keep, 0777) != 0 && errno != EEXIST)
        return diag_system_error(diag, all->options->keep, "make the directory", errno);
    const char *path = case_path(all, policy, wanted);
    struct output *output;
    int code = path == NULL ? SIM_E_NOMEM : output_open(path, &output, diag);
    if (code != 0) return code;
    code = conform_json(&all->suite, policy, wanted, result->partner, output_text(output), diag);
    int close_code = output_close(output, code != 0, diag);
    if (code == 0) code = close_code;
    const struct plugin *plugin = plugins_of(all->plugins, policy);
    if (code == 0 && !prints_data(all))
        answer_print(all->cli->out, "  orrery run %s --check event%s%s\n", path, plugin ? " --plugin " : "",
                     plugin ? plugin->path : "");
    return code;
}

/* --- The suite --- */

/* Runs all scenarios, or until one does not end; results[n] are theirs. */
static int run_cases(struct conforming *all, const struct policy *policy, const struct conform_case *cases, size_t n,
                     struct conform_result *results)
{
    bool hangs = false;
    all->n_skipped = 0;
    for (size_t i = 0; i < n; i++) {
        if (hangs) all->n_skipped++;
        if (hangs) continue;
        int code = conform_child_run(&all->suite, policy, &cases[i], &all->patience, &results[i], &hangs,
                                     &all->cli->diag);
        if (code != 0 && code != SIM_E_GATE && code != SIM_E_POLICY) return code;
        note_code(all, code);
        if (all->cli->interrupt != NULL && *all->cli->interrupt) return SIM_E_INTERRUPTED;
    }
    return 0;
}

static int print_table(struct conforming *all, const struct policy *policy, const struct conform_case *cases, size_t n,
                       const struct conform_result *results)
{
    struct table_column columns[CONFORM_N_CHECKS + 1];
    struct answer_table table;
    table_columns(columns);
    table_init(&table, columns, CONFORM_N_CHECKS + 1);
    for (size_t i = 0; i < n; i++) {
        table_text(&table, cases[i].name);
        for (int k = 0; k < CONFORM_N_CHECKS; k++) table_text(&table, verdict_word(results[i].verdicts[k]));
    }
    const struct plugin *plugin = plugins_of(all->plugins, policy);
    answer_print(all->cli->out, "%s %s%s%s\n\n", policy_family_name(policy->family), policy->name, plugin ? ", " : "",
                 plugin ? plugin->path : "");
    return table_print(&table, 0, ANSWER_TEXT, all->cli->out, &all->cli->diag);
}

static size_t count_failed(const struct conform_result *results, size_t n)
{
    size_t n_failed = 0;
    for (size_t i = 0; i < n; i++) n_failed += results[i].code != 0;
    return n_failed;
}

/* The failures, the first one of each scenario, and the sum of it all. */
static int print_failures(struct conforming *all, const struct policy *policy, const struct conform_case *cases,
                          size_t n, const struct conform_result *results)
{
    int code = 0;
    for (size_t i = 0; i < n && code == 0; i++) {
        if (results[i].code == 0) continue;
        if (!prints_data(all)) print_failure(all->cli->out, &cases[i], policy, &results[i]);
        code = keep_case(all, policy, &cases[i], &results[i]);
    }
    size_t n_failed = count_failed(results, n);
    if (prints_data(all) || code != 0) return code;
    if (n_failed == 0)
        fprintf(all->cli->out, "\nconforms in %zu scenarios\n", n);
    else
        fprintf(all->cli->out, "\ndoes not conform in %zu of %zu scenarios\n", n_failed, n - all->n_skipped);
    if (all->n_skipped > 0) fprintf(all->cli->out, "the other %zu were not run after that\n", all->n_skipped);
    return 0;
}

static void write_policy(struct conforming *all, const struct policy *policy, const struct conform_case *cases,
                         size_t n, const struct conform_result *results)
{
    const struct plugin *plugin = plugins_of(all->plugins, policy);
    answer_open(&all->answer, NULL, '{');
    answer_text(&all->answer, "family", policy_family_name(policy->family));
    answer_text(&all->answer, "policy", policy->name);
    answer_text(&all->answer, "plugin", plugin != NULL ? plugin->path : NULL);
    answer_bool(&all->answer, "conforms", count_failed(results, n) == 0);
    answer_open(&all->answer, "scenarios", '[');
    for (size_t i = 0; i < n; i++) write_case(&all->answer, &cases[i], policy, &results[i]);
    answer_close(&all->answer, ']');
    answer_close(&all->answer, '}');
}

static int conform_policy(struct conforming *all, const struct policy *policy)
{
    size_t n;
    const struct conform_case *cases = conform_cases(policy->family, &n);
    struct conform_result *results = arena_alloc(&all->arena, n * sizeof *results);
    if (results == NULL) return SIM_E_NOMEM;
    int code = run_cases(all, policy, cases, n, results);
    if (code == 0 && prints_data(all)) write_policy(all, policy, cases, n, results);
    if (code == 0 && !prints_data(all)) code = print_table(all, policy, cases, n, results);
    return code == 0 ? print_failures(all, policy, cases, n, results) : code;
}

/* --- Which policies --- */

static int fail_unknown(struct cli *cli, const char *name, const char *const *names, size_t n)
{
    const char *nearest = text_nearest(name, names, n);
    char hint[128];
    if (nearest != NULL)
        snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    else
        snprintf(hint, sizeof hint, "name one of 'orrery list policies', or a shared object");
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "no policy '%s'", name);
}

/* A family in place of a policy. */
static int fail_family(struct conforming *all, enum policy_family family)
{
    const char *names[MAX_POLICIES], *name = policy_family_name(family);
    const struct config_families *families = &all->suite.families;
    struct config_alternative alternative;
    char hint[DIAG_TEXT_CHARS], listing[96];
    size_t n = 0;
    while (n < MAX_POLICIES && families->alternative(families->context, name, n, &alternative))
        names[n++] = alternative.name;
    snprintf(listing, sizeof listing, "orrery list policies %s", name);
    config_words(hint, sizeof hint, "name one of its policies: ", names, n, listing);
    return diag_error(&all->cli->diag, SIM_E_USAGE, NULL, hint, "'%s' is a family of policies", name);
}

/* All policies of this name, of any family, built-in and of plug-ins. */
static int conform_named(struct conforming *all, const char *name)
{
    const char *names[4 * MAX_POLICIES];
    size_t n_names = 0, n_found = 0;
    int code = 0;
    for (int family = 0; family < POLICY_FAMILY_COUNT && code == 0; family++) {
        struct config_alternative alternative;
        const struct config_families *families = &all->suite.families;
        for (size_t i = 0;
             code == 0 &&
             families->alternative(families->context, policy_family_name((enum policy_family)family), i, &alternative);
             i++) {
            if (n_names < sizeof names / sizeof *names) names[n_names++] = alternative.name;
            if (strcmp(alternative.name, name) != 0) continue;
            n_found++;
            code = conform_policy(all, alternative.entry);
        }
    }
    for (int family = 0; family < POLICY_FAMILY_COUNT && code == 0 && n_found == 0; family++)
        if (strcmp(policy_family_name((enum policy_family)family), name) == 0)
            return fail_family(all, (enum policy_family)family);
    return code == 0 && n_found == 0 ? fail_unknown(all->cli, name, names, n_names) : code;
}

static int conform_plugin(struct conforming *all, const struct plugin *plugin)
{
    int code = 0;
    for (size_t i = 0; i < plugin->policies.n && code == 0; i++) {
        if (i > 0 && !prints_data(all)) fputc('\n', all->cli->out);
        code = conform_policy(all, plugin->policies.policies[i]);
    }
    return code;
}

static int read_limit(struct conforming *all)
{
    const char *limit = all->options->limit;
    int64_t limit_s = LIMIT_S;
    if (limit != NULL &&
        (number_i64(limit, strlen(limit), &limit_s) != NUMBER_OK || limit_s < 1 || limit_s > MAX_LIMIT_S))
        return diag_error(&all->cli->diag, SIM_E_USAGE, "--limit", NULL, "expected 1 to %d seconds, got '%s'",
                          MAX_LIMIT_S, limit);
    all->patience = (struct conform_patience){.limit_s = (int)limit_s, .interrupt = all->cli->interrupt};
    return 0;
}

static int start(struct conforming *all)
{
    arena_init(&all->arena);
    catalog_memory_init(&all->memory);
    all->catalog.memory = &all->memory;
    all->catalog.root = paths_catalog(&all->arena);
    all->suite = (struct conform_suite){.families = cli_families(all->plugins), .catalog = &all->catalog,
                                        .n_settings = all->options->settings.n,
                                        .settings = all->options->settings.items};
    answer_init(&all->answer, (enum answer_form)all->options->form, NULL);
    answer_open(&all->answer, NULL, '[');
    if (all->catalog.root == NULL) return SIM_E_NOMEM;
    const char *hint = paths_data_hint(&all->arena);
    if (hint != NULL)
        return diag_error(&all->cli->diag, SIM_E_IO, all->catalog.root, hint, "the suite needs the catalog of GPUs");
    return read_limit(all);
}

static int end(struct conforming *all, int code)
{
    answer_close(&all->answer, ']');
    code = answer_end(&all->answer, code, all->cli->out, &all->cli->diag);
    catalog_memory_fini(&all->memory);
    arena_fini(&all->arena);
    if (code != 0 || all->code == 0) return code;
    return diag_error(&all->cli->diag, all->code, NULL,
                      all->options->keep == NULL ? "--keep DIR writes the scenarios" : NULL, "%s",
                      all->code == SIM_E_POLICY ? "the policy is at fault" : "the policy does not conform");
}

static bool is_file(const char *name)
{
    const size_t n = strlen(name);
    return strchr(name, '/') != NULL || (n > 3 && strcmp(name + n - 3, ".so") == 0);
}

/* A file is a plug-in whose policies are all tested; anything else is the name of a policy. */
static int conform(struct cli *cli, const struct cli_call *call)
{
    struct conforming all = {.cli = cli, .options = call->options, .plugins = cli->plugins};
    const char *name = call->arguments[0];
    int code = start(&all);
    if (code == 0) code = is_file(name) ? conform_plugin(&all, &cli->plugins->items[0]) : conform_named(&all, name);
    return end(&all, code);
}

static void print_checks(FILE *out)
{
    static const struct {
        const char *name, *text;
    } checks[] = {
#define CHECK_TEXT(id, name, text) {name, text},
        CONFORM_CHECKS(CHECK_TEXT)
#undef CHECK_TEXT
    };
    fprintf(out, "\nWhat is checked, in small scenarios that have caught policies before:\n");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        fprintf(out, "  %-9s%s\n", checks[i].name, checks[i].text);
}

const struct verb verb_conform = {
    .name = "conform", .summary = "run the conformance suite on a policy of your own, or on a built-in one",
    .usage = "my.so [--set KEY=VALUE]... [--keep DIR] [--json|--csv]\nPOLICY [--plugin my.so]... [options]",
    .notes = "Exit status: 0 it conforms, 1 it does not, 4 it crashes or makes an impossible request.\n",
    .print_more = print_checks, .options = conform_options, .options_bytes = sizeof(struct conform_options),
    .takes_plugins = true, .is_plugin = is_file, .min_arguments = 1, .max_arguments = 1, .run = conform};
