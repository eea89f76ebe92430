#include "sim/cli/calibrate/calibrate_csv.h"

#include "models/kernel.h"

void calibrate_csv_init(struct answer_table *table)
{
    static const struct table_column columns[] = {
        LEFT("set"),          LEFT("class"),     LEFT("part"),        LEFT("rows_that_were"), RIGHT("rows"),
        RIGHT("median_frac"), RIGHT("p90_frac"), RIGHT("worst_frac"), RIGHT("bias_frac")};
    TABLE_INIT(table, columns);
}

void calibrate_csv_add(struct answer_table *table, const char *set, const char *class, const char *part,
                       const char *rows_that_were, const struct fit_error *error)
{
    if (error->rows == 0) return;
    table_text(table, set);
    table_text(table, class);
    table_text(table, part);
    table_text(table, rows_that_were);
    table_number(table, (double)error->rows);
    table_number(table, error->median);
    table_number(table, error->p90);
    table_number(table, error->worst);
    table_number(table, error->bias);
}

static void add_cuts(struct answer_table *table, const char *set, const char *class, const char *rows_that_were,
                     const struct fit_cuts *errors)
{
    for (int cut = 0; cut < FIT_CUT_COUNT; cut++)
        calibrate_csv_add(table, set, class, fit_cut_name((enum fit_cut)cut), rows_that_were, &errors->cuts[cut]);
    for (int op = 0; op < LLM_OPERATOR_COUNT; op++)
        calibrate_csv_add(table, set, class, llm_operator_name((enum llm_operator)op), rows_that_were,
                          &errors->ops[op]);
}

static void add_folds(struct answer_table *table, const char *set, const char *class, const struct fold_report *report)
{
    for (size_t i = 0; i < report->n_folds; i++)
        calibrate_csv_add(table, set, class, report->folds[i].name, "held out: fold",
                          &report->folds[i].errors.cuts[CUT_ALL]);
    add_cuts(table, set, class, "held out: sum of a layer's products", &report->layer_sum);
}

void calibrate_csv_add_set(struct answer_table *table, const struct calibrated_set *set)
{
    for (int c = 0; c < KERNEL_CLASS_COUNT; c++) {
        if (set->classes[c] == NULL) continue;
        const char *name = kernel_class_info((enum kernel_class)c)->name;
        const struct fold_report *report = &set->classes[c]->report;
        add_cuts(table, set->name, name, "fitted", &report->fit);
        add_cuts(table, set->name, name, "held out", &report->held_out);
        add_cuts(table, set->name, name, "held out: roofline", &report->roofline);
        add_folds(table, set->name, name, report);
    }
}

void calibrate_csv_add_prediction(struct answer_table *table, const struct prediction *prediction)
{
    add_cuts(table, prediction->set, NULL, "predicted", &prediction->errors);
}

int calibrate_csv_print(struct answer_table *table, FILE *out)
{
    return table_print(table, 0, ANSWER_CSV, out, NULL);
}
