/* Draws mutants of C files: small changes, each of which a test should notice.
 *
 *     draw SEED COUNT FILE...
 *
 * prints COUNT mutants, one per line, with fields separated by tabs: number, kind, file, first and last line, offset
 * and length of the text replaced, its replacement (for printf %b), the lines before and after the change. The four
 * kinds (comparison, arithmetic, constant, statement) take turns. Within a kind each place of all files is equally
 * likely, so that long files have more mutants. README.md says what is left out, and why. */
#include "tests/mutate/source.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4 };
static const char *const kind_names[KINDS] = {"comparison", "arithmetic", "constant", "statement"};

struct site {
    const struct source *source;
    int first, last; /* tokens replaced */
    char text[40];   /* what replaces them; empty: the statement is deleted */
};

struct sites {
    struct site *all;
    size_t n, capacity;
};

static void add(struct sites *sites, const struct source *source, int first, int last, const char *text)
{
    if (sites->n == sites->capacity) {
        sites->capacity = 2 * sites->capacity + 1024;
        sites->all = realloc(sites->all, sites->capacity * sizeof *sites->all);
        if (sites->all == NULL) abort();
    }
    struct site *site = &sites->all[sites->n++];
    *site = (struct site){.source = source, .first = first, .last = last};
    snprintf(site->text, sizeof site->text, "%s", text);
}

/* --- Places --- */

struct exchange {
    const char *from, *to;
};

static const struct exchange comparisons[] = {{"<", "<="},  {"<", ">="},  {"<=", "<"},  {"<=", ">"},  {">", ">="},
                                              {">", "<="},  {">=", ">"},  {">=", "<"},  {"==", "!="}, {"!=", "=="},
                                              {"&&", "||"}, {"||", "&&"}, {NULL, NULL}};
static const struct exchange operations[] = {{"+", "-"},   {"-", "+"},   {"*", "/"},   {"/", "*"},   {"+=", "-="},
                                             {"-=", "+="}, {"*=", "/="}, {"/=", "*="}, {"++", "--"}, {"--", "++"},
                                             {NULL, NULL}};

static void add_exchanges(struct sites *sites, const struct source *source, int token, const struct exchange *table)
{
    for (; table->from != NULL; table++)
        if (token_is(source, token, table->from)) add(sites, source, token, token, table->to);
}

/* clang-format puts blanks on both sides of a binary operator and on one side of a unary one. */
static bool is_operation(const struct source *source, int token)
{
    const struct token *at = &source->tokens[token];
    if (at->n > 1) return true;
    const char before = source->text[at->at - 1], after = source->text[at->at + 1];
    return before == ' ' && (after == ' ' || after == '\n');
}

/* Whether the token is in the size of an array that is declared. */
static bool is_size(const struct source *source, const struct statement *statement, int token)
{
    bool opened = false;
    if (!statement->is_declaration) return false;
    for (; token > statement->first && !token_is(source, token, "="); token--) {
        if (token_is(source, token, "]")) return false;
        opened = opened || token_is(source, token, "[");
    }
    return opened && !token_is(source, token, "=");
}

static void add_constant(struct sites *sites, const struct source *source, const struct statement *statement, int token)
{
    const struct token *at = &source->tokens[token];
    const bool zeroes = token_is(source, token - 1, "{") && token_is(source, token + 1, "}");
    char text[40];
    if (at->n > 24 || zeroes || is_size(source, statement, token)) return;
    const bool real = memchr(source->text + at->at, '.', (size_t)at->n) != NULL;
    const double value = strtod(source->text + at->at, NULL);
    if (value == 0.0 || value == 1.0)
        snprintf(text, sizeof text, "%d%s", value == 0.0, real ? ".0" : "");
    else
        snprintf(text, sizeof text, "(%.*s + 1)", at->n, source->text + at->at);
    add(sites, source, token, token, text);
}

static void add_sites(struct sites *kinds, const struct source *source, const struct statement *statement)
{
    if (statement->is_skipped) return;
    if (statement->is_deletable) add(&kinds[3], source, statement->first, statement->last, "");
    for (int token = statement->first; token <= statement->last; token++) {
        const struct token *at = &source->tokens[token];
        if (at->kind == TOKEN_NUMBER) add_constant(&kinds[2], source, statement, token);
        if (at->kind != TOKEN_SIGN) continue;
        add_exchanges(&kinds[0], source, token, comparisons);
        if (is_operation(source, token)) add_exchanges(&kinds[1], source, token, operations);
    }
}

/* --- Output --- */

/* Blanks are squeezed, so that the text of a line does not depend on its indentation. */
static void print_squeezed(const char *text, int n)
{
    bool blank = true;
    for (int i = 0; i < n; i++) {
        const bool is_blank = isspace((unsigned char)text[i]) != 0;
        if (!is_blank) {
            if (blank && i > 0) putchar(' ');
            putchar(text[i]);
        }
        blank = is_blank;
    }
}

static void print_site(int number, const char *kind, const struct site *site)
{
    const struct source *source = site->source;
    const struct token *first = &source->tokens[site->first], *last = &source->tokens[site->last];
    const int end = last->at + last->n;
    int from = first->at, to = end;
    while (from > 0 && source->text[from - 1] != '\n') from--;
    while (source->text[from] == ' ') from++;
    while (source->text[to] != '\n') to++;
    printf("%d\t%s\t%s\t%d\t%d\t%d\t%d\t", number, kind, source->path, first->line, last->line, first->at,
           end - first->at);
    const char *text = site->text[0] != '\0' ? site->text : ";";
    printf("%s", text);
    if (site->text[0] == '\0')
        for (int line = first->line; line < last->line; line++) printf("\\n"); /* later lines keep their numbers */
    putchar('\t');
    print_squeezed(source->text + from, to - from);
    putchar('\t');
    print_squeezed(source->text + from, first->at - from);
    printf("%s%s", first->at > from && source->text[first->at - 1] == ' ' ? " " : "", text);
    print_squeezed(source->text + end, to - end);
    putchar('\n');
}

/* SplitMix64 (Steele et al. 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void draw(struct sites *kinds, uint64_t seed, int count)
{
    size_t left = kinds[0].n + kinds[1].n + kinds[2].n + kinds[3].n;
    for (int number = 1, kind = 0; number <= count && left > 0; kind = (kind + 1) % KINDS) {
        struct sites *sites = &kinds[kind];
        if (sites->n == 0) continue;
        struct site *drawn = &sites->all[next_random(&seed) % sites->n];
        print_site(number++, kind_names[kind], drawn);
        *drawn = sites->all[--sites->n];
        left--;
    }
}

int main(int argc, char **argv)
{
    struct sites kinds[KINDS] = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: draw SEED COUNT FILE...\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        const struct source *source = source_read(argv[i]);
        for (int j = 0; j < source->n_statements; j++) add_sites(kinds, source, &source->statements[j]);
    }
    fprintf(stderr, "%zu comparisons, %zu operations, %zu constants, %zu statements\n", kinds[0].n, kinds[1].n,
            kinds[2].n, kinds[3].n);
    draw(kinds, strtoull(argv[1], NULL, 10), atoi(argv[2]));
    return 0;
}
