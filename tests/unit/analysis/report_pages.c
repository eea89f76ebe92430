#include "tests/support/harness.h"
#include "tests/support/report_fixture.h"
#include "tests/support/store_fixture.h"

static const char *fresh_path(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/results.db", test_tmpdir());
    return path;
}

static void check_no_errors(const struct diag *diag)
{
    CHECK_EQ_STR(diag->n_errors > 0 ? diag->items[0].text : "", "");
}

/* Writes a file with one run and makes its page, which obeys the laws. */
static void make_page(const struct fixture_run *run, struct text *html)
{
    const char *path = fresh_path();
    struct diag diag = {0};
    CHECK_EQ_INT(fixture_write_run(path, run, &diag), 0);
    CHECK_EQ_INT(fixture_report(path, 0, html, &diag), 0);
    check_no_errors(&diag);
    CHECK(fixture_check_page(path, html) >= 2);
}

TEST(a_mixed_site_has_every_section)
{
    SCOPED(text) html = {0};
    make_page(&(struct fixture_run){.name = "site", .status = "done", .requests = true, .jobs = true, .seed = 7}, &html);
    static const char *const expected[] = {
        "<h1>site</h1>", "seed 7, done", "All 400 requests finished.", "All 60 jobs finished.", "id=\"metrics\"",
        "Time to first token", "Job completion time", "Requests waiting, per service", "Requests waiting, per replica",
        "Jobs on GPUs", "GPUs that jobs hold", "id=\"provenance\"", "0123456789ab", "routing=jsq", "No warnings."};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!CHECK(fixture_has(&html, expected[i]))) printf("missing: %s\n", expected[i]);
    CHECK(html.length < 400 * 1024);
}

/* Every section folds without a script, and the first is open. */
TEST(sections_fold)
{
    SCOPED(text) html = {0};
    make_page(&(struct fixture_run){.name = "site", .status = "done", .requests = true, .jobs = true}, &html);
    size_t n_sections = 0, n_folds = 0;
    for (const char *at = html.chars; (at = strstr(at, "<section")) != NULL; at++) n_sections++;
    for (const char *at = html.chars; (at = strstr(at, "<details class=\"fold\"")) != NULL; at++) n_folds++;
    CHECK_EQ_INT(n_sections, 5);
    CHECK_EQ_INT(n_folds, n_sections);
    const char *open = html.chars != NULL ? strstr(html.chars, "<details class=\"fold\" open>") : NULL;
    CHECK(open != NULL && strstr(open, "Over time") != NULL &&
          strstr(open + 1, "<details class=\"fold\" open>") == NULL);
    CHECK(fixture_has(&html, "prefers-color-scheme: dark"));
}

/* The first lines say what ran, as far as the stored scenario does; the limits that it names are lines in charts. */
TEST(what_ran_comes_first)
{
    SCOPED(text) html = {0};
    make_page(&(struct fixture_run){.name = "site", .status = "done", .requests = true,
                                    .scenario = "{\"cluster\": {\"nodes\": 3, \"gpus_per_node\": 8, \"gpu\": \"h100\"},"
                                                " \"services\": {\"a\": {\"llm\": \"llama<8b>\", \"tensor_parallel\": 2,"
                                                " \"replicas\": 4, \"batching\": {\"policy\": \"sarathi\"},"
                                                " \"cost\": {\"engine\": \"vllm\"}, \"routing\": {\"policy\": \"jsq\"},"
                                                " \"trace\": {\"path\": \"chat.csv\"}, \"slo\": {\"ttft\": \"300ms\"}}}}"},
              &html);
    const char *ran = "<li><strong>a</strong>: llama&lt;8b&gt; on h100, TP 2, 4 replicas; engine vllm, batcher sarathi, "
                      "router jsq; trace chat.csv; SLO TTFT 300 ms</li>";
    CHECK(fixture_has(&html, ran) && fixture_has(&html, "<li><strong>site</strong>: 3 nodes of 8 h100</li>"));
    CHECK(fixture_has(&html, ran) && strstr(html.chars, ran) < strstr(html.chars, "class=\"verdict\""));
    size_t n = 0;
    for (const char *at = html.chars; (at = strstr(at, ",\"name\":\"SLO 300 ms\"}")) != NULL; at++) n++;
    CHECK_EQ_INT(n, 2); /* over time, and in the distribution */
}

/* Jobs that make room for a starting replica yield; other stops are failures. Each yield and preemption counts,
 * also two at one moment. */
TEST(yields_are_told_from_failures)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "x", .status = "done", .jobs = true}, &diag) == 0);
    MUST(fixture_sql(path, "UPDATE job SET restarts = 1, end_s = end_s + 500 WHERE id IN (4, 5);"
                           "UPDATE placement SET end_s = 405 WHERE job = 4;"
                           "INSERT INTO decision VALUES (1, 50, '', 'las', 'preempt', 2, ''),"
                           " (1, 50, '', 'las', 'preempt', 3, '');"
                           "INSERT INTO metric VALUES (1, 'scaling.yielded_jobs.sum', 2, '1')"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "{\"name\":\"yield (2)\",\"colour\":5,\"x\":[405,410]}"));
    CHECK(fixture_has(&html, "{\"name\":\"preemption (2)\",\"colour\":4,\"x\":[50]}"));
    CHECK(!fixture_has(&html, "failure ("));
    MUST(fixture_sql(path, "INSERT INTO decision VALUES (1, 405, 'a', 'hpa', 'start', -1, '');"
                           "INSERT INTO metric VALUES (1, 'failure.interrupts', 1, '1')"));
    text_fini(&html);
    text_init(&html);
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "{\"name\":\"yield (1)\",\"colour\":5,\"x\":[405]}"));
    CHECK(fixture_has(&html, "{\"name\":\"failure (1)\",\"colour\":1,\"x\":[410]}"));
}

/* A failure may stop a job at the moment at which a replica starts. A kept reason decides; without one, a job on the
 * node that fails has not yielded. */
TEST(a_failure_beside_a_starting_replica_is_no_yield)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "x", .status = "done", .jobs = true}, &diag) == 0);
    MUST(fixture_sql(path, "UPDATE job SET restarts = 1, end_s = end_s + 500 WHERE id IN (4, 5);"
                           "UPDATE placement SET end_s = 405, node = 2 WHERE job = 4;"
                           "UPDATE placement SET end_s = 405, node = 1 WHERE job = 5;"
                           "INSERT INTO decision VALUES (1, 405, 'a', 'hpa', 'start', -1, ''),"
                           " (1, 405, 'a', 'failures', 'fail', -1, 'replica 3: gpu on node 2');"
                           "INSERT INTO metric VALUES (1, 'scaling.yielded_jobs.sum', 1, '1'),"
                           " (1, 'failure.interrupts', 1, '1')"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "{\"name\":\"yield (1)\",\"colour\":5,\"x\":[405]}"));
    MUST(fixture_sql(
        path, "INSERT INTO decision VALUES (1, 405, '', 'jobs', 'interrupt', 4, 'yields to a service its 8 GPUs'),"
              " (1, 405, '', 'jobs', 'interrupt', 5, 'yields to a service its 8 GPUs')"));
    text_fini(&html);
    text_init(&html);
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "{\"name\":\"yield (2)\",\"colour\":5,\"x\":[405]}"));
    MUST(fixture_sql(path, "UPDATE decision SET reason = 'gpu on node 1' WHERE subject = 5 AND action = 'interrupt'"));
    text_fini(&html);
    text_init(&html);
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "{\"name\":\"yield (1)\",\"colour\":5,\"x\":[405]}"));
}

/* Incidents stand above every chart over time, once for the script; a decision that is no incident does not. */
TEST(incidents_are_marked_in_charts_over_time)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "x", .status = "done", .requests = true, .jobs = true},
                           &diag) == 0);
    MUST(fixture_sql(path, "INSERT INTO decision VALUES (1, 10, 'site', 'polca', 'brake', 0, ''),"
                           " (1, 20, 'a', 'failures', 'fail', -1, ''), (1, 30, 'a', 'hpa', 'start', -1, ''),"
                           " (1, 40, '', 'las', 'start', 3, ''), (1, 50, '', 'las', 'preempt', 3, '')"));
    MUST(fixture_sql(path, "UPDATE job SET restarts = 1, end_s = end_s + 500 WHERE id = 5"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    check_no_errors(&diag);
    CHECK(fixture_has(&html, "{\"name\":\"power brake (1)\",\"colour\":0,\"x\":[10]}"));
    CHECK(fixture_has(&html, "{\"name\":\"failure (2)\",\"colour\":1,\"x\":[20,410]}"));
    CHECK(fixture_has(&html, "{\"name\":\"scaling (1)\",\"colour\":3,\"x\":[30]}"));
    CHECK(fixture_has(&html, "{\"name\":\"preemption (1)\",\"colour\":4,\"x\":[50]}"));
    size_t n_charts = 0, n_marked = 0;
    for (const char *at = html.chars; (at = strstr(at, "{\"group\":\"time\"")) != NULL; at++) n_charts++;
    for (const char *at = html.chars; (at = strstr(at, "\"events\":true")) != NULL; at++) n_marked++;
    CHECK(n_charts >= 4);
    CHECK_EQ_INT(n_marked, n_charts);
    fixture_check_page(path, &html);
}

TEST(a_service_alone_has_no_gantt)
{
    SCOPED(text) html = {0};
    make_page(&(struct fixture_run){.name = "chat", .status = "done", .requests = true}, &html);
    CHECK(fixture_has(&html, "Time per output token"));
    CHECK(!fixture_has(&html, "id=\"nodes\""));
    CHECK(!fixture_has(&html, "Job completion time"));
}

TEST(jobs_alone_have_no_latencies)
{
    SCOPED(text) html = {0};
    make_page(&(struct fixture_run){.name = "jobs", .status = "done", .jobs = true}, &html);
    CHECK(!fixture_has(&html, "Time to first token"));
    CHECK(fixture_has(&html, "Slowdown"));
    CHECK(fixture_has(&html, "node 2"));
}

TEST(sections_without_rows_say_so)
{
    SCOPED(text) html = {0};
    make_page(&(struct fixture_run){.name = "sums", .status = "done", .requests = true, .jobs = true, .no_rows = true}, &html);
    CHECK(fixture_has(&html, "All 400 requests finished."));
    CHECK(fixture_has(&html, "The run kept no time series"));
    CHECK(fixture_has(&html, "Where jobs ran was not kept"));
    CHECK(fixture_has(&html, "Jobs have metrics only"));
    text_fini(&html);
    make_page(&(struct fixture_run){.name = "nothing", .status = "failed"}, &html);
    CHECK(fixture_has(&html, "The run has status &#39;failed&#39; and no result"));
    CHECK(fixture_has(&html, "class=\"grave\"><strong>incomplete"));
}

TEST(names_are_escaped_wherever_they_stand)
{
    SCOPED(text) html = {0};
    make_page(&(struct fixture_run){.name = "<script>alert('x')</script> & \xe6\x97\xa5\xe6\x9c\xac", .status = "done",
                                    .requests = true, .scenario = "{\"a\": \"</pre><b>\"}"},
              &html);
    CHECK(!fixture_has(&html, "<script>alert"));
    CHECK(!fixture_has(&html, "</pre><b>"));
    CHECK(fixture_has(&html,
                      "<title>&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; \xe6\x97\xa5\xe6\x9c\xac</title>"));
}

/* The numbers of the curve under this title, as the script gets them. Returns how many. */
static size_t read_curve(const struct text *html, const char *title, const char *key, double *values, size_t most)
{
    char start[160], name[16];
    snprintf(start, sizeof start, "\"title\":\"%s\"", title);
    snprintf(name, sizeof name, "\n{\"name\":\"a\"");
    const char *data = html->chars != NULL ? strstr(html->chars, start) : NULL;
    const char *series = data != NULL ? strstr(data, name) : NULL;
    snprintf(start, sizeof start, "\"%s\":[", key);
    const char *at = series != NULL ? strstr(series, start) : NULL;
    size_t n = 0;
    if (at == NULL) return 0;
    for (at += strlen(start) - 1; *at != ']' && n < most;) {
        char *end;
        values[n++] = strtod(at + 1, &end);
        at = end;
    }
    return n;
}

/* The curve is the share of what the metrics count: service "a", finished, after the warm-up. Of its TTFTs, which are
 * 11, ..., 400 ms but for every tenth, a share of p is at most 10 + 390 p. */
TEST(the_distribution_is_that_of_the_rows)
{
    SCOPED(text) html = {0};
    double x[1000] = {0}, y[1000] = {0};
    make_page(&(struct fixture_run){.name = "chat", .status = "done", .requests = true}, &html);
    const size_t n = read_curve(&html, "Time to first token", "x", x, 1000);
    MUST(n > 100 && read_curve(&html, "Time to first token", "y", y, 1000) == n);
    CHECK_NEAR(y[n - 1], 1, 0);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(x[i], 0.010 + 0.390 * y[i], 0.0025);
}

/* Where all values are the same there is a sentence in place of an empty chart; what a logarithmic axis leaves out is
 * said. */
TEST(values_without_a_curve_have_a_sentence)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "x", .status = "done", .requests = true, .jobs = true},
                           &diag) == 0);
    MUST(fixture_sql(path, "UPDATE job SET start_s = submit_s"));
    MUST(fixture_sql(path, "UPDATE request SET queue_s = CASE WHEN id % 4 = 0 THEN 0 ELSE 1 + id * id END"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "<strong>Time before the first start</strong>: all values are 0 s."));
    CHECK(!fixture_has(&html, "\"title\":\"Time before the first start\""));
    CHECK(fixture_has(&html, "<strong>Time per output token</strong>: all values are within 0.1 % of 10 ms."));
    CHECK(fixture_has(&html, "\"title\":\"Time in the queue\""));
    CHECK(fixture_has(&html, "Of the finished requests that arrived after the warm-up."));
    CHECK(fixture_has(&html, "Left of this axis, 0 or nearly so: of a 27.6 %"));
    fixture_check_page(path, &html);
}

TEST(waiting_that_grows_is_a_grave_warning)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "late", .status = "done", .requests = true}, &diag) == 0);
    MUST(fixture_sql(path, "UPDATE request SET queue_s = arrival_s * 0.2"));
    MUST(fixture_sql(path, "INSERT INTO warning VALUES (1, 0, 'clipped', 'lengths <clipped>', 3),"
                           " (1, 0, 'uncalibrated', 'nobody measured this GPU', 1)"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "The service &#39;a&#39; is saturated: the mean wait rises from"));
    CHECK(fixture_has(&html, "1.2 times the rate"));
    CHECK(fixture_has(&html, "class=\"grave\"><strong>saturated"));
    CHECK(fixture_has(&html, "class=\"grave\"><strong>uncalibrated"));
    CHECK(fixture_has(&html, "<li><strong>clipped</strong> lengths &lt;clipped&gt; (3 times)"));
    fixture_check_page(path, &html);
}

TEST(of_several_runs_it_is_the_last_or_the_one_asked_for)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "first", .status = "done", .requests = true}, &diag) == 0);
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "second", .status = "done", .jobs = true}, &diag) == 0);
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "<h1>second</h1>") && fixture_has(&html, "Run 2 of the 2 in the file"));
    CHECK(!fixture_has(&html, "Time to first token"));
    fixture_check_page(path, &html);
    text_fini(&html);
    CHECK_EQ_INT(fixture_report(path, 1, &html, &diag), 0);
    CHECK(fixture_has(&html, "<h1>first</h1>") && fixture_has(&html, "Time to first token"));
    fixture_check_page(path, &html);
    text_fini(&html);
    check_no_errors(&diag);
    CHECK_EQ_INT(fixture_report(path, 3, &html, &diag), SIM_E_STORE);
    CHECK_EQ_STR(diag.items[0].text, "no run 3");
}

TEST(the_same_file_gives_the_same_bytes)
{
    struct text html[2];
    struct diag diag = {0};
    const char *path = fresh_path();
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "x", .status = "done", .requests = true, .jobs = true},
                           &diag) == 0);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(fixture_report(path, 0, &html[i], &diag), 0);
    CHECK_EQ_STR(html[0].chars, html[1].chars);
    for (int i = 0; i < 2; i++) text_fini(&html[i]);
}

/* Numbers without sense, texts of all kinds: there is a page all the same. */
TEST(random_rows_make_a_page)
{
    struct text html;
    struct diag diag = {0};
    const char *path = fresh_path();
    for (uint64_t seed = 1; seed <= 3; seed++)
        MUST(store_write_run(path, &(struct results_options){0}, 500, seed, NULL, &diag) == 0);
    for (int run = 1; run <= 3; run++) {
        CHECK_EQ_INT(fixture_report(path, run, &html, &diag), 0);
        fixture_check_page(path, &html);
        text_fini(&html);
    }
    check_no_errors(&diag);
}

TEST(what_is_no_results_file_is_refused)
{
    SCOPED(text) html = {0};
    struct diag diag = {0};
    const char *path = fresh_path();
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), SIM_E_STORE);
    CHECK(diag.n_errors == 1);
    text_fini(&html);
    MUST(store_write_run(path, &(struct results_options){0}, 1, 1, NULL, &diag) == 0);
    MUST(fixture_sql(path, "DELETE FROM run"));
    diag_init(&diag);
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), SIM_E_STORE);
    CHECK_EQ_STR(diag.items[0].text, "it contains no run");
}

TEST(memory_that_runs_out_is_an_error)
{
    const char *path = fresh_path();
    struct diag diag = {0};
    MUST(fixture_write_run(path, &(struct fixture_run){.name = "x", .status = "done", .requests = true, .jobs = true},
                           &diag) == 0);
    int code = SIM_E_NOMEM, n_failed = 0;
    for (long n = 0; code != 0 && n < 200000; n += 1 + n / 8) {
        SCOPED(text) html = {0};
        diag_init(&diag);
        mem_fail_after(n);
        code = fixture_report(path, 0, &html, &diag);
        mem_fail_never();
        if (code != 0) {
            CHECK_EQ_INT(code, SIM_E_NOMEM);
            CHECK(diag.n_errors > 0);
            n_failed++;
        }
    }
    CHECK_EQ_INT(code, 0);
    CHECK(n_failed > 20);
}

/* --- Studies --- */

/* Two routers at three rates under two seeds; "jsq" is twice as fast, "rr" cheaper at none. */
static void write_study(const char *path)
{
    static const char *const routers[] = {"jsq", "rr"}, *const rates[] = {"1/s", "2/s", "10/s"};
    struct diag diag = {0};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
            for (int seed = 1; seed <= 2; seed++) {
                const struct run_param params[] = {{"a.routing", routers[i]}, {"a.trace.rate", rates[k]}};
                const struct fixture_run run = {.name = "study", .status = "done", .requests = true, .no_rows = true,
                                                .seed = seed, .scale = (i + 1) * (k + 1) * (1 + 0.01 * seed),
                                                .n_params = 2, .params = params};
                CHECK_EQ_INT(fixture_write_run(path, &run, &diag), 0);
            }
    check_no_errors(&diag);
}

TEST(a_study_is_described_by_its_axes)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    write_study(path);
    MUST(fixture_sql(path, "INSERT INTO study VALUES ('routers', 'Which <router>?', '{\"axes\": []}', 'abc')"));
    MUST(fixture_sql(path, "INSERT INTO outcome VALUES ('{}', 'a.trace.rate', '7/s', 3, 'holds the SLO')"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    check_no_errors(&diag);
    CHECK(fixture_check_page(path, &html) >= 12);
    static const char *const expected[] = {
        "<h1>Which &lt;router&gt;?</h1>",
        "12 runs of 6 points, 2 seeds each, all done.",
        "The best TTFT p99 is 402 ms with routing=jsq, rate=1/s, the worst 2.41 s with routing=rr, rate=10/s.",
        "In 3 comparisons with all else equal, TTFT p99 is best with routing=jsq in 3, clearly in 3",
        "at 95 % for all comparisons together",
        "1 of 6 points are on the Pareto front of TTFT p99 and output tokens per second.",
        "holds the SLO",
        "7/s",
        "\xc2\xb1"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!CHECK(fixture_has(&html, expected[i]))) printf("missing: %s\n", expected[i]);
    text_fini(&html);
    CHECK_EQ_INT(fixture_report(path, 4, &html, &diag), 0);
    CHECK(fixture_has(&html, "Run 4 of the 12 in the file"));
}

/* The page of a search opens with what it found, that of a Pareto study with the front. */
TEST(the_answer_comes_first)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    write_study(path);
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "<p class=\"answer\">Best routing by TTFT p99: jsq, in 3 of 3 comparisons"));
    text_fini(&html);
    MUST(fixture_sql(path,
                     "INSERT INTO study VALUES ('s', 'q', '{\"search\": {\"largest\": \"a.trace.rate\", \"where\":"
                     " [{\"metric\": \"request.ttft_s.p99\", \"at_most\": \"1s\"}]}}', 'h')"));
    MUST(fixture_sql(path,
                     "INSERT INTO outcome VALUES ('{\"a.routing\": \"rr\"}', 'a.trace.rate', '3.14159265/s', 3, ''),"
                     " ('{\"a.routing\": \"jsq\"}', 'a.trace.rate', NULL, NULL, 'even 1/s is too much')"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    check_no_errors(&diag);
    CHECK(fixture_has(
        &html, "<p class=\"answer\">Largest rate with TTFT p99 at most 1s: 3.142/s with routing=rr; none (even 1/s "
               "is too much) with routing=jsq.</p>"));
    fixture_check_page(path, &html);
    text_fini(&html);
    MUST(fixture_sql(
        path, "DELETE FROM outcome; INSERT INTO outcome VALUES ('{\"a.routing\": \"rr\"}', 'pareto', '{}', 3, '')"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "<p class=\"answer\">No other configuration beats these: routing=rr.</p>"));
}

/* The metrics that a study shows are means over the seeds of what was found, and what does not fit is no failure. */
TEST(the_answer_has_what_the_study_shows)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    write_study(path);
    MUST(fixture_sql(
        path,
        "INSERT INTO study VALUES ('s', 'q', '{\"seeds\": [1, 2], \"pareto\": [\"job.finished\"], \"where\":"
        " [{\"metric\": \"request.finished\", \"at_least\": 9}], \"show\": [\"request.ttft_s.p99\"]}', 'h');"
        "UPDATE metric SET value = 1.5 + run_id - 3 WHERE name = 'request.ttft_s.p99' AND run_id IN (3, 4);"
        "INSERT INTO outcome VALUES ('{\"a.routing\": \"jsq\", \"a.trace.rate\": \"2/s\"}', 'pareto', '{}', 3, '');"
        "UPDATE run SET status = 'unfit' WHERE id > 10; DELETE FROM metric WHERE run_id > 10;"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    check_no_errors(&diag);
    static const char *const expected[] = {
        "<p class=\"answer\">No other configuration with request.finished at least 9 beats these in job.finished: "
        "routing=jsq, rate=2/s (TTFT p99 2 s).</p>",
        "12 runs of 6 points, 2 seeds each; 2 do not fit. ", "<td class=\"n\">does not fit</td>"};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!CHECK(fixture_has(&html, expected[i]))) printf("missing: %s\n", expected[i]);
    CHECK(!fixture_has(&html, "did not finish"));
    fixture_check_page(path, &html);
    text_fini(&html);
    MUST(fixture_sql(path, "DELETE FROM outcome"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "<p class=\"answer\">No configuration was found with request.finished at least 9.</p>"));
}

/* Of the values null and a section, null is best: the sentence does not read as "no failures" being so or not. */
TEST(an_axis_with_null_has_a_value_none)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    write_study(path);
    MUST(fixture_sql(path,
                     "UPDATE param SET key = 'failures', value = CASE value WHEN 'jsq' THEN 'null' ELSE '{\"a\": 1}'"
                     " END WHERE key = 'a.routing'"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "<p class=\"answer\">Best failures by TTFT p99: &#39;none&#39; (null), in 3 of 3"));
    text_fini(&html);
    MUST(fixture_sql(path, "UPDATE metric SET value = value * (1 + run_id % 2) WHERE name = 'request.ttft_s.p99'"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "No value of &#39;failures&#39; is clearly best by TTFT p99; &#39;none&#39; (null) wins"));
    text_fini(&html);
    MUST(fixture_sql(path, "UPDATE metric SET value = 1 + 0.1 * (run_id % 2) WHERE name = 'request.ttft_s.p99'"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "No value of &#39;failures&#39; is best alone by TTFT p99."));
}

TEST(what_differs_by_chance_only_is_not_clear)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    write_study(path);
    MUST(fixture_sql(path, "UPDATE metric SET value = 1 + 0.001 * (run_id * 7 % 5) WHERE name = 'request.ttft_s.p99'"));
    MUST(fixture_sql(path, "UPDATE run SET status = 'failed' WHERE id = 12"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "1 did not finish"));
    CHECK(fixture_has(&html, "1 of 12 runs did not finish"));
    CHECK(fixture_has(&html, ", clearly in 0"));
    CHECK(fixture_has(&html, "<p class=\"answer\">No value of &#39;routing&#39; is clearly best by TTFT p99"));
    fixture_check_page(path, &html);
}

/* Differences of 1.00 and 1.10 under two seeds: the t-interval at 95 % leaves out zero (1.05 against 0.635), that at
 * the level which three comparisons have together does not (1.05 against 1.91). */
TEST(many_comparisons_ask_for_more)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    write_study(path);
    MUST(fixture_sql(path,
                     "UPDATE metric SET value = CASE WHEN run_id <= 6 THEN 1 WHEN run_id % 2 = 1 THEN 2 ELSE 2.1 END"
                     " WHERE name = 'request.ttft_s.p99'"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "TTFT p99 is best with routing=jsq in 3, clearly in 0"));
    text_fini(&html);
    MUST(fixture_sql(path,
                     "UPDATE metric SET value = CASE WHEN run_id <= 6 THEN 1 WHEN run_id % 2 = 1 THEN 2 ELSE 2.05 END"
                     " WHERE name = 'request.ttft_s.p99'"));
    CHECK_EQ_INT(fixture_report(path, 0, &html, &diag), 0);
    CHECK(fixture_has(&html, "TTFT p99 is best with routing=jsq in 3, clearly in 3"));
}

TEST(groups_are_judged_as_compare_does)
{
    const char *path = fresh_path();
    SCOPED(text) html = {0};
    struct diag diag = {0};
    write_study(path);
    CHECK_EQ_INT(fixture_versus(path, "routing=rr", "routing=jsq", &html, &diag), 0);
    check_no_errors(&diag);
    CHECK(fixture_has(&html, "routing=jsq against routing=rr: 4 better, "));
    CHECK(fixture_has(&html, "<strong>better</strong>"));
    fixture_check_page(path, &html);
    text_fini(&html);
    CHECK_EQ_INT(fixture_versus(path, "routing=rr", "routing=jsp", &html, &diag), SIM_E_USAGE);
}
