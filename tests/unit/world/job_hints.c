/* What jobs that keep GPUs of each other are told when none can start. */
#include "sim/world/jobs/job.h"
#include "tests/support/harness.h"

/* Each hint names what lets jobs exchange more than they may, and no other. */
TEST(hints_name_the_next_way_to_exchange)
{
    static struct jobs jobs;
    static const char *const names[] = {[JOBS_NEVER_EXCHANGE] = "'dispatch'",
                                        [JOBS_TAKE_OWN] = "'jobs.scheduler.swap'",
                                        [JOBS_EXCHANGE] = "keep fewer GPUs"};
    for (int may = JOBS_NEVER_EXCHANGE; may <= JOBS_EXCHANGE; may++) {
        jobs.graph.exchanges = (enum jobs_exchange)may;
        for (int other = JOBS_NEVER_EXCHANGE; other <= JOBS_EXCHANGE; other++)
            CHECK_EQ_INT(strstr(jobs_kept_hint(&jobs), names[other]) != NULL, other == may);
    }
}
