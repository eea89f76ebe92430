#include "sim/catalog/storage.h"
#include "tests/support/catalog_session.h"
#include "tests/support/harness.h"

static const struct catalog catalog = {.root = "configs"};

/* Every quantity and count in a file stands beside its source and how sure it is. */
static void check_sources(const char *name)
{
    char path[128], line[512];
    snprintf(path, sizeof path, "configs/storage/%s.json", name);
    FILE *file = fopen(path, "r");
    MUST(file);
    int values = 0;
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "//", 2) == 0 || !colon || strcmp(colon, ": {\n") == 0 || strstr(line, "\"summary\"") ||
            strstr(line, "\"kind\"") || strstr(line, "\"dual_key\""))
            continue;
        values++;
        CHECK(strstr(line, "\"source\": \"") && strstr(line, "\"sure\": \""));
    }
    fclose(file);
    CHECK(values >= 10);
}

static void check_device(const struct storage_spec *spec)
{
    const struct storage_device *device = &spec->device;
    for (int op = STORAGE_READ; op <= STORAGE_WRITE; op++) {
        const double rate = storage_rate_bytes_per_s(device, NULL, (enum storage_op)op);
        CHECK(rate > 0.5e9 && rate <= device->link.nominal_bytes_per_s);
        CHECK(device->latency_s[op] <= 1e-3);
    }
    CHECK(strlen(spec->summary) > 10);
    CHECK((spec->kind == STORAGE_CSD) == (spec->csd.channels > 0.0));
    CHECK(!(device->capacity_bytes < 90e9));
}

TEST(every_entry_is_whole_and_sourced)
{
    SCOPED(session) session = {0};
    struct catalog_names names;
    MUST(catalog_list_storage(&catalog, &session.arena, &names, &session.diag) == 0 && names.n >= 12);
    for (size_t i = 0; i < names.n; i++) {
        struct storage_spec spec;
        const int code = catalog_storage(&catalog, names.names[i], "test", &session.arena, &spec, &session.diag);
        CHECK_EQ_STR(session_message(&session), "");
        MUST(code == 0);
        CHECK_EQ_STR(spec.name, names.names[i]);
        CHECK(i == 0 || strcmp(names.names[i - 1], names.names[i]) < 0);
        check_sources(spec.name);
        check_device(&spec);
    }
}

TEST(software_is_found_by_name)
{
    SCOPED(session) session = {0};
    struct storage_spec spec;
    MUST(catalog_storage(&catalog, "flexgen-t4-nvme", "test", &session.arena, &spec, &session.diag) == 0);
    const struct storage_software *software = storage_spec_software(&spec, "flexgen");
    MUST(software);
    CHECK_NEAR(software->bytes_per_s[STORAGE_READ], 0.473 * 0x1p30, 1.0);
    CHECK(storage_rate_bytes_per_s(&spec.device, software, STORAGE_READ) <
          storage_rate_bytes_per_s(&spec.device, NULL, STORAGE_READ));
    CHECK(storage_spec_software(&spec, "flexge") == NULL);
    CHECK(isnan(spec.csd.channels) && !spec.csd.dual_key);
}

TEST(each_of_many_stacks_is_found)
{
    struct storage_stack stacks[] = {{.name = "posix"}, {.name = "flexgen"}, {.name = "direct"}};
    const size_t n = sizeof stacks / sizeof *stacks;
    for (size_t listed = 0; listed <= n; listed++) {
        const struct storage_spec spec = {.software = {listed, stacks}};
        for (size_t i = 0; i < n; i++)
            CHECK(storage_spec_software(&spec, stacks[i].name) == (i < listed ? &stacks[i].limits : NULL));
    }
}

/* A file with `text`, in which ' stands for ", is refused with this finding. */
static void check_refused(const char *text, const char *expected)
{
    const char *path = test_file("drive.json", "%s", text);
    SCOPED(session) session = {0};
    struct storage_spec spec;
    CHECK_EQ_INT(catalog_storage(&catalog, path, "t", &session.arena, &spec, &session.diag), SIM_E_CONFIG);
    if (!strstr(session_message(&session), expected)) CHECK_EQ_STR(session.message, expected);
}

#define HEAD "{'summary': 'a drive', 'granularity': '4KiB', 'queue_depth': 8,\n'link': {'bandwidth': '4GB/s', 'sustained': '3GB/s'},\n"
#define WRITE "'write': {'bandwidth': '1GB/s', 'sustained': '1GB/s', 'latency': '1us'}"
#define READ "'read': {'bandwidth': '2GB/s', 'sustained': '2GB/s', 'latency': '1us'}"

TEST(impossible_devices_are_refused)
{
    check_refused(HEAD WRITE
                  ", 'kind': 'ssd',\n'read': {'bandwidth': '2GB/s', 'sustained': '3GB/s', 'latency': '1us'}}",
                  "drive.json: error: impossible device: reading sustains more than its bandwidth");
    check_refused(HEAD WRITE "," READ ", 'kind': 'csd', 'csd': {'channels': 8}}",
                  "impossible device: kind 'csd' needs channels, channel_bandwidth");
    check_refused(HEAD WRITE "," READ ", 'kind': 'ssd', 'csd': {'channels': 8}}",
                  "impossible device: only kind 'csd' has flash channels");
    check_refused(HEAD WRITE "," READ ", 'kind': 'sdd'}", "3:");
    check_refused(HEAD WRITE ", 'kind': 'ssd',\n'read': {'bandwidth': 2, 'sustained': '2GB/s', 'latency': '1us'}}",
                  "drive.json:4:23: error: 'bandwidth' needs a unit, got 2");
}

TEST(unknown_names_get_suggestions)
{
    SCOPED(session) session = {0};
    struct storage_spec spec;
    CHECK_EQ_INT(catalog_storage(&catalog, "smartsdd", "exp.json:3:12", &session.arena, &spec, &session.diag),
                 SIM_E_CONFIG);
    CHECK_EQ_STR(session_message(&session), "exp.json:3:12: error: unknown storage device 'smartsdd'; did you mean "
                                            "'smartssd'? 'orrery list storage' shows all");
}

/* Wherever memory runs out, the reader says so and leaks nothing. */
TEST(running_out_of_memory_is_survived)
{
    bool done = false;
    for (long n = 0; n < 400 && !done; n++) {
        SCOPED(session) session = {0};
        struct storage_spec spec;
        mem_fail_after(n);
        const int code = catalog_storage(&catalog, "instcsd", "t", &session.arena, &spec, &session.diag);
        mem_fail_never();
        CHECK(code == SIM_E_NOMEM || code == 0);
        done = code == 0;
    }
    CHECK(done);
}
