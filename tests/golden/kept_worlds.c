/* Every world of worlds.jsonl comes to the results that stand beside it, or is refused for the reason there. Most were
 * drawn at random, and they reach most policies in many combinations: a change that moves results by accident is
 * unlikely to pass. When results move on purpose, say why in the body of the commit, and run `make accept`. */
#include "tests/support/harness.h"
#include "tests/support/worlds/kept.h"

enum { MOST_PRINTED = 5, LEAST_WORLDS = 300 };

/* Whether the world has the results of `before`. */
static bool is_as_before(const struct kept_results *now, int code, const struct kept_results *before,
                         const char **moved)
{
    const size_t n = strlen(before->error);
    *moved = n == 0 && now->error[0] != 0                 ? now->error
             : strncmp(now->error, before->error, n) != 0 ? now->error[0] != 0 ? now->error : "it is refused no more"
             : n > 0                                      ? NULL
             : code != 0                                  ? "it does not end well any more"
             : strcmp(now->rows, before->rows) != 0       ? "its rows have moved"
             : strcmp(now->metrics, before->metrics) != 0 ? "its metrics have moved, its rows have not"
             : now->n_warnings != before->n_warnings      ? "it has more or fewer warnings"
                                                          : NULL;
    return *moved == NULL;
}

TEST_OPTIMISED(kept_worlds_come_to_their_results)
{
    int n = 0, n_moved = 0, code;
    char *json;
    const char *moved;
    struct catalog_memory memory;
    struct kept_results before, now;
    FILE *file = fopen("tests/golden/worlds.jsonl", "r");
    MUST(file != NULL);
    catalog_memory_init(&memory);
    while ((code = kept_read(file, &before, &json)) > 0) {
        n++;
        const int ran = kept_run(json, &memory, &now);
        if (!is_as_before(&now, ran, &before, &moved) && ++n_moved <= MOST_PRINTED)
            printf("world in line %d: %s\n%s\n", n, moved, json);
        cJSON_free(json);
    }
    CHECK_EQ_INT(code, 0);
    CHECK_EQ_INT(n_moved, 0);
    CHECK(n >= LEAST_WORLDS);
    catalog_memory_fini(&memory);
    fclose(file);
}
