/* The answer as a page: its lines, the cheapest fleets with their margins, and price against latency. */
#include "analysis/report/page.h"
#include "sim/cli/size/size.h"
#include "sim/cli/version.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct size_page {
    const struct size_question *question;
    const struct size_result *result;
    struct size_lines lines;
    struct arena *arena;
};

/* --- The table --- */

static bool has_fleets(const void *context)
{
    return ((const struct size_page *)context)->result->n_best > 0;
}

static void add_heads(const struct size_question *question, struct text *html)
{
    text_add(html,
             "<div class=\"scroll\"><table class=\"sort\">\n<thead><tr><th scope=\"col\" class=\"n\">$/h</th>"
             "<th scope=\"col\" class=\"n\">GPUs</th><th scope=\"col\">GPU</th><th scope=\"col\" class=\"n\">TP</th>"
             "<th scope=\"col\" class=\"n\">PP</th><th scope=\"col\" class=\"n\">replicas</th>"
             "<th scope=\"col\">batching</th>");
    for (size_t i = 0; i < question->n_objectives; i++) {
        text_add(html, "<th scope=\"col\" class=\"n\">");
        page_escape(html, question->objectives[i].name);
        for (size_t part = 0; part < 2; part++) {
            text_add(html, "</th><th scope=\"col\" class=\"n\">");
            page_escape(html, question->objectives[i].name);
            text_add(html, part == 0 ? ": margin" : ": slow");
        }
        text_add(html, "</th>");
    }
    text_add(html, "<th scope=\"col\">slow end</th><th scope=\"col\" class=\"n\">outside</th></tr></thead>\n<tbody>\n");
}

/* "4", or "2 prefill + 3 decode" of pools. */
static void add_replicas(const struct size_state *state, struct text *html)
{
    const int64_t prefill = state->option.prefill_replicas;
    if (prefill > 0)
        text_printf(html, "%" PRId64 " prefill + %" PRId64 " decode", prefill, state->replicas - prefill);
    else
        text_printf(html, "%" PRId64, state->replicas);
}

static void add_configuration(const struct size_state *state, struct text *html)
{
    static const char unbroken[] = "<td style=\"white-space: nowrap\">";
    const struct size_option *option = &state->option;
    text_printf(html, "<tr><td class=\"n\">%.2f</td><td class=\"n\">%" PRId64 "</td>%s", size_usd_per_h(state),
                state->replicas * size_replica_gpus(option), unbroken);
    page_escape(html, option->gpu->name);
    text_printf(html, "</td><td class=\"n\">%" PRId64 "%s</td><td class=\"n\">%" PRId64 "</td><td class=\"n\">",
                option->tensor_parallel, option->groups > 1 ? " DP" : "", option->pipeline_parallel);
    add_replicas(state, html);
    text_printf(html, "</td>%s", unbroken);
    page_escape(html, option->batching->policy);
    if (option->batching->token_budget > 0) text_printf(html, " %" PRId64, size_token_budget(option));
    text_add(html, "</td>");
}

static void add_time(double seconds, const char *mark, struct text *html)
{
    struct text text;
    text_init(&text);
    size_add_time(seconds, &text);
    text_printf(html, "<td class=\"n\" title=\"%.10g\">%s%s</td>", seconds, text.chars != NULL ? text.chars : "", mark);
    html->failed |= text.failed;
    text_fini(&text);
}

/* A fleet, with each latency, the part of its limit that is left, and the latency at the slow end. */
static void add_fleet(const struct size_question *question, const struct size_state *state, struct text *html)
{
    add_configuration(state, html);
    for (size_t i = 0; i < question->n_objectives; i++) {
        const double value = state->good.values[i], part = value / question->objectives[i].limit_s;
        add_time(value, "", html);
        text_printf(html, "<td class=\"n\">%.1f %%</td>", 100 * (1 - part));
        if (state->slow_end != SIZE_END_UNKNOWN)
            add_time(state->slow.values[i], size_is_saturated(question, state) ? " *" : "", html);
        else
            text_add(html, "<td class=\"n\">unknown</td>");
    }
    const double outside = state->good.extrapolated_frac;
    const char *end = size_end_word(state->slow_end);
    text_printf(html, "<td>%s</td><td class=\"n\">", end != NULL ? end : "unknown");
    if (outside >= 0) text_printf(html, "%.2g %%", 100 * outside);
    text_add(html, "</td></tr>\n");
}

/* A note for each fleet with an asterisk. */
static void add_saturated(const struct size_page *page, struct text *html)
{
    for (size_t i = 0; i < page->result->n_best; i++) {
        const struct size_state *state = &page->result->states[page->result->best[i]];
        struct text line;
        if (!size_is_saturated(page->question, state)) continue;
        text_init(&line);
        text_printf(&line, "* Fleet %zu is saturated " SIZE_SLOW_SIDE ", over %d times a limit: ", i + 1,
                    SIZE_SATURATED_TIMES);
        size_add_saturation(state, &line);
        if (!line.failed) page_note(html, line.chars);
        html->failed |= line.failed;
        text_fini(&line);
    }
}

static int add_table(const void *context, struct text *html)
{
    const struct size_page *page = context;
    page_note(
        html,
        "The first fleet is the answer. Prefill and decode: pools of replicas for prompts and for decoding. A margin is "
        "the part of the limit that is left. Slow: the latency if the model errs to its slow side, within "
        "which 90 % of measured TPOT are. Slow end: whether all limits are kept then. Outside: the part of the "
        "kernels' time that is outside the measured range.");
    add_heads(page->question, html);
    for (size_t i = 0; i < page->result->n_best; i++)
        add_fleet(page->question, &page->result->states[page->result->best[i]], html);
    text_add(html, "</tbody></table></div>\n");
    add_saturated(page, html);
    return 0;
}

/* --- Other GPUs --- */

static bool has_others(const void *context)
{
    const struct size_question *question = ((const struct size_page *)context)->question;
    return question->n_gpus > 1 || question->n_unpriced > 0;
}

static void add_item(const char *text, struct text *html)
{
    text_add(html, "<li>");
    page_escape(html, text);
    text_add(html, "</li>\n");
}

static int add_others(const void *context, struct text *html)
{
    const struct size_page *page = context;
    const struct size_gpu *gpus[SIZE_MAX_GPUS];
    const size_t n = size_order_others(page->question, page->result, gpus);
    text_add(html, "<ul>\n");
    for (size_t i = 0; i < n; i++) {
        struct text line;
        text_init(&line);
        size_add_other(page->question, page->result, gpus[i], &line);
        if (!line.failed) add_item(line.chars, html);
        html->failed |= line.failed;
        text_fini(&line);
    }
    for (size_t i = 0; i < page->question->n_unpriced; i++) {
        struct text line;
        text_init(&line);
        size_add_unpriced(page->question, &page->question->unpriced[i], &line);
        if (!line.failed) add_item(line.chars, html);
        html->failed |= line.failed;
        text_fini(&line);
    }
    text_add(html, "</ul>\n");
    return 0;
}

/* --- Price against latency --- */

struct cloud {
    size_t n;
    double *usd_per_h, *part; /* of the limit that is nearest */
    bool *on_front;
    const char **labels;
};

static int init_cloud(const struct size_page *page, struct cloud *cloud)
{
    const size_t n = page->result->n + 1;
    *cloud = (struct cloud){.usd_per_h = arena_alloc(page->arena, n * sizeof *cloud->usd_per_h),
                            .part = arena_alloc(page->arena, n * sizeof *cloud->part),
                            .on_front = arena_alloc(page->arena, n * sizeof *cloud->on_front),
                            .labels = arena_alloc(page->arena, n * sizeof *cloud->labels)};
    return cloud->usd_per_h != NULL && cloud->part != NULL && cloud->on_front != NULL && cloud->labels != NULL
               ? 0
               : SIM_E_NOMEM;
}

/* "3 x b200-sxm, TP 1, 2 prefill + 1 decode" */
static const char *label_of(const struct size_state *state, struct arena *arena)
{
    const struct size_option *option = &state->option;
    const char *pools = "";
    if (size_has_pools(state))
        pools = arena_printf(arena, ", %" PRId64 " prefill + %" PRId64 " decode", option->prefill_replicas,
                             state->replicas - option->prefill_replicas);
    if (pools == NULL) return NULL;
    return arena_printf(arena, "%" PRId64 " x %s, TP %" PRId64 "%s%s", state->replicas * size_replica_gpus(option),
                        option->gpu->name, option->tensor_parallel, option->groups > 1 ? ", DP" : "", pools);
}

/* Adds the fleet, labelled with its GPUs. */
static int add_point(const struct size_page *page, const struct size_state *state, struct cloud *cloud)
{
    size_t tightest;
    const size_t i = cloud->n++;
    cloud->usd_per_h[i] = size_usd_per_h(state);
    cloud->part[i] = size_tightest(page->question, &state->good, &tightest);
    cloud->labels[i] = label_of(state, page->arena);
    return cloud->labels[i] != NULL ? 0 : SIM_E_NOMEM;
}

/* A fleet of the answer, in a ring of its own. */
struct ringed {
    double usd_per_h, part;
    const char *label;
};

static int ring(const struct size_page *page, const struct size_state *state, const char *name, unsigned colour,
                struct ringed *ringed, struct plot_series *series)
{
    size_t tightest;
    const char *label = label_of(state, page->arena);
    if (label == NULL) return SIM_E_NOMEM;
    ringed->usd_per_h = size_usd_per_h(state);
    ringed->part = size_tightest(page->question, &state->good, &tightest);
    ringed->label = arena_printf(page->arena, "%s: %s", name, label);
    *series = (struct plot_series){.name = name, .is_reference = true, .colour = colour, .n = 1,
                                   .x = &ringed->usd_per_h, .y = &ringed->part, .labels = &ringed->label};
    return ringed->label != NULL ? 0 : SIM_E_NOMEM;
}

/* A fleet is on the front if no other is at least as cheap and as far from its limit, and better in one of both. */
static void find_front(const struct cloud *cloud)
{
    for (size_t i = 0; i < cloud->n; i++) {
        cloud->on_front[i] = true;
        for (size_t j = 0; j < cloud->n && cloud->on_front[i]; j++) {
            const bool no_worse = cloud->usd_per_h[j] <= cloud->usd_per_h[i] && cloud->part[j] <= cloud->part[i];
            const bool is_better = cloud->usd_per_h[j] < cloud->usd_per_h[i] || cloud->part[j] < cloud->part[i];
            cloud->on_front[i] = !(no_worse && is_better);
        }
    }
}

/* What the chart shows: with one fleet on the front nothing is joined. */
static const char *front_note(const struct cloud *cloud, struct arena *arena)
{
    size_t n = 0;
    for (size_t i = 0; i < cloud->n; i++) n += cloud->on_front[i];
    return arena_printf(arena,
                        "Fleets that were found to meet all limits. %s Fleets that miss a limit are stopped early, so "
                        "their latencies are not known.",
                        n > 1 ? "Joined: those that no other fleet beats in both price and distance from its nearest "
                                "limit (Pareto front)."
                              : "One, in full colour, is at least as cheap and as far from its nearest limit as all "
                                "others. The answer may be another: of equal price, it withstands more of the model's "
                                "error to its slow side.");
}

static int add_front(const void *context, struct text *html)
{
    const struct size_page *page = context;
    struct cloud cloud;
    int code = init_cloud(page, &cloud);
    for (size_t i = 0; code == 0 && i < page->result->n; i++)
        if (page->result->states[i].replicas > 0) code = add_point(page, &page->result->states[i], &cloud);
    if (code != 0) return code;
    find_front(&cloud);
    size_t n_series = 1;
    struct ringed ringed[2];
    struct plot_series series[3] = {{.name = "fleets", .n = cloud.n, .x = cloud.usd_per_h, .y = cloud.part,
                                     .on_front = cloud.on_front, .labels = cloud.labels}};
    const struct size_result *result = page->result;
    const bool has_sure = result->has_sure && result->sure.replicas > 0;
    code = ring(page, &result->states[result->best[0]], "the answer", 2, &ringed[0], &series[n_series++]);
    if (code == 0 && has_sure) code = ring(page, &result->sure, "to be sure", 3, &ringed[1], &series[n_series++]);
    if (code != 0) return code;
    const struct plot_line slo = {.kind = PLOT_AT_Y, .value = 1, .name = "SLO", .is_dashed = true};
    const struct plot_chart chart = {.kind = PLOT_SCATTER, .title = "Price against latency",
                                     .x = {.title = "price ($/h)"},
                                     .y = {.title = "share of the nearest limit", .low = 0, .high = 1.1},
                                     .n_series = n_series, .series = series, .n_lines = 1, .lines = &slo};
    const char *note = front_note(&cloud, page->arena);
    if (note == NULL) return SIM_E_NOMEM;
    const struct page_figure figure = {.chart = &chart, .note = note};
    page_figures(html);
    page_figure(html, &figure);
    page_figures_end(html);
    return 0;
}

/* --- The search --- */

static void add_count(const char *term, int64_t n, struct text *html)
{
    char number[32];
    snprintf(number, sizeof number, "%" PRId64, n);
    page_term(html, term, number);
}

/* "h100-sxm at $4.69/h, l4 at $0.70/h" */
static int add_gpus(const struct size_question *question, struct text *html)
{
    struct text gpus;
    text_init(&gpus);
    for (size_t i = 0; i < question->n_gpus; i++)
        text_printf(&gpus, "%s%s at $%.2f/h", i == 0 ? "" : ", ", question->gpus[i].name, question->gpus[i].usd_per_h);
    if (!gpus.failed && gpus.chars != NULL) page_term(html, "GPUs tried", gpus.chars);
    const int code = gpus.failed ? SIM_E_NOMEM : 0;
    text_fini(&gpus);
    return code;
}

static int add_search(const void *context, struct text *html)
{
    const struct size_page *page = context;
    const struct size_result *result = page->result;
    text_add(html, "<dl>\n");
    page_term(html, "command", page->question->command);
    const int code = add_gpus(page->question, html);
    page_term(html, "cost model", result->cost_model);
    if (result->engine != NULL) page_term(html, "engine", result->engine);
    const char *version = arena_printf(page->arena, "%s (%s)", version_text(), version_commit());
    if (code != 0 || version == NULL) return SIM_E_NOMEM;
    page_term(html, "version", version);
    add_count("requests", (int64_t)result->requests.n, html);
    add_count("configurations", (int64_t)result->n, html);
    add_count("do not fit the LLM", (int64_t)result->n_unfit, html);
    add_count("ruled out by closed forms", (int64_t)result->n_ruled_out, html);
    add_count("simulated runs", result->n_simulations, html);
    add_count("tried by the search", result->n_runs, html);
    add_count("runs of a sweep over the same space", result->n_sweep, html);
    text_add(html, "</dl>\n");
    page_note(html, "The option --study FILE of orrery size writes a study of the fleets above, for orrery sweep.");
    return 0;
}

/* --- The lines, by what they are about --- */

static bool has_topic(const struct size_page *page, enum size_topic topic)
{
    bool has = false;
    for (size_t i = 0; i < page->lines.n; i++) has |= page->lines.topics[i] == topic;
    return has;
}

static int add_topic(const struct size_page *page, enum size_topic topic, struct text *html)
{
    text_add(html, "<ul>\n");
    for (size_t i = 0; i < page->lines.n; i++)
        if (page->lines.topics[i] == topic) add_item(page->lines.lines[i], html);
    text_add(html, "</ul>\n");
    return 0;
}

static bool has_latency(const void *page)
{
    return has_topic(page, SIZE_LATENCY);
}

static int add_latency(const void *page, struct text *html)
{
    return add_topic(page, SIZE_LATENCY, html);
}

static bool has_pool_lines(const void *page)
{
    return has_topic(page, SIZE_POOL_LINES);
}

static int add_pool_lines(const void *page, struct text *html)
{
    return add_topic(page, SIZE_POOL_LINES, html);
}

static bool has_trust(const void *page)
{
    return has_topic(page, SIZE_TRUST);
}

/* The warnings of the run, too. */
static int add_trust(const void *context, struct text *html)
{
    const struct size_page *page = context;
    const struct size_warnings *warnings = &page->result->warnings;
    const int code = add_topic(page, SIZE_TRUST, html);
    if (warnings->n > 0) text_add(html, "<p>Warnings of the answer's run:</p>\n<ul>\n");
    for (size_t i = 0; i < warnings->n; i++) {
        struct text line;
        text_init(&line);
        size_add_warning(&warnings->items[i], &line);
        if (!line.failed) add_item(line.chars, html);
        html->failed |= line.failed;
        text_fini(&line);
    }
    if (warnings->n > 0) text_add(html, "</ul>\n");
    return code;
}

static bool has_prices(const void *page)
{
    return has_topic(page, SIZE_PRICES);
}

static int add_prices(const void *page, struct text *html)
{
    return add_topic(page, SIZE_PRICES, html);
}

static const struct page_section sections[] = {
    {"fleets", "The cheapest fleets", has_fleets, add_table, true},
    {"front", "Price against latency", has_fleets, add_front, true},
    {"latency", "The answer's latencies, and what limits it", has_latency, add_latency, true},
    {"pools", "With pools and without", has_pool_lines, add_pool_lines, true},
    {"trust", "How sure this is", has_trust, add_trust, true},
    {"others", "Other GPUs", has_others, add_others, true},
    {"prices", "Prices", has_prices, add_prices, true},
    {"search", "The search", NULL, add_search, false},
    {0}};

/* The question, the fleets that answer it, and the load. */
static void add_head(const struct size_page *page, struct text *html)
{
    const struct size_lines *lines = &page->lines;
    page_open(html, lines->lines[0]);
    text_add(html, "<header>\n<p class=\"kind\">Orrery's answer: the cheapest fleet</p>\n<h1>");
    page_escape(html, lines->lines[0]);
    text_add(html, "</h1>\n");
    for (size_t i = 1; i < lines->n && lines->topics[i] == SIZE_FLEET; i++) {
        text_printf(html, "<p class=\"%s\">", i == 1 ? "answer" : "verdict");
        page_escape(html, lines->lines[i]);
        text_add(html, "</p>\n");
    }
    text_add(html, "</header>\n");
    page_contents(html, sections, page);
}

int size_page(const struct size_question *question, const struct size_result *result, struct arena *arena,
              struct text *html)
{
    struct size_page page = {.question = question, .result = result, .arena = arena};
    int code = size_say(question, result, arena, &page.lines);
    if (code != 0) return code;
    add_head(&page, html);
    code = page_sections(html, sections, &page);
    page_close(html);
    return code == 0 && html->failed ? SIM_E_NOMEM : code;
}
