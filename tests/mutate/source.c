/* Reads C as clang-format writes it. It knows as much of the language as drawing mutants needs, and takes a macro for
 * a function. Comments and lines of the preprocessor are no tokens. */
#include "tests/mutate/source.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool token_is(const struct source *source, int token, const char *text)
{
    if (token < 0 || token >= source->n_tokens) return false;
    const struct token *at = &source->tokens[token];
    return at->n == (int)strlen(text) && memcmp(source->text + at->at, text, (size_t)at->n) == 0;
}

static bool token_in(const struct source *source, int token, const char *const *texts)
{
    for (; *texts != NULL; texts++)
        if (token_is(source, token, *texts)) return true;
    return false;
}

static bool begins_with(const struct source *source, int token, const char *prefix)
{
    const struct token *at = &source->tokens[token];
    const size_t n = strlen(prefix);
    return (size_t)at->n >= n && memcmp(source->text + at->at, prefix, n) == 0;
}

/* --- Tokens --- */

static int skip_line(const char *text, int at)
{
    while (text[at] != '\0' && text[at] != '\n') at += text[at] == '\\' && text[at + 1] != '\0' ? 2 : 1;
    return at;
}

static int skip_quoted(const char *text, int at)
{
    const char quote = text[at++];
    while (text[at] != '\0' && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
    return at + 1;
}

static int skip_number(const char *text, int at)
{
    while (isalnum((unsigned char)text[at]) || text[at] == '.' || text[at] == '_' ||
           ((text[at] == '-' || text[at] == '+') && (text[at - 1] == 'e' || text[at - 1] == 'E')))
        at++;
    return at;
}

static int skip_sign(const char *text, int at)
{
    static const char *const signs[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
                                        "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^=", NULL};
    for (const char *const *sign = signs; *sign != NULL; sign++)
        if (strncmp(text + at, *sign, strlen(*sign)) == 0) return at + (int)strlen(*sign);
    return at + 1;
}

/* The end of what begins at `at`, and whether it is a token. */
static int scan(const char *text, int at, struct token *token, bool *is_token)
{
    const char c = text[at];
    *is_token = false;
    if (isspace((unsigned char)c)) return at + 1;
    if (c == '#') return skip_line(text, at);
    if (c == '/' && text[at + 1] == '/') return skip_line(text, at);
    if (c == '/' && text[at + 1] == '*') return (int)(strstr(text + at, "*/") - text) + 2;
    *is_token = true;
    if (isalpha((unsigned char)c) || c == '_') {
        token->kind = TOKEN_NAME;
        while (isalnum((unsigned char)text[at]) || text[at] == '_') at++;
        return at;
    }
    token->kind = c == '"' || c == '\'' ? TOKEN_STRING : isdigit((unsigned char)c) ? TOKEN_NUMBER : TOKEN_SIGN;
    if (token->kind == TOKEN_STRING) return skip_quoted(text, at);
    return token->kind == TOKEN_NUMBER ? skip_number(text, at) : skip_sign(text, at);
}

static void read_tokens(struct source *source)
{
    int line = 1;
    source->tokens = calloc(strlen(source->text) + 1, sizeof *source->tokens);
    if (source->tokens == NULL) abort();
    for (int at = 0; source->text[at] != '\0';) {
        struct token *token = &source->tokens[source->n_tokens];
        bool is_token;
        const int end = scan(source->text, at, token, &is_token);
        token->at = at;
        token->n = end - at;
        token->line = line;
        if (is_token) source->n_tokens++;
        for (; at < end; at++) line += source->text[at] == '\n';
    }
}

/* --- Statements --- */

/* The token that closes the bracket `token`. */
static int closing(const struct source *source, int token)
{
    static const char *const opening[] = {"(", "[", "{", NULL}, *const closers[] = {")", "]", "}", NULL};
    for (int depth = 0; token < source->n_tokens; token++) {
        depth += token_in(source, token, opening);
        depth -= token_in(source, token, closers);
        if (depth == 0) return token;
    }
    return source->n_tokens - 1;
}

/* The last token of the statement that begins at `first`. What ends at a brace is the head of a loop by a macro. */
static int statement_end(const struct source *source, int first)
{
    static const char *const opening[] = {"(", "[", "{", NULL}, *const values[] = {"return", "struct", NULL};
    bool has_value = token_in(source, first, values);
    for (int token = first; token < source->n_tokens; token++) {
        has_value = has_value || token_is(source, token, "=");
        if (token_is(source, token, ";")) return token;
        if (token_is(source, token, "{") && !has_value) return token - 1;
        if (token_in(source, token, opening)) token = closing(source, token);
    }
    return source->n_tokens - 1;
}

static bool is_declaration(const struct source *source, int first)
{
    static const char *const types[] = {"const", "struct", "enum", "union", "char",   "int",  "double", "bool",
                                        "long",  "size_t", "void", "float", "static", "FILE", NULL};
    if (token_in(source, first, types)) return true;
    if (source->tokens[first].kind != TOKEN_NAME) return false;
    if (source->tokens[first + 1].kind == TOKEN_NAME) return !token_is(source, first, "return");
    return token_is(source, first + 1, "*") && source->text[source->tokens[first + 1].at + 1] != ' ';
}

static bool is_deletable(const struct source *source, const struct statement *statement)
{
    static const char *const kept[] = {"return", "break", "continue", "goto", "if",   "for",     "while",
                                       "switch", "else",  "do",       "case", "case", "default", NULL};
    static const char *const acts[] = {"(", "=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "++", "--", NULL};
    if (statement->is_declaration || token_in(source, statement->first, kept)) return false;
    if (!token_is(source, statement->last, ";")) return false;
    if (token_is(source, statement->first, "(") && token_is(source, statement->first + 1, "void")) return false;
    for (int token = statement->first; token < statement->last; token++)
        if (token_in(source, token, acts)) return true;
    return false;
}

static bool has_nomem(const struct source *source, int token)
{
    const struct token *at = &source->tokens[token];
    for (int i = 0; i + 5 <= at->n; i++)
        if (strncasecmp(source->text + at->at + i, "nomem", 5) == 0) return at->kind == TOKEN_NAME;
    return false;
}

/* Checks, messages, and what prepares for the end of memory. */
static bool is_skipped(const struct source *source, const struct statement *statement)
{
    static const char *const names[] = {"SIM_ASSERT",  "SIM_REQUIRE", "SIM_BUG",     "SIM_LAW",  "mem_alloc",
                                        "mem_zalloc",  "mem_realloc", "arena_alloc", "snprintf", "vsnprintf",
                                        "text_printf", "static",      NULL};
    for (int token = statement->first; token <= statement->last; token++) {
        const struct token *at = &source->tokens[token];
        if (token_in(source, token, names) || has_nomem(source, token) || begins_with(source, token, "diag_"))
            return true;
        if (at->kind == TOKEN_STRING && memchr(source->text + at->at, ' ', (size_t)at->n) != NULL && at->n > 3)
            return true;
    }
    return false;
}

static bool has_token(const struct source *source, const struct statement *statement, const char *text)
{
    for (int token = statement->first; token <= statement->last; token++)
        if (token_is(source, token, text)) return true;
    return false;
}

static bool is_about_memory(const struct source *source, const struct statement *statement)
{
    static const char *const about[] = {"mem_alloc", "mem_zalloc", "mem_realloc", "arena_alloc", NULL};
    for (int token = statement->first; token <= statement->last; token++)
        if (token_in(source, token, about) || has_nomem(source, token)) return true;
    return false;
}

/* A test for NULL beside a statement about memory is skipped with it, and what is done before such a return. */
static void skip_ends_of_memory(struct source *source)
{
    for (int i = 0; i < source->n_statements; i++) {
        struct statement *statement = &source->statements[i];
        const bool tests = has_token(source, statement, "NULL");
        const bool before = i > 0 && is_about_memory(source, statement - 1);
        const bool after = i + 1 < source->n_statements && is_about_memory(source, statement + 1);
        const bool returns = after && token_is(source, statement[1].first, "return");
        if ((tests && (before || after)) || returns) statement->is_skipped = true;
    }
}

static void add_statement(struct source *source, int first, int last)
{
    struct statement *statement = &source->statements[source->n_statements++];
    *statement = (struct statement){.first = first, .last = last, .is_declaration = is_declaration(source, first)};
    statement->is_deletable = is_deletable(source, statement);
    statement->is_skipped = is_skipped(source, statement);
}

/* The statements between two braces. */
static void read_body(struct source *source, int token, int end)
{
    static const char *const heads[] = {"if", "for", "while", "switch", NULL};
    static const char *const alone[] = {"{", "}", ";", "else", "do", NULL};
    static const char *const labels[] = {"case", "default", NULL};
    while (token < end) {
        int last = token;
        if (token_in(source, token, labels)) {
            while (!token_is(source, last, ":")) last++;
        } else if (token_in(source, token, heads)) {
            last = closing(source, token + 1);
            add_statement(source, token, last);
        } else if (!token_in(source, token, alone)) {
            last = statement_end(source, token);
            add_statement(source, token, last);
        }
        token = last + 1;
    }
}

/* Whether the function whose body begins at `token` looks for bugs of ours and does nothing else: by its name, or as
 * it states a law. */
static bool is_check(const struct source *source, int token, int end)
{
    bool is_named = false, has_bug = false, has_law = false;
    for (int i = token; i > 0 && !token_is(source, i, "}") && !token_is(source, i, ";"); i--) {
        const struct token *at = &source->tokens[i];
        is_named = is_named || begins_with(source, i, "check") ||
                   (at->n > 6 && memcmp(source->text + at->at + at->n - 6, "_check", 6) == 0);
    }
    for (int i = token; i < end; i++) {
        has_bug = has_bug || token_is(source, i, "SIM_BUG");
        has_law = has_law || token_is(source, i, "SIM_LAW");
    }
    return has_law || (is_named && has_bug);
}

static void read_statements(struct source *source)
{
    source->statements = calloc((size_t)source->n_tokens + 1, sizeof *source->statements);
    if (source->statements == NULL) abort();
    for (int token = 0; token < source->n_tokens; token++) {
        if (!token_is(source, token, "{")) continue;
        const int end = closing(source, token);
        if (token_is(source, token - 1, ")") && !is_check(source, token, end)) read_body(source, token + 1, end);
        token = end;
    }
    skip_ends_of_memory(source);
}

struct source *source_read(const char *path)
{
    struct source *source = calloc(1, sizeof *source);
    FILE *file = fopen(path, "r");
    if (source == NULL || file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    const long n = ftell(file);
    rewind(file);
    source->path = path;
    source->text = calloc((size_t)n + 8, 1);
    if (source->text == NULL || fread(source->text, 1, (size_t)n, file) != (size_t)n) exit(1);
    fclose(file);
    read_tokens(source);
    read_statements(source);
    return source;
}
