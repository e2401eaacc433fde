/* edge/local/ending.h — how an attempt ended, as its record has it, in the words of the port. */
#ifndef WEIR_EDGE_LOCAL_ENDING_H
#define WEIR_EDGE_LOCAL_ENDING_H

struct weir_attempt_status;
struct weir_cluster_facts;

/* EXITED and FAILED only. Fills all but started_wall_ms and pid. */
void weir_ending_tell(const struct weir_attempt_status *status, struct weir_cluster_facts *facts);

#endif
