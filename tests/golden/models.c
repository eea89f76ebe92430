/* Values of models, to the last digit, where closed forms and samples leave a constant in doubt. */
#include "models/operators/moe.h"
#include "sim/core/hash.h"
#include "tests/support/harness.h"

static void add(struct hash *hash, double value)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.12g", value);
    hash_text(hash, digits);
}

static void add_load(struct hash *hash, double tokens, double held, double skew, bool in_turn)
{
    const struct expert_load_shape shape = {.tokens = tokens, .chosen = 4, .experts = 64, .held = held, .skew = skew,
                                            .in_turn = in_turn};
    const struct expert_load load = expert_load_of(&shape, 16);
    add(hash, load.touched);
    add(hash, load.rows);
    add(hash, load.tiles);
}

/* From fewer choices than experts to many tokens, on GPUs with one, some and all experts. */
TEST_OPTIMISED(expert_loads_are_those_recorded)
{
    static const double tokens[] = {1, 3, 15, 16, 17, 100, 1000, 30000}, held[] = {1, 8, 32, 64};
    static const double skews[] = {0, 0.3, 1, 1.01, 1.2, 2};
    char hex[HASH_HEX_CHARS];
    struct hash *hash = hash_create();
    MUST(hash != NULL);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        for (size_t j = 0; j < sizeof held / sizeof *held; j++)
            for (size_t k = 0; k < sizeof skews / sizeof *skews; k++)
                for (int in_turn = 0; in_turn < 2; in_turn++)
                    add_load(hash, tokens[i], held[j], skews[k], in_turn != 0);
    hash_hex(hash, hex);
    CHECK_EQ_STR(hex, "3f4b5054f75b44938eec422e766a86bf");
    hash_destroy(hash);
}
