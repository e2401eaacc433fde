#include "cmd/command.h"

#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status = weir_command_main(argc, argv);

    /* Libraries clean up after themselves for whoever looks for leaks. For all others the kernel
     * does it, and a short command takes a thirtieth less time. */
    if (WEIR_CLEANS_UP)
        return status;
    fflush(NULL);
    _exit(status);
}
