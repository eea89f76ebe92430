/* Planned outages: jobs on the nodes pause for exactly the time that the outage shares with their work, or lose their
 * work; nothing starts meanwhile; services lose their replicas; spare nodes serve where no job pauses. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* %: outages; jobs of a trace. */
__attribute__((format(printf, 3, 4))) static struct bed_rows *run(const char *cluster, const char *failures,
                                                                  const char *format, ...)
{
    char jobs[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(jobs, sizeof jobs, format, arguments);
    va_end(arguments);
    return bed_ok(BED(.check = true),
                  "{'cluster': {%s}, 'failures': {%s}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [%s]}},"
                  " 'keep': 'decisions'}",
                  cluster, failures, jobs);
}

static const char two_nodes[] = "'nodes': 2, 'gpus_per_node': 4";

/* A job of 100 s that saves for 10 s after 30 s of work, an outage, and (above 0) one that interrupts. */
static struct bed_rows *run_saving(int from_s, int until_s, int interrupt_s)
{
    char interrupt[128] = "";
    if (interrupt_s > 0)
        snprintf(interrupt, sizeof interrupt, ", 'p': {'node': 0, 'from': '%ds', 'until': '%ds', 'jobs': 'interrupt'}",
                 interrupt_s, interrupt_s + 1);
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'failures': {'outages': {'o': {'node': 0, 'from': '%ds',"
                  " 'until': '%ds'}%s}}, 'jobs': {'types': {'default': {'checkpoint': {'policy': {'policy': 'periodic',"
                  " 'interval': '30s'}, 'bytes': '80GB', 'write': '8GB/s'}}}, 'trace': {'format': 'inline-jobs', 'jobs':"
                  " [{'duration': '100s', 'gpus': 4}]}}}",
                  from_s, until_s, interrupt);
}

/* Two nodes of 4 GPUs and 12 CPUs; node 0 is out from 10 s on. Images gain by up to 6 CPUs for each GPU. */
static struct bed_rows *run_on_cpus(const char *jobs, const char *scheduler, int until_s)
{
    return bed_ok(BED(.check = true),
                  "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'cpus_per_node': 12}, 'failures': {'outages': {'o':"
                  " {'node': 0, 'from': '10s', 'until': '%ds'}}}, 'jobs': {'scheduler': %s, 'placement': 'consolidated',"
                  " 'types': {'image': {'host': {'cpus': [{'per_gpu': 3, 'speed': 1}, {'per_gpu': 6, 'speed': 2}]}}},"
                  " 'trace': {'format': 'inline-jobs', 'jobs': [%s]}}, 'keep': 'decisions'}",
                  until_s, scheduler, jobs);
}

static double overlap_s(double from_s, double until_s, double begin_s, double end_s)
{
    return fmax(0, fmin(until_s, end_s) - fmax(from_s, begin_s));
}

TEST(a_job_is_delayed_by_the_time_that_it_shares_with_the_outage)
{
    static const double froms_s[] = {0, 1, 40, 99, 100, 150};
    for (size_t i = 0; i < sizeof froms_s / sizeof *froms_s; i++) {
        char outage[160];
        snprintf(outage, sizeof outage, "'outages': {'o': {'node': 0, 'from': '%gs', 'until': '%gs'}}", froms_s[i],
                 froms_s[i] + 30);
        struct bed_rows *rows = run("'nodes': 1, 'gpus_per_node': 4", outage, "{'duration': '100s', 'gpus': 2}");
        const double delay_s = froms_s[i] < 100 ? 30 : 0;
        CHECK_NEAR(bed_job(rows, 0)->end_s, 100 + delay_s, 0);
        CHECK_NEAR(bed_job(rows, 0)->start_s, froms_s[i] == 0 ? 30 : 0, 0);
        CHECK_NEAR(bed_metric(rows, "cluster.available_frac"),
                   1 - overlap_s(froms_s[i], froms_s[i] + 30, 0, rows->end_s) / rows->end_s, 1e-12);
    }
}

/* Of jobs without GPUs, those that a placement gives a node. */
TEST(a_job_of_cpus_alone_pauses_with_its_node)
{
    static const char *const placements[] = {"fgd", "best-fit", "packing", "random"};
    for (size_t i = 0; i < sizeof placements / sizeof *placements; i++) {
        struct bed_rows *rows = bed_ok(BED(.check = true),
                                       "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'failures': {'outages': {'o':"
                                       " {'node': 0, 'from': '17s', 'until': '30s'}}}, 'jobs': {'placement': '%s',"
                                       " 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '21s', 'gpus': 0,"
                                       " 'cpus': 1}]}}}",
                                       placements[i]);
        CHECK_NEAR(bed_job(rows, 0)->end_s, 21 + 13, 0);
    }
}

/* The second job has the other node, and the third one waits for the outage's end although it asks for one GPU. */
TEST(only_jobs_on_the_node_pause_and_none_starts_there)
{
    struct bed_rows *rows = run(two_nodes, "'outages': {'o': {'node': 0, 'from': '10s', 'until': '60s'}}",
                                "{'duration': '20s', 'gpus': 3}, {'duration': '100s', 'gpus': 4},"
                                " {'submit': '20s', 'duration': '5s', 'gpus': 1}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 70, 0);
    CHECK_NEAR(bed_job(rows, 1)->end_s, 100, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 60, 0);
    CHECK_EQ_INT(bed_job(rows, 0)->preemptions, 0);
    CHECK_NEAR(bed_metric(rows, "failure.interrupts"), 0, 0);
    CHECK_NEAR(bed_metric(rows, "failure.events[o]"), 1, 0);
}

/* The outages of its two nodes overlap: it pauses from the first begin to the last end. */
TEST(a_job_on_two_nodes_pauses_with_either)
{
    struct bed_rows *rows = run(two_nodes,
                                "'outages': {'a': {'node': 0, 'from': '10s', 'until': '30s'},"
                                " 'b': {'node': 1, 'from': '20s', 'until': '45s'},"
                                " 'c': {'node': 0, 'nodes': 2, 'from': '60s', 'until': '61s'}}",
                                "{'duration': '100s', 'gpus': 8}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 100 + 35 + 1, 0);
    CHECK_NEAR(bed_metric(rows, "failure.events[c]"), 1, 0); /* of two nodes */
}

TEST(outages_of_one_node_that_overlap_or_meet_are_one)
{
    struct bed_rows *rows = run(two_nodes,
                                "'outages': {'a': {'node': 0, 'from': '10s', 'until': '30s'},"
                                " 'b': {'node': 0, 'from': '20s', 'until': '50s'},"
                                " 'c': {'node': 0, 'from': '25s', 'until': '26s'},"
                                " 'd': {'node': 0, 'from': '50s', 'until': '60s'}}",
                                "{'duration': '100s', 'gpus': 4}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 150, 0);
    CHECK_NEAR(bed_metric(rows, "failure.events"), 2, 0); /* b and c find the node down */
    CHECK_NEAR(bed_metric(rows, "failure.unseen"), 2, 0);
}

/* The outage takes nodes 1 and 2 of four, and finds the first of these down. It counts once, and as seen. */
TEST(an_outage_takes_all_of_its_nodes)
{
    struct bed_rows *rows = run("'nodes': 4, 'gpus_per_node': 4",
                                "'outages': {'early': {'node': 1, 'from': '5s', 'until': '20s'},"
                                " 'both': {'node': 1, 'nodes': 2, 'from': '10s', 'until': '40s'}}",
                                "{'duration': '100s', 'gpus': 4}, {'duration': '100s', 'gpus': 4},"
                                " {'duration': '100s', 'gpus': 4}, {'duration': '100s', 'gpus': 4}");
    static const double ends_s[] = {100, 135, 130, 100};
    for (int i = 0; i < 4; i++) CHECK_NEAR(bed_job(rows, i)->end_s, ends_s[i], 0);
    CHECK_NEAR(bed_metric(rows, "failure.events[both]"), 1, 0);
    CHECK_NEAR(bed_metric(rows, "failure.unseen[both]"), 0, 0);
}

static int check_step(void *context, const struct node_row *row)
{
    int *n = context;
    CHECK_EQ_INT(row->step, *n == 0 ? NODE_DOWN : NODE_BACK);
    CHECK_NEAR(row->t_s, *n == 0 ? 10 : 70, 0);
    CHECK_NEAR(row->down_s, 60, 0);
    CHECK_EQ_INT(row->node, 1);
    if (*n == 0) CHECK_EQ_STR(row->cause, "o");
    ++*n;
    return 0;
}

TEST(a_node_says_for_how_long_it_goes_down)
{
    int n = 0;
    const struct sink sink = {.context = &n, .node = check_step};
    bed_ok(BED(.check = true, .also = &sink),
           "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'failures': {'outages': {'o': {'node': 1, 'from': '10s',"
           " 'until': '70s'}}}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s'}]}}}");
    CHECK_EQ_INT(n, 2);
}

static int see_late(void *context, const struct warning_row *row)
{
    int64_t *n = context;
    if (strcmp(row->code, "late-outage") != 0) return 0;
    *n += row->count;
    CHECK_EQ_STR(
        row->text,
        row->count == 1
            ? "outage 'p' would begin at 3600 s, after the run's end at 100 s: it had no effect"
            : "2 outages would begin after the run's end at 100 s, the first ('o') at 101 s: they had no effect");
    return 0;
}

/* The job ends after 100 s, and would take as long if the outages were not there. */
TEST(outages_after_the_end_are_told)
{
    static const int from_s[] = {99, 100, 101};
    for (int i = 0; i < 3; i++) {
        int64_t n = 0;
        const struct sink sink = {.context = &n, .warning = see_late};
        bed_ok(BED(.also = &sink),
               "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'failures': {'outages': {'o': {'node': 1, 'from': '%ds'},"
               " 'p': {'node': 1, 'from': '1h'}}}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': ["
               "{'duration': '100s'}]}}}",
               from_s[i]);
        CHECK_EQ_INT(n, i < 2 ? 1 : 2);
    }
}

/* --- A scheduler that notes the times of its decisions --- */

extern const struct scheduler scheduler_fifo;

static int64_t total_gpus_at[101]; /* at whole seconds; 0: it does not decide */

static int noting_decide(void *state, const struct cluster_view *view, struct job_plan *plan)
{
    const double now_s = sim_s_from_ns(view->now_ns);
    if (now_s <= 100) total_gpus_at[(int)now_s] = view->total_gpus;
    return scheduler_fifo.decide(state, view, plan);
}

/* No job is on the nodes that go down, and none waits. */
TEST(schedulers_decide_when_nodes_go_and_when_they_return)
{
    struct scheduler noting = scheduler_fifo;
    noting.policy.name = "noting";
    noting.decide = noting_decide;
    memset(total_gpus_at, 0, sizeof total_gpus_at);
    bed_ok(BED(.check = true, .policy = &noting.policy),
           "{'cluster': {'nodes': 3, 'gpus_per_node': 4}, 'failures': {'outages': {'o': {'node': 1, 'nodes': 2, 'from':"
           " '10s', 'until': '30s'}}}, 'jobs': {'scheduler': 'noting', 'trace': {'format': 'inline-jobs', 'jobs': ["
           "{'duration': '100s', 'gpus': 4}]}}}");
    for (int t_s = 0; t_s < 100; t_s++)
        CHECK_EQ_INT(total_gpus_at[t_s], t_s == 10 ? 4 : t_s == 0 || t_s == 30 ? 12 : 0);
}

/* Nodes that never return. A job of 4 GPUs saves nothing and starts anew on the other node. One of 8 GPUs never
 * does. */
TEST(an_outage_without_an_end_is_for_good)
{
    static const char forever[] = "'outages': {'o': {'node': 0, 'from': '10s', 'jobs': 'interrupt'},"
                                  " 'p': {'node': 0, 'from': '20s', 'until': '30s'}}";
    struct bed_rows *rows = run(two_nodes, forever,
                                "{'duration': '100s', 'gpus': 4}, {'submit': '200s', 'duration': '5s', 'gpus': 4},"
                                " {'submit': '200s', 'duration': '5s', 'gpus': 4}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 110, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 205, 0);
    CHECK_NEAR(bed_metric(rows, "cluster.available_frac"), 1 - (rows->end_s - 10) / rows->end_s / 2, 1e-12);
    CHECK_NEAR(bed_metric(rows, "failure.unseen[p]"), 1, 0);
}

/* A run with such an outage is that with one which ends after it, byte for byte. Jobs that wait for it never finish. */
TEST(an_outage_without_an_end_is_one_that_outlasts_the_run)
{
    static const char format[] =
        "{'cluster': {'nodes': 3, 'gpus_per_node': 4}, 'until': '4d', 'failures': {'spare_nodes': 1, 'outages': {'o':"
        " {'node': 1, 'from': '1h'%s, 'jobs': '%s'}}, 'causes': {'crash': {'scope': 'node', 'lifetime': {'mean': '9h'},"
        " 'repair': {'mean': '1h'}}}}, 'jobs': {'scheduler': 'tiresias', 'trace': {'format': 'generate-jobs', 'mix':"
        " 'seren', 'count': 60, 'max_gpus': 4}}}";
    for (int i = 0; i < 2; i++) {
        const char *jobs = i == 0 ? "pause" : "interrupt";
        struct bed_rows *endless = bed_ok(BED(.check = true), format, "", jobs);
        CHECK(bed_equal(endless, bed_ok(BED(.check = true), format, ", 'until': '9000d'", jobs)));
        CHECK_NEAR(bed_metric(endless, "failure.events[o]"), 1, 0);
    }
    const struct bed_rows *rows = bed_run(BED(.quiet = true),
                                          "{'cluster': {'nodes': 1}, 'failures': {'outages': {'o': {'node': 0, 'from':"
                                          " '10s'}}}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': [{'duration':"
                                          " '100s'}, {'submit': '20s', 'duration': '1s'}]}}}");
    CHECK_EQ_INT(rows->code, SIM_E_STALLED);
    MUST(rows->diag.n_items > 0);
    CHECK(strstr(rows->diag.items[0].text, "1 running and 1 waiting jobs never finish") != NULL);
}

TEST(interrupted_jobs_lose_their_work_and_run_elsewhere)
{
    struct bed_rows *rows = run(two_nodes,
                                "'outages': {'o': {'node': 0, 'from': '10s', 'until': '500s', 'jobs': 'interrupt'}}",
                                "{'duration': '100s', 'gpus': 4}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 110, 0);
    CHECK_NEAR(bed_metric(rows, "failure.lost_gpu_s[o]"), 40, 0);
    CHECK_NEAR(bed_metric(rows, "failure.interrupts[o]"), 1, 0);
}

/* A paused job is one to interrupt, too. */
TEST(an_interrupting_outage_takes_paused_jobs)
{
    struct bed_rows *rows = run(two_nodes,
                                "'outages': {'o': {'node': 0, 'from': '10s', 'until': '500s'},"
                                " 'p': {'node': 0, 'from': '20s', 'until': '30s', 'jobs': 'interrupt'}}",
                                "{'duration': '100s', 'gpus': 4}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 120, 0);
    CHECK_NEAR(bed_metric(rows, "failure.lost_gpu_s[p]"), 40, 0);
}

/* Saves of 10 s after each 30 s of work: at 30, 70 and 110 s without an outage, which comes in work, in a save, at the
 * end of one, and is shorter or longer than the rest of the interval. */
TEST(a_paused_job_begins_no_save)
{
    static const int froms_s[] = {5, 35, 40, 45, 70, 131}, lengths_s[] = {1, 20, 34, 35, 44, 45, 100};
    for (size_t i = 0; i < sizeof froms_s / sizeof *froms_s; i++)
        for (size_t k = 0; k < sizeof lengths_s / sizeof *lengths_s; k++) {
            const int from_s = froms_s[i], until_s = from_s + lengths_s[k];
            struct bed_rows *rows = run_saving(from_s, until_s, 0);
            CHECK_NEAR(bed_job(rows, 0)->end_s, 130 + (from_s < 130 ? lengths_s[k] : 0), 0);
            bed_free(rows);
        }
}

/* The job has saved 30 s of work at 40 s, and pauses at 50 s. Its next save would begin 20 s later. */
TEST(work_before_a_pause_is_lost_if_it_was_not_saved)
{
    static const int interrupts_s[] = {60, 79, 80, 81, 120};
    for (size_t i = 0; i < sizeof interrupts_s / sizeof *interrupts_s; i++) {
        struct bed_rows *rows = run_saving(50, 300, interrupts_s[i]);
        CHECK_NEAR(bed_metric(rows, "failure.lost_gpu_s[p]"), 4 * 10, 1e-9);
        bed_free(rows);
    }
}

/* Its node slows it to half its speed from 10 s on. It pauses at 60 s and loses what it did in these 60 s. */
TEST(lost_work_counts_at_the_speed_before_the_pause)
{
    struct bed_rows *rows = run("'nodes': 2, 'gpus_per_node': 2",
                                "'outages': {'o': {'node': 0, 'from': '60s', 'until': '1000s'},"
                                " 'p': {'node': 0, 'from': '70s', 'until': '80s', 'jobs': 'interrupt'}},"
                                " 'causes': {'slow': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '10s'},"
                                " 'slow': 0.5, 'repair': {'law': 'constant', 'mean': '400s'}}}",
                                "{'duration': '100s', 'gpus': 2}");
    CHECK_NEAR(bed_metric(rows, "failure.lost_gpu_s[p]"), (10 + 25) / 0.5 * 2, 1e-9);
}

/* 300 W for each GPU while it works, and 80 W, idle with a process, while it pauses. */
TEST(gpus_of_a_paused_job_idle)
{
    for (int pause_s = 0; pause_s <= 100; pause_s += 50) {
        char outages[160];
        snprintf(outages, sizeof outages, "'outages': {'o': {'node': 0, 'from': '10s', 'until': '%ds'}}", 10 + pause_s);
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'power': {'budget': '20kW'},"
            " 'server_power': {'idle': '680W', 'per_gpu_watt': 0.66}}, 'failures': {%s}, 'jobs': {'types': {'default':"
            " {'power': {'mean': '300W'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus':"
            " 4}]}}}",
            pause_s > 0 ? outages : "");
        CHECK_NEAR(bed_job(rows, 0)->end_s, 100 + pause_s, 0);
        CHECK_NEAR(bed_job(rows, 0)->energy_j, 4 * (300 * 100 + 80 * pause_s), 1e-6);
        bed_free(rows);
    }
}

/* The job pauses on node 0, until another outage takes it there: then the spare node serves. */
TEST(a_spare_node_stands_in_for_a_node_whose_paused_jobs_are_taken)
{
    struct bed_rows *rows = run("'nodes': 2, 'gpus_per_node': 1",
                                "'spare_nodes': 1, 'outages': {'o': {'node': 0, 'from': '10s', 'until': '500s'},"
                                " 'p': {'node': 0, 'from': '20s', 'until': '400s', 'jobs': 'interrupt'}}",
                                "{'duration': '100s', 'gpus': 1}, {'submit': '600s', 'duration': '1s', 'gpus': 1}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 120, 0);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 600, 0); /* node 0 is the spare node then */
}

/* Jobs 0 and 1 pause on node 0. Job 2 comes before them and has node 1; job 0 or 1 would be preempted, and goes on. */
TEST(rows_count_no_gpus_of_a_node_that_is_down)
{
    struct bed_rows *rows = run_on_cpus("{'duration': '100s', 'gpus': 2, 'type': 'image'},"
                                        "{'duration': '100s', 'gpus': 2, 'cpus': 6},"
                                        "{'submit': '20s', 'duration': '50s', 'gpus': 2, 'type': 'image'},"
                                        "{'submit': '20s', 'duration': '50s', 'gpus': 4, 'type': 'image'}",
                                        "'srtf'", 110);
    CHECK(rows->n_decisions > 4);
    for (size_t i = 0; i < rows->n_decisions; i++) CHECK(strstr(rows->decisions[i].reason, "then -") == NULL);
    CHECK_EQ_INT(bed_job(rows, 0)->preemptions + bed_job(rows, 1)->preemptions, 0);
}

/* A job on both nodes gives back CPUs for one on node 1 at 20 s. Those of node 0, which is down, are not free: a job of
 * CPUs alone starts when node 0 returns. */
TEST(cpus_given_back_on_a_node_that_is_down_are_not_free)
{
    struct bed_rows *rows = run_on_cpus("{'duration': '200s', 'gpus': 4, 'nodes': 2, 'type': 'image'},"
                                        "{'submit': '20s', 'duration': '100s', 'gpus': 2, 'type': 'image'},"
                                        "{'submit': '21s', 'duration': '1s', 'gpus': 0, 'cpus': 3}",
                                        "'synergy'", 60);
    CHECK_NEAR(bed_job(rows, 1)->start_s, 20, 0);
    CHECK_NEAR(bed_job(rows, 2)->start_s, 60, 0);
}

/* Nodes of one GPU, the last of three a spare one: it serves for a node that is interrupted, not for one whose job
 * pauses. */
TEST(spare_nodes_stand_in_only_where_jobs_do_not_pause)
{
    for (int pauses = 0; pauses <= 1; pauses++) {
        char failures[256];
        snprintf(failures, sizeof failures,
                 "'spare_nodes': 1, 'outages': {'o': {'node': 0, 'from': '10s', 'until': '200s', 'jobs': '%s'}}",
                 pauses ? "pause" : "interrupt");
        struct bed_rows *rows = run("'nodes': 3, 'gpus_per_node': 1", failures,
                                    "{'duration': '100s', 'gpus': 1}, {'duration': '100s', 'gpus': 1},"
                                    " {'submit': '150s', 'duration': '10s', 'gpus': 1}");
        CHECK_NEAR(bed_job(rows, 0)->end_s, pauses ? 290 : 110, 0);
        CHECK_NEAR(bed_job(rows, 1)->end_s, 100, 0);
        CHECK_NEAR(bed_job(rows, 2)->end_s, 160, 0);
    }
}

/* Where no job is on the node, an outage that pauses jobs is one that interrupts them: the spare node serves. So it
 * is for a service without jobs beside it, and for jobs on other nodes only. The service's one replica is down for as
 * long as the spare node takes, not until the outage ends. */
TEST(spare_nodes_stand_in_where_no_job_is_to_pause)
{
    static const char *const sites[] = {
        "'cluster': {'nodes': 2, 'gpus_per_node': 1, 'gpu': 'h100-sxm'}, 'services': {'chat': {'llm': 'qwen3-8b',"
        " 'trace': {'format': 'generate', 'duration': '60s', 'arrival': {'process': 'poisson',"
        " 'rate': '2/s'}}}}",
        "'cluster': {'nodes': 3, 'gpus_per_node': 1}, 'jobs': {'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'submit': '20s', 'duration': '100s'}, {'submit': '20s', 'duration': '100s'}]}}"};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        struct bed_rows *both[2];
        for (int pauses = 0; pauses <= 1; pauses++)
            both[pauses] = bed_ok(BED(.check = true),
                                  "{%s, 'failures': {'spare_nodes': 1, 'spare_delay': '5s', 'outages': {'o': {'node':"
                                  " 0, 'from': '10s', 'until': '1000s', 'jobs': '%s'}}}}",
                                  sites[i], pauses ? "pause" : "interrupt");
        CHECK(bed_equal(both[0], both[1]));
        CHECK(both[1]->end_s < 130);
        for (int k = 0; k <= 1; k++) bed_free(both[k]);
    }
}

/* The spare node itself is out from 5 s until 80 s, and stands in then for node 0, which is down from 10 s on. */
TEST(a_spare_node_stands_in_when_its_outage_ends)
{
    struct bed_rows *rows = run("'nodes': 2, 'gpus_per_node': 1",
                                "'spare_nodes': 1, 'outages': {'s': {'node': 1, 'from': '5s', 'until': '80s'},"
                                " 'o': {'node': 0, 'from': '10s', 'until': '900s', 'jobs': 'interrupt'}}",
                                "{'duration': '50s', 'gpus': 1}");
    CHECK_NEAR(bed_job(rows, 0)->end_s, 130, 0);
}

/* A node that is down by a failure stays down until the outage, too, has ended; no failure strikes it meanwhile. */
TEST(a_repair_ends_with_the_later_of_both)
{
    struct bed_rows *rows = run("'nodes': 1, 'gpus_per_node': 1",
                                "'causes': {'crash': {'scope': 'node', 'lifetime': {'law': 'constant', 'mean': '100s'},"
                                " 'repair': {'law': 'constant', 'mean': '20s'}}},"
                                " 'outages': {'o': {'node': 0, 'from': '110s', 'until': '190s'}}",
                                "{'submit': '105s', 'duration': '10s', 'gpus': 1}");
    CHECK_NEAR(bed_job(rows, 0)->start_s, 190, 0);
    CHECK_NEAR(bed_metric(rows, "failure.events[crash]"), 1, 0);
}

/* A job that a preemptive scheduler takes off a paused node leaves its GPUs there, and runs elsewhere. */
TEST(a_preempted_job_leaves_the_paused_node)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'failures': {'outages': {'o': {'node': 0, 'from': '10s',"
        " 'until': '1000s'}}}, 'jobs': {'scheduler': 'srtf', 'trace': {'format': 'inline-jobs', 'jobs': ["
        "{'duration': '100s', 'gpus': 4}, {'submit': '20s', 'duration': '10s', 'gpus': 4},"
        "{'submit': '20s', 'duration': '20s', 'gpus': 4}]}}}");
    for (int i = 0; i < 3; i++) CHECK_EQ_STR(bed_job(rows, i)->status, "finished");
    CHECK_NEAR(bed_job(rows, 1)->end_s, 30, 0);
    CHECK_NEAR(bed_job(rows, 2)->end_s, 50, 0);
}

/* A job that saves every 30 s for 10 s pauses at 65 s, 25 s after its save of 30 s of work. It is preempted at 70 s,
 * and has 70 s of work left, with two saves. Without checkpoints it keeps its 65 s of work. */
TEST(a_job_that_is_preempted_in_a_pause_keeps_its_saved_work)
{
    static const char saves[] = "'checkpoint': {'policy': {'policy': 'periodic', 'interval': '30s'}, 'bytes': '80GB',"
                                " 'write': '8GB/s'}";
    for (int is_saving = 0; is_saving < 2; is_saving++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 4}, 'failures': {'outages': {'o': {'node': 0, 'from': '65s',"
            " 'until': '80s'}}}, 'jobs': {'scheduler': 'srtf', 'types': {'default': {%s}}, 'trace': {'format':"
            " 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 4}, {'submit': '70s', 'duration': '10s', 'gpus':"
            " 4}]}}}",
            is_saving ? saves : "");
        CHECK_NEAR(bed_job(rows, 1)->end_s, 90, 0);
        CHECK_EQ_INT(bed_job(rows, 0)->preemptions, 1);
        CHECK_NEAR(bed_job(rows, 0)->end_s, is_saving ? 90 + 70 + 2 * 10 : 90 + 35, 0);
        bed_free(rows);
    }
}

/* Job 1 never fits beside the node that is out for good, and job 0 pauses there. Schedulers that look again each round
 * start nothing that works. */
TEST(rounds_without_end_are_reported)
{
    static const char *const schedulers[] = {"{'policy': 'synergy', 'order': 'las'}",
                                             "{'policy': 'synergy', 'order': 'ftf'}", "'muri'", "'themis'"};
    for (size_t i = 0; i < sizeof schedulers / sizeof *schedulers; i++) {
        struct bed_rows *rows = bed_run(
            BED(.quiet = true, .check = true, .stall_events = 1000000),
            "{'cluster': {'nodes': 2, 'gpus_per_node': 4}, 'failures': {'outages': {'o': {'node': 0, 'from': '10s'}}},"
            " 'jobs': {'scheduler': %s, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s', 'gpus': 4},"
            " {'submit': '20s', 'duration': '10s', 'gpus': 8}]}}}",
            schedulers[i]);
        CHECK_EQ_INT(rows->code, SIM_E_STALLED);
        const char *text = rows->diag.items[rows->diag.n_items - 1].text; /* warnings come before it */
        CHECK(strstr(text, "never finish: the speed is 0, an outage does not end") != NULL ||
              strstr(text, "1 job waits forever") != NULL);
        bed_free(rows);
    }
}

/* A scheduler that would resize a paused job finds no room elsewhere: the job keeps its GPUs, and goes on. */
TEST(a_paused_job_that_cannot_be_resized_keeps_its_gpus)
{
    for (int cpus = 0; cpus <= 1; cpus++) {
        struct bed_rows *rows = bed_ok(
            BED(.check = true),
            "{'cluster': {'nodes': 2%s}, 'failures': {'outages': {'o': {'node': 0, 'from': '16s', 'until': '228s',"
            " 'jobs': 'interrupt'}, 'p': {'node': 1, 'from': '29s', 'until': '1374s'}}}, 'jobs': {'scheduler':"
            " 'all-to-shortest', 'trace': {'format': 'generate-evaluation', 'datasets': 12, 'inference': '10s',"
            " 'prepare': '5s', 'spread': 1.195}}}",
            cpus ? ", 'cpus_per_node': 32" : "");
        CHECK(rows->n_jobs > 1);
        for (size_t i = 0; i < rows->n_jobs; i++) CHECK_EQ_STR(rows->jobs[i].status, "finished");
    }
}

TEST(replicas_on_the_node_fail_and_start_elsewhere)
{
    struct bed_rows *rows = bed_ok(
        BED(.check = true),
        "{'cluster': {'nodes': 2, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'failures': {'outages':"
        " {'o': {'node': 0, 'from': '20s', 'until': '300s'}}}, 'services': {'chat': {'llm': 'phi-2', 'cost':"
        " 'roofline', 'restart': {'delay': '5s'}, 'trace': {'format': 'generate', 'count': 400, 'max_total_tokens': 1000, 'arrival': {'process':"
        " 'poisson', 'rate': '4/s'}}}}}");
    CHECK_NEAR(bed_metric(rows, "failure.replica_stops"), 1, 0);
    CHECK_EQ_INT(bed_metric(rows, "request.finished"), 400);
    CHECK_NEAR(bed_metric(rows, "failure.replica_down_s"), 5, 1e-9);
}

/* A site with outages, failures, checkpoints and shares of GPUs: queues and steps change nothing. */
TEST(queues_change_nothing)
{
    struct bed_rows *rows[2];
    for (int heap = 0; heap <= 1; heap++)
        rows[heap] = bed_ok(
            BED(.check = true, .single_step = heap, .queue = heap ? QUEUE_HEAP : QUEUE_CALENDAR),
            "{'cluster': {'nodes': 4, 'gpus_per_node': 4, 'cpus_per_node': 16}, 'until': '3d', 'failures': {'outages': {"
            "'a': {'node': 0, 'nodes': 2, 'from': '1h', 'until': '5h'}, 'b': {'node': 1, 'nodes': 3, 'from': '3h',"
            " 'until': '9h', 'jobs': 'interrupt'}}, 'causes': {'crash': {'scope': 'gpu', 'lifetime': {'mean': '40h'},"
            " 'repair': {'mean': '1h'}}}}, 'jobs': {'scheduler': 'tiresias', 'types': {'default': {'checkpoint':"
            " {'policy': 'periodic', 'bytes': '80GB', 'write': '2GB/s'}}}, 'trace': {'format': 'generate-jobs', 'mix':"
            " 'seren', 'count': 200, 'max_gpus': 16}}}");
    CHECK(bed_equal(rows[0], rows[1]));
    CHECK(bed_metric(rows[0], "failure.interrupts[b]") > 0);
}

static void check_refused(const char *outages, const char *text)
{
    const struct bed_rows *rows = bed_run(BED(.quiet = true),
                                          "{'cluster': {'nodes': 2}, 'failures': {%s}, 'jobs': {'trace': {'format':"
                                          " 'inline-jobs', 'jobs': [{'duration': '1s'}]}}}",
                                          outages);
    CHECK_EQ_INT(rows->code, SIM_E_CONFIG);
    MUST(rows->diag.n_items > 0);
    CHECK(strstr(rows->diag.items[0].text, text) != NULL);
}

TEST(wrong_outages_are_refused)
{
    check_refused("'outages': {'o': {'node': 0, 'from': '9s', 'until': '9s'}}", "is not after its 'from'");
    check_refused("'outages': {'o': {'node': 0, 'from': '9s', 'until': '0s'}}", "until");
    check_refused("'outages': {'o': {'node': 0, 'until': '9s'}}", "from");
    check_refused("'outages': {'o': {'node': 1, 'nodes': 2, 'from': '1s', 'until': '9s'}}", "the site has 2");
    check_refused("'outages': {'o': {'from': '1s', 'until': '9s'}}", "node");
    check_refused("'outages': {'o': {'node': 0, 'from': '1s', 'until': '9s'}}, 'causes': {'o': {'scope': 'node',"
                  " 'lifetime': {'mean': '1h'}}}",
                  "is the name of a cause as well");
}

/* A node goes down for good amid the prompt of a request, or amid decoding. Of the replica nothing is left to happen,
 * so the run ends then, with a request that waits forever. */
TEST(what_a_lost_replica_was_about_to_do_never_happens)
{
    static const double froms_s[] = {0.004, 0.5, 3};
    for (size_t i = 0; i < sizeof froms_s / sizeof *froms_s; i++) {
        const struct bed_rows *rows = bed_run(
            BED(.check = true, .quiet = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 1, 'gpu': 'a100-80-sxm'}, 'failures': {'outages': {'o': {'node': 0,"
            " 'from': '%gs'}}}, 'services': {'chat': {'llm': 'mistral-7b', 'cost': {'kind': 'affine', 'prefill': {'fixed':"
            " '9ms', 'per_token': '60us'}, 'decode': {'fixed': '11ms', 'per_sequence': '20us'}}, 'trace': {'format':"
            " 'generate', 'count': 1, 'arrival': {'process': 'fixed', 'rate': '1000/s'}, 'prompt': {'distribution':"
            " 'fixed', 'tokens': 100}, 'output': {'distribution': 'fixed', 'tokens': 900}}}}}",
            froms_s[i]);
        CHECK_EQ_INT(rows->code, SIM_E_STALLED);
        CHECK_NEAR(rows->end_s, froms_s[i], 0);
    }
}
