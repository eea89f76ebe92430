/* The verdict of the regression gate, its baseline file, its log of decisions and its reports. */
#include "analysis/gate/gate.h"
#include "sim/core/hash.h"
#include "tests/support/harness.h"

#include <unistd.h>

/* --- Logs --- */

static void add_decision_of(struct text *lines, const char *service, double t_s, const char *policy, int64_t subject,
                            const char *reason)
{
    struct decision_made row = {.t_s = t_s, .service = service, .policy = policy, .action = "admit",
                               .subject = subject, .reason = reason};
    decision_log_add(lines, "a scenario, \"quoted\"", &row);
}

static void add_decision(struct text *lines, double t_s, const char *policy, int64_t subject, const char *reason)
{
    add_decision_of(lines, "", t_s, policy, subject, reason);
}

static struct decision_lines all_lines(const struct text *text)
{
    return decision_log_take(text->chars != NULL ? text->chars : "", text->length, SIZE_MAX);
}

static struct divergence compare(const struct text *before, const struct text *now, struct arena *arena)
{
    struct divergence divergence;
    struct decision_lines old = all_lines(before), new = all_lines(now);
    CHECK_EQ_INT(decision_log_compare(&old, &new, arena, &divergence, NULL), 0);
    return divergence;
}

TEST(a_row_is_a_line_whatever_its_texts)
{
    SCOPED(arena) arena = {0};
    struct text before = {0}, now = {0};
    add_decision(&before, 0.1, "p", -7, "a, \"b\"\nc\x01");
    CHECK_EQ_STR(before.chars, "\"a scenario, \"\"quoted\"\"\",0.1,,p,admit,-7,\"a, \"\"b\"\" c \"\n");
    CHECK_EQ_INT(all_lines(&before).n, 1);
    add_decision(&now, 0.1, "p", -7, "a");
    struct divergence divergence = compare(&before, &now, &arena);
    CHECK(divergence.first.found && !divergence.is_same_choice && !divergence.choice.found);
    CHECK_EQ_INT(divergence.first.number, 1);
    CHECK_EQ_STR(divergence.first.before.reason, "a, \"b\" c ");
    CHECK_EQ_STR(divergence.first.before.subject, "-7");
    CHECK_EQ_STR(divergence.first.now.reason, "a");
    CHECK_EQ_STR(divergence.first.now.t_s, "0.1");
    text_fini(&before);
    text_fini(&now);
}

/* One field of one row of a log is another: that row is found, with the rows before it. */
TEST(the_first_difference_is_found_wherever_it_is)
{
    struct rng rng = test_rng(5, "gate", 0);
    for (int round = 0; round < 200; round++) {
        SCOPED(arena) arena = {0};
        struct text before = {0}, now = {0};
        size_t n = 1 + rng_below(&rng, 30), at = rng_below(&rng, (uint32_t)n), later = at + rng_below(&rng, 10) + 1;
        int field = (int)rng_below(&rng, 4);
        for (size_t i = 0; i < n; i++) {
            bool planted = i == at;
            add_decision(&before, (double)i, "policy", (int64_t)i, "why");
            add_decision_of(&now, planted && field == 3 ? "chat" : "", (double)i + (planted && field == 0 ? 0.25 : 0),
                            "policy", (int64_t)i + ((planted && field == 1) || i == later),
                            planted && field == 2 ? "why not" : "why");
        }
        struct divergence divergence = compare(&before, &now, &arena);
        CHECK(divergence.first.found);
        CHECK_EQ_INT(divergence.first.number, at + 1);
        CHECK_EQ_INT(divergence.is_same_choice, field == 0);
        CHECK_EQ_INT(divergence.choice.found, field == 0 && later < n);
        if (divergence.choice.found) CHECK_EQ_INT(divergence.choice.number, later + 1);
        CHECK_EQ_INT(divergence.n_context, at < DIVERGENCE_CONTEXT ? at : DIVERGENCE_CONTEXT);
        char subject[24];
        snprintf(subject, sizeof subject, "%zu", at - 1);
        if (at > 0) CHECK_EQ_STR(divergence.context[divergence.n_context - 1].subject, subject);
        CHECK(!compare(&before, &before, &arena).first.found);
        text_fini(&before);
        text_fini(&now);
    }
}

/* Another policy that does the same for another reason chooses the same, until it does something else. */
TEST(another_policy_may_choose_the_same)
{
    static const struct {
        const char *before, *now;
        bool is_same;
    } cases[] = {
        {"head of the queue: takes 1 GPU", "shortest: takes 1 GPU", true},
        {"head of the queue: takes 1 GPU", "shortest: takes 2 GPUs", false},
        {"a: gives back 1 GPU", "b: c: gives back 1 GPU", true},
        {"a: gives back 1 GPU", "a: takes 1 GPU", false},
        {"a: goes on with 1 GPU", "b: goes on with 1 GPU", true},
        {"to replica 0: 1 unfinished", "to replica 0: 1 unfinished", true},
        {"to replica 0: 1 unfinished", "to replica 1: 1 unfinished", false},
        {": takes 1", ": takes", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED(arena) arena = {0};
        struct text before = {0}, now = {0}, own = {0};
        add_decision(&before, 1, "p", 3, cases[i].before);
        add_decision(&now, 1, "q", 3, cases[i].now);
        add_decision(&own, 1, "p", 3, cases[i].now);
        struct divergence divergence = compare(&before, &now, &arena);
        CHECK_EQ_INT(divergence.first.number, 1);
        CHECK_EQ_INT(divergence.is_same_choice, cases[i].is_same);
        CHECK(!divergence.choice.found);
        divergence = compare(&before, &own, &arena); /* of one policy, every word counts */
        CHECK_EQ_INT(divergence.first.found, strcmp(cases[i].before, cases[i].now) != 0);
        CHECK(!divergence.is_same_choice);
        text_fini(&before);
        text_fini(&now);
        text_fini(&own);
    }
}

TEST(a_log_that_ends_early_differs_there)
{
    SCOPED(arena) arena = {0};
    struct text before = {0}, now = {0};
    CHECK(!compare(&before, &now, &arena).first.found);
    add_decision(&before, 1, "p", 1, "why");
    struct divergence gone = compare(&before, &now, &arena), new = compare(&now, &before, &arena);
    CHECK(gone.first.found && gone.first.has_before && !gone.first.has_now);
    CHECK(new.first.found && !new.first.has_before &&new.first.has_now);
    CHECK_EQ_INT(new.first.number, 1);
    struct decision_lines damaged = {.n = 1, .chars = "a,b\n", .n_chars = 4};
    struct divergence divergence;
    CHECK_EQ_INT(decision_log_compare(&damaged, &damaged, &arena, &divergence, NULL), SIM_E_DATA);
    text_fini(&before);
    text_fini(&now);
}

/* --- Verdicts --- */

enum { N_METRICS = 4 };

static const char hash_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", hash_b[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

struct bench {
    struct arena arena;
    struct gate_metric before[N_METRICS], now[N_METRICS + 1];
    struct baseline_entry entry;
    struct baseline baseline;
    struct gate_outcome outcome;
    struct gate_result result;
};

static void bench_init(struct bench *bench)
{
    static const struct gate_metric metrics[N_METRICS] = {{"request.ttft_s.p99", "s", 2, -1},
                                                          {"request.ttft_s.mean", "s", 1, -1},
                                                          {"service.requests_per_s", "1/s", 100, 1},
                                                          {"sim.end_s", "s", 0, 0}};
    *bench = (struct bench){0};
    arena_init(&bench->arena);
    memcpy(bench->before, metrics, sizeof metrics);
    memcpy(bench->now, metrics, sizeof metrics);
    bench->entry = (struct baseline_entry){.name = "a", .scenario = "a.json", .n_metrics = N_METRICS,
                                           .metrics = bench->before, .decisions = {.chars = ""}, .maker = {"", "", ""}};
    memcpy(bench->entry.hash, hash_a, sizeof hash_a);
    bench->baseline = (struct baseline){.path = "b.json", .maker = {"", "", ""},
                                        .n_entries = 1, .entries = &bench->entry};
    bench->outcome = (struct gate_outcome){.n_metrics = N_METRICS, .metrics = bench->now, .decisions = {.chars = ""}};
    memcpy(bench->outcome.hash, hash_b, sizeof hash_b);
}

static enum gate_verdict verdict(struct bench *bench)
{
    CHECK_EQ_INT(gate_judge(&bench->baseline, &bench->entry, &bench->outcome, &bench->arena, &bench->result, NULL), 0);
    return bench->result.verdict;
}

static enum gate_verdict verdict_with(struct bench *bench, const char *pattern, double amount, bool is_relative)
{
    struct tolerance tolerance = {.pattern = pattern, .amount = amount, .is_relative = is_relative};
    bench->baseline.tolerances = (struct tolerance_list){1, &tolerance};
    enum gate_verdict found = verdict(bench);
    bench->baseline.tolerances = (struct tolerance_list){0};
    return found;
}

TEST(the_hash_comes_first)
{
    struct bench bench;
    bench_init(&bench);
    CHECK_EQ_INT(verdict(&bench), GATE_MOVED); /* no metric has moved, but rows have */
    CHECK_EQ_INT(bench.result.n_moves, 0);
    CHECK_EQ_INT(verdict_with(&bench, "*", 1, true), GATE_TOLERATED);
    CHECK_EQ_INT(verdict_with(&bench, "nothing", 1, true), GATE_MOVED);
    memcpy(bench.outcome.hash, hash_a, sizeof hash_a);
    bench.now[0].value = 77; /* cannot be, with this hash: nobody looks */
    CHECK_EQ_INT(verdict(&bench), GATE_SAME);
    bench.entry.hash[0] = 0;
    CHECK_EQ_INT(verdict(&bench), GATE_UNKNOWN);
    bench.outcome.code = SIM_E_CONFIG;
    CHECK_EQ_INT(verdict(&bench), GATE_FAILED);
    arena_fini(&bench.arena);
}

TEST(tolerances_end_where_they_say)
{
    struct bench bench;
    bench_init(&bench);
    bench.now[2].value = 102;
    CHECK_EQ_INT(verdict_with(&bench, "service.*", 2, true), GATE_TOLERATED);
    CHECK_EQ_INT(verdict_with(&bench, "service.*", 1.99, true), GATE_MOVED);
    CHECK_EQ_INT(verdict_with(&bench, "service.*", 2, false), GATE_TOLERATED);
    CHECK_EQ_INT(verdict_with(&bench, "service.*", 1.99, false), GATE_MOVED);
    bench.now[2].value = 98;
    CHECK_EQ_INT(verdict_with(&bench, "*", 2, true), GATE_TOLERATED);
    bench.now[3].value = 1e-9; /* from zero, every relative move is too far */
    CHECK_EQ_INT(verdict_with(&bench, "*", 1e9, true), GATE_MOVED);
    CHECK_EQ_INT(verdict_with(&bench, "*", 3, false), GATE_TOLERATED);
    bench.now[3].value = (double)NAN;
    CHECK_EQ_INT(verdict_with(&bench, "*", 1e9, false), GATE_MOVED);
    bench.before[3].value = (double)NAN;
    CHECK_EQ_INT(verdict_with(&bench, "*", 3, false), GATE_TOLERATED);
    arena_fini(&bench.arena);
}

TEST(the_last_pattern_counts_and_the_scenario_has_the_last_word)
{
    struct bench bench;
    bench_init(&bench);
    struct tolerance all[] = {{.pattern = "*", .amount = 5, .is_relative = true},
                              {.pattern = "request.*"},
                              {.pattern = "*.p99", .amount = 7, .is_relative = true}};
    struct tolerance own[] = {{.pattern = "request.ttft_s.mean", .amount = 1}};
    bench.baseline.tolerances = (struct tolerance_list){3, all};
    CHECK_EQ_INT(gate_tolerance(&bench.baseline, &bench.entry, "sim.end_s").amount, 5);
    CHECK_EQ_INT(gate_tolerance(&bench.baseline, &bench.entry, "request.ttft_s.mean").amount, 0);
    CHECK_EQ_INT(gate_tolerance(&bench.baseline, &bench.entry, "request.ttft_s.p99").amount, 7);
    bench.entry.tolerances = (struct tolerance_list){1, own};
    CHECK(!gate_tolerance(&bench.baseline, &bench.entry, "request.ttft_s.mean").is_relative);
    CHECK_EQ_INT(gate_tolerance(&bench.baseline, &bench.entry, "request.ttft_s.mean").amount, 1);
    bench.baseline.tolerances.n = 0;
    CHECK(gate_tolerance(&bench.baseline, &bench.entry, "sim.end_s").pattern == NULL);
    arena_fini(&bench.arena);
}

TEST(moves_are_sorted_and_called_better_or_worse)
{
    struct bench bench;
    bench_init(&bench);
    bench.now[0].value = 2.2;                                          /* 10 % worse */
    bench.now[1].value = 0.5;                                          /* 50 % better */
    bench.now[2].value = 99;                                           /* 1 % worse, tolerated */
    bench.now[N_METRICS] = (struct gate_metric){"cost.usd", "USD", 3, -1}; /* new */
    bench.outcome.n_metrics = N_METRICS + 1;
    CHECK_EQ_INT(verdict_with(&bench, "service.*", 2, true), GATE_MOVED);
    const struct gate_move *moves = bench.result.moves;
    CHECK_EQ_INT(bench.result.n_moves, 4);
    CHECK_EQ_INT(bench.result.n_beyond, 3);
    /* The usual ones first, then those of a pattern, then the others; new metrics count as the largest. */
    CHECK_EQ_STR(moves[0].name, "cost.usd");
    CHECK_EQ_INT(moves[0].presence, GATE_NEW);
    CHECK_EQ_STR(moves[1].name, "request.ttft_s.p99");
    CHECK_EQ_INT(moves[1].better, -1);
    CHECK_EQ_STR(moves[2].name, "service.requests_per_s");
    CHECK_EQ_INT(moves[2].better, -1);
    CHECK(!moves[2].is_beyond);
    CHECK_EQ_STR(moves[3].name, "request.ttft_s.mean");
    CHECK_EQ_INT(moves[3].better, 1);
    /* A tolerance by name puts its metric first, also a move that is tolerated; "*" tells no metric apart. */
    verdict_with(&bench, "service.requests_per_s", 2, true);
    CHECK_EQ_STR(bench.result.moves[0].name, "service.requests_per_s");
    CHECK_EQ_INT(bench.result.moves[0].weight, GATE_NAMED);
    verdict_with(&bench, "*", 2, true);
    CHECK_EQ_STR(bench.result.moves[0].name, "cost.usd");
    CHECK_EQ_INT(bench.result.moves[3].weight, GATE_OTHER);
    bench.outcome.n_metrics = N_METRICS - 1; /* one is gone: no tolerance covers that */
    bench.now[0].value = 2, bench.now[1].value = 1, bench.now[2].value = 100;
    CHECK_EQ_INT(verdict_with(&bench, "*", 1e9, true), GATE_MOVED);
    CHECK_EQ_INT(bench.result.moves[0].presence, GATE_GONE);
    arena_fini(&bench.arena);
}

/* --- Reports --- */

/* Counts the elements of a name in XML whose tags are all closed in order; -1 when they are not, or when a character
 * that belongs escaped stands bare. Knows no comments and no CDATA. */
static int count_elements(const char *xml, const char *name)
{
    char open[32][32];
    int depth = 0, n = 0;
    if (strncmp(xml, "<?xml ", 6) != 0 || (xml = strstr(xml, "?>")) == NULL) return -1;
    for (xml += 2; *xml != 0; xml++) {
        if (*xml == '&' && strncmp(xml, "&amp;", 5) != 0 && strncmp(xml, "&lt;", 4) != 0 &&
            strncmp(xml, "&gt;", 4) != 0 && strncmp(xml, "&quot;", 6) != 0)
            return -1;
        if ((unsigned char)*xml < ' ' && *xml != '\n' && *xml != '\t') return -1;
        if (*xml != '<') continue;
        bool closes = xml[1] == '/';
        char tag[32] = "";
        const char *end = strchr(xml, '>');
        if (end == NULL || memchr(xml + 1, '<', (size_t)(end - xml - 1)) != NULL) return -1;
        sscanf(xml + 1 + closes, "%31[a-z-]", tag);
        if (closes) {
            if (depth == 0 || strcmp(open[--depth], tag) != 0) return -1;
        } else {
            n += strcmp(tag, name) == 0;
            if (end[-1] != '/') memcpy(open[depth++], tag, sizeof tag);
        }
        xml = end;
    }
    return depth == 0 ? n : -1;
}

static void check_junit(const struct gate_report *report)
{
    struct text xml = {0};
    gate_junit(report, &xml);
    CHECK_EQ_INT(count_elements(xml.chars, "testcase"), 5);
    CHECK_EQ_INT(count_elements(xml.chars, "failure"), 2);
    CHECK_EQ_INT(count_elements(xml.chars, "error"), 1);
    CHECK_EQ_INT(count_elements(xml.chars, "testsuite"), 1);
    CHECK(strstr(xml.chars, "<testsuites name=\"orrery check\" tests=\"5\" failures=\"2\" errors=\"1\">") != NULL);
    CHECK(strstr(xml.chars, "name=\"n&lt;a&gt; &amp; &quot;b&quot; ? | ``````\"") != NULL);
    text_fini(&xml);
}

TEST(reports_hold_whatever_names_there_are)
{
    struct bench bench;
    bench_init(&bench);
    bench.entry.name = "n<a> & \"b\" \x02 | ``````";
    bench.now[0].value = 3;
    verdict(&bench);
    struct gate_result results[5];
    for (int i = 0; i < 5; i++) {
        results[i] = bench.result;
        results[i].verdict = (enum gate_verdict)i;
        results[i].finding = "x.json:1:2: error: <no> & such";
        results[i].code = SIM_E_DATA;
    }
    bench.baseline.maker.platform = "another";
    bench.entry.maker = bench.baseline.maker;
    struct gate_report report = {.baseline = &bench.baseline, .maker = {"1", "c", "here"},
                                 .n_results = 5, .results = results};
    gate_count(&report);
    CHECK_EQ_INT(gate_code(&report), SIM_E_DATA);
    check_junit(&report);
    struct text text = {0}, markdown = {0}, json = {0};
    struct json_writer writer;
    gate_text(&report, &text);
    CHECK(strstr(text.chars,
                 "5 scenarios: 1 the same, 1 within tolerance, 1 moved, 1 not in the baseline, 1 failed\n") != NULL);
    CHECK(strstr(text.chars, "request.ttft_s.p99") != NULL && strstr(text.chars, "+50 %") != NULL);
    CHECK(strstr(text.chars,
                 "the platform differs, so the last digits may: the baseline was made on another, this is here") !=
          NULL);
    gate_markdown(&report, &markdown);
    CHECK(strstr(markdown.chars, "### Regression gate: not met\n") != NULL);
    CHECK(strstr(markdown.chars, "| n&lt;a> &amp; \"b\" \x02 \\| `````` | moved | 1 of 4 | 1 | ") != NULL);
    json_writer_init(&writer, &json);
    gate_json(&report, &writer);
    CHECK(json.chars[0] == '{');
    report.n_results = 4;
    CHECK_EQ_INT(gate_code(&report), SIM_E_GATE);
    report.n_results = 2;
    CHECK_EQ_INT(gate_code(&report), 0);
    text_fini(&text);
    text_fini(&markdown);
    text_fini(&json);
    arena_fini(&bench.arena);
}

/* --- The file --- */

static void fill_entry(struct baseline *baseline, struct arena *arena, const char *scenario,
                       struct gate_metric *metrics, const struct text *log)
{
    static const char *settings[] = {"a.b=c", "d=\"e f\""};
    static struct tolerance tolerance[] = {{.pattern = "*.p99", .amount = 7, .is_relative = true},
                                           {.pattern = "sim.*", .amount = 0.3}};
    struct baseline_entry *entry = baseline_add(baseline, arena);
    *entry = (struct baseline_entry){.scenario = scenario, .n_settings = 2, .settings = settings, .seed = "12",
                                     .tolerances = {2, tolerance}, .n_metrics = 2, .metrics = metrics,
                                     .decisions = all_lines(log)};
    entry->name = baseline_default_name(entry, arena);
    entry->maker = baseline->maker;
    memcpy(entry->hash, hash_a, sizeof hash_a);
    memcpy(entry->inputs, hash_b, sizeof hash_b);
}

static const char *saved_baseline(struct arena *arena)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/gate.json", test_tmpdir());
    struct gate_metric metrics[] = {{"x.p99", "s", 0.1 + 0.2, 0}, {"y", "1", (double)NAN, 0}};
    struct text log = {0}, none = {0};
    struct baseline baseline;
    add_decision(&log, 0.1, "p", 1, "why, \"so\"");
    add_decision(&log, 0.2, "p", 2, "why");
    CHECK_EQ_INT(baseline_init(&baseline, path, arena), 0);
    baseline.maker = (struct maker){"1", "c", "here"};
    fill_entry(&baseline, arena, "dir/one.json", metrics, &log);
    fill_entry(&baseline, arena, "two", metrics, &none);
    CHECK_EQ_INT(baseline_save(&baseline, NULL), 0);
    text_fini(&log);
    return path;
}

TEST(a_baseline_comes_back_as_it_was_written)
{
    SCOPED(arena) arena = {0};
    struct baseline read;
    struct diag diag = {0};
    const char *path = saved_baseline(&arena);
    CHECK_EQ_INT(baseline_load(&read, path, false, &arena, &diag), 0);
    CHECK_EQ_INT(read.n_entries, 2);
    const struct baseline_entry *entry = &read.entries[0];
    CHECK_EQ_STR(read.maker.platform, "here");
    CHECK_EQ_STR(entry->name, "one a.b=c d=\"e f\" seed=12");
    CHECK_EQ_STR(entry->settings[1], "d=\"e f\"");
    CHECK_EQ_STR(entry->seed, "12");
    CHECK_EQ_STR(entry->inputs, hash_b);
    CHECK(entry->metrics[0].value == 0.1 + 0.2 && isnan(entry->metrics[1].value));
    CHECK(entry->tolerances.items[0].is_relative && entry->tolerances.items[0].amount == 7);
    CHECK(!entry->tolerances.items[1].is_relative && entry->tolerances.items[1].amount == 0.3);
    CHECK_EQ_INT(entry->decisions.n, 2);
    CHECK_EQ_INT(read.entries[1].decisions.n, 0);
    struct divergence divergence;
    CHECK_EQ_INT(decision_log_compare(&read.entries[1].decisions, &entry->decisions, &arena, &divergence, &diag), 0);
    CHECK_EQ_STR(divergence.first.now.reason, "why, \"so\"");
}

/* When one of two entries is written anew by another program, each keeps its maker; once both are, the file has one. */
TEST(entries_keep_their_makers)
{
    SCOPED(arena) arena = {0};
    struct baseline read;
    static const struct maker other = {"2", "d", "there"};
    const char *path = saved_baseline(&arena);
    CHECK_EQ_INT(baseline_load(&read, path, false, &arena, NULL), 0);
    CHECK_EQ_STR(read.entries[1].maker.platform, "here");
    read.entries[1].maker = other;
    memcpy(read.entries[1].scenario_hash, hash_a, sizeof hash_a);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_INT(baseline_save(&read, NULL), 0);
        CHECK_EQ_INT(baseline_load(&read, path, false, &arena, NULL), 0);
        CHECK_EQ_STR(read.maker.platform, i == 0 ? "here" : "there");
        CHECK_EQ_STR(read.entries[0].maker.version, i == 0 ? "1" : "2");
        CHECK_EQ_STR(read.entries[1].maker.commit, "d");
        CHECK_EQ_STR(read.entries[1].scenario_hash, hash_a);
        CHECK_EQ_STR(read.entries[0].scenario_hash, "");
        read.entries[0].maker = other;
    }
}

/* Each value that differs is told once: of the baseline first, then what is new. */
TEST(changes_of_a_scenario_are_listed)
{
    static const struct json_source source = {.name = "scenario", .directory = "."};
    static const char before[] =
        "{\"a\": {\"b\": 2, \"c\": \"x\", \"same\": [1, 2]}, \"l\": [1, 2], \"t\": \"0.5h\", \"gone\": {\"d\": 1}}";
    static const char now[] = "{\"new\": true, \"a\": {\"c\": \"y\", \"b\": 3, \"same\": [1, 2]}, \"l\": [1, 4, null], \"t\": \"600s\"}";
    static const struct scenario_change expected[] = {{"a.b", "2", "3"},  {"a.c", "\"x\"", "\"y\""},
                                                      {"l.1", "2", "4"},  {"l.2", NULL, "null"},
                                                      {"t", "\"30min\"", "\"10min\""},
                                                      {"gone", "an object", NULL}, {"new", NULL, "true"}};
    SCOPED(arena) arena = {0};
    struct json_node *old, *new;
    struct scenario_change *changes;
    size_t n;
    MUST(json_parse(&arena, &source, before, strlen(before), &old, NULL) == 0);
    MUST(json_parse(&arena, &source, now, strlen(now), &new, NULL) == 0);
    MUST(scenario_changes(old, new, &arena, &changes, &n) == 0 && n == sizeof expected / sizeof *expected);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ_STR(changes[i].key, expected[i].key);
        CHECK_EQ_STR(changes[i].before != NULL ? changes[i].before : "absent",
                     expected[i].before != NULL ? expected[i].before : "absent");
        CHECK_EQ_STR(changes[i].now != NULL ? changes[i].now : "absent",
                     expected[i].now != NULL ? expected[i].now : "absent");
    }
    MUST(scenario_changes(new, new, &arena, &changes, &n) == 0);
    CHECK(n == 0);
    SCOPED(text) text = {0};
    struct json_writer writer;
    json_writer_init(&writer, &text);
    scenario_write(&writer, NULL, old);
    CHECK_EQ_STR(text.chars, before);
}

/* Both makers of a mixed baseline are told, each with what it made. */
TEST(moves_are_listed_with_their_makers)
{
    struct bench bench;
    SCOPED(text) text = {0};
    bench_init(&bench);
    struct baseline_entry two = bench.entry;
    bench.baseline.maker = bench.entry.maker = (struct maker){"1", "c", "here"};
    two.name = "b";
    two.maker = (struct maker){"0", "b", "there"};
    memcpy(bench.entry.scenario_hash, hash_a, sizeof hash_a);
    memcpy(bench.outcome.scenario_hash, hash_b, sizeof hash_b);
    struct gate_result results[2];
    struct gate_report report = {.baseline = &bench.baseline, .maker = {"1", "c", "here"}, .n_results = 2,
                                 .results = results};
    CHECK_EQ_INT(gate_judge(&bench.baseline, &bench.entry, &bench.outcome, &bench.arena, &results[0], NULL), 0);
    CHECK_EQ_INT(gate_judge(&bench.baseline, &two, &bench.outcome, &bench.arena, &results[1], NULL), 0);
    gate_count(&report);
    CHECK(results[0].scenario_moved);
    CHECK(!results[1].scenario_moved); /* the baseline does not know */
    gate_makers(&report, &text);
    CHECK_EQ_STR(text.chars,
                 "the platform differs, so the last digits may: the baseline of 'b' was made on there, this is here\n"
                 "the baseline of 'b' was made by orrery 0 (b), this is 1 (c)\n");
    CHECK(gate_platform_differs(&report));
    arena_fini(&bench.arena);
}

/* A tolerance that can apply to nothing is warned of; one for a metric that is new, or gone, is not. */
TEST(patterns_without_a_match_are_warned_of)
{
    struct bench bench;
    struct diag diag = {0};
    struct gate_result result;
    struct tolerance all[] = {{.pattern = "request.ttft.*", .where = "b.json:2:3"}, {.pattern = "request.*"},
                              {.pattern = "brand.new"}};
    struct tolerance own[] = {{.pattern = "sim.end"}, {.pattern = "sim.end_s"}};
    bench_init(&bench);
    bench.now[0].name = "brand.new";
    bench.baseline.tolerances = (struct tolerance_list){3, all};
    bench.entry.tolerances = (struct tolerance_list){2, own};
    struct gate_report report = {.baseline = &bench.baseline, .n_results = 1, .results = &result};
    result.entry = &bench.entry;
    gate_check_patterns(&report, &bench.outcome, &diag);
    CHECK_EQ_INT(diag.n_warnings, 2);
    CHECK_EQ_STR(diag.items[0].where, "b.json:2:3");
    CHECK_EQ_STR(diag.items[0].text, "no metric matches 'request.ttft.*': this tolerance has no effect");
    CHECK_EQ_STR(diag.items[1].text, "no metric matches 'sim.end': this tolerance has no effect");
    diag_init(&diag);
    bench.entry.hash[0] = 0;
    bench.entry.n_metrics = 0;
    bench.outcome.code = SIM_E_DATA; /* it has never run: nobody knows its metrics */
    gate_check_patterns(&report, &bench.outcome, &diag);
    CHECK_EQ_INT(diag.n_warnings, 0);
    arena_fini(&bench.arena);
}

/* A baseline of a version whose decisions had other columns. */
TEST(a_log_with_other_columns_is_refused)
{
    static const char old[] =
        "scenario,t_s,policy,action,subject,reason\none,0.1,p,admit,1,why\ntwo,0.2,p,admit,2,why\n";
    SCOPED(arena) arena = {0};
    struct baseline read;
    struct diag diag = {0};
    char hash[HASH_HEX_CHARS], text[8192] = "";
    const char *path = saved_baseline(&arena);
    CHECK_EQ_INT(baseline_load(&read, path, false, &arena, &diag), 0);
    FILE *file = fopen(read.log_path, "w"); /* zlib reads plain files, too */
    MUST(file != NULL && fputs(old, file) >= 0 && fclose(file) == 0);
    struct hash *hasher = hash_create();
    hash_bytes(hasher, old, strlen(old));
    hash_hex(hasher, hash);
    hash_destroy(hasher);
    file = fopen(path, "r+");
    MUST(file != NULL && fread(text, 1, sizeof text - 1, file) > 0);
    char *at = strstr(text, "\"decision_log\": \"");
    MUST(at != NULL);
    memcpy(at + strlen("\"decision_log\": \""), hash, strlen(hash));
    rewind(file);
    MUST(fputs(text, file) >= 0 && fclose(file) == 0);
    CHECK_EQ_INT(baseline_load(&read, path, false, &arena, &diag), SIM_E_DATA);
    CHECK(strstr(diag.items[0].text, "differ from this version") != NULL);
    CHECK_EQ_INT(baseline_load(&read, path, true, &arena, &diag), 0);
}

/* Whichever allocation fails, it is told, and nothing is taken for a success. */
TEST(memory_may_run_out)
{
    SCOPED(arena) arena = {0};
    const char *path = saved_baseline(&arena);
    int code = SIM_E_NOMEM;
    long n = 0;
    for (; code == SIM_E_NOMEM && n < 10000; n++) {
        SCOPED(arena) own = {0};
        struct baseline read;
        struct diag diag = {0};
        mem_fail_after(n);
        code = baseline_load(&read, path, false, &own, &diag);
        if (code == 0) code = baseline_save(&read, &diag);
        mem_fail_never();
        CHECK(code == 0 || code == SIM_E_NOMEM);
    }
    CHECK_EQ_INT(code, 0);
    CHECK(n > 10);
}
