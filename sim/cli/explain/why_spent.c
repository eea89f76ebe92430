#include "sim/cli/explain/why_spent.h"

#include <math.h>

/* Parts of the time from submission to finish, beside the work. */
enum part { PART_WAITED, PART_LOADED, PART_SAVED, PART_MOVED, PART_REPEATED, PART_SLOWER, PARTS };

struct spent {
    double jct_s, work_s, part_s[PARTS];
    double speed_frac; /* mean, over that alone on the GPUs that it asks for */
};

static const char *const member_names[PARTS] = {"waited_for_gpus_s", "loaded_s",   "saved_s",
                                                "moved_s",           "repeated_s", "slower_s"};
static const char *const words[PARTS] = {"waiting for GPUs",     "before it worked", "stalled while it saved",
                                         "moving to other GPUs", "on lost work",     ""};

/* The seconds of lost work follow from its GPU time if the job had the GPUs that it asks for all along. Else they
 * count as slower work. */
static double repeated_s(const struct job_row *job, double executed_s)
{
    const double asked_gpu_s = executed_s * (double)job->gpus;
    const bool is_fixed = job->gpus > 0 && fabs(job->gpu_s - asked_gpu_s) <= 1e-6 * asked_gpu_s;
    return is_fixed ? job->lost_gpu_s / (double)job->gpus : 0;
}

static bool find_spent(const struct story *story, struct spent *spent)
{
    const struct job_row *job = &story->job;
    const struct story_idle *idle = &story->idle;
    if (isnan(job->jct_s) || !(idle->work_s > 0)) return false;
    const double executed_s = job->jct_s - story->waits.total_s;
    const double working_s = executed_s - idle->loaded_s - idle->saved_s - idle->moved_s;
    const double again_s = repeated_s(job, executed_s);
    *spent = (struct spent){.jct_s = job->jct_s, .work_s = idle->work_s,
                            .part_s = {story->waits.total_s, idle->loaded_s, idle->saved_s, idle->moved_s, again_s,
                                       working_s - again_s - idle->work_s},
                            .speed_frac = idle->work_s / (working_s - again_s)};
    const double rounding_s = 1e-6 * job->jct_s; /* lost work has one by its speed, times have nanoseconds */
    if (fabs(spent->part_s[PART_SLOWER]) <= rounding_s) {
        spent->part_s[PART_SLOWER] = 0;
        spent->speed_frac = 1;
    }
    return true;
}

static void say_part(const struct spent *spent, enum part part, struct answer *answer)
{
    const double s = spent->part_s[part];
    if (part == PART_SLOWER)
        answer_say(answer, "%.6g s %s at %.3g %% of its speed alone on the GPUs it asks for", fabs(s),
                   s > 0 ? "more" : "less", 100 * spent->speed_frac);
    else
        answer_say(answer, "%.6g s %s", s, words[part]);
}

void why_say_spent(const struct story *story, struct answer *answer)
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
    answer_say(answer, "took %.6g s for %.6g s of work: ", spent.jct_s, spent.work_s);
    for (int i = 0; i < n; i++) {
        if (i > 0) answer_say(answer, ", ");
        say_part(&spent, order[i], answer);
    }
    answer_say(answer, "\n");
}

void why_write_spent(const struct story *story, struct answer *answer)
{
    struct spent spent;
    if (!find_spent(story, &spent)) return;
    answer_open(answer, "spent", '{');
    answer_number(answer, "work_s", spent.work_s);
    for (int part = 0; part < PARTS; part++) answer_number(answer, member_names[part], spent.part_s[part]);
    answer_close(answer, '}');
}
