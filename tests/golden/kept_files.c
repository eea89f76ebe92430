/* Small input files with a change in one place come to the errors and results that stand in files.txt. When they move
 * on purpose, say why in the body of the commit, and run `make accept`. */
#include "tests/support/harness.h"
#include "tests/support/worlds/kept_files.h"

enum { MOST_PRINTED = 5, LEAST_VARIANTS = 500 };

struct comparison {
    FILE *before;
    int n, n_moved;
};

static void compare(void *context, const char *line)
{
    struct comparison *comparison = context;
    char before[KEPT_FILES_LINE_CHARS + 1] = "";
    if (fgets(before, sizeof before, comparison->before) != NULL) before[strcspn(before, "\n")] = 0;
    comparison->n++;
    if (strcmp(line, before) != 0 && ++comparison->n_moved <= MOST_PRINTED)
        printf("before: %s\nnow:    %s\n", before, line);
}

TEST_OPTIMISED(kept_files_come_to_their_errors_and_results)
{
    struct comparison comparison = {.before = fopen("tests/golden/files.txt", "r")};
    MUST(comparison.before != NULL);
    CHECK_EQ_INT(kept_files(test_tmpdir(), compare, &comparison), 0);
    CHECK_EQ_INT(comparison.n_moved, 0);
    CHECK(comparison.n >= LEAST_VARIANTS);
    CHECK_EQ_INT(fgetc(comparison.before), EOF);
    fclose(comparison.before);
}
