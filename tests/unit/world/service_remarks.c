/* What is told of the models of a service's pools: once where pools share one, with the names of the pools it is about
 * where they do not. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

#include <stdio.h>
#include <string.h>

/* A service in three pools. `more` are members of the service, `first` and `last` of pools. */
static struct bed_rows *serve(const char *more, const char *first, const char *last)
{
    return bed_ok(BED(.quiet = true),
                  "{'cluster': {'gpu': 'a100-80-sxm', 'nodes': 2, 'node_types': {'b': {'nodes': 1, 'gpu': 'b200-sxm'}}}, "
                  "'services': {'s': {'llm': 'llama-3-8b'%s, 'pools': {'p': {%s}, 'q': {}, 'r': {%s}}, 'trace': "
                  "{'format': 'generate', 'count': 9, 'arrival': {'process': 'poisson', 'rate': '10/s'}}}}}",
                  more, first, last);
}

static size_t count(const struct bed_rows *rows, const char *code)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_warnings; i++) n += strcmp(rows->warnings[i].code, code) == 0;
    return n;
}

static bool tells(const struct bed_rows *rows, const char *code, const char *text)
{
    for (size_t i = 0; i < rows->n_warnings; i++)
        if (strcmp(rows->warnings[i].code, code) == 0 && strncmp(rows->warnings[i].text, text, strlen(text)) == 0)
            return true;
    return false;
}

static size_t findings(const struct bed_rows *rows, const char *text)
{
    size_t n = 0;
    for (int i = 0; i < rows->diag.n_items; i++) n += strstr(rows->diag.items[i].text, text) != NULL;
    return n;
}

TEST(what_all_pools_share_is_told_once)
{
    struct bed_rows *rows = serve("", "", "");
    CHECK_EQ_INT(count(rows, "engine"), 1);
    CHECK_EQ_INT(count(rows, "kernels"), 1);
    CHECK(tells(rows, "engine", "service 's': engine vllm"));
    CHECK(tells(rows, "kernels", "service 's': engine vllm"));
    bed_free(rows);
}

TEST(pools_that_differ_are_named)
{
    struct bed_rows *rows = serve("", "'gpu': 'b200-sxm'", "");
    CHECK_EQ_INT(count(rows, "kernels"), 2);
    CHECK(tells(rows, "kernels", "service 's', pool 'p': engine vllm"));
    CHECK(tells(rows, "kernels", "service 's', pools 'q', 'r': engine vllm"));
    bed_free(rows);
}

/* One finding at the cost that pools share; one more at the cost of a pool's own. */
TEST(the_cost_that_pools_share_has_one_place)
{
    static const char cost[] = "'cost': {'kind': 'affine', 'prefill': {'fixed': '1ms'}, 'decode': {'fixed': '1ms', "
                               "'per_pair': '1us'}}";
    char more[256];
    snprintf(more, sizeof more, ", %s", cost);
    struct bed_rows *rows = serve(more, "", "");
    CHECK_EQ_INT(findings(rows, "'per_pair' of 'decode' has no effect"), 1);
    bed_free(rows);
    rows = serve(more, "", cost);
    CHECK_EQ_INT(findings(rows, "'per_pair' of 'decode' has no effect"), 2);
    bed_free(rows);
}

TEST(too_many_blocks_are_told_of_their_pools)
{
    struct bed_rows *rows = serve(", 'kv': {'blocks': 9000000}", "", "'kv': {'blocks': 100}");
    CHECK_EQ_INT(count(rows, "kv-beyond-memory"), 1);
    CHECK(tells(rows, "kv-beyond-memory", "service 's', pools 'p', 'q': kv.blocks is 9000000, but"));
    bed_free(rows);
}
