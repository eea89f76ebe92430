/* Random documents of the test table. What is dumped binds to the same struct, bit for bit, and dumps to the same
 * bytes; a document that is taken apart into settings binds to the same struct. */
#include "sim/core/json_doc.h"
#include "sim/core/json_write.h"
#include "tests/support/config_table.h"
#include "tests/support/harness.h"

enum { N_DOCUMENTS = 600, MAX_ITEMS = 3 };

struct generator {
    struct rng rng;
    struct json_writer writer;
};

static void generate_value(struct generator *generator, const char *key, const struct config_field *field);

static bool chance(struct generator *generator, unsigned percent)
{
    return rng_below(&generator->rng, 100) < percent;
}

/* A double of any magnitude, or one in the field's range where it has one. */
static double generate_double(struct generator *generator, const struct config_field *field)
{
    struct rng *rng = &generator->rng;
    if (field->max > field->min) return field->min + (field->max - field->min) * rng_uniform(rng);
    double value = 0;
    do {
        uint64_t bits = rng_u64(rng);
        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    if (chance(generator, 50)) value = (double)(int)rng_below(rng, 2000) / 8 - 100;
    return field->min > 0 ? fabs(value) + field->min : value;
}

static int64_t generate_int(struct generator *generator, const struct config_field *field)
{
    struct rng *rng = &generator->rng;
    uint64_t bits = rng_u64(rng) >> rng_below(rng, 64);
    uint64_t width = field->max > field->min ? (uint64_t)(field->max - field->min) : 0;
    if (width > 0) return (int64_t)field->min + (int64_t)rng_below(rng, width);
    if (field->min > 0) return (int64_t)((bits >> 1) | 1);
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void generate_text(struct generator *generator, const struct config_field *field)
{
    static const char *const pieces[] = {
        "a", "Z", "0", " ", "\"", "\\", "/", "\n", "\x01", "\x7f", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    SCOPED(text) text = {0};
    text_add(&text, "x");
    size_t n = field->max > 0 ? 0 : rng_below(&generator->rng, 20);
    for (; n > 0; n--) text_add(&text, pieces[rng_below(&generator->rng, sizeof pieces / sizeof *pieces)]);
    text_json_string(generator->writer.text, text.chars);
}

static void generate_path(struct generator *generator)
{
    static const char *const pieces[] = {"a", "..", ".", "", "b.csv", "...", "c d"};
    SCOPED(text) text = {0};
    text_add(&text, chance(generator, 20) ? "/" : "p");
    for (size_t n = rng_below(&generator->rng, 8); n > 0; n--)
        text_printf(&text, "/%s", pieces[rng_below(&generator->rng, sizeof pieces / sizeof *pieces)]);
    text_json_string(generator->writer.text, text.chars);
}

static void generate_quantity(struct generator *generator, const struct config_field *field, enum unit_dim dim)
{
    char quantity[64];
    double value = generate_double(generator, field);
    if (field->kind == CONFIG_TIME) value = fmod(value, 9e9);
    if (field->kind == CONFIG_TIME && field->min > 0) value = fabs(value) + 1e-9;
    unit_format(value, dim, quantity, sizeof quantity);
    if (field->kind == CONFIG_TIME && field->min == 0 && field->max == 0 && chance(generator, 50))
        snprintf(quantity, sizeof quantity, "%lldns", (long long)generate_int(generator, field));
    text_json_string(generator->writer.text, quantity);
}

static void generate_scalar(struct generator *generator, const struct config_field *field)
{
    struct text *json = generator->writer.text;
    int64_t whole;
    switch (field->kind) {
    case CONFIG_BOOL: text_add(json, chance(generator, 50) ? "true" : "false"); break;
    case CONFIG_INT:
        whole = generate_int(generator, field);
        text_printf(json, "%lld", (long long)whole);
        break;
    case CONFIG_REAL: text_json_number(json, generate_double(generator, field)); break;
    case CONFIG_TIME: generate_quantity(generator, field, UNIT_TIME); break;
    case CONFIG_QUANTITY:
        if (field->dim == UNIT_NONE)
            text_json_number(json, generate_double(generator, field));
        else
            generate_quantity(generator, field, field->dim);
        break;
    case CONFIG_PATH: generate_path(generator); break;
    case CONFIG_CHOICE: text_json_string(json, field->choices[rng_below(&generator->rng, 2)]); break;
    default: generate_text(generator, field);
    }
}

static void generate_members(struct generator *generator, const struct config_field *fields)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++)
        if ((field->flags & CONFIG_REQUIRED) || chance(generator, 60)) generate_value(generator, field->name, field);
}

static void generate_elements(struct generator *generator, const struct config_field *field)
{
    bool is_map = field->kind == CONFIG_MAP;
    size_t n = field->max > 0 ? (size_t)field->max : rng_below(&generator->rng, MAX_ITEMS + 1);
    for (size_t i = 0; i < n; i++) {
        char key[32];
        snprintf(key, sizeof key, "%c.%zu-_", (char)('a' + (int)rng_below(&generator->rng, 26)), i);
        if (field->fields->name == NULL) {
            generate_value(generator, is_map ? key : NULL, field->fields);
            continue;
        }
        json_write_open(&generator->writer, is_map ? key : NULL, '{');
        generate_members(generator, field->fields);
        json_write_close(&generator->writer, '}');
    }
}

static void generate_variant(struct generator *generator, const char *key, const struct config_field *field)
{
    struct config_alternative alternative;
    site_families.alternative(NULL, field->family, rng_below(&generator->rng, 2), &alternative);
    if ((field->flags & CONFIG_SHORT) && chance(generator, 30)) {
        json_write_string(&generator->writer, key, alternative.name);
        return;
    }
    json_write_open(&generator->writer, key, '{');
    json_write_string(&generator->writer, field->tag, alternative.name);
    generate_members(generator, alternative.fields);
    json_write_close(&generator->writer, '}');
}

static void generate_sourced(struct generator *generator, const char *key, const struct config_field *field)
{
    json_write_open(&generator->writer, key, '{');
    json_write_key(&generator->writer, "value");
    generate_scalar(generator, field);
    if (chance(generator, 50)) json_write_string(&generator->writer, "sure", "guess");
    json_write_close(&generator->writer, '}');
}

static void generate_value(struct generator *generator, const char *key, const struct config_field *field)
{
    bool is_list = field->kind == CONFIG_LIST;
    if (field->kind == CONFIG_VARIANT) {
        generate_variant(generator, key, field);
    } else if (field->kind == CONFIG_SECTION || field->kind == CONFIG_MAP || is_list) {
        json_write_open(&generator->writer, key, is_list ? '[' : '{');
        if (field->kind == CONFIG_SECTION)
            generate_members(generator, field->fields);
        else
            generate_elements(generator, field);
        json_write_close(&generator->writer, is_list ? ']' : '}');
    } else if ((field->flags & CONFIG_SOURCED) && chance(generator, 50)) {
        generate_sourced(generator, key, field);
    } else {
        json_write_key(&generator->writer, key);
        generate_scalar(generator, field);
    }
}

/* The document of a number, always the same one. */
static void generate(uint64_t number, struct text *json)
{
    struct generator generator;
    rng_init(&generator.rng, 1, 0, "config", number);
    text_init(json);
    json_writer_init(&generator.writer, json);
    json_write_open(&generator.writer, NULL, '{');
    generate_members(&generator, site_fields);
    json_write_close(&generator.writer, '}');
}

static bool same_value(const struct config_field *field, const char *a, const char *b);

static bool same_members(const struct config_field *fields, const char *a, const char *b)
{
    for (const struct config_field *field = fields; field != NULL && field->name != NULL; field++)
        if (!same_value(field, a + field->offset, b + field->offset)) return false;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_elements(const struct config_field *field, const struct config_list *a, const struct config_list *b)
{
    if (a->n != b->n) return false;
    const char *x = a->items, *y = b->items;
    for (size_t i = 0; i < a->n; i++, x += field->elem_bytes, y += field->elem_bytes) {
        bool same = field->kind == CONFIG_LIST ||
                    same_text(*(char *const *)(const void *)x, *(char *const *)(const void *)y);
        const struct config_field *item = field->fields;
        same = same &&
               (item->name != NULL ? same_members(item, x, y) : same_value(item, x + item->offset, y + item->offset));
        if (!same) return false;
    }
    return true;
}

static bool same_variant(const struct config_field *field, const struct config_variant *a,
                         const struct config_variant *b)
{
    struct config_alternative alternative;
    if (!same_text(a->name, b->name) || a->entry != b->entry) return false;
    for (size_t i = 0; a->name != NULL && site_families.alternative(NULL, field->family, i, &alternative); i++)
        if (strcmp(alternative.name, a->name) == 0) return same_members(alternative.fields, a->params, b->params);
    return a->name == NULL;
}

static bool same_value(const struct config_field *field, const char *a, const char *b)
{
    switch (field->kind) {
    case CONFIG_SECTION: return same_members(field->fields, a, b);
    case CONFIG_MAP:
    case CONFIG_LIST: return same_elements(field, (const void *)a, (const void *)b);
    case CONFIG_VARIANT: return same_variant(field, (const void *)a, (const void *)b);
    case CONFIG_TEXT:
    case CONFIG_PATH: return same_text(*(char *const *)(const void *)a, *(char *const *)(const void *)b);
    case CONFIG_BOOL: return *a == *b;
    case CONFIG_CHOICE: return memcmp(a, b, sizeof(int)) == 0;
    default: return memcmp(a, b, 8) == 0;
    }
}

/* A document bound to a site. */
struct bound {
    struct config *config;
    struct arena arena;
    struct diag diag;
    struct site site;
};

static void bound_fini(struct bound *bound)
{
    config_destroy(bound->config);
    arena_fini(&bound->arena);
}

static int bind_site(struct bound *bound)
{
    return config_bind(bound->config, site_fields, &site_families, &bound->arena, &bound->site, sizeof bound->site,
                       &bound->diag);
}

/* Checks that it went well, and shows the document and the first finding when it did not. */
static bool check_bound(const struct bound *bound, int code, const char *document)
{
    if (CHECK(code == 0)) return true;
    char line[1024];
    diag_format(&bound->diag.items[0], line, sizeof line);
    printf("%s\n%s\n", line, document);
    return false;
}

static bool parse_and_bind(struct bound *bound, const char *document)
{
    *bound = (struct bound){0};
    int code = config_parse("document", ".", document, strlen(document), &bound->config, &bound->diag);
    if (code == 0) code = bind_site(bound);
    return check_bound(bound, code, document);
}

TEST(dumps_bind_to_the_same_struct)
{
    for (uint64_t number = 0; number < N_DOCUMENTS; number++) {
        struct text document, dump, again;
        struct bound first, second;
        generate(number, &document);
        text_init(&dump);
        text_init(&again);
        MUST(parse_and_bind(&first, document.chars));
        MUST(config_dump(site_fields, &site_families, &first.site, &dump) == 0);
        MUST(parse_and_bind(&second, dump.chars));
        CHECK(same_members(site_fields, (const char *)&first.site, (const char *)&second.site));
        MUST(config_dump(site_fields, &site_families, &second.site, &again) == 0);
        CHECK_EQ_STR(again.chars, dump.chars);
        bound_fini(&first);
        bound_fini(&second);
        text_fini(&document);
        text_fini(&dump);
        text_fini(&again);
    }
}

static void write_node(const struct json_node *node, struct json_writer *writer)
{
    bool is_object = node->kind == JSON_OBJECT;
    if (node->kind == JSON_STRING) {
        json_write_string(writer, node->key, node->text);
    } else if (node->n == 0 && !is_object && node->kind != JSON_LIST) {
        json_write_key(writer, node->key);
        text_add(writer->text, node->text);
    } else {
        json_write_open_row(writer, node->key, is_object ? '{' : '[');
        for (const struct json_node *child = node->first; child != NULL; child = child->next) write_node(child, writer);
        json_write_close(writer, is_object ? '}' : ']');
    }
}

/* Paths cannot make keys that hold dots. */
static bool has_dotted_keys(const struct json_node *object)
{
    for (const struct json_node *member = object->first; member != NULL; member = member->next)
        if (strchr(member->key, '.') != NULL) return true;
    return false;
}

/* Applies what stands below a path as settings, one per value. */
static void set_below(struct bound *bound, const char *path, const struct json_node *node)
{
    if (node->kind == JSON_OBJECT && node->n > 0 && !has_dotted_keys(node)) {
        for (const struct json_node *member = node->first; member != NULL; member = member->next) {
            char inner[256];
            snprintf(inner, sizeof inner, "%s%s%s", path, *path != 0 ? "." : "", member->key);
            set_below(bound, inner, member);
        }
        return;
    }
    SCOPED(text) setting = {0};
    struct json_writer writer;
    struct json_node value = *node;
    text_printf(&setting, "%s=", path);
    json_writer_init(&writer, &setting);
    value.key = NULL;
    write_node(&value, &writer);
    if (!CHECK(config_set(bound->config, setting.chars, &bound->diag) == 0)) puts(setting.chars);
}

TEST(settings_bind_to_the_same_struct)
{
    static const struct json_source source = {.name = "document", .directory = ".", .has_lines = true};
    for (uint64_t number = 0; number < N_DOCUMENTS; number++) {
        SCOPED(text) document;
        struct bound whole, parts = {0};
        struct json_node *root;
        generate(number, &document);
        MUST(parse_and_bind(&whole, document.chars));
        MUST(config_parse("empty", ".", "{}", 2, &parts.config, NULL) == 0);
        MUST(json_parse(&parts.arena, &source, document.chars, document.length, &root, NULL) == 0);
        set_below(&parts, "", root);
        if (check_bound(&parts, bind_site(&parts), document.chars))
            CHECK(same_members(site_fields, (const char *)&whole.site, (const char *)&parts.site));
        bound_fini(&whole);
        bound_fini(&parts);
    }
}
