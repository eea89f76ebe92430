/* The calendar queue: a calendar of years, months, days and finer, without a width to tune and without rebuilding.
 *
 * There is a level of 256 pages per byte of an event's 128-bit key. An event is filed on the level of the highest byte
 * in which its key differs from `start`, the key at which today begins, on the page that this byte numbers: a date of
 * this month needs a day page, one of next year only a year page. When today is over, the nearest page becomes today
 * if it holds few events; else it is split over the level of the highest byte in which its events differ, and the
 * nearest page of that level is looked at. Events at one time thus are split by priority and owner like any others.
 *
 * A page is a pile of sheets of 25 records. Filing and splitting only stream through them, so a million pending events
 * cost little more than a thousand. Today is put in order once, when it begins; an event that is pushed for today
 * later is put among the next ones by insertion, or goes to a small heap of newcomers.
 *
 * The design is that of the ladder queue (Tang, Goh and Thng 2005) with the fixed radix of a radix heap (Ahuja,
 * Mehlhorn, Orlin and Tarjan 1990); Brown's calendar queue (1988), whose vocabulary it keeps, has one level. */
#ifndef ORRERY_CORE_CALENDAR_H
#define ORRERY_CORE_CALENDAR_H

#include "sim/core/event.h"
#include "sim/core/heap.h"

enum {
    CALENDAR_LEVELS = 16,
    LEVEL_PAGES = 256,
    SHEET_RECORDS = 25,   /* makes a sheet 13 cache lines: an odd number, to spread sheets over the sets of a cache */
    TODAY_RECORDS = 1023, /* half of a first-level cache */
};

struct sheet {
    _Alignas(64) struct event records[SHEET_RECORDS]; /* filled from the end: the first shares its line with `below` */
    struct sheet *below;
};

struct page {
    struct sheet *top; /* the only sheet that may have room */
    uint32_t room;     /* free records of the top sheet, at its beginning */
    uint32_t n_sheets;
};

/* The next event is the last of `today` or the first of `newcomers`. Those on the pages are at `end` or later; a
 * newcomer may be before `start`, when today began too late for it: a handler may schedule at the current time with a
 * smaller priority number than its own. */
struct calendar {
    event_key start, end; /* today's span: start <= key < end */
    size_t n_records;
    unsigned n_today;
    uint32_t levels_in_use; /* one bit per level with a page in use */
    struct heap newcomers;
    size_t max_newcomers; /* with more, today is torn up */
    struct sheet *free_sheets;
    void *slabs;
    size_t n_slabs;
    uint64_t pages_in_use[CALENDAR_LEVELS][LEVEL_PAGES / 64];
    struct page pages[CALENDAR_LEVELS * LEVEL_PAGES];
    struct event today[TODAY_RECORDS]; /* the latest first */
};

struct calendar *calendar_create(void); /* NULL when out of memory */
void calendar_destroy(struct calendar *calendar);

/* Puts one more sheet on a page. 0 or SIM_E_NOMEM. */
int calendar_add_sheet(struct calendar *calendar, unsigned page_number);

/* What calendar_push does with an event for today or before, in registers (event_write). 0 or SIM_E_NOMEM. */
int calendar_push_today(struct calendar *calendar, uint64_t time, uint64_t order, event_fn handler, uintptr_t owner);

/* What calendar_peek does when there are newcomers or today is over. 1, 0 or SIM_E_NOMEM. */
int calendar_peek_slow(struct calendar *calendar, const struct event **next);

/* Removes every dead record and returns how many there were. */
size_t calendar_compact(struct calendar *calendar);

/* Memory held, in use or not. */
size_t calendar_bytes(const struct calendar *calendar);

/* The number of the page for an event later than today: level * LEVEL_PAGES + the byte of that level. */
static inline unsigned calendar_page_number(const struct calendar *calendar, const struct event *event)
{
    uint64_t time_change = event->time ^ (uint64_t)(calendar->start >> 64);
    uint64_t change = time_change ? time_change : event->order ^ (uint64_t)calendar->start;
    unsigned shift = (63 - (unsigned)__builtin_clzll(change | 1)) / 8 * 8;
    unsigned level = shift / 8 + (time_change ? CALENDAR_LEVELS / 2 : 0);
    uint64_t word = time_change ? event->time : event->order;
    return level * LEVEL_PAGES + (unsigned)(word >> shift & (LEVEL_PAGES - 1));
}

/* Puts an event on a page. 0 or SIM_E_NOMEM. */
static inline int calendar_file(struct calendar *calendar, unsigned page_number, struct event event)
{
    struct page *page = &calendar->pages[page_number];
    if (page->room == 0 && calendar_add_sheet(calendar, page_number) != 0) return SIM_E_NOMEM;
    event_write(&page->top->records[--page->room], event);
    return 0;
}

/* 0 or SIM_E_NOMEM. */
static inline int calendar_push(struct calendar *calendar, struct event event)
{
    calendar->n_records++;
    if (event_key_of(&event) < calendar->end)
        return calendar_push_today(calendar, event.time, event.order, event.handler, event.owner);
    return calendar_file(calendar, calendar_page_number(calendar, &event), event);
}

/* Points `next` at the earliest event, valid until the next push. 1, 0 when there is none, or SIM_E_NOMEM. */
static inline int calendar_peek(struct calendar *calendar, const struct event **next)
{
    if (__builtin_expect(calendar->n_today == 0 || calendar->newcomers.n > 0, 0))
        return calendar_peek_slow(calendar, next);
    *next = &calendar->today[calendar->n_today - 1];
    return 1;
}

/* Removes the event `next` that calendar_peek has just found. */
static inline void calendar_drop(struct calendar *calendar, const struct event *next)
{
    calendar->n_records--;
    if (__builtin_expect(next == calendar->newcomers.nodes, 0))
        heap_drop(&calendar->newcomers);
    else
        calendar->n_today--;
}

#endif
