#include "sim/cli/calibrate/profile_print.h"

#include "sim/cli/calibrate/calibrate_print.h"

#include <inttypes.h>
#include <math.h>

static double rounded_percent(double share)
{
    return rint(share * 1e4) / 1e2 + 0.0;
}

/* A share in percent; "-" where it is 0, which stands for none. */
static void add_share(struct answer_table *table, double share)
{
    if (share > 0.0)
        table_number(table, rounded_percent(share));
    else
        table_undefined(table);
}

/* --- What was measured --- */

static void show_manifest(const struct profile_findings *findings, struct answer *answer)
{
    const struct kit *kit = &findings->kit;
    answer_say(answer, "%s, %" PRId64 " SMs, %.0f MiB: %s of the catalog\nmeasured %s", kit->gpu, kit->sms,
               kit->memory_bytes / 1048576.0, findings->gpu->name, kit->date);
    if (kit->driver != NULL) answer_say(answer, ", driver %s", kit->driver);
    if (kit->torch != NULL) answer_say(answer, ", PyTorch %s", kit->torch);
    if (kit->cuda != NULL) answer_say(answer, ", CUDA %s", kit->cuda);
    if (kit->power_limit_w > 0.0) answer_say(answer, ", power limit %.0f W", kit->power_limit_w);
    answer_say(answer, "\n");
}

static void write_manifest(const struct profile_findings *findings, struct answer *answer)
{
    const struct kit *kit = &findings->kit;
    answer_text(answer, "gpu", findings->gpu->name);
    answer_text(answer, "reported", kit->gpu);
    answer_text(answer, "date", kit->date);
    answer_text(answer, "driver", kit->driver);
    answer_text(answer, "torch", kit->torch);
    answer_number(answer, "power_limit_w", kit->power_limit_w);
}

static void add_parts(const struct kit *kit, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("part"),     LEFT("status"),   RIGHT("measured"),
                                                  RIGHT("planned"), RIGHT("seconds"), LEFT("reason")};
    const struct kit_part *parts = kit->parts.items;
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < kit->parts.n; i++) {
        table_text(&table, parts[i].name);
        table_text(&table, kit_status_name((enum kit_status)parts[i].status));
        table_number(&table, (double)parts[i].measured);
        table_number(&table, (double)parts[i].planned);
        table_number(&table, rint(parts[i].seconds));
        table_text(&table, parts[i].reason);
    }
    answer_add(answer, "parts", "What was measured", &table);
}

/* --- Rows --- */

static void add_class_rates(struct answer_table *table, const struct profile *profile, enum kernel_class class)
{
    const struct kit_rates rates = kit_rates_of(profile, class);
    if (rates.rows == 0) return;
    table_text(table, profile->set);
    table_text(table, kernel_class_info(class)->name);
    table_number(table, (double)rates.rows);
    add_share(table, rates.flop_frac);
    add_share(table, rates.memory_frac);
    add_share(table, rates.link_frac);
}

static void add_rates(const struct profile_findings *findings, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("set"),     LEFT("class"),     RIGHT("rows"),
                                                  RIGHT("flop_%"), RIGHT("memory_%"), RIGHT("link_%")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < findings->n_profiles; i++)
        for (int c = 0; c < KERNEL_CLASS_COUNT; c++)
            add_class_rates(&table, &findings->profiles[i], (enum kernel_class)c);
    answer_add(answer, "rates", "Kernels: the highest rate, in percent of the data sheet's peak", &table);
}

static void add_left_out(const struct profile_findings *findings, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("set"), RIGHT("left_out"), LEFT("reason")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < findings->n_profiles; i++) {
        const struct profile *profile = &findings->profiles[i];
        for (size_t j = 0; j < profile->n_dropped; j++) {
            table_text(&table, profile->set);
            table_number(&table, (double)profile->dropped[j].rows);
            table_text(&table, profile->dropped[j].reason);
        }
    }
    answer_add(answer, "left_out", "Rows left out", &table);
}

/* --- Fits --- */

static void add_median_p90(struct answer_table *table, const struct fit_error *error)
{
    const double shares[] = {error->median, error->p90};
    for (int i = 0; i < 2; i++) {
        if (error->rows > 0)
            table_number(table, rounded_percent(shares[i]));
        else
            table_undefined(table);
    }
}

static void add_class_fit(struct answer_table *table, const struct calibrated_set *set, enum kernel_class class)
{
    if (set->classes[class] == NULL) return;
    const struct fold_report *report = &set->classes[class]->report;
    table_text(table, set->name);
    table_text(table, kernel_class_info(class)->name);
    table_number(table, (double)report->n_rows);
    add_median_p90(table, &report->fit.cuts[CUT_ALL]);
    add_median_p90(table, &report->held_out.cuts[CUT_ALL]);
}

static void add_fits(const struct profile_findings *findings, struct answer *answer)
{
    static const struct table_column columns[] = {
        LEFT("set"),        LEFT("class"),           RIGHT("rows"),          RIGHT("fit_median_%"),
        RIGHT("fit_p90_%"), RIGHT("held_out_median_%"), RIGHT("held_out_p90_%")};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    for (size_t i = 0; i < findings->n_sets; i++)
        for (int c = 0; c < KERNEL_CLASS_COUNT; c++) add_class_fit(&table, &findings->sets[i], (enum kernel_class)c);
    answer_add(answer, "fits", "Fits: |predicted / measured - 1|, of the fit and of groups of rows left out of it",
               &table);
}

static int add_iterations(const struct profile_findings *findings, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("iterations"), CALIBRATE_ERROR_COLUMNS};
    static const char *const names[] = {"decode", "prefill"};
    struct answer_table table;
    TABLE_INIT(&table, columns);
    int code = 0;
    for (int i = 0; code == 0 && i < 2; i++) {
        struct fit_error error;
        code = kit_iterations_error(&findings->iterations, i == 1, &error);
        if (code != 0 || error.rows == 0) continue;
        table_text(&table, names[i]);
        calibrate_add_error(&table, &error);
    }
    answer_add(answer, "iterations", "Whole iterations of a model, in no fit: predicted by the fitted kernels", &table);
    return code;
}

/* --- Copies and power --- */

static void add_copy(struct answer_table *table, const char *what, double rate, double peak)
{
    const double giga = 1e9;
    if (!(rate > 0.0)) return;
    table_text(table, what);
    table_number(table, rint(rate / giga * 10.0) / 10.0);
    table_number(table, rint(peak / giga * 10.0) / 10.0);
    table_number(table, rounded_percent(rate / peak));
}

static void add_copies(const struct profile_findings *findings, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("copy"), RIGHT("gb_per_s"), RIGHT("peak_gb_per_s"),
                                                  RIGHT("share_%")};
    const struct kit_copies *copies = &findings->copies;
    struct answer_table table;
    TABLE_INIT(&table, columns);
    add_copy(&table, "host to GPU", copies->to_gpu, findings->gpu->pcie_bytes_per_s);
    add_copy(&table, "GPU to host", copies->from_gpu, findings->gpu->pcie_bytes_per_s);
    add_copy(&table, "GPU to GPU", copies->peer, gpu_pair_bytes_per_s(findings->gpu, 2));
    answer_add(answer, "copies", "Copies: the fastest, and the link of the hardware file", &table);
}

static void add_power_errors(struct answer_table *table, const char *what, const struct power_errors *errors)
{
    for (size_t i = 0; i < errors->n; i++) {
        table_text(table, what);
        table_text(table, errors->items[i].name);
        calibrate_add_error(table, &errors->items[i].error);
    }
}

static void add_power(const struct profile_findings *findings, struct answer *answer)
{
    static const struct table_column columns[] = {LEFT("rows_that_were"), LEFT("of"), CALIBRATE_ERROR_COLUMNS};
    const struct power_fitted *fitted = &findings->power_fit[POWER_ACTIVITY];
    struct answer_table table;
    TABLE_INIT(&table, columns);
    if (fitted->rows > 0) {
        add_power_errors(&table, "fitted", &fitted->fit);
        add_power_errors(&table, "held out", &fitted->held_out);
    }
    answer_add(answer, "power", "Power of loads", &table);
    if (findings->power_problem != NULL) answer_say(answer, "\nPower is not fitted: %s\n", findings->power_problem);
}

/* --- How to use it --- */

static void show_use(const struct profile_findings *findings, struct answer *answer)
{
    const char *gpu = findings->gpu_word, *file = findings->output;
    if (findings->power_output != NULL)
        answer_say(answer, "\nRuns use the power in '%s' once it is copied to configs/calibration/power/%s.json.\n",
                   findings->power_output, findings->gpu->name);
    if (findings->n_sets == 0) {
        answer_say(answer, "\nNo kernels were measured: there is nothing to fit.\n");
        return;
    }
    if (file == NULL) {
        if (findings->power_output != NULL) return;
        answer_say(answer, "\nNothing was written; '-o my-gpu.json' writes the calibration.\n");
        return;
    }
    answer_say(answer,
               "\nIn a scenario, and at once:\n"
               "  \"cost\": {\"kind\": \"operators\", \"calibration\": \"%s\"}\n"
               "  orrery run quickstart --set cluster.gpu=%s --set services.chat.cost.calibration=%s\n",
               file, gpu, file);
    if (findings->requests_path == NULL) return;
    answer_say(answer,
               "Against the measured requests of vLLM:\n"
               "  orrery trace replay %s --scenario quickstart --set cluster.gpu=%s"
               " --set services.chat.replicas=1 --set services.chat.llm=%s"
               " --set services.chat.cost.calibration=%s\n",
               findings->requests_path, gpu, kit_llm, file);
}

int profile_print(const struct profile_findings *findings, enum answer_form form, FILE *out)
{
    struct answer answer;
    answer_init(&answer, form, NULL);
    if (form == ANSWER_JSON)
        write_manifest(findings, &answer);
    else
        show_manifest(findings, &answer);
    add_parts(&findings->kit, &answer);
    add_rates(findings, &answer);
    add_left_out(findings, &answer);
    add_fits(findings, &answer);
    const int code = add_iterations(findings, &answer);
    add_copies(findings, &answer);
    add_power(findings, &answer);
    if (form != ANSWER_JSON) show_use(findings, &answer);
    return answer_end(&answer, code, out, NULL);
}
