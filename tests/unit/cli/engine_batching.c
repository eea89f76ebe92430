/* The batching policy of a service that names an engine: that of the engine's preset, as if the scenario had it. */
#include "sim/cli/run/setup.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

struct resolved {
    struct diag diag;
    struct setup setup;
    struct text json; /* the resolved scenario */
    int code;
};

/* Loads a scenario with these members of its service, the last of which may be its pools; ' stands for ". */
static void resolve(struct resolved *found, const char *members)
{
    static const char scenario[] =
        "{'name': 't', 'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'h100-sxm'}, 'services': {'chat.v2':"
        " {'llm': 'llama-3.1-8b', 'trace': {'format': 'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate':"
        " '1/s'}, 'prompt': {'distribution': 'fixed', 'tokens': 9}, 'output': {'distribution': 'fixed', 'tokens': 9}},"
        " %s}}}";
    const char *json = test_json(scenario, members);
    diag_init(&found->diag);
    text_init(&found->json);
    found->code = setup_load_json(&found->setup, "t", json, &(struct setup_options){0}, &found->diag);
    if (found->code == 0) CHECK_EQ_INT(setup_dump(&found->setup, &found->json), 0);
}

static void done(struct resolved *found)
{
    text_fini(&found->json);
    setup_fini(&found->setup);
}

/* Both resolve to the same scenario, byte for byte. */
static void check_equal(const char *members, const char *others)
{
    struct resolved found, wanted;
    resolve(&found, members);
    resolve(&wanted, others);
    if (CHECK_EQ_INT(found.code, 0) && CHECK_EQ_INT(wanted.code, 0)) CHECK_EQ_STR(found.json.chars, wanted.json.chars);
    done(&found);
    done(&wanted);
}

/* Whether the resolved scenario has a text, which ends in " if it ends a name. */
static void check_has(const char *members, const char *text, bool has)
{
    struct resolved found;
    resolve(&found, members);
    if (CHECK_EQ_INT(found.code, 0)) CHECK((strstr(found.json.chars, text) != NULL) == has);
    done(&found);
}

static void check_refused(const char *members, const char *where, const char *what)
{
    struct resolved found;
    char text[1024];
    resolve(&found, members);
    CHECK_EQ_INT(found.code, SIM_E_CONFIG);
    if (CHECK(found.diag.n_items > 0)) {
        diag_format(&found.diag.items[0], text, sizeof text);
        CHECK(strstr(text, where) != NULL && strstr(text, what) != NULL);
    }
    done(&found);
}

#define ENGINE(name) "'cost': {'engine': '" name "'}"

TEST(a_service_with_an_engine_has_its_scheduler)
{
    check_equal(ENGINE("vllm-0.2"), ENGINE("vllm-0.2") ", 'batching': {'policy': 'vllm-v0', 'padded': true}");
    check_equal(ENGINE("vllm-2024"), ENGINE("vllm-2024") ", 'batching': 'vllm-v0'");
    check_equal(ENGINE("vllm-0.12"), "'cost': 'operators'");
    check_equal(ENGINE("vllm-0.19"), ENGINE("vllm-0.19") ", 'batching': {'policy': 'vllm-v1', 'async': true}");
    check_equal(ENGINE("trtllm-1.0"), ENGINE("trtllm-1.0") ", 'batching': 'trtllm'");
    check_equal(ENGINE("sglang-0.5"), ENGINE("sglang-0.5") ", 'batching': 'sglang'");
    check_equal(ENGINE("swifttransformer"), ENGINE("swifttransformer") ", 'batching': 'distserve'");
    check_equal(ENGINE("none"), ENGINE("none") ", 'batching': 'vllm-v1'");
}

TEST(a_policy_that_the_scenario_names_wins_with_its_own_defaults)
{
    check_equal(ENGINE("vllm-0.19") ", 'batching': 'vllm-v1'",
                ENGINE("vllm-0.19") ", 'batching': {'policy': 'vllm-v1', 'async': false}");
    check_has(ENGINE("sglang-0.5") ", 'batching': 'sarathi'", "\"policy\": \"sarathi\"", true);
}

TEST(parameters_without_a_policy_are_of_the_engines)
{
    check_equal(ENGINE("vllm-0.19") ", 'batching': {'token_budget': 512}",
                ENGINE("vllm-0.19") ", 'batching': {'policy': 'vllm-v1', 'async': true, 'token_budget': 512}");
    check_equal(ENGINE("vllm-0.19") ", 'batching': {'async': false}", ENGINE("vllm-0.19") ", 'batching': 'vllm-v1'");
    check_refused(ENGINE("sglang-0.5") ", 'batching': {'token_budget': 512}", "t:1:", "unknown key 'token_budget'");
}

#define SGLANG "'cost': {'kind': 'operators', 'engine': 'sglang-0.5'}"

TEST(pools_have_the_scheduler_of_their_engine)
{
    /* An engine of a pool's own; parameters of a pool alone. */
    check_equal(ENGINE("vllm-0.2") ", 'pools': {'a': {}, 'b': {" SGLANG "}}",
                ENGINE("vllm-0.2") ", 'pools': {'a': {}, 'b': {" SGLANG ", 'batching': 'sglang'}}");
    check_equal(ENGINE("vllm-0.19") ", 'pools': {'a': {'batching': {'token_budget': 512}}}",
                ENGINE("vllm-0.19") ", 'pools': {'a': {'batching': {'policy': 'vllm-v1', 'async': true,"
                                    " 'token_budget': 512}}}");
    /* A policy that the service names is for all its pools. */
    check_has("'batching': 'sarathi', 'pools': {'b': {" SGLANG "}}", "\"policy\": \"sglang\"", false);
}

/* What a pool leaves out it takes from the service, whose parameters its engine's scheduler has if it is the same. */
TEST(pools_keep_the_parameters_of_their_service)
{
#define SIXTEEN "'batching': {'max_sequences': 16}, 'pools': {'a': {}, 'b': {"
#define LATER "'cost': {'kind': 'operators', 'engine': 'vllm-0.19'}"
    check_equal(SIXTEEN "'cost': {'kind': 'operators', 'engine': 'vllm-0.12'}}}",
                SIXTEEN "'cost': {'kind': 'operators', 'engine': 'vllm-0.12'},"
                        " 'batching': {'policy': 'vllm-v1', 'max_sequences': 16}}}");
    check_equal(ENGINE("vllm-0.12") ", " SIXTEEN LATER "}}",
                ENGINE("vllm-0.12") ", " SIXTEEN LATER
                                    ", 'batching': {'policy': 'vllm-v1', 'async': true, 'max_sequences': 16}}}");
    /* Parameters of another policy mean nothing to the pool's. */
    check_equal(ENGINE("vllm-0.12") ", 'batching': {'token_budget': 512}, 'pools': {'b': {" SGLANG "}}",
                ENGINE("vllm-0.12") ", 'batching': {'token_budget': 512}, 'pools': {'b': {" SGLANG
                                    ", 'batching': 'sglang'}}");
}

/* It has what its service has: a scheduler, or the parameters of one. */
TEST(pools_whose_engine_has_no_scheduler_have_their_services)
{
#define NONE "'cost': {'kind': 'operators', 'engine': 'none'}"
#define EIGHT "'batching': {'max_sequences': 8}"
#define TWENTY "'cost': {'kind': 'operators', 'engine': 'vllm-0.20'}"
    check_has(SIXTEEN NONE "}}", "\"max_sequences\": 16", true);
    check_equal(SIXTEEN NONE "}}",
                "'batching': {'policy': 'vllm-v1', 'max_sequences': 16}, 'pools': {'a': {}, 'b': {" NONE "}}");
    check_has(ENGINE("none") ", " SIXTEEN NONE "}}", "\"max_sequences\": 16", true);
    check_has(ENGINE("trtllm-1.0") ", 'pools': {'b': {" NONE "}}", "\"policy\": \"vllm-v1\"", false);
    /* A preset that cannot be read is found when the cost model is built: nothing else is wrong. */
    check_has(SIXTEEN TWENTY "}}", "\"engine\": \"vllm-0.20\"", true);
    check_has("'pools': {'b': {" EIGHT ", " TWENTY "}}", "\"engine\": \"vllm-0.20\"", true);
}

/* As those of a service: whatever the engine. */
TEST(parameters_of_a_pool_alone_are_of_the_default_policy)
{
    check_equal("'pools': {'b': {" EIGHT "}}",
                "'pools': {'b': {'batching': {'policy': 'vllm-v1', 'max_sequences': 8}}}");
    check_equal("'pools': {'b': {" EIGHT ", " NONE "}}",
                "'pools': {'b': {'batching': {'policy': 'vllm-v1', 'max_sequences': 8}, " NONE "}}");
}

TEST(a_preset_of_parameters_alone_has_the_default_policy_below_pools_too)
{
    char path[512], alone[700], named[700];
    snprintf(path, sizeof path, "%s/parameters.json", test_tmpdir());
    test_write(path, "%s", "{'summary': 's', 'batching': {'max_sequences': 8}}");
    snprintf(alone, sizeof alone, "'pools': {'b': {'cost': {'kind': 'operators', 'engine': '%s'}}}", path);
    snprintf(named, sizeof named,
             "'pools': {'b': {'cost': {'kind': 'operators', 'engine': '%s'}, 'batching': "
             "{'policy': 'vllm-v1', 'max_sequences': 8}}}",
             path);
    check_equal(alone, named);
}

TEST(a_preset_of_ones_own_names_a_scheduler_and_has_its_errors)
{
    char path[512], members[600];
    snprintf(path, sizeof path, "%s/own.json", test_tmpdir());
    snprintf(members, sizeof members, "'cost': {'engine': '%s'}", path);
    test_write(path, "%s", "{'summary': 's',\n 'batching': {'policy': 'sarathi', 'token_budget': 1024}}");
    check_has(members, "\"token_budget\": 1024", true);
    test_write(path, "%s", "{'summary': 's',\n 'batching': {'policy': 'sarathi', 'tokens': 1024}}");
    check_refused(members, "own.json:2:", "unknown key 'tokens'");
}

TEST(engines_that_cannot_be_read_and_other_cost_models_change_nothing)
{
    check_equal(ENGINE("no-such-engine"), ENGINE("no-such-engine") ", 'batching': 'vllm-v1'");
    check_equal("'cost': {'kind': 'operators', 'engine': null}", "'cost': 'operators'");
    check_refused("'cost': {'kind': 'roofline', 'engine': 'sglang-0.5'}", "t:1:", "unknown key 'engine'");
}
