#include "tests/support/harness.h"

TEST(errors_are_kept_in_order_and_counted)
{
    struct diag diag = {0};
    diag_warning(&diag, "a.json:1:1", NULL, "odd");
    CHECK_EQ_INT(diag_error(&diag, SIM_E_DATA, "t.csv:3:1", "fix it", "row %d is bad", 3), SIM_E_DATA);
    for (int i = 0; i < 50; i++) diag_error(&diag, SIM_E_CONFIG, NULL, NULL, "more");
    CHECK_EQ_INT(diag.n_items, DIAG_MAX_ITEMS);
    CHECK_EQ_INT(diag.n_errors, 51);
    CHECK_EQ_INT(diag.code, SIM_E_DATA);
    char text[200];
    diag_format(&diag.items[1], text, sizeof text);
    CHECK_EQ_STR(text, "t.csv:3:1: error: row 3 is bad; fix it");
    diag_format(&diag.items[2], text, sizeof text);
    CHECK_EQ_STR(text, "error: more");
}

TEST(a_warning_is_given_once)
{
    struct diag diag = {0};
    for (int i = 0; i < 2; i++) {
        diag_warning(&diag, "a.json:1:1", NULL, "odd");
        diag_warning(&diag, "a.json:1:2", NULL, "odd");
        diag_warning(&diag, NULL, NULL, "even");
    }
    CHECK_EQ_INT(diag.n_items, 3);
    CHECK_EQ_INT(diag.n_warnings, 3);
}

TEST(control_characters_are_shown_as_codes)
{
    struct diag diag = {0};
    char text[DIAG_LINE_CHARS];
    diag_error(&diag, SIM_E_CONFIG, "a\nb",
               "\xc2\x9b"
               "2J",
               "key '%s'",
               "\033[1m\x7f\xff gr\xc3\xbc"
               "n");
    int n = diag_format(&diag.items[0], text, sizeof text);
    CHECK_EQ_STR(text, "a\\x0ab: error: key '\\x1b[1m\\x7f\\xff gr\xc3\xbc"
                       "n'; \\xc2\\x9b2J");
    CHECK_EQ_INT(n, strlen(text));
    CHECK_EQ_INT(diag_format(&diag.items[0], text, 5), n);
    CHECK_EQ_STR(text, "a\\x0");
}

/* Whatever its length, a text ends whole or in "...", behind a whole character. */
TEST(texts_that_are_cut_say_so)
{
    char word[2 * DIAG_TEXT_CHARS] = "";
    for (size_t n = 0; n + 3 < sizeof word; n = strlen(word)) {
        struct diag diag = {0};
        diag_error(&diag, SIM_E_DATA, NULL, word, "%s", word);
        const char *text = diag.items[0].text;
        if (n < DIAG_TEXT_CHARS) {
            CHECK_EQ_STR(text, word);
        } else {
            size_t kept = strlen(text) - 3;
            CHECK(strncmp(text, word, kept) == 0 && strcmp(text + kept, "...") == 0);
            CHECK(((unsigned char)word[kept] & 0xc0) != 0x80 && kept + 6 > DIAG_TEXT_CHARS);
        }
        CHECK_EQ_STR(diag.items[0].hint, text);
        strcat(word, n % 2 == 0 ? "a" : "\xc3\xa4");
    }
}

TEST(hints_are_added_where_there_are_none)
{
    struct diag diag = {0};
    diag_error(&diag, SIM_E_IO, NULL, NULL, "before");
    diag_error(&diag, SIM_E_IO, NULL, "its own", "first");
    diag_error(&diag, SIM_E_IO, NULL, NULL, "second");
    diag_add_hint(&diag, 1, "named at %s", "a.json:1:1");
    diag_add_hint(NULL, 0, "nothing");
    CHECK_EQ_STR(diag.items[0].hint, "");
    CHECK_EQ_STR(diag.items[1].hint, "its own");
    CHECK_EQ_STR(diag.items[2].hint, "named at a.json:1:1");
}

/* Every length of name: the line and the column are always whole, and the buffer is as full as can be. */
TEST(long_names_lose_their_front_not_their_place)
{
    char name[100], where[32];
    for (size_t n = 0; n < sizeof name; n++) {
        memset(name, 'a', n);
        name[n] = 0;
        const char *expected_place = ":12345:67";
        size_t whole = n + strlen(expected_place);
        CHECK(diag_place(where, sizeof where, name, 12345, 67) == where);
        CHECK_EQ_INT(strlen(where), whole < sizeof where ? whole : sizeof where - 1);
        CHECK_EQ_STR(where + strlen(where) - strlen(expected_place), expected_place);
        CHECK((strncmp(where, "...", 3) == 0) == (whole >= sizeof where));
    }
    CHECK_EQ_STR(diag_place(where, 16, "/data/\xC3\xA4\xC3\xB6\xC3\xBC.csv", 1, 2), "...\xC3\xB6\xC3\xBC.csv:1:2");
    CHECK_EQ_STR(diag_place(where, 15, "/data/\xC3\xA4\xC3\xB6\xC3\xBC.csv", 1, 2), "...\xC3\xBC.csv:1:2");
}

TEST(codes_have_names_and_exit_statuses)
{
    CHECK_EQ_INT(sim_err_exit_status(SIM_OK), 0);
    CHECK_EQ_INT(sim_err_exit_status(SIM_E_CONFIG), 2);
    CHECK_EQ_INT(sim_err_exit_status(SIM_E_DATA), 3);
    CHECK_EQ_INT(sim_err_exit_status(SIM_E_POLICY), 4);
    CHECK_EQ_INT(sim_err_exit_status(SIM_E_STALLED), 5);
    CHECK_EQ_INT(sim_err_exit_status(-999), 70);
    CHECK_EQ_STR(sim_err_name(SIM_E_STALLED), "SIM_E_STALLED");
    CHECK_EQ_STR(sim_err_text(SIM_E_STALLED), "no progress");
}

TEST(out_of_memory_is_reported_in_one_way)
{
    struct diag diag = {0};
    CHECK_EQ_INT(diag_nomem(&diag), SIM_E_NOMEM);
    CHECK_EQ_INT(diag_nomem_at(&diag, "a.json"), SIM_E_NOMEM);
    CHECK_EQ_INT(diag_nomem(NULL), SIM_E_NOMEM);
    CHECK_EQ_INT(diag.code, SIM_E_NOMEM);
    char text[200];
    diag_format(&diag.items[0], text, sizeof text);
    CHECK_EQ_STR(text, "error: out of memory");
    diag_format(&diag.items[1], text, sizeof text);
    CHECK_EQ_STR(text, "a.json: error: out of memory");
}
