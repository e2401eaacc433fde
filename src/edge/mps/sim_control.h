/* edge/mps/sim_control.h — what stands in for nvidia-cuda-mps-control on simulated GPUs, for a
 * hidden subcommand. It answers as that one does as far as weir asks it, and shares nothing: no
 * client ever comes to it. */
#ifndef WEIR_EDGE_MPS_SIM_CONTROL_H
#define WEIR_EDGE_MPS_SIM_CONTROL_H

#include <stdbool.h>

struct weir_err;

/* As the daemon (-f): serves until it is told to quit. Else says what is on stdin to the daemon of
 * $CUDA_MPS_PIPE_DIRECTORY, and prints the answer. */
int weir_mps_sim_control(bool is_daemon, struct weir_err *err);

#endif
