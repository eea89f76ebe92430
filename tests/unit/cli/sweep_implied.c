/* What a long table of a sweep leaves out, as another member implies it. */
#include "sim/cli/study/sweep_view.h"
#include "tests/support/harness.h"

static const char *const fleets[] = {
    "gpu=b200 gpu_price=$10/h batching=v1 batching.token_budget=512 replicas=3 routing=least",
    "gpu=b200 gpu_price=$10/h batching=v0 pools.a.role=prefill pools.a.replicas=2 pools.b.replicas=1 routing=jsq",
    "gpu=b200 gpu_price=$10/h batching=v1 batching.token_budget=512 pools.a.role=prefill pools.a.replicas=2 pools.b.replicas=1 routing=jsq",
    "gpu=h100 gpu_price=$4/h batching=v0 replicas=2 routing=least",
};
enum { N_FLEETS = sizeof fleets / sizeof *fleets };

static bool has_word(const char *words, const char *word, size_t n)
{
    for (const char *at = words; *at != 0; at += strcspn(at, " \n") + 1) {
        const size_t n_at = strcspn(at, " \n");
        if (n_at == n && strncmp(at, word, n) == 0) return true;
        if (at[n_at] == 0) return false;
    }
    return false;
}

/* Whether a value has the word that a line "with WORD: ..." begins with: a member, or a key. */
static bool has_shown(const char *value, const char *line)
{
    const char *word = line + strlen("with ");
    const size_t n = strcspn(word, ":");
    for (const char *at = value; *at != 0; at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' '))
        if (strncmp(at, word, n) == 0 && (at[n] == ' ' || at[n] == 0 || at[n] == '=')) return true;
    return false;
}

TEST(a_value_has_what_is_left_out_where_a_line_says_so_and_nowhere_else)
{
    SCOPED(arena) arena;
    const char *implied, *lines;
    size_t n_lines = 0;
    arena_init(&arena);
    CHECK_EQ_INT(sweep_find_implied(fleets, N_FLEETS, &arena, &implied, &lines), 0);
    if (!CHECK(implied != NULL && lines != NULL)) return;
    for (const char *line = lines; *line != 0; line = strchr(line, '\n') + 1) {
        n_lines++;
        const char *left_out = strchr(line, ':') + 2;
        for (const char *word = left_out; word < strchr(line, '\n'); word += strcspn(word, " \n") + 1) {
            const size_t n = strcspn(word, " \n");
            CHECK(has_word(implied, word, n));
            for (size_t i = 0; i < N_FLEETS; i++) CHECK(has_word(fleets[i], word, n) == has_shown(fleets[i], line));
        }
    }
    CHECK_EQ_INT(n_lines, 5); /* of both GPUs, of the policy with one budget, of replicas, of pools */
    CHECK(strstr(lines, "with gpu=h100: gpu_price=$4/h\n") != NULL);
    CHECK(strstr(lines, "with replicas: routing=least\n") != NULL);
    CHECK(strstr(lines, "with pools.a.replicas=2: pools.a.role=prefill pools.b.replicas=1 routing=jsq\n") != NULL);
    CHECK(!has_word(implied, "batching=v1", strlen("batching=v1"))); /* the name of a policy stays */
}

TEST(short_values_stay_as_they_are)
{
    SCOPED(arena) arena;
    static const char *const texts[] = {"gpu=b200 gpu_price=$10/h", "gpu=h100 gpu_price=$4/h"};
    const char *implied, *lines;
    arena_init(&arena);
    CHECK_EQ_INT(sweep_find_implied(texts, 2, &arena, &implied, &lines), 0);
    CHECK(implied == NULL && lines == NULL);
}
