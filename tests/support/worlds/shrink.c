#include "tests/support/worlds/shrink.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_TRIALS = 600, MOST_SHRINKING_S = 120, LINE_CHARS = 1024 };

/* --- In a child --- */

/* The line of standard error that names the reason of an end; the last one otherwise. */
static void read_reason(FILE *errors, char *reason, size_t reason_bytes)
{
    static const char *const marks[] = {"bug at ", "ERROR: ", "runtime error: ", NULL};
    char line[LINE_CHARS];
    rewind(errors);
    while (fgets(line, sizeof line, errors) != NULL) {
        for (const char *const *mark = marks; *mark != NULL; mark++) {
            const char *found = strstr(line, *mark);
            if (found == NULL) continue;
            if (**mark == 'r') found = line;
            snprintf(reason, reason_bytes, "%.*s", (int)strcspn(found, "\n"), found);
            return;
        }
    }
}

/* The functions of ours in the stack that a sanitizer prints: the first two. */
static void add_place(FILE *errors, char *reason, size_t reason_bytes)
{
    char line[LINE_CHARS];
    int n = 0;
    rewind(errors);
    while (n < 2 && fgets(line, sizeof line, errors) != NULL) {
        const char *in = strstr(line, " in "), *place = strstr(line, ".c:");
        if (in == NULL || place == NULL || strstr(line, "#") == NULL || strstr(line, "/libsanitizer/") != NULL)
            continue;
        const size_t used = strlen(reason);
        snprintf(reason + used, reason_bytes - used, "%s%.*s", n++ == 0 ? " in " : " < ", (int)strcspn(in + 4, " "),
                 in + 4);
    }
}

static void explain_end(int status, FILE *errors, struct trial *trial)
{
    *trial = (struct trial){.verdict = TRIAL_FOUND};
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) {
        snprintf(trial->text, sizeof trial->text, "it takes more than %d s", TRIAL_MOST_S);
        return;
    }
    snprintf(trial->text, sizeof trial->text, WIFSIGNALED(status) ? "ended by signal %d" : "ended with status %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    read_reason(errors, trial->text, sizeof trial->text);
    add_place(errors, trial->text, sizeof trial->text);
}

static void limit_time(void)
{
    const struct itimerval limit = {.it_value = {.tv_sec = TRIAL_MOST_S}};
    setitimer(ITIMER_PROF, &limit, NULL);
}

void trial_in_child(const char *json, const struct trial_options *options, struct trial *trial)
{
    struct trial *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    FILE *errors = tmpfile();
    if (shared == MAP_FAILED || errors == NULL) abort();
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        dup2(fileno(errors), STDERR_FILENO);
        limit_time();
        trial_run(json, options, shared);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    if (status == 0)
        *trial = *shared;
    else
        explain_end(status, errors, trial);
    fclose(errors);
    munmap(shared, sizeof *shared);
}

void trial_signature(const struct trial *trial, char signature[TRIAL_TEXT_CHARS])
{
    size_t n = 0;
    for (const char *from = trial->text; *from != 0; from++) {
        const bool goes_on = n > 0 && signature[n - 1] == '#' &&
                             (isxdigit((unsigned char)*from) || strchr(".x+-", *from));
        if (goes_on) continue;
        signature[n++] = (char)(isdigit((unsigned char)*from) ? '#' : *from);
    }
    signature[n] = 0;
}

/* --- Shrinking --- */

struct shrinking {
    cJSON *world;
    const struct trial_options *options;
    struct trial *trial; /* the finding */
    char signature[TRIAL_TEXT_CHARS];
    int n_trials;
    time_t began;
};

/* Whether the world as it is now has the finding still. */
static bool still_found(struct shrinking *shrinking)
{
    struct trial trial;
    char signature[TRIAL_TEXT_CHARS];
    if (shrinking->n_trials >= MOST_TRIALS || time(NULL) - shrinking->began > MOST_SHRINKING_S) return false;
    shrinking->n_trials++;
    char *json = cJSON_Print(shrinking->world);
    trial_in_child(json, shrinking->options, &trial);
    cJSON_free(json);
    trial_signature(&trial, signature);
    if (trial.verdict != TRIAL_FOUND || strcmp(signature, shrinking->signature) != 0) return false;
    *shrinking->trial = trial;
    return true;
}

/* Puts a detached child back to its place. */
static void put_back(cJSON *parent, cJSON *child, cJSON *next)
{
    if (next == NULL) {
        cJSON_AddItemToArray(parent, child);
        return;
    }
    child->next = next;
    child->prev = next->prev;
    if (next == parent->child)
        parent->child = child;
    else
        next->prev->next = child;
    next->prev = child;
}

/* Removes children one by one, larger things before what is in them. Returns whether one was dispensable. */
static bool remove_children(struct shrinking *shrinking, cJSON *parent)
{
    bool smaller = false;
    for (cJSON *child = parent->child, *next; child != NULL; child = next) {
        next = child->next;
        cJSON_DetachItemViaPointer(parent, child);
        if (still_found(shrinking)) {
            cJSON_Delete(child);
            smaller = true;
            continue;
        }
        put_back(parent, child, next);
        smaller |= remove_children(shrinking, child);
    }
    return smaller;
}

/* Lowers whole numbers above 1: to 1, else by halves. */
static bool lower_numbers(struct shrinking *shrinking, cJSON *parent)
{
    bool smaller = false;
    for (cJSON *child = parent->child; child != NULL; child = child->next) {
        smaller |= lower_numbers(shrinking, child);
        for (double lower = 1; cJSON_IsNumber(child) && child->valuedouble > 1; lower = floor(child->valuedouble / 2)) {
            const double kept = child->valuedouble;
            if (kept != floor(kept) || lower >= kept) break;
            cJSON_SetNumberValue(child, lower);
            const bool is_lower = still_found(shrinking);
            if (!is_lower) cJSON_SetNumberValue(child, kept);
            smaller |= is_lower;
            if (!is_lower && lower > 1) break;
            if (!is_lower && floor(kept / 2) <= 1) break;
        }
    }
    return smaller;
}

int shrink(cJSON *world, const struct trial_options *options, struct trial *trial)
{
    struct shrinking shrinking = {.world = world, .options = options, .trial = trial, .began = time(NULL)};
    trial_signature(trial, shrinking.signature);
    while (remove_children(&shrinking, world) || lower_numbers(&shrinking, world)) {
    }
    return shrinking.n_trials;
}
