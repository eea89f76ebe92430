#include "traces/generate/deck.h"

void deck_init(struct deck *deck)
{
    deck->n_left = DECK_CARDS;
    for (uint32_t i = 0; i < DECK_CARDS; i++) deck->cards[i] = (uint16_t)i;
}

double deck_draw(struct deck *deck, struct rng *rng)
{
    if (deck->n_left == 0) deck->n_left = DECK_CARDS;
    const uint64_t i = rng_below(rng, deck->n_left--);
    const uint16_t card = deck->cards[i];
    deck->cards[i] = deck->cards[deck->n_left];
    deck->cards[deck->n_left] = card;
    return (card + rng_uniform(rng)) / DECK_CARDS;
}
