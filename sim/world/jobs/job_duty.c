/* How seldom a job sends. With "sends" in-part of the network, a job that sends for the share `a` of its step meets the
 * others by chance: while it sends, another job sends with the probability that is that job's share, at moments that do
 * not depend on this one's. A link of bandwidth C that is short of it then has, on the average, the job's own n flows
 * and those of the others, each counted by its job's share. So a byte of the job takes
 *
 *     1/rate = (n + sum of a_j over the flows of other jobs) / C
 *
 * Claims with the weights a_j give this job grant = C a / (n a + sum). What its own flows alone would leave each is
 * lone = C / n; over several links, or with unlike weights and demands, the max-min share. In shares of the demand:
 *
 *     1/share = a/granted share + (1 - a)/lone share
 *
 * A job that always sends, a = 1, has the granted share. Alone in the network it has the lone share, whatever a is.
 * Transfers of services and checkpoints are flows with an end, of weight 1: while they move they count whole.
 *
 * Where a link has room for some of the jobs at once, a byte waits in truth only while more than that many send. The
 * harmonic sum above takes it that the others send all, with the probability a, or none, which is more: ten equal jobs
 * on a link that five fill, with a = 1/2, take 1.25 times as long as in an idle network, and 1.11 step by step.
 *
 * Leaves out: that the mean of a share is more than the share at the mean number of flows, jobs that fall into step
 * with each other, and that the share of the step grows when the network slows the job. So a link that is short even
 * of the mean of what jobs send is said to carry more than it can: ten jobs with a = 1/4, of which one fills the link,
 * take 1.56 times as long in place of 2.5. */
#include "sim/core/vec.h"
#include "sim/world/jobs/job_traffic_state.h"

#include <math.h>
#include <stdlib.h>

static bool sends_in_part(const struct job_traffic *traffic)
{
    return topology_config(traffic->job->jobs->network->topology)->network.sends == NETWORK_SENDS_IN_PART;
}

/* Seconds of a step that the busiest adapter sends, or gets data, in an idle network. */
static double sending_s(const struct job_traffic *traffic, const struct traffic_edges *edges)
{
    double most_s = 0.0;
    for (int32_t i = 0; i < edges->n; i++) {
        const double rate = traffic->messages != NULL ? edges->of[i].demand_bytes_per_s
                                                      : job_step_flow_bytes_per_s(traffic);
        most_s = fmax(most_s, edges->of[i].bytes / rate);
    }
    return most_s;
}

void job_duty_begin(struct job_traffic *traffic, const struct traffic_edges *edges)
{
    const double least_frac = 1e-3; /* weights of claims have finite steps */
    traffic->sends_frac = 1.0;
    if (!sends_in_part(traffic) || edges->n == 0) return;
    const double step_s = traffic->messages != NULL ? traffic->ideal_s
                                                    : job_step_now_s(traffic, job_step_flow_bytes_per_s(traffic));
    const double sends_s = sending_s(traffic, edges);
    if (sends_s < step_s) traffic->sends_frac = fmax(sends_s / step_s, least_frac);
}

int job_duty_note(struct job_traffic *traffic, int32_t flow, const struct link_path *path)
{
    for (int32_t i = 0; i < path->n && traffic->sends_frac < 1.0; i++) {
        const struct traffic_load load = {link_index(path->links[i]), flow, link_bytes_per_s(path->links[i])};
        if (vec_push(&traffic->loads.of, &traffic->loads.n, &traffic->loads.capacity, load) != 0) return SIM_E_NOMEM;
    }
    return 0;
}

static int compare_loads(const void *one, const void *other)
{
    const struct traffic_load *a = one, *b = other;
    if (a->link != b->link) return a->link < b->link ? -1 : 1;
    return (a->flow > b->flow) - (a->flow < b->flow);
}

/* --- Alone --- */

/* The loads of a link stand together. Returns their end. */
static int32_t link_end(const struct traffic_loads *loads, int32_t i)
{
    int32_t end = i + 1;
    while (end < loads->n && loads->of[end].link == loads->of[i].link) end++;
    return end;
}

/* Claims are open until they have a rate: those over links for which the claims of the job ask too much. The others
 * have what they ask for. */
static void open_claims(struct job_traffic *traffic)
{
    const struct traffic_loads *loads = &traffic->loads;
    for (int32_t i = 0; i < traffic->n_flows; i++) {
        struct job_flow *flow = &traffic->flows[i];
        flow->is_open = flow->is_lone_squeezed = false;
        flow->lone_bytes_per_s = flow->demand_bytes_per_s;
    }
    for (int32_t i = 0; i < loads->n; i++) {
        struct job_flow *flow = &traffic->flows[loads->of[i].flow];
        flow->lone_bytes_per_s = fmin(flow->lone_bytes_per_s, loads->of[i].link_bytes_per_s);
    }
    for (int32_t i = 0, end; i < loads->n; i = end) {
        double wanted_bytes_per_s = 0.0;
        end = link_end(loads, i);
        for (int32_t k = i; k < end; k++) wanted_bytes_per_s += traffic->flows[loads->of[k].flow].lone_bytes_per_s;
        for (int32_t k = i; k < end && wanted_bytes_per_s > loads->of[i].link_bytes_per_s; k++)
            traffic->flows[loads->of[k].flow].is_open = traffic->flows[loads->of[k].flow].is_lone_squeezed = true;
    }
}

/* The rate over the weight at which the open claims fill the first link; INFINITY: none is open. *first: its loads. */
static double lowest_level(const struct job_traffic *traffic, int32_t *first)
{
    const struct traffic_loads *loads = &traffic->loads;
    double lowest = (double)INFINITY;
    for (int32_t i = 0, end; i < loads->n; i = end) {
        double left = loads->of[i].link_bytes_per_s, weights = 0.0;
        end = link_end(loads, i);
        for (int32_t k = i; k < end; k++) {
            const struct job_flow *flow = &traffic->flows[loads->of[k].flow];
            left -= flow->is_open ? 0.0 : flow->lone_bytes_per_s;
            weights += flow->is_open ? flow->weight : 0.0;
        }
        if (!(weights > 0.0) || fmax(left, 0.0) / weights >= lowest) continue;
        lowest = fmax(left, 0.0) / weights;
        *first = i;
    }
    return lowest;
}

/* Closes the open claims that need no higher level. Returns whether there are any. */
static bool close_met(struct job_traffic *traffic, double level)
{
    bool some = false;
    for (int32_t i = 0; i < traffic->n_flows; i++) {
        struct job_flow *flow = &traffic->flows[i];
        if (!flow->is_open || flow->lone_bytes_per_s > level * flow->weight) continue;
        flow->is_open = false;
        some = true;
    }
    return some;
}

/* The shares that the job's claims leave each other on links that no other job uses: by their weights, as links grant
 * them (link_fill.c). */
static void share_links(struct job_traffic *traffic)
{
    const struct traffic_loads *loads = &traffic->loads;
    int32_t first = 0;
    if (loads->n == 0) return;
    qsort(loads->of, (size_t)loads->n, sizeof *loads->of, compare_loads);
    open_claims(traffic);
    for (double level; isfinite(level = lowest_level(traffic, &first));) {
        if (close_met(traffic, level)) continue;
        for (int32_t k = first, end = link_end(loads, first); k < end; k++) {
            struct job_flow *flow = &traffic->flows[loads->of[k].flow];
            if (flow->is_open) flow->lone_bytes_per_s = level * flow->weight;
            flow->is_open = false;
        }
    }
    for (int32_t i = 0; i < traffic->n_flows; i++)
        traffic->flows[i].lone_frac = traffic->flows[i].lone_bytes_per_s / traffic->flows[i].demand_bytes_per_s;
}

/* Those of a sender's claims together, as they would be granted. */
static void share_ports(struct job_traffic *traffic)
{
    for (int32_t i = 0; i < traffic->n_ports; i++) traffic->ports[i] = (struct traffic_port){0.0, 0.0, 1.0};
    for (int32_t i = 0; i < traffic->n_flows && traffic->messages != NULL; i++) {
        const struct job_flow *flow = &traffic->flows[i];
        struct traffic_port *port = &traffic->ports[flow->port];
        if (!flow->is_lone_squeezed) continue;
        port->demand_bytes_per_s += flow->demand_bytes_per_s;
        port->grant_bytes_per_s += flow->lone_bytes_per_s;
        port->lone_frac = port->grant_bytes_per_s / port->demand_bytes_per_s;
    }
}

void job_duty_settle(struct job_traffic *traffic)
{
    share_links(traffic);
    share_ports(traffic);
}

double job_duty_share(const struct job_traffic *traffic, double net_frac, double lone_frac)
{
    const double sends_frac = traffic->sends_frac;
    return fmin(1.0 / (sends_frac / net_frac + (1.0 - sends_frac) / lone_frac), 1.0);
}
