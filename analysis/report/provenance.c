#include "analysis/report/provenance.h"

#include "analysis/query.h"
#include "analysis/report/page.h"
#include "analysis/report/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void provenance_term(const char *term, const char *value, struct text *html)
{
    if (value == NULL || value[0] == 0) return;
    text_printf(html, "<dt>%s</dt><dd>", term);
    page_escape(html, value);
    text_add(html, "</dd>\n");
}

static void add_terms(const struct report_source *source, struct text *html)
{
    const struct report_run *run = &source->run;
    char words[WORDS_CHARS], seed[32];
    snprintf(seed, sizeof seed, "%" PRId64, run->seed);
    text_add(html, "<dl>\n");
    provenance_term("scenario", run->name, html);
    provenance_term("seed", seed, html);
    provenance_term("policies", run->policies, html);
    provenance_term("oracle knowledge", run->oracle[0] != 0 ? run->oracle : "none", html);
    provenance_term("time outside the measured range",
                    isnan(run->extrapolated_frac) ? "unknown" : words_percent(run->extrapolated_frac, words), html);
    provenance_term("version", run->version, html);
    provenance_term("commit", run->git_commit, html);
    provenance_term("platform", run->platform, html);
    provenance_term("hash of the scenario", run->scenario_hash, html);
    provenance_term("hash of the inputs", run->trace_hash, html);
    provenance_term("hash of the result", run->result_hash, html);
    text_add(html, "</dl>\n<details class=\"scenario\"><summary>The scenario, resolved: `orrery run` repeats the run "
                   "from it</summary>\n<pre><code>");
    page_escape(html, run->scenario);
    text_add(html, "</code></pre></details>\n");
}

/* The other runs of a file that holds several. */
static int add_others(const struct report_source *source, struct text *html)
{
    static const char sql[] = "SELECT id, name, seed, status, result_hash FROM run ORDER BY id LIMIT 200";
    struct query_answer answer;
    int code = query_run(source->database, sql, NULL, 0, "read runs", source->arena, &answer, source->diag);
    if (code != 0) return code;
    text_add(html,
             "<details><summary>The runs of the file</summary>\n<div class=\"scroll\"><table>\n<thead><tr>"
             "<th scope=\"col\" class=\"n\">run</th><th scope=\"col\">name</th><th scope=\"col\" class=\"n\">seed</th>"
             "<th scope=\"col\">status</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < answer.n_rows; i++) {
        const struct query_column *columns = answer.columns;
        const double id = columns[0].numbers[i];
        text_printf(html, "<tr%s><th scope=\"row\" class=\"n\">%.0f</th><td>",
                    id == (double)source->run.id ? " class=\"this\"" : "", id);
        page_escape(html, columns[1].texts[i]);
        text_printf(html, "</td><td class=\"n\">%.0f</td><td>", columns[2].numbers[i]);
        page_escape(html, columns[3].texts[i]);
        text_add(html, "</td></tr>\n");
    }
    text_add(html, "</tbody></table></div></details>\n");
    page_sql(html, &(struct page_query){.sql = sql, .n_rows = answer.n_rows}, 1);
    return 0;
}

int provenance_add(const struct report_source *source, size_t n_runs, struct text *html)
{
    page_section(html, "provenance", "Provenance");
    add_terms(source, html);
    int code = n_runs > 1 ? add_others(source, html) : 0;
    page_section_end(html);
    return code;
}
