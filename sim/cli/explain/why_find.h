/* What `orrery why` is asked for, and how it is found in the stored rows of the run. */
#ifndef ORRERY_CLI_EXPLAIN_WHY_FIND_H
#define ORRERY_CLI_EXPLAIN_WHY_FIND_H

#include "analysis/query.h"
#include "sim/cli/cli.h"
#include "sim/cli/explain/story.h"
#include "sim/store/readback.h"

struct why_options {
    const char *service;
    int form; /* enum answer_form */
    bool all, with_warmup;
};

enum { KIND_REQUEST, KIND_JOB, KIND_TIME };

/* The question, and what is read to answer it. */
struct asking {
    struct cli *cli;
    const struct why_options *options;
    struct arena *arena;
    const char *results, *path; /* as the call names them; their file */
    struct run_record record;
    struct story_subject subject;
    int64_t row;               /* rowid of the subject in its table */
    const char *found_of;      /* the service of the request, if the call does not give its id; else NULL */
    const char *found_by;      /* how that was chosen, in words, if the run has a warm-up; else NULL */
    struct query_answer ranks; /* name, value, percentile, peers without a value */
    double from_s, to_s;       /* the stretch of time */
};

/* Each returns 0, or a negative code and a message. */

/* Checks that the option --service names a service which has requests in a run that stored some. */
int why_check_service(struct asking *asking);

/* Takes the id that the text states, or finds that of the request or job that took or waited longest. */
int why_find_id(struct asking *asking, const char *text);

/* Finds the request's service, or checks that the job exists. */
int why_find_subject(struct asking *asking);

/* Reads the stretch of time of the call, of a run whose end is stored. */
int why_find_stretch(struct asking *asking, const char *text);

/* Reads the share of the run's jobs, or of the service's requests, with no larger times. */
int why_read_ranks(struct asking *asking);

/* Whether the word stands behind a kind. */
bool why_is_subject(const char *word);

/* Fails: the call names too little. `kind`, `subject` NULL: it names none. */
int why_fail_incomplete(struct asking *asking, const char *kind, const char *subject);

#endif
