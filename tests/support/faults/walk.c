/* Walks the table of calls that write: each fails at its n-th allocation, its n-th change of a file or its n-th flush,
 * may write files of n bytes only, is killed before its n-th change of a file, or at a moment.
 *
 * usage: walk TABLE DIRECTORY [NAME...]     only the rows with these names
 *
 * A row is "name | flags | call before | call | calls after"; words are separated by blanks, calls after by ";", where
 * "+" stands for the call itself. It runs in an empty directory. The call before it makes the old state; "-": none.
 * After each fault:
 *
 *   - the exit status is that of the whole call, 3 or 70, with a message; sanitizers say nothing;
 *   - every file is the old one or that of a whole call, and the latter if the exit status says so;
 *   - no temporary file is there, unless the call was killed;
 *   - the calls after it succeed, lead to the state of a whole call, and leave no temporary file.
 *
 * Flags: `a` appends a run each time; `s` sweeps, which keep finished and failed runs and go on with them; `w` has
 * worker processes; `v` writes a verdict, which is another one where a run failed; `p` may leave a part for the next
 * call.
 *
 * In the environment: ORRERY, SHIM, SEED; KINDS of faults, all without; FULL=1 tries every n, FULL=7 every
 * seventh of the allocations, otherwise some are drawn; JOBS processes. */
#define _GNU_SOURCE
#include "tests/support/faults/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 32, MAX_AFTER = 4, SAID_BYTES = 16384, LIMIT_S = 120, MAX_FINDINGS = 30 };
enum kind { ALLOC, WRITE, FLUSH, KILL, DIE, N_COUNTED, LIMIT = N_COUNTED, MOMENT, N_KINDS };
static const char *const kind_names[N_KINDS] = {"alloc", "write", "flush", "kill", "die", "limit", "moment"};
static const int drawn[N_KINDS] = {4, 4, 2, 4, 2, 2, 1}; /* per row */

struct row {
    char name[64], flags[16], before[1024], call[1024], after[MAX_AFTER][1024];
    int n_after;
};

/* A fault at the n-th call, byte or microsecond; a kind of -1: none. */
struct fault {
    int kind;
    long n;
    bool lasts;
};

struct outcome {
    int status; /* exit status; 128 + a signal */
    char said[SAID_BYTES];
    double s;
};

static struct {
    const char *orrery, *shim, *directory;
    char work[PATH_CHARS], kept[PATH_CHARS], counts_path[PATH_CHARS];
    long *counts;
    int n_findings, n_calls;
    long full; /* 0: a sample */
} walk;

/* --- Calls --- */

static void split(char *text, char **words)
{
    int n = 1;
    for (char *word = strtok(text, " "); word != NULL && n + 1 < MAX_WORDS; word = strtok(NULL, " ")) words[n++] = word;
    words[n] = NULL;
}

static void become_call(const char *call, const struct fault *fault, int out)
{
    char text[1024], spec[64], *words[MAX_WORDS] = {"orrery"};
    snprintf(text, sizeof text, "%s", call);
    split(text, words);
    setpgid(0, 0);
    dup2(out, STDERR_FILENO);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    if (chdir(walk.work) != 0) _exit(99);
    if (fault->kind >= 0 && fault->kind < N_COUNTED) {
        snprintf(spec, sizeof spec, "%s:%ld:%d", kind_names[fault->kind], fault->n, fault->lasts);
        setenv("FAULT", spec, 1);
    }
    if (fault->kind == LIMIT) setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)fault->n, (rlim_t)fault->n});
    setenv("FAULT_COUNTS", walk.counts_path, 1);
    setenv("LD_PRELOAD", walk.shim, 1);
    execv(walk.orrery, words);
    _exit(98);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Keeps what the call says until all its processes have ended or it takes too long. */
static void listen_to(int from, pid_t child, double until_s, struct outcome *outcome)
{
    size_t n = 0;
    struct pollfd end = {.fd = from, .events = POLLIN};
    for (double left_s; (left_s = until_s - now_s()) > 0;) {
        char bytes[4096];
        if (poll(&end, 1, (int)(1e3 * left_s) + 1) <= 0) break;
        const ssize_t got = read(from, bytes, sizeof bytes);
        if (got <= 0) break;
        const size_t room = sizeof outcome->said - 1 - n, taken = (size_t)got < room ? (size_t)got : room;
        memcpy(outcome->said + n, bytes, taken);
        n += taken;
    }
    outcome->said[n] = 0;
    if (now_s() >= until_s) kill(-child, SIGKILL);
}

static void run_call(const char *call, const struct fault *fault, struct outcome *outcome)
{
    int ends[2], status;
    const double began_s = now_s();
    memset(walk.counts, 0, N_COUNTED * sizeof *walk.counts);
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
    const pid_t child = fork();
    if (child == 0) become_call(call, fault, ends[1]);
    setpgid(child, child); /* as the child does: whichever comes first */
    close(ends[1]);
    listen_to(ends[0], child, began_s + (fault->kind == MOMENT ? 1e-6 * (double)fault->n : LIMIT_S), outcome);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child) abort();
    while (waitpid(-child, NULL, 0) > 0) continue; /* its processes, which become ours */
    outcome->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    outcome->s = now_s() - began_s;
    walk.n_calls++;
}

/* --- Directories --- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    const int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (ssize_t n; (n = read(in, bytes, sizeof bytes)) > 0;)
        if (write(out, bytes, (size_t)n) != n) abort();
    close(in);
    close(out);
}

static void copy_tree(const char *from, const char *to)
{
    DIR *directory = opendir(from);
    if (mkdir(to, 0777) != 0 || directory == NULL) abort();
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char source[2 * PATH_CHARS], copy[2 * PATH_CHARS];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        snprintf(copy, sizeof copy, "%s/%s", to, entry->d_name);
        (entry->d_type == DT_DIR ? copy_tree : copy_file)(source, copy);
    }
    closedir(directory);
}

/* Processes that are dying may still write: then it is tried again. */
static void replace_tree(const char *from, const char *to)
{
    for (int i = 0; i < 100 && access(to, F_OK) == 0; i++) nftw(to, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (from != NULL)
        copy_tree(from, to);
    else if (mkdir(to, 0777) != 0)
        abort();
}

/* --- What is expected --- */

/* A row under way: the states before it and of the whole call, whose status and counts are kept. */
struct trial {
    const struct row *row;
    const struct fault *fault;
    struct state old, new;
    int whole_status;
    long totals[N_KINDS];
    struct outcome outcome;
};

__attribute__((format(printf, 3, 4))) static void find(struct trial *trial, const char *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (walk.n_findings++ < MAX_FINDINGS) {
        const struct fault *fault = trial->fault;
        printf("FAILED: %s, %s %ld%s: ", trial->row->name, kind_names[fault->kind], fault->n,
               fault->lasts ? " and later" : "");
        vprintf(format, arguments);
        printf("\n  after: orrery %s\n%.2500s\n", call, trial->outcome.said);
        fflush(stdout);
    }
    va_end(arguments);
}

static bool has_flag(const struct row *row, char flag)
{
    return strchr(row->flags, flag) != NULL;
}

static bool is_kill(const struct fault *fault)
{
    return fault->kind == KILL || fault->kind == DIE || fault->kind == MOMENT;
}

static void check_end(struct trial *trial)
{
    const struct outcome *outcome = &trial->outcome;
    const char *call = trial->row->call;
    const int status = outcome->status;
    const bool was_killed = is_kill(trial->fault) && status == 128 + SIGKILL;
    const bool is_known = status == trial->whole_status || status == 3 || status == 70;
    if (!is_known && !was_killed) find(trial, call, "exit status %d", status);
    if (is_known && status != trial->whole_status && strstr(outcome->said, "error: ") == NULL)
        find(trial, call, "exit status %d without a message", status);
    if (strstr(outcome->said, "Sanitizer") != NULL || strstr(outcome->said, "runtime error") != NULL)
        find(trial, call, "a finding of a sanitizer");
}

/* Every file is the old or the new one. */
static void check_files(struct trial *trial, const struct state *now)
{
    const char *call = trial->row->call;
    for (int pass = 0; pass < 3; pass++) {
        const struct state *list = pass == 0 ? &trial->old : pass == 1 ? &trial->new : now;
        for (size_t i = 0; i < list->n; i++) {
            const char *path = list->files[i].path, *is = state_find(now, path);
            const char *was = state_find(&trial->old, path), *will = state_find(&trial->new, path);
            const bool is_old = was == is || (was != NULL && is != NULL && strcmp(was, is) == 0);
            const bool is_new = will == is || (will != NULL && is != NULL && strcmp(will, is) == 0);
            const bool is_part = has_flag(trial->row, 's') && now->is_unfinished;
            const bool is_verdict = has_flag(trial->row, 'v') && trial->outcome.status != trial->whole_status;
            const bool is_seen = pass > 0 && (was != NULL || (pass > 1 && will != NULL));
            if (!is_old && !is_new && !is_part && !is_verdict && !is_seen)
                find(trial, call, "%s is neither the old nor the new file: %s", path, is != NULL ? is : "absent");
        }
    }
}

static void check_state(struct trial *trial, const struct state *now)
{
    const char *call = trial->row->call;
    /* What fails for good cannot be cleaned up, as after a kill. */
    const bool is_sweep = has_flag(trial->row, 's'), was_killed = is_kill(trial->fault) || trial->fault->lasts;
    check_files(trial, now);
    if (trial->outcome.status == trial->whole_status && !state_equals(now, &trial->new))
        find(trial, call, "it says that all went well");
    const bool keeps = is_sweep && trial->outcome.status != trial->whole_status;
    /* SQLite's next writer needs or removes a journal. */
    const bool is_journal = trial->fault->kind != ALLOC && strstr(now->temporary, "-journal") != NULL;
    const bool is_kept = has_flag(trial->row, 'p') && trial->outcome.status != trial->whole_status;
    if (now->temporary[0] != 0 && !was_killed && !keeps && !is_journal && !is_kept)
        find(trial, call, "%s is left", now->temporary);
    if (now->is_unfinished && !was_killed && !is_sweep) find(trial, call, "a run or an empty database is left");
}

/* Makes the calls after it. Where the old state is untouched, they would only repeat the whole call. */
static void go_on(struct trial *trial, struct state *now)
{
    const struct fault none = {.kind = -1};
    const bool was_new = has_flag(trial->row, 'a') ? !state_equals(now, &trial->old) : state_equals(now, &trial->new);
    if (state_equals(now, &trial->old) && now->temporary[0] == 0 && !now->is_unfinished) return;
    for (int i = 0; i < trial->row->n_after; i++) {
        const char *call = trial->row->after[i];
        run_call(call, &none, &trial->outcome);
        const int status = trial->outcome.status;
        if (status != 0 && status != trial->whole_status && !(was_new && status == 2))
            find(trial, call, "the call after it ends with %d", status);
    }
    state_read(now, walk.work);
    if (now->temporary[0] != 0) find(trial, "...", "%s stays after the next call", now->temporary);
    if (now->is_unfinished && !was_new) find(trial, "...", "an unfinished run stays after the next call");
    if (!was_new && !state_equals(now, &trial->new)) find(trial, "...", "the calls after it lead elsewhere");
}

static void try_fault(struct trial *trial, const struct fault *fault)
{
    struct state now;
    trial->fault = fault;
    replace_tree(walk.kept, walk.work);
    run_call(trial->row->call, fault, &trial->outcome);
    check_end(trial);
    state_read(&now, walk.work);
    check_state(trial, &now);
    go_on(trial, &now);
}

/* --- Rows --- */

static uint64_t draw(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* What a whole call does: its counts, the bytes of its largest file, its microseconds. */
static void measure(struct trial *trial)
{
    static const struct fault none = {.kind = -1};
    trial->fault = &(struct fault){.kind = ALLOC};
    replace_tree(NULL, walk.work);
    if (strcmp(trial->row->before, "-") != 0) run_call(trial->row->before, &none, &trial->outcome);
    replace_tree(walk.work, walk.kept);
    state_read(&trial->old, walk.work);
    run_call(trial->row->call, &none, &trial->outcome);
    trial->whole_status = trial->outcome.status;
    for (int kind = 0; kind < N_COUNTED; kind++) trial->totals[kind] = walk.counts[kind];
    trial->totals[MOMENT] = (long)(1e6 * trial->outcome.s);
    state_read(&trial->new, walk.work);
    for (size_t i = 0; i < trial->new.n; i++) {
        char path[2 * PATH_CHARS];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", walk.work, trial->new.files[i].path);
        if (stat(path, &status) == 0 && status.st_size > trial->totals[LIMIT]) trial->totals[LIMIT] = status.st_size;
    }
    if (trial->whole_status != 0 || trial->new.n == 0 || state_equals(&trial->old, &trial->new) ||
        trial->new.temporary[0] != 0)
        find(trial, trial->row->call, "the whole call ends with %d and changes nothing, or leaves %s",
             trial->whole_status, trial->new.temporary);
}

static void walk_kind(struct trial *trial, int kind, uint64_t *random)
{
    const long total = trial->totals[kind];
    const bool is_counted = kind < N_COUNTED;
    const long step = walk.full == 0 ? 0 : kind == ALLOC ? walk.full : is_counted ? 1 : total / 40 + 1;
    const char *wanted = getenv("KINDS");
    if (wanted != NULL && strstr(wanted, kind_names[kind]) == NULL) return;
    if (kind == DIE && !has_flag(trial->row, 'w')) return;
    for (long n = 1; step > 0 && n <= total; n += step) {
        try_fault(trial, &(struct fault){kind, n, false});
        if (kind == WRITE || (kind == ALLOC && n / step % 8 == 0)) try_fault(trial, &(struct fault){kind, n, true});
    }
    for (int i = 0; step == 0 && i < drawn[kind] && total > 0; i++)
        try_fault(trial, &(struct fault){kind, 1 + (long)(draw(random) % (uint64_t)total), i % 2 == 1});
}

static void walk_row(const struct row *row, uint64_t seed)
{
    struct trial *trial = calloc(1, sizeof *trial);
    if (trial == NULL) abort();
    trial->row = row;
    measure(trial);
    for (int kind = 0; kind < N_KINDS; kind++) walk_kind(trial, kind, &seed);
    printf("%s: %ld allocations, %ld changes, %ld flushes, %d calls so far\n", row->name, trial->totals[ALLOC],
           trial->totals[WRITE], trial->totals[FLUSH], walk.n_calls);
    fflush(stdout);
    free(trial);
}

/* --- The table --- */

static char *trim(char *text)
{
    while (*text == ' ') text++;
    for (size_t n = strlen(text); n > 0 && strchr(" \n", text[n - 1]) != NULL;) text[--n] = 0;
    return text;
}

static bool read_row(FILE *table, struct row *row)
{
    char line[8192], *fields[5], *rest = line;
    do {
        if (fgets(line, sizeof line, table) == NULL) return false;
    } while (line[0] == '#' || line[0] == '\n');
    for (int i = 0; i < 5; i++)
        if ((fields[i] = strsep(&rest, "|")) == NULL) abort();
    *row = (struct row){.n_after = 0};
    snprintf(row->name, sizeof row->name, "%s", trim(fields[0]));
    snprintf(row->flags, sizeof row->flags, "%s", trim(fields[1]));
    snprintf(row->before, sizeof row->before, "%s", trim(fields[2]));
    snprintf(row->call, sizeof row->call, "%s", trim(fields[3]));
    for (char *after; row->n_after < MAX_AFTER && (after = strsep(&fields[4], ";")) != NULL;) {
        after = trim(after);
        snprintf(row->after[row->n_after++], sizeof row->after[0], "%s%s", *after == '+' ? row->call : "",
                 after + (*after == '+'));
    }
    return true;
}

static bool is_wanted(const struct row *row, int n, char **names)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], row->name) == 0) return true;
    return n == 0;
}

static void walk_rows(const char *path, int n_names, char **names, int job, int n_jobs)
{
    const char *seed = getenv("SEED");
    struct row row;
    FILE *table = fopen(path, "r");
    if (table == NULL || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) abort();
    snprintf(walk.work, sizeof walk.work, "%s/work%d", walk.directory, job);
    snprintf(walk.kept, sizeof walk.kept, "%s/kept%d", walk.directory, job);
    snprintf(walk.counts_path, sizeof walk.counts_path, "%s/counts%d", walk.directory, job);
    const int file = open(walk.counts_path, O_RDWR | O_CREAT, 0666);
    if (file < 0 || ftruncate(file, N_COUNTED * sizeof *walk.counts) != 0) abort();
    walk.counts = mmap(NULL, N_COUNTED * sizeof *walk.counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (walk.counts == MAP_FAILED) abort();
    for (int i = 0; read_row(table, &row); i++)
        if (is_wanted(&row, n_names, names) && i % n_jobs == job)
            walk_row(&row, (seed != NULL ? strtoull(seed, NULL, 10) : 1) + 1000u * (uint64_t)i);
    fclose(table);
}

int main(int argc, char **argv)
{
    const char *jobs = getenv("JOBS"), *full = getenv("FULL");
    const int n_jobs = jobs != NULL ? atoi(jobs) : 1;
    int status, failed = 0;
    if (argc < 3 || (walk.orrery = getenv("ORRERY")) == NULL || (walk.shim = getenv("SHIM")) == NULL) return 2;
    walk.directory = argv[2];
    walk.full = full != NULL ? atol(full) : 0;
    for (int job = 0; job < n_jobs; job++) {
        fflush(stdout);
        if (fork() != 0) continue;
        walk_rows(argv[1], argc - 3, argv + 3, job, n_jobs);
        if (walk.n_findings > 0) printf("%d findings\n", walk.n_findings);
        exit(walk.n_findings > 0);
    }
    while (wait(&status) > 0) failed |= status != 0;
    return failed;
}
