/* The answer of `plan` for a step of RLHF, made by hand: every number stands under its name. */
#include "sim/cli/plan/rlhf.h"
#include "tests/support/harness.h"

static const double gib = 1024.0 * 1024.0 * 1024.0;

struct bed {
    struct rlhf_config config;
    struct rlhf_setup setup;
    struct rlhf_mesh meshes[RLHF_CALLS];
    struct rlhf_option options[RLHF_CALLS], of_generate[2];
    struct rlhf_way ways[RLHF_CALLS];
    struct rlhf_space space;
    struct rlhf_search search;
};

/* Call i is on 8 GPUs from 8 i on, with splits, ways and times of its own. */
static void bed_init(struct bed *bed)
{
    static const char *const llms[] = {"llm-a", "llm-c", "llm-ref", "llm-rew"};
    *bed = (struct bed){.config = {.gpus = 48, .prompts = 16, .samples = 4, .prompt_tokens = 100, .output_tokens = 300,
                                   .updates = 5}};
    bed->setup.config = &bed->config;
    for (int i = 0; i < RLHF_MODELS; i++) bed->setup.llms[i].name = llms[i];
    bed->setup.actor.gpu.name = "gpu-x";
    bed->setup.actor.preset.name = "preset-y";
    bed->setup.actor.trainer_measured = bed->setup.actor.calibration.calibrated = true;
    bed->space.meshes = bed->meshes;
    bed->space.n_meshes = RLHF_CALLS;
    bed->search = (struct rlhf_search){.has_best = true, .is_exact = true, .n_evaluated = 321, .n_visited = 123};
    struct rlhf_found *best = &bed->search.best;
    best->step_s = 12.5;
    for (int i = 0; i < RLHF_CALLS; i++) {
        bed->meshes[i] = (struct rlhf_mesh){.first = 8 * i, .gpus = 8};
        bed->options[i] = (struct rlhf_option){.tensor = 2 + i, .pipeline = 12 + i, .data = 22 + i};
        bed->ways[i] = (struct rlhf_way){.seconds = 0.5 + i, .micro_batch = 32 + i, .waves = 42 + i,
                                         .recompute = (enum training_recompute)(i % 3)};
        bed->space.options[i][0] = (struct rlhf_options){&bed->options[i], 1};
        best->calls[i] = (struct rlhf_choice){.mesh = i};
        best->ways[i] = &bed->ways[i];
        best->bytes[i] = (3 + i) * gib;
        best->times[i] = (struct dataflow_times){100 + i, 200 + i};
    }
    bed->of_generate[0] = bed->options[RLHF_GENERATE];
    bed->of_generate[1] = (struct rlhf_option){.tensor = 52, .pipeline = 53, .data = 54};
    bed->space.options[RLHF_GENERATE][0] = (struct rlhf_options){bed->of_generate, 2};
    best->moves[0] = (struct reallocation){.node_bytes = 2e9, .seconds = 0.25};
    best->moves[1] = (struct reallocation){.kept_bytes = 3e9, .node_bytes = 4e9, .network_bytes = 5e9, .seconds = 0.75};
    best->times[RLHF_NODE_MOVE_ACTOR].start_s = 301;
    best->times[RLHF_NODE_MOVE_CRITIC].start_s = 302;
    bed->search.megatron = bed->search.symmetric = *best;
    bed->search.megatron.calls[RLHF_GENERATE].option = 1;
    bed->search.has_megatron = bed->search.has_symmetric = true;
    bed->search.megatron.step_s = 25;
    bed->search.symmetric.step_s = 18.75;
}

static char *printed(const struct bed *bed, enum answer_form form)
{
    static char text[8192];
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    if (out == NULL) return text;
    CHECK_EQ_INT(rlhf_answer(&bed->setup, &bed->space, &bed->search, form, out, NULL), 0);
    fclose(out);
    return text;
}

static void check_holds(const struct bed *bed, enum answer_form form, const char *part)
{
    char *text = printed(bed, form);
    if (!CHECK(strstr(text, part) != NULL)) test_quotes(text);
}

/* 64 sequences of 400 tokens in 12.5 s. */
TEST(people_get_calls_moves_and_other_plans)
{
    struct bed bed;
    bed_init(&bed);
    CHECK_EQ_STR(printed(&bed, ANSWER_TEXT),
                 "actor llm-a, critic llm-c, reference llm-ref, reward llm-rew on 48 gpu-x\n"
                 "64 sequences of 100 + 300 tokens, 5 updates\n"
                 "step 12.5 s: 2048 tokens/s; no plan is faster\n"
                 "\n"
                 "call          GPUs   TP  PP  DP  micro_batch  waves  recompute  start_s  seconds  memory_gib\n"
                 "generate      0-7     2  12  22           32     42  none           100      0.5           3\n"
                 "reward        8-15    3  13  23           33     43  selective      101      1.5           4\n"
                 "reference     16-23   4  14  24           34     44  full           102      2.5           5\n"
                 "values        24-31   5  15  25           35     45  none           103      3.5           6\n"
                 "train actor   32-39   6  16  26           36     46  selective      104      4.5           7\n"
                 "train critic  40-47   7  17  27           37     47  full           105      5.5           8\n"
                 "\n"
                 "weights of  to        kept GB  within nodes GB  between nodes GB  start_s  seconds\n"
                 "actor       generate        0                2                 0      301     0.25\n"
                 "critic      values          3                4                 5      302     0.75\n"
                 "\n"
                 "all calls on all GPUs  TP  PP  DP  step_s  over the best\n"
                 "megatron               52  53  54      25              2\n"
                 "fastest                 2  12  22   18.75            1.5\n");
}

TEST(programs_get_every_number_by_its_name)
{
    struct bed bed;
    bed_init(&bed);
    static const char *const llms[] = {"llm-a", "llm-rew", "llm-ref", "llm-c", "llm-a", "llm-c"},
                             *const recomputes[] = {"none", "selective", "full"};
    for (int i = 0; i < RLHF_CALLS; i++) {
        SCOPED(text) text = {0};
        text_printf(&text,
                    "\n    {\"call\": \"%s\", \"llm\": \"%s\", \"first_gpu\": %d, \"gpus\": 8, \"tensor_parallel\": %d,"
                    " \"pipeline_parallel\": %d, \"data_parallel\": %d, \"micro_batch\": %d, \"waves\": %d,"
                    " \"recompute\": \"%s\", \"start_s\": %d, \"seconds\": %d.5, \"memory_gib\": %d}%s\n",
                    rlhf_call_names[i], llms[i], 8 * i, 2 + i, 12 + i, 22 + i, 32 + i, 42 + i, recomputes[i % 3],
                    100 + i, i, 3 + i, i + 1 < RLHF_CALLS ? "," : "");
        check_holds(&bed, ANSWER_JSON, text.chars);
    }
    check_holds(
        &bed, ANSWER_JSON,
        "{\n  \"actor\": \"llm-a\",\n  \"critic\": \"llm-c\",\n  \"reference\": \"llm-ref\",\n  \"reward\":"
        " \"llm-rew\",\n  \"gpu\": \"gpu-x\",\n  \"gpus\": 48,\n  \"sequences\": 64,\n  \"prompt_tokens\": 100,\n"
        "  \"output_tokens\": 300,\n  \"updates\": 5,\n  \"step_s\": 12.5,\n  \"tokens_per_s\": 2048,\n"
        "  \"evaluated\": 321,\n  \"visited\": 123,\n  \"is_optimum\": true,\n  \"is_exhausted\": true,\n"
        "  \"is_interrupted\": false,\n  \"calibrated\": true,\n  \"calls\": [\n");
    check_holds(&bed, ANSWER_JSON,
                "  \"moves\": [\n    {\"model\": \"actor\", \"call\": \"generate\", \"kept_bytes\": 0, \"node_bytes\":"
                " 2000000000, \"network_bytes\": 0, \"start_s\": 301, \"seconds\": 0.25},\n    {\"model\": \"critic\","
                " \"call\": \"values\", \"kept_bytes\": 3000000000, \"node_bytes\": 4000000000, \"network_bytes\":"
                " 5000000000, \"start_s\": 302, \"seconds\": 0.75}\n  ],\n");
    check_holds(
        &bed, ANSWER_JSON,
        "  \"symmetric\": [\n    {\"plan\": \"megatron\", \"tensor_parallel\": 52, \"pipeline_parallel\": 53,"
        " \"data_parallel\": 54, \"step_s\": 25, \"over_best\": 2},\n    {\"plan\": \"fastest\", \"tensor_parallel\":"
        " 2, \"pipeline_parallel\": 12, \"data_parallel\": 22, \"step_s\": 18.75, \"over_best\": 1.5}\n  ]\n}\n");
}

TEST(without_moves_or_other_plans_there_are_no_tables)
{
    struct bed bed;
    bed_init(&bed);
    bed.search.best.moves[0] = bed.search.best.moves[1] = (struct reallocation){0};
    bed.search.has_megatron = bed.search.has_symmetric = false;
    CHECK(strstr(printed(&bed, ANSWER_TEXT), "weights of") == NULL);
    CHECK(strstr(printed(&bed, ANSWER_TEXT), "over the best") == NULL);
    bed.search.best.moves[1].network_bytes = 1e9;
    check_holds(&bed, ANSWER_TEXT, "\ncritic      values");
    bed.search.has_symmetric = true;
    check_holds(&bed, ANSWER_TEXT, "\nfastest ");
}

/* What was proved, and what was not. */
TEST(the_answer_says_how_far_the_search_came)
{
    struct bed bed;
    bed_init(&bed);
    check_holds(&bed, ANSWER_TEXT, "tokens/s; no plan is faster\n\n");
    bed.search.is_exact = false;
    check_holds(&bed, ANSWER_TEXT, "; a faster plan was not ruled out\n\n");
    bed.search.is_interrupted = true;
    check_holds(&bed, ANSWER_TEXT, "; the search was interrupted, and there may be a faster plan\n\n");
    bed.search.has_best = false;
    bed.search.has_megatron = bed.search.has_symmetric = false;
    check_holds(&bed, ANSWER_TEXT, "\nNo plan that fits was found.\n");
    check_holds(&bed, ANSWER_JSON, "\"is_optimum\": false,\n  \"is_exhausted\": false,\n  \"is_interrupted\": true,");
    bed.search.is_exact = true;
    check_holds(&bed, ANSWER_TEXT, "\nNo plan fits.\n");
    check_holds(&bed, ANSWER_JSON, "\"step_s\": null,\n  \"tokens_per_s\": null,");
    check_holds(&bed, ANSWER_JSON, "\"is_optimum\": false,\n  \"is_exhausted\": true,");
    CHECK(strstr(printed(&bed, ANSWER_TEXT), "waves") == NULL);
}

TEST(the_answer_says_what_was_not_measured)
{
    static const char kernels[] = "No kernel of gpu-x was measured: times follow the fit over all GPUs.\n",
                      constants[] = "The constants of preset-y were not fitted on gpu-x.\n";
    struct bed bed;
    bed_init(&bed);
    CHECK(strstr(printed(&bed, ANSWER_TEXT), "measured") == NULL &&
          strstr(printed(&bed, ANSWER_TEXT), "fitted") == NULL);
    bed.setup.actor.trainer_measured = false;
    check_holds(&bed, ANSWER_TEXT, constants);
    CHECK(strstr(printed(&bed, ANSWER_TEXT), kernels) == NULL);
    bed.setup.actor.calibration.calibrated = false;
    check_holds(&bed, ANSWER_TEXT, kernels);
    check_holds(&bed, ANSWER_JSON, "\"calibrated\": false");
}
