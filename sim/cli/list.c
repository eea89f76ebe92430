/* orrery list: the names that a scenario may use, and the reference of its keys, in every form of an answer. */
#include "policies/registry.h"
#include "sim/catalog/catalog.h"
#include "sim/catalog/storage.h"
#include "sim/catalog/trainer.h"
#include "sim/cli/answer.h"
#include "sim/cli/cli.h"
#include "sim/cli/list_empty.h"
#include "sim/cli/listing.h"
#include "sim/cli/paths.h"
#include "sim/cli/plugins.h"
#include "sim/core/config/config_table.h"
#include "sim/world/rows/metric.h"
#include "sim/world/scenario.h"
#include "traces/registry.h"

#include <limits.h>
#include <math.h>
#include <string.h>

struct list_options {
    int form; /* enum answer_form */
};

static const struct option list_options[] = {
    {"Options", "json", 0, OPTION_WORD, offsetof(struct list_options, form), NULL, answer_forms, "print a JSON array"},
    {NULL, "csv", 0, OPTION_WORD, offsetof(struct list_options, form), NULL, answer_forms, "print CSV"},
    {NULL, "markdown", 0, OPTION_WORD, offsetof(struct list_options, form), NULL, answer_forms,
     "print a table of Markdown"},
    {NULL, "latex", 0, OPTION_WORD, offsetof(struct list_options, form), NULL, answer_forms, "print a table of LaTeX"},
    {0}};

/* A name as scenarios write it: code in Markdown. */
static void add_name(struct listing *list, const char *name)
{
    const bool as_code = list->form == ANSWER_MARKDOWN && name != NULL;
    table_text(&list->table, as_code ? arena_printf(&list->arena, "`%s`", name) : name);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static double giga(double value)
{
    return value / 1e9;
}

static double positive(double value)
{
    return value > 0 ? value : (double)NAN;
}

/* --- The catalog --- */

static int add_gpu(struct listing *list, const char *name)
{
    struct answer_table *table = &list->table;
    struct gpu_spec gpu;
    const char *origin, *profiles;
    int code = catalog_gpu(&list->catalog, name, name, &list->arena, &gpu, &list->cli->diag);
    if (code == 0) code = catalog_gpu_price_origin(&list->catalog, name, &list->arena, &origin, &list->cli->diag);
    if (code == 0) code = catalog_gpu_profiles(&list->catalog, name, &list->arena, &profiles, &list->cli->diag);
    if (code != 0) return code;
    table_text(table, gpu.name);
    table_text(table, gpu.architecture);
    table_number(table, rint(gpu.memory_bytes / 0x1p30));
    table_number(table, giga(gpu.memory_bytes_per_s));
    table_number(table, positive(gpu.peak_flop_per_s[FORMAT_FP16] / 1e12));
    table_number(table, positive(gpu.peak_flop_per_s[FORMAT_FP8] / 1e12));
    table_number(table, positive(giga(gpu.nvlink_bytes_per_s)));
    table_number(table, gpu.tdp_w);
    table_number(table, gpu.usd_per_h);
    table_text(table, origin);
    table_text(table, profiles);
    return 0;
}

static int list_gpus(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("gpu"),
                                                  LEFT("architecture"),
                                                  RIGHT("memory_gib"),
                                                  RIGHT("memory_gb_per_s"),
                                                  RIGHT("fp16_tflop_per_s"),
                                                  RIGHT("fp8_tflop_per_s"),
                                                  RIGHT("nvlink_gb_per_s"),
                                                  RIGHT("tdp_w"),
                                                  RIGHT("usd_per_h"),
                                                  JSON_ONLY("usd_origin"),
                                                  JSON_ONLY("mig")};
    COLUMNS(list, columns);
    return listing_add_each(list, catalog_list_gpus, add_gpu);
}

static int add_llm(struct listing *list, const char *name)
{
    struct answer_table *table = &list->table;
    struct llm_spec llm;
    int code = catalog_llm(&list->catalog, name, name, &list->arena, &llm, &list->cli->diag);
    if (code != 0) return code;
    table_text(table, llm.name);
    table_number(table, round(giga((double)llm_parameters(&llm)) * 100) / 100);
    table_number(table, round(giga((double)llm_active_parameters(&llm)) * 100) / 100);
    table_number(table, (double)llm.layers);
    table_number(table, (double)llm.max_context);
    table_number(table, llm_kv_bytes_per_token(&llm));
    table_number(table, round(giga(llm_weight_bytes(&llm)) * 100) / 100);
    const char *aliases;
    code = catalog_llm_aliases(&list->catalog, name, &list->arena, &aliases, &list->cli->diag);
    if (code == 0) table_text(table, aliases);
    return code;
}

static int list_llms(struct listing *list)
{
    static const struct table_column columns[] = {
        LEFT("llm"),          RIGHT("parameters_1e9"),     RIGHT("active_1e9"), RIGHT("layers"),
        RIGHT("max_context"), RIGHT("kv_bytes_per_token"), RIGHT("weights_gb"), LEFT("aliases")};
    COLUMNS(list, columns);
    return listing_add_each(list, catalog_list_llms, add_llm);
}

static int add_storage(struct listing *list, const char *name)
{
    struct answer_table *table = &list->table;
    struct storage_spec spec;
    int code = catalog_storage(&list->catalog, name, name, &list->arena, &spec, &list->cli->diag);
    if (code != 0) return code;
    const struct storage_device *device = &spec.device;
    table_text(table, spec.name);
    table_text(table, storage_kind_name(spec.kind));
    table_number(table, giga(device->capacity_bytes));
    table_number(table, giga(device->link.nominal_bytes_per_s));
    table_number(table, giga(device->media[STORAGE_READ].nominal_bytes_per_s));
    table_number(table, giga(storage_rate_bytes_per_s(device, NULL, STORAGE_READ)));
    table_number(table, giga(device->media[STORAGE_WRITE].nominal_bytes_per_s));
    table_number(table, giga(storage_rate_bytes_per_s(device, NULL, STORAGE_WRITE)));
    table_text(table, spec.summary);
    return 0;
}

/* Nominal rates of the device's media and link, and the sustained rates at the end of the link. */
static int list_storage(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("storage"),         LEFT("kind"),
                                                  RIGHT("capacity_gb"),    RIGHT("link_gb_per_s"),
                                                  RIGHT("read_gb_per_s"),  RIGHT("read_sustained_gb_per_s"),
                                                  RIGHT("write_gb_per_s"), RIGHT("write_sustained_gb_per_s"),
                                                  JSON_ONLY("summary")};
    COLUMNS(list, columns);
    return listing_add_each(list, catalog_list_storage, add_storage);
}

/* A row for each GPU that its constants were fitted on, or one for all others. */
static int add_trainer(struct listing *list, const char *name)
{
    struct trainer_preset preset;
    struct answer_table *table = &list->table;
    const int code = catalog_trainer(&list->catalog, name, name, &list->arena, &preset, &list->cli->diag);
    if (code != 0) return code;
    const struct trainer_gpu *measured = preset.measured.items;
    for (size_t i = 0; i < preset.measured.n || i == 0; i++) {
        const bool is_measured = i < preset.measured.n;
        table_text(table, preset.name);
        table_text(table, is_measured ? measured[i].gpu : NULL);
        table_number(table, is_measured ? measured[i].sustained_compute : preset.constants.sustained_compute);
        table_number(table, 1e3 * (is_measured ? measured[i].step_s : preset.constants.step_s));
        table_text(table, preset.summary);
    }
    return 0;
}

static int list_trainers(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("trainer"), LEFT("measured_on"), RIGHT("sustained_compute"),
                                                  RIGHT("step_ms"), LEFT("summary")};
    COLUMNS(list, columns);
    return listing_add_each(list, catalog_list_trainers, add_trainer);
}

static int add_prices(struct listing *list, const char *name)
{
    struct answer_table *table = &list->table;
    struct price_list prices;
    int code = catalog_prices(&list->catalog, name, name, &list->arena, &prices, &list->cli->diag);
    if (code != 0) return code;
    const struct price_entry *entry = prices.gpus.items;
    for (size_t i = 0; i < prices.gpus.n; i++, entry++) {
        table_text(table, prices.name);
        table_text(table, prices.date);
        table_text(table, entry->gpu);
        table_number(table, entry->on_demand_usd_per_h);
        table_number(table, entry->reserved_usd_per_h);
        table_number(table, entry->spot_usd_per_h);
        table_text(table, prices.source);
    }
    return 0;
}

static int list_prices(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("prices"),
                                                  LEFT("date"),
                                                  LEFT("gpu"),
                                                  RIGHT("on_demand_usd_per_h"),
                                                  RIGHT("reserved_usd_per_h"),
                                                  RIGHT("spot_usd_per_h"),
                                                  JSON_ONLY("source")};
    COLUMNS(list, columns);
    return listing_add_each(list, catalog_list_prices, add_prices);
}

/* --- The tables of the program --- */

static void add_policies(struct listing *list, struct policy_table policies, const char *plugin)
{
    for (size_t i = 0; i < policies.n; i++) {
        const struct policy *policy = policies.policies[i];
        const char *family = policy_family_name(policy->family);
        char oracle[POLICY_ORACLE_CHARS];
        if (list->only[0] != 0 && strcmp(family, list->only) != 0) continue;
        table_text(&list->table, family);
        add_name(list, policy->name);
        policy_oracle_names(policy->oracle, oracle);
        table_text(&list->table, oracle[0] != 0 ? oracle : NULL);
        table_text(&list->table, policy->summary);
        table_text(&list->table, policy->source);
        table_text(&list->table, plugin);
    }
}

static int list_policies(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("family"),  LEFT("policy"),      LEFT("oracle"),
                                                  LEFT("summary"), JSON_ONLY("source"), JSON_ONLY("plugin")};
    static const struct table_column columns_with_plugins[] = {LEFT("family"),  LEFT("policy"),      LEFT("oracle"),
                                                               LEFT("summary"), JSON_ONLY("source"), LEFT("plugin")};
    const struct plugins *plugins = list->cli->plugins;
    if (plugins != NULL && plugins->n > 0)
        COLUMNS(list, columns_with_plugins);
    else
        COLUMNS(list, columns);
    add_policies(list, policy_registry(), NULL);
    for (size_t i = 0; plugins != NULL && i < plugins->n; i++)
        add_policies(list, plugins->items[i].policies, plugins->items[i].path);
    return 0;
}

static int list_formats(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("format"), LEFT("records"), LEFT("summary"),
                                                  JSON_ONLY("source")};
    COLUMNS(list, columns);
    for (size_t i = 0; i < trace_format_count(); i++) {
        const struct trace_format *format = trace_format_at(i);
        table_text(&list->table, format->name);
        table_text(&list->table, format->open_requests != NULL ? "requests" : "jobs");
        table_text(&list->table, format->summary);
        table_text(&list->table, format->source);
    }
    return 0;
}

/* Public traces that a format reads, and where they can be had. */
static int list_traces(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("format"), LEFT("address"), LEFT("file"), LEFT("licence"),
                                                  JSON_ONLY("source")};
    COLUMNS(list, columns);
    for (size_t i = 0; i < trace_format_count(); i++) {
        const struct trace_format *format = trace_format_at(i);
        const struct public_trace *trace = &format->published;
        if (trace->address == NULL) continue;
        table_text(&list->table, format->name);
        table_text(&list->table, trace->address);
        table_text(&list->table, trace->path);
        table_text(&list->table, trace->licence);
        table_text(&list->table, format->source);
    }
    return 0;
}

static int list_metrics(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("metric"), LEFT("unit"), LEFT("better"), LEFT("definition"),
                                                  JSON_ONLY("vllm")};
    static const char *const better[] = {[METRIC_NEUTRAL] = NULL, [METRIC_LOWER] = "lower", [METRIC_HIGHER] = "higher"};
    COLUMNS(list, columns);
    for (const struct metric_def *def = metric_dictionary; def->name != NULL; def++) {
        if (!begins(def->name, list->only)) continue;
        add_name(list, def->name);
        table_text(&list->table, def->unit);
        table_text(&list->table, better[def->direction]);
        table_text(&list->table, def->definition);
        table_text(&list->table, def->vllm);
    }
    return 0;
}

/* --- Keys --- */

/* In Markdown the value stands in square brackets behind the meaning: tables of pages have few columns. */
static void add_key(struct listing *list, const char *path, const struct config_field *field)
{
    char buffer[CONFIG_VALUE_CHARS];
    const char *value = config_value_text(field, buffer, sizeof buffer);
    const bool is_page = list->form == ANSWER_MARKDOWN;
    add_name(list, path);
    table_text(&list->table, value);
    table_text(&list->table, field->flags & CONFIG_REQUIRED ? "required" : field->value);
    table_text(&list->table, is_page ? arena_printf(&list->arena, "%s [%s]", field->help, value) : field->help);
}

static int add_key_of_scenario(void *context, const char *path, const struct config_field *field)
{
    struct listing *list = context;
    if (begins(path, list->only)) add_key(list, path, field);
    return 0;
}

static int list_keys(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("key"), LEFT("value"), LEFT("default"), LEFT("meaning")};
    static const struct table_column of_page[] = {LEFT("key"), JSON_ONLY("value"), LEFT("default"), LEFT("meaning")};
    table_init(&list->table, list->form == ANSWER_MARKDOWN ? of_page : columns, sizeof columns / sizeof *columns);
    return config_each_key(scenario_fields, add_key_of_scenario, list);
}

enum { N_OTHER_FAMILIES = 6, N_FAMILIES = N_OTHER_FAMILIES + POLICY_FAMILY_COUNT };

struct parameters {
    struct listing *list;
    const char *name; /* of the policy, trace format or cost */
};

static int add_parameter(void *context, const char *path, const struct config_field *field)
{
    const struct parameters *parameters = context;
    add_name(parameters->list, parameters->name);
    add_key(parameters->list, path, field);
    return 0;
}

/* Names the family of a policy, trace format or cost that was taken for a family, or the nearest one. */
static int fail_no_family(struct listing *list, const struct config_families *families)
{
    const char *names[N_FAMILIES] = {"request-trace", "job-trace", "job-profile", "arrival", "length", "cost"};
    const char *hint = NULL, *nearest;
    struct config_alternative alternative;
    for (int i = 0; i < POLICY_FAMILY_COUNT; i++)
        names[N_OTHER_FAMILIES + i] = policy_family_name((enum policy_family)i);
    for (size_t i = 0; i < N_FAMILIES && hint == NULL; i++)
        if (config_find_alternative(families, names[i], list->only, &alternative))
            hint = arena_printf(&list->arena, "its family is %s: orrery list parameters %s", names[i], names[i]);
    nearest = text_nearest(list->only, names, N_FAMILIES);
    if (hint == NULL && nearest != NULL) hint = arena_printf(&list->arena, "did you mean '%s'?", nearest);
    if (hint == NULL)
        hint = "a family of 'orrery list policies', or request-trace, job-trace, job-profile, arrival ...";
    if (list->only[0] == 0)
        return diag_error(&list->cli->diag, SIM_E_USAGE, NULL, "such as: orrery list parameters batching",
                          "'orrery list parameters' needs a family");
    return diag_error(&list->cli->diag, SIM_E_USAGE, NULL, hint, "'%s' is no family", list->only);
}

static int list_parameters(struct listing *list)
{
    static const struct table_column columns[] = {LEFT("name"), LEFT("key"), LEFT("value"), LEFT("default"),
                                                  LEFT("meaning")};
    static const struct table_column of_page[] = {LEFT("name"), LEFT("key"), JSON_ONLY("value"), LEFT("default"),
                                                  LEFT("meaning")};
    table_init(&list->table, list->form == ANSWER_MARKDOWN ? of_page : columns, sizeof columns / sizeof *columns);
    const struct config_families families = cli_families(list->cli->plugins);
    struct config_alternative alternative;
    size_t n = 0;
    int code = 0;
    for (; code == 0 && families.alternative(families.context, list->only, n, &alternative); n++) {
        struct parameters parameters = {list, alternative.name};
        code = config_each_key(alternative.fields, add_parameter, &parameters);
    }
    return n > 0 ? code : fail_no_family(list, &families);
}

/* --- The verb --- */

static const struct {
    const char *name;
    int (*make)(struct listing *list);
    bool takes_part; /* a second argument names a family or a beginning, else it is a word of the rows */
    const char *what;
} listings[] = {
    {"gpus", list_gpus, false, "GPUs with their peaks, memory and power"},
    {"llms", list_llms, false, "LLMs with their shapes"},
    {"storage", list_storage, false, "drives and other storage devices"},
    {"engines", list_engines, false, "serving engines, by version"},
    {"kernels", list_kernels, false, "measured kernels, by GPU, set, library and version"},
    {"trainers", list_trainers, false, "training frameworks"},
    {"prices", list_prices, false, "prices of rented GPUs"},
    {"policies", list_policies, true, "policies, by family"},
    {"formats", list_formats, false, "formats of traces, and generators"},
    {"traces", list_traces, false, "public traces, and where they can be had"},
    {"metrics", list_metrics, true, "metrics of a run, with their units"},
    {"clusters", list_clusters, false, "clusters that come with the program: servers, and pods with their switches"},
    {"scenarios", list_scenarios, false, "scenarios that come with the program"},
    {"studies", list_studies, false, "studies that come with the program"},
    {"keys", list_keys, true, "keys of a scenario"},
    {"parameters", list_parameters, true, "keys of the policies of a family"},
};
enum { N_LISTINGS = sizeof listings / sizeof *listings };

/* No row fits the word: makes all of them, to suggest one. */
static int fail_empty(struct listing *list, int (*make)(struct listing *list), const char *listing, bool takes_part)
{
    const char *word = list->only;
    table_fini(&list->table);
    list->form = ANSWER_TEXT;
    list->only = "";
    const int code = make(list);
    if (code != 0) return code;
    return list_fail_empty(list->cli, listing, takes_part ? "begins with" : "has", word, &list->table,
                           strcmp(listing, "metrics") == 0 ? 1 : INT_MAX);
}

static int list(struct cli *cli, const struct cli_call *call)
{
    const struct list_options *options = call->options;
    const char *names[N_LISTINGS + 1] = {NULL}, *whats[N_LISTINGS];
    for (int i = 0; i < N_LISTINGS; i++) names[i] = listings[i].name, whats[i] = listings[i].what;
    if (call->n_arguments == 0) return list_listings(cli, names, whats, (enum answer_form)options->form);
    const int found = list_pick(cli, call->arguments[0], names);
    if (found < 0) return SIM_E_USAGE;
    struct listing list = {.cli = cli,
                           .form = (enum answer_form)options->form,
                           .only = call->n_arguments > 1 ? call->arguments[1] : ""};
    arena_init(&list.arena);
    list.catalog.root = paths_catalog(&list.arena);
    int code = list.catalog.root != NULL ? listings[found].make(&list) : SIM_E_NOMEM;
    if (code == 0 && !listings[found].takes_part) list_filter(&list.table, list.only);
    if (code == 0 && list.only[0] != 0 && list.table.n_cells == 0)
        code = fail_empty(&list, listings[found].make, listings[found].name, listings[found].takes_part);
    code = table_print(&list.table, code, list.form, cli->out, &cli->diag);
    arena_fini(&list.arena);
    return code;
}

const struct verb verb_list = {
    .name = "list",
    .summary = "the names that a scenario may use",
    .usage = "gpus|llms|engines|kernels|trainers|storage|prices|clusters|formats [WORD] [options]\n"
             "traces|scenarios|studies [WORD] [options]\n"
             "policies [FAMILY] [--json|--csv|--markdown]\n"
             "metrics [PREFIX] [--json|--csv|--markdown]\n"
             "keys [PREFIX] [--json|--csv|--markdown]\n"
             "parameters FAMILY [--json|--csv|--markdown]",
    .notes = "Without a word it lists what can be listed. WORD keeps the rows that have it.\n\n"
             "traces:     public traces of requests and jobs: the format that reads them, and where they can be had\n"
             "keys:       the keys of a scenario that begin with PREFIX, for example cluster.power\n"
             "parameters: the keys of each policy of a family; also of the families request-trace, job-trace,\n"
             "            job-profile, arrival, length and cost\n",
    .options = list_options,
    .takes_plugins = true,
    .options_bytes = sizeof(struct list_options),
    .max_arguments = 2,
    .run = list,
};
