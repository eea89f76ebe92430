#include "sim/world/cluster/resource_requests.h"

#include "tests/support/harness.h"

static struct resource_request request_of(int32_t i)
{
    return (struct resource_request){.gpus = 1, .gpu_milli = 1000, .cpu_milli = 1000 + i / 2, .memory_bytes = i % 2};
}

/* Views point to the list: to ask for a known request leaves it where it is, also when the list is full. */
TEST(a_request_keeps_its_number_and_a_known_one_moves_no_others)
{
    struct resource_requests requests;
    resource_requests_init(&requests);
    for (int32_t i = 0; i < 300; i++) {
        const struct resource_request request = request_of(i);
        CHECK_EQ_INT(resource_requests_index(&requests, &request), i);
        const struct resource_request *items = requests.items;
        const int32_t capacity = requests.capacity;
        for (int32_t k = 0; k <= i; k++) {
            const struct resource_request known = request_of(k);
            CHECK_EQ_INT(resource_requests_index(&requests, &known), k);
        }
        CHECK(requests.items == items);
        CHECK_EQ_INT(requests.capacity, capacity);
        CHECK_EQ_INT(requests.n, i + 1);
    }
    resource_requests_fini(&requests);
}
