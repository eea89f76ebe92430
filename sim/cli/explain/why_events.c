#include "sim/cli/explain/why_events.h"

#include <stdlib.h>

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

void why_say_events(const struct story *story, struct answer *answer)
{
    for (size_t i = 0; i < story->n_events; i++)
        answer_say(answer, "%14.6f s  %-8s %s\n", story->events[i].t_s, story->events[i].what, story->events[i].text);
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
