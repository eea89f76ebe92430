#include "sim/core/path.h"
#include "tests/support/harness.h"

static const struct {
    const char *path, *normal;
} cases[] = {
    {"", "."},
    {".", "."},
    {"./", "."},
    {"a", "a"},
    {"a/", "a"},
    {"./a//b/./c", "a/b/c"},
    {"configs/scenarios/../../traces/x", "traces/x"},
    {"a/..", "."},
    {"a/../..", ".."},
    {"../../a", "../../a"},
    {"../a/../..", "../.."},
    {"..a/.b/...", "..a/.b/..."},
    {"/", "/"},
    {"//a//", "/a"},
    {"/..", "/"},
    {"/a/../../b", "/b"},
};

TEST(paths_are_normalised_lexically)
{
    SCOPED(arena) arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_STR(path_normalise(&arena, cases[i].path), cases[i].normal);
        CHECK_EQ_STR(path_normalise(&arena, cases[i].normal), cases[i].normal);
        CHECK_EQ_STR(path_join(&arena, ".", cases[i].path), cases[i].normal);
    }
}

TEST(paths_are_joined_to_directories)
{
    SCOPED(arena) arena = {0};
    CHECK_EQ_STR(path_join(&arena, "configs/scenarios", "../llms/a.json"), "configs/llms/a.json");
    CHECK_EQ_STR(path_join(&arena, "/data", "a"), "/data/a");
    CHECK_EQ_STR(path_join(&arena, "/", "a"), "/a");
    CHECK_EQ_STR(path_join(&arena, "", "a"), "a");
    CHECK_EQ_STR(path_join(&arena, "configs", "/abs/./b"), "/abs/b");
    CHECK_EQ_STR(path_directory(&arena, "configs/a.json"), "configs");
    CHECK_EQ_STR(path_directory(&arena, "a.json"), ".");
    CHECK_EQ_STR(path_directory(&arena, "/a.json"), "/");
}

TEST(json_files_are_known_by_their_ending)
{
    CHECK(path_is_json("a.json") && path_is_json("llms/a.json") && path_is_json("/a.b.json"));
    CHECK(path_ends_in("a.csv", ".csv") && !path_ends_in(".csv", ".csv") && !path_ends_in("a.csv.gz", ".csv"));
    CHECK(!path_is_json(".json") && !path_is_json("a.jsonl") && !path_is_json("json") && !path_is_json(""));
}

/* Public data may lie elsewhere; other paths stay where they are. */
TEST(public_data_have_a_folder_of_their_own)
{
    static const struct {
        const char *path, *data, *joined;
    } places[] = {{"../../shared/data/a/b.csv", "/public", "/public/a/b.csv"},
                 {"../shared/data/b.csv", "mine/", "mine/b.csv"},
                 {"../../shared/data/a/b.csv", NULL, "../shared/data/a/b.csv"},
                 {"shared/data/b.csv", "/public", "here/shared/data/b.csv"},
                 {"/shared/data/b.csv", "/public", "/shared/data/b.csv"},
                 {"../shared/b.csv", "/public", "shared/b.csv"}};
    SCOPED(arena) arena = {0};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        CHECK_EQ_STR(path_join_data(&arena, "here", places[i].path, places[i].data), places[i].joined);
}
