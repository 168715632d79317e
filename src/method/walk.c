/* SPDX-License-Identifier: MIT */
/* Random walks, see walk.h. */
#include "method/walk.h"

enum {
	BUFFER_FIRST = 1 << 20,
	BUFFER_LARGE = 64 << 20,
	RETURNS = 64,       /* lines that are asked for again, in pages of their own */
	LINES_OF_PAGE = 64, /* where there are no pages */
};
static const double return_ns = 5e3; /* they take about so long: once in a sample */

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

struct xr_buffer xr_walk_buffer(const struct xr_walk *w, uint64_t bytes)
{
	uint64_t room = buffer_for(bytes);

	return (struct xr_buffer){w->buffer, room < xr_run_info(w->run)->memory_bytes / 4 ? room : bytes, XR_SMALL};
}

static const struct xr_span *all_lines(const struct xr_walk *w, uint64_t bytes)
{
	struct xr_span *all = xr_arena_array(xr_run_arena(w->run), struct xr_span, 1);

	*all = (struct xr_span){0, w->line, (uint32_t)(bytes / w->line)};
	return all;
}

static uint64_t new_seed(const struct xr_walk *w)
{
	return xr_rng_next(xr_run_rng(w->run)) >> 16 | 1;
}

static int read_off(const struct xr_walk *w, uint64_t bytes, const struct xr_spec *spec, struct xr_reading *reading)
{
	struct xr_effort effort = w->effort.samples ? w->effort : (struct xr_effort){.samples = 5, .samples_max = 5};

	if (xr_run_time_with(w->run, &effort, spec, 1, reading) != 0)
		return -1;
	if (reading->status == XR_READ_OK && w->page) {
		double cycle_ns = reading->ns / reading->cycles;
		double cost = translation(&w->tlbs, (double)bytes / (double)w->page);

		reading->cycles -=
			cost < reading->cycles ? cost : 0; /* more than all of it: it is not what was thought */
		reading->ns = reading->cycles * cycle_ns;
	}
	return 0;
}

int xr_walk_read(const struct xr_walk *w, uint64_t bytes, struct xr_reading *reading)
{
	const struct xr_spec spec = xr_spec_cycle(xr_walk_buffer(w, bytes), all_lines(w, bytes), 1, new_seed(w));

	return read_off(w, bytes, &spec, reading);
}

/* One line in each part of a page, drawn anew from page to page: all sets of a cache are filled alike. */
int xr_walk_sparse(const struct xr_walk *w, uint64_t bytes, uint32_t lines, double *cycles)
{
	const size_t n = (size_t)(bytes / w->page) * lines;
	const uint64_t part = w->page / lines / w->line * w->line;
	struct xr_span *span = xr_arena_array(xr_run_arena(w->run), struct xr_span, n);
	struct xr_reading reading;
	struct xr_spec spec;

	for (size_t i = 0; i < n; i++)
		span[i] = (struct xr_span){i / lines * w->page + i % lines * part +
		                                   xr_rng_below(xr_run_rng(w->run), part / w->line) * w->line,
		                           8, 1};
	spec = xr_spec_cycle(xr_walk_buffer(w, bytes), span, n, new_seed(w));
	if (read_off(w, bytes, &spec, &reading) != 0)
		return -1;
	*cycles = reading.status == XR_READ_OK ? reading.cycles : -1;
	return 0;
}

int xr_walk_return(const struct xr_walk *w, uint64_t bytes, int samples, double *cycles)
{
	const struct xr_effort effort = {.samples = samples, .samples_max = samples, .sample_ns = return_ns};
	uint64_t page = w->page ? w->page : LINES_OF_PAGE * w->line, begin = (bytes + page - 1) / page * page;
	struct xr_span *returns = xr_arena_array(xr_run_arena(w->run), struct xr_span, RETURNS);
	struct xr_spec spec = {.kind = XR_CHAIN,
	                       .chain = {.buffer = xr_walk_buffer(w, begin + RETURNS * page), .n_phases = 2}};
	struct xr_reading reading;

	for (size_t i = 0; i < RETURNS; i++)
		returns[i] = (struct xr_span){
			begin + i * page + xr_rng_below(xr_run_rng(w->run), page / w->line) * w->line, 8, 1};
	spec.chain.phase[0] = (struct xr_phase){.span = returns,
	                                        .n_spans = RETURNS,
	                                        .seed = new_seed(w),
	                                        .access = XR_READ,
	                                        .passes = 1,
	                                        .timed = true};
	spec.chain.phase[1] = (struct xr_phase){
		.span = all_lines(w, bytes), .n_spans = 1, .seed = new_seed(w), .access = XR_TOUCH, .passes = 1};
	if (xr_run_time_with(w->run, &effort, &spec, 1, &reading) != 0)
		return -1;
	*cycles = reading.status == XR_READ_OK ? reading.median_cycles : -1;
	if (reading.status == XR_READ_OK && w->page)
		*cycles -= translation(&w->tlbs, (double)bytes / (double)w->page);
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

	return xr_run_info(run)->memory_bytes >= gigabyte && ns < cells_ns && !xr_run_info(run)->exact;
}
