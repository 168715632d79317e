/* SPDX-License-Identifier: MIT */
/* Memory for address chains, kept from one chain to the next, and the shuffle that orders them. Part of the agent. */
#ifndef XR_AGENT_BUFFER_H
#define XR_AGENT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

enum xr_buffer_backing { XR_BUFFER_SMALL, XR_BUFFER_HUGE, XR_BUFFER_SHUFFLED, XR_BUFFER_ANY };

struct xr_agent_buffer {
	struct xr_agent_buffer *next;
	unsigned id;
	unsigned long long bytes;
	enum xr_buffer_backing backing;
	unsigned char *base;
	void *map; /* what to give back */
	size_t map_bytes;
	const void *owner; /* whose links are in there; NULL: nobody's */
	unsigned users;
	size_t flowed; /* where the last flow ended (flow.c) */
	unsigned long used; /* when last made use of */
};

/* What buffers may take altogether; 0: no limit. */
void xr_buffer_limit(unsigned long long bytes);

/* The buffer of that id, size and backing, made when there is none yet; buffers nobody uses go when there is no room.
 * NULL: no memory. Its users go up by one; who is done with it takes one off. */
struct xr_agent_buffer *xr_buffer_get(unsigned id, unsigned long long bytes, enum xr_buffer_backing backing);
void xr_buffer_use(struct xr_agent_buffer *buffer); /* says that it is in use now, so that others go first */
void xr_buffer_release(void);                       /* gives back all that nobody uses */

/* Fisher-Yates with splitmix64, the same as everywhere in X-Ray; n < 2^32. */
void xr_shuffle32(uint32_t *x, size_t n, uint64_t seed);
uint64_t xr_random_below(uint64_t *state, uint64_t n); /* the generator behind it: in [0, n) */

#endif
