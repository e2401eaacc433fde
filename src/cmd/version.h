/* cmd/version.h — what is inside. */
#ifndef WEIR_CMD_VERSION_H
#define WEIR_CMD_VERSION_H

/* Version, revision, libraries and compiler, on stdout. Returns the exit status. */
int weir_version_print(void);

#endif
