/* The calendar queue: a calendar of years, months, days and finer, without a width to tune and without rebuilding.
 *
 * There is a level of 256 pages per byte of an event's 128-bit key. An event is filed on the level of the highest byte
 * in which its key differs from `start`, the key at which today begins, on the page that this byte numbers: a date of
 * this month needs a day page, one of next year only a year page. When today is over, the nearest page becomes today
 * if it holds few events; else it is split over the level of the highest byte in which its events differ, and the
 * nearest page of that level is looked at. Events at one time thus are split by priority and owner like any others.
 *
 * A page is a pile of sheets of 33 records. Filing and splitting only stream through them, so a million pending events
 * cost little more than a thousand. Only today is kept in order.
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
    SHEET_RECORDS = 33, /* makes a sheet 17 cache lines: an odd number, so that sheets spread over the sets of a cache */
    DAY_RECORDS = 8,    /* a page with more events than this is split */
    TODAY_RECORDS = 32, /* today with more events than this sends the later half back */
};

struct sheet {
    _Alignas(64) struct event records[SHEET_RECORDS]; /* filled from the end, so that the first shares its line with `below` */
    struct sheet *below;
};

struct page {
    struct sheet *top; /* the only sheet that may have room */
    uint32_t room;     /* free records of the top sheet, at its beginning */
    uint32_t n_sheets;
};

struct calendar {
    event_key start, end;                   /* today's span: start <= key < end */
    unsigned n_today;
    uint32_t levels_in_use;                 /* one bit per level with a page in use */
    struct event today[TODAY_RECORDS];      /* the latest first: the next event is the last */
    struct heap overtaking;                 /* events before `start`; all others are later */
    struct sheet *free_sheets;
    void *slabs;
    size_t n_slabs;
    uint64_t pages_in_use[CALENDAR_LEVELS][LEVEL_PAGES / 64];
    struct page pages[CALENDAR_LEVELS * LEVEL_PAGES];
};

struct calendar *calendar_create(void); /* NULL when out of memory */
void calendar_destroy(struct calendar *calendar);

/* What calendar_push does when the event is for today or earlier, or its page has no room. 0 or SIM_E_NOMEM. */
int calendar_push_slow(struct calendar *calendar, struct event event);

/* What calendar_peek does when today is over. 1, 0 or SIM_E_NOMEM. */
int calendar_peek_slow(struct calendar *calendar, const struct event **next);

/* Removes every dead record and returns how many there were. */
size_t calendar_compact(struct calendar *calendar);

size_t calendar_bytes(const struct calendar *calendar);

/* The number of the page on which a key later than today is filed: level * LEVEL_PAGES + the byte of that level. */
static inline unsigned calendar_page_number(const struct calendar *calendar, const struct event *event)
{
    uint64_t time_change = event->time ^ (uint64_t)(calendar->start >> 64);
    uint64_t change = time_change ? time_change : event->order ^ (uint64_t)calendar->start;
    unsigned shift = (63 - (unsigned)__builtin_clzll(change | 1)) / 8 * 8;
    unsigned level = shift / 8 + (time_change ? 8 : 0);
    return level * LEVEL_PAGES + (unsigned)((time_change ? event->time : event->order) >> shift & (LEVEL_PAGES - 1));
}

/* 0 or SIM_E_NOMEM. */
static inline int calendar_push(struct calendar *calendar, struct event event)
{
    if (__builtin_expect(event_key_of(&event) >= calendar->end, 1)) {
        struct page *page = &calendar->pages[calendar_page_number(calendar, &event)];
        if (__builtin_expect(page->room > 0, 1)) {
            page->top->records[--page->room] = event;
            return 0;
        }
    }
    return calendar_push_slow(calendar, event);
}

/* Points `next` at the earliest event, valid until the next push. 1, 0 when there is none, or SIM_E_NOMEM. */
static inline int calendar_peek(struct calendar *calendar, const struct event **next)
{
    if (__builtin_expect(calendar->n_today > 0 && calendar->overtaking.n == 0, 1)) {
        *next = &calendar->today[calendar->n_today - 1];
        return 1;
    }
    return calendar_peek_slow(calendar, next);
}

/* Removes the event that calendar_peek has just found. */
static inline void calendar_drop(struct calendar *calendar)
{
    if (__builtin_expect(calendar->overtaking.n == 0, 1))
        calendar->n_today--;
    else
        heap_drop(&calendar->overtaking);
}

#endif
