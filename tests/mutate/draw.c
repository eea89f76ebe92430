/* Draws mutants of C files: small changes, each of which a test should notice.
 *
 *     draw SEED COUNT FILE...
 *
 * prints COUNT mutants, one per line, with fields separated by tabs: name, kind, file, first and last line, offset and
 * length of the text replaced, its replacement (for printf %b), the lines before and after the change. The four kinds
 * (comparison, arithmetic, constant, statement) take turns. Within a kind each place of all files is equally likely, so
 * that long files have more mutants. README.md says what is left out, and why.
 *
 * The name is a hash of file, kind, line and change, and the seed gives each name its turn. So a change of the sources
 * adds and removes mutants of the lines that changed, and leaves all others with name and turn. */
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
    uint64_t name, turn;
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
static void print_squeezed(FILE *out, const char *text, int n)
{
    bool blank = true;
    for (int i = 0; i < n; i++) {
        const bool is_blank = isspace((unsigned char)text[i]) != 0;
        if (!is_blank) {
            if (blank && i > 0) fputc(' ', out);
            fputc(text[i], out);
        }
        blank = is_blank;
    }
}

static const char *replacement(const struct site *site)
{
    return site->text[0] != '\0' ? site->text : ";";
}

/* The lines before and after the change. */
static void print_lines(FILE *out, const struct site *site)
{
    const struct source *source = site->source;
    const struct token *first = &source->tokens[site->first], *last = &source->tokens[site->last];
    const int end = last->at + last->n;
    int from = first->at, to = end;
    while (from > 0 && source->text[from - 1] != '\n') from--;
    while (source->text[from] == ' ') from++;
    while (source->text[to] != '\n') to++;
    print_squeezed(out, source->text + from, to - from);
    fputc('\t', out);
    print_squeezed(out, source->text + from, first->at - from);
    fprintf(out, "%s%s", first->at > from && source->text[first->at - 1] == ' ' ? " " : "", replacement(site));
    print_squeezed(out, source->text + end, to - end);
}

static void print_site(const char *kind, const struct site *site)
{
    const struct source *source = site->source;
    const struct token *first = &source->tokens[site->first], *last = &source->tokens[site->last];
    printf("m%016llx\t%s\t%s\t%d\t%d\t%d\t%d\t%s", (unsigned long long)site->name, kind, source->path, first->line,
           last->line, first->at, last->at + last->n - first->at, replacement(site));
    if (site->text[0] == '\0')
        for (int line = first->line; line < last->line; line++) printf("\\n"); /* later lines keep their numbers */
    putchar('\t');
    print_lines(stdout, site);
    putchar('\n');
}

/* --- Names and turns --- */

/* A step of SplitMix64 (Steele et al. 2014). */
static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* FNV-1a of file, kind and lines. Where the same change of the same line comes again, its rank tells them apart. */
static void name_site(struct sites *sites, size_t at, const char *kind, uint64_t seed)
{
    struct site *site = &sites->all[at];
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL) abort();
    fprintf(out, "%s\t%s\t", site->source->path, kind);
    print_lines(out, site);
    fclose(out);
    site->name = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) site->name = (site->name ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    free(text);
    size_t first = at;
    while (first > 0 && sites->all[first - 1].source == site->source) first--;
    for (size_t i = first; i < at; i++)
        if (sites->all[i].name == site->name) site->name = mix(site->name);
    site->turn = mix(site->name ^ mix(seed));
}

static int by_turn(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    return a->turn != b->turn ? (a->turn < b->turn ? -1 : 1) : (a->name > b->name) - (a->name < b->name);
}

static void draw(struct sites *kinds, uint64_t seed, size_t count)
{
    size_t most = 0, n_printed = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        struct sites *sites = &kinds[kind];
        for (size_t i = 0; i < sites->n; i++) name_site(sites, i, kind_names[kind], seed);
        if (sites->n > 0) qsort(sites->all, sites->n, sizeof *sites->all, by_turn);
        if (sites->n > most) most = sites->n;
    }
    for (size_t i = 0; i < most; i++)
        for (int kind = 0; kind < KINDS; kind++)
            if (i < kinds[kind].n && n_printed++ < count) print_site(kind_names[kind], &kinds[kind].all[i]);
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
    draw(kinds, strtoull(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
    return 0;
}
