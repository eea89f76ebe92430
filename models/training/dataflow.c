#include "models/training/dataflow.h"

#include <math.h>

bool dataflow_calls_meet(const struct dataflow_call *a, const struct dataflow_call *b)
{
    for (int i = 0; i < DATAFLOW_SPANS; i++)
        for (int k = 0; k < DATAFLOW_SPANS; k++)
            if (dataflow_spans_meet(a->on[i], b->on[k])) return true;
    return false;
}

/* When the calls before it have ended. */
static double ready_s(const struct dataflow_call *call, int n, const struct dataflow_times *times)
{
    double ready = 0.0;
    for (int i = 0; i < n; i++)
        if ((call->after >> i & 1U) != 0) ready = fmax(ready, times[i].end_s);
    return ready;
}

/* The call to place next, its time in *ready; -1: all are placed. */
static int next_call(const struct dataflow_call *calls, int n, uint32_t placed, const struct dataflow_times *times,
                     double *ready)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        if ((placed >> i & 1U) != 0 || (calls[i].after & ~placed) != 0) continue;
        const double at = ready_s(&calls[i], n, times);
        if (best >= 0 && at >= *ready) continue;
        best = i;
        *ready = at;
    }
    return best;
}

double dataflow_schedule(const struct dataflow_call *calls, int n, struct dataflow_times *times)
{
    double last_s = 0.0, start_s = 0.0;
    uint32_t placed = 0;
    for (int call = next_call(calls, n, placed, times, &start_s); call >= 0;
         call = next_call(calls, n, placed, times, &start_s)) {
        for (int i = 0; i < n; i++)
            if ((placed >> i & 1U) != 0 && times[i].end_s > start_s && dataflow_calls_meet(&calls[call], &calls[i]))
                start_s = times[i].end_s;
        times[call] = (struct dataflow_times){start_s, start_s + calls[call].seconds};
        last_s = fmax(last_s, times[call].end_s);
        placed |= 1U << call;
    }
    return last_s;
}
