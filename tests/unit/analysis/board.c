/* The board: reading rows, what a row asks of the predictor, which rows are judged, and predictions without a group.
 * Its tables are written here; the presets are the shipped ones, and the rows that they were "fitted to" stand in a
 * file of that name beside the tables. */
#include "analysis/calibrate/board/board.h"
#include "sim/core/path.h"
#include "tests/support/harness.h"

#define HEAD                                                                                                           \
    "model_path,backend,backend_version,gemm_quant_mode,moe_quant_mode,mode,isl,osl,concurrency,batch_size,pp_size,"   \
    "silicon_ttft_ms,silicon_tpot_ms,origin,wip,first_copy,gpus_read,tp_read,dp_read,ep_read,sizes_note\n"
#define SERVING                                                                                                        \
    "backend,backend_version,model_path,system,mode,isl,osl,gemm_quant_mode,batch_size,tp_size,pp_size,silicon_tpot_ms\n"

struct session {
    struct arena arena;
    struct diag diag;
    struct catalog catalog;
    struct board_file file;
    struct board board;
    char message[DIAG_LINE_CHARS];
    const char *gpu; /* of the rows */
};

/* Predicts a board of these rows on the GPU of the session, with further keys. Beside it lie two rows that the preset
 * vllm-0.12 "was fitted to", the second of which it was tested on. */
static int predict_with(struct session *session, const char *head, const char *rows, const char *more)
{
    const char *table = test_file("board.csv", "%s%s", head, rows);
    const char *directory = path_directory(&session->arena, table);
    test_write(path_join(&session->arena, directory, "h100_sxm__measured_ttft_tpot.csv"),
               SERVING "vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,agg,1024,128,,8.0,2.0,1.0,12.5\n"
                       "vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,agg,2048,128,,8.0,2.0,1.0,14.5\n");
    const char *path = path_join(&session->arena, directory, "b.board.json");
    test_write(path, "{'source': 's', 'obtain': 'ask', 'tables': {'%s': 'board.csv'}%s}", session->gpu, more);
    int code = board_load(path, NULL, &session->arena, &session->file, &session->diag);
    if (code == 0)
        code = board_read(&session->board, &session->file, &session->catalog, &session->arena, &session->diag);
    if (code == 0) code = board_predict(&session->board, &session->diag);
    session->message[0] = 0;
    if (session->diag.n_items > 0) diag_format(&session->diag.items[0], session->message, sizeof session->message);
    return code;
}

/* With entries that most rows do not meet. */
static int predict_as(struct session *session, const char *head, const char *rows, const char *more)
{
    return predict_with(
        session, head, rows,
        arena_printf(&session->arena,
                     ", 'drawn_lengths': [{'origin': 'db-dump', 'mean': 0.5}],"
                     " 'suspects': [{'llm': 'qwen3-32b', 'version': '0.13.0', 'because': 'odd'},"
                     "              {'measured': '2026-01', 'tensor': 2, 'format': 'fp8', 'because': 'january'}],"
                     " 'lacks': [{'llm': 'Who/Knows', 'because': 'an operator'}]%s",
                     more));
}

static int predict(struct session *session, const char *rows)
{
    return predict_as(session, HEAD, rows, "");
}

static void begin(struct session *session)
{
    *session = (struct session){.catalog = {.root = "configs"}, .gpu = "h100-sxm"};
    arena_init(&session->arena);
    diag_init(&session->diag);
}

#define VLLM "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,"
#define END "gap-analysis,,1,2,2,1,1,\n"

/* The shipped preset on a row of calibrate --engine gives the very number. */
TEST(a_row_is_predicted_as_calibrate_predicts_it)
{
    struct session session;
    struct measured measured;
    struct engine_preset preset;
    struct engine_replicas replicas;
    struct engine_point point;
    begin(&session);
    CHECK_EQ_INT(predict(&session, VLLM "1024,128,8,8,1,100,12.5," END), 0);
    MUST(session.board.n == 1);
    const char *path = test_file("c.csv", SERVING "vllm,0.12.0,Qwen/Qwen3-32B,h100_sxm,agg,1024,128,,8,2,1.0,12.5\n");
    engine_replicas_init(&replicas, &session.catalog, &session.arena);
    CHECK_EQ_INT(catalog_engine(&session.catalog, "vllm-0.12", "t", &session.arena, &preset, &session.diag), 0);
    CHECK_EQ_INT(measured_read(path, &session.catalog, &session.arena, &measured, &session.diag), 0);
    MUST(measured.n == 1);
    CHECK_EQ_INT(engine_point_init(&replicas, &preset, &measured.rows[0], &point, &session.diag), 0);
    const struct board_row *row = &session.board.rows[0];
    CHECK(row->reason == NULL && board_row_is_judged(row));
    CHECK_NEAR(row->predicted_tpot_s, engine_point_s(&preset, &point), 0.0);
    CHECK_NEAR(row->predicted_ttft_s, engine_point_ttft_s(&preset, &point), 0.0);
    CHECK(row->predicted_ttft_s > row->predicted_tpot_s);
    CHECK(row->bound_tpot_s > 0.0 && row->bound_tpot_s < row->roofline_tpot_s);
    arena_fini(&session.arena);
}

/* A fit has used the first row, others of its group the second and third, and none of its group the last. */
TEST(rows_groups_and_none_are_in_a_fit)
{
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict(&session, VLLM "1024,128,8,8,1,100,12.5," END VLLM "2048,128,8,8,1,100,14.5," END VLLM
                                        "1024,128,8,8,1,100,12.6," END
                                        "Qwen/Qwen3-14B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,9.5," END),
                 0);
    const struct board_row *rows = session.board.rows;
    MUST(session.board.n == 4);
    CHECK_EQ_INT(rows[0].in_fit, BOARD_ROW_IN_FIT);
    CHECK_EQ_INT(rows[1].in_fit, BOARD_GROUP_IN_FIT);
    CHECK_EQ_INT(rows[2].in_fit, BOARD_GROUP_IN_FIT);
    CHECK_EQ_INT(rows[3].in_fit, BOARD_IN_NO_FIT);
    CHECK_EQ_STR(rows[0].group, "h100-sxm, qwen3-32b, vllm");
    arena_fini(&session.arena);
}

/* Without a group, its kernels and the overhead of the other groups: with one other row, what that row has beyond its
 * kernels. Where there is no other group, nothing is known. Rows of another engine count only where there is none of
 * the own. */
TEST(without_the_group)
{
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict(&session, VLLM "1024,128,8,8,1,100,14," END VLLM "1024,128,16,16,1,100,16," END
                                        "Qwen/Qwen3-14B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,9.5," END
                                        "Qwen/Qwen3-14B,sglang,0.5.1,,,agg,1024,128,8,8,1,100,19.5," END),
                 0);
    const struct board_row *rows = session.board.rows, *other = &rows[2];
    MUST(session.board.n == 4);
    const double overhead_s = other->tpot_s - other->point.gpu_s;
    MUST(overhead_s > 0.0 && other->point.iterations == 1.0);
    for (size_t i = 0; i < 2; i++) CHECK_NEAR(rows[i].left_out_tpot_s, rows[i].point.gpu_s + overhead_s, 1e-6);
    CHECK(other->left_out_tpot_s > other->point.gpu_s);
    CHECK(rows[3].left_out_tpot_s > rows[3].point.gpu_s && rows[3].left_out_tpot_s < rows[3].tpot_s);
    arena_fini(&session.arena);
    begin(&session);
    CHECK_EQ_INT(predict(&session, VLLM "1024,128,8,8,1,100,14," END VLLM "1024,128,16,16,1,100,16," END), 0);
    CHECK_NEAR(session.board.rows[0].left_out_tpot_s, session.board.rows[0].point.gpu_s, 0.0);
    arena_fini(&session.arena);
}

/* Since version 0.14 vLLM's host works beside the GPU: such rows take the GPU's time, and tell no other group of the
 * host. */
TEST(hosts_beside_the_gpu)
{
    static const char later[] = "Qwen/Qwen3-32B,vllm,0.14.0,,,agg,1024,128,8,8,1,100,12.5," END,
                      before[] = "Qwen/Qwen3-14B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12.5," END;
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict(&session, arena_printf(&session.arena, "%s%s", later, before)), 0);
    const struct board_row *rows = session.board.rows;
    MUST(session.board.n == 2);
    CHECK(rows[0].overlapped && !rows[1].overlapped);
    CHECK_NEAR(rows[0].predicted_tpot_s, rows[0].point.gpu_s, 0.0);
    CHECK(rows[1].predicted_tpot_s > rows[1].point.gpu_s);
    CHECK_NEAR(rows[0].predicted_ttft_s, rows[0].point.times.ttft_s, 0.0);
    CHECK(rows[1].predicted_ttft_s > rows[1].point.times.ttft_s);
    CHECK_NEAR(rows[1].left_out_tpot_s, rows[1].point.gpu_s, 0.0); /* nothing is known of the host */
    const double host_s = rows[1].tpot_s - rows[1].point.gpu_s;
    CHECK_NEAR(rows[0].left_out_tpot_s, fmax(rows[0].point.gpu_s, host_s), 1e-6);
    arena_fini(&session.arena);
}

/* More users never make a token faster: if one row takes over 1.3 times as long as another with as many users or more,
 * all of the configuration are suspect; not those of another version, nor where no version is stated. */
TEST(contradictions)
{
    static const struct {
        const char *version;
        int users[3];
        double tpot_ms[3];
        bool suspect;
    } cases[] = {{"0.12.0", {8, 8, 32}, {39.1, 30.0, 60.0}, true},  {"0.12.0", {8, 8, 32}, {39.0, 30.0, 60.0}, false},
                 {"0.12.0", {8, 16, 32}, {39.1, 35.0, 30.0}, true}, {"0.12.0", {32, 16, 8}, {90.0, 40.0, 30.0}, false},
                 {"", {8, 8, 32}, {39.1, 30.0, 60.0}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        const char *rows = "Qwen/Qwen3-32B,vllm,0.12.1,,,agg,1024,128,8,8,1,100,99," END;
        begin(&session);
        for (size_t j = 0; j < 3; j++)
            rows = arena_printf(&session.arena, "%sQwen/Qwen3-32B,vllm,%s,,,agg,1024,128,%d,8,1,100,%g," END, rows,
                                cases[i].version, cases[i].users[j], cases[i].tpot_ms[j]);
        CHECK_EQ_INT(predict(&session, rows), 0);
        MUST(session.board.n == 4);
        CHECK(session.board.rows[0].suspect == NULL);
        for (size_t j = 1; j < 4; j++) CHECK_EQ_INT(session.board.rows[j].suspect != NULL, cases[i].suspect);
        arena_fini(&session.arena);
    }
}

/* Replicas that share the users take their part each; drawn lengths count by their mean; the batch size stands in for
 * an unknown number of users, and such a row is not judged. */
TEST(what_a_row_asks)
{
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict(&session,
                         VLLM "1024,128,16,8,1,100,12," END
                              "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,32,16,1,100,12,gap,,1,4,2,2,1,\n"
                              "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,2048,256,16,16,1,100,12,db-dump-1,,1,2,2,1,1,\n" VLLM
                              "1024,128,,16,1,100,12," END),
                 0);
    const struct board_row *rows = session.board.rows;
    MUST(session.board.n == 4);
    for (size_t i = 1; i < 4; i++) CHECK_NEAR(rows[i].predicted_tpot_s, rows[0].predicted_tpot_s, 0.0);
    CHECK_EQ_STR(rows[2].note, "lengths 0.5 of the nominal ones");
    CHECK(board_row_is_judged(&rows[2]) && !board_row_is_judged(&rows[3]));
    arena_fini(&session.arena);
}

/* The nearest version stands in, of two the newer one; for a version that is not stated the newest. */
TEST(versions)
{
    static const struct {
        const char *row, *note;
    } cases[] = {{"0.12.1", NULL},
                 {"0.9.1", "version 0.9.1 by preset vllm-0.12"},
                 {"0.7.0", "version 0.7.0 by preset vllm-0.12"},
                 {"0.120", "version 0.120 by preset vllm-0.14"},
                 {"", "version not stated by preset vllm-0.14"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        begin(&session);
        CHECK_EQ_INT(
            predict(&session, arena_printf(&session.arena, "Qwen/Qwen3-32B,vllm,%s,,,agg,1024,128,8,8,1,100,12.5," END,
                                           cases[i].row)),
            0);
        MUST(session.board.n == 1);
        const char *note = session.board.rows[0].note;
        CHECK(note == NULL ? cases[i].note == NULL : cases[i].note != NULL && strcmp(note, cases[i].note) == 0);
        arena_fini(&session.arena);
    }
}

/* Rows without a prediction stay, with the reason. */
TEST(reasons_and_suspects)
{
    static const char *const reasons[] = {"an operator",
                                          "the catalog has no LLM 'No/One'",
                                          "the catalog has no engine 'tgi'",
                                          "disaggregated: number of replicas not stated",
                                          "the catalog has no number format 'fp3'",
                                          NULL, /* attention data-parallel over common experts: not judged */
                                          "sizes not stated",
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL};
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict(&session,
                         "Who/Knows,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12," END
                         "No/One,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12," END
                         "Qwen/Qwen3-32B,tgi,0.12.0,,,agg,1024,128,8,8,1,100,12," END
                         "Qwen/Qwen3-32B,vllm,0.12.0,,,disagg,1024,128,8,,,100,12," END
                         "Qwen/Qwen3-32B,vllm,0.12.0,fp3,fp3,agg,1024,128,8,8,1,100,12," END
                         "MiniMaxAI/MiniMax-M2.5,vllm,0.12.0,fp8,fp8,agg,1024,128,8,8,1,100,12,x,,1,2,1,2,2,\n"
                         "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12,x,,1,,,,,\n"
                         "Qwen/Qwen3-32B,vllm,0.13.0,,,agg,1024,128,8,8,1,100,12," END     /* odd */
                         "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12,x,,0,2,2,1,1,\n"      /* a copy */
                         "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12,x,,1,2,2,1,1,ep unsure\n"
                         "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12,x,,1,2,2,1,1,multiplied\n"
                         "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,1,x,,1,2,2,1,1,\n"), 0); /* too fast */
    const struct board_row *rows = session.board.rows;
    MUST(session.board.n == sizeof reasons / sizeof *reasons);
    for (size_t i = 0; i < session.board.n; i++) {
        CHECK_EQ_STR(rows[i].reason != NULL ? rows[i].reason : "none", reasons[i] != NULL ? reasons[i] : "none");
        CHECK_EQ_INT(board_row_is_judged(&rows[i]), i == 10);
        CHECK_EQ_INT(rows[i].suspect != NULL, i == 7 || i == 9 || i == 11);
    }
    CHECK_EQ_STR(rows[7].suspect, "odd");
    CHECK_EQ_INT(rows[5].asked.tensor_parallel, 2); /* 1 GPU for each of 2 groups */
    CHECK_EQ_INT(rows[5].asked.data_parallel, 2);
    CHECK(rows[5].predicted_tpot_s > 0.0);
    arena_fini(&session.arena);
}

#define DATED_HEAD                                                                                                     \
    "model_path,backend,backend_version,gemm_quant_mode,moe_quant_mode,mode,isl,osl,concurrency,batch_size,pp_size,"   \
    "silicon_ttft_ms,silicon_tpot_ms,origin,wip,first_copy,gpus_read,tp_read,dp_read,ep_read,sizes_note,measured\n"

/* Entries are about rows by date, format and degree of tensor parallelism. A table without dates has none. */
TEST(suspects_by_date)
{
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict_as(&session, DATED_HEAD,
                            "Qwen/Qwen3-32B,vllm,0.12.0,fp8,,agg,1024,128,8,8,1,100,12,x,,1,2,2,1,1,,2026-01-14\n"
                            "Qwen/Qwen3-32B,vllm,0.12.0,fp8,,agg,1024,128,8,8,1,100,12,x,,1,2,2,1,1,,2026-02-14\n"
                            "Qwen/Qwen3-32B,vllm,0.12.0,fp8,,agg,1024,128,8,8,1,100,12,x,,1,2,2,1,1,,\n"
                            "Qwen/Qwen3-32B,vllm,0.12.0,fp8,,agg,1024,128,8,8,1,100,12,x,,1,4,4,1,1,,2026-01-14\n"
                            "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12,x,,1,2,2,1,1,,2026-01-14\n",
                            ""),
                 0);
    MUST(session.board.n == 5);
    for (size_t i = 0; i < session.board.n; i++) CHECK_EQ_INT(session.board.rows[i].suspect != NULL, i == 0);
    CHECK_EQ_STR(session.board.rows[0].suspect, "january");
    arena_fini(&session.arena);
}

/* How a row ran: keys and values in fp8 are read faster, and less memory holds fewer users. The last entry that fits a
 * row counts. */
TEST(rows_predicted_as_they_ran)
{
    static const char row[] = "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,16384,128,8,8,1,100,12,x,,1,2,2,1,1,,\n";
    static const char *const runs[] = {"", "{'kv': 'fp8', 'source': 's'}", "{'memory': 0.5, 'source': 's'}",
                                       "{'kv': 'fp8', 'source': 's'}, {'engine': 'vllm', 'source': 's'}",
                                       "{'gpu': 'a40', 'kv': 'fp8', 'source': 's'}"};
    double predicted_s[sizeof runs / sizeof *runs];
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct session session;
        begin(&session);
        const char *more = arena_printf(&session.arena, ", 'runs': [%s]", runs[i]);
        MUST(predict_as(&session, DATED_HEAD, row, more) == 0 && session.board.n == 1);
        predicted_s[i] = session.board.rows[0].predicted_tpot_s;
        CHECK_EQ_INT(session.board.rows[0].asked.kv, i == 1 ? FORMAT_FP8 : FORMAT_BF16);
        arena_fini(&session.arena);
    }
    CHECK(predicted_s[1] < 0.99 * predicted_s[0]);
    CHECK(predicted_s[2] < predicted_s[0]); /* the others wait, which is no TPOT */
    CHECK_NEAR(predicted_s[3], predicted_s[0], 0.0);
    CHECK_NEAR(predicted_s[4], predicted_s[0], 0.0);
}

/* The set of experts that a row names, on a GPU that has it. */
TEST(rows_with_other_experts)
{
    static const char row[] = "deepseek-ai/DeepSeek-R1,trtllm,1.1.0,fp8,fp8,agg,1024,128,8,8,1,100,12,x,,1,8,8,1,1,,\n";
    double predicted_s[2];
    for (size_t i = 0; i < 2; i++) {
        struct session session;
        begin(&session);
        session.gpu = "b200-sxm";
        const char *more = i == 0 ? "" : ", 'runs': [{'experts': 'trtllm-1.3-deepgemm', 'source': 's'}]";
        MUST(predict_as(&session, DATED_HEAD, row, more) == 0 && session.board.n == 1);
        predicted_s[i] = session.board.rows[0].predicted_tpot_s;
        arena_fini(&session.arena);
    }
    CHECK(predicted_s[1] > 1.1 * predicted_s[0]);
}

/* An entry that counts for no row is said, with its place: it names what no row has, or a later one fits its rows. */
TEST(entries_without_a_row_are_said)
{
    static const struct {
        const char *runs;
        int first, second; /* whether these entries count for no row */
    } cases[] = {{"{'kv': 'fp8', 'source': 's'},\n{'engine': 'vllm', 'tensor': 4, 'source': 's'}", 0, 1},
                 {"{'kv': 'fp8', 'source': 's'},\n{'engine': 'vllm', 'source': 's'}", 1, 0},
                 {"{'engine': 'vllm', 'kv': 'fp8', 'source': 's'},\n{'gpu': 'a40', 'source': 's'}", 0, 1},
                 {"{'llm': 'Qwen/Qwen3-32B', 'source': 's'},\n{'llm': 'qwen3-32b', 'source': 's'}", 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        int said[2] = {0, 0};
        begin(&session);
        const char *more = arena_printf(&session.arena, ", 'runs': [\n%s]", cases[i].runs);
        CHECK_EQ_INT(predict_as(&session, HEAD, VLLM "1024,128,8,8,1,100,12.5," END, more), 0);
        for (int k = 0; k < session.diag.n_items; k++) {
            CHECK_EQ_STR(session.diag.items[k].text, "this entry counts for no row");
            said[0] += strstr(session.diag.items[k].where, "b.board.json:2:") != NULL;
            said[1] += strstr(session.diag.items[k].where, "b.board.json:3:") != NULL;
        }
        CHECK(said[0] == cases[i].first && said[1] == cases[i].second);
        CHECK_EQ_INT(session.diag.n_items, 4 + cases[i].first + cases[i].second); /* suspects, lengths, the lack */
        arena_fini(&session.arena);
    }
}

/* Of entries that fit the same rows one counts: the first suspicion, lack of an LLM, the last run, mean of lengths.
 * The other is said, with the reason; so is what an LLM of the catalog would lack. */
TEST(one_of_the_entries_that_fit_a_row_counts)
{
    static const char none[] = "names of GPUs and LLMs are those of the catalog, all others as in the tables",
                      later[] = "a later entry fits all its rows", earlier[] = "an earlier entry fits all its rows";
    static const struct {
        const char *lists, *hints[2]; /* NULL: the entry counts */
    } cases[] = {
        {"'suspects': [\n{'llm': 'qwen3-32b', 'because': 'a'},\n{'tensor': 2, 'because': 'b'}]", {NULL, NULL}},
        {"'suspects': [\n{'tensor': 2, 'because': 'a'},\n{'llm': 'qwen3-32b', 'because': 'b'}]", {NULL, earlier}},
        {"'suspects': [\n{'tensor': 4, 'because': 'a'},\n{'llm': 'qwen3-32b', 'because': 'b'}]", {none, NULL}},
        {"'runs': [\n{'tensor': 2, 'source': 's'},\n{'llm': 'qwen3-32b', 'source': 's'}]", {NULL, NULL}},
        {"'runs': [\n{'llm': 'qwen3-32b', 'source': 's'},\n{'tensor': 2, 'source': 's'}]", {later, NULL}},
        {"'lacks': [\n{'llm': 'Who/Knows', 'because': 'a'},\n{'llm': 'Who/Knows', 'because': 'b'}]", {NULL, earlier}},
        {"'lacks': [\n{'llm': 'Who/Knows', 'because': 'a'},\n{'llm': 'Qwen/Qwen3-32B', 'because': 'b'}]", {NULL, none}},
        {"'drawn_lengths': [\n{'origin': 'db', 'mean': 0.5},\n{'origin': 'db-dump', 'mean': 0.6}]", {NULL, NULL}},
        {"'drawn_lengths': [\n{'origin': 'db-dump', 'mean': 0.5},\n{'origin': 'db', 'mean': 0.6}]", {later, NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct session session;
        const char *hints[2] = {NULL, NULL};
        begin(&session);
        CHECK_EQ_INT(predict_with(&session, DATED_HEAD,
                                  "Qwen/Qwen3-32B,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12,db-dump,,1,2,2,1,1,,\n"
                                  "Who/Knows,vllm,0.12.0,,,agg,1024,128,8,8,1,100,12,db,,1,2,2,1,1,,\n",
                                  arena_printf(&session.arena, ", %s", cases[i].lists)),
                     0);
        for (int k = 0; k < session.diag.n_items; k++) {
            const struct diag_item *item = &session.diag.items[k];
            hints[strstr(item->where, "b.board.json:3:") != NULL] = item->hint;
            CHECK_EQ_STR(item->text, "this entry counts for no row");
        }
        for (int k = 0; k < 2; k++) {
            if ((hints[k] == NULL) == (cases[i].hints[k] == NULL) &&
                (hints[k] == NULL || strcmp(hints[k], cases[i].hints[k]) == 0))
                continue;
            CHECK(false);
            printf("\n  case %zu, entry %d: %s", i, k, hints[k] != NULL ? hints[k] : "counts");
        }
        arena_fini(&session.arena);
    }
}

TEST(formats_that_there_are_not_are_refused)
{
    struct session session;
    begin(&session);
    CHECK_EQ_INT(
        predict_as(&session, HEAD, VLLM "1024,128,8,8,1,100,12.5," END, ", 'runs': [\n{'kv': 'fp9', 'source': 's'}]"),
        SIM_E_CONFIG);
    CHECK(strstr(session.message, "b.board.json:2:1: error: there is no number format 'fp9'") != NULL);
    arena_fini(&session.arena);
}

/* One that its GPU does not have would leave the row with the preset's. */
TEST(experts_that_a_gpu_lacks_are_refused)
{
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict_as(&session, HEAD, VLLM "1024,128,8,8,1,100,12.5," END,
                            ", 'runs': [{'experts': 'trtllm-1.3-depgemm', 'source': 's'}]"),
                 SIM_E_CONFIG);
    CHECK(strstr(session.message, "b.board.json: ") != NULL);
    CHECK(strstr(session.message, "no calibration of this GPU has a set 'trtllm-1.3-depgemm'") != NULL);
    arena_fini(&session.arena);
}

TEST(broken_tables)
{
    struct session session;
    begin(&session);
    CHECK_EQ_INT(predict(&session, VLLM "x,128,8,8,1,100,12.5," END), SIM_E_DATA);
    CHECK(strstr(session.message, "board.csv:2:") != NULL && strstr(session.message, "'isl'") != NULL);
    arena_fini(&session.arena);
}
