#include "models/training/exchange.h"

void training_exchange_add(struct training_exchanges *exchanges, enum training_exchange_kind kind,
                           struct training_group group, double bytes)
{
    struct training_exchange *of = exchanges->of;
    if (group.gpus <= 1 || !(bytes > 0.0)) return;
    while (of < exchanges->of + exchanges->n && !(of->kind == kind && training_groups_are_equal(of->group, group)))
        of++;
    if (of == exchanges->of + exchanges->n) {
        exchanges->n++;
        *of = (struct training_exchange){.kind = kind, .group = group};
    }
    of->bytes += bytes;
}
