/* edge/nvml/nvml_abi.h — the part of NVML's binary interface that weir uses, restated by hand.
 *
 * Layouts, sizes and numbers are facts of the interface; tests/e2e/nvml_layout.py holds them to
 * NVIDIA's own header where that is installed. The adapter and the simulated library share these
 * files, and neither links to anything of NVIDIA's. Needs libc only. */
#ifndef WEIR_EDGE_NVML_ABI_H
#define WEIR_EDGE_NVML_ABI_H

#include "edge/nvml/nvml_abi_base.h"
#include "edge/nvml/nvml_abi_mig.h"
#include "edge/nvml/nvml_abi_values.h"

#endif
