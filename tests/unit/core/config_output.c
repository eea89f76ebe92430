#include "sim/core/config/config.h"
#include "sim/core/json_write.h"
#include "tests/support/config_table.h"
#include "tests/support/harness.h"

#include <cjson/cJSON.h>

/* With ' for ". */
static const char quoted[] = "{'memory': {'value': '40GB', 'source': 'sheet', 'sure': 'datasheet'},\n"
                             " 'title': 'a \\'b\\'', 'seed': 9007199254740993, 'warmup': '90min',\n"
                             " 'power': {'idle': 0.25}, 'racks': [{'height': 1, 'nodes': ['n0', 'n1']}],\n"
                             " 'services': {'chat': {'batching': 'static'}, 'code': {'slo': {}}},\n"
                             " 'weights': [0.1], 'load': null}";

static struct {
    struct config *config;
    struct arena arena;
    struct site site;
    struct text text;
} output;

static bool output_init(void)
{
    arena_init(&output.arena);
    text_init(&output.text);
    const char *document = test_json("%s", quoted);
    return CHECK(config_parse("t.json", ".", document, strlen(document), &output.config, NULL) == 0) &&
           CHECK(config_set(output.config, "nodes=7", NULL) == 0) &&
           CHECK(config_set(output.config, "shares={\"x\": 1}", NULL) == 0) &&
           CHECK(config_bind(output.config, site_fields, &site_families, &output.arena, &output.site,
                             sizeof output.site, NULL) == 0);
}

static void output_fini(void)
{
    config_destroy(output.config);
    arena_fini(&output.arena);
    text_fini(&output.text);
}

TEST(a_dump_is_complete_and_readable)
{
    MUST(output_init());
    CHECK_EQ_INT(config_dump(site_fields, &site_families, &output.site, &output.text), 0);
    CHECK_EQ_STR(output.text.chars, test_json("{\n"
                                              "  'title': 'a \\'b\\'',\n"
                                              "  'strict': true,\n"
                                              "  'nodes': 7,\n"
                                              "  'seed': '9007199254740993',\n"
                                              "  'load': 0.5,\n"
                                              "  'memory': '40GB',\n"
                                              "  'scale': 1,\n"
                                              "  'until': '1d',\n"
                                              "  'warmup': '1.5h',\n"
                                              "  'mode': 'exact',\n"
                                              "  'power': {\n"
                                              "    'budget': '20kW',\n"
                                              "    'idle': 0.25\n"
                                              "  },\n"
                                              "  'services': {\n"
                                              "    'chat': {\n"
                                              "      'replicas': 1,\n"
                                              "      'batching': {\n"
                                              "        'policy': 'static'\n"
                                              "      }\n"
                                              "    },\n"
                                              "    'code': {\n"
                                              "      'replicas': 1,\n"
                                              "      'batching': {\n"
                                              "        'policy': 'vllm-v0',\n"
                                              "        'max_sequences': 256,\n"
                                              "        'watermark': 0.01\n"
                                              "      },\n"
                                              "      'slo': {\n"
                                              "        'ttft': '2s',\n"
                                              "        'tpot': '0.1s'\n"
                                              "      }\n"
                                              "    }\n"
                                              "  },\n"
                                              "  'racks': [\n"
                                              "    {\n"
                                              "      'height': 1,\n"
                                              "      'nodes': ['n0', 'n1']\n"
                                              "    }\n"
                                              "  ],\n"
                                              "  'weights': [0.1],\n"
                                              "  'shares': {\n"
                                              "    'x': 1\n"
                                              "  },\n"
                                              "  'renting': {\n"
                                              "    'policy': 'fixed-fleet'\n"
                                              "  }\n"
                                              "}\n"));
    output_fini();
}

TEST(every_value_is_explained)
{
    MUST(output_init());
    CHECK_EQ_INT(config_explain(output.config, site_fields, &site_families, &output.site, &output.text), 0);
    static const char *const lines[] = {
        "title                                 a \\\"b\\\"           t.json:2:11",
        "strict                                true              default",
        "nodes                                 7                 --set nodes   machines of the cluster",
        "load                                  0.5               default",
        "memory                                40GB              t.json:1:22   memory of one GPU [datasheet: sheet]",
        "price                                 -                 default",
        "services.chat.batching.policy         static            t.json:4:36   which requests run together",
        "services.code.batching.max_sequences  256               default",
        "services.code.slo.tpot                0.1s              default",
        "racks.0.nodes.1                       n1                t.json:3:67",
        "shares.x                              1                 --set shares",
        "renting.policy                        fixed-fleet       default",
        "probing                               -                 default",
    };
    const char *at = output.text.chars;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *found = strstr(at, lines[i]);
        if (!test_check(found != NULL && found[strlen(lines[i])] == '\n', lines[i], __FILE__, __LINE__)) continue;
        at = found;
    }
    size_t n = 0;
    for (const char *c = output.text.chars; *c != 0; c++) n += *c == '\n';
    CHECK_EQ_INT(n, 34);
    output_fini();
}

/* The schema of a path of property names. */
static const cJSON *property(const cJSON *schema, const char *const *names)
{
    for (; schema != NULL && *names != NULL; names++)
        schema = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(schema, "properties"), *names);
    return schema;
}

static void check_word(const cJSON *object, const char *key, const char *expected)
{
    CHECK_EQ_STR(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key)), expected);
}

static void check_value(const cJSON *object, const char *key, double expected)
{
    CHECK_NEAR(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key)), expected, 0);
}

/* What a "$ref" to the "$defs" of the schema points to. */
static const cJSON *referred(const cJSON *schema, const cJSON *reference)
{
    static const char defs[] = "#/$defs/";
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reference, "$ref"));
    if (path == NULL || strncmp(path, defs, sizeof defs - 1) != 0) return NULL;
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(schema, "$defs"), path + sizeof defs - 1);
}

TEST(the_schema_is_json_and_describes_the_table)
{
    text_init(&output.text);
    CHECK_EQ_INT(config_schema(site_fields, &site_families, &output.text), 0);
    cJSON *schema = cJSON_ParseWithOpts(output.text.chars, NULL, 1);
    MUST(schema != NULL);
    check_word(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    CHECK(cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(schema, "additionalProperties")));
    const cJSON *required = cJSON_GetObjectItemCaseSensitive(schema, "required");
    CHECK_EQ_INT(cJSON_GetArraySize(required), 1);
    CHECK_EQ_STR(cJSON_GetStringValue(cJSON_GetArrayItem(required, 0)), "memory");

    int n_properties = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(schema, "properties")), n_fields = 0;
    for (const struct config_field *field = site_fields; field->name != NULL; field++, n_fields++)
        CHECK(property(schema, (const char *const[]){field->name, NULL}) != NULL);
    CHECK_EQ_INT(n_properties, n_fields + 2);

    const cJSON *nodes = property(schema, (const char *const[]){"nodes", NULL});
    check_word(nodes, "description", "machines of the cluster");
    check_value(nodes, "minimum", 1);
    check_value(nodes, "default", 4);
    CHECK(cJSON_GetObjectItemCaseSensitive(nodes, "maximum") == NULL);
    const cJSON *slo = property(schema, (const char *const[]){"slo", "ttft", NULL});
    check_word(slo, "type", "string");
    check_word(slo, "default", "2s");
    const cJSON *services = property(schema, (const char *const[]){"services", NULL});
    const cJSON *service = cJSON_GetObjectItemCaseSensitive(services, "additionalProperties");
    check_value(property(service, (const char *const[]){"replicas", NULL}), "maximum", 512);
    const cJSON *batching = property(service, (const char *const[]){"batching", NULL});
    CHECK_EQ_INT(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(batching, "oneOf")), 3);
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(batching, "oneOf"), 0);
    CHECK(cJSON_GetObjectItemCaseSensitive(first, "required") == NULL);
    const cJSON *vllm = referred(schema, first);
    const cJSON *one = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(batching, "oneOf"), 1);
    CHECK_EQ_INT(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(one, "required")), 1);
    const cJSON *brief = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(batching, "oneOf"), 2);
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(brief, "enum");
    MUST(cJSON_GetArraySize(names) == 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *alternative = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(batching, "oneOf"), i);
        const cJSON *policy = property(referred(schema, alternative), (const char *const[]){"policy", NULL});
        check_word(policy, "const", cJSON_GetStringValue(cJSON_GetArrayItem(names, i)));
    }
    check_word(property(vllm, (const char *const[]){"policy", NULL}), "const", "vllm-v0");
    check_value(property(vllm, (const char *const[]){"max_sequences", NULL}), "default", 256);
    cJSON_Delete(schema);
    text_fini(&output.text);
}

/* A family that contains itself: a tree is a leaf, or two trees. */
static const struct config_field node_fields[] = {
    {.name = "left", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .family = "tree", .tag = "kind"},
    {.name = "right", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .family = "tree", .tag = "kind",
     .offset = sizeof(struct config_variant)},
    {0}};
static const struct config_field forest_fields[] = {
    {.name = "root", .kind = CONFIG_VARIANT, .flags = CONFIG_REQUIRED, .family = "tree", .tag = "kind"}, {0}};

static bool tree_alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    static const struct config_alternative trees[] = {
        {.name = "leaf"}, {.name = "node", .fields = node_fields, .params_bytes = 2 * sizeof(struct config_variant)}};
    (void)context;
    if (strcmp(family, "tree") != 0 || index >= 2) return false;
    *out = trees[index];
    return true;
}

TEST(the_schema_of_a_family_that_contains_itself_ends)
{
    static const struct config_families trees = {.alternative = tree_alternative};
    text_init(&output.text);
    CHECK_EQ_INT(config_schema(forest_fields, &trees, &output.text), 0);
    cJSON *schema = cJSON_ParseWithOpts(output.text.chars, NULL, 1);
    MUST(schema != NULL);
    CHECK_EQ_INT(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(schema, "$defs")), 2);
    const cJSON *tree = property(schema, (const char *const[]){"root", NULL});
    for (int depth = 0; depth < 3; depth++) {
        const cJSON *node = referred(schema, cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(tree, "oneOf"), 1));
        check_word(property(node, (const char *const[]){"kind", NULL}), "const", "node");
        CHECK_EQ_INT(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(node, "required")), 2);
        tree = property(node, (const char *const[]){"right", NULL});
    }
    cJSON_Delete(schema);
    text_fini(&output.text);
}

TEST(json_is_indented_but_for_rows)
{
    struct json_writer writer;
    text_init(&output.text);
    json_writer_init(&writer, &output.text);
    json_write_open(&writer, NULL, '[');
    json_write_open(&writer, NULL, '{');
    json_write_close(&writer, '}');
    json_write_open_row(&writer, NULL, '{');
    json_write_string(&writer, "a", NULL);
    json_write_open(&writer, "b", '[');
    json_write_bool(&writer, NULL, false);
    json_write_number(&writer, NULL, 1.5);
    json_write_close(&writer, ']');
    json_write_close(&writer, '}');
    json_write_open(&writer, NULL, '[');
    json_write_string(&writer, NULL, "c");
    json_write_close(&writer, ']');
    json_write_close(&writer, ']');
    CHECK_EQ_STR(output.text.chars, "[\n  {},\n  {\"a\": null, \"b\": [false, 1.5]},\n  [\n    \"c\"\n  ]\n]");
    text_fini(&output.text);
}

static int add_key_line(void *context, const char *path, const struct config_field *field)
{
    char value[CONFIG_VALUE_CHARS];
    text_printf(context, "%s: %s\n", path, config_value_text(field, value, sizeof value));
    return 0;
}

TEST(every_key_is_listed_below_its_section)
{
    text_init(&output.text);
    CHECK_EQ_INT(config_each_key(site_fields, add_key_line, &output.text), 0);
    CHECK_EQ_STR(output.text.chars, test_json("title: a string\n"
                                              "strict: true or false\n"
                                              "nodes: a whole number, at least 1\n"
                                              "seed: a whole number\n"
                                              "load: a number\n"
                                              "memory: a quantity such as '80GiB'\n"
                                              "price: a quantity such as '$2.49/h'\n"
                                              "scale: a number\n"
                                              "until: a time such as '15ms'\n"
                                              "warmup: a time such as '15ms'\n"
                                              "trace: a path\n"
                                              "mode: one of 'fast', 'exact'\n"
                                              "power: an object\n"
                                              "power.budget: a quantity such as '700W', between '1kW' and '10MW'\n"
                                              "power.idle: a number, between 0 and 1\n"
                                              "slo: an object\n"
                                              "slo.ttft: a time such as '15ms', above 0\n"
                                              "slo.tpot: a time such as '15ms', between '0s' and '10s'\n"
                                              "services: objects by name\n"
                                              "services.NAME.replicas: a whole number, between 1 and 512\n"
                                              "services.NAME.batching: 'policy' of family batching\n"
                                              "services.NAME.slo: an object\n"
                                              "services.NAME.slo.ttft: a time such as '15ms', above 0\n"
                                              "services.NAME.slo.tpot: a time such as '15ms', between '0s' and '10s'\n"
                                              "services.NAME.window: list, each a time such as '15ms'\n"
                                              "racks: list of objects\n"
                                              "racks[].height: a whole number, between 0 and 48\n"
                                              "racks[].label: a string\n"
                                              "racks[].nodes: list, each a string\n"
                                              "weights: list, each a number\n"
                                              "shares: object, each member a number\n"
                                              "renting: 'policy' of family rental\n"
                                              "probing: 'policy' of family batching\n"));
    text_fini(&output.text);
}

static int stop_at_power(void *context, const char *path, const struct config_field *field)
{
    (void)field;
    *(int *)context += 1;
    return strcmp(path, "power.budget") == 0 ? 7 : 0;
}

TEST(listing_keys_stops_when_the_visitor_says_so)
{
    int seen = 0;
    CHECK_EQ_INT(config_each_key(site_fields, stop_at_power, &seen), 7);
    CHECK(seen > 1);
}
