#include "cmd/command.h"

int main(int argc, char **argv)
{
    return weir_command_main(argc, argv);
}
