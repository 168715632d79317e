/* SPDX-License-Identifier: MIT */
/* Teams of threads on a simulated machine.
 *
 * Logical CPU c is thread c / cores of core c % cores; cores are dealt to nodes in blocks. Threads of one core share
 * its caches and the units that the machine file lists; cores share caches as the file says; all share the memory's
 * bandwidth. Members that the OS may place go to idle cores first, then to idle threads; with more members than
 * logical CPUs everybody gets the same share of time.
 */
#include "target/model/flow.h"
#include "target/model/model.h"
#include "target/model/trip.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 800, CHUNK = 16, STEPS_MAX = 600000, LAPS_WARM = 2, LAPS_HOME = 4, STEPS_LEAST = 800 };

struct player {
	int cpu, core, type; /* core: of those of its type */
	int seat;            /* the CPU of the machine that a hypervisor has put this one on */
	const struct xr_spec *work;
	struct xr_demand demand; /* operations, or what a walk asks of the units */
	struct xr_trip trip;     /* walks */
	struct xr_tally tally;
	double time; /* simulated, of walks */
	size_t steps;
	double cycles;       /* per operation or access, with the others around */
	double memory_bytes; /* per operation, that memory moves for it */
	bool walks, flows;
};

struct team {
	struct player *player;
	int n;
	double wall_ops; /* XR_WALL: operations of each in a window */
	double stretch;  /* more members than CPUs */
	bool opposed;    /* member 0 measures, the others are in his way */
};

/* What the members of a team of walks cost each other: the same team is asked about again and again, on the same
 * memory, so once is enough. */
struct xr_walked {
	uint64_t key;
	double *cycles, *bytes; /* per player, as above */
};

static void team_free(void *own)
{
	struct team *t = own;
	if (!t)
		return;
	for (int i = 0; i < t->n; i++)
		xr_trip_release(&t->player[i].trip);
	free(t->player);
	free(t);
}

static int core_of(const struct xr_machine *m, int cpu)
{
	return cpu % m->cores;
}

static int node_of(const struct xr_machine *m, int cpu)
{
	return core_of(m, cpu) / (m->cores / m->nodes);
}

/* ---- placing ---- */

/* Where a hypervisor has put a CPU by now, among those of its type: somewhere else after each move. */
static int seat_of(const struct xr_model *model, int type, int cpu)
{
	const int n = model->type[type].n_cpus;
	int seat[XR_MACHINE_CORES * 16];
	if (!(model->machine.migrate_hz > 0) || n > (int)(sizeof seat / sizeof *seat))
		return cpu;
	struct xr_rng rng = {model->seed + model->clock.migrations};
	for (int i = 0; i < n; i++)
		seat[i] = i;
	for (int i = n; i > 1; i--) {
		const int k = (int)xr_rng_below(&rng, (uint64_t)i), swap = seat[i - 1];
		seat[i - 1] = seat[k];
		seat[k] = swap;
	}
	return seat[cpu];
}

static void place(const struct xr_model *model, const struct xr_team_spec *spec, struct team *t)
{
	int n_cpus = model->target.info.n_cpus, next = 0, placed = 0;
	bool *taken = xr_calloc((size_t)n_cpus, sizeof *taken);
	for (int i = 0; i < t->n; i++) {
		t->player[i].cpu = spec->member[i].cpu;
		t->player[i].work = spec->member[i].work;
		if (t->player[i].cpu >= 0)
			taken[t->player[i].cpu] = true;
	}
	for (int i = 0; i < t->n; i++) {
		struct player *p = &t->player[i];
		if (p->cpu < 0) {
			while (next < n_cpus && taken[next])
				next++;
			p->cpu = next < n_cpus ? next++ : placed++ % n_cpus;
		}
		p->type = xr_model_type_of(model, p->cpu);
		p->seat = seat_of(model, p->type, p->cpu - model->type[p->type].first_cpu);
		p->core = core_of(&model->type[p->type].machine, p->seat);
	}
	free(taken);
}

/* ---- what each costs with the others around ---- */

/* Whose pace is asked for: everybody's, or where member 0 measures and the others only oppose it, his. */
static int counted(const struct team *t)
{
	return t->opposed ? 1 : t->n;
}

/* Has every walker that counts gone round a few times, finding everything in the first level? Then that is how it
 * stays. */
static bool all_at_home(const struct team *t)
{
	for (int i = 0; i < counted(t); i++)
		if (t->player[i].walks &&
		    (t->player[i].steps < LAPS_HOME * t->player[i].trip.n || t->player[i].tally.disturbed > 0))
			return false;
	return true;
}

/* Everybody goes round a few times, in turns of equal steps: a slow starter must not starve. */
static void warm_up(const struct xr_machine *m, struct xr_mem *mem, struct team *t, size_t most)
{
	for (size_t steps = 0; steps < LAPS_WARM * most + CHUNK && steps * (size_t)t->n < STEPS_MAX; steps += CHUNK)
		for (int i = 0; i < t->n; i++)
			if (t->player[i].walks && steps < LAPS_WARM * t->player[i].trip.n + CHUNK)
				xr_trip_run(&t->player[i].trip, mem, m, t->player[i].core, CHUNK, NULL);
}

/* All walks at once, each at its own pace. The first time round is for finding the pace; then some steps are enough,
 * for the order is random. */
static void walk_together(const struct xr_machine *m, struct xr_mem *mem, struct team *t)
{
	size_t most = 0;
	for (int i = 0; i < t->n; i++)
		if (t->player[i].walks && t->player[i].trip.n > most)
			most = t->player[i].trip.n;
	warm_up(m, mem, t, most);
	for (int counting = 0; counting < 2; counting++) {
		double until = 0;
		size_t total = 0;
		for (int i = 0; i < t->n; i++) {
			t->player[i].steps = 0;
			t->player[i].time = 0;
			t->player[i].tally = (struct xr_tally){0};
		}
		for (bool ready = false; !ready && total < STEPS_MAX && !all_at_home(t);) {
			ready = true;
			until += 200;
			for (int i = 0; i < t->n; i++) {
				struct player *p = &t->player[i];
				while (p->walks && p->time < until) {
					struct xr_tally tally = {0};
					xr_trip_run(&p->trip, mem, m, p->core, CHUNK, &tally);
					p->time += xr_trip_cycles(&p->trip, m, mem, &tally) * CHUNK / p->trip.cursors;
					xr_tally_add(&p->tally, &tally);
					p->steps += CHUNK;
					total += CHUNK;
				}
				ready &= !p->walks || i >= counted(t) ||
				         p->steps >= (counting ? STEPS_LEAST : p->trip.n / 2);
			}
		}
	}
	for (int i = 0; i < t->n; i++)
		if (t->player[i].walks)
			t->player[i].cycles = xr_trip_cycles(&t->player[i].trip, m, mem, &t->player[i].tally);
}

/* Everybody's lines from memory have to go through one door. */
static void share_bandwidth(const struct xr_machine *m, const struct xr_mem *mem, struct team *t)
{
	double lines = 0,
	       door = m->bandwidth_gbs / (double)xr_mem_line(mem, XR_USE_READ) / (m->mhz * 1e-3); /* lines per cycle */
	for (int i = 0; i < t->n; i++) {
		const struct player *p = &t->player[i];
		if (p->walks)
			lines += p->tally.from_memory / p->tally.n / p->cycles * p->trip.cursors;
	}
	for (int i = 0; i < t->n && lines > door; i++) {
		struct player *p = &t->player[i];
		double from_memory = p->walks ? p->tally.from_memory / p->tally.n : 0;
		p->cycles *= 1 + from_memory * (lines / door - 1);
	}
}

static void simulate_walks(struct xr_model *model, struct team *t)
{
	const struct xr_machine *m = &model->machine;
	uint64_t most = 0, by = 1, rest = 0, stride = 0;
	for (int i = 0; i < t->n; i++)
		if (t->player[i].walks) {
			uint64_t n = xr_trip_count(&t->player[i].work->chain.phase[0]),
				 *which = i < counted(t) ? &most : &rest;
			*which = n > *which ? n : *which;
			uint64_t apart = xr_trip_stride(&t->player[i].work->chain.phase[0]);
			stride = apart > stride ? apart : stride;
		}
	/* by those that count, so that a walk is simulated alike alone and opposed */
	while (most / by > PLACES_MAX || rest / by > 8 * PLACES_MAX)
		by *= 2;
	struct xr_machine small = xr_machine_scaled(m, by, stride);
	/* the first member's memory is backed first, so the same for every team that it is in */
	struct xr_mem *mem = xr_mem_new(&small, model->seed);
	for (int i = 0; i < t->n; i++) {
		struct player *p = &t->player[i];
		if (!p->walks)
			continue;
		const struct xr_chain_spec *chain = &p->work->chain;
		struct xr_mem_buffer *buffer = xr_mem_buffer(mem, &chain->buffer, false);
		xr_mem_back(mem, buffer);
		xr_trip_init(&p->trip, buffer, &chain->phase[0], chain->cursors, by);
		p->trip.at = p->trip.n * (size_t)i / (size_t)t->n * p->trip.cursors; /* not all at the same place */
	}
	if (t->n == 1) {
		xr_trip_settle(&t->player[0].trip, mem, &small, t->player[0].core, &t->player[0].tally);
		t->player[0].cycles = xr_trip_cycles(&t->player[0].trip, &small, mem, &t->player[0].tally);
	} else {
		walk_together(&small, mem, t);
	}
	share_bandwidth(m, mem, t);
	for (int i = 0; i < t->n; i++)
		if (t->player[i].walks)
			t->player[i].memory_bytes = t->player[i].tally.from_memory / t->player[i].tally.n *
			                            t->player[i].trip.cursors * (double)xr_mem_line(mem, XR_USE_READ);
	xr_mem_free(mem);
}

static uint64_t key_of(const struct xr_spec *spec)
{
	struct xr_arena arena = {0};
	uint64_t key = UINT64_C(0xcbf29ce484222325);
	for (const char *text = xr_spec_text(&arena, spec); *text; text++)
		key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	xr_arena_release(&arena);
	return key;
}

static bool recall(const struct xr_model *model, uint64_t key, struct team *t)
{
	for (size_t k = 0; k < model->n_walked; k++) {
		if (model->walked[k].key != key)
			continue;
		for (int i = 0; i < t->n; i++)
			if (t->player[i].walks) {
				t->player[i].cycles = model->walked[k].cycles[i];
				t->player[i].memory_bytes = model->walked[k].bytes[i];
			}
		return true;
	}
	return false;
}

static void remember(struct xr_model *model, uint64_t key, const struct team *t)
{
	if (!(model->n_walked & (model->n_walked + 1))) /* room for a power of two, less one */
		model->walked = xr_realloc(model->walked, 2 * (model->n_walked + 1), sizeof *model->walked);
	struct xr_walked *w = &model->walked[model->n_walked++];
	w->key = key;
	w->cycles = xr_calloc((size_t)t->n, sizeof *w->cycles);
	for (int i = 0; i < t->n; i++)
		w->cycles[i] = t->player[i].cycles;
	w->bytes = xr_calloc((size_t)t->n, sizeof *w->bytes);
	for (int i = 0; i < t->n; i++)
		w->bytes[i] = t->player[i].memory_bytes;
}

void xr_model_forget_teams(struct xr_model *model)
{
	for (size_t i = 0; i < model->n_walked; i++) {
		free(model->walked[i].cycles);
		free(model->walked[i].bytes);
	}
	free(model->walked);
}

static void walk(struct xr_model *model, const struct xr_spec *spec, int type, struct team *t)
{
	const struct xr_machine *m = &model->machine;
	bool any = false;
	for (int i = 0; i < t->n; i++)
		any |= t->player[i].walks;
	if (!any)
		return;
	uint64_t key = key_of(spec) + (uint64_t)type + ((uint64_t)model->clock.migrations << 32);
	if (!recall(model, key, t)) {
		simulate_walks(model, t);
		remember(model, key, t);
	}
	int unit = xr_core_mem_unit(m);
	for (int i = 0; i < t->n; i++)
		if (t->player[i].walks) {
			t->player[i].demand = (struct xr_demand){.slots = 1, .chain = t->player[i].cycles};
			if (unit >= 0)
				t->player[i].demand.unit[unit] = 1;
		}
}

/* Flows and everybody else share the memory's bandwidth: more than it has is stretched. Who waits for single
 * lines waits longer the busier it is, as in a queue that serves in constant time (M/D/1). */
static void flow_together(const struct xr_machine *m, struct team *t)
{
	double door = xr_flow_door(m), wanted = 0;
	bool any = false;
	for (int i = 0; i < t->n; i++) {
		wanted += t->player[i].cycles > 0 ? t->player[i].memory_bytes / t->player[i].cycles : 0;
		any |= t->player[i].flows;
	}
	if (!any)
		return;
	double busy = fmin(wanted / door, 0.98), line = 64 / door;
	for (int i = 0; i < t->n; i++) {
		struct player *p = &t->player[i];
		if (p->flows && p->memory_bytes > 0)
			p->cycles *= fmax(1, wanted / door);
		else if (p->memory_bytes > 0)
			p->cycles += line * busy / (2 * (1 - busy));
		p->demand.slots = 1;
		p->demand.chain = p->cycles;
	}
}

/* Operations: threads of the same core share units. */
static void share_units(const struct xr_machine *m, struct team *t)
{
	const struct xr_demand **demand = xr_calloc((size_t)t->n + 1, sizeof *demand);
	double *cycles = xr_calloc((size_t)t->n, sizeof *cycles);
	for (int i = 0; i < t->n; i++) {
		int n = 0;
		demand[n++] = &t->player[i].demand;
		for (int j = 0; j < t->n; j++) {
			bool counts = t->player[j].core == t->player[i].core && t->player[j].cpu != t->player[i].cpu;
			for (int k = 0; k < j && counts; k++)
				counts = t->player[k].cpu != t->player[j].cpu; /* one at a time on each CPU */
			if (counts)
				demand[n++] = &t->player[j].demand;
		}
		cycles[i] = xr_core_cycles(m, &t->player[i].demand) * xr_core_contention(m, demand, n);
	}
	for (int i = 0; i < t->n; i++)
		t->player[i].cycles = fmax(t->player[i].cycles, cycles[i]);
	free(demand);
	free(cycles);
}

static int find_work(struct xr_model *model, struct team *t, struct xr_reading *out)
{
	char reason[128];
	for (int i = 0; i < t->n; i++) {
		struct player *p = &t->player[i];
		p->walks = p->work && p->work->kind == XR_CHAIN;
		p->flows = p->work && p->work->kind == XR_FLOW;
		if (p->flows && xr_flow_wrong_with(&model->machine, &p->work->flow)) {
			xr_model_refuse(model, out, XR_READ_FAILED, "%s",
			                xr_flow_wrong_with(&model->machine, &p->work->flow));
			return -1;
		}
		if (p->flows) {
			p->cycles = xr_model_flow(model, &p->work->flow, &p->memory_bytes);
			continue;
		}
		if (!p->work || (!p->walks && p->work->kind != XR_OPS)) {
			xr_model_refuse(model, out, XR_READ_FAILED, "a member of the team has no work");
			return -1;
		}
		if (!p->walks && xr_core_demand(&model->machine, &p->work->ops, &p->demand, reason)) {
			xr_model_refuse(model, out, XR_READ_UNSUPPORTED, "%s", reason);
			return -1;
		}
		if (p->walks && (p->work->chain.n_phases != 1 || p->work->chain.phase[0].passes ||
		                 p->work->chain.buffer.bytes > model->machine.memory_bytes ||
		                 !xr_trip_count(&p->work->chain.phase[0]))) {
			xr_model_refuse(model, out, XR_READ_FAILED,
			                "members of a team walk endlessly, in memory that is there");
			return -1;
		}
	}
	return 0;
}

/* ---- kinds ---- */

static void sample_wall(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list)
{
	struct team *t = job->own;
	struct xr_raw raw = {.long_ops = t->wall_ops, .ref_ns = xr_model_reference(model)};
	double longest = 0;
	for (int i = 0; i < t->n; i++)
		longest = fmax(longest, t->player[i].cycles * t->wall_ops);
	struct xr_sim_work work = {.cycles = longest * t->stretch};
	raw.long_ns = xr_sim_time(&model->clock, &work, &raw.hit) - model->machine.timer_cost_ns;
	raw.hit = false; /* a wall clock is for what happens */
	xr_raw_add(list, raw);
}

/* Wall time of `members` equal pieces of work on n CPUs, in pieces: CPUs share their time among those they have, and
 * who is left when a CPU falls idle moves there. */
static double crowded(int members, int n)
{
	if (members <= n)
		return 1;
	int each = members / n, more = members % n; /* so many CPUs have one more */
	return more ? each + crowded(more * (each + 1), n) / (each + 1) : each;
}

/* The players on cores of one type, who share what these have; those of other types only share the OS with them. */
static int evaluate(struct xr_model *model, const struct xr_spec *spec, struct team *t, int type,
                    struct xr_reading *out)
{
	struct team part = {.opposed = t->opposed};
	part.player = xr_calloc((size_t)t->n, sizeof *part.player);
	for (int i = 0; i < t->n; i++)
		if (t->player[i].type == type)
			part.player[part.n++] = t->player[i];
	xr_model_enter(model, type);
	int status = part.n ? find_work(model, &part, out) : 0;
	if (part.n && !status) {
		walk(model, spec, type, &part);
		flow_together(&model->machine, &part);
		share_units(&model->machine, &part);
	}
	for (int i = 0, k = 0; i < t->n; i++)
		if (t->player[i].type == type)
			t->player[i] = part.player[k++];
	free(part.player);
	return status;
}

static void prepare_work(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_machine *m = &model->machine;
	const struct xr_team_spec *spec = &job->spec->team;
	struct team *t = job->own;
	t->opposed = spec->kind == XR_TOGETHER;
	for (int type = 0; type < model->n_types; type++)
		if ((type == job->type || !t->opposed) && evaluate(model, job->spec, t, type, out))
			return;
	xr_model_enter(model, job->type);
	if (spec->kind == XR_TOGETHER) {
		job->one.cycles = t->player[0].cycles;
		return;
	}
	/* A window: so many operations of each that member 0 alone would take as long as asked for. */
	double alone = t->player[0].walks || t->player[0].flows ? t->player[0].cycles
	                                                        : xr_core_cycles(m, &t->player[0].demand);
	double window = spec->window_ns > 0 ? spec->window_ns : 1e6;
	int crowd = 1;
	for (int i = 0; i < t->n; i++) {
		int same = 0;
		for (int j = 0; j < t->n; j++)
			same += t->player[j].cpu == t->player[i].cpu;
		crowd = same > crowd && spec->member[i].cpu >= 0 ? same : crowd;
		t->player[i].cycles *= m->mhz / model->type[t->player[i].type].machine.mhz; /* by member 0's clock */
	}
	t->stretch = fmax(crowd, crowded(t->n, model->target.info.n_cpus));
	t->wall_ops = fmax(1, floor(window * m->mhz * 1e-3 / alone));
	job->sample = sample_wall;
}

static double line_ns(const struct xr_machine *m, int a, int b)
{
	if (a == b)
		return m->switch_us * 1e3; /* one has to go before the other can come */
	if (core_of(m, a) == core_of(m, b))
		return 2 * xr_core_load_cycles(m) / (m->mhz * 1e-3);
	return node_of(m, a) == node_of(m, b) ? m->near_ns : m->far_ns;
}

static void prepare_pair(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_machine *m = &model->machine;
	const struct xr_team_spec *spec = &job->spec->team;
	struct team *t = job->own;
	bool alike = t->player[0].type == t->player[1].type;
	double move = alike ? line_ns(m, t->player[0].seat, t->player[1].seat) : m->near_ns,
	       line = (double)xr_mem_line(model->mem, XR_USE_READ);
	double granule = (double)xr_model_granule(m);
	double lines = ceil(fmax(1, (double)spec->bytes) / line);
	switch (spec->kind) {
	case XR_PINGPONG:
		job->one.ns = move;
		break;
	case XR_PIPE: /* written over there, read over here, by turns; several lines on the way at a time */
		job->one.ns =
			(2 * lines * fmax(move / fmin(m->parallelism, lines), line / m->bandwidth_gbs) + 2 * move) /
			fmax(1, (double)spec->bytes / 64);
		break;
	case XR_FALSE:
		if ((alike && t->player[0].core == t->player[1].core) || (double)spec->bytes >= granule)
			job->one.cycles = xr_core_load_cycles(m) + xr_core_reference(m);
		else
			job->one.ns = move;
		break;
	default: /* XR_SWITCH */
		if (m->timeslice_ms > 0)
			job->one.ns = m->switch_us * 1e3;
		else
			xr_model_refuse(model, out, XR_READ_UNSUPPORTED,
			                "nothing on this machine switches between threads");
	}
}

/* ---- slices ---- */

static void sample_slices(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list)
{
	const struct xr_team_spec *spec = &job->spec->team;
	const struct team *t = job->own;
	double window = spec->window_ns > 0 ? spec->window_ns : 1e8, gap = spec->bytes ? (double)spec->bytes : 2e5;
	double ref = xr_model_reference(model);
	for (int i = 0; i < t->n; i++) {
		bool seen = false;
		int rivals = 0;
		for (int j = 0; j < t->n; j++) {
			seen |= j < i && t->player[j].cpu == t->player[i].cpu;
			rivals += t->player[j].cpu == t->player[i].cpu;
		}
		if (!seen)
			xr_model_sample_turns(model, rivals, window, gap, ref, list);
	}
	model->clock.now_ns += window;
}

static void sample_ticks(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list)
{
	double window = job->spec->team.window_ns > 0 ? job->spec->team.window_ns : 1e8;
	xr_model_sample_ticks(model, window, xr_model_reference(model), list);
	model->clock.now_ns += window;
}

void xr_model_prepare_team(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_team_spec *spec = &job->spec->team;
	int n_cpus = model->target.info.n_cpus;
	bool pair =
		spec->kind != XR_TOGETHER && spec->kind != XR_WALL && spec->kind != XR_SLICES && spec->kind != XR_TICKS;
	if (spec->n_members < (pair ? 2u : 1u) || spec->n_members > 4096) {
		xr_model_refuse(model, out, XR_READ_FAILED, "%u members make no team", spec->n_members);
		return;
	}
	for (unsigned i = 0; i < spec->n_members; i++)
		if (spec->member[i].cpu >= n_cpus) {
			xr_model_refuse(model, out, XR_READ_FAILED, "no CPU %d", spec->member[i].cpu);
			return;
		}
	struct team *t = xr_calloc(1, sizeof *t);
	t->n = (int)spec->n_members;
	t->player = xr_calloc(spec->n_members, sizeof *t->player);
	job->own = t;
	job->own_free = team_free;
	place(model, spec, t);
	job->type = t->player[0].type;
	xr_model_enter(model, job->type);
	if (spec->kind == XR_SLICES)
		job->sample = sample_slices;
	else if (spec->kind == XR_TICKS && !(model->machine.tick_ms > 0))
		xr_model_refuse(model, out, XR_READ_UNSUPPORTED, "no clock here that goes by the tick");
	else if (spec->kind == XR_TICKS)
		job->sample = sample_ticks;
	else if (pair)
		prepare_pair(model, job, out);
	else
		prepare_work(model, job, out);
}
