#include "sim/store/ring.h"

#include "sim/core/check.h"

int ring_init(struct ring *ring, unsigned n_blocks)
{
    SIM_REQUIRE(n_blocks >= 1 && n_blocks <= RING_MAX_BLOCKS);
    *ring = (struct ring){.n_blocks = n_blocks};
    pthread_mutex_init(&ring->lock, NULL);
    pthread_cond_init(&ring->filled, NULL);
    pthread_cond_init(&ring->drained, NULL);
    int code = 0;
    for (unsigned i = 0; i < n_blocks && code == 0; i++) code = block_init(&ring->blocks[i]);
    return code;
}

void ring_fini(struct ring *ring)
{
    for (unsigned i = 0; i < ring->n_blocks; i++) block_fini(&ring->blocks[i]);
    pthread_cond_destroy(&ring->drained);
    pthread_cond_destroy(&ring->filled);
    pthread_mutex_destroy(&ring->lock);
}

void ring_reset(struct ring *ring)
{
    for (unsigned i = 0; i < ring->n_blocks; i++) ring->blocks[i].used = 0;
    ring->n_filled = ring->n_drained = 0;
    ring->closed = false;
}

struct block *ring_filling(struct ring *ring)
{
    return &ring->blocks[ring->n_filled % ring->n_blocks];
}

void ring_push(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->n_filled++;
    pthread_cond_signal(&ring->filled);
    while (ring->n_filled - ring->n_drained == ring->n_blocks) pthread_cond_wait(&ring->drained, &ring->lock);
    pthread_mutex_unlock(&ring->lock);
}

void ring_close(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->closed = true;
    pthread_cond_signal(&ring->filled);
    pthread_mutex_unlock(&ring->lock);
}

struct block *ring_take(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    while (ring->n_filled == ring->n_drained && !ring->closed) pthread_cond_wait(&ring->filled, &ring->lock);
    struct block *oldest = ring->n_filled == ring->n_drained ? NULL : &ring->blocks[ring->n_drained % ring->n_blocks];
    pthread_mutex_unlock(&ring->lock);
    return oldest;
}

void ring_release(struct ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->blocks[ring->n_drained % ring->n_blocks].used = 0;
    ring->n_drained++;
    pthread_cond_signal(&ring->drained);
    pthread_mutex_unlock(&ring->lock);
}
