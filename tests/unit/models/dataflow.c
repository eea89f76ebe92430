/* Calls of a data flow on parts of a cluster: laws of the schedule, and a naive twin with a clock for each GPU. */
#include "models/training/dataflow.h"
#include "tests/support/harness.h"

enum { GPUS = 12 };

static bool has_gpu(const struct dataflow_call *call, int64_t gpu)
{
    for (int i = 0; i < DATAFLOW_SPANS; i++)
        if (gpu >= call->on[i].first && gpu < call->on[i].first + call->on[i].gpus) return true;
    return false;
}

static int draw_calls(struct rng *rng, struct dataflow_call *calls)
{
    const int n = 1 + (int)rng_below(rng, 10);
    for (int i = 0; i < n; i++) {
        calls[i] = (struct dataflow_call){.seconds = (double)rng_below(rng, 8)};
        for (int k = 0; k < DATAFLOW_SPANS; k++) {
            calls[i].on[k].gpus = k > 0 && rng_below(rng, 2) == 0 ? 0 : 1 + (int64_t)rng_below(rng, GPUS);
            calls[i].on[k].first = (int64_t)rng_below(rng, (uint64_t)(GPUS - calls[i].on[k].gpus + 1));
        }
        for (int k = 0; k < i; k++)
            if (rng_below(rng, 3) == 0) calls[i].after |= 1U << k;
    }
    return n;
}

/* By the rule: a clock for each GPU says when it is free. */
static double schedule_naively(const struct dataflow_call *calls, int n, struct dataflow_times *times)
{
    double free_s[GPUS] = {0}, last_s = 0.0;
    bool placed[DATAFLOW_CALLS] = {false};
    for (int round = 0; round < n; round++) {
        int next = -1;
        double next_s = 0.0;
        for (int i = 0; i < n; i++) {
            double ready_s = 0.0;
            bool may = !placed[i];
            for (int k = 0; k < n; k++) {
                if ((calls[i].after >> k & 1U) == 0) continue;
                may = may && placed[k];
                ready_s = fmax(ready_s, placed[k] ? times[k].end_s : 0.0);
            }
            if (may && (next < 0 || ready_s < next_s)) {
                next = i;
                next_s = ready_s;
            }
        }
        for (int64_t gpu = 0; gpu < GPUS; gpu++)
            if (has_gpu(&calls[next], gpu)) next_s = fmax(next_s, free_s[gpu]);
        times[next] = (struct dataflow_times){next_s, next_s + calls[next].seconds};
        for (int64_t gpu = 0; gpu < GPUS; gpu++)
            if (has_gpu(&calls[next], gpu)) free_s[gpu] = times[next].end_s;
        last_s = fmax(last_s, times[next].end_s);
        placed[next] = true;
    }
    return last_s;
}

TEST(calls_run_when_a_clock_for_each_gpu_says)
{
    struct rng rng;
    rng_init(&rng, 3, 0, "dataflow", 0);
    for (int world = 0; world < 500; world++) {
        struct dataflow_call calls[DATAFLOW_CALLS];
        struct dataflow_times times[DATAFLOW_CALLS], naive[DATAFLOW_CALLS];
        const int n = draw_calls(&rng, calls);
        CHECK_NEAR(dataflow_schedule(calls, n, times), schedule_naively(calls, n, naive), 0.0);
        for (int i = 0; i < n; i++) CHECK_NEAR(times[i].start_s, naive[i].start_s, 0.0);
    }
}

/* Calls keep to their order and length, and no GPU has two at once. The end is the end of the last. */
TEST(no_gpu_has_two_calls_and_calls_wait_for_those_before)
{
    struct rng rng;
    rng_init(&rng, 4, 0, "dataflow", 0);
    for (int world = 0; world < 500; world++) {
        struct dataflow_call calls[DATAFLOW_CALLS];
        struct dataflow_times times[DATAFLOW_CALLS];
        const int n = draw_calls(&rng, calls);
        const double end_s = dataflow_schedule(calls, n, times);
        double last_s = 0.0, critical_s[DATAFLOW_CALLS], area = 0.0;
        for (int i = 0; i < n; i++) {
            double before_s = 0.0;
            CHECK_NEAR(times[i].end_s - times[i].start_s, calls[i].seconds, 1e-12);
            for (int k = 0; k < i; k++) {
                if ((calls[i].after >> k & 1U) == 0) continue;
                CHECK(times[i].start_s >= times[k].end_s);
                before_s = fmax(before_s, critical_s[k]);
            }
            critical_s[i] = before_s + calls[i].seconds;
            last_s = fmax(last_s, times[i].end_s);
            CHECK(end_s >= critical_s[i]);
            for (int64_t gpu = 0; gpu < GPUS; gpu++) {
                if (!has_gpu(&calls[i], gpu)) continue;
                area += calls[i].seconds;
                for (int k = 0; k < i; k++)
                    if (has_gpu(&calls[k], gpu) && calls[i].seconds > 0.0 && calls[k].seconds > 0.0)
                        CHECK(times[i].start_s >= times[k].end_s || times[k].start_s >= times[i].end_s);
            }
        }
        CHECK_NEAR(end_s, last_s, 0.0);
        CHECK(end_s * GPUS >= area);
    }
}

TEST(calls_meet_where_they_share_a_gpu)
{
    struct rng rng;
    rng_init(&rng, 5, 0, "dataflow", 0);
    for (int world = 0; world < 200; world++) {
        struct dataflow_call calls[DATAFLOW_CALLS];
        const int n = draw_calls(&rng, calls);
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n; k++) {
                bool shared = false;
                for (int64_t gpu = 0; gpu < GPUS; gpu++)
                    shared = shared || (has_gpu(&calls[i], gpu) && has_gpu(&calls[k], gpu));
                CHECK_EQ_INT(dataflow_calls_meet(&calls[i], &calls[k]), shared);
            }
    }
}
