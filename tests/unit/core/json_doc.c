#include "sim/core/json_doc.h"
#include "sim/core/json_scan.h"
#include "tests/support/harness.h"

static const struct json_source source = {.name = "t.json", .directory = ".", .has_lines = true};

static struct json_node *parse(struct arena *arena, const char *text)
{
    struct json_node *root = NULL;
    struct diag diag = {0};
    arena_init(arena);
    CHECK_EQ_INT(json_parse(arena, &source, text, strlen(text), &root, &diag), 0);
    CHECK_EQ_INT(diag.n_errors, 0);
    return root;
}

static void check_place(const struct json_node *node, const char *where)
{
    char buffer[64];
    if (CHECK(node != NULL)) CHECK_EQ_STR(json_where(node, buffer, sizeof buffer), where);
}

TEST(every_value_knows_its_place)
{
    SCOPED(arena) arena;
    char buffer[64];
    struct json_node *root = parse(&arena, "{ // a site\n"
                                           "  \"nodes\": 4,\n"
                                           "\t\"caf\xc3\xa9\": [\"\xe2\x82\xac\", {\"x\":null}], \"end\" : true }");
    MUST(root != NULL);
    check_place(root, "t.json:1:1");
    check_place(json_member(root, "nodes"), "t.json:2:12");
    CHECK_EQ_STR(json_key_where(json_member(root, "nodes"), buffer, sizeof buffer), "t.json:2:3");
    struct json_node *list = json_member(root, "caf\xc3\xa9");
    check_place(list, "t.json:3:10");
    CHECK_EQ_INT(list->n, 2);
    check_place(list->first, "t.json:3:11");
    check_place(json_member(list->last, "x"), "t.json:3:21");
    check_place(json_member(root, "end"), "t.json:3:37");
    CHECK_EQ_STR(json_key_where(json_member(root, "end"), buffer, sizeof buffer), "t.json:3:29");
}

TEST(values_are_decoded)
{
    SCOPED(arena) arena;
    struct json_node *root = parse(&arena,
                                   "[-0, 1e3, 9007199254740993, \"a\\n\\u00e9\\ud83d\\ude00//\", false, null, \"\"]");
    MUST(root != NULL && root->n == 7);
    const struct json_node *item = root->first;
    CHECK(item->kind == JSON_NUMBER && item->number == 0 && strcmp(item->text, "-0") == 0);
    item = item->next;
    CHECK(item->number == 1000);
    CHECK_EQ_STR(item->text, "1e3");
    item = item->next;
    CHECK_EQ_STR(item->text, "9007199254740993");
    item = item->next;
    CHECK_EQ_STR(item->text, "a\n\xc3\xa9\xf0\x9f\x98\x80//");
    item = item->next;
    CHECK(item->kind == JSON_BOOL && item->number == 0);
    item = item->next;
    CHECK(item->kind == JSON_NULL);
    CHECK_EQ_STR(item->next->text, "");
}

TEST(a_byte_order_mark_takes_no_column)
{
    SCOPED(arena) arena;
    check_place(parse(&arena, "\xef\xbb\xbf{}"), "t.json:1:1");
}

TEST(values_are_shown_short)
{
    SCOPED(arena) arena;
    char buffer[128];
    struct json_node *root = parse(&arena,
                                   "[{}, [], 8e1, \"a\", \"0123456789012345678901234567890123456789\xc3\xa9\"]");
    static const char *const shown[] = {"an object", "a list", "8e1", "\"a\"",
                                        "\"0123456789012345678901234567890123456789...\""};
    size_t i = 0;
    for (const struct json_node *item = root->first; item != NULL; item = item->next)
        CHECK_EQ_STR(json_show(item, buffer, sizeof buffer), shown[i++]);
    CHECK_EQ_INT(i, 5);
}

/* An escaped quote does not end a string, so no comment begins behind it. */
TEST(tables_show_objects_in_brief)
{
    static const struct {
        const char *value, *brief;
    } cases[] = {
        {"fcfs", "fcfs"},
        {"8GiB", "8GiB"},
        {"[1, 2]", "[1, 2]"},
        {"{}", "{}"},
        {"{'policy': 'sarathi', 'token_budget': 512, 'chunked': false}", "sarathi token_budget=512 chunked=false"},
        {"{'size': 3, 'policy': 'y'}", "y size=3"},
        {"{'nodes': 2, 'network': {'bandwidth': '50GB/s'}, 'batching': {'policy': 'vllm-v1', 'token_budget': 8}}",
         "nodes=2 network.bandwidth=50GB/s batching=vllm-v1 batching.token_budget=8"},
        {"{'devices': ['a', {'kind': 'b'}, 3, {'c': 1}]}", "devices=[a, b, 3, ...]"},
        {"{no json", "{no json"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQ_STR(json_brief(test_json("%s", cases[i].value), &arena), cases[i].brief);
    arena_fini(&arena);
}

TEST(comments_begin_outside_strings)
{
    static const char text[] = "[\"a\\\"// b\", \"\\\\\"] // [\"";
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct json_node *root;
    MUST(json_parse(&arena, &source, text, strlen(text), &root, &diag) == 0);
    CHECK_EQ_STR(root->first->text, "a\"// b");
    CHECK_EQ_STR(root->first->next->text, "\\");
}

static void check_error(const char *text, size_t bytes, const char *expected)
{
    SCOPED(arena) arena = {0};
    struct diag diag = {0};
    struct json_node *root;
    char message[1024];
    CHECK_EQ_INT(json_parse(&arena, &source, text, bytes, &root, &diag), SIM_E_CONFIG);
    if (CHECK(diag.n_errors >= 1)) {
        diag_format(&diag.items[0], message, sizeof message);
        CHECK_EQ_STR(message, expected);
    }
}

TEST(what_breaks_the_grammar_is_placed)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "t.json:1:1: error: expected a value, got the end of the text; the document is empty"},
        {"  // nothing\n", "t.json:2:1: error: expected a value, got the end of the text; the document is empty"},
        {"{\"a\": 1,}", "t.json:1:9: error: expected a key, got '}'; remove the comma before it"},
        {"[1,\n 2, ]", "t.json:2:5: error: expected a value, got ']'; remove the comma before it"},
        {"[1 2]", "t.json:1:4: error: expected ',' or ']', got '2'"},
        {"{\"a\" 1}", "t.json:1:6: error: expected ':' after the key, got '1'"},
        {"{a: 1}", "t.json:1:2: error: expected a key in quotes or '}', got 'a'"},
        {"{\"a\": 1, b: 2}", "t.json:1:10: error: expected a key in quotes, got 'b'"},
        {"{\"a\": 1 \"b\": 2}", "t.json:1:9: error: expected ',' or '}', got '\"'"},
        {"{\"a\": [1, {\"b\": 2", "t.json:1:18: error: expected ',' or '}', got the end of the text"},
        {"{\"a\": \"b", "t.json:1:7: error: the string is not closed"},
        {"{\"a\": \"b\\", "t.json:1:7: error: the string is not closed"},
        {"[\"a\nb\"]", "t.json:1:2: error: the string is not closed"},
        {"{} {}", "t.json:1:4: error: expected the end of the document, got '{'"},
        {"{}\n\xc3\xa9", "t.json:2:1: error: expected the end of the document, got '\xc3\xa9'"},
        {"/* a */ {}", "t.json:1:1: error: expected a value, got '/'; comments start with //"},
        {"[01]", "t.json:1:2: error: malformed number '01'"},
        {"[1.]", "t.json:1:2: error: malformed number '1.'"},
        {"[-]", "t.json:1:2: error: malformed number '-'"},
        {"[1e+]", "t.json:1:2: error: malformed number '1e+'"},
        {"[+1]", "t.json:1:2: error: unknown word '+1'; text stands in quotes: \"+1\""},
        {"[80GiB]", "t.json:1:2: error: malformed number '80GiB'; text stands in quotes: \"80GiB\""},
        {"[True]", "t.json:1:2: error: unknown word 'True'; text stands in quotes: \"True\""},
        {"[1, 1e999]", "t.json:1:5: error: the number 1e999 is too large"},
        {"[1234567890123456789012345678901234567890123456789012345678901]",
         "t.json:1:2: error: the number has more than 60 characters"},
        {"[\"\\x\"]", "t.json:1:3: error: unknown escape '\\x'; a backslash is written \\\\"},
        {"[\"\\u12g4\"]", "t.json:1:3: error: '\\u' needs four hexadecimal digits"},
        {"[\"\\u0000\"]", "t.json:1:3: error: '\\u0000' cannot stand in a string"},
        {"[\"\\ud800\"]", "t.json:1:3: error: '\\ud800' is half of a surrogate pair"},
        {"[\"\\udc00\\ud800\"]", "t.json:1:3: error: '\\udc00' is half of a surrogate pair"},
        {"[\"a\tb\"]", "t.json:1:4: error: byte 0x09 cannot stand in a string; write it as \\t or \\u001f"},
        {"[\"\xc3(\"]", "t.json:1:3: error: invalid UTF-8"},
        {"[\xff]", "t.json:1:2: error: invalid UTF-8"},
        {"[\x01]", "t.json:1:2: error: expected a value, got byte 0x01"},
        {"['a']", "t.json:1:2: error: expected a value, got '''; use double quotes"},
        {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "t.json:3:2: error: duplicate key 'a'; the one before is at t.json:1:2"},
        {"{\"a\": {\"\\u0061b\": 1, \"ab\": 3}}",
         "t.json:1:22: error: duplicate key 'ab'; the one before is at t.json:1:8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_error(cases[i].text, strlen(cases[i].text), cases[i].expected);
    check_error("[1]\0", 4, "t.json:1:4: error: expected the end of the document, got byte 0x00");
    check_error("[\"\0\"]", 5, "t.json:1:3: error: byte 0x00 cannot stand in a string; write it as \\t or \\u001f");
}

/* Cut anywhere, the text is an error, whose place is not before the one that the cut text ends in. */
TEST(every_truncation_is_an_error)
{
    static const char text[] = "{\"a\": [1.5e3, \"x\\u00e9\\n\", true], \"b\": {\"c\": null, \"d\": -0.25}}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        SCOPED(arena) arena = {0};
        struct json_node *root;
        char *cut = malloc(n + 1); /* of the exact size, so that a read beyond it is seen */
        MUST(cut != NULL);
        memcpy(cut, text, n);
        CHECK_EQ_INT(json_parse(&arena, &source, cut, n, &root, NULL), SIM_E_CONFIG);
        free(cut);
    }
}

TEST(nesting_has_a_limit)
{
    char text[4 * JSON_MAX_DEPTH];
    SCOPED(arena) arena;
    memset(text, '[', JSON_MAX_DEPTH);
    memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
    text[2 * JSON_MAX_DEPTH] = 0;
    CHECK(parse(&arena, text) != NULL);
    arena_fini(&arena);
    for (size_t i = 1; i + 3 < sizeof text; i += 3) memcpy(text + i, "[],", 4);
    memcpy(text + strlen(text) - 1, "]", 2);
    struct json_node *siblings = parse(&arena, text);
    CHECK(siblings != NULL && siblings->n > JSON_MAX_DEPTH);
    memset(text, '[', sizeof text);
    check_error(text, sizeof text, "t.json:1:65: error: nested more than 64 levels deep");
}

TEST(all_duplicates_are_reported)
{
    SCOPED(arena) arena = {0};
    struct json_node *root;
    struct diag diag = {0};
    const char *text = "{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"a\":2,\"a\":3}";
    CHECK_EQ_INT(json_parse(&arena, &source, text, strlen(text), &root, &diag), SIM_E_CONFIG);
    CHECK_EQ_INT(diag.n_errors, 3);
    CHECK_EQ_STR(diag.items[0].where, "t.json:1:19");
    CHECK_EQ_STR(diag.items[2].where, "t.json:1:32");
    CHECK_EQ_STR(diag.items[2].hint, "the one before is at t.json:1:26");
}

TEST(files_are_read_whole)
{
    char path[256], *text = NULL;
    SCOPED(arena) arena = {0};
    struct json_node *root;
    struct diag diag = {0};
    snprintf(path, sizeof path, "%s/long.json", test_tmpdir());
    FILE *file = fopen(path, "w");
    MUST(file != NULL);
    fprintf(file, "[\n");
    for (int i = 0; i < 20000; i++) fprintf(file, "%d,\n", i);
    fprintf(file, "-1]\n");
    fclose(file);
    size_t bytes;
    MUST(json_read_file(path, &text, &bytes) == 0);
    CHECK_EQ_INT(bytes, strlen(text));
    mem_free(text);

    MUST(json_load(&arena, path, &root, &diag) == 0);
    CHECK_EQ_INT(root->n, 20001);
    CHECK_EQ_INT(root->last->place.line, 20002);
    CHECK_EQ_STR(root->source->name, path);
    CHECK_EQ_INT(json_load(&arena, "no/such.json", &root, &diag), SIM_E_IO);
    CHECK_EQ_STR(diag.items[0].where, "no/such.json");
    CHECK_EQ_STR(diag.items[0].text, "cannot read the file: No such file or directory");
    CHECK_EQ_INT(json_load(&arena, "tests", &root, &diag), SIM_E_IO);
    CHECK_EQ_STR(diag.items[1].text, "cannot read the file: Is a directory");
}

TEST(memory_may_run_out_anywhere)
{
    const char *text = "{\"a\": [1, 2, {\"b\": \"c\"}], \"d\": true}";
    int code = SIM_E_NOMEM;
    for (long n = 0; code != 0 && n < 100; n++) {
        SCOPED(arena) arena = {0};
        struct json_node *root;
        struct diag diag = {0};
        mem_fail_after(n);
        code = json_parse(&arena, &source, text, strlen(text), &root, &diag);
        mem_fail_never();
        if (code != 0) {
            CHECK_EQ_INT(code, SIM_E_NOMEM);
            CHECK_EQ_INT(diag.n_errors, 1);
            CHECK(n < 50);
        }
    }
    CHECK_EQ_INT(code, 0);
}
