/* Code walks and their twins: as many jumps in the same pages, once in sets that may overflow and once where nothing
 * conflicts. What mispredicted jumps cost cancels in the difference. */
#ifndef XR_METHOD_TWINS_H
#define XR_METHOD_TWINS_H

#include "method/sets.h"

enum { XR_TWINS_MAX = 44, XR_TWINS_SAMPLES = 6 /* of one look */ };

extern const double xr_least_step; /* of a visit: below this nothing is called a miss */
extern const double xr_sure_step;  /* … and above this nothing else than misses is possible */

/* A batch of walks and twins, by turns; looked at again in every attempt. */
struct xr_twins {
	struct xr_walks walks;
	unsigned count[XR_TWINS_MAX]; /* units */
	double excess[XR_TWINS_MAX];  /* cycles by which a visit takes longer than in the twin */
	int samples;                  /* of one look */
	size_t n;
};

void xr_twins_init(const struct xr_sets *probe, struct xr_twins *pairs);
void xr_twins_add(const struct xr_sets *probe, struct xr_twins *pairs, uint64_t stride, unsigned n, unsigned sets);

/* IN_PASSING: without waiting long for peace. Nothing is asked that is known in peace already, but AGAIN. */
enum xr_manner { XR_IN_PASSING, XR_PATIENTLY, XR_AGAIN };
int xr_twins_look(struct xr_twins *pairs, enum xr_manner manner);

bool xr_walks_may_wait(const struct xr_walk_bench *bench); /* is there patience left? */

/* How many sets are asked at once; fits: bytes that fit. */
unsigned xr_sets_at_once(const struct xr_sets *probe, uint64_t stride, unsigned n, double fits);

#endif
