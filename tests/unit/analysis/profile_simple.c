/* Our own profile format: every class by its members, what may be left out, findings with their place. */
#include "tests/support/harness.h"
#include "tests/support/profile_fixture.h"

static const char all_text[] =
    "kernel,operator,m,n,k,sequences,tokens,past,context,q_heads,kv_heads,key_dim,kv,compute,weights,window,shared_kv,"
    "full,width,number_bytes,hidden,inner,chosen,experts,held,bytes,gpus,nodes,time_us,group\n"
    "gemm_fp8,down,17,4096,11008,,,,,,,,,fp8,fp8,,,,,,,,,,,,,,50,a\n"
    "prefill_attention,,,,,2,300,100,,32,8,64,fp8,bf16,,4096,1,1,,,,,,,,,,,80,a\n"
    "decode_attention,,,,,16,,,1000,32,8,,,,,,,,,,,,,,,,,,40,b\n"
    "norm,,,,,,12,,,,,,,,,,,,8192,4,,,,,,,,,9,b\n"
    "moe,,,,,,64,,,,,,,,,,,,,,2048,768,8,128,32,,,,300,b\n"
    "all_reduce,,,,,,,,,,,,,,,,,,,,,,,,,1e6,8,1,30,b\n";

TEST(every_class_is_read_by_its_members)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    MUST(CHECK_EQ_INT(profile_fixture_text(&fixture, "own.csv", all_text), 0));
    const struct profile *profile = &fixture.files[0];
    CHECK_EQ_STR(profile->format, "orrery");
    CHECK_EQ_STR(profile->grouped_by, "group");
    MUST(CHECK_EQ_INT(profile->n, 6));
    CHECK_EQ_INT(profile->n_groups, 2);
    const struct profile_row *rows = profile->rows;
    CHECK_EQ_INT(rows[0].call.class, KERNEL_GEMM_FP8);
    CHECK_EQ_INT(rows[0].op, OP_DOWN);
    CHECK(rows[0].call.shape.gemm.m == 17 && rows[0].call.shape.gemm.k == 11008 && rows[0].tokens == 17);
    CHECK_EQ_INT(rows[0].call.shape.gemm.weights, FORMAT_FP8);
    CHECK_NEAR(rows[0].measured_s, 50e-6, 1e-15);
    const struct prefill_shape *prefill = &rows[1].call.shape.prefill;
    CHECK(prefill->past == 100 && prefill->window == 4096 && prefill->shared_kv && prefill->full);
    CHECK(prefill->key_dim == 64 && prefill->value_dim == 64);
    CHECK_NEAR(prefill->pairs, 300.0 * (300.0 + 2 * 100.0) / 2, 1e-9);
    CHECK_EQ_INT(prefill->kv, FORMAT_FP8);
    CHECK(rows[2].call.shape.decode.context == 1000 && rows[2].call.shape.decode.key_dim == 128);
    CHECK(rows[2].tokens == 16 && rows[2].call.shape.decode.kv == FORMAT_FP16);
    CHECK(rows[3].call.shape.elementwise.number_bytes == 4 && rows[3].call.shape.elementwise.width == 8192);
    CHECK(rows[4].call.shape.moe.held == 32 && rows[4].call.shape.moe.matrices == 3);
    CHECK(rows[5].call.shape.collective.gpus == 8 && rows[5].tokens == 0);
    CHECK_NEAR(rows[5].call.shape.collective.link_bytes_per_s, gpu_link_bytes_per_s(&fixture.gpu, 8), 1);
}

TEST(without_groups_a_shape_is_one)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *text = "time_s,kernel,m,n,k\n1e-4,gemm,16,4096,4096\n2e-4,gemm,16,4096,4096\n1e-4,gemm,32,4096,4096\n";
    MUST(CHECK_EQ_INT(profile_fixture_text(&fixture, "own.csv", text), 0));
    CHECK_EQ_STR(fixture.files[0].grouped_by, "shape");
    MUST(CHECK_EQ_INT(fixture.files[0].n_groups, 2));
    CHECK_EQ_STR(fixture.files[0].groups[0], "gemm m16 n4096 k4096");
    CHECK_NEAR(fixture.files[0].rows[1].measured_s, 2e-4, 1e-15);
}

TEST(the_first_row_names_the_set)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    const char *text = "kernel,set,m,n,k,time_us\ngemm,mine,16,4096,4096,100\ngemm,,32,4096,4096,100\n";
    MUST(CHECK_EQ_INT(profile_fixture_text(&fixture, "own.csv", text), 0));
    CHECK_EQ_STR(fixture.files[0].set, "mine");
    MUST(CHECK_EQ_INT(profile_fixture_text(&fixture, "other.csv", "kernel,m,n,k,time_us\ngemm,1,2,3,4\n"), 0));
    CHECK_EQ_STR(fixture.files[1].set, "isolated");
}

/* The finding about a file must begin with `place` and contain `text`. */
static void check_finding(const char *file, const char *place, const char *text)
{
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "a100-80-sxm") == 0);
    CHECK_EQ_INT(profile_fixture_text(&fixture, "own.csv", file), SIM_E_DATA);
    MUST(CHECK(fixture.diag.n_items == 1));
    const struct diag_item *item = &fixture.diag.items[0];
    const char *name = strstr(item->where, "own.csv:");
    CHECK_EQ_STR(name != NULL ? name : item->where, place);
    CHECK_EQ_STR(item->text, text);
}

TEST(wrong_fields_are_found)
{
    check_finding("kernel,m,n,k,time_s\ngemm,16,4096,4096,1e-4\ngem,16,4096,4096,1e-4\n", "own.csv:3:1",
                  "unknown kernel 'gem'");
    check_finding("kernel,m,n,k,time_s\ngemm,16,4096,,1e-4\n", "own.csv:2:14", "this kernel needs 'k'");
    check_finding("kernel,m,n,time_s\ngemm,16,4096,1e-4\n", "own.csv:2:1", "this kernel needs 'k'");
    check_finding("kernel,m,n,k,time_s,weights\ngemm,16,4096,64,1e-4,fp7\n", "own.csv:2:22",
                  "unknown number format 'fp7'");
    check_finding("kernel,m,n,k,time_s\ngemm,16,0,64,1e-4\n", "own.csv:2:9",
                  "'n' must be a number of at least 1, got '0'");
    check_finding("kernel,m,n,k,time_s\ngemm,1e308,64,64,1e-4\n", "own.csv:2:6",
                  "'m' must be a number of at most 1e+18, got '1e308'");
    check_finding("kernel,m,n,k,time_s,operator\ngemm,16,64,64,1e-4,kqv\n", "own.csv:2:20", "unknown operator 'kqv'");
}

TEST(columns_are_known_and_stand_once)
{
    check_finding("kernel,m,n,k,time_us,wieghts\n", "own.csv:1:22", "unknown column 'wieghts'");
    check_finding("kernel,m,n,k,m,time_us\n", "own.csv:1:14", "another column 'm'");
    check_finding("kernel,m,n,k,time_us,time_s\n", "own.csv:1:22", "both 'time_us' and 'time_s' are given: 'time_s'");
}

TEST(a_file_has_one_set)
{
    check_finding("kernel,set,m,n,k,time_us\ngemm,a/../b,1,2,3,4\n", "own.csv:2:6",
                  "a set's name may hold only letters, digits, '_', '.' and '-', got 'a/../b'");
    check_finding("kernel,set,m,n,k,time_us\ngemm,one,1,2,3,4\ngemm,two,1,2,3,4\n", "own.csv:3:6",
                  "all rows must be of one set, not also of 'two'");
    check_finding("kernel,set,m,n,k,time_us\ngemm,,1,2,3,4\ngemm,two,1,2,3,4\n", "own.csv:3:6",
                  "all rows must be of one set, not also of 'two'");
}

TEST(formats_are_those_of_the_class)
{
    check_finding("kernel,m,n,k,compute,time_us\ngemm,1,64,64,fp8,4\n", "own.csv:2:14",
                  "'gemm' has no 'compute' in 'fp8'");
    check_finding("kernel,m,n,k,weights,time_us\ngemm_fp8,1,64,64,fp16,4\n", "own.csv:2:18",
                  "'gemm_fp8' has no 'weights' in 'fp16'");
    check_finding("kernel,m,n,k,weights,time_us\ngemm,1,64,64,int4,4\n", "own.csv:2:14",
                  "'gemm' has no 'weights' in 'int4'");
    SCOPED(profile_fixture) fixture;
    MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
    const char *text = "kernel,m,n,k,time_us\ngemm,16,64,64,9\ngemm_fp8,16,64,64,9\ngemm_int4,16,64,64,9\n";
    MUST(CHECK_EQ_INT(profile_fixture_text(&fixture, "own.csv", text), 0));
    static const enum number_format weights[] = {FORMAT_FP16, FORMAT_FP8, FORMAT_INT4};
    static const enum number_format compute[] = {FORMAT_FP16, FORMAT_FP8, FORMAT_FP16};
    MUST(CHECK_EQ_INT(fixture.files[0].n, 3));
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ_INT(fixture.files[0].rows[i].call.shape.gemm.weights, weights[i]);
        CHECK_EQ_INT(fixture.files[0].rows[i].call.shape.gemm.compute, compute[i]);
    }
}

TEST(members_do_not_contradict_each_other)
{
    check_finding("kernel,tokens,hidden,inner,chosen,experts,time_us\nmoe,1,64,64,9,8,4\n", "own.csv:2:13",
                  "'chosen' must be at most 'experts', which is 8; got '9'");
    check_finding("kernel,sequences,context,q_heads,kv_heads,time_us\ndecode_attention,1,64,8,32,4\n", "own.csv:2:25",
                  "'kv_heads' must be at most 'q_heads', which is 8; got '32'");
    check_finding("kernel,bytes,gpus,nodes,time_us\nall_reduce,1e6,2,4,4\n", "own.csv:2:18",
                  "'nodes' must be at most 'gpus', which is 2; got '4'");
    check_finding("kernel,bytes,gpus,time_us\nall_reduce,1e6,1,4\n", "own.csv:2:16",
                  "a collective has at least 2 GPUs, got '1'");
}

/* A row of every class without an operator is reported under one whose name tells of the class. */
TEST(every_class_has_an_operator)
{
    static const char header[] =
        "kernel,m,n,k,sequences,tokens,context,q_heads,kv_heads,width,hidden,inner,chosen,experts,bytes,gpus,queries,"
        "pairs,time_us\n";
    for (int class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        const char *name = kernel_class_info((enum kernel_class) class)->name;
        SCOPED(profile_fixture) fixture = {0};
        char text[512];
        MUST(profile_fixture_init(&fixture, "h100-sxm") == 0);
        snprintf(text, sizeof text, "%s%s,16,64,64,2,16,64,8,8,64,64,64,2,8,1e6,8,4,9,1000\n", header, name);
        MUST(CHECK_EQ_INT(profile_fixture_text(&fixture, "own.csv", text), 0));
        MUST(CHECK_EQ_INT(fixture.files[0].n, 1));
        const char *operator= llm_operator_name(fixture.files[0].rows[0].op);
        const bool is_gemm = strncmp(name, "gemm", 4) == 0, is_moe = strncmp(name, "moe", 3) == 0;
        if (is_gemm || is_moe)
            CHECK_EQ_STR(operator, is_gemm ? "qkv" : "experts");
        else
            CHECK(strstr(name, operator) != NULL);
    }
}
