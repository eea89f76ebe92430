/* Files that take the place of others: what is there before, meanwhile and afterwards. */
#include "sim/core/output.h"

#include "tests/support/harness.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { LONG_BYTES = 150000 };

static const char *path_in(const char *folder, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return test_json("%s", path);
}

static int mode_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? (int)(status.st_mode & 07777) : -1;
}

/* The file as gzip reads it, plain or compressed; empty if it is absent. */
static const char *content(const char *path)
{
    static char text[LONG_BYTES + 10];
    memset(text, 0, sizeof text);
    gzFile file = gzopen(path, "rb");
    if (file == NULL) return "";
    gzread(file, text, sizeof text - 1);
    gzclose(file);
    return text;
}

static int count_files(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    while (dir != NULL && readdir(dir) != NULL) n++;
    if (dir != NULL) closedir(dir);
    return n - 2; /* without . and .. */
}

/* Writes `text` over what is there, which stays until the end, or for ever with `failed`. */
static void check_writing(const char *path, const char *text, bool failed)
{
    struct output *output;
    struct diag diag = {0};
    const char *before = test_json("%s", content(path));
    MUST(CHECK_EQ_INT(output_open(path, &output, &diag), 0));
    text_add(output_text(output), text);
    CHECK_EQ_INT(output_flush(output, &diag), 0);
    CHECK_EQ_STR(content(path), before);
    CHECK_EQ_INT(output_close(output, failed, &diag), 0);
    CHECK(strcmp(content(path), failed ? before : text) == 0);
}

TEST(a_new_file_has_the_permissions_that_umask_leaves)
{
    static const mode_t masks[] = {0, 022, 027, 077};
    const char *folder = test_tmpdir();
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const char *path = path_in(folder, test_json("%d", (int)i));
        const mode_t before = umask(masks[i]);
        check_writing(path, "x\n", false);
        umask(before);
        CHECK_EQ_INT(mode_of(path), 0666 & ~masks[i]);
    }
    CHECK_EQ_INT(count_files(folder), sizeof masks / sizeof *masks);
}

TEST(a_file_that_is_replaced_keeps_its_permissions)
{
    static const mode_t modes[] = {0600, 0640, 0666, 0755};
    const char *folder = test_tmpdir();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const char *path = path_in(folder, test_json("%d", (int)i));
        test_write(path, "old");
        CHECK_EQ_INT(chmod(path, modes[i]), 0);
        check_writing(path, "new", i % 2 == 1);
        CHECK_EQ_INT(mode_of(path), modes[i]);
    }
    CHECK_EQ_INT(count_files(folder), sizeof modes / sizeof *modes);
}

TEST(a_link_stays_and_leads_to_the_new_file)
{
    const char *folder = test_tmpdir(), *target = path_in(folder, "target"), *link = path_in(folder, "link");
    test_write(target, "old");
    CHECK_EQ_INT(symlink("target", link), 0);
    check_writing(link, "new", false);
    CHECK_EQ_STR(content(target), "new");
    CHECK(readlink(link, (char[9]){0}, 9) == 6);
    CHECK_EQ_INT(count_files(folder), 2);
}

/* Whether the file begins as a gzip file does. */
static bool is_gzip(const char *path)
{
    unsigned char head[2] = {0};
    FILE *file = fopen(path, "rb");
    const bool is = file != NULL && fread(head, 1, 2, file) == 2 && head[0] == 0x1f && head[1] == 0x8b;
    if (file != NULL) fclose(file);
    return is;
}

TEST(names_in_gz_are_compressed)
{
    const char *folder = test_tmpdir();
    check_writing(path_in(folder, "a.gz"), "some text", false);
    check_writing(path_in(folder, "a.gzip"), "some text", false);
    CHECK(is_gzip(path_in(folder, "a.gz")));
    CHECK(!is_gzip(path_in(folder, "a.gzip")));
}

/* Of 150 kB in small pieces, what has been flushed leaves memory; together they are the whole. */
TEST(long_files_are_written_piece_by_piece)
{
    struct output *output;
    struct diag diag = {0};
    const char *folder = test_tmpdir(), *path = path_in(folder, "long");
    size_t most = 0;
    MUST(output_open(path, &output, &diag) == 0);
    for (int i = 0; i < LONG_BYTES / 10; i++) {
        text_printf(output_text(output), "%09d\n", i);
        if (output_text(output)->length > most) most = output_text(output)->length;
        CHECK_EQ_INT(output_flush(output, &diag), 0);
    }
    CHECK_EQ_INT(most, 65540);
    CHECK_EQ_INT(output_finish(output, &diag), 0);
    CHECK_EQ_INT(count_files(folder), 1);
    CHECK_EQ_STR(content(path), "");
    CHECK_EQ_INT(output_close(output, false, &diag), 0);
    const char *all = content(path);
    CHECK_EQ_INT(strlen(all), LONG_BYTES);
    for (int i = 0; i < LONG_BYTES / 10; i++) CHECK(atoi(all + 10 * (size_t)i) == i);
    CHECK_EQ_INT(count_files(folder), 1);
}

static void check_refusal(const char *path, const char *why)
{
    struct output *output;
    struct diag diag = {0};
    CHECK_EQ_INT(output_open(path, &output, &diag), SIM_E_IO);
    CHECK_EQ_STR(diag.items[0].where, path);
    CHECK(strstr(diag.items[0].text, why) != NULL);
}

TEST(what_cannot_be_written_is_refused)
{
    char name[5001];
    const char *folder = test_tmpdir();
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    check_refusal(path_in(folder, "absent/file"), "No such file or directory");
    check_refusal(folder, "directory");
    struct output *output;
    struct diag diag = {0};
    CHECK_EQ_INT(output_open(name, &output, &diag), SIM_E_IO);
    name[300] = 0;
    CHECK_EQ_INT(output_open(name, &output, &diag), SIM_E_IO);
    CHECK_EQ_INT(output_open("/dev/full", &output, &diag), 0);
    text_add(output_text(output), "x");
    CHECK_EQ_INT(output_close(output, false, &diag), SIM_E_IO);
    CHECK_EQ_INT(count_files(folder), 0);
}
