#include "tests/support/figure_fixture.h"

#include "tests/support/harness.h"
#include "tests/support/store_fixture.h"

#include <unistd.h>

static const char template[] =
    "{'title': 'A test', 'paper': 'Nobody, Nothing', 'place': 'figure 1',\n"
    " 'setup': [{'says': 'there is <one> GPU', 'tag': 'src:here'}],\n"
    " 'studies': {'only': 'none.study.json'},\n"
    " 'charts': [\n"
    "  {'title': 'First', 'x': {'title': 'x'}, 'y': {'title': 'y'}, 'series': [\n"
    "   {'name': 'up', 'sql': 'select column1 as x, column2 as y from (values (4, 16), (1, 1), (2, 4), (3, 9))',\n"
    "    'paper': {'tag': 'src', 'points': [{'x': 1, 'y': 1}, {'x': 2, 'y': 4}, {'x': 3, 'y': 9},\n"
    "     {'x': 4, 'y': 20}]}},\n"
    "   {'name': 'down', 'sql': 'select column1 as x, 10 - column1 as y from (values (1), (2), (3), (4))'}]},\n"
    "  {'title': 'Second', 'x': {'title': 'x'}, 'y': {'title': 'y'}, 'series': [\n"
    "   {'name': 'noisy', 'interval': 0.99,\n"
    "    'sql': 'select column1 as x, column2 as y from (values (1,9), (2,19), (1,10), (2,20), (1,11), (2,22))',\n"
    "    'paper': {'tag': 'derived', 'sql': 'select column1 as x, column2 as y from (values (1,10), (2,30))'}}]}],\n"
    " 'claims': [%s],\n"
    " 'fitted': [%s]}\n";

const char *figure_json(const char *claims, const char *fitted)
{
    static char json[8192];
    int n = snprintf(json, sizeof json, template, claims, fitted);
    CHECK(n > 0 && (size_t)n < sizeof json);
    return json;
}

const char *figure_file(const char *json)
{
    return test_file("fig.json", "%s", json);
}

const char *figure_database(void)
{
    static char path[512];
    struct results_options options = {0};
    struct diag diag = {0};
    snprintf(path, sizeof path, "%s/figure.db", test_tmpdir());
    if (access(path, R_OK) != 0) CHECK_EQ_INT(store_write_run(path, &options, 0, 1, NULL, &diag), 0);
    return path;
}

int figure_case_init(struct figure_case *test, const char *json)
{
    const char *paths[] = {figure_database()};
    *test = (struct figure_case){0};
    arena_init(&test->arena);
    diag_init(&test->diag);
    int code = figure_load("test/one", figure_file(json), NULL, &test->arena, &test->figure, &test->diag);
    if (code == 0) code = figure_data_read(&test->figure, paths, &test->arena, &test->data, &test->diag);
    return code == 0 ? figure_claims(&test->data, &test->results, &test->diag) : code;
}

void figure_case_fini(struct figure_case *test)
{
    figure_data_fini(&test->data);
    arena_fini(&test->arena);
}
