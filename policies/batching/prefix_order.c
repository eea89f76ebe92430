#include "policies/batching/prefix_order.h"

int32_t prefix_sort(const struct replica_view *view, const struct request_view *sorted[PREFIX_QUEUE])
{
    int64_t cached[PREFIX_QUEUE];
    int32_t n = 0;
    for (const struct request_view *r = view->waiting; r != NULL; r = r->next) {
        const int64_t tokens = replica_view_cached_tokens(view, r);
        int32_t at = n++;
        for (; at > 0 && cached[at - 1] < tokens; at--) {
            cached[at] = cached[at - 1];
            sorted[at] = sorted[at - 1];
        }
        cached[at] = tokens;
        sorted[at] = r;
    }
    return n;
}
