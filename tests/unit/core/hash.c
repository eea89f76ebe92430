#include "sim/core/hash.h"
#include "tests/support/harness.h"

enum { BUFFER_BYTES = 4160 };

/* The sanity buffer of the xxHash project: the top bytes of successive products of two primes. */
static void fill_sanity_buffer(unsigned char buffer[BUFFER_BYTES])
{
    uint64_t state = 2654435761u;
    for (size_t i = 0; i < BUFFER_BYTES; i++) {
        buffer[i] = (unsigned char)(state >> 56);
        state *= UINT64_C(11400714785074694797);
    }
}

/* Of n bytes fed in pieces of `piece` bytes. */
static void hex_of(const unsigned char *bytes, size_t n, size_t piece, char hex[HASH_HEX_CHARS])
{
    struct hash *hash = hash_create();
    hex[0] = '\0';
    MUST(hash != NULL);
    for (size_t i = 0; i < n; i += piece) hash_bytes(hash, bytes + i, n - i < piece ? n - i : piece);
    hash_hex(hash, hex);
    hash_destroy(hash);
}

/* XXH3-128 of the first n bytes of the buffer, seed 0, from the xxHash project's table of sanity tests, in the byte
 * order that xxhsum prints. The lengths take each path of the algorithm: 0, 1-3, 4-8, 9-16, ... several blocks. */
TEST(published_hashes_come_back_however_fed)
{
    static const struct {
        size_t n;
        const char *hex;
    } known[] = {
        {0, "99aa06d3014798d86001c324468d497f"},    {1, "a6cd5e9392000f6ac44bdff4074eecdb"},
        {6, "082afe0b8162d12a3e7039bdda43cfc6"},    {12, "6e3efd8fc7802b18061a192713f69ad9"},
        {24, "0ce966e4678d37611e7044d28b1b901d"},   {48, "a002ac4e5478227ef942219aed80f67b"},
        {81, "4952f58181ab00425e8bafb9f95fb803"},   {222, "337e09641b948717f1aebd597cec6b3a"},
        {241, "99a80ecf0ecfc647c5a639ecd2030e5e"},  {4160, "67140711c1e3e3354f323b15321e94e1"},
    };
    unsigned char buffer[BUFFER_BYTES];
    fill_sanity_buffer(buffer);
    static const size_t pieces[] = {BUFFER_BYTES, 1, 7, 256, 257};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        for (size_t k = 0; k < sizeof pieces / sizeof pieces[0]; k++) {
            char hex[HASH_HEX_CHARS];
            hex_of(buffer, known[i].n, pieces[k], hex);
            CHECK_EQ_STR(hex, known[i].hex);
        }
    }
}

TEST(asking_does_not_change_the_hash)
{
    char once[HASH_HEX_CHARS], twice[HASH_HEX_CHARS], between[HASH_HEX_CHARS];
    struct hash *a = hash_create(), *b = hash_create();
    hash_text(a, "prefill");
    hash_text(b, "prefill");
    hash_hex(b, between);
    hash_text(a, "decode");
    hash_text(b, "decode");
    hash_hex(a, once);
    hash_hex(b, twice);
    CHECK_EQ_STR(twice, once);
    CHECK(strcmp(between, once) != 0);
    hash_destroy(a);
    hash_destroy(b);
}

TEST(texts_do_not_run_into_each_other)
{
    char ab_c[HASH_HEX_CHARS], a_bc[HASH_HEX_CHARS];
    struct hash *a = hash_create(), *b = hash_create();
    hash_text(a, "ab");
    hash_text(a, "c");
    hash_text(b, "a");
    hash_text(b, "bc");
    hash_hex(a, ab_c);
    hash_hex(b, a_bc);
    CHECK(strcmp(ab_c, a_bc) != 0);
    hash_destroy(a);
    hash_destroy(b);
}

TEST(integers_are_little_endian_bytes)
{
    static const unsigned char bytes[16] = {0xf8, 0xe1, 0xca, 0xb3, 0x9c, 0x85, 0x6e, 0x57,
                                            0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    char of_bytes[HASH_HEX_CHARS], of_values[HASH_HEX_CHARS];
    hex_of(bytes, sizeof bytes, sizeof bytes, of_bytes);
    struct hash *hash = hash_create();
    hash_i64(hash, INT64_C(0x576e859cb3cae1f8));
    hash_i64(hash, -2);
    hash_hex(hash, of_values);
    CHECK_EQ_STR(of_values, of_bytes);
    hash_destroy(hash);
}

TEST(no_memory_gives_null)
{
    mem_fail_after(0);
    CHECK(hash_create() == NULL);
    mem_fail_never();
    hash_destroy(NULL);
}

__extension__ typedef unsigned __int128 uint128;

static bool same_sum(const struct hash_sum *a, const struct hash_sum *b)
{
    return a->low == b->low && a->high == b->high && a->n == b->n;
}

TEST(sum_ignores_order_and_counts_members)
{
    static const char *const members[] = {"a", "b", "c", "d", "e"};
    struct hash_sum forwards = {0}, backwards = {0}, twice = {0};
    for (int i = 0; i < 5; i++) hash_sum_add(&forwards, members[i], 1);
    for (int i = 5; i-- > 0;) hash_sum_add(&backwards, members[i], 1);
    CHECK(same_sum(&forwards, &backwards));
    hash_sum_add(&forwards, "a", 1);
    CHECK(!same_sum(&forwards, &backwards));
    hash_sum_add(&twice, "a", 1);
    hash_sum_add(&twice, "a", 1);
    CHECK(twice.low != 0 && twice.high != 0);
    CHECK_EQ_INT(twice.n, 2);
}

/* The carry from the low into the high half, by members whose halves are known. */
TEST(sum_carries)
{
    struct hash_sum one = {0}, many = {0};
    hash_sum_add(&one, "a", 1);
    uint128 member = (uint128)one.high << 64 | one.low, total = 0;
    for (int i = 0; i < 9; i++) {
        hash_sum_add(&many, "a", 1);
        total += member;
    }
    CHECK(many.low == (uint64_t)total);
    CHECK(many.high == (uint64_t)(total >> 64));
}
