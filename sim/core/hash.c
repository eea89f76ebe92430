#include "sim/core/hash.h"

#include "sim/core/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { STATE_ALIGN_BYTES = 64 };

struct hash {
    XXH3_state_t state;
    void *block; /* what was allocated: the state inside is aligned to STATE_ALIGN_BYTES */
};

struct hash *hash_create(void)
{
    char *block = mem_alloc(sizeof(struct hash) + STATE_ALIGN_BYTES);
    if (block == NULL) return NULL;
    struct hash *hash = (void *)(block + STATE_ALIGN_BYTES - (uintptr_t)block % STATE_ALIGN_BYTES);
    hash->block = block;
    XXH3_INITSTATE(&hash->state);
    XXH3_128bits_reset(&hash->state);
    return hash;
}

void hash_destroy(struct hash *hash)
{
    if (hash != NULL) mem_free(hash->block);
}

void hash_bytes(struct hash *hash, const void *bytes, size_t n)
{
    if (n > 0) XXH3_128bits_update(&hash->state, bytes, n);
}

void hash_text(struct hash *hash, const char *text)
{
    size_t n = strlen(text);
    hash_i64(hash, (int64_t)n);
    hash_bytes(hash, text, n);
}

void hash_i64(struct hash *hash, int64_t value)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)((uint64_t)value >> (8 * i));
    hash_bytes(hash, bytes, sizeof bytes);
}

void hash_hex(const struct hash *hash, char hex[HASH_HEX_CHARS])
{
    XXH128_hash_t digest = XXH3_128bits_digest(&hash->state);
    snprintf(hex, HASH_HEX_CHARS, "%016" PRIx64 "%016" PRIx64, (uint64_t)digest.high64, (uint64_t)digest.low64);
}

void hash_sum_add(struct hash_sum *sum, const void *member, size_t bytes)
{
    XXH128_hash_t hash = XXH3_128bits(member, bytes);
    sum->low += hash.low64;
    sum->high += hash.high64 + (sum->low < hash.low64);
    sum->n++;
}

void hash_sum_join(struct hash_sum *sum, const struct hash_sum *other)
{
    sum->low += other->low;
    sum->high += other->high + (sum->low < other->low);
    sum->n += other->n;
}
