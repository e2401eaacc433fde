#include "cmd/version.h"

#include "cmd/commands.h"
#include "cmd/revision.h"

#include "cmd/output.h"

#include <stdio.h>

/* The libraries are linked in, so the versions of the build are those that run. */
int weir_version_print(void)
{
    printf("weir %s%s%s%s\n", WEIR_VERSION, WEIR_REVISION[0] != '\0' ? " (" : "", WEIR_REVISION,
           WEIR_REVISION[0] != '\0' ? ")" : "");
    printf("libuv %s, SQLite %s, libyaml %s, compiler %s\n", WEIR_UV_VERSION, WEIR_SQLITE_VERSION,
           WEIR_YAML_VERSION, WEIR_COMPILER);
    return weir_output_flush(NULL) == 0 ? WEIR_EXIT_FINE : WEIR_EXIT_UNKNOWN;
}

const char *weir_version_text(void)
{
    static char text[160];

    if (text[0] == '\0')
        snprintf(text, sizeof(text), "weir %s%s%s%s, libuv %s, SQLite %s, libyaml %s", WEIR_VERSION,
                 WEIR_REVISION[0] != '\0' ? " (" : "", WEIR_REVISION,
                 WEIR_REVISION[0] != '\0' ? ")" : "", WEIR_UV_VERSION, WEIR_SQLITE_VERSION,
                 WEIR_YAML_VERSION);
    return text;
}

static int run(const struct weir_args *args, struct weir_err *err)
{
    (void)args;
    (void)err;
    return weir_version_print();
}

static const struct weir_example examples[] = {{"weir version", "what is inside this weir"}};

const struct weir_command weir_command_version = {
    .name = "version",
    .summary = "say what is inside",
    .operands = "",
    .about = "The version of weir, the revision it was built from if the build knew it, the "
             "versions of the libraries inside, and the compiler.",
    .examples = examples,
    .n_examples = 1,
    .group = WEIR_GROUP_OTHER,
    .run = run,
};
