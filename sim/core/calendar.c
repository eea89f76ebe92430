#include "sim/core/calendar.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"

#include <string.h>

enum { SLAB_SHEETS = 60, LINE_BYTES = 64, SLAB_BYTES = SLAB_SHEETS * sizeof(struct sheet) + 2 * LINE_BYTES };

_Static_assert(sizeof(struct sheet) / LINE_BYTES % 2 == 1, "sheets must not all start in the same sets of a cache");

#define END_OF_TIME (~(event_key)0)

/* An empty calendar has only today, which lasts until it is overfull. */
static void clear_today(struct calendar *calendar)
{
    calendar->start = 0;
    calendar->end = END_OF_TIME;
    calendar->n_today = 0;
}

struct calendar *calendar_create(void)
{
    struct calendar *calendar = mem_zalloc(1, sizeof *calendar);
    if (calendar == NULL) return NULL;
    heap_init(&calendar->overtaking);
    clear_today(calendar);
    return calendar;
}

void calendar_destroy(struct calendar *calendar)
{
    if (calendar == NULL) return;
    for (void *slab = calendar->slabs, *before; slab != NULL; slab = before) {
        memcpy(&before, slab, sizeof before);
        mem_free(slab);
    }
    heap_fini(&calendar->overtaking);
    mem_free(calendar);
}

size_t calendar_bytes(const struct calendar *calendar)
{
    return sizeof *calendar + calendar->n_slabs * SLAB_BYTES + heap_bytes(&calendar->overtaking);
}

/* A slab starts with the address of the one before it. */
static int add_slab(struct calendar *calendar)
{
    char *slab = mem_alloc(SLAB_BYTES);
    if (slab == NULL) return SIM_E_NOMEM;
    memcpy(slab, &calendar->slabs, sizeof calendar->slabs);
    calendar->slabs = slab;
    calendar->n_slabs++;
    uintptr_t first = ((uintptr_t)slab + sizeof calendar->slabs + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    struct sheet *sheets = (struct sheet *)first;
    for (size_t i = SLAB_SHEETS; i-- > 0;) {
        sheets[i].below = calendar->free_sheets;
        calendar->free_sheets = &sheets[i];
    }
    return 0;
}

static void give_sheet(struct calendar *calendar, struct sheet *sheet)
{
    sheet->below = calendar->free_sheets;
    calendar->free_sheets = sheet;
}

static int add_sheet(struct calendar *calendar, unsigned number)
{
    if (calendar->free_sheets == NULL && add_slab(calendar) != 0) return SIM_E_NOMEM;
    struct sheet *sheet = calendar->free_sheets;
    struct page *page = &calendar->pages[number];
    calendar->free_sheets = sheet->below;
    sheet->below = page->top;
    page->top = sheet;
    page->room = SHEET_RECORDS;
    page->n_sheets++;
    calendar->levels_in_use |= 1u << number / LEVEL_PAGES;
    calendar->pages_in_use[number / LEVEL_PAGES][number % LEVEL_PAGES / 64] |= UINT64_C(1) << number % 64;
    return 0;
}

static int file_event(struct calendar *calendar, unsigned number, const struct event *event)
{
    struct page *page = &calendar->pages[number];
    if (page->room == 0 && add_sheet(calendar, number) != 0) return SIM_E_NOMEM;
    page->top->records[--page->room] = *event;
    return 0;
}

/* Takes everything off a page. */
static struct page clear_page(struct calendar *calendar, unsigned number)
{
    struct page page = calendar->pages[number];
    uint64_t *in_use = calendar->pages_in_use[number / LEVEL_PAGES];
    calendar->pages[number] = (struct page){0};
    in_use[number % LEVEL_PAGES / 64] &= ~(UINT64_C(1) << number % 64);
    if ((in_use[0] | in_use[1] | in_use[2] | in_use[3]) == 0) calendar->levels_in_use &= ~(1u << number / LEVEL_PAGES);
    return page;
}

/* Sends the later half of today to the pages; today ends where they begin. */
static int shorten_today(struct calendar *calendar)
{
    unsigned n_later = calendar->n_today / 2;
    for (unsigned i = 0; i < n_later; i++)
        if (file_event(calendar, calendar_page_number(calendar, &calendar->today[i]), &calendar->today[i]) != 0)
            return SIM_E_NOMEM;
    calendar->end = event_key_of(&calendar->today[n_later - 1]);
    calendar->n_today -= n_later;
    memmove(calendar->today, calendar->today + n_later, calendar->n_today * sizeof *calendar->today);
    return 0;
}

static void add_to_today(struct calendar *calendar, const struct event *event)
{
    struct event *today = calendar->today;
    unsigned i = calendar->n_today++;
    for (; i > 0 && event_before(&today[i - 1], event); i--) today[i] = today[i - 1];
    today[i] = *event;
}

int calendar_push_slow(struct calendar *calendar, struct event event)
{
    event_key key = event_key_of(&event);
    if (key < calendar->start) return heap_push(&calendar->overtaking, event);
    if (key < calendar->end && calendar->n_today == TODAY_RECORDS && shorten_today(calendar) != 0) return SIM_E_NOMEM;
    if (key >= calendar->end) return file_event(calendar, calendar_page_number(calendar, &event), &event);
    add_to_today(calendar, &event);
    return 0;
}

/* The page that comes first: all on a lower level are earlier than all on a higher one. */
static unsigned nearest_page(const struct calendar *calendar)
{
    unsigned level = (unsigned)__builtin_ctz(calendar->levels_in_use), word = 0;
    const uint64_t *in_use = calendar->pages_in_use[level];
    while (in_use[word] == 0) word++;
    return level * LEVEL_PAGES + word * 64 + (unsigned)__builtin_ctzll(in_use[word]);
}

/* Makes the events of a page today: each goes behind as many as are later. */
static void open_day(struct calendar *calendar, struct page page, unsigned n)
{
    const struct event *events = page.top->records + page.room;
    unsigned n_later[DAY_RECORDS] = {0};
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = 0; k < i; k++) {
            bool before = event_before(&events[i], &events[k]);
            n_later[i] += before;
            n_later[k] += !before;
        }
    for (unsigned i = 0; i < n; i++) calendar->today[n_later[i]] = events[i];
    calendar->n_today = n;
    give_sheet(calendar, page.top);
}

/* The highest level on which the events of a page differ, which is below the page's own. */
static unsigned level_of_difference(struct page page)
{
    event_key difference = 0, first = event_key_of(&page.top->records[page.room]);
    for (const struct sheet *sheet = page.top; sheet != NULL; sheet = sheet->below, page.room = 0)
        for (unsigned i = page.room; i < SHEET_RECORDS; i++) difference |= event_key_of(&sheet->records[i]) ^ first;
    uint64_t time = (uint64_t)(difference >> 64), order = (uint64_t)difference;
    if (time == 0 && order == 0) SIM_BUG("two owners of pending events have the same id");
    return time ? 15 - (unsigned)__builtin_clzll(time) / 8 : 7 - (unsigned)__builtin_clzll(order) / 8;
}

/* Distributes the events of a page over the pages of the level on which they differ. */
static int split_page(struct calendar *calendar, struct page page)
{
    unsigned level = level_of_difference(page), shift = level % 8 * 8;
    calendar->start = event_key_of(&page.top->records[page.room]) >> (level + 1) * 8 << (level + 1) * 8;
    for (struct sheet *sheet = page.top, *below; sheet != NULL; sheet = below, page.room = 0) {
        below = sheet->below;
        for (unsigned i = page.room; i < SHEET_RECORDS; i++) {
            const struct event *event = &sheet->records[i];
            uint64_t word = level < 8 ? event->order : event->time;
            if (file_event(calendar, level * LEVEL_PAGES + (unsigned)(word >> shift & (LEVEL_PAGES - 1)), event) != 0)
                return SIM_E_NOMEM;
        }
        give_sheet(calendar, sheet);
    }
    return 0;
}

int calendar_peek_slow(struct calendar *calendar, const struct event **next)
{
    if (calendar->overtaking.n > 0) {
        *next = &calendar->overtaking.nodes[0];
        return 1;
    }
    while (calendar->n_today == 0) {
        if (calendar->levels_in_use == 0) {
            clear_today(calendar);
            return 0;
        }
        unsigned number = nearest_page(calendar), level = number / LEVEL_PAGES;
        struct page page = clear_page(calendar, number);
        unsigned n = page.n_sheets * SHEET_RECORDS - page.room;
        if (n > DAY_RECORDS) {
            if (split_page(calendar, page) != 0) return SIM_E_NOMEM;
            continue;
        }
        calendar->start = event_key_of(&page.top->records[page.room]) >> level * 8 << level * 8;
        calendar->end = calendar->start + ((event_key)1 << level * 8);
        open_day(calendar, page, n);
    }
    *next = &calendar->today[calendar->n_today - 1];
    return 1;
}

/* Copies each sheet and frees it before its live records are filed again, so that this cannot run out of memory. */
static size_t compact_page(struct calendar *calendar, unsigned number)
{
    struct page page = clear_page(calendar, number);
    size_t n_dead = 0;
    for (struct sheet *sheet = page.top, copy; sheet != NULL; sheet = copy.below, page.room = 0) {
        copy = *sheet;
        give_sheet(calendar, sheet);
        for (unsigned i = page.room; i < SHEET_RECORDS; i++) {
            if (event_is_dead(&copy.records[i]))
                n_dead++;
            else
                SIM_REQUIRE(file_event(calendar, number, &copy.records[i]) == 0);
        }
    }
    return n_dead;
}

size_t calendar_compact(struct calendar *calendar)
{
    unsigned n_today = calendar->n_today;
    calendar->n_today = 0;
    for (unsigned i = 0; i < n_today; i++)
        if (!event_is_dead(&calendar->today[i])) calendar->today[calendar->n_today++] = calendar->today[i];
    size_t n_dead = n_today - calendar->n_today + heap_compact(&calendar->overtaking);
    for (unsigned number = 0; number < CALENDAR_LEVELS * LEVEL_PAGES; number++)
        if (calendar->pages[number].n_sheets > 0) n_dead += compact_page(calendar, number);
    return n_dead;
}
