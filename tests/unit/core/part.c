/* Parts of outputs whose names are too long to stand in the name of a part. */
#include "sim/core/part.h"
#include "tests/support/harness.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONG_CHARS = 230 };

/* A path in the test's folder whose name is 'a's, but for its last character. */
static void name_long(char path[400], const char *folder, char last)
{
    const int n = snprintf(path, 400, "%s/", folder);
    memset(path + n, 'a', LONG_CHARS);
    path[n + LONG_CHARS - 1] = last;
    path[n + LONG_CHARS] = 0;
}

TEST(files_that_begin_alike_keep_their_parts)
{
    char one[400], other[400];
    struct part part, left, found;
    int number = 0;
    const char *folder = test_tmpdir();
    name_long(one, folder, '1');
    name_long(other, folder, '2');
    MUST(part_create(&left, one, 0600) == 0);
    part_leave(&left);
    MUST(part_create(&part, other, 0600) == 0);
    CHECK_EQ_INT(part_take_name(&part, true), 0);
    CHECK_EQ_INT(access(other, F_OK), 0);
    MUST(part_adopt(&found, one, &number));
    part_discard(&found);
}

TEST(a_target_that_exists_is_kept_unless_it_is_replaced)
{
    char target[400];
    struct part part;
    snprintf(target, sizeof target, "%s/target", test_tmpdir());
    for (int i = 0; i < 3; i++) {
        const bool replaces = i == 2;
        MUST(part_create(&part, target, 0600) == 0);
        MUST(write(part.lock, "012", (size_t)i + 1) == i + 1);
        errno = 0;
        const int code = part_take_name(&part, replaces);
        CHECK_EQ_INT(code, i == 1 ? -1 : 0);
        if (code != 0) CHECK_EQ_INT(errno, EEXIST);
        if (code != 0) part_discard(&part);
        struct stat found;
        MUST(stat(target, &found) == 0);
        CHECK_EQ_INT(found.st_size, replaces ? 3 : 1);
    }
}
