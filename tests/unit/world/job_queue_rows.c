/* What is reported of the queue as a job comes, and before each decision: the jobs, and the GPUs that are free. */
#include "sim/core/text.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

static int write_row(void *context, const struct queue_row *row)
{
    text_printf(context,
                "%g s: job %lld of %lld, type %s; %lld wait, %lld run; %g free, %lld and beside jobs %lld on one"
                " node, %lld of %lld whole\n",
                row->t_s, (long long)row->job, (long long)row->gpus, row->type != NULL ? row->type : "-",
                (long long)row->pending, (long long)row->running, row->free_gpus, (long long)row->most_on_node_gpus,
                (long long)row->most_beside_gpus, (long long)row->whole_nodes, (long long)row->gpus_per_node);
    return 0;
}

/* Jobs of 4, 2 and 3 GPUs begin on a node each. The next ones wait for the first to end, at 10 s, until 20 s; then
 * jobs end at 21 s and 32 s, and one of 8 GPUs comes at 25 s. */
TEST(queues_are_seen_with_what_is_free)
{
    SCOPED(text) seen;
    text_init(&seen);
    const struct sink sink = {.context = &seen, .queue = write_row};
    bed_ok(BED(.also = &sink),
           "{'cluster': {'nodes': 3, 'gpus_per_node': 4}, 'jobs': {'scheduler': 'fifo', 'placement': 'consolidated',"
           " 'types': {'a': {}}, 'trace': {'format': 'inline-jobs', 'jobs': ["
           "{'submit': '0s', 'duration': '10s', 'gpus': 4, 'type': 'a'}, {'submit': '1s', 'duration': '20s', 'gpus': 2},"
           "{'submit': '2s', 'duration': '30s', 'gpus': 3}, {'submit': '3s', 'duration': '10s', 'gpus': 4},"
           "{'submit': '4s', 'duration': '10s', 'gpus': 1}, {'submit': '25s', 'duration': '10s', 'gpus': 8}]}}}");
    CHECK_EQ_STR(seen.chars,
                 "0 s: job 0 of 4, type a; 0 wait, 0 run; 12 free, 4 and beside jobs 0 on one node, 3 of 4 whole\n"
                 "0 s: job -1 of 0, type -; 1 wait, 0 run; 12 free, 4 and beside jobs 0 on one node, 3 of 4 whole\n"
                 "1 s: job 1 of 2, type -; 0 wait, 1 run; 8 free, 4 and beside jobs 0 on one node, 2 of 4 whole\n"
                 "1 s: job -1 of 0, type -; 1 wait, 1 run; 8 free, 4 and beside jobs 0 on one node, 2 of 4 whole\n"
                 "2 s: job 2 of 3, type -; 0 wait, 2 run; 6 free, 4 and beside jobs 2 on one node, 1 of 4 whole\n"
                 "2 s: job -1 of 0, type -; 1 wait, 2 run; 6 free, 4 and beside jobs 2 on one node, 1 of 4 whole\n"
                 "3 s: job 3 of 4, type -; 0 wait, 3 run; 3 free, 2 and beside jobs 2 on one node, 0 of 4 whole\n"
                 "3 s: job -1 of 0, type -; 1 wait, 3 run; 3 free, 2 and beside jobs 2 on one node, 0 of 4 whole\n"
                 "4 s: job 4 of 1, type -; 1 wait, 3 run; 3 free, 2 and beside jobs 2 on one node, 0 of 4 whole\n"
                 "4 s: job -1 of 0, type -; 2 wait, 3 run; 3 free, 2 and beside jobs 2 on one node, 0 of 4 whole\n"
                 "10 s: job -1 of 0, type -; 2 wait, 2 run; 7 free, 4 and beside jobs 2 on one node, 1 of 4 whole\n"
                 "20 s: job -1 of 0, type -; 0 wait, 2 run; 7 free, 4 and beside jobs 2 on one node, 1 of 4 whole\n"
                 "21 s: job -1 of 0, type -; 0 wait, 1 run; 9 free, 4 and beside jobs 1 on one node, 2 of 4 whole\n"
                 "25 s: job 5 of 8, type -; 0 wait, 1 run; 9 free, 4 and beside jobs 1 on one node, 2 of 4 whole\n"
                 "25 s: job -1 of 0, type -; 1 wait, 1 run; 9 free, 4 and beside jobs 1 on one node, 2 of 4 whole\n"
                 "32 s: job -1 of 0, type -; 0 wait, 1 run; 4 free, 4 and beside jobs 0 on one node, 1 of 4 whole\n"
                 "35 s: job -1 of 0, type -; 0 wait, 0 run; 12 free, 4 and beside jobs 0 on one node, 3 of 4 whole\n");
}
