/* SPDX-License-Identifier: MIT */
#include "target/model/clock.h"

#include <math.h>

enum { EVENTS_MAX = 100000 }; /* in one run: a machine that has no time left for the program must not take ours */

static const double pi = 3.14159265358979323846;

static double exponential(struct xr_sim_clock *clock, double mean)
{
	return -log(1 - xr_rng_unit(&clock->rng)) * mean;
}

static double half_normal(struct xr_sim_clock *clock)
{
	double u = 1 - xr_rng_unit(&clock->rng), v = xr_rng_unit(&clock->rng);
	return fabs(sqrt(-2 * log(u)) * cos(2 * pi * v));
}

static double next_after(struct xr_sim_clock *clock, double rate_hz)
{
	return rate_hz > 0 ? clock->now_ns + exponential(clock, 1e9 / rate_hz) : -1;
}

void xr_sim_init(struct xr_sim_clock *clock, const struct xr_machine *machine, uint64_t seed)
{
	*clock = (struct xr_sim_clock){.machine = machine, .rng = {seed}, .stepped = 1};
	clock->phase[0] = 2 * pi * xr_rng_unit(&clock->rng);
	clock->phase[1] = 2 * pi * xr_rng_unit(&clock->rng);
	clock->now_ns = 1e6 * xr_rng_unit(&clock->rng);
	clock->next_interrupt_ns = next_after(clock, machine->interrupts_hz);
	clock->next_preempt_ns = next_after(clock, machine->preempt_hz);
	clock->next_step_ns = machine->step > 0 ? next_after(clock, 1e3 / machine->step_ms) : -1;
	clock->next_migrate_ns = next_after(clock, machine->migrate_hz);
	clock->next_sibling_ns = -1;
	if (machine->sibling > 0) {
		clock->sibling = xr_rng_unit(&clock->rng) < machine->sibling;
		clock->next_sibling_ns = clock->now_ns;
	}
}

double xr_sim_ghz(const struct xr_sim_clock *clock)
{
	const struct xr_machine *m = clock->machine;
	double s = clock->now_ns * 1e-9, ghz = m->mhz * 1e-3 * clock->stepped;
	if (m->drift > 0)
		ghz *= 1 + m->drift * (0.6 * sin(2 * pi * s / 2.3 + clock->phase[0]) +
		                       0.4 * sin(2 * pi * s / 0.7 + clock->phase[1]));
	if (m->ramp > 0)
		ghz *= 1 - m->ramp * exp(-s * 1e3 / m->ramp_ms);
	return ghz;
}

/* The clock stays at its nominal rate half of the time, else falls below by up to `step`. */
static void step(struct xr_sim_clock *clock)
{
	const double apart = clock->machine->step_ms * 1e6;
	if (clock->next_step_ns >= 0 && clock->now_ns - clock->next_step_ns > EVENTS_MAX * apart)
		clock->next_step_ns = clock->now_ns; /* nobody looked for long: only the last one matters */
	while (clock->next_step_ns >= 0 && clock->now_ns >= clock->next_step_ns) {
		double fall = xr_rng_unit(&clock->rng) * 2 - 1;
		clock->stepped = fall > 0 ? 1 - fall * clock->machine->step : 1;
		clock->next_step_ns += exponential(clock, clock->machine->step_ms * 1e6);
	}
}

/* The other thread of the core comes and goes, all times by chance. */
static void let_sibling_be(struct xr_sim_clock *clock, double now)
{
	const double here = clock->machine->sibling_ms * 1e6, share = clock->machine->sibling;
	while (clock->next_sibling_ns >= 0 && now >= clock->next_sibling_ns) {
		clock->sibling = share >= 1 || !clock->sibling;
		clock->next_sibling_ns += exponential(clock, clock->sibling ? here : here * (1 - share) / share);
	}
}

/* How long so many cycles take when their length changes on the way: with a sibling, or with wide vectors. */
static double uneven_ns(struct xr_sim_clock *clock, const struct xr_sim_work *work, double ghz)
{
	const struct xr_machine *m = clock->machine;
	double now = clock->now_ns, left = work->cycles;
	while (left > 0) {
		let_sibling_be(clock, now);
		const bool slow = m->vector_mhz > 0 && (work->vectors || now < clock->vector_until_ns);
		double until = INFINITY, rate = ghz;
		if (clock->next_sibling_ns >= 0)
			until = clock->next_sibling_ns;
		if (slow && !work->vectors)
			until = fmin(until, clock->vector_until_ns);
		if (slow)
			rate *= m->vector_mhz / m->mhz;
		if (clock->sibling && work->beside > 0)
			rate /= work->beside;
		if (now + left / rate <= until) {
			now += left / rate;
			break;
		}
		left -= (until - now) * rate;
		now = until;
	}
	return now - clock->now_ns;
}

static bool is_next(double when, double other, double another)
{
	return when >= 0 && (other < 0 || when <= other) && (another < 0 || when <= another);
}

void xr_sim_run(struct xr_sim_clock *clock, const struct xr_sim_work *work, bool *hit)
{
	const struct xr_machine *m = clock->machine;
	step(clock);
	double ghz = xr_sim_ghz(clock);
	double factor = 1 + m->jitter * half_normal(clock);
	if (m->low > 0 && xr_rng_unit(&clock->rng) < m->low)
		factor *= 1 - 0.1 * xr_rng_unit(&clock->rng);
	const bool uneven = m->sibling > 0 || m->vector_mhz > 0;
	double end = clock->now_ns + ((uneven ? uneven_ns(clock, work, ghz) : work->cycles / ghz) + work->ns) * factor;

	for (int events = 0; events < EVENTS_MAX; events++) {
		double irq = clock->next_interrupt_ns, preempt = clock->next_preempt_ns, move = clock->next_migrate_ns;
		if (irq < end && is_next(irq, preempt, move)) {
			end += m->interrupt_us * 1e3 * (0.7 + 0.6 * xr_rng_unit(&clock->rng)) +
			       work->refill_cycles / ghz;
			clock->interrupts++;
			clock->next_interrupt_ns += exponential(clock, 1e9 / m->interrupts_hz);
		} else if (move < end && is_next(move, preempt, -1)) { /* nobody here is told */
			end += m->migrate_us * 1e3 * (0.5 + xr_rng_unit(&clock->rng)) + work->cold_cycles / ghz;
			clock->migrations++;
			clock->next_migrate_ns += exponential(clock, 1e9 / m->migrate_hz);
		} else if (preempt >= 0 && preempt < end) {
			double away = m->preempt_ms * 1e6 * (0.5 + xr_rng_unit(&clock->rng));
			end += away + work->cold_cycles / ghz;
			clock->preemptions++;
			clock->next_preempt_ns += away + exponential(clock, 1e9 / m->preempt_hz);
			if (clock->next_interrupt_ns >= 0)
				clock->next_interrupt_ns += away; /* those of the others' time are not ours */
			*hit = true;
		} else {
			break;
		}
	}
	clock->now_ns = end;
	if (work->vectors)
		clock->vector_until_ns = end + m->vector_ms * 1e6;
}

double xr_sim_look(struct xr_sim_clock *clock)
{
	const struct xr_machine *m = clock->machine;
	clock->now_ns += m->timer_cost_ns;
	if (m->timer_spread > 0)
		clock->now_ns += m->timer_cost_ns * m->timer_spread * half_normal(clock);
	return floor(clock->now_ns / m->timer_ns) * m->timer_ns;
}

double xr_sim_time(struct xr_sim_clock *clock, const struct xr_sim_work *work, bool *hit)
{
	/* Programs start wherever the last sample ended plus some bookkeeping: no phase lock with the timer. */
	clock->now_ns += clock->machine->timer_ns * xr_rng_unit(&clock->rng);
	double start = xr_sim_look(clock);
	xr_sim_run(clock, work, hit);
	return xr_sim_look(clock) - start;
}

double xr_sim_reference(struct xr_sim_clock *clock, double reference_cycles, double length_ns)
{
	double ops = ceil(length_ns * clock->machine->mhz * 1e-3 / reference_cycles);
	struct xr_sim_work work = {.cycles = ops * reference_cycles};
	bool hit = false;
	double one = xr_sim_time(clock, &work, &hit), two = xr_sim_time(clock, &work, &hit);
	return (fmin(one, two) - clock->machine->timer_cost_ns) / ops; /* one interrupt does not spoil both */
}

double xr_sim_sample_ns(const struct xr_machine *machine)
{
	double g = machine->timer_ns, c = machine->timer_cost_ns;
	if (g >= 1000)
		return 1000 * g;
	double length = fmax(500 * c, 1000 * g);
	return length < 20e3 ? 20e3 : length > 100e3 ? 100e3 : length;
}
