/* A job's progress in closed form, against one that walks through every wait, stretch of work, stall and flush. */
#include "sim/world/jobs/job_progress.h"
#include "tests/support/harness.h"

/* Time at work is whole ns, and so is work: speeds of 1 and 2. */
struct walker {
    struct job_saves saves;
    int64_t speed;
    bool is_paused, hangs;
    sim_ns now, wait_ns, to_save_ns, stall_ns; /* left of each */
    sim_ns work_ns, done_ns, saved_ns;
    sim_ns flushing_ns, flushed_at; /* the save under way */
    sim_ns waited_ns, stalled_ns;
};

static void walk_one(struct walker *walker)
{
    if (walker->is_paused && walker->flushed_at < SIM_NS_MAX) walker->flushed_at++;
    if (walker->wait_ns > 0) {
        walker->wait_ns--;
        walker->waited_ns++;
    } else if (walker->is_paused) {
        /* neither stalls nor works */
    } else if (walker->stall_ns > 0) {
        walker->stall_ns--;
        walker->stalled_ns++;
    } else if (walker->done_ns < walker->work_ns && !walker->hangs) {
        walker->done_ns += walker->speed;
        if (walker->done_ns > walker->work_ns) walker->done_ns = walker->work_ns;
        walker->to_save_ns--;
    }
    walker->now++;
}

static void walk_to(struct walker *walker, sim_ns now)
{
    for (;;) {
        if (walker->flushed_at <= walker->now) walker->saved_ns = walker->flushing_ns;
        if (walker->flushed_at <= walker->now) walker->flushed_at = SIM_NS_MAX;
        const bool works = !walker->is_paused && !walker->hangs;
        if (walker->saves.interval_ns > 0 && works && walker->wait_ns == 0 && walker->stall_ns == 0 &&
            walker->to_save_ns == 0 && walker->done_ns < walker->work_ns) {
            walker->to_save_ns = walker->saves.interval_ns;
            walker->stall_ns = walker->saves.stall_ns;
            walker->flushing_ns = walker->done_ns;
            walker->flushed_at = walker->now + walker->saves.stall_ns + walker->saves.flush_ns;
            if (walker->flushed_at == walker->now) continue;
        }
        if (walker->now == now) return;
        walk_one(walker);
    }
}

static void check_same(const struct walker *walker, const struct job_progress *progress)
{
    CHECK_EQ_INT(job_progress_done_ns(progress, walker->now), walker->done_ns);
    if (walker->done_ns < walker->work_ns) CHECK_EQ_INT(job_progress_saved_ns(progress, walker->now), walker->saved_ns);
    CHECK((job_progress_end_ns(progress) <= walker->now) == (walker->done_ns == walker->work_ns));
}

static void begin(struct walker *walker, struct job_progress *progress, struct rng *rng)
{
    const sim_ns interval_ns = 1 + (sim_ns)rng_below(rng, 30);
    const struct job_saves saves = {interval_ns, (sim_ns)rng_below(rng, 6),
                                    (sim_ns)rng_below(rng, (uint64_t)interval_ns + 1)};
    const sim_ns wait_ns = (sim_ns)rng_below(rng, 10);
    job_progress_begin(progress, walker->now, wait_ns, saves);
    walker->saves = saves;
    walker->to_save_ns = saves.interval_ns;
    walker->wait_ns = wait_ns;
    walker->stall_ns = 0;
    walker->saved_ns = walker->done_ns;
    walker->flushed_at = SIM_NS_MAX;
}

/* Brings it up to any time and looks at any time; now and then it migrates, which is like a wait, fails, pauses or
 * hangs or goes on, or has another speed. Speeds change where work is whole. */
TEST(closed_form_equals_the_walk)
{
    struct rng rng = test_rng(1, "job_progress", 0);
    for (int run = 0; run < 300; run++) {
        struct walker walker = {.speed = 1, .work_ns = 800 + 2 * (sim_ns)rng_below(&rng, 200)};
        struct job_progress progress = {.work_ns = walker.work_ns, .speed = 1};
        begin(&walker, &progress, &rng);
        while (walker.done_ns < walker.work_ns && walker.now < 100000) {
            walk_to(&walker, walker.now + 1 + (sim_ns)rng_below(&rng, 40));
            check_same(&walker, &progress);
            const uint64_t what = rng_below(&rng, 8);
            if (what == 0 && walker.done_ns < walker.work_ns) {
                progress.done_ns = job_progress_saved_ns(&progress, walker.now);
                walker.done_ns = walker.saved_ns;
                begin(&walker, &progress, &rng);
            } else if (what < 6) {
                const sim_ns move_ns = (sim_ns)rng_below(&rng, 12);
                job_progress_move(&progress, walker.now);
                if (what == 2) progress.move_ns += move_ns;
                if (what == 2) walker.wait_ns += move_ns;
                if (what == 1) walker.speed = 3 - walker.speed;
                if (what == 4) progress.is_paused = walker.is_paused = !walker.is_paused;
                if (what == 5) walker.hangs = !walker.hangs;
                progress.speed = walker.is_paused || walker.hangs ? 0 : (double)walker.speed;
            }
        }
        job_progress_move(&progress, walker.now);
        CHECK_EQ_INT(progress.done_ns, progress.work_ns);
    }
}

/* All time is moved, waited, stalled or worked. */
TEST(time_adds_up)
{
    struct rng rng = test_rng(2, "job_progress", 0);
    struct walker walker = {.speed = 1, .work_ns = 5000};
    struct job_progress progress = {.work_ns = 5000, .speed = 1};
    begin(&walker, &progress, &rng);
    for (sim_ns move_ns = 0; progress.done_ns < progress.work_ns; move_ns = 2 + (sim_ns)rng_below(&rng, 5)) {
        progress.move_ns += move_ns;
        walker.wait_ns += move_ns;
        walk_to(&walker, walker.now + 1 + (sim_ns)rng_below(&rng, 70));
        if (walker.now > job_progress_end_ns(&progress)) break;
        job_progress_move(&progress, walker.now);
        CHECK_EQ_INT(progress.moved_ns + progress.waited_ns, walker.waited_ns);
        CHECK_EQ_INT(progress.stalled_ns, walker.stalled_ns);
        CHECK_EQ_INT(walker.waited_ns + progress.stalled_ns + progress.done_ns, walker.now);
    }
}

/* A pause halts what is not waiting: of 40 to 70 the first 10 are still the wait. After the work GPUs are kept. */
TEST(halted_and_kept_time_is_apart)
{
    struct job_progress progress = {.work_ns = 100, .speed = 1};
    job_progress_begin(&progress, 0, 50, (struct job_saves){0});
    job_progress_move(&progress, 40);
    progress.is_paused = true;
    progress.speed = 0;
    job_progress_move(&progress, 70);
    CHECK_EQ_INT(progress.waited_ns, 50);
    CHECK_EQ_INT(progress.halted_ns, 20);
    progress.is_paused = false;
    progress.speed = 0.5;
    CHECK_EQ_INT(job_progress_end_ns(&progress), 270);
    job_progress_move(&progress, 270);
    CHECK_EQ_INT(progress.kept_ns, 0);
    job_progress_move(&progress, 285);
    CHECK_EQ_INT(progress.halted_ns, 20);
    CHECK_EQ_INT(progress.kept_ns, 15);
    CHECK_EQ_INT(progress.done_ns, 100);
}

/* However often its kept time is looked at, and whatever was left of the interval. All its work counts. */
TEST(after_all_its_work_a_job_saves_no_more)
{
    struct rng rng = test_rng(3, "job_progress", 0);
    for (int run = 0; run < 100; run++) {
        struct walker walker = {.speed = 1, .work_ns = 40 + (sim_ns)rng_below(&rng, 100)};
        struct job_progress progress = {.work_ns = walker.work_ns, .speed = 1};
        begin(&walker, &progress, &rng);
        const sim_ns end_ns = job_progress_end_ns(&progress);
        walk_to(&walker, end_ns);
        job_progress_move(&progress, end_ns);
        CHECK_EQ_INT(progress.stalled_ns, walker.stalled_ns);
        for (sim_ns now = end_ns, steps = 0; steps < 10; steps++) {
            CHECK(!job_progress_stalls(&progress, now) && job_progress_turn_ns(&progress) == SIM_NS_MAX);
            now += (sim_ns)rng_below(&rng, 100);
            job_progress_move(&progress, now);
            CHECK_EQ_INT(progress.stalled_ns, walker.stalled_ns);
            CHECK_EQ_INT(progress.kept_ns, now - end_ns);
            CHECK_EQ_INT(progress.saved_ns, progress.work_ns);
            CHECK_EQ_INT(job_progress_end_ns(&progress), now);
        }
    }
}

/* A job without speed ends once nothing is left, and else never. */
TEST(what_is_done_needs_no_speed)
{
    struct job_progress progress = {.work_ns = 7, .done_ns = 7, .from_ns = 100, .wait_ns = 20, .flushed_at = SIM_NS_MAX};
    CHECK_EQ_INT(job_progress_end_ns(&progress), 120);
    progress.done_ns = 6;
    CHECK_EQ_INT(job_progress_end_ns(&progress), SIM_NS_MAX);
}
