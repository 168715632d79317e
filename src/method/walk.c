/* Random walks, see walk.h. */
#include "method/walk.h"

enum { BUFFER_FIRST = 1 << 20, BUFFER_LARGE = 64 << 20 };

struct xr_tlbs xr_tlbs_known(const struct xr_run *run)
{
	static const char *const entries[] = {"tlb.d1.entries", "tlb.d2.entries", "tlb.d3.entries"};
	static const char *const penalty[] = {"tlb.d1.penalty", "tlb.d2.penalty", "tlb.d3.penalty"};
	struct xr_tlbs t;

	for (int i = 0; i < XR_TLB_LEVELS; i++) {
		t.entries[i] = xr_run_number(run, entries[i], 0);
		t.penalty[i] = xr_run_number(run, penalty[i], 0);
	}
	return t;
}

/* A page visited at random is at hand if it is among the last ones visited, as many as there are entries. */
static double translation(const struct xr_tlbs *tlbs, double pages)
{
	double cost = 0;

	for (int i = 0; i < XR_TLB_LEVELS; i++)
		if (tlbs->entries[i] > 0 && pages > tlbs->entries[i])
			cost += (tlbs->penalty[i] - (i ? tlbs->penalty[i - 1] : 0)) * (1 - tlbs->entries[i] / pages);
	return cost;
}

/* Few sizes of buffers, so that few have to be made. */
static uint64_t buffer_for(uint64_t bytes)
{
	uint64_t room = BUFFER_FIRST;

	while (room < bytes)
		room *= room < BUFFER_LARGE ? 8 : 2;
	return room;
}

int xr_walk_read(const struct xr_walk *w, uint64_t bytes, struct xr_reading *reading)
{
	struct xr_span *all = xr_arena_array(xr_run_arena(w->run), struct xr_span, 1);
	struct xr_effort effort = w->effort.samples ? w->effort : (struct xr_effort){.samples = 5, .samples_max = 5};
	uint64_t memory = xr_run_info(w->run)->memory_bytes,
		 room = buffer_for(bytes) < memory / 4 ? buffer_for(bytes) : bytes;
	struct xr_spec spec;

	*all = (struct xr_span){0, w->line, (uint32_t)(bytes / w->line)};
	spec = xr_spec_cycle((struct xr_buffer){w->buffer, room, XR_SMALL}, all, 1,
	                     xr_rng_next(xr_run_rng(w->run)) >> 16 | 1);
	spec.chain.cursors = w->cursors;
	if (xr_run_time_with(w->run, &effort, &spec, 1, reading) != 0)
		return -1;
	if (reading->status == XR_READ_OK && w->page) {
		double cycle_ns = reading->ns / reading->cycles;

		reading->cycles -= translation(&w->tlbs, (double)bytes / (double)w->page);
		reading->ns = reading->cycles * cycle_ns;
	}
	return 0;
}

int xr_walk_time(const struct xr_walk *w, uint64_t bytes, double *cycles, double *cycle_ns)
{
	struct xr_reading reading;

	if (xr_walk_read(w, bytes, &reading) != 0)
		return -1;
	*cycles = reading.status == XR_READ_OK ? reading.cycles : -1;
	if (cycle_ns && reading.status == XR_READ_OK)
		*cycle_ns = reading.ns / reading.cycles;
	return 0;
}

bool xr_walk_may_be_cached(const struct xr_run *run, double ns)
{
	const uint64_t gigabyte = UINT64_C(1) << 30;
	const double cells_ns = 40;

	return xr_run_info(run)->memory_bytes >= gigabyte && ns < cells_ns;
}
