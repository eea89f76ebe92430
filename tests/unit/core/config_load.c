#include "sim/core/config/config.h"
#include "tests/support/config_table.h"
#include "tests/support/harness.h"

#include <sys/stat.h>

/* A directory of documents, and what loading one of them gave. */
static struct {
    const char *directory;
    struct config *config;
    struct diag diag;
    struct arena arena;
    struct site site;
    char messages[4096];
} loaded;

/* Writes a file below the directory; ' stands for ". */
static void write_file(const char *name, const char *quoted)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", loaded.directory, name);
    char *slash = path + strlen(loaded.directory);
    while ((slash = strchr(slash + 1, '/')) != NULL) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    test_write(path, "%s", quoted);
}

/* The findings, one per line, without the directory. */
static void format_messages(void)
{
    size_t used = 0, n = strlen(loaded.directory);
    loaded.messages[0] = 0;
    for (int i = 0; i < loaded.diag.n_items; i++) {
        char line[1024], *found;
        diag_format(&loaded.diag.items[i], line, sizeof line);
        while ((found = strstr(line, loaded.directory)) != NULL) memmove(found, found + n + 1, strlen(found + n));
        used += (size_t)snprintf(loaded.messages + used, sizeof loaded.messages - used, "%s%s", i > 0 ? "\n" : "",
                                 line);
    }
}

/* Loads and binds a file of the directory. */
static int load(const char *name, const char *const *roots)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", name[0] != '/' ? loaded.directory : "", name[0] != '/' ? "/" : "", name);
    diag_init(&loaded.diag);
    arena_init(&loaded.arena);
    int code = config_load_within(path, roots, NULL, &loaded.config, &loaded.diag);
    if (code == 0)
        code = config_bind(loaded.config, site_fields, &site_families, &loaded.arena, &loaded.site, sizeof loaded.site,
                           &loaded.diag);
    format_messages();
    return code;
}

static void unload(void)
{
    config_destroy(loaded.config);
    arena_fini(&loaded.arena);
}

static void check_messages(const char *name, int code, const char *expected)
{
    CHECK_EQ_INT(load(name, NULL), code);
    CHECK_EQ_STR(loaded.messages, expected);
    unload();
}

TEST(later_documents_go_over_earlier_ones)
{
    loaded.directory = test_tmpdir();
    write_file("base.json", "{'memory': '1GB', 'nodes': 1, 'load': 1, 'title': 'base',\n"
                            " 'power': {'budget': '2kW', 'idle': 0.5}, 'weights': [1, 2, 3],\n"
                            " 'services': {'a': {'replicas': 1}, 'b': {'replicas': 2}}}");
    write_file("more.json", "{'nodes': 2, 'load': 2}");
    write_file("top.json", "{'$schema': 'x', 'extends': ['base.json', 'more.json'], 'load': 3, 'title': null,\n"
                           " 'power': {'budget': '3kW'}, 'weights': [4],\n"
                           " 'services': {'c': {}, 'b': null, 'a': {'window': ['0s', '1s']}}}");
    CHECK_EQ_INT(load("top.json", NULL), 0);
    CHECK_EQ_STR(loaded.messages, "");
    MUST(loaded.config != NULL);
    const struct site *site = &loaded.site;
    CHECK_EQ_INT(site->nodes, 2);
    CHECK(site->load == 3 && site->memory_bytes == 1e9 && site->title == NULL);
    CHECK(site->power.budget_w == 3e3 && site->power.idle_frac == 0.5);
    CHECK_EQ_INT(site->weights.n, 1);
    MUST(site->services.n == 2);
    const struct site_service *service = site->services.items;
    CHECK_EQ_STR(service[0].name, "a");
    CHECK_EQ_INT(service[0].replicas, 1);
    CHECK_EQ_INT(service[0].window.n, 2);
    CHECK_EQ_STR(service[1].name, "c");
    CHECK(strstr(config_where(loaded.config, "nodes"), "/more.json:1:11") != NULL);
    CHECK(strstr(config_where(loaded.config, "power.idle"), "/base.json:2:37") != NULL);
    CHECK(strstr(config_where(loaded.config, "power"), "/top.json:2:11") != NULL);
    unload();
}

TEST(extending_nothing_changes_nothing)
{
    loaded.directory = test_tmpdir();
    write_file("a.json", "{'memory': '1GB', 'extends': []}");
    MUST(load("a.json", NULL) == 0);
    MUST(config_set(loaded.config, "nodes=9", NULL) == 0);
    MUST(config_bind(loaded.config, site_fields, &site_families, &loaded.arena, &loaded.site, sizeof loaded.site,
                     NULL) == 0);
    CHECK_EQ_INT(loaded.site.nodes, 9);
    unload();
}

TEST(parameters_may_be_laid_over_a_short_variant)
{
    loaded.directory = test_tmpdir();
    write_file("base.json", "{'memory': '1GB', 'probing': 'vllm-v0'}");
    write_file("over.json", "{'extends': 'base.json', 'probing': {'max_sequences': 7}}");
    write_file("more.json", "{'extends': 'over.json', 'probing': {'watermark': 0.5}}");
    write_file("other.json", "{'extends': 'more.json', 'probing': 'static'}");
    MUST(load("more.json", NULL) == 0);
    CHECK_EQ_STR(loaded.site.probing.name, "vllm-v0");
    const struct site_vllm *vllm = loaded.site.probing.params;
    CHECK(vllm->max_sequences == 7 && vllm->watermark_frac == 0.5);
    unload();
    write_file("changed.json", "{'extends': 'over.json', 'probing': {'policy': 'static', 'max_sequences': null}}");
    MUST(load("changed.json", NULL) == 0);
    CHECK_EQ_STR(loaded.site.probing.name, "static");
    unload();
    MUST(load("other.json", NULL) == 0);
    CHECK_EQ_STR(loaded.site.probing.name, "static");
    unload();
}

TEST(paths_start_at_the_file_that_names_them)
{
    char trace[512];
    loaded.directory = test_tmpdir();
    write_file("clusters/a.json", "{'memory': '1GB', 'trace': '../traces/x.csv'}");
    write_file("scenarios/deep/b.json", "{'extends': '../../clusters/a.json'}");
    write_file("scenarios/c.json", "{'extends': 'deep/b.json'}");
    MUST(load("scenarios/c.json", NULL) == 0);
    snprintf(trace, sizeof trace, "%s/traces/x.csv", loaded.directory);
    CHECK_EQ_STR(loaded.site.trace, trace);
    unload();
}

TEST(roots_are_looked_through_after_the_directory)
{
    char one[512], two[512];
    loaded.directory = test_tmpdir();
    write_file("data/clusters/a.json", "{'memory': '1GB', 'nodes': 1}");
    write_file("more/clusters/a.json", "{'memory': '1GB', 'nodes': 2}");
    write_file("more/clusters/b.json", "{'memory': '1GB', 'nodes': 3}");
    write_file("mine/clusters/b.json", "{'memory': '1GB', 'nodes': 4}");
    write_file("mine/x.json", "{'extends': 'clusters/a.json'}");
    write_file("mine/y.json", "{'extends': 'clusters/b.json'}");
    snprintf(one, sizeof one, "%s/data", loaded.directory);
    snprintf(two, sizeof two, "%s/more", loaded.directory);
    const char *const roots[] = {one, two, NULL};
    MUST(load("mine/x.json", roots) == 0);
    CHECK_EQ_INT(loaded.site.nodes, 1);
    unload();
    MUST(load("mine/y.json", roots) == 0);
    CHECK_EQ_INT(loaded.site.nodes, 4);
    unload();

    diag_init(&loaded.diag);
    MUST(config_load_within("clusters/b.json", roots, NULL, &loaded.config, &loaded.diag) == 0);
    CHECK(strstr(config_where(loaded.config, "nodes"), "/more/clusters/b.json:") != NULL);
    config_destroy(loaded.config);
}

TEST(what_cannot_be_read_is_reported_where_it_is_named)
{
    loaded.directory = test_tmpdir();
    write_file("a.json", "{\n 'extends': ['b.json',\n 'gone.json', 3]}");
    write_file("b.json", "{'extends': 'lost/x.json', }");
    write_file("list.json", "[1]");
    write_file("over-list.json", "{'extends': 'list.json'}");
    check_messages("a.json", SIM_E_CONFIG,
                   "b.json:1:28: error: expected a key, got '}'; remove the comma before it\n"
                   "a.json:3:2: error: cannot read 'gone.json': No such file or directory\n"
                   "a.json:3:15: error: 'extends' must name files, got 3");
    check_messages("none.json", SIM_E_IO, "none.json: error: cannot read the file: No such file or directory");
    check_messages("list.json", SIM_E_CONFIG, "list.json:1:1: error: a document must be an object, got a list");
    check_messages("over-list.json", SIM_E_CONFIG, "list.json:1:1: error: a document must be an object, got a list");
    check_messages("/dev/zero", SIM_E_IO, "/dev/zero: error: cannot read the file: File too large");
}

TEST(cycles_of_extends_are_found)
{
    loaded.directory = test_tmpdir();
    write_file("self.json", "{'extends': './self.json'}");
    write_file("a.json", "{'extends': 'sub/b.json'}");
    write_file("sub/b.json", "{'extends': '../c.json'}");
    write_file("c.json", "{'extends': ['d.json', 'a.json']}");
    write_file("d.json", "{}");
    check_messages("self.json", SIM_E_CONFIG, "self.json:1:13: error: 'self.json' extends itself");
    check_messages("a.json", SIM_E_CONFIG, "c.json:1:24: error: 'a.json' extends itself through other documents");
}

TEST(the_same_document_may_be_extended_twice)
{
    loaded.directory = test_tmpdir();
    write_file("base.json", "{'memory': '1GB'}");
    write_file("left.json", "{'extends': 'base.json', 'nodes': 3}");
    write_file("right.json", "{'extends': 'base.json', 'load': 7}");
    write_file("top.json", "{'extends': ['left.json', 'right.json']}");
    MUST(load("top.json", NULL) == 0);
    CHECK(loaded.site.nodes == 3 && loaded.site.load == 7);
    unload();
}

/* Each file extends the next one three times: 3^12 documents. */
TEST(extends_has_a_limit_of_documents)
{
    char name[16];
    loaded.directory = test_tmpdir();
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "%02d.json", i);
        write_file(name, test_json("{'extends': ['%02d.json', '%02d.json', '%02d.json']}", i + 1, i + 1, i + 1));
    }
    write_file("12.json", "{'nodes': 3}");
    CHECK_EQ_INT(load("00.json", NULL), SIM_E_CONFIG);
    CHECK_EQ_INT(loaded.diag.n_errors, 1);
    CHECK(strstr(loaded.messages, "12.json': 'extends' names more than 256 documents in all") != NULL);
    unload();
}

TEST(extends_has_a_depth_limit)
{
    loaded.directory = test_tmpdir();
    for (int i = 0; i < 18; i++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "%02d.json", i);
        snprintf(text, sizeof text, "{'extends': '%02d.json'}", i + 1);
        write_file(name, text);
    }
    write_file("18.json", "{'memory': '1GB'}");
    check_messages("00.json", SIM_E_CONFIG, "16.json:1:13: error: 'extends' is more than 16 documents deep");
    check_messages("02.json", SIM_OK, "");
}

TEST(findings_name_the_file_they_are_in)
{
    loaded.directory = test_tmpdir();
    write_file("base.json", "{'memory': 80,\n 'power': {'bugdet': '1kW'}, 'racks': [{}]}");
    write_file("top.json", "{'extends': 'base.json', 'power': {'idel': 1}, 'renting': {'policy': 'spot'}}");
    check_messages("top.json", SIM_E_CONFIG,
                   "base.json:1:12: error: 'memory' needs a unit, got 80; write \"80GB\" or \"80GiB\"\n"
                   "base.json:2:12: error: unknown key 'bugdet' in 'power'; did you mean 'budget'?\n"
                   "top.json:1:36: error: unknown key 'idel' in 'power'; did you mean 'idle'?\n"
                   "base.json:2:40: error: missing 'height' in 'racks.0'; expected a whole number\n"
                   "top.json:1:59: error: missing 'bid' in 'renting'; expected a quantity such as \"$2.49/h\"");
}

static int load_set_bind(const char *path)
{
    arena_init(&loaded.arena);
    diag_init(&loaded.diag);
    int code = config_load(path, &loaded.config, &loaded.diag);
    if (code == 0) code = config_set(loaded.config, "services.b={\"replicas\": 4}", &loaded.diag);
    if (code == 0) code = config_set(loaded.config, "power.idle=0.5", &loaded.diag);
    return code != 0 ? code
                     : config_bind(loaded.config, site_fields, &site_families, &loaded.arena, &loaded.site,
                                   sizeof loaded.site, &loaded.diag);
}

static int write_all(void)
{
    SCOPED(text) out = {0};
    int code = config_dump(site_fields, &site_families, &loaded.site, &out);
    if (code == 0) code = config_explain(loaded.config, site_fields, &site_families, &loaded.site, &out);
    if (code == 0) code = config_schema(site_fields, &site_families, &out);
    return code;
}

TEST(memory_may_run_out_anywhere)
{
    char path[512];
    loaded.directory = test_tmpdir();
    write_file("base.json", "{'memory': '1GB', 'services': {'a': {'batching': 'static', 'window': ['0s', '1s']}}}");
    write_file("top.json", "{'extends': ['base.json'], 'trace': 'x', 'racks': [{'height': 1, 'nodes': ['n']}]}");
    snprintf(path, sizeof path, "%s/top.json", loaded.directory);
    int code = SIM_E_NOMEM;
    long n = 0;
    for (; code == SIM_E_NOMEM && n < 1000; n++) {
        mem_fail_after(n);
        code = load_set_bind(path);
        CHECK_EQ_INT(loaded.diag.code, code);
        CHECK_EQ_INT(loaded.diag.n_errors, code != 0);
        if (code == 0) code = write_all();
        mem_fail_never();
        unload();
    }
    CHECK_EQ_INT(code, 0);
    CHECK(n > 30);
}

/* A wrong document stays wrong when memory runs out: the answer is one of the two codes, never success. */
TEST(memory_may_run_out_while_reporting)
{
    char path[512];
    loaded.directory = test_tmpdir();
    write_file("bad.json", "{'memory': 3, 'mdoe': 1, 'probing': 'x', 'mode': 'y', 'services': {'a': {'batchign': 1}}}");
    snprintf(path, sizeof path, "%s/bad.json", loaded.directory);
    int code = SIM_E_NOMEM;
    for (long n = 0; code == SIM_E_NOMEM && n < 1000; n++) {
        mem_fail_after(n);
        code = load_set_bind(path);
        mem_fail_never();
        unload();
    }
    CHECK_EQ_INT(code, SIM_E_CONFIG);
    CHECK_EQ_INT(loaded.diag.n_errors, 5);
}
