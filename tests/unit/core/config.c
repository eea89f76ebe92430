#include "sim/core/config/config.h"
#include "tests/support/config_table.h"
#include "tests/support/harness.h"

/* A document loaded from text, with its --set, and bound. */
static struct {
    struct config *config;
    struct arena arena;
    struct diag diag;
    struct site site;
    int code;
    char messages[8192];
} bound;

static void format_messages(void)
{
    bound.messages[0] = 0;
    for (int i = 0; i < bound.diag.n_items; i++) {
        size_t used = strlen(bound.messages);
        char line[1024];
        diag_format(&bound.diag.items[i], line, sizeof line);
        snprintf(bound.messages + used, sizeof bound.messages - used, "%s%s", i > 0 ? "\n" : "", line);
    }
}

/* Parses, applies the settings (NULL-terminated, or NULL), binds. The findings of all three steps are in `messages`. In
 * the document, ' stands for ". */
static int bind(const char *quoted, const char *const *settings)
{
    const char *text = test_json("%s", quoted);
    arena_init(&bound.arena);
    diag_init(&bound.diag);
    bound.code = config_parse("t.json", "configs/scenarios", text, strlen(text), &bound.config, &bound.diag);
    for (; bound.code == 0 && settings != NULL && *settings != NULL; settings++)
        bound.code = config_set(bound.config, *settings, &bound.diag);
    if (bound.code == 0)
        bound.code = config_bind(bound.config, site_fields, &site_families, &bound.arena, &bound.site,
                                 sizeof bound.site, &bound.diag);
    format_messages();
    return bound.code;
}

static void unbind(void)
{
    config_destroy(bound.config);
    arena_fini(&bound.arena);
}

static void check_messages(const char *text, const char *expected)
{
    CHECK_EQ_INT(bind(text, NULL), SIM_E_CONFIG);
    CHECK_EQ_STR(bound.messages, expected);
    unbind();
}

/* Messages after one --set on a document that is right. */
static void check_setting(const char *setting, const char *expected)
{
    static const char text[] = "{'memory': '80GiB', 'racks': [{'height': 1}], 'services': {'chat-3.1': {}},"
                               " 'probing': {'policy': 'vllm-v0', 'max_sequences': 3}}";
    const char *settings[] = {setting, NULL};
    bind(text, settings);
    CHECK_EQ_STR(bound.messages, expected);
    unbind();
}

TEST(defaults_fill_what_is_absent)
{
    const struct site *site = &bound.site;
    MUST(bind("{'memory': '80GiB'}", NULL) == 0);
    CHECK(site->title == NULL && site->trace == NULL);
    CHECK(site->strict);
    CHECK_EQ_INT(site->nodes, 4);
    CHECK_EQ_INT(site->seed, 0);
    CHECK(site->load == 0.5 && site->scale == 1 && site->memory_bytes == 80 * 0x1p30);
    CHECK(isnan(site->price_usd_per_h));
    CHECK_EQ_INT(site->until_ns, 86400 * SIM_NS_PER_S);
    CHECK_EQ_INT(site->mode, SITE_MODE_EXACT);
    CHECK(site->power.budget_w == 20e3 && isnan(site->power.idle_frac));
    CHECK_EQ_INT(site->slo.ttft_ns, 0);
    CHECK(site->services.n == 0 && site->services.items == NULL);
    CHECK_EQ_INT(site->weights.n, 2);
    CHECK(((const double *)site->weights.items)[1] == 2.5);
    CHECK_EQ_STR(site->renting.name, "fixed-fleet");
    CHECK(site->renting.params == NULL && site->probing.name == NULL);
    unbind();
}

TEST(every_kind_is_read)
{
    const struct site *site = &bound.site;
    bind("{'title': 'caf\xc3\xa9', 'strict': false, 'nodes': 1e2, 'seed': -9223372036854775808,\n"
         " 'load': -1.5, 'memory': {'value': '40GB', 'source': 'sheet', 'sure': 'datasheet'},\n"
         " 'price': '$2.49/h', 'scale': 0.25, 'until': '1.5h', 'trace': '../../traces/x.csv',\n"
         " 'mode': 'fast', 'power': {'budget': '1MW', 'idle': 0.1}, 'slo': {'ttft': '1s'},\n"
         " 'services': {'chat-3.1': {'replicas': 8, 'batching': {'policy': 'static'}, 'slo': {}},\n"
         "   'code': {'batching': {'max_sequences': 9}, 'window': ['0s', '123456789012345678ns']}},\n"
         " 'racks': [{'height': 42, 'label': 'a', 'nodes': ['n0', 'n1']}, {'height': 2}],\n"
         " 'weights': [], 'shares': {'a': 0.5}, 'renting': {'policy': 'spot', 'bid': '$1/h'},\n"
         " 'probing': 'vllm-v0'}",
         NULL);
    CHECK_EQ_STR(bound.messages, "");
    MUST(bound.code == 0);
    CHECK_EQ_STR(site->title, "caf\xc3\xa9");
    CHECK_EQ_INT(site->nodes, 100);
    CHECK_EQ_INT(site->seed, INT64_MIN);
    CHECK(!site->strict && site->load == -1.5 && site->memory_bytes == 40e9 && site->price_usd_per_h == 2.49);
    CHECK_EQ_INT(site->until_ns, 5400 * SIM_NS_PER_S);
    CHECK_EQ_STR(site->trace, "traces/x.csv");
    CHECK_EQ_INT(site->mode, SITE_MODE_FAST);
    CHECK(site->power.budget_w == 1e6 && site->power.idle_frac == 0.1);
    CHECK_EQ_INT(site->slo.ttft_ns, SIM_NS_PER_S);
    CHECK_EQ_INT(site->slo.tpot_ns, SIM_NS_PER_S / 10);
    MUST(site->services.n == 2 && site->racks.n == 2 && site->shares.n == 1);

    const struct site_service *chat = site->services.items, *code = chat + 1;
    CHECK_EQ_STR(chat->name, "chat-3.1");
    CHECK_EQ_INT(chat->replicas, 8);
    CHECK_EQ_STR(chat->batching.name, "static");
    CHECK(chat->batching.params == NULL);
    CHECK_EQ_INT(chat->slo.ttft_ns, 2 * SIM_NS_PER_S);
    CHECK_EQ_STR(code->name, "code");
    CHECK_EQ_STR(code->batching.name, "vllm-v0");
    CHECK_EQ_INT(((const struct site_vllm *)code->batching.params)->max_sequences, 9);
    CHECK_EQ_INT(((const sim_ns *)code->window.items)[1], 123456789012345678);

    const struct site_rack *rack = site->racks.items;
    CHECK_EQ_INT(rack[1].height, 2);
    CHECK(rack[1].label == NULL && rack[1].nodes.n == 0);
    CHECK_EQ_STR(((const char *const *)rack[0].nodes.items)[1], "n1");
    CHECK_EQ_INT(site->weights.n, 0);
    CHECK_EQ_STR(((const struct site_share *)site->shares.items)->name, "a");
    const struct site_spot *spot = site->renting.params;
    CHECK(spot->bid_usd_per_h == 1);
    CHECK_EQ_STR(spot->prices, "prices.csv");
    CHECK_EQ_STR(site->probing.name, "vllm-v0");
    CHECK_EQ_INT(((const struct site_vllm *)site->probing.params)->max_sequences, 256);
    unbind();
}

TEST(unknown_keys_are_named)
{
    check_messages("{'memory': '1GB',\n 'power': {'bugdet': '1MW'}}",
                   "t.json:2:12: error: unknown key 'bugdet' in 'power'; did you mean 'budget'?");
    check_messages("{'memory': '1GB', 'extra': null, 'services': {'chat': {'slo': {'x': 1}}}}",
                   "t.json:1:19: error: unknown key 'extra'; known: 'title', 'strict', 'nodes', 'seed', 'load', "
                   "'memory', 'price', 'scale', 'until', 'warmup', 'trace', 'mode', 'power', 'slo', 'services', "
                   "'racks', 'weights', 'shares', 'renting', 'probing'\n"
                   "t.json:1:64: error: unknown key 'x' in 'services.chat.slo'; known: 'ttft', 'tpot'");
    check_messages("{'memory': '1GB', 'racks': [{'height': 1}, {'hieght': 1}]}",
                   "t.json:1:45: error: unknown key 'hieght' in 'racks.1'; did you mean 'height'?\n"
                   "t.json:1:44: error: missing 'height' in 'racks.1'; expected a whole number");
    check_messages("{'memory': '1GB', 'probing': {'policy': 'vllm-v0', 'max_seqs': 1}}",
                   "t.json:1:52: error: unknown key 'max_seqs' in 'probing'; known: 'max_sequences', 'watermark', "
                   "'policy'");
    check_messages("{'memory': {'value': '1GB', 'sourc': 'x'}}",
                   "t.json:1:29: error: unknown key 'sourc' in 'memory'; did you mean 'source'?");
}

TEST(missing_fields_are_named)
{
    check_messages("\n {}", "t.json:2:2: error: missing 'memory'; expected a quantity such as \"80GiB\"");
    check_messages("{'memory': null}", "t.json:1:12: error: missing 'memory'; expected a quantity such as \"80GiB\"");
    check_messages("{'memory': {'source': 'x'}}", "t.json:1:12: error: missing 'value' in 'memory'");
    check_messages("{'memory': '1GB', 'racks': [{}]}",
                   "t.json:1:29: error: missing 'height' in 'racks.0'; expected a whole number");
    check_messages("{'memory': '1GB', 'renting': {'policy': 'spot'}}",
                   "t.json:1:30: error: missing 'bid' in 'renting'; expected a quantity such as \"$2.49/h\"");
    check_messages("{'memory': '1GB', 'probing': {}}",
                   "t.json:1:30: error: missing 'policy' in 'probing'; it is one of 'vllm-v0', 'static'");
}

TEST(wrong_types_are_errors)
{
    check_messages("{'memory': true,\n'title': 1,\n'strict': 1,\n'nodes': 'four',\n'load': '0.5',\n"
                   "'until': {},\n'mode': 3,\n'power': [],\n'services': 'chat',\n'racks': {},\n"
                   "'weights': [null],\n'renting': 'spot',\n'probing': {'policy': 3},\n'seed': 1.5}",
                   "t.json:1:12: error: 'memory' must be a quantity such as \"80GiB\", got true\n"
                   "t.json:2:10: error: 'title' must be a string, got 1\n"
                   "t.json:3:11: error: 'strict' must be true or false, got 1\n"
                   "t.json:4:10: error: 'nodes' must be a whole number of at least 1, got \"four\"\n"
                   "t.json:5:9: error: 'load' must be a number, got \"0.5\"\n"
                   "t.json:6:10: error: 'until' must be a time such as \"15ms\", got an object\n"
                   "t.json:7:9: error: 'mode' must be one of \"fast\", \"exact\", got 3\n"
                   "t.json:8:10: error: 'power' must be an object, got a list\n"
                   "t.json:9:13: error: 'services' must be an object, got \"chat\"; set a key of 'services.NAME': "
                   "'replicas', 'batching', 'slo', 'window'\n"
                   "t.json:10:10: error: 'racks' must be a list, got an object\n"
                   "t.json:11:13: error: 'weights.0' must be a number, got null\n"
                   "t.json:12:12: error: 'renting' must be an object with \"policy\", got \"spot\"; "
                   "set 'renting.policy'\n"
                   "t.json:13:23: error: 'policy' must be a string, got 3\n"
                   "t.json:14:9: error: 'seed' must be a whole number, got 1.5");
    check_messages("{'memory': '1GB', 'racks': [3], 'services': {'a': 3}, 'seed': '12', 'trace': ''}",
                   "t.json:1:29: error: 'racks.0' must be an object, got 3\n"
                   "t.json:1:51: error: 'a' must be an object, got 3\n"
                   "t.json:1:63: error: 'seed' must be a whole number, got \"12\"\n"
                   "t.json:1:78: error: 'trace' must be a path, got \"\"");
    check_messages("{'memory': '1GB', 'nodes': 1e300, 'seed': 9223372036854775808}",
                   "t.json:1:28: error: 'nodes' must fit in 64 bits, got 1e300\n"
                   "t.json:1:43: error: 'seed' must fit in 64 bits, got 9223372036854775808");
}

TEST(quantities_need_units)
{
    check_messages("{'memory': 80}", "t.json:1:12: error: 'memory' needs a unit, got 80; write \"80GB\" or \"80GiB\"");
    check_messages("{'memory': '80'}",
                   "t.json:1:12: error: 'memory' needs a unit, got \"80\"; write \"80GB\" or \"80GiB\"");
    check_messages("{'memory': '1GB', 'until': 3, 'price': 2.5, 'power': {'budget': 700}}",
                   "t.json:1:28: error: 'until' needs a unit, got 3; write \"3s\" or \"3ms\"\n"
                   "t.json:1:40: error: 'price' needs a unit, got 2.5; write \"$2.5/h\"\n"
                   "t.json:1:65: error: 'budget' needs a unit, got 700; write \"700W\" or \"700kW\"");
    check_messages("{'memory': '80GX'}",
                   "t.json:1:12: error: 'memory' has an unknown unit, got \"80GX\"; write it like \"80GiB\"; "
                   "units: B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB");
    check_messages("{'memory': '80s'}",
                   "t.json:1:12: error: 'memory' has a unit of another kind, got \"80s\"; write it like \"80GiB\"; "
                   "units: B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB");
    check_messages("{'memory': 'much'}",
                   "t.json:1:12: error: 'memory' is not a number, got \"much\"; write it like \"80GiB\"");
    check_messages("{'memory': '1GB', 'until': '4000000d'}", "t.json:1:28: error: 'until' is longer than 292 years");
}

TEST(ranges_are_printed_in_the_unit_of_the_field)
{
    check_messages("{'memory': '1GB', 'nodes': 0, 'power': {'budget': '20MW', 'idle': 2},\n"
                   " 'slo': {'ttft': '0.1ns', 'tpot': '1min'},\n"
                   " 'services': {'a': {'replicas': 513, 'window': ['1s']}},\n"
                   " 'racks': [{'height': 1, 'nodes': ['', '123456789']}],\n"
                   " 'probing': {'policy': 'vllm-v0', 'watermark': 0.51}}",
                   "t.json:1:28: error: 'nodes' must be at least 1, got 0\n"
                   "t.json:1:51: error: 'budget' must be between \"1kW\" and \"10MW\", got \"20MW\"\n"
                   "t.json:1:67: error: 'idle' must be between 0 and 1, got 2\n"
                   "t.json:2:18: error: 'ttft' must be above 0, got \"0.1ns\"\n"
                   "t.json:2:35: error: 'tpot' must be between \"0s\" and \"10s\", got \"1min\"\n"
                   "t.json:3:33: error: 'replicas' must be between 1 and 512, got 513\n"
                   "t.json:3:48: error: 'window' must have 2 items, got 1\n"
                   "t.json:4:36: error: 'nodes.0' must have between 1 and 8 characters, got 0\n"
                   "t.json:4:40: error: 'nodes.1' must have between 1 and 8 characters, got 9\n"
                   "t.json:5:48: error: 'watermark' must be between 0 and 0.5, got 0.51");
}

TEST(unknown_words_get_a_suggestion)
{
    check_messages("{'memory': '1GB', 'mode': 'exakt'}",
                   "t.json:1:27: error: unknown mode 'exakt'; did you mean 'exact'?");
    check_messages("{'memory': '1GB', 'probing': 'vlm-v0', 'services': {'a': {'batching': {'policy': "
                   "'orca', 'size': 3}}}}",
                   "t.json:1:30: error: unknown batching policy 'vlm-v0'; did you mean 'vllm-v0'?\n"
                   "t.json:1:82: error: unknown batching policy 'orca'; known: 'vllm-v0', 'static'");
    check_messages("{'memory': {'value': '1GB', 'sure': 'maybe'}}",
                   "t.json:1:37: error: unknown sure 'maybe'; known: 'datasheet', 'measured', 'derived', 'paper', "
                   "'memory', 'guess'");
    check_messages("{'memory': '1GB', 'services': {'my chat': {}}}",
                   "t.json:1:32: error: the name 'my chat' may hold only letters, digits, '_', '.' and '-'");
}

TEST(settings_go_over_the_document)
{
    const char *settings[] = {"nodes=7",           "title=2024",     "trace=./a/../b.csv",    "power.budget=2kW",
                              "racks.0.label=top", "mode=fast",      "services.chat-3.1.replicas=2",
                              "services.code={\"replicas\": 3}",     "weights=[1,2,3]",       "weights.1=5",
                              "services.chat-3.1.batching=static",   "strict=false",          "load=null",
                              "probing.max_sequences=3"};
    const char *list[16] = {NULL};
    memcpy(list, settings, sizeof settings);
    bind("{'memory': '1GB', 'load': 3, 'probing': 'vllm-v0', 'racks': [{'height': 1}],\n"
         " 'services': {'chat-3.1': {'replicas': 8, 'batching': {'max_sequences': 1}}}}",
         list);
    CHECK_EQ_STR(bound.messages, "");
    MUST(bound.code == 0);
    CHECK_EQ_INT(bound.site.nodes, 7);
    CHECK_EQ_STR(bound.site.title, "2024");
    CHECK_EQ_STR(bound.site.trace, "b.csv");
    CHECK(bound.site.power.budget_w == 2e3 && bound.site.load == 0.5 && !bound.site.strict);
    CHECK_EQ_STR(((const struct site_rack *)bound.site.racks.items)->label, "top");
    MUST(bound.site.services.n == 2);
    const struct site_service *service = bound.site.services.items;
    CHECK_EQ_INT(service[0].replicas, 2);
    CHECK_EQ_STR(service[0].batching.name, "static");
    CHECK_EQ_STR(service[1].name, "code");
    CHECK_EQ_INT(service[1].replicas, 3);
    CHECK(((const double *)bound.site.weights.items)[1] == 5);
    CHECK_EQ_INT(((const struct site_vllm *)bound.site.probing.params)->max_sequences, 3);
    CHECK_EQ_STR(config_where(bound.config, "nodes"), "--set nodes");
    CHECK_EQ_STR(config_where(bound.config, "load"), "--set load");
    unbind();
}

TEST(settings_take_the_longest_key_that_fits)
{
    const char *settings[] = {"services.a.b.replicas=2", "services.a.replicas=3", NULL};
    MUST(bind("{'memory': '1GB', 'services': {'a.b': {}, 'a': {}}}", settings) == 0);
    const struct site_service *service = bound.site.services.items;
    CHECK_EQ_INT(service[0].replicas, 2);
    CHECK_EQ_INT(service[1].replicas, 3);
    unbind();
}

TEST(settings_are_checked_like_documents)
{
    check_setting("nodes=0", "--set nodes: error: 'nodes' must be at least 1, got 0");
    check_setting("power.bugdet=1MW",
                  "--set power.bugdet: error: unknown key 'bugdet' in 'power'; did you mean 'budget'?");
    check_setting("pwoer.budget=1MW", "--set pwoer.budget: error: unknown key 'pwoer'; did you mean 'power'?");
    check_setting("memory=80", "--set memory: error: 'memory' needs a unit, got 80; write \"80GB\" or \"80GiB\"");
    check_setting("nodes=07", "--set nodes: error: 'nodes' must be a whole number of at least 1, got \"07\"");
    check_setting("nodes=5//3", "--set nodes: error: 'nodes' must be a whole number of at least 1, got \"5//3\"");
    check_setting("racks.1.height=1", "--set racks.1.height: error: no item '1' in a list of 1; items count from 0");
    check_setting("racks.x=1", "--set racks.x: error: no item 'x' in a list of 1; items count from 0");
    check_setting("services.new={\"replicas\": 1,}",
                  "--set services.new: error: expected a key, got '}'; remove the comma before it");
    check_setting("probing.policy=static",
                  "t.json:1:110: error: unknown key 'max_sequences' in 'probing' with policy 'static'; write --set "
                  "probing.max_sequences=null, "
                  "as the policy was changed by --set probing.policy");
    check_setting("probing=static", "");
    check_setting("nodes", "--set nodes: error: not an assignment; write a.b=value");
    check_setting("=3", "--set : error: not an assignment; write a.b=value");
    check_setting("a..b=3", "--set a..b: error: not an assignment; write a.b=value");
    check_setting("title=\xff", "--set: error: invalid UTF-8");
    check_setting("title=", "");
    check_setting("weights= [1]", "");
    check_setting("title=// a\n{}", "");
    check_setting("services.chat-3.1.replicas=3", "");
    check_setting("services.chat-3.1.replicsa=3", "--set services.chat-3.1.replicsa: error: unknown key 'replicsa' in "
                                                  "'services.chat-3.1'; did you mean 'replicas'?");
}

TEST(values_know_their_line_and_column)
{
    struct config_origin origin;
    MUST(bind("{'memory': {'value': '1GB', 'source': 'the sheet', 'sure': 'paper'},\n"
              " 'power': {'budget': '5kW'}, 'racks': [{'height': 1}, {'height': 2}]}",
              NULL) == 0);
    CHECK_EQ_STR(config_where(bound.config, "power.budget"), "t.json:2:22");
    CHECK_EQ_STR(config_where(bound.config, "power.idle"), "t.json:2:11");
    CHECK_EQ_STR(config_where(bound.config, "racks.1.height"), "t.json:2:66");
    CHECK_EQ_STR(config_where(bound.config, "racks.7.height"), "t.json:2:39");
    CHECK_EQ_STR(config_where(bound.config, "services.chat"), "t.json:1:1");
    CHECK_EQ_STR(config_where(bound.config, ""), "t.json:1:1");
    CHECK(config_origin(bound.config, "memory", &origin));
    CHECK_EQ_STR(origin.source, "the sheet");
    CHECK_EQ_STR(origin.sure, "paper");
    CHECK(!config_origin(bound.config, "power.budget", &origin));
    CHECK(!config_origin(bound.config, "memory.value.x", &origin));
    unbind();
}

TEST(all_findings_are_counted)
{
    char text[1024] = "{'memory': '1GB'";
    for (int i = 0; i < 30; i++) snprintf(text + strlen(text), sizeof text - strlen(text), ", 'unknown_%d': 1", i);
    strcat(text, "}");
    CHECK_EQ_INT(bind(text, NULL), SIM_E_CONFIG);
    CHECK_EQ_INT(bound.diag.n_errors, 30);
    CHECK_EQ_INT(bound.diag.n_items, DIAG_MAX_ITEMS);
    unbind();
}
