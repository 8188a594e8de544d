/* The keys of the service `http`. */
#ifndef APPS_HTTP_HTTP_KEYS_H
#define APPS_HTTP_HTTP_KEYS_H

#include "kernel/config/config_types.h"

#define HTTP_CLIENTS 16u

struct http_config {
	struct prefix client[HTTP_CLIENTS]; /* who may look; none: the networks of our addresses */
	uint32_t n_client;
	bool capture; /* the last packets are kept, and may be downloaded */
};

extern const struct config_section http_section;

/* The values in force; they live as long as *c. */
const struct http_config *http_config(const struct config *c);

#endif
