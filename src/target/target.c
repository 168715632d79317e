/* SPDX-License-Identifier: MIT */
/* From raw samples to readings: the statistics of one point, the same for hardware and for models of it.
 *
 * Idea: samples of tens of microseconds, so that most contain no interrupt; two
 * lengths, so that the cost of looking at the clock and of entering the loop cancels; a reference chain beside every
 * sample, so that a change of the clock frequency cancels; the 3rd lowest of 9, so that neither the slow tail nor the
 * rare impossibly quick sample decides; more rounds for the points whose samples disagree, all points interleaved.
 */
#include "target/backend.h"
#include "target/border.h"
#include "target/record.h"

#include "stat/stat.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_FIRST = 9, ROUNDS_MAX = 45, ROUNDS_MORE = 9, SAMPLES_MAX = 1 << 20 };
/* Where times repeat exactly: what still differs (random replacement) shows between two, and gets more. */
enum { SAMPLES_EXACT = 2 };
static const double good_spread = 0.01;
static const double mode_gap = 0.25;

void xr_raw_add(struct xr_raw_list *list, struct xr_raw raw)
{
	if (list->n >= SAMPLES_MAX)
		return;
	if (list->n == list->room) {
		list->room = list->room ? list->room * 2 : 16;
		list->raw = xr_realloc(list->raw, list->room, sizeof *list->raw);
	}
	list->raw[list->n++] = raw;
}

void xr_target_init(struct xr_target *target, const struct xr_backend *backend)
{
	target->backend = backend;
	xr_arena_init(&target->arena);
	xr_arena_init(&target->samples);
}

void xr_target_deinit(struct xr_target *target)
{
	xr_recorder_free(target->recorder);
	xr_arena_release(&target->arena);
	xr_arena_release(&target->samples);
}

int xr_target_move(struct xr_target *target, int cpu, struct xr_error *err)
{
	return target->backend->move ? target->backend->move(target, cpu, err) : -1;
}

void xr_target_settle(struct xr_target *target)
{
	if (target->backend->settle)
		target->backend->settle(target);
}

void xr_target_free(struct xr_target *target)
{
	if (target)
		target->backend->free(target);
}

void xr_target_spent(const struct xr_target *target, double *preparing_s, double *timing_s)
{
	*preparing_s = target->preparing_s;
	*timing_s = target->timing_s;
}

const struct xr_target_info *xr_target_info(const struct xr_target *target)
{
	return &target->info;
}

void xr_target_until(struct xr_target *target, double end_s, const volatile int *interrupt)
{
	target->watch = (struct xr_watch){.end_s = end_s, .interrupt = interrupt};
}

/* Keeps the samples that nobody disturbed; if these are too few to decide from, the others after them, the
 * worst ones last. */
static size_t keep_clean(const struct xr_raw_list *list, struct xr_raw *kept, int *disturbed)
{
	size_t n = 0;
	*disturbed = 0;
	for (size_t i = 0; i < list->n; i++)
		if (!list->raw[i].hit)
			kept[n++] = list->raw[i];
	if (n >= 5 || n * 2 >= list->n)
		return n;
	*disturbed = (int)(list->n - n);
	for (size_t i = 0, clean = n; i < list->n; i++) {
		size_t at = n;
		if (!list->raw[i].hit)
			continue;
		for (; at > clean && kept[at - 1].how_much > list->raw[i].how_much; at--)
			kept[at] = kept[at - 1];
		kept[at] = list->raw[i];
		n++;
	}
	return n;
}

/* Of next to nothing, everything is a large share: whole is enough. */
static double relative(double share)
{
	return share >= 0 && share < 1e9 ? share : 1;
}

static void summarise_observations(struct xr_target *target, const struct xr_raw *raw, size_t n, struct xr_reading *out)
{
	double *value = xr_arena_array(&target->samples, double, n);
	for (size_t i = 0; i < n; i++)
		value[i] = raw[i].long_ns;
	out->sample = value;
	out->ns = xr_lower(value, n);
	out->median_ns = xr_median(value, n);
	out->spread = relative(xr_spread(value, n));
	out->cycle_ns = raw[0].ref_ns;
	if (out->cycle_ns > 0) {
		out->cycles = out->ns / out->cycle_ns;
		out->median_cycles = out->median_ns / out->cycle_ns;
	}
}

/* The two lengths are summarised apart and then subtracted: subtracting sample by sample would turn every disturbed
 * short run into an impossibly quick sample. scale[i] converts ns of sample i. */
static double point(const struct xr_raw *raw, size_t n, const double *scale,
                    double (*statistic)(const double *, size_t), double *work)
{
	for (size_t i = 0; i < n; i++)
		work[i] = raw[i].long_ns * scale[i];
	double longer = statistic(work, n);
	for (size_t i = 0; i < n; i++)
		work[i] = raw[i].short_ns * scale[i];
	double shorter = statistic(work, n);
	return (longer - shorter) / (raw[0].long_ops - raw[0].short_ops);
}

static void summarise(struct xr_target *target, const struct xr_raw_list *list, const struct xr_spec *spec,
                      struct xr_reading *out)
{
	struct xr_raw *raw = xr_calloc(list->n, sizeof *raw);
	double *work = xr_calloc(list->n * 3, sizeof *work);
	size_t n = keep_clean(list, raw, &out->n_disturbed);
	out->disturbed = (size_t)out->n_disturbed > n / 2;
	out->samples = (int)n;
	out->dropped = (int)(list->n - n);
	if (xr_is_plain_observation(spec)) {
		summarise_observations(target, raw, n, out);
		goto out;
	}

	double *one = work + list->n, *per_ref = work + 2 * list->n;
	double *sample = xr_arena_array(&target->samples, double, n);
	for (size_t i = 0; i < n; i++) {
		one[i] = 1.0;
		per_ref[i] = raw[i].ref_ns > 0 ? 1.0 / raw[i].ref_ns : 0.0;
	}
	out->ns = point(raw, n, one, xr_lower, work);
	out->cycles = point(raw, n, per_ref, xr_lower, work);
	out->median_ns = point(raw, n, one, xr_median, work);
	out->median_cycles = point(raw, n, per_ref, xr_median, work);
	for (size_t i = 0; i < n; i++)
		work[i] = raw[i].ref_ns;
	out->cycle_ns = xr_median(work, n);

	/* One value per sample, with the overhead that the two lengths gave for all of them. */
	for (size_t i = 0; i < n; i++)
		work[i] = raw[i].long_ns * per_ref[i];
	double overhead = xr_lower(work, n) - out->cycles * raw[0].long_ops;
	for (size_t i = 0; i < n; i++)
		sample[i] = (raw[i].long_ns * per_ref[i] - overhead) / raw[i].long_ops;
	out->sample = sample;
	out->spread = relative(xr_spread(sample, n));
	if (out->cycles > 0 && raw[0].short_ops > 0)
		out->nonlinear = target->info.exact ? 0 : relative(fabs(overhead) / (out->cycles * raw[0].long_ops));

	double fast, slow;
	if (n >= 9 && xr_bimodal(sample, n, mode_gap, &fast, &slow)) {
		out->bimodal = true;
		if (fast > 0 && out->cycles > fast * 1.05) {
			out->ns *= fast / out->cycles;
			out->cycles = fast;
		}
	}
out:
	free(raw);
	free(work);
}

/* Samples that cannot be go no further. */
static void turn_away(const struct xr_spec *spec, struct xr_raw_list *list)
{
	size_t n = 0;
	for (size_t i = 0; i < list->n; i++)
		if (xr_border_raw(spec, &list->raw[i]))
			list->raw[n++] = list->raw[i];
	list->n = n;
}

static void read_point(struct xr_target *target, const struct xr_spec *spec, struct xr_raw_list *list,
                       struct xr_reading *out)
{
	size_t given = list->n;
	turn_away(spec, list);
	if (out->status != XR_READ_OK)
		return;
	if (!list->n) {
		out->status = XR_READ_FAILED;
		out->reason = given ? "the target gave samples that cannot be" : "the target gave no sample";
		return;
	}
	summarise(target, list, spec, out);
	xr_border_reading(spec, out);
}

/* More rounds for the points whose samples disagree. */
static int refine(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                  struct xr_raw_list *lists, struct xr_reading *out, struct xr_error *err)
{
	size_t *idx = xr_calloc(n, sizeof *idx);
	int status = 0;
	for (int done = 0; done < effort->samples_max;) {
		size_t k = 0;
		for (size_t i = 0; i < n; i++)
			if (out[i].status == XR_READ_OK &&
			    (done == 0 || (out[i].spread > good_spread && !xr_is_plain_observation(&specs[i]))))
				idx[k++] = i;
		if (!k)
			break;
		if (xr_watch_over(&target->watch)) {
			status = xr_fail(err, XR_EXIT_TARGET, "%s", xr_watch_why(&target->watch));
			break;
		}
		int rounds = done ? ROUNDS_MORE : effort->samples;
		if (rounds > effort->samples_max - done)
			rounds = effort->samples_max - done;
		status = target->backend->rounds(target, idx, k, rounds, lists, out, err);
		if (status)
			break;
		done += rounds;
		for (size_t j = 0; j < k; j++) {
			struct xr_reading *r = &out[idx[j]];
			const bool answered = r->status == XR_READ_OK;
			read_point(target, &specs[idx[j]], &lists[idx[j]], r);
			if (answered && r->status != XR_READ_OK && lists[idx[j]].n && done < effort->samples_max) {
				r->status = XR_READ_OK; /* of so few, disturbed ones may make a time that cannot be */
				r->spread = 1;
			}
		}
	}
	free(idx);
	return status;
}

/* A failed reading is no reading: its numbers are NaN, which no comparison accepts, so that nobody who forgets to
 * look at the status takes it for a very quick one. */
static void spoil_failed(struct xr_reading *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (out[i].status != XR_READ_OK) {
			out[i].ns = out[i].cycles = out[i].median_ns = out[i].median_cycles = NAN;
			out[i].spread = out[i].nonlinear = out[i].cycle_ns = NAN;
			out[i].samples = 0;
		}
}

static int time_all(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                    struct xr_reading *out, struct xr_error *err)
{
	struct xr_effort e = effort ? *effort : (struct xr_effort){0};
	if (!e.samples)
		e.samples = target->effort.samples ? target->effort.samples : ROUNDS_FIRST;
	if (!e.samples_max)
		e.samples_max = target->effort.samples_max ? target->effort.samples_max : ROUNDS_MAX;
	if (target->info.exact && e.samples > SAMPLES_EXACT)
		e.samples = SAMPLES_EXACT;
	if (e.samples_max < e.samples)
		e.samples_max = e.samples;
	if (e.sample_ns <= 0)
		e.sample_ns = target->effort.sample_ns;

	memset(out, 0, n * sizeof *out);
	if (!n)
		return 0;
	xr_arena_release(&target->samples);
	if (target->backend->time) { /* a recording of a recording holds what was asked for */
		int status = target->backend->time(target, &e, specs, n, out, err);
		for (size_t i = 0; i < n && !status; i++)
			xr_border_reading(&specs[i], &out[i]);
		return !status && target->recorder ? xr_recorder_put(target->recorder, &e, specs, n, out, err) : status;
	}
	struct xr_raw_list *lists = xr_calloc(n, sizeof *lists);

	double start = xr_clock_s();
	int status = target->backend->prepare(target, &e, specs, n, out, err);
	double prepared = xr_clock_s();
	target->preparing_s += prepared - start;
	if (!status)
		status = refine(target, &e, specs, n, lists, out, err);
	for (size_t i = 0; i < n && !status; i++)
		xr_border_reading(&specs[i], &out[i]);
	target->timing_s += xr_clock_s() - prepared;
	if (target->backend->done)
		target->backend->done(target);
	for (size_t i = 0; i < n; i++)
		free(lists[i].raw);
	free(lists);
	if (!status && target->recorder)
		status = xr_recorder_put(target->recorder, &e, specs, n, out, err);
	return status;
}

int xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                   struct xr_reading *out, struct xr_error *err)
{
	int status = time_all(target, effort, specs, n, out, err);
	spoil_failed(out, n);
	return status;
}
