#include "sim/cli/explain/why_events.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_events(const void *a, const void *b)
{
    const struct story_event *x = a, *y = b;
    if (x->t_s != y->t_s) return x->t_s < y->t_s ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

void why_sort_events(struct story *story)
{
    if (story->n_events > 0) qsort(story->events, story->n_events, sizeof *story->events, compare_events);
}

void why_say_speeds(double least_frac, double most_frac, struct answer *answer)
{
    answer_say(answer, "runs at %.3g", 100 * least_frac);
    if (most_frac > least_frac) answer_say(answer, " to %.3g", 100 * most_frac);
    answer_say(answer, " %% of its full speed");
}

/* Clocks of a job one after the other, the last of which is the highest. */
struct clocks {
    size_t n, n_lower; /* events; commands among them */
    double lower_s, least_frac, most_frac;
};

/* Of the events from `from` on; n 0: less than two lower clocks that end. */
static struct clocks find_clocks(const struct story *story, size_t from)
{
    struct clocks all = {.least_frac = (double)INFINITY}, ended = {0};
    for (size_t i = from; i < story->n_events && !isnan(story->events[i].speed_frac); i++) {
        const struct story_event *event = &story->events[i], *before = event - 1;
        if (i > from && before->speed_frac < 1) all.lower_s += event->t_s - before->t_s;
        all.n++;
        if (event->speed_frac < 1) {
            all.n_lower++;
            all.least_frac = fmin(all.least_frac, event->speed_frac);
            all.most_frac = fmax(all.most_frac, event->speed_frac);
        } else if (all.n_lower > 1) {
            ended = all;
        }
    }
    return ended;
}

static void say_event(const struct story_event *event, struct answer *answer)
{
    answer_say(answer, "%14.6f s  %-8s %s\n", event->t_s, event->what, event->text);
}

static void say_clocks(const struct story_event *first, const struct clocks *clocks, struct answer *answer)
{
    answer_say(answer, "%14.6f s  %-8s %zu lower clocks up to %.6f s, for %.6g s in all: ", first->t_s, first->what,
               clocks->n_lower, first[clocks->n - 1].t_s, clocks->lower_s);
    why_say_speeds(clocks->least_frac, clocks->most_frac, answer);
    answer_say(answer, "; --all shows each\n");
}

/* Pieces of a long prompt: from the event of a chunk on, chunks and the iterations with them. 0: they are few. */
static size_t find_pieces(const struct story *story, size_t from)
{
    enum { FEW = 12 };
    size_t n = 0;
    for (; from + n < story->n_events; n++)
        if (strcmp(story->events[from + n].what, n % 2 == 0 ? "chunk" : "prefill") != 0) break;
    n -= n % 2;
    return n > FEW ? n : 0;
}

/* The first piece and the last one, and how many are between. */
static void say_pieces(const struct story_event *first, size_t n, struct answer *answer)
{
    for (size_t i = 0; i < 2; i++) say_event(&first[i], answer);
    answer_say(answer, "%14.6f s  %-8s %zu more pieces of its prompt, up to %.6f s; --all shows each\n", first[2].t_s,
               first[2].what, n / 2 - 2, first[n - 3].t_s);
    for (size_t i = n - 2; i < n; i++) say_event(&first[i], answer);
}

/* Nodes on which a job holds equally many GPUs for one stretch of time, from the event of the first of them on. 0:
 * they are few. */
static size_t find_holds(const struct story *story, size_t from)
{
    enum { FEW = 8 };
    const struct story_event *first = &story->events[from];
    size_t n = 0;
    if (first->held_gpus == 0) return 0;
    for (const struct story_event *event = first; from + n < story->n_events; n++, event++)
        if (event->held_gpus != first->held_gpus || event->t_s != first->t_s || event->held_s != first->held_s) break;
    return n > FEW ? n : 0;
}

static void say_holds(const struct story_event *first, size_t n, struct answer *answer)
{
    answer_say(answer,
               "%14.6f s  %-8s %" PRId64 " GPUs, %" PRId64 " on each of %zu nodes (--all shows each), for %.6g s\n",
               first->t_s, first->what, (int64_t)n * first->held_gpus, first->held_gpus, n, first->held_s);
}

void why_say_events(const struct story *story, bool all, struct answer *answer)
{
    for (size_t i = 0; i < story->n_events;) {
        const struct clocks clocks = all ? (struct clocks){0} : find_clocks(story, i);
        const size_t n_pieces = all ? 0 : find_pieces(story, i), n_holds = all ? 0 : find_holds(story, i);
        if (clocks.n > 0)
            say_clocks(&story->events[i], &clocks, answer);
        else if (n_pieces > 0)
            say_pieces(&story->events[i], n_pieces, answer);
        else if (n_holds > 0)
            say_holds(&story->events[i], n_holds, answer);
        else
            say_event(&story->events[i], answer);
        i += clocks.n > 0 ? clocks.n : n_pieces > 0 ? n_pieces : n_holds > 0 ? n_holds : 1;
    }
}

void why_write_events(const struct story *story, struct answer *answer)
{
    static const struct table_column columns[] = {RIGHT("t_s"), LEFT("what"), LEFT("text")};
    struct answer_table events;
    TABLE_INIT(&events, columns);
    for (size_t i = 0; i < story->n_events; i++) {
        table_number(&events, story->events[i].t_s);
        table_text(&events, story->events[i].what);
        table_text(&events, story->events[i].text);
    }
    answer_add(answer, "events", NULL, &events);
}

/* Parts of a request's queue time, the longest first. Returns their number. */
static int list_parts(const struct story_blocked *blocked, int kinds[static N_BLOCKED])
{
    int n = 0;
    for (int kind = 0; kind < N_BLOCKED; kind++) {
        const sim_ns part_ns = blocked_ns(blocked, kind);
        int place = n;
        if (part_ns == 0) continue;
        for (; place > 0 && blocked_ns(blocked, kinds[place - 1]) < part_ns; place--) kinds[place] = kinds[place - 1];
        kinds[place] = kind;
        n++;
    }
    return n;
}

void why_say_blocked(const struct story *story, struct answer *answer)
{
    int kinds[N_BLOCKED];
    const int n = list_parts(&story->blocked, kinds);
    sim_ns all_ns = 0;
    for (int i = 0; i < n; i++) all_ns += blocked_ns(&story->blocked, kinds[i]);
    if (n == 0) return;
    answer_say(answer, "queued for %.9f s%s, of which\n", sim_s_from_ns(all_ns),
               isnan(story->request.queue_s) ? ", not admitted" : "");
    for (int i = 0; i < n; i++) {
        const sim_ns behind_ns = story->blocked.part_ns[kinds[i]][1];
        answer_say(answer, "%16.9f s  %s", sim_s_from_ns(blocked_ns(&story->blocked, kinds[i])),
                   blocked_text(kinds[i]));
        if (behind_ns > 0) answer_say(answer, "; %.9f s of it behind others", sim_s_from_ns(behind_ns));
        answer_say(answer, "\n");
    }
}

void why_write_blocked(const struct story *story, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("what"), RIGHT("time_s"), RIGHT("behind_s")};
    struct answer_table parts;
    int kinds[N_BLOCKED];
    const int n = list_parts(&story->blocked, kinds);
    TABLE_INIT(&parts, columns);
    for (int i = 0; i < n; i++) {
        table_text(&parts, blocked_text(kinds[i]));
        table_number(&parts, sim_s_from_ns(blocked_ns(&story->blocked, kinds[i])));
        table_number(&parts, sim_s_from_ns(story->blocked.part_ns[kinds[i]][1]));
    }
    answer_add(answer, "queue_parts", NULL, &parts);
}
