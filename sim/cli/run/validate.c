/* orrery validate: everything that a run does before its first event. */
#include "sim/cli/cli.h"
#include "sim/cli/run/setup.h"
#include "sim/world/world.h"

struct validate_options {
    struct option_texts settings;
};

static const struct option validate_options[] = {
    {"Options", "set", 's', OPTION_TEXTS, offsetof(struct validate_options, settings), "KEY=VALUE", NULL,
     "set a value of the scenario"},
    {0}};

static int validate(struct cli *cli, const struct cli_call *call)
{
    const struct validate_options *options = call->options;
    struct setup_options over = {.settings = &options->settings, .plugins = cli->plugins};
    struct setup setup;
    struct world *world = NULL;
    int code = setup_load(&setup, call->arguments[0], &over, &cli->diag);
    if (code == 0) {
        struct world_options how = {.config = setup.config, .catalog = &setup.catalog};
        code = world_create(&setup.scenario, &how, &world, &cli->diag);
    }
    if (code == 0) fprintf(cli->out, "%s: ok\n", call->arguments[0]);
    world_destroy(world);
    setup_fini(&setup);
    return code;
}

const struct verb verb_validate = {
    .name = "validate",
    .summary = "check a scenario without running it: keys, units, catalog names, traces",
    .usage = "SCENARIO [--set KEY=VALUE]...",
    .options = validate_options,
    .takes_plugins = true,
    .options_bytes = sizeof(struct validate_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = validate,
};
