/* SPDX-License-Identifier: MIT */
/* One CPU of a simulated machine for one window: its members take turns; what they see of it are runs between gaps. */
#include "target/model/model.h"

#include <math.h>

void xr_model_sample_turns(struct xr_model *model, int rivals, double window, double gap, double ref,
                           struct xr_raw_list *list)
{
	const struct xr_machine *m = &model->machine;
	struct xr_rng *rng = &model->clock.rng;
	bool started[64] = {false};
	int turn = 0;
	double now = 0;
	bool sliced = rivals > 1 && m->timeslice_ms > 0;
	while (now < window && list->n < 1 << 16) {
		double slice = sliced ? m->timeslice_ms * 1e6 * (1 + 0.002 * (xr_rng_unit(rng) - 0.5)) : window - now;
		double end = fmin(now + slice, window), run = now;
		bool open = started[turn % 64];
		while (now < end) { /* interrupts cut runs when they are long enough to be seen */
			double next =
				m->interrupts_hz > 0 ? -log(1 - xr_rng_unit(rng)) * 1e9 / m->interrupts_hz : 2 * window;
			double take = m->interrupt_us * 1e3 * (0.7 + 0.6 * xr_rng_unit(rng));
			if (m->preempt_hz > 0 &&
			    xr_rng_unit(rng) * (m->preempt_hz + m->interrupts_hz) < m->preempt_hz) {
				next = -log(1 - xr_rng_unit(rng)) * 1e9 / (m->preempt_hz + m->interrupts_hz);
				take = m->preempt_ms * 1e6 * (0.5 + xr_rng_unit(rng));
			}
			if (now + next >= end) {
				now = end;
				break;
			}
			now += next;
			if (take > gap) {
				if (open)
					xr_raw_add(list,
					           (struct xr_raw){.long_ns = now - run, .long_ops = 1, .ref_ns = ref});
				open = true;
				run = now + take;
			}
			now += take;
		}
		if (sliced && (double)(rivals - 1) * slice > gap) {
			if (open && end < window && end > run)
				xr_raw_add(list, (struct xr_raw){.long_ns = end - run, .long_ops = 1, .ref_ns = ref});
			started[turn % 64] = true;
		}
		now = fmax(now, end);
		turn = (turn + 1) % (rivals ? rivals : 1);
	}
}

/* A tick that comes while somebody else has the CPU is not seen, and neither distance to its neighbours. */
void xr_model_sample_ticks(struct xr_model *model, double window, double ref, struct xr_raw_list *list)
{
	const struct xr_machine *m = &model->machine;
	struct xr_rng *rng = &model->clock.rng;
	const double tick = m->tick_ms * 1e6;
	const double lost = 1 - exp(-m->preempt_hz * (tick + m->preempt_ms * 1e6) * 1e-9);
	for (double now = tick; now < window && list->n < 1 << 16; now += tick) {
		double late = m->interrupt_us * 1e3 * (xr_rng_unit(rng) - xr_rng_unit(rng));
		if (xr_rng_unit(rng) >= lost)
			xr_raw_add(list, (struct xr_raw){.long_ns = tick + late, .long_ops = 1, .ref_ns = ref});
	}
}
