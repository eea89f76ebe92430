/* Generated classes: shares and lengths as asked for, streams that do not depend on the other classes, prefixes of
 * their own. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/stat.h"

enum { N_SEEDS = 4 };

#define SIGMAS 4.5 /* as in trace_generators.c */
#define FIXED(tokens) "{'distribution': 'fixed', 'tokens': " #tokens "}"

static const struct trace_class_stat *class_of(const struct trace_stat *stat, const char *name)
{
    for (size_t i = 0; i < stat->n_classes; i++)
        if (strcmp(stat->classes[i].name, name) == 0) return &stat->classes[i];
    return NULL;
}

/* Two with a share of the common arrivals, one with arrivals of its own at 2/s. */
TEST(classes_have_their_shares_and_lengths)
{
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        SCOPED(trace_source) trace = {0};
        struct trace_stat stat = {0};
        MUST(trace_source_requests(
                 &trace, seed,
                 "{'format': 'generate', 'duration': '4000s', 'prompt': " FIXED(7) ", 'output': " FIXED(
                     2) ", 'arrival': {'process': 'poisson', 'rate': '6/s'}, 'classes': {"
                        "'a': {'share': 3}, 'b': {'share': 1.0, 'prompt': " FIXED(
                            100) "},"
                                 "'c': {'arrival': {'process': 'poisson', 'rate': '2/s'}, 'output': " FIXED(
                                     50) "}}}") == 0);
        CHECK_EQ_INT(trace_stat_requests(trace.requests, &stat, &trace.diag), 0);
        MUST(stat.n_classes == 3);
        const struct trace_class_stat *a = class_of(&stat, "a"), *b = class_of(&stat, "b"), *c = class_of(&stat, "c");
        MUST(a != NULL && b != NULL && c != NULL);
        CHECK_EQ_INT(a->n + b->n + c->n, stat.n);
        const double shared = (double)(a->n + b->n);
        CHECK_NEAR(shared, 24000, SIGMAS * sqrt(24000));
        CHECK_NEAR((double)c->n, 8000, SIGMAS * sqrt(8000));
        CHECK_NEAR((double)a->n / shared, 0.75, SIGMAS * sqrt(0.75 * 0.25 / shared));
        CHECK(a->prompt_tokens_sum == 7 * a->n && a->output_tokens_sum == 2 * a->n);
        CHECK(b->prompt_tokens_sum == 100 * b->n && b->output_tokens_sum == 2 * b->n);
        CHECK(c->prompt_tokens_sum == 7 * c->n && c->output_tokens_sum == 50 * c->n);
    }
}

/* Times and lengths of the class "own" in the first 300 s, as a sum that order and values enter. */
static double digest_of_own(const char *others)
{
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    double digest = 0;
    sim_ns last_ns = 0;
    bool ordered = true;
    trace_source_requests(&trace, 5,
                          "{'format': 'generate', 'duration': '300s', 'classes': {%s "
                          "'own': {'mix': 'sharegpt', 'arrival': {'process': 'gamma', 'rate': '2/s', 'cv': 2}}}}",
                          others);
    while (trace.code == 0 && trace_source_request(&trace, &r) == 1) {
        ordered &= r.arrival_ns >= last_ns;
        last_ns = r.arrival_ns;
        if (strcmp(r.class_name, "own") != 0) continue;
        digest = fmod(3 * digest + (double)r.arrival_ns + 7 * r.prompt_tokens + 11 * r.output_tokens, 1e9);
    }
    CHECK(ordered);
    CHECK_EQ_STR(trace.message, "");
    return digest;
}

TEST(a_class_of_its_own_does_not_depend_on_the_others)
{
    const double alone = digest_of_own("");
    CHECK(alone > 0);
    CHECK(digest_of_own("'a': {'share': 1},") == alone);
    CHECK(digest_of_own("'a': {'share': 1}, 'b': {'share': 2, 'mix': 'arxiv-summarization'},") == alone);
    CHECK(digest_of_own("'z': {'arrival': {'process': 'fixed', 'rate': '5/s'}},") == alone);
}

/* Only the system prompt is the same in both. */
TEST(sessions_stay_within_a_class)
{
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    bool ok = true;
    int64_t n_blocks[2] = {0, 0};
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'generate', 'mix': 'mooncake-conversation', 'count': 2000, 'sessions': "
                               "{'continue': 0.5, 'system_blocks': 2, 'max_sessions': 10},"
                               "'classes': {'a': {'share': 1}, 'b': {'share': 1}}}") == 0);
    while (trace_source_request(&trace, &r) == 1) {
        const uint64_t class = r.class_name[0] == 'b';
        for (int32_t i = 0; i < r.n_prefix_blocks; i++) {
            const uint64_t id = r.prefix_blocks[i];
            ok &= i < 2 ? id == (uint64_t)i : id >> 32 == class;
        }
        n_blocks[class] += r.n_prefix_blocks;
    }
    CHECK(ok && n_blocks[0] > 1000 && n_blocks[1] > 1000);
}

TEST(users_of_a_closed_loop_send_all_classes)
{
    SCOPED(trace_source) trace = {0};
    struct request_record r;
    int64_t n[2] = {0, 0};
    MUST(trace_source_requests(&trace, 1,
                               "{'format': 'generate', 'count': 4000, 'arrival': {'process': 'closed', 'users': 5},"
                               "'classes': {'a': {'share': 1}, 'b': {'share': 3}}}") == 0);
    while (trace_source_request(&trace, &r) == 1) n[r.class_name[0] == 'b']++;
    CHECK_EQ_INT(n[0] + n[1], 5);
    struct request_end end = {.is_answered = true};
    for (; trace.requests->follow(trace.requests, &end, &r, &trace.diag) == 1; end.now_ns += 1000, end.id++)
        n[r.class_name[0] == 'b']++;
    CHECK_EQ_INT(n[0] + n[1], 4000);
    CHECK_NEAR((double)n[1] / 4000, 0.75, SIGMAS * sqrt(0.75 * 0.25 / 4000));
}

TEST(contradictions_are_refused)
{
    static const struct {
        const char *params, *text;
    } bad[] = {
        {"'classes': {'a': {}}", "class 'a' has no arrivals"},
        {"'classes': {'a': {'share': 1, 'arrival': {'process': 'fixed', 'rate': '1/s'}}}",
         "class 'a' has both a share and arrivals of its own"},
        {"'classes': {'a': {'share': 1}, 'b': {'arrival': {'process': 'closed', 'users': 2}}}",
         "class 'b' has arrivals of its own beside or in a closed loop"},
        {"'arrival': {'process': 'closed', 'users': 2}, 'classes': {'a': {'share': 1}, "
         "'b': {'arrival': {'process': 'fixed', 'rate': '1/s'}}}",
         "class 'b' has arrivals of its own beside or in a closed loop"},
        {"'arrival': {'process': 'fixed', 'rate': '1/s'}, 'classes': {'b': {'arrival': {'process': 'fixed', 'rate': '1/s'}}}",
         "no class has a share of the common arrivals"},
        {"'classes': {'a': {'share': -1}}", "'share' must be above 0"},
        {"'classes': {'a': {'share': 1, 'prompt': {'distribution': 'uniform', 'min': 5, 'max': 4}}}", "error"},
        {"'classes': {'a b': {'share': 1}}", "the name 'a b' may hold only letters, digits, '_', '.' and '-'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SCOPED(trace_source) trace;
        CHECK_EQ_INT(trace_source_requests(&trace, 1, "{'format': 'generate', 'count': 5, %s}", bad[i].params),
                     SIM_E_CONFIG);
        if (strstr(trace.message, bad[i].text) == NULL) CHECK_EQ_STR(trace.message, bad[i].text);
    }
}
