/* Random scenarios, drawn from the tables of fields (tests/support/worlds): a valid one has equal results whatever the
 * event queue, the stepping, the process and the sweep, breaks no invariant, and leaves no memory behind. `make worlds`
 * tries any number of them. */
#include "sim/cli/plugins.h"
#include "sim/core/check.h"
#include "tests/support/harness.h"
#include "tests/support/worlds/draw.h"
#include "tests/support/worlds/shrink.h"
#include "tests/support/worlds/worlds.h"

#include <unistd.h>

enum { N_WORLDS = 300, MOST_EVENTS = 1500, SWEEP_EVERY = 150 };

/* --- Generator --- */

TEST(a_number_always_gives_the_same_world)
{
    const struct config_families families = cli_families(NULL);
    struct words words;
    struct reach_world *reached = calloc(1, sizeof *reached);
    MUST(words_load(&words) == 0);
    int n_equal = 0;
    for (uint64_t world = 0; world < 20; world++) {
        char *drawn[3];
        for (uint64_t i = 0; i < 3; i++) {
            cJSON *tree = draw_world(i == 2 ? 2 : 1, world, &families, &words, reached);
            drawn[i] = cJSON_Print(tree);
            cJSON_Delete(tree);
        }
        CHECK_EQ_STR(drawn[1], drawn[0]);
        n_equal += strcmp(drawn[2], drawn[0]) == 0;
        for (int i = 0; i < 3; i++) cJSON_free(drawn[i]);
    }
    CHECK(n_equal < 2);
    words_fini(&words);
    free(reached);
}

/* --- Shrinker --- */

/* A bug where jobs under `sjf` meet two types of nodes. */
static void plant(const char *json)
{
    if (strstr(json, "\"sjf\"") != NULL && strstr(json, "\"node_types\"") != NULL) SIM_BUG("planted in %d", getpid());
}

TEST(a_finding_shrinks_to_what_it_needs)
{
    const char *json = test_json(
        "{'cluster': {'nodes': 4, 'gpu': 'a100-80-sxm', 'node_types': {'b': {'nodes': 2, 'gpu': 'v100-32-sxm'}}},"
        " 'failures': {'causes': {'a': {'scope': 'node', 'lifetime': {'mean': '9s'}, 'repair': {'mean': '1s'}}}},"
        " 'jobs': {'scheduler': {'policy': 'sjf', 'strict': true}, 'placement': 'first-fit', 'trace':"
        "          {'format': 'inline-jobs', 'jobs': [{'duration': '2s'}, {'duration': '7s', 'gpus': 4}]}}, 'seed': 9}");
    const struct trial_options options = {.most_events = MOST_EVENTS, .plant = plant};
    struct trial trial;
    trial_in_child(json, &options, &trial);
    MUST(trial.verdict == TRIAL_FOUND);
    CHECK(strstr(trial.text, "random_worlds.c") != NULL && strstr(trial.text, "planted") != NULL);
    cJSON *world = cJSON_Parse(json);
    MUST(world != NULL);
    shrink(world, &options, &trial);
    CHECK_EQ_INT(trial.verdict, TRIAL_FOUND);
    char *least = cJSON_PrintUnformatted(world);
    CHECK_EQ_STR(least, test_json("{'cluster':{'node_types':{}},'jobs':{'scheduler':{'policy':'sjf'},"
                                  "'trace':{'format':'inline-jobs','jobs':[]}}}"));
    cJSON_free(least);
    cJSON_Delete(world);
}

/* --- Worlds --- */

/* Enough of them are valid, and these reach most of what a scenario may hold: a sound world that says nothing is no
 * test. */
TEST(random_worlds_are_sound)
{
    const struct worlds_options options = {.n = N_WORLDS, .seed = 1, .workers = 1, .most_events = MOST_EVENTS,
                                           .sweep_every = SWEEP_EVERY, .out = stdout};
    struct worlds_summary summary;
    MUST(worlds_run(&options, &summary) == 0);
    CHECK_EQ_INT(summary.n_findings, 0);
    CHECK(summary.n_valid >= N_WORLDS * 2 / 5);
    CHECK(summary.n_alternatives_reached * 10 >= summary.n_alternatives * 7);
    CHECK(summary.n_keys_reached * 2 >= summary.n_keys);
}
