/* Values of a study that mean the same are found whatever their order, as by comparing all pairs. */
#include "sim/core/config/config_tree.h"
#include "sim/study/equal.h"
#include "tests/support/harness.h"

#include <stdio.h>

static const char *const spellings[] = {
    "8", "8.0", "8e0", "80e-1", "9", "-8", "0", "-0.0", "-0", "\"-0s\"", "\"0ms\"", "true", "false", "null", "\"8\"", "\"600s\"", "\"10min\"",
    "\"0.1ms\"", "\"100us\"", "\"100us \"", "\"1kB\"", "\"1000B\"", "\"1kB/s\"", "\"1/s\"", "\"60/min\"", "\"$1\"",
    "\"$1/h\"", "\"fcfs\"", "\"sjf\"", "\"min\"", "\"\"", "\".5s\"", "\"500ms\"", "9007199254740993",
    "9007199254740992", "9007199254740992.0", "9.007199254740992e15", "9007199254740991", "9007199254740991.0",
    "[-0, 0]", "[0, 0.0]", "[0.0, -0.0]", "{\"a\": [8], \"b\": {\"c\": null}}", "{\"b\": {\"c\": null}, \"a\": [8.0]}",
    "{\"a\": 8, \"b\": \"600s\"}", "{\"b\": \"10min\", \"a\": 8.0}", "{\"a\": 8}", "[8, 9]", "[8.0, 9]", "[9, 8]"};
enum { N_SPELLINGS = sizeof spellings / sizeof *spellings };

static const struct json_node *parse(struct arena *arena, const char *text)
{
    const struct json_source source = {.name = "", .directory = "."};
    struct json_node *node = NULL;
    CHECK_EQ_INT(json_parse(arena, &source, text, strlen(text), &node, NULL), 0);
    return node;
}

static bool are_equal(const struct json_node *a, const struct json_node *b)
{
    const struct json_node *const items[] = {a, b};
    size_t rows[2];
    return equal_find_rows(items, 2, 1, rows) == 1;
}

static bool are_rows_equal(const struct json_node *const *items, size_t n_columns, size_t a, size_t b)
{
    for (size_t c = 0; c < n_columns; c++)
        if (!are_equal(items[a * n_columns + c], items[b * n_columns + c])) return false;
    return true;
}

static int find_by_pairs(const struct json_node *const *items, size_t n, size_t n_columns, size_t rows[2])
{
    for (rows[1] = 1; rows[1] < n; rows[1]++)
        for (rows[0] = 0; rows[0] < rows[1]; rows[0]++)
            if (are_rows_equal(items, n_columns, rows[0], rows[1])) return 1;
    return 0;
}

TEST_SIZED(repeated_rows_are_those_of_all_pairs)
{
    struct arena arena;
    struct rng rng = test_rng(3, "study-values", 0);
    const struct json_node *nodes[N_SPELLINGS], *items[3 * 12];
    int n_found = 0;
    arena_init(&arena);
    for (size_t i = 0; i < N_SPELLINGS; i++) nodes[i] = parse(&arena, spellings[i]);
    for (int trial = 0; trial < test_part(4000); trial++) {
        const size_t n_columns = 1 + rng_below(&rng, 3), n = 1 + rng_below(&rng, 12);
        const size_t n_used = 2 + rng_below(&rng, N_SPELLINGS - 1), from = rng_below(&rng, N_SPELLINGS);
        size_t rows[2] = {0, 0}, expected[2] = {0, 0};
        for (size_t i = 0; i < n * n_columns; i++) items[i] = nodes[(from + rng_below(&rng, n_used)) % N_SPELLINGS];
        const int found = equal_find_rows(items, n, n_columns, rows);
        if (!CHECK_EQ_INT(found, find_by_pairs(items, n, n_columns, expected)) || found == 0) continue;
        CHECK(rows[0] == expected[0] && rows[1] == expected[1]);
        n_found++;
    }
    CHECK_WHOLE(n_found > 400 && n_found < 3600);
    arena_fini(&arena);
}

/* By hand: which spellings mean the same. */
TEST(large_whole_numbers_equal_only_themselves)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {{"8", "8.0", true}, {"8", "\"8\"", false}, {"9007199254740993", "9007199254740992.0", false},
                 {"9007199254740992", "9007199254740992.0", false}, {"9007199254740991", "9007199254740991.0", true},
                 {"9007199254740992.0", "9.007199254740992e15", true}, {"9007199254740993", "9007199254740992", false},
                 {"9007199254740993", "9007199254740993", true}, {"\"10min\"", "\"600s\"", true},
                 {"\"1kB\"", "\"1kB/s\"", false}, {"\"$1\"", "\"$1.0\"", true}, {"\"nan\"", "\"inf\"", false}, {"-0", "0", true},
                 {"-0", "0.0", true}, {"[-0, 0]", "[0.0, -0.0]", true}, {"\"-0s\"", "\"0ms\"", true},
                 {"[1, 2]", "[12]", false}, {"[\"a\", \"b\"]", "[\"a;s1:b\"]", false}, {"[[1], 2]", "[[1, 2]]", false},
                 {"{\"a\": {\"b\": 1}}", "{\"a\": {}, \"b\": 1}", false}, {"\"0.3s\"", "\"300ms\"", true},
                 {"\"1/min\"", "\"60/h\"", true}, {"\"1.00000000000001s\"", "\"1s\"", false}};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct json_node *a = parse(&arena, cases[i].a), *b = parse(&arena, cases[i].b);
        CHECK_EQ_INT(are_equal(a, b), cases[i].equal);
        CHECK_EQ_INT(are_equal(b, a), cases[i].equal);
    }
    arena_fini(&arena);
}

/* Whichever is equal to one is equal to the other: quantities that differ by less and less, and all the spellings. */
TEST(equal_values_are_classes)
{
    enum { CHAIN = 40, N = N_SPELLINGS + CHAIN };
    const struct json_node *nodes[N];
    struct arena arena;
    char text[64];
    int n_equal = 0;
    arena_init(&arena);
    for (size_t i = 0; i < N_SPELLINGS; i++) nodes[i] = parse(&arena, spellings[i]);
    for (int i = 0; i < CHAIN; i++) {
        snprintf(text, sizeof text, "\"%.17gs\"", 1 + 1.5 * i * 0x1p-52);
        nodes[N_SPELLINGS + i] = parse(&arena, text);
    }
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++) {
            if (!are_equal(nodes[a], nodes[b])) continue;
            n_equal++;
            for (size_t c = 0; c < N; c++) CHECK(are_equal(nodes[a], nodes[c]) == are_equal(nodes[b], nodes[c]));
        }
    CHECK(n_equal > 2 * N);
    arena_fini(&arena);
}

/* All pairs of so many would take hours under sanitizers. */
TEST(many_quantities_are_compared_at_once)
{
    enum { MANY = 20000 };
    static const struct json_node *items[MANY];
    struct arena arena;
    size_t rows[2];
    char text[64];
    arena_init(&arena);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, i == MANY - 1 ? "\"%d000us\"" : "\"%dms\"", i == MANY - 1 ? 77 : i);
        items[i] = parse(&arena, text);
    }
    CHECK_EQ_INT(equal_find_rows(items, MANY - 1, 1, rows), 0);
    CHECK_EQ_INT(equal_find_rows(items, MANY, 1, rows), 1);
    CHECK(rows[0] == 77 && rows[1] == MANY - 1);
    arena_fini(&arena);
}

/* So are objects. */
TEST(many_objects_are_compared_at_once)
{
    enum { MANY = 20000 };
    static const struct json_node *items[MANY];
    struct arena arena;
    size_t rows[2];
    char text[96];
    arena_init(&arena);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, i == MANY - 1 ? "{\"b\": [{}], \"a\": %d.0}" : "{\"a\": %d, \"b\": [{}]}",
                 i == MANY - 1 ? 77 : i);
        items[i] = parse(&arena, text);
    }
    CHECK_EQ_INT(equal_find_rows(items, MANY - 1, 1, rows), 0);
    CHECK_EQ_INT(equal_find_rows(items, MANY, 1, rows), 1);
    CHECK(rows[0] == 77 && rows[1] == MANY - 1);
    arena_fini(&arena);
}
