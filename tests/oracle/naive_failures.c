/* Failures of the naive simulator: a node that fails takes every replica that has a GPU there. Their requests begin
 * again, each with the tokens that it had been sent, at the replicas that are up, in order of arrival. So do requests
 * whose KV is on its way from or to such a replica, but for KV that has left it. */
#include "tests/oracle/naive_state.h"
#include "tests/support/harness.h"

static int n_components(const struct naive_site *site, const struct naive_cause *cause)
{
    if (cause->of_gpus) return site->nodes * site->node_gpus;
    return (site->nodes + cause->nodes_each - 1) / cause->nodes_each;
}

static void begin_life(struct naive *naive, int cause, int component, int64_t from_ns)
{
    const struct naive_site *site = naive->s->site;
    struct network *network = &naive->network;
    network->next_ns[cause][component] = from_ns +
                                         site->life_ns(site, cause, component, network->n_lives[cause][component]++);
}

void failures_begin(struct naive *naive)
{
    const struct naive_site *site = naive->s->site;
    for (int cause = 0; cause < site->n_causes; cause++)
        for (int k = 0; k < n_components(site, &site->causes[cause]); k++) begin_life(naive, cause, k, 0);
}

/* --- A failure --- */

static void lose(struct naive *naive, int id)
{
    static const struct sequence none;
    struct sequence *sequence = &naive->sequences[id];
    naive->outcomes[id].lost_moves += sequence->handed_blocks > 0;
    if (sequence->handed_blocks > 0) release(naive, id);
    site_drop_moves(naive, id);
    const int todo = is_prompt(sequence) ? sequence->todo : sequence->processed;
    const int generated = sequence->generated, output = sequence->output;
    int at = naive->held.n;
    *sequence = none;
    sequence->todo = todo, sequence->generated = generated, sequence->output = output;
    naive->outcomes[id].replica = -1;
    naive->outcomes[id].restarts++;
    while (at > 0 && naive->held.id[at - 1] > id) at--;
    list_insert(&naive->held, at, id);
}

static void lose_all(struct naive *naive, struct list *list)
{
    while (list->n > 0) lose(naive, list_take(list, 0));
}

/* Of a list of another replica, those whose KV is still to come from the one that fails. */
static void lose_awaited(struct naive *naive, struct replica *replica, struct list *list, int failed)
{
    for (int i = 0; i < list->n; i++) {
        const int id = list->id[i];
        struct sequence *sequence = &naive->sequences[id];
        if (naive->outcomes[id].replica != failed || sequence->handed_blocks == 0) continue;
        if (sequence->is_here) {
            release(naive, id);
            continue;
        }
        list_take(list, i--);
        if (replica != NULL) give_blocks(naive, replica, id);
        lose(naive, id);
    }
}

static void stop(struct naive *naive, int index)
{
    static const struct replica none;
    struct replica *replica = &naive->replicas[index];
    lose_awaited(naive, NULL, &naive->undecided, index);
    for (int i = 0; i < naive->s->replicas; i++) {
        lose_awaited(naive, &naive->replicas[i], &naive->replicas[i].remote, index);
        lose_awaited(naive, &naive->replicas[i], &naive->replicas[i].taken, index);
    }
    site_release_gpus(naive, index);
    lose_all(naive, &replica->waiting);
    lose_all(naive, &replica->idle);
    lose_all(naive, &replica->remote);
    lose_all(naive, &replica->taken);
    lose_all(naive, &replica->moved);
    for (int i = 0; i < replica->n_flying; i++)
        for (int k = 0; k < replica->flying[i].n; k++) lose(naive, replica->flying[i].id[k]);
    *replica = none;
    replica->free_blocks = naive->s->blocks;
    naive->network.nodes_changed = true;
}

static bool is_on(const struct naive *naive, const struct replica *replica, int node)
{
    for (int i = 0; i < replica->n_gpus; i++)
        if (replica->gpus[i] / naive->s->site->node_gpus == node) return true;
    return false;
}

/* Returns whether it was up. */
static bool fail_node(struct naive *naive, int node, int64_t repair_ns)
{
    if (naive->network.is_down[node]) return false;
    for (int i = 0; i < naive->s->replicas; i++)
        if (is_on(naive, &naive->replicas[i], node)) stop(naive, i);
    naive->network.is_down[node] = repair_ns > 0;
    naive->network.back_ns[node] = naive->now_ns + repair_ns;
    naive->release_ns = naive->now_ns;
    return true;
}

static void fail_component(struct naive *naive, int cause, int component)
{
    const struct naive_site *site = naive->s->site;
    const struct naive_cause *of = &site->causes[cause];
    const int first = of->of_gpus ? component / site->node_gpus : component * of->nodes_each;
    const int last = of->of_gpus ? first : first + of->nodes_each - 1;
    bool failed = false;
    for (int node = first; node <= last && node < site->nodes; node++)
        failed = fail_node(naive, node, of->repair_ns) || failed;
    begin_life(naive, cause, component, naive->now_ns + (failed ? of->repair_ns : 0));
}

void failures_strike(struct naive *naive)
{
    const struct naive_site *site = naive->s->site;
    for (int node = 0; node < site->nodes; node++)
        if (naive->network.is_down[node] && naive->network.back_ns[node] <= naive->now_ns) {
            naive->network.is_down[node] = false;
            naive->network.nodes_changed = true;
        }
    for (int cause = 0; cause < site->n_causes; cause++)
        for (int k = 0; k < n_components(site, &site->causes[cause]); k++)
            if (naive->network.next_ns[cause][k] <= naive->now_ns) fail_component(naive, cause, k);
}

int64_t failures_next_ns(const struct naive *naive)
{
    const struct naive_site *site = naive->s->site;
    int64_t next = INT64_MAX;
    for (int node = 0; node < site->nodes; node++)
        if (naive->network.is_down[node] && naive->network.back_ns[node] < next) next = naive->network.back_ns[node];
    for (int cause = 0; cause < site->n_causes; cause++)
        for (int k = 0; k < n_components(site, &site->causes[cause]); k++)
            if (naive->network.next_ns[cause][k] < next) next = naive->network.next_ns[cause][k];
    return next;
}

static int64_t every_10_ns(const struct naive_site *site, int cause, int component, int n)
{
    (void)site, (void)cause, (void)component, (void)n;
    return 10;
}

/* Iterations take 3 ns, and six tokens are wanted. The node fails at 10, when three are sent; it is back at 12, the
 * replica up at 16. A nanosecond later the prompt is processed with what was sent: the fourth token is there at 20. The
 * next failures are at 22 and 34, so the fifth comes at 29 + 3 and the sixth at 41 + 3. */
TEST(a_failure_by_hand)
{
    static struct naive_site site = {.nodes = 1, .node_gpus = 1, .gpus = 1, .groups = 1, .restart_ns = 4, .n_causes = 1,
                                     .causes = {{.nodes_each = 1, .repair_ns = 2}}, .life_ns = every_10_ns};
    static struct naive_scenario s = {.site = &site, .replicas = 1, .stages = 1, .block_tokens = 4, .max_sequences = 8,
                                      .max_tokens = 100, .max_context = 100, .blocks = 30, .prefill = {.fixed = 3},
                                      .decode = {.fixed = 3}, .n = 1, .requests = {{.prompt = 10, .output = 6}}};
    struct naive_outcome outcome;
    CHECK(naive_serve(&s, &outcome) > 0);
    CHECK_EQ_INT(outcome.first_ns, 3);
    CHECK_EQ_INT(outcome.end_ns, 44);
    CHECK_EQ_INT(outcome.restarts, 3);
}
