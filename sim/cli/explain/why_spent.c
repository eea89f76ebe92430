#include "sim/cli/explain/why_spent.h"

#include <math.h>
#include <string.h>

/* Parts of the time from submission to finish, beside the work. */
enum part {
    PART_BEFORE,
    PART_WAITED,
    PART_LOADED,
    PART_SAVED,
    PART_MOVED,
    PART_HALTED,
    PART_KEPT,
    PART_REPEATED,
    PART_SLOWER,
    PARTS
};

struct spent {
    double jct_s, work_s, part_s[PARTS];
    double speed_frac; /* mean while it worked, over that alone on the GPUs that it asks for */
};

static const struct {
    const char *member, *words;
} parts[PARTS] = {[PART_BEFORE] = {"waited_for_jobs_s", "waiting for the jobs that it comes after"},
                  [PART_WAITED] = {"waited_for_gpus_s", "waiting for GPUs"},
                  [PART_LOADED] = {"loaded_s", "before it worked"},
                  [PART_SAVED] = {"saved_s", "stalled while it saved"},
                  [PART_MOVED] = {"moved_s", "moving to other GPUs"},
                  [PART_HALTED] = {"halted_s", "paused or hung on its GPUs"},
                  [PART_KEPT] = {"kept_s", "after its work, on GPUs kept for others"},
                  [PART_REPEATED] = {"repeated_s", "on lost work"},
                  [PART_SLOWER] = {"slower_s", ""}};

/* The seconds of lost work follow from its GPU time if the job had the GPUs that it asks for all along. Else they
 * count as slower work. */
static double repeated_s(const struct job_row *job, double executed_s)
{
    const double asked_gpu_s = executed_s * (double)job->gpus;
    const bool is_fixed = job->gpus > 0 && fabs(job->gpu_s - asked_gpu_s) <= 1e-6 * asked_gpu_s;
    return is_fixed ? job->lost_gpu_s / (double)job->gpus : 0;
}

/* A stopped job has done only some of its work. */
static bool has_ended(const struct job_row *job)
{
    return !isnan(job->jct_s) && strcmp(job->status, "stopped") != 0;
}

static bool find_spent(const struct story *story, struct spent *spent)
{
    const struct job_row *job = &story->job;
    const struct story_idle *idle = &story->idle;
    if (!has_ended(job) || !(idle->work_s > 0)) return false;
    const double queued_s = isnan(story->queued_s) ? job->start_s : story->queued_s; /* NAN: it needs no node */
    const double before_s = queued_s - job->submit_s;
    const double executed_s = job->jct_s - before_s - story->waits.total_s;
    const double working_s = executed_s - idle->loaded_s - idle->saved_s - idle->moved_s - idle->halted_s -
                             idle->kept_s;
    const double again_s = repeated_s(job, executed_s);
    *spent = (struct spent){.jct_s = job->jct_s, .work_s = idle->work_s,
                            .part_s = {[PART_BEFORE] = before_s, [PART_WAITED] = story->waits.total_s,
                                       [PART_LOADED] = idle->loaded_s, [PART_SAVED] = idle->saved_s,
                                       [PART_MOVED] = idle->moved_s, [PART_HALTED] = idle->halted_s,
                                       [PART_KEPT] = idle->kept_s, [PART_REPEATED] = again_s,
                                       [PART_SLOWER] = working_s - again_s - idle->work_s},
                            .speed_frac = idle->work_s / (working_s - again_s)};
    const double rounding_s = 1e-6 * job->jct_s; /* lost work has one by its speed, times have nanoseconds */
    if (fabs(spent->part_s[PART_SLOWER]) <= rounding_s) {
        spent->part_s[PART_SLOWER] = 0;
        spent->speed_frac = 1;
    }
    return true;
}

/* What the end was, unless the job has finished. */
static const char *until(const struct job_row *job)
{
    if (strcmp(job->status, "failed") == 0) return " until it failed,";
    return strcmp(job->status, "cancelled") == 0 ? " until it was cancelled," : "";
}

static void say_part(const struct spent *spent, const struct job_row *job, enum part part, struct answer *answer)
{
    const double s = spent->part_s[part];
    if (part == PART_SLOWER)
        answer_say(answer, "%.6g s %s at %.3g %% of its speed alone on the GPUs it asks for", fabs(s),
                   s > 0 ? "more" : "less", 100 * spent->speed_frac);
    else if (part == PART_WAITED && job->gpus == 0)
        answer_say(answer, "%.6g s waiting for CPU cores and memory", s);
    else
        answer_say(answer, "%.6g s %s", s, parts[part].words);
}

/* How often a job saves, also one that has not ended, or that ended before its first save. */
static void say_interval(const struct story *story, struct answer *answer)
{
    const struct story_idle *idle = &story->idle;
    if (idle->has_interval)
        answer_say(answer, "%s its state after every %.6g s of work, as its checkpointing policy chose last%s\n",
                   idle->has_saved ? "saves" : "would save", idle->save_interval_s,
                   idle->has_saved ? "" : "; it began no save");
}

static void say_parts(const struct story *story, struct answer *answer)
{
    struct spent spent;
    enum part order[PARTS];
    int n = 0;
    if (!find_spent(story, &spent)) return;
    for (int part = 0; part < PARTS; part++) {
        int place = n;
        if (fabs(spent.part_s[part]) < 1e-9) continue;
        for (; place > 0 && fabs(spent.part_s[order[place - 1]]) < fabs(spent.part_s[part]); place--)
            order[place] = order[place - 1];
        order[place] = (enum part)part;
        n++;
    }
    if (n == 0 || (n == 1 && order[0] == PART_WAITED)) return;
    answer_say(answer, "took %.6g s%s for %.6g s of work: ", spent.jct_s, until(&story->job), spent.work_s);
    for (int i = 0; i < n; i++) {
        if (i > 0) answer_say(answer, ", ");
        say_part(&spent, &story->job, order[i], answer);
    }
    answer_say(answer, "\n");
}

void why_say_spent(const struct story *story, struct answer *answer)
{
    say_parts(story, answer);
    say_interval(story, answer);
}

void why_write_spent(const struct story *story, struct answer *answer)
{
    struct spent spent;
    if (story->idle.has_interval) answer_number(answer, "checkpoint_interval_s", story->idle.save_interval_s);
    if (!find_spent(story, &spent)) return;
    answer_open(answer, "spent", '{');
    answer_number(answer, "work_s", spent.work_s);
    for (int part = 0; part < PARTS; part++) answer_number(answer, parts[part].member, spent.part_s[part]);
    answer_close(answer, '}');
}
