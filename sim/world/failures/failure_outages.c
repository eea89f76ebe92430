/* Planned outages: nodes that are down from a stated time until another, or for good. Running jobs pause: they keep
 * their GPUs, do no work meanwhile, and go on as if the time had not passed. A job on several nodes pauses with the
 * first one. Or jobs are interrupted as by a failure. Replicas of services always are. Nothing starts on the nodes
 * meanwhile.
 *
 * A paused job begins no save, and its GPUs idle with a process. A node on which jobs pause keeps its place: no spare
 * node takes it, until an interrupting outage or a breaker has taken its jobs. A node without jobs keeps nothing. A
 * node that is down already stays so until the later of its returns. While jobs pause, node failures pass the node by;
 * a breaker that takes its power interrupts them.
 *
 * Not modelled: waits before work (restart, reads) and saves over the network that have begun go on, although the job
 * pauses. Failures of a job's own software (scope job) count the pause and strike in it. A part of a GPU beside the
 * share of a paused job is not withdrawn: a job that starts there pauses as well. */
#include "sim/world/failures/failure_state.h"

#include <math.h>
#include <stdio.h>

int failure_outages_add(struct failures *failures)
{
    const struct failure_outage_config *outage = failures->config->outages.items;
    int code = 0;
    failures->outages = &failures->sources[failures->n_sources];
    for (size_t i = 0; i < failures->config->outages.n && code == 0; i++, outage++) {
        const struct failure_source source = {.name = outage->name, .scope = FAILURE_SWITCH, .nodes_each = 1,
                                              .lifetime = {.kind = LIFETIME_CONSTANT, .mean_s = (double)INFINITY}};
        code = failure_source_add(failures, &source, "outage");
        failures->outages[i].n_components = 0; /* it strikes by no lifetime */
    }
    return code;
}

int failure_outages_check(const struct failures *failures, struct diag *diag)
{
    const struct failure_outage_config *outage = failures->config->outages.items;
    for (size_t i = 0; i < failures->config->outages.n; i++, outage++) {
        char path[512];
        if (outage->node + outage->nodes <= failures->n_nodes) continue;
        snprintf(path, sizeof path, "failures.outages.%s.node", outage->name);
        return diag_error(diag, SIM_E_CONFIG, config_where(failures->site->config, path),
                          "nodes are numbered from 0, those of the cluster first, then those of its node types",
                          "the outage '%s' has nodes up to %lld, and the site has %d", outage->name,
                          (long long)(outage->node + outage->nodes - 1), failures->n_nodes);
    }
    return 0;
}

int failure_outages_start(struct failures *failures)
{
    const struct failure_outage_config *outage = failures->config->outages.items;
    int code = 0;
    for (size_t i = 0; i < failures->config->outages.n && code == 0; i++, outage++) {
        const struct failure_entry entry = {.time_ns = outage->from_ns, .number = FAILURE_OUTAGE | (int64_t)i};
        code = failure_queue_add(&failures->strikes, &entry);
    }
    return code;
}

int failure_outages_finish(const struct failures *failures, sim_ns now)
{
    const struct sink *sink = failures->site->sink;
    const struct failure_outage_config *outage = failures->config->outages.items, *first = NULL;
    char text[DIAG_TEXT_CHARS];
    int64_t n = 0;
    for (size_t i = 0; i < failures->config->outages.n; i++, outage++) {
        if (outage->from_ns <= now) continue;
        if (first == NULL || outage->from_ns < first->from_ns) first = outage;
        n++;
    }
    if (n == 0 || sink->warning == NULL) return 0;
    const double end_s = sim_s_from_ns(now), from_s = sim_s_from_ns(first->from_ns);
    if (n == 1)
        snprintf(text, sizeof text,
                 "outage '%s' would begin at %.6g s, after the run's end at %.6g s: it had no effect", first->name,
                 from_s, end_s);
    else
        snprintf(
            text, sizeof text,
            "%lld outages would begin after the run's end at %.6g s, the first ('%s') at %.6g s: they had no effect",
            (long long)n, end_s, first->name, from_s);
    const struct warning_row row = {.t_s = (double)NAN, .code = "late-outage", .text = text, .count = n};
    return sink->warning(sink->context, &row);
}

/* Returns 1 if the node was up, 0 if not, or a negative code. */
static int take_down(struct failures *failures, const struct failure_outage_config *outage,
                     const struct failure_effect *effect, int32_t index)
{
    struct failure_node *node = &failures->nodes[index];
    const bool is_up = node->state == FAILURE_NODE_UP, pauses = outage->jobs == FAILURE_OUTAGE_PAUSE;
    const sim_ns until_ns = failure_outage_until_ns(outage);
    if (until_ns > node->out_until_ns) node->out_until_ns = until_ns;
    int code = pauses ? failure_clear_replicas(failures, effect, index) : failure_clear_node(failures, effect, index);
    if (code == 0 && is_up) {
        node->keeps_jobs = pauses && node->occupants != NULL;
        code = failure_node_goes_down(failures, effect, index);
        failure_refresh_node(failures, index, engine_now(failures->site->engine));
    } else if (code == 0 && !pauses) {
        code = failure_node_keeps_none(failures, index);
    }
    holders_changed(&failures->cluster->holders, SITE_NODE_FAILED);
    return code < 0 ? code : is_up;
}

int failure_outage_begin(struct failures *failures, const struct failure_entry *entry)
{
    const int64_t index = entry->number & ~FAILURE_OUTAGE;
    const struct failure_outage_config *outage = (const struct failure_outage_config *)failures->config->outages.items +
                                                 index;
    struct failure_source *source = &failures->outages[index];
    const sim_ns until_ns = failure_outage_until_ns(outage);
    const bool is_endless = until_ns == SIM_NS_MAX;
    const struct failure_effect effect = {.source = source,
                                          .repair_ns = is_endless ? SIM_NS_MAX : until_ns - outage->from_ns};
    int n_up = 0;
    for (int64_t i = 0; i < outage->nodes; i++) {
        const int was_up = take_down(failures, outage, &effect, (int32_t)(outage->node + i));
        if (was_up < 0) return was_up;
        n_up += was_up;
    }
    source->n_seen += n_up > 0;
    source->n_unseen += n_up == 0;
    if (is_endless) return 0;
    return failure_queue_add(&failures->found, &(struct failure_entry){until_ns, entry->number, 0, 0});
}

/* Its nodes have returned; those that are spare ones may serve again. */
int failure_outage_end(struct failures *failures)
{
    return failure_nodes_cover(failures);
}
