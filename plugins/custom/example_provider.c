/* The provider "example": the smallest there is. It runs on the host, has the kernels that
 * name it (cube.c), and claims exactly the nodes that these serve; every other node gets the
 * reason why not. docs/add-a-provider.md begins where this ends. */
#include "custom.h"
#include "tenon/helper/claim.h"

const struct tn_provider_def custom_provider = {
    .struct_size = TN_PROVIDER_DEF_SIZE,
    .id = "example",
    .name = "Worked example of a provider",
    .device_kind = TN_DEVICE_CPU,
    .capability = tn_claim_served,
};
