/* Who hears of GPUs in which order: watchers as they joined, tenants as they entered. An error stops the rest. */
#include "sim/world/cluster/holder.h"
#include "tests/support/harness.h"

static char heard[64]; /* one letter for each call */

static void note(char what)
{
    const size_t n = strlen(heard);
    if (n + 1 < sizeof heard) memcpy(heard + n, (char[]){what, '\0'}, 2);
}

struct ear {
    struct watcher watcher;
    char name;
    int code; /* of `given` */
};

static int ear_given(struct watcher *watcher, struct holder *holder, sim_ns now)
{
    const struct ear *ear = (const struct ear *)watcher;
    (void)now;
    note(ear->name);
    holder->watcher_state[watcher->slot] = watcher;
    return ear->code;
}

static void ear_taken(struct watcher *watcher, struct holder *holder, sim_ns now)
{
    (void)now;
    CHECK(holder->watcher_state[watcher->slot] == watcher);
    note((char)(((const struct ear *)watcher)->name + ('A' - 'a')));
}

static void ear_unawaited(struct watcher *watcher)
{
    (void)watcher;
    note('.');
}

static struct holder_risk ear_risk(const struct watcher *watcher, const struct holder *holder)
{
    (void)watcher;
    (void)holder;
    return (struct holder_risk){.mtbf_s = 5.0, .restart_s = 2.0};
}

static const struct watcher_ops deaf, hears = {.given = ear_given, .taken = ear_taken, .none_awaited = ear_unawaited},
                                      knows = {.given = ear_given, .taken = ear_taken, .risk = ear_risk};

TEST(watchers_hear_in_the_order_in_which_they_joined)
{
    struct holders holders = {0};
    struct ear first = {.watcher.ops = &hears, .name = 'a'}, second = {.watcher.ops = &knows, .name = 'b'};
    struct holder holder = {0};
    heard[0] = '\0';
    holders_watch(&holders, &first.watcher);
    holders_watch(&holders, &second.watcher);
    CHECK_EQ_INT(holders_given(&holders, &holder, 0), 0);
    holders_taken(&holders, &holder, 1);
    CHECK_EQ_STR(heard, "abAB");
    first.code = SIM_E_NOMEM; /* who comes later does not hear of it */
    CHECK_EQ_INT(holders_given(&holders, &holder, 2), SIM_E_NOMEM);
    CHECK_EQ_STR(heard, "abABa");
}

TEST(questions_go_to_the_first_who_can_answer)
{
    struct holders holders = {0};
    struct ear dumb = {.watcher.ops = &deaf}, wise = {.watcher.ops = &knows};
    const struct holder holder = {0};
    CHECK(isinf(holders_risk(&holders, &holder).mtbf_s));
    CHECK_EQ_INT(holders_risk(&holders, &holder).restart_s, 0);
    CHECK(isnan(holders_drawn_j(&holders, &holder, 0)));
    holders_watch(&holders, &dumb.watcher);
    holders_watch(&holders, &wise.watcher);
    CHECK_EQ_INT(holders_risk(&holders, &holder).mtbf_s, 5);
    CHECK_EQ_INT(holders_risk(&holders, &holder).restart_s, 2);
    CHECK(isnan(holders_drawn_j(&holders, &holder, 0))); /* nobody counts power */
    CHECK_EQ_INT(holders_black_out(&holders, 0, 1, 10), 0);
}

static struct holder_risk rarer_risk(const struct watcher *watcher, const struct holder *holder)
{
    (void)watcher;
    (void)holder;
    return (struct holder_risk){.mtbf_s = 20.0, .restart_s = 7.0};
}

/* One in 5 s and one in 20 s are one in 4 s, of which a fifth waits for 7 s. */
TEST(rates_of_risks_add_up)
{
    static const struct watcher_ops rarer = {.risk = rarer_risk};
    struct holders holders = {0};
    struct ear often = {.watcher.ops = &knows}, rare = {.watcher.ops = &rarer};
    holders_watch(&holders, &often.watcher);
    holders_watch(&holders, &rare.watcher);
    const struct holder_risk risk = holders_risk(&holders, &(struct holder){0});
    CHECK_NEAR(risk.mtbf_s, 4.0, 1e-12);
    CHECK_NEAR(risk.restart_s, 0.8 * 2.0 + 0.2 * 7.0, 1e-12);
}

static int yields(struct tenant *tenant, const char *gpu, int32_t gpus, int64_t groups, sim_ns now)
{
    (void)tenant;
    (void)gpu;
    (void)now;
    return gpus * (int)groups;
}

static void tenant_changed(struct tenant *tenant, enum site_change change)
{
    (void)change;
    note(tenant->ops->make_room != NULL ? 'j' : 's');
}

TEST(tenants_make_room_and_await_nodes)
{
    static const struct tenant_ops service_ops = {.changed = tenant_changed},
                                   jobs_ops = {.make_room = yields, .changed = tenant_changed};
    struct holders holders = {0};
    struct ear ear = {.watcher.ops = &hears};
    struct tenant service = {.ops = &service_ops, .awaits_nodes = true}, idle = {.ops = &service_ops},
                  jobs = {.ops = &jobs_ops, .awaits_nodes = true};
    heard[0] = '\0';
    holders_watch(&holders, &ear.watcher);
    CHECK_EQ_INT(holders_make_room(&holders, "h100-sxm", 4, 2, 0), 0);
    holders_enter(&holders, &service);
    holders_enter(&holders, &idle);
    holders_enter(&holders, &jobs);
    CHECK_EQ_INT(holders_make_room(&holders, "h100-sxm", 4, 2, 0), 8); /* services never yield */
    holders_changed(&holders, SITE_NODE_RETURNED);
    CHECK_EQ_STR(heard, "ssj");
    holders_end(&holders, &idle); /* it awaited none */
    holders_end(&holders, &service);
    holders_end(&holders, &service); /* only once */
    CHECK_EQ_STR(heard, "ssj");
    holders_end(&holders, &jobs);
    CHECK_EQ_STR(heard, "ssj.");
}
