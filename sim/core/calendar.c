#include "sim/core/calendar.h"

#include "sim/core/check.h"
#include "sim/core/mem.h"

#include <string.h>

enum {
    LINE_BYTES = 64,
    SLAB_SHEETS = 60,
    SLAB_BYTES = SLAB_SHEETS * sizeof(struct sheet) + 2 * LINE_BYTES,

    FEW_RECORDS = 8,       /* are put in order by comparing each with each */
    HOLE_RECORDS = 16,     /* more of them in one pigeonhole, and a page is split rather than put in order */
    PART_OF_ALL = 16,      /* today begins with at most this part of all events, or newcomers would be the rule, ... */
    SMALL_PART = 40,       /* ... and so many more */
    NEAR_RECORDS = 8,      /* a newcomer before the last of these is inserted into today */
    MAX_NEWCOMERS = 32,    /* others that may come before today is torn up */
    PREFETCH_SHEETS = 128, /* the owners of the events of so many sheets stay in the cache until these fire */
};

_Static_assert(sizeof(struct sheet) / LINE_BYTES % 2 == 1, "sheets must not all start in the same sets of a cache");

#define END_OF_TIME (~(event_key)0)

static void begin_today(struct calendar *calendar, event_key start, event_key end)
{
    calendar->start = start;
    calendar->end = end;
    calendar->max_newcomers = MAX_NEWCOMERS;
}

/* Without an event on a page, today is all of time. */
struct calendar *calendar_create(void)
{
    struct calendar *calendar = mem_zalloc(1, sizeof *calendar);
    if (calendar == NULL) return NULL;
    heap_init(&calendar->newcomers);
    begin_today(calendar, 0, END_OF_TIME);
    return calendar;
}

void calendar_destroy(struct calendar *calendar)
{
    if (calendar == NULL) return;
    for (void *slab = calendar->slabs, *before; slab != NULL; slab = before) {
        memcpy(&before, slab, sizeof before);
        mem_free(slab);
    }
    heap_fini(&calendar->newcomers);
    mem_free(calendar);
}

size_t calendar_bytes(const struct calendar *calendar)
{
    return sizeof *calendar + calendar->n_slabs * SLAB_BYTES + heap_bytes(&calendar->newcomers);
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

int calendar_add_sheet(struct calendar *calendar, unsigned page_number)
{
    if (calendar->free_sheets == NULL && add_slab(calendar) != 0) return SIM_E_NOMEM;
    unsigned level = page_number / LEVEL_PAGES, byte = page_number % LEVEL_PAGES;
    struct page *page = &calendar->pages[page_number];
    struct sheet *sheet = calendar->free_sheets;
    calendar->free_sheets = sheet->below;
    sheet->below = page->top;
    page->top = sheet;
    page->room = SHEET_RECORDS;
    page->n_sheets++;
    calendar->levels_in_use |= 1u << level;
    calendar->pages_in_use[level][byte / 64] |= UINT64_C(1) << byte % 64;
    return 0;
}

/* Takes everything off a page. */
static struct page clear_page(struct calendar *calendar, unsigned page_number)
{
    unsigned level = page_number / LEVEL_PAGES, byte = page_number % LEVEL_PAGES;
    uint64_t *in_use = calendar->pages_in_use[level];
    struct page page = calendar->pages[page_number];
    calendar->pages[page_number] = (struct page){0};
    in_use[byte / 64] &= ~(UINT64_C(1) << byte % 64);
    if ((in_use[0] | in_use[1] | in_use[2] | in_use[3]) == 0) calendar->levels_in_use &= ~(1u << level);
    return page;
}

static size_t n_records_of(struct page page)
{
    return (size_t)page.n_sheets * SHEET_RECORDS - page.room;
}

static const struct event *first_record_of(struct page page)
{
    return &page.top->records[page.room];
}

/* The page that comes first: all on a lower level are earlier than all on a higher one. */
static unsigned nearest_page(const struct calendar *calendar)
{
    unsigned level = (unsigned)__builtin_ctz(calendar->levels_in_use), word = 0;
    const uint64_t *in_use = calendar->pages_in_use[level];
    while (in_use[word] == 0) word++;
    return level * LEVEL_PAGES + word * 64 + (unsigned)__builtin_ctzll(in_use[word]);
}

static int file_anew(struct calendar *calendar, struct event event)
{
    return calendar_file(calendar, calendar_page_number(calendar, &event), event);
}

/* Sends today's events back to the pages, of which finer ones will be today. Only those before `start` stay. */
static int tear_up_today(struct calendar *calendar)
{
    struct heap *newcomers = &calendar->newcomers;
    size_t n_newcomers = newcomers->n;
    unsigned n_filed = 0;
    calendar->end = calendar->start;
    for (; n_filed < calendar->n_today && event_key_of(&calendar->today[n_filed]) >= calendar->start; n_filed++)
        if (file_anew(calendar, calendar->today[n_filed]) != 0) return SIM_E_NOMEM;
    calendar->n_today -= n_filed;
    memmove(calendar->today, calendar->today + n_filed, calendar->n_today * sizeof *calendar->today);
    newcomers->n = 0;
    for (size_t i = 0; i < n_newcomers; i++) {
        struct event event = newcomers->nodes[i];
        if (event_key_of(&event) < calendar->start)
            newcomers->nodes[newcomers->n++] = event;
        else if (file_anew(calendar, event) != 0)
            return SIM_E_NOMEM;
    }
    heap_order(newcomers);
    calendar->max_newcomers = 2 * newcomers->n + MAX_NEWCOMERS;
    return 0;
}

/* Inserts an event that is among the next ones of today; false, with nothing done, when it is later than these. */
static bool insert_soon(struct calendar *calendar, struct event event)
{
    struct event *today = calendar->today;
    unsigned n = calendar->n_today;
    if (n == TODAY_RECORDS || (n > NEAR_RECORDS && event_before(&today[n - NEAR_RECORDS - 1], &event))) return false;
    for (; n > 0 && event_before(&today[n - 1], &event); n--) today[n] = today[n - 1];
    event_write(&today[n], event);
    calendar->n_today++;
    return true;
}

int calendar_push_today(struct calendar *calendar, uint64_t time, uint64_t order, event_fn handler, uintptr_t owner)
{
    struct event event = {time, order, handler, owner};
    if (insert_soon(calendar, event)) return 0;
    if (calendar->newcomers.n < calendar->max_newcomers) return heap_push(&calendar->newcomers, event);
    if (tear_up_today(calendar) != 0) return SIM_E_NOMEM;
    return event_key_of(&event) < calendar->end ? heap_push(&calendar->newcomers, event) : file_anew(calendar, event);
}

/* Makes few events today: each goes behind as many as are later. */
static void sort_few(struct calendar *calendar, struct page page, unsigned n)
{
    const struct event *events = first_record_of(page);
    unsigned n_later[FEW_RECORDS] = {0};
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

/* The bits in which the keys of a page differ; perhaps not all of them, if `enough_bit` or a higher one is there. */
static event_key difference_of(struct page page, unsigned enough_bit)
{
    event_key difference = 0, first = event_key_of(first_record_of(page));
    for (const struct sheet *sheet = page.top; sheet != NULL; sheet = sheet->below, page.room = 0) {
        for (unsigned i = page.room; i < SHEET_RECORDS; i++) difference |= event_key_of(&sheet->records[i]) ^ first;
        if (difference >> enough_bit != 0) break;
    }
    if (difference == 0) SIM_BUG("two owners of pending events have the same id");
    return difference;
}

static unsigned highest_bit(event_key key)
{
    uint64_t high = (uint64_t)(key >> 64);
    return high ? 127 - (unsigned)__builtin_clzll(high) : 63 - (unsigned)__builtin_clzll((uint64_t)key);
}

/* Pigeonholes for the events of a page, about one each, by the highest bits in which these differ. */
struct holes {
    unsigned shift, n;
    uint16_t next[TODAY_RECORDS + 1]; /* first the number of events, then the place in today of the next one */
};

static unsigned hole_of(const struct holes *holes, const struct event *event)
{
    return (unsigned)(event_key_of(event) >> holes->shift) & (holes->n - 1);
}

/* False when too many events want the same hole. */
static bool dig_holes(struct holes *holes, struct page page, unsigned n)
{
    unsigned n_bits = 32 - (unsigned)__builtin_clz(n), top = highest_bit(difference_of(page, 127)) + 1;
    holes->n = 1u << n_bits;
    holes->shift = top > n_bits ? top - n_bits : 0;
    memset(holes->next, 0, holes->n * sizeof *holes->next);
    for (const struct sheet *sheet = page.top; sheet != NULL; sheet = sheet->below, page.room = 0)
        for (unsigned i = page.room; i < SHEET_RECORDS; i++) {
            __builtin_prefetch(event_owner(&sheet->records[i]), 1);
            holes->next[hole_of(holes, &sheet->records[i])]++;
        }
    for (unsigned i = 0; i < holes->n; i++)
        if (holes->next[i] > HOLE_RECORDS) return false;
    for (unsigned i = 0; i < holes->n; i++) holes->next[i] = (uint16_t)(n -= holes->next[i]);
    return true;
}

/* Insertion, for events that are at most a few places away from their own. */
static void sort_neighbours(struct event *today, unsigned n)
{
    for (unsigned i = 1; i < n; i++) {
        if (!event_before(&today[i - 1], &today[i])) continue;
        struct event event = today[i];
        unsigned place = i;
        for (; place > 0 && event_before(&today[place - 1], &event); place--) today[place] = today[place - 1];
        today[place] = event;
    }
}

/* Makes up to TODAY_RECORDS events today; false, with nothing done, when they crowd together too much. */
static bool sort_many(struct calendar *calendar, struct page page, unsigned n)
{
    struct holes holes;
    if (!dig_holes(&holes, page, n)) return false;
    for (struct sheet *sheet = page.top, *below; sheet != NULL; sheet = below, page.room = 0) {
        below = sheet->below;
        for (unsigned i = page.room; i < SHEET_RECORDS; i++)
            calendar->today[holes.next[hole_of(&holes, &sheet->records[i])]++] = sheet->records[i];
        give_sheet(calendar, sheet);
    }
    sort_neighbours(calendar->today, n);
    calendar->n_today = n;
    return true;
}

static void prefetch_sheet(const struct sheet *sheet)
{
    if (sheet == NULL) return;
    for (size_t i = 0; i < sizeof *sheet; i += LINE_BYTES) __builtin_prefetch((const char *)sheet + i);
}

/* Distributes the events of a page over the pages of the highest level on which they differ. */
static int split_page(struct calendar *calendar, struct page page, unsigned page_level)
{
    unsigned level = highest_bit(difference_of(page, (page_level - 1) * 8)) / 8;
    bool soon = page.n_sheets <= PREFETCH_SHEETS;
    calendar->start = event_key_of(first_record_of(page)) >> (level + 1) * 8 << (level + 1) * 8;
    for (struct sheet *sheet = page.top, *below; sheet != NULL; sheet = below, page.room = 0) {
        below = sheet->below;
        prefetch_sheet(below);
        for (unsigned i = page.room; i < SHEET_RECORDS; i++) {
            const struct event *event = &sheet->records[i];
            unsigned byte = (unsigned)(event_key_of(event) >> level * 8) & (LEVEL_PAGES - 1);
            if (soon) __builtin_prefetch(event_owner(event), 1);
            if (calendar_file(calendar, level * LEVEL_PAGES + byte, *event) != 0) return SIM_E_NOMEM;
        }
        give_sheet(calendar, sheet);
    }
    return 0;
}

/* The nearest page becomes today, or is split. */
static int turn_page(struct calendar *calendar)
{
    unsigned page_number = nearest_page(calendar), level = page_number / LEVEL_PAGES;
    struct page page = clear_page(calendar, page_number);
    size_t n = n_records_of(page);
    event_key key = event_key_of(first_record_of(page)), within = ((event_key)1 << level * 8) - 1;
    begin_today(calendar, key & ~within, (key | within) + 1);
    if (n <= FEW_RECORDS) {
        sort_few(calendar, page, (unsigned)n);
        return 0;
    }
    bool sortable = n <= TODAY_RECORDS && n <= calendar->n_records / PART_OF_ALL + SMALL_PART;
    if (sortable && sort_many(calendar, page, (unsigned)n)) return 0;
    return split_page(calendar, page, level);
}

int calendar_peek_slow(struct calendar *calendar, const struct event **next)
{
    const struct heap *newcomers = &calendar->newcomers;
    while (calendar->n_today == 0 && newcomers->n == 0) {
        if (calendar->levels_in_use == 0) {
            begin_today(calendar, 0, END_OF_TIME);
            return 0;
        }
        if (turn_page(calendar) != 0) return SIM_E_NOMEM;
    }
    *next = calendar->n_today > 0 ? &calendar->today[calendar->n_today - 1] : newcomers->nodes;
    if (newcomers->n > 0 && event_before(newcomers->nodes, *next)) *next = newcomers->nodes;
    return 1;
}

/* Copies each sheet and frees it before its live records are filed again, so that this cannot run out of memory. */
static size_t compact_page(struct calendar *calendar, unsigned page_number)
{
    struct page page = clear_page(calendar, page_number);
    size_t n_dead = 0;
    for (struct sheet *sheet = page.top, copy; sheet != NULL; sheet = copy.below, page.room = 0) {
        copy = *sheet;
        give_sheet(calendar, sheet);
        for (unsigned i = page.room; i < SHEET_RECORDS; i++) {
            if (event_is_dead(&copy.records[i]))
                n_dead++;
            else
                SIM_REQUIRE(calendar_file(calendar, page_number, copy.records[i]) == 0);
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
    size_t n_dead = n_today - calendar->n_today + heap_compact(&calendar->newcomers);
    for (unsigned page_number = 0; page_number < CALENDAR_LEVELS * LEVEL_PAGES; page_number++)
        if (calendar->pages[page_number].n_sheets > 0) n_dead += compact_page(calendar, page_number);
    calendar->n_records -= n_dead;
    return n_dead;
}
