/* A C file as tokens, and the statements of its functions. Memory is never given back: the program that reads sources
 * ends soon. */
#ifndef ORRERY_TESTS_MUTATE_SOURCE_H
#define ORRERY_TESTS_MUTATE_SOURCE_H

#include <stdbool.h>

enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    int at, n, line; /* offset and length in the text */
};

/* A statement of a function, or the head of an if, for, while or switch. */
struct statement {
    int first, last; /* tokens */
    bool is_declaration;
    bool is_deletable; /* a call or an assignment */
    bool is_skipped;   /* not judged by results: see README.md */
};

struct source {
    const char *path;
    char *text;
    struct token *tokens;
    struct statement *statements;
    int n_tokens, n_statements;
};

/* Ends the process if the file cannot be read. */
struct source *source_read(const char *path);

bool token_is(const struct source *source, int token, const char *text);

#endif
