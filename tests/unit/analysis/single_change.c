/* Differences between two scenarios that are taken one by one. */
#include "analysis/gate/single_change.h"
#include "analysis/gate/scenario_change.h"
#include "tests/support/harness.h"

#include <string.h>

static const char before_text[] =
    "{\"seed\": 1, \"services\": {\"a\": {\"replicas\": 2, \"routing\": {\"policy\": \"least\", \"count\": 3},"
    " \"limits\": [1, 2]}}, \"gone\": true}";
static const char now_text[] =
    "{\"seed\": 1, \"services\": {\"a\": {\"replicas\": 3, \"routing\": {\"policy\": \"round\"}, \"limits\": [1, 3]},"
    " \"b\": {\"replicas\": 1}}}";

static struct json_node *parse(struct arena *arena, const char *text)
{
    static const struct json_source source = {.name = "test", .directory = "."};
    struct json_node *root = NULL;
    CHECK_EQ_INT(json_parse(arena, &source, text, strlen(text), &root, NULL), 0);
    return root;
}

/* Keys of the values in which two scenarios differ, each followed by a blank. */
static const char *differences(struct arena *arena, const struct json_node *a, const struct json_node *b, size_t *n)
{
    struct scenario_change *changes;
    const char *keys = "";
    CHECK_EQ_INT(scenario_changes(a, b, arena, &changes, n), 0);
    for (size_t i = 0; i < *n; i++) keys = arena_printf(arena, "%s%s ", keys, changes[i].key);
    return keys;
}

static struct json_node *taken(struct arena *arena, const struct json_node *before, const struct json_node *now,
                               const struct single_change *change)
{
    struct text json;
    text_init(&json);
    single_change_write(before, now, change, &json);
    struct json_node *root = parse(arena, arena_strdup(arena, json.chars));
    text_fini(&json);
    return root;
}

TEST(each_part_is_taken_alone)
{
    static const char *const keys[] = {"services.a.replicas", "services.a.routing", "services.a.limits", "services.b",
                                       "gone"};
    static const char *const moved[] = {"services.a.replicas ", "services.a.routing.policy services.a.routing.count ",
                                        "services.a.limits.1 ", "services.b ", "gone "};
    struct arena arena;
    struct single_change *changes;
    size_t n, n_values;
    arena_init(&arena);
    const struct json_node *before = parse(&arena, before_text), *now = parse(&arena, now_text);
    CHECK_EQ_INT(single_changes(before, now, &arena, &changes, &n), 0);
    CHECK_EQ_INT(n, 5);
    for (size_t i = 0; i < 5; i++) {
        CHECK_EQ_STR(changes[i].key, keys[i]);
        CHECK_EQ_STR(differences(&arena, before, taken(&arena, before, now, &changes[i]), &n_values), moved[i]);
    }
    CHECK_EQ_STR(differences(&arena, before, taken(&arena, before, now, NULL), &n_values), "");
    arena_fini(&arena);
}

/* One after the other, all parts lead from one scenario to the other. */
TEST(all_parts_together_are_the_whole)
{
    struct arena arena;
    struct single_change *changes;
    size_t n, n_values;
    int steps = 0;
    arena_init(&arena);
    const struct json_node *at = parse(&arena, before_text), *now = parse(&arena, now_text);
    for (; single_changes(at, now, &arena, &changes, &n) == 0 && n > 0 && steps < 9; steps++)
        at = taken(&arena, at, now, &changes[n - 1]);
    CHECK_EQ_INT(steps, 5);
    CHECK_EQ_STR(differences(&arena, at, now, &n_values), "");
    arena_fini(&arena);
}

/* A list is a difference as a whole, also if it only became longer or shorter. */
TEST(lists_of_other_lengths_differ)
{
    static const char *const lists[] = {"{\"limits\": [1]}", "{\"limits\": [1, 2]}", "{\"limits\": []}"};
    struct arena arena;
    arena_init(&arena);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            struct single_change *changes;
            size_t n;
            const struct json_node *before = parse(&arena, lists[i]), *now = parse(&arena, lists[k]);
            CHECK_EQ_INT(single_changes(before, now, &arena, &changes, &n), 0);
            CHECK_EQ_INT(n, i != k);
            if (n == 1) CHECK_EQ_STR(changes[0].key, "limits");
        }
    arena_fini(&arena);
}
