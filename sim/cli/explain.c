/* orrery explain: where every value of a scenario comes from, what iterations cost, and the schema of scenarios. */
#include "sim/cli/cli.h"
#include "sim/cli/explain_cost.h"
#include "sim/cli/families.h"
#include "sim/cli/setup.h"

struct explain_options {
    struct option_texts settings;
    bool json;
};

static const struct option explain_options[] = {
    {"Options", "set", 's', OPTION_TEXTS, offsetof(struct explain_options, settings), "KEY=VALUE", NULL,
     "lay a value over the scenario"},
    {NULL, "json", 0, OPTION_FLAG, offsetof(struct explain_options, json), NULL, NULL, "cost: print a JSON array"},
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
    struct config_families families = cli_families();
    text_init(&json);
    return print_text(cli, &json, config_schema(scenario_fields, &families, &json));
}

static int explain_scenario(struct cli *cli, const struct explain_options *options, const char *scenario, bool cost)
{
    struct setup_options over = {.settings = &options->settings};
    struct setup setup;
    int code = setup_load(&setup, scenario, &over, &cli->diag);
    if (code == 0) code = cost ? explain_cost(cli, &setup, options->json) : explain_config(cli, &setup);
    setup_fini(&setup);
    return code;
}

static int fail_usage(struct cli *cli, const char *hint, const char *text)
{
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "%s", text);
}

static int explain(struct cli *cli, const struct cli_call *call)
{
    enum { CONFIG, COST, SCHEMA };
    static const char *const topics[] = {"config", "cost", "schema", NULL};
    int topic = cli_pick(cli, "topic", call->arguments[0], topics);
    if (topic < 0) return SIM_E_USAGE;
    const struct explain_options *options = call->options;
    if (topic != COST && options->json) return fail_usage(cli, "leave it out", "'--json' belongs to 'explain cost'");
    if (topic == SCHEMA) {
        if (call->n_arguments > 1 || options->settings.n > 0)
            return fail_usage(cli, "leave out SCENARIO and --set", "the schema is the same for all scenarios");
        return explain_schema(cli);
    }
    if (call->n_arguments < 2)
        return fail_usage(cli, "name a file, or one of 'orrery list scenarios'", "there is no scenario to explain");
    return explain_scenario(cli, options, call->arguments[1], topic == COST);
}

const struct verb verb_explain = {
    .name = "explain",
    .summary = "where a scenario's values come from, and what its iterations cost",
    .usage = "config SCENARIO [--set KEY=VALUE]...\ncost SCENARIO [--set KEY=VALUE]... [--json]\nschema",
    .notes = "config: each value with its place in the files, its unit and what it means\n"
             "cost:   time, work and bandwidth of iterations, for each service\n"
             "schema: the JSON Schema of scenarios, for editors\n",
    .options = explain_options,
    .options_bytes = sizeof(struct explain_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .run = explain,
};
