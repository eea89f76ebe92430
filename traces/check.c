#include "traces/check.h"

/* Takes into account what `next` returned; false when there is no use in going on. */
static bool count(struct trace_check *check, int code, sim_ns time_ns, int *first_error)
{
    if (code == 1) {
        if (check->n_records++ == 0) check->first_ns = time_ns;
        check->last_ns = time_ns;
    } else if (code < 0) {
        check->n_bad_rows += code == SIM_E_DATA;
        if (*first_error == 0) *first_error = code;
    }
    return code == 1 || code == SIM_E_DATA;
}

int trace_check_requests(struct request_source *source, struct trace_check *check, struct diag *diag)
{
    struct request_record record;
    int code, first_error = 0;
    *check = (struct trace_check){0};
    do {
        code = source->next(source, &record, diag);
    } while (count(check, code, code == 1 ? record.arrival_ns : 0, &first_error));
    check->n_rows = source->place(source).row;
    return first_error;
}

int trace_check_jobs(struct job_source *source, struct trace_check *check, struct diag *diag)
{
    struct job_record record;
    int code, first_error = 0;
    *check = (struct trace_check){0};
    do {
        code = source->next(source, &record, diag);
    } while (count(check, code, code == 1 ? record.submit_ns : 0, &first_error));
    check->n_rows = source->place(source).row;
    return first_error;
}
