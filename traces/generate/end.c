#include "traces/generate/end.h"

int generate_end_check(const struct generate_end *end, const char *where, struct diag *diag)
{
    if (end->count > 0 || end->duration_ns > 0) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "write \"count\": 1000, or \"duration\": \"1h\"",
                      "a generated trace needs an end");
}

bool generate_end_reached(const struct generate_end *end, int64_t n, sim_ns arrival_ns)
{
    if (end->count > 0 && n >= end->count) return true;
    return end->duration_ns > 0 && arrival_ns >= end->duration_ns;
}

static double share(double done, double all)
{
    if (all <= 0) return 0;
    return done < all ? done / all : 1;
}

struct source_place generate_end_place(const struct generate_end *end, int64_t n, sim_ns now_ns)
{
    double by_count = share((double)n, (double)end->count);
    double by_time = share((double)now_ns, (double)end->duration_ns);
    return (struct source_place){.row = n, .done_frac = by_count > by_time ? by_count : by_time};
}
