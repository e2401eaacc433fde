/* app/demo.h — jobs for a simulated fleet, so that there is something to see. */
#ifndef WEIR_APP_DEMO_H
#define WEIR_APP_DEMO_H

struct weir_service;
struct weir_store;

/* Asks for them, once there is nothing of an earlier demo alive; what fails is logged. */
void weir_demo_submit(struct weir_service *service, struct weir_store *store);

#endif
