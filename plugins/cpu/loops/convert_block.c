/* See convert_block.h. */
#include "loops/convert_block.h"

#include "tenon/helper/parallel.h"

struct convert_job {
    const struct tn__cpu *cpu;
    const struct tn_convert_options *options;
    char *dst;
    const char *src;
    int32_t to, from;
};

/* Pieces begin at multiples of 64 elements, so packed ones begin at a byte. */
static void convert_piece(void *arg, int64_t begin, int64_t end, uint32_t worker) {
    const struct convert_job *job = arg;
    (void)worker;
    tn_convert_run(&job->cpu->convert, job->to,
        job->dst + begin * tn_dtype_bits(job->to) / 8, job->from,
        job->src + begin * tn_dtype_bits(job->from) / 8, (size_t)(end - begin),
        job->options);
}

void tn__convert_block(const struct tn__cpu *cpu, int32_t to, void *dst, int32_t from,
    const void *src, int64_t n, const struct tn_convert_options *options) {
    struct convert_job job = {cpu, options, dst, src, to, from};
    tn_parallel(cpu->host, n, 0.3, convert_piece, &job);
}
