/* Priced plans as tables of an SQLite file. */
#include "analysis/calibrate/plans/plans.h"

#include "sim/core/database.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const tables[] = {
    "CREATE TABLE plans_source (hash TEXT, source TEXT) STRICT",
    "CREATE TABLE plan (plan INTEGER PRIMARY KEY, series TEXT, name TEXT, x REAL, llm TEXT, gpu TEXT, trainer TEXT, "
    "problem TEXT, gpus INTEGER, micro_batch INTEGER, micro_batches INTEGER, step_s REAL, forward_s REAL, "
    "backward_s REAL, recompute_s REAL, bubble_s REAL, tensor_s REAL, context_s REAL, expert_s REAL, pipeline_s REAL, "
    "data_s REAL, quantise_s REAL, flush_s REAL, swap_s REAL, optimizer_s REAL, host_s REAL, mfu REAL, hfu REAL, "
    "tflops_per_gpu REAL, outside_frac REAL, "
    "weight_bytes REAL, gradient_bytes REAL, optimizer_bytes REAL, activation_bytes REAL, working_bytes REAL, "
    "buffer_bytes REAL, memory_bytes REAL, host_bytes REAL, disk_bytes REAL, fits INTEGER) STRICT",
    "CREATE TABLE measurement (plan INTEGER, series TEXT, name TEXT, x REAL, quantity TEXT, measured REAL, "
    "predicted REAL, error REAL) STRICT",
    "CREATE TABLE fit (gpu TEXT, left_out TEXT, constant TEXT, value REAL, rows INTEGER) STRICT",
    "CREATE TABLE left_out (plan INTEGER, series TEXT, name TEXT, x REAL, quantity TEXT, measured REAL, "
    "predicted REAL, error REAL) STRICT",
    NULL};

struct writing {
    struct database database;
    struct diag *diag;
    sqlite3_stmt *statement;
    int next;
};

static int begin(struct writing *writing, const char *sql)
{
    writing->next = 0;
    return database_prepare(&writing->database, sql, &writing->statement, "store the plans", writing->diag);
}

static void add_text(struct writing *writing, const char *text)
{
    writing->next++;
    if (text != NULL) sqlite3_bind_text(writing->statement, writing->next, text, -1, SQLITE_STATIC);
}

static void add_number(struct writing *writing, double value)
{
    writing->next++;
    if (isfinite(value)) sqlite3_bind_double(writing->statement, writing->next, value);
}

static int end(struct writing *writing)
{
    int code = sqlite3_step(writing->statement) == SQLITE_DONE
                   ? 0
                   : database_error(&writing->database, "store the plans", writing->diag);
    sqlite3_finalize(writing->statement);
    return code;
}

static int write_plan(struct writing *writing, const struct plans_row *row, size_t index)
{
    static const char sql[] =
        "INSERT INTO plan VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    const struct training_step *step = &row->step;
    const struct training_memory *memory = &step->memory;
    const int code = begin(writing, sql);
    if (code != 0) return code;
    add_number(writing, (double)index + 1.0);
    add_text(writing, row->series);
    add_text(writing, row->name);
    add_number(writing, row->x);
    add_text(writing, row->llm);
    add_text(writing, row->setup.gpu.name);
    add_text(writing, row->setup.preset.name);
    add_text(writing, row->problem);
    add_number(writing, (double)row->request.gpus);
    if (row->problem != NULL) return end(writing);
    const double values[] = {
        (double)row->setup.plan.micro_batch, (double)row->setup.plan.micro_batches, step->step_s, step->forward_s,
        step->backward_s, step->recompute_s, step->bubble_s, step->tensor_s, step->context_s, step->expert_s,
        step->pipeline_s, step->data_s, step->quantise_s, step->flush_s, step->swap_s, step->optimizer_s,
        step->host_s, step->mfu, step->hfu, step->flop_per_s / 1e12,
        step->outside_frac, memory->weight_bytes, memory->gradient_bytes, memory->optimizer_bytes,
        memory->activation_bytes, memory->working_bytes, memory->buffer_bytes, memory->total_bytes,
        memory->host_bytes, memory->disk_bytes, step->fits};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) add_number(writing, values[i]);
    return end(writing);
}

/* A row of the table for each measured quantity, beside what the step gives. */
static int write_errors(struct writing *writing, const char *sql, const struct plans_row *row, size_t index,
                        const struct training_step *step)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < row->n_measured; i++) {
        const struct plans_value *measured = &row->measured[i];
        const double predicted = plans_quantity(&row->setup.plan, step, measured->quantity);
        code = begin(writing, sql);
        if (code != 0) return code;
        add_number(writing, (double)index + 1.0);
        add_text(writing, row->series);
        add_text(writing, row->name);
        add_number(writing, row->x);
        add_text(writing, measured->quantity);
        add_number(writing, measured->value);
        add_number(writing, predicted);
        add_number(writing, predicted / measured->value - 1.0);
        code = end(writing);
    }
    return code;
}

static int write_measurements(struct writing *writing, const struct plans_row *row, size_t index)
{
    if (row->problem != NULL) return 0;
    return write_errors(writing, "INSERT INTO measurement VALUES (?,?,?,?,?,?,?,?)", row, index, &row->step);
}

static int write_fit(struct writing *writing, const struct plans_fit *fit, const char *left_out,
                     const struct plans_constants *constants, size_t n)
{
    const int *chosen = fit->constants.items;
    int code = 0;
    for (size_t i = 0; code == 0 && i < fit->constants.n; i++) {
        code = begin(writing, "INSERT INTO fit VALUES (?,?,?,?,?)");
        if (code != 0) return code;
        add_text(writing, fit->gpu);
        add_text(writing, left_out);
        add_text(writing, plans_constant_name((enum plans_constant)chosen[i]));
        add_number(writing, constants->value[chosen[i]]);
        add_number(writing, (double)n);
        code = end(writing);
    }
    return code;
}

static int write_left_out_row(struct writing *writing, const struct plans_row *row, size_t index,
                              const struct plans_constants *constants)
{
    const struct training_step step = plans_step_with(row, constants);
    return write_errors(writing, "INSERT INTO left_out VALUES (?,?,?,?,?,?,?,?)", row, index, &step);
}

/* Whether an earlier row of the fit's GPU has the same LLM. */
static bool is_repeated(const struct plans *plans, const struct plans_fit *fit, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (plans_fit_applies(fit, &plans->rows[i]) && strcmp(plans->rows[i].llm, plans->rows[index].llm) == 0)
            return true;
    return false;
}

/* The rows of each LLM, by constants of all others. */
static int write_left_out(struct writing *writing, const struct plans *plans, const struct plans_fit *fit)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < plans->n; i++) {
        struct plans_constants constants;
        if (!plans_fit_applies(fit, &plans->rows[i]) || is_repeated(plans, fit, i)) continue;
        const char *llm = plans->rows[i].llm;
        const size_t n = plans_fit_find(plans, fit, llm, &constants);
        if (n == 0) continue;
        code = write_fit(writing, fit, llm, &constants, n);
        for (size_t k = i; code == 0 && k < plans->n; k++) {
            const struct plans_row *row = &plans->rows[k];
            if (plans_fit_applies(fit, row) && row->problem == NULL && strcmp(row->llm, llm) == 0)
                code = write_left_out_row(writing, row, k, &constants);
        }
    }
    return code;
}

static int write_fits(struct writing *writing, const struct plans *plans)
{
    const struct plans_fit *fits = plans->file->fits.items;
    int code = 0;
    for (size_t i = 0; code == 0 && i < plans->file->fits.n; i++) {
        struct plans_constants constants;
        const size_t n = plans_fit_find(plans, &fits[i], NULL, &constants);
        if (n > 0) code = write_fit(writing, &fits[i], NULL, &constants, n);
        if (code == 0 && fits[i].leave_out != NULL) code = write_left_out(writing, plans, &fits[i]);
    }
    return code;
}

static int write_source(struct writing *writing, const struct plans_file *file)
{
    const int code = begin(writing, "INSERT INTO plans_source VALUES (?,?)");
    if (code != 0) return code;
    add_text(writing, file->hash);
    add_text(writing, file->source);
    return end(writing);
}

int plans_write(const struct plans *plans, const char *path, struct diag *diag)
{
    struct writing writing = {.diag = diag};
    int code = database_open_anew(&writing.database, path, tables, diag);
    if (code != 0) return code;
    code = write_source(&writing, plans->file);
    for (size_t i = 0; code == 0 && i < plans->n; i++) {
        code = write_plan(&writing, &plans->rows[i], i);
        if (code == 0) code = write_measurements(&writing, &plans->rows[i], i);
    }
    if (code == 0) code = write_fits(&writing, plans);
    if (code == 0) code = database_run(&writing.database, "COMMIT", "store the plans", diag);
    database_close(&writing.database, code != 0);
    return code;
}
