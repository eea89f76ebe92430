/* orrery merge: merges shards of a study, run separately, into one results file. */
#include "sim/cli/cli.h"
#include "sim/cli/outputs.h"
#include "sim/study/sweep.h"

struct merge_options {
    const char *output;
    bool partial;
};

#define AT(name) offsetof(struct merge_options, name)
static const struct option merge_options[] = {
    {"Options", "output", 'o', OPTION_TEXT, AT(output), "DB", NULL, "the new results database; needed"},
    {NULL, "partial", 0, OPTION_FLAG, AT(partial), NULL, NULL, "merge although runs are missing"},
    {0}};
#undef AT

static int merge(struct cli *cli, const struct cli_call *call)
{
    const struct merge_options *options = call->options;
    if (options->output == NULL)
        return diag_error(&cli->diag, SIM_E_USAGE, NULL, "name a new file with -o", "the output is missing");
    struct outputs outputs = {.diag = &cli->diag};
    int code = outputs_add(&outputs, "--output", options->output);
    for (int i = 0; code == 0 && i < call->n_arguments; i++) code = outputs_check(&outputs, call->arguments[i]);
    if (code != 0) return code;
    return sweep_merge((const char *const *)call->arguments, (size_t)call->n_arguments, options->output,
                       options->partial, &cli->diag);
}

const struct verb verb_merge = {
    .name = "merge",
    .summary = "merge the shards of a study into one results database",
    .usage = "SHARD.db... -o all.db [--partial]",
    .notes = "'orrery sweep STUDY --shard I/N -o SHARD.db' writes shards. The merged database equals that of a sweep without\n"
             "shards.\n",
    .options = merge_options,
    .options_bytes = sizeof(struct merge_options),
    .min_arguments = 1,
    .max_arguments = 100000,
    .run = merge,
};
