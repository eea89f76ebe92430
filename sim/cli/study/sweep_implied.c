/* Members of the values of an axis that always come together: a long table shows one of them, and a line below tells
 * the others.
 *
 * Zipped axes have such values: "gpu=h100-sxm gpu_price=$4.69/h" beside those of another GPU, or the dozen settings of
 * pools, which all rows with pools have. A member stands for those that the very same points have. A key with several
 * values, such as "replicas", stands for members that are there whenever it is. */
#include "sim/cli/study/sweep_view.h"

#include <ctype.h>
#include <string.h>

enum { MOST_MEMBERS = 128, LEAST_CHARS = 40 }; /* shorter values stay as they are */

struct member {
    const char *text; /* "gpu=h100-sxm", of n characters; of a key "gpu" */
    size_t n;
    bool is_key;
    size_t n_values; /* of a key */
    char places[SWEEP_MAX_ROWS + 1]; /* by point: '1' has it, '0' has not */
};

struct members {
    size_t n, n_points;
    struct member items[MOST_MEMBERS];
};

/* Notes that the point has this member or key. Returns whether it is new; sets `is_full` if there is no room. */
static bool note(struct members *members, const char *text, size_t n, bool is_key, size_t point, bool *is_full)
{
    size_t at = 0;
    while (at < members->n && (members->items[at].is_key != is_key || members->items[at].n != n ||
                               strncmp(members->items[at].text, text, n) != 0))
        at++;
    if (at == MOST_MEMBERS) {
        *is_full = true;
        return false;
    }
    struct member *member = &members->items[at];
    const bool is_new = at == members->n;
    if (is_new) {
        *member = (struct member){.text = text, .n = n, .is_key = is_key};
        memset(member->places, '0', members->n_points);
        members->n++;
    }
    member->places[point] = '1';
    return is_new;
}

/* Returns false if there are too many. */
static bool collect(const char *const *texts, struct members *members)
{
    bool is_full = false;
    for (size_t point = 0; point < members->n_points; point++)
        for (const char *at = texts[point]; *at != 0;) {
            const size_t n = strcspn(at, " "), n_key = strcspn(at, "= ");
            if (n_key < n) {
                const bool is_new = note(members, at, n, false, point, &is_full);
                note(members, at, n_key, true, point, &is_full);
                for (size_t i = 0; is_new && i < members->n; i++)
                    members->items[i].n_values += members->items[i].is_key && members->items[i].n == n_key &&
                                                  strncmp(members->items[i].text, at, n_key) == 0;
            }
            at += n + (at[n] == ' ');
        }
    return !is_full;
}

static bool is_number(const struct member *member)
{
    const char *value = memchr(member->text, '=', member->n);
    bool is = value != NULL && value + 1 < member->text + member->n;
    for (const char *at = value; is && ++at < member->text + member->n;) is = isdigit((unsigned char)*at);
    return is;
}

/* The number of values of a member's key. */
static size_t count_values(const struct members *members, const struct member *member)
{
    const size_t n_key = strcspn(member->text, "=");
    size_t n = 0;
    for (size_t i = 0; i < members->n; i++) {
        const struct member *key = &members->items[i];
        if (key->is_key && key->n == n_key && strncmp(key->text, member->text, n_key) == 0) n = key->n_values;
    }
    return n;
}

/* What stands for this member: a key with several values, else the first member if its key has several values, else the
 * first number, else the first member. */
static const struct member *find_shown(const struct members *members, const struct member *member)
{
    const struct member *first = NULL, *number = NULL;
    for (size_t i = 0; i < members->n; i++) {
        const struct member *other = &members->items[i];
        if (strcmp(other->places, member->places) != 0) continue;
        if (other->is_key && other->n_values > 1) return other;
        if (other->is_key) continue;
        if (first == NULL) first = other;
        if (number == NULL && is_number(other)) number = other;
    }
    return number == NULL || count_values(members, first) > 1 ? first : number;
}

/* Where the key of a member has several values they tell rows apart: a number stays, and so does the name of a policy
 * before its own parameter. Other words are left out, as the price behind the GPU. */
static bool is_left_out(const struct members *members, const struct member *member, const struct member *shown)
{
    if (member->is_key || member == shown || find_shown(members, member) != shown) return false;
    const size_t n_key = strcspn(member->text, "=");
    const bool is_owner = shown->n > n_key && shown->text[n_key] == '.' &&
                          strncmp(shown->text, member->text, n_key) == 0;
    return count_values(members, member) == 1 || (!is_owner && !is_number(member));
}

/* Adds the members that `shown` stands for, each after the text before it. */
static size_t add_implied(const struct members *members, const struct member *shown, struct text *implied,
                          struct text *lines)
{
    size_t n = 0;
    for (size_t i = 0; i < members->n; i++) {
        const struct member *member = &members->items[i];
        if (!is_left_out(members, member, shown)) continue;
        if (n++ == 0) text_printf(lines, "with %.*s:", (int)shown->n, shown->text);
        text_printf(lines, " %.*s", (int)member->n, member->text);
        text_printf(implied, "%.*s ", (int)member->n, member->text);
    }
    if (n > 0) text_add(lines, "\n");
    return n;
}

int sweep_find_implied(const char *const *texts, size_t n, struct arena *arena, const char **implied,
                       const char **implications)
{
    size_t n_longest = 0, n_implied = 0;
    *implied = *implications = NULL;
    for (size_t i = 0; i < n; i++) n_longest = strlen(texts[i]) > n_longest ? strlen(texts[i]) : n_longest;
    if (n_longest < LEAST_CHARS || n > SWEEP_MAX_ROWS) return 0;
    struct members *members = arena_alloc(arena, sizeof *members);
    if (members == NULL) return SIM_E_NOMEM;
    *members = (struct members){.n_points = n};
    if (!collect(texts, members)) return 0;
    struct text hidden, lines;
    text_init(&hidden);
    text_init(&lines);
    text_add(&hidden, " ");
    for (size_t i = 0; i < members->n; i++) n_implied += add_implied(members, &members->items[i], &hidden, &lines);
    if (n_implied > 0 && !hidden.failed && !lines.failed) {
        *implied = arena_strdup(arena, hidden.chars);
        *implications = arena_strdup(arena, lines.chars);
    }
    const bool failed = hidden.failed || lines.failed || (n_implied > 0 && (*implied == NULL || *implications == NULL));
    text_fini(&hidden);
    text_fini(&lines);
    return failed ? SIM_E_NOMEM : 0;
}
