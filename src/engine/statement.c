/* SPDX-License-Identifier: MIT */
/* Parameter: statement.latency, statement.throughput, statement.in_flight of a C statement given as text.
 * Idea: paper 002 §3.2-3.3. Stream i of N works on a p0 of its own and shares p1, p2, … with the others. One stream is
 *   bound by latency; more and more of them fill the units until throughput binds.
 * Algorithm: time one stream alone first (a statement that does not compile, crashes or hangs is found here, once);
 *   then N = 1..14 read together. Latency: N = 1. Throughput: the least over N, for N beyond the registers spills.
 *   In flight: latency / throughput, and the smallest N within 3 % of the least as a second witness. A twin, the same
 *   loop around nothing, is read with them: what takes no longer than that was removed.
 * When it fails: a statement that does not read p0 has no chain, so its "latency" is its throughput (said so); one that
 *   the compiler can fold is noticed by its time alone.
 */
#include "engine/statement.h"

#include "engine/engine.h"
#include "engine/run.h"
#include "micro/table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const int family[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14};
enum { FAMILY = sizeof family / sizeof *family };

static const double good_spread = 0.01, usable_spread = 0.05, same = 0.03;
static const double no_time = 0.04; /* cycles: no core starts 25 operations at once */

struct job {
	const char *text;
	enum xr_type type;
	enum xr_flavour flavour;
	const char *complaint;  /* of the compiler; NULL: it compiled */
	struct xr_arena *arena; /* outlives the run */
};

static struct xr_spec spec_of(const struct job *job, const char *text, int n)
{
	struct xr_spec spec = xr_spec_stream(XR_TEXT, job->type, n);
	spec.ops.stream[0].text = text;
	spec.ops.flavour = job->flavour;
	return spec;
}

static double confidence_of(const struct xr_reading *reading)
{
	return reading->spread <= good_spread ? 0.99 : reading->spread <= usable_spread ? 0.9 : 0.5;
}

/* `empty`: the same loop around nothing. Where it could not be read, its instructions count as the statement's. */
static void judge(struct xr_fact *fact, const struct xr_reading *reading, const struct xr_reading *empty)
{
	if (reading->cycles - (empty->status == XR_READ_OK ? empty->cycles : 0) < no_time)
		xr_fact_doubt(fact, "takes no time: the compiler seems to have removed the statement");
	else if (reading->spread > usable_spread)
		xr_fact_doubt(fact, "samples differ by %.0f %%: the machine is too busy", reading->spread * 100);
	else if (reading->bimodal)
		xr_fact_note(fact, "two speeds were seen, the faster is shown: something shares the core");
}

static void put_none(struct xr_description *d, const struct xr_reading *reading)
{
	static const char *const ids[] = {"statement.latency", "statement.throughput", "statement.in_flight"};
	enum xr_status status = reading->status == XR_READ_UNSUPPORTED ? XR_UNSUPPORTED : XR_FAILED;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		xr_fact_none(d, ids[i], status, "%s", reading->reason ? reading->reason : "the target gives no reason");
}

static void decide(struct xr_description *d, const struct xr_reading *reading, const struct xr_reading *empty)
{
	size_t best = 0, enough = 0;
	double x[FAMILY], y[FAMILY];
	size_t n = 0;
	for (size_t i = 0; i < FAMILY; i++) {
		if (reading[i].status != XR_READ_OK)
			continue;
		x[n] = family[i];
		y[n++] = reading[i].cycles;
		if (reading[i].cycles < reading[best].cycles)
			best = i;
	}
	while (enough < best &&
	       !(reading[enough].status == XR_READ_OK && reading[enough].cycles <= reading[best].cycles * (1 + same)))
		enough++;
	xr_series_put(d, "statement.streams", "streams", "", x, "time", "cycles", y, n);

	const struct xr_reading *alone = &reading[0], *many = &reading[best];
	struct xr_fact *latency =
		xr_fact_number(d, "statement.latency", alone->cycles, "cycles", confidence_of(alone), "one stream");
	judge(latency, alone, empty);
	struct xr_fact *throughput = xr_fact_number(d, "statement.throughput", many->cycles, "cycles",
	                                            confidence_of(many), "least of 1..14 streams");
	judge(throughput, many, empty);
	double ratio = many->cycles > 0 ? alone->cycles / many->cycles : 0;
	double confidence = fmin(confidence_of(alone), confidence_of(many));
	struct xr_fact *in_flight = xr_fact_count(d, "statement.in_flight", ratio < 1 ? 1 : llround(ratio), "count",
	                                          confidence, "latency over throughput");
	if (latency->status != XR_OK || throughput->status != XR_OK)
		xr_fact_doubt(in_flight, "latency or throughput is in doubt");
	else if (enough == 0)
		xr_fact_note(in_flight,
		             "one stream is as quick as many: either nothing overlaps or p0 carries no chain");
	xr_fact_add_series(latency, "statement.streams");
	xr_fact_add_series(throughput, "statement.streams");
	xr_fact_number(d, "statement.latency_ns", alone->ns, "ns", latency->confidence, "one stream");
	xr_fact_number(d, "statement.throughput_ns", many->ns, "ns", throughput->confidence, "least of 1..14 streams");
}

static int run(struct xr_run *r)
{
	struct job *job = r->self;
	struct xr_description *d = xr_run_description(r);
	struct xr_spec spec[FAMILY + 1];
	struct xr_reading reading[FAMILY + 1];
	for (size_t i = 0; i < FAMILY; i++)
		spec[i] = spec_of(job, job->text, family[i]);
	spec[FAMILY] = spec_of(job, ";", 1);
	xr_run_progress(r, 0, "one stream");
	if (xr_run_time(r, spec, 1, reading))
		return -1;
	if (reading[0].status != XR_READ_OK) {
		if (reading[0].refused)
			job->complaint = xr_arena_strdup(job->arena, reading[0].reason);
		put_none(d, &reading[0]);
		return 0;
	}
	xr_run_progress(r, 0.3, "1 to 14 streams");
	if (xr_run_time(r, spec, FAMILY + 1, reading))
		return -1;
	if (reading[0].status != XR_READ_OK)
		put_none(d, &reading[0]);
	else
		decide(d, reading, &reading[FAMILY]);
	return 0;
}

static const char *const finds[] = {"statement.latency", "statement.throughput", "statement.in_flight", NULL};
static const char *const needs[] = {"frequency", NULL};
static const struct xr_micro statement_micro = {
	.id = "statement",
	.title = "latency, throughput and in-flight count of a statement",
	.finds = finds,
	.needs = needs,
	.cost_s = 1,
	.kinds = 1u << XR_OPS,
	.run = run,
};

/* The table of all, with this one at its end. */
static const struct xr_micro *const *table_with(struct xr_arena *arena)
{
	size_t n = 0;
	while (xr_micro_table[n])
		n++;
	const struct xr_micro **table = xr_arena_array(arena, const struct xr_micro *, n + 2);
	memcpy(table, xr_micro_table, n * sizeof *table);
	table[n] = &statement_micro;
	return table;
}

/* A specification is one line; what surrounds the statement says nothing. */
static const char *one_line(struct xr_arena *arena, const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	char *line = xr_arena_strdup(arena, text);
	for (char *c = line; *c; c++)
		if (isspace((unsigned char)*c))
			*c = ' ';
	for (size_t n = strlen(line); n && (line[n - 1] == ' ' || line[n - 1] == ';'); n--)
		line[n - 1] = 0;
	return line;
}

static int read_job(struct job *job, const struct xr_statement *statement, struct xr_error *err)
{
	const char *type = statement->type ? statement->type : "i32";
	int found = xr_type_by_name(type);
	if (found < 0) {
		const char *names[XR_N_TYPES];
		for (int i = 0; i < XR_N_TYPES; i++)
			names[i] = xr_types[i].name;
		const char *near = xr_suggest(type, names, XR_N_TYPES);
		return xr_fail(err, XR_EXIT_USE, "no type is called '%s'; did you mean '%s'?", type,
		               near ? near : "f64");
	}
	job->type = (enum xr_type)found;
	job->flavour = statement->native ? XR_NATIVE : XR_PLAIN;
	job->text = one_line(job->arena, statement->text);
	if (!*job->text)
		return xr_fail(err, XR_EXIT_USE, "the statement is empty; try 'p0 = p0 * p1'");
	return 0;
}

int xr_statement_run(struct xr_target *target, const struct xr_statement *statement, const struct xr_plan *plan,
                     uint64_t seed, struct xr_description *d, struct xr_outcome *outcome, struct xr_error *err)
{
	static const char *const select[] = {"statement"};
	struct xr_arena arena = {0};
	struct job job = {.arena = &arena};
	struct xr_plan own = *plan;
	own.select = select;
	own.n_select = 1;
	int rc = read_job(&job, statement, err);
	if (!rc && xr_target_info(target)->no_compiler)
		rc = xr_fail(err, XR_EXIT_TARGET, "timing a statement needs a C compiler (apt-get install gcc)");
	if (!rc && !xr_target_info(target)->has_flavour[job.flavour])
		rc = xr_fail(err, XR_EXIT_USE, "this target has no such flavour; leave --flavour out");
	if (!rc)
		rc = xr_engine_run(target, table_with(&arena), &own, seed, &job, d, outcome, err);
	if (!rc && job.complaint)
		rc = xr_fail(err, XR_EXIT_USE, "'%.200s': %.700s", job.text, job.complaint);
	xr_arena_release(&arena);
	return rc;
}
