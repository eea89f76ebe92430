#include "tests/bench/peers/brown.h"

#include "sim/core/mem.h"

#include <string.h>

enum { SLAB_NODES = 4096, MIN_DAYS = 2, SAMPLE_EVENTS = 25 };

struct slab {
    struct slab *before;
    struct brown_node nodes[SLAB_NODES];
};

int brown_init(struct brown *brown)
{
    *brown = (struct brown){.n_days = MIN_DAYS, .width_ns = 1};
    brown->days = mem_zalloc(MIN_DAYS, sizeof *brown->days);
    return brown->days != NULL ? 0 : SIM_E_NOMEM;
}

void brown_fini(struct brown *brown)
{
    for (struct slab *slab = brown->slabs, *before; slab != NULL; slab = before) {
        before = slab->before;
        mem_free(slab);
    }
    mem_free(brown->days);
}

static struct brown_node *take_node(struct brown *brown)
{
    if (brown->free_nodes == NULL) {
        struct slab *slab = mem_alloc(sizeof *slab);
        if (slab == NULL) return NULL;
        slab->before = brown->slabs;
        brown->slabs = slab;
        for (size_t i = SLAB_NODES; i-- > 0;) {
            slab->nodes[i].next = brown->free_nodes;
            brown->free_nodes = &slab->nodes[i];
        }
    }
    struct brown_node *node = brown->free_nodes;
    brown->free_nodes = node->next;
    return node;
}

static void insert(struct brown *brown, struct brown_node *node)
{
    uint64_t day = node->event.time / brown->width_ns;
    struct brown_node **place = &brown->days[day & (brown->n_days - 1)];
    while (*place != NULL && event_before(&(*place)->event, &node->event)) place = &(*place)->next;
    node->next = *place;
    *place = node;
    if (day < brown->today) brown->today = day;
}

/* Takes the earliest event off the calendar: the first of a day of this year, or else of all. There is one. */
static struct brown_node *take_first(struct brown *brown)
{
    struct brown_node **first = NULL;
    for (size_t i = 0; i < brown->n_days; i++, brown->today++) {
        first = &brown->days[brown->today & (brown->n_days - 1)];
        if (*first != NULL && (*first)->event.time / brown->width_ns == brown->today) break;
        first = NULL;
    }
    if (first == NULL) {
        for (size_t i = 0; i < brown->n_days; i++) {
            struct brown_node **head = &brown->days[i];
            if (*head != NULL && (first == NULL || event_before(&(*head)->event, &(*first)->event))) first = head;
        }
        brown->today = (*first)->event.time / brown->width_ns;
    }
    struct brown_node *node = *first;
    *first = node->next;
    return node;
}

/* Three times the mean separation of the next events, leaving out separations of more than twice the mean. */
static uint64_t estimate_width_ns(struct brown *brown)
{
    struct brown_node *sample[SAMPLE_EVENTS];
    size_t n = brown->n < SAMPLE_EVENTS ? brown->n : SAMPLE_EVENTS;
    uint64_t today = brown->today, sum = 0, n_close = 0;
    for (size_t i = 0; i < n; i++) sample[i] = take_first(brown);
    brown->today = today;
    for (size_t i = 0; i < n; i++) insert(brown, sample[i]);
    if (n < 2) return brown->width_ns;
    uint64_t mean = (sample[n - 1]->event.time - sample[0]->event.time) / (n - 1);
    for (size_t i = 1; i < n; i++) {
        uint64_t separation = sample[i]->event.time - sample[i - 1]->event.time;
        if (separation > 2 * mean) continue;
        sum += separation;
        n_close++;
    }
    uint64_t width = n_close > 0 ? 3 * sum / n_close : 0;
    return width > 0 ? width : 1;
}

static int resize(struct brown *brown, size_t n_days)
{
    struct brown_node **days = mem_zalloc(n_days, sizeof *days);
    if (days == NULL) return SIM_E_NOMEM;
    uint64_t width_ns = estimate_width_ns(brown), now_ns = brown->today * brown->width_ns;
    struct brown old = *brown;
    brown->days = days;
    brown->n_days = n_days;
    brown->width_ns = width_ns;
    brown->today = now_ns / width_ns;
    for (size_t i = 0; i < old.n_days; i++)
        for (struct brown_node *node = old.days[i], *next; node != NULL; node = next) {
            next = node->next;
            insert(brown, node);
        }
    mem_free(old.days);
    return 0;
}

int brown_push(struct brown *brown, const struct event *event)
{
    struct brown_node *node = take_node(brown);
    if (node == NULL) return SIM_E_NOMEM;
    node->event = *event;
    insert(brown, node);
    return ++brown->n > 2 * brown->n_days ? resize(brown, 2 * brown->n_days) : 0;
}

int brown_pop(struct brown *brown, struct event *event)
{
    if (brown->n == 0) return 0;
    struct brown_node *node = take_first(brown);
    *event = node->event;
    node->next = brown->free_nodes;
    brown->free_nodes = node;
    if (--brown->n < brown->n_days / 2 && brown->n_days > MIN_DAYS && resize(brown, brown->n_days / 2) != 0)
        return SIM_E_NOMEM;
    return 1;
}
