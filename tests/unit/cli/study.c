/* Studies: what their axes come to, what is wrong with them, and what is searched for. */
#include "sim/study/axes.h"
#include "sim/study/search.h"
#include "sim/study/study.h"
#include "sim/study/workers.h"
#include "tests/support/harness.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

struct session {
    struct arena arena;
    struct study study;
    struct diag diag;
    int code;
    char message[DIAG_LINE_CHARS];
};

static void parse(struct session *session, const char *json)
{
    arena_init(&session->arena);
    diag_init(&session->diag);
    session->message[0] = 0;
    session->code = study_parse("s.json", "dir", test_json("%s", json), &session->arena, &session->study,
                                &session->diag);
    if (session->diag.n_items > 0) diag_format(&session->diag.items[0], session->message, sizeof session->message);
}

/* Run i of n_runs. */
static int run_at(const struct study *study, size_t i, struct arena *arena, struct study_run *run)
{
    return study_run_with(study, i / study->n_seeds, i % study->n_seeds, NULL, NULL, arena, run);
}

/* "a=1 b=x" of a run's values. */
static const char *values_at(struct session *session, size_t i)
{
    struct study_run run;
    SCOPED(text) text = {0};
    if (!CHECK(run_at(&session->study, i, &session->arena, &run) == 0)) return "";
    for (size_t j = 0; j < run.n_params; j++)
        text_printf(&text, "%s%s=%s", j > 0 ? " " : "", run.params[j].key, run.params[j].value);
    return arena_strdup(&session->arena, text.chars != NULL ? text.chars : "");
}

TEST(points_are_the_product)
{
    struct session session;
    struct study_run run;
    parse(&session, "{'scenario': 'x.json', 'seeds': [7, 3], 'axes': [{'key': 'p', 'values': ['a', 'b']},"
                    "            {'zip': {'m': ['s', 't', 'u'], 'n': [1, 2, 3]}},            {'grid': {'x': [true],"
                    " 'y': [null, '5']}}]}");
    CHECK_EQ_INT(session.code, 0);
    CHECK_EQ_INT(session.study.n_points, 12);
    CHECK_EQ_INT(session.study.n_runs, 24);
    CHECK_EQ_STR(values_at(&session, 0), "p=a m=s n=1 x=true y=null");
    CHECK_EQ_STR(values_at(&session, 1), "p=a m=s n=1 x=true y=null");
    CHECK_EQ_STR(values_at(&session, 2), "p=a m=s n=1 x=true y=\"5\"");
    CHECK_EQ_STR(values_at(&session, 23), "p=b m=u n=3 x=true y=\"5\"");
    CHECK(run_at(&session.study, 4, &session.arena, &run) == 0);
    CHECK_EQ_INT(run.seed, 7);
    CHECK_EQ_STR(session.study.name, "s");
    arena_fini(&session.arena);
}

/* The shortest end of each key that is no end of another. */
TEST(axes_have_short_names)
{
    static const char *const names[] = {"a.routing", "b.routing", "nodes", "scheduler", "policy.scheduler"};
    struct session session;
    parse(&session,
          "{'scenario': 'x.json', 'axes': [{'grid': {'services.a.routing': ['x'], 'services.b.routing': ['y'],"
          " 'cluster.nodes': [1], 'scheduler': ['s'], 'jobs.policy.scheduler': ['t']}}]}");
    CHECK_EQ_INT(session.code, 0);
    CHECK_EQ_STR(axes_name(session.study.axes, 0), names[0]);
    CHECK_EQ_STR(axes_name(session.study.axes, 1), names[1]);
    CHECK_EQ_STR(axes_name(session.study.axes, 2), names[2]);
    CHECK_EQ_STR(axes_name(session.study.axes, 3), names[3]);
    CHECK_EQ_STR(axes_name(session.study.axes, 4), names[4]);
    arena_fini(&session.arena);
}

TEST(ranges_keep_their_unit)
{
    static const struct {
        const char *range, *values[3];
    } cases[] = {
        {"'linear': {'from': '1/s', 'to': '9/s', 'n': 3}", {"1/s", "5/s", "9/s"}},
        {"'linear': {'from': '8GiB', 'to': '24GiB', 'n': 3}", {"8GiB", "16GiB", "24GiB"}},
        {"'log': {'from': '10ms', 'to': '1s', 'n': 3}", {"10ms", "0.1s", "1s"}},
        {"'log': {'from': 1, 'to': 9, 'n': 3}", {"1", "3", "9"}},
        {"'linear': {'from': 1, 'to': 4, 'n': 3}", {"1", "2", "4"}},
        {"'linear': {'from': 0.0, 'to': 0.3, 'n': 3}", {"0", "0.15", "0.3"}},
        {"'linear': {'from': 9, 'to': 1, 'n': 3}", {"9", "5", "1"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        char json[256], expected[64];
        snprintf(json, sizeof json, "{'scenario': 'x.json', 'axes': [{'key': 'k', %s}]}", cases[i].range);
        parse(&session, json);
        CHECK_EQ_STR(session.message, "");
        for (size_t j = 0; session.code == 0 && j < 3; j++) {
            snprintf(expected, sizeof expected, "k=%s", cases[i].values[j]);
            CHECK_EQ_STR(values_at(&session, j), expected);
        }
        arena_fini(&session.arena);
    }
}

/* An object that names a policy takes the place of the one before, with its parameters; another one is laid over. */
TEST(objects_are_values)
{
    struct session session;
    struct study_run run;
    parse(&session, "{'scenario': 'x.json', 'set': {'u': {'v': 1}},"
                    " 'axes': [{'key': 'b', 'values': [{'policy': 'x', 'n': 3}, 'y']}]}");
    MUST(session.code == 0 && run_at(&session.study, 0, &session.arena, &run) == 0);
    CHECK_EQ_INT(run.n_settings, 4);
    CHECK_EQ_STR(run.settings[0].assignment, "keep=metrics");
    CHECK_EQ_STR(run.settings[1].assignment, "u={\"v\": 1}");
    CHECK_EQ_STR(run.settings[2].assignment, "b=null");
    CHECK_EQ_STR(run.settings[3].assignment, "b={\"policy\": \"x\", \"n\": 3}");
    CHECK_EQ_STR(run.settings[3].directory, "dir");
    CHECK_EQ_STR(values_at(&session, 1), "b=y");
    arena_fini(&session.arena);
}

/* What is set within a key comes behind it, whichever axis is written first; the values in the results stay in
 * order. */
TEST(keys_within_keys_are_set_behind_them)
{
    static const char *const expected[] = {"keep=rows", "x.c=null", "x.c={\"policy\": \"p\"}",
                                           "x.c.d.e=1", "y=2",      "x.c.d=word"};
    const char *const order[] = {expected[0], expected[1], expected[2], expected[5], expected[3], expected[4]};
    struct session session;
    struct study_run run;
    parse(&session, "{'scenario': 'x.json', 'keep': 'rows',\n 'axes': [{'key': 'x.c.d.e', 'values': [1]},"
                    "{'key': 'y', 'values': [2]}, {'key': 'x.c.d', 'values': ['word']},"
                    "{'key': 'x.c', 'values': [{'policy': 'p'}]}]}");
    CHECK_EQ_STR(session.message, "");
    MUST(session.code == 0 && run_at(&session.study, 0, &session.arena, &run) == 0);
    CHECK_EQ_INT(run.n_settings, 6);
    for (size_t i = 0; i < 6; i++) CHECK_EQ_STR(run.settings[i].assignment, order[i]);
    CHECK_EQ_STR(values_at(&session, 0), "x.c.d.e=1 y=2 x.c.d=word x.c={\"policy\": \"p\"}");
    CHECK(run.settings[0].where == NULL);
    CHECK_EQ_STR(run.settings[4].where, "s.json:2:41");
    arena_fini(&session.arena);
}

/* A finding about a value names the place where the study has it. */
TEST(values_know_their_places)
{
    struct session session;
    struct study_run run;
    parse(&session, "{'scenario': 'x.json', 'set': {'s': 1},\n'axes': [\n{'zip': {'a': [1, 2], 'b': [3,\n4]}},"
                    "\n{'key': 'l', 'linear': {'from': 1, 'to': 3, 'n': 2}},"
                    "\n{'sample': 'random', 'n': 2, 'ranges': {'r': {'from': 1, 'to': 9}}}],"
                    "\n'search': {'largest': 'q', 'from': 1, 'to': 4,"
                    "'where': [{'metric': 'request.finished', 'at_least': 1}]}}");
    CHECK_EQ_STR(session.message, "");
    MUST(session.code == 0);
    MUST(study_run_with(&session.study, session.study.n_points - 1, 0, "q", "3", &session.arena, &run) == 0);
    static const char *const places[] = {NULL,          "s.json:1:37", "s.json:3:19", "s.json:4:1",
                                         "s.json:5:24", "s.json:6:46", "s.json:7:11"};
    CHECK_EQ_INT(run.n_settings, 7);
    for (size_t i = 1; i < 7; i++) CHECK_EQ_STR(run.settings[i].where, places[i]);
    arena_fini(&session.arena);
}

TEST(a_command_line_sets_what_the_study_leaves_open)
{
    static const struct {
        const char *setting, *message;
    } cases[] = {{"a.b", "--set: error: 'a.b' is not an assignment"},
                 {"v=1", "--set: error: the study varies 'v'"},
                 {"v.w=1", "--set: error: 'v.w' would have no effect: the study varies 'v'"},
                 {"seed=1", "--set: error: the study has its own seeds; give --seeds"},
                 {"keep=rows", "--set: error: the study itself sets what its runs keep; give --keep"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        struct study_overlay overlay = {.n_settings = 1, .settings = &cases[i].setting};
        char message[DIAG_LINE_CHARS] = "";
        parse(&session, "{'scenario': 'x.json', 'axes': [{'key': 'v', 'values': ['a', 'b']},"
                        "{'key': 'o', 'values': [{'p': 1}, {'p': 2}]}]}");
        MUST(session.code == 0);
        CHECK_EQ_INT(study_lay(&session.study, &overlay, &session.arena, &session.diag), SIM_E_USAGE);
        if (session.diag.n_items > 0) diag_format(&session.diag.items[0], message, sizeof message);
        if (!CHECK(strstr(message, cases[i].message) != NULL)) printf("    got '%s'\n", message);
        overlay.settings = &(const char *){"o.q=1"}; /* beside what the values say */
        CHECK_EQ_INT(study_lay(&session.study, &overlay, &session.arena, &session.diag), 0);
        arena_fini(&session.arena);
    }
}

/* The n-th run of a sample has values in their ranges; Sobol points fill them evenly. */
static void check_sample(const char *kind)
{
    struct session session;
    char json[300];
    int n_low = 0, n_first = 0, counts[4] = {0};
    snprintf(json, sizeof json,
             "{'scenario': 'x.json', 'axes': [{'sample': '%s', 'n': 256, 'ranges': {'r': {'from': '1/s',"
             " 'to': '100/s', 'scale': 'log'}, 'i': {'from': 1, 'to': 4},'c': ['a', 'b']}}]}",
             kind);
    parse(&session, json);
    MUST(session.code == 0 && CHECK_EQ_INT(session.study.n_points, 256));
    for (size_t i = 0; i < 256; i++) {
        double rate = 0;
        const char *why;
        CHECK(unit_parse(axes_param(session.study.axes, i, 0).value, UNIT_RATE, &rate, &why) == 0);
        long whole = strtol(axes_param(session.study.axes, i, 1).value, NULL, 10);
        if (!CHECK(rate >= 1 && rate <= 100 && whole >= 1 && whole <= 4)) break;
        n_low += rate < 10;
        counts[whole - 1]++;
        n_first += strcmp(axes_param(session.study.axes, i, 2).value, "a") == 0;
    }
    int slack = strcmp(kind, "sobol") == 0 ? 2 : 40; /* five standard deviations of a fair coin */
    CHECK(abs(n_low - 128) <= slack && abs(n_first - 128) <= slack);
    for (int i = 0; i < 4; i++) CHECK(abs(counts[i] - 64) <= slack);
    arena_fini(&session.arena);
}

TEST(samples_fill_their_ranges)
{
    check_sample("random");
    check_sample("sobol");
}

/* On a logarithmic scale the integer k comes as often as its share of the scale up to the last integer's end. */
TEST(samples_of_integers_reach_both_ends_of_a_logarithmic_range)
{
    struct session session;
    int counts[4] = {0};
    parse(&session, "{'scenario': 'x.json', 'axes': [{'sample': 'sobol', 'n': 256, 'ranges': {'i': {'from': 1, 'to': 4,"
                    " 'scale': 'log'}}}]}");
    MUST(session.code == 0 && CHECK_EQ_INT(session.study.n_points, 256));
    for (size_t i = 0; i < 256; i++) {
        const long whole = strtol(axes_param(session.study.axes, i, 0).value, NULL, 10);
        if (!CHECK(whole >= 1 && whole <= 4)) break;
        counts[whole - 1]++;
    }
    for (int k = 1; k <= 4; k++) CHECK_NEAR(counts[k - 1], 256 * log((k + 1.0) / k) / log(5), 2);
    arena_fini(&session.arena);
}

TEST(definitions_parse_to_the_same_study)
{
    static const char json[] =
        "{'name': 'n', 'scenario': 'x.json', 'set': {'a.b': '5', 'c': {'policy': 'p'}}, 'seeds': 3,"
        " 'axes': [{'sample': 'random', 'n': 5, 'seed': 4, 'ranges': {'r': {'from': 0.0, 'to': 1.0}}}],"
        " 'show': ['request.finished'], 'keep': 'rows', 'pareto': ['cluster.gpus'],"
        " 'where': [{'metric': 'request.ttft_s.p99', 'at_most': '2s'}]}";
    struct session first, second;
    parse(&first, json);
    const char *const settings[] = {"a.b=word", "d=[1, 2]"};
    struct study_overlay overlay = {.n_settings = 2, .settings = settings, .n_seeds = 2, .name = "m"};
    char hash[HASH_HEX_CHARS];
    memcpy(hash, first.study.hash, sizeof hash);
    CHECK_EQ_INT(study_lay(&first.study, &overlay, &first.arena, &first.diag), 0);
    CHECK(strcmp(hash, first.study.hash) != 0);
    parse(&second, first.study.definition);
    CHECK_EQ_STR(second.message, "");
    CHECK_EQ_STR(second.study.definition, first.study.definition);
    CHECK_EQ_STR(second.study.hash, first.study.hash);
    CHECK_EQ_INT(second.study.n_runs, 10);
    CHECK_EQ_INT(first.study.n_runs, second.study.n_runs);
    CHECK_EQ_INT(second.study.n_conditions, 1);
    CHECK(second.study.conditions[0].limit == 2);
    for (size_t i = 0; i < 10; i++) CHECK_EQ_STR(values_at(&second, i), values_at(&first, i));
    arena_fini(&first.arena);
    arena_fini(&second.arena);
}

TEST(values_that_differ_in_meaning_are_points)
{
    struct session session;
    parse(
        &session,
        "{'scenario': 'x.json', 'axes': [{'key': 'a', 'values': ['1GB', '1GiB', '1s', '1', 1, true, null]},"
        "{'key': 'b', 'values': [[1, 2], [2, 1], [1, 2, 3], {'c': 1}, {'c': 1, 'd': 1}, {'d': 1}]},"
        "{'key': 's', 'values': [9007199254740993, 9007199254740992, 0.5]}, {'key': 'n', 'values': ['8b', '8.0b']}]}");
    CHECK_EQ_INT(session.code, 0);
    CHECK_EQ_INT(session.study.n_points, 7 * 6 * 3 * 2);
    arena_fini(&session.arena);
}

TEST(findings_name_the_place)
{
#define AXIS(text) "{'scenario': 'x.json',\n 'axes': [" text "]}"
#define SEARCH(text) "{'scenario': 'x.json',\n 'search': {" text "}}"
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"{'scenario': 'x.json',\n 'axis': []}",
         "s.json:2:2: error: unknown key 'axis' in a study; did you mean 'axes'?"},
        {"{}", "s.json:1:1: error: a study needs 'scenario'"},
        {"[]", "s.json:1:1: error: a document must be an object, got a list"},
        {"{'scenario': 'x.json', 'seeds': 0}", "s.json:1:33: error: 'seeds' must be"},
        {"{'scenario': 'x.json', 'seeds': [1, 2, 1]}", "s.json:1:33: error: the seed 1 comes more than once"},
        {"{'scenario': 'x.json', 'keep': 'all'}", "s.json:1:32: error: unknown"},
        {"{'scenario': 'x.json', 'show': ['request.ttft_s.p9']}", "did you mean 'request.ttft_s.p90'?"},
        {"{'scenario': 'x.json', 'set': {'a': 1}, 'axes': [{'key': 'a', 'values': [1]}]}",
         "s.json:1:37: error: 'a' is set and varied by an axis"},
        {AXIS("3"), "s.json:2:11: error: an axis must be an object, got 3"},
        {AXIS("{}"), "s.json:2:11: error: an axis has one of 'key', 'grid', 'zip' and 'sample'"},
        {AXIS("{'key': 'a'}"), "s.json:2:11: error: an axis with a 'key' needs 'values'"},
        {AXIS("{'key': 'a', 'values': []}"), "s.json:2:34: error: 'values' must be a list of at least one value"},
        {AXIS("{'key': 'a', 'values': [1, 1]}"), "s.json:2:34: error: the value 1 comes more than once"},
        {AXIS("{'key': 'a', 'values': [8, 9, 8.0]}"),
         "s.json:2:41: error: the values 8 and 8.0 are equal; leave one of them out"},
        {AXIS("{'grid': {'a': [1000, 1e3]}}"), "s.json:2:33: error: the values 1000 and 1e3 are equal"},
        {AXIS("{'key': 'a', 'values': ['10min', '600s']}"), "the values 10min and 600s are equal"},
        {AXIS("{'key': 'a', 'values': ['0.1ms', '100us']}"), "the values 0.1ms and 100us are equal"},
        {AXIS("{'key': 'a', 'values': [{'b': '1min', 'c': [2]}, {'c': [2.0], 'b': '60s'}]}"), "are equal; leave one"},
        {AXIS("{'zip': {'a': ['1/s', '60/min'], 'b': [3, 3.0]}}"),
         "s.json:2:19: error: items 1 and 2 of the lists are the same point"},
        {AXIS("{'key': 'seed', 'values': [1]}"), "error: 'seed' cannot be an axis"},
        {AXIS("{'key': 'a', 'values': [1]}, {'zip': {'a': [1]}}"), "'a' is varied by more than one axis"},
        {"{'scenario': 'x.json', 'name': ''}", "s.json:1:32: error: 'name' is empty; leave it out"},
        {"{'scenario': 'x.json', 'set': {'seed': 1}}",
         "s.json:1:40: error: 'seed' cannot be set: the study has its own; write \"seeds\": 5"},
        {"{'scenario': 'x.json', 'set': {'keep': 'rows'}}",
         "s.json:1:40: error: 'keep' cannot be set: the study has its own; write \"keep\""},
        {"{'scenario': 'x.json', 'set': {'a.b': 1, 'a': 2}}", "s.json:1:47: error: 'a' takes the place of 'a.b'"},
        {"{'scenario': 'x.json', 'set': {'a.b': 1}, 'axes': [{'key': 'a', 'values': [{'c': 1}, 2]}]}",
         "s.json:1:39: error: 'a.b' is set, but values of the axis 'a' take its place"},
        {AXIS("{'key': '', 'values': [1]}"), "s.json:2:19: error: '' is not a key of a scenario; such as"},
        {AXIS("{'grid': {'a..b': [1]}}"), "s.json:2:29: error: 'a..b' is not a key of a scenario"},
        {AXIS("{'zip': {'a': [1], 'b.': [1]}}"), "'b.' is not a key of a scenario"},
        {AXIS("{'sample': 'random', 'n': 2, 'ranges': {'=': [1]}}"), "'=' is not a key of a scenario"},
        {AXIS("{'zip': {'a': [1, 2, 1], 'b': [3, 3, 3]}}"),
         "s.json:2:19: error: items 1 and 3 of the lists are the same point"},
        {AXIS("{'key': 'a.b.c', 'values': [1]}, {'key': 'a', 'values': [3, {'b': {'c': 1}}]}"),
         "s.json:2:10: error: 'a.b.c' is varied, but values of 'a' set it too"},
        {AXIS("{'key': 'a.b', 'values': [1]}], 'search': {'largest': 'a', 'from': 1, 'to': 4, 'where': [{"
              "'metric': 'request.finished', 'at_least': 1}]}, 'show': ["),
         "'a' is searched for, and the axis 'a.b' sets it too"},
        {AXIS("{'zip': {'a': [1, 2], 'b': [1]}}"), "s.json:2:38: error: 'b' has 1 values, but 'a' has 2"},
        {AXIS("{'key': 'a', 'linear': {'from': 1, 'to': 3, 'n': 5}}"),
         "the value 2 comes more than once; write the ends with a decimal point"},
        {AXIS("{'key': 'a', 'linear': {'from': '1s', 'to': '3GB', 'n': 2}}"),
         "s.json:2:55: error: \"3GB\" is not in the unit of the other end of the range"},
        {AXIS("{'key': 'a', 'log': {'from': 0, 'to': 3, 'n': 2}}"), "the ends of a logarithmic range must be above 0"},
        {AXIS("{'key': 'a', 'log': {'form': 1, 'to': 3, 'n': 2}}"), "did you mean 'from'?"},
        {AXIS("{'sample': 'sobel', 'n': 2, 'ranges': {'a': [1]}}"), "did you mean 'sobol'?"},
        {AXIS("{'sample': 'sobol', 'n': 1000000, 'ranges': {'a': [1]}}, {'sample': 'random', 'n': 1000000,"
              "'ranges': {'b': [1]}}"), "a study has at most 100000000 runs"},
        {SEARCH("'largest': 'a', 'from': 4, 'to': 1, 'where': [{'metric': 'request.finished', 'at_least': 1}]"),
         "the bracket must end above where it starts"},
        {SEARCH("'from': 1, 'to': 4, 'where': [{'metric': 'request.finished', 'at_least': 1}]"),
         "a search has either 'largest' or 'smallest'"},
        {SEARCH("'largest': 'a', 'from': 1, 'to': 4, 'where': []"), "at least one condition"},
        {SEARCH("'largest': 'a', 'from': 1, 'to': 4, 'where': [{'metric': 'request.ttft_s.p99', 'at_most': 2}]"),
         "the limit of 'request.ttft_s.p99' is in s, got 2; such as \"15ms\""},
        {"{'scenario': 'x.json',\n 'where': [{'metric': 'request.finished', 'at_least': 1}]}",
         "s.json:2:11: error: 'where' says which points may be on a Pareto front, and the study has none; add \"pareto\""},
        {"{'scenario': 'x.json', 'pareto': ['cluster.gpus'],\n 'where': [{'metric': 'request.finished', 'at_last': 1}]}",
         "did you mean 'at_least'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        parse(&session, cases[i].json);
        CHECK_EQ_INT(session.code, SIM_E_CONFIG);
        if (!CHECK(strstr(session.message, cases[i].message) != NULL))
            printf("    got '%s', expected '%s'\n", session.message, cases[i].message);
        arena_fini(&session.arena);
    }
}

/* What of the largest or smallest value is found when the truth is known: conditions hold up to `limit`. */
static double find(const struct study_search *search, double limit, struct bisection *state)
{
    search_start(search, state);
    for (int i = 0; !state->is_done && i < 200; i++)
        search_advance(search, state, search->is_largest ? state->next <= limit : state->next >= limit);
    CHECK(state->is_done && state->step <= search_max_steps(search));
    return state->good;
}

TEST(bisection_finds_the_limit)
{
    struct study_search whole = {.is_largest = true, .range = {.from = 1, .to = 100, .is_whole = true}};
    struct study_search real = {.is_largest = true, .tolerance = 1e-3, .range = {.from = 1, .to = 64, .is_log = true}};
    struct bisection state;
    for (int limit = 1; limit < 100; limit++) {
        whole.is_largest = true;
        CHECK_EQ_INT(find(&whole, limit, &state), limit);
        whole.is_largest = false;
        CHECK_EQ_INT(find(&whole, limit + 1, &state), limit + 1);
        CHECK_EQ_STR(search_note(&whole, &state), "");
    }
    for (double limit = 1; limit < 64; limit *= 1.07) {
        double found = find(&real, limit, &state);
        CHECK(found <= limit && limit <= found * 1.0011);
        CHECK(state.step <= 2 + 13); /* log2(ln 64 / 1e-3) = 12.02 */
    }
}

/* The bounds as texts: the limit is between them, no wider apart than the tolerance and what rounding both takes, in
 * as many digits as the tolerance asks for. */
static void check_bounds(const struct study_search *search, double limit, int digits)
{
    struct bisection state;
    struct arena arena;
    double good, bad;
    const char *why;
    arena_init(&arena);
    find(search, limit, &state);
    const char *good_text = search_show_good(search, &state, &arena),
               *bad_text = search_show_bad(search, &state, &arena);
    CHECK_EQ_INT(unit_parse(good_text, search->range.dim, &good, &why), 0);
    CHECK_EQ_INT(unit_parse(bad_text, search->range.dim, &bad, &why), 0);
    const double low = search->is_largest ? good : bad, high = search->is_largest ? bad : good;
    CHECK(low <= limit && limit <= high);
    CHECK((high - low) / high <= search->tolerance + 2 * pow(10, 1 - digits));
    const char *texts[] = {good_text, bad_text};
    for (int i = 0; i < 2; i++) {
        const char *first = texts[i] + strspn(texts[i], "0.");
        const size_t n = strspn(first, "0123456789."), n_point = memchr(first, '.', n) != NULL ? 1 : 0;
        size_t n_end = n;
        while (n_point == 0 && n_end > 0 && first[n_end - 1] == '0') n_end--; /* zeros of whole numbers */
        if (!CHECK(n_end - n_point <= (size_t)digits)) printf("    '%s' for %g\n", texts[i], limit);
    }
    arena_fini(&arena);
}

TEST(a_bracket_is_shown_to_its_tolerance)
{
    static const struct {
        double tolerance;
        int digits;
    } cases[] = {{0.5, 2}, {0.05, 3}, {0.01, 3}, {0.001, 4}, {1e-5, 6}};
    static const struct range ranges[] = {
        {.from = 1, .to = 64, .dim = UNIT_RATE, .like = "1/s", .is_log = true},
        {.from = 0.001, .to = 0.9, .dim = UNIT_TIME, .like = "1ms"},
        {.from = 60, .to = 36000, .dim = UNIT_TIME, .like = "1min", .is_log = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
            for (double share = 0.05; share < 1; share += 0.0873)
                for (int is_largest = 0; is_largest < 2; is_largest++) {
                    const struct study_search search = {.is_largest = is_largest, .tolerance = cases[i].tolerance,
                                                        .range = ranges[k]};
                    check_bounds(&search, range_at(&ranges[k], share), cases[i].digits);
                }
}

TEST(wrong_brackets_are_reported)
{
    struct study_search search = {.is_largest = true, .range = {.from = 1, .to = 8, .is_whole = true}};
    struct bisection state;
    CHECK(isnan(find(&search, 0, &state)));
    CHECK_EQ_STR(search_note(&search, &state), "not met at the lower end of the bracket");
    CHECK_EQ_INT(state.step, 1);
    CHECK_EQ_INT(find(&search, 8, &state), 8);
    CHECK_EQ_STR(search_note(&search, &state), "met at the upper end of the bracket too");
    search.is_largest = false;
    CHECK(isnan(find(&search, 9, &state)));
    CHECK_EQ_STR(search_note(&search, &state), "not met at the upper end of the bracket");
    CHECK_EQ_INT(find(&search, 1, &state), 1);
    CHECK_EQ_STR(search_note(&search, &state), "met at the lower end of the bracket too");
    CHECK_EQ_INT(find(&search, 3, &state), 3);
    state.bad_unfit = true;
    CHECK_EQ_STR(search_note(&search, &state), "the next value does not fit");
    state.good = (double)NAN;
    CHECK_EQ_STR(search_note(&search, &state), "does not fit at the upper end of the bracket");
    state.bad_failed = true; /* says less */
    CHECK_EQ_STR(search_note(&search, &state), "runs failed at the upper end of the bracket");
}

TEST(conditions_hold_on_the_mean_or_under_every_seed)
{
    const struct search_condition conditions[] = {{"a", 2, true}, {"b", 10, false}};
    struct study_search search = {.n_conditions = 2, .conditions = conditions};
    const double values[] = {1, 12, 3, 9}, missing[] = {1, 12, (double)NAN, 12};
    CHECK(search_holds(&search, values, 2));
    CHECK(!search_holds(&search, missing, 2));
    search.is_every_seed = true;
    CHECK(!search_holds(&search, values, 2));
    CHECK(search_holds(&search, values, 1));
}

TEST(memory_may_run_out_anywhere)
{
    static const char json[] =
        "{'scenario': 'x.json', 'set': {'c': {'policy': 'p'}}, 'seeds': [1, 2], 'axes': [{'zip': {'a': [1],"
        " 'b': ['x']}}, {'key': 'k', 'log': {'from': 1, 'to': 9, 'n': 3}},           {'sample': 'random', 'n': 2,"
        " 'ranges': {'r': {'from': 0.0, 'to': 1.0}}}], 'search': {'largest': 's', 'from': 1, 'to': 4,"
        "              'where': [{'metric': 'request.finished', 'at_least': 1}]}}";
    struct session session = {.code = SIM_E_NOMEM};
    long n = 0;
    for (; session.code != 0 && n < 2000; n++) {
        mem_fail_after(n);
        parse(&session, json);
        mem_fail_never();
        CHECK(session.code == 0 || session.code == SIM_E_NOMEM);
        arena_fini(&session.arena);
    }
    CHECK(session.code == 0 && n > 10);
}

/* --- Processes of their own --- */

static int says_well(void *context, struct diag *diag)
{
    (void)diag;
    *(int *)context = 1; /* in its own process: the caller's stays */
    return 0;
}

static int says_wrong(void *context, struct diag *diag)
{
    (void)context;
    return diag_error(diag, SIM_E_CONFIG, "s.json", "services.chat", "it is wrong");
}

static int quits(void *context, struct diag *diag)
{
    (void)diag;
    _exit(*(const int *)context);
}

static int crashes(void *context, struct diag *diag)
{
    (void)context, (void)diag;
    raise(SIGKILL);
    return 0;
}

TEST(what_a_process_of_its_own_comes_to)
{
    static const struct {
        int (*act)(void *context, struct diag *diag);
        int context, code;
        const char *says;
    } cases[] = {
        {says_well, 0, 0, ""},
        {says_wrong, 0, SIM_E_CONFIG, "it is wrong"},
        {quits, 0, SIM_E_POLICY, "while a run's world was built, the plug-in"},
        {quits, 3, SIM_E_POLICY, "while a run's world was built, the plug-in"},
        {crashes, 0, SIM_E_POLICY, "signal 9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag diag;
        diag_init(&diag);
        int context = cases[i].context;
        char message[DIAG_LINE_CHARS] = "";
        CHECK_EQ_INT(workers_apart(cases[i].act, &context, &diag), cases[i].code);
        CHECK_EQ_INT(context, cases[i].context);
        CHECK_EQ_INT(diag.n_items, cases[i].code != 0);
        if (diag.n_items > 0) diag_format(&diag.items[0], message, sizeof message);
        CHECK(strstr(message, cases[i].says) != NULL);
    }
}
