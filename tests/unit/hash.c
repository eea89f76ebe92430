#include "tests/harness.h"

#include "sim/core/hash.h"
#include "sim/core/mem.h"

#include <math.h>
#include <string.h>

static void hex_of(const void *bytes, size_t n, char hex[HASH_HEX_CHARS])
{
    struct hash *hash = hash_create();
    hash_bytes(hash, bytes, n);
    hash_hex(hash, hex);
    hash_destroy(hash);
}

static void empty_input_gives_the_published_hash(void)
{
    char hex[HASH_HEX_CHARS];
    hex_of("", 0, hex);
    CHECK_EQ_STR(hex, "99aa06d3014798d86001c324468d497f");
}

TEST_SUITE(hash)
{
    TEST(empty_input_gives_the_published_hash);
}
