/* Replays the corpus of every fuzz target. */
#include "tests/fuzz/fuzz.h"
#include "tests/support/harness.h"

#include <dirent.h>

bool fuzz_config(const uint8_t *data, size_t bytes);
bool fuzz_load(const uint8_t *data, size_t bytes);
bool fuzz_csv(const uint8_t *data, size_t bytes);
bool fuzz_results(const uint8_t *data, size_t bytes);
bool fuzz_trace(const uint8_t *data, size_t bytes);

static bool replay_file(const char *path, bool (*target)(const uint8_t *, size_t))
{
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    if (file == NULL) return false;
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return n < sizeof bytes && target(bytes, n);
}

static void replay(const char *name, bool (*target)(const uint8_t *, size_t))
{
    char path[512];
    int n = 0;
    snprintf(path, sizeof path, "tests/fuzz/corpus/%s", name);
    DIR *directory = opendir(path);
    MUST(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "tests/fuzz/corpus/%s/%s", name, entry->d_name);
        test_check(replay_file(path, target), path, __FILE__, __LINE__);
        n++;
    }
    closedir(directory);
    CHECK(n > 0);
}

TEST(config_corpus)
{
    replay("config", fuzz_config);
}

TEST(csv_corpus)
{
    replay("csv", fuzz_csv);
}

TEST(load_corpus)
{
    replay("load", fuzz_load);
}

TEST(results_corpus)
{
    replay("results", fuzz_results);
}

TEST(trace_corpus)
{
    replay("trace", fuzz_trace);
}

/* Short random tables, of the characters that matter: the split lines of our own and libcsv agree. */
TEST(random_tables)
{
    static const char alphabet[] = "ab1,,,;\t  \"\"\n\n";
    struct rng rng = test_rng(1, "tables", 0);
    for (int i = 0; i < 10000; i++) {
        uint8_t bytes[64];
        size_t n = 1 + rng_below(&rng, sizeof bytes);
        for (size_t k = 0; k < n; k++) bytes[k] = (uint8_t)alphabet[rng_below(&rng, sizeof alphabet - 1)];
        bytes[0] = (uint8_t)(i % 3);
        MUST(fuzz_csv(bytes, n));
    }
}
