/* orrery explain: sources of a scenario's values, cost of its iterations, speed of its links; the schema of
 * scenarios. */
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/explain/explain_cost.h"
#include "sim/cli/explain/explain_links.h"
#include "sim/cli/families.h"
#include "sim/cli/run/setup.h"

enum topic { CONFIG, COST, LINKS, SCHEMA };

struct explain_options {
    struct option_texts settings;
    struct explain_cost_options cost;
};

#define COST_OPTION(member) offsetof(struct explain_options, cost.member)

static const struct option explain_options[] = {
    {"Options", "set", 's', OPTION_TEXTS, offsetof(struct explain_options, settings), "KEY=VALUE", NULL,
     "set a value of the scenario"},
    {"Options of cost and links", "json", 0, OPTION_WORD, COST_OPTION(form), NULL, answer_forms, "print the rows as a JSON array"},
    {NULL, "csv", 0, OPTION_WORD, COST_OPTION(form), NULL, answer_forms, "print the rows as CSV"},
    {"Options of cost", "operators", 0, OPTION_FLAG, COST_OPTION(operators), NULL, NULL,
     "only the operators of one iteration, instead of iterations over batch and context"},
    {"The iteration whose operators are shown", "batch", 0, OPTION_TEXT, COST_OPTION(batch.batch), "N", NULL,
     "sequences that decode: 32 by default, none beside a prompt"},
    {NULL, "context", 0, OPTION_TEXT, COST_OPTION(batch.context), "N", NULL, "tokens of each of them: 1024 by default"},
    {NULL, "prompt", 0, OPTION_TEXT, COST_OPTION(batch.prompt), "N", NULL, "tokens of a prompt: none by default"},
    {0}};

static int print_text(struct cli *cli, struct text *text, int code)
{
    if (code == 0) fputs(text->chars, cli->out);
    text_fini(text);
    return code;
}

static int explain_config(struct cli *cli, const struct setup *setup)
{
    struct text lines;
    text_init(&lines);
    int code = config_explain(setup->config, scenario_fields, &setup->families, &setup->scenario, &lines);
    return print_text(cli, &lines, code);
}

static int explain_schema(struct cli *cli)
{
    struct text json;
    struct config_families families = cli_families(cli->plugins);
    text_init(&json);
    return print_text(cli, &json, config_schema(scenario_fields, &families, &json));
}

static int explain_scenario(struct cli *cli, const struct explain_options *options, const char *scenario,
                            enum topic topic)
{
    struct setup_options over = {.settings = &options->settings, .plugins = cli->plugins};
    struct setup setup;
    int code = setup_load(&setup, scenario, &over, &cli->diag);
    if (code == 0 && topic == CONFIG) code = explain_config(cli, &setup);
    if (code == 0 && topic == COST) code = explain_cost(cli, &setup, &options->cost);
    if (code == 0 && topic == LINKS) code = explain_links(cli, &setup, (enum answer_form)options->cost.form);
    setup_fini(&setup);
    return code;
}

static int fail_usage(struct cli *cli, const char *hint, const char *text)
{
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "%s", text);
}

/* Refuses options that would have no effect. */
static int check_options(struct cli *cli, const struct explain_cost_options *options, enum topic topic)
{
    const bool batch = explain_batch_is_given(&options->batch);
    if (topic != COST && topic != LINKS && options->form != ANSWER_TEXT)
        return fail_usage(cli, "leave it out", "'--json' and '--csv' belong to 'explain cost' and 'explain links'");
    if (topic != COST && (options->operators || batch))
        return fail_usage(cli, "leave them out", "'--operators' and its batch belong to 'explain cost'");
    if (topic == COST && options->form != ANSWER_TEXT && batch && !options->operators)
        return fail_usage(cli, "add --operators", "'--batch', '--context' and '--prompt' describe no row without it");
    return 0;
}

static int explain(struct cli *cli, const struct cli_call *call)
{
    static const char *const topics[] = {"config", "cost", "links", "schema", NULL};
    int picked = cli_pick(cli, "topic", call->arguments[0], topics);
    if (picked < 0) return SIM_E_USAGE;
    const enum topic topic = (enum topic)picked;
    const struct explain_options *options = call->options;
    const int code = check_options(cli, &options->cost, topic);
    if (code != 0) return code;
    if (topic == SCHEMA) {
        if (call->n_arguments > 1 || options->settings.n > 0)
            return fail_usage(cli, "leave out SCENARIO and --set", "the schema is the same for all scenarios");
        return explain_schema(cli);
    }
    if (call->n_arguments < 2)
        return fail_usage(cli, "name a file, or one of 'orrery list scenarios'", "there is no scenario to explain");
    return explain_scenario(cli, options, call->arguments[1], topic);
}

const struct verb verb_explain = {
    .name = "explain",
    .summary = "the origin of a scenario's values, the cost of its iterations, the speed of its links",
    .usage = "config SCENARIO [--set KEY=VALUE]...\n"
             "cost SCENARIO [--set KEY=VALUE]... [--operators] [--batch N] [--context N] [--prompt N] [--json|--csv]\n"
             "links SCENARIO [--set KEY=VALUE]... [--json|--csv]\nschema",
    .notes = "config: each value with its place in the files, its unit and its meaning\n"
             "cost:   time, work and bandwidth of iterations, for each service; with \"operators\" costs also one\n"
             "        iteration by operator, kernel by kernel: ms, its share, what bounds it, efficiency (the time that\n"
             "        the data sheet allows, over its own), whether its kernels lie in the range that their parameters\n"
             "        were fitted on, and the set these come from. 'host' is what the engine adds to the GPU's time.\n"
             "        Runs take these times on chords between knots of batch and context, so they differ a little\n"
             "links:  the paths between a GPU, the memories it reaches and other GPUs: GB/s of one GPU and of all\n"
             "        GPUs of a node together, latency, and the links on the path\n"
             "schema: the JSON Schema of scenarios, for editors\n",
    .options = explain_options,
    .takes_plugins = true,
    .options_bytes = sizeof(struct explain_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .run = explain,
};
