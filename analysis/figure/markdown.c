#include "analysis/figure/page.h"

#include <math.h>
#include <string.h>

/* A cell: what would end it, or begin markup, is escaped. */
static void add_cell(struct text *out, const char *chars)
{
    text_add(out, "| ");
    for (; *chars != 0; chars++) {
        if (strchr("|*_`<\\", *chars) != NULL) text_add(out, "\\");
        text_add_bytes(out, *chars == '\n' ? " " : chars, 1);
    }
    text_add(out, " ");
}

static void add_claims(const struct claim_results *claims, struct text *out)
{
    text_add(out, "| claim | paper | ours | deviation | tolerance | verdict | basis | source |\n"
                  "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim_result *result = &claims->items[i];
        add_cell(out, result->claim->says);
        add_cell(out, result->paper);
        add_cell(out, result->ours);
        add_cell(out, result->deviation);
        add_cell(out, result->tolerance);
        add_cell(out, result->word);
        add_cell(out, claim_basis_name(result));
        add_cell(out, result->claim->tag);
        text_add(out, "|\n");
    }
    text_add(out, "\n");
    claim_counts_text(&claims->counts, out);
    text_add(out, ".\n");
}

static void add_reasons(const struct claim_results *claims, bool reported, const char *heading, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < claims->n; i++) {
        const struct claim_result *result = &claims->items[i];
        if (result->because == NULL || (result->verdict == CLAIM_REPORTED) != reported) continue;
        text_printf(out, "%s- *%s*: %s\n", any ? "" : heading, result->claim->says, result->because);
        any = true;
    }
}

static void add_spans(const struct figure_fit *fit, struct text *out)
{
    for (size_t i = 0; i < fit->points.n; i++) {
        const struct figure_span *span = FIGURE_ITEM(struct figure_span, fit->points, i);
        text_printf(out, "%s%s", i > 0 ? "; " : "", span->series);
        if (!isnan(span->from)) text_printf(out, " from %g", span->from);
        if (!isnan(span->to)) text_printf(out, " up to %g", span->to);
    }
    if (fit->elsewhere != NULL) text_printf(out, "%s%s", fit->points.n > 0 ? "; " : "", fit->elsewhere);
}

static void add_fitted(const struct figure *figure, struct text *out)
{
    text_add(out, "\n## Fitted\n\n");
    if (figure->fitted.n == 0) text_add(out, "Nothing was chosen to match.\n");
    for (size_t i = 0; i < figure->fitted.n; i++) {
        const struct figure_fit *fit = FIGURE_ITEM(struct figure_fit, figure->fitted, i);
        text_printf(out, "- %s = %s, on: ", fit->parameter, fit->value);
        add_spans(fit, out);
        text_printf(out, ". %s\n", fit->why);
    }
}

static void add_setup(const struct figure *figure, struct text *out)
{
    text_add(out, "\n## Set-up in the paper\n\n");
    for (size_t i = 0; i < figure->setup.n; i++) {
        const struct figure_fact *fact = FIGURE_ITEM(struct figure_fact, figure->setup, i);
        text_printf(out, "- %s [%s]\n", fact->says, fact->tag);
    }
    for (size_t i = 0; i < figure->notes.n; i++)
        text_printf(out, "%s- %s\n", i == 0 ? "\n## Notes\n\n" : "", *FIGURE_ITEM(char *, figure->notes, i));
}

void figure_markdown(const struct figure_entry *entry, struct text *markdown)
{
    const struct figure *figure = entry->data->figure;
    text_printf(markdown, "# %s\n\n%s, %s.\n\n", figure->title, figure->citation, figure->place);
    for (size_t i = 0; i < entry->n_links; i++)
        if (strstr(entry->links[i].target, ".svg") != NULL)
            text_printf(markdown, "![%s](%s)\n\n", entry->links[i].label, entry->links[i].target);
    add_claims(entry->claims, markdown);
    add_reasons(entry->claims, false, "\nKnown to fail:\n\n", markdown);
    add_reasons(entry->claims, true, "\nOnly reported:\n\n", markdown);
    add_fitted(figure, markdown);
    add_setup(figure, markdown);
}
