/* Every model file of a folder, when TENON_ONNX_DATA names one: it loads, its graphs are
 * sound, and its text reads back to the same text. Skipped without the folder. */
#include "unit.h"

#include "core/model/model.h"

#include <ftw.h>
#include <stdio.h>

static unsigned n_models;

static void check_model(const char *path) {
    struct tn_diag diag = {0};
    struct tn__model *model = NULL, *again = NULL;
    struct tn_text first = {0}, second = {0};
    tn_status status =
        tn__model_load(&(struct tn_model){.path = path}, NULL, &model, &diag);
    ck_assert_msg(status == TN_OK, "%s: %s", path, diag.message);
    for (struct tn_graph *g = model->graphs; g; g = g->next_graph)
        ck_assert_msg(tn__graph_verify(g, &diag) == TN_OK, "%s: %s", path, diag.message);
    tn__text_print_model(model, UINT64_MAX, &first);
    status = tn__text_read_model(first.data, first.size, NULL, &again, &diag);
    ck_assert_msg(status == TN_OK, "%s: %s", path, diag.message);
    tn__text_print_model(again, UINT64_MAX, &second);
    ck_assert_msg(
        first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
        "%s: its text reads back to another model", path);
    tn__text_free(&first);
    tn__text_free(&second);
    tn__model_destroy(model);
    tn__model_destroy(again);
    n_models++;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)ftw;
    size_t n = strlen(path);
    if (type == FTW_F && st->st_size < (16 << 20) && n > 5 &&
        strcmp(path + n - 5, ".onnx") == 0)
        check_model(path);
    return 0;
}

START_TEST(every_model_of_the_folder_loads_and_prints) {
    const char *folder = getenv("TENON_ONNX_DATA");
    if (!folder || nftw(folder, visit, 16, FTW_PHYS) != 0) {
        printf("no folder in TENON_ONNX_DATA: skipped\n");
        return;
    }
    printf("%u models\n", n_models);
}
END_TEST

static void add_tests(TCase *tests) {
    tcase_add_test(tests, every_model_of_the_folder_loads_and_prints);
}

UNIT_MAIN("model_files")
