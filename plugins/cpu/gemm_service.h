/* The matrix product as a service for other plugins: see tenon/ext/draft/gemm.h. */
#ifndef TENON_CPU_GEMM_SERVICE_H
#define TENON_CPU_GEMM_SERVICE_H

struct tn__cpu;

/* Fills cpu->gemm_service; cpu->gemm is ready. */
void tn__gemm_service_init(struct tn__cpu *cpu);

#endif
