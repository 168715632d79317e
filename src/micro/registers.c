/* SPDX-License-Identifier: MIT */
/* Parameter: how many variables of a type the compiler keeps in registers: int, f32, f64, v16, v32, v64.
 *
 * Idea (papers 000 §3.3, 002 §3.5, 001 §3.4): give a loop more and more variables that are all alive; when they no
 * longer fit, some live in memory, which shows in time and in the compiled code. The papers' chain p_i = p_i + p_(i-1)
 * shows nothing on a core that starts loads early or renames memory (1.00 -> 1.01 cycles at the first spill). Paper
 * 001's half distance p_i = p_i + p_(i-n/2) is bound by throughput, and spilling costs instructions whatever their
 * latency is (0.27 -> 0.38 cycles).
 *
 * Algorithm: two witnesses. The compiled loop: a variable that lives in memory is fetched twice a turn (a turn is one
 * statement of each variable), by its own statement and by the one half a turn later; some compilers keep it in the
 * registers of another kind instead, which shows as instructions more. n grows 8, 16, 32, ... until that happens, then
 * the interval is divided by four; the last n without it is the answer. Time: the loops around that n are read side by
 * side; the time of a statement falls or stays with n until the first spill, so the last n before a rise of 8 % that
 * stays is the answer of the clock. Where nobody can look at the compiled loop, the search itself goes by time. int,
 * f32 and f64 are compiled as the person said, vectors for all that the machine has.
 *
 * The answer is about the compiler and the machine together: what a program gets, not what the manual counts.
 *
 * When it fails: never silently. Spills that cost no time leave the compiled loop as the only witness, and the fact
 * says so; without either witness the fact is unreliable.
 */
#include "micro/micro.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	N_FILES = 6,
	FIRST = 8, /* variables in the first try */
	MOST = 4096,
	UNROLL = 96,
	TRIES = 3,        /* new lengths per file and round */
	WINDOW_BELOW = 3, /* lengths read beside each other: from answer - 3 to answer + 3 */
	WINDOW = 7,
};
static const double rise = 1.08; /* seen are 1.22 and more */
/* Per turn. The look covers the middle half of the loop, about two turns: its ends may cut off one fetch in four. */
static const double spill_refs = 1.5, spill_insns = 2;

struct file {
	const char *id;
	enum xr_type type;
	enum xr_flavour flavour;
	int fits, spills; /* known to fit (0: none), known to spill (0: unknown) */
	bool looked;
	bool done;    /* the fact is put: there are no such registers */
	int clock;    /* what the clock says; 0: nothing */
	double insns; /* least instructions per statement seen */
	double best;  /* least cycles seen where nothing spilled */
};

static struct xr_spec spec_of(const struct file *f, int n)
{
	struct xr_spec spec = xr_spec_stream(XR_ADD, f->type, n);
	spec.ops.stream[0].link = XR_HALF;
	spec.ops.flavour = f->flavour;
	spec.ops.unroll = n > UNROLL / 4 ? 4 * n : UNROLL; /* two turns in the middle half */
	return spec;
}

/* The next lengths to try, ascending. */
static int choose(const struct file *f, int *n)
{
	int k = 0;
	if (f->done || f->spills - f->fits == 1 || f->fits >= MOST)
		return 0;
	if (!f->spills) {
		int from = f->fits ? f->fits : FIRST / 2;
		if (f->fits)
			n[k++] = f->fits + 1; /* files have 16 or 32 registers more often than not */
		while (k < TRIES)
			n[k++] = from *= 2;
		return k;
	}
	int gap = f->spills - f->fits;
	for (int i = 0; i < TRIES; i++) {
		int next = i == 0 ? f->fits + 1 : f->fits + 1 + i * (gap - 1) / TRIES;
		if (next < f->spills && (!k || next > n[k - 1]))
			n[k++] = next;
	}
	return k;
}

/* Is some variable in memory? */
static bool does_spill(struct file *f, int n, const struct xr_reading *r)
{
	f->looked = r->look.looked;
	if (f->insns <= 0 || r->look.insns < f->insns)
		f->insns = r->look.insns;
	if (r->look.looked)
		return r->look.stack_refs * n >= spill_refs || (r->look.insns - f->insns) * n >= spill_insns;
	bool slow = f->best > 0 && r->cycles > rise * f->best;
	if (!slow && (f->best <= 0 || r->cycles < f->best))
		f->best = r->cycles;
	return slow;
}

/* Readings that say that there are no registers of this kind. */
static void refuse(struct xr_run *run, struct file *f, const struct xr_reading *r)
{
	struct xr_description *d = xr_run_description(run);
	f->done = true;
	if (r->status == XR_READ_OK)
		xr_fact_none(d, f->id, XR_UNSUPPORTED,
		             "%s is done by library functions: it has no registers of its own", xr_types[f->type].name);
	else if (!xr_types[f->type].fp && !xr_types[f->type].vector)
		xr_fact_none(d, f->id, XR_FAILED, "%s", r->reason);
	else
		xr_fact_none(d, f->id, XR_UNSUPPORTED, "no registers for %s: %s", xr_types[f->type].name, r->reason);
}

/* One round of the search for all files at once. *more: something was tried. */
static int search(struct xr_run *run, struct file *file, bool *more)
{
	struct xr_spec spec[N_FILES * TRIES];
	struct xr_reading reading[N_FILES * TRIES];
	int owner[N_FILES * TRIES], length[N_FILES * TRIES], total = 0;
	struct xr_effort effort = {.samples = 5, .samples_max = 5};

	for (int i = 0; i < N_FILES; i++) {
		int k = choose(&file[i], length + total);
		for (; k > 0; k--, total++) {
			owner[total] = i;
			spec[total] = spec_of(&file[i], length[total]);
		}
	}
	*more = total > 0;
	if (!total || xr_run_time_with(run, &effort, spec, (size_t)total, reading))
		return total ? -1 : 0;
	for (int i = 0; i < total; i++) {
		struct file *f = &file[owner[i]];
		const struct xr_reading *r = &reading[i];
		if (f->done || (f->spills && length[i] > f->spills))
			continue;
		if (r->status != XR_READ_OK || r->look.calls >= 0.5)
			refuse(run, f, r);
		else if (does_spill(f, length[i], r))
			f->spills = length[i];
		else
			f->fits = length[i];
	}
	return 0;
}

/* The last n before a lasting rise; 0: it never rises. */
static int clock_says(const int *n, const double *y, int points)
{
	for (int i = 1; i < points; i++) {
		double before = xr_min(y, (size_t)i), after = xr_min(y + i, (size_t)(points - i));
		if (after >= rise * before)
			return n[i - 1];
	}
	return 0;
}

/* Reads the lengths around every answer side by side. */
static int ask_clock(struct xr_run *run, struct file *file)
{
	struct xr_spec spec[N_FILES * WINDOW];
	struct xr_reading reading[N_FILES * WINDOW];
	int first[N_FILES + 1] = {0}, n[N_FILES * WINDOW], total = 0;

	if (xr_run_info(run)->untimed)
		return 0;
	for (int i = 0; i < N_FILES; i++) {
		first[i] = total;
		for (int k = 0; k < WINDOW && !file[i].done; k++) {
			int length = file[i].fits - WINDOW_BELOW + k;
			if (length < 1 || (k == 0 && length < 2))
				continue;
			n[total] = length;
			spec[total++] = spec_of(&file[i], length);
		}
	}
	first[N_FILES] = total;
	if (!total || xr_run_time(run, spec, (size_t)total, reading))
		return total ? -1 : 0;
	for (int i = 0; i < N_FILES; i++) {
		double x[WINDOW], y[WINDOW], refs[WINDOW];
		int points = 0, at[WINDOW];
		if (file[i].done)
			continue;
		for (int k = first[i]; k < first[i + 1]; k++)
			if (reading[k].status == XR_READ_OK) {
				at[points] = n[k];
				x[points] = n[k];
				y[points] = reading[k].cycles;
				refs[points++] = reading[k].look.stack_refs;
			}
		file[i].clock = clock_says(at, y, points);
		xr_series_put(xr_run_description(run), file[i].id, "variables", "", x, "time per statement", "cycles",
		              y, (size_t)points);
		if (file[i].looked) {
			const char *id = xr_arena_printf(xr_run_arena(run), "%s.stack", file[i].id);
			xr_series_put(xr_run_description(run), id, "variables", "", x, "stack references per statement",
			              "", refs, (size_t)points);
		}
	}
	return 0;
}

static const char *method(struct xr_run *run, const struct file *f)
{
	const struct xr_target_info *info = xr_run_info(run);
	return xr_arena_printf(xr_run_arena(run), "half distance; %s%s%s%s", info->compiler, *info->cflags ? " " : "",
	                       info->cflags, f->flavour == XR_NATIVE ? ", for all this machine has" : "");
}

static void put(struct xr_run *run, const struct file *f)
{
	struct xr_fact *fact;
	double sure = !f->looked ? 0.6 : f->clock == f->fits ? 0.99 : 0.9;

	fact = xr_fact_count(xr_run_description(run), f->id, f->fits, "", sure, method(run, f));
	if (xr_run_info(run)->untimed) {
		if (!f->looked)
			xr_fact_none(xr_run_description(run), f->id, XR_UNSUPPORTED,
			             "%s, and the compiled loop cannot be inspected", xr_run_info(run)->untimed);
		else if (!f->spills)
			xr_fact_doubt(fact, "%d variables, and still none is spilled", f->fits);
		else
			xr_fact_note(fact, "from the compiled loop alone: %s", xr_run_info(run)->untimed);
		return;
	}
	xr_fact_add_series(fact, f->id);
	if (f->looked)
		xr_fact_add_series(fact, xr_arena_printf(xr_run_arena(run), "%s.stack", f->id));
	if (!f->spills)
		xr_fact_doubt(fact, "%d variables, and still none is spilled", f->fits);
	else if (!f->looked && f->clock != f->fits)
		xr_fact_doubt(fact, "the compiled loop cannot be inspected, and timed again it is %d", f->clock);
	else if (!f->looked)
		xr_fact_note(fact, "by time alone: the compiled loop cannot be inspected");
	else if (!f->fits)
		xr_fact_note(fact, "compiled like this, every variable is in memory");
	else if (!f->clock)
		xr_fact_note(fact, "from the compiled loop alone: the first spills take no measurable time here");
	else if (f->clock != f->fits)
		xr_fact_note(fact, "from the compiled loop; time rises %s beyond %d variables",
		             f->clock < f->fits ? "already" : "only", f->clock);
}

static int run(struct xr_run *run)
{
	struct file file[N_FILES] = {
		{.id = "registers.int", .type = XR_I32},
		{.id = "registers.f32", .type = XR_F32},
		{.id = "registers.f64", .type = XR_F64},
		{.id = "registers.v16", .type = XR_V16F32, .flavour = XR_NATIVE},
		{.id = "registers.v32", .type = XR_V32F32, .flavour = XR_NATIVE},
		{.id = "registers.v64", .type = XR_V64F32, .flavour = XR_NATIVE},
	};
	const int word = xr_run_info(run)->word_bytes;
	bool more = true;

	if (word == 1 || word == 2) /* a wider variable takes several registers */
		file[0].type = word == 1 ? XR_I8 : XR_I16;
	for (int i = 0; i < N_FILES; i++) {
		if (!xr_run_info(run)->has_flavour[file[i].flavour])
			file[i].flavour = XR_PLAIN;
		file[i].done = !xr_run_wants(run, file[i].id);
	}
	while (more)
		if (search(run, file, &more))
			return -1;
	xr_run_progress(run, 0.6, "time");
	if (ask_clock(run, file))
		return -1;
	for (int i = 0; i < N_FILES; i++)
		if (!file[i].done)
			put(run, &file[i]);
	return 0;
}

static const char *const finds[] = {
	"registers.int", "registers.f32", "registers.f64", "registers.v16", "registers.v32", "registers.v64", NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_registers = {
	.id = "registers",
	.title = "variables that the compiler keeps in registers",
	.finds = finds,
	.needs = needs,
	.cost_s = 3,
	.kinds = 1u << XR_OPS | XR_WITH_COMPILER | XR_WITHOUT_TIME,
	.run = run,
};
