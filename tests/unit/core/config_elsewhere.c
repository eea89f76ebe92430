/* The way to a key that stands in the wrong section, also where the room for it is short. */
#include "sim/core/config/config_elsewhere.h"
#include "tests/support/config_table.h"
#include "tests/support/harness.h"

enum { ROOM_BYTES = 64 };

static const char *const ways[] = {"power.budget", "services.NAME.replicas", "slo.ttft", "probing.max_sequences",
                                   "renting.bid"};

static const char *last_name(const char *way)
{
    return strrchr(way, '.') + 1;
}

TEST(ways_lead_through_sections_maps_and_variants)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char path[ROOM_BYTES];
        const bool is_found = config_find_elsewhere(site_fields, &site_families, last_name(ways[i]), path, sizeof path);
        CHECK(is_found);
        if (is_found) CHECK_EQ_STR(path, ways[i]);
    }
}

/* Whatever the room, nothing behind it is written, and what is found is the beginning of a way. */
TEST(a_way_keeps_to_its_room)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t room = 1; room < ROOM_BYTES; room++) {
            char path[ROOM_BYTES], untouched[ROOM_BYTES];
            memset(path, '#', sizeof path);
            memset(untouched, '#', sizeof untouched);
            const bool is_found = config_find_elsewhere(site_fields, &site_families, last_name(ways[i]), path, room);
            CHECK(memcmp(path + room, untouched, ROOM_BYTES - room) == 0);
            if (room > strlen(ways[i])) CHECK(is_found);
            if (is_found) CHECK(memchr(path, 0, room) != NULL);
            if (is_found && room > strlen(ways[i])) CHECK_EQ_STR(path, ways[i]);
        }
}
