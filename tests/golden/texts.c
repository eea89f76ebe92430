/* What readers and writers of texts make of many short ones, as hashes: numbers, calendar times, quantities, JSON, CSV,
 * texts for tables, suggestions. A hash that moves says that one of them is read or written in another way. */
#include "sim/core/csv.h"
#include "sim/core/hash.h"
#include "sim/core/json_doc.h"
#include "sim/core/mem.h"
#include "sim/core/number.h"
#include "sim/core/text.h"
#include "tests/support/harness.h"

#include <stdlib.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void check(struct hash *hash, const char *recorded)
{
    char hex[HASH_HEX_CHARS];
    hash_hex(hash, hex);
    CHECK_EQ_STR(hex, recorded);
    hash_destroy(hash);
}

static struct hash *begin(void)
{
    struct hash *hash = hash_create();
    if (hash == NULL) abort();
    return hash;
}

static void add(struct hash *hash, double value)
{
    char digits[40];
    snprintf(digits, sizeof digits, "%.17g", value);
    hash_text(hash, digits);
}

static void add_diag(struct hash *hash, const struct diag *diag)
{
    char line[DIAG_LINE_CHARS];
    for (int i = 0; i < diag->n_items; i++) {
        diag_format(&diag->items[i], line, sizeof line);
        hash_text(hash, line);
    }
}

/* --- Numbers --- */

static const char *const signs[] = {"", "-", "+"};
static const char *const wholes[] = {"",
                                     "0",
                                     "1",
                                     "007",
                                     "9007199254740993",
                                     "123456789012345678",
                                     "9223372036854775807",
                                     "9223372036854775808",
                                     "1234567890123456789012"};
static const char *const fractions[] = {"",    ".",          ".0",          ".5",
                                        ".25", ".000000001", ".4999999999", ".50000000000000000001"};
static const char *const exponents[] = {"",     "e",     "e0",  "e5",   "E-5",   "e22", "e23", "e308",
                                        "e309", "e-324", "e+3", "e400", "e-400", "e-9", "x",   " "};

static void add_number(struct hash *hash, const char *text)
{
    static const sim_ns units[] = {1, 1000, SIM_NS_PER_S, 3600 * SIM_NS_PER_S};
    const size_t n = strlen(text);
    int64_t whole = -7;
    double real = -7;
    sim_ns ns = -7;
    hash_i64(hash, number_i64(text, n, &whole));
    hash_i64(hash, whole);
    hash_i64(hash, number_f64(text, n, &real));
    add(hash, real);
    for (size_t i = 0; i < COUNT(units); i++) {
        hash_i64(hash, number_ns(text, n, units[i], &ns));
        hash_i64(hash, ns);
    }
}

TEST_OPTIMISED(numbers_are_read_as_recorded)
{
    char text[120];
    struct hash *hash = begin();
    for (size_t s = 0; s < COUNT(signs); s++)
        for (size_t w = 0; w < COUNT(wholes); w++)
            for (size_t f = 0; f < COUNT(fractions); f++)
                for (size_t e = 0; e < COUNT(exponents); e++) {
                    snprintf(text, sizeof text, "%s%s%s%s", signs[s], wholes[w], fractions[f], exponents[e]);
                    add_number(hash, text);
                }
    check(hash, "2d0fa52d5902f538be0eabda02b7b465");
}

TEST_OPTIMISED(calendar_times_are_read_as_recorded)
{
    static const char *const dates[] = {"1969-12-31", "1970-01-01", "2000-02-29", "1900-02-29", "2023-02-29",
                                        "2024-02-30", "2023-04-31", "2023-12-31", "2023-13-01", "2023-00-10",
                                        "2023-01-00", "9999-12-31", "2262-04-12", "1677-09-21", "23-01-01",
                                        "2023/01/02", "2023-1-2"};
    static const char *const times[] = {
        "",          " 00:00:00", "T23:59:59",   " 23:59:60",         " 24:00:00",  " 12:60:00",
        "T12:30",    " 1:2:3",    " 12:30:00.5", "T12:30:00.1234567", " 12:30:00.", " 12:30:00.0000000005",
        "  12:30:00"};
    static const char *const zones[] = {"", "Z", "+00:00", "-08:00", "+05:30", "+0530", "+5", "+25:00", " UTC", "z"};
    char text[120];
    struct hash *hash = begin();
    for (size_t d = 0; d < COUNT(dates); d++)
        for (size_t t = 0; t < COUNT(times); t++)
            for (size_t z = 0; z < COUNT(zones); z++) {
                sim_ns ns = -7;
                snprintf(text, sizeof text, "%s%s%s", dates[d], times[t], zones[z]);
                hash_i64(hash, number_timestamp(text, strlen(text), &ns));
                hash_i64(hash, ns);
            }
    check(hash, "fa1c11d06cf2e3e39fdb6ff1d7524700");
}

/* --- Quantities --- */

TEST_OPTIMISED(quantities_are_read_as_recorded)
{
    static const char *const units[] = {"",     "s",   "ms",  "us",   "ns",    "min",    "h",       "d",      "B",
                                        "kB",   "KB",  "MB",  "GB",   "TB",    "PB",     "KiB",     "MiB",    "GiB",
                                        "TiB",  "PiB", "EB",  "GB/s", "GiB/s", "FLOP/s", "TFLOP/s", "TFLOPS", "W",
                                        "kW",   "MW",  "mW",  "J",    "kJ",    "Wh",     "kWh",     "/h",     "/s",
                                        "/min", "Hz",  "kHz", "GHz",  "S",     "gb",     "s ",      "sec",    "%"};
    static const char *const numbers[] = {"1",   "-1",  "0", "0.5", "1.1", "2e9",   "$2",
                                          "-$2", "$ 2", "",  "x",   "1 ",  "1e400", "0x10"};
    char text[120];
    struct hash *hash = begin();
    for (size_t n = 0; n < COUNT(numbers); n++)
        for (size_t u = 0; u < COUNT(units); u++)
            for (int dim = 0; dim < UNIT_DIM_COUNT; dim++) {
                const char *why = "";
                double value = -7;
                snprintf(text, sizeof text, "%s%s", numbers[n], units[u]);
                hash_i64(hash, unit_parse(text, (enum unit_dim)dim, &value, &why));
                add(hash, value);
                hash_text(hash, why != NULL ? why : "");
            }
    check(hash, "5d3095fab409a434eb5e76d36da35f65");
}

TEST_OPTIMISED(quantities_are_written_as_recorded)
{
    static const double values[] = {
        0,          1,        -1,        0.5,       1e-9, 1e-3,  60,      90,     3600,
        86400,      5400,     1e3,       1e6,       1e9,  1e12,  1e15,    1024,   1048576,
        1536,       1e-12,    123456789, 0.1 + 0.2, 1e20, 1e-20, 2.04e12, 312e12, 80 * 1073741824.0,
        1000000001, 999.9999, (double)INFINITY};
    char buffer[80];
    struct hash *hash = begin();
    for (size_t i = 0; i < COUNT(values); i++)
        for (int dim = 0; dim < UNIT_DIM_COUNT; dim++)
            for (size_t size = 1; size <= sizeof buffer; size += size < 4 ? 1 : 38) {
                hash_i64(hash, unit_format(values[i], (enum unit_dim)dim, buffer, size));
                hash_text(hash, buffer);
                hash_text(hash, unit_list((enum unit_dim)dim, buffer, size));
            }
    for (size_t i = 0; i < COUNT(values); i++) {
        hash_text(hash, text_show_number(values[i], buffer, sizeof buffer));
        hash_i64(hash, sim_ns_from_s(values[i]));
    }
    check(hash, "f5d586f18af17a663bef73c85ed75cda");
}

/* --- JSON and CSV: each text with one byte lost, twice there, or another, and each beginning of it --- */

typedef void (*reader)(struct hash *hash, const char *text, size_t n);

static void each_variant(struct hash *hash, const char *text, const char *others, reader read)
{
    char variant[1000];
    const size_t n = strlen(text);
    MUST(n + 2 < sizeof variant);
    for (size_t at = 0; at <= n; at++) {
        read(hash, text, at);
        memcpy(variant, text, at);
        if (at < n) {
            memcpy(variant + at, text + at + 1, n - at);
            read(hash, variant, n - 1);
        }
        for (const char *other = others; *other != 0; other++) {
            variant[at] = *other;
            memcpy(variant + at + 1, text + at, n - at);
            read(hash, variant, n + 1);
        }
    }
}

static void add_node(struct hash *hash, const struct json_node *node)
{
    char shown[80], where[80];
    hash_i64(hash, node->kind);
    hash_text(hash, node->key != NULL ? node->key : "(none)");
    hash_text(hash, node->text != NULL ? node->text : "(none)");
    add(hash, node->number);
    hash_text(hash, json_show(node, shown, sizeof shown));
    hash_text(hash, json_where(node, where, sizeof where));
    if (node->key != NULL) hash_text(hash, json_key_where(node, where, sizeof where));
    for (const struct json_node *child = node->first; child != NULL; child = child->next) add_node(hash, child);
}

static void read_json(struct hash *hash, const char *text, size_t n)
{
    const struct json_source source = {.name = "x.json", .directory = ".", .has_lines = true};
    struct json_node *root = NULL;
    struct arena arena;
    struct diag diag;
    diag_init(&diag);
    arena_init(&arena);
    hash_i64(hash, json_parse(&arena, &source, text, n, &root, &diag));
    if (diag.n_errors == 0 && root != NULL) add_node(hash, root);
    add_diag(hash, &diag);
    arena_fini(&arena);
}

TEST_OPTIMISED(json_is_read_as_recorded)
{
    struct hash *hash = begin();
    each_variant(hash, "{\"a\": [1, -2.5e3, \"x\\u00e9\\n\\ud83d\\ude00\", true, null], // c\n \"b\": {\"c\": {}}}\n",
                 "{}[],:\"0-\\x./ \n\t\x01\xc3", read_json);
    each_variant(hash, "\xEF\xBB\xBF[[], 0, 0.0, 1e5, \"\\\"\\\\\\/\\b\\f\\r\\t\", /* d */ false]", "{]u9+eE*",
                 read_json);
    check(hash, "8d6ac9183318daa01bbc6943febd4f00");
}

static const struct csv_options *csv_form;

static void read_csv(struct hash *hash, const char *text, size_t n)
{
    static const struct csv_column columns[] = {{.name = "a"}, {.name = "b"}, {.name = "c", .optional = true}};
    char where[DIAG_WHERE_CHARS];
    int positions[COUNT(columns)] = {-7, -7, -7}, code = 0;
    struct input *input = NULL;
    struct csv *csv = NULL;
    struct diag diag;
    diag_init(&diag);
    MUST(input_open_memory("x.csv", text, n, &input, &diag) == 0);
    MUST(csv_create(input, csv_form, &csv, &diag) == 0);
    hash_i64(hash, csv_read_header(csv, columns, COUNT(columns), positions, &diag));
    for (size_t i = 0; i < COUNT(columns); i++) hash_i64(hash, positions[i]);
    for (int row = 0; row < 12 && (code = csv_next(csv, &diag)) != 0; row++) {
        hash_i64(hash, code);
        hash_i64(hash, csv_line(csv));
        hash_i64(hash, csv_n_lines(csv));
        for (size_t i = 0; code > 0 && i < csv_n_fields(csv); i++) {
            hash_i64(hash, (int64_t)csv_fields(csv)[i].n_chars);
            hash_bytes(hash, csv_fields(csv)[i].chars, csv_fields(csv)[i].n_chars);
            csv_where(csv, i, 1, where);
            hash_text(hash, where);
        }
    }
    add_diag(hash, &diag);
    csv_destroy(csv);
}

TEST_OPTIMISED(csv_is_read_as_recorded)
{
    static const struct csv_options forms[] = {{.dialect = CSV_DIALECT_DELIMITED},
                                               {.dialect = CSV_DIALECT_DELIMITED, .delimiter = ';', .comment = '#'},
                                               {.dialect = CSV_DIALECT_BLANKS, .comment = '#'},
                                               {.dialect = CSV_DIALECT_LINES},
                                               {.dialect = CSV_DIALECT_DELIMITED, .guess_delimiter = true}};
    static const char *const texts[] = {"a,b,c\n1, \"x,\"\"y\"\"\" ,3\r\n\n\"l1\nl2\",5,\n7,8,9",
                                        "a;b\n#n\n1;\"q\"\n 2 ; 3;4;5\n", "b a\n1 2\n# n\n 3\t4  \n\n5 6 7\n"};
    struct hash *hash = begin();
    for (size_t form = 0; form < COUNT(forms); form++)
        for (size_t i = 0; i < COUNT(texts); i++) {
            csv_form = &forms[form];
            each_variant(hash, texts[i], "\",;\n\r #\t|x", read_csv);
        }
    check(hash, "958d0de6d9e21cf36b54cb607cd39267");
}

/* --- Texts --- */

static const char *const words[] = {"",
                                    "a",
                                    "h100",
                                    "h100-sxm",
                                    "h100_pcie",
                                    "H100",
                                    "h10",
                                    "h1000",
                                    "sarathi",
                                    "sarathi-serve",
                                    "replicas",
                                    "replica",
                                    "relpicas",
                                    "jobs.scheduler",
                                    "scheduler",
                                    "shceduler",
                                    "fifo",
                                    "fiof",
                                    "easy",
                                    "a,b",
                                    "x\"y\"",
                                    "50 % & $_{}",
                                    "~^\\#",
                                    "\xc3\xa9t\xc3\xa9",
                                    "\xff\x01",
                                    "line\nbreak",
                                    "\xf0\x9f\x98\x80",
                                    "tab\there",
                                    "=1+1",
                                    "-x",
                                    " led",
                                    "led "};

TEST_OPTIMISED(words_are_compared_as_recorded)
{
    struct hash *hash = begin();
    for (size_t i = 0; i < COUNT(words); i++) {
        for (size_t j = 0; j < COUNT(words); j++) hash_i64(hash, (int64_t)text_distance(words[i], words[j]));
        for (size_t first = 0; first < COUNT(words); first += 5) {
            const char *whole = "", *near = text_nearest(words[i], words + first, COUNT(words) - first);
            hash_text(hash, near != NULL ? near : "(none)");
            near = text_nearest_end(words[i], words + first, COUNT(words) - first, &whole);
            hash_text(hash, near != NULL ? near : "(none)");
            hash_text(hash, whole != NULL ? whole : "(none)");
        }
    }
    check(hash, "eb5ae0aabe566784f13855cf61e4fe22");
}

TEST_OPTIMISED(texts_are_written_as_recorded)
{
    static void (*const writers[])(struct text * text, const char *chars) = {text_json_string, text_csv_field,
                                                                             text_latex};
    struct hash *hash = begin();
    struct text text;
    text_init(&text);
    for (size_t w = 0; w < COUNT(writers); w++)
        for (size_t i = 0; i < COUNT(words); i++) writers[w](&text, words[i]);
    for (size_t i = 0; i < COUNT(words); i++) {
        text_add_shown(&text, words[i], "");
        text_add_shown(&text, words[i], "\n");
        for (size_t at = 0; at < strlen(words[i]); at++)
            hash_i64(hash, (int64_t)text_utf8_length(words[i] + at, strlen(words[i]) - at));
    }
    for (int i = -30; i <= 30; i++) text_json_number(&text, (i % 2 == 0 ? 1 : -1.1) * pow(10, i));
    hash_bytes(hash, text.chars, text.length);
    text_fini(&text);
    check(hash, "bb89e7668b04bf5be22f17a8cef3610e");
}
