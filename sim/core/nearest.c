/* "Did you mean ...?": the word among candidates that is nearest to one that is not known (text.h). */
#include "sim/core/mem.h"
#include "sim/core/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64 };

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Upper case and blanks are no difference to people: "H100 SXM" is "h100-sxm". */
static char fold(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return c == '_' || c == ' ' ? '-' : c;
}

/* The optimal string alignment distance. A transposition looks two rows back, so three rows are kept. */
size_t text_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    if (na > WORD_MAX || nb > WORD_MAX) return strcmp(a, b) == 0 ? 0 : (na > nb ? na : nb);

    size_t rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++) rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t replaced = above[j - 1] + (fold(a[i - 1]) != fold(b[j - 1]));
            row[j] = min_size(replaced, min_size(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = min_size(row[j], above2[j - 2] + 1);
        }
    }
    return rows[na % 3][nb];
}

/* "h100" and "h100-sxm", "sarathi-serve" and "sarathi": one is the other with more behind it, or nothing more. */
static bool goes_on(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] != 0 && fold(a[n]) == fold(b[n])) n++;
    const char rest = fold(a[n] != 0 ? a[n] : b[n]);
    return n > 1 && (a[n] == 0 || b[n] == 0) && (rest == 0 || strchr("-.", rest) != NULL);
}

/* What stands behind the word and a dash, if that is a version such as "0.12"; else NULL. */
static const char *version_behind(const char *candidate, size_t n_word)
{
    const char *rest = strlen(candidate) > n_word + 1 && candidate[n_word] == '-' ? candidate + n_word + 1 : NULL;
    const bool is_version = rest != NULL && strchr(rest, '.') != NULL && rest[strspn(rest, "0123456789.")] == 0;
    return is_version ? rest : NULL;
}

/* "vllm-0.12" is later than "vllm-0.2", both behind "vllm". */
static bool is_later_version(const char *candidate, const char *than, size_t n_word)
{
    const char *a = version_behind(candidate, n_word), *b = version_behind(than, n_word);
    while (a != NULL && b != NULL && *a != 0 && *b != 0) {
        char *behind_a, *behind_b;
        const unsigned long x = strtoul(a, &behind_a, 10), y = strtoul(b, &behind_b, 10);
        if (x != y) return x > y;
        a = behind_a + (*behind_a == '.'), b = behind_b + (*behind_b == '.');
    }
    return false;
}

/* The shortest of those that go on, but of several versions the latest; NULL: none does. */
static const char *longer_or_shorter(const char *word, const char *const *candidates, size_t n)
{
    const char *found = NULL;
    const size_t n_word = strlen(word);
    for (size_t i = 0; i < n; i++) {
        if (!goes_on(word, candidates[i])) continue;
        const bool is_shorter = found == NULL || strlen(candidates[i]) < strlen(found);
        if (found != NULL && is_later_version(found, candidates[i], n_word)) continue;
        if (is_shorter || is_later_version(candidates[i], found, n_word)) found = candidates[i];
    }
    return found;
}

/* The shortest candidate that contains the word, of at least three characters; NULL: none does. */
static const char *containing(const char *word, const char *const *candidates, size_t n)
{
    const char *found = NULL;
    for (size_t i = 0; i < n && strlen(word) > 2; i++)
        if (strstr(candidates[i], word) != NULL && (found == NULL || strlen(candidates[i]) < strlen(found)))
            found = candidates[i];
    return found;
}

static const char *nearest_by_slips(const char *word, const char *const *candidates, size_t n)
{
    if (strlen(word) < 2) return NULL; /* any other letter is one slip away */
    for (size_t i = 0; i < n && strlen(word) > 2; i++) /* "gpu" for "gpus", not for "gpu_share" */
        if (strlen(candidates[i]) == strlen(word) + 1 && candidates[i][strlen(word)] == 's' &&
            strncmp(candidates[i], word, strlen(word)) == 0)
            return candidates[i];
    const char *alike = longer_or_shorter(word, candidates, n);
    if (alike != NULL && strlen(alike) > strlen(word)) return alike;
    size_t limit = alike != NULL ? 2 : strlen(word) / 3; /* a slip is likelier than an end that nobody has */
    if (limit == 0) limit = 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        size_t distance = text_distance(word, candidates[i]);
        if (distance > limit || (nearest != NULL && distance == limit)) continue;
        nearest = candidates[i];
        limit = distance;
    }
    return nearest != NULL ? nearest : alike;
}

const char *text_nearest(const char *word, const char *const *candidates, size_t n)
{
    const char *nearest = nearest_by_slips(word, candidates, n);
    return nearest != NULL ? nearest : containing(word, candidates, n);
}

/* Whether the letters and digits of the name begin with those of the word, at least four of them. */
static bool begins_alike(const char *name, const char *word)
{
    size_t n = 0;
    for (; *word != 0; word++) {
        if (!isalnum((unsigned char)*word)) continue;
        while (*name != 0 && !isalnum((unsigned char)*name)) name++;
        if (tolower((unsigned char)*name) != tolower((unsigned char)*word)) return false;
        name++;
        n++;
    }
    return n >= 4;
}

const char *text_nearest_name(const char *word, const char *const *candidates, size_t n)
{
    const char *nearest = text_nearest(word, candidates, n);
    if (nearest != NULL && begins_alike(nearest, word)) return nearest;
    for (size_t i = 0; i < n; i++)
        if (begins_alike(candidates[i], word)) return candidates[i];
    return nearest;
}

/* Whether the name ends in ".word". */
static bool ends_in(const char *name, const char *word)
{
    const size_t n = strlen(name), n_word = strlen(word);
    return n > n_word && name[n - n_word - 1] == '.' && text_distance(name + n - n_word, word) == 0;
}

/* Where the part behind the dot of this number begins; 0: the name; NULL: it has fewer dots. */
static const char *behind_dot(const char *name, int dot)
{
    for (; name != NULL && dot > 0; dot--) name = (name = strchr(name, '.')) != NULL ? name + 1 : NULL;
    return name;
}

/* The end nearest to the word, of those behind as few dots as possible, and its name. */
static const char *nearest_end(const char *word, const char *const *names, size_t n, const char **ends, size_t *at)
{
    for (*at = 0; *at < n; ++*at)
        if (ends_in(names[*at], word)) return names[*at] + strlen(names[*at]) - strlen(word);
    for (int dot = 0; dot < 8; dot++) {
        size_t n_ends = 0;
        for (size_t i = 0; i < n; i++)
            if (behind_dot(names[i], dot) != NULL) ends[n_ends++] = behind_dot(names[i], dot);
        const char *nearest = nearest_by_slips(word, ends, n_ends);
        for (*at = 0; nearest != NULL && *at < n; ++*at)
            if (behind_dot(names[*at], dot) == nearest) return nearest;
    }
    return NULL;
}

/* Of a name's statistics that the word does not name, the mean, else the 99th percentile. */
static size_t usual_statistic(const char *const *names, size_t n, size_t at)
{
    static const char *const statistics[] = {".mean", ".p99"};
    const char *dot = strrchr(names[at], '.');
    for (size_t s = 0; dot != NULL && s < 2; s++)
        for (size_t i = 0; i < n; i++)
            if (strncmp(names[i], names[at], (size_t)(dot - names[at])) == 0 &&
                strcmp(names[i] + (dot - names[at]), statistics[s]) == 0)
                return i;
    return at;
}

const char *text_nearest_end(const char *word, const char *const *names, size_t n, const char **whole)
{
    const char **ends = mem_zalloc(n + 1, sizeof *ends);
    size_t at = 0;
    const char *end = ends != NULL ? nearest_end(word, names, n, ends, &at) : NULL;
    mem_free(ends);
    if (end != NULL && strlen(end) > strlen(word) + 2 && strchr(end, '.') != NULL) {
        const size_t offset = (size_t)(end - names[at]);
        at = usual_statistic(names, n, at);
        end = names[at] + offset;
    }
    if (whole != NULL) *whole = end != NULL ? names[at] : NULL;
    return end;
}
