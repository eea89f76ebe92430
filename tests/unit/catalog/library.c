/* Releases of libraries: their order, how kernels relate to engines, and what shipped files state of them. */
#include "sim/catalog/library.h"

#include "analysis/calibrate/engine/engine_calibrate.h"
#include "analysis/calibrate/profile/profile_library.h"
#include "sim/catalog/calibration_file.h"
#include "sim/catalog/cost_libraries.h"
#include "sim/core/json_doc.h"
#include "tests/support/cost_fixture.h"
#include "tests/support/harness.h"

#include <stdlib.h>
#include <sys/stat.h>

static const struct catalog shipped = {.root = "configs"};

struct session {
    struct arena arena;
    struct diag diag;
};

static void begin(struct session *session)
{
    arena_init(&session->arena);
    diag_init(&session->diag);
}

/* --- The order of releases --- */

TEST(versions_are_numbers)
{
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {{"0.2", "0.12", -1}, {"0.14.0", "0.12", 1}, {"0.14.0", "0.14", 0}, {"0.5.14", "0.5.9", 1},
                 {"1.3.0rc20", "1.3", 0}, {"1.0", "1.3.0rc20", -1}, {"v0", "1", -1}, {"v0.2", "0.12", -1}, {"V2", "v2.0", 0},
                 {"2", "2", 0}, {"10", "9.9", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(library_compare_versions(cases[i].a, cases[i].b), cases[i].order);
        CHECK_EQ_INT(library_compare_versions(cases[i].b, cases[i].a), -cases[i].order);
    }
}

/* By version within a library, by year else; the first of the list is the engine. */
TEST(kernels_relate_to_an_engine)
{
    static struct library_release list[] = {{"vLLM", "0.12", 2025}, {"NCCL", NULL, 2025}};
    static const struct {
        struct library_release kernel;
        enum library_relation relation;
    } cases[] = {{{"vLLM", "0.14.0", 2024}, LIBRARY_FITS},  {{"vLLM", "0.12.1", 2024}, LIBRARY_FITS},
                 {{"vLLM", "0.2", 2026}, LIBRARY_OLDER},    {{"vLLM", NULL, 2024}, LIBRARY_OLDER},
                 {{"vLLM", NULL, 2025}, LIBRARY_FITS},      {{"NCCL", "2.27.3", 2025}, LIBRARY_FITS},
                 {{"NCCL", "2.27.3", 2024}, LIBRARY_OLDER}, {{"Vidur", NULL, 2024}, LIBRARY_OLDER},
                 {{"PyTorch", "2.11", 2025}, LIBRARY_OTHER}, {{"vllm", "v0.11", 2025}, LIBRARY_OLDER},
                 {{"VLLM", "0.14", 2026}, LIBRARY_FITS},     {{"vLLM", "0.14", 2027}, LIBRARY_NEWER},
                 {{"NCCL", NULL, 2027}, LIBRARY_NEWER},      {{"PyTorch", "2.11", 2030}, LIBRARY_OTHER}};
    const struct config_list engine = {2, list}, unknown = {0, NULL};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(library_relate(&cases[i].kernel, &engine), cases[i].relation);
        CHECK_EQ_INT(library_relate(&cases[i].kernel, &unknown), LIBRARY_FITS);
    }
}

/* A version is none without a digit at its beginning, or behind a "v". */
TEST(versions_without_a_digit_are_refused)
{
    static const char *const versions[] = {"0", "v1", "V0.2", "1.3rc", "main", "", "v", "vv1", "-1"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct session session;
        struct library_release release = {"vLLM", versions[i], 2025};
        const struct config_list list = {1, &release};
        const bool is_version = i < 4;
        begin(&session);
        CHECK_EQ_INT(library_is_version(versions[i]), is_version);
        CHECK_EQ_INT(library_check(&list, "x.json", &session.diag), is_version ? 0 : SIM_E_CONFIG);
        arena_fini(&session.arena);
    }
}

/* --- Whose kernels a profile has --- */

TEST(a_library_is_read_as_people_write_it)
{
    static const struct {
        const char *text, *library, *version;
        int64_t year;
    } cases[] = {{"vLLM 0.14.0, 2026", "vLLM", "0.14.0", 2026}, {"NCCL, 2025", "NCCL", NULL, 2025},
                 {" my own kernels ,2024 ", "my own kernels", NULL, 2024},
                 {"vLLM v0.2, 2023", "vLLM", "v0.2", 2023}, {"a, b 2, 1999", "a, b", "2", 1999}};
    static const char *const wrong[] = {"", "vLLM", "vLLM 0.14.0", "vLLM, 14", "vLLM, 2026a", ", 2026", "vLLM,"};
    struct session session;
    struct library_release read;
    begin(&session);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(profile_library_parse(cases[i].text, &session.arena, &read, &session.diag), 0);
        CHECK_EQ_STR(read.library, cases[i].library);
        CHECK_EQ_STR(read.version != NULL ? read.version : "-", cases[i].version != NULL ? cases[i].version : "-");
        CHECK_EQ_INT(read.year, cases[i].year);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQ_INT(profile_library_parse(wrong[i], &session.arena, &read, &session.diag), SIM_E_USAGE);
    arena_fini(&session.arena);
}

TEST(the_first_fitting_entry_names_the_library)
{
    char folder[300], path[400];
    struct session session;
    struct library_release read;
    const struct catalog catalog = {.root = test_tmpdir()};
    begin(&session);
    CHECK_EQ_INT(profile_library_find(&catalog, "a__x.csv", &session.arena, &read, &session.diag), 0);
    CHECK(read.library == NULL); /* no sources.json */
    snprintf(folder, sizeof folder, "%s/calibration", catalog.root);
    MUST(mkdir(folder, 0777) == 0);
    snprintf(path, sizeof path, "%s/sources.json", folder);
    test_write(path, "{'libraries': [{'path': '__x', 'library': 'X', 'version': '1', 'year': 2024}, "
                     "{'path': 'a_', 'library': 'A', 'year': 2023, 'source': 's'}], "
                     "'calibration': {'g': {'files': ['p/a__x.csv', 'd/a_y.csv'], 'sets': {'s': ['p/y.csv']}}}}");
    static const struct {
        const char *path, *library;
    } cases[] = {{"p/a__x.csv", "X"}, {"/data/p/a__x.csv", "X"}, {"d/a_y.csv", "A"}, {"../d/a_y.csv", "A"},
                 {"p/y.csv", NULL}, {"a__x.csv", NULL}, {"pp/a__x.csv", NULL}, {"/home/__x/mine.csv", NULL},
                 {"mine__x.csv", NULL}, {"p/a__x.csv.mine", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(profile_library_find(&catalog, cases[i].path, &session.arena, &read, &session.diag), 0);
        CHECK_EQ_STR(read.library != NULL ? read.library : "-", cases[i].library != NULL ? cases[i].library : "-");
    }
    arena_fini(&session.arena);
}

/* Every entry is checked, also those of other profiles. */
TEST(wrong_entries_are_refused)
{
    static const char *const entries[] = {
        "{'library': 'A', 'year': 2024}", "{'path': 'a', 'year': 2024}", "{'path': 'a', 'library': 'A'}",
        "{'path': 'a', 'library': 'A', 'year': 24}", "{'path': 'a', 'library': 'A', 'year': 2024.5}",
        "{'path': 'a', 'library': 'A', 'year': '2024'}", "{'path': 'a', 'library': 'A', 'year': 2024, 'version': 1.2}",
        "{'path': 'a', 'library': 'A', 'year': 2024, 'version': 'main'}", "{'path': '', 'library': 'A', 'year': 2024}",
        "{'path': 'a', 'library': 'A', 'year': 2024, 'yeer': 1}", "'a'"};
    char folder[300], path[400], text[300];
    const struct catalog catalog = {.root = test_tmpdir()};
    snprintf(folder, sizeof folder, "%s/calibration", catalog.root);
    mkdir(folder, 0777); /* a test before may have made it */
    snprintf(path, sizeof path, "%s/sources.json", folder);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        struct session session;
        struct library_release read;
        begin(&session);
        snprintf(text, sizeof text, "{'libraries': [%s], 'calibration': {}}", entries[i]);
        test_write(path, text);
        CHECK_EQ_INT(profile_library_find(&catalog, "b.csv", &session.arena, &read, &session.diag), SIM_E_CONFIG);
        CHECK(read.library == NULL && session.diag.n_errors == 1);
        arena_fini(&session.arena);
    }
}

/* --- Shipped files --- */

/* The path of a file in the lists of an entry; NULL: it is in none. */
static const char *path_of(const struct json_node *node, const char *file)
{
    if (node->kind == JSON_STRING) {
        const char *slash = strrchr(node->text, '/');
        return slash != NULL && strcmp(slash + 1, file) == 0 ? node->text : NULL;
    }
    const char *path = NULL;
    for (const struct json_node *child = node->first; child != NULL && path == NULL; child = child->next)
        path = path_of(child, file);
    return path;
}

static bool has_release(const struct config_list *list, const struct library_release *release)
{
    const struct library_release *items = list->items;
    for (size_t i = 0; i < list->n; i++)
        if (library_is_same(&items[i], release)) return true;
    return false;
}

/* A class states the libraries of its profiles, and no others. */
static void check_class(struct session *session, const struct json_node *listed, const struct calibration_class *class)
{
    const struct calibration_profile *profiles = class->profiles.items;
    const struct library_release *stated = class->measured_with.items;
    size_t n_found = 0;
    CHECK(class->measured_with.n > 0);
    for (size_t i = 0; i < class->measured_with.n; i++) {
        bool is_found = false;
        for (size_t j = 0; j < class->profiles.n; j++) {
            struct library_release release;
            const char *path = path_of(listed, profiles[j].file);
            MUST(path != NULL);
            MUST(profile_library_find(&shipped, path, &session->arena, &release, &session->diag) == 0);
            CHECK(release.library != NULL && has_release(&class->measured_with, &release));
            is_found |= release.library != NULL && library_is_same(&release, &stated[i]);
        }
        n_found += is_found;
    }
    CHECK_EQ_INT(n_found, class->measured_with.n);
}

TEST(shipped_kernels_state_the_libraries_of_their_profiles)
{
    struct session session;
    struct json_node *sources;
    struct catalog_names names;
    size_t n_classes = 0;
    begin(&session);
    MUST(json_load(&session.arena, "configs/calibration/sources.json", &sources, &session.diag) == 0);
    MUST(catalog_list_calibrations(&shipped, &session.arena, &names, &session.diag) == 0);
    for (size_t i = 0; i < names.n; i++) {
        struct calibration_file file;
        const char *path = arena_printf(&session.arena, "configs/calibration/%s.json", names.names[i]);
        MUST(calibration_file_read(path, &session.arena, &file, &session.diag) == 0);
        const struct calibration_set *sets = file.sets.items;
        for (size_t j = 0; j < file.sets.n; j++)
            for (size_t c = 0; c < KERNEL_CLASS_COUNT; c++) {
                if (sets[j].classes[c].rows == 0) continue;
                check_class(&session, json_member(sources, "calibration"), &sets[j].classes[c]);
                n_classes++;
            }
    }
    CHECK(n_classes > 100);
    arena_fini(&session.arena);
}

/* Presets state the libraries of their recipe, which `make engines` writes again. */
TEST(shipped_engines_state_their_libraries)
{
    struct session session;
    begin(&session);
    for (size_t i = 0; engine_recipe_at(i) != NULL; i++) {
        const struct engine_recipe *recipe = engine_recipe_at(i);
        char *text;
        size_t n_bytes;
        MUST(recipe->libraries != NULL);
        const char *path = arena_printf(&session.arena, "configs/engines/%s.json", recipe->name);
        const char *line = arena_printf(&session.arena, "  \"libraries\": %s,\n", recipe->libraries);
        MUST(json_read_file(path, &text, &n_bytes) == 0);
        CHECK(strstr(text, line) != NULL);
        mem_free(text);
    }
    arena_fini(&session.arena);
}

/* --- What runs say --- */

/* A simpler rule for shipped releases: versions as two numbers. */
static bool is_older(const struct library_release *kernel, const struct config_list *engine)
{
    const struct library_release *own = engine->items;
    for (size_t i = 0; i < engine->n; i++) {
        const struct library_release *release = (const struct library_release *)engine->items + i;
        if (strcmp(release->library, kernel->library) == 0) own = release;
    }
    if (strcmp(own->library, kernel->library) != 0 || own->version == NULL || kernel->version == NULL)
        return kernel->year < own->year;
    int kernel_minor = 0, own_minor = 0;
    const int kernel_major = (int)strtol(kernel->version, NULL, 10), own_major = (int)strtol(own->version, NULL, 10);
    if (strchr(kernel->version, '.') != NULL) kernel_minor = (int)strtol(strchr(kernel->version, '.') + 1, NULL, 10);
    if (strchr(own->version, '.') != NULL) own_minor = (int)strtol(strchr(own->version, '.') + 1, NULL, 10);
    return 1000 * kernel_major + kernel_minor < 1000 * own_major + own_minor;
}

/* Whether a list of names, separated by ", ", has one; it ends where another release begins. */
static bool names_class(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += n)
        if (at > text && at[-1] == ' ' && (at[n] == ',' || at[n] == ' ')) return true;
    return false;
}

/* Where the statement about one relation ends: at the next one's beginning. */
static const char *end_of(const char *said)
{
    static const char *const others[] = {"; newer by years are ", "; of other libraries are "};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(said, others[i]) != NULL) return strstr(said, others[i]);
    return said + strlen(said);
}

/* No kernel that is older than its engine goes unsaid, on any GPU that was measured, nor is a fitting one named. */
TEST(older_kernels_are_named)
{
    static const char *const gpus[] = {"a100-80-sxm", "h100-sxm", "b200-sxm", "h200-sxm", "rtx-4090", "a10"};
    bool all[KERNEL_CLASS_COUNT];
    struct session session;
    struct catalog_names engines;
    int n_older = 0, n_fits = 0;
    begin(&session);
    for (size_t c = 0; c < KERNEL_CLASS_COUNT; c++) all[c] = true;
    MUST(catalog_list_engines(&shipped, &session.arena, &engines, &session.diag) == 0);
    for (size_t i = 0; i < engines.n * (sizeof gpus / sizeof *gpus); i++) {
        struct engine_preset preset;
        struct calibration calibration;
        struct library_statement statement;
        const char *gpu = gpus[i / engines.n], *name = engines.names[i % engines.n];
        MUST(catalog_engine(&shipped, name, "test", &session.arena, &preset, &session.diag) == 0);
        MUST(engine_preset_kernels(&preset, &shipped, gpu, &session.arena, &calibration, &session.diag) == 0);
        CHECK_EQ_INT(cost_libraries_say(&calibration, all, &preset, gpu, &session.arena, &statement), 0);
        if (preset.libraries.n == 0) {
            CHECK(statement.misfits == NULL && statement.fitting == NULL);
            continue;
        }
        const char *said = statement.misfits != NULL ? statement.misfits : "";
        const char *older = arena_printf(&session.arena, "%.*s", (int)(end_of(said) - said), said);
        for (size_t c = 0; c < KERNEL_CLASS_COUNT; c++) {
            const struct config_list *measured = calibration.measured_with[c];
            bool expected = false;
            for (size_t j = 0; measured != NULL && j < measured->n; j++)
                expected |= is_older((const struct library_release *)measured->items + j, &preset.libraries);
            CHECK_EQ_INT(names_class(older, kernel_class_info((enum kernel_class)c)->name), expected);
            *(expected ? &n_older : &n_fits) += 1;
        }
    }
    CHECK(n_older > 50 && n_fits > 50);
    arena_fini(&session.arena);
}

/* A model says it of the kernels that it launches, but for those of a set that the scenario names. */
TEST(models_name_older_kernels_that_they_launch)
{
    static const struct {
        const char *keys, *says; /* NULL: nothing */
    } cases[] = {{"'engine': 'vllm-0.12'", "norm, rotary, activation, embedding of Vidur (2024)"},
                 {"'engine': 'vllm-0.12', 'kernels': 'isolated'",
                  "norm, rotary, activation, embedding of Vidur (2024)"},
                 {"'engine': 'vllm-0.12', 'kernels': 'in-model'", NULL},
                 {"'engine': 'vllm-0.2'",
                  "newer by years are prefill_attention, decode_attention of vLLM 0.14.0 (2026)"},
                 {"'engine': 'none'", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        struct cost_fixture fixture;
        snprintf(text, sizeof text, "{'cost': {'kind': 'operators', %s}}", cases[i].keys);
        CHECK_EQ_INT(cost_fixture_init(&fixture, text, "h100-sxm", "llama-3.1-8b", 1, 1), 0);
        const char *said = fixture.model.other_kernels;
        CHECK_EQ_INT(said != NULL, cases[i].says != NULL);
        if (said != NULL) {
            CHECK(strstr(said, cases[i].says) != NULL && strstr(said, " on h100-sxm is of vLLM") != NULL);
            CHECK(!names_class(said, "moe") && !names_class(said, "all_reduce"));
            CHECK_EQ_INT(names_class(said, "gemm"), i == 3); /* of Vidur (2024) */
        }
        cost_fixture_fini(&fixture);
    }
}

/* Sets are named that have the engine's own kernels, and only for classes that do not fit. */
TEST(models_name_sets_that_fit)
{
    static const struct {
        const char *gpu, *engine, *fitting;
    } cases[] = {{"h100-sxm", "vllm-0.19", "set 'vllm-0.24' has fitting gemm, prefill_attention, decode_attention"},
                 {"h100-sxm", "sglang-0.5", "set 'sglang-0.5' has fitting gemm"},
                 {"h100-sxm", "vllm-0.12", NULL},
                 {"h200-sxm", "vllm-0.12", NULL}}; /* its own file has these classes, before that of the H100 */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        struct cost_fixture fixture;
        snprintf(text, sizeof text, "{'cost': {'kind': 'operators', 'engine': '%s'}}", cases[i].engine);
        CHECK_EQ_INT(cost_fixture_init(&fixture, text, cases[i].gpu, "llama-3.1-8b", 1, 1), 0);
        const char *fitting = fixture.model.fitting_kernels;
        CHECK_EQ_STR(fitting != NULL ? fitting : "-", cases[i].fitting != NULL ? cases[i].fitting : "-");
        cost_fixture_fini(&fixture);
    }
}
