/* Ways, line and way size of a level, by walks over members of one class (papers 000 §4.6, 002 §4.3; ALGORITHMS §11
 * steps 6 and 8).
 *
 * The walk visits members, then strangers that push them out of the nearer level and do not compete with them here; so
 * it is this level that is asked, also when it has fewer ways than the nearer one or holds only what the nearer one
 * does not. What the walk takes more than its twin (see places.h) is the caches' doing; the misses per lap follow.
 */
#ifndef XR_METHOD_WAYS_H
#define XR_METHOD_WAYS_H

#include "method/classes.h"

struct xr_ways {
	const struct xr_class *class;
	size_t strangers;        /* to put into the walk */
	double nearer;           /* latency of the nearer level */
	struct xr_buffer twin;   /* buffer for twins */
};

/* *ways: the number of members that stay together; 0: could not be decided. *strangers: how many of those looked at were
 * no members after all. */
int xr_ways_count(const struct xr_ways *w, size_t *ways, size_t *strangers);

/* Which distances inside a page bring two sets of members together that are too many for one set and few enough for
 * two: meets[i] for distance 8 << i. Takes 1.5 times as many members as ways. */
int xr_ways_meet(const struct xr_ways *w, size_t ways, size_t n, bool *meets);

#endif
