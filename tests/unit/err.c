#include "tests/harness.h"

#include "sim/core/err.h"

static void errors_are_kept_in_order_and_counted(void)
{
    struct diag diag;
    diag_init(&diag);
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

static void codes_have_names_and_exit_statuses(void)
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

TEST_SUITE(err)
{
    TEST(errors_are_kept_in_order_and_counted);
    TEST(codes_have_names_and_exit_statuses);
}
