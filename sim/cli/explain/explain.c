/* orrery explain: sources of a scenario's values, cost of its iterations, placement of experts, speed of its links;
 * the schema of scenarios. */
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/explain/explain_cluster.h"
#include "sim/cli/explain/explain_cost.h"
#include "sim/cli/explain/explain_experts.h"
#include "sim/cli/key_names.h"
#include "sim/cli/plugins.h"
#include "sim/cli/run/setup.h"
#include "sim/world/links/topology.h"

#include <stdio.h>

/* --- Links: the paths between a GPU and the memories it reaches, for one GPU and for all GPUs of a node --- */

static const double everything_bytes_per_s = 1e15; /* more than any path grants */

/* Nodes of one type. Placements: all GPUs of the first node, its first GPU, all shifted by one, and those of the
 * next node of the type. */
struct node_type {
    const char *name; /* its key; NULL: the cluster's own nodes */
    int32_t first;    /* node; -1: an unlimited cluster has none */
    int32_t n_gpus;
    bool has_next;    /* a node of the same type, over the network */
    struct gpu_spec gpu;
    struct topology_placement all, one, next_all, next, far_all, far;
};

struct ways {
    struct cli *cli;
    struct topology *topology;
    const struct cluster_config *cluster;
    const struct topology_config *links;
    size_t n_types;
    struct node_type *types;
    struct arena *arena;
    struct answer_table table;
};

static void ignore(struct transfer *transfer, sim_ns now)
{
    (void)transfer;
    (void)now;
}

/* The rate granted to a transfer that runs alone, with unlimited demand. */
static int measure(struct ways *ways, struct topology_end from, struct topology_end to, double *bytes_per_s)
{
    struct transfer transfer = {0};
    int code = topology_claim(ways->topology, from, to, everything_bytes_per_s, &transfer, ignore);
    *bytes_per_s = transfer.granted_bytes_per_s;
    transfer_cancel(&transfer);
    return code;
}

static void add_way(struct ways *ways, const struct link_path *path)
{
    struct text way;
    text_init(&way);
    for (int32_t i = 0; i < path->n; i++) text_printf(&way, "%s%s", i > 0 ? " " : "", link_name(path->links[i]));
    ways->table.failed |= way.failed;
    table_text(&ways->table, way.chars);
    text_fini(&way);
}

/* The name of an end: "gpu", or "hopper gpu" on nodes of another type than the cluster's own. */
static void add_end(struct ways *ways, const char *before, const struct node_type *type, const char *name)
{
    struct text end;
    text_init(&end);
    text_printf(&end, "%s%s%s%s", before, type->name != NULL ? type->name : "", type->name != NULL ? " " : "", name);
    ways->table.failed |= end.failed;
    table_text(&ways->table, end.chars);
    text_fini(&end);
}

/* Adds the rates of one shard and of all shards, behind the names of both ends. */
static int add_rates(struct ways *ways, struct topology_end from, struct topology_end to, struct topology_end from_all,
                     struct topology_end to_all)
{
    struct link_path path;
    double cap, one = 0, all = 0;
    int code = topology_path(ways->topology, from, to, 0, &path, &cap);
    if (code == 0) code = measure(ways, from, to, &one);
    if (code == 0) code = measure(ways, from_all, to_all, &all);
    if (code != 0) return code;
    table_number(&ways->table, one / 1e9);
    table_number(&ways->table, all / 1e9);
    table_number(&ways->table, sim_s_from_ns(path.latency_ns) * 1e6);
    add_way(ways, &path);
    return 0;
}

static int add_tier(struct ways *ways, const struct node_type *type, struct tier *tier)
{
    const struct topology_end memory = {&type->one, NULL}, all = {&type->all, NULL};
    const struct topology_end end = {&type->one, tier}, all_end = {&type->all, tier};
    add_end(ways, "", type, "gpu");
    add_end(ways, "", type, tier->name);
    int code = add_rates(ways, memory, end, all, all_end);
    if (code != 0) return code;
    add_end(ways, "", type, tier->name);
    add_end(ways, "", type, "gpu");
    code = add_rates(ways, end, memory, all_end, all);
    if (code != 0 || !tier->attention_here || tier->spec == NULL) return code;
    add_end(ways, "", type, tier->name);
    table_text(&ways->table, "attention there");
    return add_rates(ways, end, end, all_end, all_end);
}

static int add_gpus(struct ways *ways, const struct node_type *type, const struct topology_placement *placement,
                    const struct topology_placement *all)
{
    const struct topology_end from = {&type->one, NULL}, from_all = {&type->all, NULL};
    return add_rates(ways, from, (struct topology_end){placement, NULL}, from_all, (struct topology_end){all, NULL});
}

static int add_tiers(struct ways *ways, const struct node_type *type)
{
    const struct config_list *storage = &ways->links->storage;
    struct tier *tier;
    int code = topology_tier_named(&type->one, "host", &tier);
    if (code == 0) code = add_tier(ways, type, tier);
    for (size_t i = 0; i < storage->n && code == 0; i++) {
        code = topology_tier_named(&type->one, ((const struct storage_config *)storage->items)[i].name, &tier);
        if (code == 0) code = add_tier(ways, type, tier);
    }
    return code;
}

/* Paths within a node, and from there to nodes of the same and of other types. */
static int add_type(struct ways *ways, const struct node_type *type)
{
    int code = add_tiers(ways, type);
    if (code == 0 && type->n_gpus > 1) {
        add_end(ways, "", type, "gpu");
        add_end(ways, "next ", type, "gpu");
        code = add_gpus(ways, type, &type->next, &type->next_all);
    }
    if (code == 0 && type->has_next) {
        add_end(ways, "", type, "gpu");
        add_end(ways, "", type, "gpu of another node");
        code = add_gpus(ways, type, &type->far, &type->far_all);
    }
    const bool far = ways->links->network.bytes_per_s > 0;
    for (size_t i = 0; i < ways->n_types && far && code == 0; i++) {
        if (&ways->types[i] == type) continue;
        add_end(ways, "", type, "gpu");
        add_end(ways, "", &ways->types[i], "gpu");
        code = add_gpus(ways, type, &ways->types[i].one, &ways->types[i].all);
    }
    return code;
}

static int sit(struct ways *ways, struct node_type *type)
{
    const int32_t n = type->n_gpus, next = type->first < 0 ? -1 : type->first + 1;
    int code = topology_placement_add(ways->topology, &type->all, type->first, n, &type->gpu);
    if (code == 0 && type->has_next) code = topology_placement_add(ways->topology, &type->far_all, next, n, &type->gpu);
    struct topology_gpu **turned = arena_alloc(ways->arena, (size_t)n * sizeof(*turned));
    if (turned == NULL) code = SIM_E_NOMEM;
    if (code != 0) return code;
    for (int32_t i = 0; i < n; i++) turned[i] = type->all.gpus[(i + 1) % n];
    type->next_all = (struct topology_placement){.topology = ways->topology, .n_gpus = n, .gpus = turned};
    type->next = (struct topology_placement){.topology = ways->topology, .n_gpus = 1, .gpus = turned};
    type->one = (struct topology_placement){.topology = ways->topology, .n_gpus = 1, .gpus = type->all.gpus};
    type->far = (struct topology_placement){.topology = ways->topology, .n_gpus = 1, .gpus = type->far_all.gpus};
    return 0;
}

/* The cluster's own nodes first, then its node_types. */
static int list_types(struct ways *ways, const struct setup *setup)
{
    const struct cluster_config *cluster = ways->cluster;
    const struct node_type_config *others = cluster->node_types.items;
    const bool network = ways->links->network.bytes_per_s > 0;
    int32_t first = cluster->unlimited ? -1 : 0;
    int code = 0;
    ways->types = arena_alloc(ways->arena, (cluster->node_types.n + 1) * sizeof *ways->types);
    if (ways->types == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i <= cluster->node_types.n && code == 0; i++) {
        const struct node_type_config own = {.nodes = cluster->nodes, .gpus_per_node = cluster->gpus_per_node,
                                             .gpu = cluster->gpu};
        const struct node_type_config *config = i == 0 ? &own : &others[i - 1];
        struct node_type *type = &ways->types[ways->n_types++];
        *type = (struct node_type){.name = config->name, .first = first, .n_gpus = (int32_t)config->gpus_per_node,
                                   .has_next = network && (first < 0 || config->nodes > 1)};
        code = catalog_gpu(&setup->catalog, config->gpu, config_where(setup->config, "cluster"), ways->arena,
                           &type->gpu, &ways->cli->diag);
        if (code == 0) code = sit(ways, type);
        if (first >= 0) first += (int32_t)config->nodes;
    }
    return code;
}

static int measure_ways(struct ways *ways, const struct setup *setup, struct engine *engine)
{
    struct site_env site = {.engine = engine, .diag = &ways->cli->diag, .catalog = &setup->catalog,
                            .config = setup->config, .arena = ways->arena};
    const struct topology_env env = {.site = &site, .cluster = ways->cluster, .links = ways->links};
    if (ways->cluster->gpu == NULL)
        return diag_error(env.site->diag, SIM_E_CONFIG, config_where(setup->config, "cluster"),
                          "add \"gpu\": see 'orrery list gpus'", "links depend on the cluster's 'gpu'");
    int code = topology_create(&env, &ways->topology);
    if (code == 0) code = list_types(ways, setup);
    for (size_t i = 0; i < ways->n_types && code == 0; i++) code = add_type(ways, &ways->types[i]);
    return code;
}

/* Returns 0 or a negative code with findings. */
static int explain_links(struct cli *cli, const struct setup *setup, enum answer_form form)
{
    static const struct table_column columns[] = {LEFT("from"),           LEFT("to"),          RIGHT("gpu_gb_per_s"),
                                                  RIGHT("node_gb_per_s"), RIGHT("latency_us"), LEFT("way")};
    struct arena arena;
    struct ways ways = {.cli = cli,
                        .cluster = &setup->scenario.cluster.nodes,
                        .links = &setup->scenario.cluster.links,
                        .arena = &arena};
    arena_init(&arena);
    TABLE_INIT(&ways.table, columns);
    struct engine *engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR});
    int code = engine != NULL ? measure_ways(&ways, setup, engine) : SIM_E_NOMEM;
    code = table_print(&ways.table, code, form, cli->out, &cli->diag);
    engine_destroy(engine);
    topology_destroy(ways.topology);
    arena_fini(&arena);
    return code;
}

/* --- The verb --- */

enum topic { CLUSTER, CONFIG, COST, EXPERTS, LINKS, SCHEMA };

struct explain_options {
    struct option_texts settings;
    struct explain_cost_options cost;
    struct explain_affinity affinity;
};

#define COST_OPTION(member) offsetof(struct explain_options, cost.member)

static const struct option explain_options[] = {
    {"Options", "set", 's', OPTION_TEXTS, offsetof(struct explain_options, settings), "KEY=VALUE", NULL,
     "set a value of the scenario"},
    {"Options of all but the schema", "json", 0, OPTION_WORD, COST_OPTION(form), NULL, answer_forms, "print the rows as a JSON array"},
    {NULL, "csv", 0, OPTION_WORD, COST_OPTION(form), NULL, answer_forms, "print the rows as CSV"},
    {NULL, "latex", 0, OPTION_WORD, COST_OPTION(form), NULL, answer_forms, "print tables of LaTeX"},
    {"Options of cost", "operators", 0, OPTION_FLAG, COST_OPTION(operators), NULL, NULL,
     "only the operators of one iteration, instead of iterations over batch and context"},
    {NULL, "traffic", 0, OPTION_FLAG, COST_OPTION(traffic), NULL, NULL,
     "only what one iteration sends within nodes, between nodes and between racks"},
    {"The iteration whose operators are shown", "batch", 0, OPTION_TEXT, COST_OPTION(batch.batch), "N", NULL,
     "decoding sequences; default: 32, or none with --prompt"},
    {NULL, "context", 0, OPTION_TEXT, COST_OPTION(batch.context), "N", NULL,
     "context tokens of each sequence; default: 1024"},
    {NULL, "prompt", 0, OPTION_TEXT, COST_OPTION(batch.prompt), "N", NULL, "tokens of a prompt; default: no prompt"},
    {"Options of experts", "affinity", 0, OPTION_TEXT, offsetof(struct explain_options, affinity.share), "SHARE", NULL,
     "of its tokens that an expert hands to one successor; default: 0"},
    {NULL, "affinity-file", 0, OPTION_TEXT, offsetof(struct explain_options, affinity.path), "FILE", NULL,
     "instead: a CSV file with a row for each expert: its tokens by successor"},
    {0}};

static int print_text(struct cli *cli, struct text *text, int code)
{
    if (code == 0) answer_print(cli->out, "%s", text->chars);
    text_fini(text);
    return code;
}

static void add_explained(void *context, const struct config_explained *explained)
{
    struct answer_table *table = context;
    table_text(table, explained->path);
    table_text(table, explained->value);
    table_text(table, explained->where);
    table_text(table, explained->help);
    table_text(table, explained->origin.sure);
    table_text(table, explained->origin.source);
    table_text(table, explained->written);
}

/* Each value as a row: for programs, and for papers. */
static int print_config_rows(struct cli *cli, const struct setup *setup, enum answer_form form)
{
    static const struct table_column columns[] = {LEFT("key"),  LEFT("value"),  LEFT("where"),  LEFT("meaning"),
                                                  LEFT("sure"), LEFT("source"), LEFT("written")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    const int code = config_explain_each(setup->config, scenario_fields, &setup->families, &setup->scenario,
                                         add_explained, &table);
    return table_print(&table, code, form, cli->out, &cli->diag);
}

static int explain_config(struct cli *cli, const struct setup *setup, enum answer_form form)
{
    if (form != ANSWER_TEXT) return print_config_rows(cli, setup, form);
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

/* Whether the word is one of `orrery list clusters`. */
static bool is_shipped_cluster(const char *word)
{
    struct arena arena;
    arena_init(&arena);
    const bool is_shipped = paths_shipped(&arena, "clusters", word) != NULL;
    arena_fini(&arena);
    return is_shipped;
}

static int explain_scenario(struct cli *cli, const struct explain_options *options, const char *scenario,
                            enum topic topic)
{
    struct setup_options over = {.settings = &options->settings, .plugins = cli->plugins};
    struct setup setup;
    const bool is_site = topic == CLUSTER || (topic == LINKS && is_shipped_cluster(scenario));
    int code = is_site ? setup_load_site(&setup, scenario, &over, &cli->diag)
                       : setup_load(&setup, scenario, &over, &cli->diag);
    if (code == 0 && topic == CLUSTER) code = explain_cluster(cli, &setup, options->cost.form);
    if (code == 0 && topic == CONFIG) code = explain_config(cli, &setup, (enum answer_form)options->cost.form);
    if (code == 0 && topic == COST) code = explain_cost(cli, &setup, &options->cost);
    if (code == 0 && topic == EXPERTS) code = explain_experts(cli, &setup, &options->affinity, options->cost.form);
    if (code == 0 && topic == LINKS) code = explain_links(cli, &setup, (enum answer_form)options->cost.form);
    setup_fini(&setup);
    return code;
}

static int fail_usage(struct cli *cli, const char *hint, const char *text)
{
    return diag_error(&cli->diag, SIM_E_USAGE, NULL, hint, "%s", text);
}

/* Refuses options that would have no effect. */
static int check_options(struct cli *cli, const struct explain_options *given, enum topic topic)
{
    const struct explain_cost_options *options = &given->cost;
    const bool batch = explain_batch_is_given(&options->batch);
    if (topic == SCHEMA && options->form != ANSWER_TEXT)
        return fail_usage(cli, "leave it out", "the schema is JSON: '--json', '--csv' and '--latex' do not apply");
    if (topic != COST && (options->operators || options->traffic || batch))
        return fail_usage(cli, "leave them out", "'--operators', '--traffic' and their batch belong to 'explain cost'");
    if (options->operators && options->traffic)
        return fail_usage(cli, "leave one out", "'--operators' and '--traffic' exclude each other");
    if (topic != EXPERTS && (given->affinity.share != NULL || given->affinity.path != NULL))
        return fail_usage(cli, "leave them out", "'--affinity' and '--affinity-file' belong to 'explain experts'");
    if (topic == COST && options->form != ANSWER_TEXT && batch && !options->operators && !options->traffic)
        return fail_usage(cli, "add --operators or --traffic",
                          "'--batch', '--context' and '--prompt' describe no row without it");
    return 0;
}

static int explain(struct cli *cli, const struct cli_call *call)
{
    static const char *const topics[] = {"cluster", "config", "cost", "experts", "links", "schema", NULL};
    int picked = cli_pick(cli, "topic", call->arguments[0], topics);
    if (picked < 0) return SIM_E_USAGE;
    const enum topic topic = (enum topic)picked;
    const struct explain_options *options = call->options;
    const int code = check_options(cli, options, topic);
    if (code != 0) return code;
    if (topic == SCHEMA) {
        if (call->n_arguments > 1 || options->settings.n > 0)
            return fail_usage(cli, "leave out SCENARIO and --set", "the schema is the same for all scenarios");
        return explain_schema(cli);
    }
    if (call->n_arguments < 2) {
        char hint[DIAG_TEXT_CHARS];
        snprintf(hint, sizeof hint,
                 "name a file, or one of 'orrery list scenarios', such as: orrery explain %s quickstart",
                 topics[topic]);
        return fail_usage(cli, hint, "there is no scenario to explain");
    }
    return explain_scenario(cli, options, call->arguments[1], topic);
}

const struct verb verb_explain = {
    .name = "explain",
    .summary = "switches of a cluster, origin of a scenario's values, cost of its iterations, placement of experts, speed of links",
    .usage = "cluster CLUSTER|SCENARIO [--set KEY=VALUE]... [--json|--csv]\n"
             "config SCENARIO [--set KEY=VALUE]... [--json|--csv]\n"
             "cost SCENARIO [--operators|--traffic] [--batch N] [--context N] [--prompt N] [options]\n"
             "experts SCENARIO [--set KEY=VALUE]... [--affinity SHARE|--affinity-file FILE] [--json|--csv]\n"
             "links CLUSTER|SCENARIO [--set KEY=VALUE]... [--json|--csv]\nschema",
    .notes = "cluster: GPUs, NICs and switches, with the sources of what is given: one of 'orrery list clusters', or a file\n"
             "config: each value with its place in the files, its unit and its meaning\n"
             "cost:   time, work and bandwidth of iterations, for each service; with \"operators\" costs also one\n"
             "        iteration by operator, kernel by kernel: ms, its share, what bounds it, efficiency (the time that\n"
             "        the data sheet allows, over its own), whether its kernels lie in the range that their parameters\n"
             "        were fitted on, and the set these come from. 'host' is the engine's CPU overhead.\n"
             "        Runs interpolate these times over batch and context, so they differ a little\n"
             "        Of replicas over nodes also what the iteration sends over each level of links, the share of its\n"
             "        time in collectives within nodes and in those that leave nodes (at the widest level that they\n"
             "        reach), and the oversubscription of racks above which it is slower\n"
             "experts: placements of experts on GPUs, and the share of a token's steps from layer to layer that stay on\n"
             "        one GPU, if a token stays where its expert is: in order, by load as EPLB, by affinity as ExFlow\n"
             "links:  the paths between a GPU, the memories it reaches and other GPUs: GB/s of one GPU and of all\n"
             "        GPUs of a node together, latency, and the links on the path\n"
             "schema: the JSON Schema of scenarios, for editors\n",
    .options = explain_options,
    .takes_plugins = true,
    .explain_key = key_explain_option,
    .options_bytes = sizeof(struct explain_options),
    .min_arguments = 1,
    .max_arguments = 2,
    .run = explain,
};
