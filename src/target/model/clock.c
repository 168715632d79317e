#include "target/model/clock.h"

#include <math.h>

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
	while (clock->next_step_ns >= 0 && clock->now_ns >= clock->next_step_ns) {
		double fall = xr_rng_unit(&clock->rng) * 2 - 1;
		clock->stepped = fall > 0 ? 1 - fall * clock->machine->step : 1;
		clock->next_step_ns += exponential(clock, clock->machine->step_ms * 1e6);
	}
}

void xr_sim_run(struct xr_sim_clock *clock, const struct xr_sim_work *work, bool *hit)
{
	const struct xr_machine *m = clock->machine;
	step(clock);
	double ghz = xr_sim_ghz(clock);
	double factor = 1 + m->jitter * half_normal(clock);
	if (m->low > 0 && xr_rng_unit(&clock->rng) < m->low)
		factor *= 1 - 0.1 * xr_rng_unit(&clock->rng);
	double end = clock->now_ns + (work->cycles / ghz + work->ns) * factor;

	for (;;) {
		double irq = clock->next_interrupt_ns, preempt = clock->next_preempt_ns;
		if (irq >= 0 && irq < end && (preempt < 0 || irq <= preempt)) {
			end += m->interrupt_us * 1e3 * (0.7 + 0.6 * xr_rng_unit(&clock->rng)) +
			       work->refill_cycles / ghz;
			clock->interrupts++;
			clock->next_interrupt_ns += exponential(clock, 1e9 / m->interrupts_hz);
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
}

double xr_sim_look(struct xr_sim_clock *clock)
{
	const struct xr_machine *m = clock->machine;
	clock->now_ns += m->timer_cost_ns;
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
