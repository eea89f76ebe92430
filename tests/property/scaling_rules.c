/* Rules of replicas that come and go, as sequences of decisions and closed forms: what an autoscaler sees, which
 * replicas stop and come back first, what counts as missing, as failed and as held. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#define PROMPTS_OF_1_S                                                                                                 \
    "'batching': {'policy': 'vllm-v0', 'max_sequences': 1}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '1s'},"   \
    " 'decode': {'fixed': '1s'}}"
#define ARRIVALS(rest, output)                                                                                         \
    "'trace': {'format': 'generate', " rest ", 'prompt': {'distribution': 'fixed', 'tokens': 100}, 'output':"          \
    " {'distribution': 'fixed', 'tokens': " #output "}}"

/* %: the rest of the service; on a cluster of one node with 4 GPUs, or as `cluster` says. */
__attribute__((format(printf, 3, 4))) static struct bed_rows *run(const struct bed_options *options,
                                                                  const char *cluster, const char *format, ...)
{
    char service[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(service, sizeof service, format, arguments);
    va_end(arguments);
    return bed_ok(options,
                  "{'cluster': {'gpu': 'a100-80-sxm', %s, 'keep': 'decisions', 'services': {'chat': {'llm':"
                  " 'mistral-7b', 'kv': {'blocks': 400}, %s}}}",
                  cluster != NULL ? cluster : "'nodes': 1, 'gpus_per_node': 4}", service);
}

/* The steps of replicas in their order, "start 1, up 1, "; `from_s`: the first moment of interest. */
static char *steps_of(const struct bed_rows *rows, double from_s, struct text *text)
{
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *decision = &rows->decisions[i];
        int replica;
        if (decision->subject >= 0 || decision->t_s < from_s) continue;
        if (sscanf(decision->reason, "replica %d:", &replica) != 1) replica = -1;
        text_printf(text, "%s%s %d at %.0f", text->length > 0 ? ", " : "", decision->action, replica, decision->t_s);
    }
    if (text->length == 0) text_add(text, "");
    return text->chars;
}

/* --- What an autoscaler sees --- */

enum { SEEN = 8, INTERVAL_S = 5 };

static struct autoscaling_view seen[SEEN];

/* One replica, two from the second decision, one from the fourth, two from the sixth. */
static int record_decide(void *state, const struct autoscaling_view *view, struct autoscaling_plan *plan)
{
    static const int wanted[SEEN] = {1, 2, 2, 1, 1, 2, 2, 2};
    const sim_ns i = view->now_ns / view->interval_ns;
    (void)state;
    plan->replicas = i < SEEN ? wanted[i] : 2;
    if (i < SEEN) seen[i] = *view;
    return 0;
}

static const struct autoscaler record = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct autoscaler),
                                                    .family = POLICY_AUTOSCALING, .name = "record", .summary = "",
                                                    .source = ""},
                                         .decide = record_decide};

/* Seconds from `a_s` to `b_s` in which the replica computes: each request keeps it for its last second. */
static double busy_s(const struct bed_rows *rows, int replica, double a_s, double b_s)
{
    double sum_s = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        const double end_s = row->arrival_s + row->e2e_s;
        if (row->replica == replica) sum_s += fmax(0, fmin(end_s, b_s) - fmax(end_s - 1, a_s));
    }
    return sum_s;
}

/* The computing share is over the time since the previous decision, or since the replica came up: at 8 s, and anew at
 * 28 s with another life's computing behind it. Requests are counted once, by the first decision after them. */
TEST(the_view_begins_when_a_replica_comes_up)
{
    struct bed_rows *rows = run(BED(.check = true, .policy = &record.policy), NULL,
                                "'routing': 'round-robin', 'scaling': {'policy': 'record', 'min': 1, 'max': 2,"
                                " 'interval': '5s', 'start_delay': '3s'}, " PROMPTS_OF_1_S
                                ", " ARRIVALS("'count': 90, 'arrival': {'process': 'fixed', 'rate': '2.3/s'}", 1));
    for (int i = 1; i < SEEN; i++) {
        const double now_s = i * INTERVAL_S, before_s = now_s - INTERVAL_S;
        const double up_s = i == 2 ? 8 : i == 3 ? before_s : i == 6 ? 28 : i == 7 ? before_s : now_s;
        const double busy = busy_s(rows, 0, before_s, now_s) + busy_s(rows, 1, up_s, now_s);
        int64_t arrived = 0;
        for (size_t k = 0; k < rows->n_requests; k++)
            arrived += rows->requests[k].arrival_s > before_s - (i == 1) && rows->requests[k].arrival_s <= now_s;
        CHECK_NEAR(seen[i].busy_frac, busy / (now_s - before_s + now_s - up_s), 1e-6);
        CHECK_EQ_INT(seen[i].arrived + (i == 1 ? seen[0].arrived : 0), arrived);
        CHECK_EQ_INT(seen[i].up, up_s < now_s ? 2 : 1);
    }
}

/* --- Who starts, stops and comes back --- */

/* Three busy replicas, then five of which two still load. Those that load stop first, then those that are up, the
 * highest numbers first. Those that drain come back in the order of their numbers, and one stays at the end. */
TEST(the_highest_stop_first_and_the_lowest_come_back_first)
{
    SCOPED(text) text = {0};
    struct bed_rows *rows = run(
        BED(.check = true), "'nodes': 1, 'gpus_per_node': 8}",
        "'replicas': 3, 'routing': 'round-robin', 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s',"
        " 'replicas': 3}, {'at': '10s', 'replicas': 5}, {'at': '20s', 'replicas': 4}, {'at': '30s', 'replicas': 1},"
        " {'at': '40s', 'replicas': 2}, {'at': '50s', 'replicas': 3}]}, 'min': 1, 'max': 5, 'interval': '10s',"
        " 'start_delay': '100s'}, " PROMPTS_OF_1_S
        ", " ARRIVALS("'count': 3, 'arrival': {'process': 'fixed', 'rate': '10/s'}", 58));
    CHECK_EQ_STR(steps_of(rows, 0, &text),
                 "start 3 at 10, start 4 at 10, stop 4 at 20, stop 3 at 30, drain 2 at 30, drain 1 at 30,"
                 " keep 1 at 40, keep 2 at 50, drain 2 at 58, stop 2 at 58, drain 1 at 58, stop 1 at 58");
    CHECK(bed_metric(rows, "scaling.starts.sum") == 2);
    CHECK(bed_metric(rows, "scaling.drains.sum") == 4);
}

/* At time 0 the weights are there, however long they load later. */
TEST(at_time_0_replicas_are_up_at_once)
{
    SCOPED(text) text = {0};
    struct bed_rows *rows = run(BED(.check = true), NULL,
                                "'replicas': 1, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s',"
                                " 'replicas': 3}]}, 'min': 1, 'max': 3, 'interval': '10s', 'start_delay': '50s'}, " PROMPTS_OF_1_S
                                ", " ARRIVALS("'count': 9, 'arrival': {'process': 'fixed', 'rate': '1/s'}", 1));
    CHECK_EQ_STR(steps_of(rows, 0, &text), "start 1 at 0, up 1 at 0, start 2 at 0, up 2 at 0, drain 2 at 9, stop 2 at 9,"
                                           " drain 1 at 9, stop 1 at 9");
    CHECK_NEAR(bed_metric(rows, "scaling.gpu_s.sum"), 3 * rows->end_s, 1e-9);
    CHECK_NEAR(bed_metric(rows, "scaling.replicas.mean"), 3, 1e-12);
}

/* After a warm-up of 20 s, at $3.6 per GPU and hour: one replica from then on, the other until 30 s and from 50 to
 * 70 s. Prompts of 1 s, of one token each, are what the money buys. */
TEST(tenures_after_the_warm_up_add_up)
{
    static const char *const sets[] = {"warmup=20s", NULL};
    struct bed_rows *rows = run(BED(.check = true, .sets = sets),
                                "'nodes': 1, 'gpus_per_node': 4, 'gpu_price': '$3.6/h'}",
                                "'replicas': 2, 'routing': 'round-robin', 'scaling': {'policy': {'policy': 'schedule', 'steps':"
                                " [{'at': '0s', 'replicas': 2}, {'at': '30s', 'replicas': 1}, {'at': '50s', 'replicas': 2},"
                                " {'at': '70s', 'replicas': 1}]}, 'min': 1, 'max': 2, 'interval': '10s', 'start_delay': '0s'}, " PROMPTS_OF_1_S
                                ", " ARRIVALS("'count': 91, 'arrival': {'process': 'fixed', 'rate': '0.999/s'}", 1));
    double late_s = rows->end_s - 20, since_s = 0;
    for (size_t i = 0; i < rows->n_decisions; i++) {
        const struct bed_decision *decision = &rows->decisions[i];
        if (strcmp(decision->action, "start") == 0) since_s = decision->t_s;
        if (strcmp(decision->action, "stop") == 0) late_s += decision->t_s - fmax(20, since_s);
    }
    CHECK_NEAR(late_s, rows->end_s - 20 + 10 + 20, 2);
    int n_tokens = 0;
    for (size_t i = 0; i < rows->n_requests; i++)
        n_tokens += rows->requests[i].arrival_s + rows->requests[i].e2e_s > 20;
    CHECK_NEAR(bed_metric(rows, "cost.output_tokens_per_usd"), n_tokens / (late_s * 0.001), 1e-6);
}

/* --- GPUs that there are not --- */

/* Two of four find no GPUs from 5 to 15 s, and again from 25 s on. Each time it is said once, though the autoscaler
 * asks every second. */
TEST(each_lack_of_gpus_is_told_once)
{
    SCOPED(text) text = {0};
    struct bed_rows *rows = run(BED(.check = true), "'nodes': 1, 'gpus_per_node': 2}",
                                "'replicas': 2, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s',"
                                " 'replicas': 2}, {'at': '5s', 'replicas': 4}, {'at': '15s', 'replicas': 2}, {'at': '25s',"
                                " 'replicas': 4}]}, 'min': 2, 'max': 4, 'interval': '1s'}, " PROMPTS_OF_1_S
                                ", " ARRIVALS("'count': 31, 'arrival': {'process': 'fixed', 'rate': '1/s'}", 1));
    CHECK_EQ_STR(steps_of(rows, 0, &text), "wait -1 at 5, wait -1 at 25");
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum"), 2 * 10 + 2 * (rows->end_s - 25), 1e-6);
}

/* Four jobs of one GPU each make room for a replica of four: all are counted. */
TEST(every_job_that_yields_is_counted)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 1, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm'}, 'services': {'chat': {'llm': 'mistral-7b',"
        " 'tensor_parallel': 4, 'kv': {'blocks': 400}, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at':"
        " '0s', 'replicas': 0}, {'at': '10s', 'replicas': 1}, {'at': '20s', 'replicas': 0}]}, 'min': 0, 'max': 1,"
        " 'interval': '10s'}, " PROMPTS_OF_1_S ", " ARRIVALS(
            "'count': 2, 'arrival': {'process': 'fixed', 'rate': '0.05/s'}",
            1) "}}, 'jobs': {'preemptible':"
               " true, 'scheduler': 'fifo', 'trace': {'format': 'inline-jobs', 'jobs': [{'submit': '1s', 'duration': '30s'},"
               " {'submit': '1s', 'duration': '30s'}, {'submit': '1s', 'duration': '30s'}, {'submit': '1s', 'duration':"
               " '30s'}]}}}");
    double preemptions = 0;
    for (size_t i = 0; i < rows->n_jobs; i++) preemptions += (double)rows->jobs[i].preemptions;
    CHECK_EQ_INT(rows->n_jobs, 4);
    CHECK(preemptions == 4);
    CHECK(bed_metric(rows, "scaling.yielded_jobs.sum") == preemptions);
}

/* --- Pools --- */

/* Each pool lacks one replica from the start: the one that processes prompts until it wants fewer, the one that
 * decodes until its own next decision, when that GPU has long been free. The service lacks what its pools lack. */
TEST(a_service_lacks_what_its_pools_lack)
{
    SCOPED(text) text = {0};
    struct bed_rows *rows = run(
        BED(.check = true), "'nodes': 1, 'gpus_per_node': 4, 'network': {'bandwidth': '25GB/s'}}",
        "'pools': {'p': {'role': 'prefill', 'replicas': 3, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at':"
        " '0s', 'replicas': 4}, {'at': '50s', 'replicas': 2}]}, 'min': 2, 'max': 4, 'interval': '10s', 'start_delay':"
        " '1s'}}, 'd': {'role': 'decode', 'replicas': 1, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at':"
        " '0s', 'replicas': 2}]}, 'min': 1, 'max': 2, 'interval': '80s', 'start_delay': '1s'}}}, " PROMPTS_OF_1_S
        ", " ARRIVALS("'count': 101, 'arrival': {'process': 'fixed', 'rate': '1/s'}", 1));
    CHECK_EQ_STR(steps_of(rows, 0, &text),
                 "wait -1 at 0, drain 2 at 50, stop 2 at 51, start 5 at 80, up 5 at 81, drain 5"
                 " at 101, stop 5 at 101");
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum[chat/p]"), 50, 1e-6);
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum[chat/d]"), 80, 1e-6);
    CHECK_NEAR(bed_metric(rows, "scaling.missing_replica_s.sum"), 130, 1e-6);
}

/* Both pools want three replicas at 10 s, have their min, and find two GPUs: the pool that comes first takes them. */
TEST(beyond_their_min_pools_go_in_order)
{
    static const char pool[] =
        "'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 1}, {'at':"
        " '10s', 'replicas': 3}]}, 'min': 1, 'max': 3, 'interval': '10s', 'start_delay': '2s'}}";
    SCOPED(text) text = {0};
    struct bed_rows *rows = run(
        BED(.check = true), "'nodes': 1, 'gpus_per_node': 4, 'network': {'bandwidth': '25GB/s'}}",
        "'pools': {'p': {'role': 'prefill', %s, 'd': {'role': 'decode', %s}, " PROMPTS_OF_1_S
        ", " ARRIVALS("'count': 16, 'arrival': {'process': 'fixed', 'rate': '1/s'}", 1), pool, pool);
    const char *steps = steps_of(rows, 0, &text);
    static const char expected[] = "start 1 at 10, start 2 at 10, wait -1 at 10, up 1 at 12, up 2 at 12, ";
    if (!CHECK(strncmp(steps, expected, strlen(expected)) == 0)) printf("\n  %s", steps);
}

/* A replica of two attention groups that starts at 5 s sends KV over the links of its own GPUs, as the first one does:
 * requests, one at a time to either of them, all take the same time. */
TEST(groups_of_a_started_replica_send_like_the_first)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 3, 'gpus_per_node': 4, 'gpu': 'h100-sxm', 'network': {'bandwidth': '1GB/s'}}, 'services':"
        " {'chat': {'llm': 'mixtral-8x7b', 'routing': 'round-robin', 'pools': {'p': {'role': 'prefill', 'tensor_parallel': 4,"
        " 'data_parallel': 2, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 1}, {'at':"
        " '5s', 'replicas': 2}]}, 'min': 1, 'max': 2, 'interval': '5s', 'start_delay': '0s'}}, 'd': {'role': 'decode',"
        " 'tensor_parallel': 4}}, " ARRIVALS("'count': 20, 'arrival': {'process': 'fixed', 'rate': '1/s'}", 2) "}}}");
    for (size_t i = 1; i < rows->n_requests; i++) CHECK_NEAR(rows->requests[i].e2e_s, rows->requests[0].e2e_s, 1e-8);
    CHECK(rows->requests[0].e2e_s < 1 && bed_metric(rows, "scaling.starts.sum") == 1);
}

/* --- Failures --- */

/* Both nodes fail at 100 s, and a spare one is there at 105 s. A single replica is wanted from 110 s on, which is up
 * at 115 s: until 110 s failures keep two from being up, then one. */
TEST(a_replica_that_is_wanted_no_more_is_not_down)
{
    struct bed_rows *rows = run(
        BED(.check = true),
        "'nodes': 3, 'gpus_per_node': 1}, 'failures': {'spare_nodes': 1, 'spare_delay': '5s', 'causes': {'feed': {'scope':"
        " 'site', 'lifetime': {'law': 'constant', 'mean': '100s'}, 'repair': {'law': 'constant', 'mean': '2000s'}}}}",
        "'replicas': 2, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 2}, {'at':"
        " '110s', 'replicas': 1}]}, 'min': 1, 'max': 2, 'interval': '10s', 'start_delay': '10s'}, " PROMPTS_OF_1_S
        ", " ARRIVALS("'count': 71, 'arrival': {'process': 'fixed', 'rate': '0.5/s'}", 1));
    SCOPED(text) text = {0};
    CHECK_EQ_STR(steps_of(rows, 99, &text),
                 "fail 0 at 100, fail 1 at 100, wait -1 at 100, start 0 at 105, up 0 at 115");
    for (size_t i = 0; i < rows->n_decisions; i++)
        if (strcmp(rows->decisions[i].action, "start") == 0)
            CHECK_EQ_STR(rows->decisions[i].reason, "replica 0: a failure took one");
    CHECK_NEAR(bed_metric(rows, "failure.replica_down_s"), 2 * 10 + 5, 1e-6);
    CHECK_NEAR(bed_metric(rows, "failure.service_down_s"), 15, 1e-6);
}

/* Of two nodes that failed at 100 s, the spare one keeps a replica up. A second one is wanted at 150 s, and starts
 * when a node returns at 170 s, between two decisions: no failure took it. */
TEST(a_wanted_replica_takes_the_node_that_returns)
{
    SCOPED(text) text = {0};
    struct bed_rows *rows = run(
        BED(.check = true),
        "'nodes': 3, 'gpus_per_node': 1}, 'failures': {'spare_nodes': 1, 'spare_delay': '5s', 'causes': {'feed': {'scope':"
        " 'site', 'lifetime': {'law': 'constant', 'mean': '100s'}, 'repair': {'law': 'constant', 'mean': '70s'}}}}",
        "'replicas': 1, 'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 1}, {'at':"
        " '150s', 'replicas': 2}]}, 'min': 1, 'max': 2, 'interval': '50s', 'start_delay': '0s'}, " PROMPTS_OF_1_S
        ", " ARRIVALS("'count': 91, 'arrival': {'process': 'fixed', 'rate': '0.5/s'}", 1));
    CHECK_EQ_STR(steps_of(rows, 149, &text),
                 "wait -1 at 150, start 1 at 170, up 1 at 170, drain 1 at 181, stop 1 at 181");
    for (size_t i = 0; i < rows->n_decisions; i++)
        if (strcmp(rows->decisions[i].action, "start") == 0 && rows->decisions[i].t_s > 149)
            CHECK_EQ_STR(rows->decisions[i].reason, "replica 1: GPUs have come");
}

/* Both pools fail at 100 s, and have a spare node each at 105 s. Prompts are processed from 106 s on, and wait for the
 * pool that decodes, which is up at 115 s: their KV leaves a nanosecond later, and one step ends them. */
TEST(processed_prompts_leave_when_a_replica_that_decodes_is_up)
{
    struct bed_rows *rows = run(
        BED(.check = true),
        "'nodes': 4, 'gpus_per_node': 1, 'network': {'bandwidth': '25GB/s'}}, 'failures': {'spare_nodes': 2, 'spare_delay':"
        " '5s', 'causes': {'feed': {'scope': 'site', 'lifetime': {'law': 'constant', 'mean': '100s'}, 'repair': {'law':"
        " 'constant', 'mean': '2000s'}}}}",
        "'pools': {'p': {'role': 'prefill', 'scaling': {'policy': 'schedule', 'max': 1, 'interval': '10s', 'start_delay':"
        " '1s'}}, 'd': {'role': 'decode', 'scaling': {'policy': 'schedule', 'max': 1, 'interval': '10s', 'start_delay':"
        " '10s'}}}, 'cost': {'kind': 'affine', 'prefill': {'fixed': '100ms'}, 'decode': {'fixed': '10ms'}}, " ARRIVALS(
            "'count': 60, 'arrival': {'process': 'fixed', 'rate': '0.499/s'}", 2));
    int n = 0;
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = &rows->requests[i];
        CHECK_EQ_STR(row->status, "finished");
        if (row->arrival_s < 100 || row->arrival_s > 114.8) continue;
        CHECK_NEAR(row->arrival_s + row->e2e_s, 115.01, 0.009);
        CHECK(row->arrival_s + row->ttft_s < 115);
        n++;
    }
    CHECK(n >= 7);
}

/* --- Requests --- */

/* Two requests, and 20,000 decisions between them: a service without requests does not stall. */
TEST(a_lull_is_no_stall)
{
    struct bed_rows *rows = run(BED(.stall_events = 2000), NULL,
                                "'scaling': {'policy': 'schedule', 'min': 1, 'max': 1, 'interval': '1ms'}, " PROMPTS_OF_1_S
                                ", " ARRIVALS("'count': 2, 'arrival': {'process': 'fixed', 'rate': '0.05/s'}", 1));
    CHECK_EQ_INT(rows->n_requests, 2);
}

/* The first request finds the replica of the start. One is up again at 3 s, and held requests are routed a nanosecond
 * later. One that comes at that very nanosecond queues behind them, and was held by no lack of a replica. */
TEST(a_request_does_not_overtake_those_held)
{
    struct bed_rows *rows = run(BED(.check = true), NULL,
                                "'scaling': {'policy': {'policy': 'schedule', 'steps': [{'at': '0s', 'replicas': 0}, {'at':"
                                " '2s', 'replicas': 1}]}, 'min': 0, 'max': 1, 'interval': '1s', 'start_delay': '1s'}, " PROMPTS_OF_1_S
                                ", " ARRIVALS(
                                    "'count': 7, 'arrival': {'process': 'fixed', 'rate': '0.999999999667/s'}", 1));
    for (size_t i = 0; i < rows->n_requests; i++) {
        const struct request_row *row = bed_request(rows, (int64_t)i), *next = bed_request(rows, (int64_t)i + 1);
        if (next != NULL) CHECK(row->arrival_s + row->e2e_s < next->arrival_s + next->e2e_s);
    }
    CHECK_NEAR(bed_request(rows, 1)->arrival_s + bed_request(rows, 1)->e2e_s, 4 + 1e-9, 1e-10);
    CHECK(bed_metric(rows, "scaling.held_requests.sum") == 2);
}
