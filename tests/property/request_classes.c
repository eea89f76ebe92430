/* Classes of requests: what is counted of all of them adds up to what is counted of the service, naming them changes
 * nothing else, each is held to its own limits, and policies see them. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

#define CLUSTER "'cluster': {'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}"
#define CHAT "'llm': 'llama-2-7b', 'cost': 'roofline'"

static struct bed_rows *run(const char *services, const char *rest, const struct bed_options *options)
{
    return bed_run(options, "{" CLUSTER ", 'services': {%s}%s}", services, rest);
}

static double of_class(const struct bed_rows *rows, const char *metric, const char *entity)
{
    char name[64];
    snprintf(name, sizeof name, "%s[%s]", metric, entity);
    return bed_metric(rows, name);
}

/* --- Sums --- */

#define MIXED                                                                                                          \
    "'chat': {" CHAT ", 'kv': {'blocks': 900}, 'batching': 'vllm-v0', 'slo': {'ttft': '2s', 'classes': {'batch': {'e2e': '20s'}}},"           \
    " 'trace': {'format': 'generate', 'mix': 'sharegpt', 'count': 250, 'arrival': {'process': 'poisson',"              \
    " 'rate': '5/s'}, 'classes': {'interactive': {'share': 2}, 'batch': {'mix': 'arxiv-summarization',"                \
    " 'arrival': {'process': 'gamma', 'rate': '1/s', 'cv': 2}}}}}"

static const struct bed_options checked = {.check = true}, stepped = {.single_step = true, .queue = QUEUE_HEAP};

/* With requests that are rejected, preempted, and in the system at the end; over several seeds. */
TEST(classes_add_up_to_their_service)
{
    static const char *const sums[] = {
        "request.arrived",           "request.finished",          "request.rejected",       "request.unfinished",
        "request.prompt_tokens.sum", "request.output_tokens.sum", "request.preemptions.sum"};
    static const char *const rates[] = {"service.requests_per_s", "service.output_tokens_per_s",
                                        "slo.goodput_requests_per_s", "slo.goodput_tokens_per_s"};
    double n_unfinished = 0, n_rejected = 0, n_preempted = 0;
    for (int seed = 1; seed <= 4; seed++) {
        char rest[96];
        snprintf(rest, sizeof rest, ", 'warmup': '2s', 'until': '40s', 'seed': %d", seed);
        struct bed_rows *rows = run(MIXED, rest, &checked);
        CHECK_EQ_INT(rows->code, 0);
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
            CHECK(of_class(rows, sums[i], "chat/interactive") + of_class(rows, sums[i], "chat/batch") ==
                  bed_metric(rows, sums[i]));
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
            const double whole = bed_metric(rows, rates[i]);
            CHECK(whole > 0);
            CHECK_NEAR(of_class(rows, rates[i], "chat/interactive") + of_class(rows, rates[i], "chat/batch"), whole,
                       1e-12 * whole);
        }
        n_unfinished += of_class(rows, "request.unfinished", "chat/interactive");
        n_rejected += of_class(rows, "request.rejected", "chat/batch");
        n_preempted += bed_metric(rows, "request.preemptions.sum");
        struct bed_rows *single = run(MIXED, rest, &stepped);
        CHECK(bed_equal(rows, single));
    }
    CHECK(n_unfinished > 0 && n_rejected > 0 && n_preempted > 0);
}

/* Means weigh by requests, extremes are those of one of the classes. */
TEST(distributions_agree_with_those_of_all)
{
    struct bed_rows *rows = run(MIXED, "", &checked);
    const double n_first = of_class(rows, "request.finished", "chat/interactive");
    const double n_second = of_class(rows, "request.finished", "chat/batch");
    const double first = of_class(rows, "request.ttft_s.mean", "chat/interactive");
    const double second = of_class(rows, "request.ttft_s.mean", "chat/batch");
    CHECK_NEAR((n_first * first + n_second * second) / (n_first + n_second), bed_metric(rows, "request.ttft_s.mean"),
               1e-12);
    CHECK(fmax(of_class(rows, "request.e2e_s.max", "chat/interactive"),
               of_class(rows, "request.e2e_s.max", "chat/batch")) == bed_metric(rows, "request.e2e_s.max"));
}

/* --- Naming classes changes nothing else --- */

#define ROWS 120

static const char *write_trace(bool classes)
{
    static char text[ROWS * 64];
    int length = snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens%s\n", classes ? ",class" : "");
    for (int i = 0; i < ROWS; i++) {
        const char *class = i % 7 == 0 ? ",batch" : i % 5 == 0 ? "," : ",interactive";
        length += snprintf(text + length, sizeof text - (size_t)length, "%.2f,%d,%d%s\n", 0.05 * i, 10 + i * 37 % 900,
                           1 + i * 23 % 150, classes ? class : "");
    }
    return trace_source_file("classes.csv", text);
}

static struct bed_rows *run_trace(bool classes, const char *slo)
{
    char service[1024];
    snprintf(service, sizeof service, "'chat': {" CHAT ", 'replicas': 2, %s 'trace': {'format': 'csv', 'path': '%s'}}",
             slo, write_trace(classes));
    return run(service, "", &checked);
}

TEST(naming_classes_changes_nothing_else)
{
    struct bed_rows *without = run_trace(false, "'slo': {'ttft': '100ms'},");
    struct bed_rows *with = run_trace(true, "'slo': {'ttft': '100ms'},");
    CHECK_EQ_INT(with->n_requests, ROWS);
    MUST(without->n_requests == with->n_requests);
    for (size_t i = 0; i < with->n_requests; i++) {
        struct request_row *row = &with->requests[i];
        const int64_t id = row->id;
        CHECK_EQ_STR(row->class, id % 7 == 0 ? "batch" : id % 5 == 0 ? "default" : "interactive");
        row->class = without->requests[i].class;
        CHECK_EQ_STR(row->class, "");
        CHECK(memcmp(row, &without->requests[i], sizeof *row) == 0);
    }
    size_t n_of_classes = 0;
    for (size_t i = 0; i < with->n_metrics; i++) {
        const char *name = with->metrics[i].name;
        n_of_classes += strchr(name, '[') != NULL;
        if (strchr(name, '[') == NULL) CHECK(with->metrics[i].value == bed_metric(without, name));
    }
    CHECK_EQ_INT(with->n_metrics - n_of_classes, without->n_metrics);
    CHECK_EQ_STR(with->others, without->others);
}

/* --- Limits --- */

/* Attainment by the rows, where a limit of 0 is none. */
static double attained(const struct bed_rows *rows, const char *class, double ttft_s, double e2e_s)
{
    int n = 0, n_attained = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        if (strcmp(row->class, class) != 0) continue;
        n++;
        n_attained += (ttft_s == 0 || row->ttft_s <= ttft_s) && (e2e_s == 0 || row->e2e_s <= e2e_s);
    }
    return (double)n_attained / n;
}

TEST(each_class_has_its_own_limits)
{
    struct bed_rows *rows = run_trace(
        true, "'slo': {'ttft': '60ms', 'classes': {'batch': {'ttft': '20ms'}, 'interactive': {'e2e': '1.2s'}}},");
    CHECK(of_class(rows, "slo.attained_frac", "chat/batch") == attained(rows, "batch", 0.02, 0));
    CHECK(of_class(rows, "slo.attained_frac", "chat/interactive") == attained(rows, "interactive", 0.06, 1.2));
    CHECK(of_class(rows, "slo.attained_frac", "chat/default") == attained(rows, "default", 0.06, 0));
    CHECK(isnan(of_class(rows, "slo.e2e_kept_frac", "chat/batch")));
    CHECK(attained(rows, "interactive", 0.06, 1.2) < attained(rows, "interactive", 0.06, 0));
    const double whole = bed_metric(rows, "slo.attained_frac");
    CHECK(whole > 0 && whole < 1);
    static const char *const classes[] = {"batch", "interactive", "default"};
    double kept = 0, n = 0;
    for (int i = 0; i < 3; i++) {
        char entity[32];
        snprintf(entity, sizeof entity, "chat/%s", classes[i]);
        const double finished = of_class(rows, "request.finished", entity);
        kept += finished * attained(rows, classes[i], i == 0 ? 0.02 : 0.06, 0);
        n += finished;
    }
    CHECK_NEAR(bed_metric(rows, "slo.ttft_kept_frac"), kept / n, 1e-12);
}

/* Without limits for all, classes without any are not counted. */
TEST(a_class_without_limits_has_no_slo)
{
    struct bed_rows *rows = run_trace(true, "'slo': {'classes': {'batch': {'ttft': '20ms'}}},");
    CHECK(isnan(of_class(rows, "slo.attained_frac", "chat/interactive")));
    CHECK(bed_metric(rows, "slo.attained_frac") == of_class(rows, "slo.attained_frac", "chat/batch"));
}

TEST(limits_of_a_class_that_never_comes_are_warned_of)
{
    struct bed_rows *known = run_trace(true, "'slo': {'classes': {'batch': {'ttft': '1s'}}},");
    struct bed_rows *absent = run_trace(true, "'slo': {'classes': {'bacth': {'ttft': '1s'}}},");
    CHECK_EQ_INT(absent->n_warnings, known->n_warnings + 1);
    CHECK_EQ_INT(of_class(absent, "request.arrived", "chat/bacth"), 0);
}

TEST(too_many_classes_are_an_error)
{
    char text[64 + 300 * 24], service[512];
    int length = snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens,class\n");
    for (int i = 0; i < 300; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%d,8,1,user%d\n", i, i);
    snprintf(service, sizeof service, "'chat': {" CHAT ", 'trace': {'format': 'csv', 'path': '%s'}}",
             trace_source_file("users.csv", text));
    struct bed_rows *rows = run(service, ", 'until': '255s'", &(struct bed_options){.quiet = true, .no_rows = true});
    CHECK_EQ_INT(rows->code, 0);
    CHECK_EQ_INT(of_class(rows, "request.arrived", "chat/user255"), 1);
    rows = run(service, "", &(struct bed_options){.quiet = true, .no_rows = true});
    CHECK_EQ_INT(rows->code, SIM_E_DATA);
    MUST(rows->diag.n_items > 0);
    CHECK_EQ_STR(rows->diag.items[0].text,
                 "service 'chat' has more than 256 classes of requests; the next one is 'user256'");
}

/* --- Views --- */

static int by_class(void *state, const struct fleet_view *view, const struct request_view *request)
{
    (void)state;
    (void)view;
    return request->request_class->index;
}

static const struct router class_router = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct router),
                                                      .family = POLICY_ROUTING, .name = "by-class", .summary = "",
                                                      .source = ""},
                                           .route = by_class};

/* Those that the SLO names first, then as they come: the first request is of class batch. */
TEST(policies_see_the_class)
{
    char service[1024];
    snprintf(service, sizeof service,
             "'chat': {" CHAT
             ", 'replicas': 3, 'routing': 'by-class', 'slo': {'classes': {'interactive': {'ttft': '1s'}}},"
             "'trace': {'format': 'csv', 'path': '%s'}}",
             write_trace(true));
    struct bed_rows *rows = run(service, "", &(struct bed_options){.policy = &class_router.policy, .check = true});
    CHECK_EQ_INT(rows->code, 0);
    for (size_t i = 0; i < rows->n_requests; i++) {
        const char *class = rows->requests[i].class;
        CHECK_EQ_INT(rows->requests[i].replica, strcmp(class, "interactive") == 0 ? 0
                                                : strcmp(class, "batch") == 0     ? 1
                                                                                  : 2);
    }
}

/* Two services with limits: each has its own shares, and those of the whole are their means, weighted by requests. */
TEST(each_service_attains_its_own_part)
{
    const struct bed_rows *rows = bed_ok(
        NULL, "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 1}, 'services': {"
              " 'a': {'llm': 'llama-2-7b', 'slo': {'ttft': '60ms'}, 'trace': {'format': 'generate', 'count': 30,"
              "       'arrival': {'process': 'poisson', 'rate': '9/s'}}},"
              " 'b': {'llm': 'llama-2-7b', 'slo': {'ttft': '90ms'}, 'trace': {'format': 'generate', 'count': 90,"
              "       'arrival': {'process': 'poisson', 'rate': '9/s'}}}}}");
    const double a = bed_metric(rows, "slo.attained_frac[a]"), b = bed_metric(rows, "slo.attained_frac[b]");
    CHECK(a > 0 && a < 1 && b > 0 && b < 1 && a != b);
    CHECK_NEAR(bed_metric(rows, "slo.attained_frac"), (30 * a + 90 * b) / 120, 1e-12);
}
