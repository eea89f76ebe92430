#include "tests/support/worlds/draw.h"

#include "sim/core/check.h"
#include "sim/world/scenario.h"
#include "tests/support/worlds/skeleton.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of members of maps, few so that worlds refer to them by chance. */
static const char *const common_names[] = {"a", "b", "default"};

enum { N_COMMON_NAMES = 3, MOST_ITEMS = 3, DEEP = 8, ROUND_EVERY = 3 };

static cJSON *draw_value(struct drawing *drawing, const struct config_field *field, int n_items);
static void complete_value(struct drawing *drawing, const struct config_field *field, cJSON *value);

bool drawing_chance(struct drawing *drawing, unsigned percent)
{
    return rng_below(&drawing->rng, 100) < percent;
}

int64_t drawing_between(struct drawing *drawing, int64_t least, int64_t most)
{
    return least + (int64_t)rng_below(&drawing->rng, (uint64_t)(most - least + 1));
}

void drawing_use(struct drawing *drawing, const char *key, const char *text)
{
    if (drawing->n_used < DRAWING_MAX_USED) drawing->used[drawing->n_used++] = (struct word){key, text};
}

const char *drawing_used(struct drawing *drawing, const char *key)
{
    const char *drawn = NULL;
    uint64_t n = 0;
    for (size_t i = 0; i < drawing->n_used; i++)
        if (strcmp(drawing->used[i].key, key) == 0 && rng_below(&drawing->rng, ++n) == 0) drawn = drawing->used[i].text;
    return drawn;
}

/* --- Numbers --- */

static double log_uniform(struct drawing *drawing, double least, double most)
{
    return least * exp(log(most / least) * rng_uniform(&drawing->rng));
}

/* The usual range of quantities of a unit, in SI units. */
static double draw_usual(struct drawing *drawing, const struct config_field *field)
{
    static const double least[UNIT_DIM_COUNT] = {
        [UNIT_NONE] = 0.1,        [UNIT_TIME] = 1e-3,     [UNIT_BYTES] = 1e6, [UNIT_BYTES_PER_S] = 1e8,
        [UNIT_FLOP_PER_S] = 1e10, [UNIT_POWER] = 50,      [UNIT_ENERGY] = 1,  [UNIT_MONEY] = 0.01,
        [UNIT_MONEY_PER_H] = 0.1, [UNIT_FREQUENCY] = 2e8, [UNIT_RATE] = 0.05};
    static const double most[UNIT_DIM_COUNT] = {
        [UNIT_NONE] = 100,        [UNIT_TIME] = 300,      [UNIT_BYTES] = 2e11, [UNIT_BYTES_PER_S] = 1e12,
        [UNIT_FLOP_PER_S] = 1e15, [UNIT_POWER] = 2e4,     [UNIT_ENERGY] = 1e6, [UNIT_MONEY] = 100,
        [UNIT_MONEY_PER_H] = 20,  [UNIT_FREQUENCY] = 2e9, [UNIT_RATE] = 50};
    if (field->kind == CONFIG_INT) return log_uniform(drawing, 1, 400);
    const enum unit_dim dim = field->kind == CONFIG_TIME ? UNIT_TIME : field->dim;
    const bool is_cost = field->kind == CONFIG_QUANTITY && dim == UNIT_TIME && field->value != NULL;
    return is_cost ? log_uniform(drawing, 1e-8, 1e-2) : log_uniform(drawing, least[dim], most[dim]);
}

/* The default of a field in SI units; 0 without one. */
static double default_of(const struct config_field *field)
{
    double value = 0;
    const char *why;
    if (field->value == NULL) return 0;
    const enum unit_dim dim = field->kind == CONFIG_TIME       ? UNIT_TIME
                              : field->kind == CONFIG_QUANTITY ? field->dim
                                                               : UNIT_NONE;
    return unit_parse(field->value, dim, &value, &why) == 0 ? value : 0;
}

/* The largest of 1, 2, 5, 10, 20 and so on that is not above a positive value. */
static double round_down(double value)
{
    const double unit = pow(10, floor(log10(value))), times = value / unit;
    return unit * (times < 2 ? 1 : times < 5 ? 2 : 5);
}

/* A number within the limits of the field, in SI units. */
static double draw_number(struct drawing *drawing, const struct config_field *field)
{
    const bool has_least = field->min != 0 || field->max != 0, has_most = has_least && field->max >= field->min;
    const bool is_narrow = has_most && field->max - field->min <= 24;
    const double usual = default_of(field);
    const bool is_cheap = has_most && field->max <= 1e4; /* larger limits are of sizes, which take time */
    double value;
    if (has_least && drawing_chance(drawing, 6))
        value = is_cheap && drawing_chance(drawing, 50) ? field->max : field->min;
    else if (fabs(usual) > 0 && drawing_chance(drawing, 80))
        value = usual * exp2(6 * rng_uniform(&drawing->rng) - 3);
    else if (is_narrow)
        value = field->min + (field->max - field->min) * rng_uniform(&drawing->rng);
    else
        value = draw_usual(drawing, field);
    if (drawing->has_round_numbers && value > 0) value = round_down(value);
    char digits[32]; /* few, which a reader of a finding prefers */
    snprintf(digits, sizeof digits, "%.4g", value);
    value = strtod(digits, NULL);
    if (has_least && value < field->min) value = field->min;
    if (has_most && value > field->max) value = field->max;
    return value;
}

/* Whether its default is a negative time, which stands for none. */
static bool stands_for_absence(const struct config_field *field)
{
    return field->kind == CONFIG_TIME && field->value != NULL && field->value[0] == '-';
}

static cJSON *draw_quantity(struct drawing *drawing, const struct config_field *field)
{
    char text[64];
    const enum unit_dim dim = field->kind == CONFIG_TIME ? UNIT_TIME : field->dim;
    struct config_field drawn = *field;
    if (stands_for_absence(field)) drawn.min = 0;
    unit_format(draw_number(drawing, &drawn), dim, text, sizeof text);
    return cJSON_CreateString(text);
}

static cJSON *draw_int(struct drawing *drawing, const struct config_field *field)
{
    const double value = nearbyint(draw_number(drawing, field));
    return cJSON_CreateNumber(value < field->min ? field->min : value);
}

/* --- Texts --- */

static const char *draw_text(struct drawing *drawing, const char *key)
{
    const char *text = drawing_chance(drawing, 85) ? drawing_used(drawing, key) : NULL;
    if (text != NULL) return text;
    if (drawing_chance(drawing, 97)) text = words_draw(drawing->words, key, &drawing->rng);
    if (text == NULL) return common_names[rng_below(&drawing->rng, N_COMMON_NAMES)];
    drawing_use(drawing, key, text);
    return text;
}

static const char *draw_name(struct drawing *drawing, const char *map_key)
{
    const char *name = NULL;
    const bool is_gpu = strcmp(map_key, "speeds") == 0; /* names nothing else */
    const uint64_t kind = rng_below(&drawing->rng, is_gpu ? 2 : 3);
    if (kind == 0) name = words_draw_name(drawing->words, map_key, &drawing->rng);
    if (kind == 1) name = drawing_used(drawing, "gpu");
    if (name == NULL && is_gpu) name = "h100-sxm";
    return name != NULL ? name : common_names[rng_below(&drawing->rng, N_COMMON_NAMES)];
}

static cJSON *draw_choice(struct drawing *drawing, const struct config_field *field)
{
    uint64_t n = 0;
    while (field->choices[n] != NULL) n++;
    return cJSON_CreateString(field->choices[rng_below(&drawing->rng, n)]);
}

static cJSON *draw_scalar(struct drawing *drawing, const struct config_field *field)
{
    switch (field->kind) {
    case CONFIG_BOOL: return cJSON_CreateBool(drawing_chance(drawing, 50));
    case CONFIG_INT: return draw_int(drawing, field);
    case CONFIG_CHOICE: return draw_choice(drawing, field);
    case CONFIG_TEXT: return cJSON_CreateString(draw_text(drawing, field->name != NULL ? field->name : ""));
    case CONFIG_REAL: return cJSON_CreateNumber(draw_number(drawing, field));
    default:
        if (field->dim == UNIT_NONE && field->kind == CONFIG_QUANTITY)
            return cJSON_CreateNumber(draw_number(drawing, field));
        return draw_quantity(drawing, field);
    }
}

/* --- Alternatives --- */

/* Evictors that ask for all accesses to come, which only trace stat has: no scenario with them is valid. */
static bool knows_future(const char *name)
{
    return strcmp(name, "belady") == 0 || strcmp(name, "phase-bit") == 0 || strcmp(name, "discard-bit") == 0;
}

/* One that needs no file, each with equal chances; deep down the first. False: there is none. */
static bool draw_alternative(struct drawing *drawing, const char *family, struct config_alternative *drawn)
{
    struct config_alternative alternative;
    uint64_t n = 0;
    for (size_t i = 0; drawing->families->alternative(drawing->families->context, family, i, &alternative); i++) {
        if (reach_needs_file(alternative.fields) || (n > 0 && drawing->depth > DEEP)) continue;
        if (knows_future(alternative.name) && rng_below(&drawing->rng, 16) > 0) continue;
        if (rng_below(&drawing->rng, ++n) == 0) *drawn = alternative;
    }
    return n > 0;
}

static cJSON *draw_variant(struct drawing *drawing, const struct config_field *field)
{
    struct config_alternative alternative;
    if (!draw_alternative(drawing, field->family, &alternative)) return NULL;
    reach_note(drawing->reached, reach_thing(&alternative));
    cJSON *variant = cJSON_CreateObject();
    cJSON_AddStringToObject(variant, field->tag, alternative.name);
    if (alternative.fields == NULL) return variant;
    const struct drawing kept = *drawing;
    if (drawing->section_percent < 90) drawing->section_percent = 90;
    drawing_complete(drawing, alternative.fields, variant);
    drawing->section_percent = kept.section_percent;
    return variant;
}

/* The alternative that a value names. */
static void complete_variant(struct drawing *drawing, const struct config_field *field, cJSON *value)
{
    struct config_alternative alternative;
    const cJSON *tag = cJSON_IsString(value) ? value : cJSON_GetObjectItemCaseSensitive(value, field->tag);
    const struct config_families *families = drawing->families;
    for (size_t i = 0; tag != NULL && families->alternative(families->context, field->family, i, &alternative); i++) {
        if (strcmp(alternative.name, tag->valuestring) != 0) continue;
        reach_note(drawing->reached, reach_thing(&alternative));
        if (cJSON_IsObject(value) && alternative.fields != NULL) drawing_complete(drawing, alternative.fields, value);
        return;
    }
}

/* --- Items --- */

static cJSON *draw_item(struct drawing *drawing, const struct config_field *fields)
{
    if (fields->name == NULL) return draw_scalar(drawing, fields);
    cJSON *item = cJSON_CreateObject();
    drawing_complete(drawing, fields, item);
    return item;
}

/* The number that a value stands for, to sort by; quantities by their number alone would mix units. */
static bool value_number(const cJSON *value, double *number)
{
    const char *why;
    if (cJSON_IsNumber(value)) *number = value->valuedouble;
    if (cJSON_IsNumber(value)) return true;
    for (int dim = UNIT_TIME; cJSON_IsString(value) && dim < UNIT_DIM_COUNT; dim++)
        if (unit_parse(value->valuestring, (enum unit_dim)dim, number, &why) == 0) return true;
    return false;
}

/* Exchanges the values of two members, or two items without members. */
static void exchange(cJSON *a, cJSON *b)
{
    const cJSON kept = *a;
    a->type = b->type, a->valuestring = b->valuestring, a->valuedouble = b->valuedouble, a->valueint = b->valueint;
    b->type = kept.type, b->valuestring = kept.valuestring, b->valuedouble = kept.valuedouble,
    b->valueint = kept.valueint;
}

/* Makes the values at a key, or of the items themselves, rise along a list: most lists are read as curves. */
static void sort_items(cJSON *list, const char *key)
{
    const int n = cJSON_GetArraySize(list);
    for (int i = 0; i < n; i++)
        for (int k = 0; k + 1 < n - i; k++) {
            cJSON *a = cJSON_GetArrayItem(list, k), *b = cJSON_GetArrayItem(list, k + 1);
            if (key != NULL) a = cJSON_GetObjectItemCaseSensitive(a, key), b = cJSON_GetObjectItemCaseSensitive(b, key);
            double x, y;
            if (a != NULL && b != NULL && value_number(a, &x) && value_number(b, &y) && x > y) exchange(a, b);
        }
}

/* Gives each item the default of a time that it lacks. */
static void fill_times(cJSON *list, const struct config_field *time)
{
    cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_GetObjectItemCaseSensitive(item, time->name) == NULL)
            cJSON_AddStringToObject(item, time->name, time->value);
    }
}

/* Shares along a list: of a distribution, the last of which is 1, or of a whole, which add up to less. */
static void spread_shares(cJSON *list, const char *key, bool is_distribution)
{
    const int n = cJSON_GetArraySize(list);
    for (int i = 0; i < n; i++) {
        cJSON *share = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, i), key);
        if (!is_distribution) cJSON_SetNumberValue(share, share->valuedouble / n);
        if (is_distribution && i == n - 1) cJSON_SetNumberValue(share, 1);
    }
}

/* Whether the items have a number without a limit, over which shares may be a distribution. */
static bool has_abscissa(const struct config_field *fields)
{
    for (; fields->name != NULL; fields++)
        if ((fields->flags & CONFIG_REQUIRED) && fields->kind == CONFIG_REAL && fields->max != 1) return true;
    return false;
}

/* Items of a list by their fields: points of a curve, whose values rise; or records in the
 * order of their times. */
static void sort_list(const struct config_field *field, cJSON *list, bool is_curve)
{
    if (field->fields->name == NULL) sort_items(list, NULL);
    for (const struct config_field *inner = field->fields; inner->name != NULL; inner++) {
        const bool is_needed = (inner->flags & CONFIG_REQUIRED) != 0;
        const bool is_time = inner->kind == CONFIG_TIME && inner->value != NULL && !stands_for_absence(inner);
        if (is_time && !is_curve) fill_times(list, inner);
        if (is_curve ? is_needed : is_time) sort_items(list, inner->name);
        if (is_curve && is_needed && inner->kind == CONFIG_REAL && inner->min == 0 && inner->max == 1)
            spread_shares(list, inner->name, has_abscissa(field->fields));
    }
}

static cJSON *draw_items(struct drawing *drawing, const struct config_field *field, int n_items)
{
    const bool is_map = field->kind == CONFIG_MAP;
    cJSON *items = is_map ? cJSON_CreateObject() : cJSON_CreateArray();
    int n = n_items > 0 ? n_items : (int)drawing_between(drawing, drawing_chance(drawing, 20) ? 1 : 2, MOST_ITEMS);
    if (n < field->min) n = (int)field->min;
    if (field->max >= field->min && field->max > 0 && n > field->max) n = (int)field->max;
    for (int i = 0; i < n; i++) {
        const char *name = is_map ? draw_name(drawing, field->name) : NULL;
        if (is_map && cJSON_GetObjectItemCaseSensitive(items, name) != NULL) continue;
        cJSON *item = draw_item(drawing, field->fields);
        if (is_map)
            cJSON_AddItemToObject(items, name, item);
        else
            cJSON_AddItemToArray(items, item);
    }
    if (!is_map) sort_list(field, items, n_items == 0);
    return items;
}

static void complete_items(struct drawing *drawing, const struct config_field *field, cJSON *items)
{
    cJSON *item;
    cJSON_ArrayForEach(item, items)
    {
        if (field->fields->name != NULL && cJSON_IsObject(item)) drawing_complete(drawing, field->fields, item);
    }
}

/* --- Objects --- */

static cJSON *draw_value(struct drawing *drawing, const struct config_field *field, int n_items)
{
    cJSON *object;
    switch (field->kind) {
    case CONFIG_PATH: return NULL;
    case CONFIG_VARIANT: return draw_variant(drawing, field);
    case CONFIG_LIST:
    case CONFIG_MAP: return draw_items(drawing, field, n_items);
    case CONFIG_SECTION:
        if (reach_needs_file(field->fields)) return NULL;
        object = cJSON_CreateObject();
        drawing_complete(drawing, field->fields, object);
        return object;
    default: return draw_scalar(drawing, field);
    }
}

static void complete_value(struct drawing *drawing, const struct config_field *field, cJSON *value)
{
    if (field->kind == CONFIG_VARIANT) complete_variant(drawing, field, value);
    if (field->kind == CONFIG_SECTION) drawing_complete(drawing, field->fields, value);
    if (field->kind == CONFIG_LIST || field->kind == CONFIG_MAP) complete_items(drawing, field, value);
}

/* Whether a key must be there: also a section that has such a key, where it gets no defaults as a whole. */
static bool is_required(const struct config_field *field)
{
    if (field->flags & CONFIG_REQUIRED) return true;
    if (stands_for_absence(field)) return true;
    if (field->kind != CONFIG_SECTION || (field->flags & CONFIG_OPTIONAL)) return false;
    for (const struct config_field *inner = field->fields; inner->name != NULL; inner++)
        if (is_required(inner)) return true;
    return false;
}

/* Whether a key is optional, and most scenarios are refused without it: the power of jobs without plans, the points
 * of a table of costs without a file, and the time of an iteration whatever its work. */
static bool is_missed(const struct config_field *field)
{
    if (field->dim == UNIT_POWER && strcmp(field->name, "mean") == 0) return true;
    if (field->dim == UNIT_TIME && strcmp(field->name, "fixed") == 0) return true;
    return field->kind == CONFIG_LIST && (strcmp(field->name, "prefill") == 0 || strcmp(field->name, "decode") == 0);
}

/* Whether a key that may be left out is drawn. */
static bool is_wanted(struct drawing *drawing, const struct config_field *field)
{
    const bool is_section = field->kind == CONFIG_SECTION || field->kind == CONFIG_MAP || field->kind == CONFIG_LIST ||
                            field->kind == CONFIG_VARIANT;
    const bool is_text = field->kind == CONFIG_TEXT; /* few names fit to others, and few lists have the right length */
    const bool is_plain_list = field->kind == CONFIG_LIST && field->fields->name == NULL;
    if (is_missed(field)) return true;
    const unsigned percent = is_section && !is_plain_list ? drawing->section_percent : drawing->scalar_percent;
    return drawing_chance(drawing, (is_text || is_plain_list) && percent > 6 ? 6 : percent);
}

/* Puts two limits into their order. */
static void order_limits(cJSON *object)
{
    static const char *const pairs[][2] = {
        {"min", "max"}, {"first_batch", "most_batch"}, {"batch", "most_batch"}, {"least_local", "most_local"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cJSON *min = cJSON_GetObjectItemCaseSensitive(object, pairs[i][0]),
              *max = cJSON_GetObjectItemCaseSensitive(object, pairs[i][1]);
        if (cJSON_IsNumber(min) && cJSON_IsNumber(max) && min->valuedouble > max->valuedouble) exchange(min, max);
    }
}

bool drawing_trains(const cJSON *world)
{
    const cJSON *types = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(world, "jobs"), "types");
    return cJSON_HasObjectItem(cJSON_GetObjectItemCaseSensitive(types, "default"), "training");
}

/* Whether a key means nothing here: some do beside certain values of an earlier key only, or beside a number that is
 * more than `above`. */
static bool is_idle(const struct config_field *field, const cJSON *object)
{
    static const struct {
        const char *key, *beside, *values[3];
        double above;
    } rules[] = {{"median", "law", {"lognormal"}, 0.0},
                 {"shape", "law", {"weibull", "lognormal"}, 0.0},
                 {"overlap", "dispatch", {"deepep-normal", "deepep-low-latency"}, 0.0},
                 {"expert_skew", "dispatch", {"deepep-normal", "deepep-low-latency"}, 0.0},
                 {"dispatch_sms", "dispatch", {"deepep-normal"}, 0.0},
                 {"dispatch_nodes", "dispatch", {"deepep-normal"}, 0.0},
                 {"expert_groups", "expert_skew", {NULL}, 0.0},
                 {"redundant_experts", "expert_parallel", {NULL}, 1.0},
                 {"prefix_store", "prefix_cache", {NULL}, -1.0},
                 {"chunk_store", "chunk_store", {NULL}, -1.0}, /* tiers that fit nowhere; a skeleton has some */
                 {"waits", "waits", {NULL}, -1.0}, /* most batchers load no requests; a skeleton has one that does */
                 {"acceptance", "speculation", {NULL}, -1.0},
                 {"draft", "speculation", {NULL}, -1.0},
                 {"topology", "latency", {NULL}, -1.0}, /* else too many networks do not fit their nodes */
                 {"nodes_per_leaf", "topology", {"leaf-spine", "rails"}, 0.0},
                 {"leaves_per_pod", "topology", {"leaf-spine", "rails"}, 0.0},
                 {"pod_oversubscription", "leaves_per_pod", {NULL}, 0.0},
                 {"ports", "topology", {"fat-tree"}, 0.0},
                 {"levels", "topology", {"fat-tree"}, 0.0},
                 {"uplink", "topology", {"leaf-spine", "rails"}, 0.0},
                 {"oversubscription", "topology", {"leaf-spine", "rails", "fat-tree"}, 0.0},
                 {"paths", "topology", {"leaf-spine", "rails", "fat-tree"}, 0.0},
                 {"slow", "scope", {"gpu", "node", "nic"}, 0.0},
                 {"detection", "scope", {"gpu", "node", "switch"}, 0.0},
                 {"step", "checkpoint", {NULL}, -1.0},
                 {"to", "gpu_copy", {NULL}, -1.0}, /* few names are those of storage */
                 {"after", "after", {NULL}, -1.0}, /* jobs above it; skeletons have graphs */
                 {"enough", "after", {NULL}, -1.0},
                 {"dataset", "table", {NULL}, -1.0},
                 {"training", "training", {NULL}, -1.0}, /* plans that fit no cluster */
                 {"rl", "rl", {NULL}, -1.0}, /* a service of another name, or another LLM; skeletons have some */
                 {"steps", "training", {NULL}, -1.0}};
    /* a plan says how fast and what it sends */
    const bool is_planned = strcmp(field->name, "speeds") == 0 || strcmp(field->name, "speedup") == 0 ||
                            strcmp(field->name, "step") == 0;
    if (is_planned && cJSON_HasObjectItem(object, "training")) return true;
    /* offers are compared by speeds, which jobs with a plan do not state */
    if (strcmp(field->name, "market") == 0 && drawing_trains(object)) return true;
    /* keys of plans that exclude others */
    if (strcmp(field->name, "gradient_parts") == 0 && cJSON_HasObjectItem(object, "overlap_gradients")) return true;
    if (strcmp(field->name, "lengths") == 0 &&
        (cJSON_HasObjectItem(object, "tiers") || cJSON_HasObjectItem(object, "nics")))
        return true;
    /* one of both keeps KV of prompts */
    if (strcmp(field->name, "prefix_cache") == 0 && cJSON_HasObjectItem(object, "chunk_store")) return true;
    /* pools scale one by one */
    if (strcmp(field->name, "scaling") == 0 && cJSON_HasObjectItem(object, "pools")) return true;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(field->name, rules[i].key) != 0) continue;
        const cJSON *beside = cJSON_GetObjectItemCaseSensitive(object, rules[i].beside);
        for (size_t k = 0; k < 3 && beside != NULL && rules[i].values[k] != NULL; k++)
            if (strcmp(beside->valuestring, rules[i].values[k]) == 0) return false;
        return beside == NULL || rules[i].values[0] != NULL || beside->valuedouble <= rules[i].above;
    }
    return false;
}

static void complete_member(struct drawing *drawing, const struct config_field *field, cJSON *object)
{
    cJSON *member = cJSON_GetObjectItemCaseSensitive(object, field->name);
    const bool is_asked = cJSON_IsString(member) && member->valuestring[0] == '?';
    if (member != NULL && !is_asked) {
        complete_value(drawing, field, member);
        reach_note(drawing->reached, field);
        return;
    }
    if (member == NULL && !is_required(field) && (is_idle(field, object) || !is_wanted(drawing, field))) return;
    const int n_items = is_asked ? atoi(member->valuestring + 1) : 0;
    if (is_asked) cJSON_DeleteItemFromObjectCaseSensitive(object, field->name);
    const unsigned kept_percent = drawing->scalar_percent;
    if ((is_asked || field->kind == CONFIG_VARIANT) && kept_percent < 25) drawing->scalar_percent = 25;
    cJSON *value = draw_value(drawing, field, n_items);
    drawing->scalar_percent = kept_percent;
    if (value == NULL) return;
    cJSON_AddItemToObject(object, field->name, value);
    reach_note(drawing->reached, field);
}

void drawing_complete(struct drawing *drawing, const struct config_field *fields, cJSON *object)
{
    drawing->depth++;
    for (const struct config_field *field = fields; field->name != NULL; field++)
        complete_member(drawing, field, object);
    order_limits(object);
    drawing->depth--;
}

cJSON *draw_world(uint64_t seed, uint64_t number, const struct config_families *families, const struct words *words,
                  struct reach_world *reached)
{
    static const unsigned scalar_percents[] = {0, 0, 1, 2, 5, 12}, section_percents[] = {0, 0, 1, 4};
    struct drawing drawing = {.families = families, .words = words, .reached = reached};
    reached->n = 0;
    drawing.has_round_numbers = number % ROUND_EVERY == ROUND_EVERY - 1;
    rng_init(&drawing.rng, seed, 0, "worlds", number);
    drawing.scalar_percent = scalar_percents[rng_below(&drawing.rng, 6)];
    drawing.section_percent = section_percents[rng_below(&drawing.rng, 4)];
    cJSON *world = skeleton_draw(&drawing);
    drawing_complete(&drawing, scenario_fields, world);
    return world;
}
