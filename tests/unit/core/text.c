#include "tests/support/harness.h"

#include <float.h>

TEST(text_grows_and_stays_terminated)
{
    SCOPED(text) text = {0};
    CHECK(text.chars == NULL);
    for (int i = 0; i < 1000; i++) text_printf(&text, "%d,", i % 10);
    text_add(&text, "end");
    text_add_bytes(&text, "!?", 1);
    CHECK_EQ_INT(text.length, 2004);
    CHECK_EQ_INT(strlen(text.chars), 2004);
    CHECK(strncmp(text.chars, "0,1,2,", 6) == 0);
    CHECK_EQ_STR(text.chars + 1998, "9,end!");
    text_fini(&text);
    CHECK(text.chars == NULL && text.length == 0);
}

TEST(text_fails_once_and_for_all)
{
    SCOPED(text) text = {0};
    text_add(&text, "kept");
    mem_fail_after(0);
    for (int i = 0; i < 100; i++) text_add(&text, "0123456789");
    mem_fail_never();
    size_t length = text.length;
    text_add(&text, "x");
    CHECK(text.failed);
    CHECK_EQ_INT(text.length, length);
    CHECK_EQ_INT(strlen(text.chars), length);
}

static void check_string(const char *chars, const char *expected)
{
    SCOPED(text) text = {0};
    text_json_string(&text, chars);
    CHECK_EQ_STR(text.chars, expected);
}

TEST(strings_are_escaped)
{
    check_string(NULL, "null");
    check_string("", "\"\"");
    check_string("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    check_string("\n\r\t\b\x1f\x7f", "\"\\n\\r\\t\\u0008\\u001f\\u007f\"");
    check_string("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
    check_string("\xff"
                 "a\xc3",
                 "\"\xef\xbf\xbd"
                 "a\xef\xbf\xbd\"");
    check_string("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(utf8_lengths_follow_the_standard)
{
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
        {"a", 1}, {"\xc2\x80", 2}, {"\xdf\xbf", 2}, {"\xe0\xa0\x80", 3}, {"\xef\xbf\xbf", 3}, {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4}, {"\x80", 0}, {"\xc0\x80", 0}, {"\xc1\xbf", 0}, {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0}, {"\xf0\x8f\xbf\xbf", 0}, {"\xf4\x90\x80\x80", 0}, {"\xf5\x80\x80\x80", 0}, {"\xe2\x82", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQ_INT(text_utf8_length(cases[i].bytes, strlen(cases[i].bytes)), cases[i].length);
    CHECK_EQ_INT(text_utf8_length("", 0), 0);
}

/* Every character has the length of its code; those of surrogates are none. */
TEST(every_character_has_its_length)
{
    int n_wrong = 0;
    for (unsigned code = 0x80; code <= 0x10ffff; code++) {
        const unsigned n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        const bool surrogate = code >= 0xd800 && code <= 0xdfff;
        char bytes[4];
        for (unsigned i = 1; i < n; i++) bytes[i] = (char)(0x80 | (code >> 6 * (n - 1 - i) & 0x3f));
        bytes[0] = (char)((0xf00 >> n & 0xff) | code >> 6 * (n - 1));
        n_wrong += text_utf8_length(bytes, n) != (surrogate ? 0 : n) || text_utf8_length(bytes, n - 1) != 0;
    }
    CHECK_EQ_INT(n_wrong, 0);
}

static void check_number(double value, const char *expected)
{
    SCOPED(text) text = {0};
    text_json_number(&text, value);
    CHECK_EQ_STR(text.chars, expected);
    if (isfinite(value)) CHECK(strtod(text.chars, NULL) == value);
}

TEST(numbers_are_shortest_and_read_back)
{
    check_number(0, "0");
    check_number(-0.0, "-0");
    check_number(80, "80");
    check_number(-1234567890123, "-1234567890123");
    check_number(0.1, "0.1");
    check_number(1.0 / 3, "0.3333333333333333");
    check_number(0.1 + 0.2, "0.30000000000000004");
    check_number(999999999999999, "999999999999999");
    check_number(1e15, "1e+15");
    check_number(-1e15, "-1e+15");
    check_number(1e22, "1e+22");
    check_number(5e-324, "5e-324");
    check_number(DBL_MAX, "1.7976931348623157e+308");
    check_number((double)NAN, "null");
    check_number(HUGE_VAL, "null");
}

TEST(distances_count_edits)
{
    CHECK_EQ_INT(text_distance("", ""), 0);
    CHECK_EQ_INT(text_distance("abc", ""), 3);
    CHECK_EQ_INT(text_distance("A_b c", "a-b-c"), 0);
    CHECK_EQ_INT(text_distance("scheduler", "scheduler"), 0);
    CHECK_EQ_INT(text_distance("shceduler", "scheduler"), 1);
    CHECK_EQ_INT(text_distance("kitten", "sitting"), 3);
    CHECK_EQ_INT(text_distance("ca", "abc"), 3);
    char word[101];
    memset(word, 'a', 100);
    word[100] = 0;
    CHECK_EQ_INT(text_distance(word, word), 0);
    CHECK_EQ_INT(text_distance(word, "a"), 100);
}

TEST(distances_are_symmetric_and_bounded)
{
    static const char *const words[] = {"", "a", "ab", "ba", "replicas", "replica", "erplicas", "nodes", "node_s"};
    size_t n = sizeof words / sizeof *words;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            size_t distance = text_distance(words[i], words[j]), a = strlen(words[i]), b = strlen(words[j]);
            CHECK_EQ_INT(distance, text_distance(words[j], words[i]));
            CHECK(distance <= (a > b ? a : b));
            CHECK(distance >= (a > b ? a - b : b - a));
            CHECK_EQ_INT(distance == 0, i == j);
        }
    }
}

TEST(nearest_needs_to_be_near)
{
    static const char *const names[] = {"scheduler", "nodes", "node", "power"};
    CHECK_EQ_STR(text_nearest("shceduler", names, 4), "scheduler");
    CHECK_EQ_STR(text_nearest("nods", names, 4), "nodes");
    CHECK_EQ_STR(text_nearest("npde", names, 4), "node");
    CHECK(text_nearest("routing", names, 4) == NULL);
    static const char *const spelled[] = {"a6000", "a100-80-sxm", "llama-3-8b", "llama-3.1-8b"};
    CHECK_EQ_STR(text_nearest_name("A10080", spelled, 4), "a100-80-sxm");
    CHECK_EQ_STR(text_nearest_name("llama3", spelled, 4), "llama-3-8b");
    CHECK_EQ_STR(text_nearest_name("Llama_3.1", spelled, 4), "llama-3.1-8b");
    CHECK_EQ_STR(text_nearest_name("a600", spelled, 4), "a6000");
    CHECK(text_nearest_name("a-1", spelled, 4) == NULL);
    CHECK(text_nearest("x", names, 0) == NULL);
    CHECK_EQ_STR(text_nearest("FIFO", (const char *[]){"fifo-skip", "fifo"}, 2), "fifo"); /* not one with more */
    const char *const gpus[] = {"p100", "h100-pcie", "h100-sxm", "sarathi", "h1000"};
    CHECK_EQ_STR(text_nearest("h100", gpus, 5), "h100-sxm");
    CHECK_EQ_STR(text_nearest("H100", gpus, 5), "h100-sxm");
    CHECK_EQ_STR(text_nearest("H100_SXM", gpus, 5), "h100-sxm");
    CHECK_EQ_STR(text_nearest("h100", gpus, 1), "p100");
    CHECK_EQ_STR(text_nearest("sarathi-serve", gpus, 5), "sarathi");
    CHECK_EQ_STR(text_nearest("100-sx", gpus, 5), "h100-sxm");
    CHECK(text_nearest("s", gpus, 5) == NULL);
    CHECK(text_nearest("h", gpus, 5) == NULL);
}

TEST(nearest_end_of_dotted_names)
{
    static const char *const names[] = {"job.jct_s.max",      "job.jct_s.mean",     "kv.used_frac",
                                        "request.ttft_s.max", "request.ttft_s.p50", "request.ttft_s.p99"};
    const char *whole;
    CHECK_EQ_STR(text_nearest_end("jct", names, 6, &whole), "jct_s.mean");
    CHECK_EQ_STR(whole, "job.jct_s.mean");
    CHECK_EQ_STR(text_nearest_end("request.ttft", names, 6, NULL), "request.ttft_s.p99"); /* there is no mean */
    CHECK_EQ_STR(text_nearest_end("jct_s.maxx", names, 6, NULL), "jct_s.max");            /* a slip in what it names */
    CHECK_EQ_STR(text_nearest_end("used_frac", names, 6, &whole), "used_frac");
    CHECK_EQ_STR(whole, "kv.used_frac");
    CHECK(text_nearest_end("nonsense", names, 6, &whole) == NULL && whole == NULL);
    CHECK(text_nearest_end("jct", names, 0, NULL) == NULL);
}

static const char *latex_of(const char *chars)
{
    static char buffer[256];
    struct text text;
    text_init(&text);
    text_latex(&text, chars);
    snprintf(buffer, sizeof buffer, "%s", text.length > 0 ? text.chars : "");
    text_fini(&text);
    return buffer;
}

TEST(latex_takes_no_character_of_a_text_for_a_command)
{
    CHECK_EQ_STR(latex_of(""), "");
    CHECK_EQ_STR(latex_of("request.ttft_s.p99[chat]"), "request.ttft\\_s.p99{[}chat]");
    CHECK_EQ_STR(latex_of("5 % & $3 #1 {x}"), "5 \\% \\& \\$3 \\#1 \\{x\\}");
    CHECK_EQ_STR(latex_of("a\\b~c^d<e>f|g*"),
                 "a\\textbackslash{}b\\textasciitilde{}c\\textasciicircum{}d\\textless{}e\\textgreater{}f\\textbar{}g{*}");
    CHECK_EQ_STR(latex_of("two\nlines µ"), "two lines µ");
    CHECK_EQ_STR(latex_of("a\x1b[m\x01\xff"), "a\\textbackslash{}x1b{[}m\\textbackslash{}x01\\textbackslash{}xff");
    CHECK_EQ_STR(latex_of("-0.5"), "$-$0.5");
    CHECK_EQ_STR(latex_of("-"), "-");
    CHECK_EQ_STR(latex_of("a-1"), "a-1");
}

static void check_field(const char *chars, const char *expected)
{
    SCOPED(text) text = {0};
    text_csv_field(&text, chars);
    CHECK_EQ_STR(text.chars, expected);
}

/* RFC 4180, section 2; an empty text is told from an absent value. */
TEST(fields_are_quoted_where_a_reader_needs_it)
{
    check_field("", "\"\"");
    check_field("a", "a");
    check_field("a b", "a b");
    check_field(" a", "\" a\"");
    check_field("a ", "\"a \"");
    check_field(" ", "\" \"");
    check_field("a,b", "\"a,b\"");
    check_field(",", "\",\"");
    check_field("a\rb", "\"a\rb\"");
    check_field("a\nb", "\"a\nb\"");
    check_field("\"", "\"\"\"\"");
    check_field("a\"b\"\"c", "\"a\"\"b\"\"\"\"c\"");
    check_field("\"a", "\"\"\"a\"");
}

TEST(the_latest_version_and_else_the_shortest)
{
    static const char *const engines[] = {"sglang-0.5", "vllm-0.12", "vllm-0.19", "vllm-0.2", "vllm-2024"};
    static const char *const turned[] = {"vllm-2024", "vllm-0.2", "vllm-0.19", "vllm-0.12", "sglang-0.5"};
    static const char *const llms[] = {"llama-2-13b", "llama-2-70b", "llama-2-7b", "opt-13b", "opt-175b"};
    CHECK_EQ_STR(text_nearest("vllm", engines, 5), "vllm-0.19");
    CHECK_EQ_STR(text_nearest("vllm", turned, 5), "vllm-0.19");
    CHECK_EQ_STR(text_nearest("vLLM-0", engines, 5), "vllm-0.2");
    CHECK_EQ_STR(text_nearest("llama-2", llms, 5), "llama-2-7b");
    CHECK_EQ_STR(text_nearest("opt", llms, 5), "opt-13b");
}
