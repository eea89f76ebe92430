/* A bounded ring of blocks between one thread that fills and one that drains. The filler waits while every block is
 * full, so memory stays the same however slow the disk is. */
#ifndef ORRERY_STORE_RING_H
#define ORRERY_STORE_RING_H

#include "sim/store/record.h"

#include <pthread.h>
#include <stdbool.h>

enum { RING_MAX_BLOCKS = 8 };

struct ring {
    struct block blocks[RING_MAX_BLOCKS];
    unsigned n_blocks;
    unsigned n_filled, n_drained; /* blocks handed over and taken back since the start */
    bool closed;
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
};

int ring_init(struct ring *ring, unsigned n_blocks); /* 0 or SIM_E_NOMEM; then ring_fini may still be called */
void ring_fini(struct ring *ring);
void ring_reset(struct ring *ring); /* empty and open again; no other thread may be using it */

/* For the thread that fills: its block, with room in it or full; and handing it over, which waits for another one. */
struct block *ring_filling(struct ring *ring);
void ring_push(struct ring *ring);
void ring_close(struct ring *ring); /* nothing more will be pushed */

/* For the thread that drains: the oldest full block, waiting for one; NULL when the ring is closed and empty. The block
 * goes back, empty, with ring_release. */
struct block *ring_take(struct ring *ring);
void ring_release(struct ring *ring);

#endif
