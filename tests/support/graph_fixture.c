#include "tests/support/graph_fixture.h"

const struct catalog graph_catalog = {.root = "configs"};

/* A site from the members of "cluster"; *code is what topology_create returned. */
struct graph_site *graph_site_create(int *code, const char *format, ...)
{
    static struct graph_site site;
    static char inner[1024], text[2048];
    static const struct config_field fields[] = {
        {.name = "cluster", .kind = CONFIG_SECTION, .fields = cluster_section_fields, .help = "nodes"}, {0}};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(inner, sizeof inner, format, arguments);
    va_end(arguments);
    site = (struct graph_site){0};
    arena_init(&site.arena);
    diag_init(&site.diag);
    snprintf(text, sizeof text, "{'cluster': {%s}}", inner);
    test_quotes(text);
    *code = config_parse("site.json", ".", text, strlen(text), &site.config, &site.diag);
    if (*code == 0)
        *code = config_bind(site.config, fields, NULL, &site.arena, &site.cluster, sizeof site.cluster, &site.diag);
    site.engine = engine_create(&(struct engine_options){.queue = QUEUE_CALENDAR});
    site.env = (struct site_env){.engine = site.engine, .diag = &site.diag, .catalog = &graph_catalog, .config = site.config,
                                 .arena = &site.arena, .next_owner_id = 1};
    const struct topology_env env = {.site = &site.env, .cluster = &site.cluster.nodes, .links = &site.cluster.links};
    if (*code == 0) *code = topology_create(&env, &site.topology);
    return &site;
}

void graph_site_destroy(struct graph_site *site)
{
    engine_destroy(site->engine);
    topology_destroy(site->topology);
    config_destroy(site->config);
    arena_fini(&site->arena);
}

/* Nodes of one GPU, so that a node is a NIC of 10 GB/s. */
struct graph_site *graph_site_of(int nodes, const char *network)
{
    int code;
    struct graph_site *site = graph_site_create(&code,
                                                "'nodes': %d, 'gpus_per_node': 1, 'network': {'bandwidth': '10GB/s', "
                                                "'latency': '0s', %s}",
                                                nodes, network);
    CHECK_EQ_INT(code, 0);
    if (code != 0) CHECK_EQ_STR(site->diag.items[0].text, "");
    return site;
}

void graph_path(struct graph_site *site, struct graph_flow flow, struct topology_route route, struct link_path *path)
{
    CHECK_EQ_INT(topology_nic_path(site->topology, flow.from, flow.to, route, path), 0);
}

/* --- Flows --- */

static void on_done(struct link_net *net, struct link_flow *flow, sim_ns now)
{
    (void)net;
    LINK_FLOW_ENTITY(flow, struct graph_mover, flow)->end_ns = now;
}

void graph_start(struct graph_site *site, struct graph_mover *mover, const struct link_path *path, int64_t bytes)
{
    *mover = (struct graph_mover){.end_ns = -1};
    CHECK_EQ_INT(link_flow_start(topology_net(site->topology), &mover->flow, path, bytes, (double)INFINITY, on_done),
                 0);
    topology_note_path(site->topology, &mover->flow, 1);
}
