/* Changes what a process holds of a simulated GPU while a weir has the fleet, as a process does on
 * a real GPU without asking anybody:
 *
 *     sim-process DATA INDEX PID MIB [GI]     (0: it holds nothing any more; GI: the GPU instance)
 *
 * The fleet has one writer; jobs must not come and go at that moment. */
#include "edge/nvml/sim_install.h"
#include "edge/nvml/sim_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint32_t place_of(const struct weir_sim_state *state, uint32_t pid)
{
    uint32_t at = 0;

    while (at < state->n_loads && state->loads[at].pid != pid)
        at++;
    return at;
}

static int change(struct weir_sim_device *device, uint32_t pid, uint64_t bytes, uint32_t instance)
{
    static struct weir_sim_state state;
    uint32_t at;

    for (int i = 0; !weir_sim_try_read(device, &state); i++)
        if (i == 1000)
            return EBUSY;
    at = place_of(&state, pid);
    if (bytes == 0 && at < state.n_loads) {
        state.loads[at] = state.loads[--state.n_loads];
    } else if (at == WEIR_SIM_PROCESSES_MAX) {
        return ENOSPC;
    } else if (bytes > 0) {
        if (at == state.n_loads)
            state.loads[state.n_loads++] = (struct weir_sim_load){
                .pid = pid,
                .kind = WEIR_SIM_COMPUTE,
                .profile = WEIR_SIM_PROFILE_HELD,
                .gpu_instance = instance,
                .compute_instance = instance == WEIR_NVML_NO_INSTANCE ? WEIR_NVML_NO_INSTANCE : 0,
                .share_milli = 1000};
        state.loads[at].profile = WEIR_SIM_PROFILE_HELD;
        state.loads[at].memory_bytes = bytes;
    }
    weir_sim_publish(device, &state);
    return 0;
}

int main(int argc, char **argv)
{
    struct weir_sim_header *header;
    char path[4096];
    struct stat st;
    uint32_t index;
    int fd;
    int r;

    if (argc != 5 && argc != 6) {
        fprintf(stderr, "usage: sim-process DATA INDEX PID MIB [GI]\n");
        return 2;
    }
    snprintf(path, sizeof(path), "%s/" WEIR_SIM_FLEET_PATH, argv[1]);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        fprintf(stderr, "sim-process: %s: %s\n", path, strerror(errno));
        return 1;
    }
    header = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    index = (uint32_t)strtoul(argv[2], NULL, 10);
    if (header == MAP_FAILED || index >= header->n_devices) {
        fprintf(stderr, "sim-process: no such GPU\n");
        return 1;
    }
    r = change((struct weir_sim_device *)(header + 1) + index, (uint32_t)strtoul(argv[3], NULL, 10),
               (uint64_t)strtoull(argv[4], NULL, 10) << 20,
               argc == 6 ? (uint32_t)strtoul(argv[5], NULL, 10) : WEIR_NVML_NO_INSTANCE);
    if (r != 0)
        fprintf(stderr, "sim-process: %s\n", strerror(r));
    return r != 0;
}
