#include "models/training/adapters.h"

double training_adapter_share(const struct training_adapters *adapters, struct training_group group, double nodes)
{
    const int64_t behind = adapters->per_switch;
    const int64_t groups = group.stride < behind ? group.stride : behind; /* that meet at a switch */
    if (groups <= 1 || !(nodes > 1.0)) return 1.0;
    const double on_node = (double)group.gpus / nodes;
    const bool is_staged = on_node > 1.0 && groups == behind;
    return (is_staged ? adapters->staged_frac : 1.0) / (double)groups;
}
