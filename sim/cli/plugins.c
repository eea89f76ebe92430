#include "sim/cli/plugins.h"

#include "policies/registry.h"
#include "sim/catalog/cost.h"
#include "sim/cli/key_names.h"
#include "sim/cli/paths.h"
#include "traces/guess.h"
#include "traces/registry.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* --- Names --- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._-+", c) != NULL;
}

static bool is_policy_name(const char *name)
{
    for (const char *c = name; *c != 0; c++)
        if (!is_name_char(*c)) return false;
    return name[0] != 0;
}

static void name_plugin(struct plugin *plugin)
{
    const char *base = strrchr(plugin->path, '/');
    snprintf(plugin->name, sizeof plugin->name, "%s", base != NULL ? base + 1 : plugin->path);
    for (char *c = plugin->name; *c != 0; c++)
        if (!is_name_char(*c)) *c = '_';
}

/* --- Checks of a policy --- */

static int fail_policy(const struct plugin *plugin, const char *hint, struct diag *diag, const char *name,
                       const char *text)
{
    return diag_error(diag, SIM_E_USAGE, plugin->path, hint, "policy '%s' %s", name, text);
}

/* The ABI is the first member of all versions; nothing else is looked at when it is another one. */
static int check_build(const struct plugin *plugin, const struct policy *policy, struct diag *diag)
{
    static const char hint[] = "build it anew against the headers of this version";
    if (policy->abi != POLICY_ABI)
        return diag_error(diag, SIM_E_USAGE, plugin->path, hint, "a policy was built for ABI %u, expected %d",
                          policy->abi, POLICY_ABI);
    if ((unsigned)policy->family >= POLICY_FAMILY_COUNT)
        return diag_error(diag, SIM_E_USAGE, plugin->path, hint, "a policy is of an unknown family, number %u",
                          (unsigned)policy->family);
    if (policy->size == policy_family_bytes(policy->family)) return 0;
    return diag_error(diag, SIM_E_USAGE, plugin->path, hint,
                      "a %s policy was built for a struct of %u bytes, expected %zu",
                      policy_family_name(policy->family), policy->size, policy_family_bytes(policy->family));
}

static const struct policy *find(const struct plugins *plugins, enum policy_family family, const char *name,
                                 const struct plugin **plugin)
{
    for (size_t i = 0; i < plugins->n; i++) {
        *plugin = &plugins->items[i];
        for (size_t k = 0; k < (*plugin)->policies.n; k++) {
            const struct policy *policy = (*plugin)->policies.policies[k];
            if (policy->family == family && strcmp(policy->name, name) == 0) return policy;
        }
    }
    return NULL;
}

/* Against the built-in ones and those that were taken before. */
static int check_name(const struct plugins *plugins, const struct plugin *plugin, const struct policy *policy,
                      struct diag *diag)
{
    const struct plugin *other;
    const char *name = policy->name, *family = policy_family_name(policy->family);
    if (policy_find(policy->family, name) != NULL)
        return diag_error(diag, SIM_E_USAGE, plugin->path, "give it another name",
                          "there is a built-in %s policy '%s' already", family, name);
    if (find(plugins, policy->family, name, &other) == NULL) return 0;
    return diag_error(diag, SIM_E_USAGE, plugin->path, "load only one of them, or give it another name",
                      "there is a %s policy '%s' already, from %s", family, name, other->path);
}

static int check_policy(const struct plugins *plugins, const struct plugin *plugin, const struct policy *policy,
                        struct diag *diag)
{
    int code = check_build(plugin, policy, diag);
    if (code != 0) return code;
    if (policy->name == NULL || !is_policy_name(policy->name))
        return fail_policy(plugin, "use letters, digits, '-', '.', '_' and '+'", diag, policy->name ? policy->name : "",
                           "has no proper name");
    if (policy->summary == NULL)
        return fail_policy(plugin, "say in a line what it does", diag, policy->name, "has no summary");
    if ((policy->params == NULL) != (policy->params_bytes == 0))
        return fail_policy(plugin, "set params and params_bytes, or neither", diag, policy->name,
                           "declares parameters without a size, or a size without parameters");
    if (policy->init == NULL && policy->params_bytes > policy->state_bytes)
        return fail_policy(plugin, "give it an init, or a state that begins with the parameters", diag, policy->name,
                           "has no init, and no room for its parameters in its state");
    const char *missing = policy_missing(policy);
    if (missing != NULL)
        return diag_error(diag, SIM_E_USAGE, plugin->path, "see the header of its family for the functions it needs",
                          "policy '%s' lacks the function '%s'", policy->name, missing);
    return check_name(plugins, plugin, policy, diag);
}

static bool is_twice(const struct policy_table *table, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (table->policies[i]->family == table->policies[n]->family &&
            strcmp(table->policies[i]->name, table->policies[n]->name) == 0)
            return true;
    return false;
}

static int check_policies(const struct plugins *plugins, const struct plugin *plugin, struct diag *diag)
{
    const struct policy_table *table = &plugin->policies;
    if (table->n == 0)
        return diag_error(diag, SIM_E_USAGE, plugin->path, "name them in ORRERY_PLUGIN(...)", "it brings no policies");
    int code = 0;
    for (size_t i = 0; i < table->n && code == 0; i++) {
        code = check_policy(plugins, plugin, table->policies[i], diag);
        if (code == 0 && is_twice(table, i))
            code = fail_policy(plugin, "give one of them another name", diag, table->policies[i]->name, "comes twice");
    }
    return code;
}

/* --- Loading --- */

enum { MAX_PLUGIN_BYTES = 1 << 30 };

/* A device may never end, and a pipe could be read only once, for the hash. */
static int check_file(const struct plugin *plugin, struct diag *diag)
{
    struct stat status;
    if (stat(plugin->path, &status) != 0)
        return diag_error(diag, SIM_E_IO, plugin->path, NULL, "cannot read the file: %s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return diag_error(diag, SIM_E_USAGE, plugin->path, "name a shared object", "a plug-in must be a regular file");
    if (status.st_size <= MAX_PLUGIN_BYTES) return 0;
    return diag_error(diag, SIM_E_USAGE, plugin->path, "name a shared object",
                      "a plug-in has at most %d MiB, this file %lld", MAX_PLUGIN_BYTES >> 20,
                      (long long)status.st_size >> 20);
}

/* A name without a slash is a file here, and not one of the system's libraries. */
static void *open_object(const char *path)
{
    struct text here;
    text_init(&here);
    text_printf(&here, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    void *handle = here.failed ? NULL : dlopen(here.chars, RTLD_NOW | RTLD_LOCAL);
    text_fini(&here);
    return handle;
}

static int load_table(struct plugin *plugin, struct diag *diag)
{
    orrery_policies_fn *list;
    void *symbol = dlsym(plugin->handle, "orrery_policies");
    if (symbol == NULL)
        return diag_error(diag, SIM_E_USAGE, plugin->path, "end its source with ORRERY_PLUGIN(&your_policy.policy)",
                          "it is no plug-in: it has no 'orrery_policies'");
    memcpy(&list, &symbol, sizeof list);
    plugin->policies.policies = list();
    while (plugin->policies.policies != NULL && plugin->policies.policies[plugin->policies.n] != NULL)
        plugin->policies.n++;
    return 0;
}

static int hash_object(struct plugin *plugin, struct diag *diag)
{
    struct hash *hash = hash_create();
    if (hash == NULL) return diag_nomem(diag);
    int code = paths_hash_file(plugin->path, hash, diag);
    hash_hex(hash, plugin->hash);
    hash_destroy(hash);
    return code;
}

static int load(const struct plugins *plugins, struct plugin *plugin, struct diag *diag)
{
    name_plugin(plugin);
    int code = check_file(plugin, diag);
    if (code == 0) code = hash_object(plugin, diag); /* before it runs any code of its own */
    if (code != 0) return code;
    plugin->handle = open_object(plugin->path);
    if (plugin->handle == NULL) {
        const char *why = dlerror();
        const bool is_unknown = why != NULL && strstr(why, "undefined symbol") != NULL;
        return diag_error(diag, SIM_E_USAGE, plugin->path,
                          is_unknown ? "neither it nor orrery has a function of this name: is it misspelt? "
                                       "'cc -Werror=implicit-function-declaration' finds such calls"
                                     : "build it with 'cc -shared -fPIC'",
                          "it cannot be loaded: %s", why != NULL ? why : "out of memory");
    }
    code = load_table(plugin, diag);
    return code == 0 ? check_policies(plugins, plugin, diag) : code;
}

int plugins_load(const struct option_texts *paths, struct plugins *plugins, struct diag *diag)
{
    int first_code = 0;
    plugins->n = 0;
    for (size_t i = 0; i < paths->n; i++) {
        if (plugins->n == PLUGINS_MAX)
            return diag_error(diag, SIM_E_USAGE, NULL, NULL, "more than %d plug-ins", PLUGINS_MAX);
        struct plugin *plugin = &plugins->items[plugins->n];
        *plugin = (struct plugin){.path = paths->items[i]};
        int code = load(plugins, plugin, diag);
        if (first_code == 0) first_code = code;
        if (code != 0 && plugin->handle != NULL) dlclose(plugin->handle);
        if (code == 0) plugins->n++;
    }
    return first_code;
}

void plugins_close(struct plugins *plugins)
{
    while (plugins->n > 0) dlclose(plugins->items[--plugins->n].handle);
}

/* --- What they bring --- */

/* The index-th of their policies of this family as an alternative; false past the last one. NULL holds none. */
static bool alternative_of(const struct plugins *plugins, const char *family, size_t index,
                           struct config_alternative *out)
{
    for (size_t i = 0; plugins != NULL && i < plugins->n; i++) {
        for (size_t k = 0; k < plugins->items[i].policies.n; k++) {
            const struct policy *policy = plugins->items[i].policies.policies[k];
            if (strcmp(policy_family_name(policy->family), family) != 0 || index-- > 0) continue;
            *out = policy_as_alternative(policy);
            return true;
        }
    }
    return false;
}

const struct plugin *plugins_of(const struct plugins *plugins, const struct policy *policy)
{
    for (size_t i = 0; plugins != NULL && i < plugins->n; i++)
        for (size_t k = 0; k < plugins->items[i].policies.n; k++)
            if (plugins->items[i].policies.policies[k] == policy) return &plugins->items[i];
    return NULL;
}

/* --- Provenance --- */

static const char prefix[] = "plugin.";

static bool is_in_force(const struct plugin *plugin, const struct scenario *scenario)
{
    for (size_t k = 0; k < plugin->policies.n; k++)
        if (scenario_uses(scenario, plugin->policies.policies[k])) return true;
    return false;
}

void plugins_describe(const struct plugins *plugins, const struct scenario *scenario, struct text *text)
{
    for (size_t i = 0; plugins != NULL && i < plugins->n; i++) {
        const struct plugin *plugin = &plugins->items[i];
        if (is_in_force(plugin, scenario)) text_printf(text, " %s%s=%s", prefix, plugin->name, plugin->hash);
    }
}

void plugins_in_force(const struct plugins *plugins, const struct scenario *scenario, char files[PLUGINS_CHARS])
{
    size_t n = 0;
    files[0] = 0;
    for (size_t i = 0; plugins != NULL && scenario != NULL && i < plugins->n && n < PLUGINS_CHARS; i++)
        if (is_in_force(&plugins->items[i], scenario))
            n += (size_t)snprintf(files + n, PLUGINS_CHARS - n, "%s%s", n > 0 ? ", " : "", plugins->items[i].path);
}

void plugins_blame(const struct plugins *plugins, const struct scenario *scenario)
{
    if (plugins != NULL && plugins->at_fault != NULL) plugins_in_force(plugins, scenario, plugins->at_fault);
}

/* `entry` is NAME=HASH, `n` characters long. */
static int check_entry(const struct plugins *plugins, const char *entry, size_t n, const char *where, struct diag *diag)
{
    size_t n_name = strcspn(entry, "=");
    const struct plugin *same_name = NULL;
    if (n_name >= n) return 0;
    const char *hash = entry + n_name + 1;
    for (size_t i = 0; plugins != NULL && i < plugins->n; i++) {
        const struct plugin *plugin = &plugins->items[i];
        if (strlen(plugin->hash) == n - n_name - 1 && strncmp(plugin->hash, hash, n - n_name - 1) == 0) return 0;
        if (strlen(plugin->name) == n_name && strncmp(plugin->name, entry, n_name) == 0) same_name = plugin;
    }
    if (same_name == NULL)
        return diag_error(diag, SIM_E_USAGE, where, "load it with --plugin",
                          "the run had a policy of the plug-in '%.*s'", (int)n_name, entry);
    diag_warning(diag, where, NULL, "%s is not the file that the run had: its hash is %s, that one's was %.*s",
                 same_name->path, same_name->hash, (int)(n - n_name - 1), hash);
    return 0;
}

int plugins_check(const struct plugins *plugins, const char *policies, const char *where, struct diag *diag)
{
    int code = 0;
    for (const char *word = policies; *word != 0;) {
        size_t n = strcspn(word, " "), n_prefix = sizeof prefix - 1;
        if (n > n_prefix && strncmp(word, prefix, n_prefix) == 0) {
            int word_code = check_entry(plugins, word + n_prefix, n - n_prefix, where, diag);
            if (code == 0) code = word_code;
        }
        word += n + strspn(word + n, " ");
    }
    return code;
}

static bool alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    if (strcmp(family, "cost") == 0) return cost_alternative(index, out);
    if (trace_alternative(NULL, family, index, out)) return true;
    size_t n = 0; /* built-in policies of the family */
    for (; policy_alternative(NULL, family, n, out); n++)
        if (n == index) return true;
    return alternative_of(context, family, index - n, out);
}

struct config_families cli_families(const struct plugins *plugins)
{
    const bool has_plugins = plugins != NULL && plugins->n > 0;
    return (struct config_families){.alternative = alternative, .guess = trace_guess_alternative, .context = plugins,
                                    .synonym = key_synonym, .advice = key_advice,
                                    .alias = value_alias, .stray = value_stray, .listing = value_listing,
                                    .remedy = has_plugins ? NULL : " (your own need --plugin)"};
}
