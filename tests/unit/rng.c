#include "tests/harness.h"

#include "sim/core/rng.h"

#include <gsl/gsl_randist.h>
#include <string.h>

/* Known answers published with Random123 (kat_vectors, philox4x32 10 rounds): zeros, ones, digits of pi. */
static void philox_gives_the_published_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], block[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t block[4];
        philox4x32_10(known[i].counter, known[i].key, block);
        for (int k = 0; k < 4; k++) CHECK_EQ_INT(block[k], known[i].block[k]);
    }
}

TEST_SUITE(rng)
{
    TEST(philox_gives_the_published_answers);
}
