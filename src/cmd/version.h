/* cmd/version.h — what is inside. */
#ifndef WEIR_CMD_VERSION_H
#define WEIR_CMD_VERSION_H

/* The same as one line, without compiler: what a server says of itself. Static. */
const char *weir_version_text(void);
/* Version, revision, libraries and compiler, on stdout. Returns the exit status. */
int weir_version_print(void);

#endif
