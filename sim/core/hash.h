/* XXH3-128 of a stream of bytes, for provenance: configs, traces, results. The same on every machine. */
#ifndef ORRERY_CORE_HASH_H
#define ORRERY_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_HEX_CHARS = 33 }; /* 32 hex digits and the terminator */

struct hash;

struct hash *hash_create(void); /* NULL when out of memory */
void hash_destroy(struct hash *hash);
void hash_bytes(struct hash *hash, const void *bytes, size_t n);
void hash_text(struct hash *hash, const char *text); /* with its length, so that "ab","c" differs from "a","bc" */
void hash_i64(struct hash *hash, int64_t value);     /* little-endian, 8 bytes */
void hash_hex(const struct hash *hash, char hex[HASH_HEX_CHARS]);

/* A hash of one word, for keys of a run: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). It is a
 * bijection, so that different words have different hashes. */
static inline uint64_t hash_mix(uint64_t key)
{
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    return key ^ (key >> 31);
}

/* The hash of a multiset: the sum of its members' hashes modulo 2^128. The order of adding does not matter, and a
 * member that comes twice counts twice. Zeroed, it is that of the empty set. */
struct hash_sum {
    uint64_t low, high;
    uint64_t n; /* members */
};

void hash_sum_add(struct hash_sum *sum, const void *member, size_t bytes);
void hash_sum_join(struct hash_sum *sum, const struct hash_sum *other); /* both sets together */

#endif
