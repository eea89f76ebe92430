/* tiresias-gittins against the plainest way to write it: every ten seconds all jobs are sorted by queue, index and age,
 * and walked. Indices are summed from the definition. And a worked case, and what may be known of the past. */
#include "policies/scheduler/sizes_file.h"
#include "tests/support/harness.h"
#include "tests/support/jobrun.h"

enum { MOST = 32, TICK_S = 10, LIMITS = 2 };

struct plain_job {
    int submit_s, run_s, gpus, executed_s, start_s, end_s, preemptions, queue;
    double index;
    bool runs;
};

struct plain {
    struct plain_job jobs[MOST];
    int n, total_gpus, limits[LIMITS], n_limits, quantum; /* 0: the best */
};

static int size_of(const struct plain_job *job)
{
    return job->run_s * job->gpus;
}

/* P(S - a <= D | S > a) / E[min(S - a, D) | S > a] */
static double index_for(const struct plain *plain, int attained, int quantum)
{
    int ends = 0, service = 0;
    for (int i = 0; i < plain->n; i++) {
        const int left = size_of(&plain->jobs[i]) - attained;
        if (left <= 0) continue;
        ends += left <= quantum;
        service += left < quantum ? left : quantum;
    }
    return ends > 0 ? (double)ends / service : 0;
}

/* At the largest size that has been attained. */
static double index_of(const struct plain *plain, int attained)
{
    int reached = 0;
    double most = 0;
    for (int i = 0; i < plain->n; i++) {
        const int size = size_of(&plain->jobs[i]);
        if (size <= attained && size > reached) reached = size;
    }
    if (plain->quantum > 0) return index_for(plain, reached, plain->quantum);
    for (int i = 0; i < plain->n; i++) {
        const int left = size_of(&plain->jobs[i]) - reached;
        const double index = left > 0 ? index_for(plain, reached, left) : 0;
        if (index > most) most = index;
    }
    return most;
}

static void rank(const struct plain *plain, struct plain_job *job)
{
    const int attained = job->executed_s * job->gpus;
    while (job->queue < plain->n_limits && attained >= plain->limits[job->queue]) job->queue++;
    job->index = index_of(plain, attained);
}

static int by_rank(const void *a, const void *b)
{
    const struct plain_job *x = *(struct plain_job *const *)a, *y = *(struct plain_job *const *)b;
    if (x->queue != y->queue) return x->queue - y->queue;
    if (x->index != y->index) return x->index < y->index ? 1 : -1;
    return (x > y) - (x < y);
}

static void walk(struct plain *plain, struct plain_job **order, int n, int now_s)
{
    int room = plain->total_gpus;
    qsort(order, (size_t)n, sizeof(struct plain_job *), by_rank);
    for (int i = 0; i < n; i++) {
        struct plain_job *job = order[i];
        const bool fits = job->gpus <= room;
        if (fits) room -= job->gpus;
        if (fits && job->start_s < 0) job->start_s = now_s;
        job->preemptions += job->runs && !fits;
        job->runs = fits;
    }
}

static void run_plain(struct plain *plain)
{
    int left = plain->n;
    for (int now_s = 0; left > 0; now_s += TICK_S) {
        struct plain_job *order[MOST];
        int n = 0;
        for (int i = 0; i < plain->n; i++) {
            struct plain_job *job = &plain->jobs[i];
            if (job->runs) job->executed_s += TICK_S;
            if (job->runs && job->executed_s == job->run_s) {
                job->runs = false;
                job->end_s = now_s;
                left--;
            }
            if (job->end_s >= 0 || job->submit_s > now_s) continue;
            rank(plain, job);
            order[n++] = job;
        }
        walk(plain, order, n, now_s);
    }
}

static int between(struct rng *rng, int low, int high)
{
    return low + (int)rng_below(rng, (uint64_t)(high - low + 1));
}

/* Run times and limits in minutes, and numbers of GPUs that divide them: all happens at ticks. */
static void draw(struct plain *plain, struct rng *rng)
{
    static const int gpus[] = {1, 2, 3, 6};
    const int gap = between(rng, 0, 20), longest = between(rng, 1, 12);
    *plain = (struct plain){.n = between(rng, 1, MOST), .total_gpus = between(rng, 1, 8)};
    plain->quantum = 60 * between(rng, 0, 20);
    plain->n_limits = between(rng, 0, LIMITS);
    for (int i = 0, limit = 0; i < plain->n_limits; i++) plain->limits[i] = limit += 60 * between(rng, 1, 20);
    for (int i = 0, submit_s = 0; i < plain->n; i++) {
        submit_s += TICK_S * between(rng, 0, gap);
        int wide = between(rng, 0, 3);
        while (gpus[wide] > plain->total_gpus) wide--;
        plain->jobs[i] = (struct plain_job){.submit_s = submit_s, .run_s = 60 * between(rng, 1, longest),
                                            .gpus = gpus[wide], .start_s = -1, .end_s = -1};
    }
}

static void run_real(struct jobrun *run, const struct plain *plain)
{
    struct job_record records[MOST];
    char json[256], limits[64] = "";
    for (int i = 0; i < plain->n_limits; i++)
        snprintf(limits + strlen(limits), sizeof limits - strlen(limits), i > 0 ? ", %d" : "%d", plain->limits[i]);
    snprintf(json, sizeof json, "{\"limits\": [%s], \"quantum\": %d}", limits, plain->quantum);
    for (int i = 0; i < plain->n; i++)
        records[i] = jobrun_record(i, plain->jobs[i].submit_s, plain->jobs[i].run_s, plain->jobs[i].gpus);
    jobrun_init(run,
                &(struct jobrun_spec){.records = records,
                                      .n = (size_t)plain->n,
                                      .cluster = {.nodes = plain->total_gpus, .gpus_per_node = 1},
                                      .scheduler = "tiresias-gittins",
                                      .scheduler_params = json},
                0);
}

TEST_SIZED(it_agrees_with_the_plain_one)
{
    int preemptions = 0;
    for (uint64_t round = 0; round < (uint64_t)test_part(400); round++) {
        struct rng rng;
        struct plain plain;
        SCOPED(jobrun) run = {0};
        rng_init(&rng, 4, 0, "gittins", round);
        draw(&plain, &rng);
        run_real(&run, &plain);
        run_plain(&plain);
        bool same = true;
        for (int i = 0; i < plain.n && same; i++) {
            const struct plain_job *job = &plain.jobs[i];
            same = CHECK_NEAR(run.jobs[i].start_s, job->start_s, 0) && CHECK_NEAR(run.jobs[i].end_s, job->end_s, 0) &&
                   CHECK_EQ_INT(run.jobs[i].preemptions, job->preemptions);
            preemptions += job->preemptions;
        }
        if (!CHECK(same)) break;
    }
    CHECK_WHOLE(preemptions > 1000);
}

static void ends(const char *params, double a_s, double b_s)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 1), jobrun_record(1, 0, 2, 1)};
    SCOPED(jobrun) run;
    jobrun_init(&run,
                &(struct jobrun_spec){.records = records, .n = 2, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                      .scheduler = "tiresias-gittins", .scheduler_params = params},
                0);
    CHECK_NEAR(run.jobs[0].end_s, a_s, 0);
    CHECK_NEAR(run.jobs[1].end_s, b_s, 0);
}

/* Sizes of 2 and 10, one GPU. At 0 the best quantum is 2, index 1/4; who goes on then has 8 left, index 1/8: the other
 * has its turn. With a quantum of 8 the index is 1/10 at 0, and 1/8 for who has 8 left. */
TEST(two_jobs_of_two_sizes)
{
    ends("{\"limits\": [], \"quantum\": 0}", 12, 4);
    ends("{\"limits\": [], \"quantum\": 8}", 10, 12);
    ends("{\"limits\": [1], \"quantum\": 8}", 11, 12); /* each goes down a queue after a second */
}

/* With a second on its GPUs before it works a job of ten holds them for eleven. */
TEST(start_up_outside_the_history_is_warned_of)
{
    const struct job_record records[] = {jobrun_record(0, 0, 10, 2), jobrun_record(1, 0, 3, 1)};
    for (int start_s = 0; start_s < 2; start_s++) {
        const struct restart_config restart = {.start_ns = start_s * SIM_NS_PER_S};
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = records, .n = 2, .cluster = {.nodes = 1, .gpus_per_node = 2},
                                          .scheduler = "tiresias-gittins", .restart = &restart},
                    0);
        CHECK_EQ_INT(run.n_warnings, start_s);
    }
}

static const char *history(const char *text)
{
    return test_file("history.csv", "%s", text);
}

/* If all that is known are jobs of 100 GPU-seconds, nobody is expected to end within 2 before that: they stay in
 * order. */
TEST(what_is_known_may_be_the_past)
{
    char params[640];
    snprintf(params, sizeof params, "{\"limits\": [], \"quantum\": 2, \"history\": \"%s\"}",
             history("job,gpu_s\n1,100\n2,100\n"));
    ends(params, 10, 12);
    snprintf(params, sizeof params, "{\"limits\": [], \"quantum\": 0, \"history\": \"%s\"}", history("gpu_s\n10\n2\n"));
    ends(params, 12, 4);
}

TEST(malformed_histories_are_refused)
{
    static const char *const texts[] = {"gpu_s\n1\n-2\n", "gpu_s\n1\nsoon\n", "seconds\n1\n", "gpu_s\n"};
    static const char *const places[] = {"history.csv:3:1", "history.csv:3:1", "history.csv", "history.csv"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct real_list sizes = {0};
        struct diag diag = {0};
        CHECK_EQ_INT(sizes_file_read(history(texts[i]), &sizes, &diag), SIM_E_DATA);
        CHECK(diag.n_errors == 1 && strstr(diag.items[0].where, places[i]) != NULL);
        real_list_fini(&sizes);
    }
}

TEST(released_takes_no_quantum_below_1)
{
    static const char *const params[] = {"{\"variant\": \"released\", \"quantum\": 0}",
                                         "{\"variant\": \"released\", \"quantum\": 0.5}",
                                         "{\"variant\": \"released\", \"quantum\": 1}"};
    const struct job_record record = jobrun_record(0, 0, 10, 1);
    for (int i = 0; i < 3; i++) {
        SCOPED(jobrun) run;
        jobrun_init(&run,
                    &(struct jobrun_spec){.records = &record, .n = 1, .cluster = {.nodes = 1, .gpus_per_node = 1},
                                          .scheduler = "tiresias-gittins", .scheduler_params = params[i]},
                    i < 2 ? SIM_E_CONFIG : 0);
    }
}
